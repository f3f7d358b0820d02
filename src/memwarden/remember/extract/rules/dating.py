"""Days in a statement, made absolute: "yesterday" is "on 6 May 2026" for whoever reads it later."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass, replace
from datetime import MAXYEAR, date, datetime, timedelta
from typing import Final

from memwarden.text.dates.calendar import DaySpan
from memwarden.text.dates.recognizer import spans_in
from memwarden.text.lexicon import load_lexicon

_MONTHS: Final = [name.title() for name in load_lexicon("en").words["months"]]
_HAS_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
# Prepositions before a day: the written day brings its own.
_BEFORE: Final = re.compile(
    r"\b(on|in|at|over|during|for|by|until|till|since|before|after|from|to|around|of|the|through|between|and|or|"
    r"about|early|late|mid)\s+$",
    re.IGNORECASE,
)
# The longest preposition and its space: whatever stands before it is not looked at again for each day.
_MAX_BEFORE: Final = 16
# These change the meaning and stay; "on" and "in" are written anew.
_MAX_MOVED: Final = 80
_OWN_WORD: Final = frozenset("by until till since before after from to around through".split())
_PART: Final = re.compile(r"^ (morning|afternoon|evening|night)s?\b")
# "Friday's Child": the name of a thing, not a day.
_TITLE: Final = re.compile(r"^['’]?s? [A-Z][a-z]+")
_SEASON: Final = re.compile(r"\b(summer|winter|spring|fall|autumn)\b", re.IGNORECASE)
# Words that are a time only behind a word of time: "in fall", not "I fall".
_WORDS_TOO: Final = frozenset("fall spring may march second mar sun sat".split())
_MEANS_TIME: Final = re.compile(
    r"\b(?:in|the|this|last|next|of|during|early|late|since|until|by|every|for) $", re.IGNORECASE
)
_MONTH_ALONE: Final = re.compile(rf"^(?:[a-z]+ )?(?:{'|'.join(_MONTHS)})(?: \d{{4}})?$", re.IGNORECASE)
_MONTH_NAMED: Final = re.compile(rf"\b(?:{'|'.join(name[:3] for name in _MONTHS)})", re.IGNORECASE)
_WEEKDAY_ALONE: Final = re.compile(r"^(?:mon|tues|wednes|thurs|fri|satur|sun)day$", re.IGNORECASE)
_YEAR_ALONE: Final = re.compile(r"^(?:\w+ )?(?:19|20)\d\d$")
_SINCE: Final = re.compile(r"^since\b|\bsince $", re.IGNORECASE)
_UNTIL: Final = re.compile(r"^(?:until|till)\b|\b(?:until|till) $", re.IGNORECASE)
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
# "for two years" says how long, which a date would not.
_DURATION: Final = re.compile(r"^(?:for|over|the past|past|in the (?:past|last))\b", re.IGNORECASE)
_AGO: Final = re.compile(r"\bago\b", re.IGNORECASE)
# A day that comes again every year, or of which nobody said the year.
_YEARLY: Final = re.compile(
    r"\b(?:birthdays?|anniversary|name day|born|(?:got|were|was|am|are|been) married)\b", re.IGNORECASE
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
# What still depends on when it was said makes the statement no fact.
_LEFT: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|(?:last|next|this|past|coming|previous|following|upcoming) (?:\w+ "
    r")?(?:few )?(?:night|morning|afternoon|evening|day|days|"
    r"week|weeks|weekend|month|months|year|years|summer|winter|spring|fall|autumn|semester|quarter|time|season|"
    r"\w+day)|the other day|"
    r"earlier|later|soon|(?:a|one|two|few) (?:days?|weeks?|months?) (?:later|before|after)|the (?:day|week|night|"
    r"weekend) (?:before|after)|"
    r"(?<!every )(?<!each )(?<!on )\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|on (?:Mon|Tues|Wednes|Thurs|Fri|"
    r"Satur|Sun)day\b|"
    r"(?:a|the|this|last) while|(?:in|within|after) (?:a|\d+|two|three|four|few|a few|a couple of) (?:minutes?|"
    r"hours?|days?|weeks?|months?|years?)|"
    r"(?:past|last) (?:few|couple|several|\d+|two|three|four|five|six) |back then|at that time|since then|"
    r"\d{1,2}(?:st|nd|rd|th)(?! (?:of|grade|floor|birthday|anniversary|century|place|edition|street|avenue)))\b",
    re.IGNORECASE,
)

# Each part has a tense of its own: "the registrar was double booked, it's 25 July now".
_PARTS: Final = re.compile(r"[,;:!?](?=\s)|(?<!\d)\.\s|[，、；：。！？]|\s[-–—]\s")
# "On the 1st" may come again each month.
_NUMBERED: Final = re.compile(r"\d(?!\d*(?:st|nd|rd|th)?$)|\d\d?[./]\d|^\d+\W+\w{3}|\w{3}\W+\d+$")
# A month or a year is no appointment.
MAX_DAYS_AHEAD: Final = 22


@dataclass(frozen=True, slots=True)
class DatedText:
    """A statement with absolute days. ``left``: a word that still depends on when it was said, or None."""

    text: str
    days: tuple[tuple[date, date], ...]
    left: str | None


def resolve_dates(text: str, said: datetime) -> DatedText:
    """Write every day that a text names as a calendar day, told from when it was said."""
    days: list[tuple[date, date]] = []
    at = 0
    for span in spans_in(text, said, "en"):
        place = text.find(span.text, at)
        if place < 0 or (span.text.lower() in _WORDS_TOO and not _means_time(text, place)):
            continue
        if (
            _TITLE.match(text[place + len(span.text) :])
            and span.text[:1].isupper()
            and not any(map(str.isdigit, span.text))
        ):
            continue
        span = _edge_of(span, text[max(0, place - _MAX_BEFORE) : place], said.date())
        if span.first < said.date() and _PUT_TO.search(text, max(0, place - _MAX_MOVED), place):
            span = _later(span)
        yearly = _is_yearly(text, span)
        if not yearly:
            days.append((span.first, span.last))
        if _HAS_YEAR.search(span.text):
            at = place + len(span.text)
            continue
        begin, end, written = _write_date(text, place, span)
        if yearly:
            written = written.removesuffix(f" {span.first.year}")
        text = text[:begin] + written + text[end:]
        at = begin + len(written)
    bare = re.sub(
        r"\b\d{1,2} [A-Z]\w+ \d{4}|\b[A-Z]\w+ \d{1,2}(?:st|nd|rd|th)?,? \d{4}|\bthe (?:week|weekend) of \d{1,2} "
        r"[A-Z]\w+ \d{4}",
        "",
        text,
    )
    hit = _LEFT.search(bare)
    return DatedText(text, tuple(days), hit[0] if hit else None)


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


def _is_yearly(text: str, span: DaySpan) -> bool:
    """Whether a text says of a bare day only that something happened or comes again on it: "born on 14 July"."""
    bare = span.first == span.last and _MONTH_NAMED.search(span.text) and not _HAS_YEAR.search(span.text)
    return bool(bare and _YEARLY.search(text))


def _edge_of(span: DaySpan, before: str, said: date) -> DaySpan:
    """The day, month or year that "since" or "until" names, without the time between it and the day of saying."""
    if _SINCE.search(span.text) or _SINCE.search(before):
        years = int(span.first > said)  # what lasts since May began in the last May
        first = _years_before(span.first, years)
        return replace(span, first=first, last=_last_of(span.text, first))
    if _UNTIL.search(span.text) or _UNTIL.search(before):
        last = span.last
        return replace(span, first=_first_of(span.text, last), last=last)
    return span


def _later(span: DaySpan) -> DaySpan:
    """A weekday a week later, a day or month without a year a year later."""
    if _WEEKDAY_ALONE.search(span.text):
        return replace(span, first=span.first + timedelta(days=7), last=span.last + timedelta(days=7))
    if _HAS_YEAR.search(span.text) or not _MONTH_NAMED.search(span.text):
        return span
    if span.first != span.last and not _MONTH_ALONE.search(span.text):
        return span
    first = _years_before(span.first, -1)
    return replace(span, first=first, last=_last_of(span.text, first))


def _years_before(day: date, years: int) -> date:
    last = monthrange(day.year - years, day.month)[1]
    return day.replace(year=day.year - years, day=min(day.day, last))


def _last_of(words: str, first: date) -> date:
    """The last day of the day, month or year that words name, by its first day."""
    if _YEAR_ALONE.search(words):
        return first.replace(month=12, day=31)
    return first.replace(day=monthrange(first.year, first.month)[1]) if _MONTH_ALONE.search(words) else first


def _first_of(words: str, last: date) -> date:
    if _YEAR_ALONE.search(words):
        return last.replace(month=1, day=1)
    return last.replace(day=1) if _MONTH_ALONE.search(words) else last


def _means_time(text: str, place: int) -> bool:
    return bool(_MEANS_TIME.search(text, max(0, place - _MAX_BEFORE), place))


def _write_date(text: str, place: int, span: DaySpan) -> tuple[int, int, str]:
    """Where the words of a span and its preposition stand, and what stands there instead."""
    begin, end = place, place + len(span.text)
    word, bare = "", False
    own = re.match(r"(on|in|at|over|during|by|until|till|since|before|after|from|to|around) ", span.text, re.IGNORECASE)
    if own and own[1].lower() in _OWN_WORD:
        word = own[1].lower()
    while hit := _BEFORE.search(text, max(0, begin - _MAX_BEFORE), begin):
        if hit[1].lower() in ("at", "for") and "weekend" not in span.text.lower():
            bare = hit[1].lower() == "for"
            break
        if hit[1].lower() in ("of", "and", "or", "between", "about"):
            word = word or hit[1].lower()
            begin = hit.start()
            break
        if hit[1].lower() in _OWN_WORD:
            word = hit[1].lower()
        begin = hit.start()
    part = _PART.match(text[end:])
    if part:
        end += part.end()
    if _DURATION.match(text[place:]) and not _AGO.search(span.text):
        return (
            place,
            place + len(span.text),
            f"{span.text} (since about {span.first.year})" if span.first.year < span.last.year else span.text,
        )
    preposition, day = format_day(span)
    if part:
        preposition, day = "on", f"the {part[1].lower()} of {day}" if preposition == "on" else day
    return begin, end, day if bare and not word else f"{word or preposition} {day}"


def format_day(span: DaySpan) -> tuple[str, str]:
    """A span in words, with its preposition: ("on", "6 May 2026"), ("in", "May 2026")."""
    first, last = span.first, span.last
    days = (last - first).days + 1
    if days == 1:
        return "on", format_long_date(first)
    if first.day == 1 and last == first.replace(day=monthrange(first.year, first.month)[1]):
        return "in", f"{_MONTHS[first.month - 1]} {first.year}"
    if (first.month, first.day, last.month, last.day) == (1, 1, 12, 31) and first.year == last.year:
        return "in", str(first.year)
    if season := _SEASON.search(span.text):
        return "in", f"the {season[1].lower()} of {last.year}"
    if days == 2 and first.weekday() == 5:
        return "on", f"the weekend of {format_long_date(first)}"
    if days == 7 and first.weekday() in (0, 6):
        return "in", f"the week of {format_long_date(first)}"
    if not span.exact or days > 31:
        middle = first + timedelta(days=days // 2)
        if days > 200:
            return "around", str(middle.year)
        return (
            ("around", format_long_date(middle))
            if days <= 10
            else ("around", f"{_MONTHS[middle.month - 1]} {middle.year}")
        )
    return "between", f"{format_long_date(first)} and {format_long_date(last)}"


def format_long_date(day: date) -> str:
    """``6 May 2026``"""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
