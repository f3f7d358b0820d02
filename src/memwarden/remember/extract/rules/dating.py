"""Days in a statement, made absolute: "yesterday" is "on 6 May 2026" for whoever reads it later."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import replace
from datetime import MAXYEAR, date, datetime
from typing import Final

from memwarden.text.dates.calendar import DaySpan
from memwarden.text.dates.recognizer import spans_in
from memwarden.text.lexicon import load_lexicon

_MONTHS: Final = [name.title() for name in load_lexicon("en").words["months"]]
_HAS_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
# The longest preposition and its space: whatever stands before it is not looked at again for each day.
_MAX_BEFORE: Final = 16
# These change the meaning and stay; "on" and "in" are written anew.
_MAX_MOVED: Final = 80
# What was put off is put to a day to come, whatever the tense of who says it.
_PUT_TO: Final = re.compile(
    r"\b(?:moved?|pushed|postponed|delayed|rescheduled|shifted|extended|put (?:off|back))\b"
    r"[^.;!?]{0,60}\bto (?:the )?$",
    re.IGNORECASE,
)
# Nothing lasts until a day that was, and nobody is doing what was a year ago.
_TO_COME: Final = re.compile(
    r"(?:\b(?:until|till?|up to|bis(?: zum)?|hasta(?: el)?|jusqu\S*)\s+"
    r"|(?:\b(?:is|are|am)|['’](?:s|re|m)) (?:getting|having|going|coming|flying|seeing|meeting)\b[^.;!?]{0,40})$",
    re.IGNORECASE,
)
# What begins on a day goes on after it, and what comes again does so too. In front of the day, and behind it.
_BEGINS: Final = re.compile(
    r"(?:\b(?:from|since|as of|start(?:s|ing)?|begins?|beginning|effective|ab|seit|(?:beginnt|startet|fängt) am|dès|"
    r"à (?:partir|compter) d\S*|depuis|commence|attaque|démarre|desde|a partir del?|empie[zc]\w+|comien\w+)"
    r"(?: (?:on|the|dem|der|le|el|du|am))*|从|自)\s*$",
    re.IGNORECASE,
)
_BEGINS_AFTER: Final = re.compile(r"\s*(?:から|より|以降|以後|起|开始|onwards?\b)", re.IGNORECASE)
# Anywhere in the words: days of every year, habits, a new home, new work, health.
_GOES_ON: Final = re.compile(
    r"\b(?:birthdays?|born|bday|anniv\w*|turn(?:s|ing)? \d+|geburtstag\w*|geboren|jahrestag\w*|wird \d+|cumple\w*|"
    r"nac(?:í|ió|ido|ida)|aniversario|née?|"
    # What somebody has to know of before that day holds after it.
    r"\w*(?:allerg|alérgi|alergi|intoleran|unverträg)\w*|diabet\w+|asth?ma\w*|"
    r"(?:phone|mobile) (?:number|is)|handynummer|telefonnummer|"
    r"every|each (?:day|week|month|year|\w+day)|always|usually|jede\w*|cada|siempre|tod[oa]s l[oa]s|"
    r"los (?:lunes|martes|miércoles|jueves|viernes|sábados|domingos)|chaque|tou(?:s|tes) les|days off|"
    r"mov(?:e|ing|es) (?:to|in|into)|zieh\w* .{0,40}\b(?:um|ein|zusammen|nach)|emménag\w+|s['’]installe|nos mudamos|"
    r"me mudo|teurer|billiger|erhöht|steigt|passe à|augmente|sube|baja a|entro en|prends? mon poste|"
    r"start(?:s|ing)? (?:at|with|as|work|my|the new|a new)|commence|débute|empie[zc]\w+|empez\w+)\b"
    r"|誕生日|生まれ|毎|第[一二三四1-4][月火水木金土日と]|籍を入れ|引っ越しま|入社|就職|生日|出生|每|都是|领的?证|アレルギー|过敏|過敏|搬[到去]|入职|上班|开学|涨到|上がる",
    re.IGNORECASE,
)

# Each part has a tense of its own: "the registrar was double booked, it's 25 July now".
_PARTS: Final = re.compile(r"[,;:!?](?=\s)|(?<!\d)\.\s|[，、；：。！？]|\s[-–—]\s")
# "On the 1st" may come again each month.
_NUMBERED: Final = re.compile(r"\d(?!\d*(?:st|nd|rd|th)?$)|\d\d?[./]\d|^\d+\W+\w{3}|\w{3}\W+\d+$")
# A month or a year is no appointment.
MAX_DAYS_AHEAD: Final = 22


def appointed_end(words: str, said: datetime) -> date | None:
    """The last day to come that words name, where what they tell is over then: "the dentist, 5 March".

    None where something begins on a day to come ("from 5 March") or comes again, and where no day is named by its
    number: whoever says "Wednesday" may mean each of them.
    """
    last: date | None = None
    for part in () if _GOES_ON.search(words) else _PARTS.split(words):
        at = 0
        for span in spans_in(part, said):
            place = part.find(span.text, at)
            at = place + len(span.text)
            before = part[max(0, place - _MAX_MOVED) : place]
            to_come = _PUT_TO.search(before) or _TO_COME.search(before)
            if to_come and span.first < said.date() and span.last.year < MAXYEAR and not _HAS_YEAR.search(span.text):
                span = replace(span, first=_years_before(span.first, -1), last=_years_before(span.last, -1))
            if span.last <= said.date():
                continue
            if _BEGINS.search(part, max(0, place - _MAX_BEFORE), place) or _BEGINS_AFTER.match(part, at):
                return None
            if _is_appointment(span, said.date()) and (last is None or span.last > last):
                last = span.last
    return last


def _is_appointment(span: DaySpan, said: date) -> bool:
    """Whether a span is a few days that are named by their numbers; of "until 30 June" the last counts."""
    days = 1 if span.first == said else (span.last - span.first).days + 1
    return span.exact and days <= MAX_DAYS_AHEAD and bool(_NUMBERED.search(span.text))


def _years_before(day: date, years: int) -> date:
    last = monthrange(day.year - years, day.month)[1]
    return day.replace(year=day.year - years, day=min(day.day, last))


def format_long_date(day: date) -> str:
    """``6 May 2026``"""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
