"""Write the words of clocks and dates of all locales of CLDR into ``remember/imports/clocks.toml``.

    python scripts/make_clocks.py

Needs babel, which holds CLDR's data (Unicode licence). Half-days and parts of a day are written by their hours; the
words between a date and a time, such as "um" and "à", and behind a number, such as "ч.", in one list.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path

import babel
from babel import Locale, localedata

FILE = Path(__file__).parents[1] / "src/memwarden/remember/imports/clocks.toml"
# Seconds of an hour.
HOUR = 3_600
# A word for half a day anywhere, such as 下午, is not the afternoon alone.
HALVES = ((0, 12), (12, 24))
_LITERAL = re.compile(r"'([^']+)'")


def fold(word: str) -> str:
    """Return a word as ``logs.py`` compares it."""
    return re.sub(r"[.\s\u00a0\u202f\u200b-\u200f]+", "", word).casefold()


def read_halves(locale: Locale) -> dict[str, tuple[int, int]]:
    """Return the first hour and the hour after the last of each part of the day."""
    hours = {"am": (0, 12), "pm": (12, 24), "noon": (12, 13), "midnight": (0, 1)}
    for name, spans in locale.day_period_rules.get(None, {}).items():
        for span in spans:
            start, end = span.get("from"), span.get("before")
            if start is not None and end is not None:
                hours[name] = (start // HOUR, end // HOUR if end > start else end // HOUR + 24)
    found: dict[str, tuple[int, int]] = {}
    for widths in locale.day_periods.values():
        for width, names in widths.items():
            for name, word in sorted(names.items(), key=lambda item: item[0] in ("am", "pm")):
                if name in hours and width != "narrow" and (len(fold(word)) > 1 or not word.isascii()):
                    found[fold(word)] = hours[name]
    return found


def read_fillers(locale: Locale) -> set[str]:
    """Return the words that short formats of dates and times hold beside their numbers."""
    formats = [
        *(str(locale.date_formats[width]) for width in ("short", "medium")),
        *(str(locale.time_formats[width]) for width in ("short", "medium")),
        *map(str, locale.datetime_formats.values()),
    ]
    return {fold(word) for text in formats for word in _LITERAL.findall(text) if fold(word).isalpha()}


def main() -> None:
    votes: dict[str, Counter[tuple[int, int]]] = defaultdict(Counter)
    fillers: set[str] = set()
    for name in localedata.locale_identifiers():
        locale = Locale.parse(name)
        for word, hours in read_halves(locale).items():
            votes[word][hours] += 1
        fillers |= read_fillers(locale)
    by_hours: dict[tuple[int, int], list[str]] = defaultdict(list)
    for word, counts in sorted(votes.items()):
        halves = Counter({span: count for span, count in counts.items() if span in HALVES})
        by_hours[(halves or counts).most_common(1)[0][0]].append(word)
    lines = [
        f"# Made by scripts/make_clocks.py of CLDR's data (babel {babel.__version__}; Unicode licence).",
        "# Words of half-days and parts of a day, by the hours that they hold.",
        "[hours]",
        *(f'{start}-{end} = """{" ".join(words)}"""' for (start, end), words in sorted(by_hours.items())),
        "",
        "# Words beside the numbers of a date or time.",
        f'[beside]\nwords = """{" ".join(sorted(fillers - votes.keys()))}"""',
    ]
    FILE.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
