"""Addresses that a statement gives as somebody's home: "I live at 14 Pelham Row in Leeds"."""

from __future__ import annotations

from typing import Final, NamedTuple

from memwarden.text.language import language_of, normalize_text
from memwarden.text.streets import find_houses
from memwarden.text.update_words import GLUED_LANGUAGES, load_update_words

# Roles of words in a clause that states no present home.
_OPEN: Final = ("negation", "doubt", "over", "wish")


class Home(NamedTuple):
    """The address of a home, and the words around it, normalised."""

    before: str
    street: str
    after: str


def find_home(text: str, language: str | None = None) -> Home | None:
    """Return the only address of a text, if words of living somewhere are before it.

    Scripts without spaces have these words on either side.
    """
    code = language or language_of(text)
    houses = find_houses(text, code)
    if len(houses) != 1:
        return None
    words = load_update_words(code)
    housed = None if words is None else words.patterns.get("housed")
    if housed is None:
        return None
    house = houses[0]
    home = Home(*map(normalize_text, (text[: house.start], house.text, text[house.end :])))
    frame = f"{home.before} {home.after}" if code in GLUED_LANGUAGES else home.before
    return home if housed.search(frame) else None


def tells_home(text: str) -> bool:
    """Whether a clause gives the address where somebody lives, without a wish, a doubt or an end."""
    if find_home(text) is None:
        return False
    words, plain = load_update_words(language_of(text)), normalize_text(text)
    return words is not None and not any(words.patterns[role].search(plain) for role in _OPEN)
