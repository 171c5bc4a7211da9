"""Pictures of forces as SVG: the pull on a pair against its score gap, and the field on three documents.

They contain colors for light and dark backgrounds, and need no package to be drawn or shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from podium.errors import ParameterError
from podium.forces.force import Floats, Force
from podium.forces.laws.field import Field, Point
from podium.metrics import Metric, metric

LIGHT = ("#2a78d6", "#e34948", "#008300", "#eda100", "#4a3aa7", "#1baf7a", "#e87ba4", "#eb6834")
DARK = ("#3987e5", "#e66767", "#2fa12f", "#c98500", "#9085e9", "#199e70", "#d55181", "#d95926")
STYLE = """
  svg { --surface: #fcfcfb; --ink: #0b0b0b; --quiet: #5c5b57; --line: #d9d8d1; --shade: #2a78d6; %s }
  @media (prefers-color-scheme: dark) {
    svg { --surface: #1a1a19; --ink: #f5f5f3; --quiet: #b5b4aa; --line: #3a3a37; --shade: #3987e5; %s }
  }
  text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: var(--quiet) }
  .title { font-size: 15px; font-weight: 600; fill: var(--ink) }
  .name { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: var(--ink) }
  .order { font-size: 13px; font-weight: 600; fill: var(--ink) }
  .line { fill: none; stroke-width: 2; stroke-linejoin: round }
  .grid { stroke: var(--line); fill: none }
  .axis { stroke: var(--quiet); fill: none }
  .arrow { stroke: var(--ink); fill: var(--ink); stroke-width: 1.3; stroke-linejoin: round }
  .side { fill: var(--quiet); fill-opacity: 0.06 }
"""
WIDE, NARROW, TALL = 620, 460, 430
REACH = 4.0  # the pair's gap goes from −REACH to REACH


def gap_picture(forces: Sequence[Force]) -> str:
    """Draw the force on the document that should win, against s_winner − s_loser, with one line per force."""
    return _page([_gap_panel(forces)], [WIDE])


def field_picture(forces: Sequence[Force], judged_by: str | Metric | None = None) -> str:
    """Draw the field on three documents A, B, C with labels 2, 1, 0: arrows over the six possible orders."""
    return _page([_field_panel(force, judged_by) for force in forces], [NARROW] * len(forces))


def both_pictures(force: Force, beside: Sequence[Force], judged_by: str | Metric | None) -> str:
    """Draw the pull of a force on a pair, with other forces to compare, and its field."""
    return _page([_gap_panel([force, *beside]), _field_panel(force, judged_by)], [WIDE, NARROW])


def _page(panels: Sequence[Iterable[str]], widths: Sequence[int]) -> str:
    colors = ["; ".join(f"--c{k}: {color}" for k, color in enumerate(shades)) for shades in (LIGHT, DARK)]
    width = sum(widths)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {TALL}" width="{width}" height="{TALL}" role="img">',
        f"<style>{STYLE % tuple(colors)}</style>",
        f'<rect width="{width}" height="{TALL}" rx="10" fill="var(--surface)"/>',
    ]
    for left, panel in zip(np.cumsum([0, *widths[:-1]]), panels, strict=True):
        out += [f'<g transform="translate({left} 0)">', *panel, "</g>"]
    return "\n".join([*out, "</svg>", ""])


def _one_score(force: Force) -> Field:
    field = Field(force)
    if field.outputs > 1:
        raise ParameterError(
            "force", str(force), "has several scores per document, and a picture shows one", "draw another force"
        )
    return field


def _pulls(force: Force, gaps: Floats) -> Floats:
    labels = np.array([1.0, 0.0])
    forces = _one_score(force).forces([Point(np.array([gap, -gap]) / 2, labels, 0) for gap in gaps])
    return np.array([force[0] for force in forces])


def _gap_panel(forces: Sequence[Force]) -> Iterable[str]:
    left, right, top, bottom = 56.0, WIDE - 190.0, 76.0, TALL - 56.0
    gaps = np.linspace(-REACH, REACH, 401)
    pulls = [_pulls(force, gaps) for force in forces]
    low, high, spacing = _heights(pulls)

    def x(gap: float) -> float:
        return left + (right - left) * (gap + REACH) / (2 * REACH)

    def y(pull: float) -> float:
        return bottom - (bottom - top) * (pull - low) / (high - low)

    yield '<text x="24" y="34" class="title">The pull on a pair</text>'
    yield '<text x="24" y="53">force on the document that should win, against the score gap</text>'
    yield f'<rect class="side" x="{left}" y="{top}" width="{x(0) - left:.1f}" height="{bottom - top}"/>'
    yield f'<text x="{(left + x(0)) / 2:.1f}" y="{top + 18}" text-anchor="middle">wrong order</text>'
    yield f'<text x="{(right + x(0)) / 2:.1f}" y="{top + 18}" text-anchor="middle">right order</text>'
    for tick in range(-int(REACH), int(REACH) + 1):
        yield f'<text x="{x(tick):.1f}" y="{bottom + 18}" text-anchor="middle">{_tick(tick)}</text>'
    for step in range(math.ceil(low / spacing), math.floor(high / spacing + 1e-9) + 1):
        place = y(step * spacing)
        yield f'<path class="{"grid" if step else "axis"}" d="M{left} {place:.1f}H{right}"/>'
        yield f'<text x="{left - 8}" y="{place + 4:.1f}" text-anchor="end">{_tick(step * spacing)}</text>'
    yield f'<text x="{(left + right) / 2}" y="{bottom + 40}" text-anchor="middle">s(winner) − s(loser)</text>'
    yield f'<clipPath id="frame"><rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top + 2}"/></clipPath>'
    for k, (force, pull) in enumerate(zip(forces, pulls, strict=True)):
        kept = np.clip(pull, low - 1, high + 1)
        path = " ".join(f"{x(gap):.1f},{y(value):.1f}" for gap, value in zip(gaps, kept, strict=True))
        color = f'stroke="var(--c{k % len(LIGHT)})"'
        near, seen = 0.01 * (high - low), np.abs(pull) > 0.05 * (high - low)
        covers = any(np.mean(seen & (np.abs(pull - other) < near)) > 0.3 for other in pulls[:k])
        color += ' stroke-dasharray="7 5"' if covers else ""  # the line below it is visible in the gaps
        yield f'<polyline class="line" clip-path="url(#frame)" {color} points="{path}"/>'
        key = top + 14 + 24 * k
        yield f'<path class="line" {color} d="M{right + 18} {key}h19"/>'
        yield f'<text class="name" x="{right + 42}" y="{key + 4}">{escape(_short(str(force), 19))}</text>'


def _heights(pulls: Sequence[Floats]) -> tuple[float, float, float]:
    """Return (lowest force shown, highest, distance of grid lines): about twice the usual pull at no gap, since some pulls explode."""
    usual = 2.2 * float(np.median([abs(pull[len(pull) // 2]) for pull in pulls])) or math.inf
    high = min(usual, 1.1 * max(float(pull.max()) for pull in pulls))
    low = max(-usual, 1.1 * min(float(pull.min()) for pull in pulls))
    low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        low, high = -1.0, 1.0
    power = 10.0 ** math.floor(math.log10((high - low) / 4))
    spacing = next(power * step for step in (1, 2, 2.5, 5, 10) if (high - low) / (power * step) <= 6)
    return low, high, spacing


def _tick(value: float) -> str:
    return f"{value:g}".replace("-", "−")


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


NAMES, LABELS = "ABC", np.array([2.0, 1.0, 0.0])
# The plane of score differences, seen straight on: each document lifts towards its own corner of a triangle.
CORNERS = np.array([[math.cos(math.radians(angle)), math.sin(math.radians(angle))] for angle in (90, -30, -150)])
RADIUS, EXTENT, SPACING = 146.0, 3.0, 0.5  # of the picture in pixels; of the scores shown; between arrows


def _scores(place: Floats) -> Floats:
    """Return the scores, which add up to 0, of a place in the plane."""
    return np.asarray(CORNERS @ place * 2 / 3)


def _field_panel(force: Force, judged_by: str | Metric | None) -> Iterable[str]:
    field, middle = _one_score(force), np.array([NARROW / 2, 80 + RADIUS + 20])
    judge = metric(judged_by or force.acting.metric or "ndcg")
    better = "higher" if judge.higher_is_better else "lower"

    def at(place: Floats) -> Floats:
        return np.asarray(middle + np.array([1, -1]) * place * RADIUS / EXTENT)

    yield f'<text x="24" y="34" class="title">The field of {escape(_short(str(force), 34))}</text>'
    yield f'<text x="24" y="53">on documents A, B, C with labels 2, 1, 0; bluer: {better} {escape(str(judge))}</text>'
    yield from _sixths(field, judge, middle)
    grid = [
        np.array([column + (row % 2) / 2, row * math.sqrt(3) / 2]) * SPACING
        for row in range(-8, 9)
        for column in range(-8, 9)
    ]
    places = [place for place in grid if 0.1 < np.linalg.norm(place) < 0.96 * EXTENT]
    forces = np.array(field.forces([Point(_scores(place), LABELS, 0) for place in places])) @ CORNERS
    largest = float(np.linalg.norm(forces, axis=1).max()) or 1.0
    for place, pull in zip(places, forces, strict=True):
        size = float(np.linalg.norm(pull)) / largest
        if size > 1e-6:
            yield _arrow(at(place), pull * np.array([1, -1]) / (size * largest), 4 + 17 * math.sqrt(size))


def _sixths(field: Field, judge: Metric, middle: Floats) -> Iterable[str]:
    """Draw the six orders, each shaded by the metric and named at the rim."""
    centers = np.radians(np.arange(0, 360, 60))
    points = [Point(_scores(np.array([math.cos(angle), math.sin(angle)])), LABELS, 0) for angle in centers]
    values = field.values(judge, points)
    goodness = values if judge.higher_is_better else -values
    share = (goodness - goodness.min()) / ((goodness.max() - goodness.min()) or 1.0)
    for angle, point, value, shade in zip(centers, points, values, share, strict=True):
        ends = [
            middle + RADIUS * np.array([math.cos(a), -math.sin(a)]) for a in (angle - math.pi / 6, angle + math.pi / 6)
        ]
        (x0, y0), (x1, y1) = ends
        path = f"M{middle[0]:.1f} {middle[1]:.1f}L{x0:.1f} {y0:.1f}A{RADIUS} {RADIUS} 0 0 0 {x1:.1f} {y1:.1f}Z"
        yield f'<path d="{path}" fill="var(--shade)" fill-opacity="{0.05 + 0.45 * shade:.3f}" stroke="var(--surface)"/>'
        order = "".join(NAMES[k] for k in np.argsort(-point.scores))
        x, y = middle + (RADIUS + 26) * np.array([math.cos(angle), -math.sin(angle)])
        yield f'<text class="order" x="{x:.1f}" y="{y - 1:.1f}" text-anchor="middle">{order}</text>'
        yield f'<text x="{x:.1f}" y="{y + 13:.1f}" text-anchor="middle">{value:.2f}</text>'


def _arrow(start: Floats, direction: Floats, length: float) -> str:
    """Draw an arrow whose middle is at a place."""
    across, tail, tip = (
        np.array([-direction[1], direction[0]]),
        start - direction * length / 2,
        start + direction * length / 2,
    )
    barbs = [tip - direction * 4.2 + side * across * 2.1 for side in (1, -1)]
    head = "L".join(f"{x:.1f} {y:.1f}" for x, y in [tip, *barbs])
    return f'<path class="arrow" d="M{tail[0]:.1f} {tail[1]:.1f}L{tip[0]:.1f} {tip[1]:.1f}M{head}Z"/>'
