"""LambdaRank on the ranks of noisy scores equals a plain loop over pairs."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

import podium
from podium.data.hashing import query_hashes, splitmix64

DATA = podium.synthetic.network(queries=6, documents=25, features=4, seed=3)
SCORES = np.random.default_rng(0).normal(size=DATA.n_documents)


def noisy(scores: np.ndarray, key: np.uint64, draw: int, seed: int, round: int, noise: float) -> np.ndarray:
    """s + noise·π·(u₁ + u₂ + u₃ + u₄ − 2), the u's from 16 bits each of a hash."""
    start = splitmix64(splitmix64(np.array([seed], np.uint64)) ^ np.uint64(round))
    bits = splitmix64(splitmix64(splitmix64(start ^ key) ^ np.uint64(draw)) ^ np.arange(len(scores), dtype=np.uint64))
    parts = [(bits >> np.uint64(shift)) & np.uint64(0xFFFF) for shift in (0, 16, 32, 48)]
    total = np.sum(np.array(parts, np.int64), axis=0) - 2 * 65535
    return scores + noise * math.pi / 65536 * total


def plain(
    labels: np.ndarray, scores: np.ndarray, places: np.ndarray, cutoff: int, truncation: int
) -> tuple[np.ndarray, np.ndarray]:
    """σρ|ΔNDCG| over all pairs of which one is among the first `truncation`, places given."""
    gain = 2.0**labels - 1
    discount = np.where(places < cutoff, 1 / np.log2(places + 2.0), 0.0)
    ideal = (np.sort(gain)[::-1][:cutoff] / np.log2(np.arange(min(cutoff, len(gain))) + 2.0)).sum()
    force, curvature = np.zeros(len(labels)), np.zeros(len(labels))
    for i in range(len(labels)):
        for j in range(len(labels)):
            if labels[i] > labels[j] and min(places[i], places[j]) < truncation:
                delta = abs((gain[i] - gain[j]) * (discount[i] - discount[j])) / ideal
                rho = 1 / (1 + math.exp(scores[i] - scores[j]))
                force[i] += rho * delta
                force[j] -= rho * delta
                curvature[[i, j]] += rho * (1 - rho) * delta
    return force, curvature


@pytest.mark.parametrize("truncation", [None, 2, 7, 15])
@pytest.mark.parametrize("draws", [1, 3, 20])
@pytest.mark.parametrize("noise", [0.3, 2.0])
@pytest.mark.parametrize("documents", [3, 25, 150])
def test_places_are_those_of_noisy_scores(documents, noise, draws, truncation):
    data = podium.synthetic.network(queries=6, documents=documents, features=4, seed=3)
    every_score = np.random.default_rng(0).normal(size=data.n_documents)
    force, curvature = podium.force(
        f"lambdarank(ndcg@10, noise={noise}, draws={draws}{'' if truncation is None else f', truncation={truncation}'})"
    )(every_score, data, seed=7, round=4, num_threads=2)
    keys = query_hashes(data.query_ids, 0)
    for q, key in enumerate(keys):
        rows = slice(int(data.query_offsets[q]), int(data.query_offsets[q + 1]))
        scores, labels = every_score[rows], data.labels[rows]
        wanted = np.zeros((2, len(labels)))
        for draw in range(draws):
            order = np.argsort(-noisy(scores, key, draw, 7, 4, noise), kind="stable")
            places = np.argsort(order)
            wanted += np.array(plain(labels, scores, places, 10, truncation or len(labels))) / draws
        np.testing.assert_allclose(force[rows], wanted[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(curvature[rows], wanted[1], rtol=1e-9, atol=1e-12)


def test_many_draws_are_averaged_in_parts():
    """250 draws of ten documents are more than are averaged at once."""
    test_places_are_those_of_noisy_scores(15, 2.0, 250, None)


def test_forces_that_cancel_out_are_zero():
    """Where every order has the same documents among the first, precision does not change when two of them swap."""
    data = podium.RankingData(np.zeros((9, 1)), [0, 1, 2, 1, 0, 1, 2, 0, 1], [1, 1, 1, 1, 2, 2, 2, 2, 2])
    force, curvature = podium.force("lambdarank(p@5, noise=1, draws=7)")(np.arange(9.0), data)
    assert not force.any()
    assert not curvature.any()


def test_noise_differs_by_round_and_has_the_variance_of_the_logistic():
    force = podium.force("lambdarank(ndcg@10, noise=1)")
    first, again, next_round = (force(SCORES, DATA, round=r)[0] for r in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, next_round)
    drawn = noisy(np.zeros(200_000), np.uint64(5), 0, 0, 0, 1.0)
    assert drawn.std() == pytest.approx(math.pi / math.sqrt(3), rel=0.01)
    assert abs(drawn.mean()) < 0.02


MANY_DRAWS = """
import re
from pathlib import Path
import numpy as np
import podium

def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024

data = podium.RankingData(np.zeros((8000, 1), np.float32), np.arange(8000) % 5, np.zeros(8000, int))
few, many = (podium.force(f"lambdarank(ndcg@32, noise=1, draws={draws})") for draws in (2, 1000))
few(np.zeros(8000), data, num_threads=1)
before = peak()
many(np.zeros(8000), data, num_threads=1)
print(peak() - before)
"""


def test_many_draws_of_a_long_query_take_little_memory():
    """Of 8,000 documents with equal scores, a thousand draws rank nearly all among the first 32 once."""
    run = subprocess.run([sys.executable, "-c", MANY_DRAWS], check=True, capture_output=True, text=True)
    assert float(run.stdout) < 100, "MiB"
