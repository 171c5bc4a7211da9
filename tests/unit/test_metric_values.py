"""Values computed by hand, and what metrics refuse."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from podium.errors import DataError, ParameterError
from podium.metrics import Documents, metric, per_query

SCORES = [0.9, 0.8, 0.7, 0.6]
LABELS = [0, 2, 0, 1]


def one(name: str, scores: object = SCORES, labels: object = LABELS, **flags: object) -> float:
    return float(metric(name).per_query(scores, labels, [0, len(scores)], **flags)[0])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dcg", 3 / log2(3) + 1 / log2(5)),
        ("dcg@2", 3 / log2(3)),
        ("dcg(gain='linear')", 2 / log2(3) + 1 / log2(5)),
        ("dcg(gain=(1, 5, 10))@2", 1 / log2(2) + 10 / log2(3)),
        ("ndcg", (3 / log2(3) + 1 / log2(5)) / (3 / log2(2) + 1 / log2(3))),
        ("ndcg@2", (3 / log2(3)) / (3 / log2(2) + 1 / log2(3))),
        ("ndcg(convention='letor')@3", 3 / (3 + 1)),
        ("ndcg(convention='letor')@4", (3 + 1 / log2(4)) / (3 + 1)),
        ("ndcg(convention='letor')@5", 0),
        ("mean_ndcg(convention='letor')", (0 + 3 / 4 + 3 / 4 + (3 + 1 / log2(4)) / 4) / 4),
        ("map", (1 / 2 + 2 / 4) / 2),
        ("map@2", (1 / 2) / 2),
        ("map(rel=2)", 1 / 2),
        ("mrr", 1 / 2),
        ("mrr@1", 0),
        ("p@2", 1 / 2),
        ("p@10", 2 / 10),
        ("p", 2 / 4),
        ("recall@2", 1 / 2),
        ("wta", 0),
        ("err", (1 / 2) * 3 / 16 + (1 / 4) * (1 - 3 / 16) * 1 / 16),
        ("err(max=2)", (1 / 2) * 3 / 4 + (1 / 4) * (1 - 3 / 4) * 1 / 4),
        ("bpref", (1 - 1 / 2 + 1 - 2 / 2) / 2),
        ("auc", 1 / 4),
        # (higher, lower): (2nd, 1st) wrong, (2nd, 3rd) and (2nd, 4th) right, (4th, 1st) and (4th, 3rd) wrong
        ("pairwise_correct", 2 / 5),
        ("pairwise_error", 3 / 5),
        ("rbp(persistence=0.5)", (1 - 0.5) * (0.5 + 0.5**3)),
    ],
)
def test_by_hand(name: str, expected: float) -> None:
    assert one(name) == pytest.approx(expected, abs=1e-15)


def test_persistence_lies_between_0_and_1() -> None:
    for persistence in (0, 1, 1.5, "x"):
        with pytest.raises(ParameterError, match="must be a number above 0 and below 1"):
            metric(f"rbp(persistence={persistence!r})")


def test_ties_rules() -> None:
    tied, labels = [1.0, 1.0, 0.5], [0, 1, 1]
    assert one("mrr", tied, labels) == 1 / 2
    assert one("mrr(ties='average')", tied, labels) == pytest.approx((1 + 1 / 2) / 2)
    assert one("mrr(ties='trec_eval')", tied, labels, tie_order=[1, 2, 3]) == 1
    assert one("mrr(ties='trec_eval')", tied, labels, tie_order=[2, 1, 3]) == 1 / 2
    with pytest.raises(DataError, match="breaks ties by document id and there are none"):
        one("mrr(ties='trec_eval')", tied, labels)


def test_documents_not_retrieved_count_in_ideals_and_totals() -> None:
    flags = {"retrieved": [True, True, False], "tie_order": [0, 1, 2]}
    trec = "(convention='trec_eval')"
    assert one(f"ndcg{trec}", [2, 1, 9], [0, 1, 2], **flags) == pytest.approx((1 / log2(3)) / (2 + 1 / log2(3)))
    assert one(f"recall{trec}@10", [2, 1, 9], [0, 1, 2], **flags) == 1 / 2
    assert one(f"map{trec}", [2, 1, 9], [0, 1, 2], **flags) == (1 / 2) / 2
    # A NaN score does not matter for a document that is not ranked.
    assert one(f"map{trec}", [2, 1, float("nan")], [0, 1, 2], **flags) == (1 / 2) / 2


def test_bpref_passes_over_documents_without_judgment() -> None:
    judged = [False, True, True, True]
    assert one("bpref", [4, 3, 2, 1], [0, 1, 0, 1], judged=judged) == (1 + (1 - 1 / 1)) / 2
    assert one("bpref", [4, 3, 2, 1], [0, 1, 0, 1]) == ((1 - 1 / 2) + (1 - 2 / 2)) / 2
    negative = one("bpref(convention='trec_eval')", [4, 3, 2, 1], [-1, 1, 0, 1], tie_order=[0, 1, 2, 3])
    assert negative == (1 + (1 - 1 / 1)) / 2


def test_labels_of_documents_without_judgment_do_not_count() -> None:
    assert one("ndcg", [2, 1], [3, 1], judged=[False, True]) == pytest.approx(1 / log2(3))


@pytest.mark.parametrize(
    ("name", "label", "message"),
    [
        ("ndcg", -1, r"ndcg: label of row 4 is -1 and must be at least 0; .*convention='trec_eval'"),
        ("dcg", -1, r"use gain='linear'"),
        ("ndcg(gain='linear')", -1, "must be at least 0"),
        ("err", -1, "must be at least 0"),
        ("ndcg", 2000, "2\\^label would overflow.*use gain='linear'"),
        ("err", 5, r"above max=4; .*err\(max=5\)"),
        ("ndcg(gain=(0, 1))", 2, "the table of gains ends at label 1"),
        ("ndcg(gain=(0, 1, 3))", 1.5, "needs whole labels"),
    ],
)
def test_labels_a_metric_cannot_take(name: str, label: float, message: str) -> None:
    with pytest.raises(DataError, match=message):
        metric(name).per_query(range(5), [0, 1, 0, 1, label], [0, 2, 5])
    with pytest.raises(DataError, match=message.replace("row 4", "row 1")):
        metric(name).swap_deltas([1, 2], [1, label])


def test_labels_that_are_fine_after_all() -> None:
    assert one("dcg(gain='linear')", [2, 1], [-1, 2]) == pytest.approx(-1 + 2 / log2(3))
    assert one("ndcg(gain='linear')", [2, 1], [5000, 0]) == 1
    assert one("ndcg", [2, 1], [1000, 0]) == 1
    assert one("ndcg(convention='trec_eval')", [2, 1], [-1, 1], tie_order=[0, 1]) == pytest.approx(1 / log2(3))
    assert one("map", [2, 1], [-1, 1]) == 1 / 2
    assert one("ndcg", [2, 1], [0.5, 1.5]) == pytest.approx(
        ((2**0.5 - 1) + (2**1.5 - 1) / log2(3)) / ((2**1.5 - 1) + (2**0.5 - 1) / log2(3))
    )


def test_the_first_bad_row_is_named_for_any_number_of_threads() -> None:
    scores = np.zeros(10_000)
    scores[[777, 5000, 9000]] = np.nan
    for threads in (1, 2, 5):
        with pytest.raises(DataError, match="score of row 777 is nan"):
            metric("ndcg@3").per_query(scores, np.zeros(10_000), np.arange(0, 10_001, 10), num_threads=threads)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1], [0, 2]), "1 labels for 2 scores"),
        (([1, 2], [1, 0], [0, 1]), "must rise from 0 to the number of scores, 2"),
        (([1, 2], [1, 0], [0, 3, 2]), "must rise from 0"),
        (([1, 2], [1, 0], []), "query_offsets must be a flat array"),
        (([1, 2], [1, 0], [0.0, 2.0]), "query_offsets must be a flat array of whole numbers"),
        ((["a", "b"], [1, 0], [0, 2]), "scores must be numbers"),
        (([[1, 2]], [1, 0], [0, 2]), "scores have shape"),
    ],
)
def test_arrays_that_do_not_fit(arguments: tuple[object, object, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        metric("map").per_query(*arguments)  # type: ignore[arg-type]


def test_flags_that_do_not_fit() -> None:
    for flag in ("judged", "retrieved", "tie_order"):
        with pytest.raises(DataError, match=f"{flag} has shape"):
            one("map", **{flag: [1]})
    with pytest.raises(ParameterError, match="num_threads=0"):
        one("map", num_threads=0)


def test_metrics_together_equal_metrics_alone() -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.integers(0, 60, 900).astype(float), rng.integers(0, 4, 900)
    offsets = np.arange(0, 901, 90)
    tie_order = rng.permutation(900)
    names = ["ndcg@3", "map", "err@5", "auc", "mrr(ties='average')", "p(ties='trec_eval')@4", "recall@2"]
    metrics = [metric(name) for name in names]
    together, _ = per_query(metrics, Documents(scores, labels, offsets, tie_order=tie_order))
    for m, values in zip(metrics, together, strict=True):
        assert (m.per_query(scores, labels, offsets, tie_order=tie_order) == values).all()


def test_lists_of_one_dtype_or_another() -> None:
    for dtype in (np.float32, np.float64, np.int64):
        scores = np.array([3, 2, 1], dtype)
        assert metric("mrr").per_query(scores, scores[::-1] > 1, np.array([0, 3], np.int32))[0] == 1 / 2


@pytest.mark.parametrize("k", [1, 2, 5, 8, 10, 12, 13, 31, 32, 33, 100, None])
def test_order_equals_a_stable_sort(k: int | None) -> None:
    """Every way to find the order (top, counting, sorting), at sizes around the limits, with few and many ties."""
    rng = np.random.default_rng(0)
    m = metric("dcg(gain='linear')" if k is None else f"dcg(gain='linear')@{k}")
    for n in (1, 2, 3, 7, 8, 9, 31, 32, 33, 40, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 400, 1000):
        for levels in (1, 2, 5, n, 100 * n):
            scores = rng.integers(-levels, levels, n) / 8
            scores[rng.random(n) < 0.05] = rng.choice([np.inf, -np.inf, 0.0, -0.0])
            labels = rng.random(n)
            order = np.argsort(-scores, kind="stable")[:k]
            expected = (labels[order] / np.log2(2 + np.arange(len(order)))).sum()
            assert m.per_query(scores, labels, [0, n])[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "name", ["bpref", "map", "ndcg@3", "bpref(convention='trec_eval')", "ndcg(convention='trec_eval')@4"]
)
def test_swap_deltas_with_documents_not_judged(name: str) -> None:
    """A delta is the difference of the metric after the swap, with unjudged documents and ties by document id."""
    rng, m = np.random.default_rng(1), metric(name)
    for _ in range(10):
        labels, judged, ids = rng.integers(0, 3, 12), rng.random(12) < 0.6, rng.permutation(12)
        scores = rng.integers(0, 6, 12).astype(float)
        by_id = m.parameters["ties"] == "trec_eval"
        order = np.lexsort((-ids if by_id else np.arange(12), -scores))
        places = np.empty(12)
        places[order] = -np.arange(12)
        deltas = m.swap_deltas(scores, labels, judged=judged, tie_order=ids)
        before = one(name, places, labels, judged=judged, tie_order=ids)
        for i in range(12):
            for j in range(12):
                after = places.copy()
                after[[i, j]] = after[[j, i]]
                expected = one(name, after, labels, judged=judged, tie_order=ids) - before
                assert deltas[i, j] == pytest.approx(expected, abs=1e-12)


def test_err_over_large_groups_of_ties_takes_no_quadratic_time() -> None:
    n = 200_000
    for labels in (np.zeros(n), np.arange(n) == 7, np.arange(n) % 5, np.ones(n)):
        value = metric("err(ties='average')").per_query(np.zeros(n), labels, [0, n])[0]
        assert 0 <= value < 1
    # one document of R = 1/16 anywhere among n: (1/16) · the mean of 1/r
    one_relevant = metric("err(ties='average')").per_query(np.zeros(n), np.arange(n) == 7, [0, n])[0]
    assert one_relevant == pytest.approx((1 / 16) * (1 / np.arange(1, n + 1)).mean(), rel=1e-9)
    # all of R = 1/16: Σ (1/r) (1/16) (15/16)^(r − 1)
    rank = np.arange(1, n + 1)
    everyone = metric("err(ties='average')").per_query(np.zeros(n), np.ones(n), [0, n])[0]
    assert everyone == pytest.approx((1 / 16 * (15 / 16) ** (rank - 1.0) / rank).sum(), rel=1e-12)


@pytest.mark.parametrize("highest", [30, 31, 32, 33, 63, 64])
def test_whole_labels_may_be_large(highest: int) -> None:
    """Labels below 32 are counted in a table; the best of three documents stands last here, and the worst first."""
    scores, labels = [3, 2, 1], [0, highest - 1, highest]
    for name, expected in {
        "ndcg(gain='linear')@1": 0,
        "ndcg(gain='linear')@3": ((highest - 1) / np.log2(3) + highest / 2) / (highest + (highest - 1) / np.log2(3)),
        f"map(rel={highest})": 1 / 3,
        f"recall(rel={highest - 1})@2": 1 / 2,
        "pairwise_correct": 0,
    }.items():
        assert metric(name).per_query(scores, labels, [0, 3])[0] == pytest.approx(expected, abs=1e-12), name


def test_kendalls_tau_never_leaves_its_range() -> None:
    """K / √a / √b of a perfect order is 1 in exact arithmetic; for some lengths rounding makes it more."""
    lengths = range(2, 60)
    pairs = [n * (n - 1) / 2 for n in lengths]
    assert any(k / np.sqrt(k) / np.sqrt(k) > 1 for k in pairs)
    for n in lengths:
        (best,) = metric("kendall_tau").per_query(np.arange(n), np.arange(n), [0, n])
        (worst,) = metric("kendall_tau").per_query(-np.arange(n), np.arange(n), [0, n])
        assert best == -worst == pytest.approx(1)
        assert best <= 1


def test_numbers_that_are_not_real_are_refused() -> None:
    for scores in ([1j, 2], np.array(["2020-01-01", "2021-01-01"], "M8[D]"), [10**400, 1]):
        with pytest.raises(DataError, match="scores must be numbers"):
            metric("map").per_query(scores, [0, 1], [0, 2])
    with pytest.raises(DataError, match="score of row 1 is nan"):
        metric("map").per_query(np.ma.array([1.0, 2.0], mask=[False, True]), [0, 1], [0, 2])
    with pytest.raises(DataError, match="tie_order is float64; give one whole number per document"):
        metric("map").per_query([1, 2], [0, 1], [0, 2], tie_order=[0.5, 1.5])
