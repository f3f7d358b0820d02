"""The grammar of dates: what stands in the symbols of a text, each date for itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from memwarden.text.dates.calendar import (
    Days,
    decade_of,
    holiday,
    month_days,
    nearest_weekday,
    quarter_days,
    season_days,
    shifted,
    thirds,
    unit_of,
    weekday_after,
    weekday_before,
    weekend_of,
    year_days,
)
from memwarden.text.dates.symbols import LANGUAGES, MAX_CLAUSE_WORDS, DateMatch, compile_tokens

if TYPE_CHECKING:
    from memwarden.text.dates.recognizer import SymbolText

_YEAR: Final = r"(?:<comma>?<of|from>{0,2}<year>)"
_NUMBER: Final = r"<number|few|digits|large_number>{1,2}<of>?"
# Not before "before" and a date: then it leans on that date.
_NO_LEAD: Final = (
    r"(?!<the>?<before|after|ago_before><of|from|the|on>*<digits|ordinal|month|weak_month|weekday|numeric_date|near_day|"
    r"holiday|year|last|next|this|numbered_quarter|decade>)"
)
# After a word like "in", "during the": it makes a weak word a name of days.
_ENTRY: Final = r"(?:(?<=<in|on|since|until|from|to|for>)|(?<=<in|on|since|until|from|to|for><the>))"

_RULES: Final = compile_tokens(
    rf"""
    (?=<digits|ordinal|ordinal_word|month|weak_month|weekday|weak_weekday|numeric_date|day_pair|year_pair|year
        |numbered_quarter|weak_season|season|holiday|decade|near_day|last|last_after|next|next_after|this|third|other
        |ago_before|in|for|number|large_number|few|unit|quarter|weekend|weekdays|on|the|part_of_day>)
    (?:
     (?P<lasting><for><on|unknown>{{0,2}}{_NUMBER}<unit>(?!<ago>))
    |(?P<day_range>(?:<day_pair>|<digits|ordinal><period>?<hyphen|to|until|and><the>?<digits|ordinal>)<period>?
        <of|the>*<month|weak_month><period>?{_YEAR}?|<month|weak_month><period>?(?:<day_pair>|<digits|ordinal>
        <hyphen|to|until|and><digits|ordinal>){_YEAR}?)
    |(?P<day>(?:<weekday|weak_weekday><period>?<comma>?<the|on>*)?(?:<digits|ordinal|ordinal_word><period>?
        <of|the>*<month|weak_month><period>?{_YEAR}?|<month|weak_month><period>?<the>?(?:<ordinal|ordinal_word>|
        <digits>(?!<unit|quarter|weekend|colon|digits|number>)){_YEAR}?))
    |(?P<month_of_year><month|weak_month><period>?{_YEAR})
    |(?P<turned_month><last|next|this><month|weak_month>|<month|weak_month><last_after|next_after>)
    |(?P<numbers><numeric_date>)
    |(?P<years><year_pair>)
    |(?P<before_last><unit|quarter|weekend|weekday|season|weak_season><the>?<before><the>?<last>|
        <unit|quarter|weekend|weekday|season|weak_season><the>?<after><the>?<next>)
    |(?P<quarter><numbered_quarter>{_YEAR}?|<ordinal|ordinal_word><quarter><of|from><the>?<year>|<ordinal_word>
        <quarter><year>)
    |(?P<other_day><other><unit|part_of_day>)
    |(?P<some_ago>{_NUMBER}<unit|quarter|weekend|weekday|weekdays|season|weak_season><ago>|<ago_before>{_NUMBER}
        <unit|quarter|weekend|weekday|season|weak_season>)
    |(?P<some_ahead><in>{_NUMBER}<unit|quarter|weekend>(?!<ago>)|{_NUMBER}<unit|quarter|weekend><earlier>)
    |(?P<some_past>(?<!<for>)(?<!<for><the>)<last><number|few|digits|large_number><of>?<unit|quarter|weekend>(?!
        <unit|quarter|weekend>))
    |(?P<season><last|next|this><the>?<season|weak_season>|<season|weak_season><last_after|next_after>|
        <season|weak_season><comma>?<of|from>?<the>?<year>|{_ENTRY}<season|weak_season>)
    |(?P<holiday><last|next|this>?<holiday>(?:<last_after|next_after>|{_YEAR})?)
    |(?P<end_of><third><of|from|the>+<unit|quarter|weekend>)
    |(?P<part_of_day><this|last><part_of_day>)
    |(?P<turned><this>?<last|last_after><unit|quarter|weekend>(?!<of|from><the>?
        <month|weak_month|year|this|last|next|numeric_date|season|weak_season|holiday|the>)|
        <next|this|next_after><unit|quarter|weekend>|<unit|quarter|weekend><last_after|next_after>)
    |(?P<turned_weekday><this>?<last|last_after|next|next_after|this><weekday|weak_weekday>(?!<of|from>)|
        <weekday><last_after|next_after>)
    |(?P<the_day>(?:(?:<weekday|weak_weekday><comma>?)?(?:<on><the>?|<the>)<ordinal>|<on><digits>(?=<period>))(?!
        <period>?<of|from|the>*<month|weak_month|this|last|next>))
    |(?P<weekday>(?:(?<!<ordinal_word|ordinal|last>)<weekday>|(?<=<on>)<weak_weekday>){_NO_LEAD})
    |(?P<weekend>(?:(?<=<in|on|for>)|(?<=<the>))<weekend>{_NO_LEAD})
    |(?P<near><near_day>)
    |(?P<decade>(?<=<the>)<decade>|(?<=<the>)<third><hyphen>?<decade>|<decade>)
    |(?P<year>(?<=<in|on|since|until|from|to|and|before|ago_before|of|after|third|for|hyphen>)<year>|(?<=
        <in|on|since|until|before><the>)<year>|(?<!<money>)<year>(?=<comma|period|stop>|$))
    |(?P<month><month>
    |(?:(?<=<in|on|since|until|of|from|to|before|after|third|hyphen>)|(?<=<month|weak_month><and>))<weak_month>
    |<weak_month>(?=<of|from>*<last|next|this><unit>))
    )
    """
)


def find_dates(read: SymbolText) -> list[DateMatch]:
    """What the rules find, each for itself."""
    found: list[DateMatch] = []
    for hit in _RULES.finditer(read.symbols):
        start, end = hit.span()
        if (start and read.is_token(start - 1, "every")) or (start > 1 and read.is_token(start - 2, "every")):
            continue  # "every Friday", "every last Friday": a habit
        item = _apply_rule(hit.lastgroup or "", read, start, end)
        if item is not None:
            found.append(item)
    return found


def _apply_rule(rule: str, read: SymbolText, start: int, end: int) -> DateMatch | None:
    try:
        return _MEANING[rule](read, start, end)
    except (ValueError, OverflowError):  # 30 February; a year before 1 or after 9999
        return None


def try_year(make: Callable[[int], Days], year: int) -> Days | None:
    try:
        return make(year)
    except (ValueError, OverflowError):
        return None


def _without_year(
    read: SymbolText, start: int, end: int, make: Callable[[int], Days], exact: bool = True
) -> DateMatch | None:
    """Choose the year: the last in a sentence of the past, the next in a sentence of the future."""
    days = _nearest_year(read.said, read.tense(start, end, yearless=True), make)
    return None if days is None else DateMatch(start, end, days, exact, make)


def _nearest_year(said: date, tense: int, make: Callable[[int], Days]) -> Days | None:
    made = [days for year in range(said.year - 1, said.year + 2) if (days := try_year(make, year))]
    if not made:  # 29 February
        made = [days for year in range(said.year - 8, said.year + 9) if (days := try_year(make, year))]
    if tense < 0:
        made = [days for days in made if days[0] <= said] or made
    elif tense > 0:
        made = [days for days in made if days[1] >= said] or made
    return min(made, key=lambda days: max(days[0] - said, said - days[1]), default=None)


def _pinned_or_not(read: SymbolText, start: int, end: int, make: Callable[[int], Days]) -> DateMatch | None:
    year = read.value("year", start, end)
    return _without_year(read, start, end, make) if year is None else DateMatch(start, end, make(year))


def _is_word(read: SymbolText, start: int, end: int) -> bool:
    """Whether a weak word ("may", "sun") is small in a text with capitals, and so no date."""
    for i in range(start, end):
        if read.is_token(i, "weak_month|weak_weekday") and not read.text[read.places[i][0]].isupper():
            return not read.is_lower and not (read.is_token(i, "weak_month") and _is_after_lead(read, i))
    return False


def _is_after_lead(read: SymbolText, i: int) -> bool:
    """Whether a word follows "in", or a day after such a word: "in march", "on 29 march"."""
    if i and read.is_token(i - 1, "in|since"):
        return True
    return i > 1 and read.is_token(i - 1, "digits|ordinal") and read.is_token(i - 2, "in|on|since|until|before|after")


def _day_range(read: SymbolText, start: int, end: int) -> DateMatch | None:
    month = read.value("month|weak_month", start, end)
    pair = read.value("day_pair", start, end)
    if pair is None:
        pair = tuple(read.values[i] for i in range(start, end) if read.is_token(i, "digits|ordinal"))
    first, last = pair[:2]
    if not 1 <= first <= last <= 31:
        return None
    return _pinned_or_not(read, start, end, lambda year: (date(year, month, first), date(year, month, last)))


def _day(read: SymbolText, start: int, end: int) -> DateMatch | None:
    month, day = read.value("month|weak_month", start, end), read.value("digits|ordinal|ordinal_word", start, end)
    if read.value("year", start, end) is None and _is_word(read, start, end):
        return None
    weekday = read.value("weekday|weak_weekday", start, end)

    def make(year: int) -> Days:
        return one_day(date(year, month, day))

    if weekday is not None and read.value("year", start, end) is None:
        years = range(read.said.year - 1, read.said.year + 2)
        fitting = [days for year in years if (days := try_year(make, year)) and days[0].weekday() == weekday]
        if len(fitting) == 1:  # "Monday, 8 May" tells the year
            return DateMatch(start, end, fitting[0])
    return _pinned_or_not(read, start, end, make)


def one_day(day: date) -> Days:
    return day, day


def _month_of_year(read: SymbolText, start: int, end: int) -> DateMatch:
    return DateMatch(start, end, month_days(read.value("year", start, end), read.value("month|weak_month", start, end)))


def _month(read: SymbolText, start: int, end: int) -> DateMatch | None:
    if _is_word(read, start, end):
        return None
    month = read.values[end - 1]
    return _without_year(read, start, end, lambda year: month_days(year, month))


def _numbers(read: SymbolText, start: int, end: int) -> DateMatch | None:
    year, month, day = read.values[start]
    if day is None:
        return DateMatch(start, end, month_days(year, month))
    if year is not None:
        return DateMatch(start, end, one_day(date(year, month, day)))
    # "The 5/8" is a fraction in English, "on 5/8" a day.
    if not start or not read.is_token(start - 1, "on|the" if read.language.day_first else "on"):
        return None
    return _without_year(read, start, end, lambda year: one_day(date(year, month, day)))


def _year_range(read: SymbolText, start: int, end: int) -> DateMatch | None:
    first, last = read.values[start]
    return DateMatch(start, end, (date(first, 1, 1), date(last, 12, 31))) if first >= 1800 and last < 2200 else None


def _turn(read: SymbolText, start: int, end: int) -> int:
    """-1 for "last", 1 for "next", 0 for "this", -2 for "vorletzte"."""
    back = read.value("last|last_after", start, end)
    ahead = read.value("next|next_after", start, end)
    return -back if back is not None else (ahead or 0)


def _turn_in_year(read: SymbolText, start: int, end: int, make: Callable[[int], Days]) -> DateMatch | None:
    """ "Last summer", "next May": the last that is over, the next to begin; "this": this year's."""
    turn, said = _turn(read, start, end), read.said
    if turn == 0:
        return DateMatch(start, end, make(said.year))
    made = [days for year in range(said.year - 4, said.year + 5) if (days := try_year(make, year))]
    fitting = [days for days in made if days[1] < said] if turn < 0 else [days for days in made if days[0] > said]
    place = turn if turn < 0 else turn - 1
    return DateMatch(start, end, fitting[place]) if len(fitting) >= abs(turn) else None


def _turned_month(read: SymbolText, start: int, end: int) -> DateMatch | None:
    if _is_word(read, start, end):
        return None
    month = read.value("month|weak_month", start, end)
    return _turn_in_year(read, start, end, lambda year: month_days(year, month))


def _before_last(read: SymbolText, start: int, end: int) -> DateMatch | None:
    steps = 2 if read.value("next", start, end) else -2
    if read.is_token(start, "weekday"):
        weekday = read.values[start]
        day = weekday_after(read.said, weekday) if steps > 0 else weekday_before(read.said, weekday)
        return DateMatch(start, end, one_day(day + timedelta(7 if steps > 0 else -7)))
    if read.is_token(start, "season|weak_season"):
        name = read.values[start]
        over = [d for y in range(read.said.year - 4, read.said.year + 5) if (d := season_days(name, y))[1] < read.said]
        return DateMatch(start, end, over[-2]) if steps < 0 else None
    return DateMatch(start, end, unit_of(shifted(read.said, read.values[start], steps), read.values[start]))


def _quarter(read: SymbolText, start: int, end: int) -> DateMatch | None:
    number = read.value("numbered_quarter|ordinal|ordinal_word", start, end)
    return _pinned_or_not(read, start, end, lambda year: quarter_days(year, number))


def _other_day(read: SymbolText, start: int, end: int) -> DateMatch | None:
    unit = read.values[end - 1] or "day"
    reach = {"day": (10, 2), "week": (21, 7)}.get(unit)
    if reach is None:
        return None
    return DateMatch(start, end, (read.said - timedelta(reach[0]), read.said - timedelta(reach[1])), exact=False)


def _count(read: SymbolText, start: int, end: int) -> tuple[int, int, bool]:
    """Return least and most of "two", "a few", "20", and whether it is a single number."""
    for i in range(end - 1, start - 1, -1):
        if read.is_token(i, "few"):
            least, most = read.values[i]
            return least, most, False
        if read.is_token(i, "number|digits|large_number"):
            return read.values[i], read.values[i], not any("couple" in word for word in read.words[start:end])
    raise ValueError("no number")


def _some(read: SymbolText, start: int, end: int, sign: int) -> DateMatch | None:
    """Some units from the day of saying: a day, a calendar month or year, a week's width."""
    least, most, single = _count(read, start, end)
    for i in range(start, end):
        if read.is_token(i, "weekday|weekdays|season|weak_season"):
            return _some_named(read, start, end, sign * most, i)
    unit = read.value("unit|quarter|weekend", start, end)
    if unit == "hour":
        return DateMatch(start, end, one_day(read.said + timedelta(hours=sign * most))) if most < 48 else None
    low, high = (shifted(read.said, unit, sign * n) for n in sorted((least, most), key=lambda n: sign * n))
    wide = timedelta(3) if unit in ("week", "fortnight") else timedelta(0)
    if unit in ("month", "year", "quarter", "decade", "weekend"):
        low, high = unit_of(low, unit)[0], unit_of(high, unit)[1]
    if not single and least == most and unit == "day":
        wide = timedelta(1)
    return DateMatch(start, end, (low - wide, high + wide), single and not wide)


def _some_named(read: SymbolText, start: int, end: int, steps: int, place: int) -> DateMatch | None:
    """ "Two Fridays ago", "three summers ago". The name stands at ``place``."""
    name = read.values[place]
    if read.is_token(place, "weekday|weekdays"):
        nearest = weekday_before(read.said, name) if steps < 0 else weekday_after(read.said, name)
        return DateMatch(start, end, one_day(nearest + timedelta(7 * (steps + (1 if steps < 0 else -1)))))
    return DateMatch(start, end, season_days(name, read.said.year + steps))


def _some_ago(read: SymbolText, start: int, end: int) -> DateMatch | None:
    return _some(read, start, end, read.value("ago", start, end) or -1)


def _some_ahead(read: SymbolText, start: int, end: int) -> DateMatch | None:
    tense, later = read.tense(start, end), read.value("earlier", start, end)
    # "I read it in two days" took two days; "two days later" is from now only in a sentence of the future.
    if tense < 0 or (later is not None and (later < 0 or tense == 0)):
        return None
    return _some(read, start, end, 1)


_ABOUT: Final = frozenset("about around over almost nearly roughly approximately just under".split())


def _lasting(read: SymbolText, start: int, end: int) -> DateMatch | None:
    """ "I have had it for three years now", "I have been playing for four months": told is when it began."""
    if read.value("unit", start, end) == "hour" or any(
        read.is_token(i, "on|unknown") and read.words[i] not in _ABOUT for i in range(start, end)
    ):
        return None
    if read.words[end : end + 1] != ["now"] and not _has_been(read, start):
        return None
    found = _some(read, start + 1, end, -1)
    return None if found is None else replace(found, start=start, exact=False)


def _has_been(read: SymbolText, end: int) -> bool:
    """Whether "has been" stands before it in its sentence. Not "had been", nor "been to", which is over."""
    for i in range(end - 1, max(end - 1 - MAX_CLAUSE_WORDS, -1), -1):
        if read.is_token(i, "period|stop"):
            return False
        if read.words[i] == "been":
            return _OVER.isdisjoint(read.words[max(i - 3, 0) : i]) and read.words[i + 1] != "to"
    return False


_OVER: Final = frozenset(["had", "d"])


def _some_past(read: SymbolText, start: int, end: int) -> DateMatch:
    """ "The last two weeks": up to the day of saying."""
    _, most, _ = _count(read, start, end)
    unit = read.value("unit|quarter|weekend", start, end)
    if unit == "hour":
        raise ValueError("no day")
    return DateMatch(start, end, (shifted(read.said, unit, -most), read.said), exact=False)


def _season(read: SymbolText, start: int, end: int) -> DateMatch | None:
    name = read.value("season|weak_season", start, end)
    if read.value("last|last_after|next|next_after|this", start, end) is not None:
        return _turn_in_year(read, start, end, lambda year: season_days(name, year))
    return _pinned_or_not(read, start, end, lambda year: season_days(name, year))


def _holiday(read: SymbolText, start: int, end: int) -> DateMatch | None:
    name = read.value("holiday", start, end)
    if read.value("last|last_after|next|next_after|this", start, end) is not None:
        return _turn_in_year(read, start, end, lambda year: one_day(holiday(name, year)))
    return _pinned_or_not(read, start, end, lambda year: one_day(holiday(name, year)))


def _end_of(read: SymbolText, start: int, end: int) -> DateMatch | None:
    """ "The end of the month": of the present month."""
    unit = read.value("unit|quarter|weekend", start, end)
    if unit in ("hour", "day", "weekend"):
        return None
    return DateMatch(start, end, thirds(unit_of(read.said, unit), read.value("third", start, end)), exact=False)


def _part_of_day(read: SymbolText, start: int, end: int) -> DateMatch:
    return DateMatch(start, end, one_day(read.said + timedelta(_turn(read, start, end))))


def _turn_unit(read: SymbolText, start: int, end: int) -> DateMatch | None:
    unit, turn = read.value("unit|quarter|weekend", start, end), _turn(read, start, end)
    if unit in ("hour", "day", "fortnight"):  # "the last day of school", "the next day": told from elsewhere
        return None
    if unit == "weekend" and turn == 0:
        return DateMatch(start, end, _this_weekend(read, start, end))
    if unit == "weekend" and turn == -1:
        return DateMatch(start, end, weekend_of(weekday_before(read.said, 6)))  # the last Sunday's
    return DateMatch(start, end, unit_of(shifted(read.said, unit, turn), unit))


def _this_weekend(read: SymbolText, start: int, end: int) -> Days:
    """Return this week's weekend. In the past, from Monday to Wednesday, the weekend just over."""
    if read.tense(start, end) < 0 and read.said.weekday() < 5:
        return weekend_of(read.said - timedelta(7))
    return weekend_of(read.said)


def _weekend(read: SymbolText, start: int, end: int) -> DateMatch:
    return DateMatch(start, end, _this_weekend(read, start, end))


def _turned_weekday(read: SymbolText, start: int, end: int) -> DateMatch | None:
    if read.value("weak_weekday", start, end) is not None and _is_word(read, start, end):
        return None
    weekday, turn = read.value("weekday|weak_weekday", start, end), _turn(read, start, end)
    if turn < 0:
        day = weekday_before(read.said, weekday) - timedelta(7 * (-turn - 1))
    elif turn > 0:
        day = weekday_after(read.said, weekday) + timedelta(7 * (turn - 1))
    else:
        day = read.said + timedelta(weekday - read.said.weekday())
    return DateMatch(start, end, one_day(day), weekday=True)


def _weekday(read: SymbolText, start: int, end: int) -> DateMatch | None:
    if _is_word(read, start, end):
        return None
    return DateMatch(
        start, end, weekday=True, days=one_day(nearest_weekday(read.said, read.values[end - 1], read.tense(start, end)))
    )


_COUNTED: Final = frozenset(
    "floor time grade birthday anniversary try attempt day century place street avenue page edition season episode "
    "chapter round year week month person one game match game's row hole inning".split()
)


def _the_day(read: SymbolText, start: int, end: int) -> DateMatch | None:
    """ "The 15th", of the month that fits. Not "the 15th floor", and before a plain word only after "on"."""
    after = read.words[end] if end < len(read.words) else ""
    told = read.is_token(start, "on|weekday|weak_weekday")
    if after in _COUNTED or (not told and after and read.is_token(end, "unknown")):
        return None
    if read.is_token(end - 1, "digits") and read.language is not LANGUAGES["de"]:
        return None
    day = read.values[end - 1]
    tense, said = read.tense(start, end), read.said
    months = [shifted(said.replace(day=1), "month", n) for n in range(-2, 3)]
    days = [month.replace(day=day) for month in months if day <= month_days(month.year, month.month)[1].day]
    if tense:
        days = [day for day in days if (day - said).days * tense >= 0] or days
    return DateMatch(start, end, one_day(min(days, key=lambda item: abs(item - said)))) if days else None


def _near(read: SymbolText, start: int, end: int) -> DateMatch:
    return DateMatch(start, end, one_day(read.said + timedelta(read.values[start])))


def _decade(read: SymbolText, start: int, end: int) -> DateMatch | None:
    value = read.values[end - 1]
    if value < 100 and (start == 0 or not read.is_token(start - 1, "the|third")):
        return None
    year = value if value >= 100 else value + (2000 if value < 30 else 1900)
    days = decade_of(year)
    return DateMatch(start, end, thirds(days, read.values[start]) if read.is_token(start, "third") else days)


def _year(read: SymbolText, start: int, end: int) -> DateMatch | None:
    told = start > 0 and not read.is_token(start - 1, "of|to|and|hyphen|after")
    if not told and not 1900 <= read.values[start] < 2100:
        return None
    return DateMatch(start, end, year_days(read.values[start]))


_MEANING: Final[dict[str, Callable[[SymbolText, int, int], DateMatch | None]]] = {
    "day_range": _day_range,
    "day": _day,
    "month_of_year": _month_of_year,
    "turned_month": _turned_month,
    "numbers": _numbers,
    "years": _year_range,
    "before_last": _before_last,
    "quarter": _quarter,
    "other_day": _other_day,
    "some_ago": _some_ago,
    "some_ahead": _some_ahead,
    "lasting": _lasting,
    "some_past": _some_past,
    "season": _season,
    "holiday": _holiday,
    "end_of": _end_of,
    "part_of_day": _part_of_day,
    "turned": _turn_unit,
    "turned_weekday": _turned_weekday,
    "the_day": _the_day,
    "weekday": _weekday,
    "weekend": _weekend,
    "near": _near,
    "decade": _decade,
    "year": _year,
    "month": _month,
}
