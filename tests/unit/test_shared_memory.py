"""Memory that workers share: sums and maxima equal those of NumPy, and a worker that is replaced finds what it has missed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from podium import _core
from podium.errors import ClusterError
from podium.training.distributed import memory
from podium.training.distributed.memory import MemoryPlace, SharedMemory, memory_of_worker, new_memory

LIMIT = 60.0


@pytest.fixture
def place() -> Iterator[MemoryPlace]:
    made = new_memory("here")
    yield made
    os.close(made.file)


def wait_until(shared: SharedMemory) -> Callable[[int], None]:
    def wait(step: int) -> None:
        if not shared.marks.wait(step, LIMIT):
            raise TimeoutError(f"step {step}")

    return wait


def member_of(place: MemoryPlace, members: int, member: int) -> SharedMemory:
    shared = SharedMemory(place.file, members, member)
    shared.wait = wait_until(shared)
    return shared


def together(members: int, work: Callable[[int], Any]) -> list[Any]:
    """Return what `work(member)` returns in one thread each."""
    results: list[Any] = [None] * members

    def run(member: int) -> None:
        results[member] = work(member)

    threads = [threading.Thread(target=run, args=(member,)) for member in range(members)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def brought(members: int, sizes: list[tuple[int, int]], seed: int) -> list[list[tuple[Any, Any]]]:
    """Return what each member brings to each step: whole numbers, whose sums wrap around, and floats."""
    random = np.random.default_rng(seed)
    return [
        [(random.integers(-(2**63), 2**63 - 1, s), random.normal(size=m)) for s, m in sizes] for _ in range(members)
    ]


def run_round(shared: SharedMemory, round: int, own: list[tuple[Any, Any]], steps: int | None = None) -> list[Any]:
    shared.begin(round)
    results = []
    for sums, maxima in own[:steps]:
        result = sums.copy(), maxima.copy()
        shared.combine(*result)
        results.append(result)
    return results


def twin(given: list[list[tuple[Any, Any]]]) -> list[tuple[Any, Any]]:
    """Return the sums and maxima of all members, step by step."""
    with np.errstate(over="ignore"):
        return [
            (np.sum([sums for sums, _ in step], axis=0), np.max([maxima for _, maxima in step], axis=0))
            for step in zip(*given, strict=True)
        ]


def same(found: list[Any], expected: list[Any]) -> bool:
    return all(
        a.tobytes() == b.tobytes()
        for one, other in zip(found, expected, strict=True)
        for a, b in zip(one, other, strict=True)
    )


SIZES = [(3, 0), (0, 2), (1, 1), (70, 3), (500, 0), (0, 90), (257, 5)]


@pytest.mark.parametrize("each_adds", [0, 200, 1 << 17])
@pytest.mark.parametrize("members", [2, 3, 5])
def test_numbers_equal_those_of_numpy(
    place: MemoryPlace, members: int, each_adds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "EACH_ADDS", each_adds)
    given = {round: brought(members, SIZES, seed=round) for round in (1, 2)}

    def work(member: int) -> list[Any]:
        shared = member_of(place, members, member)
        return [run_round(shared, round, given[round][member]) for round in (1, 2)]

    for found in together(members, work):
        for k, round in enumerate((1, 2)):
            assert same(found[k], twin(given[round]))


def test_more_numbers_than_are_mapped_at_first(place: MemoryPlace) -> None:
    size = memory.LEAST_MAPPED // memory.WORD
    given = brought(2, [(size, 1), (5, 0), (size + 3, 0)], seed=7)
    found = together(2, lambda k: run_round(member_of(place, 2, k), 1, given[k]))
    assert all(same(each, twin(given)) for each in found)


@pytest.mark.parametrize("each_adds", [0, 1 << 17])
@pytest.mark.parametrize("done", [0, 1, 3, len(SIZES) - 1])
def test_a_member_that_is_replaced_repeats_the_round(
    place: MemoryPlace, done: int, each_adds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "EACH_ADDS", each_adds)
    given = brought(3, SIZES, seed=1)

    def work(member: int) -> list[Any]:
        shared = member_of(place, 3, member)
        if member == 1:
            run_round(shared, 4, given[member], steps=done)
            shared = member_of(place, 3, member)
        return run_round(shared, 4, given[member])

    for found in together(3, work):
        assert same(found, twin(given))


class Lost(Exception):  # noqa: N818
    """The death of a member."""


@pytest.mark.parametrize(("each_adds", "at"), [*((0, k) for k in range(1, 15)), *((1 << 17, k) for k in range(1, 8))])
def test_a_member_is_lost_while_the_others_wait(
    place: MemoryPlace, each_adds: int, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "EACH_ADDS", each_adds)
    sizes = [(9, 1)] * 7
    given = brought(3, sizes, seed=2)

    def work(member: int) -> list[Any]:
        shared = member_of(place, 3, member)
        if member == 2:
            waits = iter(range(1, 100))

            def lose(step: int) -> None:
                if next(waits) == at:
                    raise Lost
                wait_until(shared)(step)

            shared.wait = lose
            with pytest.raises(Lost):
                run_round(shared, 1, given[member])
            shared = member_of(place, 3, member)
        return run_round(shared, 1, given[member])

    for found in together(3, work):
        assert same(found, twin(given))


def test_bytes_of_any_length_are_gathered(place: MemoryPlace) -> None:
    given = [b"", b"1", b"12345678", b"\0" * 99_999]

    def work(member: int) -> list[Any]:
        shared = member_of(place, len(given), member)
        shared.begin(1)
        first = shared.gather(given[member])
        shared.combine(np.ones(3, np.int64), np.empty(0))
        return [first, shared.gather(given[-1 - member])]

    for found in together(len(given), work):
        assert found == [given, given[::-1]]


def test_the_first_member_obtains_numbers_for_all(place: MemoryPlace) -> None:
    calls = []

    def work(member: int) -> Any:
        shared = member_of(place, 3, member)
        shared.begin(1)
        sums, maxima = np.full(4, member), np.full(2, float(member))

        def obtain() -> None:
            calls.append(member)
            sums[:], maxima[:] = 7, 0.5

        shared.share(sums, maxima, obtain)
        return sums.tolist(), maxima.tolist()

    assert together(3, work) == [([7] * 4, [0.5] * 2)] * 3
    assert calls == [0]


def test_who_is_late_is_named_and_the_wait_ends(place: MemoryPlace) -> None:
    shared = member_of(place, 3, 0)
    shared.begin(1)
    shared.marks.set(1, shared.step + 1)

    def wait(step: int) -> None:
        assert not shared.marks.wait(step, 0.01)
        raise TimeoutError

    shared.wait = wait
    with pytest.raises(TimeoutError):
        shared.combine(np.ones(1, np.int64), np.empty(0))
    assert shared.late() == [2]


def test_memory_is_opened_by_another_process_and_gone_with_the_last(place: MemoryPlace) -> None:
    script = f"""
import numpy as np
from podium.training.distributed.memory import MemoryPlace, SharedMemory
opened = MemoryPlace("here", {os.getpid()}, {place.file}, {place.name!r}).open()
shared = SharedMemory(opened.file, 2, 1)
shared.begin(1)
sums = np.array([5, 6])
shared.combine(sums, np.empty(0))
print(sums.tolist(), opened.pid, opened.file)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as other:
        shared = member_of(place, 2, 0)
        shared.begin(1)
        sums = np.array([1, 2])
        shared.combine(sums, np.empty(0))
        out, _ = other.communicate(timeout=LIMIT)
    assert sums.tolist() == [6, 8]
    assert out.startswith("[6, 8] ")
    gone = MemoryPlace("here", other.pid, int(out.split()[-1]), place.name)
    assert gone.open() is None
    assert MemoryPlace("here", os.getpid(), place.file, "another name").open() is None


def test_memory_that_may_not_be_opened_is_an_error(place: MemoryPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ClusterError, match=rf"process {place.pid} on this node cannot be opened \(Permission denied\)"):
        place.open()


def test_another_file_that_got_the_number_is_closed(place: MemoryPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    other, opened = new_memory("here"), os.open
    files = []

    def open_other(path: str, flags: int) -> int:
        files.append(opened(f"/proc/self/fd/{other.file}", flags))
        return files[-1]

    monkeypatch.setattr(os, "open", open_other)
    assert place.open() is None
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(files[0])
    os.close(other.file)


def test_a_worker_without_shared_memory_is_a_node_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made = memory_of_worker("here", 3)
    assert (made.node, made.pid) == ("here", os.getpid())
    os.close(made.file)
    closed = []

    def refuse(*_: Any) -> None:
        raise OSError(27, "File too large")

    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", refuse)
        patch.setattr(os, "close", closed.append)
        alone = memory_of_worker("here", 3)
    assert alone == MemoryPlace("here, worker 3", os.getpid(), -1, "none")
    assert len(closed) == 1
    os.close(closed[0])
    monkeypatch.delattr(os, "memfd_create")
    assert memory_of_worker("here", 3) == alone
    assert memory_of_worker("here", 4).node != alone.node


def test_marks_refuse_what_is_not_there() -> None:
    lines = np.zeros(64 * 4, np.uint8)
    lines = lines[(-lines.ctypes.data) % 64 :][: 64 * 3]
    marks = _core.Marks(lines, 2)
    assert (marks.at(0), marks.at(1)) == (0, 0)
    for wrong in (lambda: marks.at(2), lambda: marks.set(2, 1), lambda: _core.Marks(lines, 3)):
        with pytest.raises(ValueError, match="member"):
            wrong()
