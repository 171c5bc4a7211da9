"""Slow and simple versions of the metrics: values from the formulas, ties and swaps by trying every order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

from podium.metrics import Metric


def ranked(scores: Sequence[float]) -> list[int]:
    """Documents, highest score first, equal scores in the order given."""
    return sorted(range(len(scores)), key=lambda i: -scores[i])


def orders_of_ties(scores: Sequence[float]) -> Iterator[list[int]]:
    """Every order of the documents in which no lower score stands above a higher one."""
    groups = [list(group) for _, group in itertools.groupby(ranked(scores), key=lambda i: scores[i])]
    for parts in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [document for part in parts for document in part]


def value(metric: Metric, scores: Sequence[float], labels: Sequence[float]) -> float:
    """The metric of one query; `empty='zero'` is understood."""
    parameters = metric.parameters
    if metric.name in PAIRS:
        return PAIRS[metric.name](metric, list(scores), list(labels))
    if is_empty(metric, labels):
        return 0.0
    orders = list(orders_of_ties(scores)) if parameters["ties"] == "average" else [ranked(scores)]
    values = [ORDERED[metric.name](metric, [labels[i] for i in order]) for order in orders]
    return math.fsum(values) / len(values)


def is_empty(metric: Metric, labels: Sequence[float]) -> bool:
    if metric.name in PAIRS:
        classes = [label >= metric.parameters["rel"] for label in labels] if metric.name == "auc" else labels
        return len(set(classes)) < 2
    if "rel" in metric.parameters:
        return not any(label >= metric.parameters["rel"] for label in labels)
    if "gain" in metric.parameters:
        return not any(gain(metric, label) > 0 for label in labels)
    return not any(label > 0 for label in labels)


def gain(metric: Metric, label: float) -> float:
    kind = metric.parameters["gain"]
    if isinstance(kind, tuple):
        return kind[int(label)]
    return 2**label - 1 if kind == "exponential" else label


def discount(metric: Metric, rank: int) -> float:
    if metric.parameters["convention"] == "letor":
        return 1.0 if rank <= 2 else 1 / math.log2(rank)
    return 1 / math.log2(1 + rank)


def dcg_at(metric: Metric, labels: Sequence[float], k: int) -> float:
    return sum(gain(metric, label) * discount(metric, rank) for rank, label in enumerate(labels[:k], 1))


def ndcg_at(metric: Metric, labels: Sequence[float], k: int) -> float:
    best = sorted(labels, key=lambda label: -gain(metric, label))
    return dcg_at(metric, labels, k) / dcg_at(metric, best, k)


def _depth(metric: Metric, labels: Sequence[float]) -> int:
    return len(labels) if metric.cutoff is None else metric.cutoff


def _dcg(metric: Metric, labels: Sequence[float]) -> float:
    return dcg_at(metric, labels, _depth(metric, labels))


def _ndcg(metric: Metric, labels: Sequence[float]) -> float:
    if metric.parameters["convention"] == "letor" and len(labels) < _depth(metric, labels):
        return 0.0
    return ndcg_at(metric, labels, _depth(metric, labels))


def _mean_ndcg(metric: Metric, labels: Sequence[float]) -> float:
    last = min(len(labels), _depth(metric, labels))
    return sum(ndcg_at(metric, labels, k) for k in range(1, last + 1)) / last


def _hits(metric: Metric, labels: Sequence[float]) -> list[bool]:
    return [label >= metric.parameters["rel"] for label in labels]


def _p(metric: Metric, labels: Sequence[float]) -> float:
    k = _depth(metric, labels)
    return sum(_hits(metric, labels)[:k]) / k


def _recall(metric: Metric, labels: Sequence[float]) -> float:
    hits = _hits(metric, labels)
    return sum(hits[: _depth(metric, labels)]) / sum(hits)


def _map(metric: Metric, labels: Sequence[float]) -> float:
    hits = _hits(metric, labels)
    precisions = [sum(hits[:rank]) / rank for rank in range(1, len(hits) + 1)]
    k = _depth(metric, labels)
    return sum(p for p, hit in zip(precisions[:k], hits[:k], strict=True) if hit) / sum(hits)


def _mrr(metric: Metric, labels: Sequence[float]) -> float:
    hits = _hits(metric, labels)[: _depth(metric, labels)]
    return 1 / (hits.index(True) + 1) if any(hits) else 0.0


def _bpref(metric: Metric, labels: Sequence[float]) -> float:
    hits = _hits(metric, labels)
    r, n = sum(hits), len(hits) - sum(hits)
    above = [sum(not hit for hit in hits[:rank]) for rank in range(len(hits))]
    return sum(1 - min(a, r) / min(n, r) if a else 1 for a, hit in zip(above, hits, strict=True) if hit) / r


def _err(metric: Metric, labels: Sequence[float]) -> float:
    total, reach = 0.0, 1.0
    for rank, label in enumerate(labels[: _depth(metric, labels)], 1):
        satisfied = (2**label - 1) / 2 ** metric.parameters["max"]
        total += reach * satisfied / rank
        reach *= 1 - satisfied
    return total


def _rbp(metric: Metric, labels: Sequence[float]) -> float:
    p = metric.parameters["persistence"]
    hits = _hits(metric, labels)[: _depth(metric, labels)]
    return (1 - p) * sum(p**position for position, hit in enumerate(hits) if hit)


def _wta(metric: Metric, labels: Sequence[float]) -> float:
    return float(labels[0] == max(labels))


def _credit(difference: float) -> float:
    return 1.0 if difference > 0 else 0.5 if difference == 0 else 0.0


def _pairwise_correct(metric: Metric, scores: list[float], labels: list[float]) -> float:
    pairs = [(i, j) for i, j in itertools.permutations(range(len(labels)), 2) if labels[i] > labels[j]]
    return sum(_credit(scores[i] - scores[j]) for i, j in pairs) / len(pairs) if pairs else 0.0


def _pairwise_error(metric: Metric, scores: list[float], labels: list[float]) -> float:
    return _pairwise_correct(metric, [-score for score in scores], labels)


def _auc(metric: Metric, scores: list[float], labels: list[float]) -> float:
    return _pairwise_correct(metric, scores, [float(hit) for hit in _hits(metric, labels)])


def _kendall_tau(metric: Metric, scores: list[float], labels: list[float]) -> float:
    def sign(x: float) -> int:
        return (x > 0) - (x < 0)

    pairs = list(itertools.combinations(range(len(labels)), 2))
    agreement = sum(sign(labels[i] - labels[j]) * sign(scores[i] - scores[j]) for i, j in pairs)
    by_label = sum(labels[i] != labels[j] for i, j in pairs)
    by_score = sum(scores[i] != scores[j] for i, j in pairs)
    return agreement / math.sqrt(by_label * by_score) if by_label * by_score else 0.0


ORDERED: dict[str, Callable[[Metric, Sequence[float]], float]] = {
    "ndcg": _ndcg,
    "mean_ndcg": _mean_ndcg,
    "dcg": _dcg,
    "map": _map,
    "mrr": _mrr,
    "p": _p,
    "recall": _recall,
    "bpref": _bpref,
    "err": _err,
    "rbp": _rbp,
    "wta": _wta,
}
PAIRS: dict[str, Callable[[Metric, list[float], list[float]], float]] = {
    "auc": _auc,
    "pairwise_correct": _pairwise_correct,
    "pairwise_error": _pairwise_error,
    "kendall_tau": _kendall_tau,
}


def swap_delta(metric: Metric, scores: Sequence[float], labels: Sequence[float], i: int, j: int) -> float:
    """The metric's own difference after documents i and j swap places (metrics over pairs: scores)."""
    if metric.name in PAIRS:
        swapped = list(scores)
        swapped[i], swapped[j] = swapped[j], swapped[i]
        return value(metric, swapped, labels) - value(metric, scores, labels)
    order = ranked(scores)
    places = {document: -float(place) for place, document in enumerate(order)}
    before = [places[document] for document in range(len(scores))]
    after = list(before)
    after[i], after[j] = after[j], after[i]
    return value(metric, after, labels) - value(metric, before, labels)
