"""Contract tests of changes: steps, states, edges, marks, and the past."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, get_args

import pytest

from memwarden.errors import Conflict, InvalidInput, Stale
from memwarden.records import (
    BatchChange,
    ChangeResult,
    Edge,
    Event,
    ExtractionMark,
    Link,
    MemoryState,
    Put,
    Relation,
    Remove,
    Restore,
    SeenMark,
    Signals,
    ThreadMarks,
    Unlink,
    WriteMode,
)
from memwarden.stores.protocol import Store
from memwarden.testing.examples import NAMESPACE, OTHER_USER, SIGNALS, START, a_batch, a_memory, a_put

AT = START + timedelta(hours=1)
UPDATE = WriteMode.UPDATE

# A change of each kind that changes what :func:`some_history` left.
ONE_OF_EACH: dict[type[Any], BatchChange] = {
    Put: a_put("new"),
    Remove: Remove("a"),
    Restore: Restore("gone"),
    Link: Link("a", "b", strength=0.5),
    Unlink: Unlink("b", "a"),
}


async def some_history(store: Store) -> None:
    """Write two active memories with an edge, and a removed memory."""
    await store.apply(a_batch(a_put("a"), a_put("b"), a_put("gone"), Link("b", "a", strength=0.7), Remove("gone")))


class ChangeTests:
    """Tests of changes, mixed into :class:`memwarden.testing.store_tests.StoreTests`."""

    @pytest.mark.parametrize("kind", get_args(BatchChange), ids=lambda kind: kind.__name__)
    async def test_every_kind_of_change_leaves_a_journal_entry(self, store: Store, kind: type[Any]) -> None:
        """The kinds come from the union that a Batch takes, so that a new kind needs its entry here."""
        await some_history(store)
        before = await store.head(NAMESPACE)
        change = replace(ONE_OF_EACH[kind], meta={"rule": "r"}, step=7)
        receipt = await store.apply(a_batch(change, actor="ann"))
        (entry,) = await store.journal(NAMESPACE, since=before.rev)
        assert receipt.rev == (await store.head(NAMESPACE)).rev == entry.seq == before.rev + 1
        assert entry.event in set(Event)
        assert (entry.meta or {})["rule"] == "r"
        assert (entry.actor, entry.at, entry.step, entry.channel) == ("ann", AT, entry.seq, "semantic")
        assert receipt.applied[0].step == 7

    async def test_a_change_of_no_known_kind_is_refused(self, store: Store) -> None:
        with pytest.raises(InvalidInput):
            await store.apply(a_batch(a_put("a"), "a change"))  # type: ignore[arg-type]
        assert await store.journal(NAMESPACE) == []

    async def test_steps_name_what_was_decided_together(self, store: Store) -> None:
        changes = [replace(a_put(name), step=step) for name, step in (("a", 0), ("b", 4), ("c", 0), ("d", 4))]
        await store.apply(a_batch(a_put("first")))
        receipt = await store.apply(a_batch(*changes))
        assert [item.step for item in receipt.applied] == [0, 4, 0, 4]
        assert [item.step for item in await store.journal(NAMESPACE)] == [1, 2, 3, 2, 3]
        assert [item.memory_id for item in await store.journal(NAMESPACE, step=3)] == ["b", "d"]
        assert await store.journal(NAMESPACE, step=4) == []

    async def test_the_journal_from_its_end_and_without_turns(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a"), a_put("said", channel="turn"), a_put("b"), Remove("said")))
        newest = await store.journal(NAMESPACE, descending=True, limit=3)
        assert [item.seq for item in newest] == [4, 3, 2]
        assert [item.memory_id for item in await store.journal(NAMESPACE, turns=False)] == ["a", "b"]

    async def test_the_journal_of_a_thread(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a", thread_id="t1"), a_put("b", thread_id="t2"), a_put("c")))
        await store.apply(a_batch(Remove("a")))
        assert [item.seq for item in await store.journal(NAMESPACE, thread_id="t1")] == [1, 4]
        assert [item.seq for item in await store.journal(NAMESPACE, thread_id="t1", since=1)] == [4]
        assert await store.journal(NAMESPACE, thread_id="t9") == []

    async def test_an_update_can_be_called_otherwise(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a")))
        await store.apply(a_batch(replace(a_put("a", UPDATE, text="2"), event=Event.MERGE)))
        await store.apply(a_batch(replace(a_put("a", UPDATE, text="3"), event=Event.SUPERSEDE)))
        entries = [(item.event, item.old_version, item.new_version) for item in await store.journal(NAMESPACE)]
        assert entries == [("ADD", None, 1), ("MERGE", 1, 2), ("SUPERSEDE", 2, 3)]

    async def test_an_update_without_signals_keeps_those_that_are_stored(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a")))
        await store.apply(a_batch(replace(a_put("a", UPDATE, importance=0.9), signals=None)))
        (row,) = (await store.scan(NAMESPACE)).rows
        assert (row.importance, row.terms, row.pieces) == (0.9, SIGNALS.terms, SIGNALS.pieces)
        for mode in (WriteMode.CREATE, WriteMode.UPSERT):
            with pytest.raises(InvalidInput):
                await store.apply(a_batch(replace(a_put("b", mode), signals=None)))

    @pytest.mark.parametrize("state", [MemoryState.SOFT_DELETED, MemoryState.MERGED])
    async def test_removed_and_restored(self, store: Store, state: MemoryState) -> None:
        whole = a_memory("a", tags=("x",), pinned=True)
        await store.apply(a_batch(Put(whole, SIGNALS)))
        purge_at = START + timedelta(days=31)
        event = Event.MERGE if state == MemoryState.MERGED else Event.DELETE
        await store.apply(a_batch(Remove("a", state, event, purge_at)))
        assert await store.get(NAMESPACE, ["a"]) == []
        assert await store.get(NAMESPACE, ["a"], removed=True) == [replace(whole, state=state, purge_at=purge_at)]
        tombstones = (await store.scan(NAMESPACE, since=1)).rows
        assert [(row.id, row.live) for row in tombstones] == [("a", False)]
        receipt = await store.apply(a_batch(Restore("a"), Restore("a"), Restore("zz")))
        assert [item.outcome for item in receipt.applied] == ["restored", "missing", "missing"]
        assert await store.get(NAMESPACE, ["a"]) == await store.get(NAMESPACE, ["a"], removed=True) == [whole]
        (row,) = (await store.scan(NAMESPACE, since=2)).rows
        assert (row.live, row.terms, row.vector, row.days) == (True, SIGNALS.terms, SIGNALS.vector, SIGNALS.days)
        entries = [(item.event, item.old_version, item.new_version) for item in await store.journal(NAMESPACE)]
        assert entries == [("ADD", None, 1), (event, 1, None), ("RESTORE", None, 1)]

    async def test_a_revived_memory_has_nothing_to_purge(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a"), Remove("a", purge_at=START)))
        await store.apply(a_batch(a_put("a", WriteMode.UPSERT)))
        assert [item.purge_at for item in await store.get(NAMESPACE, ["a"], removed=True)] == [None]

    @pytest.mark.parametrize(
        ("state", "event"),
        [
            (MemoryState.CANDIDATE, "PROPOSE"),
            (MemoryState.PROPOSED, "PROPOSE"),
            (MemoryState.QUARANTINED, "QUARANTINE"),
        ],
    )
    async def test_born_apart_and_confirmed(self, store: Store, state: MemoryState, event: str) -> None:
        purge_at = START + timedelta(days=7)
        receipt = await store.apply(a_batch(replace(a_put("a"), state=state, purge_at=purge_at), a_put("b")))
        assert [item.outcome for item in receipt.applied] == ["created", "created"]
        assert [item.id for item in await store.find(NAMESPACE)] == ["b"]
        assert await store.get(NAMESPACE, ["a"]) == []
        apart = replace(a_memory("a"), state=state, purge_at=purge_at)
        assert await store.find(NAMESPACE, state=state) == await store.get(NAMESPACE, ["a"], removed=True) == [apart]
        assert (await store.count(NAMESPACE, state=state), await store.count(NAMESPACE)) == (1, 1)
        assert [row.live for row in (await store.scan(NAMESPACE)).rows] == [False, True]
        receipt = await store.apply(a_batch(Restore("a", Event.CONFIRM)))
        assert [item.outcome for item in receipt.applied] == ["restored"]
        assert await store.get(NAMESPACE, ["a"]) == [a_memory("a")]
        entries = await store.journal(NAMESPACE, memory_id="a")
        assert [(entry.event, entry.old_version, entry.new_version) for entry in entries] == [
            (event, None, None), ("CONFIRM", None, 1),
        ]  # fmt: skip

    @pytest.mark.parametrize("state", [MemoryState.CANDIDATE, MemoryState.PROPOSED, MemoryState.QUARANTINED])
    async def test_what_is_stored_apart_can_be_closed(self, store: Store, state: MemoryState) -> None:
        """Once, and without ever having been active."""
        await store.apply(a_batch(replace(a_put("a"), state=state), replace(a_put("b"), state=state)))
        into = Remove("b", MemoryState.MERGED, Event.CONFIRM)
        receipt = await store.apply(a_batch(Remove("a", purge_at=AT), into, Remove("a"), Remove("b")))
        assert [item.outcome for item in receipt.applied] == ["deleted", "deleted", "missing", "missing"]
        assert await store.get(NAMESPACE, ["a", "b"], removed=True) == [
            replace(a_memory("a"), state=MemoryState.SOFT_DELETED, purge_at=AT),
            replace(a_memory("b"), state=MemoryState.MERGED),
        ]
        assert await store.count(NAMESPACE, state=state) == await store.count(NAMESPACE) == 0
        assert [row.live for row in (await store.scan(NAMESPACE)).rows] == [False, False]
        entries = [(item.event, item.old_version, item.new_version) for item in await store.journal(NAMESPACE, since=2)]
        assert entries == [("DELETE", None, None), ("CONFIRM", None, None)]

    @pytest.mark.parametrize("state", [MemoryState.CANDIDATE, MemoryState.PROPOSED, MemoryState.QUARANTINED])
    async def test_what_was_let_in_or_given_up_can_be_put_back_to_wait(self, store: Store, state: MemoryState) -> None:
        event = Event.QUARANTINE if state == MemoryState.QUARANTINED else Event.PROPOSE
        await store.apply(a_batch(replace(a_put("a"), state=state), replace(a_put("b"), state=state), a_put("c")))
        await store.apply(a_batch(Restore("a", Event.CONFIRM), Remove("b"), Remove("c", MemoryState.MERGED)))
        back = [Remove(name, state, event, AT) for name in "abc"]
        receipt = await store.apply(a_batch(*back, back[0]))
        assert [item.outcome for item in receipt.applied] == ["deleted", "deleted", "missing", "deleted"]
        apart = [replace(a_memory(name), state=state, purge_at=AT) for name in "ab"]
        assert await store.get(NAMESPACE, ["a", "b"], removed=True) == apart
        assert await store.find(NAMESPACE) == []
        assert [row.live for row in (await store.scan(NAMESPACE)).rows] == [False, False, False]
        entries = [(item.event, item.old_version, item.new_version) for item in await store.journal(NAMESPACE, since=6)]
        assert entries == [(event, 1, None), (event, None, None), (event, None, None)]
        await store.apply(a_batch(Restore("b", Event.CONFIRM)))
        assert await store.get(NAMESPACE, ["b"]) == [a_memory("b")]

    async def test_a_thread_remembers_what_was_extracted(self, store: Store) -> None:
        await store.apply(replace(a_batch(a_put("a")), extracted=ExtractionMark("t1", 5, 0)))
        await store.apply(replace(a_batch(), extracted=ExtractionMark("t1", 7, 5), seen=(SeenMark("t1", 1),)))
        assert await store.thread(NAMESPACE, "t1") == ThreadMarks(1, None, 0, 7)
        for since in (0, 5, 8):
            with pytest.raises(Stale):
                await store.apply(replace(a_batch(a_put("b")), extracted=ExtractionMark("t1", 9, since)))
        assert await store.get(NAMESPACE, ["b"]) == []
        await store.apply(replace(a_batch(), extracted=ExtractionMark("t1", 0, 7)))  # to go through it again
        assert (await store.thread(NAMESPACE, "t1")).extracted == 0

    async def test_two_that_look_through_a_thread_at_once(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a")))
        both = (replace(a_batch(a_put(name)), extracted=ExtractionMark("t1", 1, 0)) for name in ("b", "c"))
        answers = await asyncio.gather(*map(store.apply, both), return_exceptions=True)
        assert [isinstance(answer, Stale) for answer in answers] == [False, True]
        assert [item.id for item in await store.get(NAMESPACE, ["b", "c"])] == ["b"]

    async def test_edges(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a"), a_put("b"), a_put("c")))
        links = (
            Link("a", "b", strength=0.6), Link("a", "b", strength=0.6), Link("a", "b", strength=0.8),
            Link("a", "b", "supersedes"), Link("c", "a"), Link("a", "a"), Link("a", "zz"), Link("zz", "a"),
        )  # fmt: skip
        receipt = await store.apply(a_batch(*links))
        outcomes = [item.outcome for item in receipt.applied]
        assert outcomes == ["created", "duplicate", "updated", "created", "created", "missing", "missing", "missing"]
        assert receipt.applied[4] == ChangeResult("c", "created")
        assert await store.relations(NAMESPACE, ["a"]) == [
            Relation("a", "b", "related_to", 0.8, AT),
            Relation("a", "b", "supersedes", 1.0, AT),
            Relation("c", "a", "related_to", 1.0, AT),
        ]
        assert await store.relations(NAMESPACE, ["c", "b"]) == await store.relations(NAMESPACE, ["a"])
        assert await store.relations(NAMESPACE, ["zz"]) == await store.relations(NAMESPACE, []) == []
        assert await store.relations(OTHER_USER, ["a"]) == []
        changes = await store.journal(NAMESPACE, since=3)
        assert [(change.event, change.memory_id, change.old_version, change.new_version) for change in changes] == [
            ("LINK", "a", 1, 1), ("LINK", "a", 1, 1), ("LINK", "a", 1, 1), ("LINK", "c", 1, 1),
        ]  # fmt: skip
        assert changes[1].meta == {"to": "b", "type": "related_to", "strength": 0.8, "was": 0.6}

    async def test_unlinking(self, store: Store) -> None:
        await some_history(store)
        unlink = Unlink("b", "a")
        receipt = await store.apply(a_batch(unlink, unlink, Unlink("b", "a", "supersedes"), Unlink("zz", "a")))
        assert [item.outcome for item in receipt.applied] == ["deleted", "missing", "missing", "missing"]
        assert await store.relations(NAMESPACE, ["a"]) == []
        scan = await store.scan(NAMESPACE, since=5)
        assert (scan.rows, scan.edges) == ([], [Edge("b", "a", "related_to", 0.7, False)])
        (entry,) = await store.journal(NAMESPACE, since=5)
        assert (entry.event, entry.meta) == ("UNLINK", {"to": "a", "type": "related_to", "was": 0.7})
        await store.apply(a_batch(Link("b", "a", strength=0.7)))
        assert (await store.scan(NAMESPACE, since=6)).edges == [Edge("b", "a", "related_to", 0.7, True)]

    async def test_edges_stay_when_an_end_is_removed(self, store: Store) -> None:
        await some_history(store)
        await store.apply(a_batch(Remove("a")))
        assert [relation.to_id for relation in await store.relations(NAMESPACE, ["b"])] == ["a"]

    async def test_one_batch_sees_its_own_changes_in_order(self, store: Store) -> None:
        receipt = await store.apply(
            a_batch(a_put("a"), a_put("b"), Link("a", "b"), Remove("b"), Link("b", "a"), Restore("b"), Link("b", "a"))
        )
        outcomes = [item.outcome for item in receipt.applied]
        assert outcomes == ["created", "created", "created", "deleted", "missing", "restored", "created"]

    @pytest.mark.parametrize(
        "change",
        [a_put("a", UPDATE), Remove("a"), Remove("gone"), Restore("gone")],
        ids=["put", "rm", "rm-again", "restore"],
    )
    async def test_what_was_decided_on_older_contents_is_refused(self, store: Store, change: BatchChange) -> None:
        await some_history(store)  # revision 5
        await store.apply(a_batch(a_put("a", UPDATE), Restore("gone"), Remove("gone")))  # revision 8
        for decided_at in (0, 5):
            with pytest.raises(Stale):
                await store.apply(replace(a_batch(a_put("new"), change), decided_at=decided_at))
        assert (await store.head(NAMESPACE)).rev == 8
        await store.apply(replace(a_batch(a_put("new"), change), decided_at=8))
        await store.apply(replace(a_batch(a_put("b", UPDATE), Remove("b")), decided_at=5))  # both of this batch

    async def test_what_was_decided_on_everything_is_refused_when_something_was_stated(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a")))
        await store.apply(a_batch(a_put("said", channel="turn")))
        on_all = replace(a_batch(a_put("b")), decided_at=1, decided_on_all=True)
        await store.apply(on_all)  # a turn is no statement
        with pytest.raises(Stale):
            await store.apply(replace(a_batch(a_put("c")), decided_at=1, decided_on_all=True))
        await store.apply(replace(a_batch(a_put("c")), decided_at=3, decided_on_all=True))
        both = (replace(a_batch(a_put(name)), decided_at=4, decided_on_all=True) for name in ("d", "e"))
        answers = await asyncio.gather(*map(store.apply, both), return_exceptions=True)
        assert [isinstance(answer, Stale) for answer in answers] == [False, True]

    async def test_the_past(self, store: Store) -> None:
        moments = [START, START + timedelta(minutes=1), START + timedelta(minutes=5)]
        for moment, name in zip(moments, "abc", strict=True):
            await store.apply(replace(a_batch(a_put(name)), at=moment))
        assert await store.revision_at(NAMESPACE, moments[0] - timedelta(microseconds=1)) == 0
        assert [await store.revision_at(NAMESPACE, moment) for moment in moments] == [1, 2, 3]
        assert await store.revision_at(NAMESPACE, moments[1] + timedelta(seconds=1)) == 2
        assert await store.revision_at(OTHER_USER, moments[2]) == 0

    async def test_a_thread_remembers_what_it_was_told(self, store: Store) -> None:
        assert await store.thread(NAMESPACE, "t1") == ThreadMarks(None, None, 0)
        await store.apply(replace(a_batch(a_put("a")), seen=(SeenMark("t1", 1),)))
        await store.apply(replace(a_batch(*_turns("t1", 3)), seen=(SeenMark("t1", 3),)))
        await store.apply(replace(a_batch(*_turns("t2", 1)), seen=(SeenMark("t1", 2),)))
        await store.apply(replace(a_batch(), seen=(SeenMark("t2", 4),)))
        assert await store.thread(NAMESPACE, "t1", turns=2) == ThreadMarks(3, 2, 3)
        assert await store.thread(NAMESPACE, "t1", turns=4) == ThreadMarks(3, 2, 0)
        assert await store.thread(NAMESPACE, "t2", turns=1) == ThreadMarks(4, 5, 5)
        assert await store.thread(OTHER_USER, "t1") == ThreadMarks(None, None, 0)

    async def test_a_batch_moves_several_marks(self, store: Store) -> None:
        both = (SeenMark("t1", 1), SeenMark("t1\x1fplanner", 2))
        await store.apply(replace(a_batch(a_put("a")), seen=both))
        await store.apply(replace(a_batch(), seen=both[:1]))
        assert [(await store.thread(NAMESPACE, item.thread_id)).seen for item in both] == [1, 2]

    async def test_a_refused_batch_moves_no_mark(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a")))
        with pytest.raises(Conflict):
            await store.apply(replace(a_batch(a_put("a")), seen=(SeenMark("t1", 1),)))
        assert (await store.thread(NAMESPACE, "t1")).seen is None

    @pytest.mark.parametrize("meta", [{"x": object()}, {"x": float("nan")}])
    async def test_meta_is_json(self, store: Store, meta: dict[str, Any]) -> None:
        with pytest.raises(InvalidInput):
            await store.apply(a_batch(replace(a_put("a"), meta=meta)))
        assert await store.journal(NAMESPACE) == []

    async def test_a_naive_time_to_purge_is_refused(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a")))
        with pytest.raises(InvalidInput):
            await store.apply(a_batch(Remove("a", purge_at=datetime(2026, 1, 1))))

    async def test_many_changes_of_every_kind(self, store: Store) -> None:
        """More than a chunk of each, each once."""
        names = [f"m{number:04}" for number in range(1_200)]
        await store.apply(a_batch(*map(a_put, names)))
        await store.apply(a_batch(*(Link(name, names[0]) for name in names[1:])))
        await store.apply(a_batch(*(Remove(name) for name in names), *(Restore(name) for name in names)))
        assert await store.count(NAMESPACE) == len(names)
        assert len(await store.relations(NAMESPACE, names[1:])) == len(names) - 1
        assert len(await store.get(NAMESPACE, names, removed=True)) == len(names)
        assert (await store.head(NAMESPACE)).rev == 4 * len(names) - 1

    # Purging, and when a memory was last read

    async def test_a_purged_memory_keeps_nothing_but_its_id(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a", source_key="k", text="old words", tags=("secret",))))
        await store.apply(a_batch(a_put("a", UPDATE, text="new words"), Remove("a", purge_at=AT)))
        receipt = await store.apply(a_batch(a_purge("a"), actor="ann"))
        assert receipt.applied == (ChangeResult("a", "deleted"),)
        assert await store.get(NAMESPACE, ["a"], removed=True) == []
        assert await store.versions(NAMESPACE, [("a", 1), ("a", 2)]) == []
        page = await store.dump_page(NAMESPACE)
        assert "words" not in repr(page)
        assert "secret" not in repr(page)
        assert not page.earlier
        (entry,) = await store.journal(NAMESPACE, since=receipt.rev - 1)
        assert (entry.event, entry.memory_id, entry.old_version, entry.new_version) == (Event.PURGE, "a", None, None)
        assert (await store.apply(a_batch(Restore("a")))).applied == (ChangeResult("a", "missing"),)
        again = await store.apply(a_batch(a_put("b", source_key="k")))
        assert again.applied == (ChangeResult("a", "duplicate"),)

    async def test_only_what_is_not_active_can_be_purged(self, store: Store) -> None:
        await some_history(store)
        rev = (await store.head(NAMESPACE)).rev
        receipt = await store.apply(a_batch(a_purge("a"), a_purge("nobody")))
        assert [item.outcome for item in receipt.applied] == ["missing", "missing"]
        assert receipt.rev == rev
        with pytest.raises(InvalidInput, match="no words"):
            await store.apply(a_batch(replace(a_purge("gone"), memory=a_memory("gone"))))

    async def test_a_purge_that_was_decided_before_a_restore_is_stale(self, store: Store) -> None:
        await some_history(store)
        rev = (await store.head(NAMESPACE)).rev
        await store.apply(a_batch(Restore("gone"), Remove("gone")))
        with pytest.raises(Stale):
            await store.apply(replace(a_batch(a_purge("gone")), decided_at=rev))

    async def test_accesses_are_noted_beside_the_journal(self, store: Store) -> None:
        await some_history(store)
        before = await store.head(NAMESPACE)
        assert await store.accesses(NAMESPACE, ["a", "b"]) == {}
        await store.touch(NAMESPACE, ["a", "nobody"], AT)
        await store.touch(NAMESPACE, ["a"], START)
        assert await store.accesses(NAMESPACE, ["b", "a", "nobody"]) == {"a": AT}
        assert await store.accesses(OTHER_USER, ["a"]) == {}
        assert await store.head(NAMESPACE) == before


def _turns(thread: str, count: int) -> Iterable[Put]:
    return (a_put(f"{thread}-{number}", channel="turn", thread_id=thread) for number in range(count))


def a_purge(memory_id: str) -> Put:
    """Return the change that takes the contents of a memory away for good."""
    return Put(a_memory(memory_id, text=""), Signals(), WriteMode.PURGE)
