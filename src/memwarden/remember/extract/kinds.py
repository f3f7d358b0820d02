"""What sort of statement a text is, by its words (design C section 2, decision 1.22). English; else unknown."""

from __future__ import annotations

import re

from memwarden.records import Kind

# In the order in which they are tried; one expression, so that a text is read once.
_WORDS: tuple[tuple[Kind, str], ...] = (
    (Kind.ERROR_LESSON, "failed|mistakes?|lesson learned"),
    (Kind.DECISION, "decided|chose|chosen|went with|settled on"),
    (Kind.DISCOVERY, "learned|learnt|discovered|found out"),
    (Kind.INSIGHT, "reali[sz]ed|understood|means that"),
    (Kind.OUTCOME, "resulted|turned out|finished|completed"),
    (Kind.BEHAVIOR, "tends|always|usually|never|habit"),
)
_PRIORITY = {kind: number for number, (kind, _) in enumerate(_WORDS)}
_KIND_WORDS = re.compile(rf"\b(?:{'|'.join(f'(?P<{kind}>{words})' for kind, words in _WORDS)})\b", re.IGNORECASE)


def kind_of(text: str) -> Kind:
    """Return the first kind of the list whose signal words the text holds, else note."""
    found = {Kind(sign.lastgroup) for sign in _KIND_WORDS.finditer(text) if sign.lastgroup}
    return min(found, key=_PRIORITY.__getitem__, default=Kind.NOTE)
