"""Trees: f = base + Σ_t tree_t(x); a tree sends a document left if x ≤ threshold, and a leaf returns its value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.errors import DataError
from podium.models.feature_rules import FeatureRules
from podium.models.model import Features, Floats, Model

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
MOST_FEATURES = 2**20  # a forest has no array with one entry per feature, so nothing else limits what a file may claim
NOT_SCORED = ("gain", "documents", "base", "feature_rules")  # not needed by the core's forest
SUMS = ("float64", "float32")
Arrays = dict[str, npt.NDArray[Any]]
Integers = npt.NDArray[np.int64]


class TreeModel(Model):
    """A forest of trained trees; tree t adds to output t mod outputs.

    The arrays: of nodes, all trees one after the other, `feature`, `threshold`, `left`, `right` (a node of the same tree,
    or ~leaf), `missing_left`, `gain`, and `set` (of a categorical split, which of `sets`; else −1); of leaves `value` and
    `documents`, how many training documents fell there; where trees begin, `node_offsets` and `leaf_offsets`. Models that
    other libraries trained may also have `feature_rules` (see `podium.models.feature_rules`).

    Args:
        arrays: all arrays of the trees.
        n_features: number of features.
        n_outputs: number of outputs.
        sums: float64: the values of the leaves are added in float64, and the base at the end. float32: values are added to
            the base, and every sum is rounded to float32, as XGBoost and RankLib do.
    """

    reads_any_floats = True
    has_splits = True

    def __init__(self, arrays: Arrays, n_features: int, n_outputs: int, *, sums: str = "float64") -> None:
        if not 0 <= n_features <= MOST_FEATURES:
            raise DataError(f"a forest has from 0 to {MOST_FEATURES:,} features; found {n_features:,}")
        self.n_features, self.n_outputs, self.sums = n_features, n_outputs, sums
        if sums not in SUMS:
            raise DataError(f"no forest adds its values in {sums!r}")
        self._arrays = {name: np.ascontiguousarray(arrays[name], kind) for name, kind in DTYPES.items()}
        if self._arrays["base"].shape != (n_outputs,) or not np.isfinite(self._arrays["base"]).all():
            raise DataError("a forest needs one finite base score per output")
        for name, like in (("gain", "feature"), ("documents", "value")):
            if self._arrays[name].shape != self._arrays[like].shape:
                raise DataError(f"{name} and {like} differ in length")
        if "feature_rules" in arrays:
            self._arrays["feature_rules"] = np.ascontiguousarray(arrays["feature_rules"], np.uint8)
        self.forest = _core.Forest(
            n_features=n_features,
            start=self._arrays["base"] if self._adds_to_base else np.zeros(n_outputs),
            float_sums=self._adds_to_base,
            **{name: value for name, value in self._arrays.items() if name not in NOT_SCORED},
        )
        rules = self._arrays.get("feature_rules", np.zeros(n_features, np.uint8))
        self.rules = FeatureRules(rules, n_features, categories_of(self))

    @property
    def _adds_to_base(self) -> bool:
        return self.sums == "float32"

    def prepared(self, features: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the features as the trees use them."""
        return self.rules.apply(features) if self.rules else features

    def with_float64_sums(self) -> TreeModel:
        """Return the same trees, with values added in float64."""
        return TreeModel(self._arrays, self.n_features, self.n_outputs) if self._adds_to_base else self

    @property
    def used_features(self) -> npt.NDArray[np.int64]:
        """The columns of the features that some tree splits on."""
        return np.unique(self._arrays["feature"]).astype(np.int64)

    @property
    def category_features(self) -> npt.NDArray[np.int64]:
        """The columns of the features that trees split by category."""
        return self._arrays["category_features"].astype(np.int64)

    @property
    def has_gains(self) -> bool:
        """Whether the gains of the splits are known. Files of some libraries do not hold them; they are read as 0."""
        return not len(self._arrays["gain"]) or bool(self._arrays["gain"].any())

    @property
    def has_counts(self) -> bool:
        """Whether it is known how many training documents fell into each leaf.

        Files that do not hold this are read as one document per leaf and without gains.
        """
        return bool((self._arrays["documents"] != 1).any()) or bool(self._arrays["gain"].any())

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self._arrays["node_offsets"]) - 1

    def scores(self, features: Features, *, num_threads: int = 1) -> Floats:
        """Return the sum of the base and the values of all trees, added in order."""
        self.check_features(features)
        out = np.empty(len(features) * self.n_outputs)
        self.forest.scores(readable(self.prepared(features)), out, num_threads)
        shaped: Floats = out.reshape(len(features), self.n_outputs)
        if not self._adds_to_base:
            shaped += self._arrays["base"]
        return shaped[:, 0] if self.n_outputs == 1 else shaped

    def leaves(self, features: Features, *, num_threads: int = 1) -> npt.NDArray[np.int32]:
        """Return the leaf of every row in every tree, [documents × trees]."""
        self.check_features(features)
        out = np.empty((len(features), self.n_trees), np.int32)
        self.forest.leaves(readable(self.prepared(features)), out, num_threads)
        return out

    def arrays(self) -> Arrays:
        """Return the nodes, the leaves and the offsets of the trees."""
        return dict(self._arrays)

    def settings(self) -> dict[str, Any]:
        """Return the numbers of features and outputs, and how values are added unless in float64."""
        rounded = {"sums": self.sums} if self._adds_to_base else {}
        return {"n_features": self.n_features, "n_outputs": self.n_outputs, **rounded}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: Arrays) -> TreeModel:
        """Return the forest of saved settings and arrays."""
        sums = str(settings.get("sums", SUMS[0]))
        return cls(arrays, int(settings["n_features"]), int(settings["n_outputs"]), sums=sums)

    def tree(self, number: int) -> Arrays:
        """Return the arrays of one tree, with its sets of categories numbered from 0."""
        nodes = slice(*self._arrays["node_offsets"][number : number + 2])
        leaves = slice(*self._arrays["leaf_offsets"][number : number + 2])
        out = {name: self._arrays[name][nodes] for name in NODES} | {n: self._arrays[n][leaves] for n in LEAVES}
        chosen = out["set"][out["set"] >= 0]
        sets = self._arrays["sets"].reshape(-1, 4)[chosen].reshape(-1)
        numbered = np.where(out["set"] >= 0, np.cumsum(out["set"] >= 0) - 1, -1).astype(np.int32)
        return {**out, "set": numbered, "sets": sets}


def readable(features: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return features as the core reads them: float32 or float64 in any memory order, without a copy if possible."""
    plain = features.dtype in (np.float32, np.float64) and features.flags.aligned
    return features if plain else np.require(features, np.float32, ["C", "A"])


def forest_of(trees: Sequence[Arrays], base: Floats, categories: dict[int, npt.NDArray[np.float32]]) -> Arrays:
    """Return the arrays of a forest from those of its trees."""
    out: Arrays = {
        name: np.concatenate([np.empty(0, DTYPES[name]), *(tree[name] for tree in trees)])
        for name in (*NODES, *LEAVES, "sets")
    }
    nodes, leaves, sets = (
        np.array([len(tree[name]) for tree in trees], np.int64) for name in ("feature", "value", "sets")
    )
    before = np.repeat(np.cumsum(sets) // 4 - sets // 4, nodes)
    out["set"] = np.where(out["set"] >= 0, out["set"] + before, -1)
    return joined_trees(out, nodes, leaves, base, categories)


def joined_trees(
    arrays: Arrays, nodes: Integers, leaves: Integers, base: Floats, categories: dict[int, npt.NDArray[np.float32]]
) -> Arrays:
    """Return the arrays of a forest from those of all its trees in a row, given how many nodes and leaves each of them has."""
    out = dict(arrays)
    out["node_offsets"] = np.concatenate([[0], np.cumsum(nodes)])
    out["leaf_offsets"] = np.concatenate([[0], np.cumsum(leaves)])
    known = sorted(categories)
    out["category_features"] = np.array(known, np.int32)
    out["category_offsets"] = np.cumsum([0, *(len(categories[feature]) for feature in known)])
    out["categories"] = np.concatenate([np.empty(0, np.float32), *(categories[feature] for feature in known)])
    out["base"] = base
    return {name: np.ascontiguousarray(value, DTYPES[name]) for name, value in out.items()}


def categories_of(model: TreeModel) -> dict[int, npt.NDArray[np.float32]]:
    """Return the categories of each categorical feature."""
    arrays = model.arrays()
    bounds = arrays["category_offsets"]
    return {
        int(feature): arrays["categories"][bounds[k] : bounds[k + 1]]
        for k, feature in enumerate(arrays["category_features"])
    }
