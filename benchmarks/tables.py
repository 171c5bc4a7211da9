"""Puts the figures of benchmarks/results/*.json into the README and the docs, between their markers.

    python benchmarks/tables.py           # `make docs` does it, and `make bench` after the benchmarks have run

The README's table is in `summary_table.py`. The tables of boosted trees are in `tree_tables.py`, those of their quality in
`quality_tables.py`, those of PRank and its kin in `classics_tables.py`, those of StructRank in `structrank_tables.py`, that of exports in `export_tables.py`, that of clusters in
`cluster_tables.py`, and that of the service in `service_tables.py`.
"""

from __future__ import annotations

import json
from pathlib import Path

import classics_tables
import cluster_tables
import defaults_table
import export_tables
import quality_tables
import service_tables
import structrank_tables
import summary_table
import tree_tables
from machine import short_repr

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def load(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text())


def ratios() -> str:
    """How many times as long as Podium each peer takes, job by job."""
    judging = load("metrics")["ratio"]
    rows = [
        *(row for file in load("reading")["files"] for row in reading_ratios(file)),
        *(
            (
                f"{row['model']}{'' if k else f', LambdaRank, one epoch, {queries} per update'}",
                "PyTorch 2.13",
                row["ratio"],
            )
            for batch, queries in ((1, "one query"), (16, "16 queries"))
            for k, row in enumerate(net_rows(batch, "adam")[:3])
        ),
        ("nDCG@10, 10⁶ documents, 10⁴ queries", "ranx", judging["ranx"]),
        ("", "pytrec_eval", judging["pytrec_eval"]),
        ("", "scikit-learn `ndcg_score`", judging["scikit-learn"]),
        ("", "scikit-learn, `ignore_ties=True`", judging["scikit-learn, ignore_ties"]),
    ]
    lines = ["| job | peer | podium is faster by |", "|---|---|---|"]
    for job, peer, ratio, at_least in tree_tables.summary_rows():
        lines.append(f"| {job} | {peer} | {'> ' if at_least else ''}{faster(ratio)} |")
    return "\n".join(lines + [f"| {job} | {peer} | {faster(ratio)} |" for job, peer, ratio in rows])


def reading_ratios(file: dict) -> list[tuple[str, str, float]]:
    """Return the rows of one file: job, peer and ratio."""
    readers = file["readers"]
    return [
        (f"reading LETOR text, {size_of(file)}", "scikit-learn `load_svmlight_file`", readers["scikit-learn"]["ratio"]),
        ("", "LightGBM (which bins too)", readers["lightgbm"]["ratio"]),
        ("", "XGBoost", readers["xgboost"]["ratio"]),
    ]


def size_of(file: dict) -> str:
    """Return the size of a file, rounded, with its unit."""
    megabytes = file["bytes"] / 1e6
    return f"{megabytes / 1e3:.0f} GB" if megabytes > 500 else f"{round(megabytes, -1):.0f} MB"


def faster(ratio: float) -> str:
    """Return a ratio without decimals from ten on, and with one below."""
    return f"{ratio:.0f}×" if ratio >= 9.95 else f"{ratio:.1f}×"


def reading_table() -> str:
    reading = load("reading")
    lines = ["| file | reader | seconds | MB/s | podium is faster by | imports, s |", "|---|---|---|---|---|---|"]
    for file in reading["files"]:
        for name, row in file["readers"].items():
            if name == "podium, from the cache":
                continue
            lines.append(
                f"| {size_of(file) if name == 'podium' else ''} | {name} | {row['seconds']:.3f}"
                f" | {row['megabytes_per_second']:,.0f} | {row['ratio']:.2f}× | {row['imports']:.2f} |"
            )
    largest = max(reading["files"], key=lambda file: file["bytes"])
    peak, arrays = largest["peak_bytes"] / 2**20, largest["array_bytes"] / 2**20
    lines += [
        "",
        f"Podium's peak memory, including the interpreter, was {peak:.0f} MiB for arrays of {arrays:.0f} MiB. Loading the cache"
        f" took {1e3 * largest['readers']['podium, from the cache']['seconds']:.1f} ms.",
        "",
        f"On {short_repr(reading['machine'])}.",
    ]
    return "\n".join(lines)


def metrics_table() -> str:
    metrics = load("metrics")
    lines = ["| | milliseconds | podium is faster by |", "|---|---|---|"]
    lines += [
        f"| {name} | {1e3 * value:.1f} | {metrics['ratio'][name]:.1f}× |" for name, value in metrics["seconds"].items()
    ]
    return "\n".join(lines)


def net_rows(batch: int, optimizer: str) -> list[dict]:
    return [row for row in load("nets")["rows"] if row["batch"] == batch and row["optimizer"] == optimizer]


def nets_table() -> str:
    nets = load("nets")
    lines = [
        "| force | layers | queries per update | optimizer | podium, s | best PyTorch, s | podium is faster by |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in nets["rows"]:
        best = min(value for name, value in row["seconds"].items() if name != "podium")
        lines.append(
            f"| {row['force']} | {row['model']} | {row['batch']} | {row['optimizer']} | {row['seconds']['podium']:.3f}"
            f" | {best:.2f} | {row['ratio']:.1f}× |"
        )
    return "\n".join([*lines, "", f"On {short_repr(nets['machine'])}."])


def schedules_table() -> str:
    found = load("schedules")
    paper = found["paper"]
    lines = ["| | podium | LambdaRank, §6.1 |", "|---|---|---|"]
    for name, value in found["speedup"].items():
        lines.append(f"| speedup of one update per query over one per pair, {name} | {value:.1f}× | {paper[name]}× |")
    for kind, what in (("V1", "pair"), ("V2", "query")):
        slope = f"slope {kind}"
        lines.append(
            f"| log-log slope of time against documents, one update per {what} | {found[slope]:.3f} | {paper[slope]} |"
        )
    return "\n".join(lines)


def letor_table() -> str:
    found = load("letor_ohsumed")
    rows = found["published"] | {name: row["test"] for name, row in found["ours"].items()}
    lines = [f"| | {' | '.join(found['columns'])} |", "|---|" + "---|" * len(found["columns"])]
    for name, values in rows.items():
        shown = name if name in found["published"] else f"**podium {name}**"
        lines.append(f"| {shown} | {' | '.join(f'{value:.4f}' for value in values)} |")
    return "\n".join(lines)


TABLES = {
    "summary": summary_table.summary,
    "ratios": ratios,
    "reading": reading_table,
    "metrics": metrics_table,
    "nets": nets_table,
    "schedules": schedules_table,
    "letor": letor_table,
    "trees": tree_tables.trees_section,
    "quality": quality_tables.quality_section,
    "aside": quality_tables.aside_section,
    "defaults": defaults_table.defaults_section,
    "force": tree_tables.force_section,
    "predict": tree_tables.scoring_section,
    "classics cost": classics_tables.cost_section,
    "classics quality": classics_tables.quality_section,
    "cluster": cluster_tables.cluster_section,
    "exports": export_tables.export_section,
    "structrank": structrank_tables.quality_table,
    "service": service_tables.service_section,
    "structrank paired": structrank_tables.paired_table,
    "structrank variants": structrank_tables.variants_table,
    "structrank cost": structrank_tables.cost_table,
    "structrank family": structrank_tables.family_table,
    "structrank force": structrank_tables.force_table,
}
PAGES = (
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("benchmarks", "classics", "cluster", "export", "structrank")),
)


def filled(text: str) -> str:
    """The page with every table between its markers filled in again."""
    for name, table in TABLES.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if begin in text:
            head, rest = text.split(begin)
            text = f"{head}{begin}\n{table()}\n{end}{rest.split(end)[1]}"
    return text


if __name__ == "__main__":
    if "large" in tree_tables.found("trees"):
        tree_tables.draw(tree_tables.found("trees")["large"]["found"], tree_tables.PLOT)
        summary_table.draw()
    if tree_tables.found("quality"):
        quality_tables.draw_quality()
    for page in PAGES:
        page.write_text(filled(page.read_text()))
