"""Which days a text talks about, told from the day on which it was said.

Words become one-letter symbols (:mod:`memwarden.recall.date_words`) and one grammar reads the symbols, so that five
forms of "two weeks ago" in three languages are one rule. Chinese and Japanese have no words to look up; their rules
are in :mod:`memwarden.recall.date_glued`. Everything here is pure: no clock is read, no file, no model.

``docs/reference/time.md`` says what is understood and what each form means.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any, Final

from memwarden.recall.calendar_days import (
    Days,
    decade_of,
    holiday,
    month_days,
    nearest_weekday,
    quarter_days,
    season_days,
    shifted,
    thirds,
    unit_of,
    weekday_after,
    weekday_before,
    weekend_of,
    year_days,
)
from memwarden.recall.date_glued import GLUED_SIGN, glued_spans
from memwarden.recall.date_words import ANCHORS, GATE, LANGUAGES, Language, Phrases, language_of

MOST_STORED: Final = 4
"""A memory keeps at most this many of the spans that its text names."""

_EPOCH: Final = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class Span:
    """Days that a text names.

    Attributes:
        first, last: both days belong to it.
        text: the words that name it.
        exact: False for "a few days ago", "the other day" and the like, where the borders are a guess.
    """

    first: date
    last: date
    text: str
    exact: bool


def spans_in(text: str, said: datetime, language: str | None = None) -> tuple[Span, ...]:
    """The days that a text names, in order of appearance.

    ``said``: when it was said; "yesterday" is the day before. Only the date counts, in the zone that it comes in.
    ``language``: "en", "de", "fr", "es", "ja" or "zh"; None tells it from the text.
    A date without a year is the nearest that fits the tense: "in May" said in March is ten months ago in "I was there
    in May" and in two months in "I will be there in May".
    """
    return _read(text, said.date(), language, question=False) if may_name_days(text) else ()


def asked_spans(
    question: str, now: datetime, language: str | None = None, *, since: date | None = None
) -> tuple[Span, ...]:
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
    if not GATE.isdisjoint(_WORD.findall(_lower(text))) or _DIGIT_SIGN.search(text) is not None:
        return True
    return GLUED_SIGN.search(text) is not None


_TO_BLANKS: Final = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}


def _lower(text: str) -> str:
    """Lower case, each character in its place."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


# --- stored form ---------------------------------------------------------------------------------------------------


def day_number(day: date) -> int:
    """Days since 1970-01-01."""
    return day.toordinal() - _EPOCH


def encode(spans: Sequence[Span]) -> bytes:
    """First and last day of up to four spans, as days since 1970 in little-endian int32; the widest are left out."""
    pairs = list(dict.fromkeys((day_number(span.first), day_number(span.last)) for span in spans))
    kept = set(sorted(pairs, key=lambda pair: pair[1] - pair[0])[:MOST_STORED])
    return b"".join(struct.pack("<ii", *pair) for pair in pairs if pair in kept)


def decode(stored: bytes) -> tuple[tuple[date, date], ...]:
    """What :func:`encode` made."""
    return tuple(
        (date.fromordinal(first + _EPOCH), date.fromordinal(last + _EPOCH))
        for first, last in struct.iter_unpack("<ii", stored)
    )


# --- reading -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Found:
    """Days found in the tokens ``start`` to ``end`` (the first that is no longer part).

    ``in_year`` makes the days of another year and is there as long as the text names no year.
    """

    start: int
    end: int
    days: Days
    exact: bool = True
    in_year: Callable[[int], Days] | None = None
    weekday: bool = False


class _Text:
    """A text as symbols and their values, with the day on which it was said. A known phrase is one word."""

    def __init__(self, text: str, said: date, language: str | None, question: bool) -> None:
        self.text = text
        self.said = said
        self.question = question
        self.words: list[str] = _TOKEN.findall(_lower(text))
        self.language = LANGUAGES.get(language or "") or language_of(self.words)
        phrases = self.language.phrases
        if not phrases.keys().isdisjoint(self.words):
            self.words = _with_phrases(self.words, phrases)
        meanings = [self.language.words.get(word, _UNKNOWN) for word in self.words]
        if _DIGIT.search(text):
            for i, word in enumerate(self.words):
                if word[0] in _DIGITS and meanings[i] is _UNKNOWN:
                    meanings[i] = _of_digits(word, self.language)
        self.symbols = "".join([meaning[0] for meaning in meanings])
        self.values: list[Any] = [meaning[1] for meaning in meanings]

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """Where each word begins and ends. Between words is only white space, so the next hit is the word."""
        lower, places, end = _lower(self.text), [], 0
        for word in self.words:
            first, *rest = word.split(" ") if " " in word else (word,)
            start = lower.index(first, end)
            end = start + len(first)
            for part in rest:
                end = lower.index(part, end) + len(part)
            places.append((start, end))
        return places

    def value(self, symbols: str, start: int, end: int) -> Any:
        """The value of the first token that is one of ``symbols``; None if there is none."""
        for i in range(start, end):
            if self.symbols[i] in symbols:
                return self.values[i]
        return None

    def tense(self, start: int, end: int) -> int:
        """-1 in a sentence of the past, 1 in one of the future, 0 where nothing tells."""
        low, high = start, end
        while low > 0 and self.symbols[low - 1] not in ".;":
            low -= 1
        while high < len(self.words) and self.symbols[high] not in ".;":
            high += 1
        around = [*self.words[low:start], *self.words[end:high]]
        if not self.language.future.isdisjoint(around):
            return 1
        endings = self.language.past_endings
        if not self.language.past.isdisjoint(around) or (endings and any(w.endswith(endings) for w in around)):
            return -1
        return -1 if self.question else 0

    def named(self, start: int, end: int) -> str:
        return self.text[self.places[start][0] : self.places[end - 1][1]]


_TOKEN: Final = re.compile(r"[0-9]+(?:[./–-][0-9]+)+|\w+|[^\w\s]")
_DIGIT: Final = re.compile(r"[0-9]")
_DIGITS: Final = frozenset("0123456789")
_UNKNOWN: Final = ("x", 0)
_ORDINAL: Final = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th|er|º)")
_DECADE: Final = re.compile(r"([0-9]{2})?([0-9])0s")


def _with_phrases(words: list[str], phrases: Phrases) -> list[str]:
    """The words, with those that make a known phrase joined by blanks."""
    joined: list[str] = []
    i = 0
    while i < len(words):
        length = 1
        for rest in phrases.get(words[i], ()):
            if words[i + 1 : i + 1 + len(rest)] == rest:
                length += len(rest)
                break
        joined.append(" ".join(words[i : i + length]))
        i += length
    return joined


def _of_digits(word: str, language: Language) -> tuple[str, Any]:
    """The symbol of a token that begins with a digit."""
    if word.isascii() and word.isdigit():
        if len(word) <= 2:
            return "d", int(word)
        return ("y" if len(word) == 4 and 1800 <= int(word) < 2200 else "N"), int(word[:6])
    if hit := _ORDINAL.fullmatch(word):
        return "t", int(hit[1])
    if hit := _DECADE.fullmatch(word):
        return "K", int(hit[2]) * 10 + 100 * int(hit[1] or 0)
    return _of_numbers(word, language)


_PARTS: Final = re.compile(r"([0-9]+)([./–-])([0-9]+)(?:\2([0-9]+))?")


def _of_numbers(word: str, language: Language) -> tuple[str, Any]:
    """The symbol of "2023-05-08", "8.5.2023", "3-7", "2019-2021"."""
    hit = _PARTS.fullmatch(word)
    if hit is None:
        return _UNKNOWN
    first, sign, second, third = int(hit[1]), hit[2], int(hit[3]), hit[4]
    if third is None:
        if sign in "-–" and len(hit[1]) == 4 and len(hit[3]) == 4 and first < second:
            return "Y", (first, second)
        if sign in "-–" and 1 <= first < second <= 31:
            return "R", (first, second)
        if sign == "-" and len(hit[1]) == 4 and len(hit[3]) == 2:
            return "G", (first, second, None)
        if sign in "./" and len(hit[3]) == 4:
            return "G", (second, first, None)
        if sign == "." and language.day_first and language is not _ENGLISH:
            return "G", (None, second, first)
        return ("G", (None, *_month_and_day(first, second, language))) if sign == "/" else _UNKNOWN
    if len(hit[1]) == 4:
        return "G", (first, second, int(third))
    if len(third) not in (2, 4):
        return _UNKNOWN
    month, day = (second, first) if sign == "." else _month_and_day(first, second, language)
    return "G", (int(third) if len(third) == 4 else _century(int(third)), month, day)


def _month_and_day(first: int, second: int, language: Language) -> tuple[int, int]:
    return (second, first) if language.day_first or first > 12 else (first, second)


def _century(year: int) -> int:
    return year + (1900 if year >= 70 else 2000)


_ENGLISH: Final = LANGUAGES["en"]

# --- grammar -------------------------------------------------------------------------------------------------------

_YEAR: Final = r"(?:,?[of]{0,2}y)"
_NUMBER: Final = r"[nvdN]{1,2}o?"
_NO_LEAD: Final = r"(?!h?[bzP][ofhu]*[dtMmWGDHyLXTQK])"
"""Not before "before" and a date: then it leans on that one."""
_ENTRY: Final = r"(?:(?<=[iuSkfcj])|(?<=[iuSkfcj]h))"
"""After a word like "in", "during the": it makes a weak word a name of days."""

_RULES: Final = re.compile(
    r"(?=[dtsMmWwGRYyQqZHKDLlXrTEgPijnNvUBCVuha])(?:"
    rf"(?P<day_range>(?:R|[dt]\.?[-ck&]h?[dt])\.?[oh]*[Mm]\.?{_YEAR}?|[Mm]\.?(?:R|[dt][-ck&][dt]){_YEAR}?)"
    rf"|(?P<day>(?:[Ww]\.?,?[hu]*)?(?:[dts]\.?[oh]*[Mm]\.?{_YEAR}?|[Mm]\.?h?(?:[ts]|d(?![UBC:dn])){_YEAR}?))"
    rf"|(?P<month_of_year>[Mm]\.?{_YEAR})"
    r"|(?P<turned_month>[LXT][Mm]|[Mm][lr])"
    r"|(?P<numbers>G)"
    r"|(?P<years>Y)"
    r"|(?P<before_last>[UBCWZq]h?bh?L|[UBCWZq]h?zh?X)"
    rf"|(?P<quarter>Q{_YEAR}?|[ts]B[of]h?y|sBy)"
    r"|(?P<other_day>g[Ua])"
    rf"|(?P<some_ago>{_NUMBER}[UBCWVZq]A|P{_NUMBER}[UBCWZq])"
    rf"|(?P<some_ahead>i{_NUMBER}[UBC](?!A)|{_NUMBER}[UBC]e)"
    r"|(?P<some_past>(?<!j)(?<!jh)L[nvdN]o?[UBC](?![UBC]))"
    rf"|(?P<season>[LXT]h?[Zq]|[Zq][lr]|[Zq],?[of]?h?y|{_ENTRY}[Zq])"
    rf"|(?P<holiday>[LXT]?H(?:[lr]|{_YEAR})?)"
    r"|(?P<end_of>E[ofh]+[UBC])"
    r"|(?P<part_of_day>[TL]a)"
    r"|(?P<turned>T?[Ll][UBC](?![of]h?[MmyTLXGZqHh])|[XTr][UBC]|[UBC][lr])"
    rf"|(?P<turned_weekday>T?[LlXrT][Ww](?![of])|W[lr])"
    r"|(?P<the_day>(?:(?:[Ww],?)?(?:uh?|h)t|ud(?=\.))(?!\.?[ofh]*[MmTLX]))"
    rf"|(?P<weekday>(?:(?<![stL])W|(?<=u)w){_NO_LEAD})"
    rf"|(?P<weekend>(?:(?<=[iuj])|(?<=h))C{_NO_LEAD})"
    r"|(?P<near>D)"
    r"|(?P<decade>(?<=h)K|(?<=h)E-?K|K)"
    r"|(?P<year>(?<=[iuSkfc&bozEj-])y|(?<=[iuSkb]h)y|(?<![$])y(?=[,.;)]|$))"
    r"|(?P<month>M|(?<=[iuSkofcbzE-])m|m(?=[of]*[LXT]U))"
    r")"
)


def _read(text: str, said: date, language: str | None, question: bool, since: date | None = None) -> tuple[Span, ...]:
    spans = glued_spans(text, said, _years(said, since)) if not text.isascii() and GLUED_SIGN.search(text) else ()
    if language in ("ja", "zh"):
        return spans
    read = _Text(text, said, language, question)
    if not _has_anchor(read.symbols):
        return spans
    found = _combined(read, _simple(read))
    if since is not None:
        found = [other for one in found for other in _in_each_year(one, _years(said, since))]
    named = (Span(*one.days, read.named(one.start, one.end), one.exact) for one in found)
    return (*spans, *named)


_SYMBOLS_OF_DATES: Final = frozenset(ANCHORS) | set("yGRYt")


def _has_anchor(symbols: str) -> bool:
    return not _SYMBOLS_OF_DATES.isdisjoint(symbols) or "d." in symbols


def _years(said: date, since: date | None) -> range | None:
    """The years for which a date without one stands; None for the nearest."""
    return None if since is None else range(max(since.year, said.year - 49), said.year + 1)


def _in_each_year(one: _Found, years: range | None) -> list[_Found]:
    if one.in_year is None or years is None:
        return [one]
    made = [(year, _try(one.in_year, year)) for year in years]
    return [replace(one, days=days) for _, days in made if days is not None] or [one]


def _simple(read: _Text) -> list[_Found]:
    """What the rules find, each for itself."""
    found: list[_Found] = []
    for hit in _RULES.finditer(read.symbols):
        start, end = hit.span()
        if (start and read.symbols[start - 1] == "*") or (start > 1 and read.symbols[start - 2] == "*"):
            continue  # "every Friday", "every last Friday": a habit
        one = _found(hit.lastgroup or "", read, start, end)
        if one is not None:
            found.append(one)
    return found


def _found(rule: str, read: _Text, start: int, end: int) -> _Found | None:
    try:
        return _MEANING[rule](read, start, end)
    except (ValueError, OverflowError):  # 30 February; a year before 1 or after 9999
        return None


def _try(make: Callable[[int], Days], year: int) -> Days | None:
    try:
        return make(year)
    except (ValueError, OverflowError):
        return None


def _without_year(read: _Text, start: int, end: int, make: Callable[[int], Days], exact: bool = True) -> _Found | None:
    """The year that fits best what is said: the last one in a sentence of the past, the next in one of the future."""
    days = _nearest_year(read.said, read.tense(start, end), make)
    return None if days is None else _Found(start, end, days, exact, make)


def _nearest_year(said: date, tense: int, make: Callable[[int], Days]) -> Days | None:
    made = [days for year in range(said.year - 1, said.year + 2) if (days := _try(make, year))]
    if not made:  # 29 February
        made = [days for year in range(said.year - 8, said.year + 9) if (days := _try(make, year))]
    if tense < 0:
        made = [days for days in made if days[0] <= said] or made
    elif tense > 0:
        made = [days for days in made if days[1] >= said] or made
    return min(made, key=lambda days: max(days[0] - said, said - days[1]), default=None)


def _pinned_or_not(read: _Text, start: int, end: int, make: Callable[[int], Days]) -> _Found | None:
    year = read.value("y", start, end)
    return _without_year(read, start, end, make) if year is None else _Found(start, end, make(year))


def _is_word(read: _Text, start: int, end: int) -> bool:
    """Whether a weak word ("may", "sun") stands in small letters in a text that has capitals: then it is that word."""
    for i in range(start, end):
        if read.symbols[i] in "mw" and not read.text[read.places[i][0]].isupper():
            return not read.text.islower()
    return False


def _day_range(read: _Text, start: int, end: int) -> _Found | None:
    month = read.value("Mm", start, end)
    pair = read.value("R", start, end)
    if pair is None:
        pair = tuple(read.values[i] for i in range(start, end) if read.symbols[i] in "dt")
    first, last = pair[:2]
    if not 1 <= first <= last <= 31:
        return None
    return _pinned_or_not(read, start, end, lambda year: (date(year, month, first), date(year, month, last)))


def _day(read: _Text, start: int, end: int) -> _Found | None:
    month, day = read.value("Mm", start, end), read.value("dts", start, end)
    if read.value("y", start, end) is None and _is_word(read, start, end):
        return None
    weekday = read.value("Ww", start, end)

    def make(year: int) -> Days:
        return _one(date(year, month, day))

    if weekday is not None and read.value("y", start, end) is None:
        years = range(read.said.year - 1, read.said.year + 2)
        fitting = [days for year in years if (days := _try(make, year)) and days[0].weekday() == weekday]
        if len(fitting) == 1:  # "Monday, 8 May" tells the year
            return _Found(start, end, fitting[0])
    return _pinned_or_not(read, start, end, make)


def _one(day: date) -> Days:
    return day, day


def _month_of_year(read: _Text, start: int, end: int) -> _Found:
    return _Found(start, end, month_days(read.value("y", start, end), read.value("Mm", start, end)))


def _month(read: _Text, start: int, end: int) -> _Found | None:
    if _is_word(read, start, end):
        return None
    month = read.values[end - 1]
    return _without_year(read, start, end, lambda year: month_days(year, month))


def _numbers(read: _Text, start: int, end: int) -> _Found | None:
    year, month, day = read.values[start]
    if day is None:
        return _Found(start, end, month_days(year, month))
    if year is not None:
        return _Found(start, end, _one(date(year, month, day)))
    before = read.symbols[start - 1] if start else ""
    if before != "u" and not (before == "h" and read.language.day_first):  # "the 5/8" is a fraction, "on 5/8" a day
        return None
    return _without_year(read, start, end, lambda year: _one(date(year, month, day)))


def _year_range(read: _Text, start: int, end: int) -> _Found | None:
    first, last = read.values[start]
    return _Found(start, end, (date(first, 1, 1), date(last, 12, 31))) if first >= 1800 and last < 2200 else None


def _turn(read: _Text, start: int, end: int) -> int:
    """-1 for "last", 1 for "next", 0 for "this", -2 for "vorletzte"."""
    back = read.value("Ll", start, end)
    ahead = read.value("Xr", start, end)
    return -back if back is not None else (ahead or 0)


def _turned_in_year(read: _Text, start: int, end: int, make: Callable[[int], Days]) -> _Found | None:
    """ "Last summer", "next May", "this Christmas": the last one over, the next one to begin, or this year's."""
    turn, said = _turn(read, start, end), read.said
    if turn == 0:
        return _Found(start, end, make(said.year))
    made = [days for year in range(said.year - 4, said.year + 5) if (days := _try(make, year))]
    fitting = [days for days in made if days[1] < said] if turn < 0 else [days for days in made if days[0] > said]
    place = turn if turn < 0 else turn - 1
    return _Found(start, end, fitting[place]) if len(fitting) >= abs(turn) else None


def _turned_month(read: _Text, start: int, end: int) -> _Found | None:
    if _is_word(read, start, end):
        return None
    month = read.value("Mm", start, end)
    return _turned_in_year(read, start, end, lambda year: month_days(year, month))


def _before_last(read: _Text, start: int, end: int) -> _Found | None:
    steps = 2 if read.value("X", start, end) else -2
    if read.symbols[start] == "W":
        weekday = read.values[start]
        day = weekday_after(read.said, weekday) if steps > 0 else weekday_before(read.said, weekday)
        return _Found(start, end, _one(day + timedelta(7 if steps > 0 else -7)))
    if read.symbols[start] in "Zq":
        name = read.values[start]
        over = [d for y in range(read.said.year - 4, read.said.year + 5) if (d := season_days(name, y))[1] < read.said]
        return _Found(start, end, over[-2]) if steps < 0 else None
    return _Found(start, end, unit_of(shifted(read.said, read.values[start], steps), read.values[start]))


def _quarter(read: _Text, start: int, end: int) -> _Found | None:
    number = read.value("Qts", start, end)
    return _pinned_or_not(read, start, end, lambda year: quarter_days(year, number))


def _other_day(read: _Text, start: int, end: int) -> _Found | None:
    unit = read.values[end - 1] or "day"
    reach = {"day": (10, 2), "week": (21, 7)}.get(unit)
    if reach is None:
        return None
    return _Found(start, end, (read.said - timedelta(reach[0]), read.said - timedelta(reach[1])), exact=False)


def _count(read: _Text, start: int, end: int) -> tuple[int, int, bool]:
    """Least and most of "two", "a few", "20", and whether it is one number."""
    for i in range(end - 1, start - 1, -1):
        if read.symbols[i] == "v":
            least, most = read.values[i]
            return least, most, False
        if read.symbols[i] in "ndN":
            return read.values[i], read.values[i], not any("couple" in word for word in read.words[start:end])
    raise ValueError("no number")


def _some(read: _Text, start: int, end: int, sign: int) -> _Found | None:
    """Some units from the day of saying: the day itself, the calendar's month or year, a week's width."""
    least, most, single = _count(read, start, end)
    for i in range(start, end):
        if read.symbols[i] in "WVZq":
            return _some_named(read, start, end, sign * most, read.symbols[i], read.values[i])
    unit = read.value("UBC", start, end)
    if unit == "hour":
        return _Found(start, end, _one(read.said + timedelta(hours=sign * most))) if most < 48 else None
    low, high = (shifted(read.said, unit, sign * n) for n in sorted((least, most), key=lambda n: sign * n))
    wide = timedelta(3) if unit in ("week", "fortnight") else timedelta(0)
    if unit in ("month", "year", "quarter", "decade", "weekend"):
        low, high = unit_of(low, unit)[0], unit_of(high, unit)[1]
    if not single and least == most and unit == "day":
        wide = timedelta(1)
    return _Found(start, end, (low - wide, high + wide), single and not wide)


def _some_named(read: _Text, start: int, end: int, steps: int, symbol: str, name: Any) -> _Found | None:
    """ "Two Fridays ago", "three summers ago"."""
    if symbol in "WV":
        nearest = weekday_before(read.said, name) if steps < 0 else weekday_after(read.said, name)
        return _Found(start, end, _one(nearest + timedelta(7 * (steps + (1 if steps < 0 else -1)))))
    return _Found(start, end, season_days(name, read.said.year + steps))


def _some_ago(read: _Text, start: int, end: int) -> _Found | None:
    return _some(read, start, end, read.value("A", start, end) or -1)


def _some_ahead(read: _Text, start: int, end: int) -> _Found | None:
    tense, later = read.tense(start, end), read.value("e", start, end)
    # "I read it in two days" took two days; "two days later" is from now only in a sentence of the future.
    if tense < 0 or (later is not None and (later < 0 or tense == 0)):
        return None
    return _some(read, start, end, 1)


def _some_past(read: _Text, start: int, end: int) -> _Found:
    """ "The last two weeks": up to the day of saying."""
    _, most, _ = _count(read, start, end)
    unit = read.value("UBC", start, end)
    if unit == "hour":
        raise ValueError("no day")
    return _Found(start, end, (shifted(read.said, unit, -most), read.said), exact=False)


def _season(read: _Text, start: int, end: int) -> _Found | None:
    name = read.value("Zq", start, end)
    if read.value("LlXrT", start, end) is not None:
        return _turned_in_year(read, start, end, lambda year: season_days(name, year))
    return _pinned_or_not(read, start, end, lambda year: season_days(name, year))


def _holiday(read: _Text, start: int, end: int) -> _Found | None:
    name = read.value("H", start, end)
    if read.value("LlXrT", start, end) is not None:
        return _turned_in_year(read, start, end, lambda year: _one(holiday(name, year)))
    return _pinned_or_not(read, start, end, lambda year: _one(holiday(name, year)))


def _end_of(read: _Text, start: int, end: int) -> _Found | None:
    """ "The end of the month": of this one."""
    unit = read.value("UBC", start, end)
    if unit in ("hour", "day", "weekend"):
        return None
    return _Found(start, end, thirds(unit_of(read.said, unit), read.value("E", start, end)), exact=False)


def _part_of_day(read: _Text, start: int, end: int) -> _Found:
    return _Found(start, end, _one(read.said + timedelta(_turn(read, start, end))))


def _turned(read: _Text, start: int, end: int) -> _Found | None:
    unit, turn = read.value("UBC", start, end), _turn(read, start, end)
    if unit in ("hour", "day", "fortnight"):  # "the last day of school", "the next day": told from elsewhere
        return None
    if unit == "weekend" and turn == 0:
        return _Found(start, end, _this_weekend(read, start, end))
    if unit == "weekend" and turn == -1:
        return _Found(start, end, weekend_of(weekday_before(read.said, 6)))  # the last Sunday's
    return _Found(start, end, unit_of(shifted(read.said, unit, turn), unit))


def _this_weekend(read: _Text, start: int, end: int) -> Days:
    """The one of this week; on Monday to Wednesday "this weekend" in the past is the one just over."""
    if read.tense(start, end) < 0 and read.said.weekday() < 5:
        return weekend_of(read.said - timedelta(7))
    return weekend_of(read.said)


def _weekend(read: _Text, start: int, end: int) -> _Found:
    return _Found(start, end, _this_weekend(read, start, end))


def _turned_weekday(read: _Text, start: int, end: int) -> _Found | None:
    if read.value("w", start, end) is not None and _is_word(read, start, end):
        return None
    weekday, turn = read.value("Ww", start, end), _turn(read, start, end)
    if turn < 0:
        day = weekday_before(read.said, weekday) - timedelta(7 * (-turn - 1))
    elif turn > 0:
        day = weekday_after(read.said, weekday) + timedelta(7 * (turn - 1))
    else:
        day = read.said + timedelta(weekday - read.said.weekday())
    return _Found(start, end, _one(day), weekday=True)


def _weekday(read: _Text, start: int, end: int) -> _Found | None:
    if _is_word(read, start, end):
        return None
    return _Found(
        start, end, weekday=True, days=_one(nearest_weekday(read.said, read.values[end - 1], read.tense(start, end)))
    )


_COUNTED: Final = frozenset(
    "floor time grade birthday anniversary try attempt day century place street avenue page edition season episode "
    "chapter round year week month person one game match game's row hole inning".split()
)


def _the_day(read: _Text, start: int, end: int) -> _Found | None:
    """ "The 15th", of the month that fits; not "the 15th floor", and before a plain word only after "on"."""
    after = read.words[end] if end < len(read.words) else ""
    told = read.symbols[start] in "uWw"
    if after in _COUNTED or (not told and after and read.symbols[end] == "x"):
        return None
    if read.symbols[end - 1] == "d" and read.language is not LANGUAGES["de"]:
        return None
    day = read.values[end - 1]
    tense, said = read.tense(start, end), read.said
    months = [shifted(said.replace(day=1), "month", n) for n in range(-2, 3)]
    days = [month.replace(day=day) for month in months if day <= month_days(month.year, month.month)[1].day]
    if tense:
        days = [one for one in days if (one - said).days * tense >= 0] or days
    return _Found(start, end, _one(min(days, key=lambda one: abs(one - said)))) if days else None


def _near(read: _Text, start: int, end: int) -> _Found:
    return _Found(start, end, _one(read.said + timedelta(read.values[start])))


def _decade(read: _Text, start: int, end: int) -> _Found | None:
    value = read.values[end - 1]
    if value < 100 and (start == 0 or read.symbols[start - 1] not in "hE"):
        return None
    year = value if value >= 100 else value + (2000 if value < 30 else 1900)
    days = decade_of(year)
    return _Found(start, end, thirds(days, read.values[start]) if read.symbols[start] == "E" else days)


def _year(read: _Text, start: int, end: int) -> _Found | None:
    told = start > 0 and read.symbols[start - 1] not in "oc&-z"
    if not told and not 1900 <= read.values[start] < 2100:
        return None
    return _Found(start, end, year_days(read.values[start]))


_MEANING: Final[dict[str, Callable[[_Text, int, int], _Found | None]]] = {
    "day_range": _day_range,
    "day": _day,
    "month_of_year": _month_of_year,
    "turned_month": _turned_month,
    "numbers": _numbers,
    "years": _year_range,
    "before_last": _before_last,
    "quarter": _quarter,
    "other_day": _other_day,
    "some_ago": _some_ago,
    "some_ahead": _some_ahead,
    "some_past": _some_past,
    "season": _season,
    "holiday": _holiday,
    "end_of": _end_of,
    "part_of_day": _part_of_day,
    "turned": _turned,
    "turned_weekday": _turned_weekday,
    "the_day": _the_day,
    "weekday": _weekday,
    "weekend": _weekend,
    "near": _near,
    "decade": _decade,
    "year": _year,
    "month": _month,
}

# --- dates that lean on other dates --------------------------------------------------------------------------------

_Leaning = Callable[["_Text", _Found, re.Match[str]], "_Found | None"]


def _combined(read: _Text, found: list[_Found]) -> list[_Found]:
    """Join what belongs together: "May" and "last year", "from Monday" and "to Friday", "the week before" and a day."""
    done: list[_Found] = []
    for one in found:
        one = _led(read, one, done[-1].end if done else 0)
        while done and (joined := _joined(read, done[-1], one)):
            done.pop()
            one = _led(read, joined, done[-1].end if done else 0)
        done.append(one)
    return done


def _led(read: _Text, one: _Found, floor: int) -> _Found:
    """A date with what stands before it: "since", "early", "the week before", "the first weekend of"."""
    while one.start > floor:
        # `$` in the pattern is the end of the searched part.
        hit = _LEADS.search(read.symbols, max(floor, one.start - _LONGEST_LEAD), one.start)
        if hit is None:
            return one
        try:
            led = _LEAD_MEANING[hit.lastgroup or ""](read, one, hit)
        except (ValueError, OverflowError):
            led = None
        if led is None:
            return one
        one = replace(led, start=hit.start())
    return one


_LEADS: Final = re.compile(
    r"(?P<offset>(?:[nvdN]o?)?[UBCWVwa](?:h?[bz]|P)[ofhu]*)$"
    r"|(?P<part>[stL][UBCW][of]+h?)$"
    r"|(?P<day_of>[td][of]h?)$"
    r"|(?P<season_of>[Zq],?[of]*h?)$"
    r"|(?P<third>E[-of]?[ofh]*)$"
    r"|(?P<clipped>eh?)$"
    r"|(?P<since>S[hu]*)$"
    r"|(?P<until>k[hu]*)$"
)


_LONGEST_LEAD: Final = 8


def _offset(read: _Text, one: _Found, hit: re.Match[str]) -> _Found | None:
    """ "Two days after", "the Friday before", "the weekend before"."""
    start, end = hit.span()
    sign = 1 if read.value("z", start, end) is not None else -1
    number = read.value("nvdN", start, end)
    steps = sign * (number[1] if isinstance(number, tuple) else number or 1)
    day = one.days[0] if sign < 0 else one.days[1]
    if (weekday := read.value("WwV", start, end)) is not None:
        nearest = weekday_before(day, weekday) if sign < 0 else weekday_after(day, weekday)
        return replace(one, days=_one(nearest + timedelta(7 * (steps - sign))), in_year=None)
    return replace(one, days=_beside(day, read.value("UBCa", start, end) or "day", steps), in_year=None)


def _beside(day: date, unit: str, steps: int) -> Days:
    sign = 1 if steps > 0 else -1
    if unit == "hour":
        raise ValueError("no day")
    if unit == "day":
        return _one(day + timedelta(steps))
    if unit == "weekend":
        nearest = weekday_before(day, 6) if sign < 0 else weekday_after(day, 5)
        return weekend_of(nearest + timedelta(7 * (steps - sign)))
    if unit == "week" and abs(steps) == 1:
        return (day - timedelta(7), day - timedelta(1)) if sign < 0 else (day + timedelta(1), day + timedelta(7))
    moved = shifted(day, unit, steps)
    wide = timedelta(3)
    return (moved - wide, moved + wide) if unit in ("week", "fortnight") else unit_of(moved, unit)


def _part(read: _Text, one: _Found, hit: re.Match[str]) -> _Found | None:
    """ "The first week of", "the last Friday of", "the second quarter of"."""
    start, end = hit.span()
    first, last = one.days
    number = -1 if read.value("L", start, end) is not None else read.value("st", start, end)
    if (last - first).days < 6 or number > 31:
        return None
    make = _nth(read, start, end, number)
    days = make(first, last)
    in_year = one.in_year
    if not first <= days[0] <= last:
        return None
    return replace(one, days=days, in_year=None if in_year is None else lambda year: make(*in_year(year)))


def _nth(read: _Text, start: int, end: int, number: int) -> Callable[[date, date], Days]:
    weekday, unit = read.value("W", start, end), read.value("UBC", start, end)
    if weekday is None and unit == "weekend":
        weekday = 5
    if weekday is not None:
        wide = timedelta(1 if unit == "weekend" else 0)

        def named(first: date, last: date) -> Days:
            if number < 0:
                day = weekday_before(last + timedelta(1), weekday)
            else:
                day = weekday_after(first - timedelta(1), weekday) + timedelta(7 * (number - 1))
            return day, day + wide

        return named
    if unit in ("hour", "decade", "fortnight"):
        raise ValueError("no part of a date")

    def counted(first: date, last: date) -> Days:
        length = 1 if unit == "day" else 7
        if unit in ("month", "quarter", "year"):
            begin = last if number < 0 else shifted(first, unit, number - 1)
            return unit_of(begin, unit)
        begin = last - timedelta(length - 1) if number < 0 else first + timedelta(length * (number - 1))
        return begin, begin + timedelta(length - 1)

    return counted


def _day_of(read: _Text, one: _Found, hit: re.Match[str]) -> _Found | None:
    """ "The 15th of last month"."""
    first, last = one.days
    if not 27 <= (last - first).days <= 30:
        return None
    return replace(one, days=_one(first.replace(day=read.values[hit.start()])), in_year=None)


def _season_of(read: _Text, one: _Found, hit: re.Match[str]) -> _Found | None:
    """ "The spring of last year"."""
    if not 364 <= (one.days[1] - one.days[0]).days <= 365:
        return None
    return replace(one, days=season_days(read.values[hit.start()], one.days[0].year), in_year=None)


def _third(read: _Text, one: _Found, hit: re.Match[str]) -> _Found | None:
    which, in_year = read.values[hit.start()], one.in_year
    if one.days[1] - one.days[0] < timedelta(6):
        return None
    remade = None if in_year is None else lambda year: thirds(in_year(year), which)
    return replace(one, days=thirds(one.days, which), exact=False, in_year=remade)


def _clipped(read: _Text, one: _Found, hit: re.Match[str]) -> _Found | None:
    """ "Earlier this month": not after the day of saying."""
    first, last = one.days
    if not first <= read.said <= last:
        return None
    return replace(one, days=(first, read.said) if read.values[hit.start()] < 0 else (read.said, last), exact=False)


def _since(read: _Text, one: _Found, hit: re.Match[str]) -> _Found | None:
    return replace(one, days=(one.days[0], read.said), in_year=None) if one.days[0] <= read.said else None


def _until(read: _Text, one: _Found, hit: re.Match[str]) -> _Found | None:
    return replace(one, days=(read.said, one.days[1]), in_year=None) if one.days[1] >= read.said else None


_LEAD_MEANING: Final[dict[str, _Leaning]] = {
    "offset": _offset,
    "part": _part,
    "day_of": _day_of,
    "season_of": _season_of,
    "third": _third,
    "clipped": _clipped,
    "since": _since,
    "until": _until,
}

_RANGE_GAP: Final = re.compile(r"[-ck][hu]*")
_PAIR_GAP: Final = re.compile(r"&h?")
_LEANING_GAP: Final = re.compile(r"[ofuih]*")


def _joined(read: _Text, left: _Found, right: _Found) -> _Found | None:
    """One date out of two neighbours, or None."""
    gap = read.symbols[left.end : right.start]
    opened = left.start > 0 and (
        read.symbols[left.start - 1] == "f" or read.symbols[max(left.start - 2, 0) : left.start] == "fh"
    )
    if _RANGE_GAP.fullmatch(gap) or (opened and _PAIR_GAP.fullmatch(gap)):
        return _range(read, left, right, left.start - opened)
    if _LEANING_GAP.fullmatch(gap):
        return _within(left, right) or _within(right, left)
    return None


def _range(read: _Text, left: _Found, right: _Found, start: int) -> _Found | None:
    first, last = left, right
    if last.in_year is None and first.in_year is not None:
        made = [_try(first.in_year, last.days[0].year - back) for back in (0, 1)]
        first = next((replace(first, days=days) for days in made if days and days[0] <= last.days[1]), first)
    if last.days[1] < first.days[0]:
        if last.in_year is not None and (days := _try(last.in_year, first.days[0].year + 1)):
            last = replace(last, days=days)
        elif last.days[0] == last.days[1] and last.days[1] + timedelta(7) > first.days[0]:
            last = replace(last, days=_one(last.days[1] + timedelta(7)))  # "from Friday to Monday"
    if last.days[1] < first.days[0]:
        return None
    return _Found(start, right.end, (first.days[0], last.days[1]), left.exact and right.exact)


def _within(small: _Found, large: _Found) -> _Found | None:
    """ "May last year", "Friday last week": the small one inside the large one."""
    start, end = min(small.start, large.start), max(small.end, large.end)
    length = (large.days[1] - large.days[0]).days
    if small.in_year is not None and large.in_year is None and 364 <= length <= 365:
        days = _try(small.in_year, large.days[0].year)
        return None if days is None else _Found(start, end, days, small.exact)
    if length == 6 and small.weekday:
        day = large.days[0] + timedelta((small.days[0] - large.days[0]).days % 7)
        return _Found(start, end, _one(day), small.exact)
    return None
