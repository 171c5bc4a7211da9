"""The whole job on built-in data, through the commands that a user would type.

    make demo        (or: python examples/demo.py [folder])

The demo generates judged queries whose true order is known, describes them, splits them by query, and trains LambdaMART
and a linear RankSVM. It evaluates both with confidence intervals, tests whether one is really better than the other and
than the best single feature, and shows why one document ranks above another.
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
    """Show a podium command and run it in this process."""
    print(f"\n$ podium {words}", flush=True)
    app(shlex.split(words), standalone_mode=False)


def best_single_feature(train: podium.RankingData) -> tuple[int, float]:
    """Return the feature, and its sign, that alone ranks the training queries best: a baseline that a ranker must beat."""
    candidates = [(sign, feature) for feature in range(train.n_features) for sign in (1.0, -1.0)]
    columns = train.to_caller_order(train.features)
    values = [podium.evaluate(s * columns[:, f], train, "ndcg@10").mean["ndcg@10"] for s, f in candidates]
    sign, feature = candidates[int(np.argmax(values))]
    return feature, sign


def main(folder: Path) -> None:
    """Do the whole job and leave every file in the folder."""
    started = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    parts = folder / "parts"
    run(f"data synth polynomial {folder}/judged.txt --queries 500 --documents 30 --features 20 --seed 7")
    run(f"data describe {folder}/judged.txt")
    run(f"data split {folder}/judged.txt {parts} --shares 0.6,0.2,0.2")

    train, _, test = podium.read_folds(parts)
    feature, sign = best_single_feature(train)
    print(f"\nBaseline: feature {feature} alone, with sign {sign:+.0f}")
    podium.write(sign * test.to_caller_order(test.features[:, feature]), folder / "one-feature.scores")

    common = f"{parts}/train.txt --valid {parts}/vali.txt --metric ndcg@10 --fresh"
    run(f"train {common} --ranker lambdamart --n-estimators 300 --out {folder}/lambdamart.podium")
    run(f"train {common} --ranker ranksvm --out {folder}/ranksvm.podium")

    judged = f"{parts}/test.txt"
    run(f"evaluate {folder}/lambdamart.podium {judged} -m ndcg@10 -m 'map(rel=4)' --per-query {folder}/lambdamart.tsv")
    for name in ("lambdamart", "ranksvm"):
        run(f"score {folder}/{name}.podium {judged} --out {folder}/{name}.scores")
    systems = " ".join(f"{folder}/{name}.scores" for name in ("lambdamart", "ranksvm", "one-feature"))
    run(f"compare {judged} {systems} --changed 3")
    first = test.select([0])  # the first query: why does its first document rank above its last?
    order = np.argsort(-podium.load(folder / "lambdamart.podium").predict(first)) + 1
    rows = f"--above {order[0]} --below {order[-1]}"
    run(f"explain {folder}/lambdamart.podium {judged} --query {first.query_ids[0]} {rows}")

    print(f"\nDone in {time.perf_counter() - started:.1f} s. The data, models and scores are in {folder}/.")
    print("To type such commands yourself: source .venv/bin/activate, then podium --help")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output"))
