"""Two trained rankers and their data, of which charts are made."""

from __future__ import annotations

import pytest

import podium


@pytest.fixture(scope="session")
def parts():
    data = podium.synthetic.network(queries=30, documents=12, features=6, seed=1)
    return podium.split(data, (0.6, 0.2, 0.2), seed=1)


@pytest.fixture(scope="session")
def trees(parts):
    return podium.LambdaMART(n_estimators=12, num_leaves=6, min_documents=2, num_threads=1, metric="ndcg@5").fit(
        parts[0], valid=parts[1]
    )


@pytest.fixture(scope="session")
def net(parts):
    return podium.RankNet(epochs=5, num_threads=1, metric="ndcg@5", also=["mrr"]).fit(parts[0], valid=parts[1])
