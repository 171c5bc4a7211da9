"""Sentences on what a reader of an evaluation should know about the queries."""

from __future__ import annotations

from podium.data import RankingData
from podium.evaluation.result import Evaluation


def single_lines(judged: RankingData) -> list[str]:
    """Return a sentence on the queries of one document, if there are any: every ranking of them is the same."""
    count = int((judged.query_sizes == 1).sum())
    if not count:
        return []
    have = "have one document each" if count > 1 else "has one document"
    every = "; check the query ids" if count == judged.n_queries else ""
    return [f"{count} of {judged.n_queries} queries {have}, so that no ranking can be better than another there{every}"]


def empty_lines(result: Evaluation) -> list[str]:
    """Return sentences on the queries without relevant documents and how they count, one for all metrics of the same rule."""
    alike: dict[tuple[int, str, str], list[str]] = {}
    for name, used in zip(result.mean, result.metrics, strict=True):
        if result.n_empty[name]:
            lacks = used.definition.lacks
            rule = str(used.parameters.get("empty", "zero"))
            alike.setdefault((result.n_empty[name], lacks, rule), []).append(name)
    lines = []
    for (count, lacks, rule), names in alike.items():
        counted = {"zero": "counted as 0", "one": "counted as 1", "skip": "left out of the mean"}[rule]
        other = {"zero": "skip", "one": "skip", "skip": "zero"}[rule]
        where = "" if len(alike) == 1 else f" by {', '.join(names)}"
        have, them = ("queries have", "them") if count > 1 else ("queries has", "it")
        lines.append(
            f"{count} of {result.n_queries} {have} no {lacks}, {counted}{where} (the metric's empty='{other}' "
            f"would {f'leave {them} out' if other == 'skip' else f'count {them} as 0'})"
        )
    return lines
