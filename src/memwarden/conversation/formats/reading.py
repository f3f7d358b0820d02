"""Words of a request's messages."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence, ValuesView
from typing import Any, Final

from memwarden.errors import InvalidInput
from memwarden.remember.ingest.messages import OWN_FIELDS, ROLES, checked_field

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
    """Return what users and the assistant said.

    See :meth:`memwarden.conversation.formats.message_format.MessageFormat.read_turns`.

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
