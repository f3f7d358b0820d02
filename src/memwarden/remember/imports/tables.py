"""Reads tables of comma-separated values: messages or statements, by the columns that a mapping names."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from typing import Any

from memwarden import clock
from memwarden.errors import InvalidInput
from memwarden.remember.imports.logs import read_zone
from memwarden.remember.imports.messages import NO_WORDS, PART, ThreadParts
from memwarden.remember.imports.records import (
    ImportedDocument,
    ImportedStatement,
    ImportedThread,
    ImportRecord,
    MalformedPart,
    Spot,
    digest_parts,
    in_parts,
)
from memwarden.remember.imports.source import ImportSource

# The columns that are known without a mapping, by field.
COLUMNS: Mapping[str, Sequence[str]] = {
    "text": ("text", "content", "message", "memory", "body", "statement", "fact"),
    "created_at": ("created_at", "timestamp", "date", "datetime", "time", "sent_at", "when"),
    "role": ("role",),
    "name": ("name", "speaker", "author", "sender", "from"),
    "thread": ("thread", "thread_id", "conversation", "conversation_id", "chat", "channel"),
    "id": ("id", "message_id", "uuid"),
    "user": ("user", "user_id"),
    "tags": ("tags", "labels"),
    "valid_from": ("valid_from", "valid_at"),
    "valid_to": ("valid_to", "invalid_at", "expires_at"),
}
TEXT_COLUMN = "--column text=NAME, over HTTP column=text=NAME, in Python ImportOptions(mapping={'text': NAME})"
# A row with any of these was said, the others are stated.
_SAID = ("role", "name", "thread")
MAX_CELL = 4 * 1024**2
_DAYS = ("%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y"), ("%m/%d/%Y", "%m.%d.%Y", "%m-%d-%Y")
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")


def is_table(source: ImportSource) -> bool:
    """Return whether a file begins with a row of names, of which one is that of a text."""
    if source.path.is_dir() or source.is_zip or not source.head.strip() or source.shape:
        return False
    try:
        columns = _columns(source)
    except InvalidInput:
        return False
    return "text" in columns and len(columns) > 1


def read_table(source: ImportSource) -> Iterator[ImportRecord]:
    """Yield the rows of a table: threads where somebody says something, else statements."""
    columns = _columns(source)
    if "text" not in columns:
        named = ", ".join(_header(source)[:12])
        raise InvalidInput(f"{source.place(source.main)}: which column is the text? Give {TEXT_COLUMN}, of {named}")
    rows = _rows(source, columns)
    if any(name in columns for name in _SAID):
        yield from _threads(source, rows)
    else:
        for number, row in rows:
            with source.entry():
                yield _document(source, number, row)


def _header(source: ImportSource) -> list[str]:
    return next(csv.reader([source.head.splitlines()[0]], delimiter=_delimiter(source)), [])


def _delimiter(source: ImportSource) -> str:
    """Return the sign between the names of the first row."""
    first = source.head.splitlines()[0]
    return max(",;\t|", key=first.count)


def _columns(source: ImportSource) -> dict[str, str]:
    """Return the column of each field. Raises InvalidInput for a mapping to a column that is not there."""
    header = _header(source)
    given = source.options.mapping
    for field, column in given.items():
        if field not in COLUMNS:
            raise InvalidInput(f"the mapping names {field!r:.40}; fields are {', '.join(COLUMNS)}")
        if column not in header:
            raise InvalidInput(f"{source.place(source.main)} has no column {column!r:.60}; it has {', '.join(header)}")
    lower = {name.strip().lower(): name for name in reversed(header)}
    taken = set(given.values())
    guessed = {
        field: lower[name]
        for field, names in COLUMNS.items()
        for name in reversed(names)
        if name in lower and lower[name] not in taken
    }
    return guessed | dict(given)


def _rows(source: ImportSource, columns: Mapping[str, str]) -> Iterator[tuple[int, dict[str, str]]]:
    csv.field_size_limit(MAX_CELL)
    lines = (f"{line}\n" for _, line in source.lines(source.main))
    reader = csv.reader(lines, delimiter=_delimiter(source), strict=True)
    header: list[str] | None = None
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            source.refuse(MalformedPart(f"{source.place(source.main)}, line {reader.line_num}: {error}"))
            continue
        if header is None:
            header = cells
        elif len(cells) == len(header):
            row = dict(zip(header, cells, strict=True))
            yield reader.line_num, {field: row[column].strip() for field, column in columns.items()}
        elif any(cell.strip() for cell in cells):
            where = f"{source.place(source.main)}, line {reader.line_num}"
            source.refuse(MalformedPart(f"{where}: {len(cells)} cells under {len(header)} names"))


def _threads(source: ImportSource, rows: Iterable[tuple[int, dict[str, str]]]) -> Iterator[ImportedThread]:
    threads: dict[tuple[str | None, str], ThreadParts] = {}
    for part in in_parts(rows, PART):
        for number, row in part:
            user, thread = row.get("user") or None, row.get("thread") or source.options.thread or source.name
            if (user, thread) not in threads:
                where = f"{source.place(source.main)}, thread {thread}"
                threads[user, thread] = ThreadParts(source, thread, where, user)
            with source.entry():
                message = _message(source, number, row)
                source.spot = Spot(source.main, line=number)
                threads[user, thread].add(message)
            source.spot = None  # the error of a cell names its line
        yield from (parts.take() for parts in threads.values() if parts.held)


def _message(source: ImportSource, number: int, row: Mapping[str, str]) -> Mapping[str, Any]:
    at = _moment(source, number, row.get("created_at", ""))
    said = {"role": (row.get("role") or "user").lower(), "content": row["text"]}
    kept = {"name": row.get("name"), "id": row.get("id"), "created_at": None if at is None else at.isoformat()}
    return said | {key: value for key, value in kept.items() if value}


def _document(source: ImportSource, number: int, row: Mapping[str, str]) -> ImportedDocument:
    where = f"{source.place(source.main)}, line {number}"
    identity = f"table/{source.name}/{row.get('id') or digest_parts(row['text'])}"
    if not row["text"]:
        return ImportedDocument(identity, (), where, skipped={NO_WORDS: 1})
    times: dict[str, Any] = {
        name: _moment(source, number, row.get(name, "")) for name in ("created_at", "valid_from", "valid_to")
    }
    tags = tuple(tag.strip() for tag in row.get("tags", "").replace(";", ",").split(",") if tag.strip())
    return ImportedDocument(
        identity, (ImportedStatement(row["text"], tags=tags, **times),), where, user=row.get("user") or None
    )


def _moment(source: ImportSource, number: int, value: str) -> datetime | None:
    if not value:
        return None
    zone = read_zone(source.options.zone)
    try:
        at = _read_moment(value, zone, day_first=source.options.day_first)
        at.astimezone(UTC)  # which it has to have a year in
    except (ValueError, OverflowError, InvalidInput):
        raise MalformedPart(f"{source.place(source.main)}, line {number}: {value!r:.40} is no time") from None
    return at


def _read_moment(value: str, zone: tzinfo, *, day_first: bool | None) -> datetime:
    """Read a time in any of the forms that tables have; ValueError where it has none of them."""
    with suppress(ValueError):
        at = datetime.fromisoformat(value)
        return at if at.tzinfo is not None else at.replace(tzinfo=zone)
    if value.replace(".", "", 1).isdecimal():
        seconds = float(value)
        return clock.parse(seconds / 1000 if seconds >= 1e11 else seconds, "a time")
    first, second = _DAYS if day_first is not False else _DAYS[::-1]
    for form in (*first, *second):
        for time in _TIMES:
            with suppress(ValueError):
                return datetime.strptime(value, form + time).replace(tzinfo=zone)
    raise ValueError(value)
