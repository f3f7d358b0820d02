"""Lays out memories so that a provider's prefix cache keeps hitting: a block stays where it was inserted.

A snapshot of memories stands early in the prompt and is made anew at set points only. Memories that become relevant
later form a delta before the words of the message that made them relevant. The delta stays there in all later prompts,
so each prompt begins with the whole previous prompt. Pure functions; :mod:`memwarden.conversation.prompt_cache_store`
keeps their result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import takewhile
from typing import Any

from memwarden import clock
from memwarden.conversation.settings import ChatSettings
from memwarden.recall.answer.budget import pack_items
from memwarden.recall.answer.render import render_memories_block
from memwarden.records import ContextBlock, Cut, Memory
from memwarden.tokens import TokenCounter, estimate


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A block of memories at its place in a conversation.

    Attributes:
        anchor: fingerprint of the talk up to the message that the block was made for.
        text: the block; empty when nothing was relevant. tokens: its size.
        marks: fingerprints of its memories' contents, by memory id.
    """

    anchor: str
    text: str = ""
    tokens: int = 0
    marks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PromptLayout:
    """The memories in a conversation: a snapshot early, and deltas before later messages, oldest first."""

    snapshot: PlacedBlock
    deltas: tuple[PlacedBlock, ...] = ()

    @property
    def marks(self) -> dict[str, str]:
        """The fingerprints of all its memories, by id."""
        return {key: fingerprint for delta in (*self.deltas, self.snapshot) for key, fingerprint in delta.marks.items()}


def anchors(said: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return for each message a fingerprint of the talk up to and including that message."""
    # Each anchor depends on all earlier messages: the same words at another place are another anchor.
    found, so_far = [], hashlib.blake2b(digest_size=12)
    for message in said:
        so_far.update(json.dumps([message["role"], message["content"]]).encode())
        found.append(so_far.hexdigest())
    return found


def fingerprint(memory: Memory) -> str:
    """Return a fingerprint of a memory's words in a prompt; a changed age or importance does not count."""
    shown = json.dumps([memory.text, memory.summary, memory.context, memory.kind])
    return hashlib.blake2b(shown.encode(), digest_size=8).hexdigest()


def decide_layout(
    before: PromptLayout | None,
    said: Sequence[Mapping[str, Any]],
    block: ContextBlock,
    settings: ChatSettings,
    *,
    gone: Collection[str] = (),
    renew: bool = False,
) -> PromptLayout | None:
    """Return the layout for the message to answer; None for a conversation without a user's message.

    All of it is made anew at set points: there is nothing yet; a conversation begins; a memory of the snapshot is gone;
    the deltas would take more than ``max_delta_tokens``; ``renew``. Otherwise at most a single delta is added, with the
    relevant memories that are not in the prompt yet. A repeated message gets the same memories as before. Deltas are
    dropped when their message left the conversation, or when a memory in them is gone.

    Args:
        said: the talk, ending with the message to answer. block: the memories relevant to it.
        gone: ids of memories that were forgotten, changed or are no longer true.
    """
    chain = anchors(said)
    at = place_to_answer(said)
    if at is None:
        return None
    here, lost = chain[at], set(gone)
    begins = all(item["role"] == "user" for item in said[:at])
    if (
        before is None
        or renew
        or (begins and before.snapshot.anchor not in chain)
        or lost & before.snapshot.marks.keys()
    ):
        return PromptLayout(_place_block(here, render_memories(block, settings)))
    known = set(chain[: at + 1])
    kept = tuple(delta for delta in before.deltas if delta.anchor in known and not lost & delta.marks.keys())
    stable = PromptLayout(before.snapshot, kept)
    if here in (item.anchor for item in (before.snapshot, *kept)):
        return stable
    words = replace(settings, memory_context_suffix="") if stable.marks else settings  # it stands in the prompt
    more = render_memories(block, words, without=stable.marks)
    if sum(item.tokens for item in kept) + more.tokens > settings.max_delta_tokens:
        return PromptLayout(_place_block(here, render_memories(block, settings)))
    return PromptLayout(before.snapshot, (*kept, _place_block(here, more))) if more else stable


def render_memories(
    block: ContextBlock,
    settings: ChatSettings,
    *,
    without: Collection[str] = (),
    now: datetime | None = None,
    count: TokenCounter = estimate,
) -> ContextBlock:
    """Return a block with its memories in the words of the settings' templates, within their budget.

    A memory that does not fit is skipped, and named in ``cut``.

    Args:
        without: ids of memories that are in the prompt already. now: the time that ages are counted to.
    """
    from memwarden.recall.answer.select import GATES  # numpy is loaded by now: there is a block

    moment = now or clock.now()
    packed = pack_items(
        (),
        [item for item in block.items if item.id not in without],
        most=len(block.items),
        budget=settings.max_memory_tokens,
        render=lambda items: render_memories_block(items, moment, settings.template),
        count=count,
    )
    dropped = [Cut(item.id, gate, item.score, GATES[gate]) for item, gate in packed.dropped]
    return ContextBlock(
        packed.text, packed.items, packed.tokens, settings.max_memory_tokens, block.rev, (*dropped, *block.cut)
    )


def place_to_answer(said: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the index of the user's last message, or None."""
    after = sum(1 for _ in takewhile(lambda item: item["role"] != "user", reversed(said)))
    return None if after == len(said) else len(said) - 1 - after


def delta_places(stable: PromptLayout, said: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Return the texts of the deltas by the index of their message in the talk."""
    texts = {delta.anchor: delta.text for delta in stable.deltas}
    return {place: texts[anchor] for place, anchor in enumerate(anchors(said)) if anchor in texts}


def layout_to_json(stable: PromptLayout) -> dict[str, Any]:
    """Return a layout as JSON."""
    return {"snapshot": _block_to_json(stable.snapshot), "deltas": [_block_to_json(delta) for delta in stable.deltas]}


def layout_from_json(stored: Mapping[str, Any]) -> PromptLayout:
    """Read the result of :func:`layout_to_json`."""
    return PromptLayout(_block_from_json(stored["snapshot"]), tuple(map(_block_from_json, stored["deltas"])))


def _place_block(anchor: str, block: ContextBlock) -> PlacedBlock:
    return PlacedBlock(anchor, block.text, block.tokens, {item.id: fingerprint(item.memory) for item in block.items})


def _block_to_json(block: PlacedBlock) -> dict[str, Any]:
    return {"anchor": block.anchor, "text": block.text, "tokens": block.tokens, "marks": dict(block.marks)}


def _block_from_json(stored: Mapping[str, Any]) -> PlacedBlock:
    return PlacedBlock(stored["anchor"], stored["text"], stored["tokens"], dict(stored["marks"]))
