"""Which days a text talks about, told from the day on which it was said.

Words become tokens (:mod:`memwarden.text.dates.symbols`) and a grammar reads the tokens
(:mod:`memwarden.text.dates.grammar`), so that five forms of "two weeks ago" in three languages are a single rule. Then
dates that belong together are joined. Chinese and Japanese have no words to look up. Their rules are in
:mod:`memwarden.text.dates.unspaced`. Everything here is pure: no clock is read, no file, no model.

``docs/reference/time.md`` says what is understood and what each form means.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

from memwarden.text.dates.calendar import (
    EPOCH_DAY,
    MAX_STORED_SPANS,
    Days,
    DaySpan,
    drop_habits,
    season_days,
    shifted,
    thirds,
    unit_of,
    weekday_after,
    weekday_before,
    weekend_of,
)
from memwarden.text.dates.grammar import find_dates, one_day, try_year
from memwarden.text.dates.symbols import (
    ANCHORS,
    GATE,
    LANGUAGES,
    MAX_CLAUSE_WORDS,
    TOKENS,
    DateMatch,
    Phrases,
    TimeWords,
    compile_tokens,
    letters,
)
from memwarden.text.dates.unspaced import GLUED_SIGN, LATELY, LONG_AGO, add_next, ask_of_earlier, glued_spans
from memwarden.text.language import language_of, lower_in_place
from memwarden.text.lexicon import pattern_of
from memwarden.text.question_words import asks_in_a_clause
from memwarden.text.small_talk import content_terms

_Leaning = Callable[["SymbolText", DateMatch, re.Match[str]], "DateMatch | None"]


def join_dates(read: SymbolText, found: list[DateMatch]) -> list[DateMatch]:
    """Join dates that belong together: "May" and "last year", "from Monday" and "to Friday"."""
    done: list[DateMatch] = []
    for item in found:
        item = _extend(read, item, done[-1].end if done else 0)
        while done and (joined := _join_pair(read, done[-1], item)):
            done.pop()
            item = _extend(read, joined, done[-1].end if done else 0)
        done.append(item)
    return done


def _extend(read: SymbolText, match: DateMatch, floor: int) -> DateMatch:
    """Extend a date by what stands before it: "since", "early", "the week before"."""
    while match.start > floor:
        # `$` in the pattern is the end of the searched part.
        hit = _LEADS.search(read.symbols, max(floor, match.start - _MAX_LEAD), match.start)
        if hit is None:
            return match
        try:
            led = _LEAD_MEANING[hit.lastgroup or ""](read, match, hit)
        except (ValueError, OverflowError):
            led = None
        if led is None:
            return match
        match = replace(led, start=hit.start())
    return match


_LEADS: Final = compile_tokens(
    r"""
     (?P<offset>(?:<number|few|digits|large_number><of>?)?
        <unit|quarter|weekend|weekday|weekdays|weak_weekday|part_of_day>(?:<the>?<before|after>|<ago_before>)
        <of|from|the|on>*)$
    |(?P<part><ordinal_word|ordinal|last><unit|quarter|weekend|weekday><of|from>+<the>?)$
    |(?P<day_of><ordinal|digits><of|from><the>?)$
    |(?P<season_of><season|weak_season><comma>?<of|from>*<the>?)$
    |(?P<third><third><hyphen|of|from>?<of|from|the>*)$
    |(?P<clipped><earlier><the>?)$
    |(?P<since><since><the|on>*)$
    |(?P<until><until><the|on>*)$
    |(?P<earlier><before|ago_before><the|on>*)$
    """
)


_MAX_LEAD: Final = 8


def _offset(read: SymbolText, match: DateMatch, hit: re.Match[str]) -> DateMatch | None:
    """ "Two days after", "the Friday before", "the weekend before"."""
    start, end = hit.span()
    sign = 1 if read.value("after", start, end) is not None else -1
    number = read.value("number|few|digits|large_number", start, end)
    steps = sign * (number[1] if isinstance(number, tuple) else number or 1)
    day = match.days[0] if sign < 0 else match.days[1]
    if (weekday := read.value("weekday|weak_weekday|weekdays", start, end)) is not None:
        nearest = weekday_before(day, weekday) if sign < 0 else weekday_after(day, weekday)
        return replace(match, days=one_day(nearest + timedelta(7 * (steps - sign))), in_year=None)
    unit = read.value("unit|quarter|weekend|part_of_day", start, end) or "day"
    return replace(match, days=_beside(day, unit, steps), in_year=None)


def _beside(day: date, unit: str, steps: int) -> Days:
    sign = 1 if steps > 0 else -1
    if unit == "hour":
        raise ValueError("no day")
    if unit == "day":
        return one_day(day + timedelta(steps))
    if unit == "weekend":
        nearest = weekday_before(day, 6) if sign < 0 else weekday_after(day, 5)
        return weekend_of(nearest + timedelta(7 * (steps - sign)))
    if unit == "week" and abs(steps) == 1:
        return (day - timedelta(7), day - timedelta(1)) if sign < 0 else (day + timedelta(1), day + timedelta(7))
    moved = shifted(day, unit, steps)
    wide = timedelta(3)
    return (moved - wide, moved + wide) if unit in ("week", "fortnight") else unit_of(moved, unit)


def _part(read: SymbolText, match: DateMatch, hit: re.Match[str]) -> DateMatch | None:
    """ "The first week of", "the last Friday of", "the second quarter of"."""
    start, end = hit.span()
    first, last = match.days
    number = -1 if read.value("last", start, end) is not None else read.value("ordinal_word|ordinal", start, end)
    if (last - first).days < 6 or number > 31:
        return None
    make = _nth(read, start, end, number)
    days = make(first, last)
    in_year = match.in_year
    if not first <= days[0] <= last:
        return None
    return replace(match, days=days, in_year=None if in_year is None else lambda year: make(*in_year(year)))


def _nth(read: SymbolText, start: int, end: int, number: int) -> Callable[[date, date], Days]:
    weekday, unit = read.value("weekday", start, end), read.value("unit|quarter|weekend", start, end)
    if weekday is None and unit == "weekend":
        weekday = 5
    if weekday is not None:
        wide = timedelta(1 if unit == "weekend" else 0)

        def name_days(first: date, last: date) -> Days:
            if number < 0:
                day = weekday_before(last + timedelta(1), weekday)
            else:
                day = weekday_after(first - timedelta(1), weekday) + timedelta(7 * (number - 1))
            return day, day + wide

        return name_days
    if unit in ("hour", "decade", "fortnight"):
        raise ValueError("no part of a date")

    def count_days(first: date, last: date) -> Days:
        length = 1 if unit == "day" else 7
        if unit in ("month", "quarter", "year"):
            begin = last if number < 0 else shifted(first, unit, number - 1)
            return unit_of(begin, unit)
        begin = last - timedelta(length - 1) if number < 0 else first + timedelta(length * (number - 1))
        return begin, begin + timedelta(length - 1)

    return count_days


def _day_of(read: SymbolText, match: DateMatch, hit: re.Match[str]) -> DateMatch | None:
    """ "The 15th of last month"."""
    first, last = match.days
    if not 27 <= (last - first).days <= 30:
        return None
    return replace(match, days=one_day(first.replace(day=read.values[hit.start()])), in_year=None)


def _season_of(read: SymbolText, match: DateMatch, hit: re.Match[str]) -> DateMatch | None:
    """ "The spring of last year"."""
    if not 364 <= (match.days[1] - match.days[0]).days <= 365:
        return None
    return replace(match, days=season_days(read.values[hit.start()], match.days[0].year), in_year=None)


def _third(read: SymbolText, match: DateMatch, hit: re.Match[str]) -> DateMatch | None:
    which, in_year = read.values[hit.start()], match.in_year
    if match.days[1] - match.days[0] < timedelta(6):
        return None
    remade = None if in_year is None else lambda year: thirds(in_year(year), which)
    return replace(match, days=thirds(match.days, which), exact=False, in_year=remade)


def _clip(read: SymbolText, match: DateMatch, hit: re.Match[str]) -> DateMatch | None:
    """ "Earlier this month": not after the day of saying."""
    first, last = match.days
    if not first <= read.said <= last:
        return None
    return replace(match, days=(first, read.said) if read.values[hit.start()] < 0 else (read.said, last), exact=False)


def _since(read: SymbolText, match: DateMatch, hit: re.Match[str]) -> DateMatch | None:
    return replace(match, days=(match.days[0], read.said), in_year=None) if match.days[0] <= read.said else None


_LONG: Final = timedelta(27)


def _earlier(read: SymbolText, match: DateMatch, hit: re.Match[str]) -> DateMatch | None:
    """ "Where did I live until 2026?", "before June?" ask for the time before it began; "must I" for that to come."""
    first, last = match.days
    if read.question and first > read.said and read.asks_ahead:
        return replace(match, days=(read.said, first), exact=False, in_year=None)
    told = first <= read.said and (last - first >= _LONG or read.said - first >= LATELY)
    if not (read.question and told and first > LONG_AGO):
        return None
    return replace(match, days=(LONG_AGO, first - timedelta(1)), exact=False, in_year=None)


def _until(read: SymbolText, match: DateMatch, hit: re.Match[str]) -> DateMatch | None:
    if before := _earlier(read, match, hit):
        return before
    return replace(match, days=(read.said, match.days[1]), in_year=None) if match.days[1] >= read.said else None


_LEAD_MEANING: Final[dict[str, _Leaning]] = {
    "offset": _offset,
    "part": _part,
    "day_of": _day_of,
    "season_of": _season_of,
    "third": _third,
    "clipped": _clip,
    "since": _since,
    "until": _until,
    "earlier": _earlier,
}

_RANGE_GAP: Final = compile_tokens(r"<hyphen|to|until><the|on>*")
_PAIR_GAP: Final = compile_tokens(r"<and><the>?")
_LEANING_GAP: Final = compile_tokens(r"<of|from|on|in|the>*")


def _join_pair(read: SymbolText, left: DateMatch, right: DateMatch) -> DateMatch | None:
    """Join two neighbours to a date. None if they stay apart."""
    gap = read.symbols[left.end : right.start]
    opened = left.start > 0 and (
        read.is_token(left.start - 1, "from")
        or (left.start > 1 and read.is_token(left.start - 2, "from") and read.is_token(left.start - 1, "the"))
    )
    if _RANGE_GAP.fullmatch(gap) or (opened and _PAIR_GAP.fullmatch(gap)):
        return _range(read, left, right, left.start - opened)
    if _LEANING_GAP.fullmatch(gap):
        return _within(left, right) or _within(right, left)
    return None


def _range(read: SymbolText, left: DateMatch, right: DateMatch, start: int) -> DateMatch | None:
    first, last = left, right
    if last.in_year is None and first.in_year is not None:
        made = [try_year(first.in_year, last.days[0].year - back) for back in (0, 1)]
        first = next((replace(first, days=days) for days in made if days and days[0] <= last.days[1]), first)
    if last.days[1] < first.days[0]:
        if last.in_year is not None and (days := try_year(last.in_year, first.days[0].year + 1)):
            last = replace(last, days=days)
        elif last.days[0] == last.days[1] and last.days[1] + timedelta(7) > first.days[0]:
            last = replace(last, days=one_day(last.days[1] + timedelta(7)))  # "from Friday to Monday"
    if last.days[1] < first.days[0]:
        return None
    return DateMatch(start, right.end, (first.days[0], last.days[1]), left.exact and right.exact)


def _within(small: DateMatch, large: DateMatch) -> DateMatch | None:
    """ "May last year", "Friday last week": the small date inside the large date."""
    start, end = min(small.start, large.start), max(small.end, large.end)
    length = (large.days[1] - large.days[0]).days
    if small.in_year is not None and large.in_year is None and 364 <= length <= 365:
        days = try_year(small.in_year, large.days[0].year)
        return None if days is None else DateMatch(start, end, days, small.exact)
    if length == 6 and small.weekday:
        day = large.days[0] + timedelta((small.days[0] - large.days[0]).days % 7)
        return DateMatch(start, end, one_day(day), small.exact)
    return None


def spans_in(text: str, said: datetime, language: str | None = None) -> tuple[DaySpan, ...]:
    """Return the days that a text names, in order of appearance.

    ``said``: when it was said; "yesterday" is the day before. Only the date counts, in the zone that it comes in.
    ``language``: "en", "de", "fr", "es", "ja" or "zh"; None tells it from the text.
    A date without a year is the nearest that fits the tense: "in May" said in March is ten months ago in "I was there
    in May" and in two months in "I will be there in May".
    """
    return read_days(text, said.date(), language, question=False) if may_name_days(text) else ()


def asked_spans(
    question: str, now: datetime, language: str | None = None, *, since: date | None = None
) -> tuple[DaySpan, ...]:
    """Return the days that a question asks about; "When did ...?" names none.

    ``now``: when it is asked. A date without a year is the last such date, unless the question is of the future; with
    ``since``, the day of the oldest memory, it stands for that date in each year from then on, and in the next year
    unless the question is of the past.
    """
    return read_days(question, now.date(), language, question=True, since=since) if may_name_days(question) else ()


_WORD: Final = re.compile(r"\w+")
_DIGIT_SIGN: Final = re.compile(r"[0-9](?:[0-9]{3}|[./–-][0-9]|st\b|nd\b|rd\b|th\b|er\b|0s\b|\.)", re.IGNORECASE)


def may_name_days(text: str) -> bool:
    """Whether a text can name a day: a cheap look that never contradicts the grammar."""
    if text.isascii():
        words = text.lower().translate(_TO_BLANKS).split()
        return not GATE.isdisjoint(words) or _DIGIT_SIGN.search(text) is not None
    if not GATE.isdisjoint(_WORD.findall(lower_in_place(text))) or _DIGIT_SIGN.search(text) is not None:
        return True
    return GLUED_SIGN.search(text) is not None


_TO_BLANKS: Final = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}


def read_days(
    text: str, said: date, language: str | None, question: bool, since: date | None = None
) -> tuple[DaySpan, ...]:
    years = _years(said, since) if since else None
    is_glued = not text.isascii() and GLUED_SIGN.search(text) is not None
    spans = glued_spans(text, said, years and add_next(years, text)) if is_glued else ()
    if spans:
        spans = ask_of_earlier(text, spans, said) if question else drop_habits(text, spans)
    if language in ("ja", "zh"):
        return spans
    read = SymbolText(text, said, language, question)
    if not _has_anchor(read.symbols):
        return spans
    found = join_dates(read, find_dates(read))
    if years is not None:
        found = [other for item in found for other in _in_each_year(item, read.add_next(years, item.start, item.end))]
    named = (DaySpan(*item.days, read.text_of(item.start, item.end), item.exact) for item in found)
    return (*spans, *(named if question else drop_habits(text, named)))


_LETTERS_OF_DATES: Final = frozenset(letters(f"{ANCHORS}|year|numeric_date|day_pair|year_pair|ordinal"))
_DAY_OF_MONTH: Final = letters("digits") + letters("period")


def _has_anchor(symbols: str) -> bool:
    return not _LETTERS_OF_DATES.isdisjoint(symbols) or _DAY_OF_MONTH in symbols


def _years(said: date, since: date) -> range:
    """Return the years until now for which a date without a year stands."""
    return range(max(since.year, said.year - 49), said.year + 1)


def _in_each_year(match: DateMatch, years: range) -> list[DateMatch]:
    if match.in_year is None:
        return [match]
    made = [(year, try_year(match.in_year, year)) for year in years]
    return [replace(match, days=days) for _, days in made if days is not None] or [match]


def encode(spans: Sequence[DaySpan]) -> bytes:
    """Encode up to four spans as days since 1970 in little-endian int32. The widest are left out."""
    pairs = list(
        dict.fromkeys((span.first.toordinal() - EPOCH_DAY, span.last.toordinal() - EPOCH_DAY) for span in spans)
    )
    kept = set(sorted(pairs, key=lambda pair: pair[1] - pair[0])[:MAX_STORED_SPANS])
    return b"".join(struct.pack("<ii", *pair) for pair in pairs if pair in kept)


def decode(stored: bytes) -> tuple[tuple[date, date], ...]:
    """What :func:`encode` made."""
    return tuple(
        (date.fromordinal(first + EPOCH_DAY), date.fromordinal(last + EPOCH_DAY))
        for first, last in struct.iter_unpack("<ii", stored)
    )


class SymbolText:
    """A text as tokens and their values, with the day of saying. A known phrase is a single word."""

    def __init__(self, text: str, said: date, language: str | None, question: bool) -> None:
        self.text = text
        self.said = said
        self.question = question
        self.words: list[str] = _TOKEN.findall(lower_in_place(text))
        self.language = LANGUAGES.get(language or language_of(text), _ENGLISH)
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
    def is_lower(self) -> bool:
        """Whether no letter of the text is large."""
        return self.text.islower()

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """The begin and end of each word. Only white space is between words, so the next hit is the word."""
        lower, places, end = lower_in_place(self.text), [], 0
        for word in self.words:
            first, *rest = word.split(" ") if " " in word else (word,)
            start = lower.index(first, end)
            end = start + len(first)
            for part in rest:
                end = lower.index(part, end) + len(part)
            places.append((start, end))
        return places

    def is_token(self, place: int, names: str) -> bool:
        """Whether a word is any of some tokens, named as in :func:`memwarden.text.dates.symbols.letters`."""
        return self.symbols[place] in letters(names)

    def value(self, names: str, start: int, end: int) -> Any:
        """Return the value of the first word that is any of some tokens. None if there is none."""
        wanted = letters(names)
        for i in range(start, end):
            if self.symbols[i] in wanted:
                return self.values[i]
        return None

    def tense(self, start: int, end: int, *, yearless: bool = False) -> int:
        """Return -1 in a sentence of the past, 1 of the future, 0 where nothing tells.

        yearless: whether a year is chosen. A question for what has to be then is of the future.
        """
        told, until = self._told_tense(start, end)
        if told or not self.question:
            return told or int(until)
        return 1 if yearless and (self.asks_ahead or (until and self._is_now(*self._clause(start, end)))) else -1

    def add_next(self, years: range, start: int, end: int) -> range:
        """Return years of a date and the next one, unless the sentence is of the past.

        "Where do we go in June" and "what is booked for June" are not.
        """
        booked = not self.language.booked.isdisjoint(self.words[slice(*self._clause(start, end))])
        is_past = self._told_tense(start, end)[0] < 0 and not booked
        return years if is_past else range(years.start, years.stop + 1)

    def _clause(self, start: int, end: int) -> tuple[int, int]:
        """Return the bounds of the clause of words."""
        low, high = start, end
        while low > max(start - MAX_CLAUSE_WORDS, 0) and self.symbols[low - 1] not in _ENDS:
            low -= 1
        while high < min(end + MAX_CLAUSE_WORDS, len(self.words)) and self.symbols[high] not in _ENDS:
            high += 1
        return low, high

    def _told_tense(self, start: int, end: int) -> tuple[int, bool]:
        """Return the tense that the words of a clause tell, 0 for none, and whether it says "until"."""
        low, high = self._clause(start, end)
        places = [*range(low, start), *range(end, high)]
        if any(self.words[n] in self.language.future for n in places) or self._lies_ahead(low, start, high):
            return 1, False
        untils = [n for n in range(low, start) if self.is_token(n, "until")]
        until = bool(untils) and untils[-1] in self._right_before(low, start)
        if untils and not (until or self.question) and start - untils[-1] > _MAX_WORDS_BEFORE + 1:
            until, places = True, [n for n in places if n >= untils[-1]]  # "I got 600 till the loan comes on 12 May"
        if any(self.words[n] in self.language.past for n in places) or self._ends_as_past(places, until):
            return -1, until
        return (-1 if self._has_perfect(places) else 0), until

    @cached_property
    def asks_ahead(self) -> bool:
        """Whether it says what has to be: "What must I do before December?"."""
        return self.language.duty.search(self.text) is not None

    def _is_now(self, low: int, high: int) -> bool:
        """Whether an "is" stands there; "est-ce que" says nothing of when."""
        words = [*self.words[low:high], ""]
        return any(word in self.language.present and after != "-" for word, after in pairwise(words))

    def _has_perfect(self, places: list[int]) -> bool:
        """Whether "haben" has its participle: "haben wir im Juni gemacht", but not "haben wir im Juni vor"."""
        words = [self.words[place] for place in places]
        return not self.language.perfect.isdisjoint(words) and any(map(self.language.participles.fullmatch, words))

    def _ends_as_past(self, places: list[int], until: bool) -> bool:
        """Whether a word ends as verbs of the past; "closed until June", "is it closed until June" are of now."""
        language = self.language
        endings = language.past_endings + (() if self.question else language.past_or_present_endings)
        if not endings:
            return False
        ended = [place for place in places if self.words[place].endswith(endings)]
        if until:
            present = self.language.present
            ended = [n for n in ended if n > places[0] and present.isdisjoint(self.words[max(n - 3, places[0]) : n])]
        return bool(ended)

    def _lies_ahead(self, low: int, start: int, high: int) -> bool:
        """Whether something is on a date, or was booked for it: "booked a flight for 14 July"."""
        if self.question:
            return False
        before = self._right_before(low, start)
        booked = not self.language.booked.isdisjoint(self.words[low:high])
        said_for = any(self.is_token(place, "for") for place in before)
        whole = self.words[low:high]
        to_come = not self.language.appointment.isdisjoint(whole) and self.language.had.isdisjoint(whole)
        return to_come or (booked and said_for) or any(self.words[place] in self.language.present for place in before)

    def _right_before(self, low: int, start: int) -> range:
        return range(max(low, start - _MAX_WORDS_BEFORE), start)

    def text_of(self, start: int, end: int) -> str:
        return self.text[self.places[start][0] : self.places[end - 1][1]]


_TOKEN: Final = re.compile(r"[0-9]+(?:[./–-][0-9]+)+|\w+|[^\w\s]")
_DIGIT: Final = re.compile(r"[0-9]")
# "for the", "is on": the words right before a date that tell what it is to a sentence.
_MAX_WORDS_BEFORE: Final = 2
_DIGITS: Final = frozenset("0123456789")
_ENDS: Final = letters("period|stop")
_UNKNOWN: Final = (TOKENS["unknown"], 0)
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


def _of_digits(word: str, language: TimeWords) -> tuple[str, Any]:
    """Return the meaning of a word that begins with a digit."""
    if word.isascii() and word.isdigit():
        if len(word) <= 2:
            return TOKENS["digits"], int(word)
        is_year = len(word) == 4 and 1800 <= int(word) < 2200
        return TOKENS["year" if is_year else "large_number"], int(word[:6])
    if hit := _ORDINAL.fullmatch(word):
        return TOKENS["ordinal"], int(hit[1])
    if hit := _DECADE.fullmatch(word):
        return TOKENS["decade"], int(hit[2]) * 10 + 100 * int(hit[1] or 0)
    return _of_numbers(word, language)


# Python reads no number of more than 4,300 digits.
_PARTS: Final = re.compile(r"([0-9]{1,9})([./–-])([0-9]{1,9})(?:\2([0-9]{1,9}))?")


def _of_numbers(word: str, language: TimeWords) -> tuple[str, Any]:
    """Return the meaning of "2023-05-08", "8.5.2023", "3-7", "2019-2021"."""
    hit = _PARTS.fullmatch(word)
    if hit is None:
        return _UNKNOWN
    first, sign, second, third = int(hit[1]), hit[2], int(hit[3]), hit[4]
    if third is None:
        if sign in "-–" and len(hit[1]) == 4 and len(hit[3]) == 4 and first < second:
            return TOKENS["year_pair"], (first, second)
        if sign in "-–" and 1 <= first < second <= 31:
            return TOKENS["day_pair"], (first, second)
        if sign == "-" and len(hit[1]) == 4 and len(hit[3]) == 2:
            return TOKENS["numeric_date"], (first, second, None)
        if sign in "./" and len(hit[3]) == 4:
            return TOKENS["numeric_date"], (second, first, None)
        if sign == "." and language.day_first and language is not _ENGLISH:
            return TOKENS["numeric_date"], (None, second, first)
        return (TOKENS["numeric_date"], (None, *_month_and_day(first, second, language))) if sign == "/" else _UNKNOWN
    if len(hit[1]) == 4:
        return TOKENS["numeric_date"], (first, second, int(third))
    if len(third) not in (2, 4):
        return _UNKNOWN
    month, day = (second, first) if sign == "." else _month_and_day(first, second, language)
    return TOKENS["numeric_date"], (int(third) if len(third) == 4 else _century(int(third)), month, day)


def _month_and_day(first: int, second: int, language: TimeWords) -> tuple[int, int]:
    return (second, first) if language.day_first or first > 12 else (first, second)


def _century(year: int) -> int:
    return year + (1900 if year >= 70 else 2000)


_ENGLISH: Final = LANGUAGES["en"]


def asks_only_for_days(text: str, spans: Iterable[DaySpan], names: Iterable[str] = ()) -> bool:
    """Whether a question asks for whatever was on the days that it names. names: of those who speak."""
    named = {span.text for span in spans}
    if not named:
        return False
    for part in sorted({*named, *names}, key=lambda part: (-len(part), part)):
        text = re.sub(re.escape(part), " ", text, flags=re.IGNORECASE)
    whatever = pattern_of("whatever")
    if not any(map(str.isalnum, whatever.sub(" ", text))):
        return True
    # "hey, could you tell me what happened in May", but not "thanks, see you on Monday" or "should I go on Monday".
    rest = whatever.sub(" ", pattern_of("request_openers").sub(" ", text))
    if pattern_of("of_things").search(text) is None or not asks_in_a_clause(text):
        return False
    return not content_terms(rest) and pattern_of("of_manner").search(rest) is None
