"""The records of extraction: what goes in, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, Protocol

from memwarden.records import Channel, Kind

MAX_STATEMENT_CHARACTERS = 280
"""The most characters of an item."""
MAX_ITEMS_PER_TURN = 3
"""The most facts and candidates of a turn."""

ItemTier = Literal["fact", "candidate", "card"]
StatementFrame = Literal[
    "relationship",
    "health",
    "identity",
    "preference",
    "decision",
    "plan",
    "habit",
    "possession",
    "event",
    "card",
]


class TurnText(Protocol):
    """A turn as it was said; a stored turn (:class:`memwarden.records.Memory`) fulfils it."""

    @property
    def id(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def role(self) -> str | None: ...
    @property
    def name(self) -> str | None: ...
    @property
    def created_at(self) -> datetime | None: ...


@dataclass(frozen=True, slots=True)
class ExtractedItem:
    """An item that an exchange gives to remember.

    Attributes:
        text: the statement, 1..280 characters, in the third person.
        sources: ids of the turns that it rests on, in the order of the exchange.
        importance: 0..1.
        valid_from: when it became true: the first day that an event names, else when it was said.
        dates: the days that the text names, as (first, last).
        frame: the pattern that found it.
        tier: "fact" is stored as a fact; "candidate" waits until it is seen again or judged; "card" is the index card.
        reason: why it has this tier, for people who ask.
    """

    text: str
    channel: Channel
    kind: Kind
    category: str
    importance: float
    sources: tuple[str, ...]
    valid_from: datetime
    dates: tuple[tuple[date, date], ...]
    frame: StatementFrame
    tier: ItemTier
    reason: str


@dataclass(frozen=True, slots=True)
class RejectedClause:
    """A clause that had the form of a statement and was not kept, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class ExchangeExtract:
    """What an exchange gives to remember, beside its own words, which are always kept.

    Attributes:
        facts, candidates: best first within a turn; of a turn at most three in all.
        card: the index card, or None for small talk and for what is not personal.
        passed: what was looked at and not kept.
    """

    facts: tuple[ExtractedItem, ...] = ()
    candidates: tuple[ExtractedItem, ...] = ()
    card: ExtractedItem | None = None
    passed: tuple[RejectedClause, ...] = ()
