"""Contract tests of operational events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from memwarden.errors import InvalidInput
from memwarden.observability.records import EVERYTHING, EventFilter, OpEvent, Viewer, count_events, in_utc
from memwarden.stores.protocol import Store
from memwarden.testing.examples import NAMESPACE, OTHER_TENANT, OTHER_USER, START, a_batch, a_put

LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


def an_event(number: int = 0, **fields: Any) -> OpEvent:
    """The ``number``-th event of a row of them, a minute apart."""
    given = {"namespace": NAMESPACE, "node": "hotpath", "op": "search", "status": "ok", **fields}
    return OpEvent(**{"id": f"e{number:06}", "ts": START + timedelta(minutes=number), **given})


# 48 events, 47 minutes: every word with every other, with and without thread, memory, category and agent.
VARIED_EVENTS = tuple(
    an_event(
        number, node=node, op=op, status=status, thread_id=thread, memory_id=memory, category=category, agent_id=agent,
        count=number % 3 + 1, sim=number / 100, rev=number, ms=number + 0.5, reason=f"r{number % 2}", user_id="ana",
    )
    for number, (node, op, status, (thread, memory, category, agent)) in enumerate(
        product(
            ("hotpath", "episodic"), ("search", "create"), ("ok", "skipped"),
            (("t1", "m1", "tasks", None), (None, None, None, "planner"), ("t2", "m2", "goals", "planner"),
             ("t1", None, None, None), (None, "m3", None, "planner"), (None, None, "tasks", "other")),
        )
    )
)  # fmt: skip
FILTERS_OF_EVENTS = (
    EVERYTHING,
    EventFilter(since=START + timedelta(minutes=7)),
    EventFilter(until=START + timedelta(minutes=7)),
    EventFilter(since=START + timedelta(minutes=7), until=START + timedelta(minutes=8)),
    EventFilter(since=START + timedelta(minutes=9), until=START + timedelta(minutes=8)),
    EventFilter(node="episodic"),
    EventFilter(op="create", status="skipped"),
    EventFilter(thread_id="t1"),
    EventFilter(memory_id="m2", node="hotpath"),
    EventFilter(memory_id="' OR 1 = 1 --"),
    EventFilter(viewer=Viewer("planner", ("tasks", "profile"))),
    EventFilter(viewer=Viewer("planner", ())),
    EventFilter(viewer=Viewer("nobody", ("goals",)), op="search"),
)


class EventTests:
    """Mixed into :class:`memwarden.testing.store_tests.StoreTests`."""

    make_store: Callable[[Path], Store]

    async def test_an_event_comes_back_as_it_was(self, store: Store) -> None:
        whole = an_event(
            1, user_id="ana", agent_id="planner", thread_id="t\x00\x01", memory_id="m1", category="tasks", sim=0.25,
            rev=7, ms=1.5, count=3, reason="nothing_relevant",
        )  # fmt: skip
        bare = an_event(2, ts=START + timedelta(hours=1, microseconds=1), sim=1)
        old = an_event(3, ts=LONG_AGO)
        await store.record([whole, bare, old])
        found = await store.events(NAMESPACE, descending=False)
        assert found == [old, whole, replace(bare, sim=1.0)]
        assert [type(item) for item in (found[0].op, found[0].node, found[2].sim)] == [str, str, float]

    async def test_nothing_recorded_is_nothing(self, store: Store) -> None:
        await store.record([])
        assert await store.events(NAMESPACE) == []
        assert await store.event_counts(NAMESPACE) == []
        assert await store.prune_events(NAMESPACE, before=START, most=0) == 0

    async def test_events_are_filtered_and_counted_as_the_meaning_says(self, store: Store) -> None:
        await store.record(VARIED_EVENTS[::-1])
        for where in FILTERS_OF_EVENTS:
            wanted = [in_utc(item) for item in VARIED_EVENTS if where.matches(item)]
            assert await store.events(NAMESPACE, where, descending=False) == wanted, where
            assert await store.events(NAMESPACE, where, limit=3) == wanted[::-1][:3], where
            for seconds in (60, 3600, 86_400):
                counts = await store.event_counts(NAMESPACE, where, seconds=seconds)
                assert counts == count_events(wanted, seconds), (where, seconds)
        assert len([item for item in VARIED_EVENTS if FILTERS_OF_EVENTS[-3].matches(item)]) == 24  # told by hand

    async def test_counts_add_up_what_each_event_stands_for(self, store: Store) -> None:
        days = [an_event(1, count=2), an_event(2, count=5), an_event(3, ts=LONG_AGO), an_event(4, status="error")]
        await store.record(days)
        found = await store.event_counts(NAMESPACE)
        midnight = START.replace(hour=0, minute=0, second=0, microsecond=0)
        assert [(item.ts, item.op, item.status, item.count) for item in found] == [
            (LONG_AGO, "search", "ok", 1), (midnight, "search", "error", 1), (midnight, "search", "ok", 7),
        ]  # fmt: skip

    async def test_an_event_is_recorded_once(self, store: Store) -> None:
        await store.record([an_event(1), an_event(1, op="create"), an_event(2)])
        await store.record([an_event(1, op="delete"), an_event(3)])
        found = await store.events(NAMESPACE, descending=False)
        assert [(item.id, item.op) for item in found] == [(f"e{number:06}", "search") for number in (1, 2, 3)]

    async def test_equal_times_are_in_the_order_of_ids(self, store: Store) -> None:
        await store.record([an_event(number, ts=START) for number in (3, 1, 2)])
        assert [event.id for event in await store.events(NAMESPACE, descending=False)] == [
            "e000001",
            "e000002",
            "e000003",
        ]
        assert [event.id for event in await store.events(NAMESPACE)] == ["e000003", "e000002", "e000001"]

    async def test_events_of_others_are_not_told(self, store: Store) -> None:
        spaces = (NAMESPACE, OTHER_USER, OTHER_TENANT)
        await store.record([an_event(number, namespace=item) for number, item in enumerate(spaces)])
        for number, namespace in enumerate(spaces):
            assert [event.id for event in await store.events(namespace)] == [f"e{number:06}"]
            assert sum(event_count.count for event_count in await store.event_counts(namespace)) == 1
        assert await store.prune_events(OTHER_USER, before=START + timedelta(days=1), most=0) == 1
        assert len(await store.events(NAMESPACE)) == len(await store.events(OTHER_TENANT)) == 1

    async def test_events_are_no_part_of_the_journal(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a")))
        head, tally = await store.head(NAMESPACE), await store.tally(NAMESPACE)
        await store.record([an_event(1), an_event(2, namespace=OTHER_USER)])
        assert (await store.head(NAMESPACE), await store.tally(NAMESPACE)) == (head, tally)
        assert await store.namespaces() == [NAMESPACE]
        assert len(await store.journal(NAMESPACE)) == 1

    async def test_what_is_too_old_or_too_much_is_pruned(self, store: Store) -> None:
        await store.record([an_event(number) for number in range(10)])
        assert await store.prune_events(NAMESPACE, before=START, most=10) == 0
        assert await store.prune_events(NAMESPACE, before=START + timedelta(minutes=2), most=10) == 2
        assert await store.prune_events(NAMESPACE, before=START, most=3) == 5
        assert [event.id for event in await store.events(NAMESPACE)] == ["e000009", "e000008", "e000007"]
        assert await store.prune_events(NAMESPACE, before=START, most=0) == 3
        assert await store.events(NAMESPACE) == []

    async def test_what_cannot_be_meant_is_refused(self, store: Store) -> None:
        with pytest.raises(InvalidInput):
            await store.record([an_event(1), an_event(2, namespace=OTHER_USER, thread_id="\ud800")])
        for call in (
            lambda: store.events(NAMESPACE, limit=-1),
            lambda: store.event_counts(NAMESPACE, seconds=0),
            lambda: store.prune_events(NAMESPACE, before=START, most=-1),
        ):
            with pytest.raises(InvalidInput):
                await call()
        assert await store.events(NAMESPACE) == []

    async def test_events_are_kept_as_long_as_memories(self, tmp_path: Path) -> None:
        first = self.make_store(tmp_path)
        await first.open()
        await first.record([an_event(1)])
        await first.close()
        second = self.make_store(tmp_path)
        await second.open()
        await second.record([an_event(2)])
        kept = 2 if second.promises.durable else 1
        assert len(await second.events(NAMESPACE)) == kept
        await second.close()

    async def test_events_and_batches_at_the_same_time(self, store: Store) -> None:
        calls: list[Any] = [store.apply(a_batch(a_put(f"m{number}"))) for number in range(20)]
        calls += [store.record([an_event(2 * number), an_event(2 * number + 1)]) for number in range(20)]
        await asyncio.gather(*calls[::2], *calls[1::2])
        assert (await store.head(NAMESPACE)).rev == 20
        assert len(await store.events(NAMESPACE)) == 40
