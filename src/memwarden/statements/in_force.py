"""What a sentence says of a dose, an agreement, a code, a new value or a day to come, which holds after the day."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Final

from memwarden.statements.explicit import ReadText, read_text
from memwarden.text.dates.recognizer import spans_in
from memwarden.text.language import normalize_text
from memwarden.text.lexicon import load_lexicon
from memwarden.text.tokenizer import terms
from memwarden.text.update_words import GLUED_LANGUAGES

# Topics of what is in force.
IN_FORCE: Final = ("medicines", "rules", "codes", "current", "upcoming")
# Days. A longer span is a month or a season, of which only the plan is known.
MAX_DAYS_AHEAD: Final = 21
_DAYS_OF_SHORTEST_MONTH: Final = 28

# A word with its hyphens.
_WORD: Final = re.compile(r"[\w-]+")
# Signs before and after a number that is an amount or a part of a longer number.
_BEFORE_AMOUNT: Final = frozenset(".,:/€$£")
_AFTER_AMOUNT: Final = re.compile(r"[.,:]\d|\s?[€$£%]")
# A number with its unit in one word.
_MEASURE: Final = re.compile(r"\d+(?:st|nd|rd|th|h|am|pm|kg|km|mg|ml|cm|mm|min)\b", re.IGNORECASE)
# Digits of a code without letters and hyphens.
_MIN_DIGITS: Final = 3
_OPENING: Final = re.compile(r"[「『„“«]")
_CLOSING: Final = re.compile(r"[」』”»]")
_DIGIT: Final = re.compile(r"\d")
# A number of two digits or more.
_AMOUNT: Final = re.compile(r"\d[.,:]?\d")
# A number, or an address of mail, that is the value of an attribute. A share is a moment: "my phone is at 5 %".
_VALUE: Final = re.compile(r"[£$€+]?\d[^%]*$|\S+@\S+\.\w")
# Capitals that may be no name.
_MAX_SHORT: Final = 2
# Words before a value and the value.
_MAX_LEADS: Final = 4
# The speaker, or the field, before a line.
_LABELS: Final = re.compile(r"^[ \t]*[^\W\d_][\w'’.-]{0,19} ?[:：](?!//|\d)", re.MULTILINE)
_MIN_LABELS: Final = 2
# Lines of a message that somebody types. A longer one is a list or a pasted text.
_MAX_LINES: Final = 4


def names_code(text: str) -> bool:
    """Whether a text has a word that may be a code, a number plate or a number of a customer."""
    return any(_is_code(text, word) for word in _WORD.finditer(text))


def _is_code(text: str, word: re.Match[str]) -> bool:
    """Whether a word has three digits or more, digits with hyphens, or letters and digits, and is no amount."""
    if text[max(word.start() - 1, 0) : word.start()] in _BEFORE_AMOUNT or _AFTER_AMOUNT.match(text, word.end()):
        return False
    signs = word[0].strip("-_")
    digits = sum(map(str.isdigit, signs))
    return not _MEASURE.match(signs) and (digits >= _MIN_DIGITS or 0 < digits < len(signs))


def names_value(text: str, read: ReadText) -> bool:
    """Whether a sentence about a new state names a weekday, the number of a thing, or who holds a post."""
    if read.weekdays:
        return True
    roles = frozenset(role for clause in read.clauses for role in clause.roles)
    return bool(("single" in roles and _AMOUNT.search(text)) or ("post" in roles and read.names))


def begins_value(text: str, at: datetime, onward: re.Pattern[str], language: str) -> bool:
    """Whether a sentence gives weekdays or the number of a thing that hold from one day or month on.

    "From 1 June I work on Tuesdays" holds after that day. "From 1 June to 9 June" and "ten weeks from 1 June" end.

    onward: words before the day, or after it in a script without spaces.
    """
    spans = [span for span in spans_in(text, at) if _DIGIT.search(span.text) or span.first != span.last]
    if len(spans) != 1 or 0 < (spans[0].last - spans[0].first).days < _DAYS_OF_SHORTEST_MONTH - 1:
        return False
    before, _, after = text.partition(spans[0].text)
    plain = normalize_text(after if language in GLUED_LANGUAGES else before).strip()
    hit = onward.match(plain) if language in GLUED_LANGUAGES else _find_at_end(onward, plain)
    rest = read_text(f"{before} {after}", language)
    units = frozenset(
        stem for word in load_lexicon(language).words.get("time_units", ()) for stem in terms(word, language)
    )
    if hit is None or rest.units & units:
        return False
    days = {stem for span in spans_in(rest.plain, at) for stem in terms(span.text, language)}
    single = any("single" in clause.roles for clause in rest.clauses) and _AMOUNT.search(f"{before} {after}")
    return bool(rest.weekdays - days or single)


def _find_at_end(pattern: re.Pattern[str], plain: str) -> re.Match[str] | None:
    return next((hit for hit in pattern.finditer(plain) if hit.end() == len(plain)), None)


def names_attribute(text: str, attributes: re.Pattern[str], leads: re.Pattern[str], *, capital_nouns: bool) -> bool:
    """Whether a sentence gives an attribute a number or a name: "my rent is 870", not "my rent is a joke".

    capital_nouns: whether a capital shows no name.
    """
    plain = normalize_text(text)
    hit = attributes.search(plain) if len(plain) == len(text) else None
    words = text[hit.end() :].split()[:_MAX_LEADS] if hit else []
    if not words:
        return False
    lead = next((place for place, word in enumerate(words) if not leads.fullmatch(normalize_text(word.strip(".")))), 0)
    word = words[lead]
    # "My phone is an iPhone" names one, "my boss is OK with it" does not.
    named = not capital_nouns and any(map(str.isupper, word)) and not (word.isupper() and len(word) <= _MAX_SHORT)
    return named or _VALUE.match(word) is not None


def is_pasted(text: str) -> bool:
    """Whether a text is a list or another text of many lines."""
    return text.strip().count("\n") >= _MAX_LINES


def is_script(text: str) -> bool:
    """Whether a text is a dialogue of several speakers, or a form: two lines that begin with a word and a colon."""
    return len(_LABELS.findall(text)) >= _MIN_LABELS


def is_inside_quotes(text: str, start: int) -> bool:
    """Whether a place in a text is inside a quotation that began before it."""
    before = text[:start]
    return before.count('"') % 2 == 1 or len(_OPENING.findall(before)) > len(_CLOSING.findall(before))


def find_last_day(text: str, at: datetime) -> date | None:
    """Return the last day that a sentence names by its number, if it was ahead when the sentence was said."""
    spans = [
        span
        for span in spans_in(text, at)
        if (span.last - span.first).days <= MAX_DAYS_AHEAD and _DIGIT.search(span.text) and span.first > at.date()
    ]
    return max((span.last for span in spans), default=None)
