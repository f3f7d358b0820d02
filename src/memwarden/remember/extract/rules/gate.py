"""Judges how personal a message is, and whether it is more than small talk."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from memwarden.recall.query_analysis import is_small_talk
from memwarden.remember.extract.rules.relevance_features import (
    FEATURES,
    NOTE_FEATURES,
    find_features,
    find_note_features,
)
from memwarden.text.flags import is_chatter

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
