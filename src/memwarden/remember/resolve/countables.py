"""Reads what a text counts: numbers in digits and in signs, units, hours, halves of the day, days and rhythms."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from memwarden.remember.resolve.changes import when_told
from memwarden.remember.resolve.same_fact.signature import Signature
from memwarden.remember.resolve.same_fact.word_lists import load_word_lists

_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_COUNTED_SIGNS: Final = re.compile(
    r"(?:\d+|[〇一二两兩三四五六七八九十百千万]+)\s?个?"
    r"(岁|歳|才|年|月|天|周|週|小?时|時間|分|公?斤|磅|元|块|円|[美欧日]元|法郎|ドル|ユーロ|ポンド|フラン|キロ|公里|度|[%％])"
)
_SAME_UNITS: Final = {"歳": "岁", "才": "岁", "週": "周", "块": "元", "％": "%"}
_MONEY: Final = frozenset("usd eur gbp jpy".split())
# What stands glued to a number, beside the units of the lists.
_MORE_UNITS: Final = frozenset(
    "pct mm ml gb mb tb ms hz kwh w °c °f mph franc francs franken peso pesos yen yuan rupees kronen kronor crowns "
    "celsius fahrenheit miles meilen millas".split()
)
# What tells the half of the day: "a.m." is German for "at the" too, and stands apart.
_HALVES: Final = {
    "early": re.compile(
        r"\bmornings?\b|\bmorgens\b|\bam morgen\b|vormittag|\bmatin|(?:de|por) la mañana\b|\bmadrugada|"
        r"朝|早上|上午|午前|凌晨|清晨|早晨"
    ),
    "late": re.compile(
        r"\bevenings?\b|\bafternoons?\b|(?<!sonn)abends?\b|nachmittag|\bsoir|après-midi|(?:de|por) la tarde\b|"
        r"下午|午後|傍晚|夕方"
    ),
    "night": re.compile(r"\b(?:to)?night(?:s|ly)?\b|\bnachts?\b|\bnoches?\b|\bnuit|晚|夜|晩"),
}
_MERIDIEM: Final = re.compile(r"\d\s?([ap])\.?\s?m\b")
# They count the hours of a day to 24.
_FULL_HOURS: Final = re.compile(r"\buhr\b|\d\s?h(?:\d\d|eures?)?\b")
_TODAY: Final = re.compile(
    r"\b(?:today|tonight|this (?:week|month|year|spring|summer|autumn|winter)|heute|"
    r"diese[mnrs]? (?:woche|monat|jahr|frühjahr|frühling|sommer|herbst|winter)|hoy|"
    r"est[ea] (?:semana|mes|año|primavera|verano|otoño|invierno)|aujourd['’]hui|"
    r"ce(?:tte)? (?:semaine|mois|année|printemps|été|automne|hiver))\b|今[天日晚年夜春夏秋冬週月]|本周|[这這]个?[周月]"
)
_EVERY: Final = re.compile("[每毎]")
_MARKS: Final = re.compile(r"(?:th|cc|%)$")
_NUMERAL: Final = re.compile(r"\d+|[〇一二两兩三四五六七八九十百千万]+")
_DIGITS: Final = {sign: number for number, sign in enumerate("〇一二三四五六七八九")} | {"两": 2, "兩": 2}
_UNITS: Final = {"十": 10, "百": 100, "千": 1000}
_IDIOMS: Final = re.compile("万一|万分|十分|百般|千万(?=[别不])")
_WEEKDAY: Final = re.compile(r"(?:周|星期|礼拜)([一二三四五六日天])|([月火水木金土日])曜")
_DAY_SIGNS: Final = {sign: number for number, sign in enumerate("一二三四五六", 1)} | {"日": 7, "天": 7}
_DAY_NAMES: Final = {sign: number for number, sign in enumerate("月火水木金土日", 1)}


def is_unspaced(text: str) -> bool:
    """Whether a text is written in signs without spaces: Japanese, Chinese."""
    return bool(_UNSPACED.search(text))


def names_day_from_now(signature: Signature) -> bool:
    """Whether a text names a day or a year that is another one when it is said later: on Friday, last summer."""
    if when_told(signature.text, signature.language) or _TODAY.search(signature.text.lower()):
        return True
    if is_unspaced(signature.text):
        return bool(_WEEKDAY.search(signature.text)) and not _EVERY.search(signature.text)
    weekday = any(value.startswith("w:") for value in signature.times)
    return any(value.startswith("o:") for value in signature.times) or (weekday and not named_rhythms(signature))


def same_values(first: Signature, second: Signature) -> bool:
    """Whether both name the same numbers, days and hours. 8 is 8 p.m. only for who names no half of the day."""
    halves = _halves(first), _halves(second)
    if any(one == {"early"} and other and "early" not in other for one, other in (halves, halves[::-1])):
        return False
    unsure = not (halves[0] and halves[1]) or (halves[0] == halves[1] and len(halves[0]) == 1)
    folded = unsure and not (_counts_full_hours(first) or _counts_full_hours(second))
    return named_values(first, folded=folded) == named_values(second, folded=folded)


def _halves(signature: Signature) -> set[str]:
    """The halves of the day that a text names in words."""
    low = signature.text.lower()
    found = {half for half, words in _HALVES.items() if words.search(low)}
    marks = set() if signature.language == "de" else set(_MERIDIEM.findall(low))
    return found | {"early" if mark == "a" else "late" for mark in marks}


def _counts_full_hours(signature: Signature) -> bool:
    """Whether a text counts the hours of a day to 24: "8 Uhr", "20:00"."""
    late = any(int(hour) > 12 for hour in _hours(signature)) and not _halves(signature)
    return late or _FULL_HOURS.search(signature.text.lower()) is not None


def _hours(signature: Signature) -> list[str]:
    return [value[2:].split(":")[0] for value in signature.times if value.startswith("t:")]


def named_values(signature: Signature, *, folded: bool = False) -> set[str]:
    """The numbers and days of a text, without units and rhythms: what has to be the same in other words.

    folded: whether the hours are counted to 12 only.
    """
    if is_unspaced(signature.text):
        return _unspaced_values(signature.text)
    later = 12 if _halves(signature) == {"late"} else 0
    found: set[str] = set()
    for value in (*signature.numbers, *signature.times):
        if value.startswith("t:"):
            hour, minute = value[2:].split(":")[:2]
            full = int(hour) + (later if int(hour) < 12 else 0)
            found.add(f"{full % 12 or 12 if folded else full}" + (f".{minute}" if minute != "00" else ""))
        elif value.startswith("d:"):
            found |= {f"m:{value[2:4]}", str(int(value[5:7]))}
        elif not value.startswith(("per", "o:")):
            found.add(_MARKS.sub("", value.removeprefix("y:")))
    return found - {"1"}


def units_of(signature: Signature) -> set[str]:
    """The units that numbers of a text have, currencies too."""
    if is_unspaced(signature.text):
        return {_SAME_UNITS.get(hit[1], hit[1]) for hit in _COUNTED_SIGNS.finditer(signature.text)}
    known = known_units(signature.language)
    pairs = zip(signature.raw, signature.raw[1:], strict=False)
    return {word for before, word in pairs if before[0].isdigit() and word in known} | _MONEY & set(signature.raw)


@cache
def known_units(language: str) -> frozenset[str]:
    """Return the units of a language, as they stand behind a number in a signature."""
    return _MORE_UNITS | frozenset(load_word_lists(language).units.values())


def named_rhythms(signature: Signature) -> set[str]:
    """Return how often something happens, as far as a text says it in the words of a rhythm."""
    return {value for value in signature.times if value.startswith("per")}


# "Every two weeks" has the words of a number, and is a rhythm.
_EVERY_SO_MANY: Final = re.compile(
    r"\b(?:every|alle|cada|tous les|toutes les) (\d+) (day|week|month|year|tag|woche|monat|jahr|d[ií]a|semana|mes|año|"
    r"jour|semaine|mois|an)"
)


def rhythms_told(signature: Signature) -> set[str]:
    """Return how often something happens, however a text says it."""
    told = {f"per-{hit[1]}-{hit[2]}" for hit in _EVERY_SO_MANY.finditer(" ".join(signature.raw))}
    told |= named_rhythms(signature) - {"per-time"}
    # "Every second week, on Mondays" is not every Monday.
    return {each for each in told if each.count("-") > 1} or told


def _unspaced_values(text: str) -> set[str]:
    found = {f"w:{_DAY_SIGNS[day[1]] if day[1] else _DAY_NAMES[day[2]]}" for day in _WEEKDAY.finditer(text)}
    bare = _IDIOMS.sub(" ", _WEEKDAY.sub(" ", text))
    return found | {str(number) for hit in _NUMERAL.finditer(bare) if (number := _read_numeral(hit[0])) != 1}


def _read_numeral(signs: str) -> int:
    """The number that signs write: 12, 一万二 (12,000), 三百五 (350), 二十."""
    if signs[0].isdecimal():
        return int(signs)
    total = section = digit = 0
    unit = 1
    for sign in signs:
        if sign in _DIGITS:
            digit = _DIGITS[sign]
        elif sign in _UNITS:
            unit = _UNITS[sign]
            section, digit = section + (digit or 1) * unit, 0
        elif sign == "万":
            unit = 10_000
            total, section, digit = total + (section + digit or 1) * unit, 0, 0
    # "三百五" is 350, "一万二" 12,000.
    return total + section + digit * (unit // 10 if unit > 10 and digit else 1)
