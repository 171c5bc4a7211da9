"""The choice among the schedules that follow gradients, for rankers that have it as a setting."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from podium.errors import ParameterError, UnknownNameError
from podium.parameters import setting
from podium.rules import Choice
from podium.training.loop import DescentSchedule
from podium.training.schedules.gradient import SGD, Adam, GradientSettings
from podium.training.schedules.solvers import LBFGS, Bundle, SolverSettings

OPTIMIZERS: dict[str, type[DescentSchedule]] = {"adam": Adam, "sgd": SGD, "lbfgs": LBFGS, "bundle": Bundle}


@dataclass(kw_only=True, eq=False, repr=False)
class OptimizerSettings(GradientSettings, SolverSettings):
    """A choice among the schedules that follow gradients, with the settings of all of them."""

    optimizer: str = setting(
        "adam",
        Choice(*OPTIMIZERS),
        "The schedule: 'adam' and 'sgd' make one update per batch; 'lbfgs' uses all queries at once, and needs a force with a cost; "
        "'bundle' does too, and needs a convex force and l2 > 0, but its cost need not be differentiable.",
        option=True,
    )

    def chosen_schedule(self) -> DescentSchedule:
        """Return the schedule of `optimizer`; a setting that it does not have must be left at its default."""
        kind = OPTIMIZERS[self.parameters()["optimizer"].check(self.optimizer)]
        for name in OptimizerSettings.parameters():
            value = getattr(self, name)
            if name != "optimizer" and name not in kind.parameters() and value != self.parameters()[name].default:
                able = next(other for other, schedule in OPTIMIZERS.items() if name in schedule.parameters())
                raise ParameterError(
                    name,
                    value,
                    f"is not a setting of {self.optimizer}",
                    f"leave it out, or use {{optimizer={able!r}}}",
                )
        return kind(**self.settings_of(kind))


@contextlib.contextmanager
def optimizer_named() -> Iterator[None]:
    """Name `optimizer` in errors about the schedule, if it was by that setting that the user chose the schedule."""
    try:
        yield
    except UnknownNameError:
        raise
    except ParameterError as error:
        raise error.renamed("schedule", "optimizer") from None
