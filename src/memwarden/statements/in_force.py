"""What a sentence says of a dose, an agreement, a code, a new value or a day to come, which holds after the day."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Final

from memwarden.statements.explicit import ReadText
from memwarden.text.dates.recognizer import spans_in
from memwarden.text.tokenizer import terms

# Topics of what is in force.
IN_FORCE: Final = ("medicines", "rules", "codes", "current", "upcoming")
# Days. A longer span is a month or a season, of which only the plan is known.
MAX_DAYS_AHEAD: Final = 21

# A word with its hyphens.
_WORD: Final = re.compile(r"[\w-]+")
# Signs before and after a number that is an amount or a part of a longer number.
_BEFORE_AMOUNT: Final = frozenset(".,:/€$£")
_AFTER_AMOUNT: Final = re.compile(r"[.,:]\d|\s?[€$£%]")
# A number with its unit in one word.
_MEASURE: Final = re.compile(r"\d+(?:st|nd|rd|th|h|am|pm|kg|km|mg|ml|cm|mm|min)\b", re.IGNORECASE)
# A phone number in groups.
_PHONE: Final = re.compile(r"(?<!\d)\+?\d{2,4}(?:[ .-]\d{2,4}){3,}(?!\d)")
# Digits of a code without letters and hyphens.
_MIN_DIGITS: Final = 3
_OPENING: Final = re.compile(r"[「『„“«]")
_CLOSING: Final = re.compile(r"[」』”»]")
_DIGIT: Final = re.compile(r"\d")
# A number of two digits or more.
_AMOUNT: Final = re.compile(r"\d[.,:]?\d")
# A number that is no year.
_VALUE: Final = re.compile(r"(?<![\d.])(?!(?:19|20)\d\d(?!\d))\d")
_HOUR: Final = re.compile(r"\d{1,2}:\d\d")
# A number with the words before and behind it.
_ALONE: Final = re.compile(r"(\w+)\s+[€$£]?\d[\d.,]*(?![:\d])\s*[€$£%]?\s*(\w*)")
# Lines of a message that somebody types. A longer one is a list or a pasted text.
_MAX_LINES: Final = 4


def names_code(text: str) -> bool:
    """Whether a text has a word that may be a code, a number plate or a number of a customer."""
    return _PHONE.search(text) is not None or any(_is_code(text, word) for word in _WORD.finditer(text))


def _is_code(text: str, word: re.Match[str]) -> bool:
    """Whether a word has three digits or more, digits with hyphens, or letters and digits, and is no amount."""
    if text[max(word.start() - 1, 0) : word.start()] in _BEFORE_AMOUNT or _AFTER_AMOUNT.match(text, word.end()):
        return False
    signs = word[0].strip("-_")
    digits = sum(map(str.isdigit, signs))
    return not _MEASURE.match(signs) and (digits >= _MIN_DIGITS or 0 < digits < len(signs))


def names_value(text: str, read: ReadText) -> bool:
    """Whether a sentence about a new state names a weekday, the number of a thing, or who holds a post."""
    if read.weekdays:
        return True
    roles = frozenset(role for clause in read.clauses for role in clause.roles)
    return bool(("single" in roles and _AMOUNT.search(text)) or ("post" in roles and read.names))


def is_pasted(text: str) -> bool:
    """Whether a text is a list or another text of many lines."""
    return text.strip().count("\n") >= _MAX_LINES


def is_inside_quotes(text: str, start: int) -> bool:
    """Whether a place in a text is inside a quotation that began before it."""
    before = text[:start]
    return before.count('"') % 2 == 1 or len(_OPENING.findall(before)) > len(_CLOSING.findall(before))


def find_last_day(text: str, at: datetime, *, most: int = MAX_DAYS_AHEAD, numbered: bool = True) -> date | None:
    """Return the last day that a sentence names, if it was ahead when the sentence was said.

    most: days of the span. numbered: whether only a day that has a number counts.
    """
    spans = [
        span
        for span in spans_in(text, at)
        if (span.last - span.first).days <= most
        and (not numbered or _DIGIT.search(span.text))
        and span.first > at.date()
    ]
    return max((span.last for span in spans), default=None)


def find_start(text: str, at: datetime, before: re.Pattern[str], after: re.Pattern[str], read: ReadText) -> date | None:
    """Return the day from which on a value holds: "labour is 48 from 1 September". None if it was not ahead.

    A span of days is an event: "from 3 to 9 May". So is what has only the number of a flight, a room or an hour.

    Args:
        before: words before the day, such as "from".
        after: words after the day, for languages that write them there.
        read: the text as read.
    """
    plain = text.lower()
    spans = spans_in(text, at)
    if len(spans) != 1 or spans[0].first != spans[0].last or spans[0].first <= at.date():
        return None
    head, _, tail = plain.partition(spans[0].text.lower())
    begin = next((hit for hit in before.finditer(head) if not head[hit.end() :].strip()), None)
    if (begin is None and after.match(tail.lstrip()) is None) or not _DIGIT.search(spans[0].text):
        return None
    rest = f"{head if begin is None else head[: begin.start()]} {tail}"
    return spans[0].first if _gives_value(rest, spans[0].text, read) else None


def _gives_value(rest: str, day: str, read: ReadText) -> bool:
    """Whether a text has a number besides a day that is of a thing with one value, changes or alone follows a verb."""
    if not _VALUE.search(rest) or read.words is None:
        return False
    if read.singles - frozenset(terms(day, read.language)) or len(_HOUR.findall(rest)) > 1:
        return True
    return any(
        read.words.patterns["uses"].fullmatch(hit[1]) is not None and hit[2] == "" for hit in _ALONE.finditer(rest)
    )
