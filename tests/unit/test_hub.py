"""The meeting point of the workers, without Ray: who shares a node, what is decided after a round, and who is named."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from podium.errors import ClusterError
from podium.training.distributed.hub import Decision, Enlisted, Hub, Layout, StartOver
from podium.training.distributed.memory import Place

RECORD = SimpleNamespace(row="a row")


@pytest.fixture(autouse=True)
def keep_interrupts() -> Iterator[None]:
    """Restore the handler of Ctrl-C, which a hub ignores."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 60))


async def enlisted(hub: Hub, nodes: str) -> list[Enlisted]:
    """Let workers enlist, each on the node of a letter."""
    places = [Place(node, 100 + worker, 3, f"memory {worker}") for worker, node in enumerate(nodes)]
    return await asyncio.gather(*(hub.enlist(worker, place) for worker, place in enumerate(places)))


def test_workers_learn_who_shares_their_node() -> None:
    found = run(enlisted(Hub(4, 9.0), "abab"))
    assert [each.layout for each in found] == [Layout(0, ((0, 2), (1, 3)))] * 4
    assert [[place.pid for place in each.memory] for each in found] == [[100], [101]] * 2
    assert found[3].layout.group_of(3) == (1, (1, 3))


def test_a_worker_that_is_replaced_finds_the_memory_of_the_others() -> None:
    async def work() -> Enlisted:
        hub = Hub(3, 9.0)
        await enlisted(hub, "aaa")
        await hub.hold_memory(2, Place("a", 102, 5, "memory 0"))
        return await hub.enlist(0, Place("a", 200, 3, "memory 3"))

    found = run(work())
    assert (found.before, found.layout) == (1, Layout(0, ((0, 1, 2),)))
    assert [(place.pid, place.file) for place in found.memory] == [(102, 5)]


def test_all_start_over_if_one_is_elsewhere() -> None:
    async def work() -> list[Any]:
        hub = Hub(2, 9.0)
        await enlisted(hub, "aa")
        ones = np.ones(2, np.int64)
        waits = asyncio.create_task(hub.gather(1, (1, 1), 0, "waits"))
        await asyncio.sleep(0)
        moved = asyncio.create_task(hub.enlist(0, Place("b", 200, 3, "memory 2")))
        with pytest.raises(StartOver):
            await waits
        for call in (
            hub.gather(1, (1, 1), 0, "stale"),
            hub.combine(1, (1, 1), 0, ones, np.empty(0)),
            hub.wait_for([0], (1, 1), 0, 0.1),
            hub.end_round(1, 1, 0, RECORD),
        ):
            with pytest.raises(StartOver):
                await call
        again = await hub.enlist(1, Place("a", 101, 4, "memory 3"), starts=False)
        sums = await asyncio.gather(*(hub.combine(group, (1, 1), 1, ones, np.empty(0)) for group in (0, 1)))
        return [await moved, again, *sums]

    first, second, *sums = run(work())
    assert first.layout == second.layout == Layout(1, ((0,), (1,)))
    assert (first.before, second.before) == (1, 1)
    assert [total.tolist() for total, _ in sums] == [[2, 2]] * 2


@pytest.mark.parametrize("asks", [True, False])
def test_training_goes_on_until_it_is_ended(asks: bool) -> None:
    async def work() -> list[Decision]:
        hub = Hub(2, 9.0, asks=asks)
        await enlisted(hub, "aa")
        found = []
        for round in (1, 2):
            if round == 2 and not asks:
                await hub.end()
            ends = [asyncio.create_task(hub.end_round(worker, round, 0, RECORD)) for worker in (0, 1)]
            if asks:
                await hub.decide(round, Decision(stop=round == 2))
            found += [await end for end in ends]
        assert hub.records == [RECORD, RECORD]
        return found

    assert [decision.stop for decision in run(work())] == [False, False, True, True]


def test_who_is_late_is_named() -> None:
    async def work() -> list[Any]:
        hub = Hub(3, 40.0)
        await enlisted(hub, "aaa")
        for waited in (0.5, 21.0, 22.0, 39.0):
            await hub.wait_for([1, 2], (4, 7), 0, waited)
        with pytest.raises(
            ClusterError, match="waited 40 s for workers 1, 2 at step 7 of round 4, without any progress"
        ):
            await hub.wait_for([1, 2], (4, 7), 0, 40.5)
        with pytest.raises(ClusterError, match="without any progress"):
            await hub.wait_for([1], (4, 8), 0, 0.5)
        return await hub.next_events(0)

    events = run(work())
    assert [event.content for event in events] == ["the others have waited 21 s for workers 1, 2 at step 7 of round 4"]
