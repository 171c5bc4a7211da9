"""LambdaRank (NIPS 2006), Figure 2: LambdaRank and RankNet on polynomial data, NDCG at ten truncation levels.

As in the paper: 50 features, 50 documents a query, 5 levels, 10,000 / 5,000 / 10,000 queries; an update a query; the learning
rate that is best on validation counts, and falls when the cost (RankNet) or the training NDCG@10 (LambdaRank) gets worse; new
weights after 50 epochs without progress.
The paper says that its labels are distributed as in real sets, without saying how; ours have the shares of a public set of a
search engine. Equally frequent levels, RankNet's own, show what the difference owes to that, and Adam what it owes to the
descent, which is plain in the paper.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import podium
from podium.papers.experiment import Cells, Experiment, grid
from podium.papers.judging import learned, values
from podium.papers.lambdarank_speed import PAPER
from podium.papers.plots import Line, Panel, Plot
from podium.papers.report import Claim, Report, Spread, Table
from podium.papers.sets import artificial

LEVELS = range(1, 11)
METRICS = [f"ndcg@{k}" for k in LEVELS]
SYSTEMS: dict[str, type[podium.RankNet] | type[podium.LambdaRank]] = {
    "RankNet": podium.RankNet,
    "LambdaRank": podium.LambdaRank,
}
EXTRA: dict[str, dict[str, Any]] = {
    "RankNet": {"rate_rule": "halve"},  # its own rule, which watches its cost; × 0.8 there in this paper
    "LambdaRank": {"rate_rule": "shrink", "target": "ndcg"},  # eq 9 is not truncated
}
# the shares of labels 0 to 4 in the training queries of the set that is called yandex here; and equal ones
LABELS: dict[str, int | tuple[float, ...]] = {
    "a search engine's": (0.5294, 0.1848, 0.2656, 0.0157, 0.0045),
    "equally frequent": 5,
}
NETS: dict[str, tuple[int, ...]] = {"linear": (), "two layers": (10,)}


def figure2_cell(
    optimiser: str, labels: str, net: str, system: str, learning_rate: float, epochs: int, queries: int, generator: int
) -> dict[str, Any]:
    """One system with one learning rate: validation NDCG@10, and test NDCG at every level."""
    train, valid, test = artificial("polynomial", generator, queries, queries // 2, queries, levels=LABELS[labels])
    ranker = SYSTEMS[system](
        hidden=NETS[net],
        **EXTRA[system],
        metric="ndcg@10",
        optimiser=optimiser,
        learning_rate=learning_rate,
        epochs=epochs,
        restart_rounds=50,
        seed=generator,
        num_threads=1,
    )
    learned(ranker, train, valid)
    judged = values(ranker.predict(test), test, METRICS, keep=METRICS)
    return {"valid": ranker.best_value_, "best_epoch": ranker.best_epoch_, **judged}


def best_rate(cells: Cells, **settings: Any) -> dict[str, Any]:
    """The cell whose learning rate is best on validation, with that rate."""
    best = max(cells.where(**settings), key=lambda cell: float(cell.result["valid"]))
    return {**best.result, "learning_rate": best.settings["learning_rate"]}


def figure2(cells: Cells) -> Report:
    """Mean NDCG with 95 % intervals by truncation level, both systems, linear and two layers."""
    tables, panels, claims = [], [], []
    for bins in cells.axis("bins"):
        for optimiser in cells.where(bins=bins).axis("optimiser"):
            for net in NETS:
                more = (
                    f"{'' if optimiser == 'sgd' else ', Adam'}{'' if bins == 'frequency' else ', levels equally wide'}"
                )
                some = cells.where(bins=bins, optimiser=optimiser, net=net)
                table, panel, found = _compared(some, f"{net}{more}")
                tables.append(table)
                panels.append(panel)
                claims += found
    return Report(tables=tables, plots=[Plot("figure2", panels)], claims=claims)


def _compared(cells: Cells, title: str) -> tuple[Table, Panel, list[Claim]]:
    """One panel: the first generator with its intervals, and the differences query by query over all generators."""
    generators = cells.axis("generator")
    best = {
        system: [best_rate(cells, system=system, generator=generator) for generator in generators] for system in SYSTEMS
    }
    first = {system: found[0] for system, found in best.items()}
    lines = []
    for number, (system, found) in enumerate(first.items()):
        y, low, high = ([found[side][name] for name in METRICS] for side in ("mean", "low", "high"))
        lines.append(Line(system, list(LEVELS), y, low, high, colour=number, marker="o"))
    rows, apart, above = [], 0, 0
    for name in METRICS:
        ahead = np.concatenate(
            [
                np.subtract(ours["per_query"][name], theirs["per_query"][name])
                for ours, theirs in zip(best["LambdaRank"], best["RankNet"], strict=True)
            ]
        )
        gain = Spread.of(ahead)
        clear = first["LambdaRank"]["low"][name] > first["RankNet"]["high"][name]
        apart, above = apart + clear, above + (gain.low > 0)
        shown = [
            f"{found['mean'][name]:.4f} ± {found['high'][name] - found['mean'][name]:.4f}" for found in first.values()
        ]
        rows.append([name, *shown, "yes" if clear else "no", gain.shown(4)])
    rates = ", ".join(f"{system} {found['learning_rate']:g}" for system, found in first.items())
    paired = "query by query" if len(generators) == 1 else f"query by query, {len(generators)} generators"
    claims = [
        Claim(
            f"LambdaRank is above RankNet at every level, with intervals apart ({title})",
            apart == len(METRICS),
            f"Apart at {apart} of 10 levels. Learning rates chosen on validation: {rates}.",
        ),
        Claim(
            f"Query by query it gains at every level ({title})",
            above == len(METRICS),
            f"The interval of the differences is above 0 at {above} of 10 levels.",
        ),
    ]
    return (
        Table(f"NDCG on test, {title}", ["", *SYSTEMS, "intervals apart", f"difference {paired}"], rows),
        Panel(title, "truncation level", "NDCG on test", lines, x_ticks=list(LEVELS)),
        claims,
    )


def _plan(**more: Any) -> list[dict[str, Any]]:
    return grid(net=tuple(NETS), system=tuple(SYSTEMS), **more)


RATES = {"sgd": (1e-5, 1e-4, 1e-3, 1e-2), "adam": (3e-4, 1e-3, 3e-3)}


def _full(optimiser: str, labels: str, generators: int) -> list[dict[str, Any]]:
    sizes = {"epochs": 300, "queries": 10_000, "generator": range(generators)}
    return _plan(optimiser=optimiser, labels=labels, learning_rate=RATES[optimiser], **sizes)


REAL, EQUAL = LABELS
D_FIGURE2 = Experiment(
    name="d-figure2",
    paper=f"{PAPER}, Figure 2",
    title="LambdaRank and RankNet on polynomial data, NDCG by truncation level.",
    work=figure2_cell,
    full=[*_full("sgd", REAL, 2), *_full("adam", REAL, 1), *_full("sgd", EQUAL, 1)],
    quick=_plan(optimiser="sgd", labels=REAL, learning_rate=1e-3, epochs=10, queries=500, generator=0),
    report=figure2,
    minutes=40,
)
