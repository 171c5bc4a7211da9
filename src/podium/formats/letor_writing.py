"""Write RankingData as LETOR / SVMlight text."""

from __future__ import annotations

import os
import re
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data import RankingData, Strings
from podium.data.ordering import positions
from podium.errors import DataError, ParameterError
from podium.formats.columns import written_ids
from podium.formats.format import Progress
from podium.formats.opening import writing
from podium.threads import resolve_threads

Array = npt.NDArray[Any]


def write_letor(
    data: RankingData,
    path: str | os.PathLike[str],
    *,
    num_threads: int | None = None,
    index_base: Literal[0, 1] = 1,
    sparse: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write data as LETOR text, rows in the caller's order, each number as the shortest decimal that reads back exactly.

    The format has no place for weights, pairs, feature names and categories, which are refused.

    Args:
        data: The data.
        path: The path of the file; a name that ends in .gz is compressed.
        num_threads: Number of threads; by default every core this process may use.
        index_base: The index of the first feature.
        sparse: Whether to leave zeros out, for readers that take absent features as zero. The first and the last feature of the
            first row are always written, so that the number of features can be read back.
        progress: Called now and then with (rows done, rows in all).
    """
    _refuse_what_letor_lacks(path, data)
    comments = _comments(path, data)
    if isinstance(index_base, bool) or index_base not in (0, 1):
        raise ParameterError("index_base", index_base, "must be 0 or 1")
    ids = [str(query) for query in written_ids(data.query_ids).tolist()]
    for query in ids:
        if not query or re.search(r"\s|\0", query):
            raise DataError(
                f"{os.fspath(path)}: query id {query!r} is empty, or has a blank or a NUL in it, which LETOR text cannot hold; rename it"
            )
    order = None if data.row_order is None else positions(data.row_order)
    queries, threads, step = (
        data.document_queries,
        resolve_threads(num_threads),
        max(1, (8 << 20) // (data.n_features + 1)),
    )
    with writing(path, "letor") as file:
        for begin in range(0, data.n_documents, step):
            rows: slice | Array = slice(begin, begin + step) if order is None else order[begin : begin + step]
            notes = Strings.of([]) if comments is None else comments[rows].compact()
            offsets = notes.offsets if comments is not None else np.zeros(0, np.int64)
            features = np.ascontiguousarray(data.features[rows])
            text = _core.format_letor(
                features,
                data.labels[rows],
                ids,
                queries[rows],
                offsets,
                notes.data,
                index_base,
                sparse,
                begin == 0,
                threads,
            )
            file.write(text)
            if progress is not None:
                progress(min(begin + step, data.n_documents), data.n_documents)


def _refuse_what_letor_lacks(path: Any, data: RankingData) -> None:
    parts = ("document_weights", "query_weights", "pairs", "feature_names", "categorical_features")
    held = [name for name in parts if getattr(data, name) is not None]
    if held:
        without = " and ".join(f"{{without={name}}}" for name in held)
        raise DataError(
            f"{os.fspath(path)}: LETOR text cannot hold {' and '.join(name.replace('_', ' ') for name in held)}",
            remedy=f"write the cache (.podium-data), or leave {'this part' if len(held) == 1 else 'these parts'} out: {without}",
        )


def _comments(path: Any, data: RankingData) -> Strings | None:
    if data.document_ids is None:
        return None
    comments = []
    for text in data.document_ids:
        if text != text.strip(" \t\r") or "\n" in text or re.match(r"docid\s*=\s*\S", text):
            raise DataError(
                f"{os.fspath(path)}: document id {text!r} would not be read back from a LETOR comment; rename it"
            )
        comments.append(text and (f" {text}" if re.search(r"[ \t\r]", text) else f"docid = {text}"))
    return Strings.of(comments)
