"""The contract of :class:`memwarden.stores.protocol.Store` as tests, for authors of stores."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from memwarden.errors import Conflict, InvalidInput, NotFound, StoreUnavailable
from memwarden.filters import parse
from memwarden.records import ChangeResult, Head, MemoryState, Promises, Put, Remove, Signals, WriteMode
from memwarden.stores.protocol import Store
from memwarden.stores.transfer.pages import Page
from memwarden.testing.change_tests import ChangeTests
from memwarden.testing.checkpoint_tests import CheckpointTests
from memwarden.testing.event_tests import EventTests, an_event
from memwarden.testing.examples import (
    FULL,
    NAMESPACE,
    OTHER_TENANT,
    OTHER_USER,
    SIGNALS,
    START,
    a_batch,
    a_memory,
    a_put,
)
from memwarden.testing.page_tests import PageTests
from memwarden.testing.read_tests import FillTests, ReadTests, ids

UPDATE, UPSERT = WriteMode.UPDATE, WriteMode.UPSERT


@pytest.mark.asyncio
class StoreTests(ReadTests, FillTests, ChangeTests, PageTests, EventTests, CheckpointTests):
    """All contract tests: subclass it, define :meth:`make_store`, and run pytest; nothing is skipped.

    ::

        class TestMine(StoreTests):
            def make_store(self, folder):
                return MyStore(folder / "data")
    """

    def make_store(self, folder: Path) -> Store:
        """Return a store that is not open yet and keeps its data under ``folder`` (or at an equivalent place).

        A second call with the same folder stands for a second process, at the same time or later.
        """
        raise NotImplementedError

    @pytest_asyncio.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        """An open, empty store."""
        store = self.make_store(tmp_path)
        await store.open()
        yield store
        await store.close()

    # Opening and closing

    async def test_it_refuses_before_open_and_after_close(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        await _expect_unavailable(store)
        await store.open()
        await store.apply(a_batch(a_put("a")))
        await store.close()
        await _expect_unavailable(store)

    async def test_open_and_close_may_be_called_twice(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        await store.open()
        await store.apply(a_batch(a_put("a")))
        await store.open()
        assert await store.count(NAMESPACE) == 1
        await store.close()
        await store.close()

    async def test_it_may_be_opened_again(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        await store.open()
        await store.apply(a_batch(a_put("a"), key="k"))
        await store.close()
        await store.open()
        assert await ids(store) == ["a"]
        assert (await store.apply(a_batch(a_put("a"), key="k"))).replayed
        assert (await store.apply(a_batch(a_put("b")))).rev == 2
        await store.close()

    async def test_close_finishes_pending_writes(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        await store.open()
        writes = [asyncio.create_task(store.apply(a_batch(a_put(f"m{i}")))) for i in range(20)]
        await asyncio.sleep(0)
        await store.close()
        receipts = await asyncio.gather(*writes)
        assert sorted(receipt.rev for receipt in receipts) == list(range(1, 21))
        await store.open()
        assert await store.count(NAMESPACE) == 20
        await store.close()

    # Promises

    async def test_promises_are_told(self, store: Store) -> None:
        assert isinstance(type(store).promises, Promises)

    async def test_durable_is_what_another_opening_finds(self, tmp_path: Path) -> None:
        first = self.make_store(tmp_path)
        await first.open()
        await first.apply(a_batch(a_put("a")))
        await first.close()
        second = self.make_store(tmp_path)
        await second.open()
        assert await second.count(NAMESPACE) == (1 if second.promises.durable else 0)
        await second.close()

    async def test_shared_is_what_another_store_sees_at_once(self, store: Store, tmp_path: Path) -> None:
        other = self.make_store(tmp_path)
        if store.promises.exclusive:
            with pytest.raises(StoreUnavailable):
                await other.open()
            await store.close()
            await other.open()
            await other.close()
            return
        await other.open()
        for number in range(1, 6):
            await store.apply(a_batch(a_put(f"m{number}")))
            seen = number if store.promises.shared else 0
            assert (await other.head(NAMESPACE)).rev == seen
            assert len((await other.scan(NAMESPACE)).rows) == seen
            assert await other.count(NAMESPACE) == seen
        await other.apply(a_batch(a_put("theirs")))
        assert await store.count(NAMESPACE) == (6 if store.promises.shared else 5)
        await other.close()

    async def test_rows_enforced_is_shown_by_the_backend(self, store: Store) -> None:
        """A store that promises enforced rows overrides this test, reading below memwarden."""
        assert not store.promises.rows_enforced, "override this test: read other scopes' rows below memwarden, and fail"

    # Identity

    async def test_identity_binds_at_first_use(self, store: Store) -> None:
        assert await store.identity("model-1") == "model-1"
        assert await store.identity("model-2") == "model-1"
        await store.close()
        await store.open()
        assert await store.identity("model-3") == "model-1"

    async def test_a_store_is_bound_to_another_model_by_who_knows_the_present_one(self, store: Store) -> None:
        assert await store.identity("model-1") == "model-1"
        await store.apply(a_batch(a_put("a")))
        before = await store.head(NAMESPACE)
        assert await store.identity("model-3", instead_of="model-2") == "model-1"
        assert await store.head(NAMESPACE) == before
        assert await store.identity("model-2", instead_of="model-1") == "model-2"
        # Whoever holds the namespace in memory sees that it is no longer as it was; nothing was written.
        assert await store.head(NAMESPACE) == (before.rev, before.epoch + 1)
        assert (await store.scan(NAMESPACE)).head.epoch == before.epoch + 1
        await store.close()
        await store.open()
        if store.promises.durable:
            assert await store.identity("model-1", instead_of="model-1") == "model-2"

    async def test_identity_is_the_same_for_all_who_ask_at_once(self, store: Store) -> None:
        bound = await asyncio.gather(*(store.identity(f"model-{i}") for i in range(10)))
        assert len(set(bound)) == 1

    # Round trip

    async def test_every_field_comes_back(self, store: Store) -> None:
        await store.apply(a_batch(Put(FULL, SIGNALS)))
        (got,) = await store.get(NAMESPACE, [FULL.id])
        assert got == FULL
        assert await store.find(NAMESPACE) == [FULL]

    async def test_unset_fields_come_back_unset(self, store: Store) -> None:
        plain = a_memory("plain")
        await store.apply(a_batch(Put(plain, Signals())))
        assert await store.get(NAMESPACE, ["plain"]) == [plain]

    async def test_times_come_back_in_utc(self, store: Store) -> None:
        east = datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=9)))
        await store.apply(a_batch(a_put("a", created_at=east, updated_at=east, valid_from=east)))
        (got,) = await store.get(NAMESPACE, ["a"])
        for item in (got.created_at, got.updated_at, got.valid_from):
            assert item == east
            assert item is not None
            assert item.tzinfo == UTC

    async def test_the_offset_of_a_time_comes_back_with_each_version_and_row(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a", utc_offset=540), a_put("b")))
        await store.apply(a_batch(a_put("a", WriteMode.UPDATE, utc_offset=-480)))
        earlier = await store.versions(NAMESPACE, [("a", 1), ("a", 2), ("b", 1)])
        assert [memory.utc_offset for memory in earlier] == [540, -480, 0]
        rows = (await store.scan(NAMESPACE, 0)).rows
        assert {row.id: row.utc_offset for row in rows} == {"a": -480, "b": 0}

    async def test_what_the_caller_changes_later_is_not_stored(self, store: Store) -> None:
        payload = {"list": [1]}
        await store.apply(a_batch(a_put("a", payload=payload)))
        payload["list"].append(2)
        (got,) = await store.get(NAMESPACE, ["a"])
        assert got.payload == {"list": [1]}

    async def test_the_store_sets_version_and_state(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a", version=7, state=MemoryState.SOFT_DELETED)))
        (got,) = await store.get(NAMESPACE, ["a"])
        assert (got.version, got.state) == (1, MemoryState.ACTIVE)

    async def test_a_large_batch_and_large_texts(self, store: Store) -> None:
        puts = [a_put(f"m{i:04}", text="x" * (i * 7 % 3000 + 1)) for i in range(1500)]
        puts.append(a_put("large", text="long " * 400_000))
        receipt = await store.apply(a_batch(*puts))
        assert receipt.rev == 1501
        assert len((await store.scan(NAMESPACE)).rows) == 1501
        names = [f"m{i:04}" for i in range(1499, -1, -1)]
        assert [item.id for item in await store.get(NAMESPACE, names)] == names
        (large,) = await store.get(NAMESPACE, ["large"])
        assert large.text == "long " * 400_000

    # apply: create, update, upsert, remove

    async def test_create(self, store: Store) -> None:
        receipt = await store.apply(a_batch(a_put("a"), a_put("b")))
        assert (receipt.rev, receipt.replayed) == (2, False)
        assert receipt.applied == (ChangeResult("a", "created"), ChangeResult("b", "created"))

    async def test_create_refuses_an_id_in_use(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a")))
        with pytest.raises(Conflict, match="'a'"):
            await store.apply(a_batch(a_put("a")))
        await store.apply(a_batch(Remove("a")))
        with pytest.raises(Conflict):
            await store.apply(a_batch(a_put("a")))

    async def test_update(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a", tags=("old",))))
        receipt = await store.apply(a_batch(a_put("a", UPDATE, text="new", thread_id="t9")))
        assert receipt.applied == (ChangeResult("a", "updated"),)
        assert receipt.rev == 2
        assert await store.get(NAMESPACE, ["a"]) == [a_memory("a", text="new", thread_id="t9", version=2)]

    async def test_update_refuses_an_id_not_in_use(self, store: Store) -> None:
        with pytest.raises(NotFound, match="'a'"):
            await store.apply(a_batch(a_put("a", UPDATE)))
        await store.apply(a_batch(a_put("a"), Remove("a")))
        with pytest.raises(NotFound):
            await store.apply(a_batch(a_put("a", UPDATE)))

    async def test_update_of_the_expected_version(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a")))
        update = replace(a_put("a", UPDATE, text="first"), expected_version=1)
        await store.apply(a_batch(update))
        with pytest.raises(Conflict, match="version 2"):
            await store.apply(a_batch(replace(update, memory=a_memory("a", text="second"))))
        (got,) = await store.get(NAMESPACE, ["a"])
        assert (got.text, got.version) == ("first", 2)

    async def test_upsert_creates_updates_and_revives(self, store: Store) -> None:
        outcomes = []
        for change in (a_put("a", UPSERT), a_put("a", UPSERT, text="2"), Remove("a"), a_put("a", UPSERT, text="3")):
            outcomes.append((await store.apply(a_batch(change))).applied[0].outcome)
        assert outcomes == ["created", "updated", "deleted", "created"]
        assert await store.get(NAMESPACE, ["a"]) == [a_memory("a", text="3", version=3)]

    async def test_remove_hides_from_every_search(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a"), a_put("b")))
        receipt = await store.apply(a_batch(Remove("a")))
        assert receipt.applied == (ChangeResult("a", "deleted"),)
        assert await store.get(NAMESPACE, ["a", "b"]) == [a_memory("b")]
        assert await ids(store) == ["b"]
        assert await store.find(NAMESPACE, parse({"id": "a"})) == []
        assert await store.count(NAMESPACE) == 1

    async def test_remove_of_what_is_not_there(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a"), Remove("a")))
        receipt = await store.apply(a_batch(Remove("a"), Remove("never")))
        assert receipt.applied == (ChangeResult("a", "missing"), ChangeResult("never", "missing"))
        assert receipt.rev == 2
        assert len(await store.journal(NAMESPACE)) == 2

    async def test_changes_of_a_batch_see_those_before_them(self, store: Store) -> None:
        receipt = await store.apply(
            a_batch(
                a_put("a", text="1"),
                replace(a_put("a", UPDATE, text="2"), expected_version=1),
                Remove("a"),
                Remove("a"),
                a_put("a", UPSERT, text="4"),
                a_put("b"),
            )
        )
        assert [item.outcome for item in receipt.applied] == [
            "created",
            "updated",
            "deleted",
            "missing",
            "created",
            "created",
        ]
        assert receipt.rev == 5
        kept = await store.versions(NAMESPACE, [("a", 3), ("a", 1), ("zz", 1), ("a", 2), ("a", 9)])
        assert [item.text for item in kept] == ["4", "1", "2"]

    @pytest.mark.parametrize(
        "bad",
        [
            a_put("a"),
            a_put("zz", UPDATE),
            replace(a_put("a", UPDATE), expected_version=9),
            a_put("b", namespace=OTHER_USER),
            a_put("b", created_at=datetime(2026, 1, 1)),
            a_put("b", valid_from=datetime(2026, 1, 1)),
            a_put("b", payload={"x": object()}),
            a_put("b", payload={"x": float("nan")}),
            a_put("b", text="half a pair \ud800"),
            a_put("b", tags=("\udfff",)),
        ],
    )
    async def test_a_refused_batch_leaves_nothing(self, store: Store, bad: Put) -> None:
        await store.apply(a_batch(a_put("a")))
        good = (a_put("new", source_key="s"), a_put("a", UPDATE, text="changed"), Remove("a"), a_put("a", UPSERT))
        with pytest.raises((Conflict, NotFound, InvalidInput)):
            await store.apply(a_batch(*good, bad, key="k"))
        assert await store.head(NAMESPACE) == Head(1, 0)
        assert await store.find(NAMESPACE) == [a_memory("a")]
        assert len((await store.scan(NAMESPACE)).rows) == 1
        assert len(await store.journal(NAMESPACE)) == 1
        assert await store.versions(NAMESPACE, [("a", 2)]) == []
        receipt = await store.apply(a_batch(*good, key="k"))  # neither the key nor the source key was used up
        assert [item.outcome for item in receipt.applied] == ["created", "updated", "deleted", "created"]
        assert not receipt.replayed

    async def test_a_refused_first_batch_leaves_no_namespace(self, store: Store) -> None:
        with pytest.raises(NotFound):
            await store.apply(a_batch(a_put("a", UPDATE)))
        assert await store.namespaces() == []
        assert await store.head(NAMESPACE) == Head(0, 0)

    async def test_wrong_values_are_invalid_input(self, store: Store) -> None:
        for bad in (a_put("b", namespace=OTHER_USER), a_put("b", text="\ud800"), a_put("b", payload={"x": object()})):
            with pytest.raises(InvalidInput):
                await store.apply(a_batch(bad))
        with pytest.raises(InvalidInput):
            await store.apply(replace(a_batch(a_put("b")), at=datetime(2026, 1, 1)))

    # Source keys

    async def test_a_source_key_creates_once(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a", source_key="s", thread_id="t1")))
        receipt = await store.apply(a_batch(a_put("b", source_key="s", thread_id="t1", text="other")))
        assert receipt.applied == (ChangeResult("a", "duplicate"),)
        assert receipt.rev == 1
        assert await store.find(NAMESPACE) == [a_memory("a", thread_id="t1")]

    async def test_a_source_key_creates_once_in_a_batch(self, store: Store) -> None:
        same = [a_put(name, source_key="s") for name in "abc"]
        receipt = await store.apply(a_batch(*same))
        assert [item.id for item in receipt.applied] == ["a", "a", "a"]
        assert [item.outcome for item in receipt.applied] == ["created", "duplicate", "duplicate"]

    async def test_a_source_key_is_of_its_thread_and_namespace(self, store: Store) -> None:
        places: list[dict[str, Any]] = [{"thread_id": None}, {"thread_id": ""}, {"thread_id": "1"}, {"thread_id": "t"}]
        for number, place in enumerate(places):
            receipt = await store.apply(a_batch(a_put(f"m{number}", source_key="s", **place)))
            assert receipt.applied[0].outcome == "created"
        other = a_put("m0", source_key="s", namespace=OTHER_USER)
        assert (await store.apply(a_batch(other, namespace=OTHER_USER))).applied[0].outcome == "created"
        # Thread and key together must not be mistaken for another thread and key.
        close = a_put("m9", source_key=":s", thread_id="t")
        assert (await store.apply(a_batch(close))).applied[0].outcome == "created"

    async def test_a_source_key_comes_before_the_id(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a", source_key="s")))
        receipt = await store.apply(a_batch(a_put("a", source_key="s")))
        assert receipt.applied == (ChangeResult("a", "duplicate"),)
        with pytest.raises(Conflict):
            await store.apply(a_batch(a_put("a", source_key="s2")))
        assert (await store.apply(a_batch(a_put("b", source_key="s2")))).applied[0].outcome == "created"

    async def test_a_source_key_outlives_removal_and_change(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a", source_key="s", thread_id="t1")))
        await store.apply(a_batch(a_put("a", UPDATE, thread_id="t2"), Remove("a")))
        again = await store.apply(a_batch(a_put("b", source_key="s", thread_id="t1")))
        assert again.applied == (ChangeResult("a", "duplicate"),)
        moved = await store.apply(a_batch(a_put("c", source_key="s", thread_id="t2")))
        assert moved.applied == (ChangeResult("c", "created"),)

    async def test_a_source_key_does_not_count_for_changes(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a", source_key="s"), a_put("b")))
        receipt = await store.apply(
            a_batch(
                a_put("b", UPDATE, source_key="s"),
                a_put("b", UPSERT, source_key="s"),
                a_put("c", UPSERT, source_key="s"),
            )
        )
        assert receipt.applied == (
            ChangeResult("b", "updated"),
            ChangeResult("b", "updated"),
            ChangeResult("a", "duplicate"),
        )

    # Idempotency keys

    async def test_a_key_is_applied_once(self, store: Store) -> None:
        batch = a_batch(a_put("a"), Remove("zz"), key="k", fingerprint="f")
        first = await store.apply(batch)
        await store.apply(a_batch(a_put("b")))
        again = await store.apply(batch)
        assert again == replace(first, replayed=True)
        assert again.rev == 1
        assert (await store.head(NAMESPACE)).rev == 2

    async def test_a_key_is_replayed_whatever_became_of_it(self, store: Store) -> None:
        batch = a_batch(a_put("a"), key="k")
        await store.apply(batch)
        await store.apply(a_batch(Remove("a")))
        assert (await store.apply(batch)).replayed
        assert await store.count(NAMESPACE) == 0

    async def test_a_key_with_another_fingerprint_is_a_conflict(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a"), key="k", fingerprint="f"))
        for fingerprint in ("g", None):
            with pytest.raises(Conflict, match="'k'"):
                await store.apply(a_batch(a_put("b"), key="k", fingerprint=fingerprint))
        assert await ids(store) == ["a"]

    async def test_a_key_is_of_its_namespace(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a"), key="k"))
        other = await store.apply(a_batch(a_put("a", namespace=OTHER_USER), namespace=OTHER_USER, key="k"))
        assert not other.replayed

    async def test_a_batch_that_changes_nothing_keeps_its_key(self, store: Store) -> None:
        first = await store.apply(a_batch(Remove("zz"), key="k"))
        assert (first.rev, first.replayed) == (0, False)
        await store.apply(a_batch(a_put("zz")))
        again = await store.apply(a_batch(Remove("zz"), key="k"))
        assert again == replace(first, replayed=True)
        assert await store.count(NAMESPACE) == 1

    # Isolation

    async def test_namespaces_do_not_see_each_other(self, store: Store) -> None:
        spaces = (NAMESPACE, OTHER_USER, OTHER_TENANT)
        for space in spaces:
            await store.apply(a_batch(a_put("a", namespace=space, text=str(space)), namespace=space))
        await store.apply(a_batch(Remove("a"), a_put("b", namespace=OTHER_USER), namespace=OTHER_USER))
        assert [item.text for item in await store.find(NAMESPACE)] == [str(NAMESPACE)]
        assert [item.text for item in await store.get(OTHER_TENANT, ["a", "b"])] == [str(OTHER_TENANT)]
        assert [await store.count(space) for space in spaces] == [1, 1, 1]
        assert [(await store.head(space)).rev for space in spaces] == [1, 3, 1]
        assert [row.id for row in (await store.scan(OTHER_USER)).rows] == ["a", "b"]
        assert [row.id for row in (await store.scan(OTHER_TENANT)).rows] == ["a"]
        assert await store.versions(NAMESPACE, [("b", 1)]) == []
        assert [item.namespace for item in await store.journal(OTHER_TENANT)] == [OTHER_TENANT]
        assert await store.namespaces() == sorted(spaces)

    async def test_namespaces_are_the_written_ones(self, store: Store) -> None:
        assert await store.namespaces() == []
        await store.apply(a_batch(Remove("a")))
        await store.find(OTHER_USER)
        assert await store.namespaces() == []
        await store.apply(a_batch(a_put("a"), Remove("a")))
        assert await store.namespaces() == [NAMESPACE]

    async def test_an_unknown_namespace_is_empty(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a")))
        assert await store.head(OTHER_USER) == Head(0, 0)
        assert await store.find(OTHER_USER) == []
        assert await store.get(OTHER_USER, ["a"]) == []
        assert await store.count(OTHER_USER) == 0
        assert await store.journal(OTHER_USER) == []
        assert await store.versions(OTHER_USER, [("a", 1)]) == []
        scan = await store.scan(OTHER_USER)
        assert (scan.rows, scan.head) == ([], Head(0, 0))

    # Calls at the same time

    async def test_concurrent_batches_are_applied_one_after_another(self, store: Store) -> None:
        batches = [a_batch(a_put(f"a{i}"), a_put(f"b{i}"), actor=f"{i}") for i in range(100)]
        receipts = await asyncio.gather(*(store.apply(batch) for batch in batches))
        assert sorted(receipt.rev for receipt in receipts) == list(range(2, 201, 2))
        journal = await store.journal(NAMESPACE)
        assert [item.seq for item in journal] == list(range(1, 201))
        for first, second in zip(journal[::2], journal[1::2], strict=True):
            assert first.actor == second.actor  # no batch in the midst of another
        assert [row.n for row in (await store.scan(NAMESPACE)).rows] == list(range(1, 201))

    async def test_one_failing_batch_spares_the_others(self, store: Store) -> None:
        batches = [a_batch(a_put("same" if i % 3 == 0 else f"m{i}"), a_put(f"n{i}")) for i in range(30)]
        answers = await asyncio.gather(*(store.apply(batch) for batch in batches), return_exceptions=True)
        kinds = Counter(type(answer).__name__ for answer in answers)
        assert kinds == {"Receipt": 21, "Conflict": 9}
        assert await store.count(NAMESPACE) == 42

    async def test_one_key_at_the_same_time_is_applied_once(self, store: Store) -> None:
        batches = [a_batch(a_put(f"m{i}"), key="k", fingerprint="f") for i in range(20)]
        receipts = await asyncio.gather(*(store.apply(batch) for batch in batches))
        assert sum(not receipt.replayed for receipt in receipts) == 1
        assert len({receipt.applied for receipt in receipts}) == 1
        assert await store.count(NAMESPACE) == 1

    async def test_one_expected_version_at_the_same_time_wins_once(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a")))
        updates = [replace(a_put("a", UPDATE, text=f"{i}"), expected_version=1) for i in range(20)]
        answers = await asyncio.gather(*(store.apply(a_batch(update)) for update in updates), return_exceptions=True)
        assert sum(not isinstance(answer, BaseException) for answer in answers) == 1
        assert sum(isinstance(answer, Conflict) for answer in answers) == 19

    async def test_a_cancelled_call_is_applied_whole_or_not_at_all(self, store: Store) -> None:
        calls = [asyncio.create_task(store.apply(a_batch(a_put(f"a{i}"), a_put(f"b{i}")))) for i in range(20)]
        await asyncio.sleep(0)
        for call in calls[::2]:
            call.cancel()
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert not any(isinstance(answer, BaseException) for answer in answers[1::2])
        await store.apply(a_batch(a_put("last")))
        ids = {row.id for row in (await store.scan(NAMESPACE)).rows}
        assert {f"a{i}" for i in range(1, 20, 2)} <= ids
        assert all((f"a{i}" in ids) == (f"b{i}" in ids) for i in range(20))
        assert [item.seq for item in await store.journal(NAMESPACE)] == list(range(1, len(ids) + 1))

    async def test_an_acknowledged_write_is_in_the_next_answer(self, store: Store) -> None:
        for number in range(1, 30):
            receipt = await store.apply(a_batch(a_put(f"m{number}")))
            assert (await store.head(NAMESPACE)).rev == receipt.rev == number
            assert [row.id for row in (await store.scan(NAMESPACE, since=number - 1)).rows] == [f"m{number}"]


async def _expect_unavailable(store: Store) -> None:
    calls: list[Callable[[], Awaitable[Any]]] = [
        lambda: store.identity("model"),
        lambda: store.apply(a_batch(a_put("x"))),
        lambda: store.head(NAMESPACE),
        lambda: store.get(NAMESPACE, ["a"]),
        lambda: store.find(NAMESPACE),
        lambda: store.count(NAMESPACE),
        lambda: store.scan(NAMESPACE),
        lambda: store.versions(NAMESPACE, [("a", 1)]),
        lambda: store.journal(NAMESPACE),
        lambda: store.record([an_event()]),
        lambda: store.events(NAMESPACE),
        lambda: store.event_counts(NAMESPACE),
        lambda: store.prune_events(NAMESPACE, before=START, most=1),
        store.namespaces,
        store.about,
        lambda: store.tally(NAMESPACE),
        lambda: store.dump_page(NAMESPACE),
        lambda: store.holdings(NAMESPACE),
        lambda: store.erase(NAMESPACE),
        store.reclaim,
        lambda: store.load_page(Page(NAMESPACE, 0, 0, 0, 0, (), (), (), (), (), ())),
    ]
    for call in calls:
        with pytest.raises(StoreUnavailable):
            await call()


__all__ = ["StoreTests"]
