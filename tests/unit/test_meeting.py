"""Where the workers of a distributed training meet: calls are idempotent, and every wait has a limit that names who is late."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from podium.errors import ClusterError, DataError
from podium.training.distributed import hub as hub_module
from podium.training.distributed.hub import Decision, Event, Hub

NONE = np.empty(0)
RECORD = SimpleNamespace(row="row")


def numbers(*values: int) -> Any:
    return np.array(values, np.int64)


def run(work: Any, workers: int = 2, patience: float = 30.0) -> Any:
    async def inside() -> Any:
        return await work(Hub(workers, patience))

    return asyncio.run(inside())


def test_what_a_worker_brings_twice_counts_once() -> None:
    async def work(hub: Hub) -> None:
        lost = asyncio.create_task(hub.combine(1, (1, 1), numbers(5, 1), np.array([2.0])))
        await asyncio.sleep(0)
        again = asyncio.create_task(hub.combine(1, (1, 1), numbers(5, 1), np.array([2.0])))
        await asyncio.sleep(0)
        found = await hub.combine(0, (1, 1), numbers(10, 0), np.array([-1.0]))
        for sums, maxima in (found, await lost, await again, await hub.combine(1, (1, 1), numbers(0, 0), NONE)):
            assert (sums.tolist(), maxima.tolist()) == ([15, 1], [2.0])

    run(work)


def test_parts_and_values_come_in_the_order_of_the_workers() -> None:
    async def work(hub: Hub) -> None:
        parts = asyncio.gather(
            hub.add_parts(2, (1, 1), numbers(1), numbers(2)),
            hub.add_parts(0, (1, 1), numbers(10), numbers(20)),
            hub.add_parts(1, (1, 1), numbers(100), numbers(200)),
        )
        assert [[part.tolist() for part in found] for found in await parts] == [[[111], [222]]] * 3
        values = asyncio.gather(*(hub.gather(k, (1, 2), f"of {k}") for k in (2, 0, 1)))
        assert await values == [["of 0", "of 1", "of 2"]] * 3

    run(work, workers=3)


def test_a_replaced_worker_gets_the_rounds_so_far_and_repeats_the_current_one() -> None:
    async def work(hub: Hub) -> None:
        assert await hub.enlist(0) == (0, [], False)
        assert await hub.enlist(1) == (0, [], False)
        await asyncio.gather(*(hub.gather(k, (0, 1), k) for k in (0, 1)))
        await asyncio.gather(*(hub.gather(k, (1, 1), k) for k in (0, 1)))
        await hub.decide(1, Decision(stop=True))
        assert await asyncio.gather(*(hub.end_round(k, 1, RECORD) for k in (0, 1))) == [Decision(stop=True)] * 2
        assert sorted(hub.steps) == [(0, 1)]  # those of the preparation are kept, those of the round are not
        assert await hub.enlist(1) == (1, [RECORD], True)
        assert await hub.gather(1, (0, 1), 1) == [0, 1]
        assert [event.kind for event in await hub.next_events(0)] == ["round", "log"]
        assert "worker 1 was lost and starts again after round 1" in hub.events[1].content
        await hub.decide(1, Decision(stop=False))  # a second decision on a round changes nothing
        assert await hub.enlist(0) == (1, [RECORD], True)
        assert [event.kind for event in await hub.next_events(2)] == ["log"]
        assert [event.content is None for event in hub.events] == [
            True,
            True,
            False,
        ]  # what the driver has is forgotten

    run(work)


def test_states_of_all_workers_make_a_checkpoint() -> None:
    async def work(hub: Hub) -> None:
        await hub.give_state(1, 3, {"epoch": 3}, {"a": numbers(1)})
        await hub.give_state(1, 3, {"epoch": 3}, {"a": numbers(1)})
        assert not hub.events
        await hub.give_state(0, 3, {"epoch": 3}, {"a": numbers(0)})
        assert hub.events == [Event("state", 3, ({"epoch": 3}, [{"a": numbers(0)}, {"a": numbers(1)}]))]

    run(work)


def test_an_error_of_a_worker_reaches_those_that_wait() -> None:
    async def work(hub: Hub) -> None:
        waiting = asyncio.create_task(hub.gather(0, (1, 1), None))
        await asyncio.sleep(0)
        await hub.fail(DataError("worker 1 cannot go on"))
        with pytest.raises(DataError, match="cannot go on"):
            await waiting
        with pytest.raises(DataError, match="cannot go on"):
            await hub.gather(0, (1, 2), None)

    run(work)


def test_waiting_has_a_limit_and_names_who_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "SLOW_SECONDS", 0.02)

    async def work(hub: Hub) -> None:
        with pytest.raises(ClusterError, match=r"waited 0\.2 s for workers 0, 2 at step 4 of round 7"):
            await hub.gather(1, (7, 4), None)
        assert any("have waited" in event.content and "workers 0, 2" in event.content for event in hub.events)

    run(work, workers=3, patience=0.2)


def test_the_driver_is_waited_for_with_a_limit_too() -> None:
    async def work(hub: Hub) -> None:
        with pytest.raises(ClusterError, match="the program that started the training"):
            await hub.end_round(0, 1, RECORD)

    run(work, workers=1, patience=0.05)
