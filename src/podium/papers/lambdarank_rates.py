"""LambdaRank (NIPS 2006), §6.3 and Figure 2: plain descent with the paper's own rates and rules, at a fifth of its size.

The paper varied the learning rate from 1e-7 to 1e-2 and took the one that was best on validation. The rate is multiplied by 0.8
when the training cost (RankNet) rises or the training NDCG@10 (LambdaRank) falls, and new weights are drawn after 50 epochs
without progress. `d-figure2` has the paper's size, and fewer rates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.papers.experiment import Cells, Experiment, grid
from podium.papers.lambdarank import (
    EXTRA,
    LABELS,
    NETS,
    PLAIN,
    REAL,
    SYSTEMS,
    Best,
    best_claims,
    best_panel,
    best_table,
    chosen,
    judged_system,
)
from podium.papers.lambdarank_speed import PAPER
from podium.papers.plots import Line, Panel, Plot
from podium.papers.report import Claim, Report, Table
from podium.papers.sets import artificial

RATES = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
RULES = EXTRA | {"RankNet": {"rate_rule": "shrink_on_cost"}}


def rate_cell(
    optimizer: str, net: str, system: str, learning_rate: float, epochs: int, queries: int, generator: int
) -> dict[str, Any]:
    """One system with one learning rate and the rules of the paper."""
    parts = artificial("polynomial", generator, queries, queries // 2, queries, levels=LABELS[REAL])
    settings = {"optimizer": optimizer, "learning_rate": learning_rate, "epochs": epochs, "seed": generator}
    return judged_system(parts, system, net, **RULES[system], **settings)


def rates(cells: Cells) -> Report:
    """Validation NDCG@10 by learning rate, and Figure 2 with the rates that validation chose."""
    tables, panels, claims = [], [], []
    for net in NETS:
        some = cells.where(net=net)
        if not len(some):
            continue
        generators = some.axis("generator")
        best: Best = {name: [chosen(some, system=name, generator=number) for number in generators] for name in SYSTEMS}
        tables += [_by_rate(some, net), best_table(best, net)]
        panels += [_panel(some, net), best_panel(best, net)]
        claims += [*best_claims(best, net), _inside(some, best, net)]
    return Report(tables=tables, plots=[Plot("rates", panels)], claims=claims)


def _valid(cells: Cells, system: str, rate: float) -> float:
    return float(np.mean(cells.numbers("valid", system=system, learning_rate=rate)))


def _by_rate(cells: Cells, net: str) -> Table:
    tried = sorted(cells.axis("learning_rate"))
    rows = [[f"{rate:g}", *(f"{_valid(cells, system, rate):.4f}" for system in SYSTEMS)] for rate in tried]
    return Table(f"Validation NDCG@10 by learning rate, {net}", ["rate", *SYSTEMS], rows)


def _panel(cells: Cells, net: str) -> Panel:
    tried = sorted(cells.axis("learning_rate"))
    lines = [
        Line(system, tried, [_valid(cells, system, rate) for rate in tried], color=number, marker="o")
        for number, system in enumerate(SYSTEMS)
    ]
    return Panel(f"{net}, by rate", "learning rate", "validation NDCG@10", lines, x_log=True)


def _inside(cells: Cells, best: Best, net: str) -> Claim:
    tried = cells.axis("learning_rate")
    ends = {
        f"{system} {found['learning_rate']:g}"
        for system, several in best.items()
        for found in several
        if found["learning_rate"] in (min(tried), max(tried))
    }
    return Claim(
        f"The best rates lie inside the range that the paper tried ({net})",
        not ends if len(tried) > 2 else None,
        f"Chosen at an end: {', '.join(sorted(ends))}." if ends else "None was chosen at an end.",
    )


SIZE = {"optimizer": PLAIN, "net": tuple(NETS), "system": tuple(SYSTEMS)}

D_FIGURE2_RATES = Experiment(
    name="d-figure2-rates",
    paper=f"{PAPER}, §6.3 and Figure 2",
    title="Plain descent with rates from 1e-7 to 1e-2 and the paper's rules, at a fifth of the paper's size.",
    work=rate_cell,
    full=grid(**SIZE, learning_rate=RATES, epochs=300, queries=2_000, generator=range(2)),
    quick=grid(**SIZE, learning_rate=(1e-5, 1e-3), epochs=5, queries=300, generator=0),
    report=rates,
    minutes=8,
)
