"""Plots of experiments as values: lines with intervals, and tables of probabilities. `podium.papers.drawing` makes SVGs of them."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Points = Sequence[float] | npt.NDArray[np.float64]

NUMBERS = {"x", "y", "low", "high", "x_ticks"}
LIBRARIES = ("altair", "pandas", "vl_convert")


@dataclass(frozen=True)
class Line:
    """Points joined by a line.

    Attributes:
        label: what the legend calls it; lines of one label look the same.
        x, y: the points.
        low, high: the ends of an interval at each point.
        kind: "ours", "paper" (dashed), "others" (dotted), or "points" without a line.
        color: the number of its color; by default the number of the line.
        marker: "o" or "s" for a dot or a square at each point, or "" for none.
    """

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
    """One pair of axes; with a `grid` of numbers from 0 to 1 it is drawn as a table of shaded cells.

    Attributes:
        title: what is shown.
        x_label, y_label: the quantities on the axes, with units.
        lines: the lines.
        x_log, y_log: whether an axis is logarithmic.
        x_ticks: where the x-axis has ticks.
        grid: the numbers of a table.
        names: the names of its rows and columns.
        x_range, y_range: the ends of an axis; by default it spans all points.
    """

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line] = ()
    x_log: bool = False
    y_log: bool = False
    x_ticks: Sequence[float] | None = None
    grid: Sequence[Sequence[float]] | None = None
    names: Sequence[str] = ()
    x_range: Sequence[float] | None = None
    y_range: Sequence[float] | None = None


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
    """Return whether the extra `plots`, which draws plots, is installed."""
    return all(importlib.util.find_spec(name) is not None for name in LIBRARIES)
