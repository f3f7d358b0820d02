"""Decides by rules whether a tool's result is saved as state, and under which key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from memwarden.agent.state import words_of
from memwarden.remember.ingest.redaction import redact_value
from memwarden.text.language import normalize_text
from memwarden.text.tokenizer import fold


class SaveDecision(NamedTuple):
    """A decision to save or not, with its key and reason."""

    save: bool
    key: str
    reason: str


_OBJECT = re.compile(
    r"\b(?:save|remember|store|keep|memori[sz]e|note(?: down)?)\s+(?:the |my |their |all |a |an |our )*"
    r"(?P<what>[\w' -]{3,60}?)(?=\s+(?:to|in|into|for|as|so|and|under|from|that|which)\b|[,.;!?]|$)",
    re.IGNORECASE,
)
_POINTING = frozenset("this that these those it them him her me us everything all result results".split())
_NOT_WORDS = re.compile(r"[\W_]+")
_EMPTY: tuple[Any, ...] = (None, "", (), [], {})
_MIN_KEY, _MAX_KEY = 3, 60
_MARK = re.compile(r"\[redacted:[a-z0-9-]+\]")
# "The password of the wifi is" says nothing without the password.
_MAX_LABEL_WORDS = 6
# Depth to which a result's keys are read. Deeper keys are details.
_MAX_DEPTH = 3


def decide_saving(tool: str, result: Any, goal: str) -> SaveDecision:
    """Decide about a result of a tool, given the goal that the tool was called for."""
    if _is_nothing(result):
        return SaveDecision(False, "", "the result is empty or an error")
    tool_words = words_of(tool)
    words, goal_text = plain_words(tool_words), plain_words(goal)
    keys = [plain_words(words_of(key)) for key in _keys(result, _MAX_DEPTH)]
    if _has("secret", words) or any(_has("secret", key) for key in keys):
        return SaveDecision(False, "", "it may be a secret")
    if _has("not_keep", goal_text):
        return SaveDecision(False, "", "the goal asks not to keep it")
    if _has("keep", _patterns()["other_sense"].sub(" ", goal_text)):
        return SaveDecision(True, _key_of(goal, tool_words.lower().split()), "the goal asks to keep it")
    ground = None if _has("this_moment", goal_text) else _lasts(words, goal_text, result, keys)
    if ground:
        return SaveDecision(
            True, _join_key(_without_verbs(tool_words.lower().split())), f"{ground} are of use in other sessions"
        )
    return SaveDecision(False, "", "it serves this goal only")


def is_only_secret(tool: str, result: Any) -> bool:
    """Whether a result holds nothing but a secret, judged by the rest of its text or by the tool's name."""
    if isinstance(result, str | int) and _has("secret", plain_words(words_of(tool))):
        return True
    texts = list(_leaves(redact_value(result)[0], _MAX_DEPTH))
    remainders = [_MARK.sub(" ", text).split() for text in texts]
    return any(map(_MARK.search, texts)) and all(
        not words or (_MARK.search(text) and len(words) <= _MAX_LABEL_WORDS)
        for text, words in zip(texts, remainders, strict=True)
    )


def _leaves(value: Any, depth: int) -> Iterator[str]:
    """Yield the values in a result as texts."""
    if isinstance(value, Mapping | list | tuple) and depth:
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(item, depth - 1)
    elif value not in (None, "", True, False):
        yield str(value)


def _lasts(words: str, goal: str, result: Any, keys: Sequence[str]) -> str | None:
    """Return what shows that a result lasts: a word of the tool, of the result's keys, or of the goal, or None."""
    if not isinstance(result, Mapping | list | tuple) or all(_has("report_keys", key) for key in keys or ["?"]):
        return None
    if not _has("passing", words) and (match := _patterns()["lasting"].search(words)):
        return match[0]
    if match := next(filter(None, map(_patterns()["lasting_keys"].search, keys)), None):
        return match[0]
    return "habits" if _has("as_a_rule", goal) and not _has("passing", words) else None


def _is_nothing(result: Any) -> bool:
    if any(result == item and type(result) is type(item) for item in _EMPTY):
        return True
    if not isinstance(result, Mapping):
        return False
    has_failed = result.get("success") is False or any(bool(value) for key, value in result.items() if _is_failure(key))
    payload = [
        value for key, value in result.items() if key not in ("success", "count", "error", "year", "page", "total")
    ]
    return has_failed or _is_http_error(result) or all(_is_empty(value) for value in payload)


def _is_failure(key: Any) -> bool:
    return _has("failure", plain_words(words_of(str(key))))


def _is_http_error(result: Mapping[Any, Any]) -> bool:
    codes = [result.get(key) for key in ("status", "code", "status_code", "statusCode")]
    return any(isinstance(code, int) and 400 <= code <= 599 for code in codes)


def _is_empty(value: Any) -> bool:
    return any(value == item for item in _EMPTY if type(value) is type(item))


def _keys(value: Any, depth: int) -> Iterator[str]:
    """Yield the keys of a result and of the values in it."""
    if isinstance(value, Mapping) and depth:
        for key, item in value.items():
            yield str(key)
            yield from _keys(item, depth - 1)
    elif isinstance(value, list | tuple) and depth:
        for entry in value:
            yield from _keys(entry, depth - 1)


def _has(name: str, text: str) -> bool:
    return _patterns()[name].search(text) is not None


def plain_words(text: str) -> str:
    """Return a text in lower case without accents, its words separated by single spaces."""
    return _NOT_WORDS.sub(" ", fold(normalize_text(text))).strip()


@cache
def _lists() -> dict[str, Any]:
    """Return the lists of the file: words and verbs as text, patterns as a list."""
    return tomllib.loads(Path(__file__).with_name("saving.toml").read_text(encoding="utf-8"))


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        name: _compile(words) if isinstance(words, str) else re.compile("|".join(words))
        for name, words in _lists().items()
    }


def _compile(words: str) -> re.Pattern[str]:
    """Return the pattern of a list of words, beginnings ("exam*"), endings ("*plan") and phrases ("on_call")."""
    entries = (re.escape(word).replace(r"\*", r"\w*").replace("_", " ").strip() for word in words.split())
    return re.compile(rf"\b(?:{'|'.join(sorted(set(entries), key=len, reverse=True))})\b")


def _key_of(goal: str, words: Sequence[str]) -> str:
    match = _OBJECT.search(goal)
    object_words = [word for word in words_of(match["what"]).lower().split() if word not in _POINTING] if match else []
    return _join_key(object_words) if len(_join_key(object_words)) >= _MIN_KEY else _join_key(_without_verbs(words))


def _without_verbs(words: Sequence[str]) -> list[str]:
    verbs = _lists()["verbs"].split()
    return [word for word in words if word not in verbs] or list(words)


def _join_key(words: Sequence[str]) -> str:
    return "_".join(re.sub(r"\W", "", word) for word in words)[:_MAX_KEY].strip("_")
