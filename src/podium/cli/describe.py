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
    description = describe_data(read_data(data_source(data, format_name, read), threads))
    if json:
        print_json(description.to_dict())
        return
    say(str(data))
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, text in description.rows():
        table.add_row(name, escape(text))
    out.print(table)
    for remark in description.remarks():
        out.print(f"note: {remark}", style="yellow", markup=False, highlight=False, soft_wrap=True)
