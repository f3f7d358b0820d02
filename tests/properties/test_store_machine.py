"""Random calls: SQLite, JSON files and PostgreSQL answer as the reference does; and a broken store is found out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from memwarden.filters import Where
from memwarden.records import Batch, Memory, MemoryState, Namespace, Receipt, Scan
from memwarden.stores.jsonfile import JsonStore
from memwarden.stores.memory.store import MemoryStore
from memwarden.stores.postgres import PostgresStore
from memwarden.stores.protocol import Store
from memwarden.stores.sqlite import SqliteStore
from memwarden.testing.state_machine import store_machine

_SETTINGS = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to shrink a failure takes minutes; do it by hand
    print_blob=True,
)


_ENOUGH = pytest.mark.parametrize("examples", [12, pytest.param(1_000, marks=pytest.mark.soak)])


@_ENOUGH
def test_sqlite_answers_as_the_reference_does(examples: int) -> None:
    machine = store_machine(lambda folder: SqliteStore(folder / "memory.db"))
    run_state_machine_as_test(machine, settings=settings(_SETTINGS, max_examples=examples))


@_ENOUGH
def test_json_answers_as_the_reference_does(examples: int) -> None:
    machine = store_machine(lambda folder: JsonStore(folder / "memory"))
    run_state_machine_as_test(machine, settings=settings(_SETTINGS, max_examples=examples))


@_ENOUGH
def test_postgres_answers_as_the_reference_does(emptied: Callable[[], str], examples: int) -> None:
    def make(folder: Path) -> Store:
        return PostgresStore(emptied(), connections=2)

    run_state_machine_as_test(store_machine(make), settings=settings(_SETTINGS, max_examples=examples // 2))


class _ForgetsAnUpdate(MemoryStore):
    async def versions(self, namespace: Namespace, wanted: Sequence[tuple[str, int]]) -> list[Memory]:
        return await super().versions(namespace, [(item, 1 if version == 2 else version) for item, version in wanted])


class _SkipsTombstones(MemoryStore):
    async def scan(self, namespace: Namespace, since: int = 0) -> Scan:
        scan = await super().scan(namespace, since)
        return replace(scan, rows=[row for row in scan.rows if row.live])


class _DropsACondition(MemoryStore):
    async def count(self, namespace: Namespace, where: Where = (), *, state: MemoryState = MemoryState.ACTIVE) -> int:
        return await super().count(namespace, where[1:], state=state)


class _ForgetsKeys(MemoryStore):
    async def apply(self, batch: Batch) -> Receipt:
        return await super().apply(replace(batch, key=None))


@pytest.mark.parametrize("broken", [_ForgetsAnUpdate, _SkipsTombstones, _DropsACondition, _ForgetsKeys])
def test_a_broken_store_is_found_out(broken: Callable[[], Store]) -> None:
    def make(folder: Path) -> Store:
        return broken()

    hunt = settings(_SETTINGS, max_examples=600, database=None)
    machine = seed(315)(store_machine(make))  # a start from which breaks are met early; others take ten times as long
    with pytest.raises(AssertionError, match="the reference"):
        run_state_machine_as_test(machine, settings=hunt)
