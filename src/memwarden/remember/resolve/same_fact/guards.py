"""The guards: each names one way in which two statements differ that a merge must never cross."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from memwarden.remember.resolve.same_fact.signature import Signature
from memwarden.remember.resolve.same_fact.word_lists import LISTED_LANGUAGES, load_word_lists

Guard = Callable[[Signature, Signature], bool]


def negation(signature: Signature, two: Signature) -> bool:
    """One denies what the other says, or they deny different words."""
    return signature.negations != two.negations


def number(signature: Signature, two: Signature) -> bool:
    """Other numbers, or the same ones in another order."""
    return signature.numbers != two.numbers and (
        sorted(signature.numbers) != sorted(two.numbers) or len(signature.numbers) > 1
    )


def date(signature: Signature, two: Signature) -> bool:
    """Other days, times, years or rhythms."""
    return sorted(signature.times) != sorted(two.times)


def quantifier(signature: Signature, two: Signature) -> bool:
    """All, most, some, only, at least: not the same ones."""
    return signature.quantifiers != two.quantifiers


def modality(signature: Signature, two: Signature) -> bool:
    """Will, may, must, wants, used to, says that: not the same ones."""
    return signature.modality != two.modality


def tense(signature: Signature, two: Signature) -> bool:
    """One is over, the other is not."""
    if "any" in (signature.tense, two.tense):
        return False
    return (signature.tense or "present") != (two.tense or "present")


def preposition(signature: Signature, two: Signature) -> bool:
    """From, against, before, under: not the same ones."""
    return signature.prepositions != two.prepositions


def conjunction(signature: Signature, two: Signature) -> bool:
    """And, or, if, because, that: not the same ones."""
    return signature.conjunctions != two.conjunctions


def code(signature: Signature, two: Signature) -> bool:
    """Other addresses, paths, versions or names of code; their case counts."""
    return signature.codes != two.codes and _plain_codes(signature) != _plain_codes(two)


def _plain_codes(signature: Signature) -> frozenset[str]:
    """Codes without those that were understood: a time, an amount."""
    return frozenset(found for found in signature.codes if found.lower() in signature.words)


def entity(signature: Signature, two: Signature) -> bool:
    """A name in one is a word in the other: Apple, apple."""
    if signature.language == "de":
        return False
    return bool(
        (signature.capitals - signature.smalls) & (two.smalls - two.capitals)
        or (two.capitals - two.smalls) & (signature.smalls - signature.capitals)
    )


def article(signature: Signature, two: Signature) -> bool:
    """ "The" thing in one is "a" thing in the other; in German, another case or gender."""
    other = {noun: word for word, noun in two.articles}
    return any(other.get(noun, word) != word for word, noun in signature.articles)


def kin(signature: Signature, two: Signature) -> bool:
    """A wife in one is a husband in the other."""
    return bool(signature.kin and two.kin) and signature.kin != two.kin


def plural(signature: Signature, two: Signature) -> bool:
    """What may be a noun is one in one and many in the other: the old plan, the old plans."""
    return bool(signature.bare & two.marked or two.bare & signature.marked)


def question(signature: Signature, two: Signature) -> bool:
    """One asks, the other says."""
    return signature.asks != two.asks


def quote(signature: Signature, two: Signature) -> bool:
    """One quotes, the other does not."""
    return signature.quotes != two.quotes


def case(signature: Signature, two: Signature) -> bool:
    """A word whose meaning hangs on its capital letter: US, us."""
    if signature.language not in LISTED_LANGUAGES:
        return False
    telling = load_word_lists(signature.language).case_matters
    return bool(telling & ((signature.capitals & two.smalls) | (two.capitals & signature.smalls)))


def order(signature: Signature, two: Signature) -> bool:
    """The words that both have stand in another order: who does what to whom."""
    first = [word for word in signature.content if word in two.content]
    second = [word for word in two.content if word in signature.content]
    return first != second and sorted(first) == sorted(second) and signature.words != two.words


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


def find_guards(signature: Signature, two: Signature) -> tuple[str, ...]:
    """The names of the guards that speak against a merge, in alphabetical order."""
    return tuple(name for name, guard in GUARDS.items() if guard(signature, two))
