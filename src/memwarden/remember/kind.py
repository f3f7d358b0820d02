"""What sort of statement a text is, by its words (design C section 2, decision 1.22). English; else unknown."""

from __future__ import annotations

import re

from memwarden.records import Kind

_SIGNS: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"\b(?:{words})\b", re.IGNORECASE))
    for kind, words in (
        (Kind.ERROR_LESSON, "failed|mistake|mistakes|lesson learned"),
        (Kind.DECISION, "decided|chose|chosen|went with|settled on"),
        (Kind.DISCOVERY, "learned|learnt|discovered|found out"),
        (Kind.INSIGHT, "reali[sz]ed|understood|means that"),
        (Kind.OUTCOME, "resulted|turned out|finished|completed"),
        (Kind.BEHAVIOR, "tends|always|usually|never|habit"),
    )
)


def kind_of(text: str) -> Kind:
    """Return the first kind whose signal words the text holds, else note."""
    for kind, signs in _SIGNS:
        if signs.search(text):
            return kind
    return Kind.NOTE
