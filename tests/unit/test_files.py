"""Files are there whole or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys

import pytest

import podium
from podium.files import atomic_write

DATA = podium.RankingData([[1.0], [2.0]], [1, 0], [1, 1])


def test_an_error_leaves_what_was_there(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")

    def fail() -> None:
        with atomic_write(target) as file:
            file.write(b"new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert target.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_permissions_and_links_stay(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "real.txt").chmod(0o600)
    (tmp_path / "link.txt").symlink_to("real.txt")
    podium.write(DATA, tmp_path / "link.txt")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "1 qid:1 1:1\n0 qid:1 1:2\n"
    assert stat.S_IMODE((tmp_path / "real.txt").stat().st_mode) == 0o600


def test_new_files_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        podium.write(DATA, tmp_path / "a.txt")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


def test_a_pipe_is_written_into_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        podium.write(DATA, pipe, format="letor")
        assert reader.stdout is not None
        assert reader.stdout.read() == b"1 qid:1 1:1\n0 qid:1 1:2\n"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(podium.FormatError, match="pipe or a device"):
        podium.read(pipe)


def test_missing_folders_and_directories_are_named(tmp_path):
    with pytest.raises(podium.OutputError, match=r"there is no folder .*nowhere; create it first"):
        podium.write(DATA, tmp_path / "nowhere" / "a.txt")
    with pytest.raises(podium.OutputError, match="is a directory"):
        podium.write(DATA, tmp_path, format="letor")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_process_that_is_stopped_leaves_nothing_behind(tmp_path, how):
    script = (
        "import signal, sys, podium.files\n"
        "with podium.files.atomic_write(sys.argv[1]) as file:\n"
        "    file.write(b'half')\n    file.flush()\n    signal.raise_signal(int(sys.argv[2]))\n"
    )
    command = [sys.executable, "-c", script, tmp_path / "a.txt", str(int(how))]
    assert subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == -how
    assert not list(tmp_path.iterdir())
