"""Small memories, batches and filters to test a store with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from memwarden.records import Batch, BatchChange, Memory, Namespace, Put, Signals, WriteMode

NAMESPACE = Namespace("test", "user/ann")
OTHER_USER = Namespace("test", "user/bob")
OTHER_TENANT = Namespace("test2", "user/ann")
START = datetime(2026, 1, 1, 12, tzinfo=UTC)
SIGNALS = Signals(
    b"\x01\x00\x00\x00", b"\x00\x3c\x00\x00", 5, b"\x01\x00\x00\x00\x02\x00\x00\x00", b"\x7f\x81", b"\x01\x00"
)


def a_memory(memory_id: str, /, namespace: Namespace = NAMESPACE, **fields: Any) -> Memory:
    """Return a memory with this id and the given fields."""
    plain = Memory(memory_id, namespace, f"text of {memory_id}", START, START)
    return replace(plain, **fields)


def a_put(
    memory_id: str, mode: WriteMode = WriteMode.CREATE, /, *, source_key: str | None = None, **fields: Any
) -> Put:
    """Return a Put of :func:`a_memory`."""
    return Put(a_memory(memory_id, **fields), SIGNALS, mode, source_key)


def a_batch(
    *changes: BatchChange,
    namespace: Namespace = NAMESPACE,
    key: str | None = None,
    fingerprint: str | None = None,
    actor: str | None = None,
) -> Batch:
    """Return a batch of these changes, at a fixed time."""
    return Batch(namespace, changes, START + timedelta(hours=1), key, fingerprint, actor)


FULL = a_memory(
    "full",
    text='Line one\nand "two", ünïcödé 東京 😀 \x00 end',
    created_at=datetime(1969, 7, 20, 20, 17, 40, 123456, tzinfo=UTC),
    updated_at=datetime(2026, 5, 8, 13, 56, 0, 1, tzinfo=UTC),
    channel="insight",
    kind="decision",
    category="work",
    importance=1 / 3,
    tags=("one", 'quo"te', "back\\slash", "new\nline", "", "ключ"),
    pinned=True,
    source="thread/t1",
    sources=("m1", "m2"),
    summary="short",
    context="During the move, with Tomas",
    characters=("Ann", "東京 Bob"),
    payload={"a": [1, 2.5, None, True, {"b": "ü\x00"}], "": {}},
    token_cost=12,
    role="user",
    name="Ann",
    user_id="u1",
    agent_id="a1",
    run_id="r1",
    actor_id="x1",
    thread_id="t1",
    valid_from=datetime(1, 1, 1, tzinfo=UTC),
    valid_to=datetime(2026, 6, 1, 0, 0, 0, 7, tzinfo=UTC),
    trust="external",
)
"""A memory with every field set, to values that are easy to get wrong."""

_DAY = timedelta(days=1)

VARIED = (
    a_memory(
        "a",
        channel="turn",
        category="activity",
        importance=0.2,
        tags=("red", "blue"),
        characters=("Ann",),
        source="thread/t1",
        role="user",
        name="Ann",
        user_id="u1",
        run_id="r1",
        actor_id="x",
        thread_id="t1",
        updated_at=START + 4 * _DAY,
    ),
    a_memory(
        "b",
        kind="note",
        category="personal",
        importance=0.5,
        tags=("blue",),
        characters=("Ann", "Bob"),
        pinned=True,
        role="assistant",
        user_id="u2",
        agent_id="g1",
        thread_id="t1",
        token_cost=2,
        created_at=START + _DAY,
        updated_at=START + 2 * _DAY,
        valid_from=START - 9 * _DAY,
        trust="assistant",
        valid_to=START + 9 * _DAY,
    ),
    a_memory(
        "c",
        channel="episodic",
        kind="decision",
        category="work",
        importance=0.9,
        source="thread/t2",
        name="Bob",
        agent_id="g2",
        run_id="r2",
        actor_id="y",
        thread_id="t2",
        token_cost=5,
        created_at=START + 2 * _DAY,
        updated_at=START + 3 * _DAY,
        valid_from=START - 5 * _DAY,
        valid_to=START - 4 * _DAY,
    ),
    a_memory(
        "d",
        channel="insight",
        kind="preference",
        category="personal",
        importance=0.5,
        tags=("green", 'b"l,u\\e', "red\nblue"),
        characters=("東京",),
        pinned=True,
        source="task/k1/plan",
        role="user",
        name="ann",
        user_id="u1",
        created_at=START + _DAY,
        updated_at=START + 5 * _DAY,
    ),
)
"""Four memories, a to d in the order of writing, that differ in every field."""

FILTERS: tuple[tuple[Mapping[str, Any], str], ...] = (
    ({}, "abcd"),
    ({"id": "c"}, "c"),
    ({"id": ["a", "d", "zz"]}, "ad"),
    ({"id": {"$ne": "a"}}, "bcd"),
    ({"id": {"$gt": "b"}}, "cd"),
    ({"context_item_id": "b"}, "b"),
    ({"channel": "semantic"}, "b"),
    ({"channel": ["turn", "insight"]}, "ad"),
    ({"channel": {"$ne": "turn"}}, "bcd"),
    ({"kind": "note"}, "b"),
    ({"kind": []}, ""),
    ({"kind": {"$gte": "note"}}, "abd"),
    ({"category": "personal"}, "bd"),
    ({"category": {"$lt": "personal"}}, "a"),
    ({"category": "Personal"}, ""),
    ({"importance": 0.5}, "bd"),
    ({"importance": [0.2, 0.9]}, "ac"),
    ({"importance": {"$ne": 0.5}}, "ac"),
    ({"importance": {"$gt": 0.5}}, "c"),
    ({"importance": {"$gte": 0.5}}, "bcd"),
    ({"importance": {"$lt": 0.5}}, "a"),
    ({"importance": {"$lte": 0.5}}, "abd"),
    ({"importance": {"$gt": 0.2, "$lt": 0.9}}, "bd"),
    ({"importance_min": 3}, "c"),
    ({"importance_max": 1}, "a"),
    ({"importance": 1}, ""),
    ({"tags": "blue"}, "ab"),
    ({"tags": ["red", "green"]}, "ad"),
    ({"tags": "re"}, ""),
    ({"tags": "Red"}, ""),
    ({"tags": 'b"l,u\\e'}, "d"),
    ({"tags": "red\nblue"}, "d"),
    ({"tags": ["l,u\\e", "b", "blue\n", "\nblue", "d\nblue"]}, ""),
    ({"tags": ['red", "blue', 'red",\n"blue', ", ", ",\n", "", '"', "\\", "%", "l,u"]}, ""),
    ({"tags": []}, ""),
    ({"characters": "Ann"}, "ab"),
    ({"characters": ["Bob", "東京"]}, "bd"),
    ({"pinned": True}, "bd"),
    ({"pinned": False}, "ac"),
    ({"pinned": {"$ne": True}}, "ac"),
    ({"pinned": {"$eq": True}}, "bd"),
    ({"pinned": [True, False]}, "abcd"),
    ({"source": "thread/t1"}, "a"),
    ({"source": {"$eq": None}}, "b"),
    ({"source": {"$ne": None}}, "acd"),
    ({"source": {"$ne": "thread/t1"}}, "bcd"),
    ({"source": {"$lt": "thread/t2"}}, "ad"),
    ({"source": {"$lte": "thread/t2"}}, "acd"),
    ({"role": "user"}, "ad"),
    ({"role": ["assistant", "tool"]}, "b"),
    ({"role": {"$ne": "user"}}, "bc"),
    ({"name": "Ann"}, "a"),
    ({"name": {"$gt": "Ann"}}, "cd"),
    ({"user_id": "u1"}, "ad"),
    ({"user_id": {"$gte": "u1"}}, "abd"),
    ({"user_id": {"$eq": None}}, "c"),
    ({"agent_id": ["g1", "g2"]}, "bc"),
    ({"agent_id": {"$ne": "g1"}}, "acd"),
    ({"run_id": "r1"}, "a"),
    ({"run_id": {"$gt": "r1"}}, "c"),
    ({"actor_id": "y"}, "c"),
    ({"actor_id": {"$eq": None}}, "bd"),
    ({"thread_id": "t1"}, "ab"),
    ({"thread_id": {"$eq": None}}, "d"),
    ({"conversation_id": ["t2", "t3"]}, "c"),
    ({"thread_id": {"$lt": "t2"}}, "ab"),
    ({"created_at": START + _DAY}, "bd"),
    ({"created_at": "2026-01-02T12:00:00Z"}, "bd"),
    ({"created_at": "2026-01-02T14:00:00+02:00"}, "bd"),
    ({"created_at": {"$ne": START}}, "bcd"),
    ({"created_at": {"$gt": START}}, "bcd"),
    ({"created_at": {"$gte": "2026-01-02", "$lt": "2026-01-03"}}, "bd"),
    ({"timestamp": {"$lte": START}}, "a"),
    ({"updated_after": START + 3 * _DAY}, "ad"),
    ({"updated_before": START + 3 * _DAY}, "b"),
    ({"updated_at": [START + 2 * _DAY, START + 5 * _DAY]}, "bd"),
    ({"valid_from": {"$lt": START}}, "bc"),
    ({"valid_from": {"$gte": START - 5 * _DAY}}, "c"),
    ({"valid_from": {"$eq": None}}, "ad"),
    ({"trust": "assistant"}, "b"),
    ({"trust": {"$ne": "assistant"}}, "acd"),
    ({"valid_to": {"$lt": START}}, "c"),
    ({"valid_to": {"$gte": START}}, "b"),
    ({"valid_to": {"$eq": None}}, "ad"),
    ({"valid_from": {"$ne": START - 5 * _DAY}}, "abd"),
    ({"kind": None, "source": None, "importance_min": None}, "abcd"),
    ({"user_id": "u1", "role": "user", "tags": ["green"]}, "d"),
    ({"user_id": "u1", "role": "assistant"}, ""),
    ({"role": "' OR '1'='1"}, ""),
)
"""Filters and the ids of :data:`VARIED` that each must select, told by hand."""

ORDERS: tuple[tuple[str, bool, str], ...] = (
    ("created_at", True, "cdba"),
    ("created_at", False, "abdc"),
    ("timestamp", False, "abdc"),
    ("updated_at", True, "dacb"),
    ("updated_at", False, "bcad"),
    ("valid_from", True, "cbda"),
    ("valid_from", False, "bcad"),
    ("trust", False, "bacd"),
    ("valid_to", True, "bcda"),
    ("valid_to", False, "cbad"),
    ("importance", True, "cdba"),
    ("importance", False, "abdc"),
    ("pinned", True, "dbca"),
    ("token_cost", True, "cbda"),
    ("token_cost", False, "bcad"),
    ("id", True, "dcba"),
    ("channel", False, "cdba"),
    ("kind", False, "cbda"),
    ("category", False, "abdc"),
    ("source", False, "dacb"),
    ("source", True, "cadb"),
    ("role", True, "dabc"),
    ("role", False, "badc"),
    ("name", False, "acdb"),
    ("name", True, "dcab"),
    ("user_id", False, "adbc"),
    ("agent_id", True, "cbda"),
    ("run_id", True, "cadb"),
    ("actor_id", False, "acbd"),
    ("thread_id", True, "cbad"),
    ("thread_id", False, "abcd"),
    ("written", False, "abcd"),
    ("written", True, "dcba"),
)
"""``order_by``, ``descending`` and the order of :data:`VARIED` that they must give."""
