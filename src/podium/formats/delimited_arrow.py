"""CSV and TSV text read by pyarrow, many times faster than by Python's csv module.

The two must give the same answer, so pyarrow is only asked to read text whose meaning is beyond doubt (`is_plain_text`), and
whatever it refuses is read again by the csv module, which says where the fault is.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from podium.errors import DataError
from podium.formats.arrow import require_pyarrow
from podium.formats.columns import Block, ColumnPlan
from podium.formats.decimals import ids_from_texts
from podium.formats.delimited_text import FALSE, MISSING, TRUE
from podium.formats.feature_file import FeatureFile
from podium.formats.format import Progress
from podium.formats.gathering import text_column

PathLike = str | os.PathLike[str]
SCAN_BYTES = 1 << 23
QUOTE, RETURN, NEWLINE = b'"\r\n'


def is_plain_text(stream: IO[bytes], delimiter: str) -> bool:
    """Return whether every reader of CSV takes these bytes to mean the same.

    They are UTF-8. A quote opens or closes a whole field or is doubled inside one: none stands behind text or before it. A
    carriage return comes before a line feed, never alone.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    n_quotes, last = 0, NEWLINE
    ends = np.zeros(256, bool)
    ends[[ord(delimiter), NEWLINE, RETURN]] = True
    block = stream.read(SCAN_BYTES).removeprefix(codecs.BOM_UTF8)
    while block:
        following = stream.read(SCAN_BYTES)
        try:
            if not block.isascii() or decoder.getstate()[0]:
                decoder.decode(block, final=not following)
        except UnicodeDecodeError:
            return False
        if b'"' in block or b"\r" in block:
            window = np.frombuffer(bytes([last]) + block + (following[:1] or b"\n"), np.uint8)
            returns = np.flatnonzero(window[1:-1] == RETURN) + 1
            quotes = np.flatnonzero(window[1:-1] == QUOTE) + 1
            if (window[returns + 1] != NEWLINE).any() or not _are_regular(window, quotes, n_quotes, ends):
                return False
            n_quotes += len(quotes)
        last, block = block[-1], following
    return n_quotes % 2 == 0


def _are_regular(
    window: npt.NDArray[np.uint8], quotes: npt.NDArray[np.int64], before: int, ends: npt.NDArray[np.bool_]
) -> bool:
    """Return whether each quote at an even place among all opens a field or follows a quote, and each other one mirrors that."""
    opens = (np.arange(len(quotes)) + before) % 2 == 0
    beside = window[np.where(opens, quotes - 1, quotes + 1)]
    return bool((ends[beside] | (beside == QUOTE)).all())


def read_with_arrow(
    path: PathLike,
    text: bytes | None,
    delimiter: str,
    plan: ColumnPlan,
    names: Sequence[str],
    truths: frozenset[str],
    use_threads: bool,
    progress: Progress | None,
    into: FeatureFile | None = None,
) -> tuple[Block, dict[str, list[str]]]:
    """Return the rows of a file, or of the text it decompresses to, and the texts of the categorical features.

    `truths` are the columns that begin with True or False. Features are put into a file if one is given: all of them, while
    otherwise the categorical ones are left out.
    """
    pa = require_pyarrow()
    import pyarrow.csv as pa_csv

    numeric = [name for name in plan.features if name not in plan.categorical]
    types = dict.fromkeys(plan.names, pa.large_string()) | dict.fromkeys(numeric, pa.float32())
    types |= {name: pa.float64() for name in (plan.label, plan.weight, plan.query_weight) if name is not None}
    is_numeric = set(numeric) | {plan.label}
    read_as = {name: pa.bool_() if name in truths & is_numeric else kind for name, kind in types.items()}
    held = numeric if into is None else plan.features
    place = {name: column for column, name in enumerate(held)}
    total = Path(path).stat().st_size
    matrices: list[npt.NDArray[np.float32]] = []
    keep = matrices.append if into is None else into.append
    columns: dict[str, list[Any]] = {name: [] for name in plan.names if name not in set(numeric)}
    # Arrow opens a plain file itself: its threads read ahead and must not need the interpreter, least of all when it exits.
    with (
        pa.OSFile(os.fsencode(path)) if text is None else pa.BufferReader(text) as stream,
        pa_csv.open_csv(
            stream,
            pa_csv.ReadOptions(
                use_threads=use_threads, block_size=SCAN_BYTES, skip_rows_after_names=1, column_names=names
            ),
            pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            pa_csv.ConvertOptions(
                column_types=read_as,
                null_values=MISSING,
                true_values=("1", *TRUE),
                false_values=("0", *FALSE),
                include_columns=plan.names,
            ),
        ) as reader,
    ):
        for batch in reader:
            if progress is not None and text is None:
                progress(stream.tell(), total)  # of a compressed file only the end is known
            matrix = np.zeros((batch.num_rows, len(held)), np.float32)
            for name in numeric:
                matrix[:, place[name]] = batch.column(name).cast(pa.float32()).to_numpy(zero_copy_only=False)
            if np.isnan(matrix).sum() != sum(batch.column(name).null_count for name in numeric):
                raise DataError("a number is NaN by another spelling than those of a missing value")
            keep(matrix)
            for name, parts in columns.items():
                parts.append(batch.column(name).cast(types[name]))
    tables = {name: pa.chunked_array(parts, types[name]) for name, parts in columns.items()}
    features = np.concatenate(matrices) if into is None else into.matrix()
    return _block(plan, tables, features), {name: tables[name].to_pylist() for name in plan.categorical}


def _block(plan: ColumnPlan, tables: dict[str, Any], features: npt.NDArray[np.float32]) -> Block:
    pa = require_pyarrow()

    def numbers(name: str | None) -> Any:
        return None if name is None else tables[name].to_numpy()

    encoded = pa.concat_arrays(tables[plan.query].chunks).dictionary_encode()
    ids = encoded.dictionary.to_pylist()
    if any(text in MISSING for text in ids):
        raise DataError("a query id is missing")
    return Block(
        labels=np.zeros(len(features)) if plan.label is None else numbers(plan.label),
        qid=ids_from_texts(ids)[encoded.indices.to_numpy()],
        document_ids=None if plan.document is None else text_column(tables[plan.document]),
        weights=numbers(plan.weight),
        query_weights=numbers(plan.query_weight),
        features=features,
    )
