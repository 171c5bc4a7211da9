"""Requests per second of podium serve beside a plain FastAPI and LightGBM service, on this machine, by wrk.

    python benchmarks/service.py [--rounds 3] [--seconds 10] [--workers 1] [--requests 100000] [--out FILE]

A request holds 100 documents of 136 features; both models have 500 trees of 63 leaves. Requests of four kinds take turns, at 1, 8
and 64 connections: JSON to the peer, as it is written first and with one thread per request, which is faster if many requests run at
once; the same JSON to Podium; and raw float32 to Podium. The median of the rounds counts, and ratios are to the faster peer.
Both services run on uvicorn with uvloop and httptools and the same number of workers, and wrk on the same machine. At the end
Podium is sent raw requests until it has answered `--requests` of them, and the memory of its workers is read before and
after. wrk is a package of most distributions (apt install wrk).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import podium
from machine import machine, short_repr
from mslr_like import mslr_like

DOCUMENTS, FEATURES = 100, 136
CONNECTIONS = (1, 8, 64)
PEERS = ("FastAPI and LightGBM", "FastAPI and LightGBM, 1 thread")
OUT = Path(__file__).parent / "results" / "service.json"
JSON, RAW = "application/json", "application/octet-stream"
SCRIPT = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "{kind}"
wrk.body = io.open("{body}", "rb"):read("*a")
"""
UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}


def train(folder: Path, options: argparse.Namespace) -> np.ndarray:
    """Save both models, and return the documents of one query that they have not seen."""
    import lightgbm

    data = mslr_like(options.queries, seed=0)
    podium.LambdaMART(
        n_estimators=options.trees,
        num_leaves=options.leaves,
        learning_rate=0.1,
        query_sampling=1,
        column_sampling=1,
        num_threads=1,
    ).fit(data).save(folder / "model.podium")
    settings = {"objective": "lambdarank", "num_leaves": options.leaves, "verbosity": -1, "num_threads": 1}
    rows = lightgbm.Dataset(data.features, data.labels, group=data.query_sizes)
    lightgbm.train(settings, rows, options.trees).save_model(folder / "model.txt")
    return np.ascontiguousarray(mslr_like(10, seed=1).features[:DOCUMENTS])


@contextlib.contextmanager
def started(command: list[str], ready: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a service from the moment when it answers until the end of the block."""
    process = subprocess.Popen(
        command, env={**os.environ, **environment}, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), urllib.request.urlopen(ready, timeout=5):
                break
            time.sleep(0.1)
        else:
            raise SystemExit(f"no answer from {ready}")
        yield process
    finally:
        process.terminate()
        process.wait(60)


def post(url: str, body: bytes, kind: str) -> bytes:
    request = urllib.request.Request(url, body, {"Content-Type": kind})
    with urllib.request.urlopen(request, timeout=60) as response:
        return response.read()


def run_wrk(url: str, script: Path, connections: int, seconds: float) -> dict[str, float]:
    """Return requests per second and latencies in milliseconds."""
    command = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{seconds}s",
        "--timeout",
        "30s",
        "--latency",
        "-s",
        str(script),
        url,
    ]
    text = subprocess.run(command, check=True, capture_output=True, text=True, timeout=seconds + 120).stdout
    if "Non-2xx" in text or "Socket errors" in text:
        raise SystemExit(text)
    found = {"requests_per_second": float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])}
    for name in ("50", "99"):
        value, unit = re.search(rf"\b{name}%\s+([\d.]+)(us|ms|s|m)\b", text).groups()
        found[f"p{name}_ms"] = float(value) * UNITS[unit]
    return found


def memory(pid: int) -> dict[str, float]:
    """Return the resident memory in MiB of a process's children that serve, by process."""
    found = {}
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if "resource_tracker" in Path(f"/proc/{child}/cmdline").read_text():
            continue
        status = Path(f"/proc/{child}/status").read_text()
        found[child] = int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024
    return found


def soak(pid: int, url: str, script: Path, requests: int, rate: float) -> dict[str, Any]:
    """Return the workers' memory after a tenth of the requests and after all of them."""
    done, samples = 0, []
    while done < requests:
        seconds = max(1, round(requests / 10 / rate))
        done += round(run_wrk(url, script, 8, seconds)["requests_per_second"] * seconds)
        samples.append({"requests": done, "mebibytes": sum(memory(pid).values())})
        print(f"{done:>9,} requests: {samples[-1]['mebibytes']:.1f} MiB")
    return {"first": samples[0], "last": samples[-1]}


def measure(folder: Path, rows: np.ndarray, options: argparse.Namespace) -> dict[str, Any]:
    bodies = {JSON: json.dumps({"features": rows.astype(float).tolist()}).encode(), RAW: rows.astype("<f4").tobytes()}
    scripts = {}
    for number, (kind, body) in enumerate(bodies.items()):
        (folder / f"body{number}").write_bytes(body)
        scripts[kind] = folder / f"script{number}.lua"
        scripts[kind].write_text(SCRIPT.format(kind=kind, body=folder / f"body{number}"))
    ours, peer, other_peer = (f"http://127.0.0.1:{options.port + k}" for k in range(3))
    score = f"{ours}/v1/models/model/score"
    jobs = {
        PEERS[0]: (f"{peer}/score", JSON),
        PEERS[1]: (f"{other_peer}/score", JSON),
        "Podium, JSON": (score, JSON),
        "Podium, float32": (score, RAW),
    }
    podium_command = [
        sys.executable,
        "-m",
        "podium",
        "serve",
        str(folder / "model.podium"),
        "--port",
        str(options.port),
    ]
    peer_command = [sys.executable, "-m", "uvicorn", "service_peer:app"]
    peer_command += [
        "--no-access-log",
        "--app-dir",
        str(Path(__file__).parent),
        "--loop",
        "uvloop",
        "--http",
        "httptools",
    ]
    peer_commands = [[*peer_command, "--port", str(options.port + k)] for k in (1, 2)]
    workers = ["--workers", str(options.workers)]
    model = {"PEER_MODEL": str(folder / "model.txt")}
    found: dict[str, dict[str, list[dict[str, float]]]] = {name: {str(c): [] for c in CONNECTIONS} for name in jobs}
    with (
        started([*podium_command, "--no-access-log", *workers], f"{ours}/readyz") as process,
        started([*peer_commands[0], *workers], f"{peer}/openapi.json", **model),
        started([*peer_commands[1], *workers], f"{other_peer}/openapi.json", **model, PEER_THREADS="1"),
    ):
        check(score, f"{peer}/score", bodies, rows, folder)
        for _ in range(options.rounds):
            for connections in CONNECTIONS:
                for name, (url, kind) in jobs.items():
                    one = run_wrk(url, scripts[kind], connections, options.seconds)
                    found[name][str(connections)].append(one)
                    print(f"{connections:>3} connections, {name:<30} {one['requests_per_second']:>9,.0f} per second")
        rate = found["Podium, float32"]["8"][-1]["requests_per_second"]
        steady = soak(process.pid, score, scripts[RAW], options.requests, rate) if options.requests else None
    medians = {name: {c: median(runs) for c, runs in each.items()} for name, each in found.items()}
    return {"jobs": medians, "memory": steady}


def median(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def check(score: str, peer: str, bodies: dict[str, bytes], rows: np.ndarray, folder: Path) -> None:
    """Both services give the scores of their model."""
    import lightgbm

    wanted = podium.load_scorer(folder / "model.podium").scores(rows)
    assert np.frombuffer(post(score, bodies[RAW], RAW)).tolist() == wanted.tolist()
    assert json.loads(post(score, bodies[JSON], JSON))["scores"] == wanted.tolist()
    given = json.loads(post(peer, bodies[JSON], JSON))["scores"]
    np.testing.assert_allclose(given, lightgbm.Booster(model_file=folder / "model.txt").predict(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--requests", type=int, default=100_000, help="of the measurement of memory; 0 leaves it out")
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--port", type=int, default=18080, help="Podium's; the peers have the next two")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is not installed; on Debian: apt install wrk")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = measure(folder, train(folder, options), options)
    about = machine("lightgbm", "fastapi", "uvicorn")
    kept = {name: getattr(options, name) for name in ("rounds", "seconds", "workers", "trees", "leaves")}
    options.out.write_text(json.dumps({"machine": about, "settings": kept, **found}, indent=1) + "\n")
    print(short_repr(about))
    for name, each in found["jobs"].items():
        for connections, row in each.items():
            rate, p50, p99 = row["requests_per_second"], row["p50_ms"], row["p99_ms"]
            ratio = rate / fastest_peer(found["jobs"], connections)
            print(
                f"{name:<30} {connections:>3}: {rate:>8,.0f} per second, {ratio:5.1f}×, p50 {p50:.2f} ms, p99 {p99:.2f} ms"
            )


def fastest_peer(jobs: dict[str, Any], connections: str) -> float:
    """Return the requests per second of the faster peer."""
    return max(jobs[name][connections]["requests_per_second"] for name in PEERS)


if __name__ == "__main__":
    main()
