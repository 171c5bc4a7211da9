"""Trainings on a cluster whose processes are killed at random moments: whether all end in the same bytes.

    python benchmarks/cluster_faults.py [--trainings 20] [--workers 3] [--seed 0]

Each training is a program of its own, with a checkpoint after every round. Two or three times, SIGKILL ends one of its workers, found by
the name that Ray gives to their processes: as soon as it runs, in the preparation, a few milliseconds into a round, or after the
last round. In every fourth training the program itself is killed too, and started again. Prints one line per training, and how many
kills hit a running process.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import queue
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

ROUNDS = 25
PHASES = ("start", "preparation", "round", "end")
LIMIT = 600.0  # seconds of one training, after which it is said to hang
WORKER = b"ray::TrainingWorker"


def train(out: Path, engine: str) -> None:
    """Train, and print every round: the program that is killed."""
    import numpy as np

    import podium
    from podium.training import Checkpoint

    random = np.random.default_rng(0)
    features = random.normal(size=(24_000, 30)).astype(np.float32)
    labels = np.digitize(features[:, 0] * features[:, 1] + features[:, 2] + random.normal(size=24_000), [0, 1, 2])
    data = podium.RankingData(features, labels.astype(float), np.arange(24_000) // 20)
    train, valid = podium.split(data, (0.8, 0.2))
    ranker = podium.LambdaMART(n_estimators=ROUNDS, forests=2, early_stopping_rounds=None, seed=1)
    checkpoint = Checkpoint(out.with_suffix(".checkpoint"), 0.0)
    print("fit", flush=True)
    ranker.fit(
        train, valid=valid, engine=engine, checkpoint=checkpoint, callbacks=lambda row: print(row.epoch, flush=True)
    )
    ranker.save(out)


def children(parent: int) -> Iterator[int]:
    """Yield the processes that descend from one."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(path.name))
    ahead = [parent]
    while ahead:
        found = parents.get(ahead.pop(), [])
        yield from found
        ahead += found


def workers_of(program: int) -> list[int]:
    """Return the training workers of a program."""
    found = []
    for pid in children(program):
        with suppress(OSError):
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(WORKER):
                found.append(pid)
    return sorted(found)


@dataclass
class Kill:
    """A kill that is planned: whom, in which phase, after which round, and how many seconds later."""

    phase: str
    after: int
    delay: float
    program: bool = False


@dataclass
class Outcome:
    """What happened to a training."""

    landed: list[str] = field(default_factory=list)
    starts: int = 0
    digest: str = ""


def planned(draw: random.Random, program: bool) -> list[Kill]:
    """Return the kills of a training, in the order of their moments."""
    kills = []
    for phase in draw.sample(PHASES, draw.choice([2, 3])):
        after = {"start": -1, "preparation": 0, "end": ROUNDS}.get(phase, draw.randrange(1, ROUNDS - 1))
        delay = draw.uniform(0, 1.5) if phase == "preparation" else draw.uniform(0, 0.05)
        kills.append(Kill(phase, after, delay))
    if program:
        kills.append(Kill("program", draw.randrange(1, ROUNDS - 1), draw.uniform(0, 0.05), program=True))
    return sorted(kills, key=lambda kill: kill.after)


def run(out: Path, engine: str, kills: list[Kill], draw: random.Random) -> Outcome:
    """Run one training to its end, start it again if it was killed, and kill what is planned."""
    outcome, left, end = Outcome(), list(kills), time.monotonic() + LIMIT
    while True:
        outcome.starts += 1
        command = [sys.executable, __file__, "--train", str(out), "--engine", engine]
        program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        lines: queue.Queue[str] = queue.Queue()
        threading.Thread(
            target=lambda p, q: [q.put(line) for line in p.stdout], args=(program, lines), daemon=True
        ).start()
        reached = -2  # -1: a worker runs; 0: `fit` has been called; then rounds
        while program.poll() is None:
            if time.monotonic() > end:
                program.kill()
                raise SystemExit(f"a training hangs; it was killed at {outcome.landed}")
            with suppress(queue.Empty):
                line = lines.get(timeout=0.01).strip()
                reached = 0 if line == "fit" else int(line)
            if left and reached >= left[0].after and (left[0].program or workers_of(program.pid)):
                kill = left.pop(0)
                time.sleep(kill.delay)
                victims = [program.pid] if kill.program else workers_of(program.pid)
                if victims and program.poll() is None:
                    with suppress(ProcessLookupError):
                        os.kill(draw.choice(victims), signal.SIGKILL)
                        outcome.landed.append(kill.phase)
        if program.returncode == 0:
            outcome.digest = hashlib.sha256(out.read_bytes()).hexdigest()
            return outcome
        if program.returncode != -signal.SIGKILL:
            raise SystemExit(f"a training failed with {program.returncode}; it was killed at {outcome.landed}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--trainings", type=int, default=20)
    options.add_argument("--workers", type=int, default=3)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--engine", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.train is not None:
        train(given.train, given.engine)
        return
    draw, landed = random.Random(given.seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        expected = run(Path(folder) / "local.podium", "local", [], draw).digest
        same = 0
        for number in range(given.trainings):
            kills = planned(draw, program=number % 4 == 3)
            found = run(Path(folder) / f"{number}.podium", f"ray(workers={given.workers})", kills, draw)
            same += found.digest == expected
            landed.update(found.landed)
            said = "same bytes" if found.digest == expected else "OTHER BYTES"
            print(
                f"{number + 1:2}: killed at {', '.join(found.landed)}; started {found.starts} times; {said}", flush=True
            )
    counts = ", ".join(f"{count} at {phase}" for phase, count in landed.items())
    print(
        f"{same} of {given.trainings} trainings have the bytes of one process; {landed.total()} kills landed: {counts}"
    )
    if same < given.trainings:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
