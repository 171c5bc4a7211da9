"""Reading LightGBM's text files.

The rules are those of `Tree::NumericalDecision` and `Tree::CategoricalDecision` (include/LightGBM/tree.h in
microsoft/LightGBM), of `GBDT::PredictRaw` (src/boosting/gbdt_prediction.cpp), and of the rows that LightGBM's predictor
makes: a value from −1e-35 to 1e-35 is 0 for it, whatever the model (src/c_api.cpp, `RowPairFunctionFromDenseMatric`).
"""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.data.categories import Categories
from podium.export.floats import below, largest_at_most
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
    whole,
)
from podium.model_kinds import looks_like_lightgbm
from podium.models.feature_rules import CUT_TO_WHOLE, ZERO_IS_MISSING, ZERO_THRESHOLD

CATEGORICAL, DEFAULT_LEFT = 1, 2
MISSING_NONE, MISSING_ZERO, MISSING_NAN = range(3)
LARGEST_CATEGORY = 2**24
Fields = dict[str, str]


def read_lightgbm(raw: bytes) -> ReadModel:
    """Return the model of a LightGBM text file."""
    text = raw.decode("utf-8", "strict")
    require(looks_like_lightgbm(raw), "the file does not begin with a tree model of LightGBM")
    header, blocks, rest = _parts(text)
    n_features = feature_count(int(header["max_feature_idx"]) + 1)
    outputs = whole(
        header.get("num_tree_per_iteration", header["num_class"]), "num_tree_per_iteration", 1, MOST_OUTPUTS
    )
    kinds = _FeatureKinds(n_features)
    trees = [_read_tree(fields, kinds) for fields in blocks]
    if "average_output" in header and trees:
        rounds = len(trees) // outputs
        for tree in trees:
            tree.value = [value / rounds for value in tree.value]
    model = build_model(trees, n_features=n_features, base=[0.0] * outputs, rules=kinds.rules())
    names = checked_names(header.get("feature_names", "").split(" "), n_features)
    defaults = tuple(f"Column_{k}" for k in range(n_features))
    return ReadModel(model, None if names == defaults else names, _category_names(rest, header, n_features))


def _parts(text: str) -> tuple[Fields, list[Fields], str]:
    """Return the fields of the header, those of every tree, and what follows the trees."""
    head, *rest = text.replace("\r\n", "\n").split("\nTree=")
    require(bool(rest) or "\nend of trees" in text, "the file ends before its trees do")
    fields = _fields(head)
    if not rest:
        return fields, [], text.partition("\nend of trees")[2]
    last, end, behind = rest[-1].partition("\nend of trees")
    require(bool(end), "the file ends before its trees do")
    blocks = [_fields(block.partition("\n")[2]) for block in (*rest[:-1], last)]
    sizes = fields.get("tree_sizes", "").split()
    require(len(sizes) in (0, len(blocks)), f"the header announces {len(sizes)} trees, and there are {len(blocks)}")
    return fields, blocks, behind


def _fields(block: str) -> Fields:
    return {key: value for key, _, value in (line.partition("=") for line in block.split("\n")) if key}


class _FeatureKinds:
    """How the splits of each feature treat values; LightGBM decides that once per feature."""

    def __init__(self, n_features: int) -> None:
        self.kind: dict[int, int] = {}
        self.n_features = n_features

    def note(self, feature: int, rule: int) -> None:
        """Remember that a split of a feature has a rule."""
        before = self.kind.setdefault(feature, rule)
        if before != rule and ZERO_IS_MISSING in (before, rule):
            raise BadModelError(
                f"some splits of feature {feature} count zeros as missing and others do not, which Podium's trees cannot hold; "
                "train with one setting of zero_as_missing"
            )

    def rules(self) -> npt.NDArray[np.uint8]:
        """Return the rule of every feature."""
        rules = np.zeros(self.n_features, np.uint8)
        for feature, rule in self.kind.items():
            require(0 <= feature < self.n_features, f"a split is on feature {feature}, and there are {self.n_features}")
            rules[feature] = rule
        return rules


def _read_tree(fields: Fields, kinds: _FeatureKinds) -> ReadTree:
    require(
        fields.get("is_linear", "0") == "0",
        "its leaves are linear functions (linear_tree), which Podium's trees cannot hold; train with linear_tree=false",
    )
    leaves = whole(fields["num_leaves"], "num_leaves", 1, len(fields["leaf_value"]) + 1)
    value = _numbers(fields, "leaf_value", leaves, float)
    if leaves == 1:
        return ReadTree([], [], [], [], [], value)
    nodes = leaves - 1
    feature = _numbers(fields, "split_feature", nodes, int)
    given = _numbers(fields, "threshold", nodes, float)
    decision = _numbers(fields, "decision_type", nodes, int) if "decision_type" in fields else [0] * nodes
    tree = ReadTree(
        feature,
        [0.0] * nodes,
        _numbers(fields, "left_child", nodes, int),
        _numbers(fields, "right_child", nodes, int),
        [False] * nodes,
        value,
        _numbers(fields, "split_gain", nodes, float) if "split_gain" in fields else [],
        _numbers(fields, "leaf_count", leaves, int) if "leaf_count" in fields else [],
    )
    require(all(count >= 0 for count in tree.documents), "a leaf_count is negative")
    sets = _category_sets(fields)
    for node in range(nodes):
        if decision[node] & CATEGORICAL:
            number = whole(given[node], "the number of a set of categories", 0, len(sets) - 1)
            tree.categories[node] = CategorySplit(sets[number], True, False)
            kinds.note(feature[node], CUT_TO_WHOLE)
            continue
        missing = decision[node] >> 2 & 3
        require(missing <= MISSING_NAN, f"decision_type is {decision[node]}")
        kinds.note(feature[node], ZERO_IS_MISSING if missing == MISSING_ZERO else 0)
        tree.threshold[node] = _float32_threshold(given[node], missing)
        default_left = bool(decision[node] & DEFAULT_LEFT)
        tree.missing_left[node] = given[node] >= 0 if missing == MISSING_NONE else default_left
    return tree


def _float32_threshold(threshold: float, missing: int) -> float:
    """Return the float32 threshold that decides as LightGBM does, for which values up to 1e-35 in size are 0."""
    require(not math.isnan(threshold), "a threshold is not a number")
    if missing != MISSING_ZERO and abs(threshold) <= ZERO_THRESHOLD:
        return ZERO_THRESHOLD if threshold >= 0 else below(-ZERO_THRESHOLD)
    return largest_at_most(threshold)


def _category_sets(fields: Fields) -> list[frozenset[int]]:
    """Return the sets of a tree: each is a range of words whose bits are categories."""
    count = whole(fields.get("num_cat", "0"), "num_cat", 0, len(fields.get("cat_boundaries", "")) + 1)
    if count == 0:
        return []
    bounds = [int(word) for word in fields["cat_boundaries"].split()]
    words = [int(word) for word in fields["cat_threshold"].split()]
    require(len(bounds) == count + 1, "cat_boundaries has another length than num_cat says")
    require(
        bounds[0] >= 0 and bounds[-1] <= len(words) and bounds == sorted(bounds), "cat_boundaries are not rising places"
    )
    require(all(0 <= word < 2**32 for word in words), "cat_threshold has a word of more than 32 bits")
    sets = []
    for begin, end in itertools.pairwise(bounds):
        named = frozenset(
            32 * place + bit for place, word in enumerate(words[begin:end]) for bit in range(32) if word >> bit & 1
        )
        require(max(named, default=0) < LARGEST_CATEGORY, "a category is too large for float32")
        sets.append(named)
    return sets


def _numbers(fields: Fields, name: str, count: int, kind: Any) -> list[Any]:
    words = fields[name].split()
    require(len(words) == count, f"{name} has {len(words)} numbers; {count} are needed")
    return [kind(word) for word in words]


def _category_names(rest: str, header: Fields, n_features: int) -> Categories | None:
    """Return the names of the categories, if the model was trained on a pandas frame with categorical columns."""
    _, found, line = rest.rpartition("pandas_categorical:")
    if not found:
        return None
    names = json.loads(line.partition("\n")[0])
    infos = header.get("feature_infos", "").split(" ")
    columns = [k for k, info in enumerate(infos) if info and info != "none" and not info.startswith("[")]
    if not names or len(infos) != n_features or len(columns) != len(names):
        return None
    return {column: tuple(str(name) for name in of) for column, of in zip(columns, names, strict=True)}
