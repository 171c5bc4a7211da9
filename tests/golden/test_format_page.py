"""A reader written from docs/format.md alone, in plain Python, gives the scores of every golden model."""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "models"
TYPES = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "U64": "Q", "U8": "B"}
PRINTED = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U64": "<u8", "U8": "|u1"}
SMALL = 1e-35
Arrays = dict[str, Any]
Numbers = Sequence[float]


def read(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Return the metadata and the arrays, as lists of numbers; lists of rows for arrays of two dimensions or more."""
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])
    text = header.pop("__metadata__")["podium"]
    about = json.loads(text)
    digest = hashlib.sha256(text.replace(f'"sha256": "{about["sha256"]}", ', "").encode() + b"\n")
    arrays: Arrays = {}
    for name in sorted(header):
        begin, end = header[name]["data_offsets"]
        kind, shape, content = header[name]["dtype"], header[name]["shape"], raw[start + begin : start + end]
        printed = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        digest.update(f"{name} {PRINTED[kind]} ({printed})\n".encode() + content)
        numbers = [number for (number,) in struct.iter_unpack("<" + TYPES[kind], content)]
        for size in reversed(shape[1:]):
            numbers = [numbers[k : k + size] for k in range(0, len(numbers), size)]
        name = name.removeprefix("model.")
        arrays[name.replace("centre", "center") if about["format"] == 1 else name] = numbers
    assert digest.hexdigest() == about["sha256"]
    return about, arrays


def float32(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def ruled(value: float, rule: int, known: Numbers) -> float:
    if math.isnan(value) or rule == 0:
        return value
    if rule == 1:
        return math.nan if -float32(SMALL) <= value <= float32(SMALL) else value
    if rule == 2:
        return float(math.trunc(value))
    return float(math.floor(value)) if math.floor(value) in known else -1.0


def goes_left(x: Numbers, node: int, arrays: Arrays, known: dict[int, Numbers]) -> bool:
    feature, place = arrays["feature"][node], arrays["set"][node]
    rules = arrays.get("feature_rules", [0] * len(x))
    value = ruled(x[feature], rules[feature], known.get(feature, ()))
    if place >= 0:
        number = known[feature].index(value) if value in known[feature] else 255
        return bool(arrays["sets"][4 * place + number // 64] >> (number % 64) & 1)
    return bool(arrays["missing_left"][node]) if math.isnan(value) else value <= arrays["threshold"][node]


def tree_outputs(x: Numbers, settings: dict[str, Any], arrays: Arrays) -> list[float]:
    singles, base = settings.get("sums") == "float32", arrays["base"]
    total = list(base) if singles else [0.0] * len(base)
    ends = arrays["category_offsets"]
    known = {f: arrays["categories"][ends[k] : ends[k + 1]] for k, f in enumerate(arrays["category_features"])}
    nodes = arrays["node_offsets"]
    for tree, leaves in enumerate(arrays["leaf_offsets"][:-1]):
        first, child = nodes[tree], 0 if nodes[tree + 1] > nodes[tree] else -1
        while child >= 0:
            side = "left" if goes_left(x, first + child, arrays, known) else "right"
            child = arrays[side][first + child]
        output = tree % len(base)
        total[output] += arrays["value"][leaves - 1 - child]
        total[output] = float32(total[output]) if singles else total[output]
    return total if singles else [a + b for a, b in zip(total, base, strict=True)]


def inputs(x: Numbers, arrays: Arrays) -> list[float]:
    parts = (arrays[f"inputs.{name}"] for name in ("center", "scale", "filled"))
    return [
        filled if math.isnan(value) else (value - center) * scale
        for value, center, scale, filled in zip(x, *parts, strict=True)
    ]


def dot(a: Numbers, b: Numbers) -> float:
    return math.fsum(left * right for left, right in zip(a, b, strict=True))


ACTIVATIONS: dict[str, Callable[[float], float]] = {
    "tanh": math.tanh,
    "relu": lambda value: max(value, 0.0),
    "sigmoid": lambda value: 1 / (1 + math.exp(-value)) if value > -700 else 0.0,
    "identity": lambda value: value,
}


def net_outputs(x: Numbers, settings: dict[str, Any], arrays: Arrays) -> list[float]:
    values = inputs(x, arrays)
    layers = sum(name.endswith(".weights") for name in arrays)
    for layer in range(1, layers + 1):
        columns = zip(*arrays[f"layer{layer}.weights"], strict=True)
        sums = [dot(values, column) + bias for column, bias in zip(columns, arrays[f"layer{layer}.bias"], strict=True)]
        name = settings["activation"] if layer < layers else settings.get("output", "identity")
        values = [ACTIVATIONS[name](value) for value in sums]
    return values


def kernel_outputs(x: Numbers, settings: dict[str, Any], arrays: Arrays) -> list[float]:
    x, width = inputs(x, arrays), settings["width"]
    kernels: dict[str, Callable[[Numbers], float]] = {
        "linear": lambda landmark: dot(x, landmark),
        "poly": lambda landmark: (dot(x, landmark) / width**2 + settings["offset"]) ** settings["degree"],
        "rbf": lambda landmark: math.exp(-(math.dist(x, landmark) ** 2) / (2 * width**2)),
    }
    values = [kernels[settings["kernel"]](landmark) for landmark in arrays["landmarks"]]
    return [
        dot(values, column) + bias
        for column, bias in zip(zip(*arrays["alpha"], strict=True), arrays["bias"], strict=True)
    ]


def quadratic_outputs(x: Numbers, settings: dict[str, Any], arrays: Arrays) -> list[float]:
    x = inputs(x, arrays)
    return [
        dot(x, [dot(row, x) for row in matrix]) + dot(linear, x) + bias
        for matrix, linear, bias in zip(arrays["matrix"], arrays["linear"], arrays["bias"], strict=True)
    ]


def average_outputs(x: Numbers, settings: dict[str, Any], arrays: Arrays) -> list[float]:
    x = inputs(x, arrays)
    counted = [k for k, mass in enumerate(arrays["mass"]) if mass > 0]
    exponents = [
        math.log(arrays["mass"][k])
        - 0.5
        * math.fsum((w * (a - b)) ** 2 for w, a, b in zip(arrays["widths"], x, arrays["references"][k], strict=True))
        for k in counted
    ]
    weights = [math.exp(exponent - max(exponents)) for exponent in exponents]
    return [dot(weights, [arrays["labels"][k] for k in counted]) / math.fsum(weights)]


MODELS = {
    "trees": tree_outputs,
    "linear": net_outputs,
    "net": net_outputs,
    "kernel": kernel_outputs,
    "quadratic": quadratic_outputs,
    "nadaraya-watson": average_outputs,
}


def score(outputs: list[float]) -> float:
    if len(outputs) == 1:
        return outputs[0]
    shares = [math.exp(output - max(outputs)) for output in outputs]
    return math.fsum(share * (2**level - 1) for level, share in enumerate(shares)) / math.fsum(shares)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.podium")), ids=lambda path: path.stem)
def test_the_page_is_enough_to_read_every_golden_model(path):
    about, arrays = read(path)
    model, wanted = about["model"], json.loads(path.with_suffix(".json").read_text())
    rows = [[math.nan if value is None else float32(value) for value in row] for row in wanted["rows"]]
    found = [score(MODELS[model["name"]](row, model["settings"], arrays)) for row in rows]
    if model["name"] == "trees" and len(arrays["base"]) == 1:
        assert found == wanted["scores"]
    else:
        assert found == pytest.approx(wanted["scores"], rel=1e-9, abs=1e-12)
