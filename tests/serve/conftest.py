"""Models to serve, and a service that most tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from running import DATA, Running, serving

import podium


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models: trees with names, two other versions of them, a model without names, and special ones."""
    folder = tmp_path_factory.mktemp("models")
    for name, rounds in (("shop", 12), ("second", 5), ("third", 3)):
        podium.LambdaMART(n_estimators=rounds, num_leaves=6, min_documents=2, num_threads=1).fit(DATA).save(
            folder / f"{name}.podium"
        )
    podium.RankSVM().fit(DATA.replace(feature_names=None)).save(folder / "linear.podium")
    podium.StructRank(epochs=1, normalize="minmax").fit(DATA).save(folder / "scaled.podium")
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=120), rng.integers(0, 3, 120)]).astype(np.float32)
    labels = (X[:, 0] + (X[:, 1] == 2) > 0.5).astype(float)
    data = podium.RankingData(
        X,
        labels,
        np.repeat(np.arange(10), 12),
        feature_names=["size", "color"],
        categorical_features={"color": ["red", "green", "blue"]},
    )
    podium.LambdaMART(n_estimators=5, num_leaves=4, min_documents=2, num_threads=1).fit(data).save(
        folder / "colors.podium"
    )
    return folder


@pytest.fixture(scope="session")
def service(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service of all models with small limits."""
    names = ("shop", "linear", "scaled", "colors")
    with serving(
        tmp_path_factory.mktemp("service"),
        *(models / f"{name}.podium" for name in names),
        *("--max-documents", 500, "--max-queries", 20, "--max-body-bytes", 2_000_000),
    ) as running:
        assert running.call("/readyz").status == 200
        yield running
