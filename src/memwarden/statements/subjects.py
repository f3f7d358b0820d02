"""Whom a clause is about: who says it, a relation of theirs, somebody with a name, or nobody in particular."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

SELF: Final = "self"
ASSISTANT: Final = "assistant"
NEAR_SIGNS: Final = 22
"""So far from "my" the relation may stand that it means."""
BESIDE_SIGNS: Final = 16
"""So far a name and a relation may stand apart and mean the same person ("my sister Ana")."""
MAX_SIGNS: Final = 400
NAME_SIGNS: Final = 14
"""A name that stands later in a statement is seldom whom it is about ("moved to Porto"); in a question it often is."""

_WORD: Final = re.compile(r"[A-Za-zÀ-ÿœŒ]+(?:['’][A-Za-zÀ-ÿ]+)?")
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
# How far before a word the end of a sentence is looked for.
_MAX_BEFORE_NAME: Final = 12
_SENTENCE_START: Final = re.compile(r"[.!?:\n]\s*[\"'“(]*$")
_ASKS: Final = re.compile(
    r"[?？]|^\s*(?:what|where|who|when|which|how|does|did|is|has|was|wo|wer|wie|wann|qué|dónde|quién|cuándo|où|qui|quand)\b",
    re.IGNORECASE,
)
_BEFORE_PLACE: Final = re.compile(
    r"\b(?:to|in|at|from|with|of|for|by|near|into|on|via|nach|bei|mit|von|aus|zu|en|a|de|con|por|para|à|au|chez|avec|dans)"
    r"\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_GERMAN: Final = re.compile(r"\b(?:ich|der|die|das|und|ist|nicht|mit|hab|wir|ein|eine)\b")
_TITLED: Final = (
    re.compile(r"([\u30a0-\u30ff]{2,8}|[\u4e00-\u9fff]{1,3}|[A-Za-z]{2,12})(?:さん|ちゃん|くん|君|様|先生|課長|部長)"),
    re.compile(r"((?:小|老|阿)[\u4e00-\u9fff]|[\u4e00-\u9fff](?:医生|老师|总|姐|哥|叔|阿姨|经理|律师))"),
)


class SubjectWords(NamedTuple):
    """The word lists. relations: each word with the first word of its line."""

    self: frozenset[str]
    you: frozenset[str]
    third: frozenset[str]
    possessive: frozenset[str]
    relations: dict[str, str]
    large: frozenset[str]
    unspaced: tuple[tuple[str, str, str], ...]
    """Words of languages without blanks, the longest first: word, sort and key."""


class _Mention(NamedTuple):
    start: int
    shortness: int
    sort: str
    key: str


@cache
def subject_words() -> SubjectWords:
    """Return the word lists, read once."""
    read = tomllib.loads(files(__package__).joinpath("subjects.toml").read_text(encoding="utf-8"))
    lists = {name: frozenset(words.split()) for name, words in read["pronouns"].items()}
    lines = [line.split() for line in read["relations"]["lines"].strip().splitlines()]
    # Reversed, so that of two lines with the same word the first wins.
    relations = {word: line[0] for line in reversed(lines) for word in line}
    unspaced = [(word, "relation", f"relation:{first}") for word, first in relations.items() if _UNSPACED.search(word)]
    for sort in ("self", "third", "you"):
        unspaced += [(word, sort, sort) for word in lists[sort] if _UNSPACED.search(word)]
    unspaced.sort(key=lambda entry: -len(entry[0]))
    return SubjectWords(
        lists["self"],
        lists["you"],
        lists["third"],
        lists["possessive"],
        relations,
        frozenset(read["large"]["words"].split()),
        tuple(unspaced),
    )


def subjects_of(
    text: str, speaker: str | None = None, role: str | None = "user", common: Collection[str] = frozenset()
) -> tuple[str, ...]:
    """Return the keys of whom a clause is about: "self", "name:ana", "relation:sister"; sorted, empty for nobody.

    speaker: the name of who says it; "self" then stands beside that name. In an assistant's words "you" is the user.
    common: words in lower case that are nobody's name although a sentence begins with them.
    """
    text = text[:MAX_SIGNS]
    found = sorted(_mentions(text, common))
    # Chats drop the subject: "moved last week", "works fine now". The speaker is meant more often than not.
    if not found:
        return _self(speaker) if role != ASSISTANT else ()
    first = _meant(text.lower(), found)
    if first.sort == "you":
        return (SELF,) if role == ASSISTANT else ()
    if first.sort == "self":
        return _self(speaker) if role != ASSISTANT else ()
    if first.sort == "third":
        return ("third",)
    other = "name" if first.sort == "relation" else "relation"
    near = {
        mention.key
        for mention in found
        if mention.sort == other and 0 <= mention.start - first.start <= BESIDE_SIGNS - first.shortness
    }
    return tuple(sorted({first.key} | near))


def _self(speaker: str | None) -> tuple[str, ...]:
    return tuple(sorted({f"name:{speaker.casefold()}", SELF})) if speaker else (SELF,)


def _meant(low: str, found: list[_Mention]) -> _Mention:
    """The first mention, or the relation after it that a possessive points at ("my sister")."""
    first = found[0]
    # "my sister works" is about the sister, though "my" comes first.
    if first.sort in ("self", "you") and low[first.start : first.start - first.shortness] in subject_words().possessive:
        for mention in found[1:]:
            if mention.start - first.start > NEAR_SIGNS:
                break
            if mention.sort == "relation":
                return mention
    return first


def _mentions(text: str, common: Collection[str]) -> list[_Mention]:
    lists = subject_words()
    low = text.lower().replace("’", "'")
    # "What is Ana allergic to?" names her late; in "moved to Porto" the name is a place.
    asks = _ASKS.search(text) is not None
    found = [
        _Mention(start, -len(name), "name", f"name:{name}")
        for start, name in _find_names(text, common)
        if (asks or start <= NAME_SIGNS) and not (_BEFORE_PLACE.search(text[:start]) and not asks)
    ]
    for match in _WORD.finditer(low):
        word = match[0]
        bare = word.removesuffix("'s")
        if bare in lists.relations:
            found.append(_Mention(match.start(), -len(bare), "relation", f"relation:{lists.relations[bare]}"))
            continue
        for sort, words in (("self", lists.self), ("you", lists.you), ("third", lists.third)):
            if word in words:
                found.append(_Mention(match.start(), -len(word), sort, sort))
                break
    if _UNSPACED.search(text):
        found += _unspaced_mentions(text)
    return found


def _unspaced_mentions(text: str) -> list[_Mention]:
    found = [
        _Mention(text.find(word), -len(word), sort, key) for word, sort, key in subject_words().unspaced if word in text
    ]
    for pattern in _TITLED:
        found += [
            _Mention(hit.start(), -len(hit[0]), "name", f"name:{hit[1].lower()}") for hit in pattern.finditer(text)
        ]
    return found


def names_in(text: str, common: Collection[str] = frozenset()) -> list[str]:
    """Return what looks like a name, in lower case: words written large. German writes every noun large: none."""
    return [name for _, name in _find_names(text, common)]


def _find_names(text: str, common: Collection[str]) -> list[tuple[int, str]]:
    """Names with where they stand."""
    # German writes every noun large, so that a large letter says nothing of a name.
    if _GERMAN.search(text.lower()):
        return []
    lists = subject_words()
    found: list[tuple[int, str]] = []
    for match in _WORD.finditer(text):
        bare = re.sub(r"['’]s$", "", match[0])
        low = bare.lower()
        if not bare[0].isupper() or len(bare) < 2 or (bare.isupper() and len(bare) > 3):
            continue
        if low in lists.self or low in lists.you or low in lists.third or low in lists.relations or low in lists.large:
            continue
        starts = (
            match.start() == 0
            or _SENTENCE_START.search(text, max(0, match.start() - _MAX_BEFORE_NAME), match.start()) is not None
        )
        if not (starts and low in common):
            found.append((match.start(), low))
    return found


def same_subject(left: Collection[str], right: Collection[str]) -> bool:
    """Whether two clauses may be about the same: they share a key, or either names nobody."""
    return not left or not right or "third" in left or "third" in right or not set(left).isdisjoint(right)
