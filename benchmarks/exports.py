"""Every export of six models: the largest difference of scores, changed orders, the file's size, and the time.

    PODIUM_DATA=folder python benchmarks/exports.py [--out FILE]

Models are trained on the first fold of OHSUMED and compared on its test queries, besides the rows that `export` makes itself. All
changes are allowed that a format may need, and noted. The time is that of a whole export: writing, reading back, scoring and
comparing.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import podium
from machine import machine, short_repr
from podium.errors import ParameterError
from podium.export import CHANGES, EXPORTS

OUT = Path(__file__).parent / "results" / "exports.json"
PEERS = ("lightgbm", "xgboost", "onnxruntime", "treelite")
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "onnx": [{"opset": 3}, {"opset": 5}],
    "elasticsearch": [{"trees_as": "xgboost+json"}, {"trees_as": "ranklib"}],
}
Parts = tuple[podium.RankingData, podium.RankingData, podium.RankingData]


def with_missing(parts: Parts) -> Parts:
    """Return data from which every fifth value is missing."""
    random = np.random.default_rng(0)
    found = []
    for part in parts:
        features = part.features.copy()
        features[random.random(features.shape) < 0.2] = np.nan
        found.append(part.replace_grouped(features=features))
    return tuple(found)


def models(parts: Parts) -> Iterator[tuple[str, Any, podium.RankingData]]:
    """Train the models; with each, the data on which its exports are compared."""
    train, valid, test = parts
    missing = with_missing(parts)
    made: dict[str, Callable[[], Any]] = {
        "OHSUMED": lambda: podium.LambdaMART().fit(train, valid=valid),
        "missing values": lambda: podium.LambdaMART().fit(missing[0], valid=missing[1]),
        "symmetric": lambda: podium.LambdaMART(growth="symmetric").fit(train, valid=valid),
        "2,000 trees": lambda: podium.LambdaMART(n_estimators=2000, forests=1).fit(train),
        "linear": lambda: podium.RankSVM().fit(train, valid=valid),
        "net": lambda: podium.RankNet(hidden=(10,)).fit(train, valid=valid),
    }
    for name, make in made.items():
        began = time.perf_counter()
        ranker = make()
        print(f"{name}: trained in {time.perf_counter() - began:.1f} s", flush=True)
        yield name, ranker, missing[2] if name == "missing values" else test


def export_all(ranker: Any, data: podium.RankingData, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the figures of every export that can hold the model."""
    found = {}
    for format, row in EXPORTS.items():
        for options in VARIANTS.get(format, [{}]) if row.write is not None else ():
            title = ", ".join([format, *(f"{key} {value}" for key, value in options.items())])
            began = time.perf_counter()
            try:
                report = ranker.export(folder / f"{len(found)}", format=format, data=data, allow=CHANGES, **options)
            except ParameterError as error:
                print(f"  {title}: {error}", flush=True)
                continue
            figures = {name: value for name, value in report.to_dict().items() if name != "path"}
            found[title] = figures | {"seconds": round(time.perf_counter() - began, 3)}
            print(f"  {title}: {report}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    where = machine(*PEERS)
    print(short_repr(where))
    parts = podium.read_folds(Path(os.environ["PODIUM_DATA"]) / "ohsumed/QueryLevelNorm/Fold1")
    found: dict[str, Any] = {"machine": where, "models": {}}
    for name, ranker, data in models(parts):
        with tempfile.TemporaryDirectory() as folder:
            shape = f"{ranker.n_trees_:,} trees" if hasattr(ranker, "n_trees_") else str(ranker.model_name_)
            found["models"][name] = {"shape": shape, "exports": export_all(ranker, data, Path(folder))}
    options.out.write_text(json.dumps(found, indent=1) + "\n")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
