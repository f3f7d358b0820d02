"""Measure how often a model searches on demand, and what that finds (B11): RealMem's dialogues with a scripted model.

``python tests/evaluation/measure_on_demand.py FILE... [--sessions 0]``

Each session is replayed as an application would hold it: before a message of the user a block is made of the talk so
far, and the tools are asked for with that block. The scripted model searches with the user's words whenever a search
is offered. The answer that the file holds is then observed with the message. Told are

* the rate: the share of all turns of the user in which the model searched;
* the evidence: of the turns that are questions with known gold sessions, the mean share of these that block and search
  hold together, beside the block alone, and beside a model that searches in every turn;
* the time that a search took.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from memwarden import AsyncWarden
from memwarden.agent.tools import SEARCH_TOOL
from memwarden.api.scope import AsyncScope
from memwarden.records import ContextBlock
from memwarden.surfaces.conversation_files import Conversation, LabelledQuestion, read_conversations
from memwarden_bench.metrics import mean, percentile, recall_at

_ALL = 10**6


class Evidence(NamedTuple):
    """Shares of a question's gold sessions: in the block, with a search on demand, with a search in every turn."""

    confidence: float
    alone: float
    gated: float
    always: float


@dataclass(slots=True)
class Told:
    """What was counted. searched: milliseconds of each search. confidences: of turns, and whether memories went in."""

    turns: int = 0
    offered: int = 0
    searched: list[float] = field(default_factory=list)
    confidences: list[tuple[float, bool]] = field(default_factory=list)
    questions: list[Evidence] = field(default_factory=list)

    def add(self, other: Told) -> None:
        """Take in what was counted elsewhere."""
        self.turns += other.turns
        self.offered += other.offered
        for name in ("searched", "confidences", "questions"):
            getattr(self, name).extend(getattr(other, name))

    @property
    def rate(self) -> float:
        """Share of the turns in which the model searched."""
        return self.offered / self.turns


async def replayed(talk: Conversation, sessions: int = 0) -> Told:
    """Replay a conversation, or its first sessions."""
    told = Told()
    asked = {(question.asked_after, question.text): question for question in talk.questions}
    async with AsyncWarden.open("memory://", {}) as warden:
        for number, session in enumerate(talk.sessions[: sessions or None]):
            me = warden.scope(user="ana", thread=session.thread)
            history: list[dict[str, object]] = []
            for message in session.messages:
                history.append(dict(message))
                if message["role"] == "user":
                    await _turn(me, history, asked.get((number, message["content"])), told)
                await me.observe([message])
    return told


async def _turn(
    me: AsyncScope, history: list[dict[str, object]], question: LabelledQuestion | None, told: Told
) -> None:
    block = await me.context(history)
    tools = me.tools(only=[SEARCH_TOOL], block=block)
    offered = bool(tools.tools)
    told.turns += 1
    told.offered += offered
    told.confidences.append((block.confidence, block.relevant))
    said = {"query": str(history[-1]["content"])}
    found: list[str] = []
    if offered:
        start = time.perf_counter()
        answer = await tools.call_tool(SEARCH_TOOL, said)
        told.searched.append(1_000 * (time.perf_counter() - start))
        found = [item["id"] for item in answer["results"]]
    if question is None:
        return
    more = found
    if not offered:
        unasked = me.tools(only=[SEARCH_TOOL], block=_unsure(block))
        more = [item["id"] for item in (await unasked.call_tool(SEARCH_TOOL, said))["results"]]
    inside = [str(item.memory.thread_id) for item in block.items]
    shares = [recall_at(_ALL, [*inside, *await _threads(me, ids)], question.gold_sessions) for ids in ((), found, more)]
    told.questions.append(Evidence(block.confidence, *shares))


def _unsure(block: ContextBlock) -> ContextBlock:
    return ContextBlock("", (), 0, block.budget_tokens, block.rev, confidence=0.6, unsure=True)


async def _threads(me: AsyncScope, ids: Iterable[str]) -> list[str]:
    return [str((await me.get(item)).thread_id) for item in ids]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the rate, the evidence and the time."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--sessions", type=int, default=0, help="only so many sessions of each")
    given = parser.parse_args(arguments)
    together = Told()
    for path in given.files:
        for talk in read_conversations(path):
            told = asyncio.run(replayed(talk, given.sessions))
            together.add(told)
            _tell(talk.name, told)
    _tell("together", together)


def _tell(what: str, told: Told) -> None:
    sure = sum(relevant for _, relevant in told.confidences) / told.turns
    alone, gated, always = (mean(question) for question in list(zip(*told.questions, strict=True))[1:])
    lines = [
        f"{what}: {told.turns} turns of the user, memories put in {sure:.1%}, searched on demand {told.rate:.1%}",
        f"  evidence (sessions, {len(told.questions)} questions): block alone {alone:.3f}, with searches on demand "
        f"{gated:.3f}, with a search in every turn {always:.3f}",
        f"  a search: p50 {percentile(told.searched, 0.5):.1f} ms, p95 {percentile(told.searched, 0.95):.1f} ms",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
