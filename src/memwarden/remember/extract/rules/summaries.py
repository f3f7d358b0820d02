"""Index cards: a line that says when who spoke about what, for browsing. It holds no claim that could be wrong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from functools import lru_cache
from typing import Final

from memwarden.remember.extract.model import EXCITED_WORDS
from memwarden.remember.extract.records import MAX_STATEMENT_CHARACTERS
from memwarden.remember.extract.rules.clauses import plain_text
from memwarden.remember.extract.rules.dating import format_long_date
from memwarden.text.language import language_of
from memwarden.text.tokenizer import GLUED_SCRIPT, terms

# A card of fewer keywords says nothing that the date does not say.
MIN_WORDS: Final = 3
# A card holds a few keywords; the beginning of a long text gives enough.
_LOOKED_AT: Final = 6_000
_WORD: Final = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_BREAK: Final = re.compile(r"[^\w\s'’-]|\n")
# Words of talking itself tell no exchange from another for whoever searches.
_TALK: Final = frozenset(
    term
    for word in """great perfect exactly absolutely understood glad ready sure sounds sound good nice appreciate help
    helpful thanks precisely definitely really completely totally clear want need like look let know think feel make
    start get going next step proceed please confirm immediately right okay excellent fantastic wonderful
    amazing question hear happy love today tomorrow yesterday tonight last ago now hello hi hey understand certainly
    course sorry apologize apology just still ensure provide discuss discussed mentioned agreed further happen
    thing way lot bit keep take give begin see say said tell talk chat yeah wow awesome cool congrats you your
    yours one something anything everything someone""".split()
    for term in terms(word)
) | {"you", "u", "ya"}


def summarize_exchange(
    texts: Sequence[str], people: Sequence[str], day: date, idf: Callable[[str], float], *, english: bool
) -> str | None:
    """The card of an exchange, at most 280 characters; None if it has too few words of its own.

    Args:
        texts: what was said, in order. people: who spoke, as the card names them.
        idf: how rare a term is (see :func:`memwarden.text.tokenizer.terms`); words that are rare, and that come again
            within the exchange, are named.
        english: a sentence; else a line without words of a language.
    """
    head = (
        f"On {format_long_date(day)} {_join_phrases(people)} discussed "
        if english
        else f"{day.isoformat()} {', '.join(people)}: "
    )
    runs = [run for text in texts for run in _runs(text, people)]
    times = Counter(stem for run in runs for _, stem in run)
    ranked = sorted(times, key=lambda stem: -idf(stem) * (1 + times[stem]) ** 0.5)
    kept: set[str] = set()
    room = MAX_STATEMENT_CHARACTERS - len(head) - len(" and .")
    spelled = {stem: word for run in reversed(runs) for word, stem in reversed(run)}
    for stem in ranked:
        cost = len(spelled[stem]) + len(", ")
        if cost <= room and idf(stem) > 0:
            room -= cost
            kept.add(stem)
    if len(kept) < MIN_WORDS:
        return None
    named = _phrases(runs, kept)
    return f"{head}{_join_phrases(named) if english else ', '.join(named)}."


def _runs(text: str, people: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Neighbouring words of content, as (word, term)."""
    names = {term for name in people for term in terms(name)} | _TALK
    found: list[list[tuple[str, str]]] = []
    language = language_of(text[:_LOOKED_AT])
    for part in _BREAK.split(plain_text(text[:_LOOKED_AT])):
        found.append([])
        for word in _WORD.findall(part):
            held = _terms_of(word, language)
            if GLUED_SCRIPT.search(word):
                found += [[(term, term)] for term in held if len(term) > 1]
            elif len(held) == 1 and held[0] not in names and not EXCITED_WORDS.search(word):
                found[-1].append((word, held[0]))
            else:
                found.append([])
    return [run for run in found if run]


@lru_cache(maxsize=20_000)
def _terms_of(word: str, language: str) -> tuple[str, ...]:
    return tuple(terms(word, language))


def _phrases(runs: Sequence[Sequence[tuple[str, str]]], kept: set[str]) -> list[str]:
    """The kept words, each once, where they stand first; neighbours as a phrase."""
    left = set(kept)
    found: list[str] = []
    for run in runs:
        joined = False
        for word, stem in run:
            if stem not in left:
                joined = False
                continue
            left.discard(stem)
            if joined:
                found[-1] += f" {word}"
            else:
                found.append(word)
            joined = True
    return found


def _join_phrases(parts: Sequence[str]) -> str:
    return " and ".join(parts) if len(parts) < 3 else f"{', '.join(parts[:-1])} and {parts[-1]}"
