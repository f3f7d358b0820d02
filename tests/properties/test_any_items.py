"""Whatever is done to LangGraph's stores and to ours, both hold the same: on every engine, item by item.

Where LangGraph's own stores differ from each other, its SQLite store says which namespaces there are and what is in
them, its store in memory which values a filter asks for.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, MatchCondition, Op, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from memwarden import Warden
from memwarden.surfaces.integrations.langgraph import MemwardenStore

LABELS = st.sampled_from(["a", "b", "ab", "_", "%"])
PATHS = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
PATTERNS = st.lists(LABELS | st.just("*"), min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["k", "l", "ü"])
SCALARS = st.sampled_from(["x", "y", "ü", 1, 2, 2.5, -1, None]) | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=3)
VALUES = st.dictionaries(
    st.sampled_from("fgh"),
    SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.sampled_from("fg"), SCALARS),
    max_size=3,
)
FILTERS = st.dictionaries(
    st.sampled_from("fgh"),
    SCALARS
    | st.lists(SCALARS, max_size=2)
    | st.dictionaries(st.sampled_from("fg"), SCALARS, min_size=1)
    | st.builds(lambda operator, value: {operator: value}, st.sampled_from(["$eq", "$ne"]), SCALARS),
    max_size=2,
)
CONDITIONS = st.lists(st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), PATTERNS), max_size=2).map(tuple)
PUTS = st.tuples(PATHS, KEYS, VALUES | st.none()).map(lambda given: PutOp(*given))
LISTINGS = st.builds(ListNamespacesOp, CONDITIONS, st.none() | st.integers(1, 3), st.integers(0, 4), st.integers(0, 3))
BATCHES = st.lists(st.lists(PUTS, min_size=1, max_size=4), min_size=1, max_size=4)
number = count()


@pytest.fixture(scope="module", params=["memory", "sqlite", "postgres"])
def warden(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, emptied: Callable[[], str]
) -> Iterator[Warden]:
    file = tmp_path_factory.mktemp("store") / "store.db"
    url = {"memory": "memory://", "sqlite": f"sqlite:///{file}"}.get(request.param) or emptied()
    with Warden.open(url, config={"embedder": "none"}) as warden:
        yield warden


def held(store: BaseStore, *, prefix: tuple[str, ...] = (), conditions: Any = None) -> set[tuple[Any, ...]]:
    found = store.search(prefix, filter=conditions, limit=1_000)
    return {(item.namespace, item.key, repr(sorted(item.value.items()))) for item in found}


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(BATCHES, st.lists(LISTINGS, max_size=4), st.lists(FILTERS, max_size=4), PATHS)
def test_ours_and_langgraphs_hold_the_same(
    warden: Warden, batches: list[list[Op]], listings: list[Op], filters: list[Any], prefix: tuple[str, ...]
) -> None:
    ours = MemwardenStore(warden.scope(user=f"u{next(number)}"))
    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    on_file, in_memory = SqliteStore(connection), InMemoryStore()
    on_file.setup()
    for batch in batches:
        for store in (ours, on_file, in_memory):
            store.batch(batch)
    assert held(ours) == held(on_file) == held(in_memory)
    assert held(ours, prefix=prefix) == held(on_file, prefix=prefix)
    assert ours.batch(listings) == on_file.batch(listings)
    for conditions in filters:
        assert held(ours, conditions=conditions) == held(in_memory, conditions=conditions)
    whole = ours.search((), limit=1_000)
    assert [item for start in range(0, len(whole) + 2, 2) for item in ours.search((), limit=2, offset=start)] == whole
    for item in whole:
        assert ours.batch([GetOp(item.namespace, item.key), SearchOp(item.namespace)])[0].value == item.value  # type: ignore[union-attr]
    connection.close()
