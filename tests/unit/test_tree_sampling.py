"""Trees grown from a sample: the size of the sample, unbiased sums, and large forces that are always kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_trees import PLAIN

import podium
from podium.models.growing import TreeBooster
from podium.models.tree_settings import TreesSpec

L2 = 1e12  # so large that a split gains −2·F_left·F_right / l2, linear in each of the two sums


class Sampler:
    """Two groups of documents, told apart by the one feature."""

    def __init__(self, group: np.ndarray, sizes: int = 10, **spec: Any) -> None:
        n = len(group)
        self.data = podium.RankingData(group.reshape(-1, 1), np.zeros(n), np.repeat(np.arange(n // sizes), sizes))
        self.spec = spec

    def grow(self, force: np.ndarray, curvature: np.ndarray, draws: int, **spec: Any) -> list[dict]:
        settled = TreesSpec(**PLAIN | {"num_leaves": 2} | self.spec | spec)
        trees = TreeBooster(settled, self.data, base=np.zeros(1), seed=5, num_threads=1)
        for _ in range(draws):
            trees.grow(force, curvature, 1.0)
        return [trees.arrays_of(t) for t in range(draws)]

    def kept(self, force: np.ndarray, curvature: np.ndarray) -> int:
        """About how many documents the first sample has: the side with fewer, twice."""
        low, high = 1, len(force)
        while high - low > 1:
            middle = (low + high) // 2
            found = len(self.grow(force, curvature, 1, min_documents=middle)[0]["value"]) == 2
            low, high = (middle, high) if found else (low, middle)
        return 2 * low


def strong_and_weak(seed: int, n: int = 4000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(group, force, curvature): forty strong documents that are always kept, and weak ones of all sizes."""
    rng = np.random.default_rng(seed)
    group = np.zeros(n, np.float32)
    group[rng.choice(n, 40, replace=False)] = 1
    force = np.where(group == 1, 50.0, -np.exp(1.5 * rng.normal(size=n)) * rng.choice([0.0, 1, 1, -0.5], n))
    return group, force, np.where(group == 1, 1.0, rng.uniform(0, 1, n))


@pytest.mark.parametrize("share", [0.05, 0.2, 0.6])
def test_sums_over_a_sample_by_force_are_right_on_average(share):
    group, force, curvature = strong_and_weak(0)
    sampler = Sampler(group, row_sampling=share, sampling="force", l2=L2)
    strong, weak = force[group == 1].sum(), force[group == 0].sum()
    gains = [tree["gain"][0] for tree in sampler.grow(force, curvature, 300)]
    estimates = -np.array(gains) * L2 / (2 * strong)
    error = estimates.std() / np.sqrt(len(estimates))
    assert 0 < error < 0.05 * abs(weak)
    assert abs(estimates.mean() - weak) < 4 * error
    exact = Sampler(group, l2=L2).grow(force, curvature, 1)[0]["gain"][0]
    assert -exact * L2 / (2 * strong) == pytest.approx(weak, rel=1e-3)


def test_a_sample_by_force_varies_less_than_one_at_random():
    group, force, curvature = strong_and_weak(1)
    force = np.where(group == 1, force, -np.abs(force))
    spreads = {}
    for sampling in ("force", "uniform"):
        sampler = Sampler(group, row_sampling=0.2, sampling=sampling, l2=L2)
        gains = np.array([tree["gain"][0] for tree in sampler.grow(force, curvature, 100)])
        spreads[sampling] = gains.std() / gains.mean()
    assert spreads["force"] < 0.7 * spreads["uniform"]


@pytest.mark.parametrize("sampling", ["force", "uniform"])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.5, 0.9])
def test_the_share_is_met(share, sampling):
    rng = np.random.default_rng(2)
    n = 20_000
    group = rng.permutation(np.arange(n) % 2).astype(np.float32)
    force = np.exp(rng.normal(size=n)) * np.where(group == 1, 1, -1)
    sampler = Sampler(group, row_sampling=share, sampling=sampling)
    assert sampler.kept(force, rng.uniform(0.1, 1, n)) == pytest.approx(share * n, rel=0.05 if share > 0.05 else 0.2)


def test_the_share_of_queries_is_met_by_whole_queries():
    n = 20_000
    group = (np.arange(n) % 2).astype(np.float32)
    sampler = Sampler(group, query_sampling=0.3)
    force = np.where(group == 1, 1.0, -1.0)
    kept = sampler.kept(force, np.ones(n))
    assert kept == pytest.approx(0.3 * n, rel=0.1)
    assert kept % 10 == 0  # five of each group in every query
    both = Sampler(group, query_sampling=0.5, row_sampling=0.5, sampling="uniform").kept(force, np.ones(n))
    assert both == pytest.approx(0.25 * n, rel=0.1)


def test_leaves_give_what_all_documents_say():
    """The sample chooses the split; the values are Newton steps over everything."""
    group, force, curvature = strong_and_weak(4)
    for sampling in ("force", "uniform"):
        tree = Sampler(group, row_sampling=0.1, sampling=sampling, l2=0.0).grow(force, curvature, 1)[0]
        expected = [force[group == k].sum() / curvature[group == k].sum() for k in (0, 1)]
        np.testing.assert_allclose(tree["value"], expected, rtol=1e-9)
        assert tree["documents"].tolist() == [(group == 0).sum(), 40]


def test_documents_without_force_or_curvature_are_never_drawn():
    n = 2000
    group = (np.arange(n) % 2).astype(np.float32)
    force, curvature = np.zeros(n), np.zeros(n)
    force[:100] = np.where(group[:100] == 1, 1.0, -1.0)
    curvature[:100] = 1.0
    assert Sampler(group, row_sampling=0.5, sampling="force").kept(force, curvature) == 100
    nothing = Sampler(group, row_sampling=0.5).grow(np.zeros(n), np.zeros(n), 2)
    assert [tree["value"].tolist() for tree in nothing] == [[0.0], [0.0]]


def test_samples_differ_by_round_and_by_seed():
    data = podium.synthetic.network(queries=30, documents=20, features=6, hidden=3, seed=0)
    settings = PLAIN | {"num_leaves": 6, "n_estimators": 4, "learning_rate": 1e-9, "row_sampling": 0.3}
    trees = [podium.LambdaMART(seed=seed, **settings).fit(data).model_ for seed in (0, 1)]
    gains = {trees[k].tree(t)["gain"].tobytes() for k in range(2) for t in range(4)}
    assert len(gains) == 8  # scores hardly move, so without new draws all trees would be one
    still = podium.LambdaMART(**settings | {"row_sampling": 1.0}).fit(data).model_
    assert len({still.tree(t)["feature"].tobytes() for t in range(4)}) == 1


def test_a_sample_of_nothing_is_a_constant():
    data = podium.synthetic.network(queries=3, documents=20, features=6, hidden=3, seed=0)
    settings = PLAIN | {"num_leaves": 6, "n_estimators": 30, "learning_rate": 0.3}
    ranker = podium.LambdaMART(query_sampling=1e-9, **{k: v for k, v in settings.items() if k != "query_sampling"})
    with pytest.warns(UserWarning, match="nothing is ranked"):
        assert np.isfinite(ranker.fit(data).predict(data)).all()


@pytest.mark.parametrize("exponent", [150, -150])
def test_samples_do_not_depend_on_the_unit_of_forces(exponent):
    group, force, curvature = strong_and_weak(1)
    plain, scaled = (
        np.array(
            [
                tree["gain"][0]
                for tree in Sampler(group, row_sampling=0.2, sampling="force", l2=L2).grow(f, curvature, 5)
            ]
        )
        for f in (force, force * 2.0**exponent)
    )
    assert (plain * 2.0 ** (2 * exponent) == scaled).all()
