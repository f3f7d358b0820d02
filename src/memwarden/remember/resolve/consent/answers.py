"""Whether a person said yes or no to a change that the assistant had named. Plain rules, no model, no I/O.

Consent is not guessed. The assistant has to ask a single question, the last thing that it says, which asks whether to
keep exactly this value for exactly this field (``answers.toml`` lists the wordings), and the person has to answer with
nothing but a yes or a no. Everything else is no answer, and the proposal goes on waiting.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from memwarden.remember.resolve.consent.user_context import GOALS_REMOVE, ContextEdit

_NOT_WORDS: Final = re.compile(r"[^\w\s'{}/+-]")
# A value in quotation marks is compared without them.
_QUOTES: Final = re.compile(r"[\"“”„«»‚‘「」『』]")
_VALUE: Final = "{v}"
# Whoever says more than a yes or a no says something else, too.
_MAX_ANSWER_WORDS: Final = 60


@dataclass(frozen=True, slots=True)
class _AnswerWords:
    """The words of a language for questions and answers.

    Attributes:
        spaced: whether words stand apart. yes, no: whole answers. keep: words that ask to keep something. veto: words
            that make a question mean something else. after: what may follow the wording. fields: wordings by field.
    """

    spaced: bool
    yes: frozenset[str]
    no: frozenset[str]
    keep: tuple[str, ...]
    veto: tuple[str, ...]
    after: tuple[str, ...]
    fields: dict[str, tuple[str, ...]]


@cache
def _languages() -> tuple[_AnswerWords, ...]:
    raw = tomllib.loads(Path(__file__).with_name("answers.toml").read_text(encoding="utf-8"))
    return tuple(
        _AnswerWords(
            spaced=item["spaced"],
            yes=frozenset(item["yes"]),
            no=frozenset(item["no"]),
            keep=tuple(item["keep"]),
            veto=tuple(item["veto"]),
            after=tuple(item["after"]),
            fields={name: tuple(wordings) for name, wordings in item["fields"].items()},
        )
        for item in raw.values()
    )


def read_answer(assistant_asked: str, answer: str, proposal: ContextEdit) -> bool | None:
    """Whether an answer approves (True) or declines (False) a proposed change; None when that is not plain.

    Args:
        assistant_asked: the assistant's whole turn, right before the answer. answer: the person's whole turn.
    """
    said = _yes_or_no(answer)
    if said is None or proposal.value is None or proposal.field == GOALS_REMOVE:
        return None
    question = _only_question(assistant_asked)
    named = question is not None and any(_names(question, proposal, language) for language in _languages())
    return said if named else None


def _yes_or_no(answer: str) -> bool | None:
    if len(answer) > _MAX_ANSWER_WORDS or "?" in _fold(answer):
        return None
    words = _plain(answer)
    if any(words in language.yes for language in _languages()):
        return True
    return False if any(words in language.no for language in _languages()) else None


def _only_question(text: str) -> str | None:
    """Return a text's only question, if it is the last thing that it says."""
    text = re.sub(r"か。\s*$", "か?", _fold(text).strip())
    if not text.endswith("?") or text.count("?") != 1:
        return None
    return re.split(r"[.!。\n](?=\s|$)|。", text[:-1].strip())[-1]


def _names(question: str, proposal: ContextEdit, language: _AnswerWords) -> bool:
    """Whether a question asks, in a given language, to keep a proposal's value for its field."""
    value = _fold(proposal.value or "")
    question = _QUOTES.sub("", question)
    edge = (r"(?<!\w)", r"(?!\w)") if language.spaced else ("", "")
    places = list(re.finditer(edge[0] + re.escape(_QUOTES.sub("", value)) + edge[1], question))
    if len(places) != 1:
        return False
    start, end = places[0].span()
    around = f"{question[:start]} . {question[end:]}"  # its own words are no words of the question
    if not _has_words(around, language.keep, language) or _has_words(around, language.veto, language):
        return False
    asked = _plain(f"{question[:start]}{_VALUE}{question[end:]}")
    return any(_is_worded(asked, wording, language) for wording in language.fields[proposal.field])


def _is_worded(asked: str, wording: str, language: _AnswerWords) -> bool:
    """Whether a wording stands in a question, with nothing around it that makes the value a part of another."""
    at = asked.find(wording)
    if at < 0:
        return False
    before, after = asked[:at], asked[at + len(wording) :]
    if not language.spaced:
        free = not wording.startswith(_VALUE) or not before or before[-1] in " はがを、"
        return free and (not after or after.startswith((" ", *language.after)))
    if (before and not before.endswith(" ")) or (after and not after.startswith(" ")):
        return False
    if wording.startswith(_VALUE) and before.split() and before.split()[-1] not in (*language.keep, *language.after):
        return False
    return not after.strip() or after.split()[0] in language.after


def _has_words(text: str, words: tuple[str, ...], language: _AnswerWords) -> bool:
    if not language.spaced:
        return any(word in text for word in words)
    return not set(_plain(text).split()).isdisjoint(words)


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().replace("’", "'")


def _plain(text: str) -> str:
    """Return the words alone, joined by single blanks."""
    return " ".join(_NOT_WORDS.sub(" ", _fold(text)).split())
