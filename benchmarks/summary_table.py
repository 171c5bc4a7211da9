"""The README's table: quality and speed of boosted trees compared with LightGBM, XGBoost and CatBoost, and its picture.

Every row lists what was measured, whether Podium is ahead or behind. What has not been measured is a dash, and a row of
which nothing has been measured is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import quality_tables
import tree_tables
from tree_tables import NAMES, TEST, found

PICTURE = tree_tables.ROOT / "docs" / "images" / "peers.svg"
SYSTEMS = ("podium", "lightgbm", "xgboost", "catboost")
SETS = {
    "ohsumed": "OHSUMED",
    "yandex": "Yandex",
    "lightgbm-lambdarank": "LightGBM's example",
    "mslr-30000": "MSLR-like, 30,000 training documents",
    "mslr-120000": "MSLR-like, 120,000 training documents",
    "mslr-720000": "MSLR-like, 720,000 training documents",
}
SMALL_SET = "yandex"  # the set whose training times the table shows
SIGNIFICANT = 0.05
Row = tuple[str, list[str]]


def summary() -> str:
    """Return the table and the notes that explain its marks."""
    parts = {
        "NDCG@10 on test queries, higher is better": [*quality_rows(), *equal_trees_row()],
        "Time, lower is better": [*training_rows(), *small_row(), *scoring_rows()],
    }
    lines = [f"| | {' | '.join(title(name) for name in SYSTEMS)} |", "|---" * (1 + len(SYSTEMS)) + "|"]
    for heading, rows in parts.items():
        lines += [f"| **{heading}** | | | | |"] * bool(rows)
        lines += [f"| {label} | {' | '.join(cells)} |" for label, cells in rows]
    return "\n".join([*lines, "", *notes()])


def title(system: str) -> str:
    return NAMES[system].replace("podium", "Podium")


def marked(values: dict[str, float], form: Callable[[float], str], *, best: Any, marks: dict[str, str]) -> list[str]:
    """Return one cell per system: the value, the best one in bold, with its mark; a dash if it was not measured."""
    shown = {name: form(value) for name, value in values.items()}
    winner = shown[best(values, key=lambda name: values[name])]
    cells = {name: f"**{text}**" if text == winner else text for name, text in shown.items()}
    return [cells[name] + marks.get(name, "") if name in cells else "–" for name in SYSTEMS]


def quality(value: float) -> str:
    return f"{value:.4f}"


def time(value: float) -> str:
    return f"{value:,.0f}" if value >= 200 else f"{value:.1f}" if value >= 0.1 else f"{value:.3f}"


def quality_rows() -> list[Row]:
    """Return the rows of the quality benchmark: every library at its defaults."""
    rows = []
    for one in found("quality").get("sets", []):
        whole = [name for name in SYSTEMS if one["systems"].get(name, {}).get("tasks") == one["tasks"]]
        values = {name: one["systems"][name]["mean"]["NDCG@10"] for name in whole}
        pairs = {name: pair["NDCG@10"]["p"][TEST] for name, pair in one["against"].get("podium", {}).items()}
        marks = {name: r" \*" for name, p in pairs.items() if p < SIGNIFICANT}
        label = f"{SETS.get(one['set'], one['set'])}, {one['queries']:,} queries"
        rows.append((label, marked(values, quality, best=max, marks=marks)))
    return rows


def large() -> dict[str, Any]:
    """Return what was measured on the large set; empty if nothing was."""
    return found("trees").get("large", {}).get("found", {})


def measured(name: str) -> dict[str, float]:
    systems = large().get("systems", {})
    return {system: systems[system][name] for system in SYSTEMS if system in systems}


def equal_trees_row() -> list[Row]:
    """Return the row in which every library grows the same number of trees of the same size."""
    if not large():
        return []
    label = f"MSLR-like, 2,000 queries, each after {large()['trees']} trees of 63 leaves"
    return [(label, marked(measured("ndcg"), quality, best=max, marks={}))]


def training_rows() -> list[Row]:
    """Return the times of training on the large set."""
    if not large():
        return []
    once = {name: " †" for name, rounds in measured("rounds").items() if rounds == 1}
    reached = {
        name: value for name, value in measured("seconds_to_target").items() if large()["systems"][name]["reached"]
    }
    to_target = f"seconds to LightGBM's {large()['target']:.4f}, training on 720,000 documents"
    return [
        (to_target, marked(reached, time, best=min, marks=once)),
        ("milliseconds per tree there", marked(measured("tree_ms"), time, best=min, marks=once)),
    ]


def small_row() -> list[Row]:
    """Return the seconds that training at the defaults takes on a small set."""
    for one in found("quality").get("sets", []):
        if one["set"] == SMALL_SET:
            seconds = {name: quality_tables.quality_seconds(one, name) for name in SYSTEMS if name in one["systems"]}
            label = f"seconds to train on {SETS[SMALL_SET]} at the defaults above"
            return [(label, marked(seconds, time, best=min, marks=dict.fromkeys(SYSTEMS, " †")))]
    return []


def scoring_rows() -> list[Row]:
    """Return the times of scoring very many documents and one document with 500 trees, on two threads."""
    labels = {100_000: "milliseconds to score 100,000 documents", 1: "milliseconds to score one document"}
    rows: dict[int, dict[str, float]] = {}
    for kind in (
        "leafwise",
        "xgboost",
        "symmetric",
    ):  # every peer scores its own forest; Podium's times are for LightGBM's
        for row in found("scoring").get(kind, {}).get("found", []):
            if row["documents"] in labels and row["threads"] == 2:
                known = rows.setdefault(row["documents"], {})
                known.update({name: value for name, value in row["seconds"].items() if name not in known})
    return [
        (label, marked(milliseconds({k: v for k, v in rows[n].items() if k in SYSTEMS}), time, best=min, marks={}))
        for n, label in labels.items()
        if n in rows
    ]


def milliseconds(seconds: dict[str, float]) -> dict[str, float]:
    return {name: 1e3 * value for name, value in seconds.items()}


def notes() -> list[str]:
    """Return the list below the table: what the marks mean, who is ahead, and the times with other settings."""
    marks = (
        f"**Bold** is best. \\* differs from Podium with p < {SIGNIFICANT} in a paired {TEST} test over the queries."
        f"{empty_note()}"
    )
    if not large():
        return [f"- {marks}"]
    notes = [f"{marks} {runs_note()}", f"{equal_trees_note()}{other_losses_note()}", " ".join(target_notes())]
    return [f"- {note}" for note in notes]


def empty_note() -> str:
    """Return how queries without a relevant document count, if not as `podium evaluate` counts them by default."""
    name = found("quality").get("metrics", {}).get("NDCG@10", "")
    if "empty='skip'" not in name:
        return ""
    return f' The rows of quality at the defaults leave out queries without a relevant document: `podium evaluate --metric "{name}"`.'


def runs_note() -> str:
    """Return how often the times were measured."""
    training, scoring = found("trees")["large"]["rounds"], found("scoring").get("rounds")
    medians = f"{training} runs for training" + f" and {scoring} for scoring" * bool(scoring)
    forests = " Each peer scores a forest of its own, and Podium that of LightGBM." * bool(scoring)
    return f"† was measured once; the other times are medians of {medians}.{forests}"


def equal_trees_note() -> str:
    """Return who is ahead of Podium in the row of equal trees, and under which conditions."""
    values = measured("ndcg")
    better = [
        f"{title(name)} ranks better than Podium after the same {large()['trees']} trees on the large set"
        f" ({values[name]:.4f} against {values['podium']:.4f})."
        for name in SYSTEMS
        if values.get(name, 0) > values["podium"]
    ]
    conditions = "That row uses one learning rate for all and was not tested; CatBoost's trees have 64 leaves."
    return " ".join([*better, conditions])


def other_losses_note() -> str:
    """Return where another loss of CatBoost than its default for ranking is significantly ahead of Podium."""
    places: dict[str, list[str]] = {}
    for one in found("quality").get("sets", []):
        for peer, by_metric in one["against"].get("podium", {}).items():
            pair, tasks = by_metric["NDCG@10"], one["systems"][peer]["tasks"]
            if peer.startswith("catboost ") and pair["difference"] < 0 and pair["p"]["randomization"] < SIGNIFICANT:
                part = "" if tasks == one["tasks"] else f", {tasks} of {one['tasks']} tasks"
                name = SETS.get(one["set"], one["set"])
                places.setdefault(peer.partition(" ")[2], []).append(f"{name} (by {-pair['difference']:.4f}{part})")
    return "".join(
        f" CatBoost's loss {loss} ranks better than Podium on {' and on '.join(found_on)}."
        for loss, found_on in places.items()
    )


def target_notes() -> list[str]:
    """Return the time to the target with other settings and on another machine."""
    systems, sentences = large()["systems"], []
    if exact := systems.get("podium, exact"):
        sentences.append(
            "On the large set Podium grows each tree from a fifth of the documents; from all of them it takes"
            f" {time(exact['tree_ms'])} ms per tree and {time(exact['seconds_to_target'])} s to the target."
        )
    of_lightgbm = [name for name in systems if name.startswith("lightgbm") and systems[name]["reached"]]
    quickest = min(of_lightgbm, key=lambda name: systems[name]["seconds_to_target"], default="lightgbm")
    if quickest != "lightgbm":
        seconds = time(systems[quickest]["seconds_to_target"])
        sentences.append(f"LightGBM's fastest setting, {quickest.partition(', ')[2]}, takes {seconds} s.")
    if again := found("trees_again").get("large"):
        ratio = again["found"]["systems"]["lightgbm"]["target_ratio"]
        sentences.append(f"On a newer machine LightGBM took {ratio:.1f} times as long as Podium.")
    return sentences


def draw(path: Path = PICTURE) -> None:
    """Draw NDCG@10 against training time, one line per library."""
    from podium.papers.drawing import draw as draw_plot
    from podium.papers.plots import Line, Panel, Plot

    lines = [Line(title(name), *zip(*large()["systems"][name]["curve"], strict=True)) for name in SYSTEMS]
    panel = Panel(
        "Quality by time of training",
        "seconds of training (logarithmic)",
        "NDCG@10 on test queries",
        lines,
        x_log=True,
        x_ticks=[1, 3, 10, 30, 100, 300],
        x_range=[1, 600],
        y_range=[0.53, 0.632],
    )
    path.write_text(draw_plot(Plot("peers", [panel])))
