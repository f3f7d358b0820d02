"""The part of the contract of a store that is about moving a namespace to another store, whole."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from memwarden.errors import Conflict, InvalidInput
from memwarden.records import (
    Event,
    ExtractionMark,
    Head,
    Link,
    MemoryState,
    Put,
    Remove,
    Restore,
    SeenMark,
    Unlink,
    WriteMode,
)
from memwarden.stores.memory.store import MemoryStore
from memwarden.stores.protocol import Store
from memwarden.stores.transfer.move import seal_namespace
from memwarden.stores.transfer.pages import Page, Tally
from memwarden.testing.event_tests import an_event
from memwarden.testing.examples import (
    FULL,
    NAMESPACE,
    OTHER_USER,
    SIGNALS,
    START,
    VARIED,
    a_batch,
    a_memory,
    a_put,
)

UPDATE, UPSERT = WriteMode.UPDATE, WriteMode.UPSERT


async def a_long_life(store: Store) -> None:
    """Everything that a namespace can hold, in :data:`NAMESPACE`: 22 revisions."""
    await store.apply(a_batch(*(Put(item, SIGNALS) for item in VARIED), key="first", fingerprint="f", actor="ann"))
    await store.apply(a_batch(Put(FULL, replace(SIGNALS, vector=None, pieces=None)), key="\x00\x01"))
    await store.apply(a_batch(a_put("x", source_key="s", thread_id="t\x01"), a_put("y", source_key="s"), a_put("z")))
    await store.apply(a_batch(Link("a", "b", strength=1), Link("b", "c", "supersedes"), Link("z", "a", meta={"r": 1})))
    await store.apply(a_batch(a_put("a", UPDATE, text="a again", importance=1), Unlink("b", "c", "supersedes")))
    await store.apply(a_batch(replace(a_put("a", UPDATE, text="a once more", thread_id="t9"), event=Event.MERGE)))
    await store.apply(a_batch(Remove("z", purge_at=START), Remove("y", MemoryState.MERGED, Event.MERGE), Restore("y")))
    await store.apply(a_batch(Remove("d"), a_put("d", UPSERT, text="d revived", payload={"z": 1, "a": [2.0, 3]})))
    apart = replace(a_put("held"), state=MemoryState.QUARANTINED, purge_at=START + timedelta(days=30))
    await store.apply(a_batch(apart, replace(a_put("proposed"), state=MemoryState.PROPOSED), key="apart"))
    await store.apply(replace(a_batch(Restore("proposed", Event.CONFIRM)), seen=(SeenMark("t1", 3),)))
    await store.apply(replace(a_batch(), extracted=ExtractionMark("t1", 7, 0)))
    await store.apply(replace(a_batch(), seen=(SeenMark("t\x002", 5),)))
    await store.apply(a_batch(key="nothing"))


async def copy_namespace(source: Store, target: Store, limit: int, *, until: int | None = None) -> None:
    """Copy a namespace page by page, at most up to a revision."""
    since, last = (await target.head(NAMESPACE)).rev, False
    while not last and (until is None or since < until):
        page = await source.dump_page(NAMESPACE, since, limit=limit)
        await target.load_page(page)
        since, last = page.rev, page.rev == page.head


async def expect_the_same(source: Store, target: Store) -> None:
    """Every page and every answer of two stores is the same."""
    for limit in (3, 1000):
        assert (await seal_namespace(source, NAMESPACE, limit=limit)) == (
            await seal_namespace(target, NAMESPACE, limit=limit)
        )
    assert _content(await source.dump_page(NAMESPACE)) == _content(await target.dump_page(NAMESPACE))
    assert await source.journal(NAMESPACE) == await target.journal(NAMESPACE)
    for state in MemoryState:
        for order, descending in (("written", False), ("created_at", True)):
            found = [
                await item.find(NAMESPACE, state=state, order_by=order, descending=descending)
                for item in (source, target)
            ]
            assert found[0] == found[1]
    wanted = [(memory_id, version) for memory_id in ("a", "d", "full") for version in (1, 2, 3)]
    assert await source.versions(NAMESPACE, wanted) == await target.versions(NAMESPACE, wanted)
    assert await source.relations(NAMESPACE, ["a", "b"]) == await target.relations(NAMESPACE, ["a", "b"])
    for thread in ("t1", "t\x002", "t9"):
        assert await source.thread(NAMESPACE, thread, turns=1) == await target.thread(NAMESPACE, thread, turns=1)
    ours, theirs = [await item.scan(NAMESPACE) for item in (source, target)]
    assert (ours.rows, sorted(ours.edges), ours.head.rev) == (theirs.rows, sorted(theirs.edges), theirs.head.rev)


class PageTests:
    """Mixed into :class:`memwarden.testing.store_tests.StoreTests`. The other side is the store in memory."""

    async def test_a_namespace_moves_there_and_back_whole(self, store: Store) -> None:
        for limit in (1, 4, 1000):
            source, back = await _memory_store(), await _memory_store()
            await a_long_life(source)
            if limit == 1:
                await copy_namespace(source, store, limit)
            await copy_namespace(store, back, limit)
            await expect_the_same(source, store)
            await expect_the_same(source, back)

    async def test_what_it_wrote_itself_moves(self, store: Store) -> None:
        target = await _memory_store()
        await a_long_life(store)
        await copy_namespace(store, target, 7)
        await expect_the_same(store, target)
        assert await target.tally(NAMESPACE) == Tally(10, 10, 3, 22, 3, 2, 4)

    async def test_loading_writes_no_journal_entries_of_its_own(self, store: Store) -> None:
        source = await _memory_store()
        await a_long_life(source)
        await copy_namespace(source, store, 6)
        assert await store.journal(NAMESPACE) == await source.journal(NAMESPACE)
        assert (await store.head(NAMESPACE)).rev == (await source.head(NAMESPACE)).rev == 22

    async def test_life_goes_on_after_the_move(self, store: Store) -> None:
        source = await _memory_store()
        await a_long_life(source)
        await copy_namespace(source, store, 1000)
        both = (source, store)
        for batch in (
            a_batch(
                *(Put(item, SIGNALS) for item in VARIED), key="first", fingerprint="f"
            ),  # answered as the first time
            a_batch(key="nothing"),
            a_batch(a_put("new", source_key="s", thread_id="t\x01"), a_put("new2", source_key="s")),
            a_batch(a_put("next"), a_put("x", UPDATE, text="2"), Restore("z"), Link("next", "x"), Remove("held")),
            replace(a_batch(), extracted=ExtractionMark("t1", 9, 7)),
        ):
            ours, theirs = [await item.apply(batch) for item in both]
            assert ours == theirs
        with pytest.raises(Conflict):
            await store.apply(a_batch(key="first", fingerprint="g"))
        await expect_the_same(source, store)

    async def test_it_goes_on_where_it_was_broken_off(self, store: Store) -> None:
        source = await _memory_store()
        await a_long_life(source)
        await copy_namespace(source, store, 5, until=10)
        assert (await store.head(NAMESPACE)).rev == 10
        await source.apply(a_batch(a_put("a", UPDATE, text="meanwhile"), Remove("b"), a_put("late"), key="late"))
        await copy_namespace(source, store, 4)
        await source.apply(a_batch(key="no entry"))
        await copy_namespace(source, store, 4)
        await expect_the_same(source, store)
        assert (await store.apply(a_batch(key="no entry"))).replayed

    async def test_a_page_that_does_not_follow_is_refused_whole(self, store: Store) -> None:
        source = await _memory_store()
        await a_long_life(source)
        first, second = [await source.dump_page(NAMESPACE, since, limit=5) for since in (0, 5)]
        with pytest.raises(Conflict):
            await store.load_page(second)
        assert await store.namespaces() == []
        await store.load_page(first)
        for page in (first, replace(second, since=4)):
            with pytest.raises(Conflict):
                await store.load_page(page)
        await store.apply(a_batch(a_put("somebody else's")))
        before = await store.tally(NAMESPACE)
        with pytest.raises(Conflict, match="somebody else"):
            await store.load_page(second)
        assert await store.tally(NAMESPACE) == before

    async def test_caches_are_built_anew_after_a_page(self, store: Store) -> None:
        source = await _memory_store()
        await a_long_life(source)
        heads = [await store.head(NAMESPACE)]
        for since in (0, 10):
            await store.load_page(await source.dump_page(NAMESPACE, since, limit=10))
            heads.append(await store.head(NAMESPACE))
        assert [head.rev for head in heads] == [0, 10, 20]
        assert len({head.epoch for head in heads}) == 3

    async def test_pages_of_one_namespace_hold_no_other(self, store: Store) -> None:
        await a_long_life(store)
        await store.apply(a_batch(a_put("a", namespace=OTHER_USER), namespace=OTHER_USER, key="k"))
        page = await store.dump_page(OTHER_USER)
        assert [memory.memory for memory in page.memories] == [a_memory("a", namespace=OTHER_USER)]
        assert [answer.key for answer in page.answers] == ["k"]
        assert (len(page.changes), page.earlier, page.edges, page.marks) == (1, (), (), ())
        assert await store.tally(OTHER_USER) == Tally(1, 1, 0, 1, 0, 0, 1)
        elsewhere = replace(OTHER_USER, path="user/eve")
        with pytest.raises(InvalidInput):
            await store.load_page(replace(page, namespace=elsewhere))
        assert await store.tally(elsewhere) == Tally(0, 0, 0, 0, 0, 0, 0)

    async def test_the_end_of_a_namespace_and_one_that_is_not_there(self, store: Store) -> None:
        assert await store.tally(NAMESPACE) == Tally(0, 0, 0, 0, 0, 0, 0)
        assert await store.dump_page(NAMESPACE) == Page(NAMESPACE, 0, 0, 0, 0, (), (), (), (), (), ())
        await store.apply(a_batch(a_put("a"), key="k"))
        for since in (1, 7):
            page = await store.dump_page(NAMESPACE, since)
            assert (page.rev, page.head, page.changes, page.memories) == (1, 1, (), ())
        assert await store.head(NAMESPACE) == Head(1, 0)

    async def test_a_namespace_is_erased_whole_and_nothing_else_is(self, store: Store) -> None:
        gone = replace(NAMESPACE, tenant="another")
        for item in (NAMESPACE, gone):
            batch = a_batch(
                a_put("a", namespace=item), a_put("b", namespace=item), Link("a", "b"), namespace=item, key="k"
            )
            await store.apply(replace(batch, seen=(SeenMark("t", 1),)))
            await store.apply(a_batch(a_put("a", UPDATE, namespace=item), namespace=item))
            await store.record([an_event(1, namespace=item)])
        before, known = await seal_namespace(store, NAMESPACE), await store.head(gone)
        held = await store.holdings(gone)
        assert (held.memories, held.versions, held.relations, held.receipts, held.events) == (2, 1, 1, 1, 1)
        assert await store.erase(gone) == held
        assert not any(await store.erase(gone))
        assert await store.namespaces() == [NAMESPACE]
        assert not any(await store.holdings(gone))
        assert await store.events(gone) == []
        await store.reclaim()
        assert await seal_namespace(store, NAMESPACE) == before
        # Somebody of the same name is told from the erased by every cache: nothing of the namespace's epoch comes back.
        epochs = {known.epoch, (await store.head(gone)).epoch}
        assert len(epochs) == 2
        assert (await store.scan(gone)).head.epoch not in {known.epoch}
        await store.apply(a_batch(a_put("a", namespace=gone), namespace=gone))
        assert (await store.head(gone)).rev == 1
        assert (await store.head(gone)).epoch != known.epoch

    async def test_what_it_tells_about_itself(self, store: Store) -> None:
        about = await store.about()
        assert about.engine
        assert about.schema >= 0
        assert about.model is None
        assert about.bytes is None or about.bytes > 0
        await store.identity("model-1")
        assert (await store.about()).model == "model-1"


async def _memory_store() -> MemoryStore:
    store = MemoryStore()
    await store.open()
    return store


def _content(page: Page) -> Page:
    return replace(page, answers=tuple(sorted(page.answers)))
