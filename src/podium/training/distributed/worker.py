"""A worker: an actor that holds some of the queries and runs the training that all workers run."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from podium.data import RankingData
from podium.errors import ClusterError, PodiumError
from podium.exchange import Exchange, Floats, Integers
from podium.training.checkpoint import Arrays, Checkpoint
from podium.training.distributed.hub import ignore_interrupts
from podium.training.progress import Epoch
from podium.training.run import Plan, Trained, TrainingRun

INLINE = 12_000  # numbers that Ray sends with a call
MOST_INLINE = 120_000  # from where on its object store is faster
GRACE_SECONDS = 60.0  # beyond the patience of the hub, which names who is late


@dataclass(frozen=True)
class Fault:
    """Where a worker dies, for tests: at a step of a round, before or after the hub has what it brings."""

    worker: int
    round: int
    step: int
    after: bool = False


@dataclass(frozen=True)
class WorkerTask:
    """What every worker is told.

    Attributes:
        plan: what to train, with all defaults resolved on the whole data.
        patience: number of seconds that a worker waits for the others.
        saves: whether the driver writes checkpoints.
        faults: where workers die, for tests.
    """

    plan: Plan
    patience: float
    saves: bool = False
    faults: tuple[Fault, ...] = ()


@dataclass
class Traffic:
    """What a worker has exchanged since it started."""

    exchanges: int = 0
    bytes: int = 0
    seconds: float = 0.0


class RayExchange(Exchange):
    """The exchange of a worker: calls of the hub, numbered by round and step."""

    def __init__(self, ray: Any, hub: Any, number: int, task: WorkerTask, fault: Fault | None) -> None:
        self.ray, self.hub, self.number, self.task, self.fault = ray, hub, number, task, fault
        self.round = self.step = 0
        self.traffic = Traffic()

    def begin(self, round: int) -> None:
        """Count the steps of a round."""
        self.round, self.step = round, 0

    def gather(self, own: Any) -> list[Any]:
        """Return what every worker gives."""
        self.step += 1
        key = self.round, self.step
        size = getattr(own, "nbytes", 0)
        found: list[Any] = self.call(lambda: self.hub.gather.remote(self.number, key, own), size)
        return found

    def combine(self, sums: Integers, maxima: Floats) -> None:
        """Replace each number by the sum or the largest of the workers."""
        size = len(sums) + len(maxima)
        self.step += 1
        key = self.round, self.step
        if len(maxima) or not INLINE < size <= MOST_INLINE:
            sums[:], maxima[:] = self.call(lambda: self.hub.combine.remote(self.number, key, sums, maxima), 8 * size)
            return
        # Ray sends small arrays with the call itself, which is faster than by its object store.
        parts = [sums[first : first + INLINE] for first in range(0, size, INLINE)]
        call = self.hub.add_parts.options(num_returns=len(parts))
        found = self.call(lambda: call.remote(self.number, key, *parts), 8 * size)
        np.concatenate(found, out=sums)

    def add_in_order(self, start: Floats, places: Integers, rows: Floats) -> Floats:
        """Return the sum that the hub computes."""
        self.step += 1
        key, own = (self.round, self.step), self.numbered(start, places, rows)
        found: Floats = self.call(lambda: self.hub.add_in_order.remote(self.number, key, own), rows.nbytes)
        return found

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
            result = self.ray.get(reference, timeout=self.task.patience + GRACE_SECONDS)
        except GetTimeoutError:
            raise ClusterError(f"worker {self.number}: the hub did not answer for {self.task.patience:g} s") from None
        except RayTaskError as error:
            raise error.cause if isinstance(error.cause, PodiumError) else error from None
        except RayError as error:
            reason = str(error).strip().splitlines()[0]
            raise ClusterError(
                f"the actor at which the workers meet was lost ({reason}); train again with the same checkpoint to resume"
            ) from None
        self.traffic.exchanges += 1
        self.traffic.bytes += size
        self.traffic.seconds += time.perf_counter() - began
        return result

    def _die(self, *, after: bool) -> None:
        fault = self.fault
        if fault is not None and (fault.round, fault.step, fault.after) == (self.round, self.step, after):
            os.kill(os.getpid(), signal.SIGKILL)


class RemoteCheckpoint(Checkpoint):
    """A checkpoint whose file the driver reads and writes: it gets this worker's part of the state, and gives it."""

    checks_identity: ClassVar[bool] = False

    def __init__(self, exchange: RayExchange, found: tuple[dict[str, Any], Arrays] | None) -> None:
        super().__init__("the checkpoint")
        self.exchange, self.found, self.wanted = exchange, found, False

    def read(self, identity: dict[str, str], *, epochs: int | None = None) -> tuple[dict[str, Any], Arrays] | None:
        """Return what the driver has read."""
        return None if self.found is None else (self.found[0], dict(self.found[1]))

    @property
    def due(self) -> bool:
        """Return whether the driver wants a checkpoint at the end of this round."""
        return self.wanted

    def write(self, identity: dict[str, str], numbers: dict[str, Any], arrays: Arrays) -> None:
        """Give this worker's part to the driver."""
        hub, number = self.exchange.hub, self.exchange.number
        arrays = {name: np.array(array) for name, array in arrays.items()}
        self.exchange.call(lambda: hub.give_state.remote(number, numbers["epoch"], numbers, arrays))


class TrainingWorker:
    """The actor. If it is lost, Ray starts it again, perhaps elsewhere, and calls `train` again with the same arguments."""

    def __init__(self, number: int) -> None:
        ignore_interrupts()
        self.number = number
        self.hub: Any
        self.task: WorkerTask
        self.data: RankingData
        self.valid: RankingData | None
        self.found: tuple[dict[str, Any], Arrays] | None

    def train(self, hub: Any, held: Sequence[Any]) -> tuple[Trained | None, Traffic] | PodiumError:
        """Train together with the others. The first worker returns the model; an error is returned for the driver to raise.

        Args:
            hub: where the workers meet.
            held: the task, and this worker's part of the data and of a checkpoint, which the driver keeps in the object store.
        """
        import ray

        self.hub = hub
        self.task, self.data, self.valid, self.found = ray.get(list(held))
        started, records, stopped = ray.get(self.hub.enlist.remote(self.number), timeout=self.task.patience)
        faults = [fault for fault in self.task.faults if fault.worker == self.number]
        fault = faults[started] if started < len(faults) else None
        exchange = RayExchange(ray, self.hub, self.number, self.task, fault)
        try:
            trained = self._run(exchange, records, stopped)
        except PodiumError as error:
            ray.get(self.hub.fail.remote(error), timeout=GRACE_SECONDS)
            return error
        return trained if self.number == 0 else None, exchange.traffic

    def _run(self, exchange: RayExchange, records: list[Any], stopped: bool) -> Trained:
        plan = replace(self.task.plan, exchange=exchange)
        checkpoint = RemoteCheckpoint(exchange, self.found) if self.task.saves else None
        run: TrainingRun = plan.schedule.make_run(plan, self.data, self.valid, checkpoint)
        for record in records:
            run.follow(record)

        def end_round(row: Epoch) -> bool:
            decision = exchange.call(lambda: self.hub.end_round.remote(self.number, row.epoch, run.record()))
            if checkpoint is not None:
                checkpoint.wanted = decision.write
            return bool(decision.stop)

        trained = run.run([end_round], stopped=stopped)
        return replace(trained, plan=replace(self.task.plan, survey=None))
