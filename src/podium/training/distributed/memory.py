"""Memory that the workers of one node share: they add their numbers in it, and never send them."""

from __future__ import annotations

import mmap
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from podium import _core
from podium.errors import ClusterError
from podium.exchange import Floats, Integers

WORD = 8
MARK_BYTES = 64  # of a member, and as many for all of them
FILE_BYTES = 1 << 44  # the file is sparse: only what was written takes memory
RESULTS, OWN = 1 << 32, 1 << 43  # where the results of a round begin in the file, and the numbers of each member
LEAST_MAPPED = 1 << 22
EACH_ADDS = 1 << 17  # numbers of the others up to which every member adds them all; of more, it adds a share

Wait = Callable[[int], None]


@dataclass(frozen=True)
class MemoryPlace:
    """Where memory of a worker is: its node, its process, and a file of that process.

    Attributes:
        node: the node.
        pid: the process.
        file: the descriptor there; -1 if the worker cannot share memory.
        name: the name of the memory, which no other memory has.
    """

    node: str
    pid: int
    file: int
    name: str

    def open(self) -> MemoryPlace | None:
        """Return the same memory, opened in this process; None if the other process is gone."""
        path = Path(f"/proc/{self.pid}/fd/{self.file}")
        try:
            if self.name not in str(path.readlink()):
                return None
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except (FileNotFoundError, ProcessLookupError):
            return None
        except OSError as error:
            raise ClusterError(
                f"the memory of process {self.pid} on this node cannot be opened ({error.strerror}); run all workers of a node as "
                "the same user, with enough open files (`ulimit -n`)"
            ) from None
        if self.name not in str(Path(f"/proc/self/fd/{file}").readlink()):  # another process got the number since then
            os.close(file)
            return None
        return replace(self, pid=os.getpid(), file=file)


def new_memory(node: str) -> MemoryPlace:
    """Return new memory of this process. It has no name in any folder, so it is gone with the last process that opened it."""
    name = f"podium-{uuid.uuid4().hex}"
    file = os.memfd_create(name)
    try:
        os.ftruncate(file, FILE_BYTES)
    except OSError:
        os.close(file)
        raise
    return MemoryPlace(node, os.getpid(), file, name)


def memory_of_worker(node: str, worker: int) -> MemoryPlace:
    """Return new memory of a worker. One that cannot share memory is a node of its own, and needs none.

    Python has no `memfd_create` if it was built for an old C library, and a limit of the size of files (`ulimit -f`) is one of
    memory, too.
    """
    try:
        return new_memory(node)
    except (AttributeError, OSError):
        return MemoryPlace(f"{node}, worker {worker}", os.getpid(), -1, "none")


class SharedMemory:
    """The memory of a group of workers, as one of them sees it.

    Results of the current round stay where they are, one after the other, so that a worker that was replaced finds those of the
    steps that the others have done. Where a result is follows from the sizes of those before it.

    Args:
        file: a descriptor of the memory.
        members: number of workers of the group.
        member: the number of this one, from 0.
        wait: called with a step; it returns once all members have set their mark to it.
    """

    def __init__(self, file: int, members: int, member: int, wait: Wait | None = None) -> None:
        self.members, self.member = members, member
        lines = np.frombuffer(mmap.mmap(file, MARK_BYTES * (members + 1)), np.uint8)
        self.marks = _core.Marks(lines, members)
        self.results, self.own = MappedWords(file, RESULTS), MappedWords(file, OWN)
        self.wait: Wait = wait or self._wait
        self.step = self.used = 0

    def begin(self, round: int) -> None:
        """Forget the results of earlier rounds. All members have ended them."""
        self.step, self.used = round << 32, 0

    def combine(self, sums: Integers, maxima: Floats) -> None:
        """Replace each number by the sum or the largest of the members."""
        size = len(sums) + len(maxima)
        if (self.members - 1) * size <= EACH_ADDS:
            rows = self._kept(self.members * size).reshape(self.members, size)
            if self._begins():
                _write(rows[self.member], sums, maxima)
            self._meet()
            _combine(rows, sums, maxima)
            return
        # The rows are overwritten in the next step, but not before all members have added their shares.
        rows = self.own.words(0, self.members * size).reshape(self.members, size)
        if self._begins():
            _write(rows[self.member], sums, maxima)
        self._meet()
        result = self._kept(size)
        if self._begins():
            bounds = [len(part) * k // self.members for k in (self.member, self.member + 1) for part in (sums, maxima)]
            added, largest = slice(bounds[0], bounds[2]), slice(len(sums) + bounds[1], len(sums) + bounds[3])
            np.add.reduce(rows[:, added], axis=0, out=result[added])
            np.max(rows[:, largest].view(np.float64), axis=0, out=result[largest].view(np.float64), initial=-np.inf)
        self._meet()
        _read(result, sums, maxima)

    def gather(self, own: bytes) -> list[bytes]:
        """Return the bytes of all members."""
        sizes = self._kept(self.members)
        if self._begins():
            sizes[self.member] = len(own)
        self._meet()
        ends = np.cumsum((sizes + WORD - 1) // WORD)
        words = self._kept(int(ends[-1])).view(np.uint8)
        starts = WORD * np.concatenate([[0], ends[:-1]])
        if self._begins():
            words[starts[self.member] : starts[self.member] + len(own)] = np.frombuffer(own, np.uint8)
        self._meet()
        return [words[start : start + size].tobytes() for start, size in zip(starts, sizes, strict=True)]

    def share(self, sums: Integers, maxima: Floats, obtain: Callable[[], object]) -> None:
        """Let the first member obtain the numbers, which changes them in place, and take them over from it."""
        result = self._kept(len(sums) + len(maxima))
        if self.member == 0 and self._begins():
            obtain()
            _write(result, sums, maxima)
        self._meet()
        _read(result, sums, maxima)

    def _kept(self, size: int) -> Integers:
        first = self.used
        self.used += size
        return self.results.words(first, size)

    def _begins(self) -> bool:
        """Return whether this member has not done the next step, perhaps in a process before this one."""
        return self.marks.at(self.member) <= self.step

    def _meet(self) -> None:
        if self._begins():
            self.marks.set(self.member, self.step + 1)
        self.step += 1
        self.wait(self.step)

    def _wait(self, step: int) -> None:
        while not self.marks.wait(step, 1.0):
            continue

    def late(self) -> list[int]:
        """Return the members that have not done the step that this one has done."""
        return [k for k in range(self.members) if self.marks.at(k) < self.step]


class MappedWords:
    """A part of a file as whole numbers, of which as many are mapped as were asked for."""

    def __init__(self, file: int, offset: int) -> None:
        self.file, self.offset = file, offset
        self.mapped = np.empty(0, np.int64)

    def words(self, first: int, count: int) -> npt.NDArray[np.int64]:
        """Return some of the numbers, to read and to write."""
        if (first + count) * WORD > self.mapped.nbytes:
            size = max(LEAST_MAPPED, 1 << ((first + count) * WORD - 1).bit_length())
            self.mapped = np.frombuffer(mmap.mmap(self.file, size, offset=self.offset), np.int64)
        return self.mapped[first : first + count]


def _write(row: Integers, sums: Integers, maxima: Floats) -> None:
    row[: len(sums)] = sums
    row[len(sums) :] = maxima.view(np.int64)


def _read(row: Integers, sums: Integers, maxima: Floats) -> None:
    sums[:] = row[: len(sums)]
    maxima[:] = row[len(sums) :].view(np.float64)


def _combine(rows: Integers, sums: Integers, maxima: Floats) -> None:
    np.add.reduce(rows[:, : len(sums)], axis=0, out=sums)
    if len(maxima):
        np.max(rows[:, len(sums) :].view(np.float64), axis=0, out=maxima)
