"""Scores without a model how relevant a saved value is to a goal.

A key is a few words, so the calibrated scale of recall, made for sentences, says little here. The features are: how
much of a key's words the goal meets, and how much of the goal's words meets the key or its description, where words
meet that are equal, begin alike, show the same concept, or need each other (:mod:`memwarden.agent.relevance`); words of
the goal in the value; the similarity of both embeddings, alone and beside the other keys; and whether the goal asks
about the world only. Pure functions.

The weights are a rounded logistic regression. ``tests/evaluation/fit_relevance.py`` fits them and measures them on
goals of people whose goals were left out of the fit.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import takewhile
from pathlib import Path
from statistics import fmean, pstdev
from typing import Final, NamedTuple

from memwarden.recall.question import everyday_share
from memwarden.text.language import language_of, normalize_text
from memwarden.text.tokenizer import fold, terms

_NOT_WORDS = re.compile(r"[\W_]+")
_NONE: frozenset[str] = frozenset()
# Minimum length of a beginning or ending in the file.
_MIN_AFFIX = 2


class Lexicon(NamedTuple):
    """Concepts by whole word, by beginning, by ending, and by the first word of a phrase.

    needs: needed concepts by the concept of a goal.
    """

    whole: Mapping[str, frozenset[str]]
    begins: Mapping[str, frozenset[str]]
    ends: Mapping[str, frozenset[str]]
    phrases: Mapping[str, Sequence[tuple[tuple[str, ...], str]]]
    needs: Mapping[str, frozenset[str]]


def plain_words(text: str) -> str:
    """Return a text in small letters without accents, its words separated by single spaces."""
    return _NOT_WORDS.sub(" ", fold(normalize_text(text))).strip()


def compile_pattern(words: str) -> re.Pattern[str]:
    """Return the pattern of a list of words, beginnings ("exam*"), endings ("*plan") and phrases ("on_call")."""
    entries = (re.escape(word).replace(r"\*", r"\w*").replace("_", " ").strip() for word in words.split())
    return re.compile(rf"\b(?:{'|'.join(sorted(set(entries), key=len, reverse=True))})\b")


@cache
def load_lexicon() -> Lexicon:
    """Read the lexicon from its file."""
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
    """Return the concepts of each word of a plain text; a phrase counts for each of its words."""
    found = [_of_word(word) for word in words]
    for place, word in enumerate(words):
        for others, concept in load_lexicon().phrases.get(word, ()):
            if _goes_on(words, place + 1, others):
                for at in range(place, place + 1 + len(others)):
                    found[at] |= {concept}
    return found


@lru_cache(maxsize=4_096)
def needed_by(concepts: frozenset[str]) -> frozenset[str]:
    """Return the concepts that goals about these concepts usually need."""
    needs = load_lexicon().needs
    return frozenset().union(*(needs.get(concept, _NONE) for concept in concepts))


@lru_cache(maxsize=20_000)
def _of_word(word: str) -> frozenset[str]:
    return frozenset().union(*_hits(word))


def _hits(word: str) -> Iterator[frozenset[str]]:
    known = load_lexicon()
    yield known.whole.get(word, _NONE)
    for length in range(_MIN_AFFIX, min(len(word), _MAX_AFFIX) + 1):
        yield known.begins.get(word[:length], _NONE)
        yield known.ends.get(word[-length:], _NONE)


def _goes_on(words: Sequence[str], place: int, others: Sequence[str]) -> bool:
    """Return whether a phrase's other words follow; the last may be a beginning."""
    if len(words) < place + len(others):
        return False
    return all(
        words[place + at].startswith(item[:-1]) if item.endswith("*") else words[place + at] == item
        for at, item in enumerate(others)
    )


# No beginning or end of a word that stands for a concept is as long.
_MAX_AFFIX = 40
# How well a word of the goal meets a word of a key: the same term, the same concept, a shared beginning, a need.
SAME_TERM, SAME_CONCEPT, SHARED_BEGINNING, NEEDED = 1.0, 0.9, 0.8, 0.45
# Weight of a met word in the description, relative to the key.
IN_DESCRIPTION = 0.6
# Weight of a met word that is as telling as possible.
MATCH_WEIGHT = 0.9
# Factor for a goal about the world only: it keeps scores below the bar and the order of the keys.
GENERAL_FACTOR = 0.1
# A key or goal whose words tell less than this together is never met in full.
_MIN_TELLING = 0.5
# Two words begin alike when they share so many letters, and this part of the shorter word.
_MIN_SHARED_LETTERS, _MIN_SHARED_PART = 5, 0.6
_RAREST = math.log(1 / 2e-4)
_QUOTED: Final = re.compile(r"[\"“”«»„].*?[\"“”«»„]|(?<!\w)'[^']*'(?!\w)|‘[^’]*’(?!\w)")
_LITTLE_WORDS = {
    "en": "list lists data info information item items thing things note notes save saved store stored remember "
    "recent recently last latest current new old plan plans get find show tell give make use check see update add set "
    "today tomorrow yesterday week month year day time number name names value values key keys state memory all user "
    "users my person people goal task project work file files file default main general detail details best group "
    "kind many much morning afternoon evening night tonight next first good",
    "de": "liste listen letzte letzter letztes letzten jahr jahre monat monate woche wochen tag tage heute morgen "
    "gestern neu neue neuer nummer name namen zeit zeig stand aktuell plan gut beste",
    "es": "lista listas ultimo ultima año años mes meses semana semanas día días hoy mañana ayer nuevo nueva "
    "número nombre nombres hora horas casa siempre toca mejor",
    "fr": "liste listes dernier dernière an année années mois semaine semaines jour jours aujourd'hui demain hier "
    "nouveau nouvelle numéro nom noms heure meilleur",
}
_SAYING_LITTLE = frozenset(term for language, words in _LITTLE_WORDS.items() for term in terms(words, language))
_LITTLE_WEIGHT = 0.3


class GoalWord(NamedTuple):
    """A word of a goal, key or description: folded, its term, its concepts, and how telling it is, 0..1."""

    text: str
    term: str
    concepts: frozenset[str]
    tells: float


class GoalText(NamedTuple):
    """A goal ready for matching: its language and words, and whether it asks about the world only."""

    language: str
    words: tuple[GoalWord, ...]
    general: bool


class KeyWording(NamedTuple):
    """The words of a saved value's key and description, and the terms of its texts."""

    key: tuple[GoalWord, ...]
    description: tuple[GoalWord, ...]
    value: frozenset[str]


class Features(NamedTuple):
    """The features of a key beside a goal.

    Attributes:
        key: 0..1, how much of its words the goal meets; a word of the goal that meets many keys counts less.
        goal: 0..1, how much of the goal's words meets the key or its description.
        behind: 0..1, distance to the best key in the combined weight of met words.
        value: 0..1, combined weight of the goal's words that stand in the value alone.
        near: cosine of goal and key. stands_out: standard deviations of that over the mean of all keys.
    """

    key: float
    goal: float
    behind: float
    value: float
    near: float
    stands_out: float


WEIGHTS = Features(key=5.0, goal=4.5, behind=-3.0, value=2.5, near=2.0, stands_out=0.35)
CONSTANT = -3.0


def read_goal(goal: str) -> GoalText:
    """Return a goal ready for matching."""
    language = language_of(goal)
    return GoalText(language, read_words(goal, language), asks_generally(goal))


def read_wording(key: str, description: str, value: str, language: str) -> KeyWording:
    """Return the wording of a saved value; texts without a language of their own are read in the goal's."""
    return KeyWording(read_words(key, language), read_words(description, language), frozenset(terms(value, language)))


def read_words(text: str, language: str) -> tuple[GoalWord, ...]:
    """Return the content words of a text, once each: no stop words, unless they show a concept."""
    said = plain_words(text).split()
    found: dict[str, GoalWord] = {}
    for word, concepts in zip(said, concepts_of(said), strict=True):
        for term in terms(word, language) or ([word] if concepts else []):
            found.setdefault(term, GoalWord(word, term, concepts, term_weight(term)))
    return tuple(found.values())


def relevances(goal: GoalText, said: Sequence[KeyWording], cosines: Sequence[float]) -> list[float]:
    """Return 0..1 for each saved value: the probability that the goal needs it, beside the others."""
    factor = GENERAL_FACTOR if goal.general else 1.0
    return [factor * logistic(feature) for feature in features(goal, said, cosines)]


def logistic(known: Features) -> float:
    """Return 0..1: the probability that a key with these features is needed."""
    total = CONSTANT + sum(weight * value for weight, value in zip(WEIGHTS, known, strict=True))
    return 1 / (1 + math.exp(-total))


def features(goal: GoalText, said: Sequence[KeyWording], cosines: Sequence[float]) -> list[Features]:
    """Return the features of each saved value beside a goal."""
    in_keys = [[[match_words(word, item) for item in saved.key] for word in goal.words] for saved in said]
    in_descriptions = [
        [[match_words(word, item) for item in saved.description] for word in goal.words] for saved in said
    ]
    by_word = [
        [(max(keys, default=0.0), max(descriptions, default=0.0)) for keys, descriptions in zip(*both, strict=True)]
        for both in zip(in_keys, in_descriptions, strict=True)
    ]
    shared = [math.sqrt(max(1, sum(1 for item in by_word if any(item[place])))) for place in range(len(goal.words))]
    signs = [match_strength(goal.words, item, shared) for item in by_word]
    highest, spread = max(signs, default=0.0), Counter(term for item in said for term in all_terms(item))
    return [
        Features(
            key=key_coverage(saved.key, in_key, shared),
            goal=goal_coverage(goal.words, words),
            behind=highest - sign,
            value=value_match(goal.words, saved, spread),
            near=cosine,
            stands_out=off,
        )
        for saved, in_key, words, sign, cosine, off in zip(
            said, in_keys, by_word, signs, cosines, deviations(cosines), strict=True
        )
    ]


def match_words(word: GoalWord, item: GoalWord) -> float:
    """Return 0..1: how well a word of the goal meets a word of a key."""
    if word.term == item.term:
        return SAME_TERM
    if word.concepts & item.concepts:
        return SAME_CONCEPT
    if begin_alike(word.text, item.text):
        return SHARED_BEGINNING
    return NEEDED if item.concepts and needed_by(word.concepts) & item.concepts else 0.0


def begin_alike(word: str, other: str) -> bool:
    """Return whether a word holds the other or both begin alike, as compounds and forms do that stems keep apart."""
    shorter = min(len(word), len(other))
    if shorter < _MIN_SHARED_LETTERS:
        return False
    if word[:_MIN_SHARED_LETTERS] == other[:_MIN_SHARED_LETTERS]:
        same = takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False))
        return sum(1 for _ in same) >= _MIN_SHARED_PART * shorter
    return word in other or other in word


def key_coverage(words: Sequence[GoalWord], met_by: Sequence[Sequence[float]], shared: Sequence[float]) -> float:
    """Return 0..1: the met share of a key's words. met_by: for each word of the goal how well it meets each."""
    reached = (
        item.tells * max((row[place] / many for row, many in zip(met_by, shared, strict=True)), default=0.0)
        for place, item in enumerate(words)
    )
    return sum(reached) / max(_MIN_TELLING, sum(word.tells for word in words))


def goal_coverage(words: Sequence[GoalWord], by_word: Sequence[tuple[float, float]]) -> float:
    """Return 0..1: the share of a goal's words that meet a key or its description."""
    reached = (word.tells * _of_both(*both) for word, both in zip(words, by_word, strict=True))
    return sum(reached) / max(_MIN_TELLING, sum(word.tells for word in words))


def match_strength(words: Sequence[GoalWord], by_word: Sequence[tuple[float, float]], shared: Sequence[float]) -> float:
    """Return 0..1: the combined weight of the goal's words that meet a key."""
    return combine_evidence(
        MATCH_WEIGHT * word.tells * _of_both(*both) / many
        for word, both, many in zip(words, by_word, shared, strict=True)
    )


def _of_both(in_key: float, in_description: float) -> float:
    return max(in_key, IN_DESCRIPTION * in_description)


def value_match(words: Sequence[GoalWord], saved: KeyWording, spread: Counter[str]) -> float:
    """Return 0..1: the combined weight of the goal's words in a value but not in its key or description.

    spread: the number of saved values with a term; a term of many values points to no single value.
    """
    elsewhere = {item.term for item in (*saved.key, *saved.description)}
    return combine_evidence(word.tells / spread[word.term] for word in words if word.term in saved.value - elsewhere)


def all_terms(saved: KeyWording) -> set[str]:
    """Return all terms of a saved value."""
    return {item.term for item in (*saved.key, *saved.description)} | saved.value


def combine_evidence(signs: Iterable[float]) -> float:
    """Return 0..1: the combined weight of signs that may each mislead."""
    return 1 - math.prod(1 - sign for sign in signs)


def term_weight(term: str) -> float:
    """Return 0..1: how telling a term is; words of every other goal or key tell little."""
    if term in _SAYING_LITTLE:
        return _LITTLE_WEIGHT
    return min(1.0, -math.log(everyday_share(term)) / _RAREST)


def deviations(cosines: Sequence[float]) -> list[float]:
    """Return each cosine's distance from the mean in standard deviations; zeros where all are equal."""
    spread = pstdev(cosines) if cosines else 0.0
    mean = fmean(cosines) if spread else 0.0
    return [(cosine - mean) / spread if spread else 0.0 for cosine in cosines]


def best(scores: Sequence[float], bar: float, most: int) -> list[int]:
    """Return the indexes of the scores that reach the bar, best first, at most ``most``."""
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    return [place for place in order if scores[place] >= bar][:most]


def asks_generally(goal: str) -> bool:
    """Return whether a goal asks about the world, so that it needs no saved value."""
    general, own = _patterns()
    return general.search(plain_words(goal)) is not None and not own.search(plain_words(_QUOTED.sub(" ", goal)))


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of goals about the world, and of goals about the speaker."""
    listed = tomllib.loads(Path(__file__).with_name("general.toml").read_text(encoding="utf-8"))
    own = listed.pop("own")
    return re.compile("|".join(item for group in listed.values() for item in group)), re.compile("|".join(own))
