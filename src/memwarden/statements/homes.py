"""Addresses that a statement gives as a home: "I live at 14 Pelham Row in Leeds"."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from memwarden.statements.wording import subject_words
from memwarden.text.language import has_capital_nouns, language_of, normalize_text
from memwarden.text.streets import find_houses
from memwarden.text.tokenizer import stop_words
from memwarden.text.update_words import GLUED_LANGUAGES, UpdateWords, load_update_words

# Roles of words in a clause that states no present home.
_OPEN: Final = ("negation", "doubt", "over", "wish")
_CLAUSE_END: Final = re.compile(r"[.,;!?、。]")
_WORD: Final = re.compile(r"[^\W\d_][\w'-]*")


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
    """Whether a clause gives the address of a home, without a wish, a doubt or an end.

    "My client lives at", "the dentist's address is" and "I live in Leeds; the office is at" give none.
    """
    code = language_of(text)
    home, words, plain = find_home(text, code), load_update_words(code), normalize_text(text)
    if home is None or words is None or any(words.patterns[role].search(plain) for role in _OPEN):
        return False
    return _is_beside(home, words) if code in GLUED_LANGUAGES else _is_lived_in(text, home, words, code)


def _is_beside(home: Home, words: UpdateWords) -> bool:
    """Whether the words of living are in the clause of an address. Words for an address need "my"."""
    before, after = _CLAUSE_END.split(home.before)[-1], _CLAUSE_END.split(home.after)[0]
    hit = words.patterns["housed"].search(f"{before} {after}")
    if hit is None or words.patterns["addressed"].search(hit[0]) is None:
        return hit is not None
    owner = words.patterns["of"].sub("", before[: hit.start()])
    return owner in subject_words().self


def _is_lived_in(text: str, home: Home, words: UpdateWords, code: str) -> bool:
    """Whether grammar alone joins the words of living to an address. No noun may be right before them."""
    hits = list(words.patterns["housed"].finditer(home.before))
    grammar, lists = stop_words(code), subject_words()
    between = home.before[hits[-1].end() :]
    if _CLAUSE_END.search(between) or not all(word in grammar for word in _WORD.findall(between)):
        return False
    said = _WORD.findall(home.before[: hits[-1].start()])[-2:]
    if words.patterns["addressed"].search(hits[-1][0]):
        return bool(said) and said[-1] in lists.self
    if not said or said[-1] in grammar | lists.self | lists.third | lists.relations.keys():
        return True
    if words.patterns["now"].fullmatch(said[-1]) or len(said[-1].rstrip("'")) == 1:
        return True
    # German writes every noun large. A noun has an article before it, a name has none.
    large = re.search(rf"(?<!\w){re.escape(said[-1].capitalize())}(?!\w)", text) is not None
    return large and (len(said) == 1 or not has_capital_nouns(text))
