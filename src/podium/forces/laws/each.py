"""The laws, one function each: it examines points of a field and returns what it found."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from podium.forces.force_data import Floats
from podium.forces.laws.field import Field, Point, Sample
from podium.forces.laws.slopes import STEP, Slopes
from podium.forces.laws.verdict import Counterexample, Finding, number, row
from podium.forces.laws.work import Loop
from podium.metrics import Metric

ZERO = 1e-9  # a sum of forces below this share of their absolute values is rounding,
ROUNDING = 1e-12  # and so is one below this share of the typical size of a force
LOOP = 1e-6  # work around a loop below this share of ∮|λ·ds| is rounding


def momentum(sample: Sample) -> Finding:
    """Σ_i λ_i = 0 for every query (for each output, if there are several)."""
    worst, broken = 0.0, []
    for point, force in zip(sample.points, sample.forces, strict=True):
        sums = force.sum(axis=0).reshape(-1)
        total, share = float(sums[np.abs(sums).argmax()]), _unbalanced(force, sample.unit)
        worst = max(worst, share)
        if share > ZERO:
            broken.append((len(force), -share, _at(point, force, f"they add up to {number(total)}")))
    largest = f"the largest |Σλ| / Σ|λ| is {number(worst)}."
    alone = (
        " It acts on each document alone, so nothing pushes back."
        if sample.field.force.definition.over == "points"
        else ""
    )
    words = (
        f"In {len(broken)} of {len(sample.points)} lists the forces do not cancel and drive the list as a whole: {largest}{alone}"
        if broken
        else f"The forces of every list cancel: {largest}"
    )
    return Finding(
        law="momentum",
        statement="Σ_i λ_i = 0 for every query",
        holds=not broken,
        words=words,
        numbers={"largest_share": worst},
        counterexample=_plainest(broken),
    )


def _unbalanced(force: Floats, unit: float) -> float:
    """Return |Σλ| as a share of Σ|λ|, the worst of several outputs; rounding of tiny forces does not count."""
    miss = float(np.abs(force.sum(axis=0)).max())
    return 0.0 if miss <= ROUNDING * unit else miss / float(np.abs(force).sum())


def action_reaction(sample: Sample) -> Finding:
    """λ_i = −λ_j in a query that consists of any two documents: what one document does to another can be observed there."""
    field, points, whole = sample.field, sample.points, sample.forces
    pairs = [(k, *two) for k, point in enumerate(points) for two in itertools.combinations(range(len(point.labels)), 2)]
    alone = field.forces([points[k].part((i, j)) for k, i, j in pairs]) if pairs else []
    summed, broken = [np.zeros_like(force) for force in whole], []
    for (k, i, j), force in zip(pairs, alone, strict=True):
        summed[k][[i, j]] += force
        share = _unbalanced(force, sample.unit)
        if share > ZERO:
            broken.append((2, -share, _at(points[k].part((i, j)), force, "they are not equal and opposite")))
    longer = [k for k, point in enumerate(points) if len(point.labels) > 2]
    rounding = [ZERO * np.abs(force).sum() + ROUNDING * sample.unit for force in summed]
    mixed = [k for k in longer if np.abs(whole[k] - summed[k]).max() > rounding[k]]
    words = (
        f"In {len(broken)} of {len(pairs)} queries of two documents the two do not push each other equally and in opposite directions."
        if broken
        else f"Any two documents, alone in a query, push each other equally and in opposite directions ({len(pairs)} pairs)."
    )
    if longer and not mixed and not broken:
        words += " In longer lists, the force on a document is the sum of its forces in these pairs."
    elif longer and not broken:
        words += f" In {len(mixed)} of {len(longer)} longer lists, the force on a document is not the sum over such pairs: other documents matter too."
    return Finding(
        law="action = reaction",
        statement="λ_i = −λ_j for any two documents alone",
        holds=not broken,
        words=words,
        numbers={"share_not_sums_over_pairs": len(mixed) / max(len(longer), 1)},
        counterexample=_plainest(broken),
    )


def conservative(field: Field, smooth: Sequence[Slopes], left_out: int, loops: Sequence[Loop]) -> Finding:
    """A cost exists: J is symmetric (Poincaré), and no loop, through jumps as well, gains any work."""
    bent, worst = [], 0.0
    for at in smooth:
        skew = np.abs(at.jacobian - at.jacobian.T)
        i, j = (int(k) for k in np.unravel_index(skew.argmax(), skew.shape))
        worst = max(worst, float(skew[i, j]))
        if skew[i, j] > at.tolerance:
            one, other = number(at.jacobian[i, j]), number(at.jacobian[j, i])
            words = f"∂λ_{i + 1}/∂s_{j + 1} = {one} but ∂λ_{j + 1}/∂s_{i + 1} = {other}"
            bent.append((len(at.point.labels), -float(skew[i, j]), _at(at.point, at.force, words)))
    around = [loop for loop in loops if abs(loop.work) > LOOP * loop.traveled]
    gains = []
    for loop, force in zip(around, field.forces([loop.start for loop in around]) if around else [], strict=True):
        corners = " and ".join(f"({row(way.end.scores)})" for way in loop.ways[:-1])
        words = f"moving the scores to {corners} and back, the force does work {number(loop.work)} where a cost would give 0"
        gains.append((len(loop.start.labels), -abs(loop.work), _at(loop.start, force, words)))
    shares = [abs(loop.work) / loop.traveled for loop in loops if loop.traveled]
    return Finding(
        law="conservative",
        statement="∂λ_i/∂s_j = ∂λ_j/∂s_i, so that a cost exists",
        holds=not bent and not around,
        words=_where_smooth(smooth, left_out, len(bent)) + _around(loops, len(around), bool(bent)),
        numbers={"largest_asymmetry": worst, "largest_share_of_work_around_a_loop": max(shares, default=0.0)},
        counterexample=_plainest(bent) or _plainest(gains),
    )


def _where_smooth(smooth: Sequence[Slopes], left_out: int, bent: int) -> str:
    aside = sum(at.aside for at in smooth)
    moved = f" ({aside} of them moved off a kink or jump)" if aside else ""
    lost = f" ({left_out} more were left out: no smooth point was found near them)" if left_out else ""
    if bent:
        return (
            f"The Jacobian is not symmetric at {bent} of {len(smooth)} points{moved}{lost}, so no cost has this force."
        )
    return f"The Jacobian is symmetric at all {len(smooth)} points{moved}{lost}"


def _around(loops: Sequence[Loop], gaining: int, bent: bool) -> str:
    jumps = sum(len(way.jumps) for loop in loops for way in loop.ways)
    if bent:
        return ""
    if not loops:
        return "."
    if not gaining:
        through = f", through {jumps} jumps," if jumps else ""
        return f", and the work around all {len(loops)} closed loops{through} is zero: there is a cost."
    through = f" through {jumps} jumps of the force" if jumps else ""
    return (
        f", but the work around {gaining} of {len(loops)} closed loops{through} is not zero, so no cost has this force."
    )


def convex(smooth: Sequence[Slopes], loops: Sequence[Loop], *, has_cost: bool) -> Finding:
    """−J is positive semidefinite where the force is smooth, and the force falls at its jumps; also finds the smallest α that makes it so."""
    alpha, bent, rising = 0.0, [], []
    for at in smooth:
        values, vectors = np.linalg.eigh((at.jacobian + at.jacobian.T) / 2)
        if values[-1] > at.tolerance:
            alpha = max(alpha, float(values[-1]))
            words = f"along ({row(vectors[:, -1])}) the force grows, by {number(values[-1])} per unit of the way"
            bent.append((len(at.point.labels), -float(values[-1]), _at(at.point, at.force, words)))
    jumps = [jump for loop in loops for way in loop.ways for jump in way.jumps]
    for jump in jumps:
        if jump.change > 1e-6 * float(np.abs(jump.force_after).max()):
            after = row(jump.force_after)
            words = f"just beyond, the forces are {after}; along the way they jump up by {number(jump.change)}"
            rising.append((len(jump.before.labels), -jump.change, _at(jump.before, jump.force, words)))
    words = (
        f"−J has a negative eigenvalue at {len(bent)} of {len(smooth)} points, the least is {number(-alpha)}"
        if bent
        else f"−J is positive semidefinite at all {len(smooth)} points"
    )
    if rising:
        words += f", and the force jumps up at {len(rising)} of {len(jumps)} jumps, which no α can correct."
    elif bent:
        enough = _rounded_up(alpha)
        words += f". From α = {enough} on, subtracting α·s_i from each force makes it convex at all of them: regularized(…, alpha={enough})."
    else:
        words += f"{', and the force falls at every jump' if jumps else ''}: α = 0."
    words += "" if has_cost else " (There is no cost to be convex; the force alone is judged.)"
    return Finding(
        law="convex",
        statement="−J is positive semidefinite",
        holds=not bent and not rising,
        words=words,
        numbers={"alpha": math.inf if rising else alpha, "alpha_between_jumps": alpha},
        counterexample=_plainest(bent) or _plainest(rising),
    )


def _rounded_up(alpha: float) -> str:
    """Return three digits of a positive number, none of them too small."""
    unit = 10.0 ** (math.floor(math.log10(alpha)) - 2)
    return f"{math.ceil(alpha / unit) * unit:.3g}"


MEET, PART = (
    1e-11,
    1e-5,
)  # two neighbors are moved this close together (a share of their gap), then at most this far along the force


def consistent(sample: Sample, metric: Metric) -> Finding:
    """Moving along the force does not lower Z: Z changes only where two neighbors meet, so it is tested there."""
    field = sample.field
    pairs = [pair for point in sample.points for pair in _meetings(field, point)]
    meetings = [point for point, _, _ in pairs]
    forces = field.forces(meetings) if meetings else []
    largest = [np.abs(force).max() or 1.0 for force in forces]
    moved = [p.at(p.scores + PART * f / size) for p, f, size in zip(meetings, forces, largest, strict=True)]
    before, after = (field.values(metric, held) if held else np.empty(0) for held in (meetings, moved))
    gain = (after - before) * (1 if metric.higher_is_better else -1)
    worse, better, broken = np.flatnonzero(gain < -1e-12), np.flatnonzero(gain > 1e-12), []
    for k in worse:
        point, upper, lower = pairs[k]
        words = (
            f"a small step along them lifts document {lower + 1} past document {upper + 1}, which it had met from below"
        )
        words += f", and takes {metric} from {number(before[k])} to {number(after[k])}"
        broken.append((len(point.labels), float(gain[k]), _at(point, forces[k], words)))
    share = len(worse) / max(len(meetings), 1)
    return Finding(
        law=f"consistent with {metric}",
        statement=f"moving along the force does not {'lower' if metric.higher_is_better else 'raise'} {metric}",
        holds=not broken,
        words=f"Where two neighbors meet, a small step along the force worsens {metric} in {len(worse)} of {len(meetings)} "
        f"cases ({100 * share:.3g} %) and improves it in {len(better)}.",
        numbers={"share_worse": share, "share_better": len(better) / max(len(meetings), 1)},
        counterexample=_plainest(broken),
    )


def _meetings(field: Field, point: Point) -> list[tuple[Point, int, int]]:
    """Return (point, upper, lower) for each two neighbors with different labels, moved together until they nearly meet."""
    order = np.argsort(-field.ranked_by(point), kind="stable")
    out = []
    for upper, lower in itertools.pairwise(order.tolist()):
        if point.labels[upper] != point.labels[lower]:
            scores = point.scores.copy()
            middle, gap = (scores[upper] + scores[lower]) / 2, scores[upper] - scores[lower]
            scores[upper], scores[lower] = middle + MEET * gap, middle - MEET * gap
            out.append((point.at(scores), upper, lower))
    return out


def declared_cost(field: Field, smooth: Sequence[Slopes]) -> Finding:
    """λ_i = −∂C/∂s_i for the cost that the force declares."""
    around = []
    for at in smooth:
        steps = STEP * np.eye(at.force.size)
        around += [at.point.at(at.point.scores.reshape(-1) + step) for step in [*steps, *-steps]]
    costs, broken, first = field.costs(around), [], 0
    for at in smooth:
        above, below = costs[first : first + 2 * at.force.size].reshape(2, -1)
        first += 2 * at.force.size
        slope = (below - above) / (2 * STEP)
        miss = np.abs(slope - at.force)
        if miss.max() > 1e-6 * (np.abs(at.force).max() + np.abs(at.jacobian).max() + at.unit):
            i = int(miss.argmax())
            words = f"−∂C/∂s_{i + 1} = {number(slope[i])} but λ_{i + 1} = {number(at.force[i])}"
            broken.append((len(at.point.labels), -float(miss.max()), _at(at.point, at.force, words)))
    words = (
        f"The force is not the negative gradient of that cost at {len(broken)} of {len(smooth)} points."
        if broken
        else f"The force is the negative gradient of that cost at all {len(smooth)} points."
    )
    return Finding("cost", "λ_i = −∂C/∂s_i for the cost it declares", not broken, words, {}, _plainest(broken))


def _plainest(broken: list[tuple[int, float, Counterexample]]) -> Counterexample | None:
    """Return the counterexample with the fewest documents, and among those the clearest."""
    return min(broken, key=lambda entry: entry[:2])[2] if broken else None


def _at(point: Point, force: Floats, words: str) -> Counterexample:
    return Counterexample(point.labels, point.scores, force.reshape(point.scores.shape), words)
