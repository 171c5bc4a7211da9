"""One query whose documents are moved by hand or by a force: the numbers of the page about forces."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from podium.data import RankingData
from podium.data.presentation import query_title, ranks_of
from podium.forces import Force, ForceData, laws
from podium.metrics import Metric, metric
from podium.serve.problems import RequestError
from podium.studio.moves import standing
from podium.studio.workspace import LoadedRanking, Workspace

Floats = npt.NDArray[np.float64]
Movement = Literal["free", "linear"]
MOST_SCENE_DOCUMENTS = 200  # of a query, so that their points can be told apart; examples may have more
MOST_DESCENT_SECONDS = 10.0
LARGEST_SCORE = 1e6  # of documents that move
MOST_LAW_DOCUMENTS = 30  # a query with more is too long to test every pair of its documents at once
GENERAL_LISTS = 100  # random lists on which the laws of a force are tested
SHOWN_METRICS = {"wta": metric("wta"), "ndcg": metric("ndcg"), "pairwise_error": metric("pairwise_error")}


@dataclass(frozen=True)
class Scene:
    """One query to move.

    Attributes:
        title: What it is called.
        names: One per document.
        labels: One per document.
        scores: Where the documents start.
        basis: The features by which a linear model moves the documents: [documents × features].
        words: What there is to see.
        force, metric, movement, rate: What to begin with.
    """

    title: str
    names: list[str]
    labels: Floats
    scores: Floats
    basis: Floats
    words: str = ""
    force: str = "lambdarank"
    metric: str = "ndcg@10"
    movement: Movement = "free"
    rate: float = 0.1

    @functools.cached_property
    def data(self) -> RankingData:
        """The query as forces and metrics take it."""
        return RankingData(self.basis.astype(np.float32), self.labels, np.zeros(len(self.labels), np.int64))


class ExaminedPoint(msgspec.Struct):
    """A query at some scores: ranks counted from 1, the force on each document, cost (None if the force has none), and metrics."""

    scores: list[float]
    ranks: list[int]
    force: list[float]
    sum_of_forces: float
    cost: float | None
    metric: str
    value: float | None
    wta: float | None
    ndcg: float | None
    pairwise_error: float | None


class ShownScene(msgspec.Struct):
    """A query to move, as the page shows it."""

    title: str
    words: str
    names: list[str]
    labels: list[float]
    scores: list[float]
    force: str
    metric: str
    movement: Movement
    rate: float


def show_scene(scene: Scene) -> ShownScene:
    """Return the scene as JSON takes it."""
    return ShownScene(
        title=scene.title,
        words=scene.words,
        names=scene.names,
        labels=scene.labels.tolist(),
        scores=scene.scores.tolist(),
        force=scene.force,
        metric=scene.metric,
        movement=scene.movement,
        rate=scene.rate,
    )


def query_scene(workspace: Workspace, number: int, start: LoadedRanking) -> Scene:
    """Return the best documents of a query, at the standing that a ranking gives them: mean 0 and standard deviation 1."""
    rows = workspace.rows(number)
    names, scores = workspace.document_names(number), start.scores[rows]
    kept = np.sort(np.argsort(-scores, kind="stable")[:MOST_SCENE_DOCUMENTS])
    features = workspace.data.features[rows][kept].astype(np.float64)
    missing = np.isnan(features)
    counts = np.maximum((~missing).sum(axis=0), 1)
    centered = np.where(missing, 0.0, features - np.where(missing, 0.0, features).sum(axis=0) / counts)
    spread = np.sqrt((centered**2).mean(axis=0))
    basis = centered / np.where(spread > 0, spread, 1.0) / np.sqrt(max(features.shape[1], 1))
    return Scene(
        title=query_title(workspace.query_texts[number]),
        names=[names[k] for k in kept],
        labels=workspace.data.labels[rows][kept],
        scores=standing(scores[kept]),
        basis=basis,
    )


def examine(
    scene: Scene, scores: Floats, force: Force, judged_by: Metric, *, seed: int = 0, round: int = 0
) -> ExaminedPoint:
    """Return forces, cost and metrics of a scene at some scores."""
    data = scene.data
    outcome = force.compute(
        scores,
        ForceData(data),
        cost=force.has_cost,
        parameters=force.own_values(data) if force.definition.has_thresholds else (),
        seed=seed,
        round=round,
        num_threads=1,
    )
    values = {name: _value(each, scores, data) for name, each in SHOWN_METRICS.items()}
    return ExaminedPoint(
        scores=scores.tolist(),
        ranks=ranks_of(scores).tolist(),
        force=outcome.force.tolist(),
        sum_of_forces=float(outcome.force.sum()),
        cost=None if outcome.cost is None else float(outcome.cost[0]),
        metric=str(judged_by),
        value=_value(judged_by, scores, data),
        **values,
    )


def _value(judged_by: Metric, scores: Floats, data: RankingData) -> float | None:
    value = float(judged_by.per_query(scores, data.labels, data.query_offsets, num_threads=1)[0])
    return None if np.isnan(value) else value


def descend(
    scene: Scene,
    scores: Floats,
    force: Force,
    judged_by: Metric,
    *,
    movement: Movement,
    rate: float,
    steps: int,
    seed: int = 0,
    round: int = 0,
) -> list[ExaminedPoint]:
    """Move the documents along the force and return every point on the way, the last one included and the first one not.

    With `free` movement, each document moves by rate · λ. With `linear` movement they move as gradient descent on a linear
    model of the scene's features moves them, by rate · X Xᵀ λ, so that documents with similar features move together.
    There are fewer points than steps if they take too long.
    """
    points = []
    at = examine(scene, scores, force, judged_by, seed=seed, round=round)
    began = time.monotonic()
    for step in range(1, steps + 1):
        push = np.array(at.force)
        way = push if movement == "free" else scene.basis @ (scene.basis.T @ push)
        scores = scores + rate * way
        if not (np.abs(scores) <= LARGEST_SCORE).all():
            raise RequestError(422, "diverged", "the documents run away; choose a smaller step size")
        at = examine(scene, scores, force, judged_by, seed=seed, round=round + step)
        points.append(at)
        if time.monotonic() - began > MOST_DESCENT_SECONDS:
            break
    return points


def laws_here(scene: Scene, scores: Floats, force: Force, judged_by: Metric) -> dict[str, Any] | None:
    """Return the verdict of the laws at this point alone; None if the query has too many documents."""
    if len(scores) > MOST_LAW_DOCUMENTS:
        return None
    return laws(force, metric=judged_by, points=[(scores, scene.labels)], draws=0).to_dict()


@functools.lru_cache(maxsize=256)
def laws_anywhere(force: Force, judged_by: Metric) -> dict[str, Any]:
    """Return the verdict of the laws at random lists."""
    return laws(force, metric=judged_by, draws=GENERAL_LISTS).to_dict()
