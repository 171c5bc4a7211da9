"""Parameters that a force learns itself: with every function class and schedule, saved, and resumed to the same bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import podium

TRAIN = podium.synthetic.network(queries=16, documents=9, features=5, levels=3, seed=2)
VALID = podium.synthetic.network(queries=10, documents=9, features=5, levels=3, seed=3, generator_seed=2)
MODELS = {
    "linear": "adam(epochs=6, rate=0.01)",
    "net(4)": "sgd(epochs=6, rate=0.05, batch=4)",
    "kernel(rbf, landmarks=20)": "lbfgs(epochs=6, l2=0.1)",
    "quadratic": "adam(epochs=6, rate=0.01)",
    "net(3)": "phases(epochs=6, phase_epochs=2)",
    "nadaraya-watson": "adam(epochs=6, rate=0.05)",
    "nadaraya-watson(references=40)": "feasible(epochs=3, starts=1)",
    "trees(num_leaves=4, forests=1)": "boosting(rounds=12, rate=0.1, smoothing=2)",
    "trees(num_leaves=3, forests=2)": "boosting(rounds=8, rate=0.1)",
}
FORCES = [
    "structrank(w1=0.5, w2=2)",
    "structrank(function='gaussian', components=2)",
    "structrank(winner, components=2, noise_features=(1, 3))",
]


class PowerCutError(Exception):
    """Ends training at once."""


def make(force: str, model: str) -> podium.Ranker:
    if MODELS[model].startswith("feasible"):
        force = force.replace("w1=0.5, w2=2", "partners=4")  # feasible steps draw where they start
    return podium.Ranker(force=force, model=model, schedule=MODELS[model], metric="map", seed=1)


def numbers(learned: dict[str, Any]) -> np.ndarray:
    return np.concatenate([np.atleast_1d(value) for value in learned.values()])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("force", FORCES)
@pytest.mark.parametrize("model", MODELS)
def test_every_function_class_learns_the_numbers_of_the_force(model, force, tmp_path):
    ranker = make(force, model).fit(TRAIN, valid=VALID)
    start = podium.force(force).named_values(None, podium.force(force).own_values(None))
    learned = {name: value for name, value in ranker.learned_.items() if name != "norm"}
    assert learned.keys() == start.keys()
    assert (numbers(learned) != numbers(start)).all()
    assert np.isfinite(numbers(learned)).all()
    assert ranker.outcome == ranker.learned_
    ranker.save(tmp_path / "model")
    assert podium.load(tmp_path / "model").learned_ == ranker.learned_
    fixed = make(f"{force[:-1]}, learn=False)", model).fit(TRAIN, valid=VALID)
    assert {*(fixed.learned_ or {})} <= {"norm"}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("force", FORCES)
@pytest.mark.parametrize("model", MODELS)
def test_training_resumes_to_the_same_bytes_in_any_order_of_queries(model, force, tmp_path):
    ranker = make(force, model)
    ranker.fit(TRAIN, valid=VALID).save(tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    order = np.random.default_rng(0).permutation(TRAIN.n_queries)
    make(force, model).set_params(num_threads=2).fit(TRAIN.select(order), valid=VALID).save(tmp_path / "turned")
    assert (tmp_path / "turned").read_bytes() == whole

    def cut(row: podium.Epoch) -> None:
        if row.epoch == 3:
            raise PowerCutError

    path = podium.Checkpoint(tmp_path / "checkpoint", seconds=0)
    with pytest.raises(PowerCutError):
        ranker.fit(TRAIN, valid=VALID, checkpoint=path, callbacks=cut)
    ranker.fit(TRAIN, valid=VALID, checkpoint=path).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == whole


def test_the_numbers_are_those_of_the_round_that_was_kept():
    """The best round turns out to be an earlier one, once its neighbors are known."""
    name = "trees(num_leaves=4, forests=1)"
    long, short = (f"boosting(rounds={rounds}, rate=0.3, smoothing=4)" for rounds in (60, "{}"))
    ranker = make(FORCES[0], name).set_params(schedule=long).fit(TRAIN, valid=VALID)
    assert ranker.best_epoch_ < ranker.n_epochs_
    shorter = make(FORCES[0], name).set_params(schedule=short.format(ranker.best_epoch_)).fit(TRAIN)
    assert shorter.learned_ == ranker.learned_


def test_steps_of_boosting_lower_the_cost_in_the_numbers_alone():
    """The queries' forces on w1 and w2 are followed until they cancel."""
    from podium.training.force_parameters import BoostedParameters, LearnedParameters

    force = podium.force("structrank(w1=3, w2=0.1)")
    scores, held = TRAIN.labels + np.random.default_rng(0).normal(size=len(TRAIN)), podium.forces.ForceData(TRAIN)
    own, costs = BoostedParameters(LearnedParameters(force, TRAIN)), []
    for _ in range(300):
        found = force.compute(scores, held, cost=True, parameters=own.learned.values(own.free))
        costs.append(found.cost.sum())
        own.move(found.parameter_force, 0.1, len(TRAIN))
    assert (np.diff(costs) <= 1e-12).all()
    total, sizes = found.parameter_force.sum(axis=0), np.abs(found.parameter_force).sum(axis=0)
    assert (np.abs(total) < 0.05 * sizes).all()


def test_a_file_with_wrong_numbers_is_refused(tmp_path):
    ranker = make(FORCES[0], "linear").fit(TRAIN)
    ranker.learned_ = {"w1": "steep"}
    ranker.save(tmp_path / "model")
    with pytest.raises(podium.FormatError, match="part missing or wrong"):
        podium.load(tmp_path / "model")
