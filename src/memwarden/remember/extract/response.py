"""Reads a model's answer to "what is worth remembering?"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memwarden.errors import InvalidInput
from memwarden.models.json_answers import json_values
from memwarden.records import Kind
from memwarden.remember.ingest.messages import checked_name, checked_text

_FENCE = re.compile(r"```(?:json)?(.*?)```", re.DOTALL | re.IGNORECASE)
MAX_PROPOSALS = 50
"""The most memories that are taken from an answer."""


@dataclass(frozen=True, slots=True)
class ProposedMemory:
    """A memory that a model proposes. ``importance`` is 0..1; the answer has 1..10."""

    text: str
    summary: str | None = None
    kind: str | None = None
    importance: float = 0.5
    tags: tuple[str, ...] = ()


def read_response(response: str, max_bytes: int) -> tuple[ProposedMemory, ...]:
    """Read the memories that a model's answer lists.

    The answer is JSON, bare, in a code fence or with words around it: a list, or an object with a list under
    ``memories``; each element a text or an object with ``content`` (or ``text``), and maybe ``summary``, ``type``,
    ``importance`` (1..10) and ``tags``. Fields that make no sense are ignored, single tags too; elements without
    content are left out. Of several such lists the first that has a memory counts, a list in a code fence before
    others.

    Raises InvalidInput when there is no such JSON in it.
    """
    empty = False
    for text in (*(fence[1] for fence in _FENCE.finditer(response)), response):
        for found in json_values(text):
            listed = found.get("memories") if isinstance(found, Mapping) else found
            if isinstance(listed, list):
                read = tuple(
                    item for element in listed[:MAX_PROPOSALS] if (item := _read_memory(element, max_bytes)) is not None
                )
                if read:
                    return read
                # A footnote mark such as [1] is no list of memories.
                empty |= listed is not found or not listed or any(isinstance(item, Mapping | str) for item in listed)
    if empty:
        return ()
    raise InvalidInput('the response holds no list of memories; expected JSON like [{"content": "..."}]')


def _read_memory(element: Any, max_bytes: int) -> ProposedMemory | None:
    if isinstance(element, str):
        element = {"content": element}
    if not isinstance(element, Mapping):
        return None
    text = element.get("content") or element.get("text")
    if not isinstance(text, str) or not text.strip():
        return None
    kind, level, tags = str(element.get("type", "")).lower(), element.get("importance"), element.get("tags")
    return ProposedMemory(
        text=text.strip(),
        summary=_read_summary(element.get("summary"), max_bytes),
        kind=kind if kind in set(Kind) else None,
        importance=_read_share(level),
        tags=tuple(dict.fromkeys(name for tag in tags if (name := _read_tag(tag)))) if isinstance(tags, list) else (),
    )


def _read_summary(given: Any, max_bytes: int) -> str | None:
    try:
        return checked_text(given, "summary", max_bytes).strip()
    except InvalidInput:
        return None


def _read_tag(given: Any) -> str | None:
    try:
        return checked_name(given, "tag")
    except InvalidInput:
        return None


def _read_share(level: Any) -> float:
    """Scale 1..10 to 0..1; the middle for what is no number."""
    if isinstance(level, bool) or not isinstance(level, int | float) or level != level:
        return 0.5
    return min(10, max(1, level)) / 10
