"""The contract of every row of METRICS, in every variant its parameters allow."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Sequence

import naive_metrics
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium import _core
from podium.errors import DataError, ParameterError
from podium.metrics import METRICS, Metric, metric


def _variants() -> list[Metric]:
    """Each metric plain, with each parameter changed alone, and with cutoffs."""
    found: list[Metric] = []
    for definition in METRICS.values():
        changes = [{}, *({p.name: value} for p in definition.parameters for value in p.examples)]
        if any(p.name == "ties" for p in definition.parameters):
            others = [p for p in definition.parameters if p.name not in ("ties", "empty")]
            changes += [{"ties": "average", p.name: p.examples[0]} for p in others]
        cutoffs = [None, 1, 3, 10] if definition.takes_cutoff else [None]
        found += [definition(cutoff=k, **change) for change in changes for k in cutoffs]
    return found


VARIANTS = _variants()
plain = pytest.mark.parametrize("m", [definition() for definition in METRICS.values()], ids=str)
every = pytest.mark.parametrize("m", VARIANTS, ids=str)
ordered = pytest.mark.parametrize("m", [m for m in VARIANTS if m.name in naive_metrics.ORDERED], ids=str)


def one(m: Metric, scores: list[float], labels: list[float]) -> float:
    return float(m.per_query(scores, labels, [0, len(scores)])[0])


def random_query(rng: np.random.Generator, n: int, levels: Sequence[int] = range(5)) -> tuple[list[float], list[float]]:
    return rng.integers(0, max(2, n // 2), n).astype(float).tolist(), rng.choice(levels, n).astype(float).tolist()


@every
def test_name_reads_back(m: Metric) -> None:
    assert metric(str(m)) == m
    assert hash(metric(str(m))) == hash(m)
    assert str(metric(f"  {m} ")) == str(m)
    assert pickle.loads(pickle.dumps(m)) == m


def test_table_is_complete() -> None:
    for name, definition in METRICS.items():
        assert definition.name == name
        assert definition.summary
        assert definition.formula
        assert definition.source
        assert all(p.examples for p in definition.parameters)
    assert set(METRICS) == set(naive_metrics.ORDERED) | set(naive_metrics.PAIRS)
    assert {*METRICS, "custom"} == set(_core.metric_names())


@every
def test_value_equals_naive_twin(m: Metric) -> None:
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 4, 5, 6, 6, 6, 6, 6):
        scores, labels = random_query(rng, n)
        if naive_metrics.is_empty(m, labels):
            continue
        assert one(m, scores, labels) == pytest.approx(naive_metrics.value(m, scores, labels), abs=1e-12)


@pytest.mark.parametrize("m", [m for m in VARIANTS if m.parameters.get("ties") != "average"], ids=str)
def test_long_lists_equal_naive_twin(m: Metric) -> None:
    """Long lists, for which small cutoffs select the top instead of sorting everything."""
    rng = np.random.default_rng(2)
    for n in (13, 41, 130):
        scores, labels = random_query(rng, n)
        assert one(m, scores, labels) == pytest.approx(naive_metrics.value(m, scores, labels), abs=1e-12)


@every
@pytest.mark.parametrize("levels", [range(5), (0, 0, 0, 0, 0, 1, 4)], ids=["all levels", "few relevant"])
def test_swap_deltas_equal_brute_force(m: Metric, levels: Sequence[int]) -> None:
    m = m.with_parameters(ties="input") if "ties" in m.parameters else m
    rng = np.random.default_rng(3)
    for n in (1, 2, 3, 5, 8, 12):
        scores, labels = random_query(rng, n, levels)
        deltas = m.swap_deltas(scores, labels)
        assert deltas.shape == (n, n)
        assert np.diagonal(deltas) == pytest.approx(0)
        for i, j in itertools.combinations(range(n), 2):
            expected = naive_metrics.swap_delta(m, scores, labels, i, j)
            assert deltas[i, j] == pytest.approx(expected, abs=1e-12)
            assert deltas[j, i] == deltas[i, j]


@plain
def test_swap_deltas_equal_own_difference(m: Metric) -> None:
    """The delta is the difference of the very metric, also for real-valued labels."""
    rng = np.random.default_rng(4)
    scores, labels = rng.permutation(15).astype(float), rng.uniform(0, 4, 15)
    deltas = m.swap_deltas(scores, labels)
    before = one(m, scores.tolist(), labels.tolist())
    for i, j in itertools.combinations(range(15), 2):
        swapped = scores.copy()
        swapped[[i, j]] = swapped[[j, i]]
        assert deltas[i, j] == pytest.approx(one(m, swapped.tolist(), labels.tolist()) - before, abs=1e-12)


@every
def test_extreme_scores_only_rank(m: Metric) -> None:
    labels = [0.0, 3.0, 1.0, 4.0, 0.0]
    ranks = [1.0, 4.0, 2.0, 0.0, 3.0]
    extremes = [-1e30, float("inf"), 0.0, float("-inf"), 1e30]
    assert one(m, extremes, labels) == one(m, ranks, labels)
    assert np.isfinite(m.swap_deltas(extremes, labels)).all()


@plain
def test_zeros_of_either_sign_tie(m: Metric) -> None:
    assert one(m, [0.0, -0.0, 0.0], [0, 1, 2]) == one(m, [0.0, 0.0, 0.0], [0, 1, 2])


@plain
def test_nan_score_is_refused_with_its_row(m: Metric) -> None:
    with pytest.raises(DataError, match="score of row 3 is nan"):
        m.per_query([1, 2, 3, float("nan"), 5], [0, 1, 0, 1, 2], [0, 2, 5])
    with pytest.raises(DataError, match="score of row 1 is nan"):
        m.swap_deltas([1, float("nan")], [0, 1])


def refused_or_finite(m: Metric, labels: list[float]) -> bool:
    try:
        values = m.with_parameters(empty="zero").per_query([4, 3, 2, 1], labels, [0, 4])
        deltas = m.swap_deltas([4, 3, 2, 1], labels)
    except DataError as error:
        return "label of row 0 is" in str(error)
    return bool(np.isfinite(values).all() and np.isfinite(deltas).all())


@every
@pytest.mark.parametrize("label", [1e308, 1e301, 1e300, 1000.0])
def test_labels_whose_sums_overflow_are_refused(m: Metric, label: float) -> None:
    assert refused_or_finite(m, [label, label, 0.0, label])
    assert refused_or_finite(m, [-label, label, 0.0, -label])


@plain
def test_label_that_is_not_finite_is_refused(m: Metric) -> None:
    for bad in (float("nan"), float("inf")):
        with pytest.raises(DataError, match=f"label of row 1 is {bad}"):
            m.per_query([1, 2, 3], [0, bad, 1], [0, 3])


@every
def test_one_document(m: Metric) -> None:
    if m.name in naive_metrics.PAIRS:
        return
    assert one(m, [0.3], [2.0]) == pytest.approx(naive_metrics.value(m, [0.3], [2.0]))
    assert m.swap_deltas([0.3], [2.0]).tolist() == [[0.0]]


@every
def test_query_without_documents_is_empty(m: Metric) -> None:
    values = m.per_query([1.0, 2.0], [0.0, 2.0], [0, 0, 2, 2])
    expected = {"zero": 0.0, "one": 1.0, "skip": float("nan")}[str(m.parameters["empty"])]
    assert values[[0, 2]] == pytest.approx(expected, nan_ok=True)


@every
def test_all_labels_equal(m: Metric) -> None:
    """Every order is equally good; with all labels 0 the query is empty."""
    rng = np.random.default_rng(5)
    for label in (0.0, 2.0):
        labels = [label] * 7
        values = {one(m, rng.permutation(7).astype(float).tolist(), labels) for _ in range(5)}
        if naive_metrics.is_empty(m, labels):
            expected = {"zero": 0.0, "one": 1.0, "skip": float("nan")}[str(m.parameters["empty"])]
            assert next(iter(values)) == pytest.approx(expected, nan_ok=True)
        else:
            assert len(values) == 1
        assert (m.swap_deltas(rng.permutation(7).astype(float), labels) == 0).all()


@every
def test_permutation_of_documents_changes_nothing(m: Metric) -> None:
    rng = np.random.default_rng(6)
    scores, labels = rng.permutation(40).astype(float), rng.integers(0, 5, 40).astype(float)
    before, deltas = one(m, scores.tolist(), labels.tolist()), m.swap_deltas(scores, labels)
    for _ in range(4):
        moved = rng.permutation(40)
        assert one(m, scores[moved].tolist(), labels[moved].tolist()) == before
        assert (m.swap_deltas(scores[moved], labels[moved]) == deltas[np.ix_(moved, moved)]).all()


@every
def test_thread_counts_give_the_same_bytes(m: Metric) -> None:
    rng = np.random.default_rng(7)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 40, 300))])
    scores = rng.integers(0, 30, offsets[-1]).astype(float)
    labels = rng.integers(0, 5, offsets[-1]).astype(float)
    values = {m.per_query(scores, labels, offsets, num_threads=threads).tobytes() for threads in (1, 2, 5)}
    assert len(values) == 1


@plain
def test_empty_conventions(m: Metric) -> None:
    values = [one(m.with_parameters(empty=rule), [1, 2], [0, 0]) for rule in ("zero", "one", "skip")]
    assert values == pytest.approx([0, 1, float("nan")], nan_ok=True)


@plain
def test_perfect_order_is_best(m: Metric) -> None:
    labels = [4.0, 3.0, 3.0, 1.0, 0.0, 0.0]
    m = m.definition(cutoff=2) if m.definition.takes_cutoff else m
    best, worst = one(m, [6, 5, 4, 3, 2, 1], labels), one(m, [1, 2, 3, 4, 5, 6], labels)
    assert (best > worst) == m.higher_is_better
    assert best == pytest.approx(naive_metrics.value(m, [6, 5, 4, 3, 2, 1], labels))


@ordered
@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=6))
def test_ties_average_equals_listing_every_order(m: Metric, documents: list[tuple[int, int]]) -> None:
    scores, labels = [float(s) for s, _ in documents], [float(label) for _, label in documents]
    m = m.with_parameters(ties="average", empty="zero")
    assert one(m, scores, labels) == pytest.approx(naive_metrics.value(m, scores, labels), abs=1e-12)


@plain
def test_cutoff_on_a_metric_that_takes_none(m: Metric) -> None:
    if m.definition.takes_cutoff:
        assert metric(f"{m.name}@3").cutoff == 3
    else:
        with pytest.raises(ParameterError, match="which looks at the whole list"):
            metric(f"{m.name}@3")


def _swapped(scores: Sequence[float], i: int, j: int) -> list[float]:
    out = list(scores)
    out[i], out[j] = out[j], out[i]
    return out


@pytest.mark.parametrize("m", [m for m in VARIANTS if m.additive_depth is not None], ids=str)
def test_additive_metrics_change_by_the_sum_of_swaps_that_share_no_document(m: Metric) -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        labels = rng.integers(0, 5, 8).astype(float).tolist()
        scores = np.arange(8.0)[::-1].tolist()
        a, b, c, d = rng.permutation(8)[:4].tolist()
        first, second = _swapped(scores, a, b), _swapped(scores, c, d)
        before, *values = (one(m, order, labels) for order in (scores, first, second, _swapped(first, c, d)))
        assert values[2] - before == pytest.approx(values[0] - before + values[1] - before, abs=1e-12)
