"""Files are written completely or not at all."""

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
    target.write_text("1 qid:1 1:1\n")

    def fail() -> None:
        with atomic_write(target, "letor") as file:
            file.write(b"new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert target.read_text() == "1 qid:1 1:1\n"
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_permissions_and_links_stay(tmp_path):
    (tmp_path / "real.txt").write_text("1 qid:1 1:1\n")
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
        "with podium.files.atomic_write(sys.argv[1], 'letor') as file:\n"
        "    file.write(b'half')\n    file.flush()\n    signal.raise_signal(int(sys.argv[2]))\n"
    )
    command = [sys.executable, "-c", script, tmp_path / "a.txt", str(int(how))]
    assert subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == -how
    assert not list(tmp_path.iterdir())


def test_the_bytes_are_on_the_disk_before_the_file_takes_its_name(tmp_path, monkeypatch):
    done = []

    def watched(name, real):
        return lambda *given: (done.append(name), real(*given))[1]

    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, watched(name, getattr(os, name)))
    podium.write(DATA, tmp_path / "a.txt")
    assert done == ["fsync", "replace"]


@pytest.fixture(params=[True, False], ids=["nameless", "named"])
def nameless(request, monkeypatch):
    """With and without support for files without a name (O_TMPFILE)."""
    if not request.param:
        monkeypatch.delattr(os, "O_TMPFILE")
    return request.param


KILLED = (
    "import os, signal, sys, podium.files\n"
    "if sys.argv[2] == 'named':\n    del os.O_TMPFILE\n"
    "def die(*given):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    "os.replace = die\n"
    "with podium.files.atomic_write(sys.argv[1], 'letor') as file:\n    file.write(b'half')\n"
)


@pytest.mark.parametrize("how", ["nameless", "named"])
def test_what_a_killed_writer_left_is_swept_by_the_next(tmp_path, how):
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "a.txt", how], check=False)
    assert done.returncode == -signal.SIGKILL
    assert [file.suffix for file in tmp_path.iterdir()] == [".part"]
    podium.write(DATA, tmp_path / "b.txt")
    assert [file.name for file in tmp_path.iterdir()] == ["b.txt"]


def test_what_another_writer_still_writes_is_left_alone(tmp_path, nameless):
    with atomic_write(tmp_path / "a.txt", "letor") as first:
        first.write(b"1 qid:1 1:5\n")
        for name in ("a.txt", "b.txt"):
            podium.write(DATA, tmp_path / name)
        assert len(list(tmp_path.glob(".*.part"))) == (0 if nameless else 1)
    assert (tmp_path / "a.txt").read_bytes() == b"1 qid:1 1:5\n"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.txt", "b.txt"]


def test_a_file_that_was_swept_before_it_could_be_locked_is_made_again(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "O_TMPFILE")
    real, swept = podium.files._lock, []

    def sweep_first(descriptor):
        if not swept:
            swept.extend(tmp_path.glob(".*.part"))
            podium.files.sweep(tmp_path)
        return real(descriptor)

    monkeypatch.setattr(podium.files, "_lock", sweep_first)
    podium.write(DATA, tmp_path / "a.txt")
    assert len(swept) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("name", ["a.part", ".a.part", ".a.0123456789AB.part", ".a.0123456789ab.partial"])
def test_only_our_own_temporary_files_are_swept(tmp_path, name):
    (tmp_path / name).write_text("mine")
    podium.write(DATA, tmp_path / "b.txt")
    assert (tmp_path / name).read_text() == "mine"


def test_a_loop_of_links_and_a_nul_are_refused(tmp_path):
    (tmp_path / "a.txt").symlink_to("b.txt")
    (tmp_path / "b.txt").symlink_to("a.txt")
    with pytest.raises(podium.OutputError, match=r"a.txt: cannot be written: Too many levels of symbolic links"):
        podium.write(DATA, tmp_path / "a.txt")
    with pytest.raises(podium.FormatError, match=r"a.txt: cannot be read: Too many levels of symbolic links"):
        podium.read(tmp_path / "a.txt")
    with pytest.raises(podium.OutputError, match="cannot be written: embedded null byte"):
        podium.write(DATA, f"{tmp_path}/a\0.txt", format="letor")


def test_a_name_that_is_not_utf8_is_a_name_like_any_other(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt")
    podium.write(DATA, path)
    podium.write(DATA, path)
    assert podium.read(path).n_documents == 2
    assert [os.fsencode(file.name) for file in tmp_path.iterdir()] == [b"caf\xe9.txt"]


def test_this_process_s_own_output_is_written_into(tmp_path):
    """A script of the user may write to its standard output, be it a pipe or a file, between other prints."""
    script = (
        "import podium\nprint('before')\n"
        "podium.write([1.5], '/dev/stdout')\npodium.write([2.5], '/dev/fd/1')\nprint('after')\n"
    )
    expected = b"before\n1.5\n2.5\nafter\n"
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True)
    assert done.stdout == expected
    with (tmp_path / "out").open("wb") as file:
        subprocess.run([sys.executable, "-c", script], stdout=file, check=True)
    assert (tmp_path / "out").read_bytes() == expected


def test_a_folder_that_takes_no_files_is_not_said_to_be_missing():
    with (
        pytest.raises(podium.OutputError, match=r"/proc/x\.podium: no file can be created in /proc"),
        atomic_write("/proc/x.podium", "model"),
    ):
        pass
