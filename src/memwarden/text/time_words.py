"""Words that name a time."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from memwarden.text.lexicon import all_words, either_of, words_by_language

_WORD: Final = re.compile("[a-z]+")
_DIGIT: Final = re.compile("[0-9]")
_YEAR_OR_CLOCK: Final = r"(?<!\w)(?:(?:19|20)\d\d|\d{1,2}:\d\d)(?!\w)"


def has_time_word(text: str) -> bool:
    """Whether a text names the time of an event, for example "last week" or "in 2022"."""
    # The expression takes 40 us where it finds nothing. Most texts have none of the words that it needs.
    plain = text.lower()
    if plain.isascii() and _DIGIT.search(plain) is None and _needed_words().isdisjoint(_WORD.findall(plain)):
        return False
    return _time_word().search(text) is not None


@cache
def _time_word() -> re.Pattern[str]:
    turned = [
        rf"(?<!\w)(?:{'|'.join(turns)}|\d+)\s+(?:{'|'.join(units)})s?(?!\w)"
        for code, turns in words_by_language("time_turns").items()
        if (units := words_by_language("time_units").get(code))
    ]
    return re.compile("|".join((*turned, either_of(["time"]), _YEAR_OR_CLOCK)), re.IGNORECASE)


@cache
def _needed_words() -> frozenset[str]:
    """Return ASCII words of which every ASCII text without digits has one if it names a time."""
    units = all_words("time_units")
    words = {*all_words("time"), *units, *(f"{unit}s" for unit in units), "may"}
    return frozenset(parts[0] for word in words if (parts := _WORD.findall(word)))
