"""Draws the plots of experiments as SVG, in the look of `podium.plots` (extra `plots`)."""

from __future__ import annotations

import math
from typing import Any

from podium.papers.plots import Line, Panel, Plot
from podium.plots.output import to_svg
from podium.plots.stack import alt, pd
from podium.plots.theme import COLORS, CONFIG, WORSE

DASHES = {"ours": [1, 0], "paper": [5, 4], "others": [1.5, 3], "points": [1, 0]}
SHAPES = {"o": "circle", "s": "square", "": "circle"}
WIDTH, HEIGHT = 380, 270
CELL = 52
LEGEND_LETTERS = 52  # of the labels of one row of a legend


def draw(plot: Plot) -> str:
    """Return the SVG of a plot; the same text for the same numbers."""
    panels = [_grid(panel) if panel.grid is not None else _lines(panel) for panel in plot.panels]
    whole = alt.concat(*panels, columns=min(plot.columns, len(panels))).resolve_scale(
        color="independent", strokeDash="independent", shape="independent", x="independent", y="independent"
    )
    return to_svg(whole.configure(**CONFIG).properties(description="; ".join(panel.title for panel in plot.panels)))


def _frame(lines: list[Line]) -> Any:
    """Return one row per point."""
    rows = []
    for number, line in enumerate(lines):
        lows = [math.nan] * len(line.x) if line.low is None else line.low
        highs = [math.nan] * len(line.x) if line.high is None else line.high
        for x, y, low, high in zip(line.x, line.y, lows, highs, strict=True):
            shared = {"line": number, "label": line.label, "kind": line.kind, "marker": line.marker}
            rows.append({**shared, "x": float(x), "y": float(y), "low": float(low), "high": float(high)})
    columns = ["line", "label", "kind", "marker", "x", "y", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def _lines(panel: Panel) -> Any:
    lines = list(panel.lines)
    looks = {line.label: (number if line.color is None else line.color, line) for number, line in enumerate(lines)}
    labels = list(dict.fromkeys(line.label for line in lines))
    scale = {
        "color": [COLORS[looks[label][0] % len(COLORS)] for label in labels],
        "strokeDash": [DASHES[looks[label][1].kind] for label in labels],
        "shape": [SHAPES[looks[label][1].marker] for label in labels],
    }
    legend = _legend(lines, labels)
    color, dash, shape = (
        kind("label:N", scale=alt.Scale(domain=labels, range=scale[name]), legend=legend)
        for kind, name in ((alt.Color, "color"), (alt.StrokeDash, "strokeDash"), (alt.Shape, "shape"))
    )
    frame = _frame(lines)
    x = _axis(alt.X, "x", panel.x_label, frame["x"], is_log=panel.x_log, ends=panel.x_range, ticks=panel.x_ticks)
    y = _axis(alt.Y, "y", panel.y_label, frame["y"], is_log=panel.y_log, ends=panel.y_range)
    base, clip = alt.Chart(), panel.x_range is not None or panel.y_range is not None
    drawn = base.transform_filter("datum.kind !== 'points' && isValid(datum.y)").mark_line(clip=clip)
    spans = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
    dots = base.transform_filter("datum.marker !== '' && isValid(datum.y)").mark_point(
        filled=True, size=32, opacity=1, clip=clip
    )
    layers = [
        drawn.encode(x=x, y=y, color=color, strokeDash=dash, detail="line:N"),
        spans.mark_rule(strokeWidth=1).encode(x=x, y=alt.Y("low:Q", title=panel.y_label), y2="high:Q", color=color),
        dots.encode(x=x, y=y, color=color, **({} if _is_dashed(lines) else {"shape": shape})),
    ]
    return alt.layer(*layers, data=frame).properties(title=panel.title, width=WIDTH, height=HEIGHT)


def _is_dashed(lines: list[Line]) -> bool:
    return any(line.kind in ("paper", "others") for line in lines)


def _legend(lines: list[Line], labels: list[str]) -> Any:
    """Return a legend below the panel that shows strokes where dashes tell lines apart, and otherwise points."""
    widest = max(map(len, labels), default=1)
    dashed = _is_dashed(lines)
    return alt.Legend(
        title=None,
        orient="bottom",
        columns=max(1, LEGEND_LETTERS // (widest + 4)),
        labelLimit=360,
        symbolLimit=0,
        symbolType="stroke" if dashed else alt.Undefined,
        symbolSize=220 if dashed else 60,
    )


def _axis(kind: Any, field: str, title: str, values: Any, *, is_log: bool, ends: Any, ticks: Any = None) -> Any:
    scale: dict[str, Any] = {"type": "log"} if is_log else {"zero": False}
    scale |= {"padding": 6, "nice": False} if ends is None else {"domain": list(ends), "nice": False}
    if is_log and ticks is None:
        shown = [float(value) for value in (values if ends is None else ends) if value > 0]
        ticks = _log_ticks(min(shown), max(shown)) if shown else []
    axis = alt.Axis() if ticks is None else alt.Axis(values=list(ticks), labelExpr="'' + datum.value")
    return kind(f"{field}:Q", title=title, scale=alt.Scale(**scale), axis=axis)


def _log_ticks(low: float, high: float) -> list[float]:
    """Return the powers of ten between two numbers; with few of them, their triples too."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 3) if len(powers) < 5 else (1,)
    ticks = [float(f"{step}e{power}") for power in powers for step in steps]
    return [tick for tick in ticks if low <= tick <= high]


def _grid(panel: Panel) -> Any:
    """Draw a table of probabilities, each cell shaded by its value."""
    assert panel.grid is not None
    names = list(panel.names)
    rows = [
        {"row": names[row], "column": names[column], "value": float(value)}
        for row, values in enumerate(panel.grid)
        for column, value in enumerate(values)
    ]
    x = alt.X("column:N", sort=names, title=panel.x_label, axis=alt.Axis(labelAngle=0))
    y = alt.Y("row:N", sort=names, title=panel.y_label)
    shade = alt.Scale(domain=[0, 0.5, 1], range=[WORSE, "#dddcd6", COLORS[0]], interpolate="rgb")
    cells = alt.Chart().mark_rect().encode(x=x, y=y, color=alt.Color("value:Q", scale=shade, legend=None))
    ink = alt.condition(
        "abs(datum.value - 0.5) > 0.3", alt.value("#ffffff"), alt.value("#000000")
    )  # on both backgrounds
    text = alt.Chart().mark_text().encode(x=x, y=y, text=alt.Text("value:Q", format=".2f"), color=ink)
    size = CELL * len(names)
    return alt.layer(cells, text, data=pd.DataFrame(rows)).properties(title=panel.title, width=size, height=size)
