"""Trials on a Ray cluster: what `podium.rankers.tuning.workers` does with processes of this machine.

Each worker is an actor that trains one trial at a time in a thread, and waits after every epoch for the verdict of the process
that searches, which alone writes to the study. A trial whose worker is lost is trained again by a new one.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from podium.cluster import Ray
from podium.cluster.tasks import RETRIES
from podium.errors import ClusterError
from podium.rankers.tuning.objective import CONTINUE, Objective, Outcome, Step
from podium.rankers.tuning.workers import Ended, as_sendable

log = logging.getLogger("podium.cluster")
POLL_SECONDS = 5.0  # after which a worker that has nothing to report says so


class TrialActor:
    """A worker: `start` returns at once, and `report` returns what the trial says next, or None if it still trains."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.reports: queue.Queue[Any] = queue.Queue()
        self.verdicts: queue.Queue[str] = queue.Queue()

    def start(self, parameters: Mapping[str, Any]) -> None:
        """Train a trial."""
        threading.Thread(target=self._train, args=(parameters,), daemon=True).start()

    def report(self, verdict: str | None) -> Step | Ended | Exception | None:
        """Answer the last step, if there was one, and wait for what the trial says next."""
        if verdict is not None:
            self.verdicts.put(verdict)
        with contextlib.suppress(queue.Empty):
            found: Step | Ended | Exception = self.reports.get(timeout=POLL_SECONDS)
            return found
        return None

    def _train(self, parameters: Mapping[str, Any]) -> None:
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("default")
                outcome = self.objective.run(parameters, self._ask)
            self.reports.put(Ended(outcome, tuple((each.category, str(each.message)) for each in warned)))
        except Exception as error:
            self.reports.put(as_sendable(error))

    def _ask(self, step: Step) -> str:
        self.reports.put(step)
        return self.verdicts.get()


@dataclass(eq=False)
class BusyWorker:
    """An actor that trains a trial.

    Attributes:
        actor: The actor.
        key: The trial, as the search knows it.
        parameters: Its parameters.
        last: The number of the last step that the search was told of.
        lost: How many workers of this trial were lost.
        progressed: When it last said something.
    """

    actor: Any
    key: Any
    parameters: dict[str, Any]
    last: int = 0
    lost: int = 0
    progressed: float = 0.0


class RayWorkers:
    """A context with several workers, with the methods of `Workers`.

    Args:
        ray: The connected module.
        engine: The engine.
        objective: What every trial trains on and is judged by.
    """

    def __init__(self, ray: Any, engine: Ray, objective: Objective) -> None:
        if objective.ranker.num_threads is None:
            objective = replace(objective, ranker=objective.ranker.with_parameters({"num_threads": engine.threads}))
        self.ray, self.engine = ray, engine
        self._objective = ray.put(objective)
        self._idle: list[Any] = []
        self._busy: dict[Any, BusyWorker] = {}  # by the reference of what they will say next

    @property
    def has_room(self) -> bool:
        """Whether another trial can be started."""
        return len(self._busy) < self.engine.workers

    @property
    def is_busy(self) -> bool:
        """Whether a trial is being trained."""
        return bool(self._busy)

    def __enter__(self) -> RayWorkers:
        return self

    def __exit__(self, *raised: object) -> None:
        for actor in [*self._idle, *(worker.actor for worker in self._busy.values())]:
            with contextlib.suppress(Exception):
                self.ray.kill(actor)

    def start(self, key: Any, parameters: Mapping[str, Any]) -> None:
        """Let a worker train a trial, which is known by its key from here on."""
        self._start(BusyWorker(self._idle.pop() if self._idle else self._new_actor(), key, dict(parameters)))

    def _new_actor(self) -> Any:
        kind = self.ray.remote(num_cpus=self.engine.threads, max_restarts=0)(TrialActor)
        return kind.remote(self._objective)

    def _start(self, worker: BusyWorker) -> None:
        worker.actor.start.remote(worker.parameters)
        self._listen(worker, None)

    def _listen(self, worker: BusyWorker, verdict: str | None) -> None:
        worker.progressed = time.monotonic()
        self._busy[worker.actor.report.remote(verdict)] = worker

    def events(self) -> Iterator[tuple[Any, Step | Outcome]]:
        """Yield what the trials report, by their keys: a step, which must be answered, or how the trial ended."""
        ready, _ = self.ray.wait(list(self._busy), timeout=self.engine.patience)
        if not ready:
            raise ClusterError(
                f"no worker of the search said anything for {self.engine.patience:g} s; see with `ray status` what they do"
            )
        for reference in ready:
            worker = self._busy.pop(reference)
            event = self._event(reference, worker)
            if event is not None:
                yield worker.key, event

    def _event(self, reference: Any, worker: BusyWorker) -> Step | Outcome | None:
        from ray.exceptions import RayError

        try:
            message = self.ray.get(reference)
        except RayError as error:
            return self._replace(worker, str(error).strip().splitlines()[0])
        if message is None:
            self._wait_on(worker)
        elif isinstance(message, Exception):
            raise message
        elif isinstance(message, Ended):
            self._idle.append(worker.actor)
            for category, text in message.warned:
                warnings.warn(text, category, stacklevel=2)
            outcome: Outcome = message.outcome
            return outcome
        elif message.number is not None and message.number <= worker.last:
            self._listen(worker, CONTINUE)  # a step that was judged before the worker was lost
        else:
            worker.last = worker.last if message.number is None else message.number
            self._busy[worker] = worker  # until it is answered
            step: Step = message
            return step
        return None

    def _wait_on(self, worker: BusyWorker) -> None:
        before = worker.progressed
        if time.monotonic() > before + self.engine.patience:
            raise ClusterError(
                f"a trial made no progress for {self.engine.patience:g} s; give the engine more patience, as in "
                "ray(patience=7200)"
            )
        self._listen(worker, None)
        worker.progressed = before

    def _replace(self, worker: BusyWorker, reason: str) -> Outcome | None:
        """Train a trial again whose worker was lost; after three times, it has failed."""
        if worker.lost == RETRIES:
            return Outcome("failed", error=f"its worker was lost {RETRIES + 1} times: {reason}")
        log.warning("the worker of a trial was lost (%s); training the trial again", reason)
        self._start(replace(worker, actor=self._new_actor(), lost=worker.lost + 1))
        return None

    def answer(self, key: Any, verdict: str) -> None:
        """Answer a step."""
        worker = next(worker for worker in self._busy.values() if worker.key is key)
        del self._busy[worker]
        self._listen(worker, verdict)
