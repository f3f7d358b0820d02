"""Assembles a whole response from a stream's events, as far as tool calls need it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final
from uuid import uuid4

from memwarden.conversation.formats.reading import as_dict, as_list, field

Response = dict[str, Any]


def assemble_response(form: str, events: Iterable[Any]) -> Any:
    """Return the response that the events of a stream form; None when no event holds a part of it."""
    gather = _ASSEMBLERS.get(form)
    return None if gather is None else gather(events)


def _openai_chat(events: Iterable[Any]) -> Response | None:
    words: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    seen = False
    for event in events:
        choices = [item for item in as_list(field(event, "choices")) if not field(item, "index")]
        delta = field(choices[0], "delta") if choices else None
        seen = seen or delta is not None
        words.append(field(delta, "content") or "")
        for piece in as_list(field(delta, "tool_calls")):
            call = calls.setdefault(
                field(piece, "index") or 0, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
            )
            function = field(piece, "function")
            call["id"] = call["id"] or field(piece, "id") or ""
            call["function"]["name"] += field(function, "name") or ""
            call["function"]["arguments"] += field(function, "arguments") or ""
    if not seen:
        return None
    message = {
        "role": "assistant",
        "content": "".join(words) or None,
        "tool_calls": [calls[at] for at in sorted(calls)],
    }
    return {"choices": [{"index": 0, "message": message}]}


def ensure_call_ids(response: Any) -> Any:
    """Return a chat completion whose tool calls have distinct ids; the response itself where they do.

    Other providers behind this API give no ids, or equal ids: then their results could not be told apart.
    """
    choices = as_list(field(response, "choices"))
    calls = as_list(field(field(choices[0], "message"), "tool_calls")) if choices else ()
    ids = [field(call, "id") for call in calls]
    if all(ids) and len(set(ids)) == len(ids):
        return response
    own = [{**as_dict(call, "tool_calls"), "id": f"call_{uuid4().hex}"} for call in calls]
    message = {"role": "assistant", "content": field(field(choices[0], "message"), "content"), "tool_calls": own}
    return {"choices": [{"index": 0, "message": message}]}


def _openai_responses(events: Iterable[Any]) -> Any:
    # The last event of this API carries the whole response; other APIs send deltas only.
    ended = [field(event, "response") for event in events if field(event, "type") == "response.completed"]
    return ended[-1] if ended else None


def _anthropic(events: Iterable[Any]) -> Response | None:
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        kind, at = field(event, "type"), field(event, "index")
        if kind == "content_block_start":
            begun = field(event, "content_block")
            blocks[at] = dict(begun) if isinstance(begun, Mapping) else begun.model_dump(exclude_none=True)
        elif kind == "content_block_delta" and at in blocks:
            _add(blocks[at], field(event, "delta"))
    content = [_whole(blocks[at]) for at in sorted(blocks)]
    return {"role": "assistant", "content": content} if content else None


def _add(block: dict[str, Any], delta: Any) -> None:
    """Add a delta of an Anthropic stream to its block. Thoughts return to the model with their signature."""
    for name in ("text", "thinking", "signature"):
        if isinstance(field(delta, name), str):
            block[name] = (block.get(name) or "") + field(delta, name)
    if field(delta, "type") == "input_json_delta":
        block["json"] = block.get("json", "") + (field(delta, "partial_json") or "")


def _whole(block: dict[str, Any]) -> dict[str, Any]:
    written = block.pop("json", None)
    if written:
        try:
            block["input"] = json.loads(written)
        except ValueError:
            block["input"] = written  # cut off: no arguments, which are others than none
    return block


_ASSEMBLERS: Final[Mapping[str, Callable[[Iterable[Any]], Any]]] = MappingProxyType(
    {"openai_chat": _openai_chat, "openai_responses": _openai_responses, "anthropic": _anthropic}
)
