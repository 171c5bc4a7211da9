"""A page that the papers do not have: every force × every function class, on two real sets and two artificial ones."""

from __future__ import annotations

import warnings
from typing import Any

import podium
from podium.errors import DataError, ParameterError
from podium.forces import FORCES
from podium.models import MODELS
from podium.papers.experiment import Cells, Experiment, Skip, grid
from podium.papers.judging import MARKS, Floats, by_query, fitted, level_with_best, marked, values
from podium.papers.plots import Line, Panel, Plot
from podium.papers.report import Report, Spread, Table
from podium.papers.sets import Parts, artificial, ohsumed, yandex

METRIC = "ndcg@10"
# the arguments of forces that need a metric or another force
FILLED = {
    "lambdarank": "lambdarank(ndcg@10)",
    "step": "step(ndcg@10, margin=1)",
    "neighbors": "neighbors(lambdarank(ndcg@10))",
    "finite_difference": "finite_difference(ndcg@10)",
    "regularized": "regularized(lambdarank(ndcg@10), alpha=0.1)",
}
# models with a size of their own
SIZED = {
    "net": "net(10)",
    "kernel": "kernel(rbf, landmarks=500)",
    "nadaraya-watson": "nadaraya-watson(references=300)",
}
# Names of forces that the experiment leaves out; PRank itself stands for its force.
NOT_MEASURED = ("prank",)
FORCE_NAMES = tuple(FILLED.get(name, name) for name in FORCES if name not in NOT_MEASURED)
MODEL_NAMES = tuple(SIZED.get(name, name) for name in dict.fromkeys((*MODELS, *SIZED)))
RATES = (0.001, 0.01)
SETS = {"ohsumed": (1, 2, 3, 4, 5), "yandex": (0,), "network": (0,), "polynomial": (0,)}


def parts_of(data: str, draw: int, size: int) -> Parts:
    """A fold, a split or a generator of a set; `size` is the number of queries of what is artificial."""
    if data == "ohsumed":
        return ohsumed(draw)
    if data == "yandex":
        return yandex(draw)
    return artificial(data, draw, size, size, 4 * size, levels=5)


def cell(data: str, force: str, model: str, draw: int, size: int, epochs: int) -> dict[str, Any]:
    """One force on one function class: the epoch (or tree) and the learning rate that are best on validation count."""
    parts, trees = parts_of(data, draw, size), model.startswith("trees")
    best: dict[str, Any] = {}
    diverged: list[str] = []
    for rate in (None,) if trees else RATES:  # trees choose theirs by the size of the data
        try:
            schedule = f"adam(rate={rate!r}, epochs={epochs}, early_stopping_rounds=30)"
            if trees:
                schedule = f"boosting(rounds={2 * epochs}, early_stopping_rounds=None)"
            ranker = podium.Ranker(force=force, model=model, metric=METRIC, seed=draw, num_threads=1, schedule=schedule)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores, seconds = fitted(ranker, parts)
        except ParameterError as error:
            raise Skip(str(error)) from None
        except DataError as error:  # a rate that diverges has lost
            diverged.append(str(error))
            continue
        if not best or ranker.best_value_ > best["valid"]:
            more = {"learning_rate": rate, "best_epoch": ranker.best_epoch_, "fit_seconds": seconds}
            best = {"valid": ranker.best_value_, **more, **values(scores, parts[2], [METRIC], keep=[METRIC])}
    if not best:
        raise Skip("; ".join(diverged))
    return best


def report(cells: Cells) -> Report:
    """One table per data set: quality, and next to it the seconds of training."""
    tables, notes, panels = [], [], []
    for data in cells.axis("data"):
        found = cells.where(data=data)
        named = per_query(found)
        if not named:
            notes.append(f"{data}: {'; '.join(found.reasons())}.")
            continue
        best, level = level_with_best(named)
        seconds = {key: found.numbers("fit_seconds", force=key[0], model=key[1]).mean() for key in named}
        rows = []
        for force in found.axis("force"):
            row = [force]
            for model in found.axis("model"):
                key = (force, model)
                if key not in named:
                    row.append(_why(found.where(force=force, model=model), notes))
                    continue
                quality = marked(Spread.of(named[key]).short_repr(4), key, best, level)
                row.append(f"{_unbroken(quality)} {_unbroken(f'({seconds[key]:.1f} s)')}")
            rows.append(row)
        draws, queries = len(found.axis("draw")), len(next(iter(named.values())))
        several = f"{draws} draws, " if draws > 1 else ""
        title = f"{data}: NDCG@10 ± interval (processor seconds per training); {several}{queries:,} test queries"
        tables.append(Table(title, ["force", *found.axis("model")], rows))
        panels.append(_panel(data, found.axis("model"), named, seconds))
    plots = [Plot("quality-and-time", panels)] if panels else []
    return Report(tables=tables, plots=plots, notes=[MARKS, *dict.fromkeys(notes)])


def per_query(cells: Cells) -> dict[tuple[str, str], Floats]:
    """The values of all test queries of every force and model that has all its draws."""
    out: dict[tuple[str, str], Floats] = {}
    for force in cells.axis("force"):
        for model in cells.axis("model"):
            found = cells.where(force=force, model=model)
            if len(found) and len(found) == len(found.all):
                out[force, model] = by_query(found, METRIC, same=found.axis("data") == ["yandex"])
    return out


def _unbroken(words: str) -> str:
    """On one line of a cell, however narrow the page."""
    return words.replace(" ", "\u00a0")


def _why(cells: Cells, notes: list[str]) -> str:
    """A footnote instead of a number."""
    reason = f"{'; '.join(cells.reasons())}."
    if reason not in notes:
        notes.append(reason)
    return "– (see below)"


def _panel(data: str, models: list[str], named: dict[tuple[str, str], Floats], seconds: dict[Any, float]) -> Panel:
    lines = []
    for number, model in enumerate(models):
        keys = sorted((key for key in named if key[1] == model), key=lambda key: seconds[key])
        if keys:
            x, y = [seconds[key] for key in keys], [float(named[key].mean()) for key in keys]
            lines.append(Line(model, x, y, color=number, kind="points", marker="o"))
    return Panel(data, "processor seconds per training", "NDCG@10", lines, x_log=True)


def _plan(draws: dict[str, tuple[int, ...]], **more: Any) -> list[dict[str, Any]]:
    return [
        settings
        for data, numbers in draws.items()
        for settings in grid(data=data, force=FORCE_NAMES, model=MODEL_NAMES, draw=numbers, **more)
    ]


FORCES_BY_CLASSES = Experiment(
    name="forces-by-classes",
    paper="All five papers",
    title="Every force × every function class.",
    work=cell,
    full=_plan(SETS, size=200, epochs=300),
    quick=_plan({"network": (0,), "polynomial": (0,)}, size=10, epochs=3),
    report=report,
    more_data=("ohsumed", "yandex"),
    extends_results=True,
    minutes=75,
)
