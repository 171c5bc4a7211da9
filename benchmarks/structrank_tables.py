"""The tables of docs/structrank.md, out of benchmarks/results/structrank*.json."""

from __future__ import annotations

import json
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def load(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text())


def quality_table() -> str:
    """Test means of five folds, and the mean validation MAP that the choices were made by."""
    found = load("structrank")
    lines = [
        f"| | {' | '.join(found['columns'])} | MAP on validation |",
        "|---|" + "---|" * (len(found["columns"]) + 1),
    ]
    for name, values in found["published"].items():
        lines.append(f"| {name} | {' | '.join(f'{value:.4f}' for value in values)} | |")
    for name, row in found["ours"].items():
        valid = sum(fold["valid"] for fold in row["chosen"]) / len(row["chosen"])
        cells = " | ".join(f"{value:.4f}" for value in (*row["test"], valid))
        lines.append(f"| **podium StructRank**, {name} | {cells} |")
    longest = max(max(row["seconds"]) for row in found["ours"].values())
    said = f"The longest fold took {longest:.0f} s on {found['machine']['cores']} cores."
    return "\n".join([*lines, "", said])


def paired_table() -> str:
    lines = [
        "| first − second | metric | difference | 95 % interval | wins, losses | Wilcoxon p, after Holm |",
        "|---|---|---|---|---|---|",
    ]
    for pair in load("structrank")["paired"]:
        low, high = pair["interval"]
        metric = pair["metric"].replace("(convention='letor')", "").upper()
        lines.append(
            f"| {pair['first']} − {pair['second']} | {metric} | {pair['difference']:+.4f} | {low:+.4f} to {high:+.4f} | "
            f"{pair['wins']}, {pair['losses']} | {pair['corrected']['wilcoxon']:.2f} |"
        )
    return "\n".join(lines)


def variants_table() -> str:
    """MAP of full and independent under each setting, and what the paired test says of the two."""
    lines = [
        "| setting | full: test MAP, validation | independent: test MAP, validation | difference, 95 % interval |",
        "|---|---|---|---|",
    ]
    found = load("structrank_variants")
    at = found["columns"].index("MAP")
    for name, row in found["variants"].items():
        cells = []
        for topology in ("full", "independent"):
            valid = sum(fold["valid"] for fold in row[topology]["chosen"]) / len(row[topology]["chosen"])
            cells.append(f"{row[topology]['test'][at]:.4f}, {valid:.4f}")
        pair = row["paired"][0]
        low, high = pair["interval"]
        lines.append(f"| {name} | {' | '.join(cells)} | {pair['difference']:+.4f}, {low:+.4f} to {high:+.4f} |")
    return "\n".join(lines)


SETTINGS = {
    "ohsumed-nw": "OHSUMED, Nadaraya–Watson",
    "ohsumed-linear": "OHSUMED, linear",
    "yandex-linear": "Yandex, linear",
    "yandex-trees": "Yandex, trees",
}


def family_table() -> str:
    """Every network in every setting: its test values, and how they differ from those of independent preferences."""
    found = load("structrank_family")["settings"]
    beside = "− independent, 95 % interval | wins, losses | p"
    lines = [f"| setting | network | MAP | {beside} | NDCG@10 | {beside} |", "|---|---|" + "---|---|---|---|" * 2]
    for setting, title in SETTINGS.items():
        if setting not in found:
            continue
        held = found[setting]
        metrics = sorted(held["metrics"], key=lambda metric: not metric.startswith("map"))
        for number, (member, row) in enumerate(held["members"].items()):
            cells = [_compared_cells(row["test"][metric], held["paired"][metric].get(member)) for metric in metrics]
            lines.append(f"| {'' if number else title} | {member} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _compared_cells(value: float, pair: dict | None) -> str:
    if pair is None:
        return f"{value:.4f} | | |"
    low, high = pair["interval"]
    return (
        f"{value:.4f} | {pair['difference']:+.4f}, {low:+.4f} to {high:+.4f} | {pair['wins']}, {pair['losses']} | "
        f"{'< 0.01' if pair['holm'] < 0.005 else format(pair['holm'], '.2f')}"
    )


def force_table() -> str:
    """Interpolation beside the sum of all terms, at 10,000 preferences."""
    lines = [
        "| function | asked | spread of scores | term by term | interpolated | faster by | error |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in load("structrank_force")["rows"]:
        exact, fast = 1e3 * row["exact"], 1e3 * row["chebyshev"]
        lines.append(
            f"| {row['function']} | {row['asked']} | {row['spread']:g} | {exact:,.0f} ms | {fast:.1f} ms | {row['ratio']:,.0f}× | "
            f"{row['error']:.0e} |"
        )
    return "\n".join(lines)


def cost_table() -> str:
    lines = ["| documents | seconds per pass | peak memory, MB | of it before training |", "|---|---|---|---|"]
    lines += [
        f"| {row['documents']:,} | {row['pass_seconds']:.1f} | {row['peak_mb']:.0f} | {row['data_mb']:.0f} |"
        for row in load("structrank_cost")["rows"]
    ]
    return "\n".join(lines)
