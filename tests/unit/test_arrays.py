"""Arrays of every library are taken with their missing values, or refused: nothing is unmasked or cast silently."""

from __future__ import annotations

import decimal
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import podium
from podium import DataError, Pairs, RankingData
from podium.data import Strings

X = np.arange(12.0).reshape(6, 2)
Y = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0])
QID = np.array([1, 1, 1, 2, 2, 2])
MASK = np.zeros((6, 2), bool)
MASK[4, 1] = True
HOLES = np.where(MASK, np.nan, X).astype(np.float32)


def masked(values: Any, row: int = 4, hidden: Any = 99) -> Any:
    array = np.ma.array(values, mask=False, copy=True)
    array[row] = hidden
    array[row] = np.ma.masked
    return array


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, object])
def test_masked_features_are_missing(dtype: Any) -> None:
    given = np.ma.array(X.astype(dtype), mask=MASK)
    np.testing.assert_array_equal(RankingData(given, Y, QID).features, HOLES)
    np.testing.assert_array_equal(RankingData(X, Y, QID).replace(features=given).features, HOLES)


def test_masked_features_are_missing_in_fit_and_predict() -> None:
    given = np.ma.array(X, mask=MASK)
    plain = podium.LambdaMART(n_estimators=3, min_documents=1).fit(HOLES, Y, qid=QID)
    hidden = podium.LambdaMART(n_estimators=3, min_documents=1).fit(given, Y, qid=QID)
    expected = plain.predict(HOLES)
    np.testing.assert_array_equal(hidden.predict(HOLES), expected)
    for call in ("predict", "leaves", "attributions"):
        np.testing.assert_array_equal(getattr(plain, call)(given), getattr(plain, call)(HOLES))
    np.testing.assert_array_equal(plain.scorer_.scores(given), expected)
    np.testing.assert_array_equal(plain.rank(given, qid=QID), plain.rank(HOLES, qid=QID))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RankingData(X, masked(Y), QID), "label of row 4 is nan; labels must be finite"),
        (lambda: RankingData(X, Y, masked(QID)), r"qid\[4\] is masked; every row needs a query id"),
        (lambda: RankingData(X, Y, masked(np.array(list("aaabbb")))), r"qid\[4\] is masked"),
        (
            lambda: RankingData(X, Y, QID, document_ids=masked(np.arange(6))),
            "document_ids: row 4 has --; every row needs",
        ),
        (lambda: RankingData(X, Y, QID, document_weights=masked(Y)), r"document_weights\[4\] = nan must be finite"),
        (lambda: RankingData(X, Y, QID, query_weights=masked(Y[:2], 1)), r"query_weights\[1\] = nan must be finite"),
        (lambda: Pairs.of(masked(QID), QID + 5), r"pairs: winner\[4\] is masked; give a row number"),
        (lambda: Pairs.of(QID, masked(QID + 5)), r"pairs: loser\[4\] is masked"),
        (lambda: Pairs.of([0, 1], [2, 3], masked(Y[:2], 1)), r"probability\[1\] = nan must lie in"),
        (lambda: podium.RankNet(epochs=1).fit(X, masked(Y), qid=QID), r"y\[4\] is masked; every row needs a label"),
        (lambda: podium.RankNet(epochs=1).fit(X, Y, qid=masked(QID)), r"qid\[4\] is masked"),
        (lambda: RankingData(X, Y, QID).select(masked(np.array([True, False]), 1, True)), r"queries\[1\] is masked"),
        (lambda: RankingData(X, Y, QID).select_documents(masked(Y > 0, 4, True)), r"keep\[4\] is masked"),
        (lambda: RankingData(X, Y, QID).to_caller_order(masked(Y)), r"values\[4\] is masked"),
        (lambda: podium.evaluate(masked(Y), RankingData(X, Y, QID), "ndcg"), "score of row 4 is nan"),
        (lambda: podium.force("ranknet")(masked(Y), RankingData(X, Y, QID)), "finite"),
        (lambda: podium.Run.of(QID, list("abcdef"), masked(Y)), "is nan; scores must be numbers"),
        (lambda: podium.posteriors.consistency(masked(np.arange(6)), np.arange(6) + 6), r"winner\[4\] is masked"),
    ],
)
def test_masked_labels_ids_weights_and_scores_are_refused(call: Any, message: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(DataError, match=message):
            call()


def test_a_mask_that_hides_nothing_is_no_matter() -> None:
    data = RankingData(np.ma.array(X), np.ma.array(Y), np.ma.array(QID), document_ids=np.ma.array(list("abcdef")))
    np.testing.assert_array_equal(data.features, X)
    assert data.query_ids.tolist() == [1, 2]
    assert list(data.document_ids or []) == list("abcdef")


@pytest.mark.parametrize(
    "wrap", [lambda a: a, lambda a: np.ma.array(a), lambda a: a.astype(object)], ids=["plain", "masked", "objects"]
)
def test_complex_numbers_are_refused(wrap: Any) -> None:
    with pytest.raises(DataError, match=r"X must be numbers \[rows × features\]: .*"):
        RankingData(wrap(X + 0j), Y, QID)
    with pytest.raises(DataError, match=r"y must be numbers: .*"):
        RankingData(X, wrap(Y + 0j), QID)
    with pytest.raises(DataError, match="document_weights must be numbers"):
        RankingData(X, Y, QID, document_weights=wrap(Y + 0j))
    with pytest.raises((ValueError, TypeError), match=r"[Cc]omplex"):
        podium.RankNet(epochs=1).fit(wrap(X + 0j), Y, qid=QID)
    ranker = podium.LambdaMART(n_estimators=1, min_documents=1).fit(X, Y, qid=QID)
    with pytest.raises((ValueError, TypeError), match=r"[Cc]omplex"):
        ranker.predict(wrap(X + 0j))


@pytest.mark.parametrize(
    "text", [np.array([["1", "2"]] * 6), [["1", "2"]] * 6, np.array([["1", "2"]] * 6, object)], ids=type
)
def test_text_is_no_number(text: Any) -> None:
    with pytest.raises(DataError, match=r"X must be numbers .*text"):
        RankingData(text, Y, QID)
    with pytest.raises(DataError, match=r"y must be numbers.*text"):
        RankingData(X, ["0", "1", "2"] * 2, QID)


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    "column",
    [
        pa.array([0, 1, 2, 0, 1, 2]),
        pa.array([0, 1, 2, 0, 1, 2], pa.uint8()),
        pa.array([0, 1, 2, 0, 1, 2], pa.float32()),
        pa.array([decimal.Decimal(k) for k in (0, 1, 2, 0, 1, 2)]),
    ],
    ids=lambda column: str(column.type),
)
def test_pyarrow_arrays_are_labels_weights_and_query_ids(column: Any, chunked: bool) -> None:
    if chunked:
        column = pa.chunked_array([column[:2], column[2:]])
    data = RankingData(X, column, pa.array(QID), document_weights=column)
    assert data.labels.tolist() == Y.tolist()
    assert data.document_weights is not None
    assert data.document_weights.tolist() == Y.tolist()
    by_column = RankingData(X, Y, column)
    assert by_column.query_ids.tolist() == [0, 1, 2]
    assert by_column.query_sizes.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (pa.array(["b", "a"] * 3), ["b", "a"]),
        (pa.array(["b", "a"] * 3).dictionary_encode(), ["b", "a"]),
        (pa.array(["b", "a"] * 3, pa.large_string()), ["b", "a"]),
        (pa.chunked_array([["b", "a", "b"], ["a", "b", "a"]]), ["b", "a"]),
        (pa.array([2**62 + 1, 3] * 3), [2**62 + 1, 3]),
        (pa.array([True, False] * 3), [1, 0]),
    ],
    ids=lambda ids: str(getattr(ids, "type", "")),
)
def test_pyarrow_arrays_of_ids(ids: Any, expected: list[Any]) -> None:
    assert RankingData(X, Y, ids).query_ids.tolist() == expected
    if pa.types.is_string(ids.type):
        assert list(Strings.of(ids)) == ["b", "a"] * 3
        assert list(RankingData(X, Y, QID, document_ids=ids).document_ids or []) == ["b", "a"] * 3


def test_pyarrow_nulls_are_missing() -> None:
    for kind in (pa.int64(), pa.string(), pa.bool_()):
        nulls = pa.array([None, *(["1"] * 5 if kind == pa.string() else [1] * 5)]).cast(kind)
        with pytest.raises(DataError, match="qid of row 0 is None; every row needs a query id"):
            RankingData(X, Y, nulls)
        with pytest.raises(DataError, match="document_ids: row 0 has None"):
            RankingData(X, Y, QID, document_ids=nulls)
    for kind in (pa.int64(), pa.float32(), pa.bool_(), pa.decimal128(19)):
        with pytest.raises(DataError, match="label of row 1 is nan"):
            RankingData(X, pa.array([1, None, 1, 0, 1, 0]).cast(kind), QID)
    with pytest.raises(DataError, match="label of row 0 is nan"):
        RankingData(X, pa.nulls(6), QID)


@pytest.mark.parametrize("kind", ["Int64", "Float32", "boolean", "int64[pyarrow]", "double[pyarrow]"])
def test_pandas_columns_with_nulls(kind: str) -> None:
    assert RankingData(X, pd.Series([0, 1, 0, 1, 0, 1], dtype=kind), QID).labels.tolist() == [0, 1] * 3
    with pytest.raises(DataError, match="label of row 1 is nan"):
        RankingData(X, pd.Series([0, None, 0, 1, 0, 1], dtype=kind), QID)


def test_polars_columns_with_nulls() -> None:
    assert RankingData(X, pl.Series([0, 1, 0, 1, 0, 1]), pl.Series(QID)).labels.tolist() == [0, 1] * 3
    with pytest.raises(DataError, match="label of row 1 is nan"):
        RankingData(X, pl.Series([0, None, 0, 1, 0, 1]), QID)


@pytest.mark.parametrize("names", [["a", "a"], ("b", "b"), [1, "1"]])
def test_two_features_of_one_name_are_refused(names: Any) -> None:
    with pytest.raises(
        DataError, match=r"feature_names: '.' names columns 0 and 1; give each feature a name of its own"
    ):
        RankingData(X, Y, QID, feature_names=names)
    with pytest.raises(DataError, match=r"feature_names: '.' names columns 0 and 1"):
        RankingData(X, Y, QID).replace(feature_names=names)
    with pytest.raises(DataError, match=r"two columns of the frame are called '.'; rename one"):
        RankingData(pd.DataFrame(X, columns=list(names)), Y, QID)


def test_a_document_is_not_preferred_to_itself() -> None:
    with pytest.raises(DataError, match="pairs: pair 1 prefers row 3 to itself; leave it out"):
        Pairs.of([0, 3], [1, 3])
    with pytest.raises(DataError, match="pairs: pair 0 prefers row 1 to itself"):
        RankingData(X, Y, QID, pairs=Pairs(np.array([1]), np.array([1]), np.ones(1), np.ones(1)))


@pytest.mark.parametrize("largest", [1e308, -1e308])
def test_labels_whose_sum_overflows_are_refused(largest: float) -> None:
    with pytest.raises(
        DataError, match=r"the labels of query 2 sum to more than a float64 can hold \(row 3 has -?1e\+308\)"
    ):
        RankingData(X, [0, 1, 2, largest, largest, 0], QID)
    RankingData(X, [0, 1, 2, largest, 0, 0], QID)  # the sum is finite
