"""Analyses a question: its words, the persons and dates it names, whether it asks for a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from memwarden.text.flags import asks_question, content_terms
from memwarden.text.language import DEFAULT_LANGUAGE, language_of, normalize_text
from memwarden.text.lexicon import load_words
from memwarden.text.tokenizer import GLUED_SCRIPT, fold, pieces, stemmer, surface_forms, terms

_MONTH_NUMBER: Final = {
    name: number
    for listed in ("months", "months_short")
    for number, name in enumerate(load_words("calendar", listed)["en"], 1)
    if name != "-"
} | {"sept": 9}
_MONTH: Final = "|".join(sorted(_MONTH_NUMBER, key=len, reverse=True))

_WHEN: Final = re.compile(
    r"\bwhen\b|\b(?:what|which)\s+(?:date|day|year|month|week|weekend|time|season|decade)\b|"
    r"\bhow\s+(?:long|recently|often)\b|\bhow\s+many\s+(?:days|weeks|months|years|hours|minutes)\b|"
    r"\b(?:wann|quand|cuándo|cuando|quando|wanneer|när|когда)\b|什么时候|何时|いつ|언제|متى",
    re.IGNORECASE,
)


def is_when_question(text: str) -> bool:
    """Whether a question asks for a time, a duration or a frequency."""
    return _WHEN.search(text) is not None


Date = tuple[int | None, int | None, int | None]
"""Year, month, day; None where the text leaves it open."""

_DATE: Final = re.compile(
    rf"\b(?P<y1>(?:19|20)\d\d)-(?P<m1>\d\d)(?:-(?P<d1>\d\d))?\b"
    rf"|\b(?:(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+)(?P<m2>{_MONTH})\b\.?(?:,?\s+(?P<y2>(?:19|20)\d\d))?"
    rf"|\b(?P<m3>{_MONTH})\b\.?(?:\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d))?(?:,?\s+(?P<y3>(?:19|20)\d\d))?"
    r"|\b(?P<y4>(?:19|20)\d\d)\b",
    re.IGNORECASE,
)


# How far before a month the word is looked for that makes it a month.
_MAX_BEFORE_MONTH: Final = 24
# "may", "march", "mar" and the like are words more often than months.
_DOUBTFUL_MONTHS: Final = frozenset(("may", "march", "mar", "dec", "sep", "jan", "sept", "jun"))
_BEFORE_MONTH: Final = re.compile(
    r"\b(?:in|of|during|since|until|till|last|next|this|by|early|late|mid|from|to|before|after)[\s-]+$",
    re.IGNORECASE,
)


def find_dates(text: str) -> list[Date]:
    """Return the calendar dates, months and years that an English or ISO text names."""
    found: list[Date] = []
    for hit in _DATE.finditer(text):
        part = hit.groupdict()
        month_text = part["m1"] or part["m2"] or part["m3"]
        year_text = part["y1"] or part["y2"] or part["y3"] or part["y4"]
        day_text = part["d1"] or part["d2"] or part["d3"]
        bare = part["m3"] and not (day_text or year_text)
        start = hit.start()
        if (
            bare
            and hit[0].lower() in _DOUBTFUL_MONTHS
            and not _BEFORE_MONTH.search(text, max(0, start - _MAX_BEFORE_MONTH), start)
        ):
            continue
        month = None
        if month_text:
            month = int(month_text) if month_text.isdigit() else _MONTH_NUMBER[month_text.lower()]
        found.append((int(year_text) if year_text else None, month, int(day_text) if day_text else None))
    return found


def names_month(text: str) -> bool:
    """Whether a text names a month in English."""
    return any(word in _MONTH_NUMBER for word in pieces(normalize_text(text))[0])


def partner_names(text: str, partners: list[str]) -> list[str]:
    """Return the partners whose full or first name a text says."""
    return [name for name in partners if _name_pattern(name).search(text)]


def to_pronouns(text: str, partners: list[str]) -> str:
    """Replace partners' names by "I" and "my", as they speak of themselves, for the dense model."""
    for name in partners:
        pattern = _name_pattern(name)
        text = pattern.sub(lambda hit: "my" if hit["own"] else "I", text)
    return text


@lru_cache(maxsize=4096)
def _name_pattern(name: str) -> re.Pattern[str]:
    parts = name.split()
    forms = {name, parts[0]} if parts else {name}
    either = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    edge = "" if GLUED_SCRIPT.search(name) else r"\b"  # no word ends inside glued script
    return re.compile(rf"{edge}(?:{either}){edge}(?P<own>['’]s?(?!\w))?", re.IGNORECASE)


# Stop words that carry the question when it holds nothing else ("What does Ana like?").
_WEAK: Final = frozenset("like make made give gave go going get kind do doing tell know describe happened".split())
_ASKS_WHAT: Final = re.compile(r"\b(?:what|who|where|when|which|whose|why)\b(?!['’]?s?\s+up)")
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_OWN: Final = re.compile(r"\b(?:i|me|my|mine|myself)\b")


_FIRST_PERSON: Final = re.compile(
    r"\b(?:i|i'm|im|i've|ive|i'd|i'll|me|my|mine|myself|we|us|our|ours|ich|mir|mich|mein\w*|wir|uns|unser\w*|"
    r"je|j|moi|m|mon|ma|mes|nous|notre|nos|yo|mi|mis|mío|mía|conmigo|nosotr[oa]s|nuestr\w+|"
    r"io|mio|mia|miei|noi|eu|meu|minha|nós|ik|mij|mijn|wij|ons|jag|mig|min|mitt|mina|я|мне|меня|мой|моя|моё|мои)\b"
    r"|我|咱|私|僕|俺|うち|나는|내가|저는|제가",
    re.IGNORECASE,
)
_NAME: Final = re.compile(r"[^\W\d_][,;:]? (?!I\b|I['’])([A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ]+)")


def asks_of_self(text: str) -> bool:
    """Whether a question asks about whoever asks: it says "I" or "my" in a language that has such a word."""
    return _FIRST_PERSON.search(text) is not None


def names_somebody(text: str) -> bool:
    """Whether a text names somebody or something: a capital inside a sentence, in languages that write names so."""
    if language_of(text) == "german":
        return False
    return any(not names_month(found[1]) for found in _NAME.finditer(text))


def question_terms(text: str, partners: list[str], default: str = DEFAULT_LANGUAGE) -> list[str]:
    """Return the distinct terms of a question without partners' names.

    Partners say each other's names in greeting, so names point at the wrong turns. A question of
    stop words only keeps the weak ones; a question of names only keeps the names.
    """
    named = {term for name in partners for term in terms(name, default)}
    found = list(dict.fromkeys(terms(text, default)))
    kept = [term for term in found if term not in named]
    if kept:
        return kept
    weak = [word for word in pieces(normalize_text(text))[0] if word in _WEAK]
    return list(dict.fromkeys(fold(stemmer(default).stemWord(word)) for word in weak)) or found


def surface_of_stems(text: str, stems: Sequence[str]) -> tuple[str, ...]:
    """Return for each stem the surface form of its first word in a text, the stem itself where they are alike."""
    forms: dict[str, str] = {}
    for stem, form in surface_forms(text):
        forms.setdefault(stem, form)
    return tuple(forms.get(stem, stem) for stem in stems)


def is_small_talk(text: str, partners: list[str]) -> bool:
    """Whether a message is small talk: "hey, how are you?", "thanks a lot!"."""
    named = {term for name in partners for term in terms(name)}
    if any(term not in named for term in content_terms(text)):
        return False
    about = partner_names(text, partners) or _OWN.search(normalize_text(text))
    return not (about and asks_question(text) and _ASKS_WHAT.search(normalize_text(text)))


def everyday_share(term: str) -> float:
    """Return the share of everyday texts that hold a term; a guess for unlisted words."""
    return _EVERYDAY.get(term, 2e-4)


_COMMON: Final = load_words("everyday", "everyday")
# Shares in round figures: a prior needs the order of magnitude only.
_EVERYDAY: Final[dict[str, float]] = {
    **dict.fromkeys(terms(" ".join(_COMMON["common"])), 0.006),
    **dict.fromkeys(terms(" ".join(_COMMON["very_common"])), 0.025),
}


def map_stems(text: str, stems: Sequence[str]) -> dict[str, str]:
    """Map each stem to the word of the question it came from, or to itself if unknown."""
    found: dict[str, str] = {}
    language = language_of(text)
    for word in _WORD.findall(text):
        held = terms(word, language)
        if len(held) == 1:
            found.setdefault(held[0], word)
    return {stem: found.get(stem, stem) for stem in stems}
