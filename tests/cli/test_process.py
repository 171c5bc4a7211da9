"""The command as a process: interrupted, with a closed pipe, on a full disk, in a plain terminal."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys

import forked
import pytest
from forked import Stop

import podium

MAIN = [sys.executable, "-c", "from podium.cli import main; main()"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("suffix", ["podium-data", "txt", "csv"])
def test_interrupting_a_conversion_leaves_no_file(tmp_path, suffix, number):
    podium.write(podium.synthetic.network(queries=20, documents=20), tmp_path / "a.txt")
    words, parts = ["data", "convert", "a.txt", f"b.{suffix}"], ("formats", "data", "files.py")
    total = forked.count_lines(tmp_path, *words, parts=parts)
    (tmp_path / f"b.{suffix}").unlink()
    for share in (0.1, 0.5, 0.9):
        code, out, err = forked.run(tmp_path, *words, stop=Stop(parts, int(share * total), number))
        if number == signal.SIGINT:
            assert (code, out, err) == (130, "", "podium: interrupted; no output was written\n")
        else:
            assert code == -number
        assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


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
    """A thread's stack takes 1 GiB here and there is room for two, so that most of a thousand threads cannot be started."""
    podium.write(podium.synthetic.network(queries=50, documents=20), tmp_path / "a.txt")
    most = resource.getrlimit(resource.RLIMIT_STACK)[1]
    stack = 1 << 30 if most == resource.RLIM_INFINITY else min(1 << 30, most)
    script = (
        "import resource, sys, podium\n"
        "taken = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (taken + (5 << 29),) * 2)\n"
        "data = podium.read(sys.argv[1], num_threads=1000)\n"
        "print(podium.evaluate(data.features[:, 0], data, 'ndcg@5', num_threads=1000).n_queries)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "a.txt"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (stack, most)),
    )
    assert done.stdout == "50\n", done.stderr


@pytest.mark.parametrize("words", [["evaluate", "--help"], ["data", "convert", "--help"]])
def test_help_fits_a_terminal(words):
    environment = {**os.environ, "COLUMNS": "80", "TERM": "dumb"}
    done = subprocess.run([*MAIN, *words], capture_output=True, text=True, env=environment, check=True)
    assert max(map(len, done.stdout.splitlines())) <= 80
