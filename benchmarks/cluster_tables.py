"""The table of docs/cluster.md: Podium on a cluster next to its peers on one."""

from __future__ import annotations

from typing import Any

from machine import short_repr
from tree_tables import found as results
from tree_tables import table

WITHIN = "ray"  # in the name of Podium's systems with workers


def cluster_section(found: dict[str, Any] | None = None) -> str:
    """Return the table, and sentences about where it was measured."""
    found = results("cluster") if found is None else found
    if not found:
        return ""
    systems = found["systems"]
    head = "| system | ms per tree | s to the first tree | trees to the target | s to the target | exchanges per tree | MB per tree and worker |"
    rows = [row(name, each) for name, each in systems.items()]
    return "\n".join(
        [
            table(head.strip("| "), rows),
            "",
            f"{found['documents']:,} training documents with 136 features. The target is an NDCG@10 of {found['target']:.4f} on "
            f"{found['test_queries']:,} other queries, which LightGBM reaches with {found['trees']} trees. Medians of {found['rounds']} "
            f"interleaved runs. {' '.join([*ratios(systems), *speedups(systems)])}",
            "",
            f"On {short_repr(found['machine'])}.",
        ]
    )


def row(name: str, each: dict[str, Any]) -> str:
    needed, seconds = each["trees_to_target"], each["seconds_to_target"]
    cells = [
        name,
        f"{each['tree_ms']:.1f}",
        f"{each['seconds_to_first_tree']:.1f}",
        "not reached" if needed is None else str(needed),
        "–" if seconds is None else f"{seconds:.1f}",
        f"{each['exchanges_per_tree']:.1f}" if "exchanges_per_tree" in each else "–",
        f"{each['bytes_per_tree'] / 1e6:.1f}" if "bytes_per_tree" in each else "–",
    ]
    return f"| {' | '.join(cells)} |"


def ratios(systems: dict[str, Any]) -> list[str]:
    """Say how much longer a tree takes on workers than in one process with as many threads."""
    said = []
    for name, each in systems.items():
        kind, _, engine = name.partition(", ")
        alone = next((other for other in systems if other.startswith(f"{kind}, local")), None)
        if WITHIN in engine and alone is not None:
            said.append(
                f"{kind.capitalize()} trees take {each['tree_ms'] / systems[alone]['tree_ms']:.2f} times as long on workers."
            )
    return said


def speedups(systems: dict[str, Any]) -> list[str]:
    """Say how much sooner than a peer the fastest of Podium's systems on workers is at the target."""
    own = [
        each["seconds_to_target"]
        for name, each in systems.items()
        if f", {WITHIN}" in name and each["seconds_to_target"]
    ]
    if not own:
        return []
    peers = {name: each for name, each in systems.items() if name.endswith(".dask") and each["seconds_to_target"]}
    return [
        f"Podium on workers reaches the target {each['seconds_to_target'] / min(own):.1f} times sooner than {name}."
        for name, each in peers.items()
    ]
