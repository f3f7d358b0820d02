"""Whether a statement says something that can be looked up later: concrete, and not vague."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from memwarden.remember.extract.rules import english as en
from memwarden.text.lexicon import load_months, load_weekdays
from memwarden.text.tokenizer import terms

# An idf above this tells texts apart: fewer than 1 in 90 texts have such a word.
TELLING: Final = 4.5

# A capital letter inside of a sentence; its beginning proves nothing.
_NAME: Final = re.compile(r"(?<![.!?] )(?<!^)\b(?!I\b)[A-Z][\w'&-]*\w")
_NUMBER: Final = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|"
    r"thousand|half|twice|dozen)\b",
    re.IGNORECASE,
)
_RELATION: Final = re.compile(rf"\b(?:{en.PEOPLE}|{en.PETS})\b", re.IGNORECASE)
_MONTH: Final = f"(?:{'|'.join(name.title() for name in (*load_months('en'), *load_weekdays('en')))})"
# Capitals that name no thing: months, "Step", "Option".
_NOT_A_NAME: Final = re.compile(rf"{_MONTH}|I|OK|Okay|Day|Step|Option|Phase|Week|Chapter|Section|Part|AI|Assistant")
# "the project", "this plan": only the talk knows which.
_VAGUE: Final = re.compile(
    rf"\b(?:the|this|that|these|those|our|another|each|any|such|which) (?:\w+ )?(?:{en.VAGUE_NOUNS})\b(?! (?:of|"
    rf"for|in|at|about|on|called|to|with|from|named) (?!me\b|us\b|now\b|it\b|this\b|that\b|the end\b))|"
    r"\b(?:Options?|Routines?|Days?|Steps?|Phases?|Chapters?|Sections?|Weeks?|Modules?|Part|Article|Level|Tier|"
    r"Scene) (?:\d+|"
    r"one|two|three|"
    r"[A-D]\b)|"
    r"\bthe \d{1,2}(?:st|nd|rd|th)\b|\b(?:something|somewhere|everything|anything|whatever|stuff|things? like that|"
    r"and all|and so on|etc)\b|"
    r"\bsince (?:we|our|last)\b|\b(?:like|as) (?:this|that|these|those)\b|\bsuch an?\b|\bso (?:much|many)\b|\bthe "
    r"(?:former|latter|above|following)\b|"
    r"\b(?:do|did|doing|done|make|made|try|tried) (?:so|some|this|that)\b$|\bone of (?:those|these|them)\b|\bthat "
    r"(?:one|way|day|time|night)\b",
    re.IGNORECASE,
)
# "the boiler": a thing at hand, unless everybody knows it or words behind it tell which.
_BARE: Final = re.compile(
    r"\b(?:[Tt]he|[Tt]hat|[Tt]hose|[Tt]hese|[Tt]his) ([a-z][\w'-]*)(?: ([a-z][\w'-]*))?(?: ([a-z][\w'-]*))?"
)
_POST: Final = frozenset(
    "of for in at that who which called named where when near on with from about between to".split()
)


def names_in(text: str) -> list[str]:
    """Capitalised words inside a statement that are no months, week-days or headings."""
    return [name for name in _NAME.findall(text) if not _NOT_A_NAME.fullmatch(name)]


def has_anchor(text: str, *, dated: bool) -> bool:
    """Whether a statement has a name, a number, a day or a person in it."""
    return dated or bool(names_in(text)) or _NUMBER.search(text) is not None or _RELATION.search(text) is not None


def telling_words(text: str, idf: Callable[[str], float]) -> int:
    """How many different words of a statement are rare enough to tell it from others."""
    return sum(1 for term in set(terms(text)) if idf(term) > TELLING)


def is_concrete(text: str, idf: Callable[[str], float], *, dated: bool) -> bool:
    """Whether there is something in a statement by which it can be found and checked later."""
    return has_anchor(text, dated=dated) or telling_words(text, idf) >= 2


def is_vague(text: str) -> bool:
    """Whether a statement leans on what only the talk around it says ("the plan", "Option 2", "something")."""
    return _VAGUE.search(text) is not None


def has_bare_noun(text: str) -> bool:
    """Whether "the" stands before a thing that the statement does not name ("the recital")."""
    for hit in _BARE.finditer(text):
        words = [word for word in hit.groups() if word]
        if any(word in en.KNOWN_THINGS for word in words[:2]) or any(word in _POST for word in words[1:]):
            continue
        return True
    return False


_SOFT: Final = re.compile(rf"\b(?:{en.SOFT})\b", re.IGNORECASE)


def is_mood(text: str) -> bool:
    """Whether a statement tells how something felt."""
    return _SOFT.search(text) is not None
