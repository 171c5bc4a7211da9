"""The options of an export, which formats take from a caller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from podium.errors import ParameterError

OPSETS = (3, 5)
TREE_KINDS = ("xgboost+json", "ranklib")


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """What can be asked of an export, besides the format.

    Attributes:
        name: Name of the model in the engine.
        features: Definitions of the features in the engine, in the model's order; None defines each by a field of its name.
        opset: Version of ONNX's operators for trees: 3, which old runtimes read, or 5.
        trees_as: How Elasticsearch and OpenSearch get trees: xgboost+json or ranklib.
    """

    name: str = "podium"
    features: list[Any] | None = None
    opset: int = 3
    trees_as: str = TREE_KINDS[0]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isidentifier():
            raise ParameterError("name", self.name, "must be letters, digits and underscores, and begin with a letter")
        if self.opset not in OPSETS:
            raise ParameterError("opset", self.opset, f"must be one of {', '.join(map(str, OPSETS))}")
        if self.trees_as not in TREE_KINDS:
            raise ParameterError("trees_as", self.trees_as, f"must be one of {', '.join(TREE_KINDS)}")
        if self.features is not None and not isinstance(self.features, list):
            raise ParameterError("features", self.features, "must be a list with one definition per feature")
