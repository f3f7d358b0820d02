"""The garbage collector is paused while many rows become objects, and only then."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memwarden.concurrency.collection import paused_collection
from memwarden.recall.index.namespace_index import NamespaceIndexes
from memwarden.records import Head, IndexRow, Scan
from memwarden.stores.memory.store import MemoryStore


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Leave the collector as it was."""
    was = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was else gc.disable)()


def test_the_last_pause_that_ends_resumes_the_collector() -> None:
    first, second = paused_collection(1_000), paused_collection(1_000)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_an_error_ends_the_pause() -> None:
    with pytest.raises(ValueError, match="broken row"), paused_collection(1_000):
        raise ValueError("broken row")
    assert gc.isenabled()


def test_a_program_without_a_collector_stays_without() -> None:
    gc.disable()
    with paused_collection(1_000):
        pass
    assert not gc.isenabled()


def test_a_call_with_few_objects_pauses_nothing() -> None:
    with paused_collection(999):
        assert gc.isenabled()


async def test_no_collection_looks_at_all_rows_while_an_index_is_built() -> None:
    rows = [a_row(number) for number in range(20_000)]
    indexes = NamespaceIndexes(MemoryStore(), session_gap_hours=4, dimensions=None, max_bytes=10**9)
    gc.collect()
    with counted() as runs:
        index = await indexes.build(Scan(rows, Head(1, 0)))
    assert index.alive == len(rows)
    assert len(runs) <= 2, "without the pause there are dozens"


def a_row(number: int) -> IndexRow:
    values: dict[str, Any] = dict.fromkeys(IndexRow._fields)
    return IndexRow(
        **values
        | {
            "n": number + 1,
            "id": f"m{number}",
            "live": True,
            "terms": b"word",
            "flags": 0,
            "days": b"",
            "pinned": False,
        }
        | {"created_at": number, "updated_at": number, "channel": "turn", "kind": "message", "category": "general"}
        | {"importance": 0.5, "tags": (), "characters": (), "sources": (), "trust": "person", "utc_offset": 0}
        | {"forgotten": False}
    )


@contextmanager
def counted() -> Iterator[list[str]]:
    """Yield a list that gets an item when a collection starts or stops."""
    runs: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        runs.append(phase)

    gc.callbacks.append(note)
    yield runs
    gc.callbacks.remove(note)
