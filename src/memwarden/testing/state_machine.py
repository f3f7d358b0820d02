"""Random calls to a store and to the reference side by side; every observable answer must be the same."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memwarden.errors import MemwardenError
from memwarden.filters import FIELDS, MANY, OBJECT, SORTABLE, Condition
from memwarden.records import (
    MAX_OFFSET,
    Batch,
    BatchChange,
    Event,
    ExtractionMark,
    Link,
    Memory,
    MemoryState,
    Namespace,
    Put,
    Remove,
    Restore,
    SeenMark,
    Signals,
    Unlink,
    WriteMode,
)
from memwarden.stores.memory.store import MemoryStore
from memwarden.stores.protocol import Store
from memwarden.testing.examples import NAMESPACE, OTHER_USER, START

# Few values of each, so that ids, keys and filters meet.
_NAMESPACES = st.sampled_from([NAMESPACE, OTHER_USER])
_IDS = st.sampled_from(["a", "b", "c", "d", "e"])
_TEXTS = st.sampled_from(["", "x", "X", "y", "xy", "é", '"', "x\x00y", "\\", "\n", ",", "😀", "～"])
_TIMES: st.SearchStrategy[datetime] = st.integers(-2, 2).map(lambda number: START + timedelta(microseconds=number))
_NUMBERS = st.sampled_from([0.0, 0.1, 0.5, 1.0])
_MODES = [WriteMode.UPSERT] * 6 + [WriteMode.CREATE, WriteMode.UPDATE]  # most batches shall succeed
_LISTS = st.lists(_TEXTS | st.text(max_size=3), max_size=3).map(tuple)
_FREE_TEXT = st.text(max_size=8)
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _FREE_TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_FREE_TEXT, inner, max_size=2),
    max_leaves=4,
)
_NAMES_INSIDE = st.sampled_from(["a", "b", "é"])
_VALUES_INSIDE = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.sampled_from(["", "a", "é", "10"])
)
_METADATA = st.dictionaries(
    _NAMES_INSIDE,
    _VALUES_INSIDE | st.lists(_VALUES_INSIDE, max_size=2) | st.dictionaries(_NAMES_INSIDE, _VALUES_INSIDE, max_size=2),
    max_size=2,
)


@st.composite
def memories(draw: st.DrawFn, namespace: Namespace) -> Memory:
    """A memory with the plain values that filters ask for, and free values elsewhere."""

    def optional(values: st.SearchStrategy[Any]) -> Any:
        return draw(st.none() | values)

    return Memory(
        id=draw(_IDS),
        namespace=namespace,
        text=draw(_FREE_TEXT),
        created_at=draw(_TIMES),
        updated_at=draw(_TIMES),
        channel=draw(_TEXTS | st.just("state")),
        kind=draw(_TEXTS),
        category=draw(_TEXTS),
        importance=draw(_NUMBERS),
        tags=draw(_LISTS),
        pinned=draw(st.booleans()),
        source=optional(_TEXTS),
        sources=draw(_LISTS),
        summary=optional(_FREE_TEXT),
        context=optional(_FREE_TEXT),
        characters=draw(_LISTS),
        payload=optional(st.dictionaries(_FREE_TEXT, _JSON, max_size=2) | _METADATA),
        token_cost=optional(st.integers(0, 2**40)),
        role=optional(_TEXTS),
        name=optional(_TEXTS),
        user_id=optional(_TEXTS),
        agent_id=optional(_TEXTS),
        run_id=optional(_TEXTS),
        actor_id=optional(_TEXTS),
        thread_id=optional(_TEXTS),
        valid_from=optional(_TIMES),
        valid_to=optional(_TIMES),
        trust=draw(_TEXTS),
        utc_offset=draw(st.integers(-MAX_OFFSET, MAX_OFFSET)),
    )


@st.composite
def puts(draw: st.DrawFn, namespace: Namespace) -> Put:
    """A Put in any mode; most source keys meet others."""
    return Put(
        draw(memories(namespace)),
        Signals(
            draw(st.binary(max_size=8)),
            draw(st.none() | st.binary(max_size=4)),
            draw(st.integers(0, 255)),
            draw(st.binary(max_size=8)),
            draw(st.none() | st.binary(max_size=4)),
            draw(st.none() | st.binary(max_size=4)),
        ),
        draw(st.sampled_from(_MODES)),
        draw(st.sampled_from([None, None, None, "", "s", ":s"])),
        draw(st.sampled_from([None, None, 1, 2])),
        draw(st.sampled_from([Event.UPDATE, Event.MERGE, Event.SUPERSEDE, Event.PROMOTE])),
        draw(st.sampled_from([MemoryState.ACTIVE, MemoryState.ACTIVE, MemoryState.ACTIVE, *MemoryState])),
        draw(st.none() | _TIMES),
        draw(st.integers(0, 2)),
        keep_versions=draw(st.sampled_from([None, None, None, 0, 1, 2])),
    )


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """A batch of a few changes; about a tenth are invalid (a memory of another namespace)."""
    namespace = draw(_NAMESPACES)
    inside = namespace if draw(st.integers(0, 9)) else OTHER_USER
    changes = draw(st.lists(puts(inside) | others(), min_size=0, max_size=5))
    key, fingerprint = draw(st.none() | st.sampled_from(["k", "l"])), draw(st.sampled_from([None, "f"]))
    actor = draw(st.none() | _TEXTS)
    decided_at = draw(st.sampled_from([None, None, None, 0, 2, 5, 9]))
    seen = tuple(draw(st.lists(st.builds(SeenMark, _TEXTS, st.integers(0, 12)), max_size=2)))
    extracted = draw(st.none() | st.builds(ExtractionMark, _TEXTS, st.integers(0, 3), st.sampled_from([0, 0, 0, 1, 2])))
    on_all = draw(st.sampled_from([False, False, False, True]))
    return Batch(namespace, tuple(changes), draw(_TIMES), key, fingerprint, actor, decided_at, on_all, seen, extracted)


def others() -> st.SearchStrategy[BatchChange]:
    """Changes of what is stored."""
    step, meta = st.integers(0, 2), st.none() | st.dictionaries(_FREE_TEXT, _JSON, max_size=2)
    types = st.sampled_from(["related_to", "supersedes"])
    removes = st.builds(
        Remove, _IDS, st.sampled_from([MemoryState.SOFT_DELETED, MemoryState.MERGED, MemoryState.SOFT_DELETED,
        MemoryState.QUARANTINED]), st.sampled_from([Event.DELETE, Event.MERGE, Event.TTL, Event.EVICT, Event.CONFIRM]),
        st.none() | _TIMES, step, meta,
    )  # fmt: skip
    links = st.builds(Link, _IDS, _IDS, types, _NUMBERS, step, meta)
    restores = st.builds(Restore, _IDS, st.sampled_from([Event.RESTORE, Event.CONFIRM]), step, meta)
    return removes | restores | links | st.builds(Unlink, _IDS, _IDS, types, step, meta)


_INSIDE = st.one_of(
    st.builds(
        Condition, st.just("metadata"), st.sampled_from(["$gt", "$gte", "$lt", "$lte"]),
        st.integers(-3, 3) | st.floats(-2, 2) | st.sampled_from(["", "a", "é"]),
        st.lists(_NAMES_INSIDE, min_size=1, max_size=2).map(tuple),
    ),
    st.builds(
        Condition, st.just("metadata"), st.sampled_from(["$eq", "$ne"]), _VALUES_INSIDE,
        st.lists(_NAMES_INSIDE, min_size=1, max_size=2).map(tuple),
    ),
    st.builds(
        Condition, st.just("metadata"), st.just("$in"),
        st.lists(_VALUES_INSIDE.filter(lambda value: value is not None), max_size=3).map(tuple),
        st.lists(_NAMES_INSIDE, min_size=1, max_size=2).map(tuple),
    ),
)  # fmt: skip


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    """A condition as :func:`memwarden.filters.parse` makes them, on any field."""
    field = draw(st.sampled_from(sorted(FIELDS)))
    sort = FIELDS[field]
    if sort == OBJECT:
        inside: Condition = draw(_INSIDE)
        return inside
    by_sort: dict[str, st.SearchStrategy[Any]] = {"number": _NUMBERS, "boolean": st.booleans(), "time": _TIMES}
    values = _IDS if field == "id" else by_sort.get(sort, _TEXTS)
    op = draw(st.sampled_from(_operators(sort)))
    if op == "$in":
        return Condition(field, op, tuple(draw(st.lists(values, max_size=3))))
    return Condition(field, op, draw(values | st.none() if op in ("$eq", "$ne") else values))


def _operators(sort: str) -> list[str]:
    if sort == MANY:
        return ["$in"]
    return ["$in", "$eq", "$ne"] if sort == "boolean" else ["$in", "$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]


class StoreMachine(RuleBasedStateMachine):
    """Drives the store of ``make_store`` and a :class:`MemoryStore`. Built by :func:`store_machine`."""

    make_store: Callable[[Path], Store]

    def __init__(self) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._folder = tempfile.TemporaryDirectory()
        self._store = type(self).make_store(Path(self._folder.name))
        self._reference = MemoryStore()

    @initialize()
    def open(self) -> None:
        self._runner.run(self._store.open())
        self._runner.run(self._reference.open())

    @rule(batch=batches())
    def apply(self, batch: Batch) -> None:
        self._compare(lambda store: store.apply(batch))

    @rule(several=st.lists(batches(), min_size=2, max_size=4))
    def apply_at_once(self, several: list[Batch]) -> None:
        """Batches handed over together are applied in the order in which they were given."""

        async def together(store: Store) -> list[Any]:
            answers = await asyncio.gather(*(store.apply(item) for item in several), return_exceptions=True)
            return [type(answer) if isinstance(answer, MemwardenError) else answer for answer in answers]

        self._compare(together)

    @rule(
        namespace=_NAMESPACES,
        where=st.lists(conditions(), max_size=3).map(tuple),
        limit=st.integers(0, 6),
        order_by=st.sampled_from(sorted(SORTABLE)),
        descending=st.booleans(),
    )
    def find(
        self, namespace: Namespace, where: tuple[Condition, ...], limit: int, order_by: str, descending: bool
    ) -> None:
        self._compare(lambda store: store.find(namespace, where, limit=limit, order_by=order_by, descending=descending))
        self._compare(lambda store: store.count(namespace, where))

    @rule(
        namespace=_NAMESPACES,
        where=st.lists(conditions(), max_size=1).map(tuple),
        state=st.sampled_from(list(MemoryState)),
    )
    def find_by_state(self, namespace: Namespace, where: tuple[Condition, ...], state: MemoryState) -> None:
        self._compare(lambda store: store.find(namespace, where, order_by="written", state=state))
        self._compare(lambda store: store.count(namespace, where, state=state))

    @rule(namespace=_NAMESPACES, condition=conditions())
    def find_by_one_condition(self, namespace: Namespace, condition: Condition) -> None:
        self._compare(lambda store: store.find(namespace, (condition,), order_by="written"))

    @rule(namespace=_NAMESPACES, ids=st.lists(_IDS, max_size=6))
    def get(self, namespace: Namespace, ids: list[str]) -> None:
        self._compare(lambda store: store.get(namespace, ids))
        self._compare(lambda store: store.get(namespace, ids, removed=True))

    @rule(namespace=_NAMESPACES, since=st.integers(0, 12))
    def scan(self, namespace: Namespace, since: int) -> None:
        self._compare(lambda store: _scan(store, namespace, since))

    @rule(namespace=_NAMESPACES, wanted=st.lists(st.tuples(_IDS, st.integers(0, 5)), min_size=1, max_size=12))
    def versions(self, namespace: Namespace, wanted: list[tuple[str, int]]) -> None:
        self._compare(lambda store: store.versions(namespace, wanted))

    @rule(namespace=_NAMESPACES, since=st.integers(0, 12), memory_id=st.none() | _IDS, limit=st.integers(0, 9))
    def journal(self, namespace: Namespace, since: int, memory_id: str | None, limit: int) -> None:
        self._compare(lambda store: store.journal(namespace, since=since, memory_id=memory_id, limit=limit))

    @rule(
        namespace=_NAMESPACES,
        step=st.none() | st.integers(0, 12),
        thread_id=st.none() | _TEXTS,
        turns=st.booleans(),
        descending=st.booleans(),
        limit=st.integers(0, 9),
    )
    def steps(
        self, namespace: Namespace, step: int | None, thread_id: str | None, turns: bool, descending: bool, limit: int
    ) -> None:
        self._compare(
            lambda store: store.journal(
                namespace, step=step, thread_id=thread_id, turns=turns, descending=descending, limit=limit
            )
        )

    @rule(namespace=_NAMESPACES, moment=_TIMES)
    def revision_at(self, namespace: Namespace, moment: datetime) -> None:
        self._compare(lambda store: store.revision_at(namespace, moment))

    @rule(namespace=_NAMESPACES, ids=st.lists(_IDS, max_size=3))
    def relations(self, namespace: Namespace, ids: list[str]) -> None:
        self._compare(lambda store: store.relations(namespace, ids))

    @rule(namespace=_NAMESPACES, thread_id=_TEXTS, turns=st.integers(1, 4))
    def thread(self, namespace: Namespace, thread_id: str, turns: int) -> None:
        self._compare(lambda store: store.thread(namespace, thread_id, turns=turns))

    @rule(model=st.sampled_from(["m1", "m2"]))
    def identity(self, model: str) -> None:
        self._compare(lambda store: store.identity(model))

    @rule()
    def close_and_open(self) -> None:
        self._runner.run(self._store.close())
        self._runner.run(self._store.open())

    @invariant()
    def same_contents(self) -> None:
        for namespace in (NAMESPACE, OTHER_USER):
            self._compare(partial(_contents, namespace=namespace))
        self._compare(lambda store: store.namespaces())

    def teardown(self) -> None:
        self._runner.run(self._store.close())
        self._runner.close()
        self._folder.cleanup()

    def _compare(self, ask: Callable[[Store], Coroutine[Any, Any, Any]]) -> None:
        answer, wanted = (self._answer(ask(store)) for store in (self._store, self._reference))
        assert answer == wanted, f"the store answers {answer!r}, the reference {wanted!r}"

    def _answer(self, call: Coroutine[Any, Any, Any]) -> Any:
        try:
            return self._runner.run(call)
        except MemwardenError as error:
            return type(error)


async def _scan(store: Store, namespace: Namespace, since: int) -> Any:
    scan = await store.scan(namespace, since)
    # A tombstone is compared by id and number only; its other fields may be stale.
    return scan.head, [row if row.live else (row.n, row.id) for row in scan.rows], sorted(scan.edges)


async def _contents(store: Store, namespace: Namespace) -> Any:
    everything = await store.find(namespace, limit=100, order_by="written", descending=False)
    return await store.head(namespace), everything, await _scan(store, namespace, 0)


def store_machine(make_store: Callable[[Path], Store]) -> type[StoreMachine]:
    """Return a state machine for the stores that ``make_store`` makes from an empty folder.

    ::

        TestMine = store_machine(lambda folder: MyStore(folder / "data")).TestCase
    """
    return type("Machine", (StoreMachine,), {"make_store": staticmethod(make_store)})
