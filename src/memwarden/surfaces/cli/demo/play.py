"""Plays the demo: observes the shipped history, asks questions and judges the answers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

from memwarden import AsyncWarden
from memwarden.api.scope import AsyncScope
from memwarden.records import ContextBlock, Cut, Memory
from memwarden.surfaces.cli.commands.observe import Summary, plan_sessions, store_sessions
from memwarden.surfaces.cli.demo.scenes import play_change_scene, play_consent_scene, play_quarantine_scene
from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import print_json, progress
from memwarden.surfaces.conversation_files import Conversation, recognise

USER = "demo"


@dataclass(frozen=True, slots=True)
class MissingMessage:
    """An expected message that a gate left out of the block."""

    source: str
    gate: str
    score: float
    place: int


@dataclass(frozen=True, slots=True)
class DemoResult:
    """A demo question with its answer and verdict.

    Attributes:
        found: expected messages that are in the block.
        missed: those that are not.
        right: an expected message is in the block, or nothing is where nothing is relevant.
    """

    asked: DemoQuestion
    block: ContextBlock
    found: tuple[str, ...]
    missed: tuple[MissingMessage, ...]
    right: bool


@command
async def demo(
    options: Options,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the demo's store, to ask it more.")] = False,
    budget_tokens: Annotated[int, typer.Option(help="The most tokens that a block may take.")] = 500,
    threshold: Annotated[float, typer.Option(help="The least score of the best memory, 0..1.")] = 0.7,
) -> None:
    """Observe a shipped history and ask it questions, with reasons.

    Two people and an assistant talk over eight months about a bread stall, a dog and a move; plans change, facts are
    corrected. Each question shows the exact block that would be put before it, why each memory is in, what was cut by
    which gate, and whether the message that holds the answer is in. Some have no answer: then nothing may be put in.
    At the end a fact is stated that changes: what is told of it, its history, and what was true before. A page that
    gives orders is held back, and a name that nobody agreed to waits for consent.

    \b
    Examples:
      memwarden demo
      memwarden demo --keep
      memwarden demo --embedder none          words only
      memwarden demo --json
    """
    with ExitStack() as stack:
        url = options.db or _file(stack, keep)
        mine = replace(options, db=url, user=options.user or USER)
        async with mine.open() as warden:
            summary = await _observe(warden, mine)
            me = mine.scope(warden)
            memories = {memory.id: memory for memory in await me.find(limit=10_000)}
            played = [await _ask(me, question, memories, budget_tokens, threshold) for question in demo_questions()]
            changing = await play_change_scene(me)
            held = await play_quarantine_scene(me)
            asked = await play_consent_scene(me, memories)
        stays = (keep or options.db is not None) and url != "memory://"
        if options.as_json:
            told = _demo_json(url if stays else None, summary, played)
            print_json(told | {"changing": changing, "held": held, "consent": asked})
            return
        from memwarden.surfaces.cli.demo.show import show_demo

        show_demo(demo_history(), summary, played, memories, changing, held, asked, mine if stays else None)


def _file(stack: ExitStack, keep: bool) -> str:
    """Yield the URL of a new file, removed after the demo unless it is kept."""
    if keep:
        folder = tempfile.mkdtemp(prefix="memwarden-demo-")
    else:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="memwarden-demo-"))
    return f"sqlite:///{Path(folder) / 'demo.db'}"


async def _observe(warden: AsyncWarden, options: Options) -> Summary:
    conversation = demo_history()
    plans = list(plan_sessions([conversation], options.user, None))
    with progress("observing", conversation.turns) as tick:
        return await store_sessions(warden, options, [conversation], plans, tick)


async def _ask(
    me: AsyncScope, asked: DemoQuestion, memories: dict[str, Memory], budget_tokens: int, threshold: float
) -> DemoResult:
    message = {"role": "user", "content": asked.question}
    block = await me.context([message], budget_tokens, threshold=threshold, explain=True)
    return judge(asked, block, memories)


def judge(asked: DemoQuestion, block: ContextBlock, memories: dict[str, Memory]) -> DemoResult:
    """Compare a block with the expected messages."""
    inside = {source for item in block.items for source in item.sources}
    found = tuple(item for item in asked.expect if item in inside)
    missed = tuple(_missing_message(item, block.cut, memories) for item in asked.expect if item not in inside)
    return DemoResult(asked, block, found, missed, bool(found) if asked.expect else not block)


def _missing_message(source: str, cut: Sequence[Cut], memories: dict[str, Memory]) -> MissingMessage:
    for place, item in enumerate(cut, 1):
        if item.id in memories and source in memories[item.id].sources:
            return MissingMessage(source, item.gate, item.score, place)
    return MissingMessage(source, "not stored", 0.0, 0)


def _demo_json(url: str | None, summary: Summary, played: Sequence[DemoResult]) -> dict[str, object]:
    return {
        "db": url,
        "observed": summary,
        "right": sum(item.right for item in played),
        "questions": [
            {
                "question": item.asked.question,
                "answer": item.asked.answer,
                "expect": item.asked.expect,
                "found": item.found,
                "missed": item.missed,
                "right": item.right,
                "block": item.block.text,
                "tokens": item.block.tokens,
                "budget_tokens": item.block.budget_tokens,
                "items": item.block.items,
                "cut": item.block.cut[:20],
            }
            for item in played
        ],
    }


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question with a known answer.

    Attributes:
        expect: ids of the messages that hold the answer; none when the right answer is "nothing relevant".
        answer: the answer in words, which is shown but never searched.
        note: what sort of question it is.
    """

    question: str
    expect: tuple[str, ...]
    answer: str
    note: str


def demo_history() -> Conversation:
    """Return eight months of messages of two people, an assistant and a bread stall."""
    (conversation,) = recognise(_content("history.json"), "demo", where="history.json")
    return conversation


def demo_questions() -> list[DemoQuestion]:
    """Return the questions of the demo."""
    return [
        DemoQuestion(item["question"], tuple(item["expect"]), item["answer"], item["note"])
        for item in _content("questions.json")
    ]


def _content(name: str) -> Any:
    return json.loads(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))
