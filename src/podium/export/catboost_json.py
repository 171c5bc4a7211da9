"""Reading CatBoost's JSON models; a `.cbm` file is turned into JSON by CatBoost itself, if it is installed.

The rules are those of catboost/libs/model in catboost/catboost: x > border is 1, a missing value is 0 or 1 as
`nan_value_treatment` says, the answers are the bits of the number of a leaf (the first split is the lowest bit), and the
result is scale · Σ values + bias.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from podium.data.categories import Categories
from podium.export.floats import round32
from podium.export.reading import (
    MOST_OUTPUTS,
    BadModelError,
    CategorySplit,
    ReadModel,
    ReadTree,
    build_model,
    checked_names,
    feature_count,
    require,
)

MOST_SPLITS = 16  # of a symmetric tree
NOT_HELD = "it has {}, which Podium's trees cannot hold"
CODE = re.compile(r"0|[1-9]\d{0,6}")
Split = dict[str, Any]


def read_catboost(raw: bytes) -> ReadModel:
    """Return the model of a CatBoost JSON file."""
    document = json.loads(raw)
    features = _CatBoostFeatures(document["features_info"])
    scale, bias = document.get("scale_and_bias", [1, [0]])
    base = [float(value) for value in (bias if isinstance(bias, list) else [bias])]
    nested = "trees" in document
    found = document["trees"] if nested else document["oblivious_trees"]
    require(isinstance(found, list), "its trees are not a list")
    trees: list[ReadTree] = []
    outputs = len(base)
    for number, tree in enumerate(found):
        made = _nested_tree(tree, features, number) if nested else _symmetric_tree(tree, features, number)
        if number == 0 and len(made) != outputs and outputs == 1:
            base, outputs = base * len(made), len(made)
        require(len(made) == outputs <= MOST_OUTPUTS, f"tree {number} has {len(made)} outputs, the model {outputs}")
        trees += made
    if scale != 1:
        for one in trees:
            one.value = [value * float(scale) for value in one.value]
    model = build_model(trees, n_features=features.count, base=base)
    return ReadModel(model, features.names, features.category_names())


def load_cbm(raw: bytes) -> bytes:
    """Return the JSON of a `.cbm` file."""
    import tempfile
    from pathlib import Path

    from podium.errors import MissingExtraError

    try:
        from catboost import CatBoost
    except ImportError:
        raise MissingExtraError(
            "a .cbm file is read with CatBoost, which is not installed; install catboost, or save the model as JSON: "
            'model.save_model("model.json", format="json")'
        ) from None
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "model.cbm")
        source.write_bytes(raw)
        try:
            model = CatBoost().load_model(str(source))
        except Exception as error:
            raise BadModelError(f"CatBoost cannot read it: {error}") from None
        return json_of_model(model)


def json_of_model(model: Any, pool: Any = None) -> bytes:
    """Return the JSON of a CatBoost model; `pool` is its training data, which has the texts of its categories."""
    import tempfile
    from pathlib import Path

    for kind in ("text", "embedding"):
        found = getattr(model, f"get_{kind}_feature_indices", list)
        require(not (model.is_fitted() and found()), NOT_HELD.format(f"{kind} features"))
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "model.json")
        try:
            model.save_model(str(target), format="json", pool=pool)
        except Exception as error:
            raise BadModelError(f"CatBoost cannot save it as JSON: {error}") from None
        return target.read_bytes()


class _CatBoostFeatures:
    """The features of a model: numbers, and categories by the hashes of their texts."""

    def __init__(self, info: dict[str, Any]) -> None:
        for kind in ("text_features", "embedding_features"):
            require(not info.get(kind), NOT_HELD.format(kind.replace("_", " ")))
        floats, categorical = info.get("float_features") or [], info.get("categorical_features") or []
        self.floats = {int(f["feature_index"]): f for f in floats}
        self.categorical = {int(f["feature_index"]): f for f in categorical}
        flat = {int(f["flat_feature_index"]): f for f in (*floats, *categorical)}
        require(len(flat) == len(floats) + len(categorical), "two features have the same number")
        require(all(number >= 0 for number in flat), "a feature has a negative number")
        self.count = feature_count(1 + max(flat, default=-1))
        texts = [
            flat[k].get("feature_id") or flat[k].get("feature_name", "") if k in flat else "" for k in range(self.count)
        ]
        named = checked_names(texts, self.count)
        self.names = None if named == tuple(str(k) for k in range(self.count)) else named
        self.texts = {int(entry["hash"]) % 2**32: str(entry["value"]) for entry in info.get("cat_features_hash") or ()}
        self.codes = {index: self._codes(feature) for index, feature in self.categorical.items()}

    def _codes(self, feature: dict[str, Any]) -> dict[int, int] | None:
        """Return the number of each category of a feature by its hash; None if their texts are not in the file."""
        hashes = [int(value) % 2**32 for value in feature.get("values") or ()]
        if not all(value in self.texts for value in hashes):
            return None
        if all(CODE.fullmatch(self.texts[value]) for value in hashes):
            return {value: int(self.texts[value]) for value in hashes}
        return {value: place for place, value in enumerate(sorted(hashes, key=lambda known: self.texts[known]))}

    def category_names(self) -> Categories | None:
        """Return the names of the categories of features whose categories are not numbers."""
        names: dict[int, tuple[str, ...]] = {}
        for index, codes in self.codes.items():
            column = int(self.categorical[index]["flat_feature_index"])
            texts = {code: self.texts[value] for value, code in (codes or {}).items()}
            if not all(text == str(code) for code, text in texts.items()):
                names[column] = tuple(texts[code] for code in sorted(texts))
        return names or None

    def add(self, tree: ReadTree, split: Split) -> None:
        """Append a node for a split; what answers 0 goes left."""
        kind = split.get("split_type", "FloatFeature")
        node = len(tree.feature)
        if kind == "FloatFeature":
            feature = self.floats[int(split["float_feature_index"])]
            border = round32(float(split["border"]))
            require(not math.isnan(border), "a border is not a number")
            tree.threshold.append(border)
            tree.missing_left.append(feature.get("nan_value_treatment", "AsIs") != "AsTrue")
        elif kind == "OneHotFeature":
            feature = self.categorical[int(split["cat_feature_index"])]
            codes = self.codes[int(split["cat_feature_index"])]
            require(
                codes is not None,
                "the texts of its categories are not in the file; save the model with them: "
                'model.save_model("model.json", format="json", pool=train_pool)',
            )
            assert codes is not None
            tree.categories[node] = CategorySplit(frozenset({codes[int(split["value"]) % 2**32]}), False, True)
            tree.threshold.append(0.0)
            tree.missing_left.append(True)
        else:
            raise BadModelError(
                f"it has splits of the kind {kind!r}, statistics of categories over the training data, which Podium's trees cannot "
                "hold; train with one_hot_max_size at least the number of categories and max_ctr_complexity=0"
            )
        tree.feature.append(int(feature["flat_feature_index"]))
        tree.left.append(0)
        tree.right.append(0)


def _empty() -> ReadTree:
    return ReadTree([], [], [], [], [], [])


def _per_output(tree: ReadTree, values: list[list[float]]) -> list[ReadTree]:
    """Return one tree per output: the same splits with other values."""
    width = len(values[0])
    require(width >= 1 and all(len(row) == width for row in values), "the leaves of a tree differ in length")
    rows = [[float(value) for value in row] for row in values]
    return [
        ReadTree(
            tree.feature, tree.threshold, tree.left, tree.right, tree.missing_left, [row[k] for row in rows],
            documents=tree.documents, categories=tree.categories,
        )
        for k in range(width)
    ]  # fmt: skip


def _documents(weights: list[Any]) -> list[int]:
    known = [isinstance(weight, int | float) and 0 <= weight < 1e15 for weight in weights]
    return [round(weight) if good else 0 for weight, good in zip(weights, known, strict=True)]


def _symmetric_tree(found: dict[str, Any], features: _CatBoostFeatures, number: int) -> list[ReadTree]:
    """Return the trees of the outputs: node k of a level stands behind all levels above, and the last split is the root."""
    splits = list(reversed(found.get("splits") or []))
    require(len(splits) <= MOST_SPLITS, f"tree {number} has {len(splits)} levels")
    leaves, values = 1 << len(splits), found["leaf_values"]
    require(
        len(values) >= leaves and len(values) % leaves == 0,
        f"tree {number} has {len(values)} values for {leaves} leaves",
    )
    tree = _empty()
    for level, split in enumerate(splits):
        for _ in range(1 << level):
            features.add(tree, split)
    for node in range(leaves - 1):
        for side, children in ((1, tree.left), (2, tree.right)):
            child = 2 * node + side
            children[node] = child if child < leaves - 1 else -1 - (child - (leaves - 1))
    weights = found.get("leaf_weights") or []
    tree.documents = _documents(weights) if len(weights) == leaves else []
    width = len(values) // leaves
    return _per_output(tree, [values[width * leaf : width * (leaf + 1)] for leaf in range(leaves)])


def _nested_tree(found: dict[str, Any], features: _CatBoostFeatures, number: int) -> list[ReadTree]:
    """Return the trees of the outputs of a tree that is nested in the file."""
    tree, values, weights = _empty(), [], []
    todo: list[tuple[dict[str, Any], list[int] | None, int]] = [(found, None, 0)]
    while todo:
        part, children, parent = todo.pop()
        if "split" not in part:
            value = part["value"]
            values.append(value if isinstance(value, list) else [value])
            weights.append(part.get("weight", 0))
            child = -len(values)
        else:
            child = len(tree.feature)
            features.add(tree, part["split"])
            todo += [(part["right"], tree.right, child), (part["left"], tree.left, child)]
        if children is not None:
            children[parent] = child
    require(bool(values), f"tree {number} has no leaf")
    tree.documents = _documents(weights)
    return _per_output(tree, values)
