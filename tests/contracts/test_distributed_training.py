"""Every force, model and schedule of the tables trains on workers to the bytes of one process, or is refused with a reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import podium
from in_process import train_together
from podium.data import RankingData
from podium.errors import ParameterError
from podium.forces import FORCES
from podium.models import MODELS, model
from podium.training import SCHEDULES, train
from podium.training.schedule import Schedule

RAY = "ray(workers=2)"
FORCE_NAMES = [name for row in FORCES.values() for name in (row.example, *row.examples)]
# A force and a model that go with a schedule that neither follows gradients nor grows trees by them.
OTHERS = {
    "stumps": ("exponential", "trees(num_leaves=2)"),
    "reweighting": ("finite_difference(ndcg@5)", "linear"),
    "perceptron": ("prank", "linear"),
    "committee": ("prank", "linear"),
    "phases": ("squared", "linear"),
    "boosting": ("ranknet", "trees"),
}


def made(queries: int, first: int) -> RankingData:
    random = np.random.default_rng(first)
    sizes = random.integers(1, 8, queries)
    features = random.normal(size=(int(sizes.sum()), 4)).astype(np.float32)
    labels = np.clip(np.rint(features[:, 0] + random.normal(size=len(features)) + 1.5), 0, 3)
    return RankingData(features, labels, np.repeat(np.arange(first, first + queries), sizes))


DATA, VALID = made(40, 0), made(12, 500)


def check(force: str, spec: str, schedule: str) -> None:
    """Compare the model of three workers with that of one process; a plan that no engine takes has nothing to compare."""
    plan: Any = podium.Ranker(force=force, model=spec, schedule=schedule, metric="ndcg@5", seed=2)._plan(DATA)
    try:
        expected = train(plan, DATA, valid=VALID)
    except podium.PodiumError as error:
        with pytest.raises(type(error)):
            train_together(plan, DATA, VALID, 3)
        return
    for found in train_together(plan, DATA, VALID, 3)[0]:
        for name, array in expected.model.arrays().items():
            assert array.tobytes() == found.model.arrays()[name].tobytes(), name
        assert found.thresholds.tobytes() == expected.thresholds.tobytes()
        assert str(found.learned) == str(expected.learned)
        assert [(row.train, row.valid, row.cost) for row in found.log] == [
            (row.train, row.valid, row.cost) for row in expected.log
        ]


@pytest.mark.parametrize("schedule", ["adam(epochs=2, batch=7, rate=0.05)", "lbfgs(epochs=3)"])
@pytest.mark.parametrize("force", FORCE_NAMES)
def test_every_force(force: str, schedule: str) -> None:
    check(force, "net(3)", schedule)


@pytest.mark.parametrize("name", MODELS)
def test_every_model(name: str) -> None:
    spec: Any = model(name)
    if spec.grows:
        return  # the schedules that grow trees have tests of their own
    if spec.distributes:
        check("ranknet", name, "adam(epochs=2, batch=7, restart_rounds=1)")
        return
    with pytest.raises(ParameterError, match="whose gradients are not computed query by query"):
        podium.Ranker(model=name, schedule="adam").fit(DATA, engine=RAY)


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule(name: str) -> None:
    kind = SCHEDULES[name]
    force, spec = OTHERS.get(name, ("ranknet", "linear"))
    if kind.distributes:
        budget = next(word for word in ("epochs", "n_estimators") if word in kind.parameters())
        check(force, spec, f"{name}({budget}=3{', l2=0.1' if name == 'bundle' else ''})")
        return
    assert kind.undistributed != Schedule.undistributed  # says what is special about it
    with pytest.raises(ParameterError, match=f"the schedule {name}, which {kind.undistributed}"):
        podium.Ranker(force=force, model=spec, schedule=name).fit(DATA, engine=RAY)
