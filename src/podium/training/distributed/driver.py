"""The driver of a distributed training: it hands out the queries, follows the rounds, and writes the checkpoints."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.cluster import Ray, connect
from podium.data import RankingData
from podium.data.canonical import canonical_order
from podium.errors import ClusterError, DataError, PodiumError
from podium.exchange import ALONE
from podium.formats.shard_parts import ShardPart, shard_part
from podium.formats.shards import cuts
from podium.training.checkpoint import Arrays, Checkpoint
from podium.training.distributed.exchanging import Fault, Traffic
from podium.training.distributed.hub import POLL_SECONDS, Decision, Event, Hub
from podium.training.distributed.worker import TrainingWorker, WorkerTask
from podium.training.progress import Callback, Epoch
from podium.training.run import Plan, Trained

log = logging.getLogger("podium.cluster")
RESTARTS = 10  # of one worker, before training ends with an error
Rows = npt.NDArray[np.int64]


def train_on_cluster(
    plan: Plan,
    data: RankingData,
    *,
    valid: RankingData | None,
    callbacks: Sequence[Callback],
    checkpoint: Checkpoint | None,
    faults: tuple[Fault, ...] = (),
    nodes: tuple[tuple[str, str], ...] = (),
) -> Trained:
    """Train a resolved plan with the workers of its engine; the model is that of one process.

    Args:
        plan: what to train.
        data: the training data, of which each worker gets some of the queries.
        valid: the validation data.
        callbacks: called here with every row of the log.
        checkpoint: a file that is the same as that of a training in one process, which could resume from it.
        faults: where workers die, for tests.
        nodes: the nodes on which workers are said to be, for tests.
    """
    assert isinstance(plan.engine, Ray)
    check_share(data, "training", plan.engine)
    if valid is not None:
        check_share(valid, "validation", plan.engine)
    plan.force.check_labels(data)
    with connect(plan.engine) as ray:
        driver = Driver(ray, plan.schedule.prepare(plan, data), data, valid, callbacks, checkpoint)
        try:
            return driver.train(faults, nodes)
        finally:
            driver.end()
            log.info("%s", driver.report)


def check_share(data: RankingData, what: str, engine: Ray) -> None:
    """Raise a DataError if there are fewer queries than workers."""
    if data.n_queries < engine.workers:
        raise DataError(
            f"the {what} data has {data.n_queries} queries, fewer than the {engine.workers} workers of {engine}; use fewer workers"
        )


@dataclass
class ClusterReport:
    """What a training cost: rounds, workers that were replaced, and what the workers exchanged."""

    rounds: int = 0
    restarts: int = 0
    seconds: float = 0.0
    trees: int = 0
    traffic: list[Traffic] = field(default_factory=list)

    def __str__(self) -> str:
        count, unit = (self.trees, "tree") if self.trees else (max(self.rounds, 1), "round")
        each = max(self.traffic or [Traffic()], key=lambda traffic: traffic.exchanges)
        return (
            f"{self.rounds} rounds in {self.seconds:.1f} s; {each.exchanges / count:.1f} exchanges and {each.bytes / count:,.0f} bytes per "
            f"{unit} and worker, {each.seconds / count * 1000:.1f} ms of waiting per {unit}"
        )


class Driver:
    """One distributed training, seen from the program that started it."""

    def __init__(
        self,
        ray: Any,
        plan: Plan,
        data: RankingData,
        valid: RankingData | None,
        callbacks: Sequence[Callback],
        checkpoint: Checkpoint | None,
    ) -> None:
        self.ray, self.plan, self.engine = ray, plan, plan.engine
        self.data, self.valid, self.callbacks, self.checkpoint = data, valid, callbacks, checkpoint
        self.identity = {} if checkpoint is None else plan.identity(data, valid)
        self.parts = {"train": cuts(data.query_offsets, plan.engine.workers)}  # type: ignore[attr-defined]
        if valid is not None:
            self.parts["valid"] = cuts(valid.query_offsets, plan.engine.workers)  # type: ignore[attr-defined]
        self.per_document = plan.schedule.document_arrays
        self.asked = bool(callbacks) or checkpoint is not None  # after every round
        self.stop = self.interrupted = False
        self.undecided: int | None = None  # the round after which the workers wait for a decision
        self.seen = 0  # events so far
        self.report = ClusterReport()
        self.actors: list[Any] = []

    def train(self, faults: tuple[Fault, ...], nodes: tuple[tuple[str, str], ...] = ()) -> Trained:
        """Start the workers, and follow them to the end."""
        found = self._read_checkpoint()
        self._start(found, faults, nodes)
        began = time.perf_counter()
        while True:
            try:
                if self.undecided is not None:
                    self._decide(self.undecided)
                trained = self._results()
                if trained is not None:
                    self._follow()
                    self.report.seconds = time.perf_counter() - began
                    return replace(trained, interrupted=self.interrupted)
                self._follow()
            except KeyboardInterrupt:
                if self.interrupted or (self.report.rounds == 0 and found is None):
                    raise
                self.interrupted = self.stop = True
                if not self.asked:
                    self.ray.get(self.hub.end.remote(), timeout=60)

    def _start(
        self, found: tuple[dict[str, Any], Arrays] | None, faults: tuple[Fault, ...], nodes: tuple[tuple[str, str], ...]
    ) -> None:
        engine, ray = self.engine, self.ray
        assert isinstance(engine, Ray)
        calls = 4 * engine.workers + 16  # at once: all workers may wait while the driver decides
        hub = ray.remote(num_cpus=0, max_restarts=0, max_concurrency=calls)(Hub)
        self.hub = hub.remote(engine.workers, engine.patience, asks=self.asked)
        self.actors.append(self.hub)
        plan = replace(self.plan, num_threads=engine.threads, exchange=ALONE)
        task = ray.put(WorkerTask(plan, engine.patience, self.checkpoint is not None, faults, nodes))
        actor = ray.remote(num_cpus=engine.threads, max_restarts=RESTARTS, max_task_retries=-1)(TrainingWorker)
        self.held = []  # a worker that is started again fetches them again
        for number in range(engine.workers):
            data = self._part("train", self.data, number)
            valid = None if self.valid is None else self._part("valid", self.valid, number)
            own = None if found is None else (found[0], self._own_arrays(found[1], number))
            self.held.append([task, *map(ray.put, (data, valid, own))])
            self.actors.append(actor.remote(number))
        self.running = {
            worker.train.remote(self.hub, self.held[number]): number for number, worker in enumerate(self.actors[1:])
        }
        self.returned: dict[int, Any] = {}

    def _part(self, what: str, data: RankingData, number: int) -> RankingData | ShardPart:
        """Return what a worker gets: where to read its queries, if the data was read from shards, or else the queries."""
        first, last = self.parts[what][number]
        return shard_part(data, first, last) or data.select(np.arange(first, last))

    def _results(self) -> Trained | None:
        """Return the model if all workers are done; raise the error of one that failed."""
        from ray.exceptions import RayError, RayTaskError

        ready, _ = self.ray.wait(list(self.running), num_returns=len(self.running), timeout=0)
        if not ready and not self.asked:
            ready, _ = self.ray.wait(list(self.running), timeout=POLL_SECONDS)
        for reference in ready:
            number = self.running.pop(reference)
            try:
                result = self.ray.get(reference)
            except RayTaskError as error:
                raise error.cause if isinstance(error.cause, Exception) else error from None
            except RayError as error:
                reason = str(error).strip().splitlines()[0]
                raise ClusterError(
                    f"worker {number} was lost for good, after {RESTARTS} restarts: {reason}; it may need more memory than its machine has"
                ) from None
            if isinstance(result, PodiumError):
                raise result
            self.returned[number] = result
        if self.running:
            return None
        trained: Trained = self.returned[0][0]
        self.report.trees = trained.model.n_trees
        self.report.traffic = [self.returned[number][1] for number in sorted(self.returned)]
        return trained

    def _follow(self) -> None:
        """Take in what has happened."""
        from ray.exceptions import RayError

        try:
            events: list[Event] = self.ray.get(self.hub.next_events.remote(self.seen), timeout=60)
        except RayError as error:
            reason = str(error).strip().splitlines()[0]
            raise ClusterError(
                f"the actor at which the workers meet was lost ({reason}); train again with the same checkpoint to resume"
            ) from None
        for event in events:
            self.seen += 1
            if event.kind == "log":
                self.report.restarts += "was lost" in event.content
                log.warning("%s", event.content)
            elif event.kind == "state":
                self._write(event.content)
            else:
                self.report.rounds += 1
                self.undecided = event.round if self.asked else None
                self._call_back(event.content)
                if self.asked:
                    self._decide(event.round)

    def _call_back(self, row: Epoch) -> None:
        """Give a row to every callback. One that raises KeyboardInterrupt ends training after the round, as one that returns True."""
        for callback in self.callbacks:
            try:
                self.stop = bool(callback(row)) or self.stop
            except KeyboardInterrupt:
                self.interrupted = self.stop = True

    def _decide(self, round: int) -> None:
        write = self.checkpoint is not None and self.checkpoint.due
        self.ray.get(self.hub.decide.remote(round, Decision(self.stop, write)), timeout=60)
        self.undecided = None

    # ---- checkpoints

    def _read_checkpoint(self) -> tuple[dict[str, Any], Arrays] | None:
        if self.checkpoint is None:
            return None
        return self.checkpoint.read(self.identity, epochs=self.plan.schedule.max_epochs)

    def _write(self, content: tuple[dict[str, Any], list[Arrays]]) -> None:
        numbers, states = content
        assert self.checkpoint is not None
        arrays = dict(states[0])
        for name in arrays:
            what = self.per_document.get(name.split(".")[0])
            if what is not None:
                arrays[name] = self._joined(what, [state[name] for state in states])
        self.checkpoint.write(self.identity, numbers, arrays)

    def _rows(self, what: str) -> tuple[list[Rows], int]:
        """Return where the documents of each worker, in canonical order, are among all documents in that order."""
        data = self.data if what == "train" else self.valid
        assert data is not None
        order = canonical_order(data)
        sizes = data.query_sizes[order]
        begins = np.empty(data.n_queries, np.int64)
        begins[order] = np.cumsum(sizes) - sizes  # of each query, in the canonical order of documents
        rows = []
        for first, last in self.parts[what]:
            own = order[(order >= first) & (order < last)]  # a part has the same order, because it is by query id
            lengths = data.query_sizes[own]
            place = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
            rows.append(np.repeat(begins[own], lengths) + place)
        return rows, data.n_documents

    def _joined(self, what: str, parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        rows, documents = self._rows(what)
        outputs = len(parts[0]) // len(rows[0])
        whole = np.empty((documents, outputs), parts[0].dtype)
        for own, part in zip(rows, parts, strict=True):
            whole[own] = part.reshape(-1, outputs)
        return whole.reshape(-1)

    def _own_arrays(self, arrays: Arrays, number: int) -> Arrays:
        """Return a checkpoint as one worker reads it, with the scores of its own documents."""
        own = dict(arrays)
        for name, array in arrays.items():
            what = self.per_document.get(name.split(".")[0])
            if what in self.parts:
                rows, documents = self._rows(what)
                if array.ndim == 1 and documents and len(array) % documents == 0:
                    own[name] = array.reshape(documents, -1)[rows[number]].reshape(-1)
        return own

    def end(self) -> None:
        """Let go of the actors."""
        for actor in self.actors:
            with contextlib.suppress(Exception):
                self.ray.kill(actor)
