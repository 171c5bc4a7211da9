"""A custom metric is one function of one query: it works wherever a metric does, and as LambdaRank's target."""

from __future__ import annotations

import copy
import pickle
import sys
import warnings
from pathlib import Path

import custom_metrics
import numpy as np
import pytest
from sklearn.base import clone

import podium
from generated import any_schedule
from podium.data import RankingData, Run
from podium.errors import DataError, ParameterError
from podium.forces import FORCES, Force
from podium.metrics import Metric, metric

TWINS = {"dcg": custom_metrics.dcg, "mrr": custom_metrics.mrr, "pairwise_error": custom_metrics.pairwise_error}
SLOW = "found by calling your function for every pair"
twins = pytest.mark.parametrize("name", TWINS)
either = pytest.mark.parametrize("compile", [None, False], ids=["numba", "python"])


def make_data(queries: int = 12, documents: int = 7) -> RankingData:
    return podium.synthetic.network(queries=queries, documents=documents, features=4, seed=0)


@either
@twins
def test_values_are_those_of_the_built_in_metric(name: str, compile: bool | None) -> None:
    custom = podium.custom_metric(TWINS[name], compile=compile)
    assert custom.runs_in_python == (compile is False)
    rng = np.random.default_rng(0)
    offsets = np.append(0, np.cumsum(rng.integers(1, 9, 50)))
    scores, labels = rng.integers(0, 6, offsets[-1]) / 2, rng.integers(0, 4, offsets[-1])
    expected = metric(name).per_query(scores, labels, offsets)
    for threads in (None, 1, 3):
        assert custom.per_query(scores, labels, offsets, num_threads=threads) == pytest.approx(expected, abs=1e-12)


@either
@twins
def test_swap_deltas_are_those_of_the_built_in_metric(name: str, compile: bool | None) -> None:
    custom = podium.custom_metric(TWINS[name], compile=compile)
    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 9):
        scores, labels = rng.permutation(n).astype(float), rng.integers(0, 4, n)
        expected = metric(name).swap_deltas(scores, labels)
        assert custom.swap_deltas(scores, labels) == pytest.approx(expected, abs=1e-12)


def test_tied_documents_swap_places() -> None:
    """A metric that sees scores would not change if two equal ones were exchanged; places are."""
    deltas = podium.custom_metric(custom_metrics.pairwise_error).swap_deltas([1, 1, 1], [0, 1, 2])
    assert deltas == pytest.approx(metric("pairwise_error").swap_deltas([3, 2, 1], [0, 1, 2]))


def test_the_function_sees_the_ranked_list_and_a_copy() -> None:
    seen = []

    def look(scores, labels):
        seen.append((scores.tolist(), labels.tolist()))
        scores[:], labels[:] = 0, 0
        return 1.0

    podium.custom_metric(look, compile=False).per_query([1, 3, 1, 2], [5, 6, 7, 8], [0, 4])
    assert seen == [([3, 2, 1, 1], [6, 8, 5, 7])]


def test_with_a_run_documents_not_retrieved_come_last_and_ties_go_by_id() -> None:
    seen = []

    def look(scores, labels):
        seen.append((scores.tolist(), labels.tolist()))
        return float(labels[0])

    data = RankingData(np.zeros((3, 0)), [1, 2, 3], ["q"] * 3, document_ids=["a", "b", "c"])
    run = Run.of(["q"] * 3, ["a", "x", "b"], [1.0, 1.0, 1.0])
    by_id = podium.custom_metric(look, compile=False, name="by id")
    given = podium.custom_metric(look, compile=False, name="given", ties="input")
    result = podium.evaluate(run, data, [by_id, given])
    assert ([1, 1, 1, -np.inf], [0, 2, 1, 3]) in seen  # x, b, a by id, then c
    assert ([1, 1, 1, -np.inf], [1, 0, 2, 3]) in seen
    assert (result.mean["by id"], result.mean["given"]) == (0, 1)
    assert (result.ties["given"].best, result.ties["given"].worst) == (2, 0)


def test_evaluate_and_compare_take_functions() -> None:
    data = make_data()
    scores = np.random.default_rng(0).normal(size=(2, len(data)))
    result = podium.evaluate(scores[0], data, [custom_metrics.mrr, custom_metrics.top, "mrr"])
    assert list(result.mean) == ["custom_metrics:mrr", "top label", "mrr"]
    for key in (custom_metrics.mrr, "custom_metrics:mrr", "mrr", metric(custom_metrics.mrr)):
        assert result.mean[key] == result.mean["mrr"]
    assert result.mean[custom_metrics.top] == result.mean["top label"] == result.mean["custom_metrics:top"]
    assert result.bootstrap_interval["top label"][1] <= 4
    pair = podium.compare({"a": scores[0], "b": scores[1]}, data, custom_metrics.mrr).pairs[0]
    built_in = podium.compare({"a": scores[0], "b": scores[1]}, data, "mrr").pairs[0]
    assert (pair.p_values, pair.wins, pair.losses) == (built_in.p_values, built_in.wins, built_in.losses)
    error, correct = (
        podium.compare({"a": scores[0], "b": scores[1]}, data, name).pairs[0]
        for name in ("custom_metrics:lower", "pairwise_correct")
    )
    assert (error.wins, error.losses) == (correct.wins, correct.losses)


def test_ties_are_averaged_over_random_orders() -> None:
    data = RankingData(np.zeros((6, 1)), [0, 1, 0, 0, 1, 1], [1, 1, 1, 2, 2, 2])
    custom = podium.evaluate([1, 1, 1, 1, 1, 0], data, custom_metrics.mrr).ties[custom_metrics.mrr]
    exact = podium.evaluate([1, 1, 1, 1, 1, 0], data, "mrr").ties["mrr"]
    assert (custom.n_affected, custom.value, custom.best, custom.worst) == (
        exact.n_affected,
        exact.value,
        exact.best,
        exact.worst,
    )
    assert custom.expected == pytest.approx(exact.expected, abs=0.1)


def test_early_stopping_and_score_follow_the_function() -> None:
    data, valid = podium.split(make_data(40), (0.5, 0.5))
    fitted = [
        podium.RankNet(metric=name, epochs=6, seed=0).fit(data, valid=valid)
        for name in (custom_metrics.dcg, "custom_metrics:dcg", "dcg")
    ]
    for ranker in fitted:
        assert ranker.best_epoch_ == fitted[-1].best_epoch_
        assert ranker.best_value_ == pytest.approx(fitted[-1].best_value_)
        assert ranker.score(valid) == pytest.approx(fitted[-1].score(valid))
    worse = podium.RankNet(metric=custom_metrics.lower, epochs=2, seed=0).fit(data, valid=valid)
    assert worse.score(valid) == pytest.approx(
        -podium.evaluate(worse.predict(valid), valid, "pairwise_error").mean["pairwise_error"]
    )
    assert clone(fitted[0]).metric is custom_metrics.dcg


@either
def test_lambdarank_of_a_function_is_lambdarank_of_its_built_in_twin(compile: bool | None) -> None:
    data = make_data(8, 6)
    with pytest.warns(UserWarning, match=SLOW):
        mine = Force.of(FORCES["lambdarank"], podium.custom_metric(custom_metrics.dcg, compile=compile))
    built_in = Force.of(FORCES["lambdarank"], "dcg")
    scores = np.random.default_rng(0).normal(size=len(data))
    for got, expected in zip(mine(scores, data), built_in(scores, data), strict=True):
        assert got == pytest.approx(expected)
    # at the start of training all scores are equal
    for name, function in TWINS.items():
        with pytest.warns(UserWarning, match=SLOW):
            force = Force.of(FORCES["lambdarank"], podium.custom_metric(function, compile=compile, name=f"{compile}"))
        forces = force(np.zeros(len(data)), data)[0]
        assert forces == pytest.approx(Force.of(FORCES["lambdarank"], name)(np.zeros(len(data)), data)[0])
        assert np.abs(forces).max() > 0


def test_trees_train_for_a_function() -> None:
    data = make_data(10, 6)
    mine = podium.LambdaMART(metric=podium.custom_metric(custom_metrics.dcg, name="mine"), n_estimators=3, seed=0)
    with pytest.warns(UserWarning, match=SLOW):
        mine.fit(data)
    built_in = podium.LambdaMART(metric="dcg", n_estimators=3, seed=0).fit(data)
    assert mine.predict(data) == pytest.approx(built_in.predict(data))


@pytest.mark.parametrize("spec", ["linear", "net(5)", "trees(num_leaves=4)", "kernel(rbf, landmarks=20)"])
def test_every_model_follows_the_slope_of_a_function(spec: str) -> None:
    """finite_difference of a user's function is that of the built-in metric, whatever model it drives."""
    data, models = make_data(10, 6), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("finite_difference(custom_metrics:dcg)", "finite_difference(dcg)"):
            assert str(podium.force(name)) == name
            schedule = any_schedule(spec, epochs=5, learning_rate=0.05)
            models.append(podium.Ranker(force=name, model=spec, seed=0, **schedule).fit(data))
    mine, built_in = (model.predict(data) for model in models)
    assert np.ptp(mine) > 0
    np.testing.assert_allclose(mine, built_in, atol=1e-5 * np.ptp(built_in))


def test_lambdarank_reads_functions_by_name() -> None:
    for name in (
        "lambdarank(custom_metrics:mrr)",
        "neighbors(lambdarank(custom_metrics:mrr(empty='skip'), truncation=5))",
        "step(custom_metrics:top)",
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            force = podium.force(name)
            assert str(force) == name
            assert pickle.loads(pickle.dumps(force)) == force
    with pytest.warns(UserWarning, match=SLOW):
        unnamed = Force.of(FORCES["lambdarank"], lambda scores, labels: labels[0], truncation=3)
    assert not unnamed.is_importable
    assert copy.deepcopy(unnamed)([1.0, 2.0], RankingData(np.zeros((2, 1)), [0, 1], [1, 1]))[0][1] > 0


def test_models_judged_by_a_function_are_saved_with_its_name(tmp_path: Path) -> None:
    data = make_data(10)
    for function, name in ((custom_metrics.mrr, "custom_metrics:mrr"), (lambda scores, labels: labels[0], "unnamed:")):
        podium.RankNet(metric=function, epochs=2).fit(data, valid=data).save(tmp_path / "model.podium")
        loaded = podium.load(tmp_path / "model.podium")
        assert loaded.metric.startswith(name)
        assert loaded.predict(data).shape == (len(data),)
        loaded.save(tmp_path / "again.podium")


def test_a_saved_model_does_not_import_the_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone_metric.py").write_text("def first(scores, labels):\n    return labels[0]\n")
    monkeypatch.syspath_prepend(tmp_path)
    data = make_data(10)
    podium.RankNet(metric="gone_metric:first", epochs=2).fit(data, valid=data).save(tmp_path / "model.podium")
    (tmp_path / "gone_metric.py").unlink()
    monkeypatch.delitem(sys.modules, "gone_metric")
    loaded = podium.load(tmp_path / "model.podium")
    loaded.predict(data)
    loaded.save(tmp_path / "again.podium")
    with pytest.raises(ParameterError, match="there is no module 'gone_metric'"):
        loaded.score(data)


def test_checkpoints_need_a_name_for_the_function(tmp_path: Path) -> None:
    data = make_data(6)
    ranker = podium.RankNet(metric=lambda scores, labels: labels[0], epochs=2)
    with pytest.raises(
        ParameterError, match="checkpoint cannot be written: it records the metric by name, and unnamed:"
    ):
        ranker.fit(data, valid=data, checkpoint=podium.Checkpoint(tmp_path / "c"))


def test_further_metrics_of_the_log() -> None:
    data = make_data(10)
    ranker = podium.RankNet(epochs=2, also=["ndcg@1,3", custom_metrics.mrr]).fit(data, valid=data)
    assert list(ranker.log_[-1].also) == ["ndcg@1", "ndcg@3", "custom_metrics:mrr"]


@pytest.mark.parametrize(
    "name",
    [
        "custom_metrics:mrr",
        "custom_metrics:top",
        "custom_metrics:lower",
        "custom_metrics:mrr(higher_is_better=False, bounds=(0, None), empty='skip')",
        "custom_metrics:top(name='other', compile=False)",
        "custom_metrics:mrr(ties='trec_eval')",
    ],
)
def test_names_print_and_read_back(name: str) -> None:
    made = metric(name)
    assert metric(str(made)) == made
    assert hash(metric(str(made))) == hash(made)
    assert pickle.loads(pickle.dumps(made)) == made
    assert made.is_importable


def test_a_decorated_function_prints_its_plain_name() -> None:
    assert str(custom_metrics.top) == "custom_metrics:top"
    assert (custom_metrics.top.label, custom_metrics.top.bounds) == ("top label", (0, 4))
    assert metric("custom_metrics:top") is custom_metrics.top
    assert str(metric(custom_metrics.pairwise_error)) == "custom_metrics:pairwise_error"
    assert str(custom_metrics.lower) == "custom_metrics:pairwise_error(higher_is_better=False)"


def test_functions_that_no_name_leads_to() -> None:
    first = podium.custom_metric(lambda scores, labels: labels[0], higher_is_better=False)
    assert str(first) == "unnamed:test_functions_that_no_name_leads_to.<locals>.<lambda>(higher_is_better=False)"
    assert not first.is_importable
    assert copy.deepcopy(first).per_query([1, 2], [3, 4], [0, 2]).tolist() == [4]
    with pytest.raises(ParameterError, match="was a function that no module names"):
        metric(str(first))
    data = make_data(2)
    with pytest.raises(ParameterError, match=r"has two metrics that are called 'unnamed:.*; name one of them"):
        podium.evaluate(np.zeros(len(data)), data, [lambda s, l: 1.0, lambda s, l: 2.0])


def test_nan_is_refused_unless_empty_says_what_it_counts_as() -> None:
    scores, labels, offsets = [1, 2, 1, 2], [0, 0, 0, 1], [0, 2, 4]
    with pytest.raises(
        DataError, match=r"custom_metrics:recall_of_two: gave nan for a query with scores \[2.0, 1.0\].*empty='skip'"
    ):
        metric(custom_metrics.recall_of_two).per_query(scores, labels, offsets)
    for rule, value in (("zero", 0), ("one", 1), ("skip", np.nan)):
        made = podium.custom_metric(custom_metrics.recall_of_two, empty=rule)
        assert made.per_query(scores, labels, offsets) == pytest.approx([value, 1], nan_ok=True)
    data = RankingData(np.zeros((4, 1)), labels, [1, 1, 2, 2])
    result = podium.evaluate(scores, data, "custom_metrics:recall_of_two(empty='skip')")
    assert list(result.n_empty.values()) == [1]
    assert (made.swap_deltas([2, 1], [0, 0]) == 0).all()


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        ("gives_text", DataError, "custom_metrics:gives_text: gave 'high'; it must give one number"),
        (
            "gives_infinity",
            DataError,
            "custom_metrics:gives_infinity: gave inf for a query .* must give a finite number",
        ),
        ("fails", ValueError, "no such luck"),
        ("leaves", RuntimeError, r"the function called sys.exit\(0\)"),
    ],
)
def test_errors_name_the_function(function: str, error: type[Exception], message: str) -> None:
    asked = podium.custom_metric(getattr(custom_metrics, function), compile=False)
    with pytest.raises(error, match=message) as caught:
        asked.per_query([1, 2], [0, 1], [0, 2])
    if error is not DataError:
        assert any(f"In the metric of custom_metrics:{function}" in note for note in caught.value.__notes__)


@either
def test_reading_past_the_end_is_an_error(compile: bool | None) -> None:
    asked = podium.custom_metric(custom_metrics.past_the_end, compile=compile)
    with pytest.raises(IndexError, match="out of bounds"):
        asked.per_query([1, 2], [0, 1], [0, 2])
    with pytest.raises(IndexError, match="out of bounds"):
        asked.swap_deltas([1, 2], [0, 1])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("custom_metrics:mrrr", r"custom_metrics has no function 'mrrr'; did you mean custom_metrics:mrr\?"),
        ("custom_metric:mrr", "metric='custom_metric:mrr' cannot be found: there is no module 'custom_metric'"),
        (
            "custom_metrics.py:mrr",
            "must name a module, and 'custom_metrics.py' is the name of a file; write custom_metrics:mrr",
        ),
        ("custom_metrics:NUMBER", "is 5; name a function or a metric"),
        ("custom_metrics:mrr@10", "cutoff=10 cannot be given to a function of yours"),
        ("custom_metrics:mrr(rel=2)", "unknown option of a metric of yours 'rel'"),
        ("custom_metrics:mrr(empty='none')", "empty='none' must be one of 'refuse', 'zero', 'one', 'skip'"),
        ("custom_metrics:mrr(bounds=(1, 0))", "bounds=.1, 0. must be the least and the greatest value"),
        ("custom_metrics:mrr(higher_is_better=1)", "higher_is_better=1 must be True or False"),
        ("custom_metrics:mrr(name=5)", "name=5 must be text"),
        ("custom_metrics:mrr(compile='yes')", "compile='yes' must be True, False or None"),
    ],
)
def test_names_that_are_refused(name: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        metric(name)


def test_other_refusals() -> None:
    with pytest.raises(ParameterError, match="is a metric already"):
        podium.custom_metric(custom_metrics.top)
    with pytest.raises(ParameterError, match="metric=5 must be a name such as 'ndcg@10' or 'module:function'"):
        metric(5)  # type: ignore[arg-type]
    assert isinstance(metric(max), Metric)


def test_the_command_line_finds_functions_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from podium.cli.app import app

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("mine_for_cli.py").write_text("def first(scores, labels):\n    return labels[0]\n")
    data = make_data(5)
    podium.write(data, "data.txt")
    for name in ("a", "b"):
        podium.write(np.random.default_rng(ord(name)).normal(size=len(data)), f"{name}.scores")
    shown = CliRunner().invoke(app, ["evaluate", "a.scores", "data.txt", "-m", "mine_for_cli:first", "-m", "ndcg@1,3"])
    assert shown.exit_code == 0, shown.output
    assert [line.split()[0] for line in shown.output.splitlines()[3:6]] == ["mine_for_cli:first", "ndcg@1", "ndcg@3"]
    shown = CliRunner().invoke(app, ["compare", "data.txt", "a.scores", "b.scores", "-m", "mine_for_cli:first"])
    assert "mine_for_cli:first over 5 queries" in shown.output
    words = [
        "train",
        "data.txt",
        "--ranker",
        "ranknet",
        "--metric",
        "mine_for_cli:first",
        "--epochs",
        "1",
        "--out",
        "m.podium",
    ]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
