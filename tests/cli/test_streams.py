"""A command finishes its work even if nobody reads its output, or if its streams are closed or full."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys

import forked
import pytest

import podium

MAIN = [sys.executable, "-c", "from podium.cli import main; main()"]
TRAIN = ["train", "train.txt", "--ranker", "ranknet", "--epochs", "3"]


@pytest.fixture
def folder(tmp_path):
    data = podium.synthetic.network(queries=20, documents=6, features=4, seed=7)
    podium.write(data, tmp_path / "train.txt")
    podium.RankNet(epochs=3).fit(data).save(tmp_path / "expected.podium")
    return tmp_path


def unread_pipe():
    """Return the writing end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_training_finishes_if_nobody_reads_its_output(folder, more):
    pipe = unread_pipe()
    done = subprocess.run([*MAIN, *TRAIN, *more], cwd=folder, stdout=pipe, stderr=pipe, check=False)
    os.close(pipe)
    assert done.returncode == 0
    assert (folder / "model.podium").read_bytes() == (folder / "expected.podium").read_bytes()
    assert not (folder / "model.podium.checkpoint").exists()


def test_a_closed_pipe_is_no_error(folder):
    pipe = unread_pipe()
    for words in (["score", "expected.podium", "train.txt"], ["metrics"], ["metrics", "--json"], ["--help"]):
        done = subprocess.run([*MAIN, *words], cwd=folder, stdout=pipe, stderr=subprocess.PIPE, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
    os.close(pipe)


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_no_harm(folder, closed):
    """Otherwise the model's file would get the number of a closed stream, and messages would be printed into it."""
    command = " ".join(f"'{word}'" for word in [*MAIN, *TRAIN])
    done = subprocess.run(f"{command} {closed}", shell=True, cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (folder / "model.podium").read_bytes() == (folder / "expected.podium").read_bytes()
    log = (folder / "model.podium.log.jsonl").read_text().splitlines()
    assert [json.loads(row).get("epoch") for row in log] == [None, 1, 2, 3]


def test_a_full_disk_behind_standard_output_is_reported(folder):
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [*MAIN, "score", "expected.podium", "train.txt"],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
        assert (done.returncode, done.stderr) == (2, b"podium: standard output: No space left on device\n")
        done = subprocess.run([*MAIN, *TRAIN], cwd=folder, stdout=subprocess.PIPE, stderr=full, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith(b"wrote model.podium: ")
    assert (folder / "model.podium").read_bytes() == (folder / "expected.podium").read_bytes()


def test_a_pipe_is_written_into(folder):
    os.mkfifo(folder / "pipe")
    with subprocess.Popen(["cat", folder / "pipe"], stdout=subprocess.PIPE) as reader:
        code, out, err = forked.run(folder, "score", "expected.podium", "train.txt", "--out", "pipe")
        assert reader.stdout is not None
        scores = reader.stdout.read()
    assert (code, out, err) == (0, "wrote pipe: 120 scores\n", "")
    podium.write(podium.load(folder / "expected.podium").predict(podium.read(folder / "train.txt")), folder / "scores")
    assert scores == (folder / "scores").read_bytes()


def test_process_substitution_works_or_is_clearly_refused(folder):
    def bash(line):
        named = line.replace("podium", " ".join(f"'{word}'" for word in MAIN), 1)
        return subprocess.run(["bash", "-c", named], cwd=folder, capture_output=True, text=True, check=False)

    assert bash("podium score expected.podium train.txt --out >(cat >&2)").returncode == 0
    assert bash("podium score <(cat expected.podium) train.txt").stdout.count("\n") == 120
    done = bash("podium score expected.podium <(cat train.txt)")
    assert done.returncode == 2
    assert "is a pipe or a device, which cannot be read twice; write it to a file first" in done.stderr
    done = bash("podium train train.txt --ranker ranknet --out >(cat >&2)")
    assert done.returncode == 2
    assert "is a pipe or a device, and other files are written next to it; give the name of a file" in done.stderr


def test_file_names_that_are_not_utf8(folder, monkeypatch):
    monkeypatch.chdir(folder)
    data, model = os.fsdecode(b"tr\xe9.txt"), os.fsdecode(b"m\xe9.podium")
    (folder / "train.txt").rename(data)
    words = ["train", data, "--ranker", "ranknet", "--epochs", "3", "--out", model]
    assert "exists" not in subprocess.run([*MAIN, *words], capture_output=True, text=True, check=True).stderr
    assert (folder / model).read_bytes() == (folder / "expected.podium").read_bytes()
    log = json.loads((folder / f"{model}.log.jsonl").read_text().splitlines()[0])
    assert log["data"] == data
    printed = subprocess.run([*MAIN, *words, "--json"], capture_output=True, check=True).stdout
    assert json.loads(printed)["model"] == model
    subprocess.run(
        [*MAIN, "evaluate", model, data, "--per-query", os.fsdecode(b"q\xe9")], check=True, capture_output=True
    )
    for ending in ("csv", "tsv.gz", "parquet", "arrow", "podium-data"):
        target = os.fsdecode(b"d\xe9.") + ending
        subprocess.run([*MAIN, "data", "convert", data, target], capture_output=True, check=True)
        assert podium.read(target).n_documents == 120
    done = subprocess.run(
        [*MAIN, "score", model, os.fsdecode(b"\xff.txt")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == "podium: ?.txt: there is no such file; check the path\n"


def test_a_loop_of_links_is_refused(folder):
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    loop = "Too many levels of symbolic links"
    for words in (["score", "expected.podium", "a"], ["score", "a", "train.txt"], ["data", "describe", "a"]):
        code, out, err = forked.run(folder, *words)
        assert (code, out, err) == (2, "", f"podium: a: cannot be read: {loop}\n")
    code, out, err = forked.run(folder, *TRAIN, "--out", "a")
    assert (code, out, err) == (2, "", f"podium: --out a: cannot be written: {loop}\n")


STARTING = """
import signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            signal.raise_signal(int(sys.argv[2]))
            assert False, "the signal was not heard"
sys.meta_path.insert(0, Finder())
from podium.cli import main
number, sys.argv = sys.argv[2], ["podium", "metrics"]
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("module", ["typer", "rich.console", "numpy", "podium._core", "podium.cli.tune", "safetensors"])
def test_a_signal_while_the_program_starts_ends_it_without_a_traceback(module, number):
    code = STARTING.replace("sys.argv[1]", repr(module)).replace("sys.argv[2]", str(int(number)))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 128 + number
    assert (done.stdout, done.stderr) == ("", "podium: interrupted; no output was written\n")


COMMANDS = {
    "score": (["score", "expected.podium", "train.txt", "--out", "made"], "scoring"),
    "evaluate": (["evaluate", "expected.podium", "train.txt", "--per-query", "made"], "evaluation"),
    "compare": (["compare", "train.txt", "a=expected.podium", "b=expected.podium"], "evaluation"),
    "cv": (["cv", "train.txt", "--ranker", "ranknet", "--epochs", "2", "--out", "made"], "training"),
    "explain": (["explain", "expected.podium", "train.txt", "--permutation"], "scoring"),
    "laws": (["laws", "ranknet", "--plot", "made", "--draws", "3"], "forces"),
    "data convert": (["data", "convert", "train.txt", "made.csv"], "formats"),
    "data normalize": (["data", "normalize", "train.txt", "made.txt"], "data"),
    "data synth": (["data", "synth", "network", "made.txt"], "data"),
    "data describe": (["data", "describe", "train.txt"], "data"),
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", COMMANDS)
def test_both_signals_stop_every_command_in_the_same_way(folder, name, number):
    words, part = COMMANDS[name]
    before = sorted(folder.iterdir())
    code, out, err = forked.run(folder, *words, stop=forked.Stop((part,), 20, number))
    assert (code, out, err) == (128 + number, "", "podium: interrupted; no output was written\n")
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_ignored_signal_stays_ignored(folder, number):
    """`nohup` and the shell's background jobs ignore signals in this way."""
    (folder / "loud.py").write_text(
        "import signal\n\ndef push(scores, labels):\n"
        f"    signal.raise_signal({int(number)})\n    return labels - labels.mean(), scores * 0 + 1\n"
    )
    done = subprocess.run(
        [*MAIN, "train", "train.txt", "--force", "loud:push(compile=False)", "--epochs", "2"],
        cwd=folder,
        capture_output=True,
        check=False,
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "model.podium").exists()


def test_a_split_that_is_stopped_says_how_far_it_came(folder):
    words = ["data", "split", "train.txt", "parts"]
    total = forked.count_lines(folder, *words, parts=("files.py",))
    shutil.rmtree(folder / "parts")
    code, out, err = forked.run(folder, *words, stop=forked.Stop(("files.py",), total - 3, signal.SIGTERM))
    assert (code, out, err) == (143, "", "podium: interrupted; 2 of 3 parts are written to parts\n")
