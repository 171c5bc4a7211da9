"""Reading LETOR text: podium against scikit-learn, XGBoost and LightGBM, interleaved in one run.

    python benchmarks/reading.py [--megabytes 100 1000] [--repeats 3] [--threads 2]

Every reader runs in a process of its own that prints the seconds of its imports, the seconds of the read, and its peak
memory; the ratios are those of the reads. `import podium` loads a name on first access, so the name is accessed
before the clock starts, as the other libraries load theirs. scikit-learn, the slowest by far, reads a tenth of the file and
its time is scaled. LightGBM takes no query ids in the text and reads the file without them; it bins while it reads, and its
figure includes that.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from machine import machine

RESULTS = Path(__file__).parent / "results"

READERS = {
    "podium": """
from podium import read
begin()
data = read(path, num_threads=threads)
end(data.features.nbytes + data.labels.nbytes + data.query_offsets.nbytes + data.query_ids.nbytes)
""",
    "podium, from the cache": """
from podium import read
begin()
data = read(path + ".podium-data")
end(0)
assert data.features[-1, -1] == data.features[-1, -1]
""",
    "xgboost": """
import xgboost
xgboost.set_config(verbosity=0)
begin()
xgboost.DMatrix(path + "?format=libsvm", nthread=threads)
end(0)
""",
    "lightgbm": """
import lightgbm
begin()
lightgbm.Dataset(path + ".plain", params={"num_threads": threads, "verbosity": -1}).construct()
end(0)
""",
    "scikit-learn": """
import numpy
from sklearn.datasets import load_svmlight_file
begin()
load_svmlight_file(path + ".tenth", query_id=True, dtype=numpy.float32)
end(0)
""",
}

PRELUDE = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
path, threads = sys.argv[1], int(sys.argv[2])
launched = time.perf_counter()
def begin():
    global start
    start = time.perf_counter()
def end(array_bytes):
    seconds = time.perf_counter() - start
    # of this process alone: getrusage would count the parent's memory from before the program was started
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    peak = int(status["VmHWM"].split()[0]) * 1024
    print(json.dumps({"seconds": seconds, "imports": start - launched, "peak_bytes": peak, "array_bytes": array_bytes}))
"""


def run(name: str, path: Path, threads: int) -> dict[str, float]:
    command = [sys.executable, "-c", PRELUDE + READERS[name], str(path), str(threads)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return next(json.loads(line) for line in lines if line.startswith('{"seconds"'))


def make_files(folder: Path, megabytes: int) -> Path:
    import podium
    from mslr_like import mslr_like
    from podium.formats import write_sizes

    path = folder / "mslr.txt"
    probe = mslr_like(queries=100, seed=0)
    podium.write(probe, path)
    queries = int(100 * megabytes * 1e6 / path.stat().st_size)
    podium.write(mslr_like(queries=queries, seed=0), path)
    podium.convert(path, f"{path}.podium-data")
    with path.open("rb") as source, Path(f"{path}.tenth").open("wb") as target:
        target.write(source.read(path.stat().st_size // 10))
        target.write(source.readline())
    # LightGBM takes no query ids in the text, but a side file of query sizes.
    with path.open("rb") as source, Path(f"{path}.plain").open("wb") as target:
        while lines := source.readlines(1 << 24):
            target.write(re.sub(rb" qid:\d+", b"", b"".join(lines)))
    write_sizes(podium.read(f"{path}.podium-data"), f"{path}.plain.query")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    files = [measure(megabytes, arguments.repeats, arguments.threads) for megabytes in arguments.megabytes]
    content = {"threads": arguments.threads, "repeats": arguments.repeats, "files": files}
    content["machine"] = machine("xgboost", "lightgbm", "scikit-learn")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "reading.json").write_text(json.dumps(content, indent=2) + "\n")


def measure(megabytes: int, repeats: int, threads: int) -> dict[str, object]:
    """Let every reader read a file of this size, in rounds, and return the medians."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in READERS}
    with tempfile.TemporaryDirectory() as folder:
        path = make_files(Path(folder), megabytes)
        size = path.stat().st_size
        for round_number in range(repeats):
            for name in READERS:
                runs[name].append(run(name, path, threads))
                print(f"round {round_number + 1}: {name}: {runs[name][-1]['seconds']:.3f} s", file=sys.stderr)
    seconds = {name: statistics.median(run["seconds"] for run in rows) for name, rows in runs.items()}
    imports = {name: statistics.median(run["imports"] for run in rows) for name, rows in runs.items()}
    seconds["scikit-learn"] *= 10
    print(f"{size / 1e6:.0f} MB of LETOR text, {threads} threads, median of {repeats} interleaved runs\n")
    print("| reader | seconds | MB/s | podium is faster by | imports, s |\n|---|---|---|---|---|")
    readers = {}
    for name, value in seconds.items():
        speed, ratio = size / 1e6 / value, value / seconds["podium"]
        readers[name] = {"seconds": value, "megabytes_per_second": speed, "ratio": ratio, "imports": imports[name]}
        print(f"| {name} | {value:.3f} | {speed:,.0f} | {ratio:.2f}× | {imports[name]:.2f} |")
    peak = max(run["peak_bytes"] for run in runs["podium"])
    arrays = runs["podium"][0]["array_bytes"]
    allowed = 1.3 * arrays / 2**20 + 256
    print(
        f"\npodium's peak memory {peak / 2**20:.0f} MiB, the arrays {arrays / 2**20:.0f} MiB, allowed {allowed:.0f} MiB"
    )
    print(f"loading the cache takes {seconds['podium, from the cache'] * 1e3:.1f} ms")
    return {"bytes": size, "readers": readers, "peak_bytes": peak, "array_bytes": arrays}


if __name__ == "__main__":
    main()
