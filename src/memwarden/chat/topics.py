"""Topics that join a goal to saved values that share no word with it: dinner and allergies, a flight and a seat (A1).

The words stand in ``topics.toml``. Pure functions; a topic's words are compiled when it is first asked for.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from memwarden.recall.words import fold, normal

_NOT_WORDS = re.compile(r"[\W_]+")


class Topic(NamedTuple):
    """A topic's words as patterns over plain text (:func:`plain`): of goals that show it, of keys that serve it."""

    name: str
    goal: re.Pattern[str]
    key: re.Pattern[str]


def plain(text: str) -> str:
    """Return a text in small letters without accents, its words set apart by one space each, none at the ends."""
    return _NOT_WORDS.sub(" ", fold(normal(text))).strip()


@cache
def topics() -> tuple[Topic, ...]:
    """Return all topics, in the order of the file."""
    listed = tomllib.loads(Path(__file__).with_name("topics.toml").read_text(encoding="utf-8"))
    return tuple(Topic(name, pattern(words["goal"]), pattern(words["key"])) for name, words in listed.items())


def asked_topics(goal: str) -> list[Topic]:
    """Return the topics that a goal shows."""
    said = plain(goal)
    return [one for one in topics() if one.goal.search(said)]


def served(asked: Sequence[Topic], text: str) -> bool:
    """Whether a text (plain) serves one of the topics."""
    return any(one.key.search(text) for one in asked)


def pattern(words: str) -> re.Pattern[str]:
    """Return the pattern of a list of words and beginnings ("exam*"), endings ("*plan") and phrases ("on_call")."""
    entries = (re.escape(one).replace(r"\*", r"\w*").replace("_", " ").strip() for one in words.split())
    return re.compile(rf"\b(?:{'|'.join(sorted(set(entries), key=len, reverse=True))})\b")
