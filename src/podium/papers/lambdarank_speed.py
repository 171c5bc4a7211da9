"""LambdaRank (NIPS 2006), Figure 1: RankNet with one update per pair (V1) and with the forces of a query summed first (V2)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import podium
from podium.papers.experiment import Cells, Experiment, grid
from podium.papers.judging import learned
from podium.papers.plots import Line, Panel, Plot
from podium.papers.report import Claim, Report, Table

PAPER = "LambdaRank, NIPS 2006"
BATCH: dict[str, Any] = {"V1": "pair", "V2": 1}
LAYERS: dict[str, tuple[int, ...]] = {"one layer": (), "two layers": (10,)}
SPEED_UPS = {"one layer": 5.1, "two layers": 8.0}
SLOPES = {"V1": 1.943, "V2": 1.185}
SIZES = (4, 8, 16, 32, 64, 128, 256, 512)


def figure1_cell(panel: str, version: str, layers: str, queries: int, documents: int, epochs: int) -> dict[str, Any]:
    """Seconds and validation NDCG after each epoch, one thread."""
    # the right panel has the shape of the paper's artificial data, all else of its web data
    features = 50 if panel == "right" else 367
    shape: dict[str, Any] = {"documents": documents, "features": features, "levels": 5}
    train = podium.synthetic.polynomial(queries=queries, seed=1, generator_seed=0, **shape)
    valid = (
        podium.synthetic.polynomial(queries=queries // 2, seed=2, generator_seed=0, **shape)
        if panel == "left"
        else None
    )
    ranker = podium.RankNet(
        hidden=LAYERS[layers],
        batch=BATCH[version],
        optimizer="sgd",
        learning_rate=1e-3 if panel == "left" else 1e-6,
        epochs=epochs,
        early_stopping_rounds=None,
        metric="ndcg@10",
        num_threads=1,
    )
    ends: list[float] = []
    began = time.perf_counter()
    learned(ranker, train, valid, callbacks=lambda row: ends.append(time.perf_counter() - began))
    # the first epoch includes what is set up before it
    return {"epoch_seconds": float(np.median(np.diff(ends))), "ends": ends, "valid": [row.valid for row in ranker.log_]}


def figure1(cells: Cells) -> Report:
    """Speed-ups beside the paper's, the curves, and the slopes."""
    left, right, alone = (cells.where(panel=panel) for panel in ("left", "right", "speed"))
    speed = {}
    for layers in alone.axis("layers"):
        seconds = [alone.numbers("epoch_seconds", version=version, layers=layers)[0] for version in BATCH]
        speed[layers] = seconds[0] / seconds[1]
    queries = right.axis("queries")[0]
    documents = np.array(right.axis("documents"))
    curves = {version: right.numbers("epoch_seconds", version=version) for version in BATCH}
    slopes = {version: float(np.polyfit(np.log(documents), np.log(curve), 1)[0]) for version, curve in curves.items()}
    rows = [[f"V2 over V1, {name}", f"{SPEED_UPS[name]:.1f}×", f"{value:.1f}×"] for name, value in speed.items()]
    rows += [[f"log-log slope of {name}", f"{SLOPES[name]:.3f}", f"{value:.3f}"] for name, value in slopes.items()]
    curve = []
    for number, version in enumerate(BATCH):
        found = left.where(version=version, layers="one layer")
        best = [np.maximum.accumulate(cell.result["valid"]) for cell in found]
        curve += [
            Line(version, cell.result["ends"], b, color=number, marker="o") for cell, b in zip(found, best, strict=True)
        ]
    total = documents * queries
    timed = [
        Line(f"{version}, slope {slopes[version]:.2f}", total, seconds, color=number, marker="o")
        for number, (version, seconds) in enumerate(curves.items())
    ]
    panels = [
        Panel("One layer: one point per epoch", "seconds", "best validation NDCG@10", curve, x_log=True),
        Panel("Training time", f"documents, in {queries:,} queries", "seconds per epoch", timed, True, True),
    ]
    return Report(
        tables=[Table("Speed", ["", "paper", "ours"], rows)],
        plots=[Plot("figure1", panels)],
        claims=[
            Claim(
                "V2's time is close to linear in the documents",
                slopes["V2"] < 1.3,
                f"Slope {slopes['V2']:.3f} (below 1.3).",
            ),
            Claim("V1's time is close to quadratic", slopes["V1"] > 1.8, f"Slope {slopes['V1']:.3f} (above 1.8)."),
            Claim(
                "V2 is at least as much faster as in the paper",
                all(speed[name] >= SPEED_UPS[name] for name in speed),
                ", ".join(f"{name} {value:.1f}×" for name, value in speed.items()) + ".",
            ),
        ],
    )


def _plan(queries: int, sizes: tuple[int, ...], web_queries: int, epochs: int) -> list[dict[str, Any]]:
    versions, web = tuple(BATCH), {"queries": web_queries, "documents": 26}
    return [
        *grid(panel="speed", layers=tuple(LAYERS), version=versions, epochs=6, **web),
        *grid(panel="left", layers="one layer", version=versions, epochs=epochs, **web),
        *grid(panel="right", layers="two layers", queries=queries, documents=sizes, version=versions, epochs=4),
    ]


D_FIGURE1 = Experiment(
    name="d-figure1",
    paper=f"{PAPER}, Figure 1",
    title="Training time of RankNet with one update per pair and with forces summed by query.",
    work=figure1_cell,
    full=_plan(1000, SIZES, 1000, 25),
    quick=_plan(100, SIZES[:-1], 100, 3),
    report=figure1,
    alone=True,
    minutes=8,
)
