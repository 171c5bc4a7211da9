"""RankingData takes ids of any type in any order, keeps the caller's order, and cannot be changed."""

from __future__ import annotations

import copy
import datetime
import pickle
import uuid
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import podium
from generated import assert_same, ranking_data, small, with_everything
from limits import limited_memory
from podium import DataError, Pairs, ParameterError, RankingData
from podium.data import Strings, canonical
from podium.data.checks import check_pairs
from podium.data.grouping import MAX_ID_LENGTH, check_query_ids, id_texts
from podium.data.ordering import check_row_order

A, B = uuid.UUID(int=1), uuid.UUID(int=2)


def objects(values: list[Any]) -> np.ndarray[Any, Any]:
    array = np.empty(len(values), object)
    array[:] = values
    return array


@pytest.mark.parametrize(
    ("qid", "ids"),
    [
        ([7, 3, 7, 3], [7, 3]),
        (np.array([7, 3, 7, 3], np.uint8), [7, 3]),
        (np.array([2**63, 3, 2**63, 3], np.uint64), [2**63, 3]),
        ([True, False, True, False], [1, 0]),
        ([1.0, 2.0, 1.0, 2.0], [1, 2]),
        ([1.5, 2.0, 1.5, 2.0], [1.5, 2.0]),
        ([float("inf"), 2.0, float("inf"), 2.0], [float("inf"), 2.0]),
        (["b", "a", "b", "a"], ["b", "a"]),
        (np.array(["b", "a", "b", "a"]), ["b", "a"]),
        (np.array(["b", "a", "b", "a"], object), ["b", "a"]),
        (np.array(["b", "a", "b", "a"], np.dtypes.StringDType()), ["b", "a"]),
        (np.array([b"b", b"a", b"b", b"a"]), ["b", "a"]),
        ([A, B, A, B], [A, B]),
        ([1, "1", 1, "1"], [1, "1"]),
        ([(1, "x"), (2, "x"), (1, "x"), (2, "x")], [(1, "x"), (2, "x")]),
        ([(1,), (2, "x"), (1,), (2, "x")], [(1,), (2, "x")]),
        (objects([(1, 2), (2, 1), (1, 2), (2, 1)]), [(1, 2), (2, 1)]),
        (objects([np.int64(5), 4, 5, np.int32(4)]), [5, 4]),
        (objects([2**80, 4, 2**80, 4]), [2**80, 4]),
        (np.array([[7], [3], [7], [3]]), [7, 3]),
        (pd.Series([7, 3, 7, 3], index=[9, 8, 7, 6]), [7, 3]),
        (pd.Series(["b", "a", "b", "a"]), ["b", "a"]),
        (pd.Series(["b", "a", "b", "a"], dtype="category"), ["b", "a"]),
        (pd.Series([7, 3, 7, 3], dtype="Int64"), [7, 3]),
        (pl.Series([7, 3, 7, 3]), [7, 3]),
        (pl.Series(["b", "a", "b", "a"]), ["b", "a"]),
        (np.array(["2020-01-02", "2020-01-01"] * 2, "M8[D]"), [datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)]),
    ],
    ids=str,
)
def test_ids_of_any_type_in_any_order(qid: Any, ids: list[Any]) -> None:
    data = RankingData([[0.0], [1.0], [2.0], [3.0]], [0, 1, 2, 3], qid)
    assert data.query_ids.tolist() == ids
    assert data.query_offsets.tolist() == [0, 2, 4]
    assert data.features[:, 0].tolist() == [0, 2, 1, 3]
    assert data.labels.tolist() == [0, 2, 1, 3]
    assert data.to_caller_order(data.labels).tolist() == [0, 1, 2, 3]
    assert data.from_caller_order([0, 1, 2, 3]).tolist() == [0, 2, 1, 3]


@pytest.mark.parametrize(
    ("qid", "message"),
    [
        (None, "qid is missing"),
        ([1, 2], r"qid has shape \(2,\) for 4 rows"),
        ([1, float("nan"), 1, 1], "qid of row 1 is nan"),
        (["a", None, "a", "a"], "qid of row 1 is None"),
        (pd.Series(["a", "a", pd.NA, "a"], dtype="string"), "qid of row 2 is"),
        (pd.Series([1, 2, pd.NA, 1], dtype="Int64"), "qid of row 2 is"),
        (pl.Series(["a", "a", "a", None]), "qid of row 3 is None"),
        (np.array(["2020-01-01", "NaT"] * 2, "M8[D]"), "qid of row 1 is NaT"),
        (objects([[1], [2], [1], [2]]), "query ids must be hashable"),
    ],
    ids=str,
)
def test_ids_that_are_refused(qid: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        RankingData(np.zeros((4, 1)), np.zeros(4), qid)


@settings(deadline=None)
@given(qid=st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_grouping_is_a_stable_sort_by_first_appearance(qid: list[int]) -> None:
    data = RankingData(np.zeros((len(qid), 0)), np.arange(len(qid)), qid)
    first = {value: qid.index(value) for value in qid}
    expected = sorted(range(len(qid)), key=lambda row: (first[qid[row]], row))
    assert data.labels.tolist() == expected
    assert data.qid.tolist() == [qid[row] for row in expected]
    assert (data.row_order is None) == (expected == list(range(len(qid))))
    assert data.to_caller_order(data.qid).tolist() == qid


@pytest.mark.parametrize(
    "X",
    [
        [[1, 2], [3, float("nan")]],
        np.array([[1, 2], [3, np.nan]], order="F"),
        np.ma.masked_equal([[1.0, 2.0], [3.0, -1.0]], -1.0),
        np.ma.masked_equal([[1, 2], [3, -1]], -1),
        pd.DataFrame({"a": [1, 3], "b": pd.array([2, None], "Int64")}),
        pl.DataFrame({"a": [1, 3], "b": [2.0, None]}),
        scipy.sparse.csr_matrix([[1, 2], [3, np.nan]]),
    ],
    ids=lambda X: type(X).__name__,
)
def test_features_of_any_kind(X: Any) -> None:
    data = RankingData(X, [0, 1], [1, 1])
    assert data.features.dtype == np.float32
    assert np.array_equal(data.features, np.array([[1, 2], [3, np.nan]], np.float32), equal_nan=True)
    assert data.feature_names == (("a", "b") if hasattr(X, "columns") else None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [1, 2, 3]}, "X has 1 dimensions"),
        ({"X": [["a", "b"]] * 5}, "X must be numbers"),
        ({"X": np.zeros((5, 2), complex)}, "X must be numbers"),
        ({"X": [[0, 0], [0, 1e39]] + [[0, 0]] * 3}, "feature 'f1' of row 1 is infinite"),
        ({"y": [1, 2]}, r"y has shape \(2,\) for 5 rows"),
        ({"y": 3}, r"y has shape \(\) for 5 rows"),
        ({"y": [0, 1, float("nan"), 0, 1]}, "label of row 2 is nan"),
        ({"y": ["x"] * 5}, "y must be numbers"),
        ({"document_ids": ["a"]}, "1 ids for 5 rows"),
        ({"document_ids": ["\ud800"] * 5}, "not Unicode text"),
        ({"document_weights": [1, 1, 1, -1, 1]}, r"document_weights\[3\] = -1.0 must be finite and not negative"),
        ({"query_weights": {"a": 1.0}}, "no weight for query 'b'"),
        ({"query_weights": [1.0]}, r"query_weights has shape \(1,\) for 2 rows"),
        ({"feature_names": ["one"]}, "feature_names has 1 entries; 2 are needed"),
        ({"pairs": Pairs.of([0], [1])}, "pair 0 joins documents of two queries"),
        ({"pairs": Pairs.of([0], [9])}, r"loser\[0\] = 9 is not a row of the data, which has rows 0 to 4"),
        ({"X": np.zeros((0, 2)), "y": [], "qid": []}, "there are no documents"),
    ],
    ids=str,
)
def test_bad_input(change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        small(**change)


def test_parts_follow_the_grouping() -> None:
    data = with_everything()
    assert data.row_order is not None
    assert data.row_order.tolist() == [0, 2, 1, 3, 4]
    assert list(data.document_ids or []) == ["d0", "d2", "d1", "d3", "d4"]
    assert data.document_weights is not None
    assert data.document_weights.tolist() == [1, 3, 2, 4, 5]
    assert data.query_weights is not None
    assert data.query_weights.tolist() == [2.0, 0.5]
    assert data.pairs == Pairs.of([1, 4, 2], [0, 2, 3], [1.0, 0.5, 0.75], [1.0, 2.0, 3.0])
    assert repr(data).startswith("RankingData(5 documents × 2 features in 2 queries, with document_ids")


def test_immutable() -> None:
    data = with_everything()
    for name in RankingData.PARTS:
        with pytest.raises(AttributeError, match=rf"immutable; use data.replace\({name}=…\)"):
            setattr(data, name, None)
        with pytest.raises(AttributeError, match="immutable"):
            delattr(data, name)
        part = getattr(data, name)
        if isinstance(part, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                part[0] = part[0]
    assert data.pairs is not None
    assert data.document_ids is not None
    for part in (data.pairs.winner, data.pairs.probability, data.document_ids.offsets, data.document_ids.data):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 0


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda data: pickle.loads(pickle.dumps(data))])
def test_copies_are_the_same(again: Any) -> None:
    data = with_everything()
    assert_same(again(data), data)
    twin = again(data)
    for part in (twin.features, twin.document_ids.offsets, twin.pairs.winner):
        assert not part.flags.writeable
    assert_same(again(data.select([1])), data.select([1]))


def test_replace() -> None:
    data = with_everything()
    assert data.replace(labels=[1, 1, 1, 1, 1]).labels.tolist() == [1.0] * 5
    assert data.replace(features=np.zeros((5, 2), order="F")).features.dtype == np.float32
    with pytest.raises(DataError, match="infinite"):
        data.replace(features=np.full((5, 2), np.inf))
    with pytest.raises(DataError, match="feature_names has 2 entries; 3 are needed"):
        data.replace(features=np.zeros((5, 3)))
    with pytest.raises(DataError, match="must be finite and not negative"):
        data.replace(query_weights=[1, -1])
    with pytest.raises(ParameterError, match="Did you mean 'labels'"):
        data.replace(label=[1])


def test_other_features_have_no_value_for_those_that_sparse_text_leaves_out() -> None:
    sparse = RankingData(np.ones((2, 3)), [0, 1], [1, 1]).with_absent_value(0.0)
    assert sparse.replace(features=np.zeros((2, 3))).absent_value == 0.0
    assert sparse.replace(features=np.zeros((2, 2))).absent_value is None


def test_parts_of_the_wrong_type_are_refused() -> None:
    data = small()
    parts = {name: getattr(data, name) for name in RankingData.PARTS}
    with pytest.raises(DataError, match="features must be float32"):
        RankingData.of_parts(**(parts | {"features": data.features.astype(np.float64)}))
    with pytest.raises(DataError, match="C order"):
        RankingData.of_parts(**(parts | {"features": np.asfortranarray(data.features)}))
    with pytest.raises(DataError, match="query_offsets must rise from 0 to 5 in 2 steps"):
        RankingData.of_parts(**(parts | {"query_offsets": np.array([0, 0, 5])}))


def test_select_a_query_with_its_parts() -> None:
    part = with_everything().select([1])
    assert part.query_ids.tolist() == ["a"]
    assert part.labels.tolist() == [1, 0, 1]
    assert list(part.document_ids or []) == ["d1", "d3", "d4"]
    assert part.pairs == Pairs.of([2, 0], [0, 1], [0.5, 0.75], [2.0, 3.0])
    assert part.query_weights is not None
    assert part.query_weights.tolist() == [0.5]
    assert part.row_order is None
    assert part.feature_names == ("length", "score")
    assert_same(with_everything().select(np.array([False, True])), part)
    assert_same(with_everything().select(1), part)


def test_neighboring_queries_are_a_view() -> None:
    data = RankingData(np.zeros((6, 1), np.float32), np.zeros(6), [1, 1, 2, 2, 3, 3])
    assert np.shares_memory(data.select([1, 2]).features, data.features)
    assert not np.shares_memory(data.select([0, 2]).features, data.features)
    assert data.select([2, 0]).query_ids.tolist() == [3, 1]


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ([0, 2], r"queries 0..2 are asked for of 2"),
        ([-1], "numbers start at 0"),
        ([0, 0], "selected twice"),
        ([], "no query is selected"),
        ([False, False], "no query is selected"),
        ([True], "the mask has 1 values for 2 queries"),
        ([0.0], "give query numbers or a mask"),
    ],
    ids=str,
)
def test_select_refuses(queries: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        small().select(queries)


def test_select_documents() -> None:
    data = with_everything()
    part = data.select_documents(np.array([False, True, False, False, True]))
    assert part.query_ids.tolist() == ["a"]
    assert list(part.document_ids or []) == ["d1", "d4"]
    assert part.pairs == Pairs.of([1], [0], [0.5], [2.0])
    assert part.document_weights is not None
    assert part.document_weights.tolist() == [2, 5]
    assert_same(data.select_documents(np.ones(5, bool)), data.select([0, 1]))
    for mask, message in (
        (np.ones(4, bool), "one True or False for each of 5"),
        (np.ones(5), "the mask is float64"),
        (np.zeros(5, bool), "no document is selected"),
    ):
        with pytest.raises(DataError, match=message):
            data.select_documents(mask)


@settings(deadline=None)
@given(data=ranking_data(), choice=st.data())
def test_select_is_what_the_rows_say(data: RankingData, choice: Any) -> None:
    queries = choice.draw(st.permutations(range(data.n_queries)))[: choice.draw(st.integers(1, data.n_queries))]
    part = data.select(queries)
    rows = [row for query in queries for row in range(data.query_offsets[query], data.query_offsets[query + 1])]
    assert np.array_equal(part.features, data.features[rows], equal_nan=True)
    assert part.labels.tolist() == data.labels[rows].tolist()
    assert part.qid.tolist() == data.qid[rows].tolist()
    if data.document_ids is not None:
        assert list(part.document_ids or []) == [data.document_ids[row] for row in rows]


def test_values_must_match_the_documents() -> None:
    for move in (small().to_caller_order, small().from_caller_order):
        with pytest.raises(DataError, match="2 values for 5 documents"):
            move([1.0, 2.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5], [1]), "winner must be a flat array of row numbers"),
        (([0, 1], [1]), "2 winners but 1 losers"),
        (([0], [1], 1.5), r"probability\[0\] = 1.5 must lie in \[0, 1\]"),
        (([0], [1], float("nan")), "must lie in"),
        (([0], [1], 1.0, -1.0), r"weight\[0\] = -1.0 must be finite and not negative"),
        (([0], [1], [1.0, 1.0]), r"probability has shape \(2,\) for 1 pairs"),
        (([0], [1], "likely"), "probability must be numbers"),
    ],
    ids=str,
)
def test_pairs_refuse(arguments: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Pairs.of(*arguments)


def test_pairs() -> None:
    pairs = Pairs.of(3, 4)
    assert len(pairs) == 1
    assert pairs == Pairs.of([3], [4], [1.0], [1.0])
    assert pairs != Pairs.of([4], [3])
    assert len(Pairs.of([], [])) == 0


@settings(deadline=None)
@given(texts=st.lists(st.text(st.characters(codec="utf-8")), max_size=10), choice=st.data())
def test_strings_behave_as_a_list(texts: list[str], choice: Any) -> None:
    strings = Strings.of(texts)
    assert list(strings) == texts
    assert len(strings) == len(texts)
    assert np.asarray(strings).tolist() == texts
    start, stop, step = (choice.draw(st.none() | st.integers(-12, 12).filter(bool)) for _ in range(3))
    assert list(strings[start:stop:step]) == texts[start:stop:step]
    assert strings[start:stop] == Strings.of(texts[start:stop])
    assert hash(strings[start:stop]) == hash(Strings.of(texts[start:stop]))
    rows = choice.draw(st.lists(st.integers(-len(texts), len(texts) - 1) if texts else st.nothing()))
    assert list(strings[np.array(rows, int)]) == [texts[row] for row in rows]
    assert [strings[row] for row in rows] == [texts[row] for row in rows]


def test_strings_of_other_values() -> None:
    assert list(Strings.of([1, b"caf\xc3\xa9", A])) == ["1", "café", str(A)]
    with pytest.raises(IndexError, match="string 2 of 2"):
        Strings.of(["a", "b"])[2]
    assert repr(Strings.of("abcdefg")) == "Strings(7: 'a', 'b', 'c', 'd', 'e', …)"


@pytest.mark.parametrize(
    ("qid", "message"),
    [
        (["a\0", "a", "a", "b", "b"], r"query id 'a\\x00' \(row 0\) holds a NUL character; write ids without it"),
        ([b"a\0", b"a", b"a", b"b", b"b"], "holds a NUL character"),
        (np.array(["a\0b", "a", "a", "b", "b"]), "holds a NUL character"),
        (np.array(["a\0", "a", "a", "b", "b"], object), "holds a NUL character"),
        ([1, "a\0", "a", "b", "b"], "holds a NUL character"),
        ([b"\xff"] * 5, "a query id is not UTF-8 text"),
        (np.array([b"\xff"] * 5), "a query id is not UTF-8 text"),
        (["a", "b", "c", "d", "x" * 4097], "has 4097 characters; at most 4096 are taken"),
        (np.array(["a", "b", "c", "d", "x" * 4097]), "has 4097 characters; at most 4096 are taken"),
        ([[1], [1, 2], [3], [4], [5]], "qid is a list of lists"),
    ],
    ids=str,
)
def test_query_ids_that_are_refused(qid: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        RankingData(np.zeros((5, 1)), np.zeros(5), qid)


def test_one_long_query_id_takes_little_memory() -> None:
    qid = [str(k // 100) for k in range(100_000)]
    qid[-1] = "x" * MAX_ID_LENGTH
    with limited_memory(200):  # as NumPy's text 100,000 × 16 KiB
        data = RankingData(np.zeros((len(qid), 1), np.float32), np.zeros(len(qid)), qid)
    assert data.query_ids.dtype.kind == "U"
    assert data.query_ids[-1] == qid[-1]
    check_query_ids(data.query_ids)


@pytest.mark.parametrize("missing", [None, float("nan"), np.datetime64("NaT")], ids=str)
def test_missing_document_ids(missing: object) -> None:
    with pytest.raises(DataError, match=r"document_ids: row 1 has .*; every row needs an id"):
        RankingData(np.zeros((3, 1)), np.zeros(3), [1, 1, 1], document_ids=["a", missing, "b"])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"labels": None}, "labels cannot be None"),
        ({"labels": [1, 2]}, r"labels has shape \(2,\) for 5 rows"),
        ({"features": np.zeros((4, 2))}, "features has 4 entries for 5 rows"),
        ({"document_ids": ["a"]}, "document_ids has 1 entries for 5 rows"),
        ({"query_ids": ["a", "a"]}, "query_ids: 'a' occurs twice, the second time as query 1"),
        ({"query_ids": ["a"]}, "query_offsets must rise from 0 to 5 in 1 steps"),
        ({"query_ids": 5}, "qid has shape"),
        ({"query_ids": ["a", None]}, "qid of row 1 is None"),
        ({"pairs": [(0, 1)]}, "must be Pairs; make them with podium.Pairs.of"),
        ({"feature_names": "abc"}, "must be a list of names"),
        ({"labels": [1j] * 5}, "labels must be numbers"),
        ({"document_ids": ["a", None, "b", "c", "d"]}, "document_ids: row 1 has None"),
        ({"query_weights": {"b": 1}}, "query_weights has no weight for query 'a'"),
    ],
    ids=str,
)
def test_parts_that_cannot_be_exchanged(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        with_everything().replace(**parts)


def test_parts_that_can_be_exchanged() -> None:
    data = with_everything().replace(pairs=None, query_ids=["x", 1])
    assert data.query_sizes.tolist() == [2, 3]
    assert data.query_ids.tolist() == ["x", 1]
    assert data.replace(query_weights={"x": 2, 1: 3}).query_weights.tolist() == [2, 3]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["query_offsets", "row_order"])
def test_the_layout_of_the_rows_is_not_a_part_to_exchange(name: str) -> None:
    for replace in (with_everything().replace, with_everything().replace_grouped):
        with pytest.raises(
            ParameterError, match=f"{name} describes how rows are grouped and cannot be replaced; make a new"
        ):
            replace(**{name: [0, 1, 5]})


@pytest.mark.parametrize(
    ("row_order", "message"),
    [
        ([0, 0, 1, 2, 3], "row_order leaves out row 4"),
        ([0, 1, 2, 3, 99], r"row_order\[4\] = 99 is not a row of the data, which has rows 0 to 4"),
        ([-1, 1, 2, 3, 4], r"row_order\[0\] = -1 is not a row"),
        ([0, 1], "row_order has 2 entries; 5 are needed"),
        ([0.5] * 5, "row_order is float64"),
    ],
    ids=str,
)
def test_a_row_order_holds_each_row_once(row_order: list[float], message: str) -> None:
    data = with_everything()
    parts = {name: getattr(data, name) for name in RankingData.PARTS}
    with pytest.raises(DataError, match=message):
        RankingData.of_parts(**(parts | {"row_order": np.array(row_order)}))


def test_pairs_are_checked_against_the_offsets() -> None:
    offsets = np.array([0, 2, 5])
    check_pairs(Pairs.of([0, 4], [1, 2]), offsets)
    check_row_order(np.array([1, 0]), 2)
    for pairs, message in (
        (Pairs.of([0], [2]), "joins documents of two queries"),
        (Pairs.of([0], [5]), r"loser\[0\] = 5 is not a row"),
        (
            Pairs(np.array([0]), np.array([1, 1]), np.ones(1), np.ones(1)),
            r"loser is int64 of shape \(2,\) for 1 winners",
        ),
        (Pairs(np.array([0.5]), np.array([1]), np.ones(1), np.ones(1)), "winner is float64"),
        (Pairs(np.array([0]), np.array([1]), np.array([2.0]), np.ones(1)), "must lie in"),
    ):
        with pytest.raises(DataError, match=message):
            check_pairs(pairs, offsets)
    with pytest.raises(DataError, match="pairs: weight must be numbers: complex128"):
        Pairs.of([0], [1], weight=1j)


def test_a_fingerprint_is_computed_once_per_data_set(tmp_path, monkeypatch):
    computed = []
    compute = canonical.compute_fingerprint

    def count(data):
        computed.append(data)
        return compute(data)

    monkeypatch.setattr(canonical, "compute_fingerprint", count)
    train, valid = with_everything().replace(pairs=None), small()
    ranker = podium.RankNet(epochs=1).fit(train, valid=valid.replace(feature_names=["length", "score"]))
    assert ranker.fingerprint_ == compute(train)
    podium.RankNet(epochs=1).fit(train, checkpoint=tmp_path / "checkpoint")
    assert len(computed) == len({id(data) for data in computed}) <= 2
    changed = train.replace_grouped(labels=train.labels + 1)
    again = pickle.loads(pickle.dumps(train))
    assert canonical.fingerprint(changed) == compute(changed) != ranker.fingerprint_
    assert canonical.fingerprint(again) == ranker.fingerprint_


def test_a_fingerprint_does_not_depend_on_the_order_of_queries():
    data = with_everything()
    turned = data.select(np.arange(data.n_queries)[::-1])
    assert canonical.fingerprint(turned) == canonical.fingerprint(data)


def test_ids_are_written_as_numpy_prints_them() -> None:
    assert id_texts(np.array([0.1], np.float32)) == ["0.1"]  # its nearest double is 0.10000000149011612
    assert id_texts(np.array(["2024-02-29T12:00:00.000000001"], "M8[ns]")) == ["2024-02-29T12:00:00.000000001"]
    assert id_texts(np.array([7, 8])) == ["7", "8"]
