"""Histograms for very many documents: wide cells grow the trees of narrow ones, and no sum over 10⁹ documents overflows.

`test_trees.py` compares trees from wide cells with plain loops.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_trees import PLAIN, assert_identical
from test_workers import CASES, VALID, check_same, plan_of

import podium
from in_process import train_together
from podium import _core
from podium.errors import DataError
from podium.exchange import Exchange
from podium.memory import MemoryLimit
from podium.models import growing
from podium.models.growing import TreeBooster
from podium.models.tree_settings import TreesSpec
from podium.training import train

NEVER = 2**30
SETTINGS: list[dict[str, Any]] = [
    {},
    {"growth": "depth", "max_depth": 4},
    {"growth": "symmetric"},
    {"growth": "symmetric", "l1": 0.5, "min_documents": 40},
    {"growth": "symmetric", "random_thresholds": True, "max_bins": 7},
    {"min_documents": 40},
    {"l1": 0.5, "l2": 3.0},
    {"monotone": {1: 1, 2: -1}, "min_documents": 9},
    {"categorical": (0,)},
    {"categorical": (0,), "min_documents": 30},
    {"random_strength": 1.0},
    {"random_thresholds": True},
    {"row_sampling": 0.5, "sampling": "uniform"},
    {"query_sampling": 0.5, "column_sampling": 0.5},
]


def problem(seed: int = 0, n: int = 3000) -> tuple[podium.RankingData, np.ndarray, np.ndarray]:
    """Return data with missing values, and forces and curvatures that are multiples of 1/64."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 12)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 0] = rng.integers(0, 9, n)
    X[:, 4:] = np.round(X[:, 4:])
    data = podium.RankingData(X, np.zeros(n), np.repeat(np.arange(n // 10), 10))
    force = rng.integers(-128, 128, n) + 64 * (X[:, 0] % 3 == 1) + 50 * (X[:, 1] > 0.3)
    return data, force / 64, rng.integers(1, 64, n) / 64


def booster(
    data: podium.RankingData, *, threads: int = 1, exchange: Exchange | None = None, **spec: Any
) -> TreeBooster:
    settings = TreesSpec(**PLAIN | {"num_leaves": 40} | spec)
    more = {} if exchange is None else {"exchange": exchange}
    return TreeBooster(settings, data, base=np.zeros(1), seed=3, num_threads=threads, **more)


def grow(data: podium.RankingData, force: np.ndarray, curvature: np.ndarray, **options: Any) -> dict[str, np.ndarray]:
    trees = booster(data, **options)
    trees.grow(force, curvature, 0.5)
    return trees.arrays_of(0)


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "WIDE_CELL_DOCUMENTS", 0)


@pytest.mark.parametrize("spec", SETTINGS, ids=str)
def test_wide_cells_grow_the_tree_of_narrow_ones(spec, monkeypatch):
    """Both hold these forces exactly. Neither threads nor instructions nor room for histograms change the tree."""
    data, force, curvature = problem()
    for share in (0, 10**9):
        monkeypatch.setattr(growing, "SHARED_BYTE_DOCUMENTS", share)
        monkeypatch.setattr(growing, "WIDE_CELL_DOCUMENTS", NEVER)
        narrow = grow(data, force, curvature, **spec)
        assert len(narrow["value"]) > 8
        monkeypatch.setattr(growing, "WIDE_CELL_DOCUMENTS", 0)
        assert_identical(grow(data, force, curvature, **spec), narrow)
        assert_identical(grow(data, force, curvature, threads=3, **spec), narrow)
    monkeypatch.setattr(growing, "HISTOGRAM_BYTES", 1)
    assert_identical(grow(data, force, curvature, **spec), narrow)
    try:
        _core.use_avx512(False)
        assert_identical(grow(data, force, curvature, **spec), narrow)
        _core.use_avx2(False)
        assert_identical(grow(data, force, curvature, **spec), narrow)
    finally:
        _core.use_avx2(True)
        _core.use_avx512(True)


def test_threads_that_share_rows_fill_the_same_wide_cells(wide):
    data, force, curvature = problem(1, n=30_000)
    for growth in ("leaf", "symmetric"):
        alone = grow(data, force, curvature, growth=growth)
        assert_identical(grow(data, force, curvature, growth=growth, threads=3), alone)


@pytest.mark.parametrize("name", CASES)
def test_workers_with_wide_cells_train_the_model_of_one_process(name, wide):
    plan, data = plan_of(name), CASES[name][3]
    valid = VALID if data.pairs is None else None
    expected = train(plan, data, valid=valid)
    for workers in (1, 2, 3):
        for each in train_together(plan, data, valid, workers, seed=workers)[0]:
            check_same(expected, each)


@pytest.mark.parametrize("name", ["leaf-wise", "symmetric, large leaves"])
def test_workers_whose_wide_histograms_do_not_fit_train_the_same_model(name, wide, monkeypatch):
    plan, data = plan_of(name), CASES[name][3]
    expected = train(plan, data, valid=VALID)
    for slots in (1, 4, 9):
        monkeypatch.setattr(growing, "HISTOGRAM_BYTES", slots * 7 * 257 * 16)
        for each in train_together(plan, data, VALID, 2)[0]:
            check_same(expected, each)


# ---- when cells are wide, and what for


def weak_beside_strong(n: int = 400) -> tuple[podium.RankingData, np.ndarray]:
    """Return two groups of documents with forces of 1 and −1; every query of one group has two with 10¹² and −10¹², too."""
    group = np.repeat([0.0, 1.0], n // 2)
    force = np.where(group == 1, 1.0, -1.0)
    force[: n // 2 : 10], force[1 : n // 2 : 10] = 1e12, -1e12
    return podium.RankingData(group[:, None], np.zeros(n), np.repeat(np.arange(n // 10), 10)), force


@pytest.mark.parametrize(
    ("limit", "sample", "leaves"), [(400, 1.0, 2), (401, 1.0, 1), (300, 1.0, 2), (300, 0.5, 1), (100, 0.5, 2)]
)
def test_cells_are_wide_from_a_number_of_documents_on(limit, sample, leaves, monkeypatch):
    """Of the documents from which a tree is grown. Narrow cells lose forces that are far smaller than the sum of all."""
    data, force = weak_beside_strong()
    monkeypatch.setattr(growing, "WIDE_CELL_DOCUMENTS", limit)
    tree = grow(data, force, np.ones(len(data)), query_sampling=sample, num_leaves=2)
    assert len(tree["value"]) == leaves


def test_other_trees_of_a_forest_may_have_the_other_cells(monkeypatch):
    """The number of documents in a sample of queries varies around the limit."""
    data, force, curvature = problem()
    spec = {"query_sampling": 0.5}
    grown = []
    for limit in (0, 1500, NEVER):
        monkeypatch.setattr(growing, "WIDE_CELL_DOCUMENTS", limit)
        trees = booster(data, **spec)
        for _ in range(12):
            trees.grow(force, curvature, 0.5)
        grown.append([trees.arrays_of(t) for t in range(12)])
    for tree in range(12):
        assert_identical(grown[1][tree], grown[0][tree])
        assert_identical(grown[2][tree], grown[0][tree])


# ---- 10⁹ documents, in numbers


class Copies(Exchange):
    """The exchange of one of many workers that all have the same documents."""

    number = 2**24

    def gather(self, own: Any) -> list[Any]:
        return [own]

    def combine(self, sums: Any, maxima: Any) -> None:
        sums *= self.number


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"growth": "depth", "max_depth": 4},
        {"growth": "symmetric"},
        {"min_documents": 9},
        {"growth": "symmetric", "min_documents": 9},
        {"monotone": {1: 1, 2: -1}, "min_documents": 5},
        {"row_sampling": 0.5, "sampling": "uniform"},
        {"query_sampling": 0.5},
    ],
    ids=str,
)
def test_sixteen_million_workers_with_the_same_documents_grow_the_tree_of_one(spec, monkeypatch):
    """Five billion documents: numbers of documents do not fit into 32 bits, and neither do the sums of their forces."""
    data, force, curvature = problem(2, n=300)
    alone = grow(data, force, curvature, min_curvature=2.0**-10, **spec)
    assert len(alone["value"]) > 4
    scaled = spec | ({"min_documents": spec["min_documents"] * Copies.number} if "min_documents" in spec else {})
    monkeypatch.setattr(growing, "BIN_SAMPLE_DOCUMENTS", 2**40)
    for rows in (growing.HISTOGRAM_BYTES, 1):
        monkeypatch.setattr(growing, "HISTOGRAM_BYTES", rows)
        found = grow(data, force, curvature, exchange=Copies(), min_curvature=2.0**-10 * Copies.number, **scaled)
        found["documents"] = found["documents"] // Copies.number
        found["gain"] = found["gain"] / Copies.number
        assert_identical(found, alone)


def test_a_sample_by_force_of_five_billion_documents_keeps_its_share(monkeypatch):
    data, force, curvature = problem(2, n=300)
    monkeypatch.setattr(growing, "BIN_SAMPLE_DOCUMENTS", 2**40)
    spec = {"row_sampling": 0.4, "num_leaves": 4}
    alone = grow(data, force, curvature, **spec)
    found = grow(data, force, curvature, exchange=Copies(), **spec)
    assert found["feature"].tolist() == alone["feature"].tolist()
    assert (found["documents"] == alone["documents"] * Copies.number).all()
    np.testing.assert_allclose(found["gain"] / Copies.number, alone["gain"], rtol=1e-4)


TOTALS = (5e-324, 1e-200, 0.75, 1.0, np.nextafter(2.0, 1), 2.0, 3.7e11, 2.0**60, 1e78)


@pytest.mark.parametrize("total", TOTALS)
@pytest.mark.parametrize(
    ("documents", "wide", "least"),
    [(2**26 - 1, False, 15), (2**26, True, 2**24 - 1), (10**9, True, 10**6), (2**33, True, 2**17 - 1)],
)
def test_sums_in_cells_neither_overflow_nor_lose_digits(documents, wide, least, total):
    """Each of the documents may be rounded up by half a unit, and the average of them is a number of whole units."""
    scaled = Fraction(total) * Fraction(2) ** _core.cell_exponent(total, documents, wide)
    assert scaled + Fraction(documents, 2) < 2 ** (51 if wide else 31)
    assert scaled / documents >= least or total < 1e-100  # the exponent is at most 1000


@pytest.mark.parametrize("largest", TOTALS)
@pytest.mark.parametrize("documents", [1, 2**26, 10**9, 2**33])
def test_sums_of_leaves_neither_overflow_nor_lose_digits(documents, largest):
    """The sums of leaves and of forces, which are made for the largest number."""
    scaled = Fraction(largest) * Fraction(2) ** _core.sum_exponent(largest, documents)
    assert scaled < 2**50  # what to_fixed takes
    assert documents * (scaled + Fraction(1, 2)) < 2**62
    assert scaled >= 2**26 or largest < 1e-100


# ---- limits in Python


def test_narrow_cells_are_for_less_than_the_core_can_add():
    data, _, _ = problem(n=20)
    bins = _core.make_bins([data.features], [np.arange(20)], 255, np.zeros(12, np.uint8), 1)
    keys = np.zeros(2, np.uint64)
    with pytest.raises(ValueError, match="narrow cells"):
        _core.Booster(bins, np.array([0, 10, 20]), keys, True, 2**30 + 1, "", 1)
    assert growing.WIDE_CELL_DOCUMENTS == 2**26


def test_the_documents_of_one_process_are_limited_by_their_numbers(monkeypatch):
    data, _, _ = problem(n=200)
    assert growing.MOST_PROCESS_DOCUMENTS == 2**31 - 1
    monkeypatch.setattr(growing, "MOST_PROCESS_DOCUMENTS", 199)
    with pytest.raises(DataError, match=r"at most 199 documents per process; found 200: train on .* with more workers"):
        booster(data)


def test_wide_cells_are_counted_in_a_limit_of_memory(monkeypatch, tmp_path: Path):
    data, _, _ = problem()
    left = []
    for limit in (3000, 3001):
        monkeypatch.setattr(growing, "WIDE_CELL_DOCUMENTS", limit)
        memory = MemoryLimit(256 << 20, str(tmp_path))
        spec = TreesSpec(**PLAIN)
        trees = TreeBooster(spec, data, base=np.zeros(1), seed=0, num_threads=1, memory=memory)
        left.append(trees.histogram_bytes)
    assert left[1] - left[0] == 3000 * 8
