"""Joins a run to judgments by query id and document id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data import RankingData, Run, Strings
from podium.data.grouping import distinct, id_texts
from podium.errors import DataError
from podium.evaluation.intervals import check_count
from podium.metrics import Documents

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class JudgedDocuments:
    """Documents in the form that `podium.metrics.per_query` takes, and the query of the data that each of their queries is."""

    documents: Documents
    query_numbers: Ints


def id_ranks(ids: Strings) -> Ints:
    """Return the rank of each id in byte order, the same for equal ids; trec_eval breaks ties by it."""
    return _ranks(ids)[0]


def _ranks(*columns: Strings) -> list[Ints]:
    encoded = [text for column in columns for text in column.encoded()]
    rank = {text: k for k, text in enumerate(sorted(set(encoded)))}
    ranks = np.fromiter((rank[text] for text in encoded), np.int64, len(encoded))
    return np.split(ranks, np.cumsum([len(column) for column in columns])[:-1])


def join_run(
    run: Run, data: RankingData, *, complete: bool = False, max_documents: int | None = None
) -> JudgedDocuments:
    """Return the queries that run and judgments share (with `complete`, all judged ones) with the documents of both.

    A retrieved document without a judgment has label 0 and is not judged; a judged one that is not retrieved counts
    in ideals and totals. Retrieved documents stand in the order of the run.
    """
    if data.document_ids is None:
        raise DataError(
            "the data has no document ids to join a run by; read the judgments from a qrels file, or pass scores as an array"
        )
    if max_documents is not None:
        max_documents = check_count("max_documents", max_documents)
    run_queries, n_queries = _query_codes(run, data), data.n_queries
    judged_docs, run_docs = _ranks(data.document_ids, run.document_ids)
    n_docs = int(max(judged_docs.max(initial=0), run_docs.max(initial=0))) + 1
    judged_keys = data.document_queries * n_docs + judged_docs
    kept = np.flatnonzero(run_queries >= 0)
    run_keys = run_queries[kept] * n_docs + run_docs[kept]
    _refuse_duplicates("the judgments", judged_keys, data.qid, data.document_ids)
    _refuse_duplicates("the run", run_keys, run.query_ids[kept], run.document_ids[kept])
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
    return JudgedDocuments(
        Documents(
            scores=np.concatenate([run.scores[kept], np.zeros(n_left)])[order],
            labels=np.concatenate([np.where(found, data.labels[row], 0.0), data.labels[left]])[order],
            query_offsets=np.append(0, np.cumsum(sizes)).astype(np.int64),
            judged=np.concatenate([found, np.ones(n_left, bool)])[order],
            retrieved=np.concatenate([np.ones(len(kept), bool), np.zeros(n_left, bool)])[order],
            tie_order=np.concatenate([run_docs[kept], judged_docs[left]])[order],
        ),
        query_numbers=np.flatnonzero(used),
    )


def _query_codes(run: Run, data: RankingData) -> Ints:
    """Return the number in `data` of the query of each row of the run, -1 if it has no judgments; ids are compared as text."""
    codes, ids = distinct(run.query_ids)
    heads = _by_text("the run", ids)
    known = _by_text("the judgments", data.query_ids)
    numbers = np.array([known.get(text, -1) for text in heads], np.int64)
    if not (numbers >= 0).any():
        shown = ", ".join(map(repr, list(heads)[:3])) or "none at all"
        raise DataError(
            f"the run and the judgments share no query: the run has {shown}, the judgments "
            f"{', '.join(map(repr, list(known)[:3]))}; check that the two belong together"
        )
    return numbers[codes]


def _by_text(where: str, query_ids: npt.NDArray[Any]) -> dict[str, int]:
    """Return the number of each query by the text of its id; ids with the same text are refused."""
    texts = id_texts(query_ids)
    numbers = {text: number for number, text in enumerate(texts)}
    if len(numbers) < len(texts):
        twin = next(number for number, text in enumerate(texts) if numbers[text] != number)
        raise DataError(
            f"{where}: query ids {query_ids[twin]!r} and {query_ids[numbers[texts[twin]]]!r} print the same text, by "
            "which run and judgments are joined; give ids of one type"
        )
    return numbers


def _refuse_duplicates(where: str, keys: Ints, query_ids: npt.NDArray[Any], document_ids: Strings) -> None:
    ordered = np.sort(keys)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if repeated.size:
        first, second = np.flatnonzero(keys == repeated[0])[:2]
        raise DataError(
            f"{where} names document {document_ids[second]!r} twice for query {str(query_ids[second])!r} "
            f"(entries {first} and {second} of the queries shared); keep one of them"
        )


def _top(queries: Ints, scores: npt.NDArray[np.float64], documents: Ints, most: int) -> npt.NDArray[np.int64]:
    """Return the rows of the first `most` documents of each query, in row order; ties are broken as in trec_eval."""
    order = np.lexsort((-documents, -scores, queries))
    sizes = np.bincount(queries)
    starts = np.cumsum(sizes) - sizes
    position = np.arange(len(order)) - starts[queries[order]]
    return np.sort(order[position < most])
