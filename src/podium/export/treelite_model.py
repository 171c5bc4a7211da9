"""Writing treelite's checkpoints, built with treelite's own model builder and verified by its inference library."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.errors import MissingExtraError
from podium.export.changes import Changes
from podium.export.options import ExportOptions
from podium.export.source import CategorySides, WrittenTree, refuse, written_trees
from podium.models.trees import TreeModel
from podium.scoring import Scorer


def import_treelite() -> Any:
    """Return treelite, or raise the error that says how to install it."""
    try:
        import treelite
        import treelite.gtil
        import treelite.model_builder
    except ImportError:
        raise MissingExtraError("writing treelite's format needs treelite: pip install treelite") from None
    return treelite


def write_treelite(scorer: Scorer, options: ExportOptions, changes: Changes) -> bytes:
    """Return the bytes of a treelite checkpoint, with float64 thresholds and values."""
    model = scorer.model
    assert isinstance(model, TreeModel)
    treelite = import_treelite()
    building, trees, outputs = treelite.model_builder, written_trees(model), model.n_outputs
    builder = building.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=building.Metadata(
            num_feature=model.n_features,
            task_type="kRegressor" if outputs == 1 else "kMultiClf",
            average_tree_output=False,
            num_target=1,
            num_class=[outputs],
            leaf_vector_shape=(1, 1),
        ),
        tree_annotation=building.TreeAnnotation(
            num_tree=len(trees), target_id=[0] * len(trees), class_id=[k % outputs for k in range(len(trees))]
        ),
        postprocessor=building.PostProcessorFunc(name="identity" if outputs == 1 else "identity_multiclass"),
        base_scores=model.arrays()["base"].tolist(),
    )
    for tree in trees:
        _add_tree(builder, tree)
    raw: bytes = builder.commit().serialize_bytes()
    return raw


def _add_tree(builder: Any, tree: WrittenTree) -> None:
    nodes = len(tree.feature)
    builder.start_tree()
    for node in range(nodes):
        left, right = (child if child >= 0 else nodes - 1 - child for child in (tree.left[node], tree.right[node]))
        builder.start_node(node)
        sides = tree.categories.get(node)
        if sides is None:
            builder.numerical_test(
                feature_id=tree.feature[node],
                threshold=tree.threshold[node],
                default_left=tree.missing_left[node],
                opname="<=",
                left_child_key=left,
                right_child_key=right,
            )
        else:
            builder.categorical_test(
                feature_id=tree.feature[node],
                default_left=sides.missing_left,
                category_list=_categories(sides, tree.feature[node]),
                category_list_right_child=sides.others_left,
                left_child_key=left,
                right_child_key=right,
            )
        builder.end_node()
    for leaf, value in enumerate(tree.value):
        builder.start_node(nodes + leaf)
        builder.leaf(value)
        builder.end_node()
    builder.end_tree()


def _categories(sides: CategorySides, feature: int) -> list[int]:
    named = sides.right if sides.others_left else sides.left
    if any(value != int(value) or not 0 <= value < 2**24 for value in named):
        raise refuse("treelite", f"has whole numbers as categories, and feature {feature} has others")
    return [int(value) for value in named]


def score_treelite(raw: bytes, rows: Any) -> Any:
    """Return the scores that treelite's own inference gives."""
    treelite = import_treelite()
    model = treelite.Model.deserialize_bytes(raw)
    found = treelite.gtil.predict(model, np.ascontiguousarray(rows, np.float64), nthread=1, pred_margin=True)
    return found.reshape(len(rows), -1)
