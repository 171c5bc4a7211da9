"""Cross-validation by query: every query is ranked once, by a ranker that was not trained on it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from podium.cluster import Engine, Ray, connect, run_tasks
from podium.cluster import engine as as_engine
from podium.data import RankingData, split
from podium.data.canonical import check_data
from podium.data.conversion import as_number
from podium.data.splits import query_parts
from podium.errors import ParameterError, is_integer
from podium.evaluation import Evaluation, evaluate
from podium.evaluation.result import interval_text, percent
from podium.metrics import Metric
from podium.rankers.base import BaseRanker
from podium.rankers.training_warnings import InterruptedWarning
from podium.result_tables import ResultTable, TabularResult
from podium.training.progress import Callback

Floats = npt.NDArray[np.float64]
Queries = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Fold:
    """One fold of a cross-validation.

    Attributes:
        number: the number of the fold, counted from 1.
        ranker: the ranker that was trained on the other folds.
        queries: the numbers of the fold's queries in the data.
        n_train: the number of queries that the ranker was trained on.
        n_valid: the number of queries on which its best epoch was chosen; 0 if none were set aside.
        evaluation: the evaluation of the ranker on the fold's queries.
    """

    number: int
    ranker: BaseRanker
    queries: npt.NDArray[np.int64]
    n_train: int
    n_valid: int
    evaluation: Evaluation

    def to_dict(self) -> dict[str, Any]:
        """Return the fold without its ranker, as JSON takes it."""
        return {
            "fold": self.number,
            "n_train": self.n_train,
            "n_valid": self.n_valid,
            "best_epoch": self.ranker.best_epoch_,
            **self.evaluation.to_dict(),
        }


@dataclass(frozen=True)
class CrossValidation(TabularResult):
    """The result of a cross-validation.

    Attributes:
        folds: the folds, in order.
        scores: one score per row of the data in the caller's order, by the ranker that was not trained on the row's query.
        evaluation: the evaluation of these scores over all queries: means with intervals, and values by query.
    """

    folds: tuple[Fold, ...]
    scores: Floats
    evaluation: Evaluation

    def to_dict(self) -> dict[str, Any]:
        """Return the folds and the evaluation of all queries, as JSON takes them."""
        return {"folds": [fold.to_dict() for fold in self.folds], "all": self.evaluation.to_dict()}

    def _frame_columns(self) -> dict[str, list[Any]]:
        return {
            "fold": [fold.number for fold in self.folds],
            "n_train": [fold.n_train for fold in self.folds],
            "n_valid": [fold.n_valid for fold in self.folds],
            "n_test": [len(fold.queries) for fold in self.folds],
            "best_epoch": [fold.ranker.best_epoch_ for fold in self.folds],
            **{name: [fold.evaluation.mean[name] for fold in self.folds] for name in self.evaluation.mean},
        }

    def _result_table(self) -> ResultTable:
        whole = self.evaluation
        header = ("fold", "queries", f"best {self.folds[0].ranker.unit}", *whole.mean)
        rows = [
            (
                str(fold.number),
                str(len(fold.queries)),
                str(fold.ranker.best_epoch_),
                *(f"{fold.evaluation.mean[name]:.4f}" for name in whole.mean),
            )
            for fold in self.folds
        ]
        rows.append(("all", str(whole.n_queries), "", *(f"{mean:.4f}" for mean in whole.mean.values())))
        spread = ", ".join(f"{name} {interval_text(whole.interval[name])}" for name in whole.mean)
        title = f"Cross-validation of {type(self.folds[0].ranker).__name__} in {len(self.folds)} folds"
        notes = [f"{percent(whole.confidence)} intervals over all queries: {spread}"]
        return ResultTable(title, header, rows, [*notes, *whole.missing_lines(), *whole.tie_lines()])

    def __str__(self) -> str:
        metrics = list(self.evaluation.mean)
        lines = [
            f"fold {fold.number}: " + ", ".join(f"{name} {fold.evaluation.mean[name]:.4f}" for name in metrics)
            for fold in self.folds
        ]
        return "\n".join([*lines, str(self.evaluation)])


def cross_validate(
    ranker: BaseRanker,
    data: RankingData,
    *,
    folds: int | None = None,
    parts: str | Sequence[int] | None = None,
    metrics: str | Metric | Iterable[str | Metric] | None = None,
    valid_share: float | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    callbacks: Sequence[Callback] = (),
    on_fold: Callable[[Fold], None] | None = None,
    engine: str | Engine = "local",
) -> CrossValidation:
    """Rank every query by a ranker that was trained on the other folds.

    Folds are made of whole queries by a hash of the seed and the query ids, as `podium.folds` makes them, so that they do
    not depend on the order of queries in the data. The given ranker is not changed.

    Args:
        ranker: the ranker to train, with its parameters.
        data: the judged queries.
        folds: the number of folds. By default 5.
        parts: the numbers of folds that each ranker is trained on, validated on and tested on, as in (2, 2, 1) or "2+2+1" for
            five folds. The best epoch is chosen on the validation folds, which are the next ones after the test fold. By default
            all other folds are trained on.
        metrics: the metrics to evaluate by. By default the ranker's own.
        valid_share: the share of each fold's training queries on which the best epoch is chosen and training stops early. By
            default none, so that every training runs to its last epoch.
        confidence: the confidence of the intervals.
        seed: the seed of the folds. Training uses the ranker's own seed.
        callbacks: functions that are called with the row of every epoch of every training.
        on_fold: a function that is called with every fold when it is finished.
        engine: where the folds are trained: "local", one after the other in this process, or "ray(workers=4)", several at a time
            on a Ray cluster (extra `cluster`). The result is the same.

    Ctrl-C raises KeyboardInterrupt.
    """
    check_data("data", data)
    if not isinstance(ranker, BaseRanker):
        raise ParameterError("ranker", ranker, "must be a ranker", "make one, as in podium.RankSVM()")
    runs_on = as_engine(engine)
    if isinstance(runs_on, Ray) and callbacks:
        raise ParameterError(
            "callbacks",
            rule=f"cannot be called from the workers of {runs_on}",
            remedy="leave them out, or use {on_fold}",
        )
    asked = [ranker.metric] if metrics is None else metrics
    share = check_share(valid_share)
    rotation = plan_rotation(folds, parts, share)
    judge = functools.partial(evaluate, metrics=asked, confidence=confidence, seed=seed, num_threads=ranker.num_threads)
    training = FoldTraining(ranker, data, share, seed, judge, tuple(callbacks), runs_on.threads)
    held = np.empty(data.n_documents)
    done: list[Fold] = []
    for fold, scores in _trained_folds(training, list(rotation.of(data, seed)), runs_on):
        held[np.isin(data.document_queries, fold.queries)] = scores
        done.append(fold)
        if on_fold is not None:
            on_fold(fold)
    whole = data.to_caller_order(held)
    return CrossValidation(tuple(done), whole, judge(whole, data))


Part = tuple[Queries, Queries, Queries]


@dataclass(frozen=True)
class FoldTraining:
    """What every fold of a cross-validation is trained on and judged by; the attributes are the arguments of `cross_validate`."""

    ranker: BaseRanker
    data: RankingData
    share: float | None
    seed: int
    judge: Callable[..., Evaluation]
    callbacks: tuple[Callback, ...]
    threads: int | None


def train_fold(how: FoldTraining, number: int, part: Part) -> tuple[Fold, Floats]:
    """Return a fold, and the scores of its documents in the grouped order of the data."""
    train, valid, test = part
    given = [how.data.select(queries) for queries in (train, valid) if len(queries)]
    if how.share is not None:
        given = split(given[0], (1 - how.share, how.share), seed=(how.seed + number) % 2**64)
    unfitted = clone(how.ranker)
    if unfitted.num_threads is None:
        unfitted.set_params(num_threads=how.threads)
    fitted = fit_or_stop(unfitted, *given, callbacks=how.callbacks)
    tested = how.data.select(test)
    scores = fitted.predict(tested)
    fitted.set_params(num_threads=how.ranker.num_threads)
    judged = how.judge(scores, tested)
    fold = Fold(number, fitted, test, given[0].n_queries, sum(p.n_queries for p in given[1:]), judged)
    return fold, tested.from_caller_order(scores)


def _trained_folds(how: FoldTraining, parts: list[Part], runs_on: Engine) -> Iterator[tuple[Fold, Floats]]:
    jobs = list(enumerate(parts, start=1))
    if not isinstance(runs_on, Ray):
        yield from (train_fold(how, *job) for job in jobs)
        return
    with connect(runs_on) as ray:
        yield from run_tasks(ray, runs_on, train_fold, how, jobs, describe=lambda k: f"fold {k + 1}")


@dataclass(frozen=True)
class Rotation:
    """How folds take turns.

    Attributes:
        folds: the number of folds.
        valid: the number of folds that each ranker is validated on.
    """

    folds: int
    valid: int

    def of(self, data: RankingData, seed: int) -> Iterator[tuple[Queries, Queries, Queries]]:
        """Yield the query numbers to train, validate and test on, fold by fold."""
        every, dealt = np.arange(data.n_queries), query_parts(data, self.folds, seed=seed)
        for k, test in enumerate(dealt):
            following = [dealt[(k + step) % self.folds] for step in range(1, self.valid + 1)]
            valid = np.sort(np.concatenate([np.empty(0, np.int64), *following]))
            yield np.setdiff1d(every, np.concatenate([valid, test])), valid, test


def plan_rotation(folds: int | None, parts: str | Sequence[int] | None, share: float | None) -> Rotation:
    """Return the rotation that the settings describe. Raise ParameterError if they contradict each other."""
    if parts is None:
        return Rotation(5 if folds is None else folds, 0)
    try:
        counts = [int(word) for word in parts.split("+")] if isinstance(parts, str) else list(parts)
    except (TypeError, ValueError):
        counts = []
    if len(counts) != 3 or not all(is_integer(count) for count in counts) or min(counts) < 1 or counts[2] != 1:
        raise ParameterError(
            "parts",
            parts,
            "must be three numbers of folds, to train, validate and test on, the last of them 1",
            "write '2+2+1'",
        )
    if folds is not None and folds != sum(counts):
        raise ParameterError("folds", folds, f"is not the sum of {{parts={parts!r}}}", "leave it out")
    if share is not None:
        raise ParameterError(
            "valid_share",
            share,
            "cannot be combined with {parts}, which sets whole folds aside",
            "leave out one of them",
        )
    return Rotation(sum(counts), counts[1])


def check_share(share: float | None) -> float | None:
    """Return the share, if it is None or lies between 0 and 1."""
    number = as_number(share)
    if share is not None and (number is None or not 0 < number < 1):
        raise ParameterError(
            "valid_share", share, "must lie between 0 and 1, such as 0.2", "leave it out to set none aside"
        )
    return None if number is None else float(number)


def fit_or_stop(ranker: BaseRanker, data: RankingData, valid: RankingData | None = None, **keywords: Any) -> BaseRanker:
    """Fit a ranker, and raise KeyboardInterrupt on Ctrl-C, which otherwise ends training with the best epoch so far."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InterruptedWarning)
        ranker.fit(data, valid=valid, **keywords)
    if ranker.interrupted_:
        raise KeyboardInterrupt
    return ranker
