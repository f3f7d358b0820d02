"""Weekdays that come again and again: "I always call on Sunday mornings" names no day."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from memwarden.text.dates.calendar import DaySpan

# A weekday or weekend that nothing ties to a week: no "next", no number.
_BARE: Final = re.compile(
    r"(?:on |am |an |le |el |los |der |の)?(?:"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?"
    r"|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|sonnabends?|wochenenden?"
    r"|lunes|martes|mi[ée]rcoles|jueves|viernes|s[áa]bados?|domingos?|fin(?:es)? de semana"
    r"|(?:lun|mar|mercre|jeu|vendre|same)dis?|dimanches?|week-?ends?"
    r"|[月火水木金土日]曜日?|(?:周|週|星期|礼拜)?[一二三四五六日天末])[.,。、]?",
    re.IGNORECASE,
)
# In the same sentence these make a habit of it. "Immer noch" is "still".
_USUALLY: Final = re.compile(
    r"\b(?:usually|always|normally|generally|typically|mostly|regularly|often"
    r"|meistens|meist|normalerweise|gewöhnlich|üblicherweise|regelmäßig|grundsätzlich|stets|(?<!noch )immer(?! noch)"
    r"|normalmente|siempre|habitualmente|generalmente|a menudo|sol(?:er|emos|éis|ía[ns]?)|suel(?:o|es|e|en)"
    r"|d['’]habitude|généralement|normalement|habituellement|souvent|en général|par (?:semaine|mois))\b"
    r"|いつも|だいたい|大体|たいてい|普段|ふだん|通常|一般|经常|總是|总是|平时|往常|習慣|习惯",
    re.IGNORECASE,
)
# What stands right before it, and right after it.
_EVERY_BEFORE: Final = re.compile(
    r"(?:\b(?:los|las|les|todos los|tous les|jeden zweiten|jede zweite|jedes zweite) |\ble |\bon an? "
    r"|[每毎隔逢][个個]?|毎週の?|隔週の?|第[一二三四1-4])$",
    re.IGNORECASE,
)
_EVERY_AFTER: Final = re.compile(
    r"^ (?:(?:mornings|afternoons|evenings|nights)\b|sí y otro no\b|sur deux\b)"
    r"|^(?:と|や|、|・)[月火水木金土日]曜日?は|^[一二三四五六日、]{1,4}(?=[^月号日一-十]|$)",
    re.IGNORECASE,
)
_PAIR_BEFORE: Final = re.compile(r"[月火水木金土日]曜日?(?:と|や|、|・)$")
# What ties "le samedi" and "los lunes" to a day after all.
_TIED_AFTER: Final = re.compile(
    r"^,? (?:\d|d['’]|de (?!(?:la|los|las|el)\b)|du |où |où|dernier|prochain|suivant|passé|pasad|que viene|próxim)",
    re.IGNORECASE,
)
_PAST_FRENCH: Final = re.compile(r"\b(?:a|ai|as|avons|avez|ont|est|suis|était|avait)\b|\bj['’]ai\b", re.IGNORECASE)
_MAX_BEFORE: Final = 16
# A sentence is not read farther than this to either side.
_MAX_SENTENCE: Final = 200
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s|$)|[。！？\n;；]")


def drop_habits(text: str, spans: Iterable[DaySpan]) -> tuple[DaySpan, ...]:
    """Return the days without the weekdays and weekends of a habit. spans: in the order of the text's parts."""
    kept: list[DaySpan] = []
    at: dict[str, int] = {}
    for span in spans:
        place = text.find(span.text, at.get(span.text, 0))
        at[span.text] = place + 1
        if place < 0 or not _BARE.fullmatch(span.text) or not _is_habit(text, place, place + len(span.text)):
            kept.append(span)
    return tuple(kept)


def _is_habit(text: str, start: int, end: int) -> bool:
    before, after = text[max(0, start - _MAX_BEFORE) : start], text[end : end + _MAX_BEFORE]
    sentence = _sentence_of(text, start, end)
    if _USUALLY.search(sentence) or _EVERY_AFTER.match(after):
        return True
    if _PAIR_BEFORE.search(before) and after.startswith("は"):
        return True
    every = _EVERY_BEFORE.search(before)
    if every is None or _TIED_AFTER.match(after):
        return False
    # "Le samedi il est venu" tells of one, "le samedi je cours" of all.
    return every[0].strip().lower() != "le" or not _PAST_FRENCH.search(sentence)


def _sentence_of(text: str, start: int, end: int) -> str:
    low, high = max(0, start - _MAX_SENTENCE), end + _MAX_SENTENCE
    first = max((hit.end() for hit in _SENTENCE_END.finditer(text, low, start)), default=low)
    last = _SENTENCE_END.search(text, end, high)
    return text[first : last.start() if last else high]
