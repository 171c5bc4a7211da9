"""Writing RankLib's XML. RankLib numbers features from 1, adds in float32, and takes a missing value as 0."""

from __future__ import annotations

from collections.abc import Sequence

from podium.export.changes import MISSING_AS_ZERO, Changes, missing_is_zero
from podium.export.floats import short32
from podium.export.options import ExportOptions
from podium.export.source import WrittenTree, refuse, written_trees
from podium.models.trees import TreeModel
from podium.scoring import Scorer


def write_ranklib(scorer: Scorer, options: ExportOptions, changes: Changes) -> bytes:
    """Return the bytes of a RankLib file of LambdaMART."""
    model = scorer.model
    assert isinstance(model, TreeModel)
    return ranklib_text(model, changes, "ranklib").encode()


def ranklib_text(model: TreeModel, changes: Changes, format: str) -> str:
    """Return the text of a RankLib model; a base score becomes an additional tree with one leaf."""
    trees = written_trees(model)
    if any(tree.categories for tree in trees):
        raise refuse(
            format,
            "has no splits by category",
            "train without the categorical features, or use {format='onnx'} or {format='vespa'}",
        )
    if not missing_is_zero(model):
        changes.need(MISSING_AS_ZERO, format, "takes a missing value as 0, and the model sends it elsewhere")
    base = float(model.arrays()["base"][0])
    outputs = [_tree_lines(tree) for tree in trees] + ([["<output> " + _number(base) + " </output>"]] if base else [])
    lines = [
        "## LambdaMART",
        f"## No. of trees = {len(outputs)}",
        f"## No. of leaves = {max((len(tree.value) for tree in trees), default=1)}",
        "## No. of threshold candidates = 256",
        "## Learning rate = 1.0",
        "## Stop early = 100",
        "",
        "<ensemble>",
    ]
    for number, tree in enumerate(outputs, start=1):
        lines += [f'<tree id="{number}" weight="1.0">', "<split>", *tree, "</split>", "</tree>"]
    return "\n".join([*lines, "</ensemble>", ""])


def _number(value: float) -> str:
    return repr(short32(value))


def _tree_lines(tree: WrittenTree) -> Sequence[str]:
    """Return what stands inside the outermost <split> of a tree."""
    lines: list[str] = []
    todo: list[int | str] = [0 if tree.feature else -1]
    while todo:
        part = todo.pop()
        if isinstance(part, str):
            lines.append(part)
        elif part < 0:
            lines.append(f"<output> {_number(tree.value[-1 - part])} </output>")
        else:
            lines.append(f"<feature> {tree.feature[part] + 1} </feature>")
            lines.append(f"<threshold> {_number(tree.threshold[part])} </threshold>")
            left, right = tree.left[part], tree.right[part]
            todo += ["</split>", right, '<split pos="right">', "</split>", left, '<split pos="left">']
    return lines
