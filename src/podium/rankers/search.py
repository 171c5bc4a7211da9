"""Search for parameters: random draws from declared ranges, all trained in full or thinned out by successive halving."""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_type_hints

from sklearn.base import clone

from podium.data import RankingData
from podium.data.canonical import check_data, fingerprint
from podium.data.hashing import query_hashes, unit_interval
from podium.errors import DataError, FormatError, OutputError, ParameterError, is_integer, unknown_name
from podium.files import make_folder, sweep
from podium.kinds import kind_of
from podium.metrics import metric as as_metric
from podium.rankers.base import BaseRanker
from podium.rankers.cross_validation import fit_or_stop
from podium.rankers.ranges import Range, as_range, typed
from podium.rankers.study import Study, Trial
from podium.training.checkpoint import Checkpoint
from podium.training.progress import Callback

DRAWS = 1000  # for each trial wanted: where ranges hold few values, most draws were drawn before
NOT_SEARCHED = ("metric", "num_threads")


@dataclass(frozen=True)
class Tuning:
    """What a search found.

    Attributes:
        ranker: trained with the best parameters.
        trials: the last row of each, the best first.
        metric: they are judged by, on the validation data.
    """

    ranker: BaseRanker
    trials: tuple[Trial, ...]
    metric: str

    @property
    def best(self) -> Trial:
        """The best trial."""
        return self.trials[0]

    def __str__(self) -> str:
        rows = [f"{'trial':>5}  {self.metric:>12}  parameters"]
        for trial in self.trials[:10]:
            value = "failed" if trial.value is None else f"{trial.value:.4f}"
            given = ", ".join(f"{name}={value!r}" for name, value in trial.parameters.items())
            rows.append(f"{trial.number:>5}  {value:>12}  {given}")
        return "\n".join(rows)


def tune(
    ranker: BaseRanker,
    data: RankingData,
    *,
    valid: RankingData,
    ranges: Mapping[str, Range | str | Sequence[Any]],
    trials: int = 30,
    halving: bool = False,
    eta: int = 3,
    seed: int = 0,
    study: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    callbacks: Sequence[Callback] = (),
    on_trial: Callable[[Trial], None] | None = None,
) -> Tuning:
    """Trains with parameters drawn from ranges and keeps those that are best on the validation data.

    The parameters of a trial depend on the seed and its number alone, and so does the winner: not on threads, on the
    order of queries, or on how often the search was stopped and went on. The ranker given is not changed.

    Args:
        ranker: any of Podium's; what no range names stays as it is here.
        data: judged queries to train on.
        valid: judged queries to choose by.
        ranges: by parameter: a word such as "1e-4..1e-1:log", "1..20" or "adam,sgd", or a list of the values to try.
        trials: how many to draw; fewer where the ranges do not hold so many.
        halving: train all for a few epochs, the best 1/eta of them for eta times as many, and so on up to the ranker's
            epochs; each goes on from where it stopped.
        eta: see halving.
        seed: of the draws.
        study: a file that keeps the trials that are done; with it, a search that was stopped goes on.
        fresh: begin anew where the study is there already; the old one is kept until the first trial is done.
        callbacks: each is called with every epoch's row of every trial.
        on_trial: called with every trial as it is done, but not with those found in the study.

    Ctrl-C raises KeyboardInterrupt; the study has all that was done.
    """
    check_data("data", data)
    check_data("valid", valid)
    if not is_integer(eta) or eta < 2:
        raise ParameterError("eta", eta, "must be a whole number of at least 2")
    read = check_ranges(ranker, ranges)
    drawn = draw_trials(ranker, read, trials, seed=seed, halving=halving)
    search = Search(ranker, data, valid, read, tuple(callbacks), on_trial or (lambda trial: None))
    if study is not None:
        _trial_checkpoints(_checkpoint_folder(study))
    search.study = Study(study, search.settings(seed, f"of {trials} by {eta}" if halving else "no"), fresh=fresh)
    epochs = ranker.max_epochs
    with _folder(study, search.study) as search.checkpoints:
        return search.run(drawn, rungs(len(drawn), epochs, eta) if halving else [(len(drawn), epochs)])


def check_ranges(ranker: BaseRanker, ranges: Mapping[str, Range | str | Sequence[Any]]) -> dict[str, Range]:
    """The ranges, each of a parameter that the ranker has and that may be searched for."""
    known = [name for name in ranker.get_params(deep=False) if name not in NOT_SEARCHED]
    if not ranges:
        raise ParameterError(f"no range is given; give one for any of {', '.join(sorted(known))}")
    for name in ranges:
        if name in NOT_SEARCHED:
            raise ParameterError(
                f"{name} cannot be searched for: it is what trials are compared by, or does not matter"
            )
        if name not in known:
            raise unknown_name(f"parameter of {type(ranker).__name__}", name, known)
    read: dict[str, Range] = {}
    kinds = get_type_hints(type(ranker))
    for name, declared in ranges.items():
        try:
            read[name] = typed(as_range(declared), kinds.get(name, Any))
        except ParameterError as error:
            raise ParameterError(f"{name}: {error}") from None
    return read


def draw_trials(
    ranker: BaseRanker, ranges: dict[str, Range], trials: int, *, seed: int, halving: bool
) -> dict[int, dict[str, Any]]:
    """The parameters of every trial by number, each of them such that the ranker takes them."""
    if not is_integer(trials) or trials < 1:
        raise ParameterError("trials", trials, "must be a whole number of at least 1")
    if halving and _budget(ranker) in ranges:
        raise ParameterError(f"halving chooses {_budget(ranker)} itself; leave out its range, or halving")
    drawn = draw(ranges, trials, seed)
    for number, parameters in drawn.items():
        with _naming(number, parameters):
            clone(ranker).set_params(**parameters).check_parameters()
    return drawn


@contextlib.contextmanager
def _naming(number: int, parameters: dict[str, Any]) -> Iterator[None]:
    """Says of a parameter that is refused which trial it was drawn for."""
    try:
        yield
    except ParameterError as error:
        given = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
        raise ParameterError(f"trial {number} with {given}: {error}") from None


def draw(ranges: dict[str, Range], count: int, seed: int) -> dict[int, dict[str, Any]]:
    """`count` different choices of parameters by trial number, or as many as there are."""
    found: dict[int, dict[str, Any]] = {}
    wanted = min(count, math.prod(declared.size for declared in ranges.values()))
    seen: set[str] = set()
    for number in range(1, DRAWS * count + 1):
        shares = unit_interval(query_hashes([f"{name} {number}" for name in ranges], seed)).tolist()
        drawn = {name: declared.at(share) for (name, declared), share in zip(ranges.items(), shares, strict=True)}
        if repr(drawn) not in seen:
            seen.add(repr(drawn))
            found[len(found) + 1] = drawn
        if len(found) >= wanted:
            break
    return found


def rungs(trials: int, epochs: int, eta: int) -> list[tuple[int, int]]:
    """(trials, epochs) of every rung: each has 1/eta of the trials of the one before, for eta times as many epochs."""
    depth = 0
    while eta ** (depth + 1) <= min(trials, epochs):
        depth += 1
    return [(trials // eta**rung, epochs // eta ** (depth - rung)) for rung in range(depth + 1)]


@contextlib.contextmanager
def _folder(path: str | os.PathLike[str] | None, study: Study) -> Iterator[Path]:
    """Where trials keep their checkpoints: beside the study until it is done, or somewhere for a while."""
    if path is None:
        with tempfile.TemporaryDirectory(prefix="podium-") as name:
            yield Path(name)
        return
    folder = _checkpoint_folder(path)
    kept = _trial_checkpoints(folder)
    if study.is_new:
        for checkpoint in kept:
            checkpoint.unlink()
    make_folder(folder)
    try:
        yield folder
    except KeyboardInterrupt:  # the same search will go on from here
        with contextlib.suppress(OSError):
            folder.rmdir()  # unless something is in it
        raise
    except BaseException:
        _remove_folder(folder)
        raise
    _remove_folder(folder)


def _checkpoint_folder(study: str | os.PathLike[str]) -> Path:
    return Path(f"{os.fspath(study)}.checkpoints")


def _trial_checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints that an earlier search left; a folder with anything else in it is the user's, and refused."""
    if not folder.exists():
        return []
    if not folder.is_dir():
        raise OutputError(f"{folder}: is a file, and the search keeps checkpoints in a folder of this name; move it")
    sweep(folder)
    found = sorted(folder.iterdir())
    for path in found:
        if not path.name.startswith("trial-") or not path.is_file() or kind_of(path) != "checkpoint":
            raise OutputError(
                f"{folder}: the search keeps checkpoints in a folder of this name, which would be deleted in the end, but "
                f"{path.name} there is none; move it, or give the study another name"
            )
    return found


def _remove_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for path in _trial_checkpoints(folder):
            path.unlink()
        folder.rmdir()


class Search:
    """One search; `study` and `checkpoints` say what is done already."""

    study: Study
    checkpoints: Path

    def __init__(
        self,
        ranker: BaseRanker,
        data: RankingData,
        valid: RankingData,
        ranges: dict[str, Range],
        callbacks: tuple[Callback, ...],
        on_trial: Callable[[Trial], None],
    ) -> None:
        self.ranker, self.data, self.valid, self.ranges = ranker, data, valid, ranges
        self.callbacks, self.on_trial = callbacks, on_trial
        self.sign = 1.0 if as_metric(ranker.metric).higher_is_better else -1.0

    def settings(self, seed: int, halving: str) -> dict[str, str]:
        """What must be the same for a search to go on."""
        fixed = {name: value for name, value in self.ranker.get_params(deep=False).items() if name not in self.ranges}
        return {
            "ranker": type(self.ranker).__name__,
            "choice of ranges": ", ".join(f"{name}={declared}" for name, declared in self.ranges.items()),
            **{name: str(getattr(v, "__qualname__", v)) for name, v in fixed.items() if name != "num_threads"},
            "seed of the draws": str(seed),
            "halving": halving,
            "data": fingerprint(self.data),
            "validation data": fingerprint(self.valid),
        }

    def run(self, drawn: dict[int, dict[str, Any]], plan: list[tuple[int, int]]) -> Tuning:
        """Rung after rung, the best of each go on."""
        last: dict[int, Trial] = {}
        going = list(drawn)
        for rung, (count, epochs) in enumerate(plan):
            leaving = [number for number in going if number not in set(going[:count])]
            self._drop(leaving)
            going = sorted(going[:count])
            final = rung == len(plan) - 1
            for number in going:
                last[number] = self._trial(number, rung, epochs, drawn[number])
                if final:
                    done = [other for other in going if other in last and last[other].rung == rung]
                    self._drop(sorted(done, key=lambda other: self._place(last[other]))[1:])
            going = sorted(
                (number for number in going if last[number].value is not None), key=lambda n: self._place(last[n])
            )
            if not going:
                raise DataError(f"every trial failed; the first: {next(iter(last.values())).error}")
        order = sorted(last.values(), key=self._place)
        return Tuning(
            self._fit(order[0].number, order[0].epochs, order[0].parameters), tuple(order), self.ranker.metric
        )

    def _place(self, trial: Trial) -> tuple[int, float, int]:
        """Where a trial stands: later rungs first, then better values, then lower numbers."""
        return -trial.rung, math.inf if trial.value is None else -self.sign * trial.value, trial.number

    def _trial(self, number: int, rung: int, epochs: int, parameters: dict[str, Any]) -> Trial:
        epochs = parameters.get(_budget(self.ranker), epochs)
        if (number, rung) in self.study.done:
            return replace(self.study.done[number, rung], parameters=parameters)
        began = time.perf_counter()
        try:
            with _naming(number, parameters):
                fitted = self._fit(number, epochs, parameters)
            outcome: dict[str, Any] = {"value": fitted.best_value_, "best_epoch": fitted.best_epoch_}
        except FormatError:
            raise
        except DataError as error:  # training diverged: these parameters are bad, which is an answer
            outcome = {"error": str(error)}
        trial = Trial(number, rung, epochs, parameters, seconds=round(time.perf_counter() - began, 3), **outcome)
        self.study.add(trial)
        self.on_trial(trial)
        return trial

    def _fit(self, number: int, epochs: int, parameters: dict[str, Any]) -> BaseRanker:
        """A ranker with these parameters; one that was trained before goes on from its checkpoint."""
        ranker = clone(self.ranker).set_params(**{_budget(self.ranker): epochs, **parameters})
        checkpoint = Checkpoint(self.checkpoints / f"trial-{number}")
        return fit_or_stop(
            ranker, self.data, self.valid, tell_poor=False, callbacks=self.callbacks, checkpoint=checkpoint
        )

    def _drop(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            (self.checkpoints / f"trial-{number}").unlink(missing_ok=True)


def _budget(ranker: BaseRanker) -> str:
    return "n_estimators" if "n_estimators" in ranker.parameters() else "epochs"
