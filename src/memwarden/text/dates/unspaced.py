"""Days in Chinese and Japanese texts, which are written without spaces between words."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Final

from memwarden.text.dates.calendar import (
    Days,
    DaySpan,
    month_days,
    nearest_weekday,
    season_days,
    shifted,
    unit_of,
    weekend_of,
    year_days,
)

# Every rule holds at least a sign of these.
GLUED_SIGN: Final = re.compile(r"[年月日号號天週周曜昨今明去来來本前後后晚先上下おとあさ春夏秋冬]")

_N: Final = r"(?:\d{1,3}|[一二三四五六七八九十两兩]{1,3})"
_RULES: Final = re.compile(
    rf"(?P<date>(?:(?P<y>\d{{4}}|今|去|昨|明|来|來|前)年の?)?(?P<m>{_N})月(?:の?(?P<d>{_N})[日号號](?!間|间)"
    rf"(?:\s*(?:から|到|至|~|〜|-|–)\s*(?:(?P<m2>{_N})月)?(?P<d2>{_N})[日号號])?)?(?![間间個个])"
    rf"|(?P<y2>\d{{4}}|今|去|昨|明|来|來|前)年の?(?P<season>[春夏秋冬])天?)"
    rf"|(?P<count>(?<!\d)(?P<n>{_N})(?P<u>日|天|週間|周|週|星期|个星期|個星期|礼拜|个礼拜|か月|ヶ月|カ月|ヵ月|个月|個月|年)(?:間|间)?(?P<w>(?:之?前|以?後|之?后)(?!半)))"
    r"|(?P<weekday>(?P<t>先々週|先週|今週|来週|再来週|上上个?(?:周|週|星期)|上个?(?:周|週|星期|礼拜)|这个?(?:周|星期|礼拜)|本周|"
    r"下个?(?:周|週|星期|礼拜)|下下个?(?:周|週|星期))?の?"
    r"(?:(?P<jp>[月火水木金土日])曜日?|(?:(?<=周)|(?<=週)|(?<=星期)|(?<=礼拜)|周|週|星期|礼拜)(?P<zh>[一二三四五六日天末])(?![年月个個間间])))"
    r"|(?P<near>昨晩|昨夜|昨晚|昨日|昨天|きのう|一昨日|おととい|前天|今日|今天|今晩|今夜|今晚|今朝|今早|きょう|明日|明天|明晚|あした|"
    r"明後日|あさって|后天|後天)"
    r"|(?P<unit>先々週|先週末?|今週末?|再来週|来週末?|先々月|先月|今月|来月|一昨年|去年|昨年|今年|来年|明年|再来年|后年|後年|前年|"
    r"上上个?(?:周|週|星期|月)|上个?(?:周末?|週末?|星期|礼拜|月)|上個(?:星期|月)|这个?(?:周末?|星期|礼拜|月)|本(?:周|月|年)|"
    r"下下个?(?:周|週|星期|月)|下个?(?:周末?|週末?|星期|礼拜|月)|下個(?:星期|月))"
    r"|(?P<year>(?P<y3>(?:1[89]|20|21)\d\d)年(?!間|间|[前后後](?!半)))"
)

_NEAR: Final = {
    "一昨日": -2, "おととい": -2, "前天": -2, "明後日": 2, "あさって": 2, "后天": 2, "後天": 2,
    "明日": 1, "明天": 1, "明晚": 1, "あした": 1, "今日": 0, "今天": 0, "今晩": 0, "今夜": 0, "今晚": 0, "今朝": 0,
    "今早": 0, "きょう": 0,
}  # fmt: skip
_WEEKDAYS: Final = {
    **{sign: i for i, sign in enumerate("月火水木金土日")},
    **{sign: i for i, sign in enumerate("一二三四五六日")},
    "天": 6,
}
_DIGIT: Final = {sign: i for i, sign in enumerate("一二三四五六七八九", 1)} | {"两": 2, "兩": 2}
_SEASON: Final = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
_YEAR: Final = {"今": 0, "去": -1, "昨": -1, "明": 1, "来": 1, "來": 1, "前": -2}


def glued_spans(text: str, said: date, years: range | None) -> tuple[DaySpan, ...]:
    """Return the days that a Chinese or Japanese text names.

    ``years``: those for which a date without a year stands.
    """
    found: list[DaySpan] = []
    for hit in _RULES.finditer(text):
        try:
            days = _MEANING[hit.lastgroup or ""](hit, said, years)
        except (ValueError, OverflowError):
            continue
        found.extend(
            DaySpan(first, last, hit[0], hit.lastgroup != "count" or hit["u"] in "日天年月") for first, last in days
        )
    return tuple(found)


def _number(text: str) -> int:
    """ "12" and "十二" alike."""
    if text.isdigit():
        return int(text)
    tens, ten, ones = text.partition("十")
    if not ten:
        return _DIGIT.get(text, 0)
    return 10 * _DIGIT.get(tens, 1) + _DIGIT.get(ones, 0)


def _date(hit: re.Match[str], said: date, years: range | None) -> list[Days]:
    named = hit["y"] or hit["y2"]
    if named is not None:
        year = said.year + _YEAR[named] if named in _YEAR else int(named)
        return [_in_year(hit, year)]
    if years is not None:
        return [days for year in years if (days := _try(hit, year))]
    made = [days for year in range(said.year - 8, said.year + 9) if (days := _try(hit, year))]
    return [min(made, key=lambda days: max(days[0] - said, said - days[1]))] if made else []


def _try(hit: re.Match[str], year: int) -> Days | None:
    try:
        return _in_year(hit, year)
    except ValueError:
        return None


def _in_year(hit: re.Match[str], year: int) -> Days:
    if hit["season"]:
        return season_days(_SEASON[hit["season"]], year)
    month = _number(hit["m"])
    if hit["d"] is None:
        return month_days(year, month)
    first = date(year, month, _number(hit["d"]))
    if hit["d2"] is None:
        return first, first
    last = date(year, _number(hit["m2"]) if hit["m2"] else month, _number(hit["d2"]))
    if last < first:
        raise ValueError("ends before it begins")
    return first, last


def _count(hit: re.Match[str], said: date, years: range | None) -> list[Days]:
    sign = -1 if hit["w"].endswith("前") else 1
    unit = hit["u"]
    name = "year" if unit == "年" else "month" if "月" in unit else "day" if unit in "日天" else "week"
    day = shifted(said, name, sign * _number(hit["n"]))
    wide = timedelta(3)
    return [(day - wide, day + wide) if name == "week" else unit_of(day, name)]


def _steps(text: str) -> int:
    """How many units back or ahead "先週", "上上个月", "再来年" are."""
    if text.startswith(("先々", "一昨", "上上", "前")):
        return -2
    if text.startswith(("再来", "下下", "后", "後")):
        return 2
    if text.startswith(("先", "去", "昨", "上")):
        return -1
    return 0 if text.startswith(("今", "这", "本")) else 1


def _weekday(hit: re.Match[str], said: date, years: range | None) -> list[Days]:
    if hit["zh"] == "末":
        return [weekend_of(said + timedelta(7 * _steps(hit["t"])))] if hit["t"] else [weekend_of(said)]
    weekday = _WEEKDAYS[hit["jp"] or hit["zh"]]
    if hit["t"] is None:
        day = nearest_weekday(said, weekday, 0)
    else:
        monday = said - timedelta(said.weekday())
        day = monday + timedelta(weekday + 7 * _steps(hit["t"]))
    return [(day, day)]


def _near(hit: re.Match[str], said: date, years: range | None) -> list[Days]:
    day = said + timedelta(_NEAR.get(hit[0], -1))
    return [(day, day)]


def _unit(hit: re.Match[str], said: date, years: range | None) -> list[Days]:
    text = hit[0]
    name = "weekend" if text.endswith("末") else "year" if "年" in text else "month" if "月" in text else "week"
    return [unit_of(shifted(said, name, _steps(text)), name)]


def _year(hit: re.Match[str], said: date, years: range | None) -> list[Days]:
    return [year_days(int(hit["y3"]))]


_MEANING: Final[dict[str, Callable[[re.Match[str], date, range | None], list[Days]]]] = {
    "date": _date,
    "count": _count,
    "weekday": _weekday,
    "near": _near,
    "unit": _unit,
    "year": _year,
}


# A question for the time before a date asks for all of it, but not where the date is of these last days.
LONG_AGO: Final = date(1970, 1, 1)
LATELY: Final = timedelta(7)
# "6月前后" is around it, "2026年前半" and "2026年前三个月" begin it, "3日前一天" is a day beside it.
_GLUED_EARLIER: Final = re.compile(r"(?:まで|以前|より前|之前|为止|の?前(?![后後半期夜几\d一二两三四五六七八九十日]))")
# What has to be is to come. What is so until a day lies not before it.
_GLUED_DUTY: Final = re.compile(r"なければ|なきゃ|ないと|べき|必須|必须|应该|需要|得[在把去做]")
# What was so: a past verb ends a Japanese question, a particle of what was done is in a Chinese one.
_GLUED_PAST: Final = re.compile(
    r"た(?:の|ん)?(?:です|だ)?(?:か|け|っけ|よね)?[?？。.!！\s]*$|了|[过過](?!年)|去年|昨年"
)
# "3月から6月まで" asks of the months between.
_RANGE: Final = re.compile(r"(?:から|[从自].{1,20}[到至]|[年月日][到至])[\d年月日号一二三四五六七八九十]*$")


def ask_of_earlier(text: str, spans: tuple[DaySpan, ...], said: date) -> tuple[DaySpan, ...]:
    """Replace the dates of a question in Japanese or Chinese by the time before them, where it asks of that."""
    if _GLUED_DUTY.search(text):
        return spans
    is_past = "た" in text
    return tuple(_glued_earlier(text, span, said, is_past) for span in spans)


def add_next(years: range, text: str) -> range:
    """Return years of a date and the next one, unless a question in Japanese or Chinese is of the time before."""
    before = _GLUED_PAST.search(text) or _GLUED_EARLIER.search(text)
    return years if before else range(years.start, years.stop + 1)


def _glued_earlier(text: str, span: DaySpan, said: date, is_past: bool) -> DaySpan:
    """The time before a date of which a question in Japanese or Chinese asks: "2026年まで", "6月之前"."""
    before, _, after = text.partition(span.text)
    if after.startswith("まで") and not is_past:
        return span
    if _RANGE.search(before[-24:] + span.text):
        return span
    if not _GLUED_EARLIER.match(after) or not LONG_AGO < span.first <= said or said - span.first < LATELY:
        return span
    return DaySpan(LONG_AGO, span.first - timedelta(1), span.text, False)
