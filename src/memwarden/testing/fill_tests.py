"""The part of the contract of a store that is about signals which follow their rows."""

from __future__ import annotations

from dataclasses import replace

from memwarden.records import Fill, Namespace, Signals, WriteMode
from memwarden.stores.protocol import Store
from memwarden.testing.examples import NAMESPACE, SIGNALS, a_batch, a_put

LATER = replace(SIGNALS, vector=bytes(range(64)), pieces=bytes(range(32)))


class FillTests:
    """Mixed into :class:`memwarden.testing.StoreTests`."""

    async def test_filled_signals_are_read_by_row_and_by_scan(self, store: Store) -> None:
        await store.apply(a_batch(a_put("a"), a_put("b")))
        before = await store.head(NAMESPACE)
        await store.fill(NAMESPACE, [Fill("a", 1, LATER)])
        (row,) = await store.index_rows(NAMESPACE, ["a", "a", "missing"])
        assert (row.id, row.live, row.vector, row.pieces) == ("a", True, LATER.vector, LATER.pieces)
        assert (row.terms, row.flags, row.days) == (LATER.terms, LATER.flags, LATER.days)
        scanned = {row.id: row for row in (await store.scan(NAMESPACE)).rows}
        assert scanned["a"] == row
        assert scanned["b"].vector == SIGNALS.vector
        # Nobody is told of a change that is none.
        assert await store.head(NAMESPACE) == before
        assert len(await store.journal(NAMESPACE)) == before.rev

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
