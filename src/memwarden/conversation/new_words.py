"""What of a request is said in this turn, where a key and not the thread knows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memwarden.conversation.formats.reading import SPEAKERS, WORDS, field, parts_of


def since_answer(said: Sequence[dict[str, Any]], begun: str) -> list[dict[str, Any]]:
    """What follows the last answer. begun: an answer that stands last, and is none yet (:func:`begun_answer`)."""
    asked = list(said[:-1] if begun else said)
    answers = [place for place, item in enumerate(asked) if item["role"] == "assistant"]
    return asked[answers[-1] + 1 :] if answers else asked


def begun_answer(request: Any) -> str:
    """The beginning of an answer that the model is to go on with (a prefill); "" for a request that has none.

    It is the last message, the assistant's, and of words alone: one that calls tools is an answer.
    """
    messages = request.get("messages", ()) if isinstance(request, Mapping) else request
    last = messages[-1] if messages else None
    if field(last, "role") != SPEAKERS[1] or field(last, "tool_calls"):
        return ""
    content = field(last, "content")
    parts = parts_of(content)
    if any(field(part, "type") not in WORDS for part in parts):
        return ""
    return "".join(field(part, "text") or "" for part in parts) if parts else content or ""
