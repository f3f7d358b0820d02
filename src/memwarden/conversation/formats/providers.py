"""The request formats of OpenAI, Anthropic and plain messages, and which of them a request is in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from memwarden.conversation.formats import base
from memwarden.conversation.formats.base import (
    MessageFormat,
    Request,
    ToolCall,
    as_dict,
    as_list,
    check_messages,
    check_mode,
    clean_argument,
    field,
    has_words,
    no_answer_error,
    parts_of,
    read_spoken,
    unread_reasons,
    words,
)
from memwarden.errors import InvalidInput
from memwarden.remember.ingest.messages import OWN_FIELDS, ROLES, read_arguments

_TEXT = "text"


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
            return {**request, "system": base.append_text(own, text, _TEXT)}
        if mode == "context_message":
            messages = _in_blocks(messages)
        return {**request, "messages": base.prefix_user_message(messages, text, _TEXT)}

    def with_placed(self, request: Request, early: str, later: Mapping[int, str]) -> Any:
        messages = base.prepend_texts(_messages(request), later, _TEXT)
        return self.with_block({**dict(request), "messages": messages}, early, "system_append")

    def clean_texts(self, request: Request, clean: Callable[[str], str]) -> Any:
        messages = base.clean_messages(_messages(request), clean)
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
    at = base.place_to_answer(messages)
    if at is None:
        return messages
    return base.change_content(messages, at, lambda content: parts_of(content) or [{"type": _TEXT, "text": content}])


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
        messages = base.prepend_texts(_openai_messages(request), later, _TEXT)
        if early:
            role = base.system_role(messages, "system")
            messages = base.append_to_system(messages, early, _TEXT, role, which=0)
        return _with_messages(request, messages)

    def clean_texts(self, request: Request, clean: Callable[[str], str]) -> Any:
        return _with_messages(request, base.clean_messages(_openai_messages(request), clean))

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
    role = base.system_role(messages, "system")
    if mode == "system_append":
        return base.append_to_system(messages, text, _TEXT, role)
    if mode == "context_message":
        return base.insert_message(messages, {"role": role, "content": text})
    return base.prefix_user_message(messages, text, _TEXT)


_INPUT_TEXT = "input_text"
_WORDS_OF = {"refusal": "refusal", "output_audio": "transcript"}
_WORD_EVENTS = frozenset(
    (
        "response.output_text.delta",
        "response.refusal.delta",
        "response.audio.transcript.delta",
        "response.output_audio_transcript.delta",
    )
)


class OpenAIResponsesFormat:
    """A mapping with ``input`` (a text or a list of items) and optionally ``instructions``.

    With a stored ``prompt`` the input may be missing.

    ``system_append`` goes to the instructions. Without instructions it goes to the last system or developer message
    before anybody speaks, and without such a message it becomes the instructions. ``context_message`` is a message of
    the role of those, ``developer`` by default, right before the message to answer.
    """

    name = "openai_responses"

    def read_turns(self, request: Request) -> list[dict[str, Any]]:
        messages = _items(_arguments(request))
        # The id of an answer is the provider's, and was not known when the answer was heard.
        return [
            item
            for message in messages
            for item in read_spoken(
                [message], OWN_FIELDS if field(message, "role") == "user" else ("name", "created_at")
            )
        ]

    def unread(self, request: Request) -> list[str]:
        return unread_reasons(_items(_arguments(request)), "input")

    def with_block(self, request: Request, text: str, mode: str) -> Any:
        arguments = _arguments(request)
        items = _items(arguments)
        if not text:
            return dict(arguments)
        mode = check_mode(mode)
        if mode == "system_append":
            return _append_to_instructions(arguments, items, text)
        if mode == "user_prefix" and isinstance(arguments.get("input"), str):
            return {**arguments, "input": base.prepend_text(arguments["input"], text, _INPUT_TEXT)}
        if mode == "user_prefix":
            return {**arguments, "input": base.prefix_user_message(items, text, _INPUT_TEXT)}
        message = {"role": base.system_role(items, "developer"), "content": text}
        return {**arguments, "input": base.insert_message(items, message)}

    def with_placed(self, request: Request, early: str, later: Mapping[int, str]) -> Any:
        arguments = _arguments(request)
        given = arguments.get("input")
        if isinstance(given, str):
            placed = base.prepend_text(given, later[0], _INPUT_TEXT) if later else given
        else:
            placed = base.prepend_texts(_items(arguments), later, _INPUT_TEXT)
        made = {**arguments, "input": placed} if placed else dict(arguments)
        return _append_to_instructions(made, _items(made), early, which=0) if early else made

    def clean_texts(self, request: Request, clean: Callable[[str], str]) -> Any:
        arguments = _arguments(request)
        given = arguments.get("input")
        items = clean(given) if isinstance(given, str) else base.clean_messages(_items(arguments), clean)
        return clean_argument(arguments, "instructions", clean) | ({"input": items} if "input" in arguments else {})

    def answer(self, response: Any) -> str:
        if isinstance(response, str):
            return response
        messages = [item for item in _output(response) if field(item, "type") == "message"]
        parts = [part for message in messages for part in as_list(field(message, "content"))]
        texts = [field(part, _WORDS_OF.get(field(part, "type"), "text")) for part in parts]
        return "".join(text for text in texts if text)

    def delta(self, event: Any) -> str:
        if isinstance(event, str):
            return event
        is_words = field(event, "type") in _WORD_EVENTS
        return (field(event, "delta") or "") if is_words else ""

    def calls(self, response: Any) -> tuple[ToolCall, ...]:
        return tuple(
            ToolCall(field(item, "call_id"), field(item, "name"), read_arguments(field(item, "arguments")))
            for item in _output(response)
            if field(item, "type") == "function_call"
        )

    def with_results(self, request: Request, response: Any, results: Mapping[str, str]) -> Any:
        arguments = _arguments(request)
        # All of the output: what a model thought has to come back with its calls.
        answer = [as_dict(item, "output") for item in _output(response)]
        outputs = [{"type": "function_call_output", "call_id": item, "output": text} for item, text in results.items()]
        return {**arguments, "input": [*_items(arguments), *answer, *outputs]}


def _output(response: Any) -> Sequence[Any]:
    if field(response, "output") is None:
        raise no_answer_error(response, "output")
    return as_list(field(response, "output"))


def _arguments(request: Any) -> Mapping[str, Any]:
    if not isinstance(request, Mapping) or not ("input" in request or _has_stored_prompt(request)):
        raise InvalidInput("a request in the form of Responses is a mapping with 'input', or with a stored 'prompt'")
    return request


def _has_stored_prompt(request: Mapping[str, Any]) -> bool:
    """Whether a request names a prompt that the provider keeps."""
    return field(request.get("prompt"), "id") is not None


def _items(arguments: Mapping[str, Any]) -> list[Any]:
    given = arguments.get("input", ())
    return (
        [{"role": "user", "content": given}] if isinstance(given, str) else check_messages(given, "input", typed=True)
    )


def _append_to_instructions(
    arguments: Mapping[str, Any], items: list[Any], text: str, which: int = -1
) -> dict[str, Any]:
    own = arguments.get("instructions")
    if not (isinstance(own, str) and has_words(own)) and base.leading_system_places(items):
        return {**arguments, "input": base.append_to_system(items, text, _INPUT_TEXT, "developer", which)}
    return {
        **arguments,
        "instructions": base.append_text(own if isinstance(own, str) else None, text, _INPUT_TEXT),
    }


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
            return base.insert_message(messages, {"role": "context", "content": text})
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
        if "input" in request or _has_stored_prompt(request):
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
