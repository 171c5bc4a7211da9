"""Continuing from a trained forest: what it must share with the new trees, and how both become one forest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from podium.data.feature_names import feature_name
from podium.errors import DataError
from podium.models.trees import Arrays, TreeModel, categories_of, forest_of

MISSING_BIT = 255  # of a set of categories: where missing values and unknown categories go
Codes = Mapping[int, npt.NDArray[np.float32]]


def as_start(start: TreeModel) -> TreeModel:
    """Return the model as training can continue from it."""
    if start.rules:
        raise DataError(
            "training cannot continue from a model that was imported with rules for single features (zeros that count as missing, "
            "or categories of another library); train a new model"
        )
    return start.with_float64_sums()


def check_start(start: TreeModel, n_features: int, n_outputs: int, now: Codes, names: Sequence[str] | None) -> None:
    """Check that new trees, which split the features `now` by category, can be added to a trained forest."""
    if (start.n_features, start.n_outputs) != (n_features, n_outputs):
        raise DataError(
            f"the model to start from has {start.n_features} features and {start.n_outputs} outputs, this training "
            f"{n_features} and {n_outputs}; they must be the same"
        )
    before = categories_of(start)
    split = set(start.arrays()["feature"].tolist())
    for feature in now.keys() - before.keys():
        if feature in split:
            raise DataError(
                f"feature {feature_name(feature, names)!r} is categorical now, and the model to start from compares its codes as "
                "numbers",
                remedy=f"train a new model, or go on with numbers: {{categorical={tuple(sorted(before))}}}",
            )
    for feature in sorted(before):
        name = feature_name(feature, names)
        if feature not in now:
            raise DataError(
                f"feature {name!r} is categorical in the model to start from; give categorical={sorted(before)} "
                "(growth='symmetric' cannot start from such a model)"
            )
        if len(np.union1d(before[feature], now[feature])) > MISSING_BIT:
            raise DataError(
                f"feature {name!r} has more than {MISSING_BIT} categories together with those of the model to start from; train a "
                "new model"
            )


def joined_forest(start: TreeModel, grown: TreeModel) -> TreeModel:
    """Return the trees of both models as one forest, which starts from the scores of the first.

    A category that only one of the models knows goes where the trees of the other send missing values.
    """
    parts = start, grown
    known = [categories_of(part) for part in parts]
    both = {feature: known[0].get(feature, codes) for feature, codes in {**known[1], **known[0]}.items()}
    for feature in known[0].keys() & known[1].keys():
        both[feature] = np.union1d(known[0][feature], known[1][feature]).astype(np.float32)
    trees = [
        _recoded(part.tree(number), mine, both)
        for part, mine in zip(parts, known, strict=True)
        for number in range(part.n_trees)
    ]
    return TreeModel(forest_of(trees, start.arrays()["base"], both), start.n_features, start.n_outputs)


def _recoded(tree: Arrays, own: Codes, both: Codes) -> Arrays:
    """Return a tree with its sets over the categories `both` instead of its own."""
    sets = tree["sets"].reshape(-1, 4)
    bits = np.unpackbits(sets.view(np.uint8), axis=1, bitorder="little")  # [sets × 256], little-endian words
    out = bits.copy()
    for node in np.flatnonzero(tree["set"] >= 0):
        codes, wanted, held = own[int(tree["feature"][node])], both[int(tree["feature"][node])], tree["set"][node]
        place = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1) if len(codes) else np.zeros(len(wanted), int)
        unknown = np.ones(len(wanted), bool) if not len(codes) else codes[place] != wanted
        out[held, :MISSING_BIT] = 0
        out[held, : len(wanted)] = bits[held, np.where(unknown, MISSING_BIT, place)]
    return {**tree, "sets": np.packbits(out, axis=1, bitorder="little").view(np.uint64).reshape(-1)}
