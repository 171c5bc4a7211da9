"""What the commands of podium plot share: the file that a chart is written to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from podium.cli.console import check_outputs, print_json, say
from podium.files import Output

Theme = Annotated[
    str,
    typer.Option(
        "--theme", help="Colors: 'light', 'dark', or 'auto' for SVG and HTML that follow the reader's preference."
    ),
]


def out_option() -> Any:
    """Return the option --out of a chart."""
    return typer.Option("--out", "-o", help="File to write: its name ends in .svg, .png or .html.")


class ChartFile:
    """The file of a chart. It is checked before any work is done."""

    def __init__(
        self, path: Path, theme: str, json: bool, *, inputs: Sequence[Path | None], read: list[str] | None = None
    ) -> None:
        from podium.plots.output import check_theme, file_format

        check_theme(theme)
        check_outputs(Output(path, file_format(path, "out"), "--out"), inputs=inputs, read=read)
        self.path, self.theme, self.json = path, theme, json

    def write(self, chart: Any) -> None:
        """Write the chart, and print where it is, or the data that it shows."""
        from podium.plots.output import frame_rows, save

        save(chart, self.path, theme=self.theme)
        lines = chart.title.subtitle if isinstance(chart.title.subtitle, list) else []
        if self.json:
            print_json({"out": str(self.path), "title": chart.title.text, "subtitle": lines, "data": frame_rows(chart)})
            return
        say(chart.title.text)
        for line in lines:
            say(line)
        say(f"wrote {self.path}")
