"""Measure cache-stable prompts (F6): how much of a prompt is the last one's beginning, and what evidence stands in it.

``python tests/evaluation/measure_stable.py FILE... [--turns 50] [--windows 2] [--threshold 0.7] [--modes MODE...]``

A file of RealMem is one person. The first sessions are observed, each as a thread of its own; the next ones are one
long chat of so many messages of the user, driven through ``turn`` with the answers of the file, whole history and all.
The same chat is had in each mode. A window begins where the middle parts of a file begin.

* identical: tokens that a prompt begins with and shares with the prompt before, by all tokens of the prompts, and by
  those of the prompts before (what of the last prompt can be reused). The first prompt of a chat has none before it.
* evidence: of the sessions that answer a question of the user and were before the chat, the share of which a memory
  stands in the prompt; the same of the turns. The mean over the questions that have such sessions, and such turns.
* tokens: of memories in a prompt, and of a prompt, in the mean.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from memwarden import AsyncWarden, filters
from memwarden.conversation.prompt_cache import SOURCE, PrefixMeter, PrefixShare, layout_from_json
from memwarden.conversation.settings import ChatSettings
from memwarden.records import Memory
from memwarden.surfaces.conversation_files import Conversation, Session, TurnIdentity, read_conversations
from memwarden.testing import get_store

T = TypeVar("T")
RECORDS = filters.parse({"channel": "state", "source": SOURCE})
MODES = ("system_append", "user_prefix", "cache_stable")
SYSTEM = "You are a helpful assistant. Answer in the language of the user, shortly."


@dataclass(slots=True)
class Run:
    """What chats came to in one mode. shown: the texts of the memories in each prompt."""

    shown: list[frozenset[str]] = field(default_factory=list)
    shares: list[PrefixShare] = field(default_factory=list)
    sessions: list[float] = field(default_factory=list)
    evidence: list[float] = field(default_factory=list)
    memory_tokens: int = 0
    prompt_tokens: int = 0
    turns: int = 0
    renewed: int = 0

    def add(self, other: Run) -> None:
        self.shares += other.shares
        self.sessions += other.sessions
        self.evidence += other.evidence
        self.memory_tokens += other.memory_tokens
        self.prompt_tokens += other.prompt_tokens
        self.turns += other.turns
        self.renewed += other.renewed

    @property
    def of_this(self) -> float:
        return sum(share.identical for share in self.shares) / sum(share.prompt for share in self.shares)

    @property
    def of_last(self) -> float:
        return sum(share.identical for share in self.shares) / sum(share.last for share in self.shares)


def chats(conversation: Conversation, turns: int, windows: int) -> Iterable[tuple[int, int]]:
    """Yield the first and the last session (excluded) of each chat."""
    sessions = conversation.sessions
    for number in range(1, windows + 1):
        first = number * len(sessions) // (windows + 1)
        last, asked = first, 0
        while last < len(sessions) and asked < turns:
            asked += sum(message["role"] == "user" for message in sessions[last].messages)
            last += 1
        if asked >= turns:
            yield first, last


async def measured(
    conversation: Conversation, first: int, last: int, turns: int, settings: ChatSettings, **config: Any
) -> Run:
    """Have one chat."""
    async with AsyncWarden.open("memory://", config) as warden:
        for session in conversation.sessions[:first]:
            if session.messages:
                await warden.scope(user="ana", thread=session.thread).observe(session.messages)
        return await _chat(warden, conversation, conversation.sessions[first:last], first, turns, settings)


async def _chat(
    warden: AsyncWarden,
    conversation: Conversation,
    sessions: Sequence[Session],
    first: int,
    turns: int,
    settings: ChatSettings,
) -> Run:
    me, run, meter = warden.scope(user="ana", thread="chat"), Run(), PrefixMeter()
    before = {session.thread for session in conversation.sessions[:first]}
    questions = {question.text: question for question in conversation.questions}
    history: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
    snapshot = ""
    for message in (message for session in sessions for message in session.messages):
        history.append({"role": message["role"], "content": message["content"]})
        if message["role"] != "user":
            continue
        if run.turns == turns:
            break
        async with me.turn(history, settings) as turn:
            if turn.failures:
                raise turn.failures[0]
            share = meter.add(turn.request)
            shown = await _in_prompt(me, turn, settings)
        run.turns += 1
        run.shown.append(frozenset(memory.text for memory in shown.memories))
        run.prompt_tokens += share.prompt
        if run.turns > 1:
            run.shares.append(share)
        run.memory_tokens += shown.tokens
        run.renewed += bool(snapshot) and snapshot != shown.snapshot
        snapshot = shown.snapshot or snapshot
        if (question := questions.get(message["content"])) is not None:
            run.sessions += _share(
                set(question.gold_sessions) & before, {str(memory.thread_id) for memory in shown.memories}
            )
            turns_shown = {
                TurnIdentity(str(memory.thread_id), source) for memory in shown.memories for source in memory.sources
            }
            run.evidence += _share(
                {gold_turn for gold_turn in question.gold_turns if gold_turn.thread in before}, turns_shown
            )
    return run


@dataclass(frozen=True, slots=True)
class _Shown:
    memories: Sequence[Memory]
    tokens: int
    snapshot: str = ""


async def _in_prompt(me: Any, turn: Any, settings: ChatSettings) -> _Shown:
    if settings.memory_injection_mode != "cache_stable":
        return _Shown([item.memory for item in turn.block.items], turn.block.tokens)
    store, namespace = get_store(me), me.who.namespace
    (record,) = await store.find(namespace, RECORDS, limit=1, order_by="updated_at")
    stable = layout_from_json(record.payload or {})
    tokens = stable.snapshot.tokens + sum(delta.tokens for delta in stable.deltas)
    return _Shown(await store.get(namespace, list(stable.marks)), tokens, stable.snapshot.anchor)


def _share(gold: set[T], shown: set[T]) -> list[float]:
    return [len(gold & shown) / len(gold)] if gold else []


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--windows", type=int, default=2)
    parser.add_argument("--threshold", type=float, default=0.7)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--max-delta-tokens", type=int, default=ChatSettings().max_delta_tokens)
    given = parser.parse_args()
    total = {mode: Run() for mode in given.modes}
    for file in given.files:
        (conversation,) = read_conversations(file)
        for first, last in chats(conversation, given.turns, given.windows):
            for mode, run in total.items():
                settings = ChatSettings(
                    use_memory=True,
                    memory_injection_mode=mode,
                    memory_extraction_mode="on_save",
                    memory_search_threshold=given.threshold,
                    max_delta_tokens=given.max_delta_tokens,
                )
                item = asyncio.run(measured(conversation, first, last, given.turns, settings))
                print(file.stem.split("_dialogues")[0], first, mode, _line(item), flush=True)  # noqa: T201
                run.add(item)
    for mode, run in total.items():
        print("all", mode, _line(run))  # noqa: T201


def _line(run: Run) -> str:
    return (
        f"identical {run.of_this:.3f} of this, {run.of_last:.3f} of the last prompt; evidence: "
        f"sessions {_mean(run.sessions):.3f} of {len(run.sessions)}, turns {_mean(run.evidence):.3f} of "
        f"{len(run.evidence)} questions; {run.memory_tokens / run.turns:.0f} tokens of memories, "
        f"{run.prompt_tokens / run.turns:.0f} of the prompt; {run.renewed} set points in {run.turns} turns"
    )


if __name__ == "__main__":
    main()
