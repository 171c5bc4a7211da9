"""How one trial is trained and judged, the same for every trial of a search."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.data import RankingData, split
from podium.errors import DataError, FormatError, ParameterError
from podium.metrics import metric as as_metric
from podium.rankers.base import BaseRanker
from podium.rankers.cross_validation import Fold, cross_validate, fit_or_stop
from podium.rankers.training_warnings import TrainingWarning
from podium.training.progress import Callback, Epoch

CONTINUE, STOP, PRUNE = "continue", "stop", "prune"


@dataclass(frozen=True)
class Step:
    """What a trial reports while it trains.

    Attributes:
        row: the row of the training log that an epoch ended with, or None after a fold.
        number: the number of the epoch on which the trial can be pruned, or of the fold with cross-validation; else None.
        value: the metric there.
    """

    row: Epoch | None
    number: int | None = None
    value: float | None = None


@dataclass(frozen=True)
class Outcome:
    """How a trial ended; the attributes are those of `Trial`."""

    state: str
    value: float | None = None
    best_epoch: int | None = None
    epochs: int = 0
    seconds: float = 0.0
    error: str | None = None


Report = Callable[[Step], str]  # returns CONTINUE, STOP to end the training, or PRUNE to give up the trial


class _Pruned(Exception):  # noqa: N818  (it is not an error)
    """The trial was given up."""


@dataclass(frozen=True)
class Objective:
    """What a search optimizes.

    With validation data, a trial trains on the data and is judged by the metric of the model that it keeps, on the validation
    data. With folds, it is judged by the mean of the metric over all queries, each ranked by a ranker that was not trained on
    it. Neither value is smoothed, however the round to keep was chosen.

    Attributes:
        ranker: the ranker whose settings are varied.
        data: the judged queries to train on.
        valid: the validation data, or None with folds.
        folds: the number of folds, or None with validation data.
        valid_share: with folds, the share of the training queries by which the best round is chosen, or None.
        seed: the seed of the folds.
    """

    ranker: BaseRanker
    data: RankingData
    valid: RankingData | None
    folds: int | None
    valid_share: float | None
    seed: int

    @property
    def steps(self) -> int:
        """The largest number of steps at which a trial can be pruned."""
        return self.ranker.max_epochs if self.folds is None else self.folds

    def run(self, parameters: Mapping[str, Any], report: Report) -> Outcome:
        """Train and judge one trial. Parameters or data that cannot be trained with make it fail, and raise nothing."""
        began = time.perf_counter()
        epochs = 0

        def counted(step: Step) -> str:
            nonlocal epochs
            epochs += step.row is not None
            return report(step)

        judge = self._train if self.folds is None else self._cross_validate
        try:
            with warnings.catch_warnings():  # poor parameters are nothing to warn about: they only lose
                warnings.simplefilter("ignore", TrainingWarning)
                found = judge(self.ranker.with_parameters(parameters), counted)
        except FormatError:
            raise
        except _Pruned:
            found = {"state": "pruned"}
        except (DataError, ParameterError) as error:
            found = {"state": "failed", "error": str(error)}
        return Outcome(**found, epochs=epochs, seconds=round(time.perf_counter() - began, 3))

    def _train(self, ranker: BaseRanker, report: Report) -> dict[str, Any]:
        verdict = CONTINUE

        def watch(row: Epoch) -> bool:
            nonlocal verdict
            verdict = report(Step(row, row.epoch, row.valid))
            return verdict != CONTINUE

        fitted = fit_or_stop(ranker, self.data, self.valid, callbacks=[watch])
        if verdict == PRUNE:
            raise _Pruned
        return {"state": "complete", "value": fitted.best_value_, "best_epoch": fitted.best_epoch_}

    def _cross_validate(self, ranker: BaseRanker, report: Report) -> dict[str, Any]:
        metric = as_metric(ranker.metric)
        judged: list[float] = []

        def finished(fold: Fold) -> None:
            values = fold.evaluation.per_query[str(metric)]
            judged.extend(values[~np.isnan(values)].tolist())
            mean = math.fsum(judged) / len(judged) if judged else None
            if report(Step(None, fold.number, mean)) == PRUNE:
                raise _Pruned

        assert self.folds is not None
        result = cross_validate(
            ranker,
            self.data,
            folds=self.folds,
            metrics=metric,
            valid_share=self.valid_share,
            seed=self.seed,
            callbacks=[lambda row: report(Step(row)) != CONTINUE],
            on_fold=finished,
        )
        value = result.evaluation.mean[str(metric)]
        if math.isnan(value):
            raise DataError(f"{metric} has no value on any query of the data, so nothing is best; use another metric")
        return {"state": "complete", "value": value}

    def fit(self, parameters: Mapping[str, Any], callbacks: tuple[Callback, ...]) -> BaseRanker:
        """Return a ranker that is trained with these parameters: on all data, or on all but what chooses the best round."""
        ranker, parts = self.ranker.with_parameters(parameters), [self.data]
        if self.valid is not None:
            parts.append(self.valid)
        elif self.valid_share is not None:
            parts = split(self.data, (1 - self.valid_share, self.valid_share), seed=self.seed)
        return fit_or_stop(ranker, *parts, callbacks=callbacks)
