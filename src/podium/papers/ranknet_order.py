"""RankNet (ICML 2005), Tables 4 and 6: the order of six systems by NDCG@15 and by training time.

The paper's data is a search engine's and not public; the order is tested on another search engine's set.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from podium.evaluation.paired_tests import holm
from podium.papers.experiment import Cells, Experiment, grid
from podium.papers.judging import above, by_query, fitted, p_value, ranker, values
from podium.papers.plots import Line, Panel, Plot
from podium.papers.ranknet import PAPER
from podium.papers.report import Claim, Report, Spread, Table
from podium.papers.sets import yandex
from podium.rankers import BaseRanker

METRIC = "ndcg@15"
NEAR = 1.1  # times that are no further apart than this are level
PAIRS = {"optimizer": "sgd", "batch": "pair", "rate_rule": "halve", "learning_rate": 0.001}  # as in the paper


@dataclass(frozen=True)
class System:
    """A system of the paper: its name here, and the paper's NDCG@15 and minutes for 100 epochs; None where it has none."""

    ranker: str
    parameters: dict[str, Any] = field(default_factory=dict)
    ndcg: float | None = None
    minutes: int | None = None


SYSTEMS: dict[str, System] = {
    "Quadratic PRank": System("quadratic-prank", {}, 0.327, 39 * 60 + 52),
    "PRank": System("prank", {}, 0.412, 11),
    "OAP-BPM": System("oap-bpm", {}, 0.454, 10 * 60 + 23),
    "RankProp": System("rankprop", {"hidden": ()}, 0.460, 23),
    "RankNet, one layer": System("ranknet", {"hidden": (), **PAIRS}, 0.477, 67),
    "RankNet, two layers": System("ranknet", {"hidden": (10,), **PAIRS}, 0.488, 5 * 60 + 51),
}
# what the next paper made of RankNet: forces of a query summed first
SUMMED = {
    "RankNet, one layer, one update per query": System("ranknet", {"hidden": ()}),
    "RankNet, two layers, one update per query": System("ranknet", {"hidden": (10,)}),
}


def make_system(system: System, epochs: int, seed: int) -> BaseRanker:
    """Return the system untrained, its epoch to be chosen by NDCG@15."""
    shared: dict[str, Any] = {"metric": METRIC, "epochs": epochs, "early_stopping_rounds": None}
    return ranker(system.ranker, system.parameters, **shared, seed=seed, num_threads=1)


def order_cell(system: str, seed: int, epochs: int, test_queries: int | None) -> dict[str, Any]:
    """One system trained on the set, its epoch chosen on validation, judged on test."""
    parts = yandex(seed, test_queries)
    made = make_system(SYSTEMS[system], epochs, seed)
    scores, _ = fitted(made, parts)
    return {**values(scores, parts[2], [METRIC], keep=[METRIC]), "valid": made.best_value_}


def table4(cells: Cells) -> Report:
    """The paper's and ours by system, and whether neighbors in the paper's order stand that way here."""
    rows, per_query = [], {}
    for system in SYSTEMS:
        found = cells.where(system=system)
        if not len(found):
            rows.append([system, f"{SYSTEMS[system].ndcg:.3f}", "; ".join(found.reasons()) or "–", "–", "0"])
            continue
        per_query[system] = by_query(found, METRIC, same=True)
        spread = Spread.of(per_query[system])
        valid = found.numbers("valid").mean()
        rows.append([system, f"{SYSTEMS[system].ndcg:.3f}", spread.short_repr(4), f"{valid:.4f}", str(len(found))])
    pairs = list(itertools.pairwise(per_query))
    corrected = holm([p_value(per_query[better], per_query[worse]) for worse, better in pairs]) if pairs else []
    claims = [
        above(f"{better} stands above {worse}", per_query[better], per_query[worse], p=p)
        for (worse, better), p in zip(pairs, corrected, strict=True)
    ]
    return Report(
        tables=[Table("Mean NDCG@15 on test", ["system", "paper", "ours ± interval", "validation", "seeds"], rows)],
        claims=claims or [Claim("The order of the systems", None, "Fewer than two of them are there.")],
        notes=[
            "A query without a relevant document counts 0. p-values are Wilcoxon's over the queries, Holm's correction for "
            "all claims."
        ],
    )


C_TABLE4 = Experiment(
    name="c-table4",
    paper=f"{PAPER}, Table 4",
    title="Six systems by NDCG@15, on a search engine's data.",
    work=order_cell,
    full=grid(system=tuple(SYSTEMS), seed=range(3), epochs=100, test_queries=None),
    quick=grid(system=tuple(SYSTEMS), seed=0, epochs=5, test_queries=500),
    report=table4,
    data=("yandex",),
    minutes=1,
)


def time_cell(system: str, epochs: int, round: int) -> dict[str, Any]:
    """The seconds of so many epochs of one system, one thread; it may be done with fewer."""
    made = make_system((SYSTEMS | SUMMED)[system], epochs, 0)
    return {"fit_seconds": fitted(made, yandex(0, 10))[1], "epochs": made.n_epochs_}


def table6(cells: Cells) -> Report:
    """Training times, in the paper's order, with each relative to the first of that order that is there."""
    order = sorted(SYSTEMS, key=lambda system: SYSTEMS[system].minutes or 0)
    ours = {
        s: float(np.median(cells.numbers("fit_seconds", system=s)))
        for s in cells.axis("system")
        if len(cells.where(system=s))
    }
    first = next((system for system in order if system in ours), None)
    rows = []
    for system in [*order, *SUMMED]:
        minutes = (SYSTEMS | SUMMED)[system].minutes
        paper, relative = "–", "–"
        if minutes is not None and first is not None:
            paper, relative = f"{minutes // 60} h {minutes % 60} min", f"{minutes / (SYSTEMS[first].minutes or 1):.1f}×"
        reason = "; ".join(cells.reasons(system=system)) or "–"
        mine = (
            [f"{ours[system]:.2f}", f"{ours[system] / ours[first]:.1f}×"] if system in ours and first else [reason, "–"]
        )
        epochs = cells.numbers("epochs", system=system)
        rows.append([system, paper, relative, *mine, f"{epochs.max():.0f}" if len(epochs) else "–"])
    there = [system for system in order if system in ours]
    pairs = list(itertools.combinations(there, 2))
    turned = [f"{a} before {b}" for a, b in pairs if ours[a] > NEAR * ours[b]]
    level = [f"{a} and {b}" for a, b in pairs if ours[b] / NEAR <= ours[a] <= NEAR * ours[b]]
    claim = Claim(
        "The systems take time in the paper's order",
        not turned if pairs else None,
        f"{len(pairs) - len(turned) - len(level)} of {len(pairs)} pairs of systems stand as in the paper"
        + (f"; not {', '.join(turned)}" if turned else "")
        + (f"; within a tenth of each other: {', '.join(level)}." if level else "."),
        close=bool(level) and not turned,
    )
    places = list(range(1, len(order) + 1))
    lines = [Line("paper, minutes", places, [SYSTEMS[s].minutes or 0 for s in order], kind="paper", marker="o")]
    lines.append(Line("ours, seconds", [order.index(s) + 1 for s in there], [ours[s] for s in there], marker="o"))
    panel = Panel("Table 6", "system, in the paper's order", "training time", lines, y_log=True, x_ticks=places)
    columns = [
        "system",
        "paper",
        f"× {first}",
        f"ours, s for {cells.axis('epochs')[0]} epochs",
        f"× {first}",
        "epochs run",
    ]
    return Report(tables=[Table("Training time", columns, rows)], plots=[Plot("table6", [panel])], claims=[claim])


C_TABLE6 = Experiment(
    name="c-table6",
    paper=f"{PAPER}, Table 6",
    title="Training times of six systems, 100 epochs on one thread.",
    work=time_cell,
    full=grid(round=range(3), system=(*SYSTEMS, *SUMMED), epochs=100),
    quick=grid(round=0, system=(*SYSTEMS, *SUMMED), epochs=3),
    report=table6,
    data=("yandex",),
    alone=True,
    minutes=2,
)
