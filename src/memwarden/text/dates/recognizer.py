"""Which days a text talks about, told from the day on which it was said.

Words become one-letter symbols (:mod:`memwarden.text.dates.symbols`, with the words of
:mod:`memwarden.text.dates.words`) and one grammar reads the symbols (:mod:`memwarden.text.dates.grammar`), so that five
forms of "two weeks ago" in three languages are one rule; then dates that belong together become one
(:mod:`memwarden.text.dates.joins`). Chinese and Japanese have no words to look up; their rules are in
:mod:`memwarden.text.dates.unspaced`. Everything here is pure: no clock is read, no file, no model.

``docs/reference/time.md`` says what is understood and what each form means.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, datetime
from typing import Final

from memwarden.text.dates.grammar import dates_apart, try_year
from memwarden.text.dates.joins import joined_dates
from memwarden.text.dates.spans import DaySpan
from memwarden.text.dates.symbols import DateMatch, SymbolText, lower_in_place
from memwarden.text.dates.unspaced import GLUED_SIGN, glued_spans
from memwarden.text.dates.words import ANCHORS, GATE


def spans_in(text: str, said: datetime, language: str | None = None) -> tuple[DaySpan, ...]:
    """The days that a text names, in order of appearance.

    ``said``: when it was said; "yesterday" is the day before. Only the date counts, in the zone that it comes in.
    ``language``: "en", "de", "fr", "es", "ja" or "zh"; None tells it from the text.
    A date without a year is the nearest that fits the tense: "in May" said in March is ten months ago in "I was there
    in May" and in two months in "I will be there in May".
    """
    return _read(text, said.date(), language, question=False) if may_name_days(text) else ()


def asked_spans(
    question: str, now: datetime, language: str | None = None, *, since: date | None = None
) -> tuple[DaySpan, ...]:
    """The days that a question asks about: "What did Ana do last week?". "When did ...?" names none.

    ``now``: when it is asked. A date without a year is the last one, unless the question is of the future; with
    ``since``, the day of the oldest memory, it stands for that date in each year from then on.
    """
    return _read(question, now.date(), language, question=True, since=since) if may_name_days(question) else ()


_WORD: Final = re.compile(r"\w+")
_DIGIT_SIGN: Final = re.compile(r"[0-9](?:[0-9]{3}|[./–-][0-9]|st\b|nd\b|rd\b|th\b|er\b|0s\b|\.)", re.IGNORECASE)


def may_name_days(text: str) -> bool:
    """Whether a text can name a day at all: a cheap look before the grammar, which it never contradicts."""
    if text.isascii():
        words = text.lower().translate(_TO_BLANKS).split()
        return not GATE.isdisjoint(words) or _DIGIT_SIGN.search(text) is not None
    if not GATE.isdisjoint(_WORD.findall(lower_in_place(text))) or _DIGIT_SIGN.search(text) is not None:
        return True
    return GLUED_SIGN.search(text) is not None


_TO_BLANKS: Final = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}


def _read(
    text: str, said: date, language: str | None, question: bool, since: date | None = None
) -> tuple[DaySpan, ...]:
    spans = glued_spans(text, said, _years(said, since)) if not text.isascii() and GLUED_SIGN.search(text) else ()
    if language in ("ja", "zh"):
        return spans
    read = SymbolText(text, said, language, question)
    if not _has_anchor(read.symbols):
        return spans
    found = joined_dates(read, dates_apart(read))
    if since is not None:
        found = [other for item in found for other in _in_each_year(item, _years(said, since))]
    named = (DaySpan(*item.days, read.named(item.start, item.end), item.exact) for item in found)
    return (*spans, *named)


_SYMBOLS_OF_DATES: Final = frozenset(ANCHORS) | set("yGRYt")


def _has_anchor(symbols: str) -> bool:
    return not _SYMBOLS_OF_DATES.isdisjoint(symbols) or "d." in symbols


def _years(said: date, since: date | None) -> range | None:
    """The years for which a date without one stands; None for the nearest."""
    return None if since is None else range(max(since.year, said.year - 49), said.year + 1)


def _in_each_year(match: DateMatch, years: range | None) -> list[DateMatch]:
    if match.in_year is None or years is None:
        return [match]
    made = [(year, try_year(match.in_year, year)) for year in years]
    return [replace(match, days=days) for _, days in made if days is not None] or [match]
