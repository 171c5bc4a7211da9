"""64 workers with one or two queries each train the model of one process, byte for byte.

The workers are threads of this process that exchange what Ray's actors do: 64 Ray processes take minutes to start
(`benchmarks/cluster_workers.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import podium
from in_process import train_together
from podium.data import RankingData
from podium.training import train

WORKERS, QUERIES = 64, 90
MODELS = {
    "leaf-wise": "trees(num_leaves=15, min_documents=5)",
    "symmetric": "trees(num_leaves=8, growth='symmetric', row_sampling=0.7)",
}


def tiny_queries(first: int) -> RankingData:
    random = np.random.default_rng(first)
    sizes = random.integers(1, 9, QUERIES)
    features = random.normal(size=(int(sizes.sum()), 5)).astype(np.float32)
    features[:, 1] = random.integers(0, 4, len(features))
    features[random.random(len(features)) < 0.1, 2] = np.nan
    labels = np.digitize(features[:, 0] + features[:, 1] + random.normal(size=len(features)), [0.5, 1.5, 2.5])
    return RankingData(features, labels.astype(float), np.repeat(np.arange(first, first + QUERIES), sizes))


def arrays_of(trained: Any) -> dict[str, bytes]:
    return {name: np.asarray(array).tobytes() for name, array in trained.model.arrays().items()}


@pytest.mark.parametrize("model", MODELS)
def test_sixty_four_workers_train_the_model_of_one_process(model: str) -> None:
    ranker = podium.Ranker(
        force="lambdarank(ndcg@10)", model=MODELS[model], schedule="boosting(rounds=3)", num_threads=1
    )
    data, valid = tiny_queries(0), tiny_queries(1000)
    plan = ranker._plan(data)
    together, meeting = train_together(plan, data, valid, WORKERS)
    alone = train(plan, data, valid=valid)
    assert len(together) == WORKERS
    assert meeting.exchanges > 3
    assert {tuple(arrays_of(trained).items()) for trained in together} == {tuple(arrays_of(alone).items())}
    assert {trained.best_value for trained in together} == {alone.best_value}
