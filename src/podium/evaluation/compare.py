"""Compare systems query by query."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.grouping import plain_ids
from podium.data.hashing import check_seed
from podium.errors import DataError, ParameterError, UnknownNameError
from podium.evaluation.evaluate import Ranking, evaluate
from podium.evaluation.intervals import Bounds, Interval, check_confidence, check_count, student_interval, within
from podium.evaluation.paired_tests import TESTS, holm, paired_differences
from podium.evaluation.result import Evaluation, as_json, interval_text, json_id, percent
from podium.functions import Function
from podium.metrics import Metric, TieEffect, tie_lines
from podium.metrics import metric as as_metric
from podium.result_tables import ResultTable, TabularResult

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """One query: its value under both systems, and their difference, first minus second."""

    query_id: Any
    first: float
    second: float
    difference: float


@dataclass(frozen=True)
class PairComparison:
    """The first system against the second; differences are first − second.

    `p_values` and `corrected` (Holm over all the pairs compared) are by test. Wins and losses count queries where the
    first is better and worse; queries that differ by rounding only are ties.
    """

    first: str
    second: str
    difference: float
    interval: Interval
    p_values: dict[str, float]
    corrected: dict[str, float]
    wins: int
    losses: int
    ties: int
    most_changed: tuple[Change, ...]


@dataclass(frozen=True)
class Comparison(TabularResult):
    """A comparison of systems on one metric: their means, the effect of tied scores on each, and every pair of systems.

    `podium.compare` makes it.

    Attributes:
        metric: the metric.
        n_queries: number of queries that are compared: those that all systems have.
        confidence: the confidence of the intervals.
        mean: by system, the mean of the metric over these queries.
        mean_complete: by system, the mean over all judged queries, those missing from a run counting 0.
        n_missing: by system, how many judged queries its run lacks.
        ties: by system, how many queries have tied scores that can change their value, and the mean by other orders.
        pairs: every two systems, compared.
    """

    metric: Metric
    n_queries: int
    confidence: float
    mean: dict[str, float]
    mean_complete: dict[str, float]
    n_missing: dict[str, int]
    ties: dict[str, TieEffect]
    pairs: tuple[PairComparison, ...]

    def pair(self, first: str, second: str) -> PairComparison:
        """Return the pair of these two names, in the order in which the systems were given."""
        for each in self.pairs:
            if (each.first, each.second) == (first, second):
                return each
        raise KeyError(f"no pair {(first, second)!r}; pairs: {[(each.first, each.second) for each in self.pairs]}")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON can hold."""
        return {
            "metric": self.metric.label,
            "n_queries": self.n_queries,
            "confidence": self.confidence,
            "mean": {name: as_json(mean) for name, mean in self.mean.items()},
            "mean_complete": {name: as_json(mean) for name, mean in self.mean_complete.items()},
            "n_missing": dict(self.n_missing),
            "ties": {name: effect.to_dict() for name, effect in self.ties.items()},
            "pairs": [
                {
                    "first": each.first,
                    "second": each.second,
                    "difference": as_json(each.difference),
                    "interval": as_json(each.interval),
                    "p_values": dict(each.p_values),
                    "corrected": dict(each.corrected),
                    "wins": each.wins,
                    "losses": each.losses,
                    "ties": each.ties,
                    "most_changed": [
                        vars(change) | {"query_id": json_id(change.query_id)} for change in each.most_changed
                    ],
                }
                for each in self.pairs
            ],
        }

    def _frame_columns(self) -> dict[str, list[Any]]:
        tests = list(self.pairs[0].p_values)
        return {
            "first": [each.first for each in self.pairs],
            "second": [each.second for each in self.pairs],
            "mean_first": [self.mean[each.first] for each in self.pairs],
            "mean_second": [self.mean[each.second] for each in self.pairs],
            "difference": [each.difference for each in self.pairs],
            "low": [each.interval[0] for each in self.pairs],
            "high": [each.interval[1] for each in self.pairs],
            "wins": [each.wins for each in self.pairs],
            "losses": [each.losses for each in self.pairs],
            "ties": [each.ties for each in self.pairs],
            **{f"p_{test}": [each.p_values[test] for each in self.pairs] for test in tests},
            **{f"corrected_{test}": [each.corrected[test] for each in self.pairs] for test in tests},
        }

    def _result_table(self) -> ResultTable:
        several, tests = len(self.pairs) > 1, list(self.pairs[0].p_values)
        rows = [
            (
                f"{each.first} − {each.second}",
                f"{each.difference:+.4f}",
                interval_text(each.interval, "+.4f"),
                *(str(count) for count in (each.wins, each.losses, each.ties)),
                *(f"{(each.corrected if several else each.p_values)[test]:.4f}" for test in tests),
            )
            for each in self.pairs
        ]
        spread = f"{percent(self.confidence)} interval"
        header = ("pair", "difference", spread, "wins", "losses", "ties", *(f"p ({test})" for test in tests))
        means = ", ".join(f"{name} {mean:.4f}" for name, mean in self.mean.items())
        title = f"{self.metric.label} over {self.n_queries} queries: {means}"
        notes = ["The p-values are corrected for several pairs (Holm)."] if several else []
        return ResultTable(title, header, rows, [*notes, *self.missing_lines(), *self.tie_lines()])

    def __str__(self) -> str:
        lines = [f"{self.metric.label} over {self.n_queries} queries"]
        lines += [f"  {name}: {mean:.4f}" for name, mean in self.mean.items()]
        for each in self.pairs:
            low, high = each.interval
            lines.append(
                f"{each.first} − {each.second}: {each.difference:+.4f} [{low:+.4f}, {high:+.4f}], "
                f"{each.wins} wins, {each.losses} losses, {each.ties} ties"
            )
            corrected = len(self.pairs) > 1
            lines += [
                f"  {test}: p {_shown(p)}" + (f", {_shown(each.corrected[test])} after Holm" if corrected else "")
                for test, p in each.p_values.items()
            ]
        return "\n".join(lines + self.missing_lines() + self.tie_lines())

    def missing_lines(self) -> list[str]:
        """Return a sentence for each run that lacks judged queries, with its mean both ways."""
        return [
            f"{name} lacks {count} of the judged queries: {self.mean[name]:.4f} over the {self.n_queries} queries compared, "
            f"{self.mean_complete[name]:.4f} over all judged queries with missing ones as 0"
            for name, count in self.n_missing.items()
            if count
        ]

    def tie_lines(self) -> list[str]:
        """Return a line on the systems whose value depends on the order of tied documents, if there are any."""
        return tie_lines(self.ties)


def _shown(p: float) -> str:
    return f"= {p:.4f}" if p >= 0.0001 else "< 0.0001"


def compare(
    systems: Mapping[str, Ranking],
    data: RankingData,
    metric: str | Metric | Function = "ndcg@10",
    *,
    tests: Sequence[str] = ("wilcoxon", "t", "randomization"),
    confidence: float = 0.95,
    seed: int = 0,
    n_randomizations: int = 10_000,
    n_changed: int = 10,
    num_threads: int | None = None,
) -> Comparison:
    """Compare every pair of two or more systems on one metric: difference, tests, wins, losses, queries changed most.

    Runs are compared on the queries that all of them have, and a query that the metric leaves out (`empty='skip'`) is left
    out here too. Nothing in the result depends on the order of queries, except the order of equally changed ones.

    Args:
        systems: scores, runs, rankers or scorers by name, each as `evaluate` takes them.
        data: the judged documents.
        metric: the metric to compare by, or a function of yours (see `custom_metric`).
        tests: which of "wilcoxon", "t" and "randomization" to compute.
        confidence: the confidence of the intervals of the differences, at most 0.9999.
        seed: the seed of the randomization test.
        n_randomizations: number of random signs that the randomization test draws if it cannot list all of them.
        n_changed: how many of the queries that changed most to keep for each pair.
        num_threads: how many threads to use; all cores by default.
    """
    if not isinstance(systems, Mapping) or len(set(map(str, systems))) < 2:
        found = f"{len(set(map(str, systems)))}" if isinstance(systems, Mapping) else f"a {type(systems).__name__}"
        raise ParameterError(
            "systems", rule=f"must be two or more systems by name, not {found}", remedy="write 'a': …, 'b': … in braces"
        )
    if len(set(map(str, systems))) < len(systems):
        listed = ", ".join(map(str, systems))
        raise ParameterError("systems", rule=f"has two systems of one name: {listed}", remedy="give each its own name")
    tests = (tests,) if isinstance(tests, str) else tuple(tests)
    for test in tests:
        if not isinstance(test, str) or test not in TESTS:
            raise UnknownNameError("test", test, TESTS)
    confidence = check_confidence(confidence)
    n_randomizations, n_changed = (
        check_count("n_randomizations", n_randomizations),
        check_count("n_changed", n_changed, 0),
    )
    seed = check_seed(seed)
    asked = as_metric(metric)
    results = {
        str(name): evaluate(scores, data, metric, confidence=confidence, num_threads=num_threads)
        for name, scores in systems.items()
    }
    shared, values = paired_values(metric, results, data)
    query_ids = data.query_ids[shared]
    couples = list(itertools.combinations(values, 2))
    differences = [paired_differences(values[a], values[b]) for a, b in couples]
    raw = [{t: TESTS[t](each, n_randomizations=n_randomizations, seed=seed) for t in tests} for each in differences]
    corrected = {t: holm([p[t] for p in raw]) for t in tests}
    return Comparison(
        metric=next(iter(results.values())).metrics[0],
        n_queries=len(query_ids),
        confidence=confidence,
        mean_complete={name: result.mean_complete[metric] for name, result in results.items()},
        n_missing={name: result.n_missing for name, result in results.items()},
        ties={
            name: result.ties_among(metric, np.searchsorted(result.query_numbers, shared))
            for name, result in results.items()
        },
        mean={name: math.fsum(column.tolist()) / len(column) for name, column in values.items()},
        pairs=tuple(
            PairComparison(
                first=a,
                second=b,
                difference=math.fsum(each.tolist()) / len(each),
                interval=within(student_interval(each, confidence), _difference_bounds(asked)),
                p_values=raw[k],
                corrected={t: corrected[t][k] for t in tests},
                most_changed=_most_changed(each, (values[a], values[b]), query_ids, n_changed),
                **_outcomes(each, asked.higher_is_better),
            )
            for k, ((a, b), each) in enumerate(zip(couples, differences, strict=True))
        ),
    )


def _outcomes(differences: Floats, higher_is_better: bool) -> dict[str, int]:
    better = differences if higher_is_better else -differences
    return {"wins": int((better > 0).sum()), "losses": int((better < 0).sum()), "ties": int((better == 0).sum())}


def paired_values(
    asked: str | Metric | Function, results: dict[str, Evaluation], data: RankingData
) -> tuple[npt.NDArray[np.int64], dict[str, Floats]]:
    """Return the numbers of the queries that every system has and that count, and each system's values on them."""
    values = np.full((len(results), data.n_queries), np.nan)
    for row, result in zip(values, results.values(), strict=True):
        row[result.query_numbers] = result.per_query[asked]
    shared = np.flatnonzero(~np.isnan(values).any(axis=0))
    if not shared.size:
        raise DataError(f"the systems share no query on which {asked} has a value; nothing can be compared")
    return shared, {name: row[shared] for name, row in zip(results, values, strict=True)}


def _difference_bounds(metric: Metric) -> Bounds:
    """Return the least and the greatest difference of two values of a metric; None for no bound."""
    low, high = metric.bounds
    return (None, None) if low is None or high is None else (low - high, high - low)


def _most_changed(
    differences: Floats, values: tuple[Floats, Floats], query_ids: npt.NDArray[Any], count: int
) -> tuple[Change, ...]:
    """Return the queries with the largest differences, as many as asked for; equal ones in the order of the data."""
    largest = np.argsort(-np.abs(differences), kind="stable")[:count]
    ids, (first, second) = plain_ids(query_ids), values
    return tuple(
        Change(ids[k], float(first[k]), float(second[k]), float(first[k] - second[k]))
        for k in largest
        if differences[k] != 0
    )
