"""RankProp: regression on targets that follow the ranker, as far as the labels let them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from podium.data import RankingData
from podium.forces import Force
from podium.rankers.pairs import NetRanker
from podium.rankers.ranker import preset_force
from podium.training import Schedule, Trained
from podium.training.schedules.phases import CYCLE, NO_PROGRESS, STALLED, Phases, PhaseSettings


class RankProp(PhaseSettings, NetRanker):
    """Squared error × linear or net, on targets that rise with the label and else follow the scores. [Caruana et al. 1996]

    Phases of regression alternate with fits of the targets: among all that rise with the label, and inside a label with the
    score, those nearest to the scores, brought to mean 0 and variance 1. Training ends where the order of the targets stays
    as it is. Where it comes back to an earlier one, or scores and targets come no nearer for 20 phases, training ends with
    scikit-learn's ConvergenceWarning.

    Attributes:
        verdict_: settled, cycle, no progress; or going, where something else ended training.
        n_phases_: how many sets of targets there were, in all; weights drawn anew begin another.
    """

    hidden: tuple[int, ...] = (10,)

    def _force(self) -> Force:
        return preset_force(self, "squared")

    def _schedule(self) -> Schedule:
        self.chosen_schedule()  # says which settings the optimizer does not have
        return Phases(**self.settings_of(Phases))

    def _keep(self, trained: Trained, data: RankingData) -> None:
        super()._keep(trained, data)
        assert trained.chosen is not None
        self.verdict_, self.n_phases_ = str(trained.chosen["verdict"]), int(trained.chosen["phases"])
        if self.verdict_ in (CYCLE, NO_PROGRESS):
            found = {
                CYCLE: "goes round in a circle: the order of the targets came back to an earlier one",
                NO_PROGRESS: f"makes no progress: scores and targets came no nearer for {STALLED} phases",
            }[self.verdict_]
            warnings.warn(
                f"RankProp {found}, after {self.n_phases_} phases; give validation data, which keeps the best epoch, or use "
                "another phase_epochs or learning_rate",
                ConvergenceWarning,
                stacklevel=4,
            )

    @property
    def outcome(self) -> dict[str, Any]:
        """How the phases ended, and how many there were."""
        return {"verdict": self.verdict_, "phases": self.n_phases_}

    def _extra_state(self) -> dict[str, Any]:
        return {**super()._extra_state(), **self.outcome}

    def _load_extra_state(self, more: dict[str, Any], arrays: dict[str, npt.NDArray[np.float64]]) -> None:
        super()._load_extra_state(more, arrays)
        self.verdict_, self.n_phases_ = str(more["verdict"]), int(more["phases"])
