"""Ctrl-C and other signals end a computation of the core while it runs, even inside one query of 300,000 documents."""

import subprocess
import sys

import pytest

# A thread waits until the computation has started to check for signals, and then sends one to the process.
SCRIPT = """
import os, signal, sys, threading, time
import numpy as np
import podium
from podium import _core

def stop(number, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGTERM, stop)
rng = np.random.default_rng(0)

def one_query(labels):
    features = rng.normal(size=(len(labels), 3)).astype(np.float32)
    return podium.RankingData(features, labels, np.zeros(len(labels), int))

long = one_query(rng.integers(0, 5, 300_000).astype(float))
listed = one_query(rng.integers(0, 5, 8_000).astype(float))  # preferences that meet are listed, and too many are refused
scores = rng.normal(size=long.n_documents)

def force(name, num_threads=1):
    data = listed if name == "structrank" else long
    podium.force(name)(scores[:len(data)], data, num_threads=num_threads)

def last_query_is_long():
    # Sixteen queries are one task, so that the long query may be the task of a helping thread alone.
    queries = np.concatenate([np.repeat(np.arange(16), 2), np.full(300_000, 16)])
    labels = rng.integers(0, 5, len(queries)).astype(float)
    data = podium.RankingData(np.zeros((len(queries), 1), np.float32), labels, queries)
    podium.force("ranknet")(rng.normal(size=len(queries)), data, num_threads=2)

def evaluate(metric):
    podium.evaluate(np.zeros(long.n_documents), long, [metric], num_threads=1)

def interrupted(number, run):
    # Return how often the computation looked for signals after one was sent, until it ended with KeyboardInterrupt.
    checks = _core.signal_checks()
    sent = []

    def send():
        while _core.signal_checks() == checks:
            time.sleep(0.001)
        os.kill(os.getpid(), number)
        sent.append(_core.signal_checks())  # at once: the computation needs the lock of Python to look for signals

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    try:
        run()
    except KeyboardInterrupt:
        sender.join()
        return _core.signal_checks() - sent[0]
    return "never"

for number, case, run in CASES:
    print(case, interrupted(number, run), flush=True)
"""

FORCES = [
    "ranknet",
    "ranknet(ties=True)",
    "lambdarank(ndcg)",
    "lambdarank(map)",
    "lambdarank(err)",
    "lambdarank(bpref)",
    "lambdarank(auc)",
    "step(ndcg)",
    "structrank",
    "structrank(independent)",
]


def run_cases(cases):
    """Return the cases that went on after a signal, or looked for it more than twice; they run in one separate process."""
    listed = ", ".join(f"(signal.{number}, {case!r}, lambda: {case})" for number, case in cases)
    script = SCRIPT.replace("CASES", f"[{listed}]")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    found = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    assert list(found) == [case for _, case in cases]
    return {case: count for case, count in found.items() if count not in ("0", "1", "2")}


@pytest.mark.parametrize("threads", [1, 2])
def test_a_force_on_a_very_long_query_is_interrupted(threads):
    cases = [f"force({name!r}, {threads})" for name in FORCES]
    assert run_cases([("SIGINT", case) for case in cases]) == {}


def test_evaluation_training_and_helping_threads_are_interrupted():
    cases = [
        ("SIGINT", "evaluate(\"err(max=40, ties='average')\")"),
        ("SIGINT", "last_query_is_long()"),
        ("SIGINT", "podium.RankNet(epochs=1, num_threads=2).fit(long)"),
        ("SIGTERM", "podium.RankNet(epochs=1, batch='pair').fit(long)"),
        ("SIGTERM", "podium.LambdaMART(metric='map', n_estimators=1).fit(long)"),
    ]
    assert run_cases(cases) == {}
