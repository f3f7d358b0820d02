"""Reads messages and stated texts of callers, checked before anything is written."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

from memwarden import clock
from memwarden.checks import MAX_WHOLE, quote
from memwarden.errors import InvalidInput
from memwarden.records import Channel, Kind
from memwarden.text.language import checked_text, find_misfit, repair_json, repair_text
from memwarden.text.requests import cut_request

ROLES = ("user", "assistant", "system", "developer", "tool", "function")
# Names of roles in other libraries.
_OTHER_ROLES = {"human": "user", "ai": "assistant", "bot": "assistant", "model": "assistant"}
# Types of messages in LangChain, with their roles.
_LANGCHAIN = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function"}
# Seconds, milliseconds, microseconds or nanoseconds in a text.
_DIGITS = re.compile(r"\d{9,19}(?:\.\d{1,9})?")
_TOOL_ROLES = ("tool", "function")
# The optional fields of a message beside its role and content.
OWN_FIELDS = ("name", "id", "created_at")
# Names and ids are keys of indexes; a longer value is a text in the wrong place.
MAX_NAME = 256
MAX_METADATA_BYTES = 65_536
MAX_METADATA_DEPTH = 16
# A smaller number (before March 1973) is a duration or a count, and no time.
MIN_SECONDS = 100_000_000
# A number of so many seconds would be in the year 5138: it counts milliseconds, and so on.
MIN_MILLISECONDS = 100_000_000_000
_UNITS = (1_000_000_000, 1_000_000, 1_000)
# C0 but for white space, and DEL and C1.
_NEVER_IN_A_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_SPACES = re.compile(r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it was said.

    ``text`` is empty for a message that carries no words (a bare tool call, an empty answer), and for a message whose
    words cannot be kept: then ``misfit`` says why. ``role`` is None for a text that is stated, not said.
    """

    role: str | None
    text: str
    name: str | None = None
    id: str | None = None
    created_at: datetime | None = None
    metadata: Mapping[str, Any] | None = None
    misfit: str = ""


def read_messages(messages: Any, max_bytes: int) -> tuple[Message, ...]:
    """Check a caller's messages: a mapping ``{role, content, name=, id=, created_at=, metadata=}`` or a sequence.

    A text alone is a message of the user.

    Without ``created_at`` its time is read from ``timestamp``, ``date`` or ``time`` (:func:`read_time`).
    Other keys (``tool_calls``, ``refusal``, ...) are allowed and ignored. ``content`` may be text, None or a list of
    content parts, of which the text parts count. What a message says may be nothing, too long, binary or broken: that
    is no error of the caller's, and the others shall not be lost for its sake (:class:`Message`).

    Raises InvalidInput that names the message and what is wrong with it.
    """
    if isinstance(messages, str):
        messages = {"role": "user", "content": messages}
    if isinstance(messages, Mapping):
        messages = [messages]
    if isinstance(messages, Iterator | ValuesView):
        messages = list(messages)
    if isinstance(messages, bytes) or not isinstance(messages, Sequence):
        raise InvalidInput(
            f"messages is a list of mappings like {{'role': 'user', 'content': '...'}}, not {type(messages).__name__}"
        )
    if not messages:
        raise InvalidInput("messages is empty; give a message")
    return tuple(_message(message, number, max_bytes) for number, message in enumerate(messages))


def read_stated(stated: Any, max_bytes: int) -> tuple[Message, ...]:
    """Check what a caller states as worth knowing: a text, a message, or a sequence of them.

    Raises InvalidInput, also for a message without words.
    """
    if isinstance(stated, str | Mapping) or not isinstance(stated, Sequence):
        stated = [stated]
    if not stated:
        raise InvalidInput("there is nothing to remember; give a text")
    return tuple(
        _with_words(_message(item, number, max_bytes), number)
        if isinstance(item, Mapping)
        else Message(None, checked_text(item, "the text" if len(stated) == 1 else f"text {number}", max_bytes))
        for number, item in enumerate(stated)
    )


def checked_name(value: Any, what: str) -> str | None:
    """Return a short identifying text or None. Raises InvalidInput for anything else."""
    if value is None:
        return None
    name = normalize_line(value)
    if name is None or not name.strip() or len(name) > MAX_NAME:
        raise InvalidInput(f"{what} is a printable text of 1 to {MAX_NAME} characters, not {quote(value)}")
    return name


def checked_label(value: Any, what: str) -> str | None:
    """Return a short text that names no person, place or thread: a tag, a source, the name of a speaker.

    Half a surrogate pair and NUL become the replacement character, as in texts. Raises as :func:`checked_name`.
    """
    return checked_name(repair_text(value) if isinstance(value, str) else value, what)


def normalize_line(value: Any) -> str | None:
    """Return a text of a single line in NFC, with every sort of space as a blank; None for any other value.

    Joiners stay, which Persian, Hindi and emoji are written with. Control characters, also those that turn the
    direction of writing, are in no line.
    """
    if not isinstance(value, str):
        return None
    if not value.isprintable():
        if _NEVER_IN_A_LINE.search(value):
            return None
        value = _SPACES.sub(" ", value)
    return unicodedata.normalize("NFC", value)


def checked_field(name: str, value: Any, what: str) -> Any:
    """Return a value of :data:`OWN_FIELDS` as it is kept, None for None.

    Raises InvalidInput for what cannot be kept.
    """
    if name == "created_at":
        return None if value is None else clock.parse_local(value, what)
    return checked_label(str(value) if name == "id" and isinstance(value, int) else value, what)


def read_time(message: Mapping[str, Any], what: str = "created_at") -> datetime | None:
    """Return when a message was said: ``created_at``, else ``timestamp``, ``date`` with ``time``, or either alone; in
    the zone in which it is given.

    Numbers are seconds or milliseconds. What is no time ("Monday") counts as no time, but for ``created_at``, which is
    the name of memwarden's own field: raises InvalidInput.
    """
    given = message.get("created_at")
    if isinstance(given, str) and _DIGITS.fullmatch(given.strip()):
        return _try_time(given)
    if given is not None:
        return clock.parse_local(given, what)
    date, time = message.get("date"), message.get("time")
    both = f"{date}T{time}" if isinstance(date, str) and isinstance(time, str) else None
    for value in (message.get("timestamp"), both, date, time):
        if (moment := _try_time(value)) is not None:
            return moment
    return None


def _try_time(value: Any) -> datetime | None:
    if isinstance(value, date) and not isinstance(value, datetime):
        value = value.isoformat()
    if isinstance(value, str) and _DIGITS.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, int | float):
        value = next((value / unit for unit in _UNITS if value >= MIN_MILLISECONDS * unit / 1_000), value)
        # A small number is how long something took, or a count.
        value = value if value >= MIN_SECONDS else None
    try:
        return None if value is None else clock.parse_local(value, "a time")
    except InvalidInput:
        return _read_mail_time(value)


def _read_mail_time(value: Any) -> datetime | None:
    """Return a time as mails and HTTP write it: ``Wed, 01 May 2024 10:00:00 +0000``."""
    if not isinstance(value, str) or not value[:1].isalpha():
        return None
    from email.utils import parsedate_to_datetime  # takes 2 % of the start of a command, and few messages need it

    try:
        return clock.parse_local(parsedate_to_datetime(value), "a time")
    except (ValueError, TypeError, OverflowError, InvalidInput):
        return None


def checked_metadata(value: Any, what: str) -> dict[str, Any] | None:
    """Return a caller's metadata, a JSON object, None for None and for an empty object.

    Raises InvalidInput for what is no JSON, too large, or too deep.
    """
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{what} is a mapping of names to values, not {quote(value)}")
    value = repair_json(value)
    _check_json(value, what, MAX_METADATA_DEPTH)
    size = len(json.dumps(value, ensure_ascii=False).encode())
    if size > MAX_METADATA_BYTES:
        raise InvalidInput(f"{what} has {size:,} bytes as JSON, the limit is {MAX_METADATA_BYTES:,}")
    return json.loads(json.dumps(value)) or None


def _check_json(value: Any, what: str, depth: int) -> None:
    if depth < 0:
        raise InvalidInput(f"{what} is nested more than {MAX_METADATA_DEPTH} deep")
    if isinstance(value, Mapping):
        for name, item in value.items():
            if not isinstance(name, str):
                raise InvalidInput(f"{what} has the name {quote(name)}; names are texts")
            _check_json(name, what, depth)
            _check_json(item, f"{what}.{name:.40}", depth - 1)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            _check_json(item, f"{what}[{number}]", depth - 1)
    elif not _is_json_value(value):
        raise InvalidInput(f"{what} is text, a number, true, false, null, a list or an object, not {quote(value)}")


def _is_json_value(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" not in value and _SURROGATES.search(value) is None
    if isinstance(value, int):
        return abs(value) <= MAX_WHOLE
    return value is None or (isinstance(value, float) and math.isfinite(value))


def checked_names(value: Any, what: str) -> tuple[str, ...]:
    """Return a sequence of short texts as a tuple without repetitions, in the given order."""
    if isinstance(value, str) or not isinstance(value, Sequence | set | frozenset):
        raise InvalidInput(f"{what} is a list of texts, not {quote(value)}")
    names = [checked_label(item, f"{what}[{number}]") for number, item in enumerate(value)]
    if None in names:
        raise InvalidInput(f"{what} holds None; leave it out")
    return tuple(dict.fromkeys(name for name in names if name is not None))


def read_arguments(given: Any) -> Any:
    """Read the arguments of a tool call, as a model writes them: JSON in a text; an empty text is ``{}``.

    A text that is no JSON stays what it is: what was cut off cannot be known. Line breaks inside of strings, which JSON
    wants escaped and models write as they are, are read.
    """
    try:
        return json.loads(given.strip() or "{}", strict=False) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return given


def _message(message: Any, number: int, max_bytes: int) -> Message:
    where = f"messages[{number}]"
    if not isinstance(message, Mapping):
        raise InvalidInput(f"{where} is a mapping like {{'role': 'user', 'content': '...'}}, not {quote(message)}")
    message = _unwrap(message)
    role = read_role(message)
    if role not in ROLES:
        raise InvalidInput(f"{where}.role is one of {', '.join(ROLES)}, not {quote(message.get('role'))}")
    if "content" not in message and not message.get("tool_calls"):
        raise InvalidInput(f"{where}.content is missing; give what was said, or leave the message out")
    text = _content(message.get("content"), f"{where}.content", role)
    misfit = find_misfit(text, "it", max_bytes)
    return Message(
        role=role,
        text="" if misfit else repair_text(text),
        misfit=misfit,
        created_at=read_time(message, f"{where}.created_at"),
        metadata=checked_metadata(message.get("metadata"), f"{where}.metadata"),
        **{name: checked_field(name, message.get(name), f"{where}.{name}") for name in ("name", "id")},
    )


def _unwrap(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message of LangChain, as its functions write it into a file, or of Google's API in our own fields.

    LangChain: ``{"type": "human", "data": {"content": ...}}``, ``{"type": "human", "content": ...}`` or
    ``{"lc": 1, "kwargs": {"type": "human", ...}}``. Google: ``{"role": "model", "parts": [{"text": ...}]}``.
    """
    if "role" in message:
        as_parts = "content" not in message and isinstance(message.get("parts"), list)
        return {**message, "content": message["parts"]} if as_parts else message
    inner, kind = message, message.get("type")
    if "lc" in message and isinstance(message.get("kwargs"), Mapping):
        inner = message["kwargs"]
        kind = inner.get("type") or _class_kind(message.get("id"))
    elif isinstance(message.get("data"), Mapping):
        inner = message["data"]
    if not isinstance(kind, str) or kind not in _LANGCHAIN or "content" not in inner:
        return message
    return {"role": _LANGCHAIN[kind], **_own_fields(inner)}


def _class_kind(path: Any) -> str:
    """Return "human" for the path of the class ``HumanMessage`` or ``HumanMessageChunk``; "" for what is no path."""
    name = str(path[-1]) if isinstance(path, Sequence) and path else ""
    return name.partition("Message")[0].lower()


def _own_fields(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a message of LangChain has in common with ours; those that are unset are left out."""
    return {
        name: message[name]
        for name in ("content", "tool_calls", "metadata", "timestamp", *OWN_FIELDS)
        if message.get(name) is not None
    }


def _with_words(message: Message, number: int) -> Message:
    if not message.text:
        why = f": {message.misfit}" if message.misfit else ""
        raise InvalidInput(f"messages[{number}] has no words to remember{why}")
    return message


def read_role(message: Mapping[str, Any]) -> Any:
    """Return the role of a message by memwarden's names; a message without one is the user's."""
    role = message.get("role", "user")
    if not isinstance(role, str):
        return role
    name = role.strip().lower()
    return _OTHER_ROLES.get(name, name)


def _content(content: Any, where: str, role: str) -> str:
    """Return the text of a content, as it was said; empty for white space alone."""
    if content is None:
        return ""
    if isinstance(content, Mapping) and role not in _TOOL_ROLES and isinstance(content.get("parts"), list):
        content = content["parts"]  # as ChatGPT's export has it
    if isinstance(content, Mapping):  # a part without its list, or the result of a tool
        content = json.dumps(content, ensure_ascii=False, default=str) if role in _TOOL_ROLES else [content]
    if isinstance(content, Sequence) and not isinstance(content, str | bytes):
        content = "\n".join(_part(part, f"{where}[{number}]") for number, part in enumerate(content)).strip()
    if not isinstance(content, str):
        raise InvalidInput(f"{where} must be text, not {type(content).__name__}")
    return content if content.strip() else ""


def _part(part: Any, where: str) -> str:
    """Return the words of a content part; parts of other types (images, audio, files) have none."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        raise InvalidInput(
            f"{where} is text or a content part like {{'type': 'text', 'text': '...'}}, not {quote(part)}"
        )
    # Google's parts have no type.
    text = part.get("text", "") if str(part.get("type", "text")).endswith("text") else ""
    if not isinstance(text, str):
        raise InvalidInput(f"{where}.text must be text, not {type(text).__name__}")
    return text


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory that a caller asks for, checked, before it has an id."""

    text: str
    channel: str = Channel.SEMANTIC
    kind: str | None = None
    category: str = "activity"
    importance: float = 0.5
    tags: tuple[str, ...] = ()
    pinned: bool = False
    source: str | None = None
    sources: tuple[str, ...] = ()
    summary: str | None = None
    context: str | None = None
    characters: tuple[str, ...] = ()
    created_at: datetime | None = None
    valid_from: datetime | None = None
    trust: str | None = None
    role: str | None = None
    name: str | None = None
    metadata: Mapping[str, Any] | None = None
    expires_at: datetime | None = None

    @property
    def in_utc(self) -> Draft:
        """The same as of UTC, for an idempotency key: a moment is one in whatever zone it was given."""
        return replace(self, created_at=self.created_at and self.created_at.astimezone(UTC))

    def of(self, message: Message) -> Draft:
        """Return the draft for the words of a message, which keep their role, name, id and time."""
        return replace(
            self,
            text=drop_request(message.text),
            role=message.role,
            name=message.name,
            sources=self.sources or ((message.id,) if message.id else ()),
            created_at=self.created_at or message.created_at,
            metadata={**(self.metadata or {}), **(message.metadata or {})} or None,
        )


def drop_request(text: str) -> str:
    """Return a statement without the request to remember it, which is not part of what is remembered."""
    rest = cut_request(text)
    return text if rest is None else rest[0].upper() + rest[1:]


# In the order in which they are tried; a single expression, so that a text is read once.
_WORDS: tuple[tuple[Kind, str], ...] = (
    (Kind.ERROR_LESSON, "failed|mistakes?|lesson learned"),
    (Kind.DECISION, "decided|chose|chosen|went with|settled on"),
    (Kind.DISCOVERY, "learned|learnt|discovered|found out"),
    (Kind.INSIGHT, "reali[sz]ed|understood|means that"),
    (Kind.OUTCOME, "resulted|turned out|finished|completed"),
    (Kind.BEHAVIOR, "tends|always|usually|never|habit"),
)
_PRIORITY = {kind: number for number, (kind, _) in enumerate(_WORDS)}
_KIND_WORDS = re.compile(rf"\b(?:{'|'.join(f'(?P<{kind}>{words})' for kind, words in _WORDS)})\b", re.IGNORECASE)


def kind_of(text: str) -> Kind:
    """Return the first kind of the list whose signal words the text holds, else note."""
    found = {Kind(sign.lastgroup) for sign in _KIND_WORDS.finditer(text) if sign.lastgroup}
    return min(found, key=_PRIORITY.__getitem__, default=Kind.NOTE)
