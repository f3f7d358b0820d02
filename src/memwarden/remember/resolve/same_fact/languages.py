"""The language in which two short statements are compared: a language that the product has word lists for."""

from __future__ import annotations

from typing import Final

from memwarden.remember.resolve.same_fact.word_lists import LISTED_LANGUAGES
from memwarden.text.language import DEFAULT_LANGUAGE, LATIN, LanguageEvidence

MAX_MISFIT: Final = 9.0
MAX_UNVOTED_MISFIT: Final = 3.0
"""Nats by which another language may fit the letters better, with and without a function word of the chosen language;
beyond, the words are of a language without lists."""
UNVOTED_CAUTION: Final = 0.25
"""Statements are short: without an English function word a small lead tells another language."""
_COMPARED: Final = frozenset((*LISTED_LANGUAGES, "ja"))


def choose_language(evidence: LanguageEvidence) -> str:
    """Return the language that a text shows if the product can compare in it, else ""."""
    code = evidence.likely(caution=1.0 if DEFAULT_LANGUAGE in evidence.voted else UNVOTED_CAUTION)
    if code not in _COMPARED:
        return ""
    if code not in LATIN:
        return code
    misfit = max(evidence.scores) - evidence.scores[LATIN.index(code)]
    return code if misfit <= (MAX_MISFIT if code in evidence.voted else MAX_UNVOTED_MISFIT) else ""


def choose_common_language(evidence: LanguageEvidence, other: LanguageEvidence) -> str:
    """Return the language of two statements that are compared: where they differ, the evidence of both counts."""
    alone = choose_language(evidence)
    if alone and alone == choose_language(other):
        return alone
    return choose_language(evidence.join(other)) if evidence.script == other.script else ""
