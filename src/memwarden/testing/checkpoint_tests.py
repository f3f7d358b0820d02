"""Contract tests of checkpoints."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from memwarden.errors import InvalidInput, StoreUnavailable
from memwarden.records import Head
from memwarden.stores.protocol import Store
from memwarden.stores.shared.checkpoints import (
    ChannelValue,
    CheckpointKey,
    CheckpointRead,
    CheckpointSearch,
    PendingWrite,
    SavedCheckpoint,
)
from memwarden.testing.examples import NAMESPACE, OTHER_TENANT, OTHER_USER, a_batch, a_put

BYTES = bytes(range(256))


def a_saved(thread: str = "t", id: str = "1", ns: str = "", **changes: Any) -> SavedCheckpoint:
    """A checkpoint without values that lie apart."""
    saved = SavedCheckpoint(
        CheckpointKey(thread, ns, id), None, ns.split(":")[0], "msgpack", BYTES, (), (), {"step": 1}
    )
    return replace(saved, **changes)


def a_write(task: str = "w", number: int = 0, **changes: Any) -> PendingWrite:
    """A write of a task."""
    return replace(PendingWrite(task, "", number, "out", "msgpack", b"\x00" + task.encode()), **changes)


async def ids(store: Store, search: CheckpointSearch = CheckpointSearch(), limit: int = 100) -> list[str]:  # noqa: B008  # it is frozen
    return [item.saved.key.id for item in await store.checkpoints.find(NAMESPACE, search, limit)]


class CheckpointTests:
    """What :class:`memwarden.stores.shared.checkpoints.Checkpoints` promises."""

    async def test_checkpoint_comes_back_as_it_was_put(self, store: Store) -> None:
        metadata = {"source": "loop", "step": -1, "deep": {"a": [1, 2.5, None, True, "ü\x00\x01"]}}
        links = (("messages", "0002.5"), ("möre\x00", "1"))
        saved = a_saved(
            "t\x00ü",
            "2",
            "sub:1|x",
            parent="1",
            agent="sub|x",
            links=links,
            small=("a", "b"),
            metadata=metadata,
            run="r",
        )
        values = (ChannelValue(*links[0], "msgpack", BYTES, '{"x":1}'), ChannelValue(*links[1], "null", b""))
        await store.checkpoints.put(NAMESPACE, replace(saved, shown='{"a":1}'), values)
        found = await store.checkpoints.get(NAMESPACE, *saved.key)
        assert found is not None
        assert found.saved == saved
        assert set(found.values) == {replace(value, shown=None) for value in values}
        assert found.writes == ()

    async def test_checkpoint_that_is_not_there(self, store: Store) -> None:
        assert await store.checkpoints.get(NAMESPACE, "t") is None
        await store.checkpoints.put(NAMESPACE, a_saved(), ())
        assert await store.checkpoints.get(NAMESPACE, "t", "sub") is None
        assert await store.checkpoints.get(NAMESPACE, "t", "", "2") is None
        assert await store.checkpoints.get(NAMESPACE, "u") is None

    async def test_checkpoint_with_the_greatest_id_is_the_latest(self, store: Store) -> None:
        for identity in ("2", "10", "9"):
            await store.checkpoints.put(NAMESPACE, a_saved(id=identity), ())
        latest = await store.checkpoints.get(NAMESPACE, "t")
        assert latest is not None
        assert latest.saved.key.id == "9"

    async def test_checkpoint_put_again_is_replaced(self, store: Store) -> None:
        await store.checkpoints.put(NAMESPACE, a_saved(links=(("a", "1"),)), [ChannelValue("a", "1", "k", b"old")])
        saved = a_saved(parent="0", metadata={"step": 2}, data=b"new", links=(("a", "1"),))
        await store.checkpoints.put(NAMESPACE, saved, [ChannelValue("a", "1", "l", b"new")])
        found = await store.checkpoints.get(NAMESPACE, "t")
        assert found == CheckpointRead(saved, (ChannelValue("a", "1", "l", b"new"),), ())

    async def test_checkpoints_share_values_that_did_not_change(self, store: Store) -> None:
        first, second = a_saved(links=(("a", "1"), ("b", "1"))), a_saved(id="2", links=(("a", "1"), ("b", "2")))
        await store.checkpoints.put(
            NAMESPACE, first, [ChannelValue("a", "1", "k", b"a"), ChannelValue("b", "1", "k", b"b1")]
        )
        await store.checkpoints.put(NAMESPACE, second, [ChannelValue("b", "2", "k", b"b2")])
        for saved, b in ((first, b"b1"), (second, b"b2")):
            found = await store.checkpoints.get(NAMESPACE, *saved.key)
            assert found is not None
            assert {value.channel: value.data for value in found.values} == {"a": b"a", "b": b}

    async def test_writes_come_in_the_order_of_path_task_and_number(self, store: Store) -> None:
        key = CheckpointKey("t", "", "1")
        writes = [a_write("b", 10), a_write("b", 9), a_write("a", 0, path="~2"), a_write("c", -1), a_write("a", 3)]
        await store.checkpoints.put_writes(NAMESPACE, key, writes)  # before its checkpoint, as may be
        await store.checkpoints.put(NAMESPACE, a_saved(), ())
        found = await store.checkpoints.get(NAMESPACE, "t")
        assert found is not None
        assert list(found.writes) == [writes[4], writes[1], writes[0], writes[3], writes[2]]

    async def test_first_write_stays_but_special_ones_are_replaced(self, store: Store) -> None:
        key = CheckpointKey("t", "", "1")
        await store.checkpoints.put(NAMESPACE, a_saved(), ())
        first = [a_write(number=0), a_write(number=-3)]
        await store.checkpoints.put_writes(NAMESPACE, key, first)
        again = [replace(item, data=b"again", channel="other", path="p") for item in first]
        await store.checkpoints.put_writes(NAMESPACE, key, again)
        found = await store.checkpoints.get(NAMESPACE, "t")
        assert found is not None
        assert list(found.writes) == [first[0], again[1]]

    async def test_checkpoints_are_found_newest_first(self, store: Store) -> None:
        for saved in (a_saved("t", "1"), a_saved("u", "3"), a_saved("t", "2", "sub"), a_saved("u", "1")):
            await store.checkpoints.put(NAMESPACE, saved, ())
        found = await store.checkpoints.find(NAMESPACE, CheckpointSearch())
        order = [
            CheckpointKey("u", "", "3"),
            CheckpointKey("t", "sub", "2"),
            CheckpointKey("u", "", "1"),
            CheckpointKey("t", "", "1"),
        ]
        assert [item.saved.key for item in found] == order
        assert await ids(store, CheckpointSearch(thread="t")) == ["2", "1"]
        assert await ids(store, CheckpointSearch(thread="t", ns="")) == ["1"]
        assert await ids(store, CheckpointSearch(id="1")) == ["1", "1"]
        assert await ids(store, CheckpointSearch(before="2")) == ["1", "1"]
        assert await ids(store, limit=3) == ["3", "2", "1"]
        assert await ids(store, limit=0) == []
        for place, key in enumerate(
            order
        ):  # page by page, also when the last checkpoint of a page is removed meanwhile
            rest = await store.checkpoints.find(NAMESPACE, CheckpointSearch(after=key))
            assert [item.saved.key for item in rest] == order[place + 1 :]

    async def test_metadata_filter_comes_before_the_limit(self, store: Store) -> None:
        for number in range(6):
            metadata = {
                "step": number,
                "source": "loop" if number % 2 else "input",
                "who": {"a": [1]},
                "not\x00": "x\x00",
            }
            await store.checkpoints.put(NAMESPACE, a_saved(id=str(number), metadata=metadata), ())
        assert await ids(store, CheckpointSearch(metadata={"source": "loop"}), 2) == ["5", "3"]
        assert await ids(store, CheckpointSearch(metadata={"source": "loop", "step": 1})) == ["1"]
        assert await ids(store, CheckpointSearch(metadata={"who": {"a": [1]}, "step": 4, "not\x00": "x\x00"})) == ["4"]
        assert await ids(store, CheckpointSearch(metadata={"who": {"a": []}})) == []
        assert await ids(store, CheckpointSearch(metadata={"who.a": [1]}), 1) == ["5"]
        assert await ids(store, CheckpointSearch(metadata={"who.a": [2]})) == []
        assert await ids(store, CheckpointSearch(metadata={"who.b.c": None}), 1) == ["5"]
        assert await ids(store, CheckpointSearch(metadata={"missing": None}), 1) == ["5"]
        assert await ids(store, CheckpointSearch(metadata={"missing": 1})) == []

    async def test_outlines_tell_what_hangs_together(self, store: Store) -> None:
        saved = a_saved(id="2", parent="1", links=(("a", "1"),), small=("b",), metadata={"x": "\x00"})
        for item in (saved, a_saved(), a_saved(ns="sub"), a_saved("u")):
            await store.checkpoints.put(NAMESPACE, item, ())
        outlines = await store.checkpoints.outlines(NAMESPACE, "t")
        assert [outline.key for outline in outlines] == [
            CheckpointKey("t", "", "1"),
            CheckpointKey("t", "", "2"),
            CheckpointKey("t", "sub", "1"),
        ]
        assert outlines[1][1:] == ("1", {"x": "\x00"}, frozenset({"a", "b"}))

    async def test_removed_checkpoints_leave_what_others_need(self, store: Store) -> None:
        await store.checkpoints.put(
            NAMESPACE,
            a_saved(links=(("a", "1"), ("b", "1"))),
            [ChannelValue("a", "1", "k", b"a"), ChannelValue("b", "1", "k", b"b")],
        )
        await store.checkpoints.put(NAMESPACE, a_saved(id="2", links=(("a", "1"),)), ())
        for identity in ("1", "2"):
            await store.checkpoints.put_writes(NAMESPACE, CheckpointKey("t", "", identity), [a_write()])
        await store.checkpoints.remove(
            NAMESPACE, [CheckpointKey("t", "", "1"), CheckpointKey("t", "", "9"), CheckpointKey("u", "", "1")]
        )
        (left,) = await store.checkpoints.find(NAMESPACE, CheckpointSearch())
        assert left.saved.key.id == "2"
        assert [value.data for value in left.values] == [b"a"]
        assert left.writes == (a_write(),)
        await store.checkpoints.put(NAMESPACE, a_saved(links=(("b", "1"),)), ())  # its value is gone, and its writes
        found = await store.checkpoints.get(NAMESPACE, "t", "", "1")
        assert found is not None
        assert (found.values, found.writes) == ((), ())
        await store.checkpoints.remove(NAMESPACE, [])

    async def test_deleted_threads_leave_nothing(self, store: Store) -> None:
        for thread in ("t", "u", "v"):
            saved = a_saved(thread, links=(("a", "1"),))
            await store.checkpoints.put(NAMESPACE, saved, [ChannelValue("a", "1", "k", thread.encode())])
            await store.checkpoints.put_writes(NAMESPACE, saved.key, [a_write()])
        await store.checkpoints.delete_threads(NAMESPACE, ["t", "v", "never"])
        (left,) = await store.checkpoints.find(NAMESPACE, CheckpointSearch())
        assert (left.saved.key.thread, left.values[0].data, left.writes) == ("u", b"u", (a_write(),))
        await store.checkpoints.put(NAMESPACE, a_saved("t", links=(("a", "1"),)), ())
        found = await store.checkpoints.get(NAMESPACE, "t")
        assert found is not None
        assert (found.values, found.writes) == ((), ())

    async def test_deleted_runs_leave_the_others(self, store: Store) -> None:
        for identity, run in (("1", "r"), ("2", "s"), ("3", None), ("4", "r")):
            await store.checkpoints.put(NAMESPACE, a_saved(id=identity, run=run), ())
        await store.checkpoints.put_writes(NAMESPACE, CheckpointKey("t", "", "4"), [a_write()])
        await store.checkpoints.delete_runs(NAMESPACE, ["r", "never"])
        assert await ids(store) == ["3", "2"]
        await store.checkpoints.delete_runs(NAMESPACE, [])

    async def test_copied_thread_is_a_thread_of_its_own(self, store: Store) -> None:
        saved = a_saved(id="2", parent="1", links=(("a", "1"),), small=("s",), run="r", metadata={"x": "\x00"})
        await store.checkpoints.put(NAMESPACE, saved, [ChannelValue("a", "1", "k", BYTES)])
        await store.checkpoints.put(NAMESPACE, a_saved(ns="sub"), ())
        await store.checkpoints.put_writes(NAMESPACE, saved.key, [a_write()])
        await store.checkpoints.copy_thread(NAMESPACE, "t", "new")
        await store.checkpoints.copy_thread(NAMESPACE, "never", "nothing")
        await store.checkpoints.delete_threads(NAMESPACE, ["t"])
        sub, root = sorted(
            await store.checkpoints.find(NAMESPACE, CheckpointSearch()), key=lambda item: item.saved.key.id
        )
        assert root == CheckpointRead(
            replace(saved, key=CheckpointKey("new", "", "2")), (ChannelValue("a", "1", "k", BYTES),), (a_write(),)
        )
        assert sub.saved == a_saved("new", ns="sub")

    async def test_namespaces_know_nothing_of_each_others_checkpoints(self, store: Store) -> None:
        for namespace in (NAMESPACE, OTHER_USER, OTHER_TENANT):
            saved = a_saved(links=(("a", "1"),), run="r")
            await store.checkpoints.put(namespace, saved, [ChannelValue("a", "1", "k", f"{namespace}".encode())])
            await store.checkpoints.put_writes(namespace, saved.key, [a_write(namespace.tenant)])
        await store.checkpoints.delete_threads(OTHER_USER, ["t"])
        await store.checkpoints.delete_runs(OTHER_TENANT, ["r"])
        (left,) = await store.checkpoints.find(NAMESPACE, CheckpointSearch())
        assert [value.data for value in left.values] == [f"{NAMESPACE}".encode()]
        assert left.writes == (a_write(NAMESPACE.tenant),)
        for namespace in (OTHER_USER, OTHER_TENANT):
            assert await store.checkpoints.find(namespace, CheckpointSearch()) == []

    async def test_checkpoints_leave_the_journal_alone(self, store: Store) -> None:
        await store.checkpoints.put(NAMESPACE, a_saved(), ())
        assert await store.head(NAMESPACE) == Head(0, 0)
        assert await store.namespaces() == []
        await store.apply(a_batch(a_put("a")))
        head = await store.head(NAMESPACE)
        await store.checkpoints.put(NAMESPACE, a_saved(id="2"), ())
        assert await store.head(NAMESPACE) == head
        assert len(await store.journal(NAMESPACE)) == 1

    async def test_checkpoints_and_batches_at_once(self, store: Store) -> None:
        puts = [store.checkpoints.put(NAMESPACE, a_saved(id=f"{number:02}"), ()) for number in range(20)]
        batches = [store.apply(a_batch(a_put(f"m{number}"))) for number in range(20)]
        await asyncio.gather(*(item for pair in zip(puts, batches, strict=True) for item in pair))
        assert len(await ids(store)) == 20
        assert (await store.head(NAMESPACE)).rev == 20

    async def test_checkpoint_that_no_engine_can_hold_is_refused_whole(self, store: Store) -> None:
        wrong = [
            a_saved(metadata={"x": object()}),
            a_saved(metadata={"x": float("nan")}),
            a_saved("\ud800"),
            a_saved(metadata={"x": "\ud800"}),
        ]
        for saved in wrong:
            with pytest.raises(InvalidInput):
                await store.checkpoints.put(NAMESPACE, saved, [ChannelValue("a", "1", "k", b"")])
        with pytest.raises(InvalidInput):
            await store.checkpoints.put_writes(
                NAMESPACE, CheckpointKey("t", "", "1"), [a_write(), a_write(path="\ud800")]
            )
        await store.checkpoints.put(NAMESPACE, a_saved(links=(("a", "1"),)), ())
        found = await store.checkpoints.get(NAMESPACE, "t")
        assert found is not None
        assert (found.values, found.writes) == ((), ())

    async def test_checkpoints_need_an_open_store(self, store: Store) -> None:
        await store.close()
        with pytest.raises(StoreUnavailable):
            await store.checkpoints.put(NAMESPACE, a_saved(), ())
        with pytest.raises(StoreUnavailable):
            await store.checkpoints.get(NAMESPACE, "t")

    async def test_large_checkpoint(self, store: Store) -> None:
        large = BYTES * 8_000  # 2 MB
        await store.checkpoints.put(
            NAMESPACE, a_saved(links=(("a", "1"),)), [ChannelValue("a", "1", "k", large, '"x"')]
        )
        found = await store.checkpoints.get(NAMESPACE, "t")
        assert found is not None
        assert found.values[0].data == large
