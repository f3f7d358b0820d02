"""A text as tokens of time with their values: what :mod:`memwarden.text.dates.grammar` reads."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from memwarden.text.dates.calendar import Days
from memwarden.text.lexicon import LanguageLexicon, languages, load_lexicon
from memwarden.text.update_words import make_word_pattern

# The letter of each token.
TOKENS: Final = {
    # Of the word lists. The values are said there (the table dates.words of a lexicon).
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


# The letter of a token and its value.
Meaning = tuple[str, Any]
# By the first word of a phrase the others, the longest phrase first.
Phrases = Mapping[str, tuple[list[str], ...]]

# Every rule of the grammar needs any of these tokens, or a number that looks like a date.
ANCHORS: Final = (
    "month|weak_month|weekday|weak_weekday|weekdays|unit|quarter|weekend|near_day|season|weak_season|holiday|"
    "numbered_quarter|decade|part_of_day"
)


@dataclass(frozen=True, slots=True)
class TimeWords:
    """The words of time of a language.

    Attributes:
        words: the meaning of a word, a sign or a phrase (with blanks). phrases: those of several words.
        future, past: words that tell the tense of a sentence. past_endings: endings of verbs in the past.
        past_or_present_endings: endings that verbs of both have, which tell nothing in a question.
        perfect: verbs that tell the past beside a participle: "haben".
        booked: words for what was done for a day to come. present: forms of "is".
        appointment: words for what lies ahead, with or without "for"; had: words that say that it does not.
        duty: words that say what has to be. day_first: whether 8/5/2023 is in May.
    """

    words: Mapping[str, Meaning]
    phrases: Phrases
    future: frozenset[str]
    past: frozenset[str]
    past_endings: tuple[str, ...]
    past_or_present_endings: tuple[str, ...]
    perfect: frozenset[str]
    participles: re.Pattern[str]
    booked: frozenset[str]
    appointment: frozenset[str]
    had: frozenset[str]
    present: frozenset[str]
    duty: re.Pattern[str]
    day_first: bool = True


_SIGNS: Final[dict[str, Meaning]] = {
    **{sign: (TOKENS[name], 0) for sign, name in ((",", "comma"), (".", "period"), ("-", "hyphen"), (":", "colon"))},
    **dict.fromkeys("–—", (TOKENS["hyphen"], 0)),
    **dict.fromkeys("!?;()\n", (TOKENS["stop"], 0)),
    **dict.fromkeys("$€£¥#", (TOKENS["money"], 0)),
    **{f"q{number}": (TOKENS["numbered_quarter"], number) for number in range(1, 5)},
}


def _load_language(code: str) -> TimeWords:
    lexicon = load_lexicon(code)
    table = lexicon.dates
    words: dict[str, Meaning] = dict(_SIGNS)
    phrases: dict[str, list[list[str]]] = {}
    for text, meaning in (
        *_calendar(lexicon),
        *_listed_words(table["words"]),
    ):
        for form in (_fold(text), text):  # people leave accents out
            first, *rest = form.split(" ")
            if rest and rest not in phrases.setdefault(first, []):
                phrases[first].append(rest)
            if form == text or form not in words:
                words[form] = meaning
    return TimeWords(
        words=words,
        phrases={first: tuple(sorted(found, key=len, reverse=True)) for first, found in phrases.items()},
        future=frozenset(table.get("future", "").split()),
        past=frozenset(table.get("past", "").split()),
        past_endings=tuple(table.get("past_endings", "").split()),
        past_or_present_endings=tuple(table.get("past_or_present_endings", "").split()),
        perfect=frozenset(table.get("perfect", "").split()),
        participles=re.compile("|".join(map(make_word_pattern, table.get("participles", "").split())) or "(?!)"),
        booked=frozenset(table.get("booked", "").split()),
        appointment=frozenset(table.get("appointment", "").split()),
        had=frozenset(table.get("had", "").split()),
        present=frozenset(table.get("is", "").split()),
        duty=re.compile(rf"\b(?:{'|'.join(table.get('duty', '(?!)').split())})\b".replace("_", " "), re.IGNORECASE),
        day_first=table.get("day_first", True),
    )


def _calendar(lexicon: LanguageLexicon) -> Iterator[tuple[str, Meaning]]:
    yield from ((name, (TOKENS["month"], number)) for number, name in enumerate(lexicon.words.get("months", ()), 1))
    yield from ((name, (TOKENS["weekday"], number)) for number, name in enumerate(lexicon.words.get("weekdays", ())))


def _listed_words(table: Mapping[str, str]) -> Iterator[tuple[str, Meaning]]:
    """Yield the words of ``month = "jan=1 feb=2"``. Without a value a word has the next."""
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


LANGUAGES: Final[Mapping[str, TimeWords]] = {
    code: _load_language(code) for code in languages() if load_lexicon(code).dates
}


def _gate() -> Iterator[str]:
    anchors = letters(ANCHORS)
    for language in LANGUAGES.values():
        for form, (letter, _) in language.words.items():
            if letter in anchors:
                # The longest word of a phrase is its rarest: "new year's eve" must not let every "new" pass.
                yield max(form.split(" "), key=len)


# A text with none of these words, and without digits that look like a date, is read no further.
GATE: Final = frozenset(_gate())


# Words before and after a date that tell its tense: a text without full stops must not be read anew for each date.
MAX_CLAUSE_WORDS: Final = 60


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
