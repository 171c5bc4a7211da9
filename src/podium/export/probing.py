"""Rows that are hard for a model: where an export that is not exact would show it.

For trees: rows that reach chosen nodes, with the tested feature on the threshold, one float32 above and below it, or missing; and
rows that mix all thresholds with zeros of both signs, denormals, huge and missing values. For linear models and nets: rows
around the training data, far from it, with zeros and missing values. The rows of a model are always the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from podium.export.source import WrittenTree, written_tree
from podium.models.net import Net
from podium.models.trees import TreeModel, categories_of

Features = npt.NDArray[np.float32]
LARGEST = np.finfo(np.float32).max
SPECIAL = np.array(
    [np.nan, 0.0, -0.0, 1e-45, -1e-45, 1e-40, 1e-36, -1e-36, 1e-35, -1e-35, LARGEST, -LARGEST, 1e30, -1e30], np.float32
)
MIXED_ROWS, MOST_MIXED_ROWS = 300, 3000
PROBED_NODES = 500
SEED = 20_240_501


def probe_rows(model: Any) -> Features:
    """Return rows that are hard for a model."""
    random = np.random.default_rng(SEED)
    if isinstance(model, TreeModel):
        pools = [_pool(model, feature) for feature in range(model.n_features)]
        return np.concatenate([_mixed(pools, random), _at_nodes(model, pools, random)])
    if isinstance(model, Net):
        return _around_center(model, random)
    return random.normal(size=(MIXED_ROWS, model.n_features)).astype(np.float32)


def _pool(model: TreeModel, feature: int) -> Features:
    """Return the values of a feature that are worth trying."""
    known = categories_of(model).get(feature)
    if known is not None:
        last = max(known.max(initial=0), 0)
        return np.concatenate([known[known >= 0], np.array([np.nan, last + 1, last + 7], np.float32)])
    arrays = model.arrays()
    thresholds = np.unique(arrays["threshold"][arrays["feature"] == feature])
    beside = [np.nextafter(thresholds, side) for side in (LARGEST, -LARGEST)]
    return np.concatenate([thresholds, *beside, SPECIAL])


def _mixed(pools: list[Features], random: np.random.Generator) -> Features:
    """Return rows in which every value of every pool occurs, as far as there is room."""
    count = min(max([MIXED_ROWS, *(len(pool) for pool in pools)]), MOST_MIXED_ROWS)
    rows = np.empty((count, len(pools)), np.float32)
    for feature, pool in enumerate(pools):
        rows[:, feature] = random.permutation(np.resize(random.permutation(pool), count))
    return rows


def _at_nodes(model: TreeModel, pools: list[Features], random: np.random.Generator) -> Features:
    """Return rows that reach chosen nodes, four of each: on the threshold, above it, below it, and missing."""
    starts = model.arrays()["node_offsets"]
    if starts[-1] == 0:
        return np.empty((0, model.n_features), np.float32)
    chosen = np.unique(np.linspace(0, starts[-1] - 1, PROBED_NODES).astype(np.int64))
    trees: dict[int, WrittenTree] = {}
    rows = []
    for place in chosen.tolist():
        number = int(np.searchsorted(starts, place, side="right")) - 1
        if number not in trees:
            trees = {number: written_tree(model, number)}
        row = np.array([random.choice(pool) for pool in pools], np.float32)
        _lead_to(row, trees[number], place - int(starts[number]))
        rows += _beside(row, trees[number], place - int(starts[number]))
    return np.array(rows, np.float32).reshape(-1, model.n_features)


def _lead_to(row: Features, tree: WrittenTree, node: int) -> None:
    """Set the features of a row so that it reaches a node, as far as one value per feature can."""
    parent = {child: at for children in (tree.left, tree.right) for at, child in enumerate(children) if child > 0}
    low: dict[int, float] = {}
    high: dict[int, float] = {}
    while node:
        above = parent[node]
        feature, goes_left = tree.feature[above], tree.left[above] == node
        sides = tree.categories.get(above)
        if sides is not None:
            row[feature] = next(iter(sides.left if goes_left else sides.right), np.nan)
        elif goes_left:
            high[feature] = min(high.get(feature, float(LARGEST)), tree.threshold[above])
        else:
            low[feature] = max(low.get(feature, -float(LARGEST)), tree.threshold[above])
        node = above
    for feature, value in high.items():
        row[feature] = value
    for feature, value in low.items():
        if feature not in high:
            row[feature] = np.nextafter(np.float32(value), np.float32(LARGEST))


def _beside(row: Features, tree: WrittenTree, node: int) -> list[Features]:
    feature, sides = tree.feature[node], tree.categories.get(node)
    if sides is not None:
        values = [*sides.left[:1], *sides.right[:1], np.nan, max([*sides.left, *sides.right, 0]) + 1]
    else:
        on = np.float32(tree.threshold[node])
        values = [float(on), *(float(np.nextafter(on, np.float32(side))) for side in (LARGEST, -LARGEST)), np.nan]
    rows = []
    for value in values:
        one = row.copy()
        one[feature] = value
        rows.append(one)
    return rows


def _around_center(net: Net, random: np.random.Generator) -> Features:
    """Return rows around the training data and up to a thousand deviations away, with zeros and missing values."""
    varies = net.map.scale != 0
    deviation = np.where(varies, 1 / np.where(varies, net.map.scale, 1.0), 1.0)
    far = np.repeat([1.0, 3.0, 100.0, 1000.0], MIXED_ROWS // 4)[:, None]
    drawn = random.normal(size=(len(far), net.n_features)) * far
    limit = float(LARGEST) / 1e6
    rows: Features = np.clip(net.map.center + drawn * deviation, -limit, limit).astype(np.float32)
    for value in (np.nan, 0.0, -0.0, 1e-45):
        rows[random.random(rows.shape) < 0.05] = value
    rows[0], rows[1] = np.nan, 0.0
    return rows
