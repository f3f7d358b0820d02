"""The guards: each names a difference between two statements that a merge must never cross."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from memwarden.remember.resolve.same_fact.signature import Signature
from memwarden.remember.resolve.same_fact.word_lists import LISTED_LANGUAGES, load_word_lists

Guard = Callable[[Signature, Signature], bool]


def negation(old: Signature, new: Signature) -> bool:
    """Either denies what the other says, or they deny different words."""
    return old.negations != new.negations


def number(old: Signature, new: Signature) -> bool:
    """Other numbers, or the same ones in another order."""
    return old.numbers != new.numbers and (sorted(old.numbers) != sorted(new.numbers) or len(old.numbers) > 1)


def date(old: Signature, new: Signature) -> bool:
    """Other days, times, years or rhythms."""
    return sorted(old.times) != sorted(new.times)


def quantifier(old: Signature, new: Signature) -> bool:
    """All, most, some, only, at least: not the same ones."""
    return old.quantifiers != new.quantifiers


def modality(old: Signature, new: Signature) -> bool:
    """Will, may, must, wants, used to, says that: not the same ones."""
    return old.modality != new.modality


def tense(old: Signature, new: Signature) -> bool:
    """Either is over, the other is not."""
    if "any" in (old.tense, new.tense):
        return False
    return (old.tense or "present") != (new.tense or "present")


def preposition(old: Signature, new: Signature) -> bool:
    """From, against, before, under: not the same ones."""
    return old.prepositions != new.prepositions


def conjunction(old: Signature, new: Signature) -> bool:
    """And, or, if, because, that: not the same ones."""
    return old.conjunctions != new.conjunctions


def code(old: Signature, new: Signature) -> bool:
    """Other addresses, paths, versions or names of code; their case counts."""
    return old.codes != new.codes and _plain_codes(old) != _plain_codes(new)


def _plain_codes(signature: Signature) -> frozenset[str]:
    """Codes without those that were understood: a time, an amount."""
    return frozenset(found for found in signature.codes if found.lower() in signature.words)


def entity(old: Signature, new: Signature) -> bool:
    """A name in either is a word in the other: Apple, apple."""
    if old.language == "de":
        return False
    return bool(
        (old.capitals - old.smalls) & (new.smalls - new.capitals)
        or (new.capitals - new.smalls) & (old.smalls - old.capitals)
    )


def article(old: Signature, new: Signature) -> bool:
    """ "The" thing in either is "a" thing in the other; in German, another case or gender."""
    other = {noun: word for word, noun in new.articles}
    return any(other.get(noun, word) != word for word, noun in old.articles)


def kin(old: Signature, new: Signature) -> bool:
    """A wife in either is a husband in the other."""
    return bool(old.kin and new.kin) and old.kin != new.kin


def plural(old: Signature, new: Signature) -> bool:
    """What may be a noun is singular in either and plural in the other: the old plan, the old plans."""
    return bool(old.bare & new.marked or new.bare & old.marked)


def question(old: Signature, new: Signature) -> bool:
    """Either asks, the other states."""
    return old.asks != new.asks


def quote(old: Signature, new: Signature) -> bool:
    """Either quotes, the other does not."""
    return old.quotes != new.quotes


def case(old: Signature, new: Signature) -> bool:
    """A word whose meaning hangs on its capital letter: US, us."""
    if old.language not in LISTED_LANGUAGES:
        return False
    telling = load_word_lists(old.language).case_matters
    return bool(telling & ((old.capitals & new.smalls) | (new.capitals & old.smalls)))


def order(old: Signature, new: Signature) -> bool:
    """The words that both have stand in another order: who does what to whom."""
    first = [word for word in old.content if word in new.content]
    second = [word for word in new.content if word in old.content]
    return first != second and sorted(first) == sorted(second) and old.words != new.words


GUARDS: Final[Mapping[str, Guard]] = MappingProxyType(
    {
        guard.__name__: guard
        for guard in (
            article,
            case,
            code,
            conjunction,
            date,
            entity,
            kin,
            modality,
            negation,
            number,
            order,
            plural,
            preposition,
            quantifier,
            question,
            quote,
            tense,
        )
    }
)
"""The guards by name, in alphabetical order."""


def find_guards(old: Signature, new: Signature) -> tuple[str, ...]:
    """The names of the guards that speak against a merge, in alphabetical order."""
    return tuple(name for name, guard in GUARDS.items() if guard(old, new))
