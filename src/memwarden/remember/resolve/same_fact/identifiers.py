"""Numbers that are names: hive 3 is another hive than hive 4, and 4 bees are more than 3.

A number that stands behind a noun and counts nothing names a thing. With another number it is another thing, unless
the noun has a single number at a time where it stands: "is in grade 4", "listens on port 80".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from memwarden.remember.resolve.same_fact.word_lists import WordLists

NUMBER: Final = re.compile(r"[-+]?\d")
# What canonical words of days, times and rhythms begin with.
TIMES: Final = ("t:", "d:", "m:", "y:", "w:", "o:", "per-")

_WHOLE: Final = re.compile(r"#?\d+")
# A verb that no list holds; of nouns few end so: "seed", "shed".
_PAST: Final = re.compile(r"[a-z]{2,}[^\We]ed")
_COUNTERS: Final = frozenset("number no nr nummer número numéro n° º".split())
BE: Final = frozenset("be sein ser estar être heißen llamar".split())
_VERBS: Final = frozenset("be have 's sein haben ser estar tener être avoir turn reach".split())


def find_names(words: tuple[str, ...], lists: WordLists) -> Iterator[tuple[str, str]]:
    """Noun and number of every number among canonical words that is a name."""
    first = next((at for at in range(len(words)) if _is_verb(words, at, lists)), len(words))
    for at, word in enumerate(words):
        if at == 0 or not _WHOLE.fullmatch(word) or _counts(words, at, lists):
            continue
        noun = words[at - 1]
        counted = noun in _COUNTERS and _is_noun(words, at - 2, lists)
        if counted:
            noun = words[at - 2]
        if not _is_noun(words, at - 2 if counted else at - 1, lists) and not word.startswith("#"):
            continue
        if at > first and not counted and noun in lists.attributes and _stands(words, at - 1, lists):
            continue  # a single number at a time: lives in apartment 12
        yield noun, word.removeprefix("#")


def _stands(words: tuple[str, ...], at: int, lists: WordLists) -> bool:
    """In apartment 12, is grade 4, on port 80: where or what something is. Not: takes flight 12."""
    before = next((word for word in reversed(words[:at]) if word not in lists.articles), "")
    return words[at] in _ALWAYS or before in _VERBS or before in JOINING or before in lists.prepositions


# Nouns that carry a number of their own wherever they stand: "port 80".
_ALWAYS: Final = frozenset({"version", "port", "limit", "timeout"})


def _counts(words: tuple[str, ...], at: int, lists: WordLists) -> bool:
    """Something stands behind the number that there is so much of."""
    after = words[at + 1] if at + 1 < len(words) else ""
    if not after or _is_verb(words, at + 1, lists) or _is_small(after, lists):
        return False
    opens = all(word in lists.articles or word in lists.persons for word in words[: at - 1])
    return after.isalpha() and not (opens and _PAST.fullmatch(after))  # "hive 0 swarmed" counts nothing


def _is_noun(words: tuple[str, ...], at: int, lists: WordLists) -> bool:
    return (
        at >= 0
        and words[at].removesuffix("-ing").isalpha()
        and not (_is_small(words[at], lists) or _is_verb(words, at, lists))
    )


def _is_verb(words: tuple[str, ...], at: int, lists: WordLists) -> bool:
    """A form of a verb, where no noun has to stand: the invoice, of invoice, pay invoice."""
    bare = words[at].removesuffix("-ed").removesuffix("-ing")
    if bare in _VERBS:
        return True
    if bare not in lists.bases or at == 0:
        return False
    before = words[at - 1]
    if before in lists.articles or before == "'s" or before in lists.prepositions or before in JOINING:
        return False
    return before in _VERBS or not _is_verb(words, at - 1, lists)


def _is_small(word: str, lists: WordLists) -> bool:
    return (
        word in JOINING
        or word in ("about", "very", "a")
        or word in lists.prepositions
        or word in lists.conjunctions
        or word in lists.articles
        or word in lists.persons
        or word in lists.quantifiers
        or word in lists.modality
        or word in lists.negation
        or word in lists.free
        or word in lists.present
    )


JOINING: Final = frozenset("of to in on at for with by as auf bei mit für an de en con à chez avec".split())
