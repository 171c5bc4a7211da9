"""Answers: scores in the order of the documents, or the best documents of each query, in three formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from podium.serve.batch import Batch, Ids
from podium.serve.binary_bodies import write_arrow_table
from podium.serve.registry import ServedModel

JSON, RAW, ARROW = "application/json", "application/octet-stream", "application/vnd.apache.arrow.stream"
Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.intp]


class RankedDocument(msgspec.Struct, omit_defaults=True):
    """A document of a ranking: its position in the request, counted from 0, its score, and its id if it has one."""

    position: int
    score: float
    id: str | int | None = None


class ScoredQuery(msgspec.Struct, omit_defaults=True):
    """One score per document, in the order of the request."""

    scores: list[float]
    ids: list[str | int] | None = None


class RankedQuery(msgspec.Struct):
    """The best documents of a query, the best first."""

    ranking: list[RankedDocument]


class ScoreAnswer(ScoredQuery, omit_defaults=True, kw_only=True):
    """The answer for one query."""

    model: str
    version: str


class RankAnswer(RankedQuery, kw_only=True):
    """The answer for one query."""

    model: str
    version: str


class ScoreQueriesAnswer(msgspec.Struct):
    """The answer for several queries."""

    model: str
    version: str
    queries: list[ScoredQuery]


class RankQueriesAnswer(msgspec.Struct):
    """The answer for several queries."""

    model: str
    version: str
    queries: list[RankedQuery]


def rank_queries(scores: Floats, batch: Batch) -> Iterator[tuple[int, Positions]]:
    """Yield the first row of each query, and the positions of its best documents; equal scores keep their order."""
    start = 0
    for size in batch.sizes.tolist():
        yield start, np.argsort(-scores[start : start + size], kind="stable")[: batch.k]
        start += size


def write_answer(format: str, ranks: bool, model: ServedModel, batch: Batch, scores: Floats) -> bytes:
    """Return the body of the answer."""
    if format == RAW:
        if not ranks:
            return scores.astype("<f8", copy=False).tobytes()
        parts = [order for _, order in rank_queries(scores, batch)]
        return np.concatenate([np.empty(0, np.intp), *parts]).astype("<i4").tobytes()
    if format == ARROW:
        return write_arrow_table(_ranking_columns(batch, scores) if ranks else _score_columns(batch, scores))
    name, version = model.source.name, model.version
    answer: Any
    if ranks:
        rankings = _rankings(batch, scores)
        if batch.several:
            answer = RankQueriesAnswer(name, version, [RankedQuery(ranking) for ranking in rankings])
        else:
            answer = RankAnswer(ranking=rankings[0], model=name, version=version)
    elif batch.several:
        answer = ScoreQueriesAnswer(name, version, _scored_queries(batch, scores))
    else:
        answer = ScoreAnswer(scores=scores.tolist(), ids=batch.ids, model=name, version=version)
    return msgspec.json.encode(answer)


def _rankings(batch: Batch, scores: Floats) -> list[list[RankedDocument]]:
    ids = batch.ids
    return [
        [
            RankedDocument(position, score, None if ids is None else ids[start + position])
            for position, score in zip(order.tolist(), scores[start + order].tolist(), strict=True)
        ]
        for start, order in rank_queries(scores, batch)
    ]


def _scored_queries(batch: Batch, scores: Floats) -> list[ScoredQuery]:
    ends = np.cumsum(batch.sizes).tolist()
    return [
        ScoredQuery(scores[end - size : end].tolist(), None if batch.ids is None else batch.ids[end - size : end])
        for size, end in zip(batch.sizes.tolist(), ends, strict=True)
    ]


def _score_columns(batch: Batch, scores: Floats) -> dict[str, Any]:
    columns: dict[str, Any] = {"score": scores}
    if batch.ids is not None:
        columns["id"] = _id_column(batch.ids)
    if batch.several:
        columns["query"] = np.repeat(np.arange(len(batch.sizes)), batch.sizes)
    return columns


def _ranking_columns(batch: Batch, scores: Floats) -> dict[str, Any]:
    parts = list(rank_queries(scores, batch))
    empty = np.empty(0, np.intp)
    rows = np.concatenate([empty, *(start + order for start, order in parts)])
    columns: dict[str, Any] = {
        "position": np.concatenate([empty, *(order for _, order in parts)]).astype(np.int64),
        "score": scores[rows],
    }
    if batch.ids is not None:
        ids = _id_column(batch.ids)
        columns["id"] = [ids[row] for row in rows.tolist()]
    if batch.several:
        columns["query"] = np.repeat(np.arange(len(parts)), [len(order) for _, order in parts])
    return columns


def _id_column(ids: Ids) -> Ids:
    """Return ids that fit into one column: numbers of 64 bits, or else text."""
    fits = all(isinstance(id, int) and -(2**63) <= id < 2**63 for id in ids)
    return ids if fits else [str(id) for id in ids]
