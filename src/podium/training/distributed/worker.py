"""A worker: an actor that holds some of the queries and runs the training that all workers run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from podium.data import RankingData
from podium.errors import PodiumError
from podium.formats.shard_parts import ShardPart
from podium.training.checkpoint import Arrays, Checkpoint
from podium.training.distributed.exchanging import GRACE_SECONDS, Fault, RayExchange, Traffic
from podium.training.distributed.hub import Enlisted, StartOver, ignore_interrupts
from podium.training.distributed.memory import SharedMemory, memory_of_worker
from podium.training.progress import Epoch
from podium.training.run import Plan, Trained, TrainingRun


@dataclass(frozen=True)
class WorkerTask:
    """What every worker is told.

    Attributes:
        plan: what to train, with all defaults resolved on the whole data.
        patience: number of seconds that a worker waits for the others.
        saves: whether the driver writes checkpoints.
        faults: where workers die, for tests.
        nodes: for tests, the nodes on which each worker is said to be: at first, and once it was replaced.
    """

    plan: Plan
    patience: float
    saves: bool = False
    faults: tuple[Fault, ...] = ()
    nodes: tuple[tuple[str, str], ...] = ()


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


def loaded_part(part: Any, num_threads: int) -> Any:
    """Return a part of the data; one that is in shards is read."""
    return part.read(num_threads) if isinstance(part, ShardPart) else part


class TrainingWorker:
    """The actor. If it is lost, Ray starts it again, perhaps elsewhere, and calls `train` again with the same arguments."""

    def __init__(self, number: int) -> None:
        ignore_interrupts()
        self.number = number
        self.files: list[int] = []  # descriptors of memory that others open
        self.hub: Any
        self.task: WorkerTask
        self.data: RankingData
        self.valid: RankingData | None
        self.found: tuple[dict[str, Any], Arrays] | None

    def train(self, hub: Any, held: Sequence[Any]) -> tuple[Trained | None, Traffic] | PodiumError:
        """Train together with the others. The first worker returns the model; an error is returned for the driver to raise.

        Args:
            hub: where the workers meet.
            held: the task, this worker's part of the data, or where to read it, and its part of a checkpoint, which the driver
                keeps in the object store.
        """
        import ray

        self.hub = hub
        self.task, data, valid, self.found = ray.get(list(held))
        try:
            threads = self.task.plan.num_threads
            self.data, self.valid = loaded_part(data, threads), loaded_part(valid, threads)
            trained, traffic = self._train(ray)
        except PodiumError as error:
            ray.get(self.hub.fail.remote(error), timeout=GRACE_SECONDS)
            return error
        return trained if self.number == 0 else None, traffic

    def _train(self, ray: Any) -> tuple[Trained, Traffic]:
        starts = True
        while True:
            try:
                exchange, enlisted = self._join(ray, starts=starts)
                trained = self._run(exchange, enlisted.records, enlisted.stopped)
                exchange.call(lambda: self.hub.finish.remote())
                return trained, exchange.traffic
            except StartOver:
                starts = False

    def _join(self, ray: Any, *, starts: bool) -> tuple[RayExchange, Enlisted]:
        """Join the others, and share memory with those of the same node, unless training has ended."""
        context = ray.get_runtime_context()
        node = str(context.get_node_id())
        if self.task.nodes:
            node = self.task.nodes[self.number][context.was_current_actor_reconstructed]
        exchange = RayExchange(ray, self.hub, self.number, self.task.patience)
        for file in self.files:
            os.close(file)
        own = memory_of_worker(node, self.number)
        self.files = [own.file] if own.file >= 0 else []
        enlisted: Enlisted = exchange.call(lambda: self.hub.enlist.remote(self.number, own, starts=starts))
        faults = [fault for fault in self.task.faults if fault.worker == self.number]
        exchange.fault = faults[enlisted.before] if starts and enlisted.before < len(faults) else None
        memory = None
        if enlisted.stopped:  # the others may have returned, and what is left to do needs nobody else
            exchange.join(enlisted.layout, memory)
            return exchange, enlisted
        _, members = enlisted.layout.group_of(self.number)
        if len(members) > 1:
            opened = next((found for place in enlisted.memory if (found := place.open()) is not None), None)
            if opened is None:
                reason = "the workers of a node were all lost"
                exchange.call(lambda: self.hub.lay_out_again.remote(enlisted.layout.version, reason))
                raise StartOver
            self.files.append(opened.file)
            exchange.call(lambda: self.hub.hold_memory.remote(self.number, opened))
            memory = SharedMemory(opened.file, len(members), members.index(self.number))
        exchange.join(enlisted.layout, memory)
        return exchange, enlisted

    def _run(self, exchange: RayExchange, records: list[Any], stopped: bool) -> Trained:
        plan = replace(self.task.plan, exchange=exchange)
        checkpoint = RemoteCheckpoint(exchange, self.found) if self.task.saves else None
        run: TrainingRun = plan.schedule.make_run(plan, self.data, self.valid, checkpoint)
        for record in records:
            run.follow(record)

        def end_round(row: Epoch) -> bool:
            record = run.record() if self.number == 0 else None
            version = exchange.layout.version
            decision = exchange.call(lambda: self.hub.end_round.remote(self.number, row.epoch, version, record))
            if checkpoint is not None:
                checkpoint.wanted = decision.write
            return bool(decision.stop)

        trained = run.run([end_round], stopped=stopped)
        return replace(trained, plan=replace(self.task.plan, survey=None))
