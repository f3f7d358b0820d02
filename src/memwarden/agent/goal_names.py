"""Finds by typed statements how else a person names those whom a goal names: "my sister" is Lena, as was said."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from memwarden.agent.relevance import plain_words
from memwarden.records import Memory, Scope, Trust
from memwarden.runtime.services import Runtime
from memwarden.text.tokenizer import GLUED_SCRIPT

# Of so many memories around a goal the statements are looked at.
MAX_LOOKED_AT = 10


class OtherWording(NamedTuple):
    """A goal with other names for those whom it names, in their places. names: the words of these names."""

    goal: str
    names: frozenset[str]

    def is_in(self, text: str) -> bool:
        """Whether a text names somebody in the other way."""
        return not self.names.isdisjoint(plain_words(text).split())


async def find_other_wording(runtime: Runtime, who: Scope, goal: str) -> OtherWording | None:
    """Return the other wording of a goal; None when nothing that was said tells any.

    An agent learns nothing from what it may not read. Only what a person said counts, and of several people only
    what whoever the goal is of said: two have a sister each.
    """
    from memwarden.recall.answer.request import Request  # numpy
    from memwarden.statements.reader import with_other_keys
    from memwarden.statements.wording import names_in, relations_in

    # Goals begin with what is to be done, written large: "Buy", "Plan".
    _, _, behind = goal.strip().partition(" ")
    named = {f"name:{name}" for name in names_in(behind)} | relations_in(goal)
    if not named:
        return None
    readable = runtime.settings.categories.readable(who.agent, None)
    request = Request(goal, readable, (), MAX_LOOKED_AT, 0.0, None, full=True, explain=True, news=False)
    found = await runtime.services.recall.query(replace(who, thread=None), request)
    own = await _names_of(runtime, who)
    mine = [item for item in found.items if _is_told_by(item.memory, who, own)]
    told = [tuple(each.subject.split("+")) for item in mine for each in item.why.statements]
    wording, names = goal, set[str]()
    for key in sorted(named):
        others = sorted(other.partition(":")[2] for other in with_other_keys([key], told) - {key})
        if others:
            wording = _put_for(key, " ".join(others), wording)
            names.update(plain_words(" ".join(others)).split())
    return None if wording == goal else OtherWording(wording, frozenset(names))


async def _names_of(runtime: Runtime, who: Scope) -> frozenset[str]:
    """Return the names by which whoever asks speaks: the only name that speaks at all, or an id that is a name."""
    held = runtime.services.indexes.held(who.namespace)
    index = held if held is not None else await runtime.services.larges.ready(who.namespace)
    speakers = list(index.view.speakers) if index is not None else []
    found = [*(speakers if len(speakers) == 1 else ()), who.user, *([who.actor] if who.actor else [])]
    return frozenset(name.casefold() for name in found)


def _is_told_by(memory: Memory, who: Scope, names: frozenset[str]) -> bool:
    """Whether a memory is the words of whoever asks, or a fact that a person stated for them."""
    if memory.trust != Trust.PERSON or memory.user_id not in (None, who.user):
        return False
    return memory.name is None or memory.name.casefold() in names


def _put_for(key: str, names: str, goal: str) -> str:
    """Return a goal with names in the place of the words by which it means whom a key stands for."""
    from memwarden.statements.wording import subject_words

    sort, _, name = key.partition(":")
    words = [word for word, line in subject_words().relations.items() if line == name] if sort == "relation" else [name]
    # Words of glued scripts have no ends of their own, so that of two that begin alike the longer is meant.
    glued = sorted(filter(GLUED_SCRIPT.search, words), key=len, reverse=True)
    spaced = [rf"\b{re.escape(word)}\b" for word in words if word not in glued]
    pattern = re.compile("|".join([*spaced, *map(re.escape, glued)]), re.IGNORECASE)
    return pattern.sub(lambda hit: f" {names} " if GLUED_SCRIPT.search(hit[0]) else names, goal)
