"""Our own words in what is said: a block that an application keeps in its messages, or that a model repeats (F8).

Blocks in design C's words are taken out of everything that is stored (:mod:`memwarden.remember.injected`); this knows
those in words of the caller's as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from memwarden.recall.block import Template
from memwarden.remember.injected import without_injected


def without_blocks(messages: Sequence[Mapping[str, Any]], template: Template) -> list[dict[str, Any]]:
    """Messages without the blocks of a template; those that were nothing else are left out."""
    cleaned = [dict(one) | {"content": without_block(one["content"], template)} for one in messages]
    return [one for one in cleaned if one["content"].strip()]


def without_block(text: str, template: Template) -> str:
    """A text without our blocks, in a template's or in design C's words, and the space around them; as it is if it has
    none."""
    text = without_injected(text)
    if "<memories>" not in text:
        return text
    left = _pattern(template).sub("", text)
    return text if left == text else left.strip()


@lru_cache(maxsize=64)
def _pattern(template: Template) -> re.Pattern[str]:
    """Whole blocks, and one that breaks off at the end of the text, as an answer that was cut off does."""
    begins = re.escape(template.prefix) if template.prefix else r"1\. "
    return re.compile(rf"<memories>\s*{begins}(?:.*?</memories>|.*\Z)", re.DOTALL)
