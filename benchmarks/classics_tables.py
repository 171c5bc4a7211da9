"""The tables of docs/classics.md, from the results of classics.py."""

from __future__ import annotations

import json
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def cost_section() -> str:
    found = json.loads((RESULTS / "classics_cost.json").read_text())
    sizes = [row["documents"] for row in next(iter(found["systems"].values()))]
    lines = [
        f"{found['threads']} threads of {found['machine']['cpu']} with {found['machine']['cores']} cores:",
        "",
        f"| | {' | '.join(f'{size:,} documents' for size in sizes)} | memory that training adds |",
        "|---|" + "---|" * (len(sizes) + 1),
    ]
    for name, rows in found["systems"].items():
        seconds = " | ".join(f"{row['epoch_seconds']:.3f} s" for row in rows)
        lines.append(f"| {name} | {seconds} | {max(row['training_mib'] for row in rows):.0f} MiB |")
    return "\n".join(lines)


def quality_section() -> str:
    found = json.loads((RESULTS / "classics_quality.json").read_text())
    sets = found["sets"]
    lines = [
        f"| | {' | '.join(map(title, sets))} | paper |",
        "|---|" + "---|" * (len(sets) + 1),
    ]
    for name in sets[0]["systems"]:
        paper = f"{found['paper'][name]:.3f}" if name in found["paper"] else "–"
        lines.append(f"| {name} | {' | '.join(cell(each['systems'][name]) for each in sets)} | {paper} |")
    lines += [
        "",
        "Each system compared with the one before it in the paper's order: the difference, p by Wilcoxon's test, and a verdict",
        "by the 95 % interval of the difference:",
        "",
        f"| | {' | '.join(each['set'] for each in sets)} |",
        "|---|" + "---|" * len(sets),
    ]
    for steps in zip(*(each["steps"] for each in sets), strict=True):
        lines.append(f"| {steps[0]['upper']} above {steps[0]['lower']} | {' | '.join(map(verdict, steps))} |")
    return "\n".join(lines)


def title(each: dict) -> str:
    return f"{each['set']}, {each['queries']:,} queries"


def cell(row: dict) -> str:
    low, high = row["interval"]
    return f"{row['mean']:.4f} ± {(high - low) / 2:.4f}"


def verdict(step: dict) -> str:
    p = step["p"]["wilcoxon"]
    return f"{step['difference']:+.4f}, p {'< 0.0001' if p < 1e-4 else f'{p:.4f}'}: {step['holds']}"
