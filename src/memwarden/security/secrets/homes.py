"""Finds the codes of a home: of doors, lockers, alarms, safes and its wifi.

A person asks for them, so they are kept unless the setting ``secrets`` is ``strict``. A wifi password with digits or
signs is taken out as a password. A code counts where a sentence names its place, a word for a code or what people do
with it, and then signs that are no size, price or time.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from memwarden.security.secrets.providers import SecretSpan
from memwarden.security.words import load_lines

KIND: Final = "home-code"
_WORDS: Final = Path(__file__).with_name("homes.toml")


def _any_of(role: str) -> str:
    return f"(?:{'|'.join(load_lines(_WORDS, role))})"


_DIGITS: Final = re.compile(
    r"(?<![A-Za-z0-9_.,:/€$£#*-])([#*]?(?:\d{3,8}|\d{1,2}(?:-\d{1,2}){2,3}|\d{2} \d{2}(?: \d{2})?)[#*]?)"
    r"(?![A-Za-z0-9_€$£]|[.,:/-]\d)(?! ?(?:%|€|\$|£|(?:euros?|dollars?|mm|cm|m|km|kg|watt|uhr|hours?|o'clock|am|pm|"
    r"units?|people|steps|years?|times)\b))",
    re.I,
)
_IN_PLACE: Final = re.compile(_any_of("place"), re.I)
_CODED: Final = re.compile(_any_of("code"), re.I)
_OPENS: Final = re.compile(rf"(?i)\s{_any_of('opens')}\b")
_USED: Final = re.compile(r"(?i)\b(?:use|enter|press|dial|type|with|with code)\s$")
_SENTENCE_END: Final = re.compile(r"[!?\n]|\.(?=\s)")
_BEFORE: Final = 80
_BEHIND: Final = 40
_WIFI: Final = re.compile(_any_of("wifi"), re.I)
# A word for a password, up to a few words ("for it", "of the guests'"), what ties a value to them, and the value.
_TOLD: Final = re.compile(
    rf"(?i){_any_of('password')}"
    rf"[^\n.!?:=]{{0,30}}?(?:\s?[:=：]\s?|\s{_any_of('is')}\s|{_any_of('is_unspaced')}\s?)"
    r"(?:[\"“„«'`「]([^\"”“»'`」\n]{4,60})[\"”“»'`」]|([^\s\"“„«'`「,;]{4,60}))"
)
_NOT_A_VALUE: Final = re.compile(rf"(?:{_any_of('not_value')}|\[redacted.*)$", re.I)
_QR: Final = re.compile(r"WIFI:[^\n]{0,100}?P:((?:[^;\\\n]|\\.){4,80});")


def find_home_codes(text: str) -> Iterator[SecretSpan]:
    """Yield every code of a home that a text tells; spans may overlap."""
    yield from _codes_of_places(text)
    for match in _TOLD.finditer(text) if _WIFI.search(text) else ():
        span = match.span(match.lastindex or 0)
        near = text[max(0, match.start() - _BEFORE) : span[0]]
        if _WIFI.search(near) and (match.lastindex == 1 or _is_value(text, *span)):
            yield SecretSpan(*_without_stop(text, *span), KIND)
    if "WIFI:" in text:
        yield from (SecretSpan(*match.span(1), KIND) for match in _QR.finditer(text))


def _codes_of_places(text: str) -> Iterator[SecretSpan]:
    digits = list(_DIGITS.finditer(text))
    codes = [match.start() for match in _CODED.finditer(text)] if digits else []
    # Looked for last, and only beside what may be a code: the places are many words in fifteen languages.
    places: list[int] | None = None
    for match in digits:
        begin, end = match.span(1)
        before = begin - len(_SENTENCE_END.split(text[max(0, begin - _BEFORE) : begin])[-1])
        coded = _any_within(codes, before, begin)
        used = _OPENS.match(text, end) or _USED.search(text, before, begin)
        if not coded and not used:
            continue
        places = [found.start() for found in _IN_PLACE.finditer(text)] if places is None else places
        behind = end + len(_SENTENCE_END.split(text[end : end + _BEHIND], maxsplit=1)[0])
        if coded if _any_within(places, before, begin) else used and _any_within(places, end, behind):
            yield SecretSpan(begin, end, KIND)


def _any_within(starts: Sequence[int], begin: int, end: int) -> bool:
    place = bisect_left(starts, begin)
    return place < len(starts) and starts[place] < end


def _is_value(text: str, begin: int, end: int) -> bool:
    """Whether what follows is the password and no word about it: it has signs or digits, or ends the sentence."""
    value = text[begin:end]
    if _NOT_A_VALUE.match(value.rstrip(".!?)")):
        return False
    made = any(not sign.isalpha() for sign in value[:-1]) or not (value.islower() or value.istitle())
    return made or not text[end : end + 2].strip(".!?, ")


def _without_stop(text: str, begin: int, end: int) -> tuple[int, int]:
    return begin, begin + len(text[begin:end].rstrip(".!?)"))
