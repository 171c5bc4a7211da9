"""Workers as threads of this process: the exchange that proves that any number of them trains the same model."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from podium.data import RankingData
from podium.exchange import Exchange
from podium.training import Plan, Trained, train

LIMIT = 30.0  # seconds that a worker waits for the others


class Meeting:
    """Where the workers meet: each leaves its value, and takes those of all."""

    def __init__(self, workers: int) -> None:
        self.barrier = threading.Barrier(workers)
        self.values: list[Any] = [None] * workers
        self.exchanges = 0

    def meet(self, worker: int, own: Any) -> list[Any]:
        self.values[worker] = own
        if self.barrier.wait(LIMIT) == 0:
            self.exchanges += 1
        found = list(self.values)
        self.barrier.wait(LIMIT)
        return found


class ThreadExchange(Exchange):
    """The exchange of one thread."""

    def __init__(self, meeting: Meeting, worker: int) -> None:
        self.meeting, self.number = meeting, worker

    def gather(self, own: Any) -> list[Any]:
        return self.meeting.meet(self.number, own)

    def combine(self, sums: Any, maxima: Any) -> None:
        found = self.gather((sums.copy(), maxima.copy()))
        sums[:] = np.sum([each[0] for each in found], axis=0)
        maxima[:] = np.max([each[1] for each in found], axis=0)


def together(workers: int, work: Callable[[int, Exchange], Any]) -> tuple[list[Any], Meeting]:
    """Return what `work(worker, exchange)` returns in each of the threads, and where they met."""
    meeting = Meeting(workers)
    results: list[Any] = [None] * workers
    errors: list[BaseException] = []

    def run(worker: int) -> None:
        try:
            results[worker] = work(worker, ThreadExchange(meeting, worker))
        except threading.BrokenBarrierError:
            pass
        except BaseException as error:
            errors.append(error)
            meeting.barrier.abort()

    threads = [threading.Thread(target=run, args=(worker,)) for worker in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results, meeting


def parts_of(data: RankingData, workers: int, seed: int) -> list[RankingData]:
    """Return the data as parts of whole queries that differ in size, in a random order."""
    random = np.random.default_rng(seed)
    order = random.permutation(data.n_queries)
    cuts = np.sort(random.choice(np.arange(1, data.n_queries), workers - 1, replace=False))
    return [data.select(part) for part in np.split(order, cuts)]


def train_together(
    plan: Plan, data: RankingData, valid: RankingData | None, workers: int, seed: int = 0
) -> tuple[list[Trained], Meeting]:
    """Train with workers that each hold a part of the queries; the plan is resolved on the whole data."""
    plan.schedule.check(plan)
    plan = plan.schedule.prepare(plan.schedule.resolve(plan, data), data)
    parts = parts_of(data, workers, seed)
    judged = [None] * workers if valid is None else parts_of(valid, workers, seed + 1)
    return together(workers, lambda k, exchange: train(replace(plan, exchange=exchange), parts[k], valid=judged[k]))
