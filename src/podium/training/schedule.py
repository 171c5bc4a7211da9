"""The contract of schedules: how a model is fitted to the forces, and when to stop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from podium.data import RankingData
from podium.errors import ParameterError
from podium.parameters import Parameter, Settings, Value, inherit, setting
from podium.rules import Integer, Real

if TYPE_CHECKING:
    from podium.models import Spec
    from podium.training.checkpoint import Checkpoint
    from podium.training.run import Plan, TrainingRun

# What several schedules have. Each gives its own default, and says what it counts, by `inherit` or by the functions below.
EPOCHS = Parameter("epochs", 100, Integer(1), "Maximum number of passes over the data.", option=True, budget=True)
LEARNING_RATE = Parameter(
    "learning_rate", 0.001, Real(above=0), "Step size of the updates.", alias="rate", option=True, suspect=True
)
N_ESTIMATORS = Parameter(
    "n_estimators", 1000, Integer(1), "Maximum number of rounds.", alias="rounds", option=True, budget=True
)


def early_stopping(default: int, unit: str, *, then: str = "training stops") -> Any:
    """Declare after how many epochs, rounds or passes without improvement something ends."""
    description = f"Number of {unit} without improvement on the validation data after which {then}."
    return setting(default, Integer(1), description, none="never stop early", option=True)


def time_limit(unit: str) -> Any:
    """Declare after how many seconds no further round or pass is started."""
    description = (
        f"Number of seconds after which no {unit} is started. The model then depends on the speed of the machine."
    )
    return setting(None, Real(above=0), description, none="no limit", budget=True)


@dataclass(kw_only=True, eq=False, repr=False)
class EpochSettings(Settings):
    """How long a training in epochs may continue."""

    epochs: int = inherit(EPOCHS)
    early_stopping_rounds: int | None = early_stopping(20, "epochs")
    unchanged_rounds: int | None = setting(
        None,
        Integer(1),
        "Stop when the metric on the training data has not changed for this many epochs, or is perfect [RankNet: 10].",
        none="training does not depend on the training metric",
    )


BEST_ON_TRAINING = "the best epoch on the training data"


class Schedule(Value, ABC):
    """How a model is fitted to the forces: settings, and the runner that executes them.

    Attributes:
        summary: one sentence for lists of schedules.
        fits: which forces it follows, and which models it fits to them, in words for tables.
        unit: what one step of the log is called.
        grows: whether it adds trees and does not follow gradients.
        continues: whether it can start from a trained model.
        changes_rate: whether the learning rate may change from epoch to epoch, so that the log shows it.
        limits_memory: whether it keeps to a limit of memory.
        distributes: whether workers that each hold some of the queries can run it together.
        undistributed: why they cannot, in words that follow "which".
    """

    summary: ClassVar[str]
    fits: ClassVar[str]
    unit: ClassVar[str] = "epoch"
    grows: ClassVar[bool] = False
    continues: ClassVar[bool] = False
    changes_rate: ClassVar[bool] = False
    limits_memory: ClassVar[bool] = False
    distributes: ClassVar[bool] = False
    undistributed: ClassVar[str] = "needs all queries in one process"

    early_stopping_rounds: int | None
    unchanged_rounds: int | None = None

    @property
    def budget(self) -> tuple[str, ...]:
        """The settings that only limit the length of training, so that a resumed training may change them."""
        return tuple(name for name, parameter in self.parameters().items() if parameter.budget)

    @property
    @abstractmethod
    def max_epochs(self) -> int:
        """Maximum number of epochs or rounds."""

    @property
    def kept_without_validation(self) -> str:
        """Which epoch is kept if there is no validation data, in words."""
        return f"the last {self.unit}"

    def first_choice(self, epochs: int) -> int:
        """Return the first epoch that validation can choose after so many epochs."""
        return 1

    @abstractmethod
    def make_run(
        self, plan: Plan, data: RankingData, valid: RankingData | None, checkpoint: Checkpoint | None
    ) -> TrainingRun:
        """Return the training that a resolved plan with this schedule describes."""

    @property
    def document_arrays(self) -> Mapping[str, str]:
        """The arrays of a checkpoint with one entry per document, up to a dot in their names, and whether of `train` or `valid` documents."""
        return {}

    def resolve(self, plan: Plan, data: RankingData) -> Plan:
        """Return the plan with every default that depends on the data chosen."""
        return replace(plan, model=plan.model.resolve(data))

    def prepare(self, plan: Plan, data: RankingData) -> Plan:
        """Return a resolved plan with what workers need to know of all training data."""
        return plan

    def check(self, plan: Plan) -> None:
        """Raise ParameterError if the plan's model or force is not compatible with this schedule."""
        if plan.model.grows != self.grows:
            kind, other = ("grows trees", "boosting") if plan.model.grows else ("follows gradients", "adam")
            raise ParameterError(
                "schedule", str(self), f"cannot fit {plan.model}, which {kind}", f"use {{schedule={other!r}}}"
            )
        self.check_start(plan)
        self.check_memory(plan)
        self.check_engine(plan)

    def check_engine(self, plan: Plan) -> None:
        """Raise ParameterError if the plan's engine distributes the queries, and this schedule needs all of them together."""
        if plan.engine.distributes and not self.distributes:
            raise ParameterError(
                "engine",
                str(plan.engine),
                f"cannot run the schedule {self.name}, which {self.undistributed}",
                "use {engine='local'}",
            )

    def check_memory(self, plan: Plan) -> None:
        """Raise ParameterError if the plan has a limit of memory, and this schedule cannot keep to one."""
        if plan.memory is not None and not self.limits_memory:
            raise ParameterError(
                "memory_limit",
                rule=f"needs boosted trees; {self.name} keeps all features in memory",
                remedy="leave it out",
            )

    def check_start(self, plan: Plan) -> None:
        """Raise ParameterError if the plan starts from a trained model, and this schedule cannot."""
        if plan.start_from is not None and not self.continues:
            raise ParameterError("start_from", rule=f"needs boosted trees; {self} cannot continue a trained model")

    def check_read(self, model: Spec, read: frozenset[str]) -> None:
        """Raise ParameterError if a setting of the model was given that this schedule does not read."""
        for name, parameter in model.parameters().items():
            if name not in read and getattr(model, name) != parameter.default:
                raise ParameterError(
                    name,
                    getattr(model, name),
                    f"has no effect on {model.name} with the schedule {self.name}",
                    "leave it out",
                )
