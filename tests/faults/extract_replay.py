"""A long talk that is observed with extraction on, the same in every process, and what undisturbed becomes of it.

Two threads a user, in turns. What is said repeats, replaces and comes near to what was said before, so that facts are
created, superseded and linked, and cards are kept.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from kill_child import Death
from replay import MAY, SETTINGS, Tape, Undisturbed, created, tape

from memwarden import AsyncWarden
from memwarden import settings as config
from memwarden.api.scope import AsyncScope
from memwarden.errors import ModelUnavailable
from memwarden.records import Batch, Receipt
from memwarden.remember.extract import extractor
from memwarden.settings import Settings
from memwarden.stores.memory.store import MemoryStore
from memwarden.testing import get_runtime, get_store

EXCHANGES = 90
WAYS = ("steady", "failing")
THREADS = ("t0", "t1")
AT_A_TIME = 6
"""In these tests so few turns are looked through at a time, so that a thread takes many steps."""
_NAMES = ("Mia", "Tom", "Rosa", "Ivo", "Lena")
_CITIES = ("Berlin", "Lisbon", "Madrid", "Oslo", "Porto")
_THINGS = ("kayak", "lamp", "drum", "tent", "loom")
_MODEL_FAILS = 4
"""Of so many exchanges the model answers one with half a JSON, and one with garbage, twice."""

Message = dict[str, Any]


def settings(extraction: str = "every_turn") -> Settings:
    """Extraction on; no embedder, so that nothing differs by a rounding; no end to a day."""
    return config.load(None, **SETTINGS, extraction=extraction, facts_a_day=1_000_000)


def the_talk(user: str, exchanges: int = EXCHANGES) -> list[list[Message]]:
    """What is handed over, call by call: mostly an exchange, sometimes only one side of it, sometimes two."""
    chance, calls = random.Random(user), list[list[Message]]()
    for number in range(exchanges):
        at = MAY + timedelta(hours=number)
        asked, answer = (
            {"role": "user", "content": _said(chance), "created_at": at},
            {"role": "assistant", "content": "All right, let me think about that.", "created_at": at},
        )
        calls.append([asked] if number % 7 == 3 else [asked, answer])
    return calls


def _said(chance: random.Random) -> str:
    name, city, thing = chance.choice(_NAMES), chance.choice(_CITIES), chance.choice(_THINGS)
    return chance.choice(
        [
            f"My sister {name} lives in {city} and I have a {thing}.",
            f"My daughter {name} is allergic to peanuts.",
            f"I live in {city}.",
            f"I have a blue {thing}.",
            f"I bought a {thing}.",
            f"I'm planning to move to {city} in March 2027.",
            f"My brother {name} is diabetic. I love hiking in {city}.",
            "Thanks, that sounds great!",
        ]
    )


def thread_of(number: int) -> str:
    """In which thread a call is made."""
    return THREADS[number % len(THREADS)]


class Reader:
    """Stands for a remote chat model: it answers by the prompt alone, so that every process hears the same.

    fails: of some exchanges the answer breaks off and is repaired, of others it is useless, of others there is none.
    """

    name = "reader"

    def __init__(self, death: Death | None = None, *, fails: bool) -> None:
        self._death = death
        self._fails = fails

    def complete(self, system: str, prompt: str, *, schema: Mapping[str, Any], max_tokens: int) -> str:
        self._pass("the model is asked")
        answer = self._pairs(prompt) if "relations" in schema["properties"] else self._facts(prompt)
        self._pass("the model has answered")
        return answer

    def _pass(self, label: str) -> None:
        if self._death is not None:
            self._death.passed(label)

    def _pairs(self, prompt: str) -> str:
        pairs = json.loads(prompt.split("\n", 1)[1].split("\n\nYour last answer")[0])
        return json.dumps({"relations": ["related" if len(pair["newer"]) % 3 else "update" for pair in pairs]})

    def _facts(self, prompt: str) -> str:
        told, again, _ = prompt.partition("\n\nYour last answer")
        said, _, known_lines = told.partition("Messages:\n")[2].partition("\nKnown:\n")
        lines = [line for line in said.splitlines() if line.startswith("{")]
        turns = [json.loads(line) for line in lines]
        known = known_lines.count('"since"')
        # Other words beside other known lines, so that whoever reads the same turns again keeps them twice.
        end = " more often." if known % 2 else "."
        found = [
            {"text": re.sub(r"\bMy\b", "The user's", re.sub(r"^I (\w+)", r"The user did \1", turn["text"]))[:-1] + end,
             "sources": [turn["id"]], "category": "tasks", "importance": 6, "replaces": []}
            for turn in turns if turn["by"] == "user"
        ]  # fmt: skip
        ended = [{"known": "k2", "on": None, "sources": [turns[0]["id"]]}] if known % 7 == 6 else []
        summary = "The user told the assistant of the family." if len(turns) > 1 else None
        answer = json.dumps({"facts": found, "ended": ended, "summary": summary})
        if not self._fails:
            return answer
        # Whatever is known, so that another look gets no answer either.
        if len("".join(lines)) % _MODEL_FAILS == 2 and len(turns) == 1:
            raise ModelUnavailable("no line")
        kind = len(told) % _MODEL_FAILS
        if kind == 0 and not again:
            return answer[: len(answer) // 2]
        if kind == 1:
            return "Sicher! Hier ist, was ich behalten würde."
        return answer


async def answer_to(me: AsyncScope, number: int, messages: list[Message]) -> list[tuple[int | None, str]]:
    """Make a call; its answer without ids, which differ from run to run."""
    told = await me.observe(messages, key=f"call {number}")
    if get_runtime(me).services.extractor.asks_a_model:
        await me.extract_pending()  # observe does not wait for a model
    return [(None, result.outcome) for result in told.results]


async def whole(me: AsyncScope) -> Any:
    """Everything that a namespace holds, in numbers of memories: also what waits apart, the sources and the marks."""
    store, namespace = get_store(me), me.who.namespace
    ids = await created(me)
    numbers = {item: place for place, item in enumerate(ids)}
    held = await store.get(namespace, ids, removed=True)
    memories = {
        numbers[item.id]: (
            item.state, item.channel, item.text, item.category, item.importance,
            item.valid_from, item.valid_to, item.tags,
            tuple(numbers[source] for source in item.sources),
        )
        for item in held
    }  # fmt: skip
    marks = [(await store.thread(namespace, thread)).extracted for thread in THREADS]
    return (await tape(me)), memories, marks


class Noting(MemoryStore):
    """The reference store, noting the revision after each batch."""

    def __init__(self) -> None:
        super().__init__()
        self.stops: list[int] = [0]

    async def apply(self, batch: Batch) -> Receipt:
        receipt = await super().apply(batch)
        self.stops.append(receipt.rev)
        return receipt


@contextmanager
def waiting_for_the_model() -> Iterator[None]:
    """Let turns wait for the model however often it does not answer.

    Else the rules read them after some looks, and how many looks there are depends on the kills: a call that is made
    again looks again.
    """
    with patch.object(extractor, "MAX_PUT_OFF", sys.maxsize):
        yield


async def undisturbed(user: str, way: str, exchanges: int = EXCHANGES, times: int = 1) -> tuple[Undisturbed, Any]:
    """What becomes of a user's talk: observed and looked through turn by turn. times: how often each call is made."""
    store = Noting()
    async with AsyncWarden(store, settings(), chat_model=Reader(fails=way == "failing")) as warden:
        revs, answers = [0], list[list[tuple[int | None, str]] | None]()
        for number, messages in enumerate(the_talk(user, exchanges)):
            me = warden.scope(user=user, thread=thread_of(number), actor="replay")
            with waiting_for_the_model():
                told = [await answer_to(me, number, messages) for _ in range(times)]
            answers.append(told[0])
            revs.append((await store.head(me.who.namespace)).rev)
        held = await whole(me)
        return Undisturbed(revs, answers, held[0], frozenset(store.stops)), held


async def observed_then_looked_through(user: str, exchanges: int) -> tuple[list[int], Any]:
    """What becomes of a talk that is looked through when it is over. Returns the revisions that it stops at, too."""
    store = Noting()
    async with AsyncWarden(store, settings("off"), chat_model=Reader(fails=False)) as warden:
        await observe_all(warden, user, exchanges)
        before = len(store.stops)
        await look_through(warden, user)
        return store.stops[before - 1 :], await whole(warden.scope(user=user))


async def observe_all(warden: AsyncWarden, user: str, exchanges: int) -> None:
    """Hand a talk over, in one thread."""
    me = warden.scope(user=user, thread=THREADS[0], actor="replay")
    for number, messages in enumerate(the_talk(user, exchanges)):
        await me.observe(messages, key=f"call {number}")


async def look_through(warden: AsyncWarden, user: str) -> None:
    """Look through a user's thread, a few turns at a time."""
    # Other tests of this process read as many turns as a user's program does.
    with patch.object(extractor, "MAX_BATCH_TURNS", AT_A_TIME):
        await warden.scope(user=user, thread=THREADS[0], actor="replay").extract_pending()


def kinds(held: tuple[Tape, Mapping[int, Sequence[Any]], list[int]]) -> dict[str, int]:
    """How often each thing happened, so that a test can show that there was something to lose."""
    counts: dict[str, int] = {}
    for state, channel, *_ in held[1].values():
        counts[f"{state} {channel}"] = counts.get(f"{state} {channel}", 0) + 1
    for entry in held[0].entries:
        counts[entry[1]] = counts.get(entry[1], 0) + 1
    return counts
