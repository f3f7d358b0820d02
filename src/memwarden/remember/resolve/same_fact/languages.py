"""Which language two short statements are in, by the function words that they show."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from memwarden.remember.resolve.same_fact.word_lists import LISTED_LANGUAGES, load_word_lists
from memwarden.text.tokenizer import LISTS, normal

MIN_LEAD: Final = 2
"""Votes that two texts need together: one word alone may be a word of a language without lists, too."""

LanguageVotes = tuple[tuple[str, int], ...]

_NAMES: Final = {"english": "en", "german": "de", "french": "fr", "spanish": "es"}
_KANA: Final = re.compile(r"[\u3040-\u30ff]")
_GLUED: Final = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]"
)
_OTHER_SCRIPT: Final = re.compile(r"[\u0370-\u1fff]")
_WORD: Final = re.compile(r"[^\W\d_]+")


@lru_cache(maxsize=1)
def _voters() -> dict[str, tuple[str, ...]]:
    """Function word -> the languages that have it."""
    table: dict[str, set[str]] = {}
    for name, listed in LISTS["stop"].items():
        for word in listed.split():
            table.setdefault(word, set()).add(_NAMES.get(name, name))
    for code in LISTED_LANGUAGES:
        for word in load_word_lists(code).known:
            table.setdefault(word, set()).add(code)
    return {word: tuple(sorted(codes)) for word, codes in table.items()}


def count_votes(text: str) -> LanguageVotes:
    """Languages with the number of words of theirs that the text shows; a function word that is a verb counts twice."""
    if _KANA.search(text):
        return (("ja", 99),)
    if _GLUED.search(text) or _OTHER_SCRIPT.search(text):
        return ()
    table = _voters()
    counts: dict[str, int] = {}
    words = set(_WORD.findall(normal(text[:2000])))
    for word in words:
        for code in table.get(word, ()):
            counts[code] = counts.get(code, 0) + 1
    for code in LISTED_LANGUAGES:
        if forms := len(words & load_word_lists(code).forms.keys()):
            counts[code] = counts.get(code, 0) + forms
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def choose_language(found: LanguageVotes) -> str:
    """The language with most votes if the product has lists for it, else ""; English wins a tie, other ties nobody."""
    if not found:
        return ""
    best = [code for code, count in found if count == found[0][1]]
    code = best[0] if len(best) == 1 else "en" if "en" in best else ""
    return code if code in (*LISTED_LANGUAGES, "ja") else ""


def combine_votes(votes: LanguageVotes, two: LanguageVotes) -> str:
    """The language of two statements that are compared: the votes of both count."""
    counts = dict(votes)
    for code, count in two:
        counts[code] = counts.get(code, 0) + count
    found = tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    return choose_language(found) if found and found[0][1] >= MIN_LEAD else ""
