"""Sentences of a text with their places, for whatever reads a text sentence by sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from memwarden.text.lexicon import load_months


class SentenceSpan(NamedTuple):
    """A sentence without white space around it, and its place in the text."""

    start: int
    end: int
    text: str


# A line ends a sentence; so does a closing sign before white space, with its quotes and brackets, and the closing signs
# of scripts that write no space after them.
_END: Final = re.compile(
    r"(?P<spaced>[.!?…]+[\"'”’»)\]]{0,3})(?=\s|$)|(?P<glued>[。！？．؟।]+[」』”’）]{0,2})|(?P<line>\n+)"
)
_ABBREVIATION: Final = re.compile(
    r"(?:^|[^\w.])(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|approx|No|a\.m|p\.m|e\.g|i\.e|U\.S|U\.K|[A-Z]"
    r"|z\.\s?B|bzw|ca|usw|Nr|Hr|Fr|Mme|Mlle|Sra?|núm|aprox)\.$"
)
# Characters before a full stop that can be an abbreviation; no more are looked at.
_MAX_ABBREVIATION: Final = 8
_DAY: Final = re.compile(r"(?:^|\s)\d{1,2}\.$")
_GERMAN_MONTHS: Final = frozenset((*load_months("de"), "jänner"))
_MAX_LOOKAHEAD: Final = 40


def split_spans(text: str) -> Iterator[SentenceSpan]:
    """Yield the sentences and lines of a text in order, none of them empty.

    A full stop ends no sentence after an abbreviation, a single capital or a day ("am 3. Mai"), nor before a small
    letter.
    """
    begin = 0
    for hit in _END.finditer(text):
        if hit.lastgroup == "spaced" and hit[0].startswith(".") and not _ends_sentence(text, begin, hit):
            continue
        yield from _stripped(text, begin, hit.start() if hit.lastgroup == "line" else hit.end())
        begin = hit.end()
    yield from _stripped(text, begin, len(text))


def split_sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text in order, each on a single line."""
    return [" ".join(span.text.split()) for span in split_spans(text)]


def _ends_sentence(text: str, begin: int, hit: re.Match[str]) -> bool:
    """Whether a full stop ends the sentence that began at ``begin``."""
    after = text[hit.end() : hit.end() + _MAX_LOOKAHEAD].lstrip(" \t")
    if after[:1].islower():
        return False
    if len(hit[0]) > 1 and hit[0][1] == ".":
        return True  # "..." before a capital
    before = text[max(begin, hit.start() - _MAX_ABBREVIATION) : hit.start() + 1]
    if _DAY.search(before) is not None and re.split(r"\W", after, maxsplit=1)[0].lower() in _GERMAN_MONTHS:
        return False
    return _ABBREVIATION.search(before) is None


def _stripped(text: str, start: int, end: int) -> Iterator[SentenceSpan]:
    body = text[start:end]
    bare = body.strip()
    if bare:
        begin = start + len(body) - len(body.lstrip())
        yield SentenceSpan(begin, begin + len(bare), bare)
