"""The meeting point of the workers: an actor that adds up what they bring, and keeps what a replaced worker needs."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from podium.errors import ClusterError, PodiumError
from podium.exchange import Floats, Integers, NumberedRows, ordered_sum
from podium.training.checkpoint import Arrays
from podium.training.distributed.memory import MemoryPlace

SLOW_SECONDS = 20.0  # after which a worker that the others wait for is named in the log
POLL_SECONDS = 1.0  # for which the driver waits for something to happen
MOST_LOSSES = 10  # of the memory of a node, without a round that ends, before training ends with an error

Key = tuple[int, int]  # round and step in it; round 0 is the preparation


class StartOver(Exception):  # noqa: N818
    """Says to a worker that others share a node now than when it started, so that it starts over as if it had been lost."""


@dataclass(frozen=True)
class Layout:
    """Which workers share a node.

    Attributes:
        version: how often a worker has changed its node so far.
        groups: the workers of each node.
    """

    version: int
    groups: tuple[tuple[int, ...], ...]

    def group_of(self, worker: int) -> tuple[int, tuple[int, ...]]:
        """Return the number and the workers of the group that a worker is in."""
        return next((k, group) for k, group in enumerate(self.groups) if worker in group)


@dataclass(frozen=True)
class Enlisted:
    """What a worker learns when it starts.

    Attributes:
        before: how often it has started before.
        records: the rounds that have ended.
        stopped: whether training has.
        layout: which workers share a node.
        memory: where to find the memory of its node.
    """

    before: int
    records: list[Any]
    stopped: bool
    layout: Layout
    memory: list[MemoryPlace]


@dataclass(frozen=True)
class Decision:
    """What the driver decides after a round: whether training ends, and whether the next one ends with a checkpoint."""

    stop: bool = False
    write: bool = False


@dataclass(frozen=True)
class Event:
    """Something that the driver wants to know: a round that ended, states for a checkpoint, or a sentence for the log."""

    kind: str
    round: int = 0
    content: Any = None


@dataclass
class Meeting:
    """One exchange: who has arrived, what they brought together, and the result once all have.

    Attributes:
        groups: those who meet: each worker, or in an exchange between nodes the workers of each node.
    """

    groups: Sequence[tuple[int, ...]]
    arrived: set[int] = field(default_factory=set)
    brought: dict[int, Any] = field(default_factory=dict)
    result: Any = None
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def gather(self, member: int, value: Any) -> None:
        """Take in what a member brings."""
        self.arrived.add(member)
        self.brought[member] = value
        if len(self.arrived) == len(self.groups):
            self.result = [self.brought[k] for k in range(len(self.groups))]
            self.done.set()

    def combine(self, member: int, sums: list[Integers], maxima: Floats) -> None:
        """Take in the numbers of a member. The result does not depend on the order in which they arrive."""
        self.arrived.add(member)
        if self.result is None:
            self.result = [np.array(part) for part in sums], np.array(maxima)
        else:
            for total, part in zip(self.result[0], sums, strict=True):
                total += part
            np.maximum(self.result[1], maxima, out=self.result[1])
        if len(self.arrived) == len(self.groups):
            self.done.set()

    def forget(self, member: int) -> None:
        """Take back what a member has brought."""
        self.arrived.discard(member)
        self.brought.pop(member, None)

    def late(self) -> list[int]:
        """Return the workers that have not arrived."""
        return sorted(w for k, group in enumerate(self.groups) if k not in self.arrived for w in group)


def ignore_interrupts() -> None:
    """Leave Ctrl-C to the driver. A terminal sends it to all processes on its machine."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


class Hub:
    """The meeting point.

    Every call is idempotent: what a worker brings to a step twice counts once, and the results of the preparation and of the
    current round are kept, so that a worker that was replaced repeats the round while the others wait.

    Args:
        workers: number of workers.
        patience: number of seconds without progress after which training ends with an error.
        asks: whether the driver decides after every round. Otherwise training goes on until its own end.
    """

    def __init__(self, workers: int, patience: float, *, asks: bool = True) -> None:
        ignore_interrupts()
        self.workers, self.patience, self.asks, self.standing = workers, patience, asks, Decision()
        self.each = [(worker,) for worker in range(workers)]
        self.places: dict[int, MemoryPlace] = {}
        self.memories: dict[int, MemoryPlace] = {}  # of the workers that have opened the memory of their node
        self.layout = Layout(0, ())
        self.laid_out = asyncio.Event()
        self.losses = 0  # of the memory of a node, since the last round ended
        self.finished = False  # whether a worker has ended training, so that all will, without the others
        self.steps: dict[Key, Meeting] = {}
        self.records: list[Any] = []  # of the rounds since training started or resumed, or since one that is whole
        self.last = 0  # the round that ended last
        self.ends: dict[int, Meeting] = {}
        self.decisions: dict[int, Decision] = {}
        self.decided: dict[int, asyncio.Event] = {}
        self.states: dict[int, dict[int, Arrays]] = {}
        self.starts = [0] * workers
        self.events: list[Event] = []
        self.taken = 0  # events whose content the driver has, and which is forgotten here
        self.news = asyncio.Event()
        self.named: dict[str, float] = {}  # what took long, and after how many seconds the log said so last
        self.failure: PodiumError | None = None

    # ---- who is where

    async def enlist(self, worker: int, place: MemoryPlace, *, starts: bool = True) -> Enlisted:
        """Return what a worker needs to know that `starts`, or that starts over, once it is known where all workers are."""
        before = self.starts[worker]
        self.starts[worker] += starts
        if starts and before > 0:
            self._tell(Event("log", content=f"worker {worker} was lost and starts again after round {self.last}"))
            for step in self.ends.values():  # it repeats the round, and the others must wait until it has
                if not step.done.is_set():
                    step.forget(worker)
        if self.last > 0:  # the round has ended, but the driver may not have decided yet whether it was the last
            await self._decision(self.last)
        if self._is_over():
            return self._after_the_end(before)
        known = self.places.get(worker)
        if self.laid_out.is_set() and known is not None and known.node != place.node:
            self._start_over(f"worker {worker} is on another node now")
        self.memories.pop(worker, None)
        while True:
            self.places[worker] = place
            self._lay_out()
            await self._limited(
                self.laid_out, "the start", lambda: _named(sorted({*range(self.workers)} - {*self.places}))
            )
            if self._is_over():
                return self._after_the_end(before)
            if self.laid_out.is_set() and worker in self.places:  # it may have changed again
                break
        _, group = self.layout.group_of(worker)
        memory = [self.memories[each] for each in group if each in self.memories]
        return Enlisted(before, self.records, False, self.layout, memory)

    def _is_over(self) -> bool:
        """Return whether no worker needs another one any more."""
        return self.finished or self.decisions.get(self.last, Decision()).stop

    def _after_the_end(self, before: int) -> Enlisted:
        return Enlisted(before, self.records, True, self.layout, [])

    async def finish(self) -> None:
        """Hear from a worker that training has ended. One that was lost since then needs only the records."""
        self.finished = True
        self.laid_out.set()

    def _lay_out(self) -> None:
        if len(self.places) < self.workers or self.laid_out.is_set():
            return
        nodes: dict[str, list[int]] = {}
        for each in range(self.workers):
            nodes.setdefault(self.places[each].node, []).append(each)
        self.layout = replace(self.layout, groups=tuple(map(tuple, nodes.values())))
        self.memories = {group[0]: self.places[group[0]] for group in self.layout.groups}
        self.laid_out.set()

    async def hold_memory(self, worker: int, memory: MemoryPlace) -> None:
        """Hear from a worker where it has opened the memory of its node, for those that are replaced."""
        self.memories[worker] = memory

    async def lay_out_again(self, version: int, reason: str) -> None:
        """Let all workers start over, because the memory of a node is gone."""
        if version != self.layout.version or self._is_over():
            return
        self.losses += 1
        if self.losses > MOST_LOSSES:
            error = ClusterError(
                f"{reason}, {self.losses} times without the end of a round; the workers of a node must see each other's processes in "
                "/proc, so run them in the same container, and see with `ray status` which of them are lost"
            )
            await self.fail(error)
            raise self.failure or error
        self._start_over(reason)

    def _start_over(self, reason: str) -> None:
        self._tell(Event("log", content=f"{reason}: all workers start over after round {self.last}"))
        self.layout = Layout(self.layout.version + 1, ())
        self.laid_out.clear()
        self.places.clear()
        self.memories.clear()
        left = [step for step in (*self.steps.values(), *self.ends.values()) if not step.done.is_set()]
        self.steps = {key: step for key, step in self.steps.items() if step.done.is_set()}
        self.ends = {round: step for round, step in self.ends.items() if step.done.is_set()}
        for step in left:
            step.done.set()

    # ---- steps

    async def gather(self, worker: int, key: Key, version: int, value: Any) -> list[Any]:
        """Return what all workers bring to a step."""
        step = self._step(key, version, self.each)
        if worker not in step.arrived:
            step.gather(worker, value)
        await self._wait(step, f"step {key[1]} of round {key[0]}")
        found: list[Any] = step.result
        return found

    async def add_in_order(self, worker: int, key: Key, version: int, rows: NumberedRows) -> Floats:
        """Return the sum of the rows that all workers bring to a step, in the order of their numbers."""
        step = self._step(key, version, self.each)
        if worker not in step.arrived:
            step.gather(worker, rows)
            if step.done.is_set():
                step.result = ordered_sum(step.result)
                step.brought.clear()
        await self._wait(step, f"step {key[1]} of round {key[0]}")
        total: Floats = step.result
        return total

    async def combine(
        self, member: int, key: Key, version: int, sums: Integers, maxima: Floats
    ) -> tuple[Integers, Floats]:
        """Return the sums and the largest of the numbers that all bring to a step."""
        (total,), largest = await self._combined(member, key, version, [sums], maxima)
        return total, largest

    async def add_parts(self, member: int, key: Key, version: int, *parts: Integers) -> list[Integers]:
        """Return the sums of arrays that are sent in parts."""
        return (await self._combined(member, key, version, list(parts), np.empty(0)))[0]

    async def _combined(
        self, member: int, key: Key, version: int, sums: list[Integers], maxima: Floats
    ) -> tuple[list[Integers], Floats]:
        step = self._step(key, version, self.layout.groups if key[0] > 0 else self.each)
        if member not in step.arrived and not step.done.is_set():  # there may be more nodes now than when it was done
            step.combine(member, sums, maxima)
        await self._wait(step, f"step {key[1]} of round {key[0]}")
        found: tuple[list[Integers], Floats] = step.result
        return found

    def _step(self, key: Key, version: int, groups: Sequence[tuple[int, ...]]) -> Meeting:
        if version != self.layout.version:
            raise StartOver
        return self.steps.setdefault(key, Meeting(groups))

    async def wait_for(self, late: list[int], key: Key, version: int, waited: float) -> None:
        """Hear from a worker for which others of its node it has waited; raise an error if it should not go on.

        Those may themselves wait here for other nodes, which are then the ones that are late.
        """
        if self.failure is not None:
            raise self.failure
        if self.finished or version != self.layout.version:
            raise StartOver
        if not late:
            return
        step = self.steps.get(key)
        if step is not None and not step.done.is_set() and not set(late) & set(step.late()):
            late = step.late()
        await self._judge_wait(f"step {key[1]} of round {key[0]}", _named(late), waited)

    # ---- rounds

    async def end_round(self, worker: int, round: int, version: int, record: Any) -> Decision:
        """Return what the driver decides, once all workers have ended a round, and the first has brought the record of it."""
        if version != self.layout.version:
            raise StartOver
        step = self.ends.setdefault(round, Meeting(self.each))
        if worker not in step.arrived:
            step.gather(worker, record)
            if step.done.is_set():
                whole = getattr(step.result[0], "is_whole", False)
                self.records = [step.result[0]] if whole else [*self.records, step.result[0]]
                self.last, self.losses = round, 0
                self.steps = {key: kept for key, kept in self.steps.items() if key[0] in (0, round + 1)}
                if not self.asks:
                    await self.decide(round, self.standing)
                self._tell(Event("round", round, step.result[0].row))
        await self._wait(step, f"the end of round {round}")
        await self._decision(round)
        return self.decisions[round]

    async def _decision(self, round: int) -> None:
        decided = self.decided.setdefault(round, asyncio.Event())
        await self._limited(decided, f"the end of round {round}", lambda: "the program that started the training")

    async def end(self) -> None:
        """Let training end after the next round that is not decided yet, if the driver does not decide after every round."""
        self.standing = Decision(stop=True)

    async def decide(self, round: int, decision: Decision) -> None:
        """Receive the driver's decision after a round. Workers may have acted on the first one, so a second one changes nothing."""
        self.decisions.setdefault(round, decision)
        self.decided.setdefault(round, asyncio.Event()).set()

    async def give_state(self, worker: int, round: int, numbers: dict[str, Any], arrays: Arrays) -> None:
        """Receive a worker's part of a checkpoint."""
        states = self.states.setdefault(round, {})
        states[worker] = arrays
        if len(states) == self.workers:
            self._tell(Event("state", round, (numbers, [states[k] for k in range(self.workers)])))
            self.states = {key: kept for key, kept in self.states.items() if key > round}

    async def fail(self, failure: PodiumError) -> None:
        """Let all workers that wait raise an error, because one of them cannot go on."""
        self.failure = self.failure or failure
        waiting = [*self.steps.values(), *self.ends.values()]
        for event in (self.laid_out, *(step.done for step in waiting), *self.decided.values()):
            event.set()

    async def next_events(self, seen: int) -> list[Event]:
        """Return the events after the first `seen`, and forget what those held; if the driver decides, wait a little for one."""
        for number in range(self.taken, seen):  # a checkpoint holds the scores of all documents
            self.events[number] = replace(self.events[number], content=None)
        self.taken = max(self.taken, seen)
        if self.asks and len(self.events) <= seen:
            self.news.clear()
            try:
                await asyncio.wait_for(self.news.wait(), POLL_SECONDS)
            except TimeoutError:
                return []
        return self.events[seen:]

    def _tell(self, event: Event) -> None:
        self.events.append(event)
        self.news.set()

    async def _wait(self, step: Meeting, where: str) -> None:
        await self._limited(step.done, where, lambda: _named(step.late()))
        if len(step.arrived) < len(step.groups):
            raise StartOver

    async def _limited(self, event: asyncio.Event, where: str, missing: Callable[[], str]) -> None:
        if self.failure is not None:  # a step that begins later would wait for workers that have ended
            raise self.failure
        began = time.monotonic()
        while not event.is_set():
            try:
                await asyncio.wait_for(event.wait(), min(SLOW_SECONDS, self.patience))
            except TimeoutError:
                await self._judge_wait(where, missing(), time.monotonic() - began)
        if self.failure is not None:
            raise self.failure

    async def _judge_wait(self, where: str, missing: str, waited: float) -> None:
        """Name who is late in the log, less and less often, and end training when patience ends."""
        if waited >= self.patience:
            error = ClusterError(
                f"waited {self.patience:g} s for {missing} at {where}, without any progress; give the engine more patience, as in "
                "ray(patience=7200), or see with `ray status` what the workers do"
            )
            await self.fail(error)
            raise self.failure or error
        if waited >= max(SLOW_SECONDS, 2 * self.named.get(where, 0.0)):
            self.named[where] = waited
            self._tell(Event("log", content=f"the others have waited {waited:.0f} s for {missing} at {where}"))


def _named(workers: Sequence[int]) -> str:
    return f"worker{'s' if len(workers) > 1 else ''} {', '.join(map(str, workers))}"
