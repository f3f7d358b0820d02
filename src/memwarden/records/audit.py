"""Findings of an audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class Flaw(StrEnum):
    """What can be wrong with memories.

    DUPLICATE: two facts say the same. CONTRADICTION: two facts hold now, and the newer gives a new value for what
    the older says. RESTATED_PROMPT: it holds what memwarden itself put into a prompt. CHATTER: a greeting, thanks
    or small talk kept as a fact. SECRET: a secret stands in its words. SOURCE_GONE: all turns that a fact rests on were
    forgotten. SUCCESSOR_GONE: a fact was replaced, and what replaced it was forgotten, so that neither holds now.
    """

    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"
    RESTATED_PROMPT = "restated_prompt"
    CHATTER = "chatter"
    SECRET = "secret"
    SOURCE_GONE = "source_gone"
    SUCCESSOR_GONE = "successor_gone"


@dataclass(frozen=True, slots=True)
class Fix:
    """What would mend a finding: a verb of a scope for a memory, and its other arguments. ``undo`` takes it back.

    verb: ``forget``, ``update`` or ``restore``.
    """

    verb: str
    memory_id: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One thing that is wrong.

    Attributes:
        kind: a word of :class:`Flaw`.
        ids: the memories that it is about. Of a duplicate the memory that stays, then the other; of a contradiction the
            older, then the newer; of ``source_gone`` the fact, then the turns; of ``successor_gone`` the fact, then
            what replaced it last.
        why: in words; it repeats nothing of a memory.
    """

    kind: str
    ids: tuple[str, ...]
    why: str
    fix: Fix


@dataclass(frozen=True, slots=True)
class StateCount:
    """How many memories are in a state. oldest: when the memory that was written longest ago was; None for none."""

    state: str
    count: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True)
class Audit:
    """What is wrong in a namespace. Nothing was changed.

    Attributes:
        findings: in an order in which every fix can be applied, in turn.
        counts: an entry for each of :class:`MemoryState`, in its order.
        looked_at: how many active memories were looked at, the newest.
    """

    findings: tuple[AuditFinding, ...]
    counts: tuple[StateCount, ...]
    looked_at: int
