"""Charts of forces: the pull on a pair against its score gap, and the field on three documents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from podium.data.conversion import as_number
from podium.errors import ParameterError
from podium.forces import Force
from podium.forces import force as as_force
from podium.forces.laws.field import Field, Point
from podium.functions import Function
from podium.metrics import Metric, metric
from podium.plots.inputs import Floats
from podium.plots.output import beside as charts_beside
from podium.plots.output import themed
from podium.plots.stack import alt, pd
from podium.plots.theme import COLORS, GRID, INK, QUIET, SIDE, SURFACE, category_scale

GAPS = 201
NAMES, LABELS = "ABC", np.array([2.0, 1.0, 0.0])
# The plane of score differences, seen straight on: each document lifts towards its own corner of a triangle.
CORNERS = np.array([[math.cos(math.radians(angle)), math.sin(math.radians(angle))] for angle in (90, -30, -150)])
EXTENT, SPACING = 3.0, 0.5  # of the scores shown; between arrows
ARROW_LENGTHS = (0.08, 0.42)  # of the weakest and the strongest, in units of score
HEAD_LENGTH, HEAD_WIDTH = 0.11, 0.055
ARC_POINTS = 13
FIELD_PIXELS = 360
Given = str | Force | Function


def force_gap(forces: Given | Sequence[Given], *, reach: float = 4.0) -> Any:
    """Draw the force on the document that should win, against the gap s_winner − s_loser, with one line per force.

    The columns of `chart.data` are force, gap and pull. Some forces grow without bound; the axis ends at about twice the usual pull between
    equal scores.

    Args:
        forces: a force, its name or a function of yours; or several.
        reach: the largest gap.
    """
    number = as_number(reach)
    if number is None or not 0 < number < math.inf:
        raise ParameterError("reach", reach, "must be a number above 0")
    given = list(forces) if isinstance(forces, Sequence) and not isinstance(forces, str) else [forces]
    if not given:
        raise ParameterError("forces", rule="is empty", remedy="name at least one, as in ['ranknet', 'hinge']")
    acting = list({str(each): each for each in map(as_force, given)}.values())
    gaps = np.linspace(-float(number), float(number), GAPS)
    pulls = {str(each): pulls_of(each, gaps) for each in acting}
    frame = pd.concat(
        [pd.DataFrame({"force": name, "gap": gaps, "pull": pull}) for name, pull in pulls.items()], ignore_index=True
    )
    low, high = _heights(list(pulls.values()))
    dashes = alt.Scale(domain=list(pulls), range=_dashes(list(pulls.values()), high - low))
    zero = {"condition": {"test": "datum.value === 0", "value": QUIET}, "value": GRID}
    x = alt.X(
        "gap:Q", title="score gap s(winner) − s(loser)", scale=alt.Scale(nice=False), axis=alt.Axis(gridColor=zero)
    )
    y = alt.Y(
        "pull:Q", title="force λ on the winner", scale=alt.Scale(domain=[low, high]), axis=alt.Axis(gridColor=zero)
    )
    lines = (
        alt.Chart()
        .mark_line(clip=True)
        .encode(
            x=x,
            y=y,
            color=alt.Color("force:N", scale=category_scale(list(pulls)), title=None),
            strokeDash=alt.StrokeDash("force:N", scale=dashes, title=None),
            tooltip=["force", alt.Tooltip("gap:Q", format="+.2f"), alt.Tooltip("pull:Q", format="+.4f")],
        )
    )
    shade, words = _sides(float(number))
    return themed(
        alt.layer(shade, lines, words, data=frame),
        "The pull on a pair",
        "Force on the document that should win, against the score gap",
    )


def _sides(reach: float) -> tuple[Any, Any]:
    """Return the shade of the gaps at which the order is wrong, and the names of both sides."""
    shade = alt.Chart(alt.InlineData([{"from": -reach, "to": 0}])).mark_rect(color=SIDE)
    named = [{"at": -reach / 2, "side": "wrong order"}, {"at": reach / 2, "side": "right order"}]
    words = alt.Chart(alt.InlineData(named)).mark_text(color=QUIET, y=12)
    return shade.encode(x=alt.X("from:Q"), x2="to:Q"), words.encode(x="at:Q", text="side:N")


def force_field(force: Given, *, metric: str | Metric | None = None) -> Any:
    """Draw the field of a force on three documents A, B and C with labels 2, 1 and 0: arrows over the six possible orders.

    The columns of `chart.data` are a, b and c (the scores, which sum to 0), force_a, force_b, force_c, size, and x, y, x2, y2: the two ends of the arrow.
    Each document lifts towards its own corner: A up, B down to the right, C down to the left.

    Args:
        force: a force, its name, or a function of yours.
        metric: the metric that shades the orders; by default the force's own, or ndcg.
    """
    acting = as_force(force)
    field = _field(acting)
    judge = _metric(metric or acting.acting.metric or "ndcg")
    frame = _arrows(field)
    sixths = _sixths(field, judge)
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-1.3 * EXTENT, 1.3 * EXTENT]))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-1.3 * EXTENT, 1.3 * EXTENT]))
    rim = alt.InlineData(
        [{k: v for k, v in row.items() if k in ("order", "place", "x", "y", "shade")} for row in sixths]
    )
    shades = (
        alt.Chart(rim)
        .mark_line(filled=True, stroke=SURFACE, strokeWidth=1, fill=COLORS[0], interpolate="linear-closed")
        .encode(x=x, y=y, detail="order:N", order="place:Q", fillOpacity=alt.FillOpacity("shade:Q", scale=None))
    )
    labels = alt.Chart(alt.InlineData([row["label"] for row in sixths if row["place"] == 0]))
    orders = labels.mark_text(fontSize=13, fontWeight=600, color=INK, dy=-6).encode(x=x, y=y, text="order:N")
    values = labels.mark_text(color=QUIET, dy=8).encode(x=x, y=y, text=alt.Text("value:Q", format=".2f"))
    tips = [alt.Tooltip(f"{name}:Q", format="+.3f") for name in ("a", "b", "c", "force_a", "force_b", "force_c")]
    shafts = alt.Chart().mark_rule(color=INK, strokeWidth=1.2).encode(x=x, y=y, x2="x2:Q", y2="y2:Q", tooltip=tips)
    heads = alt.Chart(alt.InlineData(_heads(frame))).mark_line(
        filled=True, fill=INK, stroke=INK, strokeWidth=0.5, interpolate="linear-closed"
    )
    chart = alt.layer(
        shades, shafts, heads.encode(x=x, y=y, detail="arrow:N", order="place:Q"), orders, values, data=frame
    ).properties(width=FIELD_PIXELS, height=FIELD_PIXELS)
    better = "higher" if judge.higher_is_better else "lower"
    return themed(
        chart,
        f"The field of {acting}",
        "On documents A, B, C with labels 2, 1, 0, by the order of their scores",
        f"Bluer: {better} {judge.label}",
    )


def force_charts(force: Given, beside: Sequence[Given] = (), metric: str | Metric | None = None) -> Any:
    """Return one chart of a force: its pull on a pair next to that of others, and its field on three documents."""
    return charts_beside(force_gap([force, *beside]), force_field(force, metric=metric))


_metric = metric


def _field(force: Force) -> Field:
    field = Field(force)
    if field.outputs > 1:
        raise ParameterError(
            "force", str(force), "has several scores per document, and a chart shows one", "draw another force"
        )
    return field


def pulls_of(force: Force, gaps: Floats) -> Floats:
    """Return the force on the document that should win, at each score gap."""
    labels = np.array([1.0, 0.0])
    forces = _field(force).forces([Point(np.array([gap, -gap]) / 2, labels, 0) for gap in gaps])
    return np.array([float(each[0]) for each in forces])


def _heights(pulls: Sequence[Floats]) -> tuple[float, float]:
    """Return the lowest and the highest force shown: about twice the usual pull at no gap, since some pulls explode."""
    usual = 2.2 * float(np.median([abs(pull[len(pull) // 2]) for pull in pulls])) or math.inf
    high = min(usual, 1.1 * max(float(pull.max()) for pull in pulls))
    low = max(-usual, 1.1 * min(float(pull.min()) for pull in pulls))
    low, high = min(low, 0.0), max(high, 0.0)
    return (-1.0, 1.0) if low == high else (low, high)


def _dashes(pulls: Sequence[Floats], height: float) -> list[list[int]]:
    """Return a solid line for each force, or dashes if it covers another one, which is then visible in the gaps."""
    out = []
    for k, pull in enumerate(pulls):
        near, seen = 0.01 * height, np.abs(pull) > 0.05 * height
        covers = any(np.mean(seen & (np.abs(pull - other) < near)) > 0.3 for other in pulls[:k])
        out.append([7, 5] if covers else [1, 0])
    return out


def scores_at(place: Floats) -> Floats:
    """Return the scores, which add up to 0, of a place in the plane."""
    return np.asarray(CORNERS @ place * 2 / 3)


def _arrows(field: Field) -> Any:
    """Return the scores, forces and ends of the arrows on a triangular grid."""
    grid = [
        np.array([column + (row % 2) / 2, row * math.sqrt(3) / 2]) * SPACING
        for row in range(-8, 9)
        for column in range(-8, 9)
    ]
    places = [place for place in grid if 0.1 < np.linalg.norm(place) < 0.96 * EXTENT]
    scores = np.array([scores_at(place) for place in places])
    forces = np.array(field.forces([Point(each, LABELS, 0) for each in scores]))
    moves = forces @ CORNERS
    sizes = np.linalg.norm(moves, axis=1)
    largest = float(sizes.max()) or 1.0
    kept = sizes > 1e-6 * largest
    weakest, strongest = ARROW_LENGTHS
    lengths = weakest + (strongest - weakest) * np.sqrt(sizes[kept] / largest)
    half = moves[kept] / sizes[kept, None] * lengths[:, None] / 2
    middle = np.array(places)[kept]
    columns = dict(zip(("a", "b", "c"), scores[kept].T, strict=True))
    columns |= dict(zip(("force_a", "force_b", "force_c"), forces[kept].T, strict=True))
    ends = zip(("x", "y", "x2", "y2"), [*(middle - half).T, *(middle + half).T], strict=True)
    return pd.DataFrame({**columns, "size": sizes[kept], **dict(ends)})


def _heads(frame: Any) -> list[dict[str, float]]:
    """Return the corners of the arrows' heads."""
    out = []
    for number, row in enumerate(frame[["x", "y", "x2", "y2"]].to_numpy()):
        tail, tip = row[:2], row[2:]
        along = (tip - tail) / np.linalg.norm(tip - tail)
        across = np.array([-along[1], along[0]])
        for place, corner in enumerate(
            (tip, tip - HEAD_LENGTH * along + HEAD_WIDTH * across, tip - HEAD_LENGTH * along - HEAD_WIDTH * across)
        ):
            out.append({"arrow": number, "place": place, "x": round(corner[0], 4), "y": round(corner[1], 4)})
    return out


def _sixths(field: Field, judge: Metric) -> list[dict[str, Any]]:
    """Return the outlines of the six orders, each shaded by the metric, with the label at its rim."""
    centers = np.radians(np.arange(0, 360, 60))
    points = [Point(scores_at(np.array([math.cos(angle), math.sin(angle)])), LABELS, 0) for angle in centers]
    values = field.values(judge, points)
    goodness = values if judge.higher_is_better else -values
    share = (goodness - goodness.min()) / ((goodness.max() - goodness.min()) or 1.0)
    out = []
    for angle, point, value, shade in zip(centers, points, values, share, strict=True):
        order = "".join(NAMES[k] for k in np.argsort(-point.scores))
        label = {
            "order": order,
            "value": float(value),
            "x": 1.18 * EXTENT * math.cos(angle),
            "y": 1.18 * EXTENT * math.sin(angle),
        }
        arc = np.linspace(angle - math.pi / 6, angle + math.pi / 6, ARC_POINTS)
        outline = [(0.0, 0.0), *((EXTENT * math.cos(a), EXTENT * math.sin(a)) for a in arc)]
        for place, (x, y) in enumerate(outline):
            shared = {"order": order, "shade": round(0.05 + 0.45 * float(shade), 3), "label": label}
            out.append({**shared, "place": place, "x": round(x, 4), "y": round(y, 4)})
    return out
