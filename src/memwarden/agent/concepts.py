"""Concepts that join a goal to saved values that share no word with it: "doctor" and "Hausarzt", dinner and allergies.

The words stand in ``concepts.toml``, and which concepts a goal about another one needs. Pure functions; the file is
read when it is first asked for.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from memwarden.text.tokenizer import fold, normal

_NOT_WORDS = re.compile(r"[\W_]+")
_NONE: frozenset[str] = frozenset()
_MIN_AFFIX = 2
"""No beginning or ending of a word in the file is shorter."""


class Lexicon(NamedTuple):
    """What words show: concepts by whole word, by beginning, by ending, and by the first word of a phrase.

    needs: concepts by the concept of a goal.
    """

    whole: Mapping[str, frozenset[str]]
    begins: Mapping[str, frozenset[str]]
    ends: Mapping[str, frozenset[str]]
    phrases: Mapping[str, Sequence[tuple[tuple[str, ...], str]]]
    needs: Mapping[str, frozenset[str]]


def plain_words(text: str) -> str:
    """Return a text in small letters without accents, its words set apart by one space each, none at the ends."""
    return _NOT_WORDS.sub(" ", fold(normal(text))).strip()


def compile_pattern(words: str) -> re.Pattern[str]:
    """Return the pattern of a list of words and beginnings ("exam*"), endings ("*plan") and phrases ("on_call")."""
    entries = (re.escape(word).replace(r"\*", r"\w*").replace("_", " ").strip() for word in words.split())
    return re.compile(rf"\b(?:{'|'.join(sorted(set(entries), key=len, reverse=True))})\b")


@cache
def load_lexicon() -> Lexicon:
    """Return what the file says."""
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
    """Return the concepts that each word of a plain text shows; those of a phrase at each word of it."""
    found = [_of_word(word) for word in words]
    for place, word in enumerate(words):
        for others, concept in load_lexicon().phrases.get(word, ()):
            if _goes_on(words, place + 1, others):
                for at in range(place, place + 1 + len(others)):
                    found[at] |= {concept}
    return found


@lru_cache(maxsize=4_096)
def needed_by(concepts: frozenset[str]) -> frozenset[str]:
    """Return what goals about these concepts need, as a rule."""
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
    """Whether a phrase's other words follow; the last one may be a beginning."""
    if len(words) < place + len(others):
        return False
    return all(
        words[place + at].startswith(item[:-1]) if item.endswith("*") else words[place + at] == item
        for at, item in enumerate(others)
    )
