"""A run and the judgments, brought together by query id and document id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData, Run, Strings
from podium.errors import DataError, ParameterError

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Table:
    """Documents of queries with what the metrics need to know of each, ready for `podium.metrics.per_query`."""

    scores: npt.NDArray[np.float64]
    labels: npt.NDArray[np.float64]
    query_offsets: Ints
    query_ids: npt.NDArray[Any]
    judged: npt.NDArray[np.bool_] | None = None
    retrieved: npt.NDArray[np.bool_] | None = None
    tie_order: Ints | None = None
    row_order: Ints | None = None


def id_ranks(ids: Strings) -> Ints:
    """The rank of each id among all in byte order, equal ids equal: what trec_eval's tie rule compares."""
    return _ranks(ids)[0]


def _ranks(*columns: Strings) -> list[Ints]:
    encoded = [text.encode() for column in columns for text in column]
    _, inverse = np.unique(np.array(encoded, np.bytes_), return_inverse=True)
    return np.split(inverse.astype(np.int64), np.cumsum([len(column) for column in columns])[:-1])


def join_run(run: Run, data: RankingData, *, complete: bool = False, max_documents: int | None = None) -> Table:
    """The queries that run and judgments share (`complete`: all judged ones), with the documents of both.

    A retrieved document without a judgment has label 0 and is not judged; a judged one that is not retrieved counts
    in ideals and totals. Retrieved documents stand in the order of the run.
    """
    if data.document_ids is None:
        raise DataError(
            "the data has no document ids to join a run by; read the judgments from a qrels file, or pass scores as an array"
        )
    run_queries, n_queries = _query_codes(run, data)
    judged_docs, run_docs = _ranks(data.document_ids, run.document_ids)
    n_docs = int(max(judged_docs.max(initial=0), run_docs.max(initial=0))) + 1
    judged_keys = data.document_queries * n_docs + judged_docs
    kept = np.flatnonzero(run_queries >= 0)
    run_keys = run_queries[kept] * n_docs + run_docs[kept]
    _refuse_duplicates("the judgments", judged_keys, data.qid, data.document_ids)
    _refuse_duplicates("the run", run_keys, np.asarray(run.query_ids)[kept], run.document_ids[kept])
    _refuse_nan(run)
    if max_documents is not None:
        top = _top(run_queries[kept], run.scores[kept], run_docs[kept], max_documents)
        kept, run_keys = kept[top], run_keys[top]
    used = np.ones(n_queries, bool) if complete else np.bincount(run_queries[kept], minlength=n_queries) > 0

    by_key = np.argsort(judged_keys, kind="stable")
    place = np.searchsorted(judged_keys[by_key], run_keys).clip(max=max(len(by_key) - 1, 0))
    row = by_key[place]
    found = judged_keys[row] == run_keys
    left = np.ones(data.n_documents, bool)
    left[row[found]] = False
    left &= used[data.document_queries]

    queries = np.concatenate([run_queries[kept], data.document_queries[left]])
    order = np.argsort(queries, kind="stable")
    sizes = np.bincount(queries, minlength=n_queries)[used]
    n_left = int(left.sum())
    return Table(
        scores=np.concatenate([run.scores[kept], np.zeros(n_left)])[order],
        labels=np.concatenate([np.where(found, data.labels[row], 0.0), data.labels[left]])[order],
        query_offsets=np.append(0, np.cumsum(sizes)).astype(np.int64),
        query_ids=data.query_ids[used],
        judged=np.concatenate([found, np.ones(n_left, bool)])[order],
        retrieved=np.concatenate([np.ones(len(kept), bool), np.zeros(n_left, bool)])[order],
        tie_order=np.concatenate([run_docs[kept], judged_docs[left]])[order],
    )


def _query_codes(run: Run, data: RankingData) -> tuple[Ints, int]:
    """The query number in `data` of each row of the run, -1 where it has no judgments; ids are compared as text."""
    known = {str(query): number for number, query in enumerate(data.query_ids.tolist())}
    heads, inverse = np.unique(
        np.asarray([str(query) for query in np.asarray(run.query_ids).tolist()]), return_inverse=True
    )
    codes = np.array([known.get(str(query), -1) for query in heads], np.int64)
    if not (codes >= 0).any():
        shown = ", ".join(map(repr, heads[:3].tolist())) or "none at all"
        raise DataError(
            f"the run and the judgments share no query: the run has {shown}, the judgments "
            f"{', '.join(map(repr, list(known)[:3]))}; check that the two belong together"
        )
    return codes[inverse], len(known)


def _refuse_duplicates(where: str, keys: Ints, query_ids: npt.NDArray[Any], document_ids: Strings) -> None:
    ordered = np.sort(keys)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if repeated.size:
        first, second = np.flatnonzero(keys == repeated[0])[:2]
        raise DataError(
            f"{where} names document {document_ids[second]!r} twice for query {str(query_ids[second])!r} "
            f"(entries {first} and {second} of the queries shared); keep one of them"
        )


def _refuse_nan(run: Run) -> None:
    bad = np.isnan(run.scores)
    if bad.any():
        k = int(np.argmax(bad))
        raise DataError(
            f"the run's score of document {run.document_ids[k]!r} for query {str(run.query_ids[k])!r} (row {k}) is nan; "
            "scores must be numbers"
        )


def _top(queries: Ints, scores: npt.NDArray[np.float64], documents: Ints, most: int) -> npt.NDArray[np.int64]:
    """The rows of the first `most` documents of each query, in row order; ties as trec_eval breaks them."""
    if isinstance(most, bool) or int(most) != most or most < 1:
        raise ParameterError(f"max_documents={most!r} must be a whole number of at least 1; leave it out to keep all")
    order = np.lexsort((-documents, -scores, queries))
    sizes = np.bincount(queries)
    starts = np.cumsum(sizes) - sizes
    position = np.arange(len(order)) - starts[queries[order]]
    return np.sort(order[position < most])
