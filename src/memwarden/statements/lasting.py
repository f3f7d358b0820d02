"""Sentences in which somebody says of themselves what lasts: health, home, work, likes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Final, NamedTuple

from memwarden.statements.explicit import ReadText, read_text
from memwarden.text.dates.recognizer import spans_in
from memwarden.text.language import language_of, normalize_text
from memwarden.text.lexicon import LASTING_TOPICS, languages, load_lexicon
from memwarden.text.sentences import split_spans
from memwarden.text.update_words import compile_phrases

# Width of a sentence in Latin letters. A shorter one needs what stood before it.
MIN_WIDTH: Final = 14
# Characters read of a turn.
MAX_CHARACTERS: Final = 2_000
# Days that an event takes at most.
MAX_DAYS: Final = 62
# Content words of a sentence that says something by itself.
MIN_CONTENT: Final = 1

# Topics of which only the newest sentence counts.
_SINGLE: Final = ("home", "work")
# Topics whose phrases are in the first person, so that others may be named beside it.
_OWN: Final = ("home", "work")
_BEGINNINGS: Final = {"home": "moved", "work": "hired"}
_CHANGES: Final = frozenset(("over", "changed", "corrected", "scaled", "moved", "hired"))


class LastingWords(NamedTuple):
    """A sentence of a turn. topic: "" where it says nothing that lasts. order: of its topic, the weightiest first."""

    text: str
    topic: str
    order: int
    read: ReadText


@cache
def load_topics(language: str) -> Mapping[str, re.Pattern[str]]:
    """Return the patterns of a language by topic, the weightiest first. Empty for a language without a list."""
    table = load_lexicon(language).lasting if language in languages() else {}
    return {topic: compile_phrases(table[topic], language) for topic in LASTING_TOPICS if topic in table}


def find_lasting(text: str, at: datetime) -> list[LastingWords]:
    """Return the sentences of a turn, with a topic where its speaker says plainly what lasts. at: when it was said."""
    language = language_of(text)
    topics = load_topics(language)
    sentences = []
    for span in split_spans(text[:MAX_CHARACTERS]) if topics else ():
        read = read_text(span.text, language)
        topic = _topic_of(span.text, read, topics, at)
        order = list(topics).index(topic) if topic else len(topics)
        sentences.append(LastingWords(span.text, topic, order, read))
    return sentences


def _topic_of(text: str, read: ReadText, topics: Mapping[str, re.Pattern[str]], at: datetime) -> str:
    """The topic of a sentence; "" for a question, a doubt, an end, somebody else, a day, a fragment."""
    if read.asks or read.person == "third" or _width(text) < MIN_WIDTH:
        return ""
    if len(read.content) < MIN_CONTENT or any(map(read.has, ("doubt", "over", "corrected"))):
        return ""
    plain = normalize_text(text)
    topic = next((topic for topic, pattern in topics.items() if pattern.search(plain)), "")
    # A home lasts, whatever the day of the move.
    if topic != "home" and _names_day(text, at):
        return ""
    # "I live in Graz with my wife", but "my wife can't eat nuts".
    return topic if topic in _OWN or not read.relations else ""


def _names_day(text: str, at: datetime) -> bool:
    """Whether a sentence names a day or a few weeks, and so tells of an event. "For ten years" does not."""
    return any((span.last - span.first).days <= MAX_DAYS for span in spans_in(text, at))


def is_replaced_by(words: LastingWords, later: LastingWords) -> bool:
    """Whether a later sentence of the same speaker may take back what lasts, however unsure that is."""
    if words.topic in _SINGLE and later.topic == words.topic:
        return True
    if later.read.asks:
        return False
    if words.topic in _BEGINNINGS and later.read.person != "third" and not later.read.relations:
        # "We live here now" says that a home began, though not where.
        began, now = _BEGINNINGS[words.topic], {words.topic, "now"}
        if later.read.has(began) or any(now <= clause.roles for clause in later.read.clauses):
            return True
    return any(words.read.content & clause.content and clause.roles & _CHANGES for clause in later.read.clauses)


def tells_change(text: str) -> bool:
    """Whether a text says that something became so."""
    read = read_text(text, language_of(text))
    return any(map(read.has, ("changed", "moved", "hired", "scaled")))


def _width(text: str) -> int:
    return sum(2 if ord(sign) > 0x2E80 else 1 for sign in text)
