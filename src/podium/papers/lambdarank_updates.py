"""LambdaRank (NIPS 2006), §5 and §6.1: when the weights are updated, and when the forces of a query are summed first.

The paper's V1 goes through the net twice for each pair. It may update the weights after each pair or once per query; the paper
found that both converge alike and take the same time. V2 sums the forces of each document first: the same update per query,
with one pass per document. So the speedup is the sum's, and not that of fewer updates.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import podium
from podium.papers.experiment import Cells, Experiment, grid
from podium.papers.judging import Floats, learned
from podium.papers.lambdarank_speed import LAYERS, PAPER
from podium.papers.plots import Line, Panel, Plot
from podium.papers.report import Claim, Report, Table

BY_PAIR, BY_QUERY, SUMMED = "V1, one update per pair", "V1, one update per query", "V2"
BATCH: dict[str, Any] = {BY_PAIR: "pair", BY_QUERY: "query_pairs", SUMMED: 1}
NEAR_TIME = 1.25
NEAR_VALUE = 0.01


def update_cell(layers: str, version: str, queries: int, epochs: int, seed: int) -> dict[str, Any]:
    """Processor seconds of an epoch on one thread, and validation NDCG@10 after each."""
    shape: dict[str, Any] = {"documents": 26, "features": 367, "levels": 5, "generator_seed": seed}
    train, valid = (podium.synthetic.polynomial(queries=queries, seed=2 * seed + k, **shape) for k in (1, 2))
    ranker = podium.RankNet(
        hidden=LAYERS[layers],
        batch=BATCH[version],
        optimizer="sgd",
        learning_rate=1e-3,
        epochs=epochs,
        early_stopping_rounds=None,
        metric="ndcg@10",
        seed=seed,
        num_threads=1,
    )
    ends: list[float] = []
    learned(ranker, train, valid, callbacks=lambda row: ends.append(time.process_time()))
    return {"epoch_seconds": float(np.median(np.diff(ends))), "valid": [row.valid for row in ranker.log_]}


def updates(cells: Cells) -> Report:
    """Time and validation NDCG by version, and the three claims."""
    rows, panels, claims = [], [], []
    for layers in cells.axis("layers"):
        found = {version: cells.where(layers=layers, version=version) for version in BATCH}
        seconds = {version: float(np.median(some.numbers("epoch_seconds"))) for version, some in found.items()}
        curves: dict[str, Floats] = {
            version: np.array([cell.result["valid"] for cell in some]) for version, some in found.items()
        }
        for version in BATCH:
            mean = curves[version].mean(axis=0)
            rows.append([layers, version, f"{seconds[version]:.4f}", f"{mean[0]:.4f}", f"{mean.max():.4f}"])
        claims += _claims(layers, seconds, curves)
        panels.append(_panel(layers, curves))
    columns = ["net", "version", "processor seconds per epoch", "NDCG@10 after one epoch", "highest NDCG@10"]
    return Report(
        tables=[Table("Validation NDCG@10 and time, means over the seeds", columns, rows)],
        plots=[Plot("updates", panels)],
        claims=claims,
    )


def _claims(layers: str, seconds: dict[str, float], curves: dict[str, Floats]) -> list[Claim]:
    ratio = seconds[BY_QUERY] / seconds[BY_PAIR]
    apart = float(np.abs(curves[BY_PAIR] - curves[BY_QUERY]).mean())
    equal = float(np.abs(curves[SUMMED] - curves[BY_QUERY]).max())
    return [
        Claim(
            f"V1 takes the same time with one update per query as with one per pair ({layers})",
            1 / NEAR_TIME < ratio < NEAR_TIME,
            f"It takes {ratio:.2f} times as long; the same is taken as a factor of at most {NEAR_TIME}.",
        ),
        Claim(
            f"V1 converges alike with one update per query and with one per pair ({layers})",
            apart < NEAR_VALUE,
            f"Validation NDCG@10 differs by {apart:.4f} on average over the epochs; alike is taken as less than {NEAR_VALUE}.",
        ),
        Claim(
            f"V2 makes the updates of V1 per query in less time ({layers})",
            equal < NEAR_VALUE and seconds[SUMMED] < seconds[BY_QUERY],
            f"Validation NDCG@10 differs by {equal:.1g} at most, and an epoch is {seconds[BY_QUERY] / seconds[SUMMED]:.1f} "
            "times as fast.",
        ),
    ]


def _panel(layers: str, curves: dict[str, Floats]) -> Panel:
    lines = [
        Line(version, list(range(1, curve.shape[1] + 1)), curve.mean(axis=0).tolist(), color=number, marker="o")
        for number, (version, curve) in enumerate(curves.items())
    ]
    return Panel(layers, "epoch", "validation NDCG@10", lines)


D_UPDATES = Experiment(
    name="d-updates",
    paper=f"{PAPER}, §5 and §6.1",
    title="RankNet with one update per pair, with one per query, and with forces summed by document.",
    work=update_cell,
    full=grid(layers=tuple(LAYERS), version=tuple(BATCH), queries=200, epochs=20, seed=range(3)),
    quick=grid(layers=tuple(LAYERS), version=tuple(BATCH), queries=20, epochs=3, seed=0),
    report=updates,
    alone=True,
    minutes=3,
)
