"""Message format of Anthropic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memwarden.conversation.formats.editing import (
    append_text,
    change_content,
    clean_argument,
    clean_messages,
    place_to_answer,
    prefix_user_message,
    prepend_texts,
)
from memwarden.conversation.formats.message_format import Request, ToolCall, check_mode
from memwarden.conversation.formats.reading import (
    as_dict,
    as_list,
    check_messages,
    field,
    no_answer_error,
    parts_of,
    read_spoken,
    unread_reasons,
    words,
)
from memwarden.errors import InvalidInput


class AnthropicFormat:
    """A mapping with ``messages`` and optionally ``system`` (a text or a list of blocks).

    ``system_append`` goes to the end of ``system``, after the caller's own blocks and their ``cache_control``.
    ``context_message`` is a block of its own before the words of the message to answer, and not a message, as users and
    the assistant take turns here; ``user_prefix`` goes into the message's text where that is a plain text. Results of
    tools stay before both.
    """

    name = "anthropic"

    def read_turns(self, request: Request) -> list[dict[str, Any]]:
        return read_spoken(_messages(request))

    def unread(self, request: Request) -> list[str]:
        return unread_reasons(_messages(request), "messages")

    def with_block(self, request: Request, text: str, mode: str) -> Any:
        messages = _messages(request)
        assert isinstance(request, Mapping)
        if not text:
            return dict(request)
        mode = check_mode(mode)
        if mode == "system_append":
            own = request.get("system")
            own = own if isinstance(own, str) or as_list(own) else None
            return {**request, "system": append_text(own, text, "text")}
        if mode == "context_message":
            messages = _in_blocks(messages)
        return {**request, "messages": prefix_user_message(messages, text, "text")}

    def with_placed(self, request: Request, early: str, later: Mapping[int, str]) -> Any:
        messages = prepend_texts(_messages(request), later, "text")
        return self.with_block({**dict(request), "messages": messages}, early, "system_append")

    def clean_texts(self, request: Request, clean: Callable[[str], str]) -> Any:
        messages = clean_messages(_messages(request), clean)
        assert isinstance(request, Mapping)
        return clean_argument(request, "system", clean) | {"messages": messages}

    def answer(self, response: Any) -> str:
        if isinstance(response, str):
            return response
        return words(_content(response), "")

    def delta(self, event: Any) -> str:
        if isinstance(event, str):
            return event
        kind = field(event, "type")  # "text" of the SDK's own streams repeats what a delta brought
        if kind == "content_block_delta":
            delta = field(event, "delta")
            return (field(delta, "text") or "") if field(delta, "type") == "text_delta" else ""
        if kind == "content_block_start":
            return words([field(event, "content_block")])
        return ""

    def calls(self, response: Any) -> tuple[ToolCall, ...]:
        used = [item for item in _content(response) if field(item, "type") == "tool_use"]
        return tuple(ToolCall(field(item, "id"), field(item, "name"), field(item, "input")) for item in used)

    def with_results(self, request: Request, response: Any, results: Mapping[str, str]) -> Any:
        messages = _messages(request)
        answer = {"role": "assistant", "content": [_sent_back(item) for item in _content(response)]}
        tool_results = [{"type": "tool_result", "tool_use_id": item, "content": text} for item, text in results.items()]
        return {**dict(request), "messages": [*messages, answer, {"role": "user", "content": tool_results}]}


def _content(response: Any) -> Sequence[Any]:
    if field(response, "content") is None:
        raise no_answer_error(response, "content")
    return as_list(field(response, "content"))


def _sent_back(block: Any) -> dict[str, Any]:
    """Return a block of an answer for the next request. The API rejects the broken JSON of a truncated call."""
    sent = as_dict(block, "content")
    return {**sent, "input": {}} if isinstance(sent.get("input"), str) else sent


def _messages(request: Any) -> list[Any]:
    if not isinstance(request, Mapping) or "messages" not in request:
        raise InvalidInput("a request in Anthropic's form is a mapping with 'messages', and maybe 'system'")
    return check_messages(request["messages"], "messages")


def _in_blocks(messages: list[Any]) -> list[Any]:
    """Split the message to answer into blocks, so that a text before its words is a block of its own."""
    at = place_to_answer(messages)
    if at is None:
        return messages
    return change_content(messages, at, lambda content: parts_of(content) or [{"type": "text", "text": content}])
