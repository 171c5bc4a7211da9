"""Everything a caller passes or gets back is in the caller's row order, even if the rows of a query are not contiguous."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import podium
from generated import assert_same, ranking_data, small, with_everything
from podium import Pairs, RankingData
from podium.data import folds, normalize, sample_unlabeled, split
from podium.data.ordering import ungroup

ROWS, QUERIES = 60, 12
RNG = np.random.default_rng(5)
X = RNG.normal(size=(ROWS, 4)).astype(np.float32)
Y = RNG.integers(0, 4, ROWS).astype(float)
QID = np.arange(ROWS) % QUERIES  # no two neighboring rows share a query
IDS = [f"d{row}" for row in range(ROWS)]
WEIGHTS = RNG.uniform(0.5, 2, ROWS)


def interleaved() -> RankingData:
    data = RankingData(X, Y, QID, document_ids=IDS, document_weights=WEIGHTS)
    assert data.row_order is not None
    return data


def of_rows(rows: Any) -> RankingData:
    """Return the data that the constructor makes of some of the caller's rows."""
    rows = np.arange(ROWS)[rows]
    return RankingData(
        X[rows], Y[rows], QID[rows], document_ids=[IDS[row] for row in rows], document_weights=WEIGHTS[rows]
    )


@pytest.mark.parametrize(
    ("constructor", "part", "value"),
    [
        ("X", "features", np.arange(10).reshape(5, 2) ** 2),
        ("y", "labels", [4, 3, 2, 1, 0]),
        ("document_ids", "document_ids", ["e", "d", "c", "b", "a"]),
        ("document_weights", "document_weights", [5.0, 1.0, 2.0, 0.0, 3.0]),
        ("pairs", "pairs", Pairs.of([0, 1], [2, 4])),
        ("query_weights", "query_weights", [2.0, 3.0]),
        ("query_weights", "query_weights", {"a": 3.0, "b": 2.0}),
    ],
)
def test_replace_takes_rows_in_the_order_the_constructor_takes_them(constructor: str, part: str, value: Any) -> None:
    assert_same(small().replace(**{part: value}), small(**{constructor: value}))
    assert_same(with_everything().replace(**{part: value}), _with_everything_but(constructor, value))


def _with_everything_but(name: str, value: Any) -> RankingData:
    parts = {
        "document_ids": ["d0", "d1", "d2", "d3", "d4"],
        "document_weights": [1.0, 2.0, 3.0, 4.0, 5.0],
        "query_weights": {"a": 0.5, "b": 2.0},
        "pairs": Pairs.of([2, 4, 1], [0, 1, 3], [1.0, 0.5, 0.75], [1.0, 2.0, 3.0]),
        "feature_names": ["length", "score"],
    }
    return small(**(parts | {name: value}))


@settings(deadline=None)
@given(data=ranking_data())
def test_replacing_a_part_by_itself_changes_nothing(data: RankingData) -> None:
    for name in ("features", "labels", "document_ids", "document_weights"):
        if getattr(data, name) is not None:
            caller = ungroup(getattr(data, name), data.row_order)
            assert_same(data.replace(**{name: caller}), data)
            assert_same(data.replace_grouped(**{name: getattr(data, name)}), data)


def test_pairs_go_to_the_callers_rows_and_back() -> None:
    data = with_everything()
    assert data.pairs is not None
    given_pairs = Pairs.of([2, 4, 1], [0, 1, 3], [1.0, 0.5, 0.75], [1.0, 2.0, 3.0])
    assert data.to_caller_order(data.pairs) == given_pairs
    assert data.from_caller_order(given_pairs) == data.pairs
    assert data.replace_grouped(pairs=data.pairs).pairs == data.pairs
    with pytest.raises(podium.DataError, match=r"winner\[0\] = 7 is not a row of the data"):
        data.replace(pairs=Pairs.of([7], [0]))


def test_weights_given_later_weigh_the_rows_they_were_given_for() -> None:
    early = RankingData(X, Y, QID, document_weights=WEIGHTS)
    late = RankingData(X, Y, QID).replace(document_weights=WEIGHTS)
    grouped = np.argsort(QID, kind="stable")
    apart = RankingData(X[grouped], Y[grouped], QID[grouped]).replace(document_weights=WEIGHTS[grouped])
    scores = [
        podium.LambdaMART(n_estimators=5, num_leaves=4, min_documents=2).fit(data).predict(X)
        for data in (early, late, apart)
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])


def test_a_selection_of_queries_keeps_the_callers_order() -> None:
    mask = np.zeros(QUERIES, bool)
    mask[[1, 4, 5, 9]] = True
    assert_same(interleaved().select(mask), of_rows(np.isin(QID, [1, 4, 5, 9])))
    assert_same(interleaved().select([1, 4, 5, 9]), of_rows(np.isin(QID, [1, 4, 5, 9])))
    assert_same(interleaved().select([3, 4]), of_rows(np.isin(QID, [3, 4])))


def test_queries_selected_in_another_order_bring_their_rows_along() -> None:
    part = interleaved().select([4, 1])
    assert part.row_order is None
    assert list(part.document_ids or []) == [IDS[row] for query in (4, 1) for row in np.flatnonzero(query == QID)]


@settings(deadline=None)
@given(keep=st.lists(st.booleans(), min_size=ROWS, max_size=ROWS).filter(any))
def test_a_selection_of_documents_is_by_the_callers_rows(keep: list[bool]) -> None:
    part, expected = interleaved().select_documents(keep), of_rows(np.array(keep))
    order = [expected.query_ids.tolist().index(query) for query in part.query_ids.tolist()]
    # a query whose first row is dropped keeps its number, although the constructor would number it again
    assert sorted(order) == list(range(expected.n_queries))
    for name in ("features", "labels", "document_ids", "document_weights"):
        found, wanted = (ungroup(getattr(each, name), each.row_order) for each in (part, expected))
        assert np.array_equal(np.asarray(found), np.asarray(wanted)), name
    assert part.to_caller_order(part.qid).tolist() == expected.to_caller_order(expected.qid).tolist()


def test_parts_folds_and_samples_keep_the_callers_order() -> None:
    data = interleaved()
    parts = [*split(data, (0.5, 0.5)), *next(folds(data, 3)), sample_unlabeled(data, 0.5)]
    for part in parts:
        ids = ungroup(part.document_ids, part.row_order)
        assert list(ids) == [name for name in IDS if name in set(ids)]
        rows = [int(name[1:]) for name in ids]
        np.testing.assert_array_equal(part.to_caller_order(part.features), X[rows])
        np.testing.assert_array_equal(part.to_caller_order(part.labels), Y[rows])


def test_sampling_keeps_rows_by_their_own_labels() -> None:
    kept = sample_unlabeled(interleaved(), 0.0)
    assert {name for name, label in zip(IDS, Y, strict=True) if label != 0} <= set(kept.document_ids or [])


@pytest.mark.parametrize("method", ["minmax", "zscore"])
def test_normalizing_keeps_every_row_in_its_place(method: str) -> None:
    grouped = np.argsort(QID, kind="stable")
    expected = np.empty_like(X)
    expected[grouped] = normalize(RankingData(X[grouped], Y[grouped], QID[grouped]), method).features
    data = normalize(interleaved(), method)
    np.testing.assert_array_equal(data.to_caller_order(data.features), expected)


def test_a_run_of_scores_lists_the_callers_rows() -> None:
    run = podium.Run.of_scores(np.arange(ROWS), interleaved())
    assert (run.query_ids.tolist(), list(run.document_ids)) == (QID.tolist(), IDS)
    assert run.scores.tolist() == list(range(ROWS))
    with pytest.raises(podium.DataError, match="2 values for 60 documents"):
        podium.Run.of_scores([1, 2], interleaved())


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".parquet", ".arrow", ".qrels", ".podium-data"])
def test_files_hold_the_callers_rows_in_their_order(suffix: str, tmp_path: Any) -> None:
    path = tmp_path / f"data{suffix}"
    data = interleaved().replace(document_weights=None)
    podium.write(data, path)
    options = {"scattered": "group"} if suffix == ".txt" else {}
    found = podium.read(path, **options)
    assert list(ungroup(found.document_ids, found.row_order)) == IDS
    assert found.to_caller_order(found.labels).tolist() == Y.tolist()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_hold_the_callers_rows_in_their_order(library: str) -> None:
    frame = podium.to_frame(interleaved(), library)
    assert list(np.asarray(frame["label"])) == Y.tolist()
    assert list(np.asarray(frame["weight"])) == WEIGHTS.tolist()
    assert_same(podium.from_frame(frame), interleaved())


def test_forces_scores_and_explanations_are_in_the_callers_order() -> None:
    grouped = np.argsort(QID, kind="stable")
    together = RankingData(X[grouped], Y[grouped], QID[grouped], document_weights=WEIGHTS[grouped])
    scores = RNG.normal(size=ROWS)
    apart = podium.force("ranknet")(scores, interleaved())
    for found, expected in zip(apart, podium.force("ranknet")(scores[grouped], together), strict=True):
        np.testing.assert_array_equal(found[grouped], expected)
    ranker = podium.LambdaMART(n_estimators=3, num_leaves=4, min_documents=2).fit(together)
    for call in (ranker.predict, ranker.rank, ranker.attributions, ranker.leaves):
        np.testing.assert_array_equal(call(interleaved())[grouped], call(together))
    values = [podium.evaluate(s, d, "ndcg@5").mean for s, d in ((scores, interleaved()), (scores[grouped], together))]
    assert values[0]["ndcg@5"] == pytest.approx(values[1]["ndcg@5"], rel=1e-14)
