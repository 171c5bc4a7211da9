"""The table of docs/export.md, from the results of exports.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from machine import short_repr

RESULTS = Path(__file__).parent / "results"


def export_section() -> str:
    """Return one row per export and one column per model."""
    found = json.loads((RESULTS / "exports.json").read_text())
    models = found["models"]
    titles = list(dict.fromkeys(title for model in models.values() for title in model["exports"]))
    heads = [name if model["shape"] == name else f"{name}, {model['shape']}" for name, model in models.items()]
    pairs = sum(next(iter(model["exports"].values()))["pairs"] for model in models.values())
    changed = sum(row["changed_orders"] for model in models.values() for row in model["exports"].values())
    lines = [
        f"| | {' | '.join(heads)} |",
        "|---|" + "---|" * len(models),
        *(
            f"| `{title}` | {' | '.join(cell(model['exports'].get(title)) for model in models.values())} |"
            for title in titles
        ),
        "",
        f"Each cell has the largest difference of scores, the number of changed orders among {pairs // len(models):,} pairs of test"
        f" documents of one query ({changed} in the whole table), the size of the file, and the seconds that the export took"
        f" together with its verification. Rows up to a thousand deviations from the training data are among those compared, so that scores"
        f" of the linear model exceed 1,000. † marks models that were exported with `missing-as-zero`, – those that the format cannot"
        f" hold. {short_repr(found['machine'])}.",
    ]
    return "\n".join(lines)


def cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return "–"
    difference = "0" if row["largest_difference"] == 0 else f"{row['largest_difference']:.1e}"
    mark = " †" if "missing-as-zero" in row["changes"] else ""
    return f"{difference}, {row['changed_orders']}, {row['bytes'] / 1e3:,.0f} kB, {row['seconds']:.1f} s{mark}"
