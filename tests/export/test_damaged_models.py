"""Damaged and hostile model files end with a FormatError that says what is wrong: no crash, no code, bounded memory."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.errors import FormatError
from podium.export import parse_model

FOLDER = Path(__file__).parents[1] / "golden" / "foreign"
MUTATIONS = int(os.environ.get("PODIUM_MUTATIONS", "300"))  # of every file; by hand, 10,000 make some 10⁵ in all
SMALL = [
    "lightgbm-nan.txt", "lightgbm-zero.txt", "lightgbm-categories.txt", "xgboost-ndcg.json", "xgboost-ndcg.ubj",
    "xgboost-categories.json", "xgboost-categories.ubj", "xgboost-dart.ubj", "catboost-symmetric.json", "catboost-names.json",
    "catboost-lossguide.json", "ranklib-lambdamart.txt",
]  # fmt: skip
NUMBERS = [
    b"-1",
    b"0",
    b"1",
    b"99999999999",
    b"-2147483648",
    b"nan",
    b"NaN",
    b"inf",
    b"1e999",
    b"0.5",
    b"",
    b"[",
    b"{}",
    b"\xff",
]


def parse(raw: bytes, format: str) -> Any:
    return parse_model(raw, "a.model", format)


def mutated(raw: bytes, random: random.Random) -> bytes:
    """A file with a few bytes changed, a piece cut out, doubled, or a number replaced."""
    data = bytearray(raw)
    for _ in range(random.randint(1, 3)):
        at, length = random.randrange(len(data) + 1), random.randint(1, 40)
        kind = random.randrange(6)
        if kind == 0:
            data[at : at + 1] = bytes([random.randrange(256)])
        elif kind == 1:
            del data[at : at + length]
        elif kind == 2:
            data[at:at] = data[at : at + length]
        elif kind == 3:
            data = data[:at]
        elif kind == 4:
            other = random.randrange(len(data) + 1)
            data[at : at + length] = data[other : other + length]
        else:
            digits = [k for k in range(len(data)) if 48 <= data[k] <= 57] if len(data) < 60_000 else []
            if digits:
                place = random.choice(digits)
                end = place
                while end < len(data) and data[end] in b"0123456789.":
                    end += 1
                data[place:end] = random.choice(NUMBERS)
        if not data:
            break
    return bytes(data)


@pytest.mark.parametrize("name", SMALL)
def test_mutations_are_models_or_errors(name):
    """A mutation that still is a model scores finite numbers; every other one is refused."""
    raw, draw = (FOLDER / name).read_bytes(), random.Random(name)
    refused = 0
    for _ in range(MUTATIONS):
        damaged = mutated(raw, draw)
        model = None
        with contextlib.suppress(FormatError):
            model = parse(damaged, name.partition("-")[0]).model
        if model is None:
            refused += 1
            continue
        rows = np.zeros((3, model.n_features), np.float32)
        rows[1:] = [[np.nan], [1e30]]
        assert model.scores(rows).shape[0] == 3
    assert refused > MUTATIONS // 10


@pytest.mark.parametrize("name", SMALL)
def test_truncated_files_are_refused(name):
    raw = (FOLDER / name).read_bytes()
    complete = raw.rstrip() if not name.endswith(".ubj") else raw
    needed = complete.find(b"end of trees") + 12 if name.startswith("lightgbm") else len(complete)
    for end in [0, 1, 10, *range(20, needed, max(1, needed // 60)), needed - 1]:
        with pytest.raises(FormatError):
            parse(complete[:end], name.partition("-")[0])


def lightgbm_with(**changes: str) -> bytes:
    """The first tree of a LightGBM file with fields changed."""
    lines = (FOLDER / "lightgbm-nan.txt").read_text().split("\n")
    first = lines.index("Tree=0")
    head = [line for line in lines[:first] if not line.startswith("tree_sizes")]
    tree = lines[first : lines.index("Tree=1")]
    for name, value in changes.items():
        part = head if any(line.startswith(f"{name}=") for line in head) else tree
        for k, line in enumerate(part):
            if line.startswith(f"{name}="):
                part[k] = f"{name}={value}"
    return "\n".join([*head, *tree, "end of trees", ""]).encode()


def xgboost_with(change: Any) -> bytes:
    document = json.loads((FOLDER / "xgboost-ndcg.json").read_text())
    change(document, document["learner"]["gradient_booster"]["model"]["trees"][0])
    return json.dumps(document).encode()


def xgboost_vectors_with(change: Any) -> bytes:
    document = json.loads((FOLDER / "xgboost-vectors.json").read_text())
    change(document["learner"]["gradient_booster"]["model"]["trees"][0])
    return json.dumps(document).encode()


def share_values(tree: dict[str, Any]) -> None:
    """Let all leaves have the same values: a small file could claim any number of them otherwise."""
    size = int(tree["tree_param"]["size_leaf_vector"])
    tree["leaf_weights"] = tree["leaf_weights"][:size]
    for node, child in enumerate(tree["left_children"]):
        if child == -1:
            tree["right_children"][node] = 0


def catboost_with(change: Any, name: str = "catboost-symmetric.json") -> bytes:
    document = json.loads((FOLDER / name).read_text())
    change(document)
    return json.dumps(document).encode()


def put(container: Any, place: Any, value: Any) -> None:
    container[place] = value


def nested(depth: int) -> dict[str, Any]:
    part: dict[str, Any] = {"value": 1.0, "weight": 1}
    split = {"border": 0.5, "float_feature_index": 0, "split_index": 0, "split_type": "FloatFeature"}
    for _ in range(depth):
        part = {"left": part, "right": {"value": 0.0, "weight": 1}, "split": split}
    return part


ENSEMBLE = "<ensemble><tree id='1' weight='0.1'>{}</tree></ensemble>"
LEAF = "<split pos='{}'><output>1.0</output></split>"
BOTH = LEAF.format("left") + LEAF.format("right")
BOMB = "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;&b;&b;'>]>"
EXTERNAL = "<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>"
SPLIT = "<split><feature>{}</feature><threshold>{}</threshold>{}</split>"

HOSTILE: dict[str, tuple[str, bytes, str]] = {
    "a cycle": ("lightgbm", lightgbm_with(left_child="0 2 -2 -3"), "reached twice"),
    "a node with two parents": ("lightgbm", lightgbm_with(left_child="1 2 -1 -3", right_child="1 3 -4 -5"), "reached twice"),
    "a child that is not there": ("lightgbm", lightgbm_with(left_child="1 77 -2 -3"), "not in the tree"),
    "a leaf that is not there": ("lightgbm", lightgbm_with(left_child="1 -99 -2 -3"), "not in the tree"),
    "a feature that is not there": ("lightgbm", lightgbm_with(split_feature="0 1 99 0"), "feature"),
    "a feature below 0": ("lightgbm", lightgbm_with(split_feature="0 1 -5 0"), "feature"),
    "a threshold that is not a number": ("lightgbm", lightgbm_with(threshold="0 nan 1 2"), "not a number"),
    "a value that is not finite": ("lightgbm", lightgbm_with(leaf_value="1 2 inf 4 5"), "not finite"),
    "a billion leaves": ("lightgbm", lightgbm_with(num_leaves="1000000000"), "num_leaves"),
    "no leaves": ("lightgbm", lightgbm_with(num_leaves="0"), "num_leaves"),
    "a billion features": ("lightgbm", lightgbm_with(max_feature_idx="999999999"), "number of features"),
    "a billion outputs": ("lightgbm", lightgbm_with(num_tree_per_iteration="1000000000"), "num_tree_per_iteration"),
    "a billion sets": ("lightgbm", lightgbm_with(num_cat="1000000000"), "num_cat"),
    "a missing kind of its own": ("lightgbm", lightgbm_with(decision_type="12 12 12 12"), "decision_type"),
    "a cycle in XGBoost": ("xgboost", xgboost_with(lambda d, t: put(t["left_children"], 1, 0)), "reached twice"),
    "a child past the end": ("xgboost", xgboost_with(lambda d, t: put(t["right_children"], 0, 10**9)), "not in the tree"),
    "a negative child": ("xgboost", xgboost_with(lambda d, t: put(t["right_children"], 0, -7)), "not in the tree"),
    "a condition that is not a number": ("xgboost", xgboost_with(lambda d, t: put(t["split_conditions"], 0, float("nan"))), "not a number"),
    "an infinite leaf": ("xgboost", xgboost_with(lambda d, t: t.update(split_conditions=[*t["split_conditions"][:-1], 1e99])), "not finite"),
    "arrays of two lengths": ("xgboost", xgboost_with(lambda d, t: t["split_indices"].pop()), "differ in length"),
    "an empty tree": ("xgboost", xgboost_with(lambda d, t: [t[k].clear() for k in t if isinstance(t[k], list)]), "empty"),
    "a billion classes": ("xgboost", xgboost_with(lambda d, t: put(d["learner"]["learner_model_param"], "num_class", "1000000000")), "num_class"),
    "a billion features in XGBoost": ("xgboost", xgboost_with(lambda d, t: put(d["learner"]["learner_model_param"], "num_feature", "1000000000")), "number of features"),
    "leaves of a billion values": ("xgboost", xgboost_with(lambda d, t: put(t["tree_param"], "size_leaf_vector", "1000000000")), "size_leaf_vector"),
    "leaves that share their values": ("xgboost", xgboost_vectors_with(share_values), "values for"),
    "categories out of range": ("xgboost", xgboost_with(lambda d, t: t.update(categories=[1], categories_nodes=[0], categories_segments=[0], categories_sizes=[9])), "out of range"),
    "another booster": ("xgboost", xgboost_with(lambda d, t: put(d["learner"]["gradient_booster"], "name", "gblinear")), "only trees"),
    "deep nesting": ("xgboost", b'{"learner": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "damaged"),
    "a billion numbers in UBJSON": ("xgboost", b"{L\0\0\0\0\0\0\0\x07learner[$d#L\0\0\0\0\x3b\x9a\xca\0", "larger than the file"),
    "a negative length": ("xgboost", b"{L\xff\xff\xff\xff\xff\xff\xff\xfflearner", "larger than the file"),
    "deep nesting in UBJSON": ("xgboost", b"{L\0\0\0\0\0\0\0\x07learner" + b"[" * 100_000, "nested"),
    "a billion nothings": ("xgboost", b"{L\0\0\0\0\0\0\0\x07learner[#L\0\0\0\0\x3b\x9a\xca\0" + b"Z" * 100, "larger than the file"),
    "a text past the end": ("xgboost", b"{L\0\0\0\0\0\0\0\x07learnerSL\0\0\0\0\0\0\0\x50ab", "larger than the file|ends in the middle"),
    "leaves that are not there": ("catboost", catboost_with(lambda d: d["oblivious_trees"][0]["leaf_values"].pop()), "values for"),
    "forty levels": ("catboost", catboost_with(lambda d: d["oblivious_trees"][0].update(splits=d["oblivious_trees"][0]["splits"] * 14)), "levels"),
    "a border that is not a number": ("catboost", catboost_with(lambda d: put(d["oblivious_trees"][0]["splits"][0], "border", float("nan"))), "not a number"),
    "a feature that CatBoost has not": ("catboost", catboost_with(lambda d: put(d["oblivious_trees"][0]["splits"][0], "float_feature_index", 99)), "damaged"),
    "a billion features in CatBoost": ("catboost", catboost_with(lambda d: put(d["features_info"]["float_features"][0], "flat_feature_index", 10**9)), "number of features"),
    "statistics of categories": ("catboost", catboost_with(lambda d: put(d["oblivious_trees"][0]["splits"][0], "split_type", "OnlineCtr")), "one_hot_max_size"),
    "text features": ("catboost", catboost_with(lambda d: put(d["features_info"], "text_features", [{"feature_index": 0}])), "text features"),
    "a deep tree": ("catboost", catboost_with(lambda d: d.update(trees=[nested(100)]), "catboost-lossguide.json")[:-40], "damaged"),
    "an XML bomb": ("ranklib", (BOMB + ENSEMBLE.format("<split><output>&c;</output></split>")).encode(), "document type"),
    "an external entity": ("ranklib", (EXTERNAL + ENSEMBLE.format("<split><output>&a;</output></split>")).encode(), "document type"),
    "a split without children": ("ranklib", ENSEMBLE.format(SPLIT.format(1, 0.5, "")).encode(), "empty"),
    "a split with one child": ("ranklib", ENSEMBLE.format(SPLIT.format(1, 0.5, LEAF.format("left"))).encode(), "not in the tree"),
    "two left children": ("ranklib", ENSEMBLE.format(SPLIT.format(1, 0.5, LEAF.format("left") * 2)).encode(), "two children"),
    "a threshold that is nan": ("ranklib", ENSEMBLE.format(SPLIT.format(1, "nan", BOTH)).encode(), "not a number"),
    "an infinite output": ("ranklib", ENSEMBLE.format("<split><output>inf</output></split>").encode(), "not finite"),
    "feature 0": ("ranklib", ENSEMBLE.format(SPLIT.format(0, 1, BOTH)).encode(), "below 1"),
    "feature a billion": ("ranklib", ENSEMBLE.format(SPLIT.format(10**9, 1, BOTH)).encode(), "number of features"),
    "a tree that is empty": ("ranklib", ENSEMBLE.format("").encode(), "empty"),
    "another element": ("ranklib", ENSEMBLE.format("<script/>").encode(), "<script>"),
    "another model of RankLib": ("ranklib", b"## Coordinate Ascent\n1:0.5 2:0.5\n", "Coordinate Ascent"),
    "a number of a million digits": ("ranklib", ENSEMBLE.format(f"<split><output>{'1' * 10**6}</output></split>").encode(), "too many digits"),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_files_are_refused(what):
    format, raw, words = HOSTILE[what]
    with pytest.raises(FormatError, match=words):
        parse(raw, format)


def test_deep_trees_are_read():
    """A chain of 20,000 splits is a tree like any other, where the format itself can hold it."""
    depth = 20_000
    left = " ".join(str(k + 1) for k in range(depth - 1)) + " -1"
    right = " ".join(str(-2 - k) for k in range(depth))
    fields = {
        "num_leaves": str(depth + 1), "split_feature": "0 " * depth, "split_gain": "1 " * depth,
        "threshold": " ".join(str(-k) for k in range(depth)), "decision_type": "2 " * depth, "left_child": left,
        "right_child": right, "leaf_value": " ".join(str(k) for k in range(depth + 1)), "leaf_count": "1 " * (depth + 1),
    }  # fmt: skip
    model = parse(lightgbm_with(**fields), "lightgbm").model
    assert model.scores(np.array([[1e9, 0, 0, 0], [-1e9, 0, 0, 0], [-0.5, 0, 0, 0]], np.float32)).tolist() == [1, 0, 2]
    xml = ENSEMBLE.format("<split pos='left'>" * 5000)
    with pytest.raises(FormatError, match="side"):
        parse(xml.encode(), "ranklib")


def test_no_file_makes_memory_grow_or_code_run():
    """Every hostile file in a process with little memory, in which importing anything new fails."""
    code = """
    import builtins, resource, sys
    sys.path.insert(0, sys.argv[1])
    from test_damaged_models import HOSTILE, parse
    from podium.errors import FormatError
    import podium.export.ubjson, json.decoder, xml.parsers.expat, encodings.utf_8
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20),) * 2)
    known = set(sys.modules)
    for what, (format, raw, _) in HOSTILE.items():
        try:
            parse(raw, format)
        except FormatError:
            continue
        raise SystemExit(f"{what} was read")
    print(sorted(set(sys.modules) - known))
    """
    asked = [sys.executable, "-c", textwrap.dedent(code), str(Path(__file__).parent)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == "[]\n"
