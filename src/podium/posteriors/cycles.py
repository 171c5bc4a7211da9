"""The worst cycle of a graph of preferences, exactly.

Going round a cycle, the log odds of any set of scores sum to 0. The worst cycle is the one whose sum is largest *a pair*:
the cycle of largest mean. That mean has a second meaning (linear programming duality): whatever the scores, some
pair of the cycle is off by at least it, and there are scores for which no pair of the graph is off by more.

Howard's policy iteration finds it. Each document points to one neighbor (its policy); following the pointers ends in
one cycle for each connected part, and a document changes its pointer where another pays more. Every round raises the
mean of the cycle or, at the same mean, what some document gets, so the end is reached, and where no pointer wants to
change, no cycle has a larger mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Arcs:
    """Every pair walked both ways, sorted by where an arc starts: `gain` is the pair's, minus it when walked backward.

    Documents are numbered 0, 1, … and each has an arc; those of part `part[v]` can reach each other.
    """

    source: Ints
    target: Ints
    gain: Floats
    pair: Ints
    forward: npt.NDArray[np.bool_]
    first: Ints  # arc of each document
    part: Ints

    @classmethod
    def of(cls, winner: Ints, loser: Ints, gain: Floats, part: Ints) -> Arcs:
        """Return the arcs of pairs."""
        source = np.concatenate([winner, loser])
        order = np.argsort(source, kind="stable")
        source = source[order]
        return cls(
            source=source,
            target=np.concatenate([loser, winner])[order],
            gain=np.concatenate([gain, -gain])[order],
            pair=np.tile(np.arange(len(winner)), 2)[order],
            forward=np.repeat([True, False], len(winner))[order],
            first=np.searchsorted(source, np.arange(len(part))),
            part=part,
        )

    def best(self, values: Floats) -> tuple[Floats, Ints]:
        """Return (the largest value among the arcs of each document, the first arc that has it)."""
        largest = np.maximum.reduceat(values, self.first)
        tops = np.flatnonzero(values == largest[self.source])
        return largest, tops[np.searchsorted(self.source[tops], np.arange(len(self.first)))]


def worst_cycles(winner: Ints, loser: Ints, gain: Floats, part: Ints) -> list[tuple[Ints, npt.NDArray[np.bool_]]]:
    """Return for each connected part the cycle whose gains have the largest mean: (its pairs, whether each is walked forward).

    If no cycle has a mean above 0, the result is one pair forward and back.

    Args:
        winner: the document that each pair starts from when walked forward.
        loser: the other.
        gain: log odds of each pair, or what scores leave of them, which sums to the same round every cycle and, being
            small, needs fewer rounds.
        part: which connected part each document belongs to, 0, 1, …; every document has a pair.
    """
    arcs = Arcs.of(winner, loser, gain, part)
    sizes = np.bincount(part)
    slack = 1e-14 * max(10, int(sizes.max())) * float(np.abs(gain).max())  # above the rounding of sums along a part
    _, policy = arcs.best(arcs.gain)
    while True:
        mean, root = _best_cycle(arcs, policy, len(sizes))
        net = arcs.gain - mean[part[arcs.source]]
        paid = net + _worth(arcs, policy, net, root)[arcs.target]
        best, choice = arcs.best(paid)
        better = best > paid[policy] + slack
        if not better.any():
            return [_walk(arcs, policy, start) for start in root.tolist()]
        policy[better] = choice[better]


def _best_cycle(arcs: Arcs, policy: Ints, parts: int) -> tuple[Floats, Ints]:
    """Return (mean gain, smallest document) of the best cycle that following the policy ends in, for each part."""
    following = arcs.target[policy]
    label, jump = np.arange(len(policy)), following
    for _ in range(len(policy).bit_length()):
        label, jump = np.minimum(label, label[jump]), jump[jump]
    on_cycle = np.unique(jump)  # where more steps than there are documents lead
    counts = np.bincount(label[on_cycle])
    sums = np.bincount(label[on_cycle], arcs.gain[policy[on_cycle]])
    roots = np.flatnonzero(counts)
    means = sums[roots] / counts[roots]
    order = np.lexsort((roots, -means, arcs.part[roots]))
    first = np.searchsorted(arcs.part[roots][order], np.arange(parts))
    return means[order][first], roots[order][first]


def _worth(arcs: Arcs, policy: Ints, net: Floats, root: Ints) -> Floats:
    """Return what each document collects on its way to the root of its part; one that ends elsewhere is first led there."""
    for led_all in (False, True):
        jump, worth = arcs.target[policy], net[policy]
        jump[root], worth[root] = root, 0.0
        for _ in range(len(policy).bit_length()):
            worth, jump = worth + worth[jump], jump[jump]
        led = jump == root[arcs.part]
        if led_all or led.all():
            break
        _lead(arcs, policy, led)
    return worth


def _lead(arcs: Arcs, policy: Ints, led: npt.NDArray[np.bool_]) -> None:
    """Point every document that does not lead to the root to the nearest one, by number of pairs, that does."""
    count = len(policy)
    outside = np.append(arcs.target, np.flatnonzero(led))  # one more document, with an arc to each that is led
    firsts = np.concatenate([arcs.first, [len(arcs.target), len(outside)]])
    graph = csr_array((np.ones(len(outside)), outside, firsts), shape=(count + 1, count + 1))
    _, before = breadth_first_order(graph, count, directed=True)
    towards = arcs.target == before[arcs.source]
    chosen = np.flatnonzero(towards & ~led[arcs.source])[::-1]
    policy[arcs.source[chosen]] = chosen


def _walk(arcs: Arcs, policy: Ints, start: int) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Return (pairs, whether forward) around the cycle of the policy that a document is on."""
    steps = [int(policy[start])]
    while arcs.target[steps[-1]] != start:
        steps.append(int(policy[arcs.target[steps[-1]]]))
    return arcs.pair[steps], arcs.forward[steps]
