"""As of a revision the answers are those that were given at it, whatever was written since (F11)."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwarden import AsyncWarden, clock
from memwarden.api.scope import AsyncScope
from memwarden.recall.index.encode import make_signals
from memwarden.recall.time.past import restore_edges, select_known
from memwarden.records import (
    Batch,
    BatchChange,
    Edge,
    Event,
    JournalEntry,
    Link,
    Memory,
    MemoryState,
    Put,
    Remove,
    Restore,
    Unlink,
    WriteMode,
)
from memwarden.stores.shared.decide import index_row
from memwarden.testing import get_store
from memwarden.testing.examples import NAMESPACE, SIGNALS, START, a_memory

DAY = timedelta(days=1)
QUESTIONS = ("Where does Ana live?", "What does the dog eat?")
texts = st.sampled_from(
    ["Ana lives in Paris.", "Ana lives in Berlin.", "The dog eats fish.", "The dog lives here.", "Ben has a van."]
)
which = st.integers(0, 9)
KEPT_STATES = [state for state in MemoryState if state not in (MemoryState.ACTIVE, MemoryState.PURGED)]
"""What is purged is gone from the past too."""
steps = st.one_of(
    st.tuples(st.just("remember"), texts, which),
    st.tuples(st.just("update"), texts, which),
    st.tuples(st.just("close"), st.sampled_from([-DAY, DAY]), which),
    st.tuples(st.just("remove"), st.sampled_from(KEPT_STATES), which),
    st.tuples(st.just("restore"), st.none(), which),
    st.tuples(st.just("link"), st.sampled_from([0.5, 0.9]), which),
    st.tuples(st.just("unlink"), st.none(), which),
)
Snapshot = tuple[int, list[list[Memory]], list[list[tuple[str, float]]]]


async def take(me: AsyncScope, known: list[str], step: tuple[str, Any, int]) -> None:
    """Do one step by the store itself, so that every kind of change is among them, whatever verbs there are."""
    verb, value, number = step
    if verb == "remember":
        (written,) = (await me.remember(value)).results
        known.append(written.id or "")
        return
    if not known:
        return
    store, namespace = get_store(me), me.who.namespace
    item, other = known[number % len(known)], known[(number + 1) % len(known)]
    active = await store.get(namespace, [item])
    change: BatchChange
    if verb in ("update", "close") and active:
        new = replace(active[0], text=value) if verb == "update" else replace(active[0], valid_to=clock.now() + value)
        (signals,) = make_signals([(new.text, new.created_at)], None)
        change = Put(new, signals, WriteMode.UPDATE, event=Event.UPDATE if verb == "update" else Event.SUPERSEDE)
    elif verb == "remove":
        change = Remove(item, value)
    elif verb == "link":
        change = Link(item, other, strength=value)
    elif verb == "unlink":
        change = Unlink(item, other)
    else:
        change = Restore(item)
    await store.apply(Batch(namespace, (change,), clock.now()))


async def answers(me: AsyncScope, as_of: int | None) -> tuple[list[list[Memory]], list[list[tuple[str, float]]]]:
    lists = [
        await me.find(as_of=as_of),
        await me.find({"importance": 0.5}, order_by="updated_at", descending=False, as_of=as_of, limit=3),
    ]
    found = [await me.query(item, threshold=0.0, top_k=50, budget_tokens=None, as_of=as_of) for item in QUESTIONS]
    return lists, [sorted((item.memory.text, item.score) for item in entry.items) for entry in found]


async def compare(url: str, script: list[tuple[str, Any, int]]) -> None:
    async with AsyncWarden.open(url, config={"embedder": "none", "merging": "off"}) as warden:
        me = warden.scope(user="u")
        known: list[str] = []
        snapshots: list[Snapshot] = [(0, [[], []], [[] for _ in QUESTIONS])]
        for step in script:
            await take(me, known, step)
            head = await warden.store.head(me.who.namespace)
            snapshots.append((head.rev, *await answers(me, None)))
        for rev, lists, found in snapshots:
            then_lists, then_found = await answers(me, rev)
            assert then_lists == lists
            assert [[text for text, _ in item] for item in then_found] == [[text for text, _ in item] for item in found]
            for item, other in zip(then_found, found, strict=True):
                assert [score for _, score in item] == pytest.approx([score for _, score in other], abs=2e-3)
        again = [await answers(me, rev) for rev, *_ in snapshots[-2:]]  # from what is kept
        assert [item[0] for item in again] == [snapshot[1] for snapshot in snapshots[-2:]]


@settings(max_examples=15, deadline=None)
@given(st.lists(steps, max_size=12))
def test_as_of_a_revision_answers_as_at_it(script: list[tuple[str, Any, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(compare("memory://", script))
        asyncio.run(compare(f"sqlite:///{Path(folder) / 's.db'}", script))


def test_edges_are_taken_back_by_what_the_journal_says_was_there() -> None:
    def change(seq: int, event: Event, to: str, **meta: Any) -> JournalEntry:
        told = {"to": to, "type": "related_to", **meta}
        return JournalEntry(seq, NAMESPACE, event, "a", 1, 1, None, None, START, "semantic", seq, told)

    now = [Edge("a", kind, "related_to", 0.9, kind != "gone") for kind in ("kept", "new", "stronger", "gone")]
    changes = [
        change(5, Event.LINK, "new", strength=0.9),
        change(6, Event.LINK, "stronger", strength=0.7, was=0.5),
        change(7, Event.UNLINK, "gone", was=0.4),
        change(8, Event.LINK, "stronger", strength=0.9, was=0.7),
    ]
    before = {edge.to_id: edge.strength for edge in restore_edges(now, changes) if edge.live}
    assert before == {"kept": 0.9, "stronger": 0.5, "gone": 0.4}


def test_what_ended_is_told_as_it_is_known_now() -> None:
    def row(memory_id: str, number: int, **fields: Any) -> Any:
        return index_row(number, a_memory(memory_id, **fields), SIGNALS)

    recorded = [row("moved", 1), row("forgotten", 2, valid_to=START + DAY)]
    now = {
        "moved": row("moved", 1, valid_to=START + 2 * DAY),
        "later": row("later", 3, valid_from=START + 3 * DAY),
        "backdated": row("backdated", 4, valid_from=START - DAY),
    }
    known = select_known(recorded, now, clock.microseconds(START))
    ends = {item.id: item.valid_to for item in known}
    assert ends == {
        "moved": clock.microseconds(START + 2 * DAY),
        "forgotten": clock.microseconds(START + DAY),
        "backdated": None,
    }
