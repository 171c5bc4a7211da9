"""The entry point of training: turns a plan into a trained model."""

from __future__ import annotations

from collections.abc import Sequence

from podium.data import RankingData
from podium.training.checkpoint import Checkpoint
from podium.training.progress import Callback
from podium.training.run import Plan, Trained


def train(
    plan: Plan,
    data: RankingData,
    *,
    valid: RankingData | None = None,
    callbacks: Sequence[Callback] = (),
    checkpoint: Checkpoint | None = None,
) -> Trained:
    """Train until the epochs are used up, validation stops improving, a callback returns True, or Ctrl-C."""
    plan.schedule.check(plan)
    resolved = plan.schedule.resolve(plan, data)
    if plan.engine.distributes:
        from podium.training.distributed import train_on_cluster

        return train_on_cluster(resolved, data, valid=valid, callbacks=callbacks, checkpoint=checkpoint)
    return resolved.schedule.make_run(resolved, data, valid, checkpoint).run(callbacks)
