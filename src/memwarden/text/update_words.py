"""Words that announce an update: what is over, changed, corrected or now so. Listed by language in the lexicon."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final, NamedTuple

from memwarden.text.language import language_of, normalize_text
from memwarden.text.lexicon import languages, load_lexicon

# Languages in scripts without spaces.
GLUED_LANGUAGES: Final = ("ja", "zh")
# Roles of words that announce a change.
CHANGES: Final = ("over", "changed", "scaled", "corrected", "moved", "hired", "parted", "left")
# Maximum characters read. The change in a longer text is one of many things that it says.
MAX_CHARACTERS: Final = 300
# Words that may stand between the two parts of a phrase.
_BETWEEN: Final = r"((?:\s+[\w'’.-]+){0,4}?\s+)"
_BETWEEN_SIGNS: Final = r"([^，、。]{0,8}?)"
_SUFFIXES: Final = ("n't", "'")


@dataclass(frozen=True, slots=True)
class UpdateWords:
    """Words of a language, as :mod:`memwarden.text.lexicon` lists them.

    Attributes:
        patterns: by role. changes: all roles of :data:`CHANGES` in one pattern.
        numbers: digits of each number word.
    """

    patterns: Mapping[str, re.Pattern[str]]
    changes: re.Pattern[str]
    numbers: Mapping[str, str]


@cache
def load_update_words(language: str) -> UpdateWords | None:
    """Return the words of a language, None for a language without a list."""
    table = load_lexicon(language).updates if language in languages() else {}
    if not table:
        return None
    patterns = {role: compile_phrases(listed, language) for role, listed in table.items() if role != "numbers"}
    changes = compile_phrases(" | ".join(table[role] for role in CHANGES), language)
    numbers = {word: str(place) for place, word in enumerate(table["numbers"].split(), 1) if place > 1}
    return UpdateWords(patterns, changes, numbers)


def compile_phrases(listed: str, language: str, lists: Mapping[str, str] = MappingProxyType({})) -> re.Pattern[str]:
    """Return a pattern of phrases for normalised text, as the lexicon lists them: "a* b | c _ d".

    lists: expression of the words that "<name>" in a phrase is any of, by name.
    """
    glued = language in GLUED_LANGUAGES
    phrases = [normalize_text(phrase.strip()) for phrase in listed.split("|") if phrase.strip()]
    # A phrase in one piece is found before one of two parts, which may span what it is about.
    whole = sorted(phrases, key=lambda phrase: ("_" in phrase, -len(phrase)))
    parts = [_fill(_phrase(phrase, glued), lists) for phrase in whole]
    if glued:
        return re.compile("|".join(parts))
    # "n't" and "'d" are ends of words, all else begins one.
    begin = "|".join(part for part in parts if not part.startswith(_SUFFIXES))
    end = "|".join(part for part in parts if part.startswith(_SUFFIXES))
    sides = [rf"(?<!\w)(?:{begin})"] * bool(begin) + [rf"(?<=\w)(?:{end})"] * bool(end)
    return re.compile(rf"(?:{'|'.join(sides)})(?!\w)")


def _fill(pattern: str, lists: Mapping[str, str]) -> str:
    for name, words in lists.items():
        pattern = pattern.replace(f"<{name}>", f"(?:{words})")
    return pattern


def _phrase(phrase: str, glued: bool) -> str:
    if glued:
        return _BETWEEN_SIGNS.join(map(re.escape, phrase.split("_")))
    return _BETWEEN.join(r"\s+".join(make_word_pattern(word) for word in side.split()) for side in phrase.split("_"))


def make_word_pattern(word: str) -> str:
    """Return the expression of a word, in which "*" is any ending."""
    return re.escape(word).replace(r"\*", r"\w*")


class Announcement(NamedTuple):
    """What a text announces of known facts.

    Attributes:
        change: that something changed, ended or was wrong.
        now: that something holds now.
        doubt: a wish, a plan, the past or a guess.
    """

    change: bool
    now: bool
    doubt: bool


_WORD: Final = re.compile(r"\w+")
_DIGIT: Final = re.compile(r"\d")
_WORD_OF_PHRASE: Final = re.compile(r"\w+\*?")
# Roles of each part of an announcement, in its order.
_ANNOUNCED: Final = (CHANGES, ("now",), ("doubt",))


def read_announcement(text: str) -> Announcement:
    """Return what a text announces. Nothing in a language without a list."""
    language = language_of(text)
    phrases = _load_phrases(language)
    if phrases is None:
        return Announcement(False, False, False)
    plain = normalize_text(" ".join(text.split())[:MAX_CHARACTERS])
    parts = _find_announced(phrases, plain)
    *news, doubt = parts
    if doubt and any(news) and _DIGIT.search(plain):
        # "The wedding will be on 19 June instead" gives a day, and is no plan.
        words = load_update_words(language)
        scheduled = None if words is None else words.patterns.get("scheduled")
        parts = parts if scheduled is None else _find_announced(phrases, scheduled.sub(" ", plain))
    return Announcement(*parts)


def _find_announced(phrases: _PhrasesByWord, plain: str) -> list[bool]:
    parts = [False] * len(_ANNOUNCED)
    for part, pattern in phrases.find_likely(plain):
        parts[part] = parts[part] or pattern.search(plain) is not None
    return parts


class _PhrasesByWord:
    """Phrases of a language that announce something, by a word that each needs.

    One expression of all phrases takes 30 us for each text, and most texts have no such word.
    """

    def __init__(self, table: Mapping[str, str], language: str) -> None:
        """table: phrases by role, as the lexicon lists them."""
        self._language = language
        self._phrases: dict[str, dict[int, list[str]]] = {}
        for part, roles in enumerate(_ANNOUNCED):
            for phrase in (phrase for role in roles for phrase in table[role].split("|") if phrase.strip()):
                needed = _choose_needed(phrase, language)
                self._phrases.setdefault(needed, {}).setdefault(part, []).append(phrase)
        self._beginnings = tuple(word[:-1] for word in self._phrases if word.endswith("*"))
        self._patterns: dict[str, list[tuple[int, re.Pattern[str]]]] = {}

    def find_likely(self, plain: str) -> Iterator[tuple[int, re.Pattern[str]]]:
        """Yield the expressions of phrases that a normalised text may have, each with its part."""
        needed = self._phrases.keys() & {"", *_WORD.findall(plain)}
        needed.update(f"{begun}*" for begun in self._beginnings if begun in plain)
        for word in needed:
            if word not in self._patterns:
                listed = self._phrases[word].items()
                compiled = [(part, compile_phrases("|".join(some), self._language)) for part, some in listed]
                self._patterns[word] = compiled
            yield from self._patterns[word]


@cache
def _load_phrases(language: str) -> _PhrasesByWord | None:
    """Return the phrases that announce something; None for a language without a list."""
    table = load_lexicon(language).updates if language in languages() else {}
    return _PhrasesByWord(table, language) if table else None


def _choose_needed(phrase: str, language: str) -> str:
    """Return the longest whole word of a phrase, else the longest beginning ("dream*").

    It is "" for a phrase without words: in a script without spaces, and for the ending "n't" alone.
    """
    if language in GLUED_LANGUAGES:
        return ""
    words = _WORD_OF_PHRASE.findall(normalize_text(phrase.strip()).removeprefix("n't").replace("_", " "))
    return max(words, key=lambda word: (not word.endswith("*"), len(word)), default="")
