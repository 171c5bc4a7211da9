"""Writing ONNX: trees by TreeEnsembleRegressor of ai.onnx.ml 3, or TreeEnsemble of ai.onnx.ml 5; linear models and nets too.

The input is float32, `features` [rows × features] with NaN for missing values, and the output is `scores` [rows]. Inside, all
is float64: onnxruntime then adds trees without the errors of float32. TreeEnsembleRegressor gives float32 in the end, which
ties scores that are closer than that but never changes their order; the other graphs give float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.errors import MissingExtraError
from podium.export.changes import Changes
from podium.export.onnx_trees import ensemble_regressor, tree_ensemble
from podium.export.options import ExportOptions
from podium.export.source import IDENTITY, layers_of
from podium.models.feature_rules import ZERO_IS_MISSING, ZERO_THRESHOLD
from podium.models.net import Net
from podium.models.trees import TreeModel
from podium.scoring import Scorer

OPSET = 17
IR_VERSIONS = {3: 8, 5: 10}
ACTIVATIONS = {"tanh": "Tanh", "relu": "Relu", "sigmoid": "Sigmoid"}


class GraphBuilder:
    """The nodes and constants of a graph, in the order of computation."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any, kind: Any = np.float64) -> str:
        """Add a constant and return its name."""
        name = f"constant{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value, kind), name))
        return name

    def add(self, operator: str, *inputs: str, domain: str = "", out: str | None = None, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        out = out or f"value{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [out], domain=domain, **attributes))
        return out


def write_onnx(scorer: Scorer, options: ExportOptions, changes: Changes) -> bytes:
    """Return the bytes of an ONNX model."""
    onnx = import_onnx()
    graph, model = GraphBuilder(onnx), scorer.model
    doubles = graph.add("Cast", "features", to=onnx.TensorProto.DOUBLE)
    if isinstance(model, TreeModel):
        outputs = _trees(graph, doubles, model, options)
    else:
        assert isinstance(model, Net)
        outputs = _net(graph, doubles, model)
    single = isinstance(model, TreeModel) and options.opset == 3
    if model.n_outputs > 1:
        shares = graph.add("Softmax", outputs, axis=1)
        gains = graph.constant(2.0 ** np.arange(model.n_outputs)[:, None] - 1, np.float32 if single else np.float64)
        outputs = graph.add("MatMul", shares, gains)
    graph.add("Reshape", outputs, graph.constant([-1], np.int64), out="scores")
    helper, kinds = onnx.helper, onnx.TensorProto
    made = helper.make_graph(
        graph.nodes,
        options.name,
        [helper.make_tensor_value_info("features", kinds.FLOAT, ["rows", model.n_features])],
        [helper.make_tensor_value_info("scores", kinds.FLOAT if single else kinds.DOUBLE, ["rows"])],
        graph.constants,
    )
    versions = [helper.make_opsetid("", OPSET)]
    if isinstance(model, TreeModel):
        versions.append(helper.make_opsetid("ai.onnx.ml", options.opset))
    built = helper.make_model(made, producer_name="podium", opset_imports=versions)
    built.ir_version = IR_VERSIONS[options.opset]
    onnx.checker.check_model(built)
    raw: bytes = built.SerializeToString()
    return raw


def import_onnx() -> Any:
    """Return the package onnx, or raise the error that says how to install it."""
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise MissingExtraError("writing ONNX needs the extra onnx: pip install 'podium[onnx]'") from None
    return onnx


def _trees(graph: GraphBuilder, features: str, model: TreeModel, options: ExportOptions) -> str:
    zero_is_missing = model.rules.rules == ZERO_IS_MISSING
    if zero_is_missing.any():
        sizes = graph.add("Abs", features)
        tiny = graph.add("LessOrEqual", sizes, graph.constant(ZERO_THRESHOLD))
        ruled = graph.add("And", tiny, graph.constant(zero_is_missing[None, :], np.bool_))
        features = graph.add("Where", ruled, graph.constant(np.nan), features)
    if options.opset == 3:
        attributes = ensemble_regressor(model, graph.onnx)
        return graph.add("TreeEnsembleRegressor", features, domain="ai.onnx.ml", **attributes)
    total = graph.add("TreeEnsemble", features, domain="ai.onnx.ml", **tree_ensemble(model, graph.onnx))
    return graph.add("Add", total, graph.constant(model.arrays()["base"][None, :]))


def _net(graph: GraphBuilder, features: str, net: Net) -> str:
    missing = graph.add("IsNaN", features)
    moved = graph.add("Sub", features, graph.constant(net.map.center[None, :]))
    scaled = graph.add("Mul", moved, graph.constant(net.map.scale[None, :]))
    values = graph.add("Where", missing, graph.constant(net.map.filled[None, :]), scaled)
    for layer in layers_of(net):
        product = graph.add("MatMul", values, graph.constant(layer.weights))
        values = graph.add("Add", product, graph.constant(layer.bias[None, :]))
        if layer.activation != IDENTITY:
            values = graph.add(ACTIVATIONS[layer.activation], values)
    return values


def score_onnx(raw: bytes, rows: Any) -> Any:
    """Return the scores that onnxruntime gives."""
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtraError(
            "an ONNX file is verified with onnxruntime before it is written: pip install 'podium[onnx]'"
        ) from None
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(raw, settings, providers=["CPUExecutionProvider"])
    return session.run(["scores"], {"features": rows})[0]
