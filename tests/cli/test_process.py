"""The command as a process: interrupted, cut off, short of disk, in a poor terminal."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import podium

MAIN = [sys.executable, "-c", "from podium.cli import main; main()"]


def test_interrupting_says_so_and_leaves_no_file(tmp_path):
    row = " ".join(f"{i}:0.{'123456789' * 4}" for i in range(1, 60))
    with (tmp_path / "big.txt").open("w") as file:
        for k in range(60_000):
            file.write(f"1 qid:{k // 100} {row}\n")
    command = [*MAIN, "data", "convert", "big.txt", "big.podium-data", "--threads", "1"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        while not reads(process.pid, tmp_path / "big.txt"):
            assert process.poll() is None
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err == "podium: interrupted; no output was written\n"
    assert [file.name for file in tmp_path.iterdir()] == ["big.txt"]


def reads(pid, path):
    """Whether the process has the file open."""
    links = Path(f"/proc/{pid}/fd")
    with contextlib.suppress(FileNotFoundError):
        return any(link.resolve() == path for link in links.iterdir())
    return False


def test_a_closed_pipe_is_quiet():
    with subprocess.Popen([*MAIN, "metrics", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


def test_a_full_disk_is_one_sentence(tmp_path):
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    command = [*MAIN, "data", "synth", "network", "a.txt"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, preexec_fn=limit, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("podium: ")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_terminal_without_unicode_still_gets_its_table():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run([*MAIN, "metrics"], capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert b"ndcg" in done.stdout


def test_fewer_threads_than_asked_for_are_enough(tmp_path):
    podium.write(podium.synthetic.network(queries=50, documents=20), tmp_path / "a.txt")
    script = (
        "import resource, sys, podium\n"
        "taken = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (taken + (300 << 20),) * 2)\n"
        "data = podium.read(sys.argv[1], num_threads=1000)\n"
        "print(podium.evaluate(data.features[:, 0], data, 'ndcg@5', num_threads=1000).n_queries)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "a.txt"], capture_output=True, text=True, check=False
    )
    assert done.stdout == "50\n", done.stderr


@pytest.mark.parametrize("words", [["evaluate", "--help"], ["data", "convert", "--help"]])
def test_help_fits_a_terminal(words):
    environment = {**os.environ, "COLUMNS": "80", "TERM": "dumb"}
    done = subprocess.run([*MAIN, *words], capture_output=True, text=True, env=environment, check=True)
    assert max(map(len, done.stdout.splitlines())) <= 80
