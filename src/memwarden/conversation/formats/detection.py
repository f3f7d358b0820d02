"""Detection of a request's message format."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from memwarden.conversation.formats.anthropic import AnthropicFormat
from memwarden.conversation.formats.message_format import MessageFormat
from memwarden.conversation.formats.openai_chat import OpenAIChatFormat
from memwarden.conversation.formats.openai_responses import OpenAIResponsesFormat, has_stored_prompt
from memwarden.conversation.formats.plain import PlainFormat
from memwarden.conversation.formats.reading import as_list, field
from memwarden.errors import InvalidInput

_ALL: Final[tuple[MessageFormat, ...]] = (OpenAIChatFormat(), OpenAIResponsesFormat(), AnthropicFormat(), PlainFormat())
# Every form by its name.
FORMATS: Final[Mapping[str, MessageFormat]] = MappingProxyType({item.name: item for item in _ALL})
_ONLY_ANTHROPIC = frozenset(("tool_use", "tool_result", "thinking", "redacted_thinking", "document", "search_result"))
_ROLES_OF_OPENAI = frozenset(("system", "developer", "tool", "function"))
# Arguments of a call that Anthropic has alone, and those that it does not take.
_ARGUMENTS_OF_ANTHROPIC = frozenset(
    ("system", "stop_sequences", "top_k", "thinking", "betas", "container", "mcp_servers", "context_management")
)
_ARGUMENTS_OF_OPENAI = frozenset(
    (
        "frequency_penalty",
        "logprobs",
        "max_completion_tokens",
        "n",
        "presence_penalty",
        "reasoning_effort",
        "response_format",
        "seed",
        "stop",
        "stream_options",
    )
)


def detect_format(request: Any, name: str | None = None) -> MessageFormat:
    """Return the form of a request: by its name if given, else by its shape.

    A list, or a mapping with ``messages``, is of OpenAI's chat completions; a mapping with ``input`` or a stored
    ``prompt`` of Responses; a mapping with ``messages`` is Anthropic's when it has ``system``, another argument or a
    block that only Anthropic has, or ``max_tokens`` for a model whose name begins with "claude". Others have to be
    named, and so has ``plain``.

    Raises InvalidInput for an unknown name, and for a request of no known shape.
    """
    if name is not None:
        if not isinstance(name, str) or name not in FORMATS:
            raise InvalidInput(f"a form is one of {', '.join(FORMATS)}, not {name!r:.80}")
        return FORMATS[name]
    if isinstance(request, Mapping):
        if "messages" in request:
            return FORMATS["anthropic" if _is_anthropic(request) else "openai_chat"]
        if "input" in request or has_stored_prompt(request):
            return FORMATS["openai_responses"]
        raise InvalidInput("a request is a list of messages, or a mapping with 'messages' or 'input'")
    if isinstance(request, str | bytes) or not as_list(request):
        raise InvalidInput(f"a request is a list of messages, or the arguments of a call, not {request!r:.80}")
    return FORMATS["openai_chat"]


def _is_anthropic(request: Mapping[str, Any]) -> bool:
    if "system" in request:
        return True
    messages = as_list(request["messages"])
    if not _ARGUMENTS_OF_OPENAI.isdisjoint(request) or any(
        field(item, "role") in _ROLES_OF_OPENAI for item in messages
    ):
        return False
    contents = [field(message, "content") for message in messages]
    return _has_arguments_of_anthropic(request) or any(
        field(part, "type") in _ONLY_ANTHROPIC for content in contents for part in as_list(content)
    )


def _has_arguments_of_anthropic(request: Mapping[str, Any]) -> bool:
    model = str(request.get("model"))
    if "/" in model:  # of a router, which takes OpenAI's form and passes on what it does not know
        return False
    tools = [tool for tool in as_list(request.get("tools")) if isinstance(tool, Mapping)]
    if not _ARGUMENTS_OF_ANTHROPIC.isdisjoint(request) or any("input_schema" in tool for tool in tools):
        return True
    return "max_tokens" in request and model.startswith("claude")
