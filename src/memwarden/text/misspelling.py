"""Forms of a word with one letter changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

# First and last letter of the alphabets in which words are changed: Latin, Greek and Cyrillic, without accents.
ALPHABETS: Final = (("a", "z"), ("α", "ω"), ("а", "я"))


def change_one_letter(word: str) -> Iterator[str]:
    """Yield a small word with one letter added, removed, replaced or swapped with the next.

    The letters are those of the alphabet of its first letter. Nothing comes for other scripts.
    """
    letters = next((range(ord(first), ord(last) + 1) for first, last in ALPHABETS if first <= word[:1] <= last), None)
    if letters is None:
        return
    for place in range(len(word) + 1):
        before, after = word[:place], word[place:]
        if after:
            yield before + after[1:]
            yield from (before + chr(letter) + after[1:] for letter in letters)
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
        yield from (before + chr(letter) + after for letter in letters)
