"""Sentences of a text with their places, for whatever reads a text sentence by sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from memwarden.text.lexicon import all_words, languages, load_lexicon


class SentenceSpan(NamedTuple):
    """A sentence without white space around it, and its place in the text."""

    start: int
    end: int
    text: str


# A line ends a sentence. So does a closing sign before white space, with its quotes and brackets, and the closing signs
# of scripts that write no space after them.
_END: Final = re.compile(
    r"(?P<spaced>[.!?…]+[\"'”’»)\]]{0,3})(?=\s|$)|(?P<glued>[。！？．؟।]+[」』”’）]{0,2})|(?P<line>\n+)"
)
# A single capital, or a word of "abbreviations", before its full stop.
_CAPITAL_OR_WORD: Final = r"(?:^|[^\w.])(?:[A-Z]|{words})\.$"
# Characters before a full stop that can be an abbreviation. No more are looked at.
_MAX_ABBREVIATION: Final = 8
_DAY: Final = re.compile(r"(?:^|\s)\d{1,2}\.$")
_MAX_LOOKAHEAD: Final = 40


def split_spans(text: str, *, small_starts: bool = False) -> Iterator[SentenceSpan]:
    """Yield the sentences and lines of a text in order, none of them empty.

    A full stop does not end a sentence after an abbreviation, a single capital or a day ("am 3. Mai"), nor before a
    lower-case letter.

    small_starts: whether sentences may begin with a lower-case letter, as in texts typed in a hurry.
    """
    begin = 0
    for hit in _END.finditer(text):
        if hit.lastgroup == "spaced" and hit[0].startswith(".") and not _ends_sentence(text, begin, hit, small_starts):
            continue
        yield from _stripped(text, begin, hit.start() if hit.lastgroup == "line" else hit.end())
        begin = hit.end()
    yield from _stripped(text, begin, len(text))


def split_sentences(text: str, *, small_starts: bool = False) -> list[str]:
    """Return the sentences and lines of a text in order, each on a single line (:func:`split_spans`)."""
    return [" ".join(span.text.split()) for span in split_spans(text, small_starts=small_starts)]


def _ends_sentence(text: str, begin: int, hit: re.Match[str], small_starts: bool) -> bool:
    """Whether a full stop ends the sentence that began at ``begin``."""
    after = text[hit.end() : hit.end() + _MAX_LOOKAHEAD].lstrip(" \t")
    if after[:1].islower() and not small_starts:
        return False
    if len(hit[0]) > 1 and hit[0][1] == ".":
        return True  # "..." before a capital
    before = text[max(begin, hit.start() - _MAX_ABBREVIATION) : hit.start() + 1]
    if _DAY.search(before) is not None and re.split(r"\W", after, maxsplit=1)[0].lower() in _months_after_a_day():
        return False
    return _abbreviation().search(before) is None


def ends_abbreviation(text: str, stop: int) -> bool:
    """Whether the full stop at a place of a text belongs to an abbreviation: "St. Marien"."""
    return _abbreviation().search(text[max(0, stop - _MAX_ABBREVIATION) : stop + 1]) is not None


@cache
def _abbreviation() -> re.Pattern[str]:
    words = "|".join(re.escape(word).replace(r"\ ", r"\s?") for word in sorted(all_words("abbreviations")))
    return re.compile(_CAPITAL_OR_WORD.format(words=words))


@cache
def _months_after_a_day() -> frozenset[str]:
    """Return the months of the languages that write a full stop after the day, for example "3. Mai"."""
    chosen = [each for code in languages() if (each := load_lexicon(code)).day_with_full_stop]
    short = (entry.partition("=")[0] for each in chosen for entry in each.date_words("month"))
    return frozenset((*(word for each in chosen for word in each.words.get("months", ())), *short))


def _stripped(text: str, start: int, end: int) -> Iterator[SentenceSpan]:
    body = text[start:end]
    bare = body.strip()
    if bare:
        begin = start + len(body) - len(body.lstrip())
        yield SentenceSpan(begin, begin + len(bare), bare)
