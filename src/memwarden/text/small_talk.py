"""Small talk: greetings, thanks, praise and acknowledgements, which answer nothing."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from memwarden.text.language import DEFAULT_LANGUAGE, normalize_text
from memwarden.text.lexicon import all_words, languages, load_lexicon, pattern_of, plain_pattern_of, words_by_language
from memwarden.text.negation import denies
from memwarden.text.sentences import split_sentences
from memwarden.text.tokenizer import GLUED_SCRIPT, terms

# Roles whose single words have no content.
WORD_ROLES: Final = ("greetings", "farewells", "thanks", "small_talk")
# A term of a text that denies something: "You eat meat" does not repeat "I don't eat meat".
DENIAL: Final = "not"
# Characters. Longer texts have content.
_SHORT: Final = 120
_DRAWN_OUT: Final = re.compile(r"(\w)\1{2,}")
_ANY_WORD: Final = re.compile(r"\w+")
_CLAUSE_END: Final = re.compile(r"[\s.,!?~…。、・！？，～]+")


class _Acknowledgements(NamedTuple):
    spaced: re.Pattern[str]
    glued: re.Pattern[str]


def content_terms(text: str, default: str = DEFAULT_LANGUAGE) -> list[str]:
    """Return the terms of a text that are not small talk."""
    if len(text) > _SHORT:
        return terms(text, default)
    plain = plain_text(text)
    content = _content_terms(plain, default)
    # A letter is drawn out from one ("hiiii") or from two ("cooool").
    once = _ANY_WORD.sub(_shorten_word, text)
    return content if not content or once == text else _content_terms(plain_text(once), default) and content


def _shorten_word(word: re.Match[str]) -> str:
    """Return a word without drawn-out letters. Capitals ("AAA") and a single letter ("ooo") are a name."""
    once = _DRAWN_OUT.sub(lambda run: run[1] if run[1].islower() else run[0], word[0])
    return once if len(once) > 1 else word[0]


def _content_terms(plain: str, default: str) -> list[str]:
    rest = plain_pattern_of("pleasantries").sub(" ", _acknowledgements().spaced.sub(" ", plain))
    return [term for term in terms(rest, default) if term not in _chatter_terms()]


def is_chatter(text: str) -> bool:
    """Whether a text is only greeting, thanks, praise or acknowledgement: context, never an answer."""
    if len(text) > _SHORT:
        return False
    turns = all_words("small_talk_turns")
    content = content_terms(text)
    if not content or _only_praises(text, content) or "".join(filter(str.isalnum, text)) in turns:
        return True
    if GLUED_SCRIPT.search(text) is None:
        return False
    clauses = [clause for clause in _CLAUSE_END.split(plain_text(text)) if clause]
    return all(clause in turns or _acknowledgements().glued.fullmatch(clause) for clause in clauses)


def _only_praises(text: str, content: list[str]) -> bool:
    """Whether a text thanks, and has no content beside praise: "Clever. Thank you!"."""
    thanks = _terms_of("thanks")
    if "?" in text or "？" in text or thanks.isdisjoint((*_ANY_WORD.findall(plain_text(text)), *content)):
        return False
    return (_terms_of("praise") | thanks).issuperset(content)


def words_of_answer(text: str) -> frozenset[str]:
    """Return the terms of an assistant's text that may be news.

    Sentences of small talk are left out, as are sentences that only promise to remember.
    """
    words: set[str] = set()
    for sentence in split_sentences(text):
        if not is_chatter(sentence) and not says_it_keeps(sentence):
            words |= set(content_terms(sentence)) - _address_terms()
            words |= {DENIAL} if denies(sentence) else set()
    return frozenset(words)


def says_it_keeps(sentence: str) -> bool:
    """Whether an assistant promises to remember something that another person said."""
    return len(sentence) <= _SHORT and pattern_of("keeps").search(plain_text(sentence)) is not None


def plain_text(text: str) -> str:
    """Return a text normalised, without letters that are drawn out: "sooooo" becomes "soo"."""
    return _DRAWN_OUT.sub(r"\1\1", normalize_text(text).replace("’", "'"))


@cache
def _terms_of(role: str) -> frozenset[str]:
    """The words of a role, and their stems in their languages and in the default one."""
    listed = words_by_language(role)
    words = {word for some in listed.values() for word in some}
    stems = {
        term
        for code, some in listed.items()
        for word in some
        for each in (code, DEFAULT_LANGUAGE)
        for term in terms(word, each)
    }
    return frozenset(words | stems)


@cache
def _chatter_terms() -> frozenset[str]:
    words = frozenset(word for role in WORD_ROLES for word in all_words(role))
    return frozenset(term for word in words for term in terms(word)) | words


@cache
def _address_terms() -> frozenset[str]:
    by_language = words_by_language("address").items()
    return frozenset(term for code, words in by_language for word in words for term in terms(word, code))


@cache
def _acknowledgements() -> _Acknowledgements:
    spaced, glued = (
        tuple(code for code in languages() if load_lexicon(code).spaced is apart) for apart in (True, False)
    )
    said = plain_pattern_of("acknowledgements", *glued).pattern
    turns = "|".join(sorted(filter(GLUED_SCRIPT.search, all_words("small_talk_turns")), key=len, reverse=True))
    return _Acknowledgements(
        plain_pattern_of("acknowledgements", *spaced), re.compile(rf"(?:{said}|{turns})+", re.IGNORECASE)
    )
