"""LambdaRank (NIPS 2006), Figure 2: LambdaRank and RankNet on polynomial data, NDCG at ten truncation levels.

As in the paper: 50 features, 50 documents a query, 5 levels, 10,000 / 5,000 / 10,000 queries; the learning rate that is best
on validation counts; × 0.8 when the training cost or NDCG@10 gets worse; new weights after 50 epochs without progress.
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
NETS: dict[str, tuple[int, ...]] = {"linear": (), "two layers": (10,)}


def figure2_cell(
    net: str, system: str, learning_rate: float, epochs: int, queries: int, generator: int
) -> dict[str, Any]:
    """One system with one learning rate: validation NDCG@10, and test NDCG at every level."""
    train, valid, test = artificial("polynomial", generator, queries, queries // 2, queries, levels=5)
    ranker = SYSTEMS[system](
        hidden=NETS[net],
        metric="ndcg@10",
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


def best_rate(cells: Cells, net: str, system: str, generator: int) -> dict[str, Any]:
    """The cell whose learning rate is best on validation, with that rate."""
    found = list(cells.where(net=net, system=system, generator=generator))
    best = max(found, key=lambda cell: cell.result["valid"])
    return {**best.result, "learning_rate": best.settings["learning_rate"]}


def figure2(cells: Cells) -> Report:
    """Mean NDCG with 95 % intervals by truncation level, both systems, linear and two layers."""
    generators, tables, panels, claims = cells.axis("generator"), [], [], []
    for net in NETS:
        first = {system: best_rate(cells, net, system, generators[0]) for system in SYSTEMS}
        lines = []
        for number, (system, found) in enumerate(first.items()):
            y, low, high = ([found[side][name] for name in METRICS] for side in ("mean", "low", "high"))
            lines.append(Line(system, list(LEVELS), y, low, high, colour=number, marker="o"))
        panels.append(Panel(f"{net}", "truncation level", "NDCG on test", lines, x_ticks=list(LEVELS)))
        rows, apart, above = [], 0, 0
        for name in METRICS:
            low, high = first["LambdaRank"]["low"][name], first["RankNet"]["high"][name]
            apart, above = (
                apart + (low > high),
                above + (first["LambdaRank"]["mean"][name] > first["RankNet"]["mean"][name]),
            )
            shown = [
                f"{found['mean'][name]:.4f} ± {found['high'][name] - found['mean'][name]:.4f}"
                for found in first.values()
            ]
            gains = [
                best_rate(cells, net, "LambdaRank", g)["mean"][name] - best_rate(cells, net, "RankNet", g)["mean"][name]
                for g in generators
            ]
            rows.append([name, *shown, f"{np.mean(gains):+.4f}", "yes" if low > high else "no"])
        columns = ["", *SYSTEMS, f"difference, mean of {len(generators)} generators", "intervals apart"]
        tables.append(Table(f"NDCG on test, {net}", columns, rows))
        rates = ", ".join(f"{system} {found['learning_rate']:g}" for system, found in first.items())
        claims.append(
            Claim(
                f"LambdaRank is above RankNet at every level, with intervals apart ({net})",
                apart == len(METRICS),
                f"Above at {above} of 10 levels, intervals apart at {apart}. Learning rates chosen on validation: {rates}.",
            )
        )
    return Report(tables=tables, plots=[Plot("figure2", panels)], claims=claims)


D_FIGURE2 = Experiment(
    name="d-figure2",
    paper=f"{PAPER}, Figure 2",
    title="LambdaRank and RankNet on polynomial data, NDCG by truncation level.",
    work=figure2_cell,
    full=grid(
        net=tuple(NETS),
        system=tuple(SYSTEMS),
        learning_rate=(1e-4, 1e-3, 1e-2),
        epochs=300,
        queries=10_000,
        generator=range(3),
    ),
    quick=grid(net=tuple(NETS), system=tuple(SYSTEMS), learning_rate=1e-3, epochs=15, queries=1000, generator=0),
    report=figure2,
    minutes=60,
)
