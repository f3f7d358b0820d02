"""Finds what earlier rules did wrong in a store: wrong ends, values of other subjects, texts without meaning."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache
from typing import Final

from memwarden.records import EXTRACTED_BY, QUOTATION, AuditFinding, Event, Fix, Flaw, JournalEntry, Memory
from memwarden.remember.resolve.resolution import DERIVED_CHANNELS, are_comparable, is_card
from memwarden.remember.resolve.same_fact import judge
from memwarden.statements.explicit import says_whom
from memwarden.text.lexicon import all_words
from memwarden.text.small_talk import content_terms
from memwarden.text.tokenizer import terms

# A quotation with what the conversation began with: speaker: 'opening' – speaker, day: "words".
_OPENING: Final = re.compile(r"""^[^'"\n]{1,80}: '(?P<opening>.*)' [–-] [^"\n]{1,120}: ".*"$""", re.DOTALL)
# Names inside a sentence, and numbers.
_NAME_OR_NUMBER: Final = re.compile(r"(?<=[\w,;:'’)] )[^\W\d_a-z][\w'’-]+|\d[\d.,:]*\d|\d")
# A number that is a value by itself, such as a telephone number, and no year.
_VALUE: Final = re.compile(r"(?<!\d)(?!(?:19|20)\d\d(?!\d))\d{4,}|\d{2,}(?:[ ./-]\d{2,}){2,}")
_QUESTION_MARKS: Final = ("?", "？", "؟", ";")
# Roles of the lexicon whose words alone say nothing about anybody.
_EMPTY_ROLES: Final = ("very_common", "common", "small_talk", "greetings", "thanks", "farewells", "time", "time_units")


def is_ended_by_rule(entry: JournalEntry) -> bool:
    """Whether a journal entry ended a memory by a rule, and not by the word of a person or a model."""
    rule = str((entry.meta or {}).get("rule", ""))
    return entry.event == Event.SUPERSEDE and "by" in (entry.meta or {}) and bool(rule) and "model" not in rule


def check_end(ended: Memory, successor: Memory, rule: str) -> AuditFinding | None:
    """Return the finding for an end that today's rules would not make."""
    if are_comparable(successor, ended) and judge(ended.text, successor.text).label in ("supersede", "same"):
        return None
    why = f"a newer fact ended it (rule: {rule}), and both can be true"
    fix = Fix("update", ended.id, {"clear": ("valid_to",)})
    return AuditFinding(Flaw.WRONG_END, (ended.id, successor.id), why, fix)


def is_extracted(memory: Memory) -> bool:
    """Whether a memory was extracted from turns, and is no index card."""
    return memory.actor_id == EXTRACTED_BY and memory.channel in DERIVED_CHANNELS and not is_card(memory)


def check_extracted(memory: Memory, sources: Sequence[Memory], added: int) -> AuditFinding | None:
    """Return the finding for an extracted memory that says nothing, or says what its turns do not.

    Its removal is an undo of the change that added it: what an undo removed never was, so its turns still answer.

    Args:
        sources: all turns that it rests on. added: number of the change that added it.
    """
    fix = Fix("undo", memory.id, {"change": added})
    if _is_shown_with_another(memory.text) and says_whom(_own_words(memory)):
        why = "it is shown with words about another subject, with which the conversation began"
        return AuditFinding(Flaw.OTHER_SUBJECT, (memory.id,), why, fix)
    if _says_nothing(_own_words(memory)):
        return AuditFinding(Flaw.MEANINGLESS, (memory.id,), "its words do not say what it is about", fix)
    if QUOTATION not in memory.tags and (foreign := _unsaid(memory, sources)):
        why = f"its turns do not say {', '.join(sorted(foreign))}"
        return AuditFinding(Flaw.OTHER_SUBJECT, (memory.id, *(turn.id for turn in sources)), why, fix)
    return None


def _is_shown_with_another(text: str) -> bool:
    """Whether a statement, and no question, is quoted before the words themselves."""
    found = _OPENING.match(text)
    return found is not None and not found["opening"].rstrip().endswith(_QUESTION_MARKS)


def _own_words(memory: Memory) -> str:
    """The quoted words of a quotation, else the text."""
    if QUOTATION not in memory.tags:
        return memory.text
    return " ".join(re.findall(r'"(.*)"', memory.text, re.DOTALL)) or memory.text


def _says_nothing(text: str) -> bool:
    return _VALUE.search(text) is None and all(term.isdigit() or term in _empty_terms() for term in content_terms(text))


@cache
def _empty_terms() -> frozenset[str]:
    words = frozenset(word for role in _EMPTY_ROLES for word in all_words(role))
    return words | frozenset(terms(" ".join(sorted(words))))


def _unsaid(memory: Memory, sources: Sequence[Memory]) -> Collection[str]:
    """Names and numbers of a text that none of its turns has: days are written anew, and speakers are named."""
    said = " ".join(text for turn in sources for text in (turn.text, turn.name or ""))
    words, numbers = set(terms(said)), set(re.findall(r"\d+", said)) | _numbers_of_days(sources)
    found = _NAME_OR_NUMBER.findall(memory.text)
    unsaid = {word for word in found if word[0].isdigit() and not numbers.issuperset(re.findall(r"\d+", word))}
    return unsaid | {
        word for word in found if not word[0].isdigit() and not (words | _day_words()).issuperset(terms(word))
    }


def _numbers_of_days(sources: Sequence[Memory]) -> set[str]:
    """Every number that a day near to the turns may be written with: a day of the month, and a year."""
    years = {turn.said_at.year + shift for turn in sources for shift in range(-100, 20)}
    return {str(number) for number in (*range(1, 32), *years)}


@cache
def _day_words() -> frozenset[str]:
    roles = ("months", "months_short", "weekdays", "weekdays_short", "time")
    return frozenset(terms(" ".join(sorted(word for role in roles for word in all_words(role)))))
