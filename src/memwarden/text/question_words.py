"""Question words: what kind of answer a text asks for.

This module is the only reader of question words. A chance from a model may be combined with its answers, but no other
module looks for the words.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final, NamedTuple

from memwarden.text.lexicon import either_of, languages, load_lexicon, pattern_of
from memwarden.text.sentences import split_sentences
from memwarden.text.small_talk import is_chatter, plain_text
from memwarden.text.tokenizer import GLUED_SCRIPT

_QUESTION_MARK: Final = re.compile(r"[?？؟]")
_CLAUSE_END: Final = re.compile(r"[.,;:!…\n、，；：。！—–]+")
# A sign between a statement and the question after it.
_CLAUSE_CUT: Final = re.compile(r"[,;:–—]\s+|\s[–—-]\s|[，、；]|\s(?=¿)")
# A sign inside a question that may begin a statement, or a digit.
_STATING_SIGNS: Final = r"\d|[,;:、，；：—–]"
# Characters. A longer text states something.
_MAX_ASKED: Final = 100


class AskedFor(NamedTuple):
    """What the words of a question ask for. Several can be true.

    Attributes:
        time: a time, a duration or a frequency.
        reason: a reason.
        several: several values: a list.
        past: what was true before.
        whether: yes or no.
    """

    time: bool
    reason: bool
    several: bool
    past: bool
    whether: bool


@lru_cache(maxsize=256)
def read_question_words(text: str) -> AskedFor:
    """Return what a text asks for by its question words, in any language."""
    return AskedFor(
        time=asks_time(text),
        reason=pattern_of("why").search(text) is not None,
        several=pattern_of("list").search(text) is not None,
        past=pattern_of("past").search(text) is not None,
        whether=_whether().search(text) is not None,
    )


def asks_time(text: str) -> bool:
    """Whether a text asks for a time, a duration or a frequency."""
    return pattern_of("when").search(text) is not None


def says_before(text: str) -> bool:
    """Whether a text says that something was before something else: "Where did I live before Lyon?"."""
    return pattern_of("earlier").search(text) is not None


def asks_question(text: str) -> bool:
    """Whether a text asks something, so that the turn after it may be the answer."""
    return _QUESTION_MARK.search(text) is not None


def opens_as_question(text: str) -> bool:
    """Whether a text has a question mark or begins with a question word."""
    return asks_question(text) or _opening_question().match(text) is not None


def opens_question(text: str) -> bool:
    """Whether a text begins with a question word. In a script without spaces, whether it has one."""
    if GLUED_SCRIPT.search(text):
        return pattern_of("question_words", *_unspaced()).search(text) is not None
    return _opening_question().match(text) is not None


def asks_in_a_clause(text: str) -> bool:
    """Whether a text has a question mark, or a clause that begins with a question word: "ok, how do I repot a palm"."""
    return asks_question(text) or any(opens_question(clause) for clause in _CLAUSE_END.split(text))


def only_asks(text: str) -> bool:
    """Whether a text asks for something and states nothing, for example "Where do I live?". False in doubt."""
    if len(text) > _MAX_ASKED:
        return False
    sentences = [plain_text(part) for part in split_sentences(text) if any(map(str.isalnum, part))]
    return bool(sentences) and all(_asks_alone(part) or is_chatter(part) for part in sentences)


def statement_before_question(sentence: str) -> str:
    """Return what a sentence states before the clause in which it asks, "" if it only asks.

    For example "I'm vegan" of "I'm vegan, what can I cook?". In a script without spaces the last clause asks.
    A sentence that asks whether its statement is true states nothing: "I'm vegan, am I?".
    """
    cuts = list(_CLAUSE_CUT.finditer(sentence.rstrip(" ?？!.")))
    if not cuts or sentence.lstrip().startswith("¿") or _asks_or_requests(sentence):
        return ""
    if any(_tag().fullmatch(sentence[cut.end() :].strip(" ¿?？!.").replace("’", "'")) for cut in cuts):
        return ""
    if GLUED_SCRIPT.search(sentence):
        stated = sentence[: cuts[-1].start()]
        return "" if opens_question(stated) else stated
    asking = (cut for cut in cuts if _asks_or_requests(sentence[cut.end() :]))
    first = next(asking, None)
    return sentence[: first.start()] if first is not None else ""


def _asks_or_requests(text: str) -> bool:
    """Whether a text in a script with spaces begins as a question or a request."""
    return not GLUED_SCRIPT.search(text) and _opening_request().match(text) is not None


def asks_for_questions(text: str) -> bool:
    """Whether a text asks for earlier questions, for example "What did I ask you yesterday?"."""
    return asks_question(text) and pattern_of("of_asking").search(text) is not None


def _asks_alone(sentence: str) -> bool:
    bare = sentence.rstrip()
    if GLUED_SCRIPT.search(bare):
        asks_in_glued = pattern_of("question_words", *_unspaced()).search(bare) is not None
        return bare.endswith("?") and asks_in_glued and not _states().search(bare)
    asks = _opening_question().match(bare)
    return bare.endswith("?") and asks is not None and not _states().search(bare, asks.end())


@cache
def _unspaced() -> tuple[str, ...]:
    return tuple(code for code in languages() if not load_lexicon(code).spaced)


def _either_in_spaced(role: str) -> str:
    chosen = (load_lexicon(code) for code in languages() if code not in _unspaced())
    return "|".join(part for lexicon in chosen if (part := lexicon.alternatives(role)))


@cache
def _opening_question() -> re.Pattern[str]:
    """Return the expression for a question word at the beginning, after words such as "and" or "do you remember"."""
    leads, words = _either_in_spaced("question_leads"), _either_in_spaced("question_words")
    return re.compile(rf"^[¿¡\s]*+(?:(?:{leads})[\s,:]++){{0,4}}[¿¡]?(?:{words})(?!\w)", re.IGNORECASE)


@cache
def _opening_request() -> re.Pattern[str]:
    """Return the expression for a question word or the words of a request at the beginning, after "so" or "and"."""
    leads, words = _either_in_spaced("question_leads"), _either_in_spaced("question_words")
    openers = _either_in_spaced("request_openers")
    return re.compile(rf"^\s*+(?:(?:{leads})[\s,:]++){{0,4}}(?:¿|(?:{words}|{openers})(?!\w))", re.IGNORECASE)


@cache
def _tag() -> re.Pattern[str]:
    """Return the expression for a clause that asks whether the statement before it is true."""
    parts = (load_lexicon(code).alternatives("tags") for code in languages())
    return re.compile("|".join(filter(None, parts)), re.IGNORECASE)


@cache
def _states() -> re.Pattern[str]:
    return re.compile(f"{_STATING_SIGNS}|{either_of(['clause_openers'])}", re.IGNORECASE)


@cache
def _whether() -> re.Pattern[str]:
    """Return the expression for a question of yes or no; "any" and "what" make it an open one."""
    anywhere = "|".join(load_lexicon(code).alternatives("whether") for code in _unspaced())
    anywhere = "|".join(part for part in anywhere.split("|") if part)
    opening = either_of(["open_question"])
    return re.compile(rf"^\W*(?:{_either_in_spaced('whether')})(?!\w)(?!.*(?:{opening}))|{anywhere}", re.IGNORECASE)
