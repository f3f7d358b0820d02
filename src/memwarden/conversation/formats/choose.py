"""Detects the form of a request."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from memwarden.conversation.formats.anthropic import AnthropicFormat
from memwarden.conversation.formats.base import MessageFormat, as_list, field
from memwarden.conversation.formats.openai import OpenAIChatFormat, OpenAIResponsesFormat
from memwarden.conversation.formats.plain import PlainFormat
from memwarden.errors import InvalidInput

_ALL: Final[tuple[MessageFormat, ...]] = (OpenAIChatFormat(), OpenAIResponsesFormat(), AnthropicFormat(), PlainFormat())
# Every form by its name.
FORMATS: Final[Mapping[str, MessageFormat]] = MappingProxyType({item.name: item for item in _ALL})
_ONLY_ANTHROPIC = frozenset(("tool_use", "tool_result", "thinking", "redacted_thinking", "document", "search_result"))


def detect_format(request: Any, name: str | None = None) -> MessageFormat:
    """Return the form of a request: by its name if given, else by its shape.

    A list, or a mapping with ``messages``, is of OpenAI's chat completions; a mapping with ``input`` of Responses; a
    mapping with ``messages`` and ``system``, or with blocks that only Anthropic has, is Anthropic's. A request to
    Anthropic that shows neither has to be named, and so has ``plain``.

    Raises InvalidInput for an unknown name, and for a request of no known shape.
    """
    if name is not None:
        if not isinstance(name, str) or name not in FORMATS:
            raise InvalidInput(f"a form is one of {', '.join(FORMATS)}, not {name!r:.80}")
        return FORMATS[name]
    if isinstance(request, Mapping):
        if "messages" in request:
            return FORMATS["anthropic" if _is_anthropic(request) else "openai_chat"]
        if "input" in request:
            return FORMATS["openai_responses"]
        raise InvalidInput("a request is a list of messages, or a mapping with 'messages' or 'input'")
    if isinstance(request, str | bytes) or not as_list(request):
        raise InvalidInput(f"a request is a list of messages, or the arguments of a call, not {request!r:.80}")
    return FORMATS["openai_chat"]


def _is_anthropic(request: Mapping[str, Any]) -> bool:
    if "system" in request:
        return True
    contents = [field(message, "content") for message in as_list(request["messages"])]
    return any(field(part, "type") in _ONLY_ANTHROPIC for content in contents for part in as_list(content))
