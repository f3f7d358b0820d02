"""Reading a model's answer to "what is worth remembering?" (design C's extractMemoriesFromResponse, row C8)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memwarden.errors import InvalidInput
from memwarden.records import Kind

_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL | re.IGNORECASE)
MOST = 50
"""The most memories that are taken from one answer."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """One memory that a model proposes. ``importance`` is 0..1 (the answer has design C's 1..10)."""

    text: str
    summary: str | None = None
    kind: str | None = None
    importance: float = 0.5
    tags: tuple[str, ...] = ()


def read_response(response: str) -> tuple[Extracted, ...]:
    """Read the memories that a model's answer lists.

    The answer is JSON, bare, in a code fence or with words around it: a list, or an object with a list under
    ``memories``; each element a text or an object with ``content`` (or ``text``), and maybe ``summary``, ``type``,
    ``importance`` (1..10) and ``tags``. Fields that make no sense are ignored; elements without content are left out.

    Raises InvalidInput when there is no such JSON in it.
    """
    found = _json(response)
    if isinstance(found, Mapping):
        found = found.get("memories")
    if not isinstance(found, list):
        raise InvalidInput('the response holds no list of memories; expected JSON like [{"content": "..."}]')
    return tuple(one for element in found[:MOST] if (one := _extracted(element)) is not None)


def _json(response: str) -> Any:
    fence = _FENCE.search(response)
    text = fence[1] if fence else response
    start = min((at for at in (text.find("["), text.find("{")) if at >= 0), default=-1)
    if start < 0:
        return None
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except (json.JSONDecodeError, RecursionError):
        return None


def _extracted(element: Any) -> Extracted | None:
    if isinstance(element, str):
        element = {"content": element}
    if not isinstance(element, Mapping):
        return None
    text = element.get("content") or element.get("text")
    if not isinstance(text, str) or not text.strip():
        return None
    summary, kind, level = element.get("summary"), str(element.get("type", "")).lower(), element.get("importance")
    tags = element.get("tags")
    return Extracted(
        text=text.strip(),
        summary=summary.strip() if isinstance(summary, str) and summary.strip() else None,
        kind=kind if kind in set(Kind) else None,
        importance=_share(level),
        tags=tuple(tag for tag in tags if isinstance(tag, str) and tag.strip()) if isinstance(tags, list) else (),
    )


def _share(level: Any) -> float:
    """Design C's 1..10 as 0..1; the middle for what is no number."""
    if isinstance(level, bool) or not isinstance(level, int | float) or level != level:
        return 0.5
    return min(10, max(1, level)) / 10
