"""Reads messages as chat APIs exchange them, of a file of them and of every other reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from memwarden import clock
from memwarden.errors import InvalidInput
from memwarden.remember.imports.records import (
    MAX_PART,
    ContentIds,
    ImportedThread,
    MalformedPart,
    Refuse,
    Spot,
    count_characters,
    raise_malformed,
)
from memwarden.remember.imports.source import ImportSource
from memwarden.remember.ingest.messages import MAX_NAME, read_time

NO_WORDS = "messages without words"
REPEATED = "messages with an id of an earlier message in their thread"
# Messages of a long conversation that are in memory at a time.
PART = 2_000
_SHAPES = ("item.role", "messages.item.role", "item.messages.item.role", "item.item.role", "role")
_OWN = "sessions.item.messages.item.role"


def is_messages(source: ImportSource) -> bool:
    """Return whether a file holds messages of chat APIs, in any of their layouts, or memwarden's own."""
    return any(path in source.shape for path in (*_SHAPES, _OWN))


def read_talks(source: ImportSource) -> Iterator[ImportedThread]:
    """Yield the conversations of a file of messages."""
    shape, part = source.shape, source.main
    if "item.role" in shape or "role" in shape:  # a list of messages, or a message a line
        rows = source.items(part, "item" if "item.role" in shape else "", lines="role" in shape)
        yield from read_one(source, rows, source.options.thread or source.name)
        return
    path = "sessions.item" if _OWN in shape else "item" if "" in shape and shape[""] == "start_array" else ""
    for number, item in enumerate(source.items(part, path, lines=path == ""), 1):
        with source.entry():
            yield _read_talk(source, item, number)


def _read_talk(source: ImportSource, item: Any, number: int) -> ImportedThread:
    """Return a conversation of a file of several. Raises MalformedPart."""
    where = f"{source.place(source.main)}, conversation {number}"
    held = item if isinstance(item, Mapping) else {"messages": item}
    left_out = Counter[str]()
    rows = read_list(held.get("messages"), f"{where}: messages")
    inside = "messages.item" if held is item else "item"
    messages = read_rows(rows, where, left_out, inside=inside, refuse=source.refuse)
    return ImportedThread(_thread_name(source, held, number), messages, where, skipped=left_out)


def read_one(source: ImportSource, rows: Iterable[Any], thread: str) -> Iterator[ImportedThread]:
    """Yield a long conversation in parts."""
    parts = ThreadParts(source, thread, source.place(source.main))
    for row in source.until_broken(iter(rows)):
        parts.add(row)
        if parts.held >= PART or parts.characters >= MAX_PART:
            yield parts.take()
    yield parts.take()


class ThreadParts:
    """Reads the messages of a thread one by one, each with its place, and gives them out in parts."""

    def __init__(self, source: ImportSource, thread: str, where: str, user: str | None = None) -> None:
        self._source, self._thread, self._where, self._user = source, thread, where, user
        self._ids, self._known, self._seen = ContentIds(), set[str](), 0
        self._messages: list[Mapping[str, Any]] = []
        self._spots: list[Spot | None] = []
        self._skipped = Counter[str]()
        self.held = self.characters = 0

    def add(self, row: Any) -> None:
        """Read a message. Raises MalformedPart, in a strict import."""
        self._seen += 1
        self.held += 1
        self.characters += count_characters(row)
        message = None
        with self._source.entry():
            message = read_row(row, f"{self._where}, message {self._seen}", self._skipped)
        if message is not None and _is_new(named := self._ids.name(message), self._known, self._skipped):
            self._messages.append(named)
            self._spots.append(self._source.spot)

    def take(self) -> ImportedThread:
        """Return what was read since the last time."""
        taken = ImportedThread(
            self._thread, tuple(self._messages), self._where, user=self._user, skipped=self._skipped,
            spots=tuple(self._spots),
        )  # fmt: skip
        self._messages, self._spots, self._skipped = [], [], Counter()
        self.held = self.characters = 0
        return taken


def read_rows(
    rows: Iterable[Any],
    where: str,
    skipped: Counter[str],
    *,
    inside: str | None = None,
    refuse: Refuse = raise_malformed,
) -> tuple[Mapping[str, Any], ...]:
    """Return the messages of a thread, each with an id, and count what is none.

    inside: the path of the messages in what is read, where each row is a message of it.
    refuse: takes note of malformed rows.
    """
    ids, known, messages = ContentIds(), set[str](), []
    for number, row in enumerate(rows, 1):
        try:
            message = read_row(row, f"{where}, message {number}", skipped)
        except MalformedPart as error:
            refuse(error if inside is None else MalformedPart(str(error), inside=(inside, number)))
            continue
        if message is not None and _is_new(named := ids.name(message), known, skipped):
            messages.append(named)
    return tuple(messages)


def _is_new(message: Mapping[str, Any], known: set[str], skipped: Counter[str]) -> bool:
    if message["id"] in known:
        skipped[REPEATED] += 1
        return False
    known.add(message["id"])
    return True


def read_row(row: Any, where: str, skipped: Counter[str]) -> Mapping[str, Any] | None:
    """Return a message as ``observe`` takes it; None, and counted, for what nobody said. Raises MalformedPart."""
    if not isinstance(row, Mapping):
        raise MalformedPart(f"{where} is {describe(row)}, not a message like {{'role': 'user', 'content': '...'}}")
    role = row.get("role")
    if role not in ("user", "assistant"):
        skipped[f"messages of the role {role!r:.40}"] += 1
        return None
    text = _content(row.get("content"), f"{where}.content", skipped)
    if not text.strip():
        skipped[NO_WORDS] += 1
        return None
    identity = row.get("id", row.get("uuid"))
    message = {"role": role, "content": text} | ({} if identity is None else {"id": str(identity)})
    own = {key: row[key] for key in ("name", "created_at", "metadata") if row.get(key) is not None}
    try:
        at = read_time(row, f"{where}.created_at")
    except InvalidInput as error:
        raise MalformedPart(str(error)) from None
    if "created_at" not in own and at is not None:
        # The id of a message without one is made of its time as text, in UTC (:class:`ContentIds`).
        own["created_at"] = at if clock.offset_of(at) else at.isoformat()
    return message | own


def read_list(value: Any, where: str) -> Sequence[Any]:
    """Return a list. Raises MalformedPart for anything else."""
    if not isinstance(value, list):
        raise MalformedPart(f"{where} is {describe(value)}, not a list")
    return value


def describe(content: Any) -> str:
    """Say what a parsed value is, for an error."""
    if isinstance(content, Mapping):
        return f"an object with the keys {', '.join(map(repr, list(content)[:8]))}" if content else "an empty object"
    if isinstance(content, list):
        return f"a list whose first element is {describe(content[0])}" if content else "an empty list"
    return "null" if content is None else f"the {type(content).__name__} {content!r:.40}"


def _content(content: Any, where: str, skipped: Counter[str]) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(filter(None, (_part(part, skipped) for part in read_list(content, where))))


def _part(part: Any, skipped: Counter[str]) -> str:
    if isinstance(part, str):
        return part
    text = part.get("text") if isinstance(part, Mapping) else None
    if isinstance(text, str):
        return text
    kind = part.get("type", part.get("content_type")) if isinstance(part, Mapping) else type(part).__name__
    skipped[f"content parts of the type {kind!r:.40}"] += 1
    return ""


def _thread_name(source: ImportSource, held: Mapping[str, Any], number: int) -> str:
    given = next((held[key] for key in ("thread", "thread_id", "conversation_id", "id") if held.get(key)), None)
    if given is None and number == 1 and source.options.thread:
        return source.options.thread
    return str(given)[:MAX_NAME] if given is not None else f"{source.name}-{number}"
