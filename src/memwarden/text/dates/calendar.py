"""Spans of days, and calendar arithmetic: units, seasons, holidays and habits. Weeks begin on Monday."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

# A memory keeps at most this many of the spans that its text names.
MAX_STORED_SPANS: Final = 4

EPOCH_DAY: Final = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class DaySpan:
    """Days that a text names.

    Attributes:
        first, last: both days belong to it.
        text: the words that name it.
        exact: False for "a few days ago", "the other day" and the like, where the borders are a guess.
    """

    first: date
    last: date
    text: str
    exact: bool


def day_number(day: date) -> int:
    """Days since 1970-01-01."""
    return day.toordinal() - EPOCH_DAY


# First and last day. Both belong to it.
Days = tuple[date, date]


def month_days(year: int, month: int) -> Days:
    return date(year, month, 1), date(year, month, monthrange(year, month)[1])


def year_days(year: int) -> Days:
    return date(year, 1, 1), date(year, 12, 31)


def quarter_days(year: int, quarter: int) -> Days:
    if not 1 <= quarter <= 4:
        raise ValueError("a year has four quarters")
    return date(year, 3 * quarter - 2, 1), month_days(year, 3 * quarter)[1]


def decade_of(year: int) -> Days:
    first = year - year % 10
    return date(first, 1, 1), date(first + 9, 12, 31)


def weekend_of(day: date) -> Days:
    """Saturday and Sunday of the day's week."""
    saturday = day + timedelta(5 - day.weekday())
    return saturday, saturday + timedelta(1)


_SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}


def season_days(name: str, year: int) -> Days:
    """Return a season's three months, northern hemisphere. A year's winter begins in December."""
    month = _SEASONS[name]
    last = month_days(year + 1, 2) if name == "winter" else month_days(year, month + 2)
    return date(year, month, 1), last[1]


_FIXED: Final = {
    "christmas": (12, 25),
    "christmas_eve": (12, 24),
    "boxing_day": (12, 26),
    "new_years_eve": (12, 31),
    "new_year": (1, 1),
    "epiphany": (1, 6),
    "valentine": (2, 14),
    "independence": (7, 4),
    "halloween": (10, 31),
}
_NTH: Final = {  # month, weekday, which; -1 for the last
    "thanksgiving": (11, 3, 4),
    "labor": (9, 0, 1),
    "memorial": (5, 0, -1),
    "mothers": (5, 6, 2),
    "fathers": (6, 6, 3),
}
_FROM_EASTER: Final = {"good_friday": -2, "easter": 0, "easter_monday": 1}


def holiday(name: str, year: int) -> date:
    """The day of a holiday. Those that differ by country as in the United States."""
    if name in _FIXED:
        return date(year, *_FIXED[name])
    if name in _FROM_EASTER:
        return easter(year) + timedelta(_FROM_EASTER[name])
    month, weekday, which = _NTH[name]
    if which < 0:
        return weekday_before(month_days(year, month)[1] + timedelta(1), weekday)
    return weekday_after(date(year, month, 1) - timedelta(1), weekday) + timedelta(7 * (which - 1))


def easter(year: int) -> date:
    """Easter Sunday of the Gregorian calendar (the anonymous algorithm)."""
    century, rest = divmod(year, 100)
    golden = year % 19
    moon = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    sunday = (32 + 2 * (century % 4) + 2 * (rest // 4) - moon - rest % 4) % 7
    correction = (golden + 11 * moon + 22 * sunday) // 451
    month, day = divmod(moon + sunday - 7 * correction + 114, 31)
    return date(year, month, day + 1)


_MONTHS_IN: Final = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_DAYS_IN: Final = {"day": 1, "week": 7, "weekend": 7, "fortnight": 14}


def shifted(day: date, unit: str, steps: int) -> date:
    """Move a day by some units. In a shorter month to its last day."""
    if unit in _DAYS_IN:
        return day + timedelta(_DAYS_IN[unit] * steps)
    months = day.year * 12 + day.month - 1 + _MONTHS_IN[unit] * steps
    year, month = divmod(months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError("outside the calendar")
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def unit_of(day: date, unit: str) -> Days:
    """The whole unit in which a day lies."""
    if unit == "week":
        monday = day - timedelta(day.weekday())
        return monday, monday + timedelta(6)
    if unit == "weekend":
        return weekend_of(day)
    if unit == "month":
        return month_days(day.year, day.month)
    if unit == "quarter":
        return quarter_days(day.year, (day.month + 2) // 3)
    if unit == "year":
        return year_days(day.year)
    if unit == "decade":
        return decade_of(day.year)
    return day, day


def thirds(days: Days, which: int) -> Days:
    """Return the early (-1), middle (0) or late (1) third: ten days of a month, four months of a year."""
    first, last = days
    length = (last - first).days + 1
    if length >= 360:
        second, third = (date(first.year, month, 1) if length < 370 else None for month in (5, 9))
    else:
        second = third = None
    step = 10 if 28 <= length <= 31 else length // 3
    second = second or first + timedelta(step)
    third = third or (first + timedelta(20) if step == 10 and length <= 31 else last - timedelta(step - 1))
    if which < 0:
        return first, second - timedelta(1)
    return (second, third - timedelta(1)) if which == 0 else (third, last)


def weekday_before(day: date, weekday: int) -> date:
    """The last such weekday before a day, never the day itself."""
    return day - timedelta((day.weekday() - weekday - 1) % 7 + 1)


def weekday_after(day: date, weekday: int) -> date:
    """The next such weekday after a day, never the day itself."""
    return day + timedelta((weekday - day.weekday() - 1) % 7 + 1)


def nearest_weekday(day: date, weekday: int, tense: int) -> date:
    """Return the day that "on Friday" means: the last in the past, the next in the future, else the nearest."""
    if tense < 0:
        return day - timedelta((day.weekday() - weekday) % 7)
    ahead = timedelta((weekday - day.weekday()) % 7)
    return day + ahead if tense > 0 or ahead <= timedelta(3) else day + ahead - timedelta(7)


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
