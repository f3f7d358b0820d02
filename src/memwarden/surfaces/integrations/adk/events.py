"""What events of ADK say, as messages to observe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.genai import types


def make_message(event: Any, metadata: Mapping[str, object] | None = None) -> dict[str, Any] | None:
    """Return what an event says as a message, None for an event without words."""
    text = read_text(event.content)
    if not text:
        return None
    by_user = event.author == "user"
    message = {
        "role": "user" if by_user else "assistant",
        "content": text,
        "id": event.id or None,
        "created_at": event.timestamp,
        "metadata": dict(metadata) if metadata else None,
        "name": None if by_user else event.author,
    }
    return {name: value for name, value in message.items() if value is not None}


def read_text(content: types.Content | None) -> str:
    """Return the words of a content, without a model's thoughts."""
    parts = (content.parts or []) if content is not None else []
    return "\n".join(part.text for part in parts if part.text and not part.thought)
