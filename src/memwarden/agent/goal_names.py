"""Finds by typed statements how else a person names those whom a goal names: "my sister" is Lena, as was said."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from memwarden.agent.relevance import plain_words
from memwarden.records import Scope
from memwarden.runtime import Runtime

# Of so many memories around a goal the statements are looked at.
MAX_LOOKED_AT = 10


class OtherWording(NamedTuple):
    """A goal with other names for those whom it names, in their places. names: the words of these names."""

    goal: str
    names: frozenset[str]

    def is_in(self, text: str) -> bool:
        """Whether a text names somebody in the other way."""
        return not self.names.isdisjoint(plain_words(text).split())


async def find_other_wording(parts: Runtime, who: Scope, goal: str) -> OtherWording | None:
    """Return the other wording of a goal; None when nothing that was said tells any.

    An agent learns nothing from what it may not read.
    """
    from memwarden.recall.answer.select import Request  # numpy
    from memwarden.statements.reader import names_in, relations_in
    from memwarden.statements.statement import with_other_keys

    named = {f"name:{name}" for name in names_in(goal)} | relations_in(goal)
    if not named:
        return None
    readable = parts.settings.categories.readable(who.agent, None)
    request = Request(goal, readable, (), MAX_LOOKED_AT, 0.0, None, full=True, explain=True, news=False)
    found = await parts.working.recall.query(replace(who, thread=None), request)
    told = [tuple(each.subject.split("+")) for item in found.items for each in item.why.statements]
    wording, names = goal, set[str]()
    for key in sorted(named):
        others = sorted(other.partition(":")[2] for other in with_other_keys([key], told) - {key})
        if others:
            wording = _words_for(key).sub(" ".join(others), wording)
            names.update(plain_words(" ".join(others)).split())
    return None if wording == goal else OtherWording(wording, frozenset(names))


def _words_for(key: str) -> re.Pattern[str]:
    """Return the pattern of the words by which a goal means whom a key stands for."""
    from memwarden.statements.reader import subject_words

    sort, _, name = key.partition(":")
    words = [word for word, line in subject_words().relations.items() if line == name] if sort == "relation" else [name]
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b", re.IGNORECASE)
