"""CSV, TSV, Parquet, Arrow and frames: columns by name, and errors with their position."""

from __future__ import annotations

import decimal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import podium
from generated import assert_same, small
from limits import limited_memory
from podium import DataError, FormatError, MissingExtraError, ParameterError, RankingData
from podium.formats.arrow import ARROW, PARQUET
from podium.formats.decimals import ids_from_texts, nearest_float32, shortest
from podium.formats.delimited import CSV, TSV
from podium.formats.frames import from_frame, to_frame

TABLE = "label,qid,docid,a,b\n1,7,x,0.5,\n0,7,y,nan,2\n2,8,z,NULL,NA\n"


@pytest.fixture(params=["pyarrow", "csv module"])
def reader(request: Any, monkeypatch: Any) -> str:
    """Both ways of reading CSV."""
    if request.param == "csv module":
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    return str(request.param)


def write(folder: Path, text: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_csv(tmp_path: Path, ends: str, mark: str) -> None:
    data = CSV.read(write(tmp_path, mark + TABLE.replace("\n", ends)))
    assert data.query_ids.tolist() == [7, 8]
    assert list(data.document_ids) == ["x", "y", "z"]
    assert data.feature_names == ("a", "b")
    assert np.array_equal(data.features, [[0.5, np.nan], [np.nan, 2], [np.nan, np.nan]], equal_nan=True)
    assert data.labels.tolist() == [1, 0, 2]


@pytest.mark.usefixtures("reader")
def test_options(tmp_path: Path) -> None:
    text = "rel,topic,u,v,w\n1,a,1,2,3\n0,b,4,5,6\n"
    roles = {"label_column": "rel", "query_column": "topic", "weight_column": "w"}
    data = CSV.read(write(tmp_path, text), features=["v"], **roles)
    assert data.features.tolist() == [[2], [5]]
    assert data.document_weights.tolist() == [3, 6]
    assert data.document_ids is None
    assert CSV.read(write(tmp_path, text), **roles).feature_names == ("u", "v")
    CSV.write(data, tmp_path / "out.csv", **roles)
    assert_same(CSV.read(tmp_path / "out.csv", **roles), data)


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize(
    ("change", "line", "column", "message"),
    [
        (("1,7,x,0.5,", "1,7,x,0.5"), 2, None, "the row has 4 cells and the header 5"),
        (("0.5", "half"), 2, 4, "column 'a' is 'half'; a feature is a number, True or False, or empty if missing"),
        (("0.5", "1_0"), 2, 4, "column 'a' is '1_0'"),
        (("0.5", "inf"), 2, 4, "must be finite as float32"),
        (("0.5", "-1e39"), 2, 4, "must be finite as float32"),
        (("\n0,7", "\n,7"), 3, 1, "column 'label' is empty; a label is a finite number"),
        (("\n0,7", "\nNA,7"), 3, 1, "column 'label' is 'NA'"),
        (("\n0,7", "\n1e400,7"), 3, 1, "column 'label' is '1e400'"),
        (("\n0,7", "\n0,"), 3, 2, "column 'qid' is empty; every row needs a query id"),
        (("\n0,7", "\n0,NULL"), 3, 2, "column 'qid' is 'NULL'"),
        (("y,nan", '"y,nan'), 3, None, "check the quotes"),
        (("label", "rel"), 1, None, r"no column 'label'; name one with label_column=…. Columns found: 'rel', 'qid'"),
        (("docid", "a"), 1, None, "column 'a' occurs twice"),
        (("docid", "weight"), 2, 3, "column 'weight' is 'x'; a weight is a finite number"),
        (("docid,a", "docid,weight"), 3, 4, "column 'weight' is 'nan'"),
        (("docid,a,b\n1,7,x,0.5,", "docid,a,weight\n1,7,x,0.5,-1"), 2, 5, "a weight is not negative"),
    ],
    ids=str,
)
def test_csv_errors(tmp_path: Path, change: tuple[str, str], line: int, column: int | None, message: str) -> None:
    path = write(tmp_path, TABLE.replace(*change))
    with pytest.raises(FormatError, match=message) as caught:
        CSV.read(path)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(path) in str(caught.value)


@pytest.mark.usefixtures("reader")
def test_lines_are_counted_through_quoted_line_ends(tmp_path: Path) -> None:
    path = write(tmp_path, 'label,qid,docid,a\n1,7,"x\ny",0.5\n\n1,7,z,bad\n')
    with pytest.raises(FormatError, match="'bad'") as caught:
        CSV.read(path)
    assert caught.value.line == 5


@pytest.mark.usefixtures("reader")
def test_header_only(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="a header and no rows"):
        CSV.read(write(tmp_path, "label,qid,a\n"))


@pytest.mark.usefixtures("reader")
def test_every_row_of_a_query_has_the_same_query_weight(tmp_path: Path) -> None:
    good = CSV.read(write(tmp_path, "label,qid,query_weight\n1,a,2\n0,b,3\n0,a,2\n"))
    assert good.query_weights.tolist() == [2, 3]
    with pytest.raises(FormatError, match=r"column 'query_weight' is 5 in row 2 and 2 in an earlier row of query a"):
        CSV.read(write(tmp_path, "label,qid,query_weight\n1,a,2\n0,b,3\n0,a,5\n"))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"label_colum": "x"}, ParameterError, "unknown option 'label_colum'. Did you mean 'label_column'"),
        ({"features": "a"}, ParameterError, "must be a list of column names"),
        ({"features": ["a", "c"]}, DataError, "no column 'c', asked for in features=…. Columns found: 'label', 'qid'"),
        ({"features": ["qid"]}, ParameterError, "has another role"),
        (
            {"document_column": "doc"},
            DataError,
            "no column 'doc'; did you mean 'docid'. Or name one with document_column=…",
        ),
        ({"label_column": "qid"}, ParameterError, "names a column that has another role"),
        ({"num_threads": 0}, ParameterError, "num_threads=0"),
    ],
    ids=str,
)
@pytest.mark.parametrize("form", [CSV, PARQUET, ARROW], ids=lambda form: form.name)
def test_options_that_are_refused(form: Any, options: Any, error: Any, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, TABLE)
    if form is not CSV:
        data, path = CSV.read(path), tmp_path / form.name
        form.write(data, path)
    with pytest.raises(error, match=message):
        form.read(path, **options)


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", "-2", "0", "9223372036854775807", "-9223372036854775808"], "i"),
        (["1", "02"], "U"),
        (["1", "+2"], "U"),
        (["1", "9223372036854775808"], "U"),
        (["1", "-0"], "U"),
        (["1", "2.0"], "U"),
        (["1", "٣"], "U"),
        (["1", ""], "U"),
    ],
)
def test_query_ids_are_numbers_only_where_nothing_is_lost(texts: list[str], kind: str) -> None:
    ids = ids_from_texts(texts)
    assert ids.dtype.kind == kind
    assert [str(value) for value in ids.tolist()] == texts


def test_writing_refuses_what_cannot_be_read_back(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    with pytest.raises(DataError, match="query id 'NA' would be read back as missing"):
        CSV.write(small(qid=["NA", "a", "a", "a", "a"]), path)
    with pytest.raises(DataError, match="two columns would be called 'label'"):
        CSV.write(small(feature_names=["label", "b"]), path)
    with pytest.raises(DataError, match="feature 'weight' has the name of another role"):
        CSV.write(small(feature_names=["weight", "b"]), path)
    with pytest.raises(DataError, match="two query ids print the same text"):
        CSV.write(small(qid=["1", 1, 1, 1, 1]), path)
    assert not list(tmp_path.iterdir())


def test_ids_of_other_types_are_written_as_text(tmp_path: Path) -> None:
    data = small(qid=[("x", 1), ("y", 2)] * 2 + [("x", 1)])
    PARQUET.write(data, tmp_path / "a.parquet")
    assert PARQUET.read(tmp_path / "a.parquet").query_ids.tolist() == ["('x', 1)", "('y', 2)"]


def test_same_as_pandas(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    frame.insert(0, "label", rng.integers(0, 5, 200))
    frame.insert(1, "qid", rng.integers(0, 20, 200))
    frame.loc[::7, "b"] = np.nan
    for form, separator in ((CSV, ","), (TSV, "\t")):
        frame.to_csv(tmp_path / "t", index=False, sep=separator)
        assert_same(form.read(tmp_path / "t"), from_frame(pd.read_csv(tmp_path / "t", sep=separator)))
        form.write(from_frame(frame), tmp_path / "t")
        back = pd.read_csv(tmp_path / "t", sep=separator)
        assert np.array_equal(back["a"].to_numpy(np.float32), frame["a"].to_numpy(np.float32))


@settings(deadline=None)
@given(values=st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
def test_shortest_decimals_read_back(values: list[float]) -> None:
    given_values = np.array(values, np.float32)
    texts = shortest(given_values)
    assert nearest_float32(np.array([float(text) for text in texts]), texts).tobytes() == given_values.tobytes()


def test_rounding_once() -> None:
    """A decimal just above the middle of two float32, whose float64 is that middle, rounds up and not to even."""
    middle = decimal.Decimal(1) + decimal.Decimal(2) ** -24
    texts = [str(middle + decimal.Decimal(10) ** -20), str(middle), str(middle - decimal.Decimal(10) ** -20)]
    values = np.array([float(text) for text in texts])
    assert len(set(values.tolist())) == 1
    assert nearest_float32(values, texts).tolist() == [1 + 2**-23, 1, 1]


@pytest.mark.parametrize("form", [PARQUET, ARROW], ids=lambda form: form.name)
def test_column_types(form: Any, tmp_path: Path) -> None:
    table = pa.table(
        {
            "label": pa.array([1, 0, 2], pa.int8()),
            "qid": pa.array(["a", "b", "a"]).dictionary_encode(),
            "docid": pa.array([10, 11, 12], pa.int32()),
            "weight": pa.array([1.0, 2.0, 3.0], pa.float32()),
            "flag": pa.array([True, None, False]),
            "price": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("2.25")]),
            "count": pa.array([1, None, 3], pa.int64()),
            "nothing": pa.nulls(3),
            "half": pa.array(np.array([1, 2, 3], np.float16)),
        }
    )
    path = tmp_path / "table"
    if form is PARQUET:
        pq.write_table(table, path, row_group_size=2)
    else:
        pa.feather.write_feather(table, path, chunksize=2)
    data = form.read(path)
    assert data.query_ids.tolist() == ["a", "b"]
    assert data.row_order.tolist() == [0, 2, 1]
    assert list(data.document_ids) == ["10", "12", "11"]
    expected = [[1, 1.5, 1, np.nan, 1], [0, 2.25, 3, np.nan, 3], [np.nan, np.nan, np.nan, np.nan, 2]]
    assert np.array_equal(data.features, expected, equal_nan=True)
    assert_same(from_frame(table), data)


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.int64(), 2)], ids=str
)
def test_one_column_of_lists(kind: Any, tmp_path: Path) -> None:
    lists = pa.array([[1, 2], [3, None], [5, 6]], kind)
    table = pa.table({"label": [1, 0, 2], "qid": [1, 1, 2], "features": lists})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=2)
    data = PARQUET.read(tmp_path / "t.parquet")
    assert np.array_equal(data.features, [[1, 2], [3, np.nan], [5, 6]], equal_nan=True)
    assert data.feature_names is None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"features": [[1.0], [1.0, 2.0]]}, "lists of 1 to 2 numbers"),
        ({"features": [[1.0], None]}, "column 'features' has no list in row 1"),
        (
            {"a": ["x", "y"]},
            r"column 'a' is string, which is not a feature; leave it out, make it categorical, or take its values as categories with features=\[…, 'a'\]",
        ),
        ({"qid": [1, None]}, "column 'qid' is missing in row 1"),
        ({"label": [1.0, None]}, "label of row 1 is nan"),
        ({"docid": ["a", None]}, "column 'docid' is missing in row 1; every row needs a document id"),
    ],
    ids=str,
)
def test_tables_that_are_refused(columns: dict[str, Any], message: str, tmp_path: Path) -> None:
    table = pa.table({"label": [1.0, 0.0], "qid": [1, 1]} | columns)
    with pytest.raises(DataError, match=message):
        from_frame(table)
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(FormatError, match=message):
        PARQUET.read(tmp_path / "t.parquet")
    for frame in (table.to_pandas(), pl.from_arrow(table)):
        with pytest.raises(DataError, match=message.split(" is ")[0].split(" has ")[0]):
            from_frame(frame)


def test_arrow_stream_and_progress(tmp_path: Path) -> None:
    table = to_frame(small(), "pyarrow")
    with pa.ipc.new_stream(tmp_path / "s.arrow", table.schema) as writer:
        writer.write_table(table)
    seen: list[tuple[int, int]] = []
    data = ARROW.read(tmp_path / "s.arrow", progress=lambda done, total: seen.append((done, total)))
    assert_same(data, small())
    size = (tmp_path / "s.arrow").stat().st_size
    assert seen[-1] == (size, size)


@pytest.mark.parametrize("form", [PARQUET, ARROW], ids=lambda form: form.name)
def test_no_rows(form: Any, tmp_path: Path) -> None:
    table = to_frame(small(), "pyarrow").slice(0, 0)
    (pq.write_table if form is PARQUET else pa.feather.write_feather)(table, tmp_path / "t")
    with pytest.raises(FormatError, match="the table has no rows"):
        form.read(tmp_path / "t")


def test_missing_extra_names_the_remedy(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "polars", None)
    for form in (PARQUET, ARROW):
        with pytest.raises(MissingExtraError, match=r"pip install 'podium\[frames\]'"):
            form.read(tmp_path / "x")
    with pytest.raises(MissingExtraError, match="polars is not installed"):
        to_frame(small(), "polars")


def test_large_table_in_several_blocks(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    data = RankingData(rng.normal(size=(150_000, 3)), rng.integers(0, 5, 150_000), rng.integers(0, 3000, 150_000))
    for form in (CSV, PARQUET, ARROW):
        form.write(data, tmp_path / form.name)
        assert_same(form.read(tmp_path / form.name, num_threads=2), data)


def test_progress_of_csv_rises_to_the_size(tmp_path: Path) -> None:
    data = RankingData(np.random.default_rng(0).normal(size=(200_000, 5)), np.zeros(200_000), np.zeros(200_000))
    for name in ("t.csv", "t.csv.gz"):
        CSV.write(data, tmp_path / name)
        seen: list[tuple[int, int]] = []
        CSV.read(tmp_path / name, progress=lambda done, total, seen=seen: seen.append((done, total)))
        size = (tmp_path / name).stat().st_size
        assert seen[-1] == (size, size)
        assert seen == sorted(seen)
        assert {total for _, total in seen} == {size}


def test_letor_text_does_not_look_like_csv() -> None:
    line = b"2 qid:10 1:0.5 2:1 # doc, of two words\n"
    assert not CSV.looks_like(line * 3)
    assert CSV.looks_like(TABLE.encode())
    assert not CSV.looks_like(b"1,2,3\n4,5,6\n")
    assert not CSV.looks_like(b"Dear all, this is\nprose\n")


@pytest.mark.usefixtures("reader")
def test_numbers_as_people_write_them(tmp_path: Path) -> None:
    text = 'label,qid,a,b,c,d,e\n"1",q,+1.5,"2.5", 3.5 ,1e3,""\n-2.0,q,.5,5.,1E-3,-0,0\n'
    data = CSV.read(write(tmp_path, text))
    expected = np.array([[1.5, 2.5, 3.5, 1000, np.nan], [0.5, 5, 1e-3, -0.0, 0]], np.float32)
    assert np.array_equal(data.features, expected, equal_nan=True)
    assert data.labels.tolist() == [1, -2]


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_table_without_permission(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"x{suffix}"
    podium.write(small(), path)

    def refuse(self: Path, *_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(FormatError, match=r"cannot be read: Permission denied$"):
        podium.read(path, format=suffix[1:])


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_one_long_query_id_in_a_table_takes_little_memory(tmp_path: Path, suffix: str) -> None:
    qid = [f"q{k // 100}" for k in range(50_000)]
    qid[-1] = "x" * 4096
    data = RankingData(np.zeros((len(qid), 1)), np.zeros(len(qid)), qid)
    with limited_memory(600):  # as NumPy's text 50,000 × 16 KiB
        podium.write(data, tmp_path / f"x{suffix}")
        again = podium.read(tmp_path / f"x{suffix}")
    assert again.query_ids.tolist() == data.query_ids.tolist()


def test_ids_of_dates_are_written_as_they_print(tmp_path: Path) -> None:
    days = np.array(["2020-01-01", "2020-01-02"], "M8[ns]")
    podium.write(RankingData(np.zeros((2, 1)), [0, 1], days), tmp_path / "x.csv")
    assert podium.read(tmp_path / "x.csv").query_ids.tolist() == [str(day) for day in days]
