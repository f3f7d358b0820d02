"""How much a saved value has to do with a goal, told without a model (A1).

A key is a few words, so the calibrated scale of recall, made for sentences, says little here. What counts is which
words of the goal stand in the key, in its description or in its value, how telling they are, and how near both are in
meaning. Pure functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from memwarden.recall.asking import everyday_share
from memwarden.recall.words import terms

IN_KEY, IN_DESCRIPTION, IN_VALUE = 0.9, 0.6, 0.5
"""What one telling word of the goal is worth by the place where it stands."""
NEAR, SAME = 0.35, 0.75
"""Cosines at which nearness in meaning begins to count, and counts in full."""
MEANING = 0.7
"""What nearness in meaning is worth alone."""
_RAREST = math.log(1 / 2e-4)
_SAYING_LITTLE = frozenset(
    terms(
        "list lists data info information item items thing things note notes save saved store stored remember recent "
        "recently last latest current new old plan plans get find show tell give make use check see update add set "
        "today tomorrow yesterday week month year day time number name names value values key keys state memory all "
        "user users my person people goal task project work file files default main general detail details"
    )
)
_LITTLE = 0.3


class Wording(NamedTuple):
    """The terms of a saved value: of its key, its description and its own texts."""

    key: frozenset[str]
    description: frozenset[str]
    value: frozenset[str]


def wording(key: str, description: str, value: str) -> Wording:
    """Return the terms of a saved value."""
    return Wording(*(frozenset(terms(one)) for one in (key, description, value)))


def by_words(goal: Sequence[str], said: Wording) -> float:
    """Return 0..1: how surely the goal's words point to a saved value; two of them more surely than one."""
    missed = 1.0
    for term in dict.fromkeys(goal):
        place = IN_KEY if term in said.key else IN_DESCRIPTION if term in said.description else 0.0
        missed *= 1 - (place or (IN_VALUE if term in said.value else 0.0)) * telling(term)
    return 1 - missed


def telling(term: str) -> float:
    """Return 0..1: how much a term tells; words of every other goal or key tell little."""
    if term in _SAYING_LITTLE:
        return _LITTLE
    return min(1.0, -math.log(everyday_share(term)) / _RAREST)


def by_meaning(cosine: float) -> float:
    """Return 0..1: what nearness in meaning is worth."""
    return MEANING * min(1.0, max(0.0, (cosine - NEAR) / (SAME - NEAR)))


def relevance(goal: Sequence[str], said: Wording, cosine: float) -> float:
    """Return 0..1: how much a saved value has to do with a goal."""
    return 1 - (1 - by_words(goal, said)) * (1 - by_meaning(cosine))


def best(scores: Sequence[float], bar: float, most: int) -> list[int]:
    """Return the places of the scores that reach the bar, best first, at most ``most``."""
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    return [place for place in order if scores[place] >= bar][:most]
