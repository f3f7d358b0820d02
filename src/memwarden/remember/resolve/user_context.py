"""The fields of a user context, and whether a person said yes or no to a change of it. No I/O.

Consent is not guessed. The assistant has to ask a single question, the last thing that it says, which asks whether to
keep exactly this value for exactly this field (``answers.toml`` lists the wordings), and the person has to answer with
nothing but a yes or a no. Everything else is no answer, and the proposal goes on waiting.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from memwarden.checks import quote
from memwarden.errors import InvalidInput
from memwarden.records import Memory, UserContext
from memwarden.remember.ingest.messages import normalize_line
from memwarden.text.sentences import split_sentences

# The id of the memory that holds the user context of a namespace.
CONTEXT_ID = "user-context"
# An agent needs this category on its allowlist to see anything of the context.
CATEGORY = "profile"

# Who somebody is: a wrong value would be repeated to them in every answer.
CONSENT_FIELDS = ("preferred_name", "pronouns", "city", "language")
TONE, GOALS_ADD, GOALS_REMOVE = "tone", "goals_add", "goals_remove"
# The fields that hold a single value, or None.
VALUES = (*CONSENT_FIELDS, TONE)
EDITABLE = (*VALUES, GOALS_ADD, GOALS_REMOVE)
# A value is a name or a goal. A text would be room for orders in every prompt.
MAX_VALUE_CHARACTERS = 200
# The context stands in every prompt, so it stays short.
MAX_GOALS = 20


@dataclass(frozen=True, slots=True)
class ContextEdit:
    """A change of a user context: a field and its new value, or a goal that comes or goes."""

    field: str
    value: str | None


def read_patch(patch: Any) -> tuple[ContextEdit, ...]:
    """Turn a caller's patch into changes. Raises InvalidInput that names the field and what is wrong with it.

    A mapping of field to value; None empties a field; ``goals_add`` and ``goals_remove`` take a text or a list.
    """
    if not isinstance(patch, Mapping) or not patch:
        raise InvalidInput(f"patch is a mapping such as {{'city': 'Lisbon'}}, not {quote(patch)}")
    edits: list[ContextEdit] = []
    for field, value in patch.items():
        if field not in EDITABLE:
            raise InvalidInput(f"a user context has {', '.join(EDITABLE)}, not {quote(field)}")
        if field in VALUES:
            edits.append(ContextEdit(field, None if value is None else _check_value(value, field)))
            continue
        goals = value if isinstance(value, Sequence) and not isinstance(value, str | bytes) else [value]
        if not goals:
            raise InvalidInput(f"{field} is an empty list; name a goal or leave it out")
        edits += [ContextEdit(field, _check_value(goal, field)) for goal in goals]
    return tuple(dict.fromkeys(edits))


def _check_value(value: Any, field: str) -> str:
    line = normalize_line(value)
    if line is None or not line.strip() or len(line) > MAX_VALUE_CHARACTERS:
        raise InvalidInput(
            f"{field} is a single line of 1 to {MAX_VALUE_CHARACTERS} printable characters, not {quote(value)}"
        )
    return " ".join(line.split())


def is_same(edit: ContextEdit, two: ContextEdit) -> bool:
    """Whether two edits are the same.

    Stricter than for memories: the same words, and for what needs consent the same letters. Likeness never counts.
    """
    if edit.field != two.field or edit.value is None or two.value is None or edit.field in CONSENT_FIELDS:
        return edit == two
    return _fold(edit.value) == _fold(two.value)


def _fold(value: str) -> str:
    return unicodedata.normalize("NFKC", value).casefold()


def apply_edit(context: UserContext, edit: ContextEdit) -> UserContext:
    """Return the context after an edit; an equal context when the edit changes nothing."""
    if edit.field in VALUES:
        held = ContextEdit(edit.field, getattr(context, edit.field))
        value: dict[str, Any] = {edit.field: edit.value}
        return context if is_same(held, edit) else replace(context, **value)
    known = [goal for goal in context.goals if is_same(ContextEdit(edit.field, goal), edit)]
    if edit.field == GOALS_ADD:
        return context if known or edit.value is None else replace(context, goals=(*context.goals, edit.value))
    return replace(context, goals=tuple(goal for goal in context.goals if goal not in known))


def apply_decision(context: UserContext, edit: ContextEdit) -> UserContext:
    """The context after a change that the person decided on."""
    field = edit.field if edit.field in VALUES else "goals"
    return replace(apply_edit(context, edit), decided=tuple(sorted({*context.decided, field})))


def is_empty(context: UserContext) -> bool:
    """Whether a context says nothing."""
    return not context.goals and all(getattr(context, field) is None for field in VALUES)


def context_text(context: UserContext) -> str:
    """Return the context as a prompt shows it, on a single line."""
    parts = [f"{_label(field)}: {getattr(context, field)}" for field in VALUES if getattr(context, field) is not None]
    return ". ".join([*parts, *(["Goals: " + "; ".join(context.goals)] if context.goals else [])]) + "."


def _label(field: str) -> str:
    return field.replace("_", " ").capitalize()


def context_payload(context: UserContext) -> dict[str, Any]:
    """The context as its memory holds it."""
    values: dict[str, Any] = {field: getattr(context, field) for field in VALUES}
    return values | {"goals": list(context.goals), "decided": list(context.decided)}


def read_context(memory: Memory | None) -> UserContext:
    """Return the context that a memory holds; an empty context for None."""
    if memory is None:
        return UserContext()
    held = memory.payload or {}
    values: dict[str, Any] = {field: held.get(field) for field in VALUES}
    values |= {name: tuple(held.get(name, ())) for name in ("goals", "decided")}
    return UserContext(**values, version=memory.version, updated_at=memory.updated_at)


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
    if len(answer) > _MAX_ANSWER_WORDS or "?" in _answers_fold(answer):
        return None
    words = _plain(answer)
    if any(words in language.yes for language in _languages()):
        return True
    return False if any(words in language.no for language in _languages()) else None


def _only_question(text: str) -> str | None:
    """Return a text's only question, if it is the last thing that it says."""
    text = re.sub(r"か。\s*$", "か?", _answers_fold(text).strip())
    if not text.endswith("?") or text.count("?") != 1:
        return None
    return split_sentences(text, small_starts=True)[-1][:-1]


def _names(question: str, proposal: ContextEdit, language: _AnswerWords) -> bool:
    """Whether a question asks, in a given language, to keep a proposal's value for its field."""
    value = _answers_fold(proposal.value or "")
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


def _answers_fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().replace("’", "'")


def _plain(text: str) -> str:
    """Return the words alone, joined by single blanks."""
    return " ".join(_NOT_WORDS.sub(" ", _answers_fold(text)).split())
