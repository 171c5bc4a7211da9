"""What the studio shows without a data file: generated queries, and two small models trained on others of the same kind."""

from __future__ import annotations

from podium.data import split, synthetic
from podium.studio.workspace import Workspace

TITLE = "generated queries (podium data synth polynomial)"


def demo_workspace() -> Workspace:
    """Return 200 queries of 30 documents that neither model has seen."""
    from podium.rankers import LambdaMART, RankSVM

    data = synthetic.polynomial(queries=500, documents=30, features=20, seed=7)
    train, shown = split(data, (0.6, 0.4))
    workspace = Workspace(shown, TITLE)
    workspace.add("ranksvm", RankSVM(metric="ndcg@10").fit(train))
    workspace.add("lambdamart", LambdaMART(metric="ndcg@10", n_estimators=150, learning_rate=0.1).fit(train))
    return workspace
