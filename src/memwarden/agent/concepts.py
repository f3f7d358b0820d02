"""Concepts that connect a goal to saved values in other words: "doctor" and "Hausarzt", dinner and allergies.

``concepts.toml`` holds the words of each concept, and the concepts that goals about a concept need. Pure functions; the
file is read on first use.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from memwarden.text.language import normalize_text
from memwarden.text.tokenizer import fold

_NOT_WORDS = re.compile(r"[\W_]+")
_NONE: frozenset[str] = frozenset()
# Minimum length of a beginning or ending in the file.
_MIN_AFFIX = 2


class Lexicon(NamedTuple):
    """Concepts by whole word, by beginning, by ending, and by the first word of a phrase.

    needs: needed concepts by the concept of a goal.
    """

    whole: Mapping[str, frozenset[str]]
    begins: Mapping[str, frozenset[str]]
    ends: Mapping[str, frozenset[str]]
    phrases: Mapping[str, Sequence[tuple[tuple[str, ...], str]]]
    needs: Mapping[str, frozenset[str]]


def plain_words(text: str) -> str:
    """Return a text in small letters without accents, its words separated by single spaces."""
    return _NOT_WORDS.sub(" ", fold(normalize_text(text))).strip()


def compile_pattern(words: str) -> re.Pattern[str]:
    """Return the pattern of a list of words, beginnings ("exam*"), endings ("*plan") and phrases ("on_call")."""
    entries = (re.escape(word).replace(r"\*", r"\w*").replace("_", " ").strip() for word in words.split())
    return re.compile(rf"\b(?:{'|'.join(sorted(set(entries), key=len, reverse=True))})\b")


@cache
def load_lexicon() -> Lexicon:
    """Read the lexicon from its file."""
    listed = tomllib.loads(Path(__file__).with_name("concepts.toml").read_text(encoding="utf-8"))
    tables: tuple[dict[str, set[str]], ...] = ({}, {}, {})
    phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for concept, words in listed["words"].items():
        for word in words.split():
            if "_" in word:
                first, *others = word.split("_")
                phrases.setdefault(first, []).append((tuple(others), concept))
            else:
                tables[1 if word.endswith("*") else 2 if word.startswith("*") else 0].setdefault(
                    word.strip("*"), set()
                ).add(concept)
    whole, begins, ends = ({word: frozenset(found) for word, found in table.items()} for table in tables)
    needs = {concept: frozenset(needed.split()) for concept, needed in listed["needs"].items()}
    return Lexicon(whole, begins, ends, phrases, needs)


def concepts_of(words: Sequence[str]) -> list[frozenset[str]]:
    """Return the concepts of each word of a plain text; a phrase counts for each of its words."""
    found = [_of_word(word) for word in words]
    for place, word in enumerate(words):
        for others, concept in load_lexicon().phrases.get(word, ()):
            if _goes_on(words, place + 1, others):
                for at in range(place, place + 1 + len(others)):
                    found[at] |= {concept}
    return found


@lru_cache(maxsize=4_096)
def needed_by(concepts: frozenset[str]) -> frozenset[str]:
    """Return the concepts that goals about these concepts usually need."""
    needs = load_lexicon().needs
    return frozenset().union(*(needs.get(concept, _NONE) for concept in concepts))


@lru_cache(maxsize=20_000)
def _of_word(word: str) -> frozenset[str]:
    return frozenset().union(*_hits(word))


def _hits(word: str) -> Iterator[frozenset[str]]:
    known = load_lexicon()
    yield known.whole.get(word, _NONE)
    for length in range(_MIN_AFFIX, len(word) + 1):
        yield known.begins.get(word[:length], _NONE)
        yield known.ends.get(word[-length:], _NONE)


def _goes_on(words: Sequence[str], place: int, others: Sequence[str]) -> bool:
    """Return whether a phrase's other words follow; the last may be a beginning."""
    if len(words) < place + len(others):
        return False
    return all(
        words[place + at].startswith(item[:-1]) if item.endswith("*") else words[place + at] == item
        for at, item in enumerate(others)
    )
