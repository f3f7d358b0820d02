"""Reads vaults of Markdown notes, such as Obsidian's: front matter, headings, tags and links.

A note is a document; each of its sections is stated under the note's title and headings. Notes that an export of
memwarden wrote say so in their front matter, and come back as the memories and turns that they were.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

import yaml

from memwarden import clock
from memwarden.remember.imports.memories import KEPT, check_channel, read_moment
from memwarden.remember.imports.messages import read_rows
from memwarden.remember.imports.records import (
    ImportedDocument,
    ImportedStatement,
    ImportedThread,
    ImportRecord,
    MalformedPart,
    Spot,
)
from memwarden.remember.imports.source import ImportSource

# The field of the front matter that says what memwarden wrote: a memory, or a thread.
OWN = "memwarden"
# What follows in the note of a memory is of the export, and no part of what is remembered.
LINKS_MARK = "%% memwarden: links %%"
# Characters of a section that are stated together.
MAX_SECTION = 1_200
_DATES = ("created", "created_at", "date", "creation date", "date created")
_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*")
_WIKI = re.compile(r"!?\[\[([^\[\]|#^\n]+)(?:[#^][^\[\]|\n]*)?(?:\|([^\[\]\n]*))?\]\]")
_LINK = re.compile(r"(?<!!)\[([^\[\]\n]*)\]\((?!\w+:)([^)\s#]+\.md)(?:#[^)\s]*)?\)")
_TAG = re.compile(r"(?<![\w/#&])#([A-Za-z\u00c0-\uffff][\w/-]*)")
_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_FIELD = re.compile(r"[\"']?([^\s\"':#-][^:\"']*?)[\"']?\s*:")
_FENCE = re.compile(r"(```|~~~)")
_TURN = re.compile(r"### (\S+) · (user|assistant)(?: · (.*))?")
_TURN_FIELDS = re.compile(r"%% (\{.*\}) %%")


class Note(NamedTuple):
    """A note: its place in the vault, front matter and body.

    first: the number of the body's first line. lines: those of the fields.
    """

    path: str
    fields: Mapping[str, Any]
    body: str
    first: int
    lines: Mapping[str, int] = MappingProxyType({})

    @property
    def title(self) -> str:
        return str(self.fields.get("title") or PurePosixPath(self.path).stem)


def is_vault(source: ImportSource) -> bool:
    """Return whether a folder, zip or file holds Markdown notes."""
    return any(_is_note(name) for name in source.parts)


def read_vault(source: ImportSource) -> Iterator[ImportRecord]:
    """Yield each note of a vault as a document that names the notes which it links to."""
    paths = [name for name in source.parts if _is_note(name)]
    names = {PurePosixPath(path).stem.lower(): path for path in reversed(paths)}
    for path in paths:
        source.spot = None  # the error of an unreadable note names its line
        try:
            note = _read_note(source, path)
            source.spot = Spot(path, line=1)
            yield _record_of(source, note, names)
        except MalformedPart as error:
            source.refuse(error)
            yield ImportedDocument(
                _identity(source, path), (), source.place(path), collection=_collection(source), unread=True
            )
    source.spot = None
    others = len(source.parts) - len(paths)
    if others:
        yield ImportedDocument(
            f"{_vault(source)}", (), source.name, collection=_vault(source), skipped={"files that are no notes": others}
        )


def _record_of(source: ImportSource, note: Note, names: Mapping[str, str]) -> ImportRecord:
    kind = note.fields.get(OWN)
    if kind == "thread":
        return _own_thread(source, note)
    return _own_memory(source, note, names) if kind == "memory" else _document(source, note, names)


def _is_note(name: str) -> bool:
    return name.lower().endswith((".md", ".markdown"))


def _vault(source: ImportSource) -> str:
    return f"notes/{source.name}/"


def _identity(source: ImportSource, path: str) -> str:
    # A single note is not a vault, whose other notes would seem to be removed.
    return f"{_vault(source)}{path}" if source.path.is_dir() or source.is_zip else f"note/{path}"


def _collection(source: ImportSource) -> str | None:
    return _vault(source) if source.path.is_dir() or source.is_zip else None


def _read_note(source: ImportSource, path: str) -> Note:
    raw = source.text(path)
    text = raw.replace("\r\n", "\n")
    if not text.startswith("---\n"):
        return Note(path, {}, text, 1)
    head, mark, body = text[4:].partition("\n---\n")
    if not mark:
        head, mark, body = text[4:].removesuffix("\n---"), "", ""
    try:
        # A few lines of aliases stand for gigabytes.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(head, Loader=yaml.SafeLoader)):
            raise _wrong(path, 2, f"{source.place(path)}: the front matter has a YAML alias; write the value out")
        fields = yaml.safe_load(head) or {}
    except MalformedPart:
        raise
    except ValueError:  # a time that is none
        raise _wrong(path, *_find_no_time(head, source.place(path))) from None
    except yaml.YAMLError as error:
        at = getattr(error, "problem_mark", None)
        line = 2 + (at.line if at is not None else 0)
        raise _wrong(path, line, f"{source.place(path)}: the front matter is no YAML") from None
    if not isinstance(fields, Mapping):
        raise _wrong(path, 2, f"{source.place(path)}: the front matter names no fields")
    named = {str(name): value for name, value in fields.items()}
    # What memwarden wrote comes back as it was, signs of other systems included.
    body = raw.partition("\n---\n")[2] if OWN in named else body
    lines = {field[1]: number for number, line in enumerate(head.split("\n"), 2) if (field := _FIELD.match(line))}
    return Note(path, named, body, head.count("\n") + 4, lines)


def _find_no_time(head: str, where: str) -> tuple[int, str]:
    """Return the line of a front matter that names a time which is none, and what is wrong with it."""
    for number, line in enumerate(head.split("\n"), 2):
        _, _, value = line.partition(":")
        try:
            yaml.safe_load(value)
        except ValueError:
            return number, f"{where}: {value.strip()!r:.40} is no time"
        except yaml.YAMLError:  # a part of a value
            continue
    return 2, f"{where}: the front matter holds what is no time"


def _wrong(path: str, line: int, why: str) -> MalformedPart:
    return MalformedPart(why, spot=Spot(path, line=line))


def _moment(note: Note, name: str, value: Any, where: str) -> datetime | None:
    """Return the time in a field of the front matter. Raises MalformedPart with its line."""
    try:
        return read_moment(value, f"{where}: {name}", clock.parse_local if name in _DATES else clock.parse)
    except MalformedPart as error:
        raise _wrong(note.path, note.lines.get(name, 1), str(error)) from None


def _document(source: ImportSource, note: Note, names: Mapping[str, str]) -> ImportedDocument:
    where = source.place(note.path)
    tags = dict.fromkeys([*_names(note.fields.get("tags")), *_TAG.findall(_without_code(note.body))])
    aliases = _names(note.fields.get("aliases"))
    held = {name: _plain(value) for name, value in note.fields.items() if name not in ("tags", "aliases", "title")}
    metadata = {key: value for key, value in held.items() if value is not None} | {"note": note.path}
    created = _created(note, where)
    statements = [
        ImportedStatement(
            text, created_at=created, tags=tuple(tags), metadata=metadata | ({"aliases": aliases} if aliases else {})
        )
        for text in read_sections(note)
    ]
    unique = {statement.digest: statement for statement in statements}
    links = [_identity(source, path) for path in _linked(note.body, names) if path != note.path]
    skipped = {} if statements else {"notes without words": 1}
    return ImportedDocument(
        _identity(source, note.path), tuple(unique.values()), where, links=tuple(links),
        collection=_collection(source), skipped=skipped,
    )  # fmt: skip


def read_sections(note: Note) -> Iterator[str]:
    """Yield the sections of a note, each under its headings; long sections in parts, cut between paragraphs."""
    headings: list[tuple[int, str]] = []
    lines: list[str] = []
    fenced = False
    for line in [*note.body.split("\n"), "# "]:
        fenced ^= bool(_FENCE.match(line.lstrip()))
        heading = None if fenced else _HEADING.fullmatch(line)
        if heading is None and line != "# ":
            lines.append(line)
            continue
        for part in _paragraphs("\n".join(lines)):
            yield f"{' › '.join([note.title, *(name for _, name in headings if name != note.title)])}: {part}"
        lines = []
        if heading is not None:
            level = len(heading[1])
            headings = [item for item in headings if item[0] < level] + [(level, _shown(heading[2]))]


def _paragraphs(text: str) -> Iterator[str]:
    held = ""
    for paragraph in re.split(r"\n\s*\n", _shown(text).strip()):
        if held and len(held) + len(paragraph) > MAX_SECTION:
            yield held
            held = ""
        held = f"{held}\n\n{paragraph}".strip()
    if held:
        yield held


def _shown(text: str) -> str:
    """Return a text as it is shown: links by their words, without comments."""
    text = re.sub(r"%%.*?%%", "", text, flags=re.DOTALL)
    text = _WIKI.sub(lambda found: found[2] or found[1], text)
    return _LINK.sub(lambda found: found[1] or found[2], text)


def _linked(body: str, names: Mapping[str, str]) -> list[str]:
    """Return the paths of the notes that a note links to, once each."""
    text = _without_code(body)
    targets = [found[0] for found in _WIKI.findall(text)]
    targets += [found[1].replace("%20", " ") for found in _LINK.findall(text)]
    found = (names.get(PurePosixPath(target.strip().removesuffix(".md")).name.lower()) for target in targets)
    return list(dict.fromkeys(path for path in found if path is not None))


def _without_code(text: str) -> str:
    return re.sub(r"(?s)```.*?(?:```|\Z)|`[^`\n]*`", "", text)


def _created(note: Note, where: str) -> datetime | None:
    for name in _DATES:
        value = note.fields.get(name)
        if isinstance(value, datetime):
            return value if value.tzinfo else value.replace(tzinfo=UTC)
        if isinstance(value, date):
            return datetime.combine(value, time(), UTC)
        if isinstance(value, str) and _DAY.match(value):
            return _moment(note, name, value, where)
    named = _DAY.match(PurePosixPath(note.path).stem)
    # A daily note is named by its day.
    return None if named is None else read_moment(named[0], f"{where}: its name")


def _names(value: Any) -> list[str]:
    listed = re.split(r"[,\s]+", value) if isinstance(value, str) else value if isinstance(value, list) else []
    return [str(name).lstrip("#") for name in listed if str(name).strip()]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


# --- what an export of memwarden wrote


def _own_memory(source: ImportSource, note: Note, names: Mapping[str, str]) -> ImportedDocument:
    where, fields = source.place(note.path), note.fields
    text, mark, links = note.body.rpartition(f"\n\n{LINKS_MARK}\n")
    text = text if mark else note.body
    given: dict[str, Any] = {name: fields[name] for name in KEPT if fields.get(name) is not None}
    times: dict[str, Any] = {
        name: _moment(note, name, _plain(fields.get(name)), where) for name in ("valid_from", "valid_to")
    }
    try:
        metadata = json.loads(fields.get("metadata") or "{}")
    except (ValueError, TypeError):
        raise _wrong(note.path, note.lines.get("metadata", 1), f"{where}: metadata is no JSON") from None
    statement = ImportedStatement(
        text if mark else text.removesuffix("\n"),
        created_at=_moment(note, "created", _plain(fields.get("created")), where),
        tags=tuple(str(tag) for tag in fields.get("tags") or ()),
        metadata=metadata,
        **given,
        **times,
    )
    check_channel(statement.channel, where)
    linked = [_identity(source, path) for path in _linked(links, names)] if mark else []
    identity = _identity(source, note.path)
    return ImportedDocument(identity, (statement,), where, links=tuple(linked), collection=_collection(source))


def _own_thread(source: ImportSource, note: Note) -> ImportedThread:
    where, skipped = source.place(note.path), Counter[str]()
    messages = read_rows(list(_own_turns(note, where)), where, skipped, refuse=source.refuse)
    return ImportedThread(str(note.fields.get("thread")), messages, where, skipped=skipped)


def _own_turns(note: Note, where: str) -> Iterator[Mapping[str, Any]]:
    row: dict[str, Any] | None = None
    lines: list[str] = []
    for number, line in enumerate(note.body.removesuffix("\n").split("\n"), note.first):
        head = _TURN.fullmatch(line)
        if head is not None:
            if row is not None:
                yield row | {"content": _own_words(lines)}
            row, lines = {"created_at": head[1], "role": head[2]} | ({"name": head[3]} if head[3] else {}), []
        elif row is None:
            if line.strip():
                raise _wrong(note.path, number, f"{where}: it stands before the first message")
        elif not lines and (fields := _TURN_FIELDS.fullmatch(line)):
            try:
                row |= json.loads(fields[1])
            except ValueError:
                raise _wrong(note.path, number, f"{where}: no valid JSON") from None
        else:
            lines.append(line)
    if row is not None:
        yield row | {"content": _own_words(lines)}


def _own_words(lines: Sequence[str]) -> str:
    """Return the words of a turn: the export put a backslash before what looks like a head."""
    return "\n".join(line[1:] if line.startswith(("\\### ", "\\%% ", "\\\\")) else line for line in lines)
