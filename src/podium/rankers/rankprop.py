"""RankProp: regression on targets that follow the scores as far as the labels allow."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.forces import Force
from podium.rankers.pairs import NetRanker
from podium.rankers.ranker import preset_force
from podium.rankers.training_warnings import CycleWarning
from podium.training import Schedule, Trained
from podium.training.schedules.phases import CYCLE, NO_PROGRESS, STALLED, Phases, PhaseSettings


class RankProp(PhaseSettings, NetRanker):
    """Squared error × linear or net, on targets that rise with the label and otherwise follow the scores. [Caruana et al. 1996]

    Phases of regression alternate with fits of the targets. The targets are those nearest to the scores among all that rise with
    the label, and with the score within a label, scaled to mean 0 and variance 1. Training ends when the order of the targets no
    longer changes. If it returns to an earlier order, or if scores and targets do not come nearer for 20 phases, training
    ends with scikit-learn's ConvergenceWarning.

    Attributes:
        verdict_: "settled", "cycle" or "no progress"; or "going" if something else ended training.
        n_phases_: the number of times the targets were fitted, over all restarts.
    """

    hidden: tuple[int, ...] = (10,)

    def _force(self) -> Force:
        return preset_force(self, "squared")

    def _schedule(self) -> Schedule:
        self.chosen_schedule()  # raises if the optimizer does not have a setting that was given
        return Phases(**self.settings_of(Phases))

    def _keep(self, trained: Trained, data: RankingData) -> None:
        super()._keep(trained, data)
        assert trained.chosen is not None
        self.verdict_, self.n_phases_ = str(trained.chosen["verdict"]), int(trained.chosen["phases"])
        if self.verdict_ in (CYCLE, NO_PROGRESS):
            found = {
                CYCLE: "runs in a cycle: the order of the targets returned to an earlier one",
                NO_PROGRESS: f"makes no progress: scores and targets came no nearer in {STALLED} phases",
            }[self.verdict_]
            remedy = (
                "give validation data, so that the best epoch is kept, or use another phase_epochs or learning_rate"
            )
            warnings.warn(CycleWarning(f"RankProp {found}, after {self.n_phases_} phases", remedy), stacklevel=4)

    @property
    def outcome(self) -> dict[str, Any]:
        """How the phases ended, and their number."""
        return {"verdict": self.verdict_, "phases": self.n_phases_}

    def _extra_state(self) -> dict[str, Any]:
        return {**super()._extra_state(), **self.outcome}

    def _load_extra_state(self, more: dict[str, Any], arrays: dict[str, npt.NDArray[np.float64]]) -> None:
        super()._load_extra_state(more, arrays)
        self.verdict_, self.n_phases_ = str(more["verdict"]), int(more["phases"])
