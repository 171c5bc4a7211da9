"""podium data describe."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from podium.cli.console import (
    DataFile,
    FormatName,
    Json,
    ReadOption,
    Threads,
    data_source,
    out,
    print_json,
    read_data,
    say,
)
from podium.data import describe as describe_data


def describe(
    data: DataFile, format_name: FormatName = None, read: ReadOption = None, threads: Threads = None, json: Json = False
) -> None:
    """Describe data: its queries, documents, labels and features, and what may cause trouble."""
    description = describe_data(read_data(data_source(data, format_name, read), threads)).to_dict()
    if json:
        print_json(description)
        return
    say(str(data))
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in description.items():
        if value is None:
            continue
        table.add_row(name.replace("_", " "), escape(_show(value)))
    out.print(table)


def _show(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_show(part)}" for key, part in value.items()) or "none"
    if isinstance(value, list):
        shown = ", ".join(_show(part) for part in value[:12]) + (", …" if len(value) > 12 else "")
        return f"{len(value)}: {shown}" if value else "none"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
