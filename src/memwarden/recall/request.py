"""A request to recall, and what it alone decides: bar, budget, masks and conditions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import numpy as np

from memwarden.filters import UNSET_OR_AFTER, Condition, Where, is_inside, matches
from memwarden.recall.answer import render as block
from memwarden.recall.index.columns import Mask
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.thresholds import DEFAULT_THRESHOLD, HALF_BUDGET_THRESHOLD
from memwarden.recall.time.past import AsOf
from memwarden.records import (
    Channel,
    Memory,
    Namespace,
    RecallItem,
)
from memwarden.text.flags import content_terms

MAX_RECENT_MESSAGES = 3
"""Messages before a message that leans on them, searched with it."""


MIN_OWN_TERMS = 3
"""A message with fewer words that say something leans on the talk before it: "and in May?", "why?"."""


_SAVED_STATE = (Condition("category", "$eq", "state"),)
"""How a person wants to be spoken to is of the same channel, and of another category."""


@dataclass(frozen=True, slots=True)
class Request:
    """A checked query. categories: what may be searched, None for everything. See :meth:`AsyncScope.query`.

    as_of: a revision, a time (aware, UTC), or None for now. since_rev: tell what changed since; None: since the thread
    looked last. steps: whether the category ``procedural`` was asked for by its name. news: False tells no
    changes. more: further questions under the same budget. most, template: of a context block, how many memories at
    most, and in which words.
    """

    query: str
    categories: tuple[str, ...] | None
    where: Where
    top_k: int
    threshold: float | None
    budget_tokens: int | None
    full: bool
    explain: bool
    as_of: AsOf | None = None
    since_rev: int | None = None
    steps: bool = False
    news: bool = True
    more: tuple[str, ...] = ()
    most: int = block.MAX_IN_CONTEXT
    template: block.Template = block.LEAN_TEMPLATE

    @property
    def questions(self) -> tuple[str, ...]:
        """All questions, in the order given."""
        return (self.query, *self.more)


def normalize_text(text: str) -> str:
    return " ".join(text.split()).casefold()


def drop_repeats(items: Sequence[RecallItem]) -> tuple[list[RecallItem], list[RecallItem]]:
    """Part items from turns that repeat an earlier turn: a question is often asked again."""
    first: dict[tuple[str | None, str], str] = {}
    for item in items:
        if item.memory.channel == Channel.TURN:
            first.setdefault((item.memory.role, normalize_text(item.memory.text)), item.id)
    again = [
        item
        for item in items
        if item.memory.channel == Channel.TURN and first[item.memory.role, normalize_text(item.memory.text)] != item.id
    ]
    left_out = {item.id for item in again}
    return [item for item in items if item.id not in left_out], again


def classic_order(item: RecallItem, now: datetime) -> float:
    """Return the sort key of a numbered block: importance x recency x relevance."""
    age_days = max(0.0, (now - item.created_at).total_seconds() / 86_400)
    recency = max(0.1, 0.5 ** (age_days / 30))
    return float(item.memory.importance * recency * item.score)


def bar_of(request: Request) -> float:
    return DEFAULT_THRESHOLD if request.threshold is None else request.threshold


def list_searched(said: Sequence[str]) -> list[str]:
    """List the texts to search for: the message, and with the talk before it where it leans on that.

    A message that says what it is about is searched alone: after a change of subject the talk before would answer.
    """
    if len(said) > 1 and len(set(content_terms(said[-1]))) < MIN_OWN_TERMS:
        return list(dict.fromkeys((said[-1], "\n".join(said[-1 - MAX_RECENT_MESSAGES :]))))
    return [said[-1]]


def block_budget(confidence: float, request: Request) -> int | None:
    """Return the tokens of a block: half of the budget where it is doubtful that the block holds the answer."""
    if request.budget_tokens is None or request.threshold is not None or confidence >= HALF_BUDGET_THRESHOLD:
        return request.budget_tokens
    return request.budget_tokens // 2


def mask_without_cards(index: NamespaceIndex, where: Where) -> Mask | None:
    cards = None if any(condition.field == "channel" for condition in where) else index.cards
    return None if cards is None else ~cards


def default_conditions(request: Request, by_channel: bool, now: datetime) -> Where:
    """Return the default exclusions as conditions: procedures, saved values, expired facts.

    by_channel: whether a filter asks for a channel.
    """
    steps = () if request.steps else (Condition("channel", "$ne", str(Channel.PROCEDURAL)),)
    saved = () if by_channel else (Condition("channel", "$ne", str(Channel.STATE)),)
    return (*steps, *saved, Condition("valid_to", UNSET_OR_AFTER, now))


def mask_without_steps(index: NamespaceIndex, request: Request) -> Mask | None:
    """Return a mask without procedures, unless their category is asked for by its name."""
    steps = None if request.steps else index.of_channel(Channel.PROCEDURAL)
    return None if steps is None else ~steps


def mask_without_state(index: NamespaceIndex, where: Where) -> Mask | None:
    """Return a mask without values saved by key, unless a filter asks for a channel."""
    asked = any(condition.field == "channel" for condition in where)
    saved = None if asked else index.of_channel(Channel.STATE)
    return None if saved is None else ~(saved & index.columns.mask(_SAVED_STATE))


def in_categories(names: tuple[str, ...] | None) -> Where:
    return () if names is None else (Condition("category", "$in", names),)


class PendingSignals(Protocol):
    """Signals that are made after their rows were stored."""

    def lacking(self, namespace: Namespace) -> int:
        """Return how many rows of a namespace wait for theirs."""

    async def wait(self, namespace: Namespace | None, seconds: float | None) -> bool:
        """Wait until none does, for so long at most."""


async def resolve_metadata(
    index: NamespaceIndex,
    where: Where,
    find_ids: Callable[[Where], Awaitable[list[str]]] | None,
    read: Callable[[Sequence[str]], Awaitable[list[Memory]]],
) -> Where:
    """Return the conditions with ids in place of those on metadata, which no index holds.

    find_ids: asks the store, where the index follows it; None reads the memories themselves.
    """
    inside = tuple(condition for condition in where if is_inside(condition))
    if not inside:
        return where
    others = tuple(condition for condition in where if not is_inside(condition))
    if find_ids is not None:
        ids = await find_ids(inside)
    else:
        there = await read([index.columns.ids[place] for place in np.flatnonzero(index.mask(others))])
        ids = [memory.id for memory in there if matches(inside, memory)]
    return (*others, Condition("id", "$in", frozenset(ids)))
