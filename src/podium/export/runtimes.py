"""The targets' own runtimes, where they are Python packages; without LightGBM or XGBoost, their files are read back."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np

from podium.export.lightgbm_text import read_lightgbm
from podium.export.options import ExportOptions
from podium.export.xgboost_model import read_xgboost
from podium.scoring import Scorer


def package_version(package: str) -> str:
    """Return the name and version of an installed package; XGBoost comes under two names."""
    for name in (package, f"{package}-cpu"):
        try:
            return f"{package} {version(name)}"
        except PackageNotFoundError:
            continue
    return package


def lightgbm_runtime() -> str:
    """Return what scores LightGBM's files here."""
    return package_version("lightgbm") if find_spec("lightgbm") else "Podium's reader (lightgbm is not installed)"


def xgboost_runtime() -> str:
    """Return what scores XGBoost's files here."""
    return package_version("xgboost") if find_spec("xgboost") else "Podium's reader (xgboost is not installed)"


def score_lightgbm(raw: bytes, scorer: Scorer, options: ExportOptions, rows: Any) -> Any:
    """Return LightGBM's raw scores."""
    if not find_spec("lightgbm"):
        return read_lightgbm(raw).model.scores(rows)
    import lightgbm

    booster = lightgbm.Booster(model_str=raw.decode())
    return booster.predict(rows, raw_score=True, num_threads=1)


def score_xgboost(raw: bytes, scorer: Scorer, options: ExportOptions, rows: Any) -> Any:
    """Return XGBoost's margins."""
    if not find_spec("xgboost"):
        return read_xgboost(raw).model.scores(rows)
    import xgboost

    booster = xgboost.Booster({"nthread": 1}, model_file=bytearray(raw))
    matrix = xgboost.DMatrix(
        rows,
        feature_names=booster.feature_names,
        feature_types=booster.feature_types,
        enable_categorical=True,
        nthread=1,
    )
    return np.asarray(booster.predict(matrix, output_margin=True), np.float64)
