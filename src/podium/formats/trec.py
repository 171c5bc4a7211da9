"""TREC files: judgments (qrels, `query 0 document judgment`) and runs (`query Q0 document rank score tag`).

Words are separated by blanks. A line that starts with '#' is a comment; a '#' inside a document id is part of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from podium.data import RankingData, Run
from podium.data.grouping import distinct, id_texts
from podium.data.ordering import positions
from podium.errors import DataError
from podium.formats.columns import written_ids
from podium.formats.decimals import shortest
from podium.formats.format import Format
from podium.formats.opening import writing
from podium.formats.tokens import Tokens
from podium.threads import resolve_threads

PathLike = str | os.PathLike[str]
Progress = Callable[[int, int], None]
QRELS_FORM = "query 0 document judgment"
RUN_FORM = "query Q0 document rank score tag"


def read_qrels(path: PathLike, *, num_threads: int | None = None, progress: Progress | None = None) -> RankingData:
    """Read judgments, as RankingData without features; a judgment may be any finite number, also a negative one."""
    resolve_threads(num_threads)
    tokens = Tokens(path, comments=True)
    tokens.require_words(4, 4, QRELS_FORM)
    labels = tokens.numbers(3, "the judgment", finite=True)
    _check_ids(tokens)
    _report(progress, tokens)
    features = np.empty((len(labels), 0), np.float32)
    return RankingData(features, labels, tokens.query_ids(0), document_ids=tokens.texts(2))


def read_run(path: PathLike, *, num_threads: int | None = None, progress: Progress | None = None) -> Run:
    """Read a run. Its order is that of the scores; as in trec_eval, the rank and whatever follows the tag are ignored."""
    resolve_threads(num_threads)
    tokens = Tokens(path, comments=True)
    tokens.require_words(6, None, RUN_FORM)
    scores = tokens.numbers(4, "the score", finite=False)
    _check_ids(tokens)
    _report(progress, tokens)
    return Run(tokens.query_ids(0), tokens.texts(2), scores, tag=tokens.word(0, 5))


def _check_ids(tokens: Tokens) -> None:
    tokens.refuse_long(0, "query id")
    tokens.refuse_long(2, "document id")
    tokens.refuse_duplicates((0, 2), "query and document")


def write_qrels(data: RankingData, path: PathLike) -> None:
    """Write the labels of data with document ids, rows in the caller's order."""
    if data.document_ids is None:
        raise DataError("qrels need document ids, and the data has none; give document_ids to RankingData")
    order = np.arange(data.n_documents) if data.row_order is None else positions(data.row_order)
    queries = np.array(_words("query id", id_texts(written_ids(data.query_ids))), object)[data.document_queries[order]]
    documents = _words("document id", data.document_ids[order])
    labels = (text.removesuffix(".0") for text in shortest(data.labels[order]))
    _write_lines(path, "qrels", (" ".join(row) for row in zip(queries, _every("0"), documents, labels, strict=False)))


def write_run(run: Run, path: PathLike) -> None:
    """Write a run, rows in their own order. Ranks count from 1 by score, and equal scores are ranked in the order of rows."""
    codes, ids = distinct(run.query_ids)
    queries = np.array(_words("query id", id_texts(written_ids(ids))), object)[codes]
    documents = _words("document id", run.document_ids)
    (tag,) = _words("tag", [run.tag])
    columns = (
        queries,
        _every("Q0"),
        documents,
        map(str, _ranks(run.scores, codes).tolist()),
        shortest(run.scores),
        _every(tag),
    )
    _write_lines(path, "trec-run", (" ".join(row) for row in zip(*columns, strict=False)))


def _ranks(scores: npt.NDArray[np.float64], query: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    order = np.lexsort((-scores, query))
    starts = np.flatnonzero(np.diff(query[order], prepend=-1))
    ranks = np.empty(len(scores), np.int64)
    ranks[order] = np.arange(len(scores)) - np.repeat(starts, np.diff(starts, append=len(scores))) + 1
    return ranks


def _words(what: str, values: Iterable[object]) -> list[str]:
    """Return values as text; each must be one word, and a query id must not start a comment."""
    texts = [str(value) for value in values]
    for text in texts:
        if text.split() != [text] or "\0" in text or (what == "query id" and text.startswith("#")):
            raise DataError(
                f"{what} {text!r} cannot be written to a TREC file; it must be one word, and a query id must not begin with '#'",
                remedy="write scores, which need no ids, or replace the blanks in the data first",
            )
    return texts


def _every(text: str) -> Iterable[str]:
    while True:
        yield text


def _write_lines(path: PathLike, kind: str, lines: Iterable[str]) -> None:
    with writing(path, kind) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())


def _report(progress: Progress | None, tokens: Tokens) -> None:
    if progress is not None:
        progress(len(tokens.raw), len(tokens.raw))


QRELS = Format(
    "qrels",
    "data",
    "TREC judgments: query 0 document judgment",
    read_qrels,
    write_qrels,
)
TREC_RUN = Format(
    "trec-run",
    "run",
    "TREC run: query Q0 document rank score tag",
    read_run,
    write_run,
)
