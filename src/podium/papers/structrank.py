"""StructRank (NIPS 2008), Figure 4: systems on OHSUMED, five folds, chosen by MAP on validation, judged as LETOR judges.

Systems of others are what the official scorer's definitions say of the scores that the LETOR site distributes. The paper
used LETOR 2.0 (25 features) and gives its figures as curves only; this is LETOR 3.0 (45 features).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.papers.experiment import Cells, Experiment, Skip, grid
from podium.papers.judging import above, by_query, learned, ranker, values
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
# ours: the ranker's name and its parameters; what decides is chosen on each fold's validation queries
OURS: dict[str, tuple[str, dict[str, Any]]] = {
    FULL: ("structrank", {"topology": "full"}),
    RANDOM: ("structrank", {"topology": "random"}),
    INDEPENDENT: ("structrank", {"topology": "independent"}),
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
        tables=[Table(f"OHSUMED, means of {len(cells.axis('fold'))} folds", columns, rows)],
        plots=[Plot("figure4", _panels(whole), columns=3)],
        claims=_claims(whole),
        notes=["± is the 95 % interval of a mean over the queries; p-values are Wilcoxon's over the queries."],
    )


def _panels(whole: dict[tuple[str, str], Cells]) -> list[Panel]:
    shown = [key for key in whole if key[0] == "LETOR" or key[1].startswith("StructRank")]
    shown += [key for key in whole if key[1] in ("RankNet", "ListNet", "RankSVM", "LambdaMART") and key[0] == "ours"]
    panels = []
    for title, metrics in (("NDCG", NDCG), ("Precision", PRECISION)):
        lines = []
        for number, (source, system) in enumerate(shown):
            y = [fold_means(whole[source, system], metric) for metric in metrics]
            kind, label = ("others", f"{system} (LETOR)") if source == "LETOR" else ("ours", system)
            lines.append(Line(label, list(LEVELS), y, kind=kind, color=number, marker="o"))
        panels.append(Panel(title, "truncation level", title, lines, x_ticks=list(LEVELS)))
    by_map = sorted(shown, key=lambda key: fold_means(whole[key], MAP))
    places = list(range(1, len(by_map) + 1))
    points = []
    for place, (source, system) in zip(places, by_map, strict=True):
        value = fold_means(whole[source, system], MAP)
        label = f"{value:.3f} {system}{' (LETOR)' if source == 'LETOR' else ''}"
        points.append(Line(label, [place], [value], color=shown.index((source, system)), marker="o"))
    return [*panels, Panel("MAP, from the lowest", "", "MAP", points, x_ticks=[])]


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
    + grid(source="ours", system=(FULL, INDEPENDENT, "RankNet", "ListNet", "RankSVM"), fold=(1,), small=True),
    report=figure4,
    data=("ohsumed", "letor-ohsumed-baselines"),
    minutes=30,
)
