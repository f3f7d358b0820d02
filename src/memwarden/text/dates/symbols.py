"""A text as tokens of time with their values: what :mod:`memwarden.text.dates.grammar` reads."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property
from typing import Any, Final

from memwarden.text.dates.calendar import Days
from memwarden.text.language import language_of
from memwarden.text.lexicon import load_lexicon, load_months, load_weekdays

TOKENS: Final = {
    # Of the word lists; the values are said there (lexicon/time_words.toml).
    "month": "M",  # 1..12
    "weak_month": "m",  # is a word more often: "may"
    "weekday": "W",  # 0..6, Monday is 0
    "weak_weekday": "w",  # "sun"
    "weekdays": "V",  # a habit, but for "two Sundays ago"
    "unit": "U",  # hour, day, week, fortnight, month, year, decade
    "quarter": "B",
    "weekend": "C",
    "part_of_day": "a",
    "near_day": "D",  # days from the day of saying
    "season": "Z",
    "weak_season": "q",  # "spring", "fall"
    "holiday": "H",
    "decade": "K",  # 20 for the twenties
    "last": "L",  # how many back; before its noun
    "last_after": "l",
    "next": "X",  # how many ahead; before its noun
    "next_after": "r",
    "this": "T",
    "other": "g",  # "the other day"
    "ago": "A",  # -1 ago, 1 from now
    "ago_before": "P",  # before its number: "vor", "hace"
    "third": "E",  # -1 early, 0 mid, 1 late
    "earlier": "e",  # -1 earlier, 1 later
    "number": "n",
    "few": "v",  # least and most
    "ordinal_word": "s",
    "from": "f",
    "to": "c",
    "and": "&",
    "since": "S",
    "until": "k",
    "before": "b",
    "after": "z",
    "in": "i",
    "on": "u",
    "of": "o",
    "the": "h",
    "for": "j",
    "every": "*",
    "unknown": "x",
    # Of digits and signs.
    "digits": "d",  # 1 or 2 digits
    "large_number": "N",
    "year": "y",
    "ordinal": "t",  # "15th"
    "numbered_quarter": "Q",  # "Q3"
    "day_pair": "R",  # "3-7"
    "year_pair": "Y",  # "2019-2021"
    "numeric_date": "G",  # year, month, day; None for what is left open
    "comma": ",",
    "period": ".",
    "hyphen": "-",
    "stop": ";",  # ends a sentence, or opens an aside
    "money": "$",
    "colon": ":",
}
"""The letter of each token."""
_NAMES: Final = re.compile(r"(?<!\?P)<([a-z_|]+)>")


@cache
def letters(names: str) -> str:
    """Return the letters of tokens: ``letters("month|weekday")``."""
    return "".join(TOKENS[name] for name in names.split("|"))


def compile_tokens(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of tokens to an expression over their letters."""
    return re.compile(_NAMES.sub(_letter_class, re.sub(r"\s+", "", pattern)))


def _letter_class(hit: re.Match[str]) -> str:
    signs = letters(hit[1])
    return re.escape(signs) if len(signs) == 1 else f"[{re.escape(signs)}]"


Meaning = tuple[str, Any]
"""The letter of a token and its value."""
Phrases = Mapping[str, tuple[list[str], ...]]
"""By the first word of a phrase the others, the longest phrase first."""

ANCHORS: Final = (
    "month|weak_month|weekday|weak_weekday|weekdays|unit|quarter|weekend|near_day|season|weak_season|holiday|"
    "numbered_quarter|decade|part_of_day"
)
"""Every rule of the grammar needs any of these tokens, or a number that looks like a date."""


@dataclass(frozen=True, slots=True)
class TimeWords:
    """The words of time of a language.

    Attributes:
        words: the meaning of a word, a sign or a phrase (with blanks). phrases: those of several words.
        future, past: words that tell the tense of a sentence. past_endings: endings of verbs in the past.
        day_first: whether 8/5/2023 is in May.
    """

    words: Mapping[str, Meaning]
    phrases: Phrases
    future: frozenset[str]
    past: frozenset[str]
    past_endings: tuple[str, ...]
    day_first: bool = True


_SIGNS: Final[dict[str, Meaning]] = {
    **{sign: (TOKENS[name], 0) for sign, name in ((",", "comma"), (".", "period"), ("-", "hyphen"), (":", "colon"))},
    **dict.fromkeys("–—", (TOKENS["hyphen"], 0)),
    **dict.fromkeys("!?;()\n", (TOKENS["stop"], 0)),
    **dict.fromkeys("$€£¥#", (TOKENS["money"], 0)),
    **{f"q{number}": (TOKENS["numbered_quarter"], number) for number in range(1, 5)},
}


def _load_language(code: str) -> TimeWords:
    table = load_lexicon("time_words")[code]
    words: dict[str, Meaning] = dict(_SIGNS)
    phrases: dict[str, list[list[str]]] = {}
    for text, meaning in (*_calendar(code), *_listed_words(table["words"])):  # the lists may make a month a weak month
        for form in (_fold(text), text):  # people leave accents out
            first, *rest = form.split(" ")
            if rest and rest not in phrases.setdefault(first, []):
                phrases[first].append(rest)
            if form == text or form not in words:
                words[form] = meaning
    return TimeWords(
        words=words,
        phrases={first: tuple(sorted(found, key=len, reverse=True)) for first, found in phrases.items()},
        future=frozenset(table["future"].split()),
        past=frozenset(table["past"].split()),
        past_endings=tuple(table["past_endings"].split()),
        day_first=table.get("day_first", True),
    )


def _calendar(code: str) -> Iterator[tuple[str, Meaning]]:
    yield from ((name, (TOKENS["month"], number)) for number, name in enumerate(load_months(code), 1))
    yield from ((name, (TOKENS["weekday"], number)) for number, name in enumerate(load_weekdays(code)))


def _listed_words(table: Mapping[str, str]) -> Iterator[tuple[str, Meaning]]:
    """Yield the words of ``month = "jan=1 feb=2"``; without a value a word has the next."""
    for token, listing in table.items():
        waiting: list[str] = []
        for entry in listing.split():
            word, _, value = entry.partition("=")
            waiting.append(word.replace("_", " "))
            if value:
                yield from ((item, (TOKENS[token], _value(value))) for item in waiting)
                waiting = []
        yield from ((item, (TOKENS[token], 0)) for item in waiting)


def _value(text: str) -> Any:
    if ".." in text:
        least, most = text.split("..")
        return int(least), int(most)
    return int(text) if text.lstrip("-").isdigit() else text


def _fold(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


LANGUAGES: Final[Mapping[str, TimeWords]] = {code: _load_language(code) for code in ("en", "de", "fr", "es")}


def _gate() -> Iterator[str]:
    anchors = letters(ANCHORS)
    for language in LANGUAGES.values():
        for form, (letter, _) in language.words.items():
            if letter in anchors:
                # The longest word of a phrase is its rarest: "new year's eve" must not let every "new" pass.
                yield max(form.split(" "), key=len)


GATE: Final = frozenset(_gate())
"""A text with none of these words, and without digits that look like a date, is read no further."""


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
        """Whether a word is any of some tokens, named as in :func:`memwarden.text.dates.symbols.letters`."""
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
