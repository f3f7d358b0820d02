"""What the judgement of two statements is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Label = Literal["same", "supersede", "link", "different", "check"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a new statement is to an old one, which rule said so, and which guards spoke against a merge.

    ``label``: "same": the new one says what the old one says. "supersede": it gives a new value for the same thing, so
    the old one's validity ends. "link": related, both hold. "check": perhaps the same, no rule decides; ask a model,
    or keep both and link them. "different": keep both.

    ``guards`` are names in alphabetical order; with any of them the label is never "same".
    """

    label: Label
    rule: str
    guards: tuple[str, ...] = ()
