"""The slopes of a field, J_ij = ∂λ_i/∂s_j, by finite differences where it is smooth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from podium.forces.force_data import Floats
from podium.forces.laws.field import Point, Sample

STEP = 1e-5  # of finite differences
SMOOTH = (
    1e-3  # slopes to the left and right that differ by more, as a share of the largest, are those of a kink or jump
)
ASIDE = 1e-3  # how far a point is moved off a kink or jump
TRIES = 6


@dataclass(frozen=True)
class Slopes:
    """J_ij = ∂λ_i/∂s_j at a point, by finite differences; `aside` where the point asked for was not smooth."""

    point: Point
    force: Floats
    jacobian: Floats
    unit: float  # the size of forces at points like these
    aside: bool

    @property
    def tolerance(self) -> float:
        """The error that finite differences may have."""
        return float(1e-6 * np.abs(self.jacobian).max() + 1e-9 * max(np.abs(self.force).max(), self.unit))


def slopes(sample: Sample, rng: np.random.Generator) -> tuple[list[Slopes], int]:
    """Return (the Jacobian at each point, or near it if the force is not smooth there; the number of points given up)."""
    found: list[Slopes] = []
    waiting, aside = list(sample.points), False
    for _ in range(TRIES):
        rough = []
        for point, at in zip(waiting, _differences(sample, waiting), strict=True):
            if at is None:
                rough.append(point.at(point.scores + ASIDE * rng.normal(size=point.scores.shape)))
            else:
                found.append(replace(at, aside=aside))
        waiting, aside = rough, True
        if not waiting:
            break
    return found, len(waiting)


def _differences(sample: Sample, points: Sequence[Point]) -> list[Slopes | None]:
    """Return the Jacobian at each point; None if the slopes on the two sides differ."""
    around = []
    for point in points:
        steps = STEP * np.eye(point.scores.size)
        around += [point, *(point.at(point.scores.reshape(-1) + step) for step in [*steps, *-steps])]
    forces, out, first = sample.field.forces(around), [], 0
    for point in points:
        d = point.scores.size
        here, *beside = (force.reshape(-1) for force in forces[first : first + 2 * d + 1])
        first += 2 * d + 1
        above, below = (np.array(beside[:d]) - here) / STEP, (here - np.array(beside[d:])) / STEP
        largest = max(np.abs(above).max(), np.abs(below).max())
        smooth = np.abs(above - below).max() <= SMOOTH * largest + 1e-6 * max(np.abs(here).max(), sample.unit)
        out.append(Slopes(point, here, (above + below).T / 2, sample.unit, aside=False) if smooth else None)
    return out
