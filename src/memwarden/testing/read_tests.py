"""The part of the contract of a store that is about reading: what is found, scanned, read of the past and journaled."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memwarden.errors import Conflict, InvalidFilter, InvalidInput
from memwarden.filters import FIELDS, IN_ANY_CASE, MANY, OBJECT, SORTABLE, Condition, parse
from memwarden.records import (
    EXTRACTED_BY,
    QUOTATION,
    UNDOES,
    Event,
    Fill,
    Head,
    JournalEntry,
    MemoryState,
    Namespace,
    Put,
    Remove,
    Restore,
    Signals,
    WriteMode,
)
from memwarden.stores.protocol import Store
from memwarden.testing.examples import (
    FILTERS,
    FULL,
    NAMESPACE,
    ORDERS,
    SIGNALS,
    START,
    VARIED,
    a_batch,
    a_memory,
    a_put,
)

UPDATE, UPSERT = WriteMode.UPDATE, WriteMode.UPSERT


class ReadTests:
    """Mixed into :class:`memwarden.testing.store_tests.StoreTests`."""

    # get, find, count

    async def test_get_keeps_the_order_asked_for(self, store: Store) -> None:
        await self._fill(store)
        got = await store.get(NAMESPACE, ["d", "zz", "a", "c", "a"])
        assert "".join(item.id for item in got) == "daca"
        assert await store.get(NAMESPACE, []) == []

    @pytest.mark.parametrize(("filters", "expected"), FILTERS, ids=lambda value: str(value)[:60])
    async def test_filters(self, store: Store, filters: Mapping[str, Any], expected: str) -> None:
        await self._fill(store)
        where = parse(filters)
        assert "".join(await ids(store, where)) == expected
        assert await store.count(NAMESPACE, where) == len(expected)
        assert "".join(await store.find_ids(NAMESPACE, where)) == expected

    async def test_names_are_found_in_whatever_capitals(self, store: Store) -> None:
        names = {"a": "McDonald", "b": "Mcdonald", "c": 'Al "Q" Ärn', "d": "Bob"}
        await store.apply(a_batch(*(a_put(id, characters=(name,)) for id, name in names.items())))
        for asked, found in (("mcdonald", "ab"), ('al "q" ärn', "c"), ("mcdonal", ""), ("b", "")):
            where = (Condition("characters", IN_ANY_CASE, (asked, asked.title())),)
            assert "".join(sorted(await ids(store, where))) == found

    async def test_the_filters_try_every_field(self) -> None:
        tried = {item.field for filters, _ in FILTERS for item in parse(filters)}
        assert tried == set(FIELDS)

    async def test_many_values_in_a_filter(self, store: Store) -> None:
        await self._fill(store)
        many = [f"x{i}" for i in range(5000)]
        assert await ids(store, parse({"id": [*many, "b"]})) == ["b"]
        assert await ids(store, parse({"tags": [*many, "green"]})) == ["d"]

    async def test_an_unknown_condition_is_an_invalid_filter(self, store: Store) -> None:
        await self._fill(store)
        with pytest.raises((InvalidFilter, AttributeError)):
            await store.find(NAMESPACE, (Condition("text) OR (1", "$eq", "x"),))

    @pytest.mark.parametrize(("order_by", "descending", "expected"), ORDERS)
    async def test_order(self, store: Store, order_by: str, descending: bool, expected: str) -> None:
        await self._fill(store)
        found = await store.find(NAMESPACE, order_by=order_by, descending=descending)
        assert "".join(item.id for item in found) == expected
        found = await store.find(NAMESPACE, order_by=order_by, descending=descending, limit=2)
        assert "".join(item.id for item in found) == expected[:2]

    async def test_the_newest_come_first_unless_asked_otherwise(self, store: Store) -> None:
        await self._fill(store)
        assert "".join(item.id for item in await store.find(NAMESPACE)) == "cdba"

    async def test_the_orders_try_every_field(self) -> None:
        assert {order_by for order_by, _, _ in ORDERS} >= SORTABLE

    async def test_order_is_by_code_point(self, store: Store) -> None:
        names = ["Z", "a", "ä", "～", "😀", "A", "aa"]
        await store.apply(a_batch(*(a_put(f"m{number}", name=name) for number, name in enumerate(names))))
        found = await store.find(NAMESPACE, order_by="name", descending=False)
        assert [item.name for item in found] == sorted(names)

    async def test_order_by_something_else_is_invalid(self, store: Store) -> None:
        unsortable = [name for name, sort in FIELDS.items() if sort in (MANY, OBJECT)]
        for order_by in ("text", "rev", "id; --", "", *unsortable):
            with pytest.raises(InvalidFilter):
                await store.find(NAMESPACE, order_by=order_by)

    async def test_the_order_of_writing_survives_changes(self, store: Store) -> None:
        await self._fill(store)
        again = Put(VARIED[1], SIGNALS, UPSERT)
        await store.apply(a_batch(Put(VARIED[0], SIGNALS, UPDATE), Remove("b"), again))
        found = await store.find(NAMESPACE, order_by="written", descending=False)
        assert "".join(item.id for item in found) == "abcd"
        found = await store.find(NAMESPACE, order_by="created_at")
        assert "".join(item.id for item in found) == "cdba"

    async def test_metadata_that_holds_a_nul_breaks_no_filter(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a", payload={"x": "a\x00b", "y": 10**400, "z": "1"})))
        assert await store.find_ids(NAMESPACE, parse({"metadata.z": "1", "metadata.y": {"$gt": 2**60}})) == ["a"]
        assert await store.find_ids(NAMESPACE, parse({"metadata.x": "ab"})) == []
        await store.apply(a_batch(Remove("a")))
        assert await store.find_ids(NAMESPACE) == []
        assert await store.find_ids(NAMESPACE, state=MemoryState.SOFT_DELETED) == ["a"]

    async def test_long_whole_numbers_in_metadata_are_told_apart(self, store: Store) -> None:
        long = 1_234_567_890_123_456_789
        await store.apply(a_batch(a_put("a", payload={"doc": long}), a_put("b", payload={"doc": long + 1})))
        assert await store.find_ids(NAMESPACE, parse({"metadata.doc": long})) == ["a"]

    async def test_limit(self, store: Store) -> None:
        await store.apply(a_batch(*(a_put(f"m{i:03}") for i in range(150))))
        assert len(await store.find(NAMESPACE)) == 100
        assert len(await store.find(NAMESPACE, limit=2**40)) == 150
        assert await store.find(NAMESPACE, limit=0) == []
        with pytest.raises(InvalidInput):
            await store.find(NAMESPACE, limit=-1)
        with pytest.raises(InvalidInput):
            await store.journal(NAMESPACE, limit=-1)

    # scan

    async def test_scan_has_every_column(self, store: Store) -> None:
        await store.apply(a_batch(Put(FULL, SIGNALS), Put(a_memory("plain"), Signals())))
        full, plain = (await store.scan(NAMESPACE)).rows
        for row, memory, signals in ((full, FULL, SIGNALS), (plain, a_memory("plain"), Signals())):
            assert (row.terms, row.vector, row.flags) == (signals.terms, signals.vector, signals.flags)
            assert (row.days, row.pieces, row.statements) == (signals.days, signals.pieces, signals.statements)
            assert row.passages == signals.passages
            assert row.live is True
            assert row.forgotten is False
            of_signals = {
                "n",
                "live",
                "forgotten",
                "terms",
                "vector",
                "flags",
                "days",
                "pieces",
                "statements",
                "passages",
            }
            for name in set(row._fields) - of_signals:
                value, wanted = getattr(row, name), getattr(memory, name)
                assert value == (_micros(wanted) if isinstance(wanted, datetime) else wanted), name
            assert isinstance(row.pinned, bool)
        assert (full.n, plain.n) == (1, 2)

    async def test_scan_since(self, store: Store) -> None:
        await self._fill(store)
        await store.apply(a_batch(Put(VARIED[1], Signals(b"new"), UPDATE), Remove("a")))
        whole = await store.scan(NAMESPACE)
        assert [(row.n, row.id, row.live) for row in whole.rows] == [
            (1, "a", False),
            (2, "b", True),
            (3, "c", True),
            (4, "d", True),
        ]
        assert whole.head == await store.head(NAMESPACE) == Head(6, 0)
        changed = await store.scan(NAMESPACE, since=4)
        assert [(row.id, row.live) for row in changed.rows] == [("a", False), ("b", True)]
        assert changed.rows[1].terms == b"new"
        assert [row.id for row in (await store.scan(NAMESPACE, since=3)).rows] == ["a", "b", "d"]
        assert (await store.scan(NAMESPACE, since=6)).rows == []
        assert (await store.scan(NAMESPACE, since=99)).head == Head(6, 0)

    async def test_scan_is_one_snapshot(self, store: Store) -> None:
        async def write() -> None:
            for number in range(60):
                await store.apply(a_batch(a_put(f"m{number}"), a_put(f"n{number}")))

        writing = asyncio.create_task(write())
        while not writing.done():
            since = (await store.head(NAMESPACE)).rev // 2
            scan = await store.scan(NAMESPACE, since=since)
            assert len(scan.rows) == scan.head.rev - since
            assert scan.head.rev % 2 == 0
            await asyncio.sleep(0)
        await writing

    # version, journal

    async def test_every_version_can_be_read(self, store: Store) -> None:
        await store.apply(a_batch(Put(FULL, SIGNALS)))
        second = replace(FULL, text="second", payload=None, tags=(), valid_from=None, importance=0.5)
        await store.apply(a_batch(Put(second, SIGNALS, UPDATE)))
        await store.apply(a_batch(Remove(FULL.id)))
        third = replace(FULL, text="third")
        assert await store.versions(NAMESPACE, [(FULL.id, 2)]) == [replace(second, version=2)]
        await store.apply(a_batch(Put(third, SIGNALS, UPSERT)))
        assert await store.versions(NAMESPACE, [(FULL.id, 1)]) == [FULL]
        assert await store.versions(NAMESPACE, [(FULL.id, 2)]) == [replace(second, version=2)]
        assert await store.versions(NAMESPACE, [(FULL.id, 3)]) == [replace(third, version=3)]
        for memory_id, number in ((FULL.id, 4), (FULL.id, 0), ("zz", 1)):
            assert await store.versions(NAMESPACE, [(memory_id, number)]) == []

    async def test_earlier_states_leave_and_the_journal_says_so(self, store: Store) -> None:
        def written(text: str, keep: int | None, channel: str = "state") -> Put:
            return replace(a_put("a", UPSERT, text=text, channel=channel), keep_versions=keep, meta={"x": 1})

        async def there() -> list[str]:
            return [version.text for version in await store.versions(NAMESPACE, [("a", item) for item in range(9)])]

        for text in "123":
            await store.apply(a_batch(written(text, None)))
        await store.apply(a_batch(written("4", 2)))
        assert await there() == ["2", "3", "4"]
        await store.apply(a_batch(written("5", 2), Remove("a"), written("6", 2)))
        assert await there() == ["4", "5", "6"]
        with pytest.raises(Conflict):
            await store.apply(a_batch(written("7", 0), a_put("a")))
        assert await there() == ["4", "5", "6"], "what is refused takes nothing away"
        journal = await store.journal(NAMESPACE)
        assert [(item.old_version, item.new_version) for item in journal] == [
            (None, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, None), (None, 6),
        ]  # fmt: skip
        kept = [(item.meta or {}).get("kept_versions") for item in journal]
        assert kept == [None, None, None, 2, 2, None, 2]
        assert [item.text for item in await store.get(NAMESPACE, ["a"])] == ["6"]
        with pytest.raises(InvalidInput, match="keep_versions"):
            await store.apply(a_batch(written("7", -1)))

    async def test_only_states_leave(self, store: Store) -> None:
        for number, channel in enumerate(["semantic", "state", "semantic", "state", "state"]):
            put = a_put("a", UPSERT, text=str(number), channel=channel)
            await store.apply(a_batch(replace(put, keep_versions=0)))
        held = await store.versions(NAMESPACE, [("a", item) for item in range(9)])
        assert [item.text for item in held] == ["0", "2", "4"]

    async def test_journal(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a", thread_id="t1"), a_put("b"), actor="ann"))
        await store.apply(a_batch(a_put("a", UPDATE, thread_id="t2"), Remove("b")))
        await store.apply(a_batch(Remove("a"), a_put("a", UPSERT, thread_id="t3"), Remove("zz")))
        at = START + timedelta(hours=1)

        def entry(
            seq: int, event: str, name: str, old: int | None, new: int | None, thread: str | None
        ) -> JournalEntry:
            actor, step = ("ann", 1) if seq <= 2 else (None, 3 if seq <= 4 else 5)
            return JournalEntry(seq, NAMESPACE, event, name, old, new, actor, thread, at, "semantic", step)

        entries = [
            entry(1, Event.ADD, "a", None, 1, "t1"),
            entry(2, Event.ADD, "b", None, 1, None),
            entry(3, Event.UPDATE, "a", 1, 2, "t2"),
            entry(4, Event.DELETE, "b", 1, None, None),
            entry(5, Event.DELETE, "a", 2, None, "t2"),
            entry(6, Event.ADD, "a", None, 3, "t3"),
        ]
        assert await store.journal(NAMESPACE) == entries
        assert await store.journal(NAMESPACE, since=2, limit=2) == entries[2:4]
        assert await store.journal(NAMESPACE, memory_id="b") == [entries[1], entries[3]]
        assert await store.journal(NAMESPACE, memory_id="a", since=1, limit=1) == [entries[2]]
        assert await store.journal(NAMESPACE, memory_id="zz") == []
        assert await store.journal(NAMESPACE, since=6) == []
        assert await store.journal(NAMESPACE, limit=0) == []

    async def test_journal_gives_at_most_a_thousand(self, store: Store) -> None:
        await store.apply(a_batch(*(a_put(f"m{i}") for i in range(1200))))
        assert [item.seq for item in await store.journal(NAMESPACE)] == list(range(1, 1001))
        assert len(await store.journal(NAMESPACE, limit=5000)) == 1200

    async def test_the_journal_has_no_room_for_content(self) -> None:
        assert {field.name for field in fields(JournalEntry)}.isdisjoint(
            {"text", "summary", "payload", "context", "tags"}
        )

    async def _fill(self, store: Store) -> None:
        await store.apply(a_batch(*(Put(item, SIGNALS) for item in VARIED)))


async def ids(store: Store, where: Any = ()) -> list[str]:
    """The ids of what matches, in the order of writing."""
    return [item.id for item in await store.find(NAMESPACE, where, order_by="written", descending=False)]


def _micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


LATER = replace(SIGNALS, vector=bytes(range(64)), pieces=bytes(range(32)), passages=bytes(range(16)))


class FillTests:
    """Mixed into :class:`memwarden.testing.store_tests.StoreTests`."""

    async def test_filled_signals_are_read_by_row_and_by_scan(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a"), a_put("b")))
        before = await store.head(NAMESPACE)
        await store.fill(NAMESPACE, [Fill("a", 1, LATER)])
        (row,) = await store.index_rows(NAMESPACE, ["a", "a", "missing"])
        assert (row.id, row.live, row.vector, row.pieces) == ("a", True, LATER.vector, LATER.pieces)
        assert (row.terms, row.flags, row.days, row.passages) == (LATER.terms, LATER.flags, LATER.days, LATER.passages)
        scanned = {row.id: row for row in (await store.scan(NAMESPACE)).rows}
        assert scanned["a"] == row
        assert scanned["b"].vector == SIGNALS.vector
        # Nobody is told of a change that is none.
        assert await store.head(NAMESPACE) == before
        assert len(await store.journal(NAMESPACE)) == before.rev

    async def test_a_scan_tells_what_was_forgotten(self, store: Store) -> None:
        """Forgotten is what was active: neither what is merged, nor what never was active, nor what an undo removed.

        Nor what held when it left because it mattered little, nor a quotation then. What is purged is forgotten if it
        names its turns still.
        """
        waiting = replace(a_put("waiting"), state=MemoryState.CANDIDATE)
        await store.apply(a_batch(a_put("a"), a_put("kept"), a_put("merged"), a_put("undone"), a_put("back"), waiting))
        over = a_put("over", valid_to=START)
        quotation = a_put("quotation", valid_to=START, actor_id=EXTRACTED_BY, tags=(QUOTATION,))
        await store.apply(a_batch(over, quotation, *map(a_put, ("unused", "evicted", "covering", "emptied"))))
        removals = [
            Remove("a"),
            Remove("merged", MemoryState.MERGED, Event.MERGE),
            Remove("undone", meta={UNDOES: 4}),
            Remove("back"),
            Remove("waiting"),
            Remove("over", event=Event.TTL),
            Remove("unused", event=Event.TTL),
            Remove("quotation", event=Event.TTL),
            Remove("evicted", event=Event.EVICT),
            Remove("covering"),
            Remove("emptied"),
        ]
        await store.apply(a_batch(*removals))
        await store.apply(a_batch(Restore("back")))
        left = (a_memory("covering", text="", sources=("turn",)), a_memory("emptied", text=""))
        await store.apply(a_batch(*(Put(memory, Signals(), WriteMode.PURGE) for memory in left)))
        rows = {row.id: row for row in (await store.scan(NAMESPACE)).rows}
        assert {name for name, row in rows.items() if row.forgotten} == {"a", "over", "covering"}
        assert not rows["a"].live

    async def test_signals_of_another_version_are_passed_over(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a")))
        await store.apply(a_batch(a_put("a", WriteMode.UPDATE, text="Something else.")))
        await store.fill(NAMESPACE, [Fill("a", 1, LATER), Fill("missing", 1, LATER)])
        (row,) = await store.index_rows(NAMESPACE, ["a"])
        assert row.vector == SIGNALS.vector
        await store.fill(NAMESPACE, [Fill("a", 2, LATER)])
        (row,) = await store.index_rows(NAMESPACE, ["a"])
        assert row.vector == LATER.vector

    async def test_rows_of_another_namespace_are_neither_read_nor_filled(self, store: Store) -> None:
        other = Namespace(NAMESPACE.tenant, "user/somebody-else")
        await store.apply(a_batch(a_put("a")))
        await store.fill(other, [Fill("a", 1, LATER)])
        assert await store.index_rows(other, ["a"]) == []
        (row,) = await store.index_rows(NAMESPACE, ["a"])
        assert row.vector == SIGNALS.vector

    async def test_filling_many_rows_at_once(self, store: Store) -> None:
        ids = [f"m{number}" for number in range(1200)]
        await store.apply(a_batch(*(a_put(memory_id) for memory_id in ids)))
        await store.fill(NAMESPACE, [Fill(memory_id, 1, LATER) for memory_id in ids])
        rows = await store.index_rows(NAMESPACE, ids)
        assert sorted(row.id for row in rows) == sorted(ids)
        assert {row.vector for row in rows} == {LATER.vector}

    async def test_a_row_without_signals_of_a_model_takes_them_later(self, store: Store) -> None:
        await store.apply(a_batch(replace(a_put("a"), signals=Signals(terms=SIGNALS.terms))))
        await store.fill(NAMESPACE, [Fill("a", 1, LATER)])
        assert (await store.index_rows(NAMESPACE, ["a"]))[0].vector == LATER.vector
        await store.fill(NAMESPACE, [])
