"""Every parameter of every ranker is checked: a bad value is a ParameterError that names it."""

from __future__ import annotations

import contextlib
import inspect
import math
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import podium
from podium.errors import PodiumError
from podium.rankers import RANKERS, Ranker

DATA = podium.synthetic.network(queries=6, documents=4, features=3, seed=0)
KINDS = {**RANKERS, "any": Ranker}
CASES = [(kind, name) for kind in KINDS for name in inspect.signature(KINDS[kind]).parameters]
NONSENSE = ["abc", "", -1, 0, 1.5, None, True, (), (3, "x"), [2, 3], {}, math.nan, math.inf, 10**30]


@pytest.mark.parametrize(("kind", "name"), CASES, ids=lambda value: str(value))
def test_nonsense_is_refused_in_words(kind, name, tmp_path):
    data = podium.synthetic.network(queries=4, documents=4, features=2, levels=3)
    for value in NONSENSE:
        budget = (
            "schedule" if kind == "any" else "n_estimators" if "n_estimators" in KINDS[kind].parameters() else "epochs"
        )
        if name == budget and value in (None, 10**30):
            continue  # valid values that would take very long
        ranker = KINDS[kind](**{budget: "adam(epochs=1)" if kind == "any" else 1, name: value})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(PodiumError):
                ranker.fit(data, valid=data).save(tmp_path / "a.podium")
                podium.load(tmp_path / "a.podium")


def test_a_path_is_refused_with_the_advice_to_read_it_first(tmp_path):
    ranker = podium.RankNet(epochs=1).fit(DATA)
    for call in (
        lambda: ranker.fit("train.txt"),
        lambda: ranker.fit(DATA, valid=tmp_path / "train.txt"),
        lambda: ranker.predict("train.txt"),
        lambda: ranker.rank("train.txt"),
        lambda: podium.evaluate([1.0], "train.txt", "map"),
        lambda: podium.cross_validate(ranker, "train.txt"),
    ):
        with pytest.raises(podium.DataError, match=r"read it first with podium.read\('.*train.txt'\)"):
            call()


def test_a_refit_that_fails_leaves_the_ranker_as_it_was():
    ranker = podium.RankNet(epochs=1).fit(DATA)
    scores, wide = ranker.predict(DATA), np.column_stack([DATA.features, DATA.features])
    with pytest.raises(podium.ParameterError, match="learning_rate"):
        ranker.set_params(learning_rate=-1).fit(DATA.replace(features=wide))
    assert ranker.n_features_in_ == DATA.n_features
    np.testing.assert_array_equal(ranker.predict(DATA.features), scores)


def test_what_ranks_nothing_says_so():
    flat = DATA.replace(features=np.ones_like(DATA.features))
    with pytest.warns(
        UserWarning, match="nothing is ranked: all documents of each training query get the same score; try"
    ):
        podium.ListNet(epochs=1).fit(flat)


@pytest.mark.parametrize("alone", [True, False])
def test_query_ids_that_leave_nothing_to_compare_are_reported(alone):
    """A different query id in every row, or one label for all, as if the wrong columns had been given."""
    labels = DATA.labels if alone else np.ones(len(DATA))
    qid = np.arange(len(DATA)) if alone else DATA.qid
    data = podium.RankingData(DATA.features, labels, qid)
    reason = (
        "every training query has only one document" if alone else "no training query has two documents with different"
    )
    for ranker in (podium.LambdaMART(n_estimators=2), podium.RankNet(epochs=1), podium.RankSVM()):
        with pytest.warns(UserWarning, match=f"nothing is ranked: {reason}"):
            ranker.fit(data)
    podium.MART(n_estimators=2).fit(data)  # treats each document by itself
    if not alone:
        podium.RankNet(epochs=1).fit(data.replace(pairs=podium.Pairs.of([0], [1])))  # does not learn from labels


def test_a_force_of_the_running_script_cannot_be_found_elsewhere(tmp_path, monkeypatch):
    import __main__

    def push(scores, labels):
        return labels - scores, np.ones(len(scores))

    push.__module__, push.__qualname__ = "__main__", "push"
    monkeypatch.setattr(__main__, "push", push, raising=False)
    ranker = podium.Ranker(force=podium.custom_force(push, compile=False), schedule="adam(epochs=1)").fit(DATA)
    with pytest.warns(UserWarning, match="is defined in the running script"):
        ranker.save(tmp_path / "m.podium")


def test_the_width_of_a_single_layer_may_be_a_number():
    data = podium.synthetic.network(queries=4, documents=4, features=2)
    assert podium.RankNet(hidden=3, epochs=1).fit(data).model_spec_ == "net(3)"
    with pytest.raises(podium.ParameterError, match="hidden=None must be whole numbers"):
        podium.RankNet(hidden=None).fit(data)


@pytest.mark.parametrize("kind", KINDS)
def test_the_docstring_describes_every_parameter(kind):
    text = inspect.getdoc(KINDS[kind])
    assert text.count("Args:\n") == 1
    section = text.partition("Args:\n")[2].partition("\n\nAttributes:")[0]
    described = dict(line.strip().split(": ", 1) for line in section.splitlines() if not line.startswith("     "))
    assert described.keys() == inspect.signature(KINDS[kind]).parameters.keys()
    for name, parameter in KINDS[kind].parameters().items():
        assert parameter.description[0].isupper() or parameter.description[0] in "'½", name
        assert parameter.description.endswith((".", "]")), name
    assert "\n\n" in inspect.getdoc(type("Derived", (KINDS[kind],), {}))  # one without a docstring of its own


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.full(100, 1j), "sample_weight must be numbers"),
        (["heavy"] * 100, "sample_weight must be numbers"),
        (np.ones(7), r"sample_weight has shape \(7,\) for 100 rows"),
        (np.zeros(100), "sample_weight must not be zero for every document"),
    ],
    ids=["complex", "text", "short", "zero"],
)
def test_bad_weights_are_refused_by_the_name_they_were_given(weights, words):
    data = podium.synthetic.network(queries=5, documents=20, seed=0)
    with pytest.raises((podium.DataError, podium.ParameterError), match=words):
        podium.RankNet(epochs=1).fit(data, sample_weight=weights)


def test_score_says_that_metrics_do_not_weigh_documents():
    data = podium.synthetic.network(queries=5, documents=20, seed=0)
    ranker = podium.RankSVM().fit(data)
    assert ranker.score(data, sample_weight=None) == ranker.score(data)
    with pytest.raises(podium.ParameterError, match="sample_weight weighs documents, which metrics do not"):
        ranker.score(data, sample_weight=np.ones(100))


@pytest.mark.parametrize(
    ("positional", "named", "message"),
    [
        (([0],), {}, r"give qid=, as in fit\(X, y, qid=qid\)"),
        ((), {"group": [1]}, "fit has no argument 'group'; give qid=, one query id per row"),
        ((), {"eval_set": []}, "fit has no argument 'eval_set'; give valid=, a RankingData or"),
        ((), {"quid": [0]}, "unexpected keyword argument 'quid'"),
    ],
)
def test_the_arguments_of_other_libraries_are_explained(positional, named, message):
    with pytest.raises(TypeError, match=message):
        podium.RankNet().fit([[1.0]], [0], *positional, **named)


def test_cross_validation_needs_a_ranker():
    data = podium.synthetic.network(queries=6, documents=5, features=3, seed=1)
    with pytest.raises(podium.ParameterError, match="ranker='ranksvm' must be a ranker; make one"):
        podium.cross_validate("ranksvm", data)


def test_pairs_that_teach_nothing_are_warned_of():
    from podium.rankers.training_warnings import NothingRankedWarning

    data = DATA.replace(labels=np.zeros(len(DATA)))
    first = data.query_offsets[:-1]
    linear = podium.Ranker(force="ranknet", model="linear", schedule="sgd(epochs=1)")
    circles = podium.Pairs.of(np.r_[first, first + 1, first + 2], np.r_[first + 1, first + 2, first])
    linear.fit(data.replace(pairs=circles))  # equal scores are right, so that no warning is given
    single = data.replace(pairs=podium.Pairs.of(first, first + 1))
    with pytest.warns(NothingRankedWarning, match="all documents of each training query get the same score"):
        linear.fit(single.replace(features=np.ones_like(data.features)))
    for ranker in (
        podium.Ranker(force="structrank(shared)", model="linear", schedule="adam(epochs=1)"),
        podium.StructRank(epochs=1, starts=1, norm=5.0),
    ):
        with pytest.warns(NothingRankedWarning, match="no training query has two preferences that structrank"):
            ranker.fit(single)
    podium.StructRank(topology="winner", epochs=1, starts=1, norm=5.0).fit(single)


def test_every_warning_of_training_has_a_class_of_its_own():
    from podium.rankers import training_warnings as kinds

    flat = DATA.replace(features=np.ones_like(DATA.features))
    with pytest.warns(kinds.NothingRankedWarning, match="nothing is ranked"):
        podium.ListNet(epochs=1).fit(flat)
    with pytest.warns(kinds.UnsolvedWarning, match="the solver stopped after 1 epochs") as given:
        podium.RankSVM(epochs=1).fit(DATA)
    assert issubclass(given[0].category, ConvergenceWarning)
    others = podium.synthetic.network(queries=30, documents=8, features=3, seed=1)
    with pytest.warns(
        kinds.BestEpochWarning, match="the last one allowed, number 8.*; allow more epochs, as in epochs=16$"
    ):
        podium.RankNet(hidden=(), epochs=8, learning_rate=1e-4).fit(others, valid=others)

    def stop(row):
        raise KeyboardInterrupt

    with pytest.warns(kinds.InterruptedWarning, match="training was interrupted"):
        podium.RankNet(epochs=3).fit(DATA, callbacks=stop)
