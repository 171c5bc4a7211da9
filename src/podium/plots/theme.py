"""The look of charts: colors for light and dark backgrounds, fonts and axes.

A chart is made in light colors, each of which has a counterpart for dark backgrounds. An SVG carries rules that exchange
them if its reader prefers dark; other output exchanges them before it is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

COLORS = ("#2a78d6", "#e34948", "#008300", "#eda100", "#4a3aa7", "#1baf7a", "#e87ba4", "#eb6834", "#76746e")
DARK_COLORS = ("#3987e5", "#e66767", "#2fa12f", "#c98500", "#9085e9", "#199e70", "#d55181", "#d95926", "#a3a199")
SURFACE, INK, QUIET, GRID, SIDE = "#fcfcfb", "#0b0b0b", "#5c5b57", "#d9d8d1", "#f0efeb"
DARK_NEUTRALS = {SURFACE: "#1a1a19", INK: "#f5f5f3", QUIET: "#b5b4aa", GRID: "#3a3a37", SIDE: "#262624"}
DARK_OF = {**DARK_NEUTRALS, **dict(zip(COLORS, DARK_COLORS, strict=True))}
BETTER, WORSE, PLAIN = COLORS[0], COLORS[1], COLORS[8]
RAMP = ("#3987e5", "#9b7fb8", "#e66767")  # from low to high; interpolated, and visible on both backgrounds
FONT = "system-ui, sans-serif"
CLASS = "podium-chart"
LONGEST_LABEL = 34  # letters of a name at an axis

CONFIG: dict[str, Any] = {
    "background": SURFACE,
    "font": FONT,
    "padding": 16,
    "title": {
        "anchor": "start",
        "frame": "group",
        "color": INK,
        "fontSize": 14,
        "fontWeight": 600,
        "subtitleColor": QUIET,
        "subtitleFontSize": 12,
        "subtitlePadding": 5,
        "offset": 14,
    },
    "axis": {
        "labelColor": QUIET,
        "titleColor": QUIET,
        "titleFontWeight": "normal",
        "titleFontSize": 12,
        "labelFontSize": 11,
        "gridColor": GRID,
        "domainColor": GRID,
        "tickColor": GRID,
        "labelLimit": 260,
        "labelSeparation": 6,
    },
    "legend": {
        "labelColor": QUIET,
        "titleColor": QUIET,
        "titleFontWeight": "normal",
        "titleFontSize": 12,
        "labelFontSize": 11,
        "labelLimit": 280,
        "symbolStrokeWidth": 2,
    },
    "header": {"labelColor": QUIET, "titleColor": QUIET, "titleFontWeight": "normal", "labelFontSize": 11},
    "view": {"stroke": None, "continuousWidth": 440, "continuousHeight": 280},
    "range": {"category": list(COLORS), "ramp": list(RAMP)},
    "mark": {"color": COLORS[0]},
    "line": {"strokeWidth": 2, "strokeJoin": "round"},
    "rule": {"color": QUIET},
    "text": {"color": INK, "fontSize": 11},
}


# Names are cut in the middle, because long ones often differ at their ends.
NAME_LABELS = (
    f"length(datum.label) > {LONGEST_LABEL} ? substring(datum.label, 0, {LONGEST_LABEL // 2}) + '…' "
    f"+ substring(datum.label, length(datum.label) - {LONGEST_LABEL // 2 - 1}) : datum.label"
)


def recolored(value: Any) -> Any:
    """Return a specification with every color exchanged for its dark counterpart."""
    if isinstance(value, dict):
        return {name: recolored(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [recolored(inner) for inner in value]
    return DARK_OF.get(value, value) if isinstance(value, str) else value


def dark_style(selector: str = f".{CLASS}") -> str:
    """Return the CSS that gives charts their dark colors where the reader prefers a dark background.

    Args:
        selector: the elements that contain charts drawn as SVG.
    """
    rules = [
        f'{selector} [{part}="{light}"] {{ {part}: {dark} }}'
        for light, dark in DARK_OF.items()
        for part in ("fill", "stroke")
    ]
    return "@media (prefers-color-scheme: dark) {\n" + "\n".join(rules) + "\n}"


def colors(count: int) -> list[str]:
    """Return so many colors for categories; they repeat after the last."""
    return [COLORS[k % len(COLORS)] for k in range(count)]


def category_scale(names: Sequence[str]) -> dict[str, Any]:
    """Return the scale that gives each name a color, in their order."""
    return {"domain": list(names), "range": colors(len(names))}
