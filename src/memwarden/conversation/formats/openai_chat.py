"""Message format of OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memwarden.conversation.formats.editing import (
    append_to_system,
    clean_messages,
    insert_message,
    prefix_user_message,
    prepend_texts,
    system_role,
)
from memwarden.conversation.formats.message_format import Request, ToolCall, check_mode
from memwarden.conversation.formats.reading import (
    as_dict,
    as_list,
    check_messages,
    field,
    no_answer_error,
    read_spoken,
    unread_reasons,
    words,
)
from memwarden.remember.ingest.messages import read_arguments


class OpenAIChatFormat:
    """A list of messages, or a mapping with ``messages``.

    ``system_append`` goes to the last system or developer message before anybody speaks; without such a message, a
    system message is inserted first. ``context_message`` has the same role, right before the message to answer.
    """

    name = "openai_chat"

    def read_turns(self, request: Request) -> list[dict[str, Any]]:
        return read_spoken(_openai_messages(request))

    def unread(self, request: Request) -> list[str]:
        return unread_reasons(_openai_messages(request), "messages")

    def with_block(self, request: Request, text: str, mode: str) -> Any:
        messages = _with_block(_openai_messages(request), text, check_mode(mode)) if text else _openai_messages(request)
        return _with_messages(request, messages)

    def with_placed(self, request: Request, early: str, later: Mapping[int, str]) -> Any:
        messages = prepend_texts(_openai_messages(request), later, "text")
        if early:
            role = system_role(messages, "system")
            messages = append_to_system(messages, early, "text", role, which=0)
        return _with_messages(request, messages)

    def clean_texts(self, request: Request, clean: Callable[[str], str]) -> Any:
        return _with_messages(request, clean_messages(_openai_messages(request), clean))

    def answer(self, response: Any) -> str:
        if isinstance(response, str):
            return response
        message = _message(response)
        return words(field(message, "content"), "") + (field(message, "refusal") or "") + _spoken(message)

    def delta(self, event: Any) -> str:
        if isinstance(event, str):
            return event
        kind = field(event, "type")
        if kind in ("content.delta", "refusal.delta"):  # of the SDK's own streams, which tell each chunk as well
            return field(event, "delta") or ""
        if kind == "chunk" or "." in str(kind):
            return ""
        if field(event, "choices") is None:  # a piece of a message, as LangChain's models stream them
            return words(field(_message(event), "content"), "")
        choices = [item for item in as_list(field(event, "choices")) if not field(item, "index")]
        delta = field(choices[0], "delta") if choices else None
        return (field(delta, "content") or "") + (field(delta, "refusal") or "") + _spoken(delta)

    def calls(self, response: Any) -> tuple[ToolCall, ...]:
        return tuple(map(_call, as_list(field(_message(response), "tool_calls"))))

    def with_results(self, request: Request, response: Any, results: Mapping[str, str]) -> Any:
        message = _message(response)
        called = [as_dict(item, "tool_calls") for item in as_list(field(message, "tool_calls"))]
        answer = {"role": "assistant", "content": field(message, "content"), "tool_calls": called}
        tool_messages = [{"role": "tool", "tool_call_id": item, "content": result} for item, result in results.items()]
        return _with_messages(request, [*_openai_messages(request), answer, *tool_messages])


def _spoken(message: Any) -> str:
    """Return the words of an answer that is given as sound."""
    return field(field(message, "audio"), "transcript") or ""


def _message(response: Any) -> Any:
    """Return the message of a response, or the message given in its place."""
    choices = as_list(field(response, "choices"))
    if choices:
        return field(choices[0], "message")
    if field(response, "choices") is None and field(response, "content", no_answer_error) is not no_answer_error:
        return response
    raise no_answer_error(response, "choices")


def _call(called: Any) -> ToolCall:
    custom = field(called, "custom")
    if custom is not None:  # a tool of free text
        return ToolCall(field(called, "id"), field(custom, "name"), field(custom, "input"))
    function = field(called, "function")
    return ToolCall(field(called, "id"), field(function, "name"), read_arguments(field(function, "arguments")))


def _openai_messages(request: Request) -> list[Any]:
    return check_messages(request.get("messages") if isinstance(request, Mapping) else request, "messages")


def _with_messages(request: Request, messages: list[Any]) -> Any:
    return {**request, "messages": messages} if isinstance(request, Mapping) else messages


def _with_block(messages: list[Any], text: str, mode: str) -> list[Any]:
    role = system_role(messages, "system")
    if mode == "system_append":
        return append_to_system(messages, text, "text", role)
    if mode == "context_message":
        return insert_message(messages, {"role": role, "content": text})
    return prefix_user_message(messages, text, "text")
