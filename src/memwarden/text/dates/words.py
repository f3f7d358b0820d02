"""The words of time of each language, and the tokens that they stand for (lexicon/time_words.toml)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from memwarden.text.dates.tokens import TOKENS, letters
from memwarden.text.lexicon import load_lexicon, load_months, load_weekdays

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
