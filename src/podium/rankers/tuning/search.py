"""The search itself: trials that Optuna proposes, one after another or in several processes."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium import __version__
from podium.cluster import Engine, Ray, connect
from podium.cluster import engine as as_engine
from podium.data import RankingData
from podium.data.canonical import check_data, fingerprint
from podium.data.hashing import check_seed
from podium.errors import DataError, MissingExtraError, ParameterError, UnknownNameError
from podium.metrics import metric as as_metric
from podium.rankers.base import BaseRanker
from podium.rankers.cross_validation import check_share
from podium.rankers.tuning.objective import CONTINUE, PRUNE, STOP, Objective, Outcome, Step
from podium.rankers.tuning.result import Trial, Tuning
from podium.rankers.tuning.workers import Workers
from podium.rules import Integer
from podium.threads import resolve_threads
from podium.training.progress import Callback

if TYPE_CHECKING:
    import optuna

    from podium.rankers.tuning.ranges import Range, Ranges
    from podium.rankers.tuning.ray_workers import RayWorkers
    from podium.rankers.tuning.study import Study

MOST_JOBS = 256


def tune(
    ranker: BaseRanker,
    data: RankingData,
    *,
    valid: RankingData | None = None,
    folds: int | None = None,
    valid_share: float | None = None,
    ranges: Ranges = None,
    trials: int = 30,
    sampler: str = "tpe",
    pruner: str = "median",
    jobs: int = 1,
    seed: int = 0,
    study: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    callbacks: Sequence[Callback] = (),
    on_trial: Callable[[Trial], None] | None = None,
    on_start: Callable[[int, int], None] | None = None,
    engine: str | Engine = "local",
) -> Tuning:
    """Search for the settings with which a ranker is best, with Optuna (extra `tune`).

    All trials are judged by one rule. With `valid`, a trial's value is the ranker's metric on the validation data, of the model
    that the trial keeps. With `folds`, it is the mean of the metric over all queries, each ranked by a ranker that was not trained
    on it. Neither is smoothed, and only trials that ran to their end can be chosen.

    With one process, the result depends on the data, the settings and the seed alone, also if the search is stopped and resumed.
    With several, a trial that the TPE sampler proposes depends on which others have ended by then, and so does pruning; the random
    sampler without pruning gives the same trials for any number of processes.

    Args:
        ranker: the ranker whose settings are searched. It is not changed, and a setting without a range keeps its value.
        data: the judged queries to train on.
        valid: the judged queries on which trials are compared; give either this or `folds`.
        folds: the number of folds of a cross-validation by query, instead of `valid`.
        valid_share: with `folds`, the share of each fold's training queries on which the best round is chosen. None trains every
            fold to its last round.
        ranges: ranges by setting: a word such as "1e-4..1e-1:log", "1..20" or "adam,sgd", a list of values, or one of Optuna's
            distributions; or a list of settings, to search them in their declared ranges. None searches all declared ranges of
            settings that the ranker leaves at their defaults.
        trials: the number of trials in all, those found in the study included. Fewer are run if the ranges hold fewer combinations.
        sampler: "tpe" proposes settings near those that did well; "random" draws them independently.
        pruner: "median" ends a trial whose best value so far is below the median of other trials at the same round;
            "hyperband" compares trials at a few rounds; "none" trains every trial to its end. With `folds`, trials are
            compared after each fold.
        jobs: the number of processes that train trials at the same time. Each holds its own copy of the data.
        seed: the seed of the search and of the folds; training uses the ranker's own.
        study: a file that keeps the trials, and that the search resumes from if it exists.
        fresh: start over if the study exists; the old one is kept until the first trial has ended.
        callbacks: each is called with the row of every epoch of every trial; one that returns True ends that training.
        on_trial: called with every trial when it has ended, but not with those found in the study.
        on_start: called before the first trial, with the number of trials found in the study and the number still to run.
        engine: where trials are trained: "local", in processes of this machine, or "ray(workers=4)", four at a time on a Ray cluster
            (extra `cluster`). The trials are those of as many `jobs`.

    Ctrl-C raises KeyboardInterrupt; its message says where the trials are that have ended.
    """
    found = check_search(ranker, ranges, sampler, pruner, valid=valid, folds=folds, valid_share=valid_share)
    from podium.rankers.tuning.study import quiet_optuna

    objective = _objective(ranker, data, valid, folds, valid_share, check_seed(seed))
    Integer(1).check("trials", trials)
    Integer(1, MOST_JOBS).check("jobs", jobs)
    runs_on = _find_engine(engine, jobs)
    path = None if study is None else Path(study)
    with quiet_optuna():
        opened = _open_study(objective, found, path, sampler, pruner, fresh)
        try:
            planned = opened.plan(trials)
            if on_start is not None:
                on_start(len(opened.trials()), planned)
            search = RunningSearch(opened, objective, tuple(callbacks), on_trial or (lambda trial: None))
            search.run(planned, jobs, runs_on)
            return search.result()
        except KeyboardInterrupt:
            done = len(opened.trials())
            kept = (
                f"{done} finished trials are in {path}: run the search again to resume it"
                if path
                else "nothing is kept"
            )
            raise KeyboardInterrupt(f"the search was interrupted; {kept}") from None
        finally:
            opened.close()


def _find_engine(name: str | Engine, jobs: int) -> Engine:
    found = as_engine(name)
    if isinstance(found, Ray) and jobs > 1:
        raise ParameterError(
            "jobs",
            jobs,
            f"is for processes of this machine, and {found} has workers of its own",
            "leave one of them out",
        )
    return found


def check_search(
    ranker: BaseRanker,
    ranges: Ranges,
    sampler: str,
    pruner: str,
    *,
    valid: object,
    folds: int | None,
    valid_share: float | None,
) -> dict[str, Range]:
    """Check what can be checked without data, and return the ranges to search. The arguments are those of `tune`."""
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise MissingExtraError("tuning needs Optuna, which is not installed: pip install 'podium[tune]'") from None
    from podium.rankers.tuning.ranges import read_ranges
    from podium.rankers.tuning.study import PRUNERS, SAMPLERS

    if sampler not in SAMPLERS:
        raise UnknownNameError("sampler", sampler, SAMPLERS)
    if pruner not in PRUNERS:
        raise UnknownNameError("pruner", pruner, PRUNERS)
    if (valid is None) == (folds is None):
        raise ParameterError(
            "valid",
            rule="is what trials are compared on, unless they are cross-validated",
            remedy="give either {valid} or {folds}",
        )
    if folds is None and valid_share is not None:
        raise ParameterError(
            "valid_share", valid_share, "is part of a cross-validation", "give {folds}, or leave it out"
        )
    check_share(valid_share)
    return read_ranges(ranker, ranges)


def _objective(
    ranker: BaseRanker,
    data: RankingData,
    valid: RankingData | None,
    folds: int | None,
    valid_share: float | None,
    seed: int,
) -> Objective:
    check_data("data", data)
    if valid is not None:
        check_data("valid", valid)
    if folds is not None:
        Integer(2, data.n_queries).check("folds", folds)
    return Objective(ranker, data, valid, folds, check_share(valid_share), seed)


def _open_study(
    objective: Objective, ranges: dict[str, Range], path: Path | None, sampler: str, pruner: str, fresh: bool
) -> Study:
    from podium.rankers.tuning.ranges import describe_ranges
    from podium.rankers.tuning.study import PRUNERS, NumberedSampler, Study

    ranker, valid = objective.ranker, objective.valid
    fixed = {name: value for name, value in ranker._saved_parameters().items() if name not in ranges}
    settings = {
        "version of Podium": __version__,
        "ranker": type(ranker).__name__,
        "choice of ranges": describe_ranges(ranges),
        **{name: str(value) for name, value in fixed.items()},
        "sampler": sampler,
        "pruner": pruner,
        "seed of the search": str(objective.seed),
        "number of folds": str(objective.folds),
        "valid_share": str(objective.valid_share),
        "data": fingerprint(objective.data),
        "validation data": "none" if valid is None else fingerprint(valid),
    }
    return Study(
        path,
        settings,
        ranges,
        maximize=as_metric(ranker.metric).higher_is_better,
        sampler=NumberedSampler(sampler, objective.seed),
        pruner=PRUNERS[pruner](objective.steps),
        fresh=fresh,
    )


@dataclass(frozen=True, eq=False)
class Running:
    """A trial that is being trained, and the last step that it had reported before it was stopped and resumed, or 0."""

    trial: optuna.Trial
    reported: int


class RunningSearch:
    """One search.

    Args:
        study: the trials so far, and what proposes new ones.
        objective: how a trial is trained and judged.
        callbacks: called with every row of every training.
        on_trial: called with every trial that ends.
    """

    def __init__(
        self,
        study: Study,
        objective: Objective,
        callbacks: tuple[Callback, ...],
        on_trial: Callable[[Trial], None],
    ) -> None:
        self.study, self.objective = study, objective
        self.callbacks, self.on_trial = callbacks, on_trial

    def run(self, count: int, jobs: int, engine: Engine) -> None:
        """Run this many trials."""
        if not count:
            return
        if isinstance(engine, Ray):
            from podium.rankers.tuning.ray_workers import RayWorkers

            with connect(engine) as ray, RayWorkers(ray, engine, self.objective) as workers:
                self._run_by(workers, count)
        elif min(count, jobs) > 1:
            self._run_in_processes(count, min(count, jobs))
        else:
            self._run_here(count)

    def _run_here(self, count: int) -> None:
        for _ in range(count):
            running = Running(*self.study.ask())
            outcome = self._known_outcome(running)
            if outcome is None:
                outcome = self.objective.run(self._parameters(running), functools.partial(self._judge, running))
            self._finish(running, outcome)

    def _run_in_processes(self, count: int, jobs: int) -> None:
        objective = self.objective
        if objective.ranker.num_threads is None:
            threads = max(1, resolve_threads(None) // jobs)
            objective = replace(objective, ranker=objective.ranker.with_parameters({"num_threads": threads}))
        with Workers(objective, jobs) as workers:
            self._run_by(workers, count)

    def _run_by(self, workers: Workers | RayWorkers, count: int) -> None:
        """Run trials by workers, as many at a time as there are."""
        started = 0
        while True:
            while started < count and workers.has_room:
                running, started = Running(*self.study.ask()), started + 1
                outcome = self._known_outcome(running)
                if outcome is None:
                    workers.start(running, self._parameters(running))
                else:
                    self._finish(running, outcome)
            if not workers.is_busy:
                return
            for running, event in workers.events():
                if isinstance(event, Outcome):
                    self._finish(running, event)
                else:
                    workers.answer(running, self._judge(running, event))

    def _parameters(self, running: Running) -> dict[str, Any]:
        return self.study.parameters(running.trial)

    def _judge(self, running: Running, step: Step) -> str:
        """Return whether a trial should continue."""
        stops = [callback(step.row) for callback in self.callbacks] if step.row is not None else []
        if any(stops):
            return STOP
        if step.number is None or step.value is None or step.number < running.reported:
            return CONTINUE
        if step.number > running.reported:
            running.trial.report(step.value, step.number)
        return PRUNE if running.trial.should_prune() else CONTINUE

    def _known_outcome(self, running: Running) -> Outcome | None:
        """Return how a trial with the same parameters ended, since training them again would end in the same way."""
        parameters = self._parameters(running)
        for other in self.study.trials():
            if other.parameters == parameters and other.state != "pruned":
                return Outcome(other.state, other.value, other.best_epoch, error=other.error)
        return None

    def _finish(self, running: Running, outcome: Outcome) -> None:
        self.on_trial(self.study.tell(running.trial, outcome))

    def result(self) -> Tuning:
        """Train the best ranker, and return everything."""
        trials = self.study.ranked()
        if trials[0].state != "complete":
            first: Any = next((trial.error for trial in trials if trial.error), "all were pruned")
            raise DataError(f"every trial failed; the first: {first}")
        fitted = self.objective.fit(trials[0].parameters, self.callbacks)
        metric = str(as_metric(self.objective.ranker.metric))
        return Tuning(fitted, tuple(trials), metric, self.study.importances(), self.study.path)
