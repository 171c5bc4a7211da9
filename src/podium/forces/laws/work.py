"""The work of a field along the segment from one point to another, and its jumps there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from podium.forces.force_data import Floats
from podium.forces.laws.field import Field, Point

# Gauss's rule that includes both ends (Lobatto), so that a jump just inside an end is noticed.
NODES = np.array([-1, -((3 / 7) ** 0.5), 0, (3 / 7) ** 0.5, 1])
WEIGHTS = np.array([1 / 10, 49 / 90, 32 / 45, 49 / 90, 1 / 10])
PANELS, DEEPEST = 16, 36  # initial panels per segment, and how often one may be halved
MOST_PANELS = 256  # per segment at once; a segment that needs more is too rough to measure
EXACT = 1e-9  # share of the work: a panel is done when halving it changes less
JUMP_LENGTH = 1e-7  # share of the segment: a panel that is shorter when it is done contains a jump

Ends = tuple[Point, Point]
Panel = tuple[int, float, float]  # number of the segment, and the begin and end of the panel on it


@dataclass(frozen=True)
class Jump:
    """A discontinuity of a force: λ before and after it, along the segment from one point to another."""

    before: Point
    after: Point
    change: float  # of λ along the segment: below 0 if the force falls, as that of a convex cost does
    force: Floats
    force_after: Floats


@dataclass(frozen=True)
class Way:
    """The segment from one point to another, with the work ∫λ·ds along it and its jumps.

    It is not `settled` if the field is too rough for its work to be measured.
    """

    start: Point
    end: Point
    work: float
    traveled: float  # ∫|λ·ds|
    jumps: tuple[Jump, ...]
    settled: bool


@dataclass(frozen=True)
class Loop:
    """A closed loop through some points; a force that has a cost does no work along it."""

    ways: tuple[Way, ...]

    @property
    def start(self) -> Point:
        """The point at which it begins and ends."""
        return self.ways[0].start

    @property
    def work(self) -> float:
        """∮λ·ds."""
        return sum(way.work for way in self.ways)

    @property
    def traveled(self) -> float:
        """∮|λ·ds|, to which the work is compared."""
        return sum(way.traveled for way in self.ways)

    @property
    def settled(self) -> bool:
        """Whether its work could be measured."""
        return all(way.settled for way in self.ways)


def loops(field: Field, corners: Sequence[Sequence[Point]]) -> list[Loop]:
    """Return the closed loops through the given points, each of one query."""
    ends = [[(a, b) for a, b in zip(loop, [*loop[1:], loop[0]], strict=True)] for loop in corners]
    walked = iter(ways(field, [end for loop in ends for end in loop]) if ends else [])
    return [Loop(tuple(next(walked) for _ in loop)) for loop in ends]


def ways(field: Field, ends: Sequence[Ends]) -> list[Way]:
    """Return the work along each segment, by Lobatto's rule on panels that are halved until halving changes nothing."""
    panels: list[Panel] = [(way, k / PANELS, (k + 1) / PANELS) for way in range(len(ends)) for k in range(PANELS)]
    works, sizes = _rule(field, ends, panels)
    accuracy = EXACT * np.bincount([way for way, _, _ in panels], sizes, len(ends))
    work, traveled = np.zeros(len(ends)), np.zeros(len(ends))
    short: list[Panel] = []
    rough: set[int] = set()
    for depth in range(DEEPEST):
        halves = [half for panel in panels for half in _halves(panel)]
        half_works, half_sizes = _rule(field, ends, halves)
        kept: list[int] = []
        for k, (way, low, high) in enumerate(panels):
            both = slice(2 * k, 2 * k + 2)
            if abs(half_works[both].sum() - works[k]) > accuracy[way] and depth < DEEPEST - 1:
                kept += [2 * k, 2 * k + 1]
                continue
            work[way] += half_works[both].sum()
            traveled[way] += half_sizes[both].sum()
            if high - low < JUMP_LENGTH:
                short.append((way, low, high))
        rough |= {way for way, count in Counter(halves[k][0] for k in kept).items() if count > MOST_PANELS}
        kept = [k for k in kept if halves[k][0] not in rough]
        panels, works = [halves[k] for k in kept], half_works[kept]
        if not panels:
            break
    jumps = _jumps(field, ends, [panel for panel in short if panel[0] not in rough])
    return [
        Way(*ends[k], float(work[k]), float(traveled[k]), tuple(jumps[k]), k not in rough) for k in range(len(ends))
    ]


def _halves(panel: Panel) -> tuple[Panel, Panel]:
    way, low, high = panel
    return (way, low, (low + high) / 2), (way, (low + high) / 2, high)


def _on(ends: Ends, at: float) -> Point:
    start, end = ends
    return start.at((1 - at) * start.scores + at * end.scores)


def _rule(field: Field, ends: Sequence[Ends], panels: Sequence[Panel]) -> tuple[Floats, Floats]:
    """Return (∫λ·ds, ∫|λ·ds|) on each panel; the panels of one segment are consecutive."""
    which, low, high = np.array(panels).T
    used, counts = np.unique(which.astype(np.int64), return_counts=True)
    places = np.split(low[:, None] + (high - low)[:, None] * (NODES + 1) / 2, np.cumsum(counts)[:-1])
    starts, steps = [ends[way][0] for way in used], [ends[way][1].scores - ends[way][0].scores for way in used]
    scores = [
        start.scores + np.multiply.outer(at.reshape(-1), step)
        for start, step, at in zip(starts, steps, places, strict=True)
    ]
    forces = field.forces_at(starts, scores)
    along = [(force * step).reshape(len(force), -1).sum(axis=1) for force, step in zip(forces, steps, strict=True)]
    pull, lengths = np.concatenate(along).reshape(-1, len(NODES)), (high - low) / 2
    return lengths * (pull @ WEIGHTS), lengths * (np.abs(pull) @ WEIGHTS)


def _jumps(field: Field, ends: Sequence[Ends], places: Sequence[Panel]) -> list[list[Jump]]:
    """Return the jumps among these places on each segment, without those where λ is only steep."""
    out: list[list[Jump]] = [[] for _ in ends]
    if not places:
        return out
    places = _merged(places)
    sides = [_on(ends[way], at) for way, low, high in places for at in (low - JUMP_LENGTH, high + JUMP_LENGTH)]
    forces = field.forces(sides)
    for k, (way, _, _) in enumerate(places):
        before, after = forces[2 * k], forces[2 * k + 1]
        step = ends[way][1].scores - ends[way][0].scores
        change = float(((after - before) * step).sum() / np.linalg.norm(step))
        if np.abs(after - before).max() > 1e-4 * max(np.abs(before).max(), np.abs(after).max()):
            out[way].append(Jump(sides[2 * k], sides[2 * k + 1], change, before, after))
    return out


def _merged(places: Sequence[Panel]) -> list[Panel]:
    """Merge places that nearly touch, because halving leaves several around a jump."""
    out: list[Panel] = []
    for way, low, high in sorted(places):
        if out and out[-1][0] == way and low - out[-1][2] < JUMP_LENGTH:
            out[-1] = (way, out[-1][1], high)
        else:
            out.append((way, low, high))
    return out
