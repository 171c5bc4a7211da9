"""Trees: f = base + Σ_t tree_t(x); a tree sends a document left where x ≤ threshold, and a leaf gives its value."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.data.conversion import as_number
from podium.errors import DataError, ParameterError, is_integer, short_repr, unknown_name
from podium.models.model import Features, Floats, Model, Spec

GROWTHS = ("leaf", "depth", "symmetric")
SAMPLINGS = ("force", "uniform")
NODES = ("feature", "threshold", "left", "right", "missing_left", "set", "gain")
LEAVES = ("value", "documents")
DTYPES: dict[str, Any] = {
    "feature": np.int32,
    "threshold": np.float32,
    "left": np.int32,
    "right": np.int32,
    "missing_left": np.uint8,
    "set": np.int32,
    "gain": np.float64,
    "value": np.float64,
    "documents": np.int64,
    "node_offsets": np.int64,
    "leaf_offsets": np.int64,
    "sets": np.uint64,
    "category_features": np.int32,
    "category_offsets": np.int64,
    "categories": np.float32,
    "base": np.float64,
}
NOT_SCORED = ("gain", "documents", "base")  # what the core's forest does not need
Arrays = dict[str, npt.NDArray[Any]]


class TreeModel(Model):
    """A forest of trained trees; tree t adds to output t mod outputs.

    The arrays: of nodes, all trees one after the other, `feature`, `threshold`, `left`, `right` (a node of the same tree,
    or ~leaf), `missing_left`, `gain`, and `set` (of a categorical split, which of `sets`; else −1); of leaves `value` and
    `documents`, how many training documents fell there; where trees begin, `node_offsets` and `leaf_offsets`.
    """

    def __init__(self, arrays: Arrays, n_features: int, n_outputs: int) -> None:
        self.n_features, self.n_outputs = n_features, n_outputs
        self._arrays = {name: np.ascontiguousarray(arrays[name], kind) for name, kind in DTYPES.items()}
        if self._arrays["base"].shape != (n_outputs,) or not np.isfinite(self._arrays["base"]).all():
            raise DataError("a forest needs one finite base score an output")
        for name, like in (("gain", "feature"), ("documents", "value")):
            if self._arrays[name].shape != self._arrays[like].shape:
                raise DataError(f"{name} and {like} differ in length")
        self.forest = _core.Forest(
            n_features=n_features,
            outputs=n_outputs,
            **{name: value for name, value in self._arrays.items() if name not in NOT_SCORED},
        )

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return len(self._arrays["node_offsets"]) - 1

    def scores(self, features: Features, *, num_threads: int = 1) -> Floats:
        """The base and the values of all trees, added in their order."""
        self.check_features(features)
        out = np.empty(len(features) * self.n_outputs)
        self.forest.scores(np.ascontiguousarray(features, np.float32), out, num_threads)
        shaped: Floats = out.reshape(len(features), self.n_outputs) + self._arrays["base"]
        return shaped[:, 0] if self.n_outputs == 1 else shaped

    def leaves(self, features: Features, *, num_threads: int = 1) -> npt.NDArray[np.int32]:
        """The leaf of every row in every tree, [documents × trees]."""
        self.check_features(features)
        out = np.empty((len(features), self.n_trees), np.int32)
        self.forest.leaves(np.ascontiguousarray(features, np.float32), out, num_threads)
        return out

    def arrays(self) -> Arrays:
        """Nodes, leaves and where trees begin."""
        return dict(self._arrays)

    def settings(self) -> dict[str, Any]:
        """Features and outputs."""
        return {"n_features": self.n_features, "n_outputs": self.n_outputs}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: Arrays) -> TreeModel:
        """The forest of saved settings and arrays."""
        return cls(arrays, int(settings["n_features"]), int(settings["n_outputs"]))

    def tree(self, number: int) -> Arrays:
        """The arrays of one tree, its sets of categories numbered from 0."""
        nodes = slice(*self._arrays["node_offsets"][number : number + 2])
        leaves = slice(*self._arrays["leaf_offsets"][number : number + 2])
        out = {name: self._arrays[name][nodes] for name in NODES} | {n: self._arrays[n][leaves] for n in LEAVES}
        chosen = out["set"][out["set"] >= 0]
        sets = self._arrays["sets"].reshape(-1, 4)[chosen].reshape(-1)
        numbered = np.where(out["set"] >= 0, np.cumsum(out["set"] >= 0) - 1, -1).astype(np.int32)
        return {**out, "set": numbered, "sets": sets}


def forest_of(trees: Sequence[Arrays], base: Floats, categories: dict[int, npt.NDArray[np.float32]]) -> Arrays:
    """The arrays of a forest from those of its trees."""
    out: Arrays = {
        name: np.concatenate([np.empty(0, DTYPES[name]), *(tree[name] for tree in trees)])
        for name in (*NODES, *LEAVES, "sets")
    }
    out["node_offsets"] = np.cumsum([0, *(len(tree["feature"]) for tree in trees)])
    out["leaf_offsets"] = np.cumsum([0, *(len(tree["value"]) for tree in trees)])
    before = np.repeat(
        np.cumsum([0, *(len(tree["sets"]) // 4 for tree in trees[:-1])]) if trees else np.empty(0, np.int64),
        np.diff(out["node_offsets"]),
    )
    out["set"] = np.where(out["set"] >= 0, out["set"] + before, -1)
    known = sorted(categories)
    out["category_features"] = np.array(known, np.int32)
    out["category_offsets"] = np.cumsum([0, *(len(categories[feature]) for feature in known)])
    out["categories"] = np.concatenate([np.empty(0, np.float32), *(categories[feature] for feature in known)])
    out["base"] = base
    return {name: np.ascontiguousarray(value, DTYPES[name]) for name, value in out.items()}


def categories_of(model: TreeModel) -> dict[int, npt.NDArray[np.float32]]:
    """The categories of each categorical feature."""
    arrays = model.arrays()
    bounds = arrays["category_offsets"]
    return {
        int(feature): arrays["categories"][bounds[k] : bounds[k + 1]]
        for k, feature in enumerate(arrays["category_features"])
    }


@dataclass(frozen=True)
class TreesSpec(Spec):
    """How trees are grown; what is None is chosen by the size of the data.

    Attributes:
        num_leaves: of a tree at most.
        max_depth: of a tree at most; None for any.
        growth: leaf, the most promising leaf is split next; depth, level by level; symmetric, one split for all of a level.
        l1, l2: a leaf's value is T(Σλ) / (Σw + l2), T moving the sum towards 0 by l1.
        min_documents: of a leaf at least.
        min_curvature: Σw of a leaf at least.
        min_gain: of a split.
        max_bins: values of a feature are told apart by at most this many bins, and missing.
        row_sampling: the share of documents a tree is grown from.
        sampling: force, stronger forces are likelier kept and weighed so that no sum is biased; uniform.
        query_sampling: the share of queries a tree is grown from.
        column_sampling: the share of features a tree is grown from.
        random_strength: gains of features are compared times e^{strength·z}, z normal.
        random_thresholds: a node looks at one threshold a feature, drawn at random.
        forests: that are grown side by side, each from draws of its own, and averaged: a round grows a tree of each.
        monotone: (feature, +1 or −1): the score must not fall, or rise, as the feature rises.
        categorical: features whose values are names without an order.
    """

    num_leaves: int | None = None
    max_depth: int | None = None
    growth: str = "leaf"
    l1: float = 0.0
    l2: float = 0.0
    min_documents: int | None = None
    min_curvature: float = 1e-3
    min_gain: float = 0.0
    max_bins: int = 255
    row_sampling: float | None = None
    sampling: str | None = None
    query_sampling: float | None = None
    column_sampling: float | None = None
    random_strength: float = 0.0
    random_thresholds: bool = False
    forests: int | None = None
    monotone: tuple[tuple[int, int], ...] = ()
    categorical: tuple[int, ...] = ()

    name = "trees"

    def __post_init__(self) -> None:
        for field, low, high in (
            ("num_leaves", 2, 32768),
            ("max_depth", 1, 2**31 - 1),
            ("min_documents", 1, 2**31 - 1),
            ("max_bins", 2, 255),
            ("forests", 1, 1000),
        ):
            self._whole(field, low, high)
        for field in ("l1", "l2", "min_gain", "random_strength"):
            self._number(field, "of at least 0", lambda x: x >= 0)
        self._number("min_curvature", "above 0", lambda x: x > 0)
        for field in ("row_sampling", "query_sampling", "column_sampling"):
            self._number(field, "above 0 and at most 1", lambda x: 0 < x <= 1)
        if self.growth not in GROWTHS:
            raise unknown_name("growth", self.growth, GROWTHS)
        if self.sampling is not None and self.sampling not in SAMPLINGS:
            raise unknown_name("sampling", self.sampling, SAMPLINGS)
        if not isinstance(self.random_thresholds, bool | np.bool_):
            raise ParameterError(f"random_thresholds={short_repr(self.random_thresholds)} must be True or False")
        object.__setattr__(self, "random_thresholds", bool(self.random_thresholds))
        object.__setattr__(self, "monotone", _directions(self.monotone))
        object.__setattr__(self, "categorical", _features("categorical", self.categorical))
        if self.growth == "symmetric" and (self.monotone or self.categorical):
            raise ParameterError(
                "growth='symmetric' takes no monotone and no categorical features; use growth='leaf' or 'depth'"
            )
        both = {feature for feature, _ in self.monotone} & set(self.categorical)
        if both:
            raise ParameterError(f"feature {min(both)} is categorical and cannot be monotone; leave it out of one")

    def _whole(self, field: str, low: int, high: int) -> None:
        value = getattr(self, field)
        if value is None and field != "max_bins":
            return
        if not is_integer(value) or not low <= value <= high:
            raise ParameterError(f"{field}={short_repr(value)} must be a whole number from {low} to {high}")
        object.__setattr__(self, field, int(value))

    def _number(self, field: str, rule: str, holds: Any) -> None:
        value = getattr(self, field)
        if value is None and field not in ("l1", "l2", "random_strength", "min_curvature", "min_gain"):
            return
        number = as_number(value)
        if number is None or abs(number) > sys.float_info.max or not holds(number):
            raise ParameterError(f"{field}={short_repr(value)} must be a number {rule}")
        object.__setattr__(self, field, float(number))

    def __str__(self) -> str:
        given = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default]
        return f"trees({', '.join(given)})" if given else "trees"

    def check_features(self, n_features: int) -> None:
        """That the features named are there."""
        for field, named in (("monotone", [f for f, _ in self.monotone]), ("categorical", list(self.categorical))):
            for feature in named:
                if feature >= n_features:
                    raise ParameterError(
                        f"{field}: there is no feature {feature}; they are numbered 0 to {n_features - 1}"
                    )


def _features(name: str, given: Any) -> tuple[int, ...]:
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray | set | frozenset):
        raise ParameterError(f"{name}={short_repr(given)} must be a list of feature numbers, counted from 0")
    if not all(is_integer(feature) and feature >= 0 for feature in given):
        raise ParameterError(f"{name}={short_repr(given)} must be feature numbers, counted from 0")
    return tuple(sorted({int(feature) for feature in given}))


def _directions(given: Any) -> tuple[tuple[int, int], ...]:
    directions: dict[int, int] | None
    try:
        pairs = list(given.items()) if isinstance(given, Mapping) else [] if given is None else list(given)
        directions = {int(feature): int(sign) for feature, sign in pairs if is_integer(feature) and is_integer(sign)}
    except (TypeError, ValueError):
        pairs, directions = [], None
    if (
        directions is None
        or len(directions) < len(pairs)
        or any(f < 0 or abs(sign) != 1 for f, sign in directions.items())
    ):
        raise ParameterError(
            f"monotone={short_repr(given)} must give features, counted from 0, and +1 or -1, as in {{3: 1, 7: -1}}"
        )
    return tuple(sorted(directions.items()))
