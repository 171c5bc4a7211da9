"""Cross-validation by query: every query is ranked once, by a ranker that never saw it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from podium.data import RankingData, split
from podium.data.canonical import check_data
from podium.data.conversion import as_number
from podium.data.splits import query_parts
from podium.errors import ParameterError, is_integer
from podium.evaluation import Evaluation, evaluate
from podium.metrics import Metric
from podium.rankers.base import BaseRanker
from podium.training.progress import Callback

Floats = npt.NDArray[np.float64]
Queries = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Fold:
    """One fold of a cross-validation.

    Attributes:
        number: counted from 1.
        ranker: trained on the other folds.
        queries: the numbers of the queries it was tested on, in the data.
        n_train: queries it was trained on.
        n_valid: queries its best epoch was chosen by; 0 where none were set apart.
        evaluation: of its test queries.
    """

    number: int
    ranker: BaseRanker
    queries: npt.NDArray[np.int64]
    n_train: int
    n_valid: int
    evaluation: Evaluation

    def to_dict(self) -> dict[str, Any]:
        """What it says of itself, as JSON takes it."""
        return {
            "fold": self.number,
            "n_train": self.n_train,
            "n_valid": self.n_valid,
            "best_epoch": self.ranker.best_epoch_,
            **self.evaluation.to_dict(),
        }


@dataclass(frozen=True)
class CrossValidation:
    """What a cross-validation found.

    Attributes:
        folds: one after the other.
        scores: of every row of the data in the caller's order, each by the ranker that never saw its query.
        evaluation: of these scores, all queries at once: means with intervals, and values by query.
    """

    folds: tuple[Fold, ...]
    scores: Floats
    evaluation: Evaluation

    def to_dict(self) -> dict[str, Any]:
        """Folds and the whole, as JSON takes them."""
        return {"folds": [fold.to_dict() for fold in self.folds], "all": self.evaluation.to_dict()}

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
) -> CrossValidation:
    """Trains on all folds but one, ranks that one, and so for every fold; the ranker given is not changed.

    Folds are made of whole queries by a hash of the seed and the query ids, as `podium.folds` makes them, so that they do
    not depend on the order of queries in the data.

    Args:
        ranker: any of Podium's, with its parameters.
        data: judged queries.
        folds: how many; 5 by default.
        parts: how many folds each ranker is trained on, validated on and tested on, as (2, 2, 1) or "2+2+1" of five folds. The
            validation folds choose the best epoch, and follow the test fold in turn. By default all other folds are trained on.
        metrics: to evaluate by; the ranker's own by default.
        valid_share: of the training queries of each fold, to choose the best epoch by and to stop early; none by default.
        confidence: of the intervals.
        seed: of the folds; training has the ranker's own.
        callbacks: each is called with every epoch's row of every fold's training.
        on_fold: called with each fold as it is done.

    Ctrl-C raises KeyboardInterrupt.
    """
    check_data("data", data)
    asked = [ranker.metric] if metrics is None else metrics
    share = check_share(valid_share)
    rotation = plan_rotation(folds, parts, share)
    judge = functools.partial(evaluate, metrics=asked, confidence=confidence, seed=seed, num_threads=ranker.num_threads)
    held = np.empty(data.n_documents)
    done: list[Fold] = []
    for number, (train, valid, test) in enumerate(rotation.of(data, seed), start=1):
        given = [data.select(queries) for queries in (train, valid) if len(queries)]
        if share is not None:
            given = split(given[0], (1 - share, share), seed=(seed + number) % 2**64)
        fitted = fit_or_stop(clone(ranker), *given, callbacks=callbacks)
        tested = data.select(test)
        scores = fitted.predict(tested)
        held[np.isin(data.document_queries, test)] = tested.from_caller_order(scores)
        judged = judge(scores, tested)
        done.append(Fold(number, fitted, test, given[0].n_queries, sum(p.n_queries for p in given[1:]), judged))
        if on_fold is not None:
            on_fold(done[-1])
    whole = data.to_caller_order(held)
    return CrossValidation(tuple(done), whole, judge(whole, data))


@dataclass(frozen=True)
class Rotation:
    """How many folds there are, and how many of them each ranker is validated on."""

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
    """Return the rotation that the settings of a cross-validation describe; a ParameterError if they contradict each other."""
    if parts is None:
        return Rotation(5 if folds is None else folds, 0)
    try:
        counts = [int(word) for word in parts.split("+")] if isinstance(parts, str) else list(parts)
    except (TypeError, ValueError):
        counts = []
    if len(counts) != 3 or not all(is_integer(count) for count in counts) or min(counts) < 1 or counts[2] != 1:
        raise ParameterError(
            "parts", parts, "must be the folds to train, validate and test on, the last of them 1", "write '2+2+1'"
        )
    if folds is not None and folds != sum(counts):
        raise ParameterError("folds", folds, f"is not the sum of {{parts={parts!r}}}", "leave it out")
    if share is not None:
        raise ParameterError("valid_share", share, "goes with whole folds, and {parts} sets some apart", "leave it out")
    return Rotation(sum(counts), counts[1])


def check_share(share: float | None) -> float | None:
    """Return the share, if it is None or lies between 0 and 1."""
    number = as_number(share)
    if share is not None and (number is None or not 0 < number < 1):
        raise ParameterError(
            "valid_share", share, "must lie between 0 and 1, such as 0.2", "leave it out to set none apart"
        )
    return None if number is None else float(number)


def fit_or_stop(ranker: BaseRanker, data: RankingData, valid: RankingData | None = None, **keywords: Any) -> BaseRanker:
    """Fit a ranker, and raise KeyboardInterrupt on Ctrl-C, which otherwise ends training with the best epoch so far."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="training was interrupted")
        ranker.fit(data, valid=valid, **keywords)
    if ranker.interrupted_:
        raise KeyboardInterrupt
    return ranker
