"""Learning curves: the metric by epoch or by seconds, of one training or of several."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.errors import DataError, FormatError, ParameterError
from podium.kinds import kind_of
from podium.metrics import metric as as_metric
from podium.plots.inputs import MOST_ROWS, evenly_spaced
from podium.plots.output import themed
from podium.plots.stack import alt, pd
from podium.plots.theme import category_scale
from podium.training import Epoch

AXES = ("epoch", "seconds")
DASHES = {"domain": ["valid", "train"], "range": [[1, 0], [4, 3]]}


@dataclass(frozen=True)
class TrainingCurve:
    """The log of one training.

    Attributes:
        name: what the training is called.
        metric: the name of the metric that was logged.
        unit: what one row is of: epoch or round.
        rows: the rows of the log.
    """

    name: str
    metric: str
    unit: str
    rows: Sequence[Epoch]

    @property
    def best_epoch(self) -> int | None:
        """The epoch that was kept by its validation metric; None without validation data."""
        judged = [row for row in self.rows if row.valid is not None]
        if not judged:
            return None
        known = self.rows[-1].best_epoch
        return known if known is not None else next((row.epoch for row in reversed(judged) if row.best), None)


def learning_curve(runs: Any, *, metric: str | None = None, by: str = "epoch") -> Any:
    """Draw the metric on training and validation data by epoch, for one training or several.

    The columns of `chart.data` are run, data (train or valid), epoch, seconds, value and best.

    Args:
        runs: a trained ranker; the path of a model that `podium train` wrote, or of its log; or several of these in a list or
            by name. A ranker that was loaded from a file has no log: give the path instead.
        metric: which of the logged values to draw: by default the metric that the ranker was trained with; "cost"; or a
            metric of `also`.
        by: "epoch" or "seconds".
    """
    if by not in AXES:
        raise ParameterError("by", by, "must be 'epoch' or 'seconds'")
    curves = training_curves(runs)
    shown = _shown_metric(curves, metric)
    rows = [row for curve in curves for row in _curve_rows(curve, metric)]
    if not rows:
        known = sorted({name for curve in curves for row in curve.rows for name in (row.also or {})})
        raise ParameterError("metric", metric, "was not logged", f"logged: {', '.join([shown_names(curves), *known])}")
    frame = pd.DataFrame(rows)
    several, unit = len(curves) > 1, curves[0].unit if len({curve.unit for curve in curves}) == 1 else "epoch or round"
    names = [curve.name for curve in curves] if several else [d for d in ("valid", "train") if d in set(frame["data"])]
    color = alt.Color("run:N" if several else "data:N", scale=category_scale(names), title=None)
    x = alt.X("epoch:Q", title=unit) if by == "epoch" else alt.X("seconds:Q", title="seconds of training")
    y = alt.Y("value:Q", title=shown, scale=alt.Scale(zero=False))
    timed = [alt.Tooltip("seconds:Q", format=".1f")] if by == "seconds" else []  # the same training, the same chart
    tips = ["run", "data", "epoch", *timed, alt.Tooltip("value:Q", format=".4f")]
    lines = alt.Chart().mark_line().encode(x=x, y=y, color=color, tooltip=tips)
    if several:
        lines = lines.encode(strokeDash=alt.StrokeDash("data:N", scale=DASHES, title=None))
    best = (
        alt.Chart()
        .mark_point(filled=True, size=70, opacity=1)
        .encode(x=x, y=y, color=color, tooltip=tips)
        .transform_filter("datum.best")
    )
    title = f"Learning curve{'s' if several else ''}: {shown} by {by if by == 'seconds' else unit}"
    return themed(alt.layer(lines, best, data=frame), title, _subtitle(curves, frame))


def training_curves(runs: Any) -> list[TrainingCurve]:
    """Return the logs of trainings, given as `learning_curve` takes them."""
    if isinstance(runs, Mapping):
        named = {str(name): run for name, run in runs.items()}
    elif isinstance(runs, Sequence) and not isinstance(runs, str):
        named = dict(zip(_names(runs), runs, strict=True))
    else:
        named = {_name(runs): runs}
    if not named:
        raise ParameterError("runs", rule="is empty", remedy="give at least one trained ranker, or the path of a model")
    return [_curve(name, run) for name, run in named.items()]


def _name(run: Any) -> str:
    return Path(run).name.split(".")[0] if isinstance(run, str | os.PathLike) else type(run).__name__


def _names(runs: Sequence[Any]) -> list[str]:
    """Return a name for each run; equal names get a number."""
    names = [_name(run) for run in runs]
    return [
        name if names.count(name) == 1 else f"{name} {names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    ]


def _curve(name: str, run: Any) -> TrainingCurve:
    if isinstance(run, str | os.PathLike):
        return read_curve(run, name)
    rows = getattr(run, "log_", None)
    if rows is None:
        raise ParameterError("runs", run, "must be a trained ranker, or the path of a model or of its log")
    if not len(rows):
        raise DataError(
            f"{name} has no training log: a saved model does not hold it; give the path of the model, next to which podium "
            "train writes MODEL.log.jsonl, or a ranker that was trained here"
        )
    return TrainingCurve(name, str(as_metric(run.metric)), run.unit, list(rows))


def read_curve(path: str | os.PathLike[str], name: str | None = None) -> TrainingCurve:
    """Read the log of a training: from its own file, or from the file next to a model."""
    file = Path(path)
    kind = kind_of(file)
    if kind == "model":
        file = Path(f"{file}.log.jsonl")
        if not file.exists():
            raise FormatError(path, f"is a model, and its log {file.name} is not next to it; give the path of the log")
        kind = kind_of(file)
    if kind != "log":
        raise FormatError(file, "is not a training log; give a model that podium train wrote, or its log")
    settings, *lines = file.read_text().splitlines()
    try:
        known = json.loads(settings)
        rows = [Epoch(**json.loads(line)) for line in lines]
        given = str(known["parameters"]["metric"])
        unit = str(known.get("unit", "epoch"))
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(file, f"is a training log with a part missing or wrong: {error!r}") from None
    if not rows:
        raise FormatError(file, "is the log of a training that finished no epoch")
    return TrainingCurve(name or _name(path), given, unit, rows)


def _shown_metric(curves: Sequence[TrainingCurve], metric: str | None) -> str:
    return metric if metric is not None else shown_names(curves)


def shown_names(curves: Sequence[TrainingCurve]) -> str:
    """Return the metric of the trainings; several are joined by commas."""
    return ", ".join(dict.fromkeys(curve.metric for curve in curves))


def _curve_rows(curve: TrainingCurve, metric: str | None) -> list[dict[str, Any]]:
    """Return the rows of a training that are drawn: in even steps, with the best one."""
    most = max(2, MOST_ROWS // 2 // 8)
    kept = {int(k) for k in evenly_spaced(len(curve.rows), most)}
    best = curve.best_epoch
    out = []
    for place, row in enumerate(curve.rows):
        if place not in kept and row.epoch != best:
            continue
        for data, value in _values(row, curve.metric, metric):
            is_best = row.epoch == best and data == "valid"
            shared = {"run": curve.name, "data": data, "epoch": row.epoch, "seconds": row.seconds}
            out.append({**shared, "value": value, "best": is_best})
    return out


def _values(row: Epoch, own: str, metric: str | None) -> list[tuple[str, float]]:
    if metric == "cost":
        found = [("train", row.cost)]
    elif metric is None or metric == own:
        found = [("train", row.train), ("valid", row.valid)]
    else:
        found = [("valid", (row.also or {}).get(metric))]
    return [(data, value) for data, value in found if value is not None]


def _subtitle(curves: Sequence[TrainingCurve], frame: Any) -> str:
    judged = set(frame.loc[frame["data"] == "valid", "run"])
    lacking = [curve.name for curve in curves if curve.name not in judged]
    if len(curves) > 1:
        told = (
            "A point marks what was kept by the validation data; dashed lines are of training data." if judged else ""
        )
        if lacking and judged:
            told += f" The log of {' and '.join(lacking)} has no values on validation data."
        return told
    best = frame[frame["best"]]
    if not len(best):
        return ""
    row = best.iloc[0]
    return f"Kept by the validation data: {curves[0].unit} {row['epoch']}, {row['value']:.4f}"
