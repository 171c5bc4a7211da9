"""One tree, drawn from its root down to its leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.errors import ParameterError, is_integer
from podium.models.trees import Arrays, TreeModel, categories_of
from podium.plots.inputs import feature_names, trained_scorer
from podium.plots.output import themed
from podium.plots.stack import alt, pd
from podium.plots.theme import COLORS, INK, QUIET, SURFACE

MOST_LEAVES = 32  # that are drawn; below them a tree is cut off
LEAF_PIXELS, LEVEL_PIXELS = 74, 78
MOST_CATEGORIES = 4  # that are listed


@dataclass
class _DrawnNode:
    """A node or a leaf, and where it is drawn."""

    words: str
    kind: str
    documents: int | None
    depth: int
    value: float
    gain: float
    missing: str
    x: float = 0.0
    parent: int | None = None
    branch: str = ""


def tree(ranker: Any, number: int = 1, *, max_depth: int | None = None) -> Any:
    """Draw one tree of a ranker: the condition of each node, and the value of each leaf.

    The columns of `chart.data` are node, parent, branch (yes or no), kind (split, leaf or cut), words, documents (of the training data; none if the model's file does not say), value,
    gain, missing (where missing values go), depth, x and parent_x.

    Args:
        ranker: a trained ranker of trees.
        number: the number of the tree, counted from 1.
        max_depth: the depth below which the tree is cut off; by default the largest with at most 32 leaves.
    """
    model = trained_scorer(ranker).model
    if not model.has_splits:
        rule = f"must be made of trees, and this {type(ranker).__name__} has another model"
        raise ParameterError("model", rule=rule, remedy="draw the importance by permutation")
    if not is_integer(number) or not 1 <= number <= model.n_trees:
        raise ParameterError("number", number, f"must be a whole number from 1 to {model.n_trees}, the number of trees")
    if max_depth is not None and (not is_integer(max_depth) or max_depth < 0):
        raise ParameterError("max_depth", max_depth, "must be a whole number of at least 0")
    arrays = model.tree(int(number) - 1)
    nodes, depth = _drawn(arrays, _Words(ranker, model, arrays), max_depth, model.has_counts)
    n_leaves = len(arrays["value"])
    shown = sum(node.kind != "split" for node in nodes)
    cut = any(node.kind == "cut" for node in nodes)
    ends = "Leaves: what they add to the score" + (", and their documents." if model.has_counts else ".")
    return themed(
        _chart(_frame(nodes), shown, model.has_counts),
        f"Tree {number} of {model.n_trees}",
        f"{n_leaves} {'leaf' if n_leaves == 1 else 'leaves'}" + (f", cut off below depth {depth}" if cut else ""),
        f"Left if the condition holds. Thick lines take missing values. {ends}",
    )


class _Words:
    """The conditions of nodes in words."""

    def __init__(self, ranker: Any, model: TreeModel, arrays: Arrays) -> None:
        self.names, self.arrays = feature_names(ranker), arrays
        self.codes, self.categories = categories_of(model), ranker.scorer_.categories or {}

    def condition(self, node: int) -> str:
        """Return the condition under which documents go left."""
        feature, threshold = int(self.arrays["feature"][node]), float(self.arrays["threshold"][node])
        called = self.categories.get(feature)
        if self.arrays["set"][node] >= 0:
            codes = self._codes(node, feature)
        elif called is not None:  # the categories are split by the order of their codes
            codes = [float(code) for code in range(len(called)) if code <= threshold]
        else:
            return f"{self.names[feature]} ≤ {threshold:.5g}".replace(" -", " −")
        texts = [called[int(code)] if called is not None and code < len(called) else f"{code:g}" for code in codes]
        more = ", …" if len(texts) > MOST_CATEGORIES else ""
        return f"{self.names[feature]} in {{{', '.join(texts[:MOST_CATEGORIES])}{more}}}"

    def _codes(self, node: int, feature: int) -> list[float]:
        """Return the categories of a node's set, which is stored as one bit per category."""
        words = self.arrays["sets"].reshape(-1, 4)[self.arrays["set"][node]]
        bits = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
        return [float(code) for code, inside in zip(self.codes[feature], bits, strict=False) if inside]


def _drawn(arrays: Arrays, words: _Words, max_depth: int | None, has_counts: bool) -> tuple[list[_DrawnNode], int]:
    """Return the nodes in the order of drawing, and the depth at which the tree is cut off."""
    depths = _depths(arrays)
    limit = max(depths.values()) if max_depth is None else int(max_depth)
    while max_depth is None and limit > 1 and _n_ends(depths, limit) > MOST_LEAVES:
        limit -= 1
    return _walk(arrays, words, limit, has_counts), limit


def _depths(arrays: Arrays) -> dict[int, int]:
    """Return the depth of every node and leaf, each after its parent; leaves have the keys ~leaf."""
    depths, waiting = {}, [(0 if len(arrays["feature"]) else ~0, 0)]
    while waiting:
        place, depth = waiting.pop()
        depths[place] = depth
        if place >= 0:
            waiting += [(int(arrays[side][place]), depth + 1) for side in ("left", "right")]
    return depths


def _n_ends(depths: dict[int, int], limit: int) -> int:
    """Return how many ends a tree has if it is cut off at a depth."""
    return sum(depth == limit or (place < 0 and depth < limit) for place, depth in depths.items())


def _sums_below(arrays: Arrays) -> dict[int, tuple[int, int]]:
    """Return, for every node and leaf, how many leaves are below it, and how many documents they have."""
    found: dict[int, tuple[int, int]] = {}
    for place in reversed(_depths(arrays)):
        if place < 0:
            found[place] = 1, int(arrays["documents"][~place])
        else:
            left, right = (found[int(arrays[side][place])] for side in ("left", "right"))
            found[place] = left[0] + right[0], left[1] + right[1]
    return found


def _walk(arrays: Arrays, words: _Words, limit: int, has_counts: bool) -> list[_DrawnNode]:
    """Return the nodes from the root down, each after its parent; leaves have the places 0, 1, … from left to right."""
    nodes: list[_DrawnNode] = []
    waiting: list[tuple[int, int, int | None, str]] = [(0 if len(arrays["feature"]) else ~0, 0, None, "")]
    sums, unknown, n_ends = _sums_below(arrays), float("nan"), 0
    while waiting:
        place, depth, parent, branch = waiting.pop()
        n_leaves, documents = sums[place]
        counted = documents if has_counts else None
        if place < 0 or depth >= limit:
            value = float(arrays["value"][~place]) if place < 0 else unknown
            kind, text = ("leaf", f"{value:+.4f}".replace("-", "−")) if place < 0 else ("cut", f"… {n_leaves} leaves")
            nodes.append(_DrawnNode(text, kind, counted, depth, value, unknown, "", float(n_ends), parent, branch))
            n_ends += 1
            continue
        missing = "yes" if arrays["missing_left"][place] else "no"
        gain = float(arrays["gain"][place])
        condition = words.condition(place)
        nodes.append(_DrawnNode(condition, "split", counted, depth, unknown, gain, missing, 0.0, parent, branch))
        me = len(nodes) - 1
        waiting += [
            (int(arrays["right"][place]), depth + 1, me, "no"),
            (int(arrays["left"][place]), depth + 1, me, "yes"),
        ]
    for node in reversed(nodes):  # a split is in the middle of its two children
        if node.parent is not None:
            nodes[node.parent].x += node.x / 2
    return nodes


def _frame(nodes: list[_DrawnNode]) -> Any:
    rows = [
        {
            "node": number,
            "parent": node.parent,
            "branch": node.branch,
            "kind": node.kind,
            "words": node.words,
            "documents": node.documents,
            "value": node.value,
            "gain": node.gain,
            "missing": node.missing,
            "depth": node.depth,
            "x": node.x,
            "parent_x": None if node.parent is None else nodes[node.parent].x,
            "takes_missing": node.parent is not None and nodes[node.parent].missing == node.branch,
        }
        for number, node in enumerate(nodes)
    ]
    return pd.DataFrame(rows).astype({"parent": "Int64", "documents": "Int64"})


def _chart(frame: Any, leaves: int, has_counts: bool) -> Any:
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.6, leaves - 0.4], nice=False))
    deepest = int(frame["depth"].max())
    y = alt.Y("depth:Q", axis=None, scale=alt.Scale(domain=[deepest + 0.45, -0.35], nice=False))
    tips = [
        "kind",
        "words",
        *(["documents"] if has_counts else []),
        alt.Tooltip("gain:Q", format=".4g"),
        alt.Tooltip("value:Q", format="+.5f"),
    ]
    edges = (
        alt.Chart()
        .transform_filter("isValid(datum.parent_x)")
        .transform_calculate(above="datum.depth - 1")
        .mark_rule(color=QUIET)
        .encode(
            x=x,
            y=y,
            x2="parent_x:Q",
            y2="above:Q",
            strokeWidth=alt.condition("datum.takes_missing", alt.value(2.5), alt.value(0.8)),
        )
    )
    inner = alt.Chart().transform_filter("datum.kind === 'split'")
    ends = alt.Chart().transform_filter("datum.kind !== 'split'")
    halo = inner.mark_text(stroke=SURFACE, strokeWidth=6, strokeJoin="round", fontSize=11, aria=False)
    text = inner.mark_text(color=INK, fontSize=11)
    dots = ends.mark_point(filled=True, size=60, opacity=1).encode(
        color=alt.condition("datum.value < 0", alt.value(COLORS[1]), alt.value(COLORS[0]))
    )
    values = ends.mark_text(color=INK, fontSize=10, dy=14).encode(text="words:N")
    counts = ends.mark_text(color=QUIET, fontSize=10, dy=27).encode(text=alt.Text("documents:Q", format=",d"))
    layers = [edges, halo.encode(text="words:N"), text.encode(text="words:N"), dots, values]
    layers += [counts] if has_counts else []
    placed = [layer if layer is edges else layer.encode(x=x, y=y, tooltip=tips) for layer in layers]
    width = max(260, LEAF_PIXELS * leaves)
    return alt.layer(*placed, data=frame).properties(width=width, height=LEVEL_PIXELS * (deepest + 0.8))
