"""Sentences and clauses of a text: the units that are read for statements."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

MAX_CHARACTERS: Final = 4_000
"""Of a longer text only the beginning is read: a pasted log costs no more than a long message."""
MAX_CLAUSES: Final = 12
MAX_WHOLE: Final = 640
"""A shorter text of several clauses is read as a whole too: what a short clause means stands in the others."""
MIN_WIDTH: Final = 4
LONG_SENTENCE: Final = 70
"""A wider sentence is read as a whole and clause by clause; a full-width sign counts as two."""
MIN_CLAUSE: Final = 8
SHORT_CLAUSE: Final = 18

# The lookbehinds keep the sign with the sentence before it, and are of fixed length, so that time stays linear.
_SENTENCE_END: Final = re.compile(r"(?:(?<=[.!?…])[\"'”’)\]]{0,3}\s+(?=\S))|(?<=[。！？!?])(?=\S)|\n+|;\s+|；")
_ABBREVIATION: Final = re.compile(
    r"\b(?:Mr|Mrs|Ms|Dr|Dra|Sr|Sra|Prof|St|Jr|vs|etc|approx|No|Nr|Str|ca|bzw|z\.B|u\.a|d\.h|a\.m|p\.m|e\.g|i\.e|[A-Z]|"
    r"\d)\.$"
)
# A comma ends a clause only where a subject or a conjunction follows: "eggs, milk, flour" is a single clause.
_CLAUSE_END: Final = re.compile(
    r",\s+(?=(?:and|but|so|also|which means|und|aber|y|pero|et|mais|donc|ich|i|we|my|he|she|mein|meine|mi|mis|je|j'|"
    r"mon|ma|on|yo)\b)|\s+[–—-]\s+|、(?=.{8})|，(?=.{4})|,\s+(?=.{25})",
    re.IGNORECASE,
)
_BLANKS: Final = " \t-–—•*"


class Clause(NamedTuple):
    """A part of a text. start, end: its place in the text."""

    text: str
    start: int
    end: int


def clauses_of(text: str) -> list[Clause]:
    """Return the text as a whole, if it is short, its sentences, and the clauses of long ones: a bounded number."""
    found: list[Clause] = []
    for sentence in _cut(text[:MAX_CHARACTERS]):
        if len(found) >= MAX_CLAUSES:
            break
        # "Ok." and "是的" state nothing and would cost an embedding each.
        if _width(sentence.text) < MIN_WIDTH:
            continue
        found.append(sentence)
        if _width(sentence.text) > LONG_SENTENCE:
            found.extend(_parts(sentence))
    if len(found) > 1 and len(text) <= MAX_WHOLE:
        whole = text.strip()
        start = text.index(whole)
        found.insert(0, Clause(whole, start, start + len(whole)))
    return list(dict.fromkeys(found))[:MAX_CLAUSES]


def _cut(text: str) -> list[Clause]:
    found: list[Clause] = []
    for part in _split(text, 0, _SENTENCE_END):
        # "Dr. Hahn" was cut in two: the dot belongs to the word before it.
        if found and _ABBREVIATION.search(found[-1].text):
            start = found.pop().start
            part = Clause(text[start : part.end], start, part.end)
        found.append(part)
    return found


def _parts(sentence: Clause) -> list[Clause]:
    joined: list[Clause] = []
    for part in _split(sentence.text, 0, _CLAUSE_END):
        if _width(part.text) < MIN_CLAUSE:
            continue
        # "Also," or "In May," says nothing alone; what follows does.
        if joined and _width(joined[-1].text) < SHORT_CLAUSE:
            start = joined.pop().start
            part = Clause(sentence.text[start : part.end], start, part.end)
        joined.append(part)
    if len(joined) < 2:
        return []
    return [Clause(part.text, sentence.start + part.start, sentence.start + part.end) for part in joined]


def _split(text: str, first: int, ends: re.Pattern[str]) -> list[Clause]:
    found: list[Clause] = []
    begin = 0
    for start, end in [*(match.span() for match in ends.finditer(text)), (len(text), len(text))]:
        part = text[begin:start]
        bare = part.strip(_BLANKS)
        if bare:
            place = first + begin + part.index(bare)
            found.append(Clause(bare, place, place + len(bare)))
        begin = end
    return found


def _width(text: str) -> int:
    return sum(2 if ord(sign) > 0x2E80 else 1 for sign in text)
