"""The exchange of a worker: memory that it shares with the workers of its node, and calls of the hub for the rest."""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.errors import ClusterError, PodiumError
from podium.exchange import Exchange, Floats, Integers
from podium.training.distributed.hub import Layout, StartOver
from podium.training.distributed.memory import SharedMemory

INLINE = 12_000  # numbers that Ray sends with a call
MOST_INLINE = 120_000  # from where on its object store is faster
GRACE_SECONDS = 60.0  # beyond the patience of the hub, which names who is late
LOOK_SECONDS = 0.5  # after which a worker that waits in shared memory asks the hub whether all is well


@dataclass(frozen=True)
class Fault:
    """Where a worker dies, for tests: at a step of a round, before or after the others have what it brings."""

    worker: int
    round: int
    step: int
    after: bool = False


@dataclass
class Traffic:
    """What a worker has exchanged since it started: the number of exchanges, the bytes that it brought, and the seconds that it waited.

    Attributes:
        hub_bytes: the bytes that it sent through the hub; the other ones went into memory that its node shares.
    """

    exchanges: int = 0
    bytes: int = 0
    hub_bytes: int = 0
    seconds: float = 0.0


class RayExchange(Exchange):
    """The exchange of a worker. Steps are numbered by round, so that one that is repeated has the same result.

    The preparation (round 0) goes through the hub, which keeps what all have brought to it. In the rounds, workers of one node
    add their numbers in memory that they share, and the first of them brings the sums to the hub if there are other nodes.
    """

    def __init__(self, ray: Any, hub: Any, number: int, patience: float, fault: Fault | None = None) -> None:
        self.ray, self.hub, self.number, self.patience, self.fault = ray, hub, number, patience, fault
        self.round = self.step = 0
        self.traffic = Traffic()
        self.layout: Layout
        self.memory: SharedMemory | None = None

    def join(self, layout: Layout, memory: SharedMemory | None) -> None:
        """Say which workers share a node, and give the memory in which those of this node meet."""
        self.layout, self.memory = layout, memory
        if memory is not None:
            memory.wait = self._wait

    def begin(self, round: int) -> None:
        """Count the steps of a round."""
        self.round, self.step = round, 0
        if self.memory is not None:
            self.memory.begin(round)

    def gather(self, own: Any) -> list[Any]:
        """Return what every worker gives."""
        key = self._next()
        if self.round > 0 and self.memory is not None and len(self.layout.groups) == 1:
            given = pickle.dumps(own, pickle.HIGHEST_PROTOCOL)
            memory = self.memory
            parts = self._counted(lambda: memory.gather(given), len(given))
            return [pickle.loads(part) for part in parts]
        found: list[Any] = self.call(
            lambda: self.hub.gather.remote(self.number, key, self.layout.version, own), getattr(own, "nbytes", 0)
        )
        return found

    def combine(self, sums: Integers, maxima: Floats) -> None:
        """Replace each number by the sum or the largest of the workers."""
        key, size = self._next(), sums.nbytes + maxima.nbytes
        if self.round == 0:
            return self._combine_at_hub(self.number, key, sums, maxima)
        group, _ = self.layout.group_of(self.number)
        if self.memory is None:
            if len(self.layout.groups) > 1:
                self._combine_at_hub(group, key, sums, maxima)
            return None
        memory = self.memory
        self._counted(lambda: memory.combine(sums, maxima), size)
        if len(self.layout.groups) > 1:
            memory.share(sums, maxima, lambda: self._combine_at_hub(group, key, sums, maxima))
        return None

    def add_in_order(self, start: Floats, places: Integers, rows: Floats) -> Floats:
        """Return the sum, which the hub computes: the rows of all updates of a round would fill the shared memory."""
        key, version, own = self._next(), self.layout.version, self.numbered(start, places, rows)
        found: Floats = self.call(lambda: self.hub.add_in_order.remote(self.number, key, version, own), rows.nbytes)
        return found

    def _next(self) -> tuple[int, int]:
        self.step += 1
        return self.round, self.step

    def _combine_at_hub(self, member: int, key: tuple[int, int], sums: Integers, maxima: Floats) -> None:
        size, version = len(sums) + len(maxima), self.layout.version
        # Ray sends small arrays with the call itself, which is faster than by its object store.
        inline = len(maxima) == 0 and INLINE < size <= MOST_INLINE
        parts = [sums[first : first + INLINE] for first in range(0, size, INLINE)] if inline else [sums, maxima]
        method = self.hub.add_parts if inline else self.hub.combine
        call = method.options(num_returns=len(parts))
        found = self.call(lambda: call.remote(member, key, version, *parts), sums.nbytes + maxima.nbytes)
        if inline:
            np.concatenate(found, out=sums)
        else:
            sums[:], maxima[:] = found

    def _counted(self, work: Callable[[], Any], size: int) -> Any:
        began = time.perf_counter()
        self._die(after=False)
        result = work()
        self.traffic.exchanges += 1
        self.traffic.bytes += size
        self.traffic.seconds += time.perf_counter() - began
        return result

    def _wait(self, step: int) -> None:
        """Wait until all workers of the node have done a step; ask the hub again and again whether they still can."""
        assert self.memory is not None
        self._die(after=True)
        began = time.monotonic()
        while not self.memory.marks.wait(step, min(LOOK_SECONDS, self.patience)):
            _, members = self.layout.group_of(self.number)
            late = [members[k] for k in self.memory.late()]
            waited, key = time.monotonic() - began, (self.round, self.step)
            self.call(lambda: self.hub.wait_for.remote(late, key, self.layout.version, waited))  # noqa: B023

    def call(self, remote: Callable[[], Any], size: int = 0) -> Any:
        """Return what a call of the hub returns; a lost hub is a ClusterError."""
        from ray.exceptions import GetTimeoutError, RayError, RayTaskError

        began = time.perf_counter()
        self._die(after=False)
        try:
            reference = remote()
            if self.fault is not None and self.fault.after:
                self.ray.wait(reference if isinstance(reference, list) else [reference], timeout=0.2)
                self._die(after=True)
            result = self.ray.get(reference, timeout=self.patience + GRACE_SECONDS)
        except GetTimeoutError:
            raise ClusterError(f"worker {self.number}: the hub did not answer for {self.patience:g} s") from None
        except RayTaskError as error:
            raise error.cause if isinstance(error.cause, PodiumError | StartOver) else error from None
        except RayError as error:
            reason = str(error).strip().splitlines()[0]
            raise ClusterError(
                f"the actor at which the workers meet was lost ({reason}); train again with the same checkpoint to resume"
            ) from None
        if size:
            self.traffic.exchanges += 1
            self.traffic.bytes += size
            self.traffic.hub_bytes += size
        self.traffic.seconds += time.perf_counter() - began
        return result

    def _die(self, *, after: bool) -> None:
        fault = self.fault
        if fault is not None and (fault.round, fault.step, fault.after) == (self.round, self.step, after):
            os.kill(os.getpid(), signal.SIGKILL)
