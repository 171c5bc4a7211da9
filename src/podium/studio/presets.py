"""Examples for the page about forces."""

from __future__ import annotations

import functools

import numpy as np

from podium.studio.scenes import Scene

WINNER_WORDS = (
    "Two documents are relevant. One is at the top, the other at the bottom, and the model can lift the second only by lowering "
    "the first. RankNet counts pairs: it lifts the second past nearly all others, and the first loses the top, so that pairwise "
    "error falls while winner-takes-all (WTA) fails. Reset, choose lambdarank with the metric wta, and it keeps the top."
)
PAIR_WORDS = "Two documents, the worse one above. Drag them apart and see how the force depends on the gap."
MIXED_WORDS = "Ten documents of five levels in random order. Let them move freely and watch them sort themselves."
COST_OF_LIFTING = 1.2  # how far the first relevant document falls when the second rises by 1


def _winner_takes_all(documents: int, rate: float) -> Scene:
    """The example of the source documents: at first the relevant documents stand at the top and at the bottom.

    The worst of the others stand just above the second relevant document and the best of them just below the first; the
    irrelevant documents do not move.
    """
    others = np.linspace(0.5, -2.0, documents - 3)
    scores = np.concatenate([[7.6, -2.5], [7.0], others])
    labels = np.zeros(documents)
    labels[:2] = 1
    basis = np.zeros((documents, 1))
    basis[:2, 0] = [-COST_OF_LIFTING, 1.0]
    names = ["D1", "D2", *(f"d{k}" for k in range(3, documents + 1))]
    return Scene(
        f"winner takes all, {documents:,} documents",
        names,
        labels,
        scores,
        basis,
        WINNER_WORDS,
        force="ranknet",
        movement="linear",
        rate=rate,
    )


@functools.cache
def presets() -> dict[str, Scene]:
    """Return the examples by name."""
    rng = np.random.default_rng(4)
    mixed = np.array([4, 0, 2, 0, 1, 3, 0, 1, 2, 0], np.float64)
    return {
        "winner-takes-all": _winner_takes_all(30, rate=0.02),
        "winner-takes-all-1000": _winner_takes_all(1000, rate=0.0005),
        "two-documents": Scene(
            "two documents",
            ["better", "worse"],
            np.array([1.0, 0.0]),
            np.array([-1.0, 1.0]),
            np.eye(2),
            PAIR_WORDS,
            force="ranknet",
        ),
        "five-levels": Scene(
            "ten documents, five levels",
            [f"d{k}" for k in range(1, 11)],
            mixed,
            np.round(rng.normal(size=10), 2),
            np.round(rng.normal(size=(10, 3)), 2),
            MIXED_WORDS,
            rate=0.5,
        ),
    }
