"""RankNet (ICML 2005), §2: RankProp ranks better than regression on the labels themselves.

Both are one net, one optimizer and one squared error. Regression keeps the labels as its targets; RankProp fits the targets
anew after every few epochs. The paper quotes the claim and shows no figures for it.
"""

from __future__ import annotations

from typing import Any

import podium
from podium.evaluation.paired_tests import holm
from podium.papers.experiment import Cells, Experiment, grid
from podium.papers.forces_by_classes import parts_of
from podium.papers.judging import Floats, above, by_query, learned, p_value, values
from podium.papers.ranknet import PAPER
from podium.papers.report import Claim, Report, Spread, Table

METRIC = "ndcg@10"
NETS: dict[str, tuple[int, ...]] = {"one layer": (), "two layers": (10,)}
REGRESSION, RANKPROP = "regression on the labels", "RankProp"


def target_cell(data: str, net: str, system: str, draw: int, size: int, epochs: int) -> dict[str, Any]:
    """One net, its epoch chosen on validation, judged on test."""
    train, valid, test = parts_of(data, draw, size)
    phases: dict[str, Any] = (
        {"phase_epochs": epochs + 1} if system == REGRESSION else {}
    )  # no phase ends, so that the labels stay
    made = podium.RankProp(
        hidden=NETS[net], metric=METRIC, epochs=epochs, early_stopping_rounds=None, seed=draw, num_threads=1, **phases
    )
    learned(made, train, valid)
    return {**values(made.predict(test), test, [METRIC], keep=[METRIC]), "phases": made.n_phases_}


def targets(cells: Cells) -> Report:
    """NDCG@10 of both by set and net, and whether RankProp is above."""
    rows: list[list[str]] = []
    named: list[tuple[str, Floats, Floats]] = []
    for data in cells.axis("data"):
        for net in NETS:
            sides = [cells.where(data=data, net=net, system=system) for system in (REGRESSION, RANKPROP)]
            if not all(len(side) == len(side.all) for side in sides):
                rows.append([data, net, "; ".join(sides[0].reasons()), "–", "–"])
                continue
            plain, moved = (by_query(side, METRIC, same=data == "yandex") for side in sides)
            shown = [Spread.of(each).short_repr(4) for each in (plain, moved, moved - plain)]
            rows.append([data, net, *shown])
            named.append((f"RankProp ranks better than regression on the labels ({data}, {net})", moved, plain))
    corrected = holm([p_value(moved, plain) for _, moved, plain in named]) if named else []
    claims = [above(text, moved, plain, p=p) for (text, moved, plain), p in zip(named, corrected, strict=True)]
    columns = ["data", "net", REGRESSION, RANKPROP, "difference query by query"]
    return Report(
        tables=[Table("NDCG@10 on test", columns, rows)],
        claims=claims or [Claim("RankProp ranks better than regression on the labels", None, "There are no cells.")],
        notes=["p-values are Wilcoxon's over the queries, with Holm's correction for all claims."],
    )


DRAWS = {"ohsumed": (1, 2, 3, 4, 5), "yandex": (0, 1, 2), "network": (0, 1, 2), "polynomial": (0, 1, 2)}


def _plan(draws: dict[str, tuple[int, ...]], **more: Any) -> list[dict[str, Any]]:
    systems = (REGRESSION, RANKPROP)
    return [
        settings
        for data, numbers in draws.items()
        for settings in grid(data=data, net=tuple(NETS), system=systems, draw=numbers, **more)
    ]


C_RANKPROP = Experiment(
    name="c-rankprop",
    paper=f"{PAPER}, §2",
    title="RankProp against regression on the labels, with one net and one optimizer.",
    work=target_cell,
    full=_plan(DRAWS, size=200, epochs=100),
    quick=_plan({"network": (0,), "polynomial": (0,)}, size=20, epochs=10),
    report=targets,
    more_data=("ohsumed", "yandex"),
    minutes=1,
)
