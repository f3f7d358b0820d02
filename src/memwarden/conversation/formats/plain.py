"""Message format of plain messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memwarden.conversation.formats.editing import insert_message
from memwarden.conversation.formats.message_format import Request, ToolCall, check_mode
from memwarden.conversation.formats.openai_chat import OpenAIChatFormat
from memwarden.conversation.formats.reading import check_messages, field, no_answer_error, unread_reasons, words
from memwarden.errors import InvalidInput
from memwarden.remember.ingest.messages import ROLES


class PlainFormat(OpenAIChatFormat):
    """A list of ``{role, content}``, answered with a text or a message.

    As with chat completions, but a ``context_message`` has the role ``context``.
    """

    name = "plain"

    def unread(self, request: Request) -> list[str]:
        return unread_reasons(check_messages(request, "messages"), "messages", (*ROLES, "context"))

    def with_block(self, request: Any, text: str, mode: str) -> Any:
        messages = check_messages(request, "messages")
        if text and check_mode(mode) == "context_message":
            return insert_message(messages, {"role": "context", "content": text})
        return super().with_block(messages, text, mode)

    def answer(self, response: Any) -> str:
        if isinstance(response, str):
            return response
        content = field(response, "content")
        if not isinstance(content, str | list | tuple):
            raise no_answer_error(response, "content")
        return words(content, "")

    def delta(self, event: Any) -> str:
        return event if isinstance(event, str) else words(field(event, "content"), "")

    def calls(self, response: Any) -> tuple[ToolCall, ...]:
        return ()

    def with_results(self, request: Request, response: Any, results: Mapping[str, str]) -> Any:
        raise InvalidInput("plain messages have no calls of tools; use the form openai_chat")
