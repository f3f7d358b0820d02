"""Sorts what is kept: its category and its kind, by the attributes of its typed statements and by its words."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from memwarden.categories import DEFAULT_CATEGORY
from memwarden.records import Kind
from memwarden.remember.ingest.messages import kind_of
from memwarden.statements.reader import StatementWeights
from memwarden.statements.statement import NONE, PackedStatement
from memwarden.statements.wording import relations_in
from memwarden.text.dates.recognizer import spans_in
from memwarden.text.language import UNSPACED_SIGN

# Of ten guesses of an attribute five fit, so all of them together are worth as much as two words.
OF_ATTRIBUTES: Final = 0.45
# What each sign is worth.
SIGN: Final[Mapping[str, float]] = {
    "preferences": 0.7,
    "goals": 0.7,
    "activity": 0.5,
    "tasks": 0.35,
    "projects": 0.6,
    "event": 0.45,
    "profile": 0.6,
    "relationships": 0.4,
}
# A second word of the same sort says less than the first.
AGAIN: Final = 0.4
# Whoever a clause is about who is neither the speaker nor somebody at work.
OF_OTHERS: Final = 0.45
OF_RELATIONS: Final = 0.35
# A day that was named, and that something changed.
OF_A_DAY: Final = 0.1
OF_A_CHANGE: Final = 0.25
# What a statement tells is an event most often: readers file 55 of 100 as one, maybe beside another category.
OF_ALL: Final = 0.15
_SELF: Final = "self"


class SortWords(NamedTuple):
    """The lists of ``sorts.toml``: attributes by name, and a pattern of words a category and a kind."""

    attributes: Mapping[str, str]
    categories: Mapping[str, re.Pattern[str]]
    kinds: Sequence[tuple[Kind, re.Pattern[str]]]


@cache
def sort_words() -> SortWords:
    """Return the lists, read once."""
    read = tomllib.loads(Path(__file__).with_name("sorts.toml").read_text(encoding="utf-8"))
    attributes = {
        " ".join(name.split()): category for category, names in read["attributes"].items() for name in names.split(";")
    }
    signs = read["signs"]
    names = dict.fromkeys([*read["words"], *signs])
    patterns = {name: _pattern(read["words"].get(name, ""), signs.get(name, "")) for name in names}
    kinds = [(Kind(name), _pattern(words, "")) for name, words in read["kinds"].items()]
    return SortWords(attributes, patterns, kinds)


def _pattern(words: str, signs: str) -> re.Pattern[str]:
    """A pattern that finds any of some words, and any of some signs."""
    joined = words.replace("\n", "")
    parts = [rf"(?<!\w)(?:{joined})(?!\w)"] if joined else []
    # Japanese and Chinese words stand in a row of letters.
    unspaced = [word for word in joined.split("|") if UNSPACED_SIGN.search(word)]
    return re.compile("|".join([*parts, *unspaced, *([signs] if signs else [])]), re.IGNORECASE)


def category_of(
    words: str,
    at: datetime,
    told: PackedStatement | None = None,
    weights: StatementWeights | None = None,
    asked: PackedStatement | None = None,
) -> str:
    """Return the category that fits words best.

    told: the statement of them that is surest, where one was read. asked: that of the question that they answer.
    """
    lists = sort_words()
    score = defaultdict[str, float](float, {DEFAULT_CATEGORY: 0.0})
    if told is not None and weights is not None:
        for name, worth in _told_by(told, weights, lists):
            score[name] += worth
    if asked is not None and weights is not None:
        for name, worth in _by_attributes(asked, weights, lists):
            score[name] += worth
    for name, pattern in lists.categories.items():
        found = len({hit[0].casefold() for hit in pattern.finditer(words)})
        score[name] += SIGN[name] * (1 + AGAIN * min(found - 1, 2)) if found else 0.0
    if relations_in(words):
        score["relationships"] += OF_RELATIONS
    if names_a_day(words, at):
        score["event"] += OF_A_DAY
    return max(score, key=lambda name: score[name])


def _told_by(told: PackedStatement, weights: StatementWeights, lists: SortWords) -> Iterator[tuple[str, float]]:
    """Yield what a statement is worth to categories: by its attributes, by whom it is about, and as a change."""
    yield from _by_attributes(told, weights, lists)
    subjects = told.subject.split("+")
    if any(subjects) and _SELF not in subjects:
        yield "relationships", OF_OTHERS
    yield "event", OF_ALL + OF_A_CHANGE * told.changes / 255


def _by_attributes(told: PackedStatement, weights: StatementWeights, lists: SortWords) -> Iterator[tuple[str, float]]:
    for code, chance in zip(told.attributes, told.chances, strict=True):
        name = weights.name(code)
        yield lists.attributes.get(name, "event" if name == NONE else "profile"), OF_ATTRIBUTES * chance / 255


def names_a_day(words: str, at: datetime) -> bool:
    """Whether words name a day, or a week or month, when something is."""
    return next(iter(spans_in(words, at)), None) is not None


def sort_kind(words: str, category: str) -> Kind:
    """Return the kind of words: by the words that all statements are read for, by those of talk, by their category."""
    if (kind := kind_of(words)) != Kind.NOTE:
        return kind
    if category == "preferences":
        return Kind.PREFERENCE
    return next((kind for kind, pattern in sort_words().kinds if pattern.search(words)), Kind.NOTE)
