"""The demo's data on a Ray cluster: shards, training, scoring, evaluation, tuning and cross-validation by several workers.

    pip install 'podium[cluster,tune]'
    python examples/cluster.py [folder]

Ray starts on this machine and ends with the example. With the environment variable RAY_ADDRESS, as in RAY_ADDRESS=auto, the
same commands run on a cluster that exists. At the end, the model and the scores are compared with those of one process, byte for
byte.
"""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

from podium.cli.app import app
from podium.cluster import Ray, connect

ENGINE = "ray(workers=2)"


def run(words: str) -> None:
    """Show a podium command and run it in this process."""
    print(f"\n$ podium {words}", flush=True)
    app(shlex.split(words), standalone_mode=False)


def check_same(one: Path, other: Path) -> None:
    """Compare two files, or the files of two directories."""
    pairs = [(one, other)] if one.is_file() else [(path, other / path.name) for path in sorted(one.iterdir())]
    for here, there in pairs:
        if here.read_bytes() != there.read_bytes():
            raise SystemExit(f"{here} and {there} differ")
    print(f"{one} and {other}: the same {len(pairs)} files, byte for byte")


def main(folder: Path) -> None:
    """Do the whole job and leave every file in the folder."""
    started = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    run(f"data synth polynomial {folder}/judged.txt --queries 500 --documents 30 --features 20 --seed 7")
    run(f"data split {folder}/judged.txt {folder}/parts --shares 0.6,0.2,0.2")
    for part in ("train", "vali", "test"):
        run(f"data shard {folder}/parts/{part}.txt --by-query --shards 4 --out {folder}/{part}")

    ranker = "--ranker lambdamart --n-estimators 20 --metric ndcg@10"
    common = f"train {folder}/train --valid {folder}/vali {ranker} --fresh"
    with connect(Ray(workers=2)):  # one connection for all commands; each would make its own
        run(f"{common} --engine '{ENGINE}' --out {folder}/cluster.podium")
        run(f"score {folder}/cluster.podium {folder}/test --engine '{ENGINE}' --out {folder}/cluster-scores")
        run(f"evaluate {folder}/cluster.podium {folder}/test --metric ndcg@10 --engine '{ENGINE}'")
        run(f"cv {folder}/vali {ranker} --folds 3 --engine '{ENGINE}'")
        run(
            f"tune {folder}/train --valid {folder}/vali {ranker} --range num_leaves=7..31 --trials 4 --engine '{ENGINE}' "
            f"--fresh --out {folder}/best.podium"
        )
    run(f"{common} --out {folder}/local.podium")
    run(f"score {folder}/local.podium {folder}/test --out {folder}/local-scores")
    check_same(folder / "cluster.podium", folder / "local.podium")
    check_same(folder / "cluster-scores", folder / "local-scores")
    print(f"\nDone in {time.perf_counter() - started:.1f} s.")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "cluster-output"))
