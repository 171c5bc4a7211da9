"""Damage small Arrow and Parquet files at seeded places and read them: a program, since reading could end the process.

    python tests/damaging.py FORMAT COUNT [FIRST]

prints one JSON line per damage before it is read, and one with the outcome after it: same, refused, values (another table, but only
bytes that hold values were changed, and there is no checksum over them) or wrong. Run with a large COUNT it is a test by hand.
"""

from __future__ import annotations

import io
import json
import random
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

import podium
from podium.formats.arrow_messages import read_layout

ROWS, BATCH = 40, 16
COLUMNS = ("plain", "nullable", "dictionary", "string", "list", "fixed")
FORMATS = ("arrow", "arrow-zstd", "stream", "stream-lz4", "feather", "parquet", "parquet-v2", "parquet-bare")


def table(columns: str) -> Any:
    """Return a table with columns of one kind."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(ROWS, 2)).astype(np.float32)
    queries = np.repeat(np.arange(8), 5)
    made: dict[str, Any] = {"label": rng.integers(0, 3, ROWS).astype(float), "qid": queries}
    if columns == "plain":
        made |= {"a": numbers[:, 0], "b": rng.integers(-50, 50, ROWS).astype(np.int32), "c": numbers[:, 1] > 0}
    elif columns == "nullable":
        numbers[::3, 0] = np.nan
        made |= {
            "a": pa.array(numbers[:, 0], from_pandas=True),
            "b": pa.array([None if k % 5 == 0 else -k for k in range(ROWS)], pa.int16()),
        }
    elif columns == "dictionary":
        brands = [None if k % 7 == 0 else ("acme", "bolt", "cord")[k % 3] for k in range(ROWS)]
        made |= {
            "qid": pa.array([f"q{query}" for query in queries]).dictionary_encode(),
            "brand": pa.array(brands).dictionary_encode(),
            "a": numbers[:, 0],
        }
    elif columns == "string":
        made |= {
            "qid": [f"q{query}" for query in queries],
            "docid": pa.array([f"döc{k}" for k in range(ROWS)], pa.large_string()),
            "a": numbers[:, 0],
        }
    else:
        kind = pa.list_(pa.float32()) if columns == "list" else pa.list_(pa.float32(), 2)
        made |= {"features": pa.array(numbers.tolist(), kind)}
    return pa.table(made)


def write(columns: str, form: str) -> bytes:
    """Return a file of several batches or row groups; all Parquet files but `parquet-bare` have checksums of their pages."""
    whole, out = table(columns), io.BytesIO()
    if form.startswith("parquet"):
        version = "2.0" if form == "parquet-v2" else "1.0"
        pq.write_table(
            whole, out, row_group_size=BATCH, data_page_version=version, write_page_checksum=form != "parquet-bare"
        )
    elif form == "feather":
        pa.feather.write_feather(whole, out, compression="lz4", chunksize=BATCH)
    else:
        name, _, compression = form.partition("-")
        options = pa.ipc.IpcWriteOptions(compression=compression or None, unify_dictionaries=True)
        new = pa.ipc.new_file if name == "arrow" else pa.ipc.new_stream
        with new(out, whole.schema, options=options) as writer:
            writer.write_table(whole, max_chunksize=BATCH)
    return out.getvalue()


def value_bytes(raw: bytes, form: str) -> npt.NDArray[np.bool_]:
    """Return which bytes hold values that no checksum protects, so that a change of them cannot be seen."""
    free = np.zeros(len(raw), bool)
    if form == "parquet-bare":
        free[: len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")] = True
    elif not form.startswith("parquet"):
        layout = read_layout(io.BytesIO(raw))
        for message in layout.messages:
            free[message.body_start : message.body_start + message.body_length] = True
        if not layout.is_file:  # a stream says its schema once
            free[: layout.messages[0].offset] = True
    return free


def damage(raw: bytes, seed: int) -> bytes:
    """Return a file with a flipped bit, another byte, a few bytes of zeros or of garbage, or an end that is cut off."""
    draw, out = random.Random(seed), bytearray(raw)
    at, how = draw.randrange(len(out)), draw.choice(("bit", "zero", "ones", "byte", "zeros", "garbage", "cut"))
    if how == "cut":
        return raw[:at]
    length = {"zeros": draw.randrange(2, 65), "garbage": draw.randrange(2, 17)}.get(how, 1)
    old = raw[at : at + length]
    out[at : at + length] = {
        "bit": bytes([old[0] ^ 1 << draw.randrange(8)]),
        "zero": b"\0",
        "ones": b"\xff",
        "byte": draw.randbytes(1),
        "zeros": bytes(len(old)),
        "garbage": draw.randbytes(len(old)),
    }[how]
    return bytes(out)


def content(path: Path) -> tuple[Any, ...]:
    """Return everything that is read, in a form that can be compared."""
    data = podium.read(path)
    return (
        data.features.shape,
        np.nan_to_num(data.features, nan=-9e9).tobytes(),
        data.labels.tobytes(),
        data.query_ids.tolist(),
        data.query_offsets.tolist(),
        None if data.document_ids is None else list(data.document_ids),
        data.feature_names,
        dict(data.categorical_features or {}),
    )


def outcome(path: Path, good: tuple[Any, ...], only_values: bool) -> str:
    """Return what reading a damaged file comes to."""
    try:
        found = content(path)
    except podium.FormatError:
        return "refused"
    except Exception as error:  # any other error is a fault, and is reported as one
        return f"wrong: {error!r}"
    if found == good:
        return "same"
    return "values" if only_values and found[0] == good[0] else f"wrong: {found[0]} {found[6]}"


def main(form: str, count: int, first: int = 0) -> None:
    """Damage files of all kinds of columns, `count` times each."""
    warnings.simplefilter("ignore")
    suffix = ".parquet" if form.startswith("parquet") else ".arrow"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"table{suffix}")
        for columns in COLUMNS:
            raw = write(columns, form)
            free = value_bytes(raw, form)
            path.write_bytes(raw)
            good = content(path)
            for seed in range(first, first + count):
                bad = damage(raw, seed)
                print(json.dumps([columns, seed]), flush=True)
                path.write_bytes(bad)
                changed = np.frombuffer(bad, np.uint8) != np.frombuffer(raw[: len(bad)], np.uint8)
                only_values = len(bad) == len(raw) and bool(free[np.flatnonzero(changed)].all())
                print(json.dumps(outcome(path, good, only_values)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
