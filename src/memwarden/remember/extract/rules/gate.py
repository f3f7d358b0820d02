"""Judges by features of its words how personal a message is, and whether it is small talk."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from memwarden.recall.question import is_small_talk
from memwarden.text.small_talk import content_terms, is_chatter
from memwarden.text.time_words import has_time_word

# A longer message shows what it is at its beginning; reading all of it would cost time per character.
_LOOKED_AT = 1_500
_RELATIONS: Final = (
    "wife|husband|partner|girlfriend|boyfriend|fianc[ée]e?|mom|mum|mother|dad|father|parents?|sisters?|brothers?|sons?|"
    "daughters?|kids?|child|children|baby|twins|family|grandm\\w+|grandp\\w+|aunts?|uncles?|cousins?|friends?|"
    "roommates?|boss|colleagues?|coworkers?|team|clients?|dogs?|cats?|pets?|youngest|oldest"
)
_OBJECTS: Final = (
    "essay|blog|article|story|poem|code|script|paragraph|email|table|sentence|function|song|chapter|scene|summary|"
    "headline|title|prompt|outline|dialogue|report|ad|copy|tweet|caption|rap|joke"
)

# (name, pattern, how often it can count). Each is read in a single pass; the value is the count over the most, 0..1.
_PATTERNS: Final[tuple[tuple[str, str, int], ...]] = (
    ("i", r"\bi\b", 4),
    ("contracted_i", r"\bi'(?:m|ve|ll|d)\b", 3),
    ("my", r"\bmy\b", 3),
    ("me", r"\bme\b", 2),
    ("we", r"\bwe(?:'\w+)?\b", 3),
    ("lets", r"\blet'?s\b", 1),
    ("our", r"\bour\b", 2),
    ("you", r"\byou(?:'\w+)?\b", 3),
    ("your", r"\byour\b", 2),
    ("relation", rf"\b(?:my|our)\s+(?:\w+\s+)?(?:{_RELATIONS})\b", 2),
    ("feeling", r"\b(?:feel\w*|felt|worried|anxious|stress\w*|overwhelm\w*|excited|nervous|tired|happy|afraid|glad|"
                r"relie\w+|frustrat\w+|proud|scared|hope|love|hate)\b", 2),
    ("agreement",
        r"\b(?:sounds? (?:good|great|like|perfect|right)|that's (?:a |an |really |great|good|exactly|it)|perfect|"
                  r"exactly|agreed|makes sense|good point|got it|understood)\b", 2),
    ("thanks", r"\b(?:thanks?|thank you|appreciate)\b", 1),
    ("greeting", r"^[^\S\n]*(?:hi|hello|hey|good (?:morning|evening|afternoon))\b", 1),
    ("opener",
        r"^[^\S\n]*(?:okay|ok|yes|yeah|yep|no|oh|alright|right|well|ugh|wow|hmm+|great|perfect|good|sure|finally)\b"
        r"[,.! ]", 1),
    ("now", r"\b(?:today|tonight|tomorrow|yesterday|this (?:week|morning|evening|afternoon|weekend|month)|"
            r"next (?:week|month|year|step)|last (?:week|night|time|month|year)|right now)\b", 2),
    ("since_last",
        r"\b(?:we (?:talked|discussed|decided|planned|agreed|set|finali[sz]ed|created|made|did|'ve)|last time|"
                   r"as (?:discussed|planned|agreed|you (?:said|mentioned|suggested))|remember)\b", 2),
    ("next_step", r"\b(?:what(?:'s| is| do| should| else)? (?:we |i )?(?:next|now|do next|our next)|"
                  r"next step|move on|ready to|let's (?:start|move|get|go|do|focus|dive|finali[sz]e))\b", 1),
    ("want", r"\bi(?:'d| would)? (?:really |just |still )?"
             r"(?:want|need|like|love|prefer|think|guess|know|feel|hope)\b", 3),
    ("progress",
        r"\b(?:i|we)(?:'ve| have)? (?:just |finally |already )?(?:finished|completed|went|got|did|tried|started|"
                 r"managed|made|booked|decided|read|reviewed|gathered|updated|talked|spoke|met|received)\b", 2),
    ("plan", r"\b(?:plan|plans|schedule|routine|goals?|budget|trip|itinerary|session|progress|habit)\b", 2),
    ("past_we", r"\bwe (?:\w+ed|did|had|were|went|made|set)\b", 1),
    ("not", r"\b(?:don't|didn't|can't|won't|isn't|wasn't|couldn't|haven't|doesn't)\b", 2),
    ("contraction", r"\b\w+'(?:s|re|t|ll)\b", 4),
    ("really", r"\b(?:really|just|definitely|absolutely|honestly|actually|maybe|pretty|super|kind of|totally)\b", 3),
    ("please", r"\bplease\b", 1),
    ("can_you", r"\b(?:can|could|would|will) you\b", 1),
    ("command",
        r"^[^\S\n]*(?:please\s+)?(?:write|rewrite|create|make|generate|give|list|explain|describe|summari[sz]e|"
        r"translate|"
                r"act|tell|show|continue|provide|design|improve|convert|add|use|change|do|find|suggest|compare|define|"
                r"elaborate|draft|analy[sz]e|turn|fix|imagine|expand|include|remove|rephrase|edit|develop|discuss|"
                r"answer|calculate|extract|format|replace|return|pretend|help|craft|outline|now)\b", 1),
    ("inner_command",
        r"(?:[.!?\n][^\S\n]*|\b(?:now|then|and) )(?:write|rewrite|create|generate|list|explain|describe|summari[sz]e|"
                      r"translate|act|provide|convert|rephrase|make it|turn)\b", 1),
    ("artefact", rf"\b(?:an?|the|this|that|these|following|above|previous|next)\s+(?:\w+\s+)?(?:{_OBJECTS})s?\b", 2),
    ("question_first", r"^[^\S\n]*(?:what|how|why|who|when|where|which|is|are|does|do|can|should|did|was|were)\b", 1),
    ("asks", r"\?", 2),
    ("asks_general",
        r"\b(?:what (?:is|are|does|were|was)|how (?:do|does|to|can)|why (?:is|are|do|does)) (?!i\b|we\b|my\b|our\b|"
                     r"next|you)", 1),
    ("exclaims", r"!", 3),
    ("colon_list", r":\s*\n|\n[^\S\n]*(?:[-•*]|\d+[.)])\s", 2),
    ("quote", r"[\"“”][^\"“”\n]{3,}[\"“”]", 2),
    ("role_play",
        r"\b(?:you are|act as|pretend|role-?play|your name is|imagine (?:you|that)|as an? (?:ai|expert|assistant|"
                  r"character))\b", 1),
    ("script", r"^[^\S\n]*\w+(?: \w+)?:\s|\bnarrator\b|\bchapter \d|\bscene\b", 2),
    ("markup", r"[{}<>\\|=_]{1}|\bhttps?:", 4),
    ("digits", r"\d", 20),
    ("citation", r"\(\d{4}\)|\[\d+\]|\bet al\b|%", 2),
    ("capitals", r"\b[A-Z]{3,}\b", 3),
    ("names", r"(?<=[a-z,] )[A-Z][a-z]+", 6),
    ("third_person", r"\b(?:he|she|his|her|him|they|their)\b", 4),
)  # fmt: skip
# These patterns live from capital letters; all others ignore case.
_CASED: Final = frozenset(("capitals", "names"))
_COMPILED: Final = tuple(
    (re.compile(pattern, re.MULTILINE if name in _CASED else re.MULTILINE | re.IGNORECASE), most)
    for name, pattern, most in _PATTERNS
)
# The names of the features, in the order of :func:`find_features`.
FEATURES: Final = (*(name for name, _, _ in _PATTERNS), "short", "length", "long")


def find_features(text: str) -> tuple[float, ...]:
    """Return the value of each of :data:`FEATURES`, 0..1."""
    text = text[:_LOOKED_AT].replace("’", "'")
    found = [min(sum(1 for _ in pattern.finditer(text)), most) / most for pattern, most in _COMPILED]
    size = len(text.strip())
    return (
        *found,
        float(size < 40),
        min(1.0, math.log1p(size) / math.log(1 + _LOOKED_AT)),
        float(size > 700),
    )


# The names of the features in the order of :func:`find_note_features`.
NOTE_FEATURES: Final = ("i", "my", "relation", "past", "time", "content", "share", "few")
_PAST: Final = re.compile(
    r"\b(?:\w{3,}ed|went|got|took|made|had|saw|bought|was|were|did|came|gave|found|won|lost|met|started|told)\b",
    re.IGNORECASE,
)
_MAX_CONTENT: Final = 30
_FEW: Final = 5


def find_note_features(text: str) -> tuple[float, ...]:
    """Return the value of each of :data:`NOTE_FEATURES`, 0..1, whomever the speaker talks with."""
    text = text[:_LOOKED_AT].replace("’", "'")
    own = {name: min(sum(1 for _ in pattern.finditer(text)), most) / most for name, pattern, most in _OF_NOTE}
    content = len(set(content_terms(text)))
    return (
        *own.values(),
        float(has_time_word(text)),
        min(content, _MAX_CONTENT) / _MAX_CONTENT,
        min(1.0, content / max(len(text.split()), 1)),
        float(content < _FEW),
    )


_OF_NOTE: Final = (
    *(
        (name, pattern, most)
        for (name, _, _), (pattern, most) in zip(_PATTERNS, _COMPILED, strict=True)
        if name in NOTE_FEATURES
    ),
    ("past", _PAST, 4),
)


# For cards of an assistant's user: a card takes any words, so the bar is high.
MIN_FOR_CARDS: Final = 0.8
# For cards of two people: a quarter of their exchanges only encourages.
MIN_OF_NOTE: Final = 0.15
MIN_FOR_FACTS: Final = 0.1
# Facts take only what has a frame, so their bars are lower; a sign of a task (a command, a thing to write) raises
# them.
MIN_FOR_FACTS_IN_TASKS: Final = 0.5
_WEIGHTS: Final = tomllib.loads(Path(__file__).with_name("gate.toml").read_text(encoding="utf-8"))
# A message this short shows signs of nothing, and need not.
_SHORT: Final = 200
# "You are now a pirate": nobody speaks as themselves after that.
_IN_A_PART: Final = re.compile(
    r"\b(?:language model|act as|role-?play\w*|reply as|pretend|you are (?:an?|now)|information about myself|"
    r"ignore (?:all|previous))\b",
    re.IGNORECASE,
)
_TASK: Final = frozenset(("command", "inner_command", "artefact", "role_play", "script", "markup"))


@dataclass(frozen=True, slots=True)
class Worth:
    """The worth of a message beyond its own words, which are kept anyway.

    Attributes:
        small_talk: only greeting, thanks, praise: never a fact, never a card.
        personal: 0..1, the writer's own words and life rather than a task or role play.
        task: whether it shows a sign of a task. part: whether a part is played, so that nobody speaks as themselves.
        short: as short as "I live in Oslo.", which shows a sign of nothing.
        note: 0..1, how much it says of its speaker that somebody may ask for; for a user and for two people.
    """

    small_talk: bool
    personal: float
    task: bool
    part: bool
    short: bool
    note: float

    @property
    def may_tell(self) -> bool:
        """Whether a user's message can tell facts of the user."""
        needed = MIN_FOR_FACTS_IN_TASKS if self.task else 0.0 if self.short else MIN_FOR_FACTS
        return not (self.small_talk or self.part) and self.personal >= needed


@lru_cache(maxsize=256)
def judge_worth(text: str) -> Worth:
    """Judge an English message. Anything without a letter or digit is small talk."""
    bare = text.strip()
    small = not any(map(str.isalnum, bare)) or is_chatter(bare) or is_small_talk(bare, [])
    shown = dict(zip(FEATURES, find_features(bare), strict=True))
    personal = _likelihood(shown.items(), _WEIGHTS["personal"])
    task = any(shown[name] for name in _TASK)
    part = _IN_A_PART.search(bare) is not None
    return Worth(
        small,
        personal,
        task,
        part,
        len(bare) <= _SHORT,
        _likelihood(zip(NOTE_FEATURES, find_note_features(bare), strict=True), _WEIGHTS["note"]),
    )


def _likelihood(shown: Iterable[tuple[str, float]], weights: Mapping[str, float]) -> float:
    total = weights["constant"] + sum(weights[name] * value for name, value in shown)
    return 1 / (1 + math.exp(-total))
