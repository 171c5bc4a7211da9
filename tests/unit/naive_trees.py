"""Boosted trees in plain loops: every candidate split of every leaf is tried, and the best one is taken."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

FLT_MAX = float(np.finfo(np.float32).max)


def fixed(values: np.ndarray) -> tuple[list[int], int]:
    """Return (values · 2^k rounded to whole numbers of 50 bits, k)."""
    largest = float(np.abs(values).max(initial=0))
    above = math.frexp(largest)[1] if largest > 0 else -1022
    k = min(1000, min(61 - len(values).bit_length(), 50) - above)
    return [round(float(value) * 2.0**k) for value in values], k


def cells(values: np.ndarray, bits: int) -> tuple[np.ndarray, float]:
    """Return (values as whole numbers of a unit, the unit), a power of two chosen so that sums stay below 2^bits."""
    whole, k = fixed(np.abs(values))
    if not any(whole):
        return np.zeros(len(values), np.int64), 1.0
    total, room = math.ldexp(sum(whole) + len(values), -k), 2.0**bits - 1 - len(values)
    e = math.frexp(room / total)[1] - 1
    while math.ldexp(total, e) > room:
        e -= 1
    return np.array([round(float(value) * 2.0**e) for value in values], np.int64), 2.0**-e


@dataclass(frozen=True)
class Rules:
    num_leaves: int = 31
    learning_rate: float = 0.1
    max_depth: int | None = None
    growth: str = "leaf"
    l1: float = 0.0
    l2: float = 0.0
    min_documents: int = 1
    min_curvature: float = 1e-3
    min_gain: float = 0.0
    monotone: dict[int, int] = field(default_factory=dict)  # 1 or -1 by feature
    cell_bits: int = 31  # of sums of forces and of curvatures in histograms; 51 in wide cells

    def shrunk(self, force: float) -> float:
        return math.copysign(max(abs(force) - self.l1, 0.0), force)

    def value(self, force: float, curvature: float, low: float, high: float) -> float:
        """The value of a leaf, held between its bounds."""
        return min(max(self.shrunk(force) / max(curvature + self.l2, 1e-300), low), high)

    def worth(self, force: float, curvature: float, value: float) -> float:
        """Twice what the cost falls by if a leaf has this value: fv - (c + l2)v²/2 - l1|v|."""
        return 2 * force * value - (curvature + self.l2) * value * value - 2 * self.l1 * abs(value)


@dataclass
class Leaf:
    rows: np.ndarray
    depth: int = 0
    parent: tuple[str, int] | None = None  # side and node
    split: dict[str, Any] | None = None
    low: float = -math.inf  # bounds of its value, where some feature is monotone
    high: float = math.inf


@dataclass
class Growing:
    """One tree over features with few distinct values."""

    X: np.ndarray
    force: np.ndarray
    curvature: np.ndarray
    rules: Rules
    leaves: list[Leaf] = field(default_factory=list)
    nodes: list[dict[str, Any]] = field(default_factory=list)

    def run(self) -> dict[str, list[Any]]:
        self.f, self.f_unit = cells(self.force, self.rules.cell_bits)
        self.h, self.h_unit = cells(self.curvature, self.rules.cell_bits)
        self.thresholds = [self.between(column[~np.isnan(column)]) for column in self.X.T]
        self.leaves.append(Leaf(np.arange(len(self.X))))
        if self.rules.growth == "symmetric":
            return self.by_levels()
        self.leaves[0].split = self.best(self.leaves[0])
        while len(self.leaves) < self.rules.num_leaves:
            waiting = [k for k, leaf in enumerate(self.leaves) if leaf.split is not None]
            if not waiting:
                break
            self.part(min(waiting, key=self.turn))
        return self.finished()

    @staticmethod
    def between(values: np.ndarray) -> list[float]:
        """Return the middles of neighboring values, and a threshold above all of them."""
        distinct = np.unique(values.astype(np.float32))
        low, high = distinct[:-1], distinct[1:]
        return [*(low + (high - low) / np.float32(2)).tolist(), FLT_MAX]

    def turn(self, number: int) -> tuple[float, ...]:
        leaf = self.leaves[number]
        assert leaf.split is not None
        return (leaf.depth if self.rules.growth == "depth" else 0, -leaf.split["gain"], number)

    def sums(self, rows: np.ndarray) -> tuple[float, float]:
        return int(self.f[rows].sum()) * self.f_unit, int(self.h[rows].sum()) * self.h_unit

    def best(self, leaf: Leaf) -> dict[str, Any] | None:
        r, best = self.rules, None
        if r.max_depth is not None and leaf.depth >= r.max_depth:
            return None
        force, curvature = self.sums(leaf.rows)
        whole = r.shrunk(force) ** 2 / max(curvature + r.l2, 1e-300)
        if r.monotone:
            whole = r.worth(force, curvature, r.value(force, curvature, leaf.low, leaf.high))
        for feature, thresholds in enumerate(self.thresholds):
            x = self.X[leaf.rows, feature]
            missing = np.isnan(x)
            weighs = any(self.sums(leaf.rows[missing]))  # otherwise both directions are the same
            reached, found = whole + max(r.min_gain, 1e-10 * abs(whole)), None
            for missing_left in (False, True)[: 1 + weighs]:
                for threshold in thresholds:
                    left = np.where(missing, missing_left, x <= np.float32(threshold))
                    sides = self.worth(leaf, left, feature)
                    if sides is not None and sides > reached:
                        reached, found = sides, (threshold, missing_left)
            if found is not None and (best is None or reached - whole > best["gain"]):
                best = {"feature": feature, "gain": reached - whole, "threshold": found[0], "missing_left": found[1]}
        return best

    def worth(self, leaf: Leaf, goes_left: np.ndarray, feature: int) -> float | None:
        """What both sides are worth, or None if the split breaks a rule."""
        r, left, right = self.rules, leaf.rows[goes_left], leaf.rows[~goes_left]
        (f, d), (g, e) = self.sums(left), self.sums(right)
        if min(d, e) < r.min_curvature or min(len(left), len(right)) < r.min_documents:
            return None
        if r.monotone:
            low, high = (r.value(*sums, leaf.low, leaf.high) for sums in ((f, d), (g, e)))
            against = r.monotone.get(feature, 0) * (high - low) < 0
            return None if against else r.worth(f, d, low) + r.worth(g, e, high)
        f, g, d, e = r.shrunk(f), r.shrunk(g), d + r.l2, e + r.l2
        return (f * f * e + g * g * d) / (d * e)

    def part(self, number: int) -> None:
        leaf = self.leaves[number]
        assert leaf.split is not None
        node, x = len(self.nodes), self.X[leaf.rows, leaf.split["feature"]]
        missing = np.isnan(x)
        left = np.where(missing, leaf.split["missing_left"], x <= np.float32(leaf.split["threshold"]))
        if not missing.any():
            leaf.split["missing_left"] = left.sum() > (~left).sum()
        if leaf.parent is not None:
            self.nodes[leaf.parent[1]][leaf.parent[0]] = node
        self.nodes.append(leaf.split)
        children = [
            Leaf(leaf.rows[rows], leaf.depth + 1, (side, node), low=leaf.low, high=leaf.high)
            for side, rows in (("left", left), ("right", ~left))
        ]
        self.bound(*children[:: self.rules.monotone.get(leaf.split["feature"], 0) or 1], leaf.split["feature"])
        self.leaves[number] = children[0]
        self.leaves.append(children[1])
        for child in children:
            child.split = self.best(child)

    def bound(self, lower: Leaf, upper: Leaf, feature: int) -> None:
        """The values of neither child of a monotone split may cross the middle of the two."""
        if feature in self.rules.monotone:
            values = [self.rules.value(*self.sums(leaf.rows), leaf.low, leaf.high) for leaf in (lower, upper)]
            lower.high = upper.low = sum(values) / 2

    # ---- symmetric growth: one split per level

    def by_levels(self) -> dict[str, list[Any]]:
        r = self.rules
        for depth in range(r.num_leaves.bit_length() - 1):
            split = self.best_of_level() if r.max_depth is None or depth < r.max_depth else None
            if split is None:
                break
            self.part_level(split)
        return self.finished()

    def counted(self, rows: np.ndarray) -> tuple[float, float]:
        force, curvature = self.sums(rows)
        enough = curvature >= self.rules.min_curvature and len(rows) >= self.rules.min_documents
        return (self.rules.shrunk(force), curvature + self.rules.l2) if enough else (0.0, 1.0)

    def sides(self, left: np.ndarray, right: np.ndarray) -> float:
        (f, d), (g, e) = self.counted(left), self.counted(right)
        return (f * f * e + g * g * d) / (d * e)

    def best_of_level(self) -> dict[str, Any] | None:
        nodes, best = [leaf.rows for leaf in self.leaves if len(leaf.rows)], None
        whole = 0.0
        for rows in nodes:
            whole += self.sides(rows, rows[:0])
        for feature, thresholds in enumerate(self.thresholds):
            x = self.X[:, feature]
            weighs = any(any(self.sums(rows[np.isnan(x[rows])])) for rows in nodes)
            reached, found = whole + max(self.rules.min_gain, 1e-10 * abs(whole)), None
            for missing_left in (False, True)[: 1 + weighs]:
                for threshold in thresholds:
                    left = np.where(np.isnan(x), missing_left, x <= np.float32(threshold))
                    sides = 0.0
                    for rows in nodes:
                        sides += self.sides(rows[left[rows]], rows[~left[rows]])
                    if sides > reached:
                        reached, found = sides, (threshold, missing_left)
            if found is not None and (best is None or reached - whole > best["gain"]):
                best = {"feature": feature, "gain": reached - whole, "threshold": found[0], "missing_left": found[1]}
        return best

    def part_level(self, split: dict[str, Any]) -> None:
        x, first, below = self.X[:, split["feature"]], len(self.nodes), []
        left = np.where(np.isnan(x), split["missing_left"], x <= np.float32(split["threshold"]))
        if not np.isnan(x).any():
            split["missing_left"] = left.sum() > (~left).sum()
        for k, leaf in enumerate(self.leaves):
            low, high = leaf.rows[left[leaf.rows]], leaf.rows[~left[leaf.rows]]
            gain = max(self.sides(low, high) - self.sides(leaf.rows, leaf.rows[:0]), 0.0)
            if leaf.parent is not None:
                self.nodes[leaf.parent[1]][leaf.parent[0]] = first + k
            self.nodes.append({**split, "gain": gain})
            below += [Leaf(low, parent=("left", first + k)), Leaf(high, parent=("right", first + k))]
        self.leaves = below

    def finished(self) -> dict[str, list[Any]]:
        r, (f, f_bits), (h, h_bits) = self.rules, fixed(self.force), fixed(self.curvature)
        values = []
        for number, leaf in enumerate(self.leaves):
            if leaf.parent is not None:
                self.nodes[leaf.parent[1]][leaf.parent[0]] = ~number
            push = math.ldexp(sum(f[row] for row in leaf.rows), -f_bits)
            bend = math.ldexp(sum(h[row] for row in leaf.rows), -h_bits)
            enough = bend >= r.min_curvature and (r.growth != "symmetric" or len(leaf.rows) >= r.min_documents)
            value = r.shrunk(push) / (bend + r.l2) if enough else 0.0
            values.append(r.learning_rate * min(max(value, leaf.low), leaf.high))
        names = ("feature", "threshold", "left", "right", "missing_left", "gain")
        out = {name: [node[name] for node in self.nodes] for name in names}
        return {**out, "value": values, "documents": [len(leaf.rows) for leaf in self.leaves]}


def walk(tree: dict[str, Any], row: np.ndarray, categories: dict[int, np.ndarray]) -> int:
    """Return the leaf of one document in a tree, given as the arrays that models keep."""
    at = 0 if len(tree["feature"]) else -1
    while at >= 0:
        feature = int(tree["feature"][at])
        x = row[feature]
        if tree["set"][at] >= 0:
            place = categories[feature].tolist().index(x) if x in categories[feature] else 255
            word = int(tree["sets"][4 * tree["set"][at] + place // 64])
            left = bool(word >> (place % 64) & 1)
        else:
            left = bool(tree["missing_left"][at]) if np.isnan(x) else bool(x <= tree["threshold"][at])
        at = int(tree["left"][at] if left else tree["right"][at])
    return ~at
