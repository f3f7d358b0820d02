"""Message format of OpenAI's Responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memwarden.conversation.formats.editing import (
    append_text,
    append_to_system,
    clean_argument,
    clean_messages,
    insert_message,
    leading_system_places,
    prefix_user_message,
    prepend_text,
    prepend_texts,
    system_role,
)
from memwarden.conversation.formats.message_format import Request, ToolCall, check_mode
from memwarden.conversation.formats.reading import (
    as_dict,
    as_list,
    check_messages,
    field,
    has_words,
    no_answer_error,
    read_spoken,
    unread_reasons,
)
from memwarden.errors import InvalidInput
from memwarden.remember.ingest.messages import OWN_FIELDS, read_arguments

_INPUT_PART = "input_text"
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
            return {**arguments, "input": prepend_text(arguments["input"], text, _INPUT_PART)}
        if mode == "user_prefix":
            return {**arguments, "input": prefix_user_message(items, text, _INPUT_PART)}
        message = {"role": system_role(items, "developer"), "content": text}
        return {**arguments, "input": insert_message(items, message)}

    def with_placed(self, request: Request, early: str, later: Mapping[int, str]) -> Any:
        arguments = _arguments(request)
        given = arguments.get("input")
        if isinstance(given, str):
            placed = prepend_text(given, later[0], _INPUT_PART) if later else given
        else:
            placed = prepend_texts(_items(arguments), later, _INPUT_PART)
        made = {**arguments, "input": placed} if placed else dict(arguments)
        return _append_to_instructions(made, _items(made), early, which=0) if early else made

    def clean_texts(self, request: Request, clean: Callable[[str], str]) -> Any:
        arguments = _arguments(request)
        given = arguments.get("input")
        items = clean(given) if isinstance(given, str) else clean_messages(_items(arguments), clean)
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
    if not isinstance(request, Mapping) or not ("input" in request or has_stored_prompt(request)):
        raise InvalidInput("a request in the form of Responses is a mapping with 'input', or with a stored 'prompt'")
    return request


def has_stored_prompt(request: Mapping[str, Any]) -> bool:
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
    if not (isinstance(own, str) and has_words(own)) and leading_system_places(items):
        return {**arguments, "input": append_to_system(items, text, _INPUT_PART, "developer", which)}
    return {
        **arguments,
        "instructions": append_text(own if isinstance(own, str) else None, text, _INPUT_PART),
    }
