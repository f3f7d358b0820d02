"""Checks statements before they are stored, and reads those that a model's answer lists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from memwarden.errors import InvalidInput
from memwarden.models.json_answers import json_values
from memwarden.models.reasoning import strip_reasoning
from memwarden.records import Kind
from memwarden.remember.extract.records import MAX_STATEMENT_CHARACTERS
from memwarden.remember.extract.rules import PRONOUNS
from memwarden.remember.ingest.messages import checked_name
from memwarden.text.language import checked_text, is_english, is_latin, read_evidence
from memwarden.text.sentences import split_sentences

_FENCE = re.compile(r"```(?:json)?(.*?)```", re.DOTALL | re.IGNORECASE)
# The most memories that are taken from an answer.
MAX_PROPOSALS = 50


@dataclass(frozen=True, slots=True)
class ProposedMemory:
    """A memory that a model proposes. ``importance`` is 0..1; the answer has 1..10."""

    text: str
    summary: str | None = None
    kind: str | None = None
    importance: float = 0.5
    tags: tuple[str, ...] = ()


def read_response(response: str, max_bytes: int) -> tuple[ProposedMemory, ...]:
    """Read the memories that a model's answer lists.

    The answer is JSON, bare, in a code fence or with words around it: a list, or an object with a list under
    ``memories``; each element a text or an object with ``content`` (or ``text``), and maybe ``summary``, ``type``,
    ``importance`` (1..10) and ``tags``. Fields that make no sense are ignored, single tags too; elements without
    content are left out. Of several such lists the first that has a memory counts, a list in a code fence before
    others.

    Raises InvalidInput when there is no such JSON in it.
    """
    empty, response = False, strip_reasoning(response)
    for text in (*(fence[1] for fence in _FENCE.finditer(response)), response):
        for found in json_values(text):
            listed = found.get("memories") if isinstance(found, Mapping) else found
            if isinstance(listed, list):
                read = tuple(
                    item for element in listed[:MAX_PROPOSALS] if (item := _read_memory(element, max_bytes)) is not None
                )
                if read:
                    return read
                # A footnote mark such as [1] is no list of memories.
                empty |= listed is not found or not listed or any(isinstance(item, Mapping | str) for item in listed)
    if empty:
        return ()
    raise InvalidInput('the response holds no list of memories; expected JSON like [{"content": "..."}]')


def _read_memory(element: Any, max_bytes: int) -> ProposedMemory | None:
    if isinstance(element, str):
        element = {"content": element}
    if not isinstance(element, Mapping):
        return None
    text = element.get("content") or element.get("text")
    if not isinstance(text, str) or not text.strip():
        return None
    kind, level, tags = str(element.get("type", "")).lower(), element.get("importance"), element.get("tags")
    return ProposedMemory(
        text=text.strip(),
        summary=_read_summary(element.get("summary"), max_bytes),
        kind=kind if kind in set(Kind) else None,
        importance=_read_share(level),
        tags=tuple(dict.fromkeys(name for tag in tags if (name := _read_tag(tag)))) if isinstance(tags, list) else (),
    )


def _read_summary(given: Any, max_bytes: int) -> str | None:
    try:
        return checked_text(given, "summary", max_bytes).strip()
    except InvalidInput:
        return None


def _read_tag(given: Any) -> str | None:
    try:
        return checked_name(given, "tag")
    except InvalidInput:
        return None


def _read_share(level: Any) -> float:
    """Scale 1..10 to 0..1; the middle for what is no number."""
    if isinstance(level, bool) or not isinstance(level, int | float) or level != level:
        return 0.5
    return min(10, max(1, level)) / 10


_SPACE: Final = re.compile(r"\s+")
_PRONOUN: Final = re.compile(rf"(?<![\w'.&-])(?:{PRONOUNS})(?![\w&-]|\.\w)(?!')", re.IGNORECASE)
# Words for days that are wrong as soon as the day is over: what is stored names calendar days.
_RELATIVE_DAY: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|(?:last|next) (?:night|week|weekend|month|year|summer|winter|spring|"
    r"fall|autumn)|"
    r"(?:days?|weeks?|months?|years?) ago)\b",
    re.IGNORECASE,
)
# A tone is not a fact: "wow, so much fun" would stand in prompts for months.
EXCITED_WORDS: Final = re.compile(
    r"!|\b(?:so+ much fun|omg|lol|haha|wow|yay|ugh|damn|hell|shit|fuck\w*|stupid|freaking|freakin|super|awesome)\b",
    re.IGNORECASE,
)
_OPENING_QUOTE: Final = re.compile(r"(?<!\w)'(?=\w)")
# Not after an s before a letter, and not inside of a word: those are apostrophes.
_CLOSING_QUOTE: Final = re.compile(r"(?<=[\w.!?])(?<!s)'(?!\w)|(?<=s)'(?=[\s,]|$)")


def tidy_sentence(text: str) -> str:
    """Return a statement with single spaces, a capital at its beginning and a full stop at its end."""
    text = _drop_odd_quotes(_SPACE.sub(" ", text)).strip(" \t,;:-–—.!?")
    text = re.sub(r"\s+([,.;:])", r"\1", re.sub(r",(?:\s*,)+", ",", text))
    text = re.sub(r"[,.!?;:]+([\"']?)$", r"\1", text)
    return text[:1].upper() + text[1:] + "." if text else ""


def _drop_odd_quotes(text: str) -> str:
    """Drop quotation marks that open nothing or close nothing."""
    if text.count('"') % 2:
        text = text.replace('"', "")
    opened, closed = len(_OPENING_QUOTE.findall(text)), len(_CLOSING_QUOTE.findall(text))
    return text if opened == closed else _CLOSING_QUOTE.sub("", _OPENING_QUOTE.sub("", text))


# These may stand for what the same statement names before them; "I" and "you" stand for somebody outside of it.
_THIRD_PERSON: Final = frozenset(
    "he she it they him her hers them his its their theirs himself herself itself themselves".split()
)
# "She is allergic": so near the beginning nothing was named yet.
_WORDS_OF_A_NAME: Final = 2


def find_faults(text: str, *, refers_back: bool = False) -> tuple[str, ...]:
    """Return why a statement may not be stored; empty if it may.

    English is checked in full; of other languages only length and emptiness. refers_back: "he" and the like may stand
    after the name that they stand for, as a model writes: "Ana cooks and her shift ends at three."
    """
    found = []
    if not any(map(str.isalnum, text)):
        found.append("empty after normalization")
    if len(text) > MAX_STATEMENT_CHARACTERS:
        found.append(f"longer than {MAX_STATEMENT_CHARACTERS} characters")
    if not is_english(text):
        return tuple(found)
    if hit := next((hit for hit in _PRONOUN.finditer(text) if not (refers_back and _refers_back(text, hit))), None):
        found.append(f"not self-contained: {hit[0]!r}")
    if hit := _RELATIVE_DAY.search(text):
        found.append(f"a day that is told from another day: {hit[0]!r}")
    if _count_sentences(text) > 2:
        found.append("more than two sentences")
    if "?" in text:
        found.append("a question")
    if hit := EXCITED_WORDS.search(text):
        found.append(f"not neutral: {hit[0]!r}")
    return tuple(found)


def _refers_back(text: str, pronoun: re.Match[str]) -> bool:
    return pronoun[0].lower() in _THIRD_PERSON and len(text[: pronoun.start()].split()) >= _WORDS_OF_A_NAME


def _count_sentences(text: str) -> int:
    return len(split_sentences(text)) or 1


def is_foreign(fact: str, said: str) -> bool:
    """Whether a fact is plainly in another language or script than its source.

    What is too short to tell is not foreign.
    """
    if is_latin(fact) != is_latin(said):
        return True
    known, told = read_evidence(said).known(), read_evidence(fact).known()
    return bool(known and told) and known != told
