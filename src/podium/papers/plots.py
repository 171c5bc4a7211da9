"""Plots as SVG, drawn by matplotlib (the extra `papers`): lines with intervals, and tables of probabilities."""

from __future__ import annotations

import importlib.util
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Points = Sequence[float] | npt.NDArray[np.float64]

COLORS = ("#2a78d6", "#e34948", "#008300", "#eda100", "#4a3aa7", "#1baf7a", "#e87ba4", "#eb6834", "#5c5b57", "#0b0b0b")
STYLES = {"ours": "-", "paper": "--", "others": ":", "points": "none"}
NUMBERS = {"x", "y", "low", "high", "x_ticks"}
MOST_INSIDE = 5  # lines that are named inside the axes; more are named beside them
SETTINGS = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "podium",  # the same names inside the file every time
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#d9d8d1",
    "legend.frameon": False,
    "legend.fontsize": 8,
}


@dataclass(frozen=True)
class Line:
    """Points joined by a line; `low` and `high` make bars of an interval. Kind: ours, paper (dashed), others (dotted)."""

    label: str
    x: Points
    y: Points
    low: Points | None = None
    high: Points | None = None
    kind: str = "ours"
    color: int | None = None
    marker: str = ""


@dataclass(frozen=True)
class Panel:
    """One pair of axes; with a `grid` of numbers from 0 to 1 it is drawn as a table of shaded cells."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line] = ()
    x_log: bool = False
    y_log: bool = False
    x_ticks: Sequence[float] | None = None
    grid: Sequence[Sequence[float]] | None = None
    names: Sequence[str] = ()


P = TypeVar("P", Line, Panel)


@dataclass(frozen=True)
class Plot:
    """Panels side by side, written to NAME.svg."""

    name: str
    panels: Sequence[Panel]
    columns: int = 2

    def to_dict(self) -> dict[str, Any]:
        """Return the plot as values that JSON can hold."""
        return {
            "name": self.name,
            "columns": self.columns,
            "panels": [{**_plain(panel), "lines": [_plain(line) for line in panel.lines]} for panel in self.panels],
        }

    @classmethod
    def of(cls, kept: dict[str, Any]) -> Plot:
        """Return what `to_dict` described."""
        panels = [_of(Panel, {**p, "lines": [_of(Line, line) for line in p["lines"]]}) for p in kept["panels"]]
        return cls(kept["name"], panels, kept["columns"])


def _plain(part: Line | Panel) -> dict[str, Any]:
    """The fields that are there; what is no number (an interval of one value) becomes null."""
    kept = {field.name: getattr(part, field.name) for field in fields(part)}
    for name in NUMBERS & kept.keys():
        if kept[name] is not None:
            kept[name] = [None if math.isnan(value) else float(value) for value in kept[name]]
    return {name: value for name, value in kept.items() if value is not None}


def _of(kind: type[P], kept: dict[str, Any]) -> P:
    given: dict[str, Any] = dict(kept)
    for name in NUMBERS & given.keys():
        given[name] = [math.nan if value is None else value for value in given[name]]
    return kind(**given)


def can_plot() -> bool:
    """Return whether the library that draws plots is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw(plot: Plot) -> str:
    """The SVG of a plot; the same text for the same numbers."""
    import matplotlib
    from matplotlib.figure import Figure

    columns = min(plot.columns, len(plot.panels))
    rows = math.ceil(len(plot.panels) / columns)
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(5.2 * columns, 3.9 * rows), layout="constrained")
        for number, panel in enumerate(plot.panels, start=1):
            _draw_panel(figure.add_subplot(rows, columns, number), panel)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _draw_panel(axes: Any, panel: Panel) -> None:
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if panel.grid is not None:
        _draw_grid(axes, panel)
        return
    for number, line in enumerate(panel.lines):
        color = COLORS[(number if line.color is None else line.color) % len(COLORS)]
        axes.plot(line.x, line.y, ls=STYLES[line.kind], color=color, marker=line.marker or None, ms=4, label=line.label)
        if line.low is not None and line.high is not None:
            under = [value - low for value, low in zip(line.y, line.low, strict=True)]
            over = [high - value for value, high in zip(line.y, line.high, strict=True)]
            axes.errorbar(line.x, line.y, (under, over), fmt="none", ecolor=color, elinewidth=1, capsize=2)
    if panel.x_log:
        axes.set_xscale("log")
    if panel.y_log:
        axes.set_yscale("log")
    if panel.x_ticks is not None:
        axes.set_xticks(panel.x_ticks, [f"{tick:g}" for tick in panel.x_ticks])
        axes.minorticks_off()
    if panel.lines:
        beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        axes.legend(**(beside if len(panel.lines) > MOST_INSIDE else {}))


def _draw_grid(axes: Any, panel: Panel) -> None:
    assert panel.grid is not None
    axes.imshow(panel.grid, cmap="RdYlBu", vmin=0, vmax=1)
    axes.grid(visible=False)
    axes.set_xticks(range(len(panel.names)), panel.names)
    axes.set_yticks(range(len(panel.names)), panel.names)
    for row, values in enumerate(panel.grid):
        for column, value in enumerate(values):
            ink = "white" if abs(value - 0.5) > 0.35 else "black"
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=8, color=ink)
