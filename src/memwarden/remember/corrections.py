"""Corrections of turns: the right words as a new memory, beside what else a message says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from memwarden.checks import quote as shorten
from memwarden.errors import InvalidInput
from memwarden.filters import Condition
from memwarden.records import EXTRACTED_BY, QUOTATION, Memory, leave_part_tags
from memwarden.remember.ingest.messages import Draft
from memwarden.stores.protocol import StoreReader

# Maximum extracted memories of the moment of a turn that are read. A turn has one to three.
MAX_QUOTATIONS: Final = 50


def split_around(text: str, quoted: str) -> tuple[str, str]:
    """Return the text before and after a quoted part. White space matches any other. Raises InvalidInput."""
    words = quoted.split()
    match = re.search(r"\s+".join(map(re.escape, words)), text) if words else None
    if match is None:
        raise InvalidInput(f"the memory does not hold the words {shorten(quoted)}; give them as it has them")
    return text[: match.start()], text[match.end() :]


def make_correction(turn: Memory, changes: Mapping[str, Any]) -> Draft:
    """Return the draft of the right words of a turn. changes: fields of the memory, with its text."""
    given = dict(changes)
    return Draft(
        text=given["text"],
        kind=given.get("kind"),
        category=given.get("category", turn.category),
        importance=given.get("importance", turn.importance),
        tags=given.get("tags", leave_part_tags(turn.tags)),
        pinned=given.get("pinned", turn.pinned),
        source=turn.source,
        summary=given.get("summary"),
        context=given.get("context"),
        characters=turn.characters,
        valid_from=given.get("valid_from"),
        name=turn.name,
        metadata=given.get("payload"),
        expires_at=given.get("valid_to"),
    )


def make_rest(turn: Memory, rest: str, at: datetime) -> Draft:
    """Return the draft of the other words of a turn, as they were said. at: from when they stand for the turn."""
    return Draft(
        text=rest,
        category=turn.category,
        importance=turn.importance,
        tags=(*leave_part_tags(turn.tags), QUOTATION),
        source=turn.source,
        sources=turn.sources,
        characters=turn.characters,
        created_at=turn.said_at,
        valid_from=max(at, turn.since),
        trust=turn.trust,
        name=turn.name,
        metadata=turn.payload,
    )


async def find_quotations(store: StoreReader, turn: Memory) -> list[Memory]:
    """Return the open quotations that were extracted of a turn, which stand for it."""
    where = (
        Condition("thread_id", "$eq", turn.thread_id),
        Condition("actor_id", "$eq", EXTRACTED_BY),
        Condition("created_at", "$eq", turn.created_at),
        Condition("valid_to", "$eq", None),
    )
    found = await store.find(turn.namespace, where, limit=MAX_QUOTATIONS)
    return [memory for memory in found if QUOTATION in memory.tags and memory.sources[:1] == turn.sources[:1]]


def end_turn(turn: Memory, at: datetime) -> Memory:
    """Return a turn or a quotation of it that ends at a time, or when it began if that is later."""
    return replace(turn, valid_to=max(at, turn.since), updated_at=at)
