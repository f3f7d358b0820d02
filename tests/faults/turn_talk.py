"""Dialogues that are driven through the whole pipeline by a scripted model, and what undisturbed becomes of them."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from extract_replay import the_talk

from memwarden import AsyncWarden
from memwarden.api.scope import AsyncScope
from memwarden.conversation.settings import ChatSettings
from memwarden.surfaces.conversation_files import read_conversations

SETTINGS = {"embedder": "none", "facts_a_day": 1_000_000}
_PIECE = 40
"""The model says so many characters at a time."""
Passed = Callable[[str], None]


class Dialogue(NamedTuple):
    """What is said in a thread of a user: questions and the answers that the model has for them.

    by_chat: ``scope.chat`` drives it; else the application does, with ``scope.turn`` and the session's methods.
    """

    user: str
    thread: str
    said: tuple[tuple[str, str], ...]
    by_chat: bool


@dataclass(frozen=True)
class Becomes:
    """What undisturbed becomes of a dialogue.

    turns: role and words, as they are stored. sessions: digests of the session's memory before the first exchange and
    after each.
    """

    turns: tuple[tuple[str | None, str], ...]
    sessions: tuple[str, ...]


def our_dialogues(threads: int, exchanges: int) -> list[Dialogue]:
    """Dialogues of one user, in which much is said that is worth keeping."""
    return [
        Dialogue("ana", f"t{number}", tuple(_our_exchanges(f"t{number}", exchanges)), number % 4 < 2)
        for number in range(threads)
    ]


def _our_exchanges(name: str, exchanges: int) -> list[tuple[str, str]]:
    chance = random.Random(name)
    asked = [messages[0]["content"] for messages in the_talk(name, exchanges)]
    return [(f"{item} ({number})", _answer(chance, number)) for number, item in enumerate(asked)]


def _answer(chance: random.Random, number: int) -> str:
    """An answer; one of three is too long for a session."""
    plan = [
        f"On day {day} the boat leaves at {chance.randrange(6, 20)}:15." for day in range(chance.choice([1, 2, 40]))
    ]
    return f"All right, here is plan {number}. {' '.join(plan)}"


def realmem_dialogues(files: Sequence[Path]) -> list[Dialogue]:
    """All dialogues of RealMem's people, whole: each question and the answer that follows it."""
    found = list[Dialogue]()
    for file in files:
        (conversation,) = read_conversations(file)
        for session in conversation.sessions:
            rows = [(message["role"], message["content"]) for message in session.messages]
            pairs = [
                (asked, answer)
                for (role, asked), (other, answer) in pairwise(rows)
                if (role, other) == ("user", "assistant")
            ]
            if pairs:
                found.append(Dialogue(file.stem[:20], session.thread, tuple(pairs), len(found) % 4 < 2))
    return found


async def exchange(
    me: AsyncScope, dialogue: Dialogue, number: int, settings: ChatSettings, passed: Passed = lambda label: None
) -> None:
    """One exchange, whole: the session's messages, memories put in, a stream, what was said stored, the session."""
    key = f"{dialogue.thread} {number}"
    if dialogue.by_chat:
        asked, answer = dialogue.said[number]
        stream = me.chat(lambda messages: spoken(answer, passed), settings).stream(asked, key=key)
        assert "".join([words async for words in stream]) == answer
        assert not stream.reply.failures, stream.reply.failures
    else:
        await _by_hand(me, dialogue.said[number], settings, key, passed)


async def _by_hand(me: AsyncScope, said: tuple[str, str], settings: ChatSettings, key: str, passed: Passed) -> None:
    asked, answer = said
    session = str(me.who.thread)
    messages = await me.sessions.prepare_messages_for_agent(session, asked)
    async with me.turn(messages, settings, key=key) as turn:
        assert not turn.failures, turn.failures
        words = [item async for item in turn.stream(spoken(answer, passed))]
    assert not turn.failures, turn.failures
    await me.sessions.finalize_current_cycle(session, asked, "".join(words), key=key)


async def spoken(answer: str, passed: Passed) -> AsyncIterator[str]:
    """The scripted model: it stands for a remote one."""
    passed("the model is asked")
    for start in range(0, len(answer), _PIECE):
        yield answer[start : start + _PIECE]
        passed("a piece is said")
    passed("all of it is said")


async def turns_of(me: AsyncScope) -> tuple[tuple[str | None, str], ...]:
    """What is stored of a scope's thread."""
    where = {"channel": "turn", "thread_id": me.who.thread}
    found = await me.find(where, limit=10**6, order_by="written", descending=False)
    return tuple((item.role, item.text) for item in found)


async def digest_of(me: AsyncScope) -> str:
    """What the session of a scope's thread remembers, but for the cycle under way."""
    memory = (await me.sessions.load(str(me.who.thread)))["conversation_memory"]
    told = {name: memory[name] for name in ("exchanges", "summary", "tool_cache")}
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


async def undisturbed(dialogues: Sequence[Dialogue], settings: ChatSettings) -> dict[str, Becomes]:
    """What becomes of each dialogue, by its thread."""
    found = {}
    async with AsyncWarden.open("memory://", SETTINGS) as warden:
        for dialogue in dialogues:
            me = warden.scope(user=dialogue.user, thread=dialogue.thread)
            digests = [await digest_of(me)]
            for number in range(len(dialogue.said)):
                await exchange(me, dialogue, number, settings)
                digests.append(await digest_of(me))
            found[dialogue.thread] = Becomes(await turns_of(me), tuple(digests))
    return found
