"""Every schedule of the table keeps the same contract, with a force and a model that it can fit."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import podium
from podium.forces import FORCES
from podium.rules import Integer, Real
from podium.training.schedules import SCHEDULES, schedule

TRAIN = podium.synthetic.network(queries=12, documents=10, features=5, hidden=3, seed=0)
VALID = podium.synthetic.network(queries=12, documents=10, features=5, hidden=3, seed=1, generator_seed=0)
# Forces and models; the first pair that a schedule can fit is the one it is tried with.
PAIRS = [
    ("ranknet", "linear"),
    ("hinge", "linear"),
    ("squared", "linear"),
    ("prank", "linear"),
    ("exponential", "trees(num_leaves=2)"),
    ("structrank(independent)", "nadaraya-watson"),
    ("finite_difference(ndcg@5)", "linear"),
]
SCALED = TRAIN.replace(features=TRAIN.features + np.arange(5, dtype=np.float32))
# Further names of rows whose example does not move equal scores, from which boosting cannot start.
STARTED = {"step": ("step(ndcg, margin=1)",)}
every = pytest.mark.parametrize("name", SCHEDULES)


def shortened(name: str, length: int) -> str:
    """The schedule with at most this many epochs or rounds, and otherwise its own defaults."""
    kind = SCHEDULES[name]
    budget = next(word for word in ("epochs", "n_estimators") if word in kind.parameters())
    settings = {budget: length, "early_stopping_rounds": None}
    if "l2" in kind.parameters():
        settings["l2"] = 0.1  # convex methods prove their optimum only with a penalty
    return str(kind(**{key: value for key, value in settings.items() if key in kind.parameters()}))


def ranker(name: str, length: int = 4, **others: Any) -> podium.Ranker:
    """A ranker with this schedule, and a force and a model that go with it."""
    for force, model in PAIRS:
        made = podium.Ranker(force=force, model=model, schedule=shortened(name, length), metric="ndcg@5", **others)
        try:
            made.fit(TRAIN, valid=VALID)
        except podium.ParameterError:
            continue
        return made
    raise AssertionError(f"{name} fits none of {PAIRS}; add a force and a model that it is for")


MODELS = ("linear", "trees(num_leaves=2)")
FORCE_NAMES = [name for row in FORCES.values() for name in (row.example, *row.examples, *STARTED.get(row.name, ()))]
# Which forces a schedule must accept: the others it must refuse. A schedule that is not listed accepts every force.
ACCEPTED: dict[str, Callable[[podium.Force], bool]] = {
    "lbfgs": lambda force: force.has_cost,
    "bundle": lambda force: force.convex and force.balanced and not force.learns,
    "boosting": lambda force: force.unmoved is None,
    "stumps": lambda force: str(force) == "exponential",
    "reweighting": lambda force: str(force) == "finite_difference(ndcg)",
    "feasible": lambda force: force.name not in ("ordinal", "prank", "multiclass"),
    "perceptron": lambda force: str(force) == "prank",
    "committee": lambda force: str(force) == "prank",
    # Its targets are numbers around 0, on which NDCG has no gains.
    "phases": lambda force: force.definition.labels == "any" and "ndcg" not in str(force),
}


def predictions(name: str, force: str, length: int = 3) -> Any:
    """Scores of a short training, or None if every model is refused."""
    for model in MODELS:
        made = podium.Ranker(force=force, model=model, schedule=shortened(name, length), metric="ndcg@5")
        try:
            return made.fit(TRAIN).predict(TRAIN)
        except podium.PodiumError:
            continue
    return None


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:nothing is ranked")
@every
def test_every_force_changes_the_model_or_is_refused(name: str) -> None:
    found = {force: predictions(name, force) for force in FORCE_NAMES}
    trained = {force: scores for force, scores in found.items() if scores is not None}
    accepts = ACCEPTED.get(name, lambda force: True)
    assert list(trained) == [force for force in FORCE_NAMES if accepts(podium.force(force))]
    for one, other in itertools.combinations(trained, 2):
        if np.array_equal(trained[one], trained[other]):  # as they may be at first if a schedule looks only at signs
            later = [predictions(name, force, length=60) for force in (one, other)]
            assert not np.array_equal(*later), (one, other)


@pytest.mark.parametrize(
    ("force", "model", "schedule", "message"),
    [
        ("ranknet", "linear", "perceptron", "force='ranknet' is not the force of a perceptron"),
        ("regularized(prank)", "linear", "committee", r"force='regularized\(prank\)' is not the force of a perceptron"),
        ("prank", "kernel(poly, landmarks=9)", "perceptron", "landmarks=9 has no effect on kernel"),
        ("prank", "quadratic(width=3)", "perceptron(width=2)", "width=2.0 differs from the one in quadratic"),
        ("prank", "quadratic", "committee", "schedule='committee' cannot fit quadratic"),
        ("lambdarank(map)", "linear", "reweighting", r"force='lambdarank\(map\)' is not the slope of its metric"),
        ("finite_difference(map, step=2)", "linear", "reweighting", "step=2 has no effect on finite_difference"),
        ("finite_difference(map)", "trees(num_leaves=2, l2=1)", "reweighting", "l2=1.0 has no effect on trees"),
        ("finite_difference(map)", "trees(num_leaves=2, forests=2)", "reweighting", "forests=2 has no effect on trees"),
        (
            "exponential",
            "trees(num_leaves=31)",
            "stumps",
            r"model='trees\(num_leaves=31\)' must have two leaves per tree",
        ),
        ("exponential", "trees", "stumps", "model='trees' must have two leaves per tree"),
        ("squared", "trees(num_leaves=2)", "stumps", "force='squared' has no closed form for the weight of a stump"),
        ("multiclass", "linear", "feasible", "force='multiclass' takes several scores per document"),
    ],
)
def test_what_a_schedule_would_ignore_is_refused(force: str, model: str, schedule: str, message: str) -> None:
    made = podium.Ranker(force=force, model=model, schedule=schedule)
    with pytest.raises(podium.ParameterError, match=f"^{message}"):
        made.check_parameters()
    with pytest.raises(podium.ParameterError, match=f"^{message}"):
        made.fit(TRAIN)


@pytest.mark.parametrize("model", ["kernel(poly{})", "quadratic{}"])
def test_perceptrons_use_the_settings_of_the_model_as_well_as_their_own(model: str) -> None:
    ways = [(", width=3", ""), ("", "width=3"), (", width=3", "width=3")]
    scores = []
    for inside, own in ways:
        named = model.format(inside) if "kernel" in model else model.format(f"({inside[2:]})" if inside else "")
        made = podium.Ranker(force="prank", model=named, schedule=f"perceptron({own})").fit(TRAIN)
        assert "width=3.0" in made.resolved_["model"]
        assert "width=3.0" in made.resolved_["schedule"]
        scores.append(made.predict(TRAIN))
    assert np.array_equal(scores[0], scores[1])
    assert np.array_equal(scores[0], scores[2])
    plain = podium.Ranker(force="prank", model=model.format(""), schedule="perceptron").fit(TRAIN).predict(TRAIN)
    assert not np.array_equal(scores[0], plain)


def test_standardize_counts_wherever_it_is_given() -> None:
    scores = [
        podium.Ranker(force="prank", model=model, schedule=schedule).fit(SCALED).predict(SCALED)
        for model, schedule in (
            ("linear(standardize=False)", "perceptron"),
            ("linear", "perceptron(standardize=False)"),
            ("linear", "perceptron"),
        )
    ]
    assert np.array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


def test_weak_rankers_record_no_setting_that_plays_no_part() -> None:
    made = podium.Ranker(
        force="finite_difference(ndcg@5)", model="trees(num_leaves=2)", schedule="reweighting(rounds=2)"
    )
    assert made.fit(TRAIN).resolved_["model"] == "trees(num_leaves=2, categorical=())"


def test_the_force_of_a_pair_is_its_cost_if_stumps_have_a_closed_form() -> None:
    """RankBoost's α follows from Σ D over pairs, which is the cost, and Σ D·(h(winner) − h(loser)), which is the force."""
    named = [row.example for row in FORCES.values() if row.stump_weights]
    assert named
    pair = podium.RankingData(np.zeros((2, 1)), [1, 0], [0, 0])
    for name in named:
        for gap in (-3.0, 0.0, 0.7, 5.0):
            force, _ = podium.force(name)([gap, 0.0], pair)
            assert force == pytest.approx([np.exp(-gap), -np.exp(-gap)])
            assert podium.force(name).cost([gap, 0.0], pair) == pytest.approx([np.exp(-gap)])


@every
def test_names_print_and_read_back(name: str) -> None:
    for text in (name, shortened(name, 7)):
        made = schedule(text)
        assert schedule(str(made)) == made
        assert hash(schedule(f" {text} ")) == hash(made)
        assert pickle.loads(pickle.dumps(made)) == made
        assert schedule(made) is made


@every
def test_every_setting_is_declared_with_a_rule_and_a_sentence(name: str) -> None:
    kind = SCHEDULES[name]
    assert kind.name == name
    assert kind.summary
    for parameter in kind.parameters().values():
        assert parameter.description.endswith((".", "]")), parameter.name
        assert parameter.check(parameter.default) == getattr(kind(), parameter.name)
        if isinstance(parameter.rule, Integer | Real):
            with pytest.raises(podium.ParameterError, match=rf"^{parameter.name}='many' must be"):
                parameter.check("many")


@every
def test_the_model_does_not_depend_on_threads_or_the_order_of_queries(name: str, tmp_path: Any) -> None:
    files = []
    for number, (threads, data) in enumerate(((1, TRAIN), (2, TRAIN), (2, TRAIN.select([*range(11, -1, -1)])))):
        made = ranker(name, num_threads=threads).fit(data, valid=VALID)
        made.set_params(num_threads=None).save(tmp_path / f"{number}")
        files.append((tmp_path / f"{number}").read_bytes())
    assert files[0] == files[1] == files[2]


@every
def test_a_resumed_training_gives_the_same_model(name: str, tmp_path: Any) -> None:
    made = ranker(name)
    made.save(tmp_path / "whole")
    parts = made.fit(TRAIN, valid=VALID, checkpoint=tmp_path / "c", callbacks=lambda row: row.epoch == 2)
    assert len(parts.log_) == 2
    parts.fit(TRAIN, valid=VALID, checkpoint=tmp_path / "c").save(tmp_path / "resumed")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "resumed").read_bytes()


@every
def test_training_ranks_better_than_at_random(name: str) -> None:
    at_random = podium.evaluate([0.0] * len(TRAIN), TRAIN, "ndcg(ties='average')@5").mean["ndcg(ties='average')@5"]
    assert ranker(name, length=30).score(TRAIN) > at_random + 0.05
