"""Reading what a caller hands over: messages and texts, checked before anything is written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memwarden import clock
from memwarden.errors import InvalidInput

ROLES = ("user", "assistant", "system", "developer", "tool", "function")
MESSAGE_KEYS = frozenset({"role", "content", "name", "id", "created_at"})
MAX_NAME = 256
# A text of which more than this share is control characters is no text.
_MAX_CONTROL_SHARE = 0.05
# C0 but for white space, and DEL and C1.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Message:
    """One message as it was said.

    ``text`` is empty for a message that carries no words (a bare tool call); ``role`` is None for a text that is
    stated, not said.
    """

    role: str | None
    text: str
    name: str | None = None
    id: str | None = None
    created_at: datetime | None = None


def read_messages(messages: Any, max_bytes: int) -> tuple[Message, ...]:
    """Check a caller's messages: one mapping ``{role, content, name=, id=, created_at=}`` or a sequence of them.

    Other keys (``tool_calls``, ``refusal``, ...) are allowed and ignored. ``content`` may be text, None or a list of
    content parts, of which the text parts count.

    Raises InvalidInput that names the message and what is wrong with it.
    """
    if isinstance(messages, Mapping):
        messages = [messages]
    if isinstance(messages, str | bytes) or not isinstance(messages, Sequence):
        raise InvalidInput(
            f"messages is a list of mappings like {{'role': 'user', 'content': '...'}}, not {type(messages).__name__}"
        )
    if not messages:
        raise InvalidInput("messages is empty; give at least one message")
    return tuple(_message(message, number, max_bytes) for number, message in enumerate(messages))


def read_stated(stated: Any, max_bytes: int) -> tuple[Message, ...]:
    """Check what a caller states as worth knowing: a text, a message, or a sequence of them.

    Raises InvalidInput, also for a message without words.
    """
    if isinstance(stated, str | Mapping) or not isinstance(stated, Sequence):
        stated = [stated]
    if not stated:
        raise InvalidInput("there is nothing to remember; give at least one text")
    return tuple(
        _with_words(_message(one, number, max_bytes), number)
        if isinstance(one, Mapping)
        else Message(None, checked_text(one, "the text" if len(stated) == 1 else f"text {number}", max_bytes))
        for number, one in enumerate(stated)
    )


def checked_text(value: Any, what: str, max_bytes: int) -> str:
    """Return a caller's text. Raises InvalidInput if it is no text, empty, too long, binary or not valid Unicode."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be text, not {type(value).__name__}")
    if not value.strip():
        raise InvalidInput(f"{what} is empty; give some text")
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{what} is not valid Unicode at character {error.start} (lone surrogate); decode it with errors='replace'"
        ) from None
    if size > max_bytes:
        raise InvalidInput(
            f"{what} has {size:,} bytes, the limit is {max_bytes:,}; split it, or remember a summary with a source "
            "that points to the whole (the limit is the setting max_text_bytes)"
        )
    control = len(_CONTROL.findall(value))
    if "\0" in value or control > _MAX_CONTROL_SHARE * len(value):
        raise InvalidInput(f"{what} looks like binary data ({control} control characters); memwarden remembers text")
    return value


def checked_name(value: Any, what: str) -> str | None:
    """Return a short identifying text or None. Raises InvalidInput for anything else."""
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_NAME or not value.isprintable():
        raise InvalidInput(f"{what} is a printable text of 1 to {MAX_NAME} characters, not {value!r:.80}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidInput(f"{what} is not valid Unicode: {value!r:.80}") from None
    return unicodedata.normalize("NFC", value)


def checked_names(value: Any, what: str) -> tuple[str, ...]:
    """Return a sequence of short texts as a tuple without repetitions, in the given order."""
    if isinstance(value, str) or not isinstance(value, Sequence | set | frozenset):
        raise InvalidInput(f"{what} is a list of texts, not {value!r:.80}")
    names = [checked_name(one, f"{what}[{number}]") for number, one in enumerate(value)]
    if None in names:
        raise InvalidInput(f"{what} holds None; leave it out")
    return tuple(dict.fromkeys(name for name in names if name is not None))


def _message(message: Any, number: int, max_bytes: int) -> Message:
    where = f"messages[{number}]"
    if not isinstance(message, Mapping):
        raise InvalidInput(f"{where} is a mapping like {{'role': 'user', 'content': '...'}}, not {message!r:.80}")
    role = message.get("role")
    if role not in ROLES:
        raise InvalidInput(f"{where}.role is one of {', '.join(ROLES)}, not {role!r:.80}")
    text = _content(message.get("content"), f"{where}.content", max_bytes)
    if not text and not message.get("tool_calls"):
        raise InvalidInput(f"{where}.content is empty; leave the message out or give it some text")
    created_at = message.get("created_at")
    identity = message.get("id")
    return Message(
        role=role,
        text=text,
        name=checked_name(message.get("name"), f"{where}.name"),
        id=checked_name(str(identity) if isinstance(identity, int) else identity, f"{where}.id"),
        created_at=None if created_at is None else clock.parse(created_at, f"{where}.created_at"),
    )


def _with_words(message: Message, number: int) -> Message:
    if not message.text:
        raise InvalidInput(f"messages[{number}] has no words to remember")
    return message


def _content(content: Any, where: str, max_bytes: int) -> str:
    if content is None or content == "":
        return ""
    if isinstance(content, Sequence) and not isinstance(content, str | bytes):
        content = "\n".join(_part(part, f"{where}[{number}]") for number, part in enumerate(content)).strip()
        if not content:
            return ""
    return checked_text(content, where, max_bytes)


def _part(part: Any, where: str) -> str:
    """The words of one content part; parts of other types (images, audio, files) have none."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        raise InvalidInput(
            f"{where} is text or a content part like {{'type': 'text', 'text': '...'}}, not {part!r:.80}"
        )
    text = part.get("text", "") if str(part.get("type", "")).endswith("text") else ""
    if not isinstance(text, str):
        raise InvalidInput(f"{where}.text must be text, not {type(text).__name__}")
    return text
