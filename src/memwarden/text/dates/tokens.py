"""Names of the tokens of time, and patterns over them.

A word of a text becomes a token: the part that it plays in a date, whatever the language. A text is then a string of a
letter for each token, over which patterns are compiled to plain regular expressions: rules stay readable, and reading
stays linear. In a pattern ``<month|weak_month>`` stands for either token; white space is only layout.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

TOKENS: Final = {
    # Of the word lists; the values are said there (lexicon/time_words.toml).
    "month": "M",  # 1..12
    "weak_month": "m",  # is a word more often: "may"
    "weekday": "W",  # 0..6, Monday is 0
    "weak_weekday": "w",  # "sun"
    "weekdays": "V",  # a habit, but for "two Sundays ago"
    "unit": "U",  # hour, day, week, fortnight, month, year, decade
    "quarter": "B",
    "weekend": "C",
    "part_of_day": "a",
    "near_day": "D",  # days from the day of saying
    "season": "Z",
    "weak_season": "q",  # "spring", "fall"
    "holiday": "H",
    "decade": "K",  # 20 for the twenties
    "last": "L",  # how many back; before its noun
    "last_after": "l",
    "next": "X",  # how many ahead; before its noun
    "next_after": "r",
    "this": "T",
    "other": "g",  # "the other day"
    "ago": "A",  # -1 ago, 1 from now
    "ago_before": "P",  # before its number: "vor", "hace"
    "third": "E",  # -1 early, 0 mid, 1 late
    "earlier": "e",  # -1 earlier, 1 later
    "number": "n",
    "few": "v",  # least and most
    "ordinal_word": "s",
    "from": "f",
    "to": "c",
    "and": "&",
    "since": "S",
    "until": "k",
    "before": "b",
    "after": "z",
    "in": "i",
    "on": "u",
    "of": "o",
    "the": "h",
    "for": "j",
    "every": "*",
    "unknown": "x",
    # Of digits and signs.
    "digits": "d",  # 1 or 2 digits
    "large_number": "N",
    "year": "y",
    "ordinal": "t",  # "15th"
    "numbered_quarter": "Q",  # "Q3"
    "day_pair": "R",  # "3-7"
    "year_pair": "Y",  # "2019-2021"
    "numeric_date": "G",  # year, month, day; None for what is left open
    "comma": ",",
    "period": ".",
    "hyphen": "-",
    "stop": ";",  # ends a sentence, or opens an aside
    "money": "$",
    "colon": ":",
}
"""The letter of each token."""
_NAMES: Final = re.compile(r"(?<!\?P)<([a-z_|]+)>")


@cache
def letters(names: str) -> str:
    """Return the letters of tokens: ``letters("month|weekday")``."""
    return "".join(TOKENS[name] for name in names.split("|"))


def compile_tokens(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of tokens to an expression over their letters."""
    return re.compile(_NAMES.sub(_letter_class, re.sub(r"\s+", "", pattern)))


def _letter_class(hit: re.Match[str]) -> str:
    signs = letters(hit[1])
    return re.escape(signs) if len(signs) == 1 else f"[{re.escape(signs)}]"
