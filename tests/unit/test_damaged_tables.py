"""Damaged Arrow and Parquet files are read right or refused: no crash, no rows that go missing, no column from the wrong place."""

from __future__ import annotations

import collections
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import damaging
import podium
from generated import assert_same
from podium import FormatError, RankingData
from podium.formats.arrow_batches import check_batch, check_schema
from podium.formats.arrow_messages import DICTIONARY, read_layout
from podium.formats.flatbuffers import DamageError, FlatTable
from podium.formats.parquet_checks import check_footer
from podium.formats.thrift import read_struct

COUNT = 50  # damages per kind of column


@pytest.mark.parametrize("form", damaging.FORMATS)
def test_damaged_files_are_read_right_or_refused(form: str) -> None:
    """What may end the process runs in another one; a signal is a negative return code."""
    command = [sys.executable, damaging.__file__, form, str(COUNT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (done.returncode, lines[-1:], done.stderr[-2000:])
    damages, outcomes = lines[0::2], lines[1::2]
    wrong = [pair for pair in zip(damages, outcomes, strict=True) if pair[1].startswith("wrong")]
    assert not wrong
    counts = collections.Counter(outcomes)
    assert counts.total() == COUNT * len(damaging.COLUMNS)
    assert counts["refused"] > counts.total() / 3
    if form in ("parquet", "parquet-v2"):
        assert not counts["values"]


@pytest.mark.parametrize("suffix", [".arrow", ".parquet"])
def test_what_podium_writes_has_checksums(tmp_path: Path, suffix: str) -> None:
    """Every changed byte between the metadata, so every changed value, is noticed."""
    path = tmp_path / f"t{suffix}"
    data = RankingData(np.arange(40.0).reshape(20, 2), np.arange(20) % 3, np.arange(20) // 5)
    podium.write(data, path)
    raw = path.read_bytes()
    refused = 0
    for place in range(len(raw) // 8, len(raw) - 8, 7):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ 16]) + raw[place + 1 :])
        try:
            found = podium.read(path)
        except FormatError:
            refused += 1
        else:
            assert_same(found, data)
    assert refused > 20


def arrow_bytes(table: Any, *, stream: bool = False, **options: Any) -> bytes:
    out = io.BytesIO()
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(out, table.schema, options=pa.ipc.IpcWriteOptions(unify_dictionaries=True, **options)) as writer:
        writer.write_table(table, max_chunksize=2)
    return out.getvalue()


TABLE = pa.table({"label": [1.0, 0.0, 2.0], "qid": [1, 1, 2], "a": [0.5, None, 1.5]})


def read_bytes(tmp_path: Path, raw: bytes, suffix: str = ".arrow") -> RankingData:
    path = tmp_path / f"t{suffix}"
    path.write_bytes(raw)
    return podium.read(path)


def test_a_stream_that_is_cut_between_two_batches_is_refused(tmp_path: Path) -> None:
    raw = arrow_bytes(TABLE, stream=True)
    last = read_layout(io.BytesIO(raw)).messages[-1]
    assert read_bytes(tmp_path, raw).n_documents == 3
    with pytest.raises(FormatError, match="is damaged or not of this format: it is cut short: there is no end marker"):
        read_bytes(tmp_path, raw[: last.offset])
    with pytest.raises(FormatError, match="bytes follow the end marker"):
        read_bytes(tmp_path, raw[: last.offset] + b"\xff\xff\xff\xff\0\0\0\0" + raw[last.offset + 8 :])


def test_a_footer_that_leaves_a_batch_out_is_refused(tmp_path: Path) -> None:
    raw = bytearray(arrow_bytes(TABLE))
    length = int.from_bytes(raw[-10:-6], "little")
    footer = bytes(raw[-10 - length : -10])
    blocks = FlatTable.root(footer).structs(3, "V24")
    assert len(blocks) == 2
    place = footer.index(blocks.tobytes()) - 4  # how many there are
    raw[len(raw) - 10 - length + place] = 1
    with pytest.raises(FormatError, match="its footer lists 1 batches that are not the 2 batches there are"):
        read_bytes(tmp_path, bytes(raw))


def test_nulls_that_are_denied_are_refused(tmp_path: Path) -> None:
    """If a null count is zero, pyarrow does not look at the bits that mark nulls, and a null becomes a number."""
    raw = arrow_bytes(TABLE)
    batch = read_layout(io.BytesIO(raw)).batches[0]
    nodes = batch.batch.structs(1, "<i8,<i8")
    assert nodes.tolist() == [(2, 0), (2, 0), (2, 1)]
    place = raw.index(nodes.tobytes(), batch.offset) + 40
    changed = raw[:place] + b"\0" + raw[place + 1 :]
    assert pa.ipc.open_file(changed).get_batch(0).column("a").null_count == 0
    with pytest.raises(FormatError, match="a column is said to have no nulls and has some"):
        read_bytes(tmp_path, changed)


def test_a_column_from_the_wrong_place_is_refused(tmp_path: Path) -> None:
    raw = arrow_bytes(TABLE)
    batch = read_layout(io.BytesIO(raw)).batches[0]
    buffers = batch.batch.structs(2, "<i8,<i8")
    place = raw.index(buffers.tobytes(), batch.offset) + 16  # the labels' values, moved by 8 bytes
    assert buffers.tolist()[1][0] == 0
    with pytest.raises(FormatError, match="the buffers of a batch do not lie one after the other"):
        read_bytes(tmp_path, raw[:place] + b"\x08" + raw[place + 1 :])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"compression": "lz4"}, {"compression": "zstd"}, {"use_legacy_format": True}], ids=str
)
def test_unused_columns_may_have_any_type(tmp_path: Path, stream: bool, options: Any) -> None:
    others = {
        "null": pa.nulls(3),
        "bool": pa.array([True, None, False]),
        "half": pa.array(np.ones(3, np.float16)),
        "decimal": pa.array([1, 2, None]).cast(pa.decimal128(20)),
        "text": pa.array(["x", None, "é"]),
        "view": pa.array(["long text " * 5, None, "é"], pa.string_view()),
        "bytes": pa.array([b"a", b"b", b"c"], pa.binary(1)),
        "lists": pa.array([[1, None], [], None]),
        "list view": pa.array([[1], [2], [3]], pa.list_view(pa.int8())),
        "pairs": pa.array([[1, 2]] * 3, pa.list_(pa.int8(), 2)),
        "struct": pa.array([{"a": 1, "b": "x"}] * 3),
        "map": pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int8())),
        "category": pa.array(["p", "q", "p"]).dictionary_encode(),
        "inside": pa.array([["p"], ["q"], []], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
        "runs": pc.run_end_encode(pa.array([1, 1, 2])),
        "union": pa.UnionArray.from_sparse(
            pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])]
        ),
        "day": pa.array([0, 1, 2], pa.date32()),
    }
    wide = TABLE
    for name, column in others.items():
        wide = wide.append_column(name, column)
    path = tmp_path / "t.arrow"
    path.write_bytes(arrow_bytes(wide, stream=stream, **options))
    data = podium.read(path, features=["a"])
    np.testing.assert_array_equal(data.features[:, 0], [0.5, np.nan, 1.5])
    for old in (arrow_bytes(wide.slice(1), stream=stream, metadata_version=pa.ipc.MetadataVersion.V4),):
        layout = read_layout(io.BytesIO(old))
        types = [field.type for field in wide.schema]
        for message in layout.messages:
            check_batch(io.BytesIO(old), message, None if message.type == DICTIONARY else types)


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_files_that_polars_writes_are_taken(tmp_path: Path, compression: Any) -> None:
    frame = pl.DataFrame(
        {
            "label": [1.0, 0.0, 2.0] * 20,
            "qid": ["a", "a", "b"] * 20,
            "x": [0.5, None, 1.5] * 20,
            "brand": pl.Series(["p", "q", None] * 20, dtype=pl.Categorical),
        }
    )
    frame.write_ipc(tmp_path / "file.arrow", compression=compression)
    frame.write_ipc_stream(tmp_path / "stream.arrow", compression=compression)
    frame.write_parquet(tmp_path / "t.parquet", compression=compression)
    expected = podium.from_frame(frame)
    for name in ("file.arrow", "stream.arrow", "t.parquet"):
        assert_same(podium.read(tmp_path / name), expected)


def parquet_bytes(table: Any, **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, row_group_size=2, **options)
    return out.getvalue()


def test_a_parquet_footer_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    raw = parquet_bytes(TABLE, compression="none")
    length = int.from_bytes(raw[-8:-4], "little")
    start = len(raw) - 8 - length
    footer = read_struct(raw[start:-8])
    assert (footer[3], [group[3] for group in footer[4]]) == (3, [2, 1])
    assert check_footer(io.BytesIO(raw)).n_rows == 3
    for old, new, message in (
        (b"\x18\x05label", b"\x18\x05habel", "has another name or type in a row group than in the schema"),
        (b"\x16\x06\x19", b"\x16\x08\x19", "do not add up to the 4 rows it is said to have"),
    ):
        assert old in raw[start:]
        place = raw.index(old, start)
        with pytest.raises(FormatError, match=message):
            read_bytes(tmp_path, raw[:place] + new + raw[place + len(old) :], ".parquet")


@pytest.mark.parametrize(
    "raw",
    [b"", b"\x15", b"\x19\xfc\xff\xff\xff\x7f", b"\x1c" * 100, b"\x18\x7fabc", b"\x1b\x00", b"\x15" + b"\xff" * 11],
)
def test_footers_that_are_no_structs_are_refused(raw: bytes) -> None:
    with pytest.raises(DamageError):
        read_struct(raw)


@pytest.mark.parametrize("raw", [b"", b"\x10\0\0\0", b"\xff" * 16, b"\x04\0\0\0\x10\0\0\0" + b"\0" * 8])
def test_flatbuffers_that_point_outside_are_refused(raw: bytes) -> None:
    with pytest.raises(DamageError):
        FlatTable.root(raw).tables(1)


def test_two_schemas_of_one_file_must_be_the_same() -> None:
    layout = read_layout(io.BytesIO(arrow_bytes(TABLE)))
    check_schema(layout.first_message, TABLE.schema)
    with pytest.raises(DamageError, match="the schema at the beginning and the one in the footer differ"):
        check_schema(layout.first_message, TABLE.schema.set(2, pa.field("a", pa.float32())))


def test_the_row_numbers_that_pandas_adds_are_no_feature(tmp_path: Path) -> None:
    frame = TABLE.to_pandas().iloc[[2, 0, 1]]
    frame.to_parquet(tmp_path / "t.parquet")
    assert "__index_level_0__" in pq.read_schema(tmp_path / "t.parquet").names
    assert podium.read(tmp_path / "t.parquet").feature_names == ("a",)
    asked = podium.read(tmp_path / "t.parquet", features=["a", "__index_level_0__"])
    assert asked.features[:, 1].tolist() == [2, 0, 1]
