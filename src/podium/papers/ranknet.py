"""RankNet (ICML 2005) on artificial data: Table 1, Table 2, and the net that learns its training data without an error.

A file of the paper is a query of 50 vectors here, so 100 training vectors are two queries. Its schedule: one update per pair,
rate 0.001, halved when the mean cost of an epoch rises; up to 100 epochs; the epoch with the fewest wrong pairs on
validation is kept.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy.stats import binomtest

import podium
from podium.papers.experiment import Cells, Experiment, grid
from podium.papers.judging import learned
from podium.papers.plots import Line, Panel, Plot
from podium.papers.report import Claim, Report, Spread, Table
from podium.papers.sets import artificial
from podium.training import Epoch

PAPER = "RankNet, ICML 2005"
VECTORS = (100, 500, 2500, 12500)
TABLE1 = {
    ("network", "linear"): (82.39, 88.86, 89.91, 90.06),
    ("network", "2 layers"): (82.29, 88.80, 96.94, 97.67),
    ("polynomial", "linear"): (59.63, 66.68, 68.30, 69.00),
    ("polynomial", "2 layers"): (59.54, 66.97, 68.56, 69.27),
}
HIDDEN: dict[str, tuple[int, ...]] = {"linear": (), "2 layers": (5,)}
JUDGED = 100  # queries of validation and of test: 5,000 vectors each


def ranknet(**parameters: Any) -> podium.RankNet:
    """RankNet with the paper's schedule."""
    paper: dict[str, Any] = {
        "optimizer": "sgd",
        "batch": "pair",
        "learning_rate": 0.001,
        "rate_rule": "halve",
        "epochs": 100,
        "early_stopping_rounds": None,
        "standardize": False,
        "metric": "pairwise_correct",
        "num_threads": 1,
    }
    return podium.RankNet(**{**paper, **parameters})


def correct(scores: Any, data: podium.RankingData) -> float:
    """The share of pairs that stand right, in percent."""
    return 100 * podium.evaluate(scores, data, "pairwise_correct", num_threads=1).mean["pairwise_correct"]


def table1_cell(task: str, model: str, vectors: int, generator: int, epochs: int) -> dict[str, Any]:
    """Trains on so many vectors of a task and counts the test pairs that stand right."""
    train, valid, test = artificial(task, generator, vectors // 50, JUDGED, JUDGED)
    ranker = ranknet(hidden=HIDDEN[model], epochs=epochs, seed=generator)
    learned(ranker, train, valid, callbacks=lambda row: row.train == 1)  # no training pair is wrong
    return {
        "correct": correct(ranker.predict(test), test),
        "valid": 100 * (ranker.best_value_ or 0.0),
        "epoch": ranker.best_epoch_,
        "epochs": ranker.n_epochs_,
    }


def table1(cells: Cells) -> Report:
    """Return the paper's cell, ours, and the range in which another generator would be expected."""
    rows, lines, inside, total = [], [], 0, 0
    steps: list[Spread] = []  # from each size of the training set to the next
    means: dict[tuple[str, str], list[float]] = {}
    for number, ((task, model), paper) in enumerate(TABLE1.items()):
        spreads = [Spread.of(cells.numbers("correct", task=task, model=model, vectors=n)) for n in VECTORS]
        means[task, model] = [s.mean for s in spreads]
        steps += [
            Spread.of(
                np.subtract(*cells.paired("correct", "generator", *({**row, "vectors": n} for n in (more, fewer))))
            )
            for fewer, more in itertools.pairwise(cells.axis("vectors"))
            for row in [{"task": task, "model": model}]
        ]
        for n, figure, spread in zip(VECTORS, paper, spreads, strict=True):
            inside, total = inside + spread.holds(figure), total + 1
            verdict = "yes" if spread.holds(figure) else f"no ({spread.mean - figure:+.2f})" if spread.n > 1 else "–"
            rows.append(
                [
                    f"{task}, {model}",
                    str(n),
                    f"{figure:.2f}",
                    spread.short_repr(),
                    spread.range_shown(),
                    verdict,
                    str(spread.n),
                ]
            )
        low, high = [s.low for s in spreads], [s.high for s in spreads]
        lines.append(Line(f"{task}, {model}", VECTORS, means[task, model], low, high, color=number, marker="o"))
        lines.append(Line(f"{task}, {model}, paper", VECTORS, paper, kind="paper", color=number))
    gain = {task: _second_layer(cells, task) for task in ("network", "polynomial")}
    columns = ["task, net", "vectors", "paper", "ours ± interval", "a further generator", "paper inside", "generators"]
    return Report(
        tables=[Table("Test pairs in the right order, %", columns, rows)],
        plots=[
            Plot("table1", [Panel("Table 1", "training vectors", "test pairs right, %", lines, True, x_ticks=VECTORS)])
        ],
        claims=[
            Claim(
                "Every row grows with the training set",
                all(step.mean > 0 for step in steps),
                f"The smallest step is {min(steps, key=lambda step: step.mean).short_repr()} points.",
                close=any(step.low <= 0 <= step.high for step in steps) and not any(step.high < 0 for step in steps),
            ),
            Claim(
                "Two layers help on the network's data",
                gain["network"][-1].mean > 0,
                f"By vectors: {', '.join(s.short_repr() for s in gain['network'])} points (the paper: −0.10, −0.06, +7.03, +7.61).",
                close=not gain["network"][-1].low > 0,
            ),
            Claim(
                "Two layers do not help on the polynomial's data",
                gain["polynomial"][-1].mean < 0.5,
                f"By vectors: {', '.join(s.short_repr() for s in gain['polynomial'])} points "
                "(the paper: −0.09, +0.29, +0.26, +0.27); less than half a point is taken as no help.",
                close=gain["polynomial"][-1].low < 0.5 < gain["polynomial"][-1].high,
            ),
            Claim(
                "The paper's figures are ones that a further generator could give",
                None if rows[0][-1] == "1" else inside >= total - 1,
                f"{inside} of {total} lie inside mean ± t·s·√(1 + 1/n); one outside would be no surprise.",
            ),
        ],
    )


def _second_layer(cells: Cells, task: str) -> list[Spread]:
    """What the second layer brings on the same generators, by size of the training set."""
    sizes = [cells.where(task=task, vectors=n) for n in cells.axis("vectors")]
    layers = ({"model": "2 layers"}, {"model": "linear"})
    return [Spread.of(np.subtract(*size.paired("correct", "generator", *layers))) for size in sizes]


C_TABLE1 = Experiment(
    name="c-table1",
    paper=f"{PAPER}, Table 1",
    title="Pairs in the right order against the size of the training set, for two tasks and two nets.",
    work=table1_cell,
    full=grid(
        task=("network", "polynomial"), model=("linear", "2 layers"), vectors=VECTORS, generator=range(12), epochs=100
    ),
    quick=grid(task=("network", "polynomial"), model=("linear", "2 layers"), vectors=VECTORS, generator=0, epochs=10),
    report=table1,
    minutes=20,
)

LITTLE = 0.01
TABLE2 = {100: (0.595, 0.596), 500: (0.670, 0.669), 1000: (0.681, 0.682), 5000: (0.690, 0.688)}


def table2_cell(vectors: int, ties: bool, generator: int, epochs: int) -> dict[str, Any]:
    """The polynomial task with 10 hidden units, trained with or without pairs of equal labels."""
    train, valid, test = artificial("polynomial", generator, vectors // 50, JUDGED, JUDGED)
    ranker = learned(ranknet(hidden=(10,), ties=ties, epochs=epochs, seed=generator), train, valid)
    sizes, levels = (
        train.query_sizes,
        [np.bincount(labels.astype(int)) for labels in np.split(train.labels, train.query_offsets[1:-1])],
    )
    every = int((sizes * (sizes - 1) // 2).sum())
    equal = int(sum((counts * (counts - 1) // 2).sum() for counts in levels))
    return {"correct": correct(ranker.predict(test), test) / 100, "pairs": every if ties else every - equal}


def table2(cells: Cells) -> Report:
    """Without ties, with ties, and the difference on the same generators."""
    rows, gaps = [], []
    for vectors in cells.axis("vectors"):
        without, joined = cells.where(vectors=vectors).paired("correct", "generator", {"ties": False}, {"ties": True})
        counts = [cells.numbers("pairs", vectors=vectors, ties=ties).mean() for ties in (False, True)]
        gap = Spread.of(joined - without)
        gaps.append(gap)
        paper = TABLE2[vectors]
        ours = [Spread.of(side).short_repr(4) for side in (without, joined)]
        rows.append(
            [
                str(vectors),
                f"{paper[0]:.3f}",
                ours[0],
                f"{paper[1]:.3f}",
                ours[1],
                gap.short_repr(4),
                f"{counts[0]:,.0f} / {counts[1]:,.0f}",
                str(gap.n),
            ]
        )
    columns = ["vectors", "paper, no ties", "ours, no ties", "paper, all ties", "ours, all ties", "ties − no ties"]
    lines = []
    for number, ties in enumerate((False, True)):
        spreads = [Spread.of(cells.numbers("correct", vectors=n, ties=ties)) for n in cells.axis("vectors")]
        name = "all ties" if ties else "no ties"
        x, y = cells.axis("vectors"), [s.mean for s in spreads]
        lines.append(Line(name, x, y, [s.low for s in spreads], [s.high for s in spreads], color=number, marker="o"))
        lines.append(Line(f"{name}, paper", x, [TABLE2[n][number] for n in x], kind="paper", color=number))
    ticks = cells.axis("vectors")
    return Report(
        tables=[Table("Test pairs in the right order", [*columns, "pairs", "generators"], rows)],
        plots=[Plot("table2", [Panel("Table 2", "training vectors", "test pairs right", lines, True, x_ticks=ticks)])],
        claims=[
            Claim(
                "Training on ties makes little difference",
                all(abs(gap.mean) < LITTLE for gap in gaps),
                f"The differences are {', '.join(row[5] for row in rows)}; 'little' is taken as less than {LITTLE}.",
                close=any(gap.low < -LITTLE < gap.high or gap.low < LITTLE < gap.high for gap in gaps),
            )
        ],
    )


C_TABLE2 = Experiment(
    name="c-table2",
    paper=f"{PAPER}, Table 2",
    title="The effect of training on ties, polynomial task, 10 hidden units.",
    work=table2_cell,
    full=grid(vectors=tuple(TABLE2), ties=(False, True), generator=range(10), epochs=100),
    quick=grid(vectors=tuple(TABLE2), ties=(False, True), generator=range(2), epochs=5),
    report=table2,
    minutes=6,
)


SCHEDULES: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "Adam": {"optimizer": "adam", "batch": 1, "rate_rule": "constant", "learning_rate": 0.003},
}


CLEAN = 20  # epochs without a training error end training


def zero_error_cell(schedule: str, generator: int, epochs: int, vectors: int) -> dict[str, Any]:
    """Train until no training pair is wrong, and follow the wrong pairs of training and validation."""
    train, valid, test = artificial("network", generator, vectors // 50, JUDGED, JUDGED)
    how: dict[str, Any] = {"hidden": (10,), "init": "zero_first", "metric": "pairwise_error", **SCHEDULES[schedule]}
    ranker = ranknet(**how, epochs=epochs, seed=generator)
    clean = 0

    def stop(row: Epoch) -> bool:
        """After so many epochs without an error: it is counted while the weights still move."""
        nonlocal clean
        clean = clean + 1 if row.train == 0 else 0
        return clean == CLEAN

    log = learned(ranker, train, valid, callbacks=stop).log_
    wrong = 100 * (1 if log[-1].train is None else log[-1].train)
    if wrong == 0:  # the same training again, to its last epoch, says whether the net that it ends with has no error
        wrong = 100 - correct(learned(ranknet(**how, epochs=len(log), seed=generator), train).predict(train), train)
    picked = sorted({*np.unique(np.geomspace(1, len(log), 60).astype(int)).tolist(), len(log)})
    return {
        "train": wrong,
        "epochs": len(log),
        "valid": 100 * (ranker.best_value_ or 0.0),
        "best_epoch": ranker.best_epoch_,
        "test": 100 - correct(ranker.predict(test), test),
        "curve": [[n, 100 * (log[n - 1].train or 0), 100 * (log[n - 1].valid or 0)] for n in picked],
    }


def zero_error(cells: Cells) -> Report:
    """Errors at the end of training, and of the epoch that validation chose, by schedule."""
    rows, panels, claims = [], [], []
    for schedule in cells.axis("schedule"):
        found = cells.where(schedule=schedule)
        train = Spread.of(found.numbers("train"))
        rows.append([f"{schedule}: training, at the end", "0", train.short_repr(3), "–", str(train.n)])
        for key, name, paper in (("valid", "validation, best epoch", 9.61), ("test", "test", 10.01)):
            spread = Spread.of(found.numbers(key))
            rows.append(
                [f"{schedule}: {name}", f"{paper:.2f}", spread.short_repr(), spread.range_shown(), str(spread.n)]
            )
        curve = np.array(next(iter(found)).result["curve"], float)
        lines = [Line("training", curve[:, 0], curve[:, 1]), Line("validation", curve[:, 0], curve[:, 2])]
        panels.append(Panel(f"Schedule: {schedule}", "epoch", "wrong pairs, %", lines, x_log=True))
        claims.append(_zero_error_claim(schedule, found))
    columns = ["schedule", "paper", "ours ± interval", "a further generator", "generators"]
    return Report(tables=[Table("Wrong pairs, %", columns, rows)], plots=[Plot("zero-error", panels)], claims=claims)


def _zero_error_claim(schedule: str, found: Cells) -> Claim:
    """Whether most generators were learned: the interval of their share (Clopper and Pearson) decides against one half."""
    reached = [cell.result["epochs"] for cell in found if cell.result["train"] < 1e-9]
    left = max(cell.result["train"] for cell in found)
    share = binomtest(len(reached), len(found)).proportion_ci(0.95)
    return Claim(
        f"A net of the generating shape learns 1,000 vectors of most generators to zero pairwise error (schedule: {schedule})",
        2 * len(reached) > len(found),
        f"{len(reached)} of {len(found)} generators reached it"
        + (f", and kept it for {CLEAN} epochs, after {min(reached)} to {max(reached)}" if reached else "")
        + f" (95 % interval of their share: {100 * share.low:.0f} to {100 * share.high:.0f} %)."
        + (f" The others were at {left:.3f} % at most when they ended." if left else ""),
        close=share.low <= 0.5 <= share.high,
    )


C_ZERO_ERROR = Experiment(
    name="c-zero-error",
    paper=f"{PAPER}, §5.1",
    title="A net of the generating shape, first layer begun at 0, learns its training pairs without an error.",
    work=zero_error_cell,
    full=grid(schedule=tuple(SCHEDULES), generator=range(10), epochs=3000, vectors=1000),
    quick=grid(schedule=tuple(SCHEDULES), generator=range(1), epochs=100, vectors=1000),
    report=zero_error,
    minutes=10,
)
