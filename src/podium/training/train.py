"""The one way in: a plan becomes a trained model."""

from __future__ import annotations

from collections.abc import Sequence

from podium.data import RankingData
from podium.errors import ParameterError
from podium.metrics import Metric
from podium.models.trees import TreeModel, TreesSpec
from podium.training.boosting import Boosting
from podium.training.checkpoint import Checkpoint
from podium.training.feasible import Feasible
from podium.training.feasible_schedule import FeasibleSchedule
from podium.training.loop import Training
from podium.training.online import Online
from podium.training.online_schedule import OnlineSchedule
from podium.training.progress import Callback
from podium.training.rankprop import RankProp, RankPropSchedule
from podium.training.run import Plan, Trained


def train(
    plan: Plan,
    data: RankingData,
    *,
    valid: RankingData | None = None,
    callbacks: Sequence[Callback] = (),
    checkpoint: Checkpoint | None = None,
    start: TreeModel | None = None,
    also: tuple[Metric, ...] = (),
) -> Trained:
    """Trains until the epochs are used up, validation stops improving, a callback says True, or Ctrl-C.

    `start` is a forest to go on from, `also` metrics that are shown beside the one that judges; both are for trees.
    """
    if isinstance(plan.model, TreesSpec):
        if also and valid is None:
            raise ParameterError("other metrics are taken on validation data; give valid=, or leave them out")
        return Boosting(plan, data, valid, checkpoint, start=start, also=also).run(callbacks)
    if isinstance(plan.schedule, RankPropSchedule):
        return RankProp(plan, data, valid, checkpoint).run(callbacks)
    if isinstance(plan.schedule, OnlineSchedule):
        return Online(plan, data, valid, checkpoint).run(callbacks)
    if isinstance(plan.schedule, FeasibleSchedule):
        return Feasible(plan, data, valid, checkpoint).run(callbacks)
    return Training(plan, data, valid, checkpoint).run(callbacks)
