"""Ranking as Function Approximation: its two figures, its theorem and its lemma, as pictures and checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import podium
from podium.forces import force as force_of
from podium.papers.experiment import Cells, Experiment
from podium.papers.plots import Line, Panel, Plot
from podium.papers.report import Claim, Report, Table

PAPER = "Ranking as Function Approximation"
Floats = npt.NDArray[np.float64]


def pairs_of_gaps(gaps: Floats, probability: float | None = None) -> tuple[Floats, podium.RankingData]:
    """Return scores and data with one query of two documents per gap: the first should rank above, with this probability."""
    scores = np.stack([gaps / 2, -gaps / 2], axis=1).reshape(-1)
    rows = np.arange(2 * len(gaps))
    data = podium.RankingData(np.zeros((len(rows), 1)), 1 - rows % 2, rows // 2)
    if probability is not None:
        pairs = podium.Pairs.of(rows[::2], rows[1::2], probability=probability)
        data = data.replace(labels=np.zeros(len(rows)), pairs=pairs)
    return scores, data


def cost_and_combining(points: int) -> dict[str, Any]:
    """C(o) for P̄ = 0, ½, 1; and P_ik where P_ij = P_jk = P."""
    gaps, chances = np.linspace(-5, 5, points), np.linspace(0, 1, points)
    costs = {}
    for target in (0.0, 0.5, 1.0):
        scores, data = pairs_of_gaps(gaps, target)
        costs[f"{target:g}"] = force_of("ranknet").cost(scores, data).tolist()
    combined = podium.posteriors.combine(chances, chances)
    return {"gaps": gaps.tolist(), "costs": costs, "chances": chances.tolist(), "combined": combined.tolist()}


def figure1(cells: Cells) -> Report:
    """Left: the cost. Right: the combined probability."""
    found = next(iter(cells)).result
    gaps, half = np.array(found["gaps"]), np.array(found["costs"]["0.5"])
    chances, combined = np.array(found["chances"]), np.array(found["combined"])
    formula = np.log1p(np.exp(gaps)) - 0.5 * gaps
    slope = (found["costs"]["1"][1] - found["costs"]["1"][0]) / (gaps[1] - gaps[0])
    low, high = (chances > 0) & (chances < 0.5), (chances > 0.5) & (chances < 1)
    names = {"0": "P̄ = 0", "0.5": "P̄ = ½", "1": "P̄ = 1"}
    lines = [Line(names[key], found["gaps"], cost) for key, cost in found["costs"].items()]
    return Report(
        plots=[
            Plot(
                "figure1",
                [
                    Panel("The cost, for three target probabilities", "o_ij", "C_ij", lines),
                    Panel(
                        "Combining probabilities",
                        "P_ij = P_jk = P",
                        "P_ik",
                        [
                            Line("P_ik", found["chances"], found["combined"]),
                            Line("P", [0.0, 1.0], [0.0, 1.0], kind="others", color=8),
                        ],
                    ),
                ],
            )
        ],
        claims=[
            Claim(
                "With P̄ = ½ the cost is symmetric, with its minimum at the origin",
                bool(np.allclose(half, half[::-1]) and gaps[np.argmin(half)] == 0),
                f"Least cost {half.min():.4f} = log 2 at o = {gaps[np.argmin(half)]:g}; the furthest from "
                f"−½o + log(1 + e^o) is {np.abs(half - formula).max():.1e}.",
            ),
            Claim(
                "The cost becomes linear: with P̄ = 1 its slope goes to −1 on the wrong side",
                bool(abs(slope + 1) < 0.02),
                f"Slope {slope:.4f} at o = {gaps[0]:g}.",
            ),
            Claim(
                "P_ik = P at 0, ½ and 1; below ½ it is less than P, above ½ more",
                bool((combined[low] < chances[low]).all() and (combined[high] > chances[high]).all())
                and combined[0] == 0
                and combined[-1] == 1
                and bool(combined[len(combined) // 2] == 0.5),
                f"P = 0.6 twice gives {podium.posteriors.combine(0.6, 0.6):.4f}.",
            ),
        ],
    )


def pulls(points: int, margin: float) -> dict[str, Any]:
    """The force on the document that should win and the cost that it is the negative gradient of, against the gap."""
    gaps = np.linspace(-2, 3, points)
    scores, data = pairs_of_gaps(gaps)
    out: dict[str, Any] = {"gaps": gaps.tolist(), "margin": margin}
    for name in (f"spring(margin={margin:g})", "ranknet", f"hinge(margin={margin:g})"):
        force = force_of(name)
        out[name] = {"force": force(scores, data)[0][::2].tolist(), "cost": force.cost(scores, data).tolist()}
    return out


def figure2(cells: Cells) -> Report:
    """The spring with a margin, beside the forces that later became usual."""
    found = next(iter(cells)).result
    gaps, margin = np.array(found["gaps"]), found["margin"]
    names = [name for name in found if name not in ("gaps", "margin")]
    spring = np.array(found[names[0]]["force"])
    expected = np.where(gaps < 0, 1.0, np.maximum(margin - gaps, 0.0))
    downhill = -np.gradient(np.array(found[names[0]]["cost"]), gaps)
    smooth = np.abs(gaps) > 0.03  # eq 26–31 let the force fall from 1 to δ at once; with δ = 1 it does not
    return Report(
        plots=[
            Plot(
                "figure2",
                [
                    Panel("The forces", "s_1 − s_2", "λ_1", [Line(n, found["gaps"], found[n]["force"]) for n in names]),
                    Panel("Their costs", "s_1 − s_2", "C", [Line(n, found["gaps"], found[n]["cost"]) for n in names]),
                ],
            )
        ],
        claims=[
            Claim(
                "A constant pull while the order is wrong, going to zero until the margin is reached, then none",
                bool(np.allclose(spring, expected, atol=1e-12)),
                f"The furthest from eq 26–31 is {np.abs(spring - expected).max():.1e}.",
            ),
            Claim(
                "The force is the negative gradient of a cost",
                bool(np.abs(spring - downhill)[smooth][1:-1].max() < 0.02),
                f"The furthest from −dC/do by differences is {np.abs(spring - downhill)[smooth][1:-1].max():.4f}.",
            ),
        ],
    )


STEPS = (0.2, 0.4, 0.5, 0.6, 0.8, 0.95)


def chains(documents: int, orders: int) -> dict[str, Any]:
    """A table completed from neighbors, asked for the neighbors of other orders, and completed from those."""
    rng = np.random.default_rng(0)
    table = podium.posteriors.complete(rng.uniform(0.15, 0.85, documents - 1))
    off = []
    for _ in range(orders):
        order = rng.permutation(documents)
        again = podium.posteriors.complete(podium.posteriors.adjacencies(table, order), order)
        off.append(float(np.abs(again - table).max()))
    grown = {f"{p:g}": podium.posteriors.complete(np.full(10, p))[0, 1:].tolist() for p in STEPS}
    return {"table": table.tolist(), "off": off, "grown": grown}


def theorem1(cells: Cells) -> Report:
    """The completed table, and confidence growing along a chain of equal steps."""
    found = next(iter(cells)).result
    table, off = np.array(found["table"]), max(found["off"])
    names = [chr(ord("A") + k) for k in range(len(table))]
    apart = list(range(1, 11))
    rows, monotone, exact = [], True, 0.0
    for p, chances in found["grown"].items():
        odds = float(p) / (1 - float(p))
        exact = max(
            exact, float(np.abs(np.array(chances) - odds ** np.array(apart) / (1 + odds ** np.array(apart))).max())
        )
        rises = np.diff(chances)
        monotone &= bool(
            (rises > 0).all() if float(p) > 0.5 else (rises < 0).all() if float(p) < 0.5 else not rises.any()
        )
        rows.append([p, *(f"{chances[n - 1]:.4f}" for n in (1, 2, 3, 5, 10))])
    return Report(
        tables=[Table("P(i above i + n) for equal steps P", ["P", *(f"n = {n}" for n in (1, 2, 3, 5, 10))], rows)],
        plots=[
            Plot(
                "theorem1",
                [
                    Panel(
                        "Every pair, from the four of neighbors",
                        "stands above",
                        "document",
                        grid=table.tolist(),
                        names=names,
                    ),
                    Panel(
                        "Lemma 1: equal steps P",
                        "n, steps apart",
                        "P(i above i + n)",
                        [Line(f"P = {p}", apart, chances, marker="o") for p, chances in found["grown"].items()],
                    ),
                ],
            )
        ],
        claims=[
            Claim(
                "Theorem 1: the posteriors of neighbors along any order fix every pair's posterior, and back",
                off < 1e-9,
                f"{len(found['off'])} random orders gave the same table to within {off:.1e}.",
            ),
            Claim(
                "Lemma 1: above ½ confidence grows strictly with the distance, below ½ it falls, at ½ it stays",
                monotone and exact < 1e-12,
                f"The furthest from Δⁿ/(1 + Δⁿ) is {exact:.1e}.",
            ),
        ],
    )


A_FIGURE1 = Experiment(
    name="a-figure1",
    paper=f"{PAPER}, Figure 1",
    title="The cost for three target probabilities, and probabilities combined along a chain.",
    work=cost_and_combining,
    full=[{"points": 201}],
    quick=[{"points": 201}],
    report=figure1,
    minutes=0.1,
)
A_FIGURE2 = Experiment(
    name="a-figure2",
    paper=f"{PAPER}, Figure 2",
    title="The force of a spring with a margin, against the gap in scores.",
    work=pulls,
    full=[{"points": 251, "margin": 1.0}],
    quick=[{"points": 251, "margin": 1.0}],
    report=figure2,
    minutes=0.1,
)
A_THEOREM1 = Experiment(
    name="a-theorem1",
    paper=f"{PAPER}, Theorem 1 and Lemma 1",
    title="Neighbors' posteriors fix every pair's; confidence grows along a chain.",
    work=chains,
    full=[{"documents": 5, "orders": 120}],
    quick=[{"documents": 5, "orders": 120}],
    report=theorem1,
    minutes=0.1,
)
