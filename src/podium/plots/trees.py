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
    documents: int
    depth: int
    value: float
    gain: float
    missing: str
    x: float = 0.0
    parent: int | None = None
    branch: str = ""


def tree(ranker: Any, number: int = 1, *, max_depth: int | None = None) -> Any:
    """Draw one tree of a ranker: the condition of each node, and the value of each leaf.

    The columns of `chart.data` are node, parent, branch (yes or no), kind (split, leaf or cut), words, documents (of the training data), value,
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
    nodes, depth = _drawn(arrays, _Words(ranker, model, arrays), max_depth)
    n_leaves = len(arrays["value"])
    shown = sum(node.kind != "split" for node in nodes)
    cut = any(node.kind == "cut" for node in nodes)
    return themed(
        _chart(_frame(nodes), shown, depth),
        f"Tree {number} of {model.n_trees}",
        f"{n_leaves} {'leaf' if n_leaves == 1 else 'leaves'}" + (f", cut off below depth {depth}" if cut else ""),
        "Left if the condition holds. Thick lines take missing values. Leaves: what they add to the score, and their documents.",
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
            return f"{self.names[feature]} ≤ {threshold:.5g}"
        texts = [called[int(code)] if called is not None and code < len(called) else f"{code:g}" for code in codes]
        more = ", …" if len(texts) > MOST_CATEGORIES else ""
        return f"{self.names[feature]} in {{{', '.join(texts[:MOST_CATEGORIES])}{more}}}"

    def _codes(self, node: int, feature: int) -> list[float]:
        """Return the categories of a node's set, which is stored as one bit per category."""
        words = self.arrays["sets"].reshape(-1, 4)[self.arrays["set"][node]]
        bits = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
        return [float(code) for code, inside in zip(self.codes[feature], bits, strict=False) if inside]


def _drawn(arrays: Arrays, words: _Words, max_depth: int | None) -> tuple[list[_DrawnNode], int]:
    """Return the nodes in the order of drawing, and the depth at which the tree is cut off."""
    depths = _leaf_depths(arrays)
    limit = max(depths, default=0) if max_depth is None else int(max_depth)
    nodes = _walk(arrays, words, limit)
    while max_depth is None and limit > 1 and sum(node.kind != "split" for node in nodes) > MOST_LEAVES:
        limit -= 1
        nodes = _walk(arrays, words, limit)
    return nodes, limit


def _leaf_depths(arrays: Arrays) -> list[int]:
    depths, waiting = [], [(0 if len(arrays["feature"]) else ~0, 0)]
    while waiting:
        place, depth = waiting.pop()
        if place < 0:
            depths.append(depth)
        else:
            waiting += [(int(arrays[side][place]), depth + 1) for side in ("left", "right")]
    return depths


def _walk(arrays: Arrays, words: _Words, limit: int) -> list[_DrawnNode]:
    """Return the nodes from the root down, each after its parent; leaves have the places 0, 1, … from left to right."""
    nodes: list[_DrawnNode] = []
    waiting: list[tuple[int, int, int | None, str]] = [(0 if len(arrays["feature"]) else ~0, 0, None, "")]
    leaves = 0
    while waiting:
        place, depth, parent, branch = waiting.pop()
        inside = _leaves_below(arrays, place)
        documents = int(arrays["documents"][inside].sum())
        if place < 0 or depth >= limit:
            kind, text = "leaf", f"{arrays['value'][~place]:+.4f}" if place < 0 else ""
            if place >= 0:
                kind, text = "cut", f"… {len(inside)} leaves"
            value = float(arrays["value"][~place]) if place < 0 else float("nan")
            nodes.append(
                _DrawnNode(text, kind, documents, depth, value, float("nan"), "", float(leaves), parent, branch)
            )
            leaves += 1
            continue
        missing = "yes" if arrays["missing_left"][place] else "no"
        gain = float(arrays["gain"][place])
        nodes.append(
            _DrawnNode(
                words.condition(place), "split", documents, depth, float("nan"), gain, missing, 0.0, parent, branch
            )
        )
        me = len(nodes) - 1
        waiting += [
            (int(arrays["right"][place]), depth + 1, me, "no"),
            (int(arrays["left"][place]), depth + 1, me, "yes"),
        ]
    for number in range(len(nodes) - 1, -1, -1):
        children = [node.x for node in nodes if node.parent == number]
        if children:
            nodes[number].x = sum(children) / len(children)
    return nodes


def _leaves_below(arrays: Arrays, place: int) -> list[int]:
    found, waiting = [], [place]
    while waiting:
        at = waiting.pop()
        if at < 0:
            found.append(~at)
        else:
            waiting += [int(arrays["left"][at]), int(arrays["right"][at])]
    return found


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
    return pd.DataFrame(rows).astype({"parent": "Int64"})


def _chart(frame: Any, leaves: int, depth: int) -> Any:
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.6, leaves - 0.4], nice=False))
    deepest = int(frame["depth"].max())
    y = alt.Y("depth:Q", axis=None, scale=alt.Scale(domain=[deepest + 0.45, -0.35], nice=False))
    tips = ["kind", "words", "documents", alt.Tooltip("gain:Q", format=".4g"), alt.Tooltip("value:Q", format="+.5f")]
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
    layers = [edges, halo.encode(text="words:N"), text.encode(text="words:N"), dots, values, counts]
    placed = [layer if layer is edges else layer.encode(x=x, y=y, tooltip=tips) for layer in layers]
    width = max(260, LEAF_PIXELS * leaves)
    return alt.layer(*placed, data=frame).properties(width=width, height=LEVEL_PIXELS * (deepest + 0.8))
