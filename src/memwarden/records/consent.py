"""Reviews, the user context and consent to change it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memwarden.records.memory import Memory


@dataclass(frozen=True, slots=True)
class PendingReview:
    """What is stored apart until somebody decides on it: a candidate, or a text that was held back.

    Attributes:
        memory: as it would be. Its ``state`` says which of the two it is; ``purge_at`` until when it waits, or None.
        why: in words; for a text that was held back the kinds of what is suspicious about it.
    """

    memory: Memory
    why: str

    @property
    def id(self) -> str:
        """The id of the memory, which ``release`` and ``discard`` take."""
        return self.memory.id


@dataclass(frozen=True, slots=True)
class UserContext:
    """How a person wants to be called and spoken to, and what they aim for: apart from what is remembered.

    Attributes:
        decided: names of the fields that the person decided on; what they decided changes by their word only.
        version: of the memory that holds it, 0 when nothing is known. updated_at: when it last changed, or None.
    """

    preferred_name: str | None = None
    pronouns: str | None = None
    city: str | None = None
    language: str | None = None
    tone: str | None = None
    goals: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    version: int = 0
    updated_at: datetime | None = None


class ConsentState(StrEnum):
    """What became of a proposed change of the user context.

    ``applied``: it was heard often enough to need no word. ``replaced``: a proposal of the same, with more signals,
    stands for it.
    """

    PENDING = "pending"
    APPROVED = "approved"
    DECLINED = "declined"
    EXPIRED = "expired"
    APPLIED = "applied"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class Consent:
    """A proposed change of the user context, and what was decided about it.

    Attributes:
        field: ``preferred_name``, ``pronouns``, ``city``, ``language``, ``tone``, ``goals_add`` or ``goals_remove``.
        value: what it shall be; None empties the field.
        replaces: of a pending proposal, what the context holds in its place now, or None.
        sources: what the person said that speaks for it: ids of turns.
        expires_at: until when it waits. decided_at, decided_by, way: when, by whom and how it was decided.
    """

    id: str
    field: str
    value: str | None
    replaces: str | None
    state: str
    sources: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    decided_at: datetime | None = None
    decided_by: str | None = None
    way: str | None = None
