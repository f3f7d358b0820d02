"""Reads messages of any format, and places blocks in them; the protocol of a format."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol

from memwarden.errors import InvalidInput
from memwarden.remember.ingest.messages import OWN_FIELDS, ROLES, checked_field

Messages = Sequence[Any]
# A list of messages, or the arguments of the call (``client.messages.create(**request)``).
Request = Messages | Mapping[str, Any]

# The ways to insert a text: after the system prompt; as a message of its own before the message to answer; before the
# words of that message.
MODES: Final = ("system_append", "context_message", "user_prefix")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of a model. arguments: a JSON object; anything else stays text."""

    id: str
    name: str
    arguments: Any


class MessageFormat(Protocol):
    """The message format of an API. Mappings and SDK objects are read alike.

    All methods raise InvalidInput for values of another form.
    """

    name: str

    def read_turns(self, request: Request) -> list[dict[str, Any]]:
        """Return what users and the assistant said, oldest first, as ``observe`` takes it.

        Each has ``role`` and ``content``, and the caller's ``name``, ``id`` and ``created_at`` if given. Words are
        those of text parts (several are joined by a line break) and of refusals. System prompts, calls and results of
        tools, reasoning, images and messages without words are left out.
        """

    def unread(self, request: Request) -> list[str]:
        """Return why :meth:`read_turns` leaves malformed messages out (an unknown role, no content)."""

    def with_block(self, request: Request, text: str, mode: str) -> Any:
        """Return a new request with a text inserted; an equal request for an empty text.

        mode: see :data:`MODES`.
        """

    def with_placed(self, request: Request, early: str, later: Mapping[int, str]) -> Any:
        """Return a new request with a text after the system prompt, and texts before the words of messages.

        early: empty for none. Of several system messages it goes to the first, since later system messages may change
        from turn to turn (a summary of what was said). later: by the index of the message in :meth:`read_turns`.
        """

    def clean_texts(self, request: Request, clean: Callable[[str], str]) -> Any:
        """Return a new request with ``clean`` applied to the texts of the system and the users.

        Messages and parts without remaining text are left out. The assistant's words stay.
        """

    def answer(self, response: Any) -> str:
        """Return the words of a whole response, or of its message; of several choices the first's.

        Empty for a response that only calls tools.
        """

    def delta(self, event: Any) -> str:
        """Return the words of a stream's event, "" for an event without words.

        The words of all events, joined, are those of the whole response.
        """

    def calls(self, response: Any) -> tuple[ToolCall, ...]:
        """Return the tool calls of a whole response, in order; of several choices the first's."""

    def with_results(self, request: Request, response: Any, results: Mapping[str, str]) -> Any:
        """Return the request of the next model call: with the response and the results of its tools.

        results: by the id of the call, for each call.
        """


def check_mode(mode: Any) -> str:
    """Return a mode. Raises InvalidInput for an unknown mode."""
    if not isinstance(mode, str) or mode not in MODES:
        raise InvalidInput(f"a mode is one of {', '.join(MODES)}, not {mode!r:.80}")
    return mode


# The types of content parts with words.
WORDS: Final = ("text", "input_text", "output_text")
SPEAKERS: Final = ("user", "assistant")
SYSTEM: Final = ("system", "developer")
# Longer roles are invalid, and errors do not repeat them: they may be something that was said.
MAX_ROLE: Final = 32

log = logging.getLogger(__name__)


def field(thing: Any, name: str, default: Any = None) -> Any:
    """Return a field of a mapping or of an object."""
    return thing.get(name, default) if isinstance(thing, Mapping) else getattr(thing, name, default)


def hold_messages(request: Any) -> Any:
    """Return a request whose messages can be read more than once: an iterable of them becomes a list."""
    if isinstance(request, Mapping):
        given = {
            name: hold_messages(request[name]) for name in ("messages", "input") if _is_read_once(request.get(name))
        }
        return {**request, **given} if given else request
    return list(request) if _is_read_once(request) else request


def _is_read_once(value: Any) -> bool:
    return isinstance(value, Iterator | ValuesView)


def as_list(value: Any) -> Sequence[Any]:
    """Return a list as it is; an empty tuple for anything else (None, an SDK's mark for a missing value)."""
    return value if isinstance(value, Sequence) and not isinstance(value, str | bytes) else ()


def parts_of(content: Any) -> list[Any]:
    """Return the parts of a content; none for a text and for None. Raises InvalidInput for an iterator."""
    if content is None or isinstance(content, str):
        return []
    if isinstance(content, bytes) or not isinstance(content, Sequence):
        raise InvalidInput(f"content is text or a list of parts, not {type(content).__name__}")
    return list(content)


def as_dict(message: Any, what: str) -> dict[str, Any]:
    """Return a shallow copy of a message as a dict. Raises InvalidInput for anything else."""
    if isinstance(message, Mapping):
        return dict(message)
    if callable(dump := getattr(message, "model_dump", None)):
        return dict(dump(mode="json", exclude_unset=True))  # as the SDKs send it
    raise InvalidInput(f"{what} is a mapping like {{'role': 'user', 'content': '...'}}, not {message!r:.80}")


def check_messages(value: Any, what: str, *, typed: bool = False) -> list[Any]:
    """Check a caller's messages. typed: accept items with a type and no role. Raises InvalidInput."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
        raise InvalidInput(
            f"{what} is a list of mappings like {{'role': 'user', 'content': '...'}}, not {type(value).__name__}"
        )
    for number, item in enumerate(value):
        if isinstance(item, Mapping) or hasattr(item, "role") or (typed and hasattr(item, "type")):
            continue
        raise InvalidInput(
            f"{what}[{number}] is a mapping like {{'role': 'user', 'content': '...'}}, not a {type(item).__name__}; "
            "messages of LangChain become such by langchain_core.messages.convert_to_openai_messages"
        )
    return list(value)


def no_answer_error(response: Any, wanted: str) -> InvalidInput:
    """Return the error for a value that is not a response. wanted: the missing field."""
    return InvalidInput(f"a response is a text or has {wanted!r}, unlike this {type(response).__name__}")


def words(content: Any, between: str = "\n") -> str:
    """Return the words of a content: a text, or a list of parts."""
    if isinstance(content, str):
        return content
    return between.join(text for text in _texts(content) if text)


def has_words(content: Any) -> bool:
    """Return whether a content has words."""
    return bool(words(content).strip())


def is_message(item: Any) -> bool:
    """Return whether an item is a message: Responses lists calls, results and settings beside them."""
    return field(item, "type") in (None, "message") and field(item, "role") is not None


def spoken_places(messages: Sequence[Any]) -> list[int]:
    """Return the indexes of messages in which users and the assistant say something."""
    return [
        place for place, item in enumerate(messages) if field(item, "role") in SPEAKERS and _spoken_text(item).strip()
    ]


def read_spoken(messages: Sequence[Any], own: Sequence[str] = OWN_FIELDS) -> list[dict[str, Any]]:
    """Return what users and the assistant said (:meth:`memwarden.conversation.formats.base.MessageFormat.read_turns`).

    own: the caller's fields besides role and content. A field that the store rejects is left out, so that the words are
    kept although their time or name is wrong.
    """
    return [
        {"role": field(item, "role"), "content": _spoken_text(item)}
        | {name: value for name in own if (value := field(item, name)) is not None and _can_be_kept(name, value)}
        for item in map(messages.__getitem__, spoken_places(messages))
    ]


def messages_since_answer(said: Sequence[dict[str, Any]], begun: str) -> list[dict[str, Any]]:
    """Return the messages after the last answer. begun: an unfinished answer at the end (:func:`read_prefill`)."""
    asked = list(said[:-1] if begun else said)
    answers = [place for place, item in enumerate(asked) if item["role"] == "assistant"]
    return asked[answers[-1] + 1 :] if answers else asked


def read_prefill(request: Any) -> str:
    """Return the beginning of an answer for the model to continue (a prefill); "" for none.

    It is the last message, the assistant's, and of words alone: a message that calls tools is an answer.
    """
    messages = request.get("messages", ()) if isinstance(request, Mapping) else request
    last = messages[-1] if messages else None
    if field(last, "role") != SPEAKERS[1] or field(last, "tool_calls"):
        return ""
    content = field(last, "content")
    parts = parts_of(content)
    if any(field(part, "type") not in WORDS for part in parts):
        return ""
    return "".join(field(part, "text") or "" for part in parts) if parts else content or ""


def unread_reasons(messages: Sequence[Any], what: str, roles: Sequence[str] = ROLES) -> list[str]:
    """Return why messages that seem to hold words are not read; without their words."""
    reasons = []
    for number, item in enumerate(messages):
        role, content = field(item, "role"), field(item, "content")
        if field(item, "type") not in (None, "message"):
            continue
        if role not in roles:
            reasons.append(f"{what}[{number}].role is one of {', '.join(roles)}, not {_short(role)}")
        elif isinstance(content, Mapping | bytes | bool | int | float):
            reasons.append(f"{what}[{number}].content is text or a list of parts, not {type(content).__name__}")
        elif role == "user" and content is None:
            reasons.append(f"{what}[{number}].content is missing; give what was said, or leave the message out")
    return reasons


def _short(role: Any) -> str:
    return repr(role) if role is None or (isinstance(role, str) and len(role) <= MAX_ROLE) else type(role).__name__


def _can_be_kept(name: str, value: Any) -> bool:
    try:
        checked_field(name, value, name)
    except InvalidInput as error:
        _log_once(name, str(error))
        return False
    return True


logged_fields: Final[set[str]] = set()


def _log_once(name: str, why: str) -> None:
    """Warn that a field is left out, once per process, as each turn of a conversation repeats it."""
    if name not in logged_fields:
        logged_fields.add(name)
        log.warning("messages are taken without a field that cannot be kept: %s", why)


def _spoken_text(message: Any) -> str:
    if not is_message(message):
        return ""
    return words(field(message, "content")) + (field(message, "refusal") or "")


def _texts(parts: Any) -> Iterator[str]:
    for part in as_list(parts):
        if isinstance(part, str):
            yield part
            continue
        kind = field(part, "type")
        text = field(part, "text") if kind in WORDS else field(part, "refusal") if kind == "refusal" else None
        if isinstance(text, str):
            yield text


Message = dict[str, Any]


def append_text(content: Any, text: str, part: str) -> Any:
    """Return a content with a text at its end, as a paragraph or a part. part: the type of such a part."""
    parts = parts_of(content)
    if not parts:
        return f"{content}\n\n{text}" if isinstance(content, str) and content.strip() else text
    return [*parts, {"type": part, "text": text}]


def prepend_text(content: Any, text: str, part: str) -> Any:
    """Return a content with a text before its words, as a paragraph or a part.

    Results of tools stay first, as Anthropic requires.
    """
    parts = parts_of(content)
    if not parts:
        return f"{text}\n\n{content}" if isinstance(content, str) and content.strip() else text
    kinds = [field(part, "type") for part in parts]
    results = max((place + 1 for place, kind in enumerate(kinds) if kind == "tool_result"), default=0)
    spoken = next((place for place, kind in enumerate(kinds) if kind in WORDS), results)
    at = max(spoken, results)
    return [*parts[:at], {"type": part, "text": text}, *parts[at:]]


def change_content(messages: Sequence[Any], at: int, change: Callable[[Any], Any]) -> list[Any]:
    """Return the messages with the content at an index changed."""
    message = as_dict(messages[at], f"messages[{at}]")
    message["content"] = change(message.get("content"))
    return [*messages[:at], message, *messages[at + 1 :]]


def leading_system_places(messages: Sequence[Any]) -> list[int]:
    """Return the indexes of the system messages before anybody speaks."""
    found = []
    for place, message in enumerate(messages):
        if is_message(message) and field(message, "role") not in SYSTEM:
            break
        if is_message(message):
            found.append(place)
    return found


def place_to_answer(messages: Sequence[Any]) -> int | None:
    """Return the index of the user's last message with words, else of the last without tool results only."""
    users = [place for place, item in enumerate(messages) if is_message(item) and field(item, "role") == "user"]
    with_words = [place for place in users if has_words(field(messages[place], "content"))]
    others = [place for place in users if not _only_results(messages[place])]
    last = (with_words or others)[-1:]
    return last[0] if last else None


def system_role(messages: Sequence[Any], usual: str) -> str:
    """Return the role of the conversation's own system messages, else the usual role."""
    return next(
        (field(message, "role") for message in messages if is_message(message) and field(message, "role") in SYSTEM),
        usual,
    )


def append_to_system(messages: Sequence[Any], text: str, part: str, usual: str, which: int = -1) -> list[Any]:
    """Return the messages with a text at the end of a leading system message, or in a new system message.

    which: index among several, the last by default.
    """
    places = leading_system_places(messages)
    if not places:
        return [{"role": usual, "content": text}, *messages]
    return change_content(messages, places[which], lambda content: append_text(content, text, part))


def insert_message(messages: Sequence[Any], message: Mapping[str, Any]) -> list[Any]:
    """Insert a message right before the message to answer, or at the end."""
    at = place_to_answer(messages)
    at = len(messages) if at is None else at
    return [*messages[:at], dict(message), *messages[at:]]


def prefix_user_message(messages: Sequence[Any], text: str, part: str) -> list[Any]:
    """Insert a text before the words of the message to answer, or as a user's message."""
    at = place_to_answer(messages)
    if at is None:
        return [*messages, {"role": "user", "content": text}]
    return change_content(messages, at, lambda content: prepend_text(content, text, part))


def prepend_texts(messages: Sequence[Any], texts: Mapping[int, str], part: str) -> list[Any]:
    """Insert texts before the words of messages. texts: by the index among messages with words."""
    made, said = list(messages), spoken_places(messages)
    for place, text in texts.items():
        made = change_content(made, said[place], partial(prepend_text, text=text, part=part))
    return made


def clean_messages(messages: Sequence[Any], clean: Callable[[str], str]) -> list[Any]:
    """Clean the texts of an application's messages and drop those without remaining text.

    The words of the assistant and of tools stay.
    """
    made = []
    for message in messages:
        content = field(message, "content")
        left = clean_content(content, clean) if is_message(message) and _is_asking(message) else content
        if left == content:
            made.append(message)
        elif left:
            made.append(as_dict(message, "messages") | {"content": left})
    return made


def clean_content(content: Any, clean: Callable[[str], str]) -> Any:
    """Clean the texts of a content and drop the parts without remaining text."""
    if isinstance(content, str):
        return clean(content)
    made = []
    for part in as_list(content):
        text = field(part, "text")
        if field(part, "type") not in WORDS or not isinstance(text, str) or (left := clean(text)) == text:
            made.append(part)
        elif left:
            made.append({**as_dict(part, "content"), "text": left})
    return made if as_list(content) else content


def clean_argument(arguments: Mapping[str, Any], name: str, clean: Callable[[str], str]) -> dict[str, Any]:
    """Clean an argument of a call; drop it when nothing remains."""
    left = clean_content(arguments.get(name), clean)
    if left or left == arguments.get(name):
        return {**arguments, name: left} if name in arguments else dict(arguments)
    return {key: value for key, value in arguments.items() if key != name}


def _is_asking(message: Any) -> bool:
    return field(message, "role") not in ("assistant", "tool", "function")


def _only_results(message: Any) -> bool:
    parts = as_list(field(message, "content"))
    return bool(parts) and all(field(part, "type") == "tool_result" for part in parts)
