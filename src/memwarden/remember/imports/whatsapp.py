"""Reads exported chats of WhatsApp, as phones of all locales of CLDR write them.

WhatsApp writes the day, the time and the name before each message, as the phone's language does. Whether the day or
the month comes first is shown by the file: by a number above 12, else by the order in which the days follow each other.
The words of clocks are in ``clocks.toml`` (made by ``scripts/make_clocks.py``), those of the app in ``whatsapp.toml``.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from memwarden.remember.imports.logs import REFUSED, LogLine, is_irc, read_log, read_zone
from memwarden.remember.imports.records import ImportedThread, MalformedPart
from memwarden.remember.imports.source import ImportSource
from memwarden.text.lexicon import either_of

# Marks of the direction of writing, which WhatsApp puts before its own words.
_MARKS = re.compile(r"[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
# Joined with the words beside the numbers, a head has no more than these.
_WORDS = r"[^\d\n:\[\]]{0,24}?"
_HEAD = re.compile(
    rf"\[?(?P<a>\d{{1,4}})[./\u2010-] ?(?P<b>\d{{1,2}})[./\u2010-] ?(?P<c>\d{{1,4}})(?!\d)(?P<before>{_WORDS})"
    rf"(?<!\d)(?P<h>\d{{1,2}})(?:[:.]|\s?h\s?)(?P<m>\d{{2}})(?:[:.](?P<s>\d{{2}}))?(?!\d)(?P<after>{_WORDS})"
    r"(?:\]\s?|\s[-–]\s|(?<=\w)[-–]\s|:\s)(?P<rest>.*)",
    re.DOTALL,
)
_SAID = re.compile(r"(?P<name>[^:\n]{1,80}?): (?P<text>.*)|(?P<silent>[^:\n]{1,80}?):$", re.DOTALL)
# Quotation marks stand in notices about names of groups, and in no name of a person.
_QUOTES = re.compile(r'["“”„«»「」『』]')
_INVITE = re.compile(r"https://chat\.whatsapp\.com/\S*")
_PLACEHOLDER = re.compile(rf"<[^<>\n]{{1,80}}>|[^\n]{{0,60}}(?:{either_of(['left_out'])})")
_DELETED = re.compile(rf"(?:{either_of(['deleted_message'])})[.。]?", re.IGNORECASE)
_EDITED = re.compile(rf"\s*<(?:{either_of(['edited_message'])})\.?>$", re.IGNORECASE)
_APART = re.compile(r"[.,،，、\s\u00a0\u202f\u200b-\u200f]+")
# Words of a name: a longer one before a link of an invitation is a notice.
_NAME_WORDS = 3
# Years of the Buddhist calendar are this much ahead.
_BUDDHIST: Final = 543
_FIRST_YEAR, _LAST_YEAR = 1970, 2200
HOURS = 24


class DayOrder(NamedTuple):
    """The places of year, month and day among the three numbers of a date."""

    year: int
    month: int
    day: int


YEAR_FIRST, DAY_FIRST, MONTH_FIRST = DayOrder(0, 1, 2), DayOrder(2, 1, 0), DayOrder(2, 0, 1)


def is_whatsapp(source: ImportSource) -> bool:
    """Return whether a file begins like an exported chat of WhatsApp."""
    lines = [line for line in _MARKS.sub("", source.head).splitlines() if line.strip()][:40]
    return bool(lines) and _HEAD.match(lines[0]) is not None and not is_irc(source)


def read_whatsapp(source: ImportSource) -> Iterator[ImportedThread]:
    """Yield an exported chat of WhatsApp. People have the role ``user``, and their names."""
    order, zone, skipped = _find_order(source), read_zone(source.options.zone), Counter[str]()
    yield from read_log(source, _lines(source, order, zone), skipped)


def _lines(source: ImportSource, order: DayOrder, zone: tzinfo) -> Iterator[tuple[int, LogLine | str]]:
    before: datetime | None = None
    for number, marked in source.lines(source.main):
        line = _MARKS.sub("", marked)
        head = _HEAD.match(line)
        if head is None:
            yield number, line
            continue
        try:
            at = _read_moment(head, order, zone, f"{source.place(source.main)}, line {number}")
        except MalformedPart as error:
            source.refuse(error)
            yield number, REFUSED
            continue
        at = before = _later_fold(at, before)
        yield number, _read_line(marked, head["rest"], at)


def _read_line(marked: str, rest: str, at: datetime) -> LogLine:
    said = _SAID.fullmatch(rest)
    if said is None or (said["name"] and _is_notice(said["name"], said["text"])):
        return LogLine(at, None, "")
    if said["silent"] or _is_of_the_app(marked, said["name"]) or _says_nothing(said["text"].strip()):
        return LogLine(at, said["silent"] or said["name"], "")
    return LogLine(at, said["name"], _EDITED.sub("", said["text"]))


def _is_notice(name: str, text: str) -> bool:
    """Return whether what looks like a name and its words is a notice with a colon."""
    invited = _INVITE.fullmatch(text.strip()) and len(name.split()) > _NAME_WORDS
    return bool(invited or _QUOTES.search(name))


def _says_nothing(text: str) -> bool:
    return any(pattern.fullmatch(text) for pattern in (_PLACEHOLDER, _DELETED, *_app_words()))


def _is_of_the_app(marked: str, name: str) -> bool:
    """Return whether the words after a name are WhatsApp's, such as of a call: on phones of Apple they begin so.

    A poll does too, and its words are the person's.
    """
    _, _, words = marked.partition(f"{name}: ")
    return words.startswith("\u200e") and not words.startswith("\u200ePOLL")


def _read_moment(head: re.Match[str], order: DayOrder, zone: tzinfo, where: str) -> datetime:
    numbers = [int(head[name]) for name in "abc"]
    year, month, day = (numbers[place] for place in order)
    hour = _read_hour(int(head["h"]), f"{head['before']} {head['after']}")
    if hour is None:
        raise MalformedPart(f"{where}: the clock of {head[0][:32]!r} is not understood")
    year = year if year > 99 else 2000 + year
    year -= _BUDDHIST if year > _LAST_YEAR else 0
    try:
        if not _FIRST_YEAR <= year <= _LAST_YEAR:
            raise ValueError(f"year {year}")
        return datetime(year, month, day, hour, int(head["m"]), int(head["s"] or 0), tzinfo=zone)
    except ValueError as error:
        raise MalformedPart(f"{where}: {head[0][:24]!r} is no time ({error})") from None


def _read_hour(hour: int, words: str) -> int | None:
    """Return the hour of the day. None for words that belong to no clock."""
    clock = _clock_words()
    tokens = [token.casefold() for token in _APART.split(words) if token]
    whole = "".join(tokens)
    known = [] if whole in clock.hours else [token for token in tokens if token in clock.beside]
    rest = "".join(token for token in tokens if token not in known)
    if not rest:
        return hour
    hours = clock.hours.get(rest)
    if hours is None:
        return None
    if hour > HOURS // 2:  # a clock of 24 hours with its part of the day
        return hour
    return min((hour % 12, hour % 12 + 12), key=lambda each: _distance(each, hours))


def _distance(hour: int, hours: tuple[int, int]) -> int:
    """Return the hours between an hour and a part of the day, around the clock."""
    start, end = hours
    return min(max(start - each, each - end + 1, 0) for each in (hour - HOURS, hour, hour + HOURS))


def _later_fold(at: datetime, before: datetime | None) -> datetime:
    """Return the second of two equal hours, at the end of summer time, where a chat would go back otherwise."""
    if before is None or at.timestamp() >= before.timestamp():
        return at
    again = at.replace(fold=1)
    return again if again.timestamp() >= before.timestamp() else at


def _find_order(source: ImportSource) -> DayOrder:
    """Return whether years, days or months come first, by all the dates of a chat."""
    seen = dict[tuple[int, int, int], None]()
    halves = False
    for _, line in source.lines(source.main):
        head = _HEAD.match(_MARKS.sub("", line))
        if head is not None:
            if len(head["a"]) == 4:
                return YEAR_FIRST
            seen[int(head["a"]), int(head["b"]), int(head["c"])] = None
            halves = halves or bool(_APART.sub("", head["after"]))
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
    # Nothing in the file tells: a clock of twelve hours is usual where the month comes first.
    return MONTH_FIRST if halves else DAY_FIRST


def _steps_back(seen: Iterable[Sequence[int]], order: DayOrder) -> int:
    """Count how often a date comes before the date that it follows."""
    dates = [tuple(numbers[place] for place in order) for numbers in seen]
    return sum(later < earlier for earlier, later in pairwise(dates))


class ClockWords(NamedTuple):
    """The words of clocks.

    hours: first hour and the hour after the last, by word. beside: words without meaning for the hour.
    """

    hours: Mapping[str, tuple[int, int]]
    beside: frozenset[str]


@cache
def _clock_words() -> ClockWords:
    data, own = _load("clocks.toml"), _load("whatsapp.toml")
    hours: dict[str, tuple[int, int]] = {}
    for span, words in data["hours"].items():
        start, _, end = span.partition("-")
        hours.update(dict.fromkeys(words.split(), (int(start), int(end))))
    for role, half in (("before_noon", (0, 12)), ("after_noon", (12, 24))):
        hours.update(dict.fromkeys(" ".join(own[role].values()).split(), half))
    beside = " ".join([data["beside"]["words"], *own["beside"].values()])
    return ClockWords(hours, frozenset(beside.split()) - hours.keys())


@cache
def _app_words() -> tuple[re.Pattern[str], ...]:
    own = _load("whatsapp.toml")
    attached, missed = ("|".join(own[role].values()) for role in ("attached", "missed_call"))
    file = r"[^\n/\\<>:]{1,120}\.\w{2,5}"
    of_the_app = r"(?:IMG|VID|PTT|AUD|DOC|STK)-\d{8}-WA\d{4}\.\w{2,5} \([^()\n]{3,40}\)"
    return re.compile(rf"{of_the_app}|{file} \((?:{attached})\)", re.I), re.compile(rf"(?:{missed})[.。]?", re.I)


def _load(name: str) -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))
