"""Models of other libraries and engines, recognized by their first bytes."""

from __future__ import annotations

import re

RANKLIB_MODELS = (
    b"LambdaMART",
    b"MART",
    b"RankNet",
    b"RankBoost",
    b"AdaRank",
    b"Coordinate Ascent",
    b"LambdaRank",
    b"ListNet",
    b"Random Forests",
    b"Linear Regression",
)
ONNX_PRODUCER = b"\x12\x06podium"  # the second field of a model, as protocol buffers write it
TREELITE_VERSIONS = range(4, 20)


def looks_like_lightgbm(head: bytes) -> bool:
    """Recognize a LightGBM text file: its first line is the kind of booster, and the second the version."""
    lines = head.split(b"\n", 2)
    return len(lines) == 3 and lines[0].strip() == b"tree" and lines[1].startswith(b"version=v")


def looks_like_xgboost_json(head: bytes) -> bool:
    """Recognize a model that XGBoost saved as JSON."""
    return re.match(rb'\s*\{\s*"learner"\s*:', head) is not None


def looks_like_xgboost_ubjson(head: bytes) -> bool:
    """Recognize a model that XGBoost saved as UBJSON."""
    return head[:1] == b"{" and b"learner" in head[:20] and head[1:2] in (b"L", b"i", b"U", b"l", b"I")


def looks_like_xgboost(head: bytes) -> bool:
    """Recognize a model that XGBoost saved."""
    return looks_like_xgboost_json(head) or looks_like_xgboost_ubjson(head)


def looks_like_xgboost_dump(head: bytes) -> bool:
    """Recognize trees that XGBoost dumped as JSON."""
    return re.match(rb'\s*\[\s*\{\s*"nodeid"\s*:', head) is not None


def looks_like_catboost(head: bytes) -> bool:
    """Recognize a model that CatBoost saved as JSON."""
    return head.lstrip()[:1] == b"{" and any(key in head for key in (b'"oblivious_trees"', b'"features_info"'))


def looks_like_cbm(head: bytes) -> bool:
    """Recognize CatBoost's own binary format."""
    return head.startswith(b"CBM1")


def looks_like_ranklib(head: bytes) -> bool:
    """Recognize a model of RankLib: comments of two signs that begin with the name of the ranker, or its XML alone."""
    return head.lstrip().startswith((b"<ensemble", *(b"## " + kind for kind in RANKLIB_MODELS)))


def looks_like_ltr_plugin(head: bytes) -> bool:
    """Recognize the body that stores a model in Elasticsearch or OpenSearch."""
    return re.match(rb'\s*\{\s*"model"\s*:\s*\{\s*"name"\s*:', head) is not None and b'"feature_set"' in head


def looks_like_solr(head: bytes) -> bool:
    """Recognize a feature store and a model for Solr."""
    return re.match(rb'\s*\{\s*"features"\s*:\s*\[', head) is not None and b"solr.ltr" in head


def looks_like_vespa(head: bytes) -> bool:
    """Recognize LightGBM's JSON, or a rank profile."""
    return head.startswith(b"rank-profile ") or re.match(rb'\s*\{\s*"name"\s*:\s*"tree"', head) is not None


def looks_like_onnx(head: bytes) -> bool:
    """Recognize an ONNX model that Podium wrote."""
    return head[:1] == b"\x08" and head[2:].startswith(ONNX_PRODUCER)


def looks_like_treelite(head: bytes) -> bool:
    """Recognize a treelite checkpoint: it begins with three numbers, the version."""
    version = [int.from_bytes(head[k : k + 4], "little") for k in (0, 4, 8)]
    return len(head) > 24 and version[0] in TREELITE_VERSIONS and max(version[1:]) < 100
