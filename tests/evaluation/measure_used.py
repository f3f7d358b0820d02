"""Measure the rules that say whether an answer used a memory (F22), on RealMem's own answers.

``python tests/evaluation/measure_used.py FILE FILE...``

For each question the block is made that a turn would get, and its memories are judged against the answer in the file.
Told is which share counts as used: of memories from sessions that the file names for the answer; of the others, which
may say the same; and of memories of the next file's person, in a prompt about something else, where none can be used.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from memwarden import AsyncWarden
from memwarden.conversation.turn import judge_uses
from memwarden.records import RecallItem
from memwarden.surfaces.conversation_files import Conversation, read_conversations
from memwarden_bench.metrics import mean


class Prompt(NamedTuple):
    """A question with what stood in its prompt. gold: the sessions that its answer was written from."""

    said: list[str]
    answer: str
    gold: tuple[str, ...]
    items: tuple[RecallItem, ...]


async def prompts(talk: Conversation) -> list[Prompt]:
    """Make the blocks of a conversation's questions, each with the sessions before it in the store."""
    asked = {(question.asked_after, question.text): question for question in talk.questions}
    found = []
    async with AsyncWarden.open("memory://", {}) as warden:
        for number, session in enumerate(talk.sessions):
            me = warden.scope(user="ana", thread=session.thread)
            for place, message in enumerate(session.messages[:-1]):
                question = asked.get((number, message["content"]))
                if question is not None and message["role"] == "user":
                    before = session.messages[: place + 1]
                    items = (await me.context(before)).items
                    answer = str(session.messages[place + 1]["content"])
                    found.append(
                        Prompt([str(item["content"]) for item in before], answer, question.gold_sessions, items)
                    )
            await me.observe(session.messages)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the three shares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    talks = [talk for path in parser.parse_args(arguments).files for talk in read_conversations(path)]
    made = [asyncio.run(prompts(talk)) for talk in talks]
    named: list[float] = []
    others: list[float] = []
    strangers: list[float] = []
    for here, next_ in zip(made, [*made[1:], *made[:1]], strict=True):
        for number, entry in enumerate(here):
            for item, used, _ in judge_uses(entry.items, entry.said, entry.answer):
                (named if item.memory.thread_id in entry.gold else others).append(float(used))
            stranger = next_[number % len(next_)]
            strangers += [float(used) for _, used, _ in judge_uses(stranger.items, entry.said, entry.answer)]
    for what, shares in (("named sessions", named), ("other sessions", others), ("another person", strangers)):
        sys.stdout.write(f"memories of {what}: {mean(shares):.3f} of {len(shares)} count as used\n")


if __name__ == "__main__":
    main()
