"""The sections of the docs, and the lines of the README, about boosted trees.

What has not been measured is left out: no file, no section; and of a file only the parts that it has.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from machine import short_repr

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PLOT = ROOT / "docs" / "images" / "trees.svg"
TEST = "randomization"  # of the paired tests in the JSON the one that the tables show
NAMES = {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost", "podium": "podium"}


def found(name: str) -> dict:
    """Return the results of a benchmark; empty if it has not run."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def called(system: str) -> str:
    """lightgbm, row-wise: LightGBM, row-wise; catboost PairLogit: CatBoost PairLogit."""
    library = re.split("[, ]", system, maxsplit=1)[0]
    return NAMES[library] + system.removeprefix(library)


def joined(parts: list[str]) -> str:
    return "\n\n".join(part for part in parts if part)


def table(head: str, rows: list[str]) -> str:
    titles = [title.strip() for title in head.split("|")]
    lines = [f"| {' | '.join(titles)} |".replace("|  |", "| |"), "|" + "---|" * len(titles)]
    return "\n".join(lines + rows)


# the README ----------------------------------------------------------------------------------------------------------


def summary_rows() -> list[tuple[str, str, float, bool]]:
    """(job, peer, how many times as long as Podium, whether it is at least that)."""
    return [*training_rows(), *scoring_rows()]


def scoring_rows() -> list[tuple[str, str, float, bool]]:
    """How many times as long as Podium LightGBM takes to score with the same forest, on two threads."""
    named = {100_000: "scores from trees, 100,000 documents at once", 100: "one query of 100 documents"}
    return [
        (named[row["documents"]], "LightGBM", row["seconds"]["lightgbm"] / row["seconds"]["podium"], False)
        for row in reversed(found("scoring").get("leafwise", {}).get("found", []))
        if row["documents"] in named and row["threads"] == 2
    ]


def training_rows() -> list[tuple[str, str, float, bool]]:
    large = found("trees").get("large")
    if large is None:
        return []
    systems, trees = large["found"]["systems"], large["found"]["trees"]
    of_lightgbm = [name for name in systems if name.startswith("lightgbm") and systems[name]["reached"]]
    quickest = min(of_lightgbm, key=lambda name: systems[name]["seconds_to_target"], default="lightgbm")
    peers = {"lightgbm": "LightGBM"}
    if quickest != "lightgbm":
        peers[quickest] = f"{called(quickest)}, its fastest setting"
    peers |= {"xgboost": "XGBoost", "catboost": "CatBoost"}
    rows = [
        (peer, systems[name]["target_ratio"], not systems[name]["reached"])
        for name, peer in peers.items()
        if name in systems and systems[name]["target_ratio"] is not None
    ]
    job = f"LambdaMART, to the NDCG@10 of LightGBM's {trees} trees"
    out = [(job if not k else "", *row) for k, row in enumerate(rows)]
    if systems["lightgbm"]["tree_ratio"] is not None:
        job = "a tree of 63 leaves, no sampling, 720,000 documents"
        out.append((job, "LightGBM", systems["lightgbm"]["tree_ratio"], False))
    for name, ms in found("trees").get("small", {"found": {}})["found"].items():
        out.append((f"the same on a small set, {name}", "LightGBM", ms["lightgbm"] / ms["podium, exact"], False))
    return out


HEAD = (
    " | rounds | binning, s | ms per tree | × exact | s to the target | × podium | NDCG@10 after {} | peak, MB | beyond"
)


# docs/benchmarks.md --------------------------------------------------------------------------------------------------


def trees_section() -> str:
    trees = found("trees")
    if not trees:
        return ""
    again = again_part(found("trees_again").get("large"))
    parts = ["## Boosted trees", large_part(trees.get("large")), again, scale_part(trees.get("scale"))]
    return joined([*parts, small_part(trees.get("small"))])


def large_part(large: dict | None) -> str:
    if large is None:
        return ""
    result = large["found"]
    prose = f"""\
`python benchmarks/trees.py`: 6,000 MSLR-like queries of about 120 documents and 136 features for training, and 2,000 others
for judging; 63 leaves (CatBoost: 64), rate 0.1, 255 bins, {large["threads"]} threads, and defaults for every other setting of a peer. Each run is
a process of its own. Runs are interleaved in rounds, and a time is the median of as many runs as the column `rounds` says: a
setting of a peer that was slow in the first round, and a peer whose run takes minutes, ran only once. The target is what LightGBM
reaches at its defaults after {result["trees"]} trees, NDCG@10 {result["target"]:.4f}; `>` marks a system that did not reach it, with the time that its first
round spent. `podium` is LambdaMART at its default sampling, which grows each tree from a fifth of the documents; `podium, exact`
uses all of them, and the ratios of times per tree refer to it. Memory is the peak of the process, and the part of it beyond the
libraries and the training data."""
    rows = [large_row(name, row) for name, row in result["systems"].items()]
    plot = "![NDCG@10 against seconds](images/trees.svg)" if PLOT.exists() else ""
    return joined([prose, table(HEAD.format(result["trees"]), rows), plot, f"On {short_repr(large['machine'])}."])


def again_part(large: dict | None) -> str:
    """The systems that ran on another machine too: ratios depend on it."""
    if large is None:
        return ""
    rows = [large_row(name, row) for name, row in large["found"]["systems"].items()]
    prose = "Some of them on a newer machine (`--systems … --out benchmarks/results/trees_again.json`), from which LightGBM gains more:"
    return joined([prose, table(HEAD.format(large["found"]["trees"]), rows), f"On {short_repr(large['machine'])}."])


def large_row(name: str, row: dict) -> str:
    more = "" if row["reached"] else "> "
    cells = [
        called(name),
        str(row["rounds"]),
        f"{row['binning_seconds']:.2f}",
        f"{row['tree_ms']:.1f}",
        times(row["tree_ratio"]),
        f"{more}{row['seconds_to_target']:.1f}",
        more + times(row["target_ratio"]),
        f"{row['ndcg']:.4f}",
        f"{row['peak_bytes'] / 1e6:,.0f}",
        f"{row['peak_beyond_data_bytes'] / 1e6:,.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f}×"


def scale_part(scale: dict | None) -> str:
    if scale is None:
        return ""
    systems = scale["found"]
    queries = [n for n, _ in next(iter(systems.values()))["queries_and_ms"]]
    rows = [
        f"| {called(name)} | {' | '.join(f'{ms:.1f}' for _, ms in row['queries_and_ms'])} | {row['slope']:.2f} |"
        for name, row in systems.items()
    ]
    prose = "`python benchmarks/trees.py --scale`: milliseconds per tree by the number of training queries, and the slope of log time\nagainst log queries."
    return joined([prose, table(" | " + " | ".join(f"{n:,}" for n in queries) + " | slope", rows)])


def small_part(small: dict | None) -> str:
    if small is None:
        return ""
    rows = [
        f"| {name} | {' | '.join(f'{ms:.2f}' for ms in by_system.values())} | {by_system['lightgbm'] / by_system['podium, exact']:.1f}× |"
        for name, by_system in small["found"].items()
    ]
    first = next(iter(small["found"].values()))
    prose = "`PODIUM_DATA=… python benchmarks/trees.py --small`: milliseconds per tree on real sets of about 10,000 documents and fewer, 63\nleaves, no sampling, one draw of the noise (by default five are averaged on data this small)."
    return joined([prose, table(" | " + " | ".join(map(called, first)) + " | podium is faster by", rows)])


def force_section() -> str:
    force = found("tree_force")
    if not force:
        return ""
    prose = f"""\
## A force of your own

`python benchmarks/tree_force.py`: LambdaRank for NDCG@10 written as a Python function of one query, once in loops that
Numba compiles and once in NumPy, compared with the built-in force of the same formula; {force["documents"]:,} MSLR-like documents, 63 leaves,
{force["threads"]} threads. Compiling took {force["compiling_seconds"]:.1f} s, once per process, and is not included in these times."""
    rows = [
        f"| {f'{kind}, ' if not k else ''}{name} | {row['tree_ms']:.1f} | {row['ratio']:.2f}× |"
        for kind, by_name in force["found"].items()
        for k, (name, row) in enumerate(by_name.items())
    ]
    return joined(
        [prose, table("trees, force | ms per tree | × built in", rows), f"On {short_repr(force['machine'])}."]
    )


PEER_TITLES = {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}


def scoring_section() -> str:
    """Return the tables of benchmarks/scoring.py: milliseconds per call, and how many times as long as Podium."""
    scoring = found("scoring")
    if not scoring:
        return ""
    prose = f"""\
## Scores from trees

`python benchmarks/scoring.py`: one forest of {scoring["trees"]} trees of {scoring["leaves"]} leaves that LightGBM trained, scored by Podium after
`podium.from_lightgbm`, by LightGBM itself, by the code that lleaves and tl2cgen compile from it, and by onnxruntime after
`ranker.export`. Times are milliseconds per call in Python, from arrays to
arrays, with all checks of the calls; in parentheses, how many times as long as Podium. Medians of {scoring["rounds"]} interleaved rounds."""
    first = (
        f"From the start of Python to the first score of the saved forest, with `podium.load_scorer`, it takes"
        f" {1e3 * scoring['first_score']:.0f} ms."
    )
    symmetric = "A forest of symmetric trees that CatBoost trained, scored by CatBoost and by Podium after `podium.from_catboost`:"
    parts = [prose, scoring_table(scoring["leafwise"]["found"]), load_note(scoring["leafwise"]["load"]), first]
    if "xgboost" in scoring:
        own = "A forest of the same size that XGBoost trained, scored by XGBoost and by Podium after `podium.from_xgboost`:"
        parts += [own, scoring_table(scoring["xgboost"]["found"])]
    if "symmetric" in scoring:
        parts += [symmetric, scoring_table(scoring["symmetric"]["found"])]
    return joined([*parts, f"On {short_repr(scoring['machine'])}."])


def scoring_table(rows: list[dict]) -> str:
    """Return one row per number of documents and threads, one column per system."""
    peers = [name for name in rows[0]["seconds"] if name != "podium"]

    def cell(row: dict, name: str) -> str:
        return f"{1e3 * row['seconds'][name]:.3f} ({row['seconds'][name] / row['seconds']['podium']:.1f}×)"

    lines = [
        f"| {row['documents']:,} | {row['threads']} | {1e3 * row['seconds']['podium']:.3f} | "
        + " | ".join(cell(row, name) for name in peers)
        + " |"
        for row in rows
    ]
    return table(
        " | ".join(["documents", "threads", "Podium", *(PEER_TITLES.get(name, name) for name in peers)]), lines
    )


def load_note(seconds: dict[str, float]) -> str:
    """Return how long each system takes until it can score."""
    told = [f"{PEER_TITLES.get(name, name)} {value:.2f} s" for name, value in seconds.items() if name != "podium"]
    return f"Until it can score, Podium takes {seconds['podium']:.2f} s from the file, {', '.join(told)} (compilation included)."


def draw(large: dict, path: Path) -> None:
    """Draw NDCG@10 against seconds, one line per system."""
    from podium.papers.drawing import draw as draw_plot
    from podium.papers.plots import Line, Panel, Plot

    kinds = {"podium": "ours", "lightgbm": "paper", "xgboost": "others", "catboost": "others"}
    lines = [
        Line(name, *zip(*row["curve"], strict=True), kind=kinds[name.partition(",")[0]])
        for name, row in large["systems"].items()
    ]
    seconds = [second for line in lines for second in line.x]
    lines.append(Line("target", [min(seconds), max(seconds)], [large["target"]] * 2, kind="others", color=8))
    lowest = sorted(row["curve"][0][1] for row in large["systems"].values())[len(large["systems"]) // 2]
    highest = max(value for line in lines for value in line.y)
    panel = Panel(
        "NDCG@10 by time of training",
        "seconds, binning included (logarithmic)",
        "NDCG@10 on other queries",
        lines,
        x_log=True,
        y_range=[lowest, highest + 0.02 * (highest - lowest)],
    )
    path.write_text(draw_plot(Plot("trees", [panel])))
