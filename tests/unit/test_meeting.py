"""Where the workers of a distributed training meet: calls are idempotent, and every wait has a limit that names who is late."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from podium.errors import ClusterError, DataError
from podium.training.distributed import hub as hub_module
from podium.training.distributed.hub import Decision, Enlisted, Event, Hub, Layout, StartOver
from podium.training.distributed.memory import MemoryPlace

NONE = np.empty(0)
RECORD = SimpleNamespace(row="row")


@pytest.fixture(autouse=True)
def keep_interrupts() -> Iterator[None]:
    """Restore the handler of Ctrl-C, which a hub ignores."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def numbers(*values: int) -> Any:
    return np.array(values, np.int64)


def run(work: Any, workers: int = 2, patience: float = 30.0) -> Any:
    async def inside() -> Any:
        return await work(Hub(workers, patience))

    return asyncio.run(inside())


async def enlisted(hub: Hub, nodes: str, *, starts: bool = True) -> list[Enlisted]:
    """Let workers enlist, each on the node of a letter."""
    places = [MemoryPlace(node, 100 + worker, 3, f"memory {worker}") for worker, node in enumerate(nodes)]
    return await asyncio.gather(*(hub.enlist(worker, place, starts=starts) for worker, place in enumerate(places)))


def test_what_a_worker_brings_twice_counts_once() -> None:
    async def work(hub: Hub) -> None:
        await enlisted(hub, "ab")
        lost = asyncio.create_task(hub.combine(1, (1, 1), 0, numbers(5, 1), np.array([2.0])))
        await asyncio.sleep(0)
        again = asyncio.create_task(hub.combine(1, (1, 1), 0, numbers(5, 1), np.array([2.0])))
        await asyncio.sleep(0)
        found = await hub.combine(0, (1, 1), 0, numbers(10, 0), np.array([-1.0]))
        for sums, maxima in (found, await lost, await again, await hub.combine(1, (1, 1), 0, numbers(0, 0), NONE)):
            assert (sums.tolist(), maxima.tolist()) == ([15, 1], [2.0])

    run(work)


def test_parts_and_values_come_in_the_order_of_the_workers() -> None:
    async def work(hub: Hub) -> None:
        await enlisted(hub, "abc")
        parts = asyncio.gather(
            hub.add_parts(2, (1, 1), 0, numbers(1), numbers(2)),
            hub.add_parts(0, (1, 1), 0, numbers(10), numbers(20)),
            hub.add_parts(1, (1, 1), 0, numbers(100), numbers(200)),
        )
        assert [[part.tolist() for part in found] for found in await parts] == [[[111], [222]]] * 3
        values = asyncio.gather(*(hub.gather(k, (1, 2), 0, f"of {k}") for k in (2, 0, 1)))
        assert await values == [["of 0", "of 1", "of 2"]] * 3

    run(work, workers=3)


def test_a_replaced_worker_gets_the_rounds_so_far_and_repeats_the_current_one() -> None:
    async def work(hub: Hub) -> None:
        assert [(each.before, each.records, each.stopped) for each in await enlisted(hub, "aa")] == [(0, [], False)] * 2
        await asyncio.gather(*(hub.gather(k, (0, 1), 0, k) for k in (0, 1)))
        await asyncio.gather(*(hub.gather(k, (1, 1), 0, k) for k in (0, 1)))
        await hub.decide(1, Decision(stop=True))
        assert await asyncio.gather(*(hub.end_round(k, 1, 0, RECORD) for k in (0, 1))) == [Decision(stop=True)] * 2
        assert sorted(hub.steps) == [(0, 1)]  # those of the preparation are kept, those of the round are not
        again = await hub.enlist(1, MemoryPlace("a", 9, 9, "memory"))
        assert (again.before, again.records, again.stopped) == (1, [RECORD], True)
        assert await hub.gather(1, (0, 1), 0, 1) == [0, 1]
        assert [event.kind for event in await hub.next_events(0)] == ["round", "log"]
        assert "worker 1 was lost and starts again after round 1" in hub.events[1].content
        await hub.decide(1, Decision(stop=False))  # a second decision on a round changes nothing
        again = await hub.enlist(0, MemoryPlace("a", 9, 9, "memory"))
        assert (again.before, again.records, again.stopped) == (1, [RECORD], True)
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
        waiting = asyncio.create_task(hub.gather(0, (1, 1), 0, None))
        await asyncio.sleep(0)
        await hub.fail(DataError("worker 1 cannot go on"))
        with pytest.raises(DataError, match="cannot go on"):
            await waiting
        with pytest.raises(DataError, match="cannot go on"):
            await hub.gather(0, (1, 2), 0, None)

    run(work)


def test_waiting_has_a_limit_and_names_who_is_late() -> None:
    async def work(hub: Hub) -> None:
        with pytest.raises(ClusterError, match=r"waited 0\.2 s for workers 0, 2 at step 4 of round 7"):
            await hub.gather(1, (7, 4), 0, None)

    run(work, workers=3, patience=0.2)


def test_the_driver_is_waited_for_with_a_limit_too() -> None:
    async def work(hub: Hub) -> None:
        with pytest.raises(ClusterError, match="the program that started the training"):
            await hub.end_round(0, 1, 0, RECORD)

    run(work, workers=1, patience=0.05)


def test_workers_learn_who_shares_their_node() -> None:
    found = asyncio.run(enlisted(Hub(4, 9.0), "abab"))
    assert [each.layout for each in found] == [Layout(0, ((0, 2), (1, 3)))] * 4
    assert [[place.pid for place in each.memory] for each in found] == [[100], [101]] * 2
    assert found[3].layout.group_of(3) == (1, (1, 3))


def test_a_worker_that_is_replaced_finds_the_memory_of_the_others() -> None:
    async def work() -> Enlisted:
        hub = Hub(3, 9.0)
        await enlisted(hub, "aaa")
        await hub.hold_memory(2, MemoryPlace("a", 102, 5, "memory 0"))
        return await hub.enlist(0, MemoryPlace("a", 200, 3, "memory 3"))

    found = asyncio.run(work())
    assert (found.before, found.layout) == (1, Layout(0, ((0, 1, 2),)))
    assert [(place.pid, place.file) for place in found.memory] == [(102, 5)]


def test_all_start_over_if_one_is_elsewhere() -> None:
    async def work() -> list[Any]:
        hub = Hub(2, 9.0)
        await enlisted(hub, "aa")
        ones = np.ones(2, np.int64)
        waits = asyncio.create_task(hub.gather(1, (1, 1), 0, "waits"))
        await asyncio.sleep(0)
        moved = asyncio.create_task(hub.enlist(0, MemoryPlace("b", 200, 3, "memory 2")))
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
        again = await hub.enlist(1, MemoryPlace("a", 101, 4, "memory 3"), starts=False)
        sums = await asyncio.gather(*(hub.combine(group, (1, 1), 1, ones, np.empty(0)) for group in (0, 1)))
        return [await moved, again, *sums]

    first, second, *sums = asyncio.run(work())
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

    assert [decision.stop for decision in asyncio.run(work())] == [False, False, True, True]


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

    events = asyncio.run(work())
    assert [event.content for event in events] == ["the others have waited 21 s for workers 1, 2 at step 7 of round 4"]


async def soon(work: Any) -> asyncio.Task[Any]:
    """Return a task that has begun to wait."""
    task = asyncio.create_task(work)
    for _ in range(5):
        await asyncio.sleep(0)
    return task


def place_of(worker: int, node: str = "a") -> MemoryPlace:
    return MemoryPlace(node, 200 + worker, 3, f"new memory {worker}")


def test_a_worker_that_is_replaced_at_the_end_of_a_round_is_waited_for() -> None:
    async def work(hub: Hub) -> None:
        await enlisted(hub, "aaa")
        ends = [await soon(hub.end_round(worker, 1, 0, RECORD)) for worker in (0, 1)]
        again = await hub.enlist(1, place_of(1))
        assert (again.before, again.records) == (1, [])
        ends.append(await soon(hub.end_round(2, 1, 0, RECORD)))
        await hub.decide(1, Decision())
        assert not any(end.done() for end in ends)
        assert hub.last == 0
        assert await hub.end_round(1, 1, 0, RECORD) == Decision()
        assert await asyncio.gather(*ends) == [Decision()] * 3
        assert hub.records == [RECORD]

    run(work, workers=3)


def test_the_record_of_a_first_worker_that_is_replaced_is_the_new_one() -> None:
    async def work(hub: Hub) -> None:
        await enlisted(hub, "aa")
        await soon(hub.end_round(0, 1, 0, SimpleNamespace(row="lost")))
        await hub.enlist(0, place_of(0))
        await hub.decide(1, Decision())
        await asyncio.gather(*(hub.end_round(worker, 1, 0, RECORD) for worker in (1, 0)))
        assert hub.records == [RECORD]

    run(work)


def test_all_start_over_in_the_preparation() -> None:
    async def work(hub: Hub) -> None:
        await enlisted(hub, "aab")
        await asyncio.gather(*(hub.gather(worker, (0, 1), 0, worker) for worker in range(3)))
        waits = [
            await soon(hub.gather(0, (0, 2), 0, "waits")),
            await soon(hub.combine(1, (0, 3), 0, numbers(5), NONE)),
            await soon(hub.add_in_order(0, (0, 4), 0, (numbers(0), np.ones((1, 1))))),
            await soon(hub.end_round(1, 1, 0, RECORD)),
        ]
        moved = await soon(hub.enlist(2, place_of(2)))
        for wait in waits:
            with pytest.raises(StartOver):
                await wait
        again = await asyncio.gather(*(hub.enlist(worker, place_of(worker), starts=False) for worker in (0, 1)))
        assert [each.layout for each in (*again, await moved)] == [Layout(1, ((0, 1, 2),))] * 3
        assert await hub.gather(2, (0, 1), 1, 2) == [0, 1, 2]  # a step that was done is kept
        found = await asyncio.gather(*(hub.combine(worker, (0, 3), 1, numbers(1), NONE) for worker in range(3)))
        assert [sums.tolist() for sums, _ in found] == [[3]] * 3

    run(work, workers=3)


def test_a_step_that_was_done_by_fewer_nodes_keeps_its_result() -> None:
    async def work(hub: Hub) -> None:
        await enlisted(hub, "aab")
        await asyncio.gather(*(hub.combine(group, (1, 1), 0, numbers(10), NONE) for group in (0, 1)))
        moved = await soon(hub.enlist(1, place_of(1, "c")))
        await asyncio.gather(hub.enlist(0, place_of(0), starts=False), hub.enlist(2, place_of(2, "b"), starts=False))
        assert (await moved).layout == Layout(1, ((0,), (1,), (2,)))
        for group in (2, 0, 1):
            sums, _ = await hub.combine(group, (1, 1), 1, numbers(7), NONE)
            assert sums.tolist() == [20]

    run(work, workers=3)


@pytest.mark.parametrize("stops", [True, False], ids=["stopped", "ended by itself"])
def test_a_worker_that_comes_back_elsewhere_after_the_end_needs_nobody(stops: bool) -> None:
    async def work(hub: Hub) -> None:
        await enlisted(hub, "aa")
        await hub.decide(1, Decision(stop=stops))
        await asyncio.gather(*(hub.end_round(worker, 1, 0, RECORD) for worker in (0, 1)))
        if not stops:
            await hub.finish()
        again = await hub.enlist(1, place_of(1, "b"))
        assert again == Enlisted(1, [RECORD], True, Layout(0, ((0, 1),)), [])
        assert not any("start over" in str(event.content) for event in hub.events)

    run(work)


def test_workers_that_start_over_learn_that_another_one_has_finished() -> None:
    async def work(hub: Hub) -> None:
        await enlisted(hub, "aaa")
        await hub.decide(1, Decision())
        await asyncio.gather(*(hub.end_round(worker, 1, 0, RECORD) for worker in range(3)))
        moved = await soon(hub.enlist(1, place_of(1, "b")))  # before the hub knows that this was the last round
        assert not moved.done()
        await hub.finish()
        assert (await moved).stopped
        with pytest.raises(StartOver):
            await hub.wait_for([1], (2, 1), 1, 0.5)
        again = await hub.enlist(2, place_of(2), starts=False)
        assert (again.stopped, again.records) == (True, [RECORD])
        await hub.lay_out_again(1, "the workers of a node were all lost")
        assert hub.layout.version == 1

    run(work, workers=3)


def test_the_memory_of_a_node_is_lost_only_so_often_without_the_end_of_a_round() -> None:
    lost = "the workers of a node were all lost"

    async def work(hub: Hub) -> None:
        await enlisted(hub, "aa")
        for version in range(hub_module.MOST_LOSSES):
            await hub.lay_out_again(version, lost)
            await hub.lay_out_again(version, lost)  # every worker of the node says so; it counts once
            await enlisted(hub, "aa", starts=False)
        assert [event.content for event in hub.events] == [f"{lost}: all workers start over after round 0"] * 10
        await hub.decide(1, Decision())
        await asyncio.gather(*(hub.end_round(worker, 1, 10, RECORD) for worker in (0, 1)))
        for version in range(10, 20):
            await hub.lay_out_again(version, lost)
            await enlisted(hub, "aa", starts=False)
        waits = await soon(hub.gather(0, (2, 1), 20, None))
        with pytest.raises(ClusterError, match="were all lost, 11 times without the end of a round"):
            await hub.lay_out_again(20, lost)
        with pytest.raises(ClusterError, match="11 times"):
            await waits

    run(work)


def test_who_waits_for_another_node_is_not_late() -> None:
    async def work(hub: Hub) -> None:
        await enlisted(hub, "aabb")
        await soon(hub.combine(0, (1, 5), 0, numbers(1), NONE))
        await hub.wait_for([0], (1, 5), 0, 25.0)  # worker 1 waits for worker 0, which waits for the other node
        await hub.wait_for([3], (1, 5), 0, 60.0)
        await hub.wait_for([0], (1, 6), 0, 25.0)
        await hub.wait_for([], (1, 7), 0, 99.0)
        assert [event.content for event in hub.events] == [
            "the others have waited 25 s for workers 2, 3 at step 5 of round 1",
            "the others have waited 60 s for worker 3 at step 5 of round 1",
            "the others have waited 25 s for worker 0 at step 6 of round 1",
        ]

    run(work, workers=4, patience=90.0)
