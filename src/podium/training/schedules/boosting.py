"""Boosting: each round fits trees to the force on the current scores and adds their values to the scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.errors import ParameterError
from podium.models.tree_defaults import BY_SIZE, EFFORTS, Budget, mean_weight, tree_defaults
from podium.parameters import Search, Settings, inherit, setting
from podium.rules import Choice, Integer, Real
from podium.training.best_round import first_choice
from podium.training.checkpoint import Checkpoint
from podium.training.run import Plan
from podium.training.schedule import LEARNING_RATE, N_ESTIMATORS, Schedule, early_stopping, time_limit
from podium.training.schedules.boosting_run import BoostingRun

Floats = npt.NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class RoundSettings(Settings):
    """How long boosting may continue."""

    n_estimators: int = inherit(
        N_ESTIMATORS,
        description="Maximum number of rounds. Every round grows one tree per forest and output, so four forests grow four trees per round.",
    )
    early_stopping_rounds: int | None = early_stopping(200, "rounds")


@dataclass(kw_only=True, eq=False, repr=False)
class BoostingSettings(RoundSettings):
    """Settings of boosted trees."""

    effort: str | None = setting(
        None,
        Choice(*EFFORTS),
        "How long training may take for a better ranking. It chooses the defaults of trees, samples, noise and rate: 'fast' takes the "
        "least time, and 'best' several times as long as 'balanced'.",
        none="balanced; with max_seconds the highest effort that is likely to be finished in time",
        option=True,
    )
    learning_rate: float | None = inherit(
        LEARNING_RATE,
        default=None,
        description="Factor by which the values of leaves are multiplied.",
        none=BY_SIZE,
        search=Search(0.01, 0.3, log=True),
        suspect=False,
    )
    smoothing: int | None = setting(
        None,
        Integer(0),
        "Number of rounds on either side over which validation values are averaged when the best round is chosen (at most a "
        "tenth of all rounds), because with few validation queries the best single value is often best by chance. Of the first rounds, "
        "those with less than half of these neighbors on their left cannot be chosen. 0 averages nothing.",
        none=BY_SIZE,
    )
    max_seconds: float | None = time_limit("round")
    dart: float = setting(
        0.0,
        Real(least=0, below=1),
        "Share of the earlier rounds whose trees are dropped at random while a round is grown. [DART]",
    )


class TreeSchedule(Schedule):
    """What the schedules that grow trees share."""

    unit = "round"
    grows = True
    continues = True
    limits_memory = True
    distributes = True
    n_estimators: int
    learning_rate: Any  # a number, once the schedule is resolved
    smoothing: int | None
    max_seconds: float | None
    dart: float
    closed_form: ClassVar[bool] = False  # whether a stump's weight has RankBoost's closed form instead of a Newton step

    @property
    def max_epochs(self) -> int:
        """Maximum number of rounds."""
        return self.n_estimators

    def first_choice(self, epochs: int) -> int:
        """Return the first round that validation can choose; earlier ones have too few neighbors to average over."""
        return first_choice(epochs, self.smoothing or 0)

    def check(self, plan: Plan) -> None:
        """Check that the model grows trees and that the force can change equal scores."""
        super().check(plan)
        if plan.force.unmoved is not None:
            raise ParameterError("force", str(plan.force), f"cannot start boosting: {plan.force.unmoved}")
        if plan.start_from is not None and not plan.start_from.has_splits:
            raise ParameterError("start_from", rule="must be a model of boosted trees")

    @property
    def document_arrays(self) -> Mapping[str, str]:
        """Scores, by the part of the name up to a dot: of the training or the validation documents."""
        return {"train": "train", "own_scores": "train", "valid": "valid"}

    def make_run(
        self, plan: Plan, data: RankingData, valid: RankingData | None, checkpoint: Checkpoint | None
    ) -> BoostingRun:
        """Return the training."""
        return BoostingRun(self, plan, data, valid, checkpoint)


@dataclass(kw_only=True, eq=False, repr=False)
class Boosting(BoostingSettings, TreeSchedule):
    """Gradient boosting with Newton steps. [Friedman 2001]"""

    name = "boosting"
    fits = "any force that moves equal scores; `trees`"
    summary = "Boosting: each round grows trees from the current forces: boosting(rounds=1000, rate=0.05)."

    def resolve(self, plan: Plan, data: RankingData) -> Plan:
        """Choose the rate, the smoothing and the settings of trees from the data and the effort."""
        in_pairs = plan.force.acting.definition.over in ("pairs", "preferences")
        budget = replace(self.budget_for(data), weight=mean_weight(data, in_pairs=in_pairs))
        model: Any = one_forest(plan.model) if self.dart else plan.model
        model = model.resolve(data, budget)
        chosen = tree_defaults(budget, model.growth)
        rate = chosen["learning_rate"] if self.learning_rate is None else self.learning_rate
        smoothing = chosen["smoothing"] if self.smoothing is None else self.smoothing
        # If trees were reweighted, the forest of an earlier round cannot be recovered by leaving out trees; and its scores do
        # not belong to thresholds that have changed since.
        if self.dart or plan.force.definition.has_thresholds:
            if self.smoothing:
                raise ParameterError(
                    "smoothing", self.smoothing, "does not go with dart or a force with thresholds", "use {smoothing=0}"
                )
            smoothing = 0
        schedule = replace(self, effort=budget.effort, learning_rate=rate, smoothing=smoothing)
        return replace(plan, schedule=schedule, model=model)

    def budget_for(self, data: RankingData) -> Budget:
        """Return the size of the data and the effort that its defaults are chosen for."""
        given = Budget.of(data, seconds=self.max_seconds)
        return given.affordable() if self.effort is None else replace(given, effort=self.effort)


@dataclass(kw_only=True, eq=False, repr=False)
class StumpSettings(RoundSettings):
    """Settings of RankBoost."""

    early_stopping_rounds: int | None = 100
    learning_rate: float = inherit(
        LEARNING_RATE,
        default=1.0,
        description="Factor by which α, the weight of a stump, is multiplied. 1 gives RankBoost as published.",
    )


@dataclass(kw_only=True, eq=False, repr=False)
class Stumps(StumpSettings, TreeSchedule):
    """Boosting of stumps, each with its weight in closed form. [Freund, Iyer, Schapire and Singer 2003]"""

    name = "stumps"
    fits = "`exponential`; `trees(num_leaves=2)`"
    summary = "RankBoost's boosting: stumps with weights in closed form: stumps(rounds=300)."
    closed_form = True
    dart = 0.0
    smoothing = 0
    max_seconds = None

    def check(self, plan: Plan) -> None:
        """Check that trees have two leaves, and that the best weight of a tree has a closed form."""
        super().check(plan)
        if not plan.model.is_stumps:
            raise ParameterError(
                "model",
                str(plan.model),
                f"must have two leaves per tree for the schedule {self.name}",
                "use {model='trees(num_leaves=2)'}",
            )
        if not plan.force.definition.stump_weights:
            raise ParameterError(
                "force",
                str(plan.force),
                f"has no closed form for the weight of a stump, which the schedule {self.name} needs",
                "use {force='exponential'} or {schedule='boosting'}",
            )

    def resolve(self, plan: Plan, data: RankingData) -> Plan:
        """Grow one forest."""
        return replace(plan, model=one_forest(plan.model).resolve(data))


def one_forest(model: Any) -> Any:
    """Return the settings of trees in one forest, which is all that schedules allow that drop or weight earlier trees."""
    if model.forests is not None and model.forests > 1:
        raise ParameterError("forests", model.forests, "cannot be grown with dart or by RankBoost", "use {forests=1}")
    return replace(model, forests=1)
