"""Checks arrays and calls the core to compute metrics."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data.conversion import as_numbers
from podium.errors import DataError
from podium.threads import resolve_threads

if TYPE_CHECKING:
    from podium.metrics.metric import Metric

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Documents:
    """The documents of queries with everything that metrics need; `Metric.per_query` describes the fields."""

    scores: npt.ArrayLike
    labels: npt.ArrayLike
    query_offsets: npt.ArrayLike
    judged: npt.ArrayLike | None = None
    retrieved: npt.ArrayLike | None = None
    tie_order: npt.ArrayLike | None = None
    row_order: npt.NDArray[np.int64] | None = None  # the caller's row of each document, for messages


@functools.lru_cache(maxsize=1024)
def core_spec(metric: Metric) -> _core.MetricSpec:
    """Return the metric in the form that the core takes."""
    values = metric.parameters
    gain, ties = values.get("gain", "exponential"), str(values.get("ties", "input"))
    table = [float(value) for value in gain] if isinstance(gain, tuple) else []
    return _core.MetricSpec(
        metric.name,
        cutoff=metric.cutoff,
        gain=_core.Gain.table if table else _core.Gain[str(gain)],
        gain_table=table,
        numbers={name: float(value) for name, value in values.items() if isinstance(value, int | float)},
        empty=_core.Empty["zero" if values["empty"] == "refuse" else str(values["empty"])],
        ties=_core.Ties["input" if ties == "auto" else ties],
        convention=_core.Convention[str(values.get("convention", "textbook"))],
        custom=None if metric.custom is None else metric.custom.core(allow_nan=values["empty"] != "refuse"),
    )


@dataclass(frozen=True)
class CheckedQueries:
    """Everything that metrics need but the scores, checked once: training judges the same documents in every round."""

    specs: list[_core.MetricSpec]
    metrics: Sequence[Metric]
    labels: Floats
    query_offsets: npt.NDArray[np.int64]
    judged: npt.NDArray[np.uint8] | None
    retrieved: npt.NDArray[np.uint8] | None
    tie_order: npt.NDArray[np.int64] | None
    row_order: npt.NDArray[np.int64] | None
    num_threads: int

    @classmethod
    def of(cls, metrics: Sequence[Metric], documents: Documents, rows: int, num_threads: int | None) -> CheckedQueries:
        """Check all but the scores, of which there are as many as `rows`."""
        flags = _flags("judged", documents.judged, rows)
        return cls(
            specs=[core_spec(metric) for metric in metrics],
            metrics=metrics,
            labels=_judged_labels(_column("labels", documents.labels, rows), flags),
            query_offsets=_offsets(documents.query_offsets, rows),
            judged=flags,
            retrieved=_flags("retrieved", documents.retrieved, rows),
            tie_order=_tie_order(metrics, documents.tie_order, rows),
            row_order=documents.row_order,
            num_threads=resolve_threads(
                1 if num_threads is None and any(m.runs_in_python for m in metrics) else num_threads
            ),
        )

    def values(self, scores: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Return (value, whether the query is empty), each [metrics × queries], for one score per document.

        Raises:
            ValueError: There are not as many scores as documents.
        """
        values, empty, problem = _core.metric_values(
            self.specs,
            scores,
            self.labels,
            self.query_offsets,
            self.judged,
            self.retrieved,
            self.tie_order,
            self.num_threads,
        )
        if problem[0]:
            raise _refusal(self.metrics, self.labels, problem, self.row_order)
        return values, empty


def per_query(
    metrics: Sequence[Metric], documents: Documents, *, num_threads: int | None = None
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return (value, whether the query is empty), each [metrics × queries]; every query is sorted once for all metrics."""
    scores = _column("scores", documents.scores)
    return CheckedQueries.of(metrics, documents, len(scores), num_threads).values(scores)


def swap_deltas(
    metric: Metric,
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    judged: npt.ArrayLike | None = None,
    tie_order: npt.ArrayLike | None = None,
) -> Floats:
    """Return the change of the metric when two documents of one query swap places, for every pair: [n × n]."""
    held_scores = _column("scores", scores)
    n = len(held_scores)
    flags = _flags("judged", judged, n)
    held_labels = _judged_labels(_column("labels", labels, n), flags)
    order = _tie_order([metric], tie_order, n)
    deltas, problem = _core.swap_deltas(core_spec(metric), held_scores, held_labels, flags, order)
    if problem[0]:
        raise _refusal([metric], held_labels, problem, None)
    return deltas


def _column(name: str, values: npt.ArrayLike, rows: int | None = None) -> Floats:
    column = as_numbers(name, values)
    if column.ndim != 1:
        raise DataError(f"{name} have shape {column.shape}; give one number per document")
    if rows is not None and len(column) != rows:
        raise DataError(f"{len(column)} {name} for {rows} scores; give one per document")
    return column


def _judged_labels(labels: Floats, judged: npt.NDArray[np.uint8] | None) -> Floats:
    return labels if judged is None else np.where(judged != 0, labels, 0.0)


def _flags(name: str, values: npt.ArrayLike | None, rows: int) -> npt.NDArray[np.uint8] | None:
    if values is None:
        return None
    flags = np.ascontiguousarray(np.asarray(values).astype(bool))
    if flags.shape != (rows,):
        raise DataError(f"{name} has shape {flags.shape} for {rows} scores; give one flag per document")
    return flags.view(np.uint8)


def _offsets(query_offsets: npt.ArrayLike, rows: int) -> npt.NDArray[np.int64]:
    given = np.asarray(query_offsets)
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu":
        raise DataError("query_offsets must be a flat array of whole numbers, one more than there are queries")
    offsets = np.ascontiguousarray(given, np.int64)
    if offsets[0] != 0 or offsets[-1] != rows or (offsets[1:] < offsets[:-1]).any():
        raise DataError(f"query_offsets must rise from 0 to the number of scores, {rows}")
    return offsets


def _tie_order(metrics: Sequence[Metric], values: npt.ArrayLike | None, rows: int) -> npt.NDArray[np.int64] | None:
    if values is None:
        for metric in metrics:
            if metric.parameters.get("ties") == "trec_eval":
                raise DataError(
                    f"{metric}: ties='trec_eval' breaks ties by document id and there are none; "
                    "give document ids (tie_order), or say ties='input'"
                )
        return None
    given = np.asarray(values)
    if given.size and given.dtype.kind not in "iu":
        raise DataError(f"tie_order is {given.dtype}; give one whole number per document")
    order = np.ascontiguousarray(given, np.int64)
    if order.shape != (rows,):
        raise DataError(f"tie_order has shape {order.shape} for {rows} scores; give one number per document")
    return order


def _refusal(
    metrics: Sequence[Metric],
    labels: Floats,
    problem: tuple[int, int, int],
    row_order: npt.NDArray[np.int64] | None,
) -> DataError:
    kind, row, which = problem
    metric, label = metrics[which], labels[row]
    shown = row if row_order is None else int(row_order[row])
    if kind == 1:
        return DataError(f"score of row {shown} is nan; scores must be numbers (infinite ones are ranked)")
    if kind == 2:
        return DataError(f"label of row {shown} is {label}; labels must be finite numbers")
    rule = {3: _too_small, 4: _too_large, 5: _not_whole}[kind]
    return DataError(f"{metric}: label of row {shown} is {label:g}{rule(metric)}")


def _too_small(metric: Metric) -> str:
    takes_negative = metric.definition.negative_gains
    if takes_negative and metric.parameters["gain"] == "linear":
        return " and sums of gains below -1e300 could overflow; divide the labels by a constant"
    by_gain = " use gain='linear'," if takes_negative else ""
    return (
        f" and must be at least 0; shift the labels so that the least is 0,{by_gain} "
        "or use convention='trec_eval', where a negative judgment gains nothing"
    )


def _too_large(metric: Metric) -> str:
    gain, largest = metric.parameters.get("gain"), metric.parameters.get("max")
    if isinstance(largest, int | float):
        return f", above max={largest}; give the largest possible label, as in {metric.name}(max={largest + 1:g})"
    if isinstance(gain, tuple):
        return f", and the table of gains ends at label {len(gain) - 1}; give it a gain for every label"
    if gain == "linear":
        return " and sums of gains above 1e300 could overflow; divide the labels by a constant"
    return " and 2^label would overflow (the largest is 1000); use gain='linear'"


def _not_whole(metric: Metric) -> str:
    return "; a table of gains needs whole labels, use gain='linear' or gain='exponential'"
