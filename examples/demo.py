"""The main job on built-in data, end to end, through the commands a user would type.

    make demo        (or: python examples/demo.py [folder])

Makes judged data with a known truth, looks at it, splits it by query, trains two rankers, judges each with confidence
intervals against the best single feature, and asks whether one is really better.
"""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import numpy as np

import podium
from podium.cli.app import app


def run(words: str) -> None:
    """Runs a podium command in this process, after showing it."""
    print(f"\n$ podium {words}", flush=True)
    app(shlex.split(words), standalone_mode=False)


def best_single_feature(train: podium.RankingData) -> tuple[int, float]:
    """The feature, and its sign, that alone ranks the training queries best: the baseline any ranker must beat."""
    candidates = [(sign, feature) for feature in range(train.n_features) for sign in (1.0, -1.0)]
    values = [podium.evaluate(s * train.features[:, f], train, "ndcg@10").mean["ndcg@10"] for s, f in candidates]
    sign, feature = candidates[int(np.argmax(values))]
    return feature, sign


def main(folder: Path) -> None:
    """The whole job, into the folder."""
    started = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    run(f"data synth network {folder}/judged.txt --queries 1000 --seed 7")
    run(f"data describe {folder}/judged.txt")
    run(f"data split {folder}/judged.txt {folder}/parts --shares 0.6,0.2,0.2")

    parts = folder / "parts"
    train, _, test = podium.read_folds(parts)
    feature, sign = best_single_feature(train)
    print(f"\nThe baseline: feature {feature} alone, sign {sign:+.0f}")
    podium.write(sign * test.to_caller_order(test.features[:, feature]), folder / "one-feature.scores")
    common = f"{parts}/train.txt --valid {parts}/vali.txt --metric ndcg@10 --epochs 60 --fresh"
    run(f"train {common} --ranker ranksvm --out {folder}/ranksvm.podium")
    run(f"train {common} --ranker lambdarank --hidden 10 --out {folder}/lambdarank.podium")

    judged = f"{parts}/test.txt"
    run(f"score {folder}/lambdarank.podium {judged} --out {folder}/lambdarank.scores")
    run(f"score {folder}/ranksvm.podium {judged} --out {folder}/ranksvm.scores")
    run(f"evaluate {folder}/lambdarank.podium {judged} -m ndcg@10 -m map --per-query {folder}/lambdarank.tsv")
    systems = " ".join(f"{folder}/{name}.scores" for name in ("lambdarank", "ranksvm", "one-feature"))
    run(f"compare {judged} {systems} --changed 3")
    print(
        f"\nDone in {time.perf_counter() - started:.1f} s. Everything is in {folder}/: the data, its parts, models, scores."
    )
    print("To type such commands yourself: source .venv/bin/activate, then podium --help")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output"))
