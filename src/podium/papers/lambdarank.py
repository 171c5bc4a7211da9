"""LambdaRank (NIPS 2006), Figure 2: LambdaRank and RankNet on polynomial data, NDCG at ten truncation levels.

As in the paper: 50 features, 50 documents a query, 5 levels, 10,000 / 5,000 / 10,000 queries; an update a query; the learning
rate that is best on validation counts; × 0.8 when the training NDCG@10 falls; new weights after 50 epochs without progress.
The paper descends plainly; Adam is there to see what the difference owes to the descent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import podium
from podium.papers.experiment import Cells, Experiment, grid
from podium.papers.judging import learned, values
from podium.papers.lambdarank_speed import PAPER
from podium.papers.plots import Line, Panel, Plot
from podium.papers.report import Claim, Report, Table
from podium.papers.sets import artificial

LEVELS = range(1, 11)
METRICS = [f"ndcg@{k}" for k in LEVELS]
SYSTEMS: dict[str, type[podium.RankNet] | type[podium.LambdaRank]] = {
    "RankNet": podium.RankNet,
    "LambdaRank": podium.LambdaRank,
}
EXTRA: dict[str, dict[str, Any]] = {"RankNet": {}, "LambdaRank": {"target": "ndcg"}}  # eq 9 is not truncated
NETS: dict[str, tuple[int, ...]] = {"linear": (), "two layers": (10,)}


def figure2_cell(
    optimiser: str, net: str, system: str, learning_rate: float, epochs: int, queries: int, generator: int
) -> dict[str, Any]:
    """One system with one learning rate: validation NDCG@10, and test NDCG at every level."""
    train, valid, test = artificial("polynomial", generator, queries, queries // 2, queries, levels=5)
    ranker = SYSTEMS[system](
        hidden=NETS[net],
        **EXTRA[system],
        metric="ndcg@10",
        optimiser=optimiser,
        learning_rate=learning_rate,
        rate_rule="shrink",
        epochs=epochs,
        restart_rounds=50,
        seed=generator,
        num_threads=1,
    )
    learned(ranker, train, valid)
    judged = values(ranker.predict(test), test, METRICS)
    return {"valid": ranker.best_value_, "best_epoch": ranker.best_epoch_, **judged}


def best_rate(cells: Cells, **settings: Any) -> dict[str, Any]:
    """The cell whose learning rate is best on validation, with that rate."""
    best = max(cells.where(**settings), key=lambda cell: float(cell.result["valid"]))
    return {**best.result, "learning_rate": best.settings["learning_rate"]}


def figure2(cells: Cells) -> Report:
    """Mean NDCG with 95 % intervals by truncation level, both systems, linear and two layers."""
    tables, panels, claims = [], [], []
    for optimiser in cells.axis("optimiser"):
        for net in NETS:
            some = cells.where(optimiser=optimiser, net=net)
            title = f"{net}{'' if optimiser == 'sgd' else ', Adam'}"
            table, panel, claim = _compared(some, title)
            tables.append(table)
            panels.append(panel)
            claims.append(claim)
    return Report(tables=tables, plots=[Plot("figure2", panels)], claims=claims)


def _compared(cells: Cells, title: str) -> tuple[Table, Panel, Claim]:
    """One panel: the first generator with its intervals, and the mean difference over all generators."""
    generators = cells.axis("generator")
    first = {system: best_rate(cells, system=system, generator=generators[0]) for system in SYSTEMS}
    gains = {
        name: [
            best_rate(cells, system="LambdaRank", generator=generator)["mean"][name]
            - best_rate(cells, system="RankNet", generator=generator)["mean"][name]
            for generator in generators
        ]
        for name in METRICS
    }
    lines = []
    for number, (system, found) in enumerate(first.items()):
        y, low, high = ([found[side][name] for name in METRICS] for side in ("mean", "low", "high"))
        lines.append(Line(system, list(LEVELS), y, low, high, colour=number, marker="o"))
    rows, apart, above = [], 0, 0
    for name in METRICS:
        clear = first["LambdaRank"]["low"][name] > first["RankNet"]["high"][name]
        apart, above = apart + clear, above + (first["LambdaRank"]["mean"][name] > first["RankNet"]["mean"][name])
        shown = [
            f"{found['mean'][name]:.4f} ± {found['high'][name] - found['mean'][name]:.4f}" for found in first.values()
        ]
        rows.append([name, *shown, f"{np.mean(gains[name]):+.4f}", "yes" if clear else "no"])
    rates = ", ".join(f"{system} {found['learning_rate']:g}" for system, found in first.items())
    claim = Claim(
        f"LambdaRank is above RankNet at every level, with intervals apart ({title})",
        apart == len(METRICS),
        f"Above at {above} of 10 levels, intervals apart at {apart}. Learning rates chosen on validation: {rates}.",
    )
    columns = ["", *SYSTEMS, f"difference, mean of {len(generators)} generators", "intervals apart"]
    return (
        Table(f"NDCG on test, {title}", columns, rows),
        Panel(title, "truncation level", "NDCG on test", lines, x_ticks=list(LEVELS)),
        claim,
    )


def _plan(**more: Any) -> list[dict[str, Any]]:
    return grid(net=tuple(NETS), system=tuple(SYSTEMS), **more)


RATES = (1e-4, 1e-3, 1e-2)
D_FIGURE2 = Experiment(
    name="d-figure2",
    paper=f"{PAPER}, Figure 2",
    title="LambdaRank and RankNet on polynomial data, NDCG by truncation level.",
    work=figure2_cell,
    full=[
        *_plan(optimiser="sgd", learning_rate=RATES, epochs=300, queries=10_000, generator=range(3)),
        *_plan(optimiser="adam", learning_rate=RATES, epochs=300, queries=10_000, generator=range(1)),
    ],
    quick=_plan(optimiser="sgd", learning_rate=1e-3, epochs=10, queries=500, generator=0),
    report=figure2,
    minutes=40,
)
