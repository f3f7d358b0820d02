"""Compares the claims of two statements: whether they differ in a single place, which may hold a new value.

Many facts about a person are true at once, so another word is not another value. A statement takes the place of an
older statement only if the two say the same of the same thing up to a gap, and what stands around it has one value at
a time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from memwarden.remember.resolve.same_fact.normal import BE, JOINING, NUMBER, TIMES
from memwarden.remember.resolve.same_fact.signature import Signature, is_grammar, stem
from memwarden.remember.resolve.same_fact.word_lists import WordLists, load_word_lists

# In words: what is longer is a story, not a value.
MAX_CONTENT: Final = 4


@dataclass(frozen=True, slots=True)
class ClaimGap:
    """The single place where two statements differ: what stands before and behind it, and what fills it in each."""

    before: tuple[str, ...]
    old: tuple[str, ...]
    new: tuple[str, ...]
    after: tuple[str, ...]


def find_gap(old: Signature, new: Signature) -> ClaimGap | None:
    """Return the gap of two statements, or None if either has nothing there."""
    first, second = old.state, _main(new.state, old.state)
    head = 0
    while head < min(len(first), len(second)) and first[head] == second[head]:
        head += 1
    tail = 0
    while tail < min(len(first), len(second)) - head and first[-1 - tail] == second[-1 - tail]:
        tail += 1
    before, after = first[head : len(first) - tail], second[head : len(second) - tail]
    return ClaimGap(first[:head], before, after, first[len(first) - tail :]) if before and after else None


def _main(new: tuple[str, ...], old: tuple[str, ...]) -> tuple[str, ...]:
    """The new state without since when or why it is so, if the old state does not tell."""
    if set(old) & _REASONS:
        return new
    end = next((at for at, word in enumerate(new) if at > 2 and word in _REASONS), len(new))
    return new[:end]


# What follows says since when or why, which a new value need not repeat.
_REASONS: Final = frozenset("since because seit weil desde porque depuis".split())


def is_measure(found: ClaimGap, lists: WordLists) -> bool:
    """Both sides of the gap are a number or an amount, or both days or times; and it is no part of a name."""
    words = [word for word in (*found.old, *found.new) if lists.quantifiers.get(word) != "only"]
    numbers = [word for word in words if NUMBER.match(word)]
    times = [word for word in words if word.startswith(TIMES)]
    if (numbers and times) or set(found.after) & BE:
        return False
    plain = [{*side} & {*words} for side in (found.old, found.new)]
    return all(_counts(word, lists) for word in words) and _kind(plain[0]) == _kind(plain[1])


def _counts(word: str, lists: WordLists) -> bool:
    return bool(NUMBER.match(word)) or word.startswith(TIMES) or word in lists.units.values()


def _kind(words: set[str]) -> set[str]:
    return {word[:2] if word.startswith(TIMES) else "number" if NUMBER.match(word) else word for word in words}


def is_event(old: Signature, new: Signature, lists: WordLists) -> bool:
    """Both tell what happened: it can have happened twice, with another number and on another day."""
    if old.tense != "past" or new.tense != "past" or new.changed:
        return False
    if any(word.startswith(_DATED) for word in old.times if word in new.times):
        return False  # it is the same event, on the same day
    return all(not BE & set(side.state) and not lists.once & set(side.raw) for side in (old, new))


_DATED: Final = ("o:", "d:", "y:", "m:")


def is_rhythm(found: ClaimGap, lists: WordLists) -> bool:
    """On another weekday the same is done again: plays chess on Mondays, on Fridays."""
    days = all(word.startswith("w:") for word in (*found.old, *found.new))
    return days and not BE & set(found.before) and not _heads(lists.code) & set(found.before)


def is_changed(found: ClaimGap, signature: Signature, lists: WordLists) -> bool:
    """The new statement tells of a change: any place may have another value, but not all that somebody "is"."""
    if max(len(found.old), len(found.new)) > MAX_CONTENT or not _alike(found, lists):
        return False
    if any(_counts(word, lists) for word in (*found.old, *found.new)):
        return False
    told = [word in BE or word in signature.verbs or word.endswith("-ed") for word in found.before]
    if not any(told[1:]):
        return False
    if found.before[-1] not in BE:
        return True
    return _are_opposed(found, lists)


def _are_opposed(found: ClaimGap, lists: WordLists) -> bool:
    """Healthy, sick: a word and its opposite."""
    return (found.old, found.new) in _opposites(lists.code)


@cache
def _opposites(code: str) -> frozenset[tuple[tuple[str], tuple[str]]]:
    lists = load_word_lists(code)
    return frozenset(((stem(item, lists),), (stem(two, lists),)) for item, two in lists.antonyms)


def are_alike(found: ClaimGap, old: Signature, new: Signature, lists: WordLists) -> bool:
    """Both sides of the gap are names, or neither is: a bank is Nordea or Postbank, and slow or fast.

    Two common words behind "is" are two values only where such words are values: a colour, a status.
    """
    if _favourite(lists.code) & set(found.before) or _scale(found, lists) or _are_opposed(found, lists):
        return True
    named = [_is_named(side, words, lists) for side, words in ((old, found.old), (new, found.new))]
    if any(named) or not found.before or found.before[-1] not in BE:
        return all(named) or not any(named)
    return bool(_describes(lists.code) & set(found.before))


def _is_named(signature: Signature, words: tuple[str, ...], lists: WordLists) -> bool:
    smalls = {stem(name, lists) for name in signature.smalls}
    return any(
        (word.isalpha() and word not in smalls) or _CODE.search(word) for word in words if not is_grammar(word, lists)
    )


_CODE: Final = re.compile(r"[\d@:/._#]")


@cache
def _describes(code: str) -> frozenset[str]:
    """Stems of the attributes whose values are common words."""
    lists = load_word_lists(code)
    return frozenset(stem(word, lists) for word in lists.described)


def is_value(found: ClaimGap, lists: WordLists) -> bool:
    """What stands around the gap has a single value at a time, and both sides of the gap can be such a value."""
    if _scale(found, lists):
        return True
    if max(len(found.old), len(found.new)) > MAX_CONTENT or not _alike(found, lists):
        return False
    if set(found.after) & BE:
        return _office(found, lists)
    return _before(found, lists) or _after(found, lists) or _purpose(found, lists)


def _alike(found: ClaimGap, lists: WordLists) -> bool:
    """Neither side begins with a preposition or has a verb of its own, and they tell a number or a time both or not."""
    if any(word.startswith(TIMES) for word in (*found.old, *found.new)) and not is_measure(found, lists):
        return False
    for counts in (NUMBER.match, lambda word: word.startswith(TIMES)):
        if any(map(counts, found.old)) != any(map(counts, found.new)):
            return False
    where = "status" in found.before  # in review, approved
    for side in (found.old, found.new):
        if where:
            continue
        if side[0] in lists.prepositions or side[0] in _LINKING or _VERBS & set(side):
            return False
    return True


# These join words without a claim of their own.
_LINKING: Final = JOINING | {"like", "comme", "como", "als"}
_VERBS: Final = BE | {"have", "haben", "tener", "avoir", "'s"}


def _before(found: ClaimGap, lists: WordLists) -> bool:
    """The attribute stands right before the gap: live in _, favourite colour be _; or it is what is spoken of."""
    words, heads = list(found.before), _heads(lists.code)
    is_said = bool(words) and words[-1] in BE
    while words and (words[-1] in BE | _LINKING | lists.prepositions | lists.persons):
        words.pop()
    if not words:
        return False
    if words[-1] in _PLACED and words[-1] == found.before[-1]:
        return False  # works nights, lives alone: not where
    if words[-1] in heads or (is_said and set(words) & _favourite(lists.code)):
        return True
    of = next((at for at, word in enumerate(words) if word in _OF), 0)
    return is_said and of > 0 and words[of - 1] in heads


@cache
def _favourite(code: str) -> frozenset[str]:
    words = {"en": "favourite default", "es": "favorito favorita", "fr": "préféré préférée favori"}.get(code, "")
    return frozenset(stem(word, load_word_lists(code)) for word in words.split())


_PLACED: Final = frozenset("work live sleep arbeit leb trabaj viv travaill habit".split())
_OF: Final = frozenset("of for in von für de pour para du".split())


def _scale(found: ClaimGap, lists: WordLists) -> bool:
    """Both are words of a list that exclude each other: is red, is blue; is single, is married to Bo."""
    said = bool(found.before) and found.before[-1] in BE
    whole = all(len(side) == 1 or side[1] in _WITH for side in (found.old, found.new))
    return said and whole and any({found.old[0], found.new[0]} <= scale for scale in _scales(lists.code))


_WITH: Final = frozenset("to mit con à avec".split())


@cache
def _scales(code: str) -> tuple[frozenset[str], ...]:
    lists = load_word_lists(code)
    return tuple(frozenset(stem(word, lists) for word in words.split()) for words in lists.scales)


def is_replaced(old: Signature, new: Signature, lists: WordLists) -> bool:
    """The new statement says itself that the old is no longer so: tea instead of coffee.

    What is gone has to be what the old begins or ends with; all else that it says has to be in the new, but
    for a verb that only says that something is made use of.
    """
    gone = new.gone
    if not gone or old.changed or old.tense == "past" or len(old.content) <= len(gone):
        return False
    if gone not in (old.content[-len(gone) :], old.content[: len(gone)]):
        return False
    return set(old.content) - {*gone, *new.content} <= _uses(lists.code)


def is_over(old: Signature, new: Signature, lists: WordLists) -> bool:
    """The new statement says that the old has come to an end: has a boat, sold the boat.

    The old says nothing but who has what, or does what.
    """
    if not new.ended or old.tense == "past" or new.tense not in ("past", "unmarked", "mixed"):
        return False
    if old.numbers != new.numbers or old.named != new.named or old.subject not in new.content:
        return False
    verbs = set(old.content) - set(new.content)
    return verbs <= _uses(lists.code) and set(new.ended) <= set(old.content[1:]) <= verbs | set(new.ended)


@cache
def _uses(code: str) -> frozenset[str]:
    """Stems of verbs that say no more than that something is made use of."""
    lists = load_word_lists(code)
    return frozenset(stem(word, lists) for word in lists.uses)


def _office(found: ClaimGap, lists: WordLists) -> bool:
    """_ be mayor of Graz: a single person is."""
    return not found.before and found.after[0] in BE and bool(lists.holders & set(found.after[1:3]))


def _after(found: ClaimGap, lists: WordLists) -> bool:
    return bool(found.after) and found.after[0] in lists.graded


def _purpose(found: ClaimGap, lists: WordLists) -> bool:
    """Something else is used for the same purpose: use _ for the cache."""
    return bool(found.before and found.after) and found.before[-1] in _USED and found.after[0] in _FOR


_FOR: Final = frozenset("for as für als para pour comme".split())
_USED: Final = frozenset("use run nutz us utilis".split())


@cache
def _heads(code: str) -> frozenset[str]:
    """Stems of the things that have a single value at a time."""
    lists = load_word_lists(code)
    done = {stem(word, lists) for word in lists.holders & lists.bases}  # leads, heads
    return frozenset(stem(word, lists) for word in lists.attributes | lists.holders) - done
