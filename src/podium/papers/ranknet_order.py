"""RankNet (ICML 2005), Tables 4 and 6: the order of six systems by NDCG@15 and by training time.

The paper's data is a search engine's and not public; the order is looked for on another search engine's set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.papers.experiment import Cells, Experiment, grid
from podium.papers.judging import fitted, p_value, ranker, values
from podium.papers.plots import Line, Panel, Plot
from podium.papers.ranknet import PAPER
from podium.papers.report import Claim, Report, Spread, Table
from podium.papers.sets import yandex

METRIC = "ndcg@15"
# in the paper: mean NDCG@15 on test, and minutes for 100 epochs
SYSTEMS: dict[str, tuple[str, dict[str, Any], float, float]] = {
    "Quadratic PRank": ("quadratic-prank", {}, 0.327, 39 * 60 + 52),
    "PRank": ("prank", {}, 0.412, 11),
    "OAP-BPM": ("oap-bpm", {}, 0.454, 10 * 60 + 23),
    "RankProp": ("rankprop", {}, 0.460, 23),
    "RankNet, one layer": ("ranknet", {"hidden": ()}, 0.477, 67),
    "RankNet, two layers": ("ranknet", {"hidden": (10,)}, 0.488, 5 * 60 + 51),
}


def order_cell(system: str, seed: int, epochs: int, test_queries: int | None) -> dict[str, Any]:
    """One system trained on the set, its epoch chosen on validation, judged on test."""
    name, parameters, _, _ = SYSTEMS[system]
    parts = yandex(seed, test_queries)
    made = ranker(
        name, **parameters, metric=METRIC, epochs=epochs, early_stopping_rounds=None, seed=seed, num_threads=1
    )
    scores, seconds = fitted(made, parts)
    return {**values(scores, parts[2], [METRIC], keep=[METRIC]), "valid": made.best_value_, "fit_seconds": seconds}


def table4(cells: Cells) -> Report:
    """The paper's and ours by system, and whether neighbours in the paper's order stand that way here."""
    rows, per_query = [], {}
    for system in SYSTEMS:
        found = cells.where(system=system)
        if not len(found):
            rows.append([system, f"{SYSTEMS[system][2]:.3f}", "; ".join(found.reasons()) or "–", "–", "0"])
            continue
        per_query[system] = np.mean([cell.result["per_query"][METRIC] for cell in found], axis=0)
        spread = Spread.of(per_query[system])
        valid = found.numbers("valid").mean()
        rows.append([system, f"{SYSTEMS[system][2]:.3f}", spread.shown(4), f"{valid:.4f}", str(len(found))])
    claims = []
    for worse, better in zip(list(per_query)[:-1], list(per_query)[1:], strict=True):
        gap, p = per_query[better].mean() - per_query[worse].mean(), p_value(per_query[better], per_query[worse])
        claims.append(Claim(f"{better} stands above {worse}", bool(gap > 0), f"By {gap:+.4f} (Wilcoxon p = {p:.2g})."))
    return Report(
        tables=[Table("Mean NDCG@15 on test", ["system", "paper", "ours ± interval", "validation", "seeds"], rows)],
        claims=claims or [Claim("The order of the systems", None, "Fewer than two of them are there.")],
    )


C_TABLE4 = Experiment(
    name="c-table4",
    paper=f"{PAPER}, Table 4",
    title="Six systems by NDCG@15, on a search engine's data.",
    work=order_cell,
    full=grid(system=tuple(SYSTEMS), seed=range(5), epochs=100, test_queries=None),
    quick=grid(system=tuple(SYSTEMS), seed=0, epochs=5, test_queries=500),
    report=table4,
    data=("yandex",),
    minutes=10,
)


def time_cell(system: str, epochs: int, round: int) -> dict[str, Any]:
    """The seconds of so many epochs of one system, one thread."""
    name, parameters, _, _ = SYSTEMS[system]
    parts = yandex(0, 10)
    made = ranker(name, **parameters, metric=METRIC, epochs=epochs, early_stopping_rounds=None, num_threads=1)
    return {"fit_seconds": fitted(made, parts)[1]}


def table6(cells: Cells) -> Report:
    """Training times, in the paper's order, with those of each system relative to linear PRank."""
    order = sorted(SYSTEMS, key=lambda system: SYSTEMS[system][3])
    ours = {s: float(np.median(cells.numbers("fit_seconds", system=s))) for s in order if len(cells.where(system=s))}
    epochs = cells.axis("epochs")[0]
    first = next(iter(ours.values()), 1.0)
    rows = []
    for system in order:
        minutes = SYSTEMS[system][3]
        missing = "; ".join(cells.reasons(system=system)) or "–"
        mine = [f"{ours[system]:.2f}", f"{ours[system] / first:.1f}×"] if system in ours else [missing, "–"]
        rows.append(
            [system, f"{minutes // 60:.0f} h {minutes % 60:.0f} min", f"{minutes / SYSTEMS[order[0]][3]:.1f}×", *mine]
        )
    named = list(ours)
    turned = [f"{a} before {b}" for k, a in enumerate(named) for b in named[k + 1 :] if ours[a] > ours[b]]
    pairs = len(named) * (len(named) - 1) // 2
    claim = Claim(
        "The systems take time in the paper's order",
        None if pairs == 0 else not turned,
        f"{pairs - len(turned)} of {pairs} pairs of systems stand as in the paper"
        + (f"; not {', '.join(turned)}." if turned else "."),
    )
    places = list(range(1, len(order) + 1))
    lines = [Line("paper, minutes", places, [SYSTEMS[s][3] for s in order], kind="paper", marker="o")]
    if ours:
        x = [order.index(system) + 1 for system in ours]
        lines.append(Line("ours, seconds", x, list(ours.values()), marker="o"))
    panel = Panel("Table 6", "system, in the paper's order", "training time", lines, y_log=True, x_ticks=places)
    columns = ["system", "paper", "× PRank", f"ours, s for {epochs} epochs", "× the first"]
    return Report(tables=[Table("Training time", columns, rows)], plots=[Plot("table6", [panel])], claims=[claim])


C_TABLE6 = Experiment(
    name="c-table6",
    paper=f"{PAPER}, Table 6",
    title="Training times of six systems, 100 epochs on one thread.",
    work=time_cell,
    full=grid(round=range(3), system=tuple(SYSTEMS), epochs=100),
    quick=grid(round=0, system=tuple(SYSTEMS), epochs=3),
    report=table6,
    data=("yandex",),
    alone=True,
    minutes=5,
)
