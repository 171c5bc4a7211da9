"""Trains and scores in a process of its own, which may run on other instructions.

    python digests.py train FOLDER    prints the digest of the model file and of the scores of many trainings
    python digests.py score FOLDER    prints the scores of the models in a folder

Every ranker and every model of the tables is among the trainings.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from pathlib import Path

import numpy as np
from test_models import SPECS
from test_rankers import EVERY, TEST, TRAIN, quick

import podium

# Models and schedules that the rankers do not use by default.
MORE = {
    **{spec: ("ranknet", spec, "adam(epochs=2)") for spec in SPECS},
    "several outputs": ("multiclass", "kernel(poly, degree=3, landmarks=30)", "adam(epochs=2)"),
    "several outputs of trees": ("multiclass", "trees(num_leaves=4)", "boosting(rounds=3)"),
    "centers": ("ranknet", "nadaraya-watson(references=50, choose='kmeans')", "adam(epochs=2)"),
    "bundle": ("hinge", "linear", "bundle(epochs=40, l2=0.1)"),
    "all documents are landmarks": ("ranknet", "kernel(rbf)", "lbfgs(epochs=20, l2=0.01)"),
    "thresholds": ("ordinal", "linear", "sgd(epochs=2)"),
}


def trained() -> dict[str, podium.Ranker]:
    """Return the trained rankers by name."""
    rankers = {name: quick(name) for name in EVERY}
    for name, (force, model, schedule) in MORE.items():
        rankers[name] = podium.Ranker(force=force, model=model, schedule=schedule)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: ranker.fit(TRAIN) for name, ranker in rankers.items()}


def print_digests(folder: Path) -> None:
    digests = {}
    for name, ranker in trained().items():
        ranker.save(folder / "model.podium")
        model, scores = (folder / "model.podium").read_bytes(), podium.load_scorer(folder / "model.podium").scores(TEST)
        digests[name] = [hashlib.sha256(part).hexdigest() for part in (model, np.ascontiguousarray(scores).tobytes())]
    print(json.dumps(digests))


def print_scores(folder: Path) -> None:
    found = {path.name: podium.load_scorer(path).scores(TEST).tolist() for path in folder.glob("*.podium")}
    print(json.dumps(found))


if __name__ == "__main__":
    {"train": print_digests, "score": print_scores}[sys.argv[1]](Path(sys.argv[2]))
