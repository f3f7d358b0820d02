"""Judges whether English words that might be quoted still tell something when nobody knows the talk around them."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from memwarden.remember.extract.rules.clauses import drop_openers
from memwarden.remember.extract.rules.confidence import is_about_the_talk, names_in
from memwarden.remember.extract.rules.gate import judge_worth

# Between two people nearly all that says less of its speaker is encouragement; a name or a number makes up for it.
MIN_NOTE: Final = 0.25
# A message to an assistant of which this share of sentences speaks to it, or of the talk, is a step of a task.
MAX_OF_THE_TALK: Final = 0.5
MAX_WORDS_OF_OTHERS: Final = 12
# "Thanks, Melanie!" is no sentence of its own.
MIN_WORDS: Final = 2

_SPEAKER: Final = re.compile(
    r"\b(?:i|im|ive|i'm|i've|i'd|i'll|my|me|mine|we|we're|we've|we'll|our|ours|us)\b", re.IGNORECASE
)
_SPOKEN_TO: Final = re.compile(r"\byou\b|\byour\b|\byou'(?:re|ve|d|ll)\b|\bassistant\b", re.IGNORECASE)
# What is done in the talk itself, now or at its last time.
_IN_THE_TALK: Final = re.compile(
    r"\bi(?:'ll| will) (?:\w+ )?(?:go|do|be|take|check|come|start|try|let|use|make|read|follow|send|get|hit|find|look|"
    r"work|keep|review)\b|"
    r"\b(?:i am|i'm) (?:\w+ )?(?:going (?:now|to)|ready|off to|back|trying|done|on it)\b|\bready to\b|\bgot it\b|"
    r"\blet's\b|\bwe (?:did|discussed|started|talked|decided|defined|went|set|have been)\b|\blast time\b",
    re.IGNORECASE,
)
# "She told me!": nobody knows who.
_POINTS: Final = re.compile(
    r"^(?:she|he|they|it|that|this|these|those|both|neither|one (?:at|in|for|with|on|is|was))(?:'\w+|s)?\b|"
    r"\b(?:it|this|that|them|those|there)[.!]*$|"
    r"^[\d.,]+ (?:of|yep|yes|yeah|no|ok|okay|then|now|but|please)\b",
    re.IGNORECASE,
)
_CAPITALISED: Final = re.compile(r"\b[A-Z]\w+")


def tells_of_life(sentence: str) -> bool:
    """Whether a sentence to an assistant tells something: it does not speak to it, nor of the talk itself.

    A long one that says nothing of its speaker is of a story or an article.
    """
    typed = sentence[:1].isupper() and _SPEAKER.search(sentence) is None
    if typed and len(sentence.split()) > MAX_WORDS_OF_OTHERS:
        return False
    return not (_SPOKEN_TO.search(sentence) or _IN_THE_TALK.search(sentence) or is_about_the_talk(sentence))


def is_mostly_of_the_talk(sentences: Collection[str]) -> bool:
    """Whether so many of a message's sentences speak to the assistant that the rest are steps of a task as well."""
    return sum(not tells_of_life(each) for each in sentences) > MAX_OF_THE_TALK * len(sentences)


def says_enough(words: str, sentences: Collection[str], speakers: Collection[str], *, two_person: bool) -> bool:
    """Whether words can be understood and are worth having later.

    words: all that would be quoted. sentences: of it. speakers: the first names of those who talk, in small letters:
    whoever is spoken to is nobody whom the words tell of.
    """
    bare = [drop_openers(each) for each in sentences]
    told = [each for each in bare if len(each.split()) >= MIN_WORDS]
    if not told:
        return False
    others = _CAPITALISED.sub(lambda name: "" if name[0].casefold() in speakers else name[0], " ".join(told))
    anchored = any(map(str.isdigit, others)) or bool(names_in(others))
    if _POINTS.search(told[0]):
        return False
    if two_person:
        return anchored or judge_worth(words).note >= MIN_NOTE
    return anchored or _SPEAKER.search(words) is not None or judge_worth(words).note >= MIN_NOTE
