"""A studio with three models that most tests share, and one to train in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from asking import Asker, small_data

import podium
from podium.studio.workspace import Workspace


@pytest.fixture(scope="session")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    """A studio with trees, a linear model and a net."""
    data = small_data()
    workspace = Workspace(data, "small data")
    common = {"metric": "ndcg@10", "num_threads": 1}
    workspace.add("trees", podium.LambdaMART(n_estimators=8, num_leaves=4, min_documents=2, **common).fit(data))
    workspace.add("linear", podium.RankSVM(**common).fit(data))
    workspace.add("net", podium.RankNet(epochs=2, **common).fit(data))
    found = Asker(workspace, tmp_path_factory.mktemp("studio") / "models")
    yield found
    found.close()


@pytest.fixture
def trainer(tmp_path) -> Iterator[Asker]:
    """A studio of its own, without models."""
    found = Asker(Workspace(small_data(), "small data"), tmp_path / "models")
    yield found
    found.close()
