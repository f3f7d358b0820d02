"""Sentences in which somebody says of themselves what lasts: health, home, work, likes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache, lru_cache
from typing import Final, NamedTuple

from memwarden.statements.explicit import ReadText, read_text
from memwarden.text.dates.recognizer import spans_in
from memwarden.text.language import language_of, normalize_text
from memwarden.text.lexicon import LASTING_TOPICS, LanguageLexicon, either_of, languages, load_lexicon, pattern_of
from memwarden.text.sentences import split_spans
from memwarden.text.tokenizer import terms
from memwarden.text.update_words import compile_phrases, load_update_words, make_word_pattern

# Width of a sentence in Latin letters. A shorter one needs what stood before it.
MIN_WIDTH: Final = 10
# Characters read of a turn.
MAX_CHARACTERS: Final = 2_000
# Days that an event takes at most.
MAX_DAYS: Final = 62
# Content words of a sentence that says something by itself.
MIN_CONTENT: Final = 1

# Words of others.
_QUOTED: Final = re.compile(r"[「『„“«\"]")
# Topics of which only the newest sentence counts.
_SINGLE: Final = ("home", "work")
# Topics whose phrases may name relatives of the speaker.
_OWN: Final = ("home", "work", "family", "people", "pets")
# Relations whose home, pets and work are not the speaker's.
_STRANGERS: Final = frozenset(("relation:neighbour", "relation:colleague", "relation:friend", "relation:landlord"))
# Relations that are no relatives.
_NO_RELATIVES: Final = frozenset((
    "neighbour", "colleague", "boss", "friend", "landlord", "teacher", "flatmate", "spouse", "dog", "cat", "pet",
))  # fmt: skip
# Topics of which the newest sentence about one thing counts.
_RENEWED: Final = ("health", "people", "likes", "things")
_WEEKDAYS: Final = re.compile(either_of(["weekdays", "weekdays_short"]), re.IGNORECASE)
_BEGINNINGS: Final = {"home": "moved", "work": "hired"}
_CHANGES: Final = frozenset(("over", "changed", "corrected", "scaled", "moved", "hired"))


class LastingWords(NamedTuple):
    """A sentence of a turn.

    Attributes:
        topic: "" if it says nothing that lasts.
        order: of its topic, the weightiest first.
        content: stems of its words without the phrase that shows the topic.
        core: of these, those of the clause that holds the phrase.
    """

    text: str
    topic: str
    order: int
    content: frozenset[str]
    core: frozenset[str]
    read: ReadText


@cache
def load_topics(language: str) -> Mapping[str, re.Pattern[str]]:
    """Return the patterns of a language by topic, the weightiest first. Empty for a language without a list."""
    if language not in languages():
        return {}
    lexicon = load_lexicon(language)
    table, lists = lexicon.lasting, _make_lists(lexicon)
    return {topic: compile_phrases(table[topic], language, lists) for topic in LASTING_TOPICS if topic in table}


def _make_lists(lexicon: LanguageLexicon) -> dict[str, str]:
    """Expressions of the lists that phrases name."""
    lists = {
        "kin": [word for key, words in lexicon.kin.items() if key not in _NO_RELATIVES for word in words],
        "job": lexicon.words.get("jobs", ()),
        "animal": lexicon.words.get("animals", ()),
        "vehicle": lexicon.words.get("vehicles", ()),
        "weekday": lexicon.words.get("weekdays", ()),
        "post": [phrase.strip() for phrase in lexicon.updates.get("post", "").split("|") if phrase.strip()],
    }
    # "We have two rabbits": up to two letters of a plural.
    endings = {"animal": r"\w{0,2}"} if lexicon.spaced else {}
    return {
        name: f"(?:{'|'.join(map(make_word_pattern, map(normalize_text, words)))}){endings.get(name, '')}"
        for name, words in lists.items()
    }


@lru_cache(maxsize=4_000)
def find_lasting(text: str, at: datetime) -> tuple[LastingWords, ...]:
    """Return the sentences of a turn that say what lasts, with their topic, and those that announce a change.

    at: when the turn was said.
    """
    language = language_of(text)
    topics, words = load_topics(language), load_update_words(language)
    if words is None:
        return ()
    sentences = []
    for span in split_spans(text[:MAX_CHARACTERS]):
        plain = normalize_text(span.text)
        match = next((topic for topic, pattern in topics.items() if pattern.search(plain)), "")
        if not match and not (words.changes.search(plain) or words.patterns["now"].search(plain)):
            continue
        read = read_text(span.text, language)
        ended = match and words.patterns["over"].search(topics[match].sub(" ", plain))
        topic = match if not ended and _is_certain(span.text, match, read, at) else ""
        order = list(topics).index(topic) if topic else len(topics)
        content, core = _content_of(read, topics[topic]) if topic else (read.content, read.content)
        sentences.append(LastingWords(span.text, topic, order, content, core, read))
    return tuple(sentences)


def _content_of(read: ReadText, phrases: re.Pattern[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Stems of a sentence without a phrase, and of these the stems of the clause that holds it."""
    for clause in read.clauses:
        if (hit := phrases.search(clause.text)) is not None:
            between = " ".join(filter(None, hit.groups()))
            phrase = set(terms(hit[0], read.language)) - set(terms(between, read.language))
            return read.content - phrase, clause.content - phrase
    return read.content, read.content


def _is_certain(text: str, topic: str, read: ReadText, at: datetime) -> bool:
    """Whether a sentence says something that lasts: no question, doubt, joke, day or fragment, not of others."""
    if not topic or read.asks or read.person == "third" or _width(text) < MIN_WIDTH or len(read.content) < MIN_CONTENT:
        return False
    if _doubts(read) or read.has("corrected") or _is_joke(text) or _QUOTED.search(text):
        return False
    # A home lasts, whatever the day of the move.
    if topic != "home" and _names_day(text, at, but_weekdays=topic == "habits"):
        return False
    # "I live in Graz with my wife", but "my wife can't eat nuts".
    return not read.relations or (topic in _OWN and not read.relations & _STRANGERS)


def _doubts(read: ReadText) -> bool:
    """Whether a sentence is a wish, a plan, a condition, hearsay or about the past. "I also have a cat" is not."""
    if read.words is None or not read.has("doubt"):
        return False
    another = read.words.patterns.get("another")
    return read.words.patterns["doubt"].search(another.sub(" ", read.plain) if another else read.plain) is not None


def _is_joke(text: str) -> bool:
    return pattern_of("laughter").search(text) is not None


def _names_day(text: str, at: datetime, *, but_weekdays: bool) -> bool:
    """Whether a sentence names a day or a few weeks, and so tells of an event. "For ten years" does not.

    but_weekdays: whether a weekday, which a habit has, does not count.
    """
    days = [span for span in spans_in(text, at) if (span.last - span.first).days <= MAX_DAYS]
    return any(not (but_weekdays and _WEEKDAYS.search(span.text)) for span in days)


def is_replaced_by(words: LastingWords, later: LastingWords) -> bool:
    """Whether a later sentence of the same speaker may take back what lasts, however unsure that is."""
    if later.topic == words.topic and (words.topic in _SINGLE or _is_new_value(words, later)):
        return True
    if later.read.asks:
        return False
    if words.topic in _BEGINNINGS and later.read.person != "third" and not later.read.relations:
        # "We live here now" says that a home began, though not where.
        began, now = _BEGINNINGS[words.topic], {words.topic, "now"}
        if later.read.has(began) or any(now <= clause.roles for clause in later.read.clauses):
            return True
    about = words.content if words.topic in _SINGLE else words.core or words.content
    return any(about & clause.content and clause.roles & _CHANGES for clause in later.read.clauses)


def _is_new_value(words: LastingWords, later: LastingWords) -> bool:
    """Whether a later sentence says the same topic of the same thing again, or denies it."""
    if words.topic in _RENEWED and words.content & later.content:
        return True
    denies = words.read.has("negation") != later.read.has("negation")
    return denies and not words.read.content.isdisjoint(later.read.content)


def tells_change(text: str) -> bool:
    """Whether a text says that something became so."""
    read = read_text(text, language_of(text))
    return any(map(read.has, ("changed", "moved", "hired", "scaled")))


def _width(text: str) -> int:
    return sum(2 if ord(sign) > 0x2E80 else 1 for sign in text)
