"""What the RankNet paper leaves open about its artificial data, tried one by one against its Table 1.

The base is equally frequent levels, tanh units without biases, one update per pair, and pairs of equal labels left out. Each
variant changes one of these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.papers.experiment import Cells, Experiment, grid
from podium.papers.judging import learned
from podium.papers.ranknet import HIDDEN, JUDGED, PAPER, TABLE1, VECTORS, correct, ranknet
from podium.papers.report import Claim, Report, Spread, Table
from podium.papers.sets import artificial

BASE = "base"
# what the generator draws, how the ranker learns, and which pairs of the test set count
DRAWN: dict[str, dict[str, Any]] = {
    "levels equally wide": {"bins": "width"},
    "generator with biases": {"bias": True},
    "generator with sigmoid units": {"activation": "sigmoid"},
    # 1 of 1 + 1.5 + 1.5: a quarter of the variance instead of a third
    "linear term a quarter of the variance": {"weights": (1.0, 1.5**0.5, 1.5**0.5)},
}
LEARNED: dict[str, dict[str, Any]] = {
    "learner with sigmoid units": {"activation": "sigmoid"},
    "inputs standardized": {"standardize": True},
    "one update per query": {"batch": 1, "learning_rate": 0.001},
    "Adam": {"optimizer": "adam", "batch": 1, "rate_rule": "constant"},
}
COUNTED = ("ties of labels count half", "all pairs, by the value before it is binned")  # of the base's training
TRAINED = (BASE, *DRAWN, *LEARNED)
# what a variant has nothing to say about
ONLY = {
    "generator with biases": {"task": "network"},
    "generator with sigmoid units": {"task": "network"},
    "linear term a quarter of the variance": {"task": "polynomial"},
    "learner with sigmoid units": {"model": "2 layers"},
}


def variant_cell(variant: str, task: str, model: str, vectors: int, generator: int, epochs: int) -> dict[str, Any]:
    """One variant on one generator, and of the base how other ways to count judge it."""
    sizes = (vectors // 50, JUDGED, JUDGED)
    train, valid, test = artificial(task, generator, *sizes, **DRAWN.get(variant, {}))
    ranker = ranknet(hidden=HIDDEN[model], epochs=epochs, seed=generator, **LEARNED.get(variant, {}))
    scores = learned(ranker, train, valid).predict(test)
    value = correct(scores, test)
    different = float(np.mean([_share_different(labels) for labels in np.split(test.labels, test.query_offsets[1:-1])]))
    found = {"correct": value, "pairs": different}
    if variant == BASE:
        found[COUNTED[0]] = different * value + (1 - different) * 50
        found[COUNTED[1]] = correct(scores, artificial(task, generator, *sizes, levels=None)[2])
    return found


def _share_different(labels: Any) -> float:
    counts = np.bincount(labels.astype(int))
    n = counts.sum()
    return float(1 - (counts * (counts - 1)).sum() / (n * (n - 1)))


def variants(cells: Cells) -> Report:
    """One row per variant: how far each cell is from the paper's."""
    columns = [
        (task, model, n)
        for task, model in TABLE1
        for n in cells.axis("vectors")
        if len(cells.where(task=task, model=model, vectors=n))
    ]
    rows, distances = [], {}
    for variant in (*cells.axis("variant"), *COUNTED):
        trained, key = (BASE, variant) if variant in COUNTED else (variant, "correct")
        row, off = [variant], []
        for task, model, n in columns:
            found = cells.numbers(key, variant=trained, task=task, model=model, vectors=n)
            if not len(found):
                row.append("–")
                continue
            spread = Spread.of(found)
            gap = spread.mean - TABLE1[task, model][VECTORS.index(n)]
            off.append(abs(gap))
            row.append(f"{spread.short_repr()} ({gap:+.2f})")
        share = float(cells.numbers("pairs", variant=trained).mean())
        rows.append([*row, f"{100 * share:.1f}", str(spread.n)])
        if "–" not in row:
            distances[variant] = float(np.mean(off))
    paper = [f"{TABLE1[task, model][VECTORS.index(n)]:.2f}" for task, model, n in columns]
    nearest = min(distances, key=lambda name: distances[name])
    heads = [f"{task}, {model}, {n}" for task, model, n in columns]
    return Report(
        tables=[
            Table(
                "Test pairs right, % (difference from the paper)",
                ["variant", *heads, "pairs of different labels, %", "generators"],
                [["paper", *paper, "83.2", "1"], *rows],
            )
        ],
        claims=[
            Claim(
                "The paper's pair counts (20,382 of 24,500) mean equally frequent levels",
                _near(cells, BASE, 83.2) and not _near(cells, "levels equally wide", 83.2),
                f"Equally frequent levels leave {_share(cells, BASE):.1f} % of the pairs, equally wide ones "
                f"{_share(cells, 'levels equally wide'):.1f} %; the paper {100 * 20382 / 24500:.1f} %.",
            )
        ],
        notes=[
            f"Of the variants that change every column, nearest to the paper on average: {nearest} "
            f"({distances[nearest]:.2f} points off; the base {distances[BASE]:.2f}). {cells.axis('epochs')[0]} epochs."
        ],
    )


def _share(cells: Cells, variant: str) -> float:
    return 100 * float(cells.numbers("pairs", variant=variant).mean())


def _near(cells: Cells, variant: str, share: float) -> bool:
    return abs(_share(cells, variant) - share) < 1


def _plan(**more: Any) -> list[dict[str, Any]]:
    plan = grid(variant=TRAINED, task=("network", "polynomial"), **more)
    return [cell for cell in plan if all(cell[k] == v for k, v in ONLY.get(cell["variant"], {}).items())]


C_TABLE1_VARIANTS = Experiment(
    name="c-table1-variants",
    paper=f"{PAPER}, Table 1, variants",
    title="What the paper leaves open, tried one by one.",
    work=variant_cell,
    full=[
        *_plan(model=("linear", "2 layers"), vectors=(500, 2500), generator=range(3), epochs=50),
        *(c for c in _plan(model="linear", vectors=12500, generator=range(3), epochs=50) if c["task"] == "polynomial"),
    ],
    quick=_plan(model=("linear", "2 layers"), vectors=500, generator=0, epochs=20),
    report=variants,
    minutes=5,
)
