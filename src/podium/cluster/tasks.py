"""Independent pieces of work as Ray tasks: results in order, lost workers replaced, and no wait without a limit."""

from __future__ import annotations

import contextlib
import logging
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from podium.cluster.engines import Ray
from podium.errors import ClusterError

log = logging.getLogger("podium.cluster")
RETRIES = 3  # of a piece of work whose worker was lost
REMINDER_SECONDS = 60.0  # after which a piece of work that is not done yet is named in the log

Result = TypeVar("Result")


@dataclass
class RunningTask:
    """A piece of work on its way: its number, how often its worker was lost, and when it started."""

    number: int
    lost: int = 0
    began: float = field(default_factory=time.monotonic)


def run_tasks(
    ray: Any,
    engine: Ray,
    function: Callable[..., Result],
    shared: Any,
    jobs: Iterable[Sequence[Any]],
    *,
    describe: Callable[[int], str],
) -> Iterator[Result]:
    """Yield `function(shared, *job)` for every job, in the order of the jobs.

    At most as many jobs run at a time as the engine has workers. One whose worker is lost is run again, up to three times. An
    error that `function` raises is raised here, its warnings are given here, and what still runs is canceled.

    Args:
        ray: The connected module, as `connect` yields it.
        engine: The engine.
        function: A function of an importable module.
        shared: The first argument of every call. It is sent to each machine only once.
        jobs: The other arguments of each call.
        describe: Says in messages what a job is, given its number from 0.
    """
    tasks = _Tasks(ray, engine, function, ray.put(shared), list(jobs), describe)
    try:
        yield from tasks.results()
    finally:
        tasks.cancel()


def _call(function: Callable[..., Any], shared: Any, *job: Any) -> tuple[Any, list[tuple[type[Warning], str]]]:
    """Return what a function returns, and the warnings that it gave."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("default")
        result = function(shared, *job)
    return result, [(each.category, str(each.message)) for each in warned]


class _Tasks:
    def __init__(
        self,
        ray: Any,
        engine: Ray,
        function: Callable[..., Any],
        shared: Any,
        jobs: list[Sequence[Any]],
        describe: Callable[[int], str],
    ) -> None:
        self.ray, self.engine, self.shared, self.jobs, self.describe = ray, engine, shared, jobs, describe
        self.function = function
        # Lost workers are counted and named here, which Ray's own retries are not.
        self.task = ray.remote(num_cpus=engine.threads, max_retries=0)(_call)
        self.running: dict[Any, RunningTask] = {}
        self.done: dict[int, Any] = {}
        self.progressed = self.reminded = time.monotonic()

    def results(self) -> Iterator[Any]:
        """Yield the results in order; no more than twice the workers are ahead of the one that is waited for."""
        started = 0
        for number in range(len(self.jobs)):
            while number not in self.done:
                ahead = number + 2 * self.engine.workers
                while started < min(len(self.jobs), ahead) and len(self.running) < self.engine.workers:
                    self.start(RunningTask(started))
                    started += 1
                self.wait()
            yield self.done.pop(number)

    def start(self, running: RunningTask) -> None:
        self.running[self.task.remote(self.function, self.shared, *self.jobs[running.number])] = running

    def wait(self) -> None:
        """Take in what is done; complain about what takes long."""
        left = self.progressed + self.engine.patience - time.monotonic()
        ready, _ = self.ray.wait(list(self.running), timeout=max(0.0, min(left, REMINDER_SECONDS)))
        now = time.monotonic()
        for reference in ready:
            self.take(reference, self.running.pop(reference))
            self.progressed = self.reminded = now
        if ready:
            return
        slow = min(self.running.values(), key=lambda each: each.number)
        if now >= self.progressed + self.engine.patience:
            raise ClusterError(
                f"{self.describe(slow.number)} made no progress for {self.engine.patience:g} s; give the engine more patience, "
                "as in ray(patience=7200), or see with `ray status` what the workers do"
            )
        if now >= self.reminded + REMINDER_SECONDS:
            log.warning("still waiting for %s after %d s", self.describe(slow.number), now - slow.began)
            self.reminded = now

    def take(self, reference: Any, running: RunningTask) -> None:
        from ray.exceptions import RayError, RayTaskError

        try:
            result, warned = self.ray.get(reference, timeout=self.engine.patience)
        except RayTaskError as error:
            raise error.cause if isinstance(error.cause, Exception) else error from None
        except RayError as error:
            reason = str(error).strip().splitlines()[0]
            if running.lost == RETRIES:
                raise ClusterError(
                    f"{self.describe(running.number)}: its worker was lost {RETRIES + 1} times, the last time because: {reason}; "
                    "it may need more memory than a worker has"
                ) from None
            log.warning("the worker for %s was lost (%s); starting it again", self.describe(running.number), reason)
            self.start(RunningTask(running.number, running.lost + 1))
        else:
            self.done[running.number] = result
            for category, text in warned:
                warnings.warn(text, category, stacklevel=2)

    def cancel(self) -> None:
        for reference in self.running:
            with contextlib.suppress(Exception):
                self.ray.cancel(reference, force=True)
        self.running.clear()
