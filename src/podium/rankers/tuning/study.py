"""Optuna's study: sampler, pruner, a file that a search resumes from, and importances.

The pruners are Optuna's own, and its samplers draw the numbers; `NumberedSampler` only gives each trial a stream of its own, so
that a search that was stopped goes on as if it had not been.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.importance import FanovaImportanceEvaluator, get_param_importances
from optuna.pruners import BasePruner, HyperbandPruner, MedianPruner, NopPruner
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.storages import JournalStorage
from optuna.trial import FrozenTrial, TrialState

from podium.data.hashing import query_hashes
from podium.errors import FormatError
from podium.kinds import STUDY_NAME
from podium.rankers.tuning.journal import DAMAGED, Journal
from podium.rankers.tuning.objective import Outcome
from podium.rankers.tuning.ranges import Range
from podium.rankers.tuning.result import Trial

SAMPLERS: dict[str, type[BaseSampler]] = {"tpe": TPESampler, "random": RandomSampler}
STATES = {TrialState.COMPLETE: "complete", TrialState.PRUNED: "pruned", TrialState.FAIL: "failed"}
CREATE_TRIAL = 4  # the code of this operation in a journal
SETTINGS, OUTCOME = "podium settings", "podium outcome"  # names of Optuna's user attributes
WARM_UP_SHARE = 10  # of the steps: a trial is not pruned in the first tenth
FIRST_RUNG_SHARE = 27  # of the steps: Hyperband compares trials first after this part of them
# Each makes a pruner for trials of at most so many steps.
PRUNERS: dict[str, Callable[[int], BasePruner]] = {
    "median": lambda steps: MedianPruner(n_warmup_steps=steps // WARM_UP_SHARE),
    "hyperband": lambda steps: HyperbandPruner(min_resource=max(1, steps // FIRST_RUNG_SHARE), max_resource=steps),
    "none": lambda steps: NopPruner(),
}


class NumberedSampler(BaseSampler):
    """A sampler whose random numbers depend on the seed, the number of the trial and the name of the parameter alone.

    Optuna's samplers draw from one stream, so that a search that is resumed would draw the first numbers again.
    """

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.seed = name, seed

    def _sampler(self, trial: FrozenTrial, parameter: str = "") -> BaseSampler:
        hashed = int(query_hashes([f"{trial.number} {parameter}"], self.seed)[0])
        return SAMPLERS[self.name](seed=hashed % 2**32)

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return the parameters that are drawn together."""
        return dict(self._sampler(trial).infer_relative_search_space(study, trial))

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Draw parameters together."""
        return dict(self._sampler(trial).sample_relative(study, trial, search_space))

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Draw one parameter."""
        return self._sampler(trial, param_name).sample_independent(study, trial, param_name, param_distribution)


@contextlib.contextmanager
def quiet_optuna() -> Iterator[None]:
    """Keep Optuna's own log from standard error."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


class Study:
    """The trials of a search.

    Args:
        path: the file that holds them; None keeps them in memory.
        settings: what must be the same for a search to be resumed, by name.
        ranges: the range of every parameter.
        maximize: whether larger values are better.
        sampler: what draws parameters.
        pruner: what says which trials to give up.
        fresh: start over if the file exists; it is replaced when the first trial has ended.
    """

    def __init__(
        self,
        path: Path | None,
        settings: Mapping[str, str],
        ranges: Mapping[str, Range],
        *,
        maximize: bool,
        sampler: BaseSampler,
        pruner: BasePruner,
        fresh: bool = False,
    ) -> None:
        self.path, self.ranges, self.maximize = path, ranges, maximize
        self._journal = Journal(path, fresh=fresh)
        try:
            if not self._can_resume(settings):
                self._journal.restart()
            self._storage = JournalStorage(self._journal)
            self._study = optuna.create_study(
                study_name=STUDY_NAME,
                direction=self.direction,
                storage=self._storage,
                sampler=sampler,
                pruner=pruner,
                load_if_exists=True,
            )
            if SETTINGS not in self._study.user_attrs:
                self._study.set_user_attr(SETTINGS, dict(settings))
            self._requeue()
        except BaseException:
            self.close()
            raise

    def _can_resume(self, settings: Mapping[str, str]) -> bool:
        """Return whether the journal holds a search with these settings, or nothing that would be lost by starting over.

        Optuna trusts what it reads, so that a damaged file can show itself by any error at all.
        """
        assert self.path is not None or not self._journal.read_logs(0)
        try:
            found, trials = self._replay()
        except Exception as error:
            raise FormatError(str(self.path), f"{DAMAGED} ({type(error).__name__}: {error})") from None
        different = next((name for name in [*settings, *found] if found.get(name) != settings.get(name)), None)
        finished = [trial for trial in trials if trial.state.is_finished()]
        if different is not None and finished:
            raise FormatError(
                str(self.path),
                f"holds a search with another {different}: {found.get(different)} there, {settings.get(different)} now",
                remedy="repeat that search, give another name, or start over with {fresh=True}",
            )
        if different is None:
            for trial in finished:
                self._check(trial)
        return different is None

    @property
    def direction(self) -> str:
        """Whether larger or smaller values are better, as Optuna calls it."""
        return "maximize" if self.maximize else "minimize"

    def _replay(self) -> tuple[dict[str, str], list[FrozenTrial]]:
        storage = JournalStorage(self._journal)
        studies = storage.get_all_studies()
        if not studies:
            return {}, []
        (study,) = studies
        trials = storage.get_all_trials(storage.get_study_id_from_name(STUDY_NAME))
        created = sum(entry["op_code"] == CREATE_TRIAL for entry in self._journal.read_logs(0))
        if len(trials) != created or study.direction.name != self.direction.upper():
            raise ValueError("the study contradicts itself")
        return dict(study.user_attrs.get(SETTINGS, {})), trials

    def _check(self, trial: FrozenTrial) -> None:
        """Raise FormatError if a trial cannot be one of this search."""
        try:
            outcome = Outcome(**trial.user_attrs[OUTCOME])
            numbers = [outcome.seconds, outcome.epochs, outcome.value or 0.0, outcome.best_epoch or 0]
            whole = [outcome.epochs, outcome.best_epoch or 0]
            complete = outcome.state == "complete"
            if (
                outcome.state != STATES[trial.state]
                or {name: found.distribution for name, found in self.ranges.items()} != trial.distributions
                or complete != (outcome.value is not None)
                or (complete and outcome.value != trial.value)
                or (outcome.state == "failed") != isinstance(outcome.error, str)
                or not all(isinstance(number, int | float) and math.isfinite(number) for number in numbers)
                or not all(isinstance(number, int) for number in whole)
                or not all(found.contains(trial.params[name]) for name, found in self.ranges.items())
            ):
                raise ValueError(f"trial {trial.number} contradicts itself")
            self.parameters(trial)
        except Exception as error:
            raise FormatError(str(self.path), f"{DAMAGED} ({type(error).__name__}: {error})") from None

    def _requeue(self) -> None:
        """Let the trials that a stopped search left unfinished be run again, with the same numbers and parameters."""
        for trial in self._study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            study_id = self._storage.get_study_id_from_name(STUDY_NAME)
            number = self._storage.get_trial_id_from_study_id_trial_number(study_id, trial.number)
            self._storage.set_trial_state_values(number, TrialState.WAITING)

    def parameters(self, trial: FrozenTrial | optuna.Trial) -> dict[str, Any]:
        """Return the values of the settings that a trial tries."""
        return {name: found.value(trial.params[name]) for name, found in self.ranges.items()}

    def plan(self, trials: int) -> int:
        """Return how many trials are still to be run for this many in all.

        If the ranges hold no more combinations than that, each of them is queued once.
        """
        if math.prod(found.size for found in self.ranges.values()) <= trials:
            names = list(self.ranges)
            for drawn in itertools.product(*(self.ranges[name].drawn() for name in names)):
                self._study.enqueue_trial(dict(zip(names, drawn, strict=True)), skip_if_exists=True)
            return len(self._study.get_trials(deepcopy=False, states=(TrialState.WAITING,)))
        return max(0, trials - len(self.trials()))

    def ask(self) -> tuple[optuna.Trial, int]:
        """Return the next trial, and the last step that it had reported when an earlier search was stopped, or 0."""
        trial = self._study.ask({name: found.distribution for name, found in self.ranges.items()})
        return trial, self._study.get_trials(deepcopy=False)[trial.number].last_step or 0

    def tell(self, trial: optuna.Trial, outcome: Outcome) -> Trial:
        """Keep how a trial ended."""
        trial.set_user_attr(OUTCOME, asdict(outcome))
        state = next(state for state, name in STATES.items() if name == outcome.state)
        self._study.tell(trial, outcome.value, state=state)
        self._journal.release()
        return Trial(trial.number, self.parameters(trial), **asdict(outcome))

    def trials(self) -> list[Trial]:
        """Return the trials that have ended, in the order of their numbers."""
        finished = self._study.get_trials(deepcopy=False, states=tuple(STATES))
        return [Trial(each.number, self.parameters(each), **each.user_attrs[OUTCOME]) for each in finished]

    def ranked(self) -> list[Trial]:
        """Return the trials that have ended: complete ones from best to worst, then pruned ones, then failed ones."""
        order = list(STATES.values())
        return sorted(
            self.trials(),
            key=lambda each: (order.index(each.state), (-1 if self.maximize else 1) * (each.value or 0.0)),
        )

    def importances(self) -> dict[str, float]:
        """Return the share of the variation of the values that each parameter explains, the largest first."""
        values = {trial.value for trial in self.trials() if trial.state == "complete"}
        if len(values) < 2:
            return {}
        found = get_param_importances(self._study, evaluator=FanovaImportanceEvaluator(seed=0))
        return {name: float(share) for name, share in found.items()}

    def close(self) -> None:
        """Close the file."""
        self._journal.close()
