"""StructRank (NIPS 2008), Figure 4: systems on OHSUMED, five folds, chosen by MAP on validation, judged as LETOR judges.

Systems of others are what the official scorer's definitions say of the scores that the LETOR site distributes. The paper
used LETOR 2.0 (25 features) and gives its figures as curves only; this is LETOR 3.0 (45 features).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.evaluation.paired_tests import holm
from podium.papers.experiment import Cells, Experiment, Skip, grid
from podium.papers.judging import above, by_query, learned, p_value, ranker, values
from podium.papers.plots import Line, Panel, Plot
from podium.papers.report import Claim, Report, Spread, Table
from podium.papers.sets import folder, ohsumed

PAPER = "StructRank, NIPS 2008"
FOLDS = range(1, 6)
LEVELS = range(1, 11)
LEVEL = 0.01
NDCG = [f"ndcg(convention='letor')@{k}" for k in LEVELS]
PRECISION = [f"p(convention='letor')@{k}" for k in LEVELS]
MAP = "map(convention='letor')"
FULL, INDEPENDENT, RANDOM = "StructRank, full", "StructRank, independent", "StructRank, random"
# The directions that the paper's §6.2 names for the future: other topologies, other functions, several functions.
FAMILY: dict[str, dict[str, Any]] = {
    "StructRank, shared": {"topology": "shared"},
    "StructRank, winner": {"topology": "winner"},
    "StructRank, probit": {"topology": "independent", "function": "gaussian"},
    "StructRank, gaussian": {"topology": "full", "function": "gaussian"},
    "StructRank, two functions": {"topology": "full", "components": 2},
}
# ours: the ranker's name and its parameters; what decides is chosen on each fold's validation queries
OURS: dict[str, tuple[str, dict[str, Any]]] = {
    FULL: ("structrank", {"topology": "full"}),
    RANDOM: ("structrank", {"topology": "random"}),
    INDEPENDENT: ("structrank", {"topology": "independent"}),
    **{name: ("structrank", settings) for name, settings in FAMILY.items()},
    "RankSVM": ("ranksvm", {"C": tuple(10.0**k for k in range(-1, 5))}),
    "RankNet": ("ranknet", {}),
    "LambdaRank": ("lambdarank", {"target": "ndcg"}),
    "ListNet": ("listnet", {}),
    "ListMLE": ("listmle", {}),
    "RankBoost": ("rankboost", {}),
    "MART": ("mart", {}),
    "LambdaMART": ("lambdamart", {}),
    "Kernel RankNet": ("kernel-ranknet", {}),
    "Ordinal regression": ("ordinal", {}),
    "PRank": ("prank", {}),
    "Quadratic PRank": ("quadratic-prank", {}),
    "OAP-BPM": ("oap-bpm", {}),
    "RankProp": ("rankprop", {}),
}
SMALL = {"epochs": 3, "starts": 1, "norm": 30.0, "references": 500}  # of the quick version
THEIRS = ("AdaRank", "FacSVM_Rank", "ListNet", "RankBoost", "RankNet", "svm_light", "svm_rank")


def figure4_cell(source: str, system: str, fold: int, small: bool) -> dict[str, Any]:
    """One system on one fold: every value by test query."""
    train, valid, test = ohsumed(fold)
    if source == "LETOR":
        file = folder("letor-ohsumed-baselines") / f"OHSUMED/{system}/Fold{fold}.test.score"
        if not file.is_file():
            raise Skip(f"letor-ohsumed-baselines has no scores of {system} for fold {fold}")
        return values(np.loadtxt(file), test, [*NDCG, *PRECISION, MAP], keep=[*NDCG, *PRECISION, MAP])
    name, parameters = OURS[system]
    made = ranker(name, parameters, metric=MAP, seed=0, num_threads=1, **(SMALL if small else {}))
    return values(
        learned(made, train, valid).predict(test), test, [*NDCG, *PRECISION, MAP], keep=[*NDCG, *PRECISION, MAP]
    )


def fold_means(cells: Cells, metric: str) -> float:
    """The mean of the folds' means, as LETOR has it."""
    return float(np.mean([cell.result["mean"][metric] for cell in cells]))


def figure4(cells: Cells) -> Report:
    """Means of the folds; NDCG and precision by truncation level; MAP."""
    names = [
        (source, system) for source in cells.axis("source") for system in cells.where(source=source).axis("system")
    ]
    # systems with a fold left out cannot be compared with the others
    whole = {}
    for source, system in names:
        found = cells.where(source=source, system=system)
        if len(found) == len(cells.axis("fold")):
            whole[source, system] = found
    rows, shown_metrics = [], [NDCG[0], NDCG[2], NDCG[4], NDCG[9], PRECISION[4], PRECISION[9]]
    for source, system in names:
        if (source, system) in whole:
            found = whole[source, system]
            means = [f"{fold_means(found, metric):.4f}" for metric in shown_metrics]
            spread = Spread.of(by_query(found, MAP, same=False))
            rows.append([system, source, *means, f"{fold_means(found, MAP):.4f} ± {spread.high - spread.mean:.4f}"])
        else:
            reason = "; ".join(cells.reasons(source=source, system=system)) or "a fold is missing"
            rows.append([system, source, *["–"] * len(shown_metrics), reason])
    columns = ["system", "source", "NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "P@5", "P@10", "MAP"]
    return Report(
        tables=[Table(f"OHSUMED, means of {len(cells.axis('fold'))} folds", columns, rows), *_family_table(whole)],
        plots=[Plot("figure4", _panels(whole), columns=3)],
        claims=_claims(whole),
        notes=[
            "± is the 95 % interval of a mean over the queries; p-values are Wilcoxon's over the queries, "
            "in the table of networks corrected by Holm's method for the number of networks."
        ],
    )


def _family_table(whole: dict[tuple[str, str], Cells]) -> list[Table]:
    """Every network beside the independent one."""
    networks = [name for source, name in whole if source == "ours" and name in (FULL, RANDOM, *FAMILY)]
    if ("ours", INDEPENDENT) not in whole or not networks:
        return []
    rows = [[name] for name in networks]
    for metric in (MAP, NDCG[-1]):
        base = by_query(whole["ours", INDEPENDENT], metric, same=False)
        found = [by_query(whole["ours", name], metric, same=False) for name in networks]
        corrected = holm([p_value(each, base) for each in found])
        for row, each, p in zip(rows, found, corrected, strict=True):
            gap = Spread.of(each - base)
            row += [f"{gap.mean:+.4f}, {gap.low:+.4f} to {gap.high:+.4f}", f"{p:.2f}"]
    columns = ["network", "MAP, 95 % interval", "p", "NDCG@10, 95 % interval", "p"]
    return [Table("Networks less the independent one", columns, rows)]


def _panels(whole: dict[tuple[str, str], Cells]) -> list[Panel]:
    networks = [key for key in whole if key[1] in (FULL, RANDOM, INDEPENDENT, *FAMILY)]
    others = [key for key in whole if key[0] == "LETOR"]
    others += [key for key in whole if key[1] in ("RankNet", "ListNet", "RankSVM", "LambdaMART") and key[0] == "ours"]
    compared = [key for key in networks if key[1] not in FAMILY] + others
    by_map = sorted([*networks, *others], key=lambda key: fold_means(whole[key], MAP))
    points = []
    for place, (source, system) in enumerate(by_map, start=1):
        value = fold_means(whole[source, system], MAP)
        label = f"{value:.3f} {system}{' (LETOR)' if source == 'LETOR' else ''}"
        points.append(Line(label, [place], [value], color=place, marker="o"))
    panels = [_levels(name, whole, compared, metrics) for name, metrics in (("NDCG", NDCG), ("Precision", PRECISION))]
    panels.append(Panel("MAP, from the lowest", "", "MAP", points, x_ticks=[]))
    if len(networks) > len([key for key in compared if key in networks]):
        panels += [
            _levels(f"{name} of the networks", whole, networks, metrics)
            for name, metrics in (("NDCG", NDCG), ("Precision", PRECISION))
        ]
    return panels


def _levels(title: str, whole: dict[tuple[str, str], Cells], shown: list[tuple[str, str]], metrics: list[str]) -> Panel:
    """A metric by truncation level, one line per system."""
    lines = []
    for number, (source, system) in enumerate(shown):
        y = [fold_means(whole[source, system], metric) for metric in metrics]
        kind, label = ("others", f"{system} (LETOR)") if source == "LETOR" else ("ours", system)
        lines.append(Line(label, list(LEVELS), y, kind=kind, color=number, marker="o"))
    return Panel(title, "truncation level", title.split()[0], lines, x_ticks=list(LEVELS))


def _claims(whole: dict[tuple[str, str], Cells]) -> list[Claim]:
    full, independent = whole.get(("ours", FULL)), whole.get(("ours", INDEPENDENT))
    baselines = {system: fold_means(found, MAP) for (source, system), found in whole.items() if source == "LETOR"}
    if full is None or independent is None or not baselines:
        return [Claim("The full network is above the independent one", None, "Not all folds of both have run.")]
    ours = by_query(full, MAP, same=False)
    levels = sum(fold_means(full, metric) > fold_means(independent, metric) for metric in [*NDCG, *PRECISION])
    claims = [
        above(
            "The full network is above the independent one in MAP",
            ours,
            by_query(independent, MAP, same=False),
            f" It is above at {levels} of 20 levels of NDCG and precision.",
        )
    ]
    # level: the interval of the difference to the best baseline does not reach below −LEVEL
    for name, metric in (("MAP", MAP), ("NDCG@10", NDCG[-1]), ("P@10", PRECISION[-1])):
        best = max(baselines, key=lambda system: fold_means(whole["LETOR", system], metric))
        gap = Spread.of(by_query(full, metric, same=False) - by_query(whole["LETOR", best], metric, same=False))
        claims.append(
            Claim(
                f"The full network is above or level with the best LETOR baseline in {name}",
                gap.mean > -LEVEL,
                f"{gap.short_repr(4)} against {best}; level is taken as above −{LEVEL}.",
                close=gap.low <= -LEVEL <= gap.high,
            )
        )
    return claims


E_FIGURE4 = Experiment(
    name="e-figure4",
    paper=f"{PAPER}, Figure 4",
    title="OHSUMED: NDCG, precision and MAP of our systems beside the LETOR baselines.",
    work=figure4_cell,
    full=grid(source="LETOR", system=THEIRS, fold=tuple(FOLDS), small=False)
    + grid(source="ours", system=tuple(OURS), fold=tuple(FOLDS), small=False),
    quick=grid(source="LETOR", system=THEIRS, fold=(1,), small=True)
    + grid(source="ours", system=(FULL, INDEPENDENT, *FAMILY, "RankNet", "ListNet", "RankSVM"), fold=(1,), small=True),
    report=figure4,
    data=("ohsumed", "letor-ohsumed-baselines"),
    minutes=30,
)
