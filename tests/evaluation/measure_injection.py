"""Measure whether what memwarden puts into prompts comes back as memories (F8): a chat replayed with injection on.

``python tests/evaluation/measure_injection.py FILE... [--turns 500] [--extraction every_turn]``

Each conversation is replayed as an application would hold it: before each message of the user a block is asked for
and put in front of the message, and what came of it stays in the application's history; the assistant repeats the
block word for word before its answer to every fifth message, as models do; after each answer the whole history of the
session is handed to ``observe``, without ids. The same without injection is what it is compared with, and the same
with the guard switched off shows what there was to catch.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from memwarden import AsyncWarden
from memwarden.records import Channel, Memory, MemoryState
from memwarden.remember import writer
from memwarden.surfaces.conversation_files import Conversation, Session, read_conversations

TURNS = 500
ECHO_EVERY = 5
"""The assistant repeats the block in its answer to one message of so many."""
_SHORTEST = 20
"""Lines of fewer characters ("Sure!") repeat by themselves."""
_LINE = re.compile(r"[^.!?\n]+")


@dataclass(frozen=True, slots=True)
class Stored:
    """What a namespace holds after a replay.

    memories: turns, facts, candidates and cards. same: memories whose whole text another one of the same channel has
    that was stored before. lines: sentences of some length. again: those that stood before in a memory of the channel.
    restated, duplicates: what ``audit`` finds of the two kinds. blocks: messages that a block was put before.
    """

    memories: int
    same: int
    lines: int
    again: int
    restated: int
    duplicates: int
    blocks: int


@dataclass(frozen=True, slots=True)
class Growth:
    """How much more is stored twice with injection than without, as shares of what is stored without."""

    without: Stored
    injected: Stored

    @property
    def memories(self) -> float:
        more = self.injected.same + self.injected.duplicates - self.without.same - self.without.duplicates
        return more / self.without.memories

    @property
    def lines(self) -> float:
        return (self.injected.again - self.without.again) / self.without.lines

    @property
    def stored(self) -> float:
        """How much more text there is at all."""
        return self.injected.lines / self.without.lines - 1


def at_most(conversation: Conversation, turns: int) -> list[Session]:
    """The first sessions of a conversation, with so many messages in all."""
    kept, left = [], turns
    for session in conversation.sessions:
        if left > 0:
            kept.append(Session(session.thread, session.at, session.messages[:left]))
            left -= len(session.messages)
    return kept


async def replayed(sessions: Iterable[Session], *, inject: bool, guard: bool = True, **settings: Any) -> Stored:
    """Replay sessions, and tell what is stored then."""
    with _guard(guard):
        async with AsyncWarden.open("memory://", {"facts_a_day": 10**6, **settings}) as warden:
            blocks = 0
            for session in sessions:
                blocks += await _replay(warden, session, inject)
            me = warden.scope(user="ana")
            memories = [
                item
                for state in (MemoryState.ACTIVE, MemoryState.CANDIDATE, MemoryState.QUARANTINED)
                for item in await warden.store.find(
                    me.who.namespace, limit=10**6, order_by="written", descending=False, state=state
                )
            ]
            audit = await me.audit(limit=10**6)
    kinds = Counter(finding.kind for finding in audit.findings)
    lines, again = _repeated(memories, _lines)
    whole, same = _repeated(memories, lambda text: [_plain(text)])
    return Stored(whole, same, lines, again, kinds["restated_prompt"], kinds["duplicate"], blocks)


async def _replay(warden: AsyncWarden, session: Session, inject: bool) -> int:
    me = warden.scope(user="ana", thread=session.thread)
    history: list[dict[str, Any]] = []
    blocks, block = 0, ""
    for message in session.messages:
        said = {name: value for name, value in message.items() if name != "id"}
        if session.at is not None:
            said.setdefault("created_at", session.at)
        if said["role"] == "user":
            block = (await me.context([*history, said], threshold=0.0)).text if inject else ""
            blocks += bool(block)
        elif blocks % ECHO_EVERY:
            block = ""
        history.append({**said, "content": f"{block}\n\n{said['content']}" if block else said["content"]})
        await me.observe(history)
    return blocks


@contextmanager
def _guard(on: bool) -> Iterator[None]:
    """With ``on`` False nothing is taken out of what is observed."""
    if on:
        yield
    else:
        with mock.patch.object(writer, "strip_context", lambda text: text):
            yield


def _repeated(memories: Iterable[Memory], parts: Callable[[str], list[str]]) -> tuple[int, int]:
    """How many parts the memories have, and how many of them stood in an earlier memory of the same channel."""
    seen: dict[str, set[str]] = {channel: set() for channel in Channel}
    total = again = 0
    for memory in memories:
        found = parts(memory.text)
        total += len(found)
        again += sum(part in seen[memory.channel] for part in found)
        seen[memory.channel].update(found)
    return total, again


def _lines(text: str) -> list[str]:
    return [plain for item in _LINE.findall(text) if len(plain := _plain(item)) >= _SHORTEST]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


async def growth(sessions: list[Session], *, guard: bool = True, **settings: Any) -> Growth:
    """Replay sessions without and with injection."""
    without = await replayed(sessions, inject=False, **settings)
    return Growth(without, await replayed(sessions, inject=True, guard=guard, **settings))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--extraction", default="off")
    given = parser.parse_args()
    for path in given.files:
        for conversation in read_conversations(path, captions=False):
            sessions = at_most(conversation, given.turns)
            for guard in (True, False):
                item = asyncio.run(growth(sessions, guard=guard, extraction=given.extraction))
                told = (
                    f"{conversation.name}, guard {'on' if guard else 'off'}: {item.injected.blocks} blocks; duplicates "
                    f"{item.memories:+.2%} of memories, {item.lines:+.2%} of lines; text {item.stored:+.2%}; audit: "
                    f"{item.injected.restated} restated, {item.injected.duplicates} "
                    f"({item.without.duplicates} "
                    f"without); {item.without.memories} memories, {item.without.lines} lines without injection"
                )
                print(told, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
