"""The guards: each names one way in which two statements differ that a merge must never cross."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from memwarden.remember.resolve.same_fact.signature import Signature
from memwarden.remember.resolve.same_fact.word_lists import LISTED, listing

Guard = Callable[[Signature, Signature], bool]


def negation(one: Signature, two: Signature) -> bool:
    """One denies what the other says, or they deny different words."""
    return one.negations != two.negations


def number(one: Signature, two: Signature) -> bool:
    """Other numbers, or the same ones in another order."""
    return one.numbers != two.numbers and (sorted(one.numbers) != sorted(two.numbers) or len(one.numbers) > 1)


def date(one: Signature, two: Signature) -> bool:
    """Other days, times, years or rhythms."""
    return sorted(one.times) != sorted(two.times)


def quantifier(one: Signature, two: Signature) -> bool:
    """All, most, some, only, at least: not the same ones."""
    return one.quantifiers != two.quantifiers


def modality(one: Signature, two: Signature) -> bool:
    """Will, may, must, wants, used to, says that: not the same ones."""
    return one.modality != two.modality


def tense(one: Signature, two: Signature) -> bool:
    """One is over, the other is not."""
    if "any" in (one.tense, two.tense):
        return False
    return (one.tense or "present") != (two.tense or "present")


def preposition(one: Signature, two: Signature) -> bool:
    """From, against, before, under: not the same ones."""
    return one.prepositions != two.prepositions


def conjunction(one: Signature, two: Signature) -> bool:
    """And, or, if, because, that: not the same ones."""
    return one.conjunctions != two.conjunctions


def code(one: Signature, two: Signature) -> bool:
    """Other addresses, paths, versions or names of code; their case counts."""
    return one.codes != two.codes and _plain_codes(one) != _plain_codes(two)


def _plain_codes(one: Signature) -> frozenset[str]:
    """Codes without those that were understood: a time, an amount."""
    return frozenset(found for found in one.codes if found.lower() in one.words)


def entity(one: Signature, two: Signature) -> bool:
    """A name in one is a word in the other: Apple, apple."""
    if one.language == "de":
        return False
    return bool(
        (one.capitals - one.smalls) & (two.smalls - two.capitals)
        or (two.capitals - two.smalls) & (one.smalls - one.capitals)
    )


def article(one: Signature, two: Signature) -> bool:
    """ "The" thing in one is "a" thing in the other; in German, another case or gender."""
    other = {noun: word for word, noun in two.articles}
    return any(other.get(noun, word) != word for word, noun in one.articles)


def kin(one: Signature, two: Signature) -> bool:
    """A wife in one is a husband in the other."""
    return bool(one.kin and two.kin) and one.kin != two.kin


def plural(one: Signature, two: Signature) -> bool:
    """What may be a noun is one in one and many in the other: the old plan, the old plans."""
    return bool(one.bare & two.marked or two.bare & one.marked)


def question(one: Signature, two: Signature) -> bool:
    """One asks, the other says."""
    return one.asks != two.asks


def quote(one: Signature, two: Signature) -> bool:
    """One quotes, the other does not."""
    return one.quotes != two.quotes


def case(one: Signature, two: Signature) -> bool:
    """A word whose meaning hangs on its capital letter: US, us."""
    if one.language not in LISTED:
        return False
    telling = listing(one.language).case_matters
    return bool(telling & ((one.capitals & two.smalls) | (two.capitals & one.smalls)))


def order(one: Signature, two: Signature) -> bool:
    """The words that both have stand in another order: who does what to whom."""
    first = [word for word in one.content if word in two.content]
    second = [word for word in two.content if word in one.content]
    return first != second and sorted(first) == sorted(second) and one.words != two.words


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


def fired(one: Signature, two: Signature) -> tuple[str, ...]:
    """The names of the guards that speak against a merge, in alphabetical order."""
    return tuple(name for name, guard in GUARDS.items() if guard(one, two))
