"""Messages of Pydantic AI as a turn reads them, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    SystemPromptPart,
    TextContent,
    UserPromptPart,
)

# Key of a turn's message for its place in the history.
_ORIGIN: Final = "pydantic_ai"


class Origin(NamedTuple):
    """Place of a turn's message. part: None for a response, which is a message as a whole."""

    message: int
    part: ModelRequestPart | None


def read_history(history: Sequence[ModelMessage]) -> list[dict[str, Any]]:
    """Return a message for each part of a request and for each response, oldest first."""
    messages: list[dict[str, Any]] = []
    for place, message in enumerate(history):
        if isinstance(message, ModelRequest):
            messages += [_read_part(part) | {_ORIGIN: Origin(place, part)} for part in message.parts]
        else:
            messages.append({"role": "assistant", "content": message.text or "", _ORIGIN: Origin(place, None)})
    return messages


def write_history(history: Sequence[ModelMessage], messages: Sequence[Mapping[str, Any]]) -> list[ModelMessage]:
    """Return a history with the contents of a turn's messages. Messages without an origin join the next request."""
    if not history:
        return []
    groups: dict[int, list[Mapping[str, Any]]] = {}
    for place, item in _with_places(history, messages):
        groups.setdefault(place, []).append(item)
    made: list[ModelMessage] = []
    for place, message in enumerate(history):
        # A request without parts has no message of the turn, and still carries instructions.
        given = groups.get(place, [])
        if not isinstance(message, ModelRequest):
            if added := [_write_part(item) for item in given if _ORIGIN not in item]:
                made.append(ModelRequest(added))
            made.append(message)
        elif given or not message.parts:
            made.append(replace(message, parts=[_write_part(item) for item in given]))
    return made


def _with_places(
    history: Sequence[ModelMessage], messages: Sequence[Mapping[str, Any]]
) -> list[tuple[int, Mapping[str, Any]]]:
    """Return messages with the index of the message of the history that each belongs to."""
    place = max((at for at, message in enumerate(history) if isinstance(message, ModelRequest)), default=0)
    placed = []
    for message in reversed(messages):
        origin: Origin | None = message.get(_ORIGIN)
        place = origin.message if origin else place
        placed.append((place, message))
    return placed[::-1]


def _read_part(part: ModelRequestPart) -> dict[str, Any]:
    if isinstance(part, SystemPromptPart):
        return {"role": "system", "content": part.content}
    if isinstance(part, UserPromptPart):
        content = part.content
        return {
            "role": "user",
            "content": content if isinstance(content, str) else [_read_item(one) for one in content],
        }
    return {"role": "tool", "content": ""}


def _read_item(item: Any) -> dict[str, Any]:
    """Return an item of a prompt as a content part. Pictures and files have no words."""
    if isinstance(item, str):
        return {"type": "text", "text": item}
    if isinstance(item, TextContent):
        return {"type": "text", "text": item.content, _ORIGIN: item}
    return {"type": "file", _ORIGIN: item}


def _write_part(message: Mapping[str, Any]) -> ModelRequestPart:
    origin: Origin | None = message.get(_ORIGIN)
    content = message["content"]
    if origin is None:
        return SystemPromptPart(content) if message["role"] == "system" else UserPromptPart(content)
    if isinstance(origin.part, SystemPromptPart):
        return replace(origin.part, content=content)
    if isinstance(origin.part, UserPromptPart):
        content = content if isinstance(content, str) else [_write_item(item) for item in content]
        return replace(origin.part, content=content)
    assert origin.part is not None
    return origin.part


def _write_item(item: Mapping[str, Any]) -> Any:
    origin = item.get(_ORIGIN)
    if isinstance(origin, TextContent):
        return replace(origin, content=item["text"])
    return item["text"] if origin is None else origin
