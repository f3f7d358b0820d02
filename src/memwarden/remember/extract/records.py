"""The records of extraction: exchanges go in, statements come out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Literal, Protocol

from memwarden.records import Channel, Kind, Memory
from memwarden.statements.statement import quoted_words

# The most characters of an item.
MAX_STATEMENT_CHARACTERS = 280
# The most facts and candidates of a turn.
MAX_ITEMS_PER_TURN = 3

ItemTier = Literal["fact", "candidate", "card"]


class TurnText(Protocol):
    """A turn as it was said; a stored turn (:class:`memwarden.records.Memory`) fulfils it. Its days are those of the
    zone in which ``created_at`` is told."""

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
        tier: "fact" is stored as a fact; "candidate" waits until it is seen again or judged; "card" is the index card.
        reason: why it has this tier, for people who ask.
        valid_to: when it ends or ended, if that was said. replaces: ids of memories whose place it takes, and shown: of
            those that were known to whoever decided that; both only of what a model found.
        quoted: the text is the turn's own words, with the speaker and the day. answers: ids, as callers know them, of
            the turns whose question it shows; it has the trust of its sources alone.
        may_end: whether rules may end an older memory with it, or it with a later one. Both need a statement.
    """

    text: str
    channel: Channel
    kind: Kind
    category: str
    importance: float
    sources: tuple[str, ...]
    valid_from: datetime
    tier: ItemTier
    reason: str
    valid_to: datetime | None = None
    replaces: tuple[str, ...] = ()
    shown: frozenset[str] = frozenset()
    quoted: bool = False
    answers: tuple[str, ...] = ()
    may_end: bool = True


@dataclass(frozen=True, slots=True)
class EndedFact:
    """A known memory that ended, without a new value in its place: its id, when, and the turns that said so."""

    memory_id: str
    at: datetime
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RejectedClause:
    """A clause that had the form of a statement and was not kept, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class ExchangeExtract:
    """What an exchange gives to remember, beside its own words, which are always kept.

    Attributes:
        facts: best first within a turn; of a turn at most three.
        card: the index card, or None for small talk and for what is not personal.
        passed: what was looked at and not kept.
        ended: what a model found to hold no longer. of_batch: a model read all turns, and the card sums them up.
    """

    facts: tuple[ExtractedItem, ...] = ()
    card: ExtractedItem | None = None
    passed: tuple[RejectedClause, ...] = ()
    ended: tuple[EndedFact, ...] = ()
    of_batch: bool = False


def merge_extracts(parts: Sequence[ExchangeExtract]) -> ExchangeExtract:
    """Return what several exchanges give as a single extract, without their cards."""
    return ExchangeExtract(tuple(fact for part in parts for fact in part.facts))


def add_by_rules(found: ExchangeExtract, by_rules: ExchangeExtract) -> ExchangeExtract:
    """Return what a model found, with the facts that rules find in turns of which it keeps nothing.

    The rules read what is stated. So of equal quotations theirs is kept, with its end, and a quotation that holds the
    words of theirs may end what it changes.
    """
    facts = tuple(_read_by_rules(item, by_rules.facts) for item in found.facts)
    told = {source for item in facts for source in item.sources}
    more = tuple(item for item in by_rules.facts if told.isdisjoint(item.sources))
    return replace(found, facts=(*facts, *more))


def _read_by_rules(item: ExtractedItem, facts: Sequence[ExtractedItem]) -> ExtractedItem:
    of_turn = [each for each in facts if each.sources == item.sources]
    if equal := next((each for each in of_turn if each.text == item.text), None):
        return equal
    holds = any(quoted_words(each.text) in quoted_words(item.text) for each in of_turn)
    return replace(item, may_end=True) if holds else item


# The most turns before the mark at which an exchange may begin.
MAX_TURNS_BEFORE = 20


@dataclass(frozen=True, slots=True)
class ThreadTail:
    """The last turns behind a thread's mark, and how many turns there are in all."""

    turns: tuple[Memory, ...] = ()
    count: int = 0

    def open_exchange(self, *, two_person: bool) -> tuple[Memory, ...]:
        """Return the turns of the exchange that the mark stands in; none where the next turn begins an exchange.

        Where an exchange begins depends on the thread alone, not on how it was handed over or how far somebody looked.
        """
        if two_person:
            return self.turns[-1:] if self.count % 2 else ()
        asked = [place for place, turn in enumerate(self.turns) if turn.role == "user"]
        return self.turns[asked[-1] :] if asked else ()

    def with_turns(self, turns: Sequence[Memory]) -> ThreadTail:
        """The tail when the mark has moved beyond these."""
        return ThreadTail((*self.turns, *turns)[-MAX_TURNS_BEFORE:], self.count + len(turns))


def as_said(turns: Iterable[Memory]) -> tuple[Memory, ...]:
    """Return turns with their times by the clock of whoever said them: extraction tells and reads days by it."""
    return tuple(replace(turn, created_at=turn.said_at) if turn.utc_offset else turn for turn in turns)


@dataclass(frozen=True, slots=True)
class PendingTurns:
    """The turns before a thread's mark, in exchanges, and the mark after them.

    new: journal numbers of the turns that were not looked at yet; an exchange may begin with some that were.
    tail: what lies behind the mark when all is done. before: the turns before the first exchange.
    """

    exchanges: tuple[tuple[Memory, ...], ...]
    new: Mapping[str, int]
    since: int
    tail: ThreadTail
    before: tuple[Memory, ...] = ()

    def turns_before(self) -> dict[str, Memory]:
        """Map the id of each turn to the turn before it in its thread."""
        listed = {turn.id: turn for exchange in (self.before, *self.exchanges) for turn in exchange}
        return {turn.id: before for before, turn in pairwise(listed.values())}

    def mark_after(self, exchanges: int) -> int:
        """Return the mark after the first exchanges of this number."""
        if exchanges == len(self.exchanges):
            return max(self.new.values())
        done = [
            self.new[turn.id] for exchange in self.exchanges[:exchanges] for turn in exchange if turn.id in self.new
        ]
        return max(done, default=self.since)


def group_exchanges(turns: Sequence[Memory], *, two_person: bool) -> tuple[tuple[Memory, ...], ...]:
    """Group turns: pairs between two people; else each of a person's messages with what answers it."""
    if two_person:
        return tuple(tuple(turns[begin : begin + 2]) for begin in range(0, len(turns), 2))
    found: list[list[Memory]] = []
    for turn in turns:
        if turn.role == "user" or not found:
            found.append([])
        found[-1].append(turn)
    return tuple(tuple(item) for item in found)
