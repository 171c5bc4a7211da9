"""The table of docs/benchmarks.md about podium serve, from the results of service.py."""

from __future__ import annotations

import json
from pathlib import Path

from machine import short_repr
from service import fastest_peer

RESULTS = Path(__file__).parent / "results"


def service_section() -> str:
    """Return one row per service and number of connections."""
    path = RESULTS / "service.json"
    if not path.exists():
        return "*Not measured yet: `python benchmarks/service.py`.*"
    found = json.loads(path.read_text())
    jobs, settings = found["jobs"], found["settings"]
    lines = [
        "| service | connections | requests per second | × the faster peer | p50, ms | p99, ms |",
        "|---|---|---|---|---|---|",
    ]
    for name, each in jobs.items():
        for connections, row in each.items():
            ratio = row["requests_per_second"] / fastest_peer(jobs, connections)
            lines.append(
                f"| {name} | {connections} | {row['requests_per_second']:,.0f} | {ratio:.1f} | {row['p50_ms']:.2f} |"
                f" {row['p99_ms']:.2f} |"
            )
    about = (
        f"Median of {settings['rounds']} runs of {settings['seconds']} s; {settings['workers']} worker{'s' if settings['workers'] > 1 else ''}"
        f" each; {settings['trees']} trees of {settings['leaves']} leaves. {short_repr(found['machine'])}."
    )
    if found["memory"] is not None:
        first, last = found["memory"]["first"], found["memory"]["last"]
        about += (
            f" Memory of Podium's workers: {first['mebibytes']:.0f} MiB after {first['requests']:,} requests,"
            f" {last['mebibytes']:.0f} MiB after {last['requests']:,}."
        )
    return "\n".join([*lines, "", about])
