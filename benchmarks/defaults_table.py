"""The table of candidates for the defaults of boosted trees."""

from __future__ import annotations

from machine import short_repr
from tree_tables import found, joined, table


def defaults_section() -> str:
    kept = found("defaults")
    if not kept:
        return ""
    rows = kept["rows"]
    groups = list(dict.fromkeys(row["group"] for row in rows))
    cells = {(row["group"], row["candidate"]): row for row in rows}
    prose = """\
## Defaults of boosted trees

`PODIUM_DATA=… python benchmarks/defaults.py` trains candidates for the defaults on development tasks only: NDCG@10 minus that of the former defaults, mean over
tasks ± standard error, and mean processor seconds of a training with one thread. Unless a name says something else, a candidate grows symmetric trees of 64 leaves
in one forest with `l2=3`, five draws and rate 0.05. Not every candidate was tried on every task; a mean is over the tasks that both have."""
    lines = [
        f"| {candidate} | " + " | ".join(cell(cells.get((group, candidate))) for group in groups) + " |"
        for candidate in dict.fromkeys(row["candidate"] for row in rows)
    ]
    return joined([prose, table(" | ".join(["", *groups]), lines), f"On {short_repr(kept['machine'])}.", *small_part()])


def small_part() -> list[str]:
    """Return the table of candidates for small data, which are compared with the first of them."""
    kept = found("defaults_small")
    if not kept:
        return []
    rows = kept["rows"]
    groups = list(dict.fromkeys(row["group"] for row in rows))
    cells = {(row["group"], row["candidate"]): row for row in rows}
    candidates = list(dict.fromkeys(row["candidate"] for row in rows))[1:]
    prose = """\
`--candidates small "patience 200" … --sizes 3000 10000 --out benchmarks/results/defaults_small.json`: the same for variants of what small data
gets, four forests of 32 leaves from half of the queries and columns each, five draws, rate 0.05 and a patience of 300 rounds. In parentheses is the
number of trees that were grown, as a share."""
    lines = [
        f"| {name} | " + " | ".join(short_cell(cells.get((group, name))) for group in groups) + " |"
        for name in candidates
    ]
    return [prose, table(" | ".join(["", *groups]), lines)]


def short_cell(row: dict | None) -> str:
    return "–" if row is None else f"{row['difference']:+.4f} ± {row['error']:.4f} ({row['trees']:.2f})"


def cell(row: dict | None) -> str:
    if row is None:
        return "–"
    error = "" if row["error"] is None else f" ± {row['error']:.3f}"
    return f"{row['difference']:+.3f}{error}, {row['seconds']:.1f} s"
