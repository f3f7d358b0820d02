"""Later statements that take back an earlier one about the same dose, the same post or the same thing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final, NamedTuple

from memwarden.statements.explicit import ReadClause, ReadText, read_text
from memwarden.text.lexicon import languages, load_lexicon
from memwarden.text.tokenizer import GLUED_SCRIPT, stop_words, terms

# Keys of phrases that say how often and when a medicine is taken.
_FREQUENCIES: Final = ("medicines", "regular", "verbs")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
# Roles of words that tell a change of a dose.
_NEWS_OF_DOSES: Final = ("over", "changed", "corrected", "scaled", "now", "negation")


def is_new_dose(earlier: ReadText, later: ReadText) -> bool:
    """Whether both give a dose and share a word of the medicine: "50 mg of metoprolol", "25 mg of metoprolol now"."""
    language = earlier.language
    doses = load_doses(language)
    if not (earlier.units & doses and later.units & doses) or later.person == "third" or later.relations:
        return False
    # "In the evening 25 mg more" is a dose besides.
    another = None if later.words is None else later.words.patterns.get("another")
    if later.words is None or (another is not None and another.search(later.plain)):
        return False
    shared = (earlier.content & later.content) - load_unnamed(language) - _load_frequencies(language)
    return any(shared & clause.content and read_text(clause.text, language).units & doses for clause in later.clauses)


def is_other_dose(earlier: ReadText, later: ReadText, times: Mapping[str, re.Pattern[str]]) -> bool:
    """Whether both give a dose at another time of the day, and the later tells no change: 50 mg mornings, 25 mg nights.

    times: patterns of the times of the day.
    """
    doses = load_doses(earlier.language)
    if not (earlier.units & doses and later.units & doses) or any(map(later.has, _NEWS_OF_DOSES)):
        return False
    first, second = (
        {name for name, pattern in times.items() if pattern.search(read.plain)} for read in (earlier, later)
    )
    return bool(first and second) and first.isdisjoint(second)


def is_post_changed(posts: frozenset[str], later: ReadText) -> bool:
    """Whether a sentence says that the speaker has another holder of a post: "I changed my doctor".

    "My boss changed the plan" and "I changed my doctor's appointment" say so of no post.

    posts: stems of the words for the post.
    """
    if later.words is None or later.asks or later.person == "third":
        return False
    same = _same_posts(posts, later.language)
    return any(_changes_object(clause, same, later) for clause in later.clauses)


def _changes_object(clause: ReadClause, posts: frozenset[str], later: ReadText) -> bool:
    """Whether a word of a change and a word of a post follow each other, with function words between them."""
    words, language = later.words, later.language
    read = read_text(clause.text, language)
    if words is None or {"negation", "doubt"} & clause.roles or read.others:
        return False
    if read.person != "self":
        return False
    common = stop_words(language)
    named = any(
        "now" in other.roles and any(name in other.text for name in later.names)
        for other in later.clauses
        if other is not clause
    )
    for hit in words.patterns["changed"].finditer(clause.text):
        before, after = clause.text[: hit.start()].split(), clause.text[hit.end() :].split()
        place = next((place for place, word in enumerate(after) if word not in common), len(after))
        if place < len(after) and "'" not in after[place] and posts.intersection(terms(after[place], language)):
            rest = after[place + 1 :]
            if named or not rest:
                return True
        # Verbs at the end: "Ich habe den Zahnarzt gewechselt", but not "den Termin beim Zahnarzt".
        if not after and before and posts.intersection(terms(before[-1], language)):
            return all(word in common for word in before[:-1])
    return False


class GoneSigns(NamedTuple):
    """Patterns of a language for a thing that is gone.

    Attributes:
        all: words that say so. stolen: of these, those behind which a place does not mean that it was mislaid.
        places: words before a place or a receiver.
    """

    all: tuple[re.Pattern[str], ...]
    stolen: re.Pattern[str]
    places: re.Pattern[str]


def is_thing_gone(thing: ReadText, gone: Iterable[ReadClause], signs: GoneSigns) -> bool:
    """Whether a clause says that a thing was sold, lost or stolen, and tells nothing else: "I sold the Raleigh".

    "I lost the keys of the Raleigh" ends no Raleigh. Where it was stolen or who bought it may be told.

    gone: clauses that say so.
    """
    language = thing.language
    rare = _words_of(thing.plain, language) | (thing.content - load_common(language))
    return any(_tells_only(clause, thing, rare, signs) for clause in gone)


def _cut_place(text: str, rare: frozenset[str], signs: GoneSigns, language: str) -> str:
    """A clause without the place where a thing was stolen: "my Toyota was stolen in front of the house".

    "The Toyota next to mine was stolen" keeps its place, which says which Toyota.
    """
    hit = signs.stolen.search(text)
    thing = next((word for word in _WORD.finditer(text) if _is_any(word[0], rare, language)), None)
    if hit is None or thing is None or _YEAR.search(text):
        return text
    said = load_lexicon(language).words.get("auxiliaries", ())
    for place in signs.places.finditer(text, thing.end()):
        # "A Toyota like mine was stolen": only verbs and times are between a thing and what became of it.
        between = _WORD.findall(text[thing.end() : min(place.start(), max(thing.end(), hit.start()))])
        if not all(word in said or _is_any(word, rare | _load_times(language), language) for word in between):
            return text
        if place.start() >= hit.end():
            return text[: place.start()]
        if place.end() <= hit.start() and between:
            return text[: place.start()] + text[hit.start() :]
    return text


def _is_any(word: str, rare: frozenset[str], language: str) -> bool:
    return word in rare or not rare.isdisjoint(terms(word, language))


def _tells_only(clause: ReadClause, thing: ReadText, rare: frozenset[str], signs: GoneSigns) -> bool:
    language = thing.language
    read = read_text(clause.text, language)
    if {"negation", "doubt"} & clause.roles or read.relations or read.person == "third":
        return False
    rest = _cut_place(clause.text, rare, signs, language)
    for sign in signs.all:
        rest = sign.sub(" ", rest)
    if not rare & (read_text(rest, language).content | _words_of(rest, language)):
        return False
    if GLUED_SCRIPT.search(rest):
        return True
    words = set(_WORD.findall(rest)) - set(_WORD.findall(thing.plain)) - stop_words(language)
    said = load_lexicon(language).words.get("auxiliaries", ())
    return all(word in said or not _load_times(language).isdisjoint(terms(word, language)) for word in words)


def _words_of(plain: str, language: str) -> frozenset[str]:
    """Words of a text that are not in many texts. A stem may depend on the words around it."""
    words = (word for word in _WORD.findall(plain) if word not in stop_words(language))
    return frozenset(word for word in words if load_common(language).isdisjoint(terms(word, language)))


@cache
def _same_posts(posts: frozenset[str], language: str) -> frozenset[str]:
    """Stems of a post and of other words for it: "GP", "doctor"."""
    listed = load_lexicon(language).posts.values() if language in languages() else ()
    same = ({stem for word in words for stem in terms(word, language)} for words in listed)
    return posts.union(*(stems for stems in same if stems & posts))


@cache
def load_doses(language: str) -> frozenset[str]:
    """Stems of the units of doses of a language."""
    return frozenset(stem for word in load_lexicon(language).words.get("doses", ()) for stem in terms(word, language))


@cache
def load_unnamed(language: str) -> frozenset[str]:
    """Stems of words that do not say which code or dose is meant: common words, posts, units and ends."""
    lexicon = load_lexicon(language)
    listed = (*lexicon.updates.get("post", "").split("|"), *lexicon.lasting.get("ended", "").split("|"))
    stems = (stem for word in listed for stem in terms(word.strip(" *"), language))
    return load_common(language) | load_doses(language) | frozenset(stems)


@cache
def load_common(language: str) -> frozenset[str]:
    """Stems of the words of a language that are in many texts."""
    words = load_lexicon(language).words
    listed = (*words.get("very_common", ()), *words.get("common", ()))
    return frozenset(stem for word in listed for stem in terms(word, language))


@cache
def _load_times(language: str) -> frozenset[str]:
    """Stems of words that say when something was."""
    lexicon = load_lexicon(language)
    listed = [word for role in ("time", "time_units", "weekdays", "months") for word in lexicon.words.get(role, ())]
    entries = (entry for token in ("last", "near_day", "part_of_day") for entry in lexicon.date_words(token))
    listed += [entry.partition("=")[0] for entry in entries]
    return frozenset(stem for word in listed for stem in terms(word, language))


@cache
def _load_frequencies(language: str) -> frozenset[str]:
    lasting = load_lexicon(language).lasting
    listed = (word for key in _FREQUENCIES for word in lasting.get(key, "").replace("|", " ").split())
    return frozenset(stem for word in listed if "<" not in word for stem in terms(word.strip("*"), language))
