"""The language in which two short statements are compared: one that the product has word lists for."""

from __future__ import annotations

from typing import Final

from memwarden.remember.resolve.same_fact.word_lists import LISTED_LANGUAGES
from memwarden.text.language import LATIN, LanguageEvidence

MAX_MISFIT: Final = 9.0
"""Nats by which another language may fit the letters better; beyond, the words are of a language without lists."""
_COMPARED: Final = frozenset((*LISTED_LANGUAGES, "ja"))


def choose_language(evidence: LanguageEvidence) -> str:
    """Return the language that a text shows if the product can compare in it, else ""."""
    code = evidence.likely()
    if code not in _COMPARED:
        return ""
    if code in LATIN and max(evidence.scores) - evidence.scores[LATIN.index(code)] > MAX_MISFIT:
        return ""
    return code


def choose_common_language(evidence: LanguageEvidence, other: LanguageEvidence) -> str:
    """Return the language of two statements that are compared: the evidence of both counts."""
    return choose_language(evidence.join(other)) if evidence.script == other.script else ""
