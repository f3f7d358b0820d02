"""A long replay of calls of the public API, the same in every process, and what undisturbed it leads to.

The calls name memories by the order in which they were created, since ids differ from run to run; a :class:`Tape` says
in these numbers what a namespace's journal holds, so that two runs can be compared entry by entry.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any

from memwarden import AsyncWarden
from memwarden.api.scope import AsyncScope
from memwarden.errors import Conflict, NotFound
from memwarden.records import Memory, WriteResult
from memwarden.testing import get_store

USERS = ("ana", "ben")
CALLS = 600
SETTINGS = {"embedder": "none", "link_min": 0.1}
MAY = datetime(2026, 5, 1, tzinfo=UTC)
_NAMES = ("Mia", "Tom", "Rosa", "Ivo", "Lena")
_CITIES = ("Berlin", "Lisbon", "Madrid", "Oslo", "Porto")
_OWN = ("id", "namespace", "updated_at", "sources", "user_id", "state", "purge_at")
"""What of a memory differs from run to run."""

Call = tuple[str, Any, int]
Entry = tuple[Any, ...]


def the_calls(user: str) -> list[Call]:
    """What is asked for: statements that repeat, replace or come near to earlier ones, and all that undoes them."""
    chance = random.Random(user)
    verbs = ["remember"] * 8 + ["observe"] * 4 + ["update", "pin", "forget", "restore"] + ["undo"] * 3
    return [(verb, _given(verb, chance), chance.randrange(1_000)) for verb in chance.choices(verbs, k=CALLS)]


def _given(verb: str, chance: random.Random) -> Any:
    name, city = chance.choice(_NAMES), chance.choice(_CITIES)
    said = [
        f"{name} lives in {city}.",
        f"{name} resides in {city}.",
        f"{name} lives in {city} now.",
        f"{name} lives in {city} with a dog.",
        f"{name} has a bike in {city}.",
    ]
    return chance.sample(said, chance.randint(1, 2)) if verb == "remember" else chance.choice(said)


async def make_call(me: AsyncScope, number: int, call: Call) -> list[tuple[int | None, str]] | None:
    """Make a call and return its answer in numbers of memories; None when it was refused, as it has to be."""
    verb, given, which = call
    try:
        answer = await _made(me, number, verb, given, which)
    except (Conflict, NotFound):
        return None
    numbers = {item: number for number, item in enumerate(await created(me))}
    return [(None if result.id is None else numbers[result.id], result.outcome) for result in answer.results]


async def _made(me: AsyncScope, number: int, verb: str, given: Any, which: int) -> WriteResult:
    if verb == "remember":
        return await me.remember(given, created_at=MAY + timedelta(days=number), key=f"call {number}")
    if verb == "observe":
        message = {"role": "user", "content": given, "created_at": MAY + timedelta(days=number)}
        return await me.observe([message], key=f"call {number}")
    if verb == "undo":
        rev = (await get_store(me).head(me.who.namespace)).rev
        return await me.journal.undo(max(1, rev - which % 12))
    known = await created(me)
    item = known[-1 - which % min(20, len(known))] if known else "none"
    if verb == "update":
        return await me.update(item, summary=given)
    if verb == "pin":
        return await me.pin(item, which % 2 == 0)
    return await (me.forget(item) if verb == "forget" else me.restore(item))


async def created(me: AsyncScope) -> list[str]:
    """The ids of all memories that there ever were, in the order in which they were created."""
    journal = await get_store(me).journal(me.who.namespace, limit=10**6)
    return list(dict.fromkeys(entry.memory_id for entry in journal if entry.event in ("ADD", "PROPOSE")))


@dataclass(frozen=True)
class Tape:
    """A namespace's journal in numbers of memories, and the contents of the versions that it names."""

    entries: list[Entry]
    contents: dict[tuple[int, int], Entry]


async def tape(me: AsyncScope) -> Tape:
    """Read a namespace's tape."""
    store, namespace = get_store(me), me.who.namespace
    numbers = {item: number for number, item in enumerate(await created(me))}
    journal = await store.journal(namespace, limit=10**6)
    entries = [
        (
            item.seq, item.event, numbers[item.memory_id], item.old_version, item.new_version, item.actor,
            item.thread_id, item.channel, item.step, _told(item.meta, numbers),
        )
        for item in journal
    ]  # fmt: skip
    wanted = dict.fromkeys((item.memory_id, item.new_version) for item in journal if item.new_version is not None)
    held = await store.versions(namespace, [(item, version) for item, version in wanted if version is not None])
    return Tape(entries, {(numbers[item.id], item.version): _content(item) for item in held})


def _told(meta: Any, numbers: dict[str, int]) -> Any:
    return None if meta is None else sorted((key, numbers.get(str(value), value)) for key, value in meta.items())


def _content(memory: Memory) -> Entry:
    return tuple(getattr(memory, field.name) for field in fields(Memory) if field.name not in _OWN)


@dataclass(frozen=True)
class Undisturbed:
    """What a user's calls lead to when nothing comes in between.

    revs: the revision after each call; revs[0] before the first. answers: to each call. stops: the revisions at which
    a kill may leave the namespace: those after each batch.
    """

    revs: list[int]
    answers: list[list[tuple[int | None, str]] | None]
    tape: Tape
    stops: frozenset[int]


async def undisturbed(user: str) -> Undisturbed:
    """Make all calls on the reference store."""
    async with AsyncWarden.open("memory://", SETTINGS) as warden:
        me = warden.scope(user=user, thread="t1", actor="replay")
        revs, answers = [0], []
        for number, call in enumerate(the_calls(user)):
            answers.append(await make_call(me, number, call))
            revs.append((await warden.store.head(me.who.namespace)).rev)
        return Undisturbed(revs, answers, await tape(me), frozenset(revs))
