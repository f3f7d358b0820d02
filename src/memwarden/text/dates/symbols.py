"""A text as tokens of time with their values: what :mod:`memwarden.text.dates.grammar` reads."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, Final

from memwarden.text.dates.calendar import Days
from memwarden.text.dates.tokens import TOKENS, letters
from memwarden.text.dates.words import LANGUAGES, Phrases, TimeWords
from memwarden.text.language import language_of

MAX_CLAUSE_WORDS: Final = 60
"""Words before and after a date that tell its tense: a text without full stops must not be read anew for each date."""


@dataclass(frozen=True, slots=True)
class DateMatch:
    """Days found in the tokens ``start`` to ``end`` (the first that is no longer part).

    ``in_year`` makes the days of another year and is there as long as the text names no year.
    """

    start: int
    end: int
    days: Days
    exact: bool = True
    in_year: Callable[[int], Days] | None = None
    weekday: bool = False


class SymbolText:
    """A text as tokens and their values, with the day of saying; a known phrase is a single word."""

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
        """The begin and end of each word; only white space is between words, so the next hit is the word."""
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
        """Whether a word is any of some tokens, named as in :func:`memwarden.text.dates.tokens.letters`."""
        return self.symbols[place] in letters(names)

    def value(self, names: str, start: int, end: int) -> Any:
        """Return the value of the first word that is any of some tokens; None if there is none."""
        wanted = letters(names)
        for i in range(start, end):
            if self.symbols[i] in wanted:
                return self.values[i]
        return None

    def tense(self, start: int, end: int) -> int:
        """Return -1 in a sentence of the past, 1 of the future, 0 where nothing tells."""
        low, high = start, end
        while low > max(start - MAX_CLAUSE_WORDS, 0) and self.symbols[low - 1] not in _ENDS:
            low -= 1
        while high < min(end + MAX_CLAUSE_WORDS, len(self.words)) and self.symbols[high] not in _ENDS:
            high += 1
        around = [*self.words[low:start], *self.words[end:high]]
        if not self.language.future.isdisjoint(around):
            return 1
        endings = self.language.past_endings
        if not self.language.past.isdisjoint(around) or (endings and any(w.endswith(endings) for w in around)):
            return -1
        return -1 if self.question else 0

    def text_of(self, start: int, end: int) -> str:
        return self.text[self.places[start][0] : self.places[end - 1][1]]


_TOKEN: Final = re.compile(r"[0-9]+(?:[./–-][0-9]+)+|\w+|[^\w\s]")
_DIGIT: Final = re.compile(r"[0-9]")
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


_PARTS: Final = re.compile(r"([0-9]+)([./–-])([0-9]+)(?:\2([0-9]+))?")


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


def lower_in_place(text: str) -> str:
    """Lower case, each character in its place."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
