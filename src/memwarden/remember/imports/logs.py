"""Reads chats that are text with a head before each message: logs with labels, and logs of IRC clients."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, tzinfo
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memwarden.errors import InvalidInput
from memwarden.remember.imports.messages import NO_WORDS, read_one
from memwarden.remember.imports.records import ImportedThread, MalformedPart, Spot
from memwarden.remember.imports.source import ImportSource
from memwarden.text.lexicon import all_words

_LABEL = re.compile(r"(user|human|assistant|ai|system)\s*:[ \t]*", re.IGNORECASE)
_ROLES = {"human": "user", "ai": "assistant"}
_NICK = r"<[@+%&~! ]*(?P<nick>[^<>\s@+%&~!][^<>\s]{0,63})>"
# Where WeeChat has the nick of a message, its notices have marks such as -->.
_BARE_NICK = re.compile(r"[^\W\d][\w\[\]\\`^{}|-]*|[\[\]\\`^{}|][\w\[\]\\`^{}|-]+")
# ZNC begins a file each day, and says the day in its name alone.
_DAY_IN_NAME = re.compile(r"(?<!\d)(?P<year>(?:19|20)\d\d)-?(?P<month>[01]\d)-?(?P<dom>[0-3]\d)(?!\d)")
_IRC = re.compile(
    rf"(?:\[?(?:(?P<day>\d{{4}}-\d\d-\d\d)[T ])?(?:(?P<month>[A-Z][a-z]{{2}}) (?P<dom>\d{{1,2}}) )?"
    rf"(?P<time>\d\d:\d\d(?::\d\d)?)(?:[.,]\d+)?(?P<zone>Z|[+-]\d\d:?\d\d)?\]?)\s+"
    rf"(?:{_NICK}[ \t]?(?P<text>.*)|(?P<notice>.+))"
)
_WEECHAT = re.compile(r"(?P<day>\d{4}-\d\d-\d\d) (?P<time>\d\d:\d\d:\d\d)\t(?P<nick>[^\t]*)\t(?P<text>.*)")
_DAY_CHANGED = re.compile(
    r"(?:---|\*{4}) (?:Log opened|Day changed|BEGIN LOGGING AT) \w{3} (?P<month>[A-Z][a-z]{2}) +(?P<dom>\d{1,2})"
    r"(?: \d\d:\d\d:\d\d)? (?P<year>\d{4})"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
OF_THE_APP = "messages of the app itself"
# "+02:00", "-0530", "UTC+2".
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d\d))?")
# What stands in a log where a name would, and says who speaks: a person, or the program.
_USERS = frozenset({"user", "human", "you"})
_ASSISTANTS = all_words("assistant_names") | {"meta_ai"}


class LogLine(NamedTuple):
    """A line that begins a message: who said what, when. name None: nobody said it."""

    at: datetime | None
    name: str | None
    text: str


# Head of a message that is left out with the lines that belong to it.
REFUSED = LogLine(None, None, "")


# --- labels


def read_plain_log(text: str) -> list[dict[str, str]] | None:
    """Return the messages of a log with labels; None for a text without, or of a single speaker."""
    rows: list[dict[str, str]] = []
    for line in text.strip().splitlines():
        label = _LABEL.match(line)
        if label is not None:
            said = label[1].lower()
            rows.append({"role": _ROLES.get(said, said), "content": line[label.end() :]})
        elif not rows:
            return None
        else:
            rows[-1]["content"] += f"\n{line}"
    if not {"user", "assistant"} <= {row["role"] for row in rows}:
        return None
    return [{**row, "content": row["content"].strip()} for row in rows]


def is_labelled(source: ImportSource) -> bool:
    """Return whether a file is a log with a label before each message."""
    return read_plain_log(source.head) is not None


def read_labelled(source: ImportSource) -> Iterator[ImportedThread]:
    """Yield the conversation of a log with labels."""
    yield from read_one(source, _labelled_rows(source), source.options.thread or source.name)


def _labelled_rows(source: ImportSource) -> Iterator[Mapping[str, Any]]:
    role, lines, begun = "", list[str](), 0
    for number, line in source.lines(source.main):
        label = _LABEL.match(line)
        if label is None:
            if not role and line.strip():
                source.refuse(MalformedPart(f"{source.place(source.main)}, line {number}: before the first label"))
                continue
            lines.append(line)
            continue
        if role:
            yield from _at_line(source, begun, {"role": role, "content": "\n".join(lines).strip()})
        said = label[1].lower()
        role, lines, begun = _ROLES.get(said, said), [line[label.end() :]], number
    if role:
        yield from _at_line(source, begun, {"role": role, "content": "\n".join(lines).strip()})


# --- IRC


def is_irc(source: ImportSource) -> bool:
    """Return whether a file looks like the log of an IRC client."""
    lines = [line for line in source.head.splitlines() if line.strip()][:60]
    said = [line for line in lines if _WEECHAT.match(line) or ((found := _IRC.match(line)) and found["nick"])]
    kept = [line for line in lines if not _DAY_CHANGED.match(line)]
    return bool(said) and 2 * len(said) >= len(kept)


def read_irc(source: ImportSource) -> Iterator[ImportedThread]:
    """Yield the log of an IRC client: irssi, WeeChat, HexChat, and logs with the whole date on each line."""
    zone, skipped = read_zone(source.options.zone), Counter[str]()
    yield from read_log(source, _irc_lines(source, zone), skipped)


def _irc_lines(source: ImportSource, zone: tzinfo) -> Iterator[tuple[int, LogLine | str]]:
    """Yield the lines of a log. What a nick says within a second was one message, of which IRC sends each line."""
    day = _named_day(source.name)
    before: tuple[str | None, ...] = ()
    for number, line in source.lines(source.main):
        where = f"{source.place(source.main)}, line {number}"
        changed = _DAY_CHANGED.match(line)
        if changed is not None:
            day = _day(int(changed["year"]), _MONTHS.index(changed["month"]) + 1, int(changed["dom"]), where)
            before = ()
            continue
        found = _WEECHAT.match(line) or _IRC.match(line)
        if found is None:
            if line.strip():
                yield number, LogLine(None, None, "")
            continue
        held = found.groupdict()
        if held.get("month") in _MONTHS and day is not None:
            month = _MONTHS.index(held["month"]) + 1
            day = _day(day.year + (day.month == 12 and month == 1), month, int(held["dom"]), where)
        on = held["day"] or (None if day is None else day.isoformat())
        person, text = held["nick"], held["text"] or ""
        if "notice" not in held:
            person = person.strip("@+%&~! ")
            person = person if _BARE_NICK.fullmatch(person) else None
        said_by = (on, held["time"], person)
        if said_by == before and person is not None and len(held["time"]) == len("00:00:00"):
            yield number, text
        else:
            said_at = None if on is None else _irc_moment(on, held["time"], held.get("zone"), zone, where)
            yield number, LogLine(said_at, person, text)
        before = said_by


def _named_day(name: str) -> date | None:
    found = _DAY_IN_NAME.search(name)
    with suppress(ValueError):  # a number that only looks like a day
        return None if found is None else date(int(found["year"]), int(found["month"]), int(found["dom"]))
    return None


def _day(year: int, month: int, day: int, where: str) -> date:
    try:
        return date(year, month, day)
    except ValueError as error:
        raise MalformedPart(f"{where}: it names no day ({error})") from None


def _irc_moment(day: str, time: str, offset: str | None, zone: tzinfo, where: str) -> datetime:
    try:
        at = datetime.fromisoformat(f"{day}T{time}{offset or ''}")
    except ValueError as error:
        raise MalformedPart(f"{where}: {day} {time} is no time ({error})") from None
    return at if at.tzinfo is not None else at.replace(tzinfo=zone)


# --- both


def read_zone(name: str) -> tzinfo:
    """Return a time zone, from its name or from an offset such as "+02:00". Raises InvalidInput for another text."""
    try:
        if offset := _OFFSET.fullmatch(name):
            return datetime.strptime(f"{offset[1]}{offset[2]:0>2}{offset[3] or '00'}", "%z").tzinfo or UTC
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(
            f"zone is a name such as Europe/Lisbon or an offset such as +02:00, not {name!r:.40}"
        ) from None


def read_log(
    source: ImportSource, lines: Iterable[tuple[int, LogLine | str]], skipped: Counter[str]
) -> Iterator[ImportedThread]:
    thread = source.options.thread or (source.path.name if source.path.is_dir() else source.name)
    for part in read_one(source, _join_lines(source, lines, skipped), thread):
        left_out = Counter(part.skipped)
        left_out.update(skipped)
        skipped.clear()
        yield replace(part, skipped=left_out)


def _join_lines(
    source: ImportSource, lines: Iterable[tuple[int, LogLine | str]], skipped: Counter[str]
) -> Iterator[Mapping[str, Any]]:
    """Yield the messages of a log; a line without a head belongs to the message before it."""
    head: LogLine | None = None
    more, begun = list[str](), 0
    for number, line in lines:
        if isinstance(line, str):
            if head is None and line.strip():
                source.refuse(MalformedPart(f"{source.place(source.main)}, line {number}: before the first message"))
                continue
            more.append(line)
            continue
        if head is not None:
            yield from _at_line(source, begun, *_message_of(head, more, skipped))
        head, more, begun = line, [], number
    if head is not None:
        yield from _at_line(source, begun, *_message_of(head, more, skipped))


def _at_line(source: ImportSource, number: int, *rows: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    source.spot = Spot(source.main, line=number)
    yield from rows
    source.spot = None  # what is wrong with a line says so itself


def _message_of(head: LogLine, more: Sequence[str], skipped: Counter[str]) -> Iterator[Mapping[str, Any]]:
    text = "\n".join((head.text, *more)).strip()
    if head is REFUSED:
        return
    if head.name is None:
        skipped[OF_THE_APP] += 1
    elif not text:
        skipped[NO_WORDS] += 1
    else:
        when = {} if head.at is None else {"created_at": head.at.isoformat()}
        yield _speaker(head.name) | {"content": text} | when


def _speaker(name: str) -> dict[str, str]:
    """Return the role, and the name where it is one."""
    known = name.strip().casefold()
    if known in _USERS:
        return {"role": "user"}
    return {"role": "assistant" if known in _ASSISTANTS else "user", "name": name}
