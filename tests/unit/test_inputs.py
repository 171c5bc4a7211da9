"""How features become inputs: means and deviations of columns equal NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import podium
from podium import _core
from podium.models.inputs import InputMap


def make(rows: int, features: int, seed: int, missing: float = 0.2) -> podium.RankingData:
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(rows, features)) * 10.0 ** rng.integers(-3, 6, features) + 5).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    return podium.RankingData(X, rng.integers(0, 3, rows), np.sort(rng.integers(0, max(rows // 7, 1), rows)))


@settings(max_examples=30, deadline=None)
@given(rows=st.integers(1, 300), features=st.integers(1, 40), seed=st.integers(0, 10**6))
def test_moments_are_numpy_s(rows: int, features: int, seed: int) -> None:
    data = make(rows, features, seed)
    map = InputMap.of(data, standardize=True)
    X = data.features.astype(np.float64)
    known = ~np.isnan(X).all(axis=0)
    np.testing.assert_allclose(map.center[known], np.nanmean(X[:, known], axis=0), rtol=1e-12, atol=1e-12)
    spread = np.nanstd(X[:, known], axis=0)
    varies = spread > 1e-6 * np.abs(map.center[known])
    np.testing.assert_allclose(map.scale[known][varies], 1 / spread[varies], rtol=1e-9)
    assert (map.center[~known] == 0).all()
    assert (map.scale[~known] == 0).all()


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_and_the_order_of_queries_change_no_bit(threads: int) -> None:
    data = make(30_000, 7, 3)
    expected = InputMap.of(data, standardize=True, num_threads=1)
    other = InputMap.of(data, standardize=True, num_threads=threads)
    turned = InputMap.of(data.select(np.arange(data.n_queries)[::-1]), standardize=True, num_threads=threads)
    for name, value in expected.arrays.items():
        assert value.tobytes() == other.arrays[name].tobytes() == turned.arrays[name].tobytes()


def test_constant_and_missing_columns() -> None:
    X = np.array([[1.1, np.nan, np.nan], [1.1, np.nan, 4.0], [1.1, np.nan, 2.0]], np.float32)
    data = podium.RankingData(X, [0, 1, 2], [0, 0, 0])
    inputs = InputMap.of(data, standardize=True)(data.features)
    np.testing.assert_allclose(inputs, [[0, 0, 0], [0, 0, 1], [0, 0, -1]], atol=1e-12)
    as_they_are = InputMap.of(data, standardize=False)(data.features)
    np.testing.assert_allclose(as_they_are[:, 2], [3, 4, 2])


def test_the_core_and_the_map_agree_on_every_input() -> None:
    data = make(200, 9, 5)
    map = InputMap.of(data, standardize=True)
    net = _core.DenseNet([9, 9], _core.Activation.tanh)
    identity = np.concatenate([np.eye(9).reshape(-1), np.zeros(9)])
    out = _core.net_scores(net, identity, data.features, map.center, map.scale, map.filled, 1)
    np.testing.assert_allclose(out.reshape(-1, 9), map(data.features), rtol=1e-14, atol=1e-15)
