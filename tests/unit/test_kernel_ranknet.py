"""The square root of a kernel matrix, and what KernelRankNet's penalty means."""

from __future__ import annotations

import numpy as np
import pytest

import podium
from podium import _core


def naive_pivots(kernel: np.ndarray, least: float) -> list[int]:
    """The pivots by definition: each time the row that the rows before it explain least, by a projection onto them."""
    pivots: list[int] = []
    while len(pivots) < len(kernel):
        remainders = np.diag(kernel).copy()
        if pivots:
            across = kernel[pivots]
            remainders -= np.einsum("ij,ij->j", across, np.linalg.solve(kernel[np.ix_(pivots, pivots)], across))
            remainders[pivots] = -np.inf
        best = int(remainders.argmax())
        if not remainders[best] > least * np.diag(kernel).max():
            break
        pivots.append(best)
    return pivots


@pytest.mark.parametrize(("rows", "rank"), [(1, 1), (7, 7), (40, 12), (130, 65), (600, 600)])
def test_the_root_of_a_kernel_matrix_equals_its_definition(rows, rank):
    generator = np.random.default_rng(rows)
    points = generator.normal(size=(rows, rank)) + (np.eye(rows) * 4 if rank == rows else 0)
    kernel = points @ points.T
    pivots, basis = _core.kernel_basis(kernel, 1e-10, 2)
    basis = basis.reshape(len(pivots), len(pivots))
    assert len(pivots) == rank
    if rows < 200:
        assert pivots.tolist() == naive_pivots(kernel, 1e-8)
    np.testing.assert_array_equal(basis, np.triu(basis))
    np.testing.assert_allclose(basis.T @ kernel[np.ix_(pivots, pivots)] @ basis, np.eye(rank), atol=1e-6)
    assert _core.kernel_basis(kernel, 1e-10, 1)[1].tobytes() == basis.tobytes()


def test_matrices_without_a_root():
    for empty in (np.zeros((0, 0)), np.zeros((3, 3)), np.full((2, 2), np.nan), -np.eye(2)):
        pivots, basis = _core.kernel_basis(empty, 1e-10, 1)
        assert len(pivots) == len(basis) == 0
    pivots, basis = _core.kernel_basis(np.array([[4.0, 4.0], [4.0, 4.0]]), 1e-10, 1)
    assert (pivots.tolist(), basis.tolist()) == ([0], [0.5])
    with pytest.raises(ValueError, match="row of the matrix"):
        _core.kernel_basis(np.zeros((2, 3)), 1e-10, 1)


def test_the_penalty_does_not_depend_on_the_length_of_lists():
    """Lists in which every document stands twice have four times as many pairs with the same mean cost."""
    data = podium.synthetic.network(queries=20, documents=8, features=3, seed=0)
    twice = podium.RankingData(np.repeat(data.features, 2, axis=0), np.repeat(data.labels, 2), np.repeat(data.qid, 2))
    once, again = (
        podium.KernelRankNet(tolerance=1e-10, epochs=1000, width=3.0).fit(part).predict(data) for part in (data, twice)
    )
    np.testing.assert_allclose(again, once, atol=1e-3 * np.ptp(once))
    much = podium.KernelRankNet(tolerance=1e-10, epochs=1000, width=3.0, l2=3e-4 / 4).fit(data).predict(data)
    assert np.ptp(much) > 1.2 * np.ptp(once)


def test_the_width_is_resolved_from_the_number_of_features():
    data = podium.synthetic.network(queries=5, documents=8, features=9, seed=0)
    assert podium.KernelRankNet(epochs=200).fit(data).resolved_["width"] == 6.0
    assert podium.KernelRankNet(epochs=200, width=1.5).fit(data).resolved_["width"] == 1.5
