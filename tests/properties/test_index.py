"""The index that followed every change answers as one built from the store, on every engine."""

from __future__ import annotations

import asyncio
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from memwarden import AsyncWarden, filters
from memwarden.recall.index.columns import Columns
from memwarden.records import RecallItem
from memwarden.testing import get_runtime

SUBJECTS = ["Ana", "Ben", "the dog", "our flat", "the van", "Ida's baby"]
PREDICATES = ["loves peanuts", "was sold in March", "lives by the harbour", "needs a vet?", "sleeps", "likes 花茶"]
QUESTIONS = ["What does Ana love?", "When was the van sold?", "who lives by the harbour", "花茶", "Does the dog sleep?"]

sentences = st.builds(lambda s, p: f"{s} {p}", st.sampled_from(SUBJECTS), st.sampled_from(PREDICATES))
threads = st.sampled_from(["t1", "t2"])
turns = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]), "content": sentences},
    optional={"name": st.sampled_from(["Ana", "Ben"]), "created_at": st.integers(0, 40).map(lambda h: h * 3600.0)},
)
steps = st.one_of(
    st.tuples(st.just("observe"), threads, st.lists(turns, min_size=1, max_size=4)),
    st.tuples(st.just("remember"), threads, sentences),
    st.tuples(st.just("forget"), st.integers(0, 30), st.none()),
    st.tuples(st.just("ask"), st.sampled_from(QUESTIONS), st.none()),
)


async def take(warden: AsyncWarden, step: tuple[Any, ...]) -> None:
    verb, item, two = step
    if verb == "observe":
        await warden.scope(user="u", thread=item).observe(two)
    elif verb == "remember":
        await warden.scope(user="u", thread=item).remember(two)
    elif verb == "ask":
        await warden.scope(user="u").query(item, threshold=0.0)
    elif memories := await warden.scope(user="u").find(order_by="written", descending=False):
        await warden.scope(user="u").forget(memories[item % len(memories)].id)


async def answers(warden: AsyncWarden) -> list[tuple[float, list[tuple[str, float]]]]:
    """What every question finds; texts instead of ids, which differ from store to store."""
    me = warden.scope(user="u")
    found = [await me.query(question, top_k=100, threshold=0.0, budget_tokens=None) for question in QUESTIONS]
    return [(round(entry.confidence, 4), [rounded(item) for item in entry.items]) for entry in found]


def rounded(item: RecallItem) -> tuple[str, float]:
    return item.memory.text, round(item.score, 4)


async def follow(url: str, script: list[tuple[Any, ...]]) -> list[Any]:
    async with AsyncWarden.open(url, config={"embedder": "wordllama"}) as warden:
        for step in script:
            await take(warden, step)
        followed = await answers(warden)
        indexes, namespace = get_runtime(warden).services.indexes, warden.scope(user="u").who.namespace
        followed_index = indexes.held(namespace)
        indexes.drop(namespace)  # the next answer reads the store anew
        assert same(followed, await answers(warden))
        assert indexes.held(namespace) is not followed_index
        return followed


CLOSE = 2e-3
"""The last digits of a score depend on the order in which floats are added."""


def same(item: list[Any], other: list[Any]) -> bool:
    """Whether the same texts are found with the same scores; only those whose scores are this close may change places.

    Both answers are ordered by score, so it is enough that each text has the same scores in both.
    """
    for (confidence, items), (other_confidence, other_items) in zip(item, other, strict=True):
        if abs(confidence - other_confidence) > CLOSE or not (falling(items) and falling(other_items)):
            return False
        pairs = sorted(items), sorted(other_items)
        if [text for text, _ in pairs[0]] != [text for text, _ in pairs[1]]:
            return False
        if not np.allclose([score for _, score in pairs[0]], [score for _, score in pairs[1]], rtol=0, atol=CLOSE):
            return False
    return True


def falling(items: list[tuple[str, float]]) -> bool:
    return all(item[1] >= other[1] for item, other in pairwise(items))


@settings(max_examples=15, deadline=None)
@given(st.lists(steps, max_size=14))
def test_a_followed_index_answers_as_a_cold_one_on_every_engine(script: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        in_memory = asyncio.run(follow("memory://", script))
        on_disk = asyncio.run(follow(f"sqlite:///{Path(folder) / 's.db'}", script))
        assert same(in_memory, on_disk)


rows = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["a", "b", "c"]),
        "category": st.sampled_from(["tasks", "event"]),
        "kind": st.sampled_from(["note", "decision"]),
        "channel": st.just("semantic"),
        "tags": st.sampled_from([(), ("x",), ("x", "y")]),
        "characters": st.sampled_from([(), ("Ana",)]),
        "source": st.sampled_from([None, "web", "chat"]),
        "role": st.sampled_from([None, "user"]),
        "name": st.sampled_from([None, "Ana"]),
        "user_id": st.just("u"),
        "agent_id": st.none(),
        "run_id": st.none(),
        "actor_id": st.sampled_from([None, "z"]),
        "thread_id": st.sampled_from([None, "t1", "t2"]),
        "trust": st.sampled_from(["person", "external"]),
        "importance": st.sampled_from([0.0, 0.4, 0.5, 1.0]),
        "pinned": st.booleans(),
        "created_at": st.integers(0, 3),
        "utc_offset": st.integers(-840, 840),
        "updated_at": st.integers(0, 3),
        "valid_from": st.sampled_from([None, 0, 2]),
        "valid_to": st.sampled_from([None, 0, 2]),
    }
)
times = st.integers(0, 3).map(lambda n: f"1970-01-01T00:00:00.00000{n}+00:00")
operands = {
    "category": st.sampled_from(["tasks", "event", "other"]),
    "source": st.sampled_from(["web", "chat", "zzz", ""]),
    "thread_id": st.sampled_from(["t1", "t3"]),
    "id": st.sampled_from(["a", "z"]),
    "importance": st.sampled_from([0.0, 0.4, 0.45, 1.0]),
    "created_at": times,
    "valid_from": times,
    "valid_to": times,
}
operators = st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"])


@st.composite
def wheres(draw: st.DrawFn) -> dict[str, Any]:
    field = draw(st.sampled_from(sorted(operands)))
    shape = draw(st.sampled_from(["exact", "list", "operator", "unset", "tags", "pinned"]))
    if shape == "exact":
        return {field: draw(operands[field])}
    if shape == "list":
        return {field: draw(st.lists(operands[field], max_size=3))}
    if shape == "operator":
        return {field: {draw(operators): draw(operands[field])}}
    if shape == "unset":
        return {field: {draw(st.sampled_from(["$eq", "$ne"])): None}}
    if shape == "tags":
        return {
            draw(st.sampled_from(["tags", "characters"])): draw(
                st.lists(st.sampled_from(["x", "y", "Ana"]), max_size=2)
            )
        }
    return {"pinned": draw(st.booleans())}


class Row:
    """A record with the row's values as attributes, times as datetimes, as filters.matches expects."""

    def __init__(self, values: dict[str, Any]) -> None:
        from memwarden.clock import moment

        for name, value in values.items():
            is_time = filters.FIELDS.get(name) == filters.TIME and value is not None
            setattr(self, name, moment(value) if is_time else value)


@settings(max_examples=150, deadline=None)
@given(st.lists(rows, min_size=1, max_size=6), wheres())
def test_the_columns_filter_as_the_plain_python_meaning(records: list[dict[str, Any]], wanted: dict[str, Any]) -> None:
    columns = Columns()
    columns.extend({name: tuple(record[name] for record in records) for name in records[0]})
    where = filters.parse(wanted)
    assert columns.mask(where).tolist() == [filters.matches(where, Row(record)) for record in records]
