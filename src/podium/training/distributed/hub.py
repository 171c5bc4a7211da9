"""The meeting point of the workers: an actor that adds up what they bring, and keeps what a replaced worker needs."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from podium.errors import ClusterError, PodiumError
from podium.exchange import Floats, Integers, NumberedRows, ordered_sum
from podium.training.checkpoint import Arrays

SLOW_SECONDS = 20.0  # after which a worker that the others wait for is named in the log
POLL_SECONDS = 1.0  # for which the driver waits for something to happen

Key = tuple[int, int]  # round and step in it; round 0 is the preparation


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
    """One exchange: who has arrived, what they brought together, and the result once all have."""

    arrived: set[int] = field(default_factory=set)
    brought: dict[int, Any] = field(default_factory=dict)
    result: Any = None
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def gather(self, worker: int, value: Any, workers: int) -> None:
        """Take in what a worker brings."""
        self.arrived.add(worker)
        self.brought[worker] = value
        if len(self.arrived) == workers:
            self.result = [self.brought[k] for k in range(workers)]
            self.done.set()

    def combine(self, worker: int, sums: list[Integers], maxima: Floats, workers: int) -> None:
        """Take in the numbers of a worker. The result does not depend on the order in which they arrive."""
        self.arrived.add(worker)
        if self.result is None:
            self.result = [np.array(part) for part in sums], np.array(maxima)
        else:
            for total, part in zip(self.result[0], sums, strict=True):
                total += part
            np.maximum(self.result[1], maxima, out=self.result[1])
        if len(self.arrived) == workers:
            self.done.set()


def ignore_interrupts() -> None:
    """Leave Ctrl-C to the driver. A terminal sends it to all processes on its machine."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


class Hub:
    """The meeting point.

    Every call is idempotent: what a worker brings to a step twice counts once, and the results of the preparation and of the
    current round are kept, so that a worker that was replaced repeats the round while the others wait.
    """

    def __init__(self, workers: int, patience: float) -> None:
        ignore_interrupts()
        self.workers, self.patience = workers, patience
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
        self.failure: PodiumError | None = None

    async def enlist(self, worker: int) -> tuple[int, list[Any], bool]:
        """Return how often the worker has started before, the rounds that have ended, and whether training has."""
        before = self.starts[worker]
        self.starts[worker] += 1
        if before > 0:
            self._tell(Event("log", content=f"worker {worker} was lost and starts again after round {self.last}"))
        if self.last > 0:  # the round has ended, but the driver may not have decided yet whether it was the last
            await self._decision(self.last)
        last = self.decisions.get(self.last)
        return before, self.records, last is not None and last.stop

    async def gather(self, worker: int, key: Key, value: Any) -> list[Any]:
        """Return what all workers bring to a step."""
        step = self.steps.setdefault(key, Meeting())
        if worker not in step.arrived:
            step.gather(worker, value, self.workers)
        await self._wait(step, f"step {key[1]} of round {key[0]}")
        found: list[Any] = step.result
        return found

    async def add_in_order(self, worker: int, key: Key, rows: NumberedRows) -> Floats:
        """Return the sum of the rows that all workers bring to a step, in the order of their numbers."""
        step = self.steps.setdefault(key, Meeting())
        if worker not in step.arrived:
            step.gather(worker, rows, self.workers)
            if step.done.is_set():
                step.result = ordered_sum(step.result)
                step.brought.clear()
        await self._wait(step, f"step {key[1]} of round {key[0]}")
        total: Floats = step.result
        return total

    async def combine(self, worker: int, key: Key, sums: Integers, maxima: Floats) -> tuple[Integers, Floats]:
        """Return the sums and the largest of the numbers that all workers bring to a step."""
        (total,), largest = await self._combined(worker, key, [sums], maxima)
        return total, largest

    async def add_parts(self, worker: int, key: Key, *parts: Integers) -> list[Integers]:
        """Return the sums of arrays that are sent in parts."""
        return (await self._combined(worker, key, list(parts), np.empty(0)))[0]

    async def _combined(
        self, worker: int, key: Key, sums: list[Integers], maxima: Floats
    ) -> tuple[list[Integers], Floats]:
        step = self.steps.setdefault(key, Meeting())
        if worker not in step.arrived:
            step.combine(worker, sums, maxima, self.workers)
        await self._wait(step, f"step {key[1]} of round {key[0]}")
        found: tuple[list[Integers], Floats] = step.result
        return found

    async def end_round(self, worker: int, round: int, record: Any) -> Decision:
        """Return what the driver decides, once all workers have ended a round."""
        step = self.ends.setdefault(round, Meeting())
        if worker not in step.arrived:
            step.gather(worker, None, self.workers)
            if step.done.is_set():
                self.records = [record] if getattr(record, "is_whole", False) else [*self.records, record]
                self.last = round
                self.steps = {key: kept for key, kept in self.steps.items() if key[0] in (0, round + 1)}
                self._tell(Event("round", round, record.row))
        await self._wait(step, f"the end of round {round}")
        await self._decision(round)
        return self.decisions[round]

    async def _decision(self, round: int) -> None:
        decided = self.decided.setdefault(round, asyncio.Event())
        await self._limited(decided, lambda: "the program that started the training")

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
        for event in (*(step.done for step in waiting), *self.decided.values()):
            event.set()

    async def next_events(self, seen: int) -> list[Event]:
        """Return the events after the first `seen`, and forget what those held; wait a little if there are none."""
        for number in range(self.taken, seen):  # a checkpoint holds the scores of all documents
            self.events[number] = replace(self.events[number], content=None)
        self.taken = max(self.taken, seen)
        if len(self.events) <= seen:
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
        def missing() -> str:
            late = sorted(set(range(self.workers)) - step.arrived)
            return f"worker{'s' if len(late) > 1 else ''} {', '.join(map(str, late))} at {where}"

        await self._limited(step.done, missing)

    async def _limited(self, event: asyncio.Event, missing: Any) -> None:
        if self.failure is not None:  # a step that begins later would wait for workers that have ended
            raise self.failure
        began, slow = time.monotonic(), SLOW_SECONDS
        while not event.is_set():
            try:
                await asyncio.wait_for(event.wait(), min(SLOW_SECONDS, self.patience))
            except TimeoutError:
                waited = time.monotonic() - began
                if waited >= self.patience:
                    await self.fail(
                        ClusterError(
                            f"waited {self.patience:g} s for {missing()}, without any progress; give the engine more patience, as in "
                            "ray(patience=7200), or see with `ray status` what the workers do"
                        )
                    )
                elif waited >= slow:
                    slow = 2 * waited
                    self._tell(Event("log", content=f"the others have waited {waited:.0f} s for {missing()}"))
        if self.failure is not None:
            raise self.failure
