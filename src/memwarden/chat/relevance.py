"""How much a saved value has to do with a goal, told without a model (A1).

A key is a few words, so the calibrated scale of recall, made for sentences, says little here. Four things count: which
words of the goal stand in the key, in its description or in its value, and how telling they are; topics that join
words which are not the same (:mod:`memwarden.chat.topics`); how near both are in meaning, alone and beside the other
keys; and whether the goal asks about the world only (:mod:`memwarden.chat.general`). Pure functions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean, pstdev
from typing import NamedTuple

from memwarden.chat.general import asks_generally
from memwarden.chat.topics import Topic, asked_topics, plain, served
from memwarden.recall.asking import everyday_share
from memwarden.recall.words import language_of, terms

IN_KEY, IN_DESCRIPTION, IN_VALUE = 0.9, 0.5, 0.5
"""What one telling word of the goal is worth by the place where it stands; many values that hold it share that."""
TOPIC_OF_KEY, TOPIC_OF_DESCRIPTION = 0.6, 0.3
"""What a shared topic is worth by what shows it: a key alone reaches the bar, a description needs something besides."""
MANY = 3
"""A topic that more keys serve than this tells little of any of them: it is worth what a description's is."""
NEAR, SAME = 0.35, 0.75
"""Cosines at which nearness in meaning begins to count, and counts in full."""
MEANING = 0.7
"""What nearness in meaning is worth alone."""
STANDS_OUT, NEAR_ENOUGH, OUTSTANDING = 1.5, 0.2, 0.5
"""The nearest key, so many deviations over the mean of all and of at least such a cosine, is worth so much: the bar."""
FEW = 6
"""Among fewer keys nothing stands out."""
GENERAL = 0.3
"""What is left for a goal that asks about the world only: never the bar, but the order of the keys stays."""
OF_BEST = 0.6
"""A key of less than this share of the best one's relevance is left out: where a key is named, topics are guesses."""
_RAREST = math.log(1 / 2e-4)
_LITTLE_WORDS = {
    "english": "list lists data info information item items thing things note notes save saved store stored remember "
    "recent recently last latest current new old plan plans get find show tell give make use check see update add set "
    "today tomorrow yesterday week month year day time number name names value values key keys state memory all user "
    "users my person people goal task project work file files file default main general detail details best group "
    "kind many much morning afternoon evening night tonight next first good",
    "german": "liste listen letzte letzter letztes letzten jahr jahre monat monate woche wochen tag tage heute morgen "
    "gestern neu neue neuer nummer name namen zeit zeig stand aktuell plan gut beste",
    "spanish": "lista listas ultimo ultima año años mes meses semana semanas día días hoy mañana ayer nuevo nueva "
    "número nombre nombres hora horas casa siempre toca mejor",
    "french": "liste listes dernier dernière an année années mois semaine semaines jour jours aujourd'hui demain hier "
    "nouveau nouvelle numéro nom noms heure meilleur",
}
_SAYING_LITTLE = frozenset(term for language, words in _LITTLE_WORDS.items() for term in terms(words, language))
_LITTLE = 0.3


class Asked(NamedTuple):
    """A goal, as it is looked at: its language and terms, its topics, and whether it asks about the world only."""

    language: str
    terms: tuple[str, ...]
    topics: tuple[Topic, ...]
    general: bool


class Wording(NamedTuple):
    """The terms of a saved value: of its key, its description and its own texts; and its key and description, plain."""

    key: frozenset[str]
    description: frozenset[str]
    value: frozenset[str]
    plain_key: str
    plain_description: str


def asked(goal: str) -> Asked:
    """Return a goal as it is looked at."""
    found = tuple(dict.fromkeys(terms(goal)))
    return Asked(language_of(goal), found, tuple(asked_topics(goal)), asks_generally(goal))


def wording(key: str, description: str, value: str, language: str) -> Wording:
    """Return the wording of a saved value; texts that show no language of their own are read in the goal's."""
    in_key, in_description, in_value = (frozenset(terms(one, language)) for one in (key, description, value))
    return Wording(in_key, in_description, in_value, plain(key), plain(description))


def relevances(goal: Asked, said: Sequence[Wording], cosines: Sequence[float]) -> list[float]:
    """Return 0..1 for each saved value: how much it has to do with a goal, seen beside the others."""
    spread = Counter(term for one in said for term in one.value)
    topics = believed([by_topics(goal.topics, one) for one in said], deviations(cosines))
    factor = GENERAL if goal.general else 1.0
    return [
        factor * together((by_words(goal.terms, one, spread), topic, meaning))
        for one, topic, meaning in zip(said, topics, by_meaning(cosines), strict=True)
    ]


def together(signs: Iterable[float]) -> float:
    """Return 0..1: what signs that may each mislead are worth together."""
    return 1 - math.prod(1 - one for one in signs)


def by_words(goal: Sequence[str], said: Wording, spread: Counter[str]) -> float:
    """Return 0..1: how surely the goal's words point to a saved value; two of them more surely than one.

    spread: in how many values a term stands; one that stands in many points to none.
    """
    return together(
        telling(term)
        * (
            IN_KEY
            if term in said.key
            else IN_DESCRIPTION
            if term in said.description
            else IN_VALUE / spread[term]
            if term in said.value
            else 0.0
        )
        for term in goal
    )


def telling(term: str) -> float:
    """Return 0..1: how much a term tells; words of every other goal or key tell little."""
    if term in _SAYING_LITTLE:
        return _LITTLE
    return min(1.0, -math.log(everyday_share(term)) / _RAREST)


def by_topics(asked: Sequence[Topic], said: Wording) -> float:
    """Return 0..1: what the topics are worth that a goal shows and a saved value serves."""
    if served(asked, said.plain_key):
        return TOPIC_OF_KEY
    return TOPIC_OF_DESCRIPTION if served(asked, said.plain_description) else 0.0


def believed(topics: Sequence[float], deviations: Sequence[float]) -> list[float]:
    """Return what topics are worth: less where many keys serve them or a key is farther in meaning than most."""
    vague = sum(1 for one in topics if one >= TOPIC_OF_KEY) > MANY
    return [
        min(one, TOPIC_OF_DESCRIPTION) if vague or off < 0 else one for one, off in zip(topics, deviations, strict=True)
    ]


def deviations(cosines: Sequence[float]) -> list[float]:
    """Return how many standard deviations each cosine lies over the mean; zeros where that says nothing."""
    spread = pstdev(cosines) if len(cosines) >= FEW else 0.0
    mean = fmean(cosines) if spread else 0.0
    return [(one - mean) / spread if spread else 0.0 for one in cosines]


def by_meaning(cosines: Sequence[float]) -> list[float]:
    """Return 0..1 for each cosine: what nearness in meaning is worth, by itself or, the nearest, beside the others."""
    nearest = max(cosines, default=0.0)
    return [
        max(
            MEANING * min(1.0, max(0.0, (one - NEAR) / (SAME - NEAR))),
            OUTSTANDING if one == nearest >= NEAR_ENOUGH and off >= STANDS_OUT else 0.0,
        )
        for one, off in zip(cosines, deviations(cosines), strict=True)
    ]


def best(scores: Sequence[float], bar: float, most: int) -> list[int]:
    """Return the places of the scores that reach the bar, best first, at most ``most``.

    With a bar above 0 those far behind the best one are left out too.
    """
    least = max(bar, OF_BEST * max(scores, default=0.0)) if bar else 0.0
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    return [place for place in order if scores[place] >= least][:most]
