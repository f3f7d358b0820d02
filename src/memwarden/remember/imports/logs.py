"""Reads chats that are text: WhatsApp in its locales, logs with labels, and logs of IRC clients.

WhatsApp writes the day, the time and the name before each message, as the phone's language does. Whether the day or
the month comes first is told by the file: by a number above 12, else by the order in which the days follow each other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from itertools import pairwise
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memwarden.errors import InvalidInput
from memwarden.remember.imports.messages import NO_WORDS, read_one
from memwarden.remember.imports.records import ImportedThread, MalformedPart, Spot
from memwarden.remember.imports.source import ImportSource
from memwarden.text.lexicon import all_words, either_of

_LABEL = re.compile(r"(user|human|assistant|ai|system)\s*:[ \t]*", re.IGNORECASE)
_ROLES = {"human": "user", "ai": "assistant"}
# Marks of the direction of writing, which WhatsApp puts before its own words.
_MARKS = re.compile(r"[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_DAY = r"(?P<a>\d{1,4})[./\u2010-] ?(?P<b>\d{1,2})[./\u2010-] ?(?P<c>\d{1,4})\.?"
_BEFORE_NOON = "|".join(sorted(all_words("morning_hours")))
_AFTER_NOON = "|".join(sorted(all_words("afternoon_hours")))
_TIME = (
    rf"(?P<before>[APap]\.?\s?[Mm]\.?|{_BEFORE_NOON}|{_AFTER_NOON})?\s?"
    r"(?P<h>\d{1,2})[:.](?P<m>\d{2})(?:[:.](?P<s>\d{2}))?(?:\s?(?P<after>[APap]\.?\s?[Mm]\.?))?"
)
_WHATSAPP = re.compile(
    rf"\[?{_DAY},?\s(?:(?:{either_of(['at_clock'])})\s)?{_TIME}(?:\]\s?|\s?[-–]\s|:\s)(?P<rest>.*)", re.DOTALL
)
_SAID = re.compile(r"(?P<name>[^:\n]{1,80}?): (?P<text>.*)|(?P<silent>[^:\n]{1,80}?):$", re.DOTALL)
# What stands in place of a picture or a deleted message.
_PLACEHOLDER = re.compile(rf"<[^<>\n]{{1,80}}>|[^\n]{{0,60}}(?:{either_of(['left_out'])})")
_DELETED = re.compile(rf"(?:{either_of(['deleted_message'])})[.。]?", re.IGNORECASE)
_EDITED = re.compile(rf"\s*<(?:{either_of(['edited_message'])})\.?>$", re.IGNORECASE)
_AFTERNOON = ("p", *all_words("afternoon_hours"))
_MORNING = ("a", *all_words("morning_hours"))
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
# What stands in a log where a name would, and says who speaks: a person, or the program.
_USERS = frozenset({"user", "human", "you"})
_ASSISTANTS = all_words("assistant_names") | {"meta_ai"}


class DayOrder(NamedTuple):
    """The places of year, month and day among the three numbers of a date."""

    year: int
    month: int
    day: int


YEAR_FIRST, DAY_FIRST, MONTH_FIRST = DayOrder(0, 1, 2), DayOrder(2, 1, 0), DayOrder(2, 0, 1)


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


# --- WhatsApp


def is_whatsapp(source: ImportSource) -> bool:
    """Return whether a file begins like an exported chat of WhatsApp."""
    lines = [line for line in _MARKS.sub("", source.head).splitlines() if line.strip()][:40]
    found = [line for line in lines if _WHATSAPP.match(line)]
    return bool(found) and found[0] == lines[0] and not is_irc(source)


def read_whatsapp(source: ImportSource) -> Iterator[ImportedThread]:
    """Yield an exported chat of WhatsApp. People have the role ``user``, and their names."""
    order, zone, skipped = _find_order(source), read_zone(source.options.zone), Counter[str]()
    yield from _read_log(source, _whatsapp_lines(source, order, zone), skipped)


def _whatsapp_lines(source: ImportSource, order: DayOrder, zone: ZoneInfo) -> Iterator[tuple[int, LogLine | str]]:
    for number, marked in source.lines(source.main):
        line = _MARKS.sub("", marked)
        found = _WHATSAPP.match(line)
        if found is None:
            yield number, line
            continue
        try:
            at = _moment_of(found, order, zone, f"{source.place(source.main)}, line {number}")
        except MalformedPart as error:
            source.refuse(error)
            yield number, REFUSED
            continue
        said = _SAID.fullmatch(found["rest"])
        if said is None:
            yield number, LogLine(at, None, "")
        elif said["silent"] or _says_nothing(said["text"].strip()) or _is_of_the_app(marked, said["name"]):
            yield number, LogLine(at, said["silent"] or said["name"], "")
        else:
            yield number, LogLine(at, said["name"], _EDITED.sub("", said["text"]))


def _says_nothing(text: str) -> bool:
    return bool(_PLACEHOLDER.fullmatch(text) or _DELETED.fullmatch(text))


def _is_of_the_app(marked: str, name: str) -> bool:
    """Return whether the words after a name are WhatsApp's, such as of a call: on phones of Apple they begin so.

    A poll does too, and its words are the person's.
    """
    _, _, words = marked.partition(f"{name}: ")
    return words.startswith("\u200e") and not words.startswith("\u200ePOLL")


def _moment_of(found: re.Match[str], order: DayOrder, zone: ZoneInfo, where: str) -> datetime:
    numbers = [int(found[name]) for name in "abc"]
    year, month, day = (numbers[place] for place in order)
    hour, half = int(found["h"]), (found["before"] or found["after"] or "").lower()
    if half:
        hour = hour % 12 + (12 if half.startswith(_AFTERNOON) else 0)
    try:
        return datetime(
            year if year > 99 else 2000 + year, month, day, hour, int(found["m"]), int(found["s"] or 0), tzinfo=zone
        )
    except ValueError as error:
        raise MalformedPart(f"{where}: {found[0][:24]!r} is no time ({error})") from None


def _find_order(source: ImportSource) -> DayOrder:
    """Tell whether years, days or months come first, by all the dates of a chat."""
    seen = dict[tuple[int, int, int], None]()
    halves = False
    for _, line in source.lines(source.main):
        found = _WHATSAPP.match(_MARKS.sub("", line))
        if found is not None:
            if len(found["a"]) == 4:
                return YEAR_FIRST
            seen[int(found["a"]), int(found["b"]), int(found["c"])] = None
            halves = halves or bool(found["after"])
    if source.options.day_first is not None:
        return DAY_FIRST if source.options.day_first else MONTH_FIRST
    if any(numbers[0] > 31 for numbers in seen) and all(numbers[2] <= 31 for numbers in seen):
        return YEAR_FIRST
    if any(numbers[0] > 12 for numbers in seen):
        return DAY_FIRST
    if any(numbers[1] > 12 for numbers in seen):
        return MONTH_FIRST
    days, months = _steps_back(seen, DAY_FIRST), _steps_back(seen, MONTH_FIRST)
    if days != months:
        return DAY_FIRST if days < months else MONTH_FIRST
    # Nothing in the file tells: a clock of twelve hours is at home where the month comes first.
    return MONTH_FIRST if halves else DAY_FIRST


def _steps_back(seen: Iterable[Sequence[int]], order: DayOrder) -> int:
    """Count how often a date comes before the date that it follows."""
    dates = [tuple(numbers[place] for place in order) for numbers in seen]
    return sum(later < earlier for earlier, later in pairwise(dates))


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
    yield from _read_log(source, _irc_lines(source, zone), skipped)


def _irc_lines(source: ImportSource, zone: ZoneInfo) -> Iterator[tuple[int, LogLine | str]]:
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


def _irc_moment(day: str, time: str, offset: str | None, zone: ZoneInfo, where: str) -> datetime:
    try:
        at = datetime.fromisoformat(f"{day}T{time}{offset or ''}")
    except ValueError as error:
        raise MalformedPart(f"{where}: {day} {time} is no time ({error})") from None
    return at if at.tzinfo is not None else at.replace(tzinfo=zone)


# --- both


def read_zone(name: str) -> ZoneInfo:
    """Return a time zone. Raises InvalidInput for an unknown name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(f"zone is a name such as Europe/Lisbon, not {name!r:.40}") from None


def _read_log(
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
