"""The sections of the docs about how well boosted trees rank, with the time that it takes."""

from __future__ import annotations

import statistics

from machine import short_repr
from tree_tables import ROOT, TEST, called, found, joined, table

PICTURE = ROOT / "docs" / "images" / "quality.svg"
OWN = ("podium fast", "podium", "podium best")  # by effort
DRAWN = {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}
METRIC = "NDCG@10"


def quality_section() -> str:
    quality = found("quality")
    if not quality:
        return ""
    prose = f"""\
## Quality of boosted trees

`PODIUM_DATA=… python benchmarks/quality.py`: every system at its defaults, with up to {quality["trees"]:,} trees, their number chosen by NDCG@10
on validation queries, judged once on test queries. NDCG@10 is the textbook's, and queries without a relevant document are left
out. A figure is the mean over the tasks of a set: the folds of OHSUMED, and tasks of the MSLR-like data with as many training documents as the
name says. Intervals have a confidence of 95 %, and
p is that of a paired {TEST} test over all test queries, not corrected for the number of comparisons. `podium fast` and `podium best` are
`effort="fast"` and `effort="best"`, and `catboost` without a loss is YetiRank. [How Podium's defaults were
chosen](trees.md#what-is-chosen-for-you)."""
    tables = [quality_table(quality["sets"], metric) for metric in quality["metrics"]]
    picture = "![NDCG@10 against seconds of training, by effort](images/quality.svg)" if PICTURE.exists() else ""
    return joined([prose, *tables, *quality_times(quality["sets"]), picture, f"On {short_repr(quality['machine'])}."])


def aside_section() -> str:
    aside = found("aside")
    if not aside:
        return ""
    prose = f"""\
## Tasks kept aside

`python benchmarks/quality.py --aside`: one task of each of seven families of synthetic data (`benchmarks/task_families.py`), at several numbers of training
documents. None of these tasks had a part in the choice of Podium's defaults, and each was judged once. As above, figures are means over the tasks of a
size; p is that of a paired {TEST} test over all test queries."""
    parts = [prose, quality_table(aside["sets"], METRIC)]
    for own in (name for name in OWN if name in aside["sets"][0]["systems"]):
        parts += [f"{METRIC} of {own} minus that of a peer, by the size of the tasks:", differences(aside["sets"], own)]
    return joined([*parts, f"On {short_repr(aside['machine'])}."])


def differences(sets: list[dict], own: str) -> str:
    """Return a table with one row per peer and one column per set."""
    peers = list(dict.fromkeys(peer for one in sets for peer in one["against"][own]))
    lines = [
        f"| {called(peer)} | " + " | ".join(difference(one["against"][own].get(peer)) for one in sets) + " |"
        for peer in peers
    ]
    return table(" | ".join(["", *(one["set"] for one in sets)]), lines)


def difference(pair: dict | None) -> str:
    if pair is None:
        return "–"
    apart, between, p = compared(pair[METRIC])
    return f"{apart} {between}, p {p if p.startswith('<') else '= ' + p}"


def quality_table(sets: list[dict], metric: str) -> str:
    rows = [quality_row(one, system, metric, first=not k) for one in sets for k, system in enumerate(one["systems"])]
    return table(f"set, queries, tasks | | {metric} | interval | podium − it | interval | p | trees", rows)


def quality_row(one: dict, system: str, metric: str, *, first: bool) -> str:
    row, pair = one["systems"][system], one["against"].get("podium", {}).get(system, {}).get(metric)
    fewer = f" ({row['tasks']} of {one['tasks']} tasks)" if row["tasks"] < one["tasks"] else ""
    cells = [
        f"{one['set']}, {one['queries']:,}, {one['tasks']}" if first else "",
        called(system) + fewer,
        f"{row['mean'][metric]:.4f}",
        interval(row["interval"][metric], ".4f"),
        *(("", "", "") if pair is None else compared(pair)),
        f"{statistics.median(row['trees']):.0f}",
    ]
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


def quality_times(sets: list[dict]) -> list[str]:
    """Return the table of seconds per training, and what it shows."""
    prose = """\
Seconds of a whole training at the defaults, mean over the tasks of a set. Podium and LightGBM had the machine to themselves. The others ran beside
other work, and their times are the processor's time divided by two threads, which is the least that they could take."""
    return [prose, times_table(sets)]


def times_table(sets: list[dict]) -> str:
    """Return a table with one row per system and one column per set."""
    systems = list(dict.fromkeys(system for one in sets for system in one["systems"]))

    def cell(one: dict, system: str) -> str:
        return f"{quality_seconds(one, system):,.1f}" if system in one["systems"] else "–"

    lines = [f"| {called(system)} | {' | '.join(cell(one, system) for one in sets)} |" for system in systems]
    return table(" | ".join(["", *(one["set"] for one in sets)]), lines)


def quality_seconds(one: dict, system: str) -> float:
    """Return the seconds per task: the clock's for systems that ran on an idle machine, else the processor's per thread."""
    idle = system.partition(" ")[0] in ("podium", "lightgbm")
    return one["systems"][system]["seconds" if idle else "processor_seconds"]


def compared(pair: dict) -> tuple[str, str, str]:
    return f"{pair['difference']:+.4f}", interval(pair["interval"], "+.4f"), probability(pair["p"][TEST])


def interval(ends: list[float], form: str) -> str:
    return f"[{ends[0]:{form}}, {ends[1]:{form}}]"


def probability(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def draw_quality() -> None:
    """Draw NDCG@10 against seconds of training, one panel per set, with a line through the three efforts."""
    from podium.papers.drawing import draw
    from podium.papers.plots import Line, Panel, Plot

    def points(one: dict, names: list[str]) -> tuple[list[float], list[float]]:
        return [quality_seconds(one, name) for name in names], [one["systems"][name]["mean"][METRIC] for name in names]

    panels = []
    for one in found("quality")["sets"]:
        own = [name for name in OWN if name in one["systems"]]
        lines = [Line("Podium fast, balanced, best", *points(one, own), marker="o")]
        for number, (name, label) in enumerate(DRAWN.items(), 1):
            if name in one["systems"]:
                lines.append(Line(label, *points(one, [name]), kind="points", color=number, marker="s"))
        title = f"{one['set']}, {one['queries']:,} queries"
        panels.append(Panel(title, "seconds of training (logarithmic)", METRIC, lines, x_log=True))
    PICTURE.write_text(draw(Plot("quality", panels)))
