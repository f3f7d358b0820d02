"""Our own words in what is said: a block that an application keeps in its messages, or that a model repeats (F8).

Blocks in design C's words are taken out of everything that is stored
(:mod:`memwarden.remember.ingest.strip_context`); this knows those in words of the caller's as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from memwarden.recall.answer.render import DEFAULT_TEMPLATE, Template
from memwarden.remember.ingest.strip_context import strip_blocks, strip_context


def without_blocks(messages: Sequence[Mapping[str, Any]], template: Template) -> list[dict[str, Any]]:
    """Messages without the blocks of a template; those that were nothing else are left out."""
    cleaned = [dict(message) | {"content": without_block(message["content"], template)} for message in messages]
    return [item for item in cleaned if item["content"].strip()]


def without_block(text: str, template: Template) -> str:
    """What of a text is stored: without all that memwarden puts into prompts, in a template's words or
    design C's."""
    return strip_context(strip_blocks(_begin(template.prefix), template.suffix, text))


def without_memories(text: str, template: Template) -> str:
    """A text without whole blocks of memories, in a template's or in design C's words; as it is if it has none."""
    for item in {template: None, DEFAULT_TEMPLATE: None}:
        text = strip_blocks(_begin(item.prefix), item.suffix, text, whole=True)
    return text


@lru_cache(maxsize=64)
def _begin(prefix: str) -> re.Pattern[str]:
    return re.compile(r"<memories>\s*" + (re.escape(prefix) if prefix else r"(?=1\. )"))
