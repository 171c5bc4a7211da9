"""The ranker of a force × a model × a schedule, and the base class of the named rankers that follow gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from podium.forces import FORCES, Force
from podium.forces import force as as_force
from podium.models import Spec
from podium.models import model as as_model
from podium.parameters import Parameter, setting
from podium.rankers.base import BaseRanker
from podium.rules import Named
from podium.training import Schedule, Trained
from podium.training import schedule as as_schedule
from podium.training.schedules.optimizers import OptimizerSettings, optimizer_named


class Ranker(BaseRanker):
    """A force × a model × a schedule that goes with them."""

    force: Any = setting(
        "lambdarank(ndcg@10)",
        Named("force", as_force),
        "The force, which says how the scores of documents should change: a name such as 'lambdarank(map)', a Force, or a "
        "function of one query.",
    )
    model: Any = setting(
        "linear",
        Named("model", as_model),
        "The model, which turns features into scores: a name such as 'linear', 'net(10)', 'kernel(rbf)' or "
        "'trees(num_leaves=31)'.",
    )
    schedule: Any = setting(
        None,
        Named("schedule", as_schedule),
        "The schedule, by which the model is fitted to the force: a name such as 'adam(rate=0.001, batch=1)', 'lbfgs(l2=0.1)' or "
        "'boosting(rounds=1000, rate=0.05)'.",
        none="boosting for trees, adam for other models",
    )

    def _force(self) -> Force:
        return as_force(self.force)

    def _model(self) -> Spec:
        return as_model(self.model)

    def _schedule(self) -> Schedule:
        if self.schedule is not None:
            return as_schedule(self.schedule)
        return as_schedule("boosting" if self._model().grows else "adam")

    def tunable(self) -> dict[str, tuple[Parameter, Any]]:
        """Return what a search may vary: force, model, schedule and seed, and the settings of force, model and schedule."""
        force, axes = self._force(), (self._model(), self._schedule())
        found = {
            parameter.name: (parameter, force.setting(parameter.name)) for parameter in force.definition.parameters
        }
        for axis in axes:
            found |= {name: (parameter, getattr(axis, name)) for name, parameter in axis.parameters().items()}
        return found | super().tunable()

    def with_parameters(self, parameters: Mapping[str, Any]) -> Self:
        """Return an untrained copy with some parameters changed, also those of force, model and schedule."""
        own = {name: value for name, value in parameters.items() if name in self.parameters()}
        changed = super().with_parameters(own)
        rest = {name: value for name, value in parameters.items() if name not in own}
        for axis, value in (("schedule", changed._schedule()), ("model", changed._model())):
            inside = {name: rest.pop(name) for name in list(rest) if name in value.parameters()}
            if inside:
                changed.set_params(**{axis: str(type(value)(**{**value.values(), **inside}))})
        if rest:
            changed.set_params(force=changed._force().replace(**rest))
        return changed

    def _saved_parameters(self) -> dict[str, Any]:
        named = self.force if isinstance(self.force, str) else str(self._force())  # not a function's address in memory
        return {**super()._saved_parameters(), "force": named}


class GradientRanker(OptimizerSettings, BaseRanker):
    """Base class of the named rankers that follow gradients."""

    def _schedule(self) -> Schedule:
        return self.chosen_schedule()

    def check_parameters(self) -> None:
        """Raise ParameterError if the settings contradict each other, as far as that can be known without data."""
        with optimizer_named():
            super().check_parameters()

    def _learn(self, *given: Any) -> Trained:
        with optimizer_named():
            return super()._learn(*given)


def preset_force(ranker: BaseRanker, name: str, first: Any = None) -> Force:
    """Return the force of a name with those of its parameters that the ranker has. None stands for the force's default."""
    given = {
        parameter.name: getattr(ranker, parameter.name)
        for parameter in FORCES[name].parameters
        if getattr(ranker, parameter.name, None) is not None
    }
    return Force.of(FORCES[name], first, **given)
