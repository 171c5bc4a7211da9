"""Charts as SVG, PNG and HTML, made by vl-convert without a browser and without a network."""

from __future__ import annotations

import functools
import html
import json
import math
import os
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from podium.errors import ParameterError, UnknownNameError
from podium.files import atomic_write
from podium.plots.stack import alt, pd, vl_convert
from podium.plots.theme import CLASS, CONFIG, DARK_NEUTRALS, SURFACE, dark_style, recolored

THEMES = ("auto", "light", "dark")
FORMATS = ("svg", "png", "html")
OTHER_FORMATS = ("eps", "gif", "jpeg", "jpg", "json", "pdf", "webp")  # which a name must not promise
MOST_SCALE = 20
LETTER_PIXELS = {"text": 8.6, "subtitle": 7.0}  # of a letter in a wide font
WIDE_FONT = 1.17  # by so much letters of DejaVu Sans, among the widest in use, are wider than those of the layout
MINUS = re.compile(r"(?<![\w.)])-(?=[\d.])")
BESIDE_PIXELS = 60  # of the axis next to a chart, above which its title stands too
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta name="generator" content="Podium">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:">
<link rel="icon" href="data:,">
<title>%(title)s</title>
<style>
body { margin: 0; padding: 16px; background: %(surface)s }
%(style)s
</style>
<script>%(javascript)s</script>
</head>
<body>
<main id="chart" class="%(kind)s"></main>
<script>
vegaEmbed("#chart", %(spec)s, {renderer: "svg", actions: {export: true, source: false, compiled: false, editor: false}})
  .then(() => document.querySelector("#chart summary").setAttribute("aria-label", "Save the chart"));
</script>
</body>
</html>
"""


def themed(chart: Any, title: str, *subtitle: str) -> Any:
    """Return a chart with its title, lines below it, and Podium's look."""
    title, *lines = [MINUS.sub("−", line) for line in (title, *subtitle) if line]
    words = alt.Title(title, subtitle=lines) if lines else alt.Title(title)
    return chart.properties(title=words, description=". ".join([title, *lines])).configure(**CONFIG)


def beside(*charts: Any, columns: int = 2) -> Any:
    """Return one chart with several next to each other. Altair's own `|` refuses charts that have a look of their own.

    Args:
        charts: charts that functions of this module returned.
        columns: how many stand in one row.
    """
    bare = [chart.copy(deep=False) for chart in charts]
    for chart in bare:
        chart.config = alt.Undefined
    whole = alt.concat(*bare, columns=columns).resolve_scale(
        color="independent", strokeDash="independent", shape="independent", opacity="independent"
    )
    return whole.configure(**CONFIG)


def to_spec(chart: Any, *, theme: str = "light") -> dict[str, Any]:
    """Return a chart as Vega-Lite JSON with its data inside, to be embedded in a page.

    Args:
        chart: an Altair chart.
        theme: "light" or "dark".
    """
    check_theme(theme)
    with alt.data_transformers.enable("default", max_rows=None):
        spec: dict[str, Any] = chart.to_dict()
    _wrap_titles(spec)
    return recolored(spec) if theme == "dark" else spec


def _wrap_titles(spec: dict[str, Any]) -> None:
    """Break titles and subtitles into lines that fit above a chart, in any of the fonts that a reader may have."""
    for inner in spec.get("concat", ()):
        _wrap_titles(inner)
    title, width = spec.get("title"), spec.get("width", CONFIG["view"]["continuousWidth"])
    if not isinstance(title, dict) or not isinstance(width, int | float):
        return
    for part, pixels in LETTER_PIXELS.items():
        given = title.get(part, [])
        most = max(20, int((width + BESIDE_PIXELS) / pixels))
        lines = [line for text in ([given] if isinstance(given, str) else given) for line in textwrap.wrap(text, most)]
        if len(lines) > 1:
            title[part] = lines


def to_svg(chart: Any, *, theme: str = "auto") -> str:
    """Return a chart as the text of an SVG picture.

    Args:
        chart: an Altair chart.
        theme: "light", "dark", or "auto" for colors that follow the preference of whoever looks at it.
    """
    spec, sizes = _with_room(to_spec(chart, theme=theme))
    text: str = vl_convert.vegalite_to_svg(spec, vl_version=_version())
    text = re.sub(r'font-size="([^"]+)"', lambda found: f'font-size="{sizes.get(found[1], found[1])}"', text)
    text = text.replace('class="marks"', f'class="{CLASS} marks"', 1)
    if theme == "auto":
        head, end, rest = text.partition(">")
        text = f"{head}{end}<style>{dark_style()}</style>{rest}"
    return text + "\n"


def _with_room(spec: Any) -> tuple[Any, dict[str, str]]:
    """Return a specification with larger letters, and the size in an SVG that each of these stands for.

    An SVG is laid out here, and drawn by a browser whose font may be wider. So it is laid out for wide letters, and gets
    their right size afterwards.
    """
    sizes: dict[str, str] = {}

    def enlarged(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: enlarged(inner, name) for name, inner in value.items() if name != "datasets"} | (
                {"datasets": value["datasets"]} if "datasets" in value else {}
            )
        if isinstance(value, list):
            return [enlarged(inner) for inner in value]
        if key.lower().endswith("fontsize") and isinstance(value, int | float):
            large = round(value * WIDE_FONT, 2)
            sizes[f"{large:g}px"] = f"{value:g}px"
            return large
        return value

    return enlarged(spec), sizes


def to_png(chart: Any, *, theme: str = "light", scale: float = 2.0) -> bytes:
    """Return a chart as a PNG picture.

    Args:
        chart: an Altair chart.
        theme: "light" or "dark"; "auto" is light.
        scale: pixels per unit of length: 2 is sharp on most screens.
    """
    if not 0 < scale <= MOST_SCALE:
        raise ParameterError("scale", scale, f"must be above 0 and at most {MOST_SCALE}")
    picture: bytes = vl_convert.vegalite_to_png(to_spec(chart, theme=theme), vl_version=_version(), scale=scale)
    return picture


def to_html(chart: Any, *, theme: str = "auto") -> str:
    """Return a chart as an HTML page that holds all it needs, with tooltips. It asks nothing of the network.

    Args:
        chart: an Altair chart.
        theme: "light", "dark", or "auto" for colors that follow the preference of whoever looks at it.
    """
    spec = to_spec(chart, theme=theme)
    dark = f"@media (prefers-color-scheme: dark) {{ body {{ background: {DARK_NEUTRALS[SURFACE]} }} }}\n{dark_style()}"
    return PAGE % {
        "title": html.escape(_title(spec)),
        "surface": DARK_NEUTRALS[SURFACE] if theme == "dark" else SURFACE,
        "style": dark if theme == "auto" else "",
        "javascript": javascript(),
        "kind": CLASS,
        "spec": json.dumps(spec).replace("<", "\\u003c"),  # so that no text can end the script or begin a comment
    }


@functools.cache
def javascript() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script for a page that draws several charts: `vegaEmbed(place, spec)`."""
    script: str = vl_convert.javascript_bundle(vl_version=_version())
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def save(chart: Any, path: str | os.PathLike[str], *, theme: str = "auto", scale: float = 2.0) -> None:
    """Write a chart to a file, completely or not at all. The ending of its name says how: .png, .html, or else as SVG.

    Args:
        chart: an Altair chart.
        path: the path of the file.
        theme: "light", "dark", or "auto" for SVG and HTML that follow the preference of whoever looks at it.
        scale: pixels per unit of length of a PNG.
    """
    kind = file_format(path)
    check_theme(theme)
    if kind == "png":
        content = to_png(chart, theme=theme, scale=scale)
    else:
        content = (to_svg(chart, theme=theme) if kind == "svg" else to_html(chart, theme=theme)).encode()
    with atomic_write(path, kind) as file:
        file.write(content)


def file_format(path: str | os.PathLike[str], parameter: str = "path") -> str:
    """Return what a chart is written as: png or html if the file's name ends so, or else svg; endings of other formats are refused."""
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind in OTHER_FORMATS:
        raise ParameterError(parameter, os.fspath(path), "must end in .svg, .png or .html")
    return kind if kind in FORMATS else "svg"


def check_theme(theme: str) -> None:
    """Raise a ParameterError unless a theme has this name."""
    if theme not in THEMES:
        raise UnknownNameError("theme", theme, THEMES)


def frame_rows(chart: Any) -> list[dict[str, Any]]:
    """Return the data of a chart as JSON takes it, one row after the other; NaN becomes None."""
    frame: pd.DataFrame = chart.data
    return [
        {name: _plain(value) for name, value in zip(frame.columns, row, strict=True)}
        for row in frame.itertuples(index=False, name=None)
    ]


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    is_infinite = isinstance(value, float) and math.isinf(value)
    return None if is_infinite or pd.isna(value) else value


def _title(spec: dict[str, Any]) -> str:
    title = spec.get("title", {})
    text = title.get("text", "") if isinstance(title, dict) else title
    return " ".join(text) if isinstance(text, Sequence) and not isinstance(text, str) else str(text) or "Podium"


def _version() -> str:
    """Return the version of Vega-Lite that Altair writes, as vl-convert takes it."""
    wanted, known = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2]), vl_convert.get_vegalite_versions()
    return wanted if wanted in known else str(known[-1])
