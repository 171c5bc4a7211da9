"""Calibration of pair probabilities: how often a pair is in the right order, against how sure the scores are of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.conversion import as_number
from podium.data.hashing import check_seed, counter_uniform, query_hashes
from podium.errors import DataError, ParameterError
from podium.evaluation.intervals import check_confidence
from podium.evaluation.result import percent
from podium.forces import force as as_force
from podium.forces.definition import SIGMA
from podium.plots.inputs import Floats, check_positive, scores_of
from podium.plots.output import themed
from podium.plots.stack import alt, pd
from podium.plots.theme import COLORS, QUIET

MOST_BINS = 100
Pairs = tuple[
    Floats, Floats
]  # gaps of scores, at least 0, and how right the order is: 1, 0, or ½ if the scores are equal


def pair_calibration(
    system: Any,
    data: RankingData,
    *,
    sigma: float | None = None,
    bins: int = 10,
    confidence: float = 0.95,
    max_pairs: int = 1_000_000,
    seed: int = 0,
    num_threads: int | None = None,
) -> Any:
    """Draw how often the document with the higher score also has the higher label, against the predicted probability.

    The probability of a pair is 1 / (1 + exp(−sigma · gap of the scores)), as in RankNet. Pairs are those of one query with different labels.
    The columns of `chart.data` are predicted, observed, low, high, pairs and queries, one row per bin of the predicted probability.

    Args:
        system: a trained ranker, a scorer, or one score per row of the data in the caller's order.
        data: the judged documents.
        sigma: scale of the scores; by default that of the ranker's force, or 1.
        bins: number of bins between ½ and 1.
        confidence: confidence of the intervals. They treat queries, not pairs, as independent.
        max_pairs: maximum number of pairs to compute; of more, a sample is drawn in each query.
        seed: seed of the sample.
        num_threads: number of threads; all cores by default.
    """
    bins, most = check_positive("bins", bins, MOST_BINS), check_positive("max_pairs", max_pairs)
    confidence, sigma = check_confidence(confidence), _sigma(system, sigma)
    scores = scores_of(system, data, num_threads)
    edges = np.linspace(0.5, 1.0, bins + 1)
    sums = np.zeros((4, bins))  # of pairs, of predicted, of observed; queries
    by_query: list[tuple[Floats, Floats]] = []
    total, drawn = 0, 0
    for found, gaps, right in _pairs(scores, data, most, check_seed(seed)):
        chances = 1 / (1 + np.exp(-sigma * gaps))
        place = np.clip(np.searchsorted(edges, chances, side="right") - 1, 0, bins - 1)
        counts, hits = np.bincount(place, minlength=bins), np.bincount(place, right, minlength=bins)
        sums += np.stack([counts, np.bincount(place, chances, minlength=bins), hits, counts > 0])
        by_query.append((counts.astype(np.float64), hits.astype(np.float64)))
        total, drawn = total + found, drawn + len(gaps)
    if not total:
        raise DataError("no query has two documents with different labels, so that there is no pair to compare")
    kept = np.flatnonzero(sums[0])
    observed = sums[2, kept] / sums[0, kept]
    low, high = _intervals(
        np.array([c for c, _ in by_query])[:, kept], np.array([h for _, h in by_query])[:, kept], confidence
    )
    frame = pd.DataFrame(
        {
            "predicted": sums[1, kept] / sums[0, kept],
            "observed": observed,
            "low": low,
            "high": high,
            "pairs": sums[0, kept].astype(np.int64),
            "queries": sums[3, kept].astype(np.int64),
        }
    )
    sampled = "" if drawn == total else f", {drawn:,} of them drawn at random"
    return themed(
        _chart(frame),
        "Calibration of pair probabilities",
        f"{total:,} pairs of {len(by_query):,} queries{sampled}; sigma {sigma:g}; {percent(confidence)} intervals over queries",
        "On the dashed line, a pair is in the right order as often as the scores say.",
    )


def _chart(frame: Any) -> Any:
    width = alt.Scale(domain=[0.5, 1.0])
    x = alt.X("predicted:Q", title="predicted probability of the order", scale=width)
    lowest = min(0.5, float(frame["observed"].min()))
    height = alt.Scale(domain=[lowest, 1.0], clamp=True)
    y, low = (
        alt.Y(f"{name}:Q", title="share of pairs in the right order", scale=height) for name in ("observed", "low")
    )
    tips = [alt.Tooltip(f"{name}:Q", format=".4f") for name in ("predicted", "observed", "low", "high")]
    tips += [alt.Tooltip(f"{name}:Q", format=",d") for name in ("pairs", "queries")]
    ideal = alt.Chart(alt.InlineData([{"at": 0.5}, {"at": 1.0}])).mark_line(
        strokeDash=[4, 3], strokeWidth=1, color=QUIET
    )
    spans = alt.Chart().mark_rule(color=COLORS[0]).encode(x=x, y=low, y2="high:Q", tooltip=tips)
    line = alt.Chart().mark_line(strokeWidth=1).encode(x=x, y=y)
    points = (
        alt.Chart()
        .mark_point(filled=True, opacity=1)
        .encode(x=x, y=y, size=alt.Size("pairs:Q", title="pairs", scale=alt.Scale(range=[20, 220])), tooltip=tips)
    )
    return alt.layer(
        ideal.encode(x=alt.X("at:Q", scale=width), y=alt.Y("at:Q", scale=height)), spans, line, points, data=frame
    )


def sigma_of(ranker: Any) -> float:
    """Return the sigma of a ranker's force, or 1 if it has none. A force that names a function of the user is not imported."""
    name = getattr(ranker, "force_", None)
    return 1.0 if name is None or ":" in name else float(as_force(name).acting.parameter(SIGMA.name))


def _sigma(system: Any, sigma: float | None) -> float:
    if sigma is None:
        return sigma_of(system)
    number = as_number(sigma)
    if number is None or not 0 < number < math.inf:
        raise ParameterError("sigma", sigma, "must be a number above 0")
    return float(number)


def _pairs(scores: Floats, data: RankingData, most: int, seed: int) -> Iterator[tuple[int, Floats, Floats]]:
    """Yield, for each query with such pairs, how many pairs have different labels, and the gaps and outcomes of those kept."""
    counts = [_count_pairs(np.asarray(part)) for part in np.split(data.labels, data.query_offsets[1:-1])]
    share = min(1.0, most / max(1, sum(counts)))
    keys = query_hashes(data.query_ids, seed)
    for number, count in enumerate(counts):
        rows = slice(*data.query_offsets[number : number + 2])
        if count:
            own, labels = scores[rows], np.asarray(data.labels[rows], np.float64)
            if share < 1:
                kept = max(1, math.floor(share * count))
                numbers = (counter_uniform(int(keys[number]), 0, kept) * count).astype(np.int64)
            else:
                numbers = np.arange(count)
            gaps, right = _outcomes(own, labels, numbers)
            yield count, gaps, right


def _count_pairs(labels: Any) -> int:
    _, sizes = np.unique(labels, return_counts=True)
    return int((len(labels) ** 2 - (sizes.astype(np.int64) ** 2).sum()) // 2)


def _outcomes(scores: Floats, labels: Floats, numbers: npt.NDArray[np.int64]) -> Pairs:
    """Return the sizes of the gaps of some pairs of a query, and 1, ½ or 0 for the order of their scores.

    The pairs of different labels are numbered: in the order of labels, each document has a pair with every one below its label. No
    more than the pairs asked for is computed.
    """
    order = np.argsort(labels, kind="stable")
    scores, labels = scores[order], labels[order]
    below = np.searchsorted(labels, labels)  # how many documents have a lower label
    ends = np.cumsum(below)
    better = np.searchsorted(ends, numbers, side="right")
    worse = numbers - (ends - below)[better]
    gaps = scores[better] - scores[worse]
    return np.abs(gaps), (np.sign(gaps) + 1) / 2


def _intervals(counts: Floats, hits: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return Student's intervals of the ratio of two sums over queries, by linearization: NaN where fewer than two queries have pairs."""
    from scipy import special

    ratio = hits.sum(axis=0) / counts.sum(axis=0)
    n = (counts > 0).sum(axis=0)
    squares = ((hits - ratio * counts) ** 2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(n / (n - 1) * squares) / counts.sum(axis=0)
        reach = np.where(n > 1, -special.stdtrit(np.maximum(n - 1, 1), (1 - confidence) / 2) * error, np.nan)
    return np.clip(ratio - reach, 0, 1), np.clip(ratio + reach, 0, 1)
