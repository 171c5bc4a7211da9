"""Frames of pandas and polars and tables of pyarrow: what is a feature, what is refused by name, and what comes back."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from generated import assert_same, small, with_everything
from podium import DataError, ParameterError
from podium.formats.frames import from_frame, to_frame

HEAD = {"label": [1, 0, 2], "qid": [7, 7, 8]}
NAN = np.nan
MOMENT = dt.datetime(2020, 1, 2, 12)
DAYS = 18263.5  # from 1970-01-01 to that moment: 50 years of 365 days, 12 leap days, a day and a half
MAKERS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "lazy": lambda columns: pl.DataFrame(columns).lazy(),
    "batch": pa.RecordBatch.from_pydict,
    "reader": lambda columns: pa.table(columns).to_reader(max_chunksize=2),
    "chunked": lambda columns: pa.concat_tables([pa.table(columns).slice(0, 1), pa.table(columns).slice(1)]),
    "pandas with Arrow inside": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
}


@pytest.fixture(params=MAKERS)
def make(request: Any) -> Any:
    """Make a frame of HEAD and more columns, in every kind of frame."""
    return lambda **columns: MAKERS[request.param](HEAD | columns)


def test_every_kind_of_frame_is_taken(make: Any) -> None:
    data = from_frame(make(a=[0.5, None, 2.0], b=[1, 2, 3], c=[True, False, True]))
    assert data.feature_names == ("a", "b", "c")
    np.testing.assert_array_equal(data.features, [[0.5, 1, 1], [NAN, 2, 0], [2, 3, 1]])
    assert data.labels.tolist() == [1, 0, 2]
    assert data.query_ids.tolist() == [7, 8]
    assert data.categorical_features is None


@pytest.mark.parametrize(
    ("column", "remedy"),
    [
        ([MOMENT, None, MOMENT], "leave it out, or take it as days with features="),
        ([MOMENT.date(), None, MOMENT.date()], "leave it out, or take it as days with features="),
        ([dt.timedelta(days=2), None, dt.timedelta(1)], "leave it out, or take it as days with features="),
        ([dt.time(6), None, dt.time(12)], "leave it out, or take it as days with features="),
        (["acme", None, "bolt"], "make it categorical, or take its values as categories with features="),
        ([[1.0], [2.0], [3.0]], "leave it out, or take each place of the lists as a feature with features="),
        ([{"a": 1}, {"a": 2}, {"a": 3}], "leave it out, or turn it into numbers"),
        ([b"a", b"b", b"c"], "leave it out, or turn it into numbers"),
    ],
    ids=["timestamp", "date", "duration", "time", "text", "list", "struct", "bytes"],
)
def test_dates_text_and_nested_columns_are_refused_by_name(make: Any, column: list[Any], remedy: str) -> None:
    with pytest.raises(DataError, match=f"column 'strange' is .*, which is not a feature; .*{remedy}"):
        from_frame(make(a=[1.0, 2.0, 3.0], strange=column))


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([MOMENT, None, dt.datetime(1970, 1, 1)], [DAYS, NAN, 0]),
        ([MOMENT.date(), None, dt.date(1969, 12, 31)], [DAYS - 0.5, NAN, -1]),
        ([dt.timedelta(days=2), None, dt.timedelta(hours=-6)], [2, NAN, -0.25]),
        ([dt.time(6), None, dt.time(12)], [0.25, NAN, 0.5]),
    ],
    ids=["timestamp", "date", "duration", "time"],
)
def test_times_named_as_features_are_days(make: Any, column: list[Any], expected: list[float]) -> None:
    data = from_frame(make(a=[1.0, 2.0, 3.0], strange=column), features=["strange", "a"])
    np.testing.assert_array_equal(data.features, np.stack([expected, [1, 2, 3]], axis=1))


def test_nanoseconds_and_time_zones_are_days_too() -> None:
    moment = pd.Timestamp("2020-01-02T12:00:00.000000001")
    for column in (
        pd.Series([moment] * 3),
        pd.Series([moment.tz_localize("UTC").tz_convert("Asia/Tokyo")] * 3),
        pd.Series([moment.tz_localize("UTC")] * 3, dtype=pd.ArrowDtype(pa.timestamp("ns", "UTC"))),
    ):
        frame = pd.DataFrame(HEAD | {"t": column})
        for given in (frame, pa.Table.from_pandas(frame), pl.from_pandas(frame)):
            assert from_frame(given, features=["t"]).features[:, 0].tolist() == [DAYS] * 3


def test_lists_named_as_features_are_one_feature_per_place(make: Any) -> None:
    frame = make(a=[1.0, 2.0, 3.0], v=[[1.0, 2.0], [3.0, None], [5.0, 6.0]])
    data = from_frame(frame, features=["v", "a"])
    assert data.feature_names == ("v[0]", "v[1]", "a")
    np.testing.assert_array_equal(data.features, [[1, 2, 1], [3, NAN, 2], [5, 6, 3]])


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ([[1.0], [1.0, 2.0], [1.0]], "holds lists of 1 to 2 numbers; every row needs the same number"),
        ([[1.0], None, [1.0]], "has no list in row 1; every row needs one"),
        ([["a"], ["b"], ["c"]], "numbers"),
    ],
)
def test_lists_that_are_refused(make: Any, lists: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=f"column 'v'.* {message}"):
        from_frame(make(v=lists), features=["v"])


def test_one_column_of_lists_called_features_has_no_names(make: Any) -> None:
    data = from_frame(make(features=[[1.0, 2.0], [3.0, None], [5.0, 6.0]]))
    assert data.feature_names is None
    np.testing.assert_array_equal(data.features, [[1, 2], [3, NAN], [5, 6]])


@pytest.mark.parametrize("option", ["features", "categorical_features"])
def test_text_named_as_a_feature_is_categorical(make: Any, option: str) -> None:
    data = from_frame(make(brand=["bolt", None, "acme"]), **{option: ["brand"]})
    assert data.categorical_features == {0: ("acme", "bolt")}
    np.testing.assert_array_equal(data.features, [[1], [NAN], [0]])


def test_numbers_may_be_categories_and_are_sorted_by_value(make: Any) -> None:
    data = from_frame(make(shop=[10, 9, 10], b=[1.0, 2.0, 3.0]), categorical_features=["shop"])
    assert data.categorical_features == {0: ("9", "10")}
    assert data.features[:, 0].tolist() == [1, 0, 1]


CATEGORIES = {
    "pandas": (pd.DataFrame, pd.Categorical(["b", None, "a"], categories=["c", "b", "a"]), ("c", "b", "a")),
    "polars Enum": (pl.DataFrame, pl.Series(["b", None, "a"], dtype=pl.Enum(["c", "b", "a"])), ("c", "b", "a")),
    "polars Categorical": (pl.DataFrame, pl.Series(["b", None, "a"], dtype=pl.Categorical), ("a", "b")),
    "pyarrow": (
        pa.table,
        pa.DictionaryArray.from_arrays(pa.array([1, None, 2]), pa.array(["c", "b", "a"])),
        ("c", "b", "a"),
    ),
    "a null among the categories": (
        pa.table,
        pa.DictionaryArray.from_arrays(pa.array([2, 1, 0]), pa.array(["a", None, "b"])),
        ("a", "b"),
    ),
    "two dictionaries": (
        pa.table,
        pa.chunked_array([pa.array(["b", None]).dictionary_encode(), pa.array(["a"]).dictionary_encode()]),
        ("b", "a"),
    ),
    "pandas with Arrow inside": (
        pd.DataFrame,
        pd.Series(
            pa.array(["b", None, "a"]).dictionary_encode(), dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
        ),
        ("a", "b"),
    ),
    "numbers": (pd.DataFrame, pd.Categorical([3.0, None, 2.0], categories=[3.0, 2.0]), ("3", "2")),
}


@pytest.mark.parametrize("name", CATEGORIES)
def test_columns_of_a_category_type_are_categorical_features(name: str) -> None:
    maker, column, categories = CATEGORIES[name]
    data = from_frame(maker(HEAD | {"brand": column, "a": [1.0, 2.0, 3.0]}))
    assert data.categorical_features == {0: categories}
    texts = ["3", None, "2"] if name == "numbers" else ["b", None, "a"]
    expected = [[NAN if text is None else categories.index(text), k + 1] for k, text in enumerate(texts)]
    np.testing.assert_array_equal(data.features, expected)


def test_pieces_with_dictionaries_of_their_own_are_joined() -> None:
    pieces = [["b", "a"], ["c", None], ["a"]]
    schema = pa.schema([("label", pa.int64()), ("qid", pa.int64()), ("brand", pa.dictionary(pa.int32(), pa.string()))])
    batches = [
        pa.record_batch(
            [pa.array([1] * len(texts)), pa.array([1] * len(texts)), pa.array(texts).dictionary_encode()], schema
        )
        for texts in pieces
    ]
    data = from_frame(pa.RecordBatchReader.from_batches(schema, batches))
    assert data.categorical_features == {0: ("b", "a", "c")}
    np.testing.assert_array_equal(data.features[:, 0], [0, 1, 2, NAN, 1])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_categories_come_back_from_a_frame(library: str) -> None:
    data = small(feature_names=["brand", "a"], X=np.array([[1, 0], [NAN, 1], [0, 2], [1, 3], [1, 4]]))
    data = data.replace(categorical_features={"brand": ["second", "first", "never seen"]})
    frame = to_frame(data, library)
    assert_same(from_frame(frame), data)
    with pytest.raises(DataError, match="feature 'brand' is categorical and its categories have no names"):
        to_frame(data.replace(categorical_features=["brand"]), library)


def test_run_end_encoded_columns_are_decoded() -> None:
    import pyarrow.compute as pc

    column = pc.run_end_encode(pa.array([1.5, 1.5, None]))
    np.testing.assert_array_equal(from_frame(pa.table(HEAD | {"a": column})).features, [[1.5], [1.5], [NAN]])


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_ids_of_every_kind_of_text(kind: Any) -> None:
    table = pa.table(
        {"label": [1, 0], "qid": pa.array(["b", "a"]).cast(kind), "docid": pa.array(["x", "é"]).cast(kind)}
    )
    data = from_frame(table)
    assert data.query_ids.tolist() == ["b", "a"]
    assert list(data.document_ids or []) == ["x", "é"]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_missing_id_is_named_by_its_column(library: str) -> None:
    frame = MAKERS[library]({"label": [1, 0], "topic": ["a", None], "name": ["x", None], "qid": [1, 1]})
    with pytest.raises(DataError, match="column 'topic' is missing in row 1; every row needs a query id"):
        from_frame(frame, query_column="topic", features=[])
    with pytest.raises(DataError, match="column 'name' is missing in row 1; every row needs a document id"):
        from_frame(frame, document_column="name", features=[])


def test_a_damaged_table_is_refused() -> None:
    offsets = pa.py_buffer(np.array([0, 9999, 2], np.int32))  # only a full check sees the middle one
    broken = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"ab"))
    with pytest.raises(DataError, match="the pyarrow table is damaged"):
        from_frame(pa.table({"label": [1, 0], "qid": broken}))


def test_frames_have_the_types_of_the_data() -> None:
    data = with_everything().replace(pairs=None)
    frame = to_frame(data, "pandas")
    assert list(frame.columns) == ["label", "qid", "docid", "weight", "query_weight", "length", "score"]
    assert frame["docid"].tolist() == ["d0", "d1", "d2", "d3", "d4"]
    assert frame["length"].dtype == np.float32
    assert to_frame(data, "polars")["length"].dtype == pl.Float32
    assert_same(from_frame(frame.set_axis([5, 4, 3, 2, 1])), data)


def test_frames_that_are_refused() -> None:
    with pytest.raises(ParameterError, match="frame must be a frame of pandas, polars or pyarrow, not a list"):
        from_frame([[1, 2]])
    with pytest.raises(ParameterError, match="unknown library of frames 'panda'"):
        to_frame(small(), "panda")
    with pytest.raises(DataError, match="two columns of the frame are called 'qid'; rename one"):
        from_frame(pd.DataFrame([[1, 2, 3]], columns=["label", "qid", "qid"]))
