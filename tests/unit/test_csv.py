"""CSV and TSV: one answer with pyarrow and without it, whatever the text holds."""

from __future__ import annotations

import io
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import podium
from generated import assert_same
from podium import FormatError, RankingData
from podium.formats import delimited
from podium.formats.delimited import CSV, TSV
from podium.formats.delimited_arrow import SCAN_BYTES, is_plain_text

CELLS = [
    *("1", "0", "2.5", " 1", "1 ", "\t1", "-0", "+1", "1e3", "1e39", "1e-50", "0x1", "1_0", "1d5", "1e", "٣", "１"),
    *("nan", "NaN", "NAN", "+nan", "-nan", "nan(1)", "NA", " NA", "NULL", "null", "n/a", "", "inf", "-inf", "Infinity"),
    *('"1"', '"1""', '"', '""', 'a"b', '"a"b', '"a""b"', '"a\nb"', '"a\r\nb"', "a\rb", '" a"', ' "a"', '"a" ', '"a,b"'),
    *("3.4028235677973366e38", "3.40282357e38", "1.00000005960464477539062500001", "\ufeff1", "é", "\0", "1,", "\x851"),
]


@pytest.fixture(params=["pyarrow", "csv module"])
def reader(request: Any, monkeypatch: Any) -> str:
    """Both ways of reading CSV."""
    if request.param == "csv module":
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    return str(request.param)


def outcome(path: Path, **options: Any) -> RankingData | str:
    try:
        return CSV.read(path, **options)
    except FormatError as error:
        return str(error)


def both(path: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> RankingData | str:
    """Return what both ways of reading give, or fail if they differ."""
    fast = outcome(path, **options)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pyarrow", None)
        slow = outcome(path, **options)
    if isinstance(fast, str) or isinstance(slow, str):
        assert fast == slow
    else:
        assert_same(fast, slow)
    return fast


def test_random_text_has_one_meaning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of odd cells, cut and joined by odd line ends, are read alike or refused with the same sentence."""
    draw, path = random.Random(7), tmp_path / "table.csv"
    taken = 0
    for _ in range(1200):
        rows = []
        for _ in range(draw.randrange(1, 4)):
            row = ["1", "7", "x", "0.5"]
            for _ in range(draw.randrange(3)):
                row[draw.randrange(4)] = draw.choice(CELLS)
            rows.append(",".join(row[: draw.choice([4] * 19 + [2])]))
        end = draw.choice(["\n"] * 8 + ["\r\n", "\r", "\n\n", "\n \n"])
        path.write_bytes((end.join(["label,qid,docid,f", *rows]) + draw.choice([end, ""])).encode())
        taken += not isinstance(both(path, monkeypatch), str)
    assert 300 < taken < 900


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ('a"b', 'a"b'),
        ('ab"', 'ab"'),
        ('a"b"', 'a"b"'),
        (' "a"', ' "a"'),
        ('"a""b"', 'a"b'),
        ('"a\nb"', "a\nb"),
        ('"a"b', "'\"'"),
        ('"a" ', "'\"'"),
        ('"a', "unexpected end of data"),
        ("a\rb", "new-line character"),
    ],
)
def test_quotes_and_line_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cell: str, expected: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(f"label,qid,docid,f\n1,1,first,1\n1,1,{cell},2\n".encode())
    found = both(path, monkeypatch)
    if isinstance(found, str):
        assert "t.csv:3: " in found
        assert expected in found
    else:
        assert list(found.document_ids or []) == ["first", expected]


@pytest.mark.parametrize("size", [200_000, 2 << 20, 9 << 20])
def test_fields_of_any_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"label,qid,docid,f\n1,1,{'x' * size},1\n0,1,y,2\n")
    data = both(path, monkeypatch)
    assert isinstance(data, RankingData)
    assert [len(text) for text in data.document_ids or []] == [size, 1]
    path.write_text(f"label,qid,{'x' * size}\n1,1,1\n")
    data = both(path, monkeypatch)
    assert isinstance(data, RankingData)
    assert len((data.feature_names or ("",))[0]) == size


def test_the_csv_module_s_own_limit_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import csv

    before = csv.field_size_limit()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t.csv").write_text("label,qid,f\n1,1,1\n")
    CSV.read(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("label,qid,f\n1,1,x\n")
    assert "is 'x'" in str(outcome(tmp_path / "t.csv"))
    assert csv.field_size_limit() == before


def test_a_stray_byte_in_an_unused_column_is_refused_by_both_readers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"label,qid,note,f\n1,1,caf\xe9,1\n")
    assert "t.csv:2:8: byte 0xe9 is not UTF-8" in str(both(path, monkeypatch, features=["f"]))


def test_ordinary_files_are_read_by_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The csv module, a hundred times slower, is not needed for quotes and missing values as programs write them."""

    def refuse(*_: Any) -> Any:
        raise AssertionError("read by the csv module")

    monkeypatch.setattr(delimited, "read_text", refuse)
    path = tmp_path / "t.csv"
    path.write_bytes('\ufefflabel,qid,docid,f\r\n1,"q ""1""","a,\r\nb",\r\n0,q,"é",NaN\r\n'.encode())
    data = CSV.read(path)
    assert data.query_ids.tolist() == ['q "1"', "q"]
    assert list(data.document_ids) == ["a,\r\nb", "é"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a,"b",c\n', True),
        ('"a","b"\r\n"",""\n', True),
        ('"""",""""""\n', True),
        ('"a""b","""c"""', True),
        ("a,b", True),
        ('\ufeff"a",b\n', True),
        ('a"b,c\n', False),
        ('"a"b,c\n', False),
        ('"a" ,c\n', False),
        ('a,"b\n', False),
        ("a\rb\n", False),
        ("é,b\n", True),
    ],
)
def test_what_is_plain_text(text: str, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = text.encode()
    for size in (1, 2, 3, SCAN_BYTES):  # wherever the blocks are cut
        monkeypatch.setattr("podium.formats.delimited_arrow.SCAN_BYTES", max(size, 3 if raw[:1] == b"\xef" else 1))
        assert is_plain_text(io.BytesIO(raw), ",") is expected, size
    assert is_plain_text(io.BytesIO(raw.replace(b"\xc3", b"\xff")), ",") is (expected and b"\xc3" not in raw)


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("form", [CSV, TSV], ids=lambda form: form.name)
def test_columns_of_categories(tmp_path: Path, form: Any) -> None:
    path = tmp_path / "t"
    path.write_text(
        "label,qid,a,brand,b\n1,1,5,bolt,6\n0,1,7,,8\n2,2,9,acme,NA\n".replace(",", "," if form is CSV else "\t")
    )
    with pytest.raises(FormatError, match=r":2:4: column 'brand' is 'bolt'; a feature is a number"):
        form.read(path)
    data = form.read(path, categorical_features=["brand"])
    assert data.categorical_features == {1: ("acme", "bolt")}
    np.testing.assert_array_equal(data.features, [[5, 1, 6], [7, np.nan, 8], [9, 0, np.nan]])
    form.write(data, tmp_path / "again")
    assert_same(form.read(tmp_path / "again", categorical_features=["brand"]), data)
    only = form.read(path, features=["brand"], categorical_features=["brand"])
    assert only.features[:, 0].tolist()[0] == 1
    with pytest.raises(podium.ParameterError, match="categorical_features='c' names no feature column"):
        form.read(path, categorical_features=["c"])


@pytest.mark.usefixtures("reader")
def test_categories_that_would_be_read_as_missing_are_not_written(tmp_path: Path) -> None:
    data = RankingData([[0.0], [1.0]], [1, 0], [1, 1], feature_names=["a"], categorical_features={"a": ["x", "NA"]})
    with pytest.raises(podium.DataError, match="category 'NA' of feature 'a' would be read back as missing; rename it"):
        CSV.write(data, tmp_path / "t.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("reader")
def test_a_column_without_a_name_is_no_feature(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",label,qid,a\n0,1,7,0.5\n1,0,7,2\n")
    with pytest.warns(UserWarning, match="the column without a name is not taken as a feature, because pandas writes"):
        data = podium.read(path)
    assert data.feature_names == ("a",)
    assert data.features.tolist() == [[0.5], [2]]


def test_row_numbers_that_pandas_read_back_are_no_feature() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(io.StringIO(",label,qid,a\n0,1,7,0.5\n1,0,7,2\n"))
    with pytest.warns(UserWarning, match="the column 'Unnamed: 0' is not taken as a feature"):
        assert podium.from_frame(frame).feature_names == ("a",)


def test_booleans_are_one_and_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("label,qid,a,b\nTrue,7,False,1\nFalse,7,,TRUE\ntrue,7,true,\n")
    data = both(path, monkeypatch)
    assert isinstance(data, RankingData)
    assert data.labels.tolist() == [1, 0, 1]
    np.testing.assert_array_equal(data.features, [[0, 1], [np.nan, 1], [1, np.nan]])


@pytest.mark.usefixtures("reader")
def test_text_in_a_feature_says_how_to_read_it(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("label,qid,brand\n1,7,puma\n0,7,nike\n")
    with pytest.raises(FormatError) as refused:
        podium.read(path)
    assert str(refused.value).endswith(
        "leave the column out with ignore=['brand'], or read it as categories with categorical_features=['brand']"
    )
    assert podium.read(path, categorical_features=["brand"]).categorical_features == {0: ("nike", "puma")}
    assert podium.read(path, ignore=["brand"]).n_features == 0


@pytest.mark.usefixtures("reader")
def test_labels_may_be_ignored(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("qid,a\n7,1\n7,2\n")
    with pytest.raises(FormatError, match="there is no column 'label'"):
        podium.read(path)
    data = podium.read(path, labels="ignore")
    assert (data.labels.tolist(), data.features.tolist()) == ([0, 0], [[1], [2]])
    path.write_text("qid,label,a\n7,good,1\n7,,2\n")
    data = podium.read(path, labels="ignore")
    assert (data.labels.tolist(), data.feature_names) == ([0, 0], ("a",))
    with pytest.raises(podium.ParameterError, match="labels='none' must be 'required' or 'ignore'"):
        podium.read(path, labels="none")


def test_columns_to_ignore_must_be_there(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("label,qid,a,b\n1,7,1,2\n")
    assert podium.read(path, ignore=["a"]).feature_names == ("b",)
    with pytest.raises(podium.ParameterError, match="ignore='c' names no column; Columns found: 'label'"):
        podium.read(path, ignore=["c"])
    with pytest.raises(podium.ParameterError, match="ignore='a' names a column that features names too"):
        podium.read(path, ignore=["a"], features=["a", "b"])
