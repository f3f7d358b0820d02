"""Whether the result of a tool is worth keeping as state, decided by rules (A4 without a model).

What serves only the goal at hand is not kept: the policy of design A is "only if useful across multiple sessions
(preferences, people lists, patterns); don't save single-query data". So there are two grounds: the goal asks for it to
be kept, or the tool's name says that it returns something lasting about people.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memwarden.chat.state import words_of


class Verdict(NamedTuple):
    """Whether to save, under which key, and why."""

    save: bool
    key: str
    reason: str


_KEEP = re.compile(
    r"\b(?:save|remember|store|keep|memori[sz]e|note(?: down)?|speicher\w*|merk\w*|behalt\w*|guarda\w*|recuerda\w*|"
    r"enregistre\w*|retiens|mémorise\w*)\b|保存|覚え|记住|記住",
    re.IGNORECASE,
)
_NOT_KEEP = re.compile(
    r"\b(?:do(?: not|n't)|never|without|no need to|nicht|pas|no)\s+(?:\w+\s+)?"
    r"(?:sav|rememb|stor|keep|memori|note|speicher|merk)\w*"
    r"|\b(?:remember(?:ed)?|saved|stored|kept)\s+(?:list|people|items?|ones?|state|data)\b",
    re.IGNORECASE,
)
_OBJECT = re.compile(
    r"\b(?:save|remember|store|keep|memori[sz]e|note(?: down)?)\s+(?:the |my |their |all |a |an |our )*"
    r"(?P<what>[\w' -]{3,60}?)(?=\s+(?:to|in|into|for|as|so|and|under|from|that|which)\b|[,.;!?]|$)",
    re.IGNORECASE,
)
_LASTING = frozenset(
    "profile preference preferences setting settings contact contacts friend friends people person member members team "
    "teams family follower followers favorite favorites favourite favourites habit habits routine routines pattern "
    "patterns allergy allergies diet address addresses birthday birthdays subscription subscriptions goal goals skill "
    "skills device devices".split()
)
_PASSING = frozenset(
    "search find lookup query weather forecast price prices stock quote status time date today now calculate compute "
    "convert translate summarize summarise count random convert validate check ping log logs send delete remove update "
    "create post book order pay upload download error".split()
)
_POINTING = frozenset("this that these those it them him her me us everything all result results".split())
_VERBS = frozenset("get fetch list read load show retrieve describe find query lookup".split())
_EMPTY: tuple[Any, ...] = (None, "", (), [], {})
_SHORTEST, _LONGEST = 3, 60


def worth_saving(tool: str, result: Any, goal: str) -> Verdict:
    """Decide about one result of a tool, given the goal that it was called for. Pure."""
    if _is_nothing(result):
        return Verdict(False, "", "the result is empty or an error")
    words = words_of(tool).lower().split()
    if _KEEP.search(goal) and not _NOT_KEEP.search(goal):
        return Verdict(True, _key_of(goal, words), "the goal asks to keep it")
    lasting = [one for one in words if one in _LASTING]
    if lasting and not _PASSING.intersection(words) and isinstance(result, Mapping | Sequence):
        return Verdict(True, _joined(_named(words)), f"{' '.join(lasting)}: useful in later sessions")
    return Verdict(False, "", "it serves this goal only")


def _is_nothing(result: Any) -> bool:
    if any(result == one and type(result) is type(one) for one in _EMPTY):
        return True
    if not isinstance(result, Mapping):
        return False
    failed = result.get("success") is False or bool(result.get("error"))
    told = [value for key, value in result.items() if key not in ("success", "count", "error")]
    return failed or all(any(value == one for one in _EMPTY if type(value) is type(one)) for value in told)


def _key_of(goal: str, words: Sequence[str]) -> str:
    found = _OBJECT.search(goal)
    said = [one for one in words_of(found["what"]).lower().split() if one not in _POINTING] if found else []
    return _joined(said) if len(_joined(said)) >= _SHORTEST else _joined(_named(words))


def _named(words: Sequence[str]) -> list[str]:
    return [one for one in words if one not in _VERBS] or list(words)


def _joined(words: Sequence[str]) -> str:
    return "_".join(re.sub(r"\W", "", one) for one in words)[:_LONGEST].strip("_")
