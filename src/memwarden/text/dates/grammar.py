"""The grammar of dates: what stands in the symbols of a text, each date for itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, Final

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
from memwarden.text.dates.symbols import MAX_CLAUSE_WORDS, DateMatch, SymbolText
from memwarden.text.dates.words import LANGUAGES

_YEAR: Final = r"(?:,?[of]{0,2}y)"
_NUMBER: Final = r"[nvdN]{1,2}o?"
_NO_LEAD: Final = r"(?!h?[bzP][ofhu]*[dtMmWGDHyLXTQK])"
"""Not before "before" and a date: then it leans on that one."""
_ENTRY: Final = r"(?:(?<=[iuSkfcj])|(?<=[iuSkfcj]h))"
"""After a word like "in", "during the": it makes a weak word a name of days."""

_RULES: Final = re.compile(
    r"(?=[dtsMmWwGRYyQqZHKDLlXrTEgPijnNvUBCVuha])(?:"
    rf"(?P<lasting>j[ux]{{0,2}}{_NUMBER}U(?!A))"
    rf"|(?P<day_range>(?:R|[dt]\.?[-ck&]h?[dt])\.?[oh]*[Mm]\.?{_YEAR}?|[Mm]\.?(?:R|[dt][-ck&][dt]){_YEAR}?)"
    rf"|(?P<day>(?:[Ww]\.?,?[hu]*)?(?:[dts]\.?[oh]*[Mm]\.?{_YEAR}?|[Mm]\.?h?(?:[ts]|d(?![UBC:dn])){_YEAR}?))"
    rf"|(?P<month_of_year>[Mm]\.?{_YEAR})"
    r"|(?P<turned_month>[LXT][Mm]|[Mm][lr])"
    r"|(?P<numbers>G)"
    r"|(?P<years>Y)"
    r"|(?P<before_last>[UBCWZq]h?bh?L|[UBCWZq]h?zh?X)"
    rf"|(?P<quarter>Q{_YEAR}?|[ts]B[of]h?y|sBy)"
    r"|(?P<other_day>g[Ua])"
    rf"|(?P<some_ago>{_NUMBER}[UBCWVZq]A|P{_NUMBER}[UBCWZq])"
    rf"|(?P<some_ahead>i{_NUMBER}[UBC](?!A)|{_NUMBER}[UBC]e)"
    r"|(?P<some_past>(?<!j)(?<!jh)L[nvdN]o?[UBC](?![UBC]))"
    rf"|(?P<season>[LXT]h?[Zq]|[Zq][lr]|[Zq],?[of]?h?y|{_ENTRY}[Zq])"
    rf"|(?P<holiday>[LXT]?H(?:[lr]|{_YEAR})?)"
    r"|(?P<end_of>E[ofh]+[UBC])"
    r"|(?P<part_of_day>[TL]a)"
    r"|(?P<turned>T?[Ll][UBC](?![of]h?[MmyTLXGZqHh])|[XTr][UBC]|[UBC][lr])"
    rf"|(?P<turned_weekday>T?[LlXrT][Ww](?![of])|W[lr])"
    r"|(?P<the_day>(?:(?:[Ww],?)?(?:uh?|h)t|ud(?=\.))(?!\.?[ofh]*[MmTLX]))"
    rf"|(?P<weekday>(?:(?<![stL])W|(?<=u)w){_NO_LEAD})"
    rf"|(?P<weekend>(?:(?<=[iuj])|(?<=h))C{_NO_LEAD})"
    r"|(?P<near>D)"
    r"|(?P<decade>(?<=h)K|(?<=h)E-?K|K)"
    r"|(?P<year>(?<=[iuSkfc&bozEj-])y|(?<=[iuSkb]h)y|(?<![$])y(?=[,.;)]|$))"
    r"|(?P<month>M|(?<=[iuSkofcbzE-])m|m(?=[of]*[LXT]U))"
    r")"
)


def dates_apart(read: SymbolText) -> list[DateMatch]:
    """What the rules find, each for itself."""
    found: list[DateMatch] = []
    for hit in _RULES.finditer(read.symbols):
        start, end = hit.span()
        if (start and read.symbols[start - 1] == "*") or (start > 1 and read.symbols[start - 2] == "*"):
            continue  # "every Friday", "every last Friday": a habit
        item = _found(hit.lastgroup or "", read, start, end)
        if item is not None:
            found.append(item)
    return found


def _found(rule: str, read: SymbolText, start: int, end: int) -> DateMatch | None:
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
    """The year that fits best what is said: the last one in a sentence of the past, the next in one of the future."""
    days = _nearest_year(read.said, read.tense(start, end), make)
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
    year = read.value("y", start, end)
    return _without_year(read, start, end, make) if year is None else DateMatch(start, end, make(year))


def _is_word(read: SymbolText, start: int, end: int) -> bool:
    """Whether a weak word ("may", "sun") stands in small letters in a text that has capitals: then it is that word."""
    for i in range(start, end):
        if read.symbols[i] in "mw" and not read.text[read.places[i][0]].isupper():
            return not read.text.islower()
    return False


def _day_range(read: SymbolText, start: int, end: int) -> DateMatch | None:
    month = read.value("Mm", start, end)
    pair = read.value("R", start, end)
    if pair is None:
        pair = tuple(read.values[i] for i in range(start, end) if read.symbols[i] in "dt")
    first, last = pair[:2]
    if not 1 <= first <= last <= 31:
        return None
    return _pinned_or_not(read, start, end, lambda year: (date(year, month, first), date(year, month, last)))


def _day(read: SymbolText, start: int, end: int) -> DateMatch | None:
    month, day = read.value("Mm", start, end), read.value("dts", start, end)
    if read.value("y", start, end) is None and _is_word(read, start, end):
        return None
    weekday = read.value("Ww", start, end)

    def make(year: int) -> Days:
        return one_day(date(year, month, day))

    if weekday is not None and read.value("y", start, end) is None:
        years = range(read.said.year - 1, read.said.year + 2)
        fitting = [days for year in years if (days := try_year(make, year)) and days[0].weekday() == weekday]
        if len(fitting) == 1:  # "Monday, 8 May" tells the year
            return DateMatch(start, end, fitting[0])
    return _pinned_or_not(read, start, end, make)


def one_day(day: date) -> Days:
    return day, day


def _month_of_year(read: SymbolText, start: int, end: int) -> DateMatch:
    return DateMatch(start, end, month_days(read.value("y", start, end), read.value("Mm", start, end)))


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
    before = read.symbols[start - 1] if start else ""
    if before != "u" and not (before == "h" and read.language.day_first):  # "the 5/8" is a fraction, "on 5/8" a day
        return None
    return _without_year(read, start, end, lambda year: one_day(date(year, month, day)))


def _year_range(read: SymbolText, start: int, end: int) -> DateMatch | None:
    first, last = read.values[start]
    return DateMatch(start, end, (date(first, 1, 1), date(last, 12, 31))) if first >= 1800 and last < 2200 else None


def _turn(read: SymbolText, start: int, end: int) -> int:
    """-1 for "last", 1 for "next", 0 for "this", -2 for "vorletzte"."""
    back = read.value("Ll", start, end)
    ahead = read.value("Xr", start, end)
    return -back if back is not None else (ahead or 0)


def _turned_in_year(read: SymbolText, start: int, end: int, make: Callable[[int], Days]) -> DateMatch | None:
    """ "Last summer", "next May", "this Christmas": the last one over, the next one to begin, or this year's."""
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
    month = read.value("Mm", start, end)
    return _turned_in_year(read, start, end, lambda year: month_days(year, month))


def _before_last(read: SymbolText, start: int, end: int) -> DateMatch | None:
    steps = 2 if read.value("X", start, end) else -2
    if read.symbols[start] == "W":
        weekday = read.values[start]
        day = weekday_after(read.said, weekday) if steps > 0 else weekday_before(read.said, weekday)
        return DateMatch(start, end, one_day(day + timedelta(7 if steps > 0 else -7)))
    if read.symbols[start] in "Zq":
        name = read.values[start]
        over = [d for y in range(read.said.year - 4, read.said.year + 5) if (d := season_days(name, y))[1] < read.said]
        return DateMatch(start, end, over[-2]) if steps < 0 else None
    return DateMatch(start, end, unit_of(shifted(read.said, read.values[start], steps), read.values[start]))


def _quarter(read: SymbolText, start: int, end: int) -> DateMatch | None:
    number = read.value("Qts", start, end)
    return _pinned_or_not(read, start, end, lambda year: quarter_days(year, number))


def _other_day(read: SymbolText, start: int, end: int) -> DateMatch | None:
    unit = read.values[end - 1] or "day"
    reach = {"day": (10, 2), "week": (21, 7)}.get(unit)
    if reach is None:
        return None
    return DateMatch(start, end, (read.said - timedelta(reach[0]), read.said - timedelta(reach[1])), exact=False)


def _count(read: SymbolText, start: int, end: int) -> tuple[int, int, bool]:
    """Least and most of "two", "a few", "20", and whether it is one number."""
    for i in range(end - 1, start - 1, -1):
        if read.symbols[i] == "v":
            least, most = read.values[i]
            return least, most, False
        if read.symbols[i] in "ndN":
            return read.values[i], read.values[i], not any("couple" in word for word in read.words[start:end])
    raise ValueError("no number")


def _some(read: SymbolText, start: int, end: int, sign: int) -> DateMatch | None:
    """Some units from the day of saying: the day itself, the calendar's month or year, a week's width."""
    least, most, single = _count(read, start, end)
    for i in range(start, end):
        if read.symbols[i] in "WVZq":
            return _some_named(read, start, end, sign * most, read.symbols[i], read.values[i])
    unit = read.value("UBC", start, end)
    if unit == "hour":
        return DateMatch(start, end, one_day(read.said + timedelta(hours=sign * most))) if most < 48 else None
    low, high = (shifted(read.said, unit, sign * n) for n in sorted((least, most), key=lambda n: sign * n))
    wide = timedelta(3) if unit in ("week", "fortnight") else timedelta(0)
    if unit in ("month", "year", "quarter", "decade", "weekend"):
        low, high = unit_of(low, unit)[0], unit_of(high, unit)[1]
    if not single and least == most and unit == "day":
        wide = timedelta(1)
    return DateMatch(start, end, (low - wide, high + wide), single and not wide)


def _some_named(read: SymbolText, start: int, end: int, steps: int, symbol: str, name: Any) -> DateMatch | None:
    """ "Two Fridays ago", "three summers ago"."""
    if symbol in "WV":
        nearest = weekday_before(read.said, name) if steps < 0 else weekday_after(read.said, name)
        return DateMatch(start, end, one_day(nearest + timedelta(7 * (steps + (1 if steps < 0 else -1)))))
    return DateMatch(start, end, season_days(name, read.said.year + steps))


def _some_ago(read: SymbolText, start: int, end: int) -> DateMatch | None:
    return _some(read, start, end, read.value("A", start, end) or -1)


def _some_ahead(read: SymbolText, start: int, end: int) -> DateMatch | None:
    tense, later = read.tense(start, end), read.value("e", start, end)
    # "I read it in two days" took two days; "two days later" is from now only in a sentence of the future.
    if tense < 0 or (later is not None and (later < 0 or tense == 0)):
        return None
    return _some(read, start, end, 1)


_ABOUT: Final = frozenset("about around over almost nearly roughly approximately just under".split())


def _lasting(read: SymbolText, start: int, end: int) -> DateMatch | None:
    """ "I have had it for three years now", "I have been playing for four months": told is when it began."""
    if read.value("U", start, end) == "hour" or any(
        read.symbols[i] in "ux" and read.words[i] not in _ABOUT for i in range(start, end)
    ):
        return None
    if read.words[end : end + 1] != ["now"] and not _has_been(read, start):
        return None
    found = _some(read, start + 1, end, -1)
    return None if found is None else replace(found, start=start, exact=False)


def _has_been(read: SymbolText, end: int) -> bool:
    """Whether "has been" stands before it in its sentence; not "had been", nor "been to", which is over."""
    for i in range(end - 1, max(end - 1 - MAX_CLAUSE_WORDS, -1), -1):
        if read.symbols[i] in ".;":
            return False
        if read.words[i] == "been":
            return _OVER.isdisjoint(read.words[max(i - 3, 0) : i]) and read.words[i + 1] != "to"
    return False


_OVER: Final = frozenset(["had", "d"])


def _some_past(read: SymbolText, start: int, end: int) -> DateMatch:
    """ "The last two weeks": up to the day of saying."""
    _, most, _ = _count(read, start, end)
    unit = read.value("UBC", start, end)
    if unit == "hour":
        raise ValueError("no day")
    return DateMatch(start, end, (shifted(read.said, unit, -most), read.said), exact=False)


def _season(read: SymbolText, start: int, end: int) -> DateMatch | None:
    name = read.value("Zq", start, end)
    if read.value("LlXrT", start, end) is not None:
        return _turned_in_year(read, start, end, lambda year: season_days(name, year))
    return _pinned_or_not(read, start, end, lambda year: season_days(name, year))


def _holiday(read: SymbolText, start: int, end: int) -> DateMatch | None:
    name = read.value("H", start, end)
    if read.value("LlXrT", start, end) is not None:
        return _turned_in_year(read, start, end, lambda year: one_day(holiday(name, year)))
    return _pinned_or_not(read, start, end, lambda year: one_day(holiday(name, year)))


def _end_of(read: SymbolText, start: int, end: int) -> DateMatch | None:
    """ "The end of the month": of this one."""
    unit = read.value("UBC", start, end)
    if unit in ("hour", "day", "weekend"):
        return None
    return DateMatch(start, end, thirds(unit_of(read.said, unit), read.value("E", start, end)), exact=False)


def _part_of_day(read: SymbolText, start: int, end: int) -> DateMatch:
    return DateMatch(start, end, one_day(read.said + timedelta(_turn(read, start, end))))


def _turned(read: SymbolText, start: int, end: int) -> DateMatch | None:
    unit, turn = read.value("UBC", start, end), _turn(read, start, end)
    if unit in ("hour", "day", "fortnight"):  # "the last day of school", "the next day": told from elsewhere
        return None
    if unit == "weekend" and turn == 0:
        return DateMatch(start, end, _this_weekend(read, start, end))
    if unit == "weekend" and turn == -1:
        return DateMatch(start, end, weekend_of(weekday_before(read.said, 6)))  # the last Sunday's
    return DateMatch(start, end, unit_of(shifted(read.said, unit, turn), unit))


def _this_weekend(read: SymbolText, start: int, end: int) -> Days:
    """The one of this week; on Monday to Wednesday "this weekend" in the past is the one just over."""
    if read.tense(start, end) < 0 and read.said.weekday() < 5:
        return weekend_of(read.said - timedelta(7))
    return weekend_of(read.said)


def _weekend(read: SymbolText, start: int, end: int) -> DateMatch:
    return DateMatch(start, end, _this_weekend(read, start, end))


def _turned_weekday(read: SymbolText, start: int, end: int) -> DateMatch | None:
    if read.value("w", start, end) is not None and _is_word(read, start, end):
        return None
    weekday, turn = read.value("Ww", start, end), _turn(read, start, end)
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
    """ "The 15th", of the month that fits; not "the 15th floor", and before a plain word only after "on"."""
    after = read.words[end] if end < len(read.words) else ""
    told = read.symbols[start] in "uWw"
    if after in _COUNTED or (not told and after and read.symbols[end] == "x"):
        return None
    if read.symbols[end - 1] == "d" and read.language is not LANGUAGES["de"]:
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
    if value < 100 and (start == 0 or read.symbols[start - 1] not in "hE"):
        return None
    year = value if value >= 100 else value + (2000 if value < 30 else 1900)
    days = decade_of(year)
    return DateMatch(start, end, thirds(days, read.values[start]) if read.symbols[start] == "E" else days)


def _year(read: SymbolText, start: int, end: int) -> DateMatch | None:
    told = start > 0 and read.symbols[start - 1] not in "oc&-z"
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
    "turned": _turned,
    "turned_weekday": _turned_weekday,
    "the_day": _the_day,
    "weekday": _weekday,
    "weekend": _weekend,
    "near": _near,
    "decade": _decade,
    "year": _year,
    "month": _month,
}
