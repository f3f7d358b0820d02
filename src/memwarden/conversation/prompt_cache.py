"""Prompts that a provider's prefix cache keeps hitting (F6): what stands in a prompt stays where it was put.

A snapshot of memories stands early in the prompt and is made anew at set points only. What becomes relevant later goes,
as a delta, before the words of the message that made it relevant, and stands there in all later prompts, so that each
prompt begins with the whole of the last one. Plain functions; :mod:`memwarden.conversation.prompt_cache_store` keeps
their result.
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
    """A block in a conversation.

    Attributes:
        anchor: fingerprint of what was said up to the message that it was made for.
        text: the block; empty when nothing was relevant. tokens: its size.
        marks: by id of its memories, a fingerprint of what each of them said.
    """

    anchor: str
    text: str = ""
    tokens: int = 0
    marks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PromptLayout:
    """What of memory stands in a conversation: early, and before later messages, oldest first."""

    snapshot: PlacedBlock
    deltas: tuple[PlacedBlock, ...] = ()

    @property
    def marks(self) -> dict[str, str]:
        """The marks of all memories that stand in it."""
        return {key: fingerprint for delta in (*self.deltas, self.snapshot) for key, fingerprint in delta.marks.items()}


def anchors(said: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return for each message a fingerprint of everything that was said up to it, that message included."""
    found, so_far = [], hashlib.blake2b(digest_size=12)
    for message in said:
        so_far.update(json.dumps([message["role"], message["content"]]).encode())
        found.append(so_far.hexdigest())
    return found


def fingerprint(memory: Memory) -> str:
    """Return a fingerprint of what a memory says in a prompt; its age and importance stay as they were shown."""
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
    """Return what stands in the prompt of the message to answer; None for a conversation without a user's message.

    Set points, at which all of it is made anew: there is nothing yet; a conversation begins; a memory of the snapshot
    is gone; the deltas would take more than ``max_delta_tokens``; ``renew``. Otherwise at most one delta is added, with
    what is relevant and does not stand in the prompt yet. A message that was asked before gets what it got then. Deltas
    whose message is no longer in the conversation are dropped, and those that hold a memory that is gone.

    Args:
        said: what was said, the message to answer last. block: what is relevant to it.
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

    A memory that does not fit is passed over, and named in ``cut``.

    Args:
        without: ids of memories that stand in the prompt already. now: what ages are counted to.
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
    """Return the place of the user's last message, or None."""
    after = sum(1 for _ in takewhile(lambda item: item["role"] != "user", reversed(said)))
    return None if after == len(said) else len(said) - 1 - after


def delta_places(stable: PromptLayout, said: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Return where the deltas stand: their texts by the place of their message in what was said."""
    texts = {delta.anchor: delta.text for delta in stable.deltas}
    return {place: texts[anchor] for place, anchor in enumerate(anchors(said)) if anchor in texts}


def layout_to_json(stable: PromptLayout) -> dict[str, Any]:
    """Return it as JSON."""
    return {"snapshot": _block_to_json(stable.snapshot), "deltas": [_block_to_json(delta) for delta in stable.deltas]}


def layout_from_json(stored: Mapping[str, Any]) -> PromptLayout:
    """Read what :func:`layout_to_json` made."""
    return PromptLayout(_block_from_json(stored["snapshot"]), tuple(map(_block_from_json, stored["deltas"])))


def _place_block(anchor: str, block: ContextBlock) -> PlacedBlock:
    return PlacedBlock(anchor, block.text, block.tokens, {item.id: fingerprint(item.memory) for item in block.items})


def _block_to_json(block: PlacedBlock) -> dict[str, Any]:
    return {"anchor": block.anchor, "text": block.text, "tokens": block.tokens, "marks": dict(block.marks)}


def _block_from_json(stored: Mapping[str, Any]) -> PlacedBlock:
    return PlacedBlock(stored["anchor"], stored["text"], stored["tokens"], dict(stored["marks"]))
