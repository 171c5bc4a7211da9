"""Training from files with a limit of memory against training in memory: seconds, memory, and the bytes of the models.

    python benchmarks/outofcore.py [--queries 45000] [--rounds 50] [--limit 700M] [--threads 2]

The data is like MSLR-WEB30K (136 features, about 120 documents per query) and is written as shards. Every training runs in a
process of its own. The one with a limit of memory cannot exceed it: the operating system refuses it more (RLIMIT_DATA, which
counts the memory that a process allocates, but not the pages of files that it maps). The one in memory copies the features into
memory first, as reading a file of text or a table does. The features take 4 · documents · 136 bytes, by default four times the
limit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import podium
from mslr_like import mslr_like
from podium.memory import parse_bytes

CHUNK = 1000  # queries that are generated at a time

TRAINING = """
import json, resource, sys, time, warnings
import numpy as np
folder, out, settings, limit = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), int(sys.argv[4])
if limit:
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
warnings.simplefilter("ignore")
import podium
podium.LambdaMART
begin = time.perf_counter()
data = podium.read(folder, num_threads=settings["num_threads"])
opened = time.perf_counter()
if not limit:
    data = data.replace_grouped(features=np.array(data.features))
loaded = time.perf_counter()
ranker = podium.LambdaMART(**settings, memory_limit=limit or None).fit(data)
end = time.perf_counter()
ranker.save(out)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
held = {"anonymous": int(status["RssAnon"].split()[0]) << 10, "all": int(status["VmHWM"].split()[0]) << 10}
print(json.dumps({"checked": opened - begin, "loaded": loaded - opened, "trained": end - loaded, **held}))
"""


def write_data(folder: Path, queries: int) -> dict[str, int]:
    """Write chunks that are generated one after the other, and then shards of them; return the counts."""
    chunks = folder / "chunks"
    chunks.mkdir()
    for number, first in enumerate(range(0, queries, CHUNK)):
        part = mslr_like(min(CHUNK, queries - first), seed=number)
        podium.write(part.replace(query_ids=first + np.arange(part.n_queries)), chunks / f"{number:05d}.podium-data")
    made = podium.write_shards(podium.read(chunks), folder / "shards", 8)
    return {"documents": made.documents, "features": made.features, "bytes": 4 * made.documents * made.features}


def train(folder: Path, out: Path, settings: dict[str, int], limit: int) -> dict[str, float]:
    """Train in a process of its own; return its times and its memory."""
    command = [sys.executable, "-c", TRAINING, str(folder), str(out), json.dumps(settings), str(limit)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # every thread of OpenBLAS reserves memory
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Run the trainings and print what they took."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--queries", type=int, default=45_000)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--limit", type=parse_bytes, default=700 << 20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--growth", default="leaf", choices=["leaf", "depth", "symmetric"])
    options = parser.parse_args()
    settings = {"n_estimators": options.rounds, "num_threads": options.threads, "growth": options.growth}
    with tempfile.TemporaryDirectory(dir=podium.memory.scratch_folder()) as scratch:
        folder = Path(scratch)
        counts = write_data(folder, options.queries)
        print(
            f"{counts['documents']:,} documents, {counts['bytes'] / 2**20:,.0f} MiB of features, "
            f"{counts['bytes'] / options.limit:.1f} times the limit of {options.limit / 2**20:,.0f} MiB"
        )
        found = {}
        for name, limit in (("in memory", 0), ("from files", options.limit)):
            found[name] = train(folder / "shards", folder / f"{name}.podium", settings, limit)
            took = found[name]
            print(
                f"{name:10}  checksums {took['checked']:6.1f} s  loading {took['loaded']:6.1f} s  training {took['trained']:7.1f} s  "
                f"anonymous memory {took['anonymous'] / 2**20:7,.0f} MiB"
            )
        same = (folder / "in memory.podium").read_bytes() == (folder / "from files.podium").read_bytes()
        ratio = found["from files"]["trained"] / (found["in memory"]["loaded"] + found["in memory"]["trained"])
        print(
            f"from files / in memory: {ratio:.2f}; the models are {'the same' if same else 'NOT the same'} byte for byte"
        )
        if not same:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
