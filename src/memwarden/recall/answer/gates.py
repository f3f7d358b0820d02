"""Gates that leave memories out of an answer, as masks of an index or conditions of a store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np

from memwarden.categories import OWN_RECORDS
from memwarden.filters import UNSET_OR_AFTER, Condition, Where, is_inside, matches
from memwarden.recall.answer.request import Request
from memwarden.recall.index.columns import Mask
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.records import (
    CORRECTED,
    STANDING_IN,
    Channel,
    Memory,
)
from memwarden.text.flags import UNANSWERING, Flag
from memwarden.text.question_words import asks_for_questions

# Every gate that can leave a memory out, in the order in which they stand, and what it means.
GATES: Mapping[str, str] = {
    "category": "its category is not among those searched",
    "filter": "a filter leaves it out",
    "validity": "it is no longer true: a newer fact took its place",
    "card": "an index card of an exchange whose turns answer by themselves; a filter by channel asks for cards",
    "procedural": "steps of how something is done: in an answer when the category procedural is asked for by its name",
    "state": "a value saved by key, which is loaded when a goal needs it; a filter by channel asks for it",
    "chatter": "greeting, thanks, small talk or a question alone: kept in the log, never recalled",
    "relevance": "nothing in this memory answers the question: the best candidates are below the bar",
    "threshold": "its score is below the threshold",
    "echo": "it repeats the question, what the prompt holds already, or a better memory in the answer",
    "part": "another part of the same text answers better",
    "covered": "a remembered fact that rests on this turn is in the answer",
    "joined": "it is shown in the item of the question that it answers, or of the reply to it",
    "ended": "what was remembered of this turn is forgotten or no longer true",
    "rag_length": "its category's rag_length is used up by better memories",
    "top_k": "enough better memories are in the answer",
    "unlikely": "the better memories hold almost all chances of an answer",
    "budget": "it does not fit into what is left of the token budget",
}


@dataclass(frozen=True)
class Gates:
    """Masks over the index's places; a place passes when it is in all of them.

    Attributes:
        readable: what the agent may read at all; others are not even named among what was left out.
        category: the categories that are asked for. filter: what fulfils the filters.
        worthy: what is neither small talk nor only a question. fresh: what does not only repeat the prompt.
        valid: what is not over; None when nothing in the namespace ever ends.
        own: what stands for itself: no index card and no quotation, unless a filter asks for its channel. None when
            there are none.
        steps: what holds no steps of how something is done, unless these are asked for. None when there are none.
        state: what is no value saved by key, unless a filter asks for its channel. None when there are none.
    """

    readable: Mask
    category: Mask
    filter: Mask
    worthy: Mask
    fresh: Mask
    valid: Mask | None = None
    own: Mask | None = None
    steps: Mask | None = None
    state: Mask | None = None

    @cached_property
    def open(self) -> Mask:
        """The places that pass all of them."""
        return self.besides & self.worthy

    @cached_property
    def besides(self) -> Mask:
        """The places that may be shown with an item. A question is no answer, but belongs to its reply."""
        passing = self.readable & self.category & self.filter & self.fresh
        for mask in (self.valid, self.own, self.steps, self.state):
            if mask is not None:
                passing = passing & mask
        return passing


# How a person wants to be spoken to is of the same channel, and of another category.
_SAVED_STATE = (Condition("category", "$eq", "state"),)


def mask_without_cards(index: NamespaceIndex, where: Where) -> Mask | None:
    asked = any(condition.field == "channel" for condition in where)
    standing_in = None if asked else index.extracted(*STANDING_IN)
    return None if standing_in is None else ~standing_in


_NOT_CORRECTED = (Condition("kind", "$ne", CORRECTED),)
# What memwarden wrote down for itself is no answer, also where no agent narrows what may be read.
NO_OWN_RECORD = Condition("category", "$ne", OWN_RECORDS)


def default_conditions(request: Request, by_channel: bool, now: datetime | None) -> Where:
    """Return the default exclusions as conditions: procedures, saved values, expired facts.

    by_channel: whether a filter asks for a channel. now: None for questions about the past.
    """
    steps = () if request.steps else (Condition("channel", "$ne", str(Channel.PROCEDURAL)),)
    saved = () if by_channel else (Condition("channel", "$ne", str(Channel.STATE)),)
    valid = _NOT_CORRECTED if now is None else (Condition("valid_to", UNSET_OR_AFTER, now),)
    return (*steps, *saved, NO_OWN_RECORD, *valid)


def _mask_of_past(index: NamespaceIndex) -> Mask | None:
    """Return a mask without corrected turns, whose words were never true; None without any."""
    kinds = index.columns.coded["kind"]
    return None if CORRECTED not in kinds.values else np.asarray(kinds.codes != kinds.code(CORRECTED), np.bool_)


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


def unanswering_flags(request: Request) -> int:
    """Return the flags of texts that are no answers; whoever asks what was asked wants questions too."""
    return int(Flag.CHATTER if any(map(asks_for_questions, request.questions)) else UNANSWERING)


def open_gates(
    index: NamespaceIndex,
    request: Request,
    readable: tuple[str, ...] | None,
    hidden: Sequence[int],
    echoes: Sequence[int],
    now: datetime | None,
) -> Gates:
    """Return the gates of a question. hidden: places that nobody may read; echoes: those that repeat the prompt.

    now: None for a question about the past, which what is over answers.
    """
    allowed = index.mask(in_categories(readable))
    allowed[list(hidden)] = False
    categories = index.columns.coded["category"]
    if OWN_RECORDS in categories.values:
        allowed &= categories.codes != categories.code(OWN_RECORDS)
    fresh = index.live.copy()
    fresh[list(echoes)] = False
    return Gates(
        readable=allowed,
        category=index.mask(in_categories(request.categories)),
        filter=index.mask(request.where),
        worthy=index.live & ((index.flags & unanswering_flags(request)) == 0),
        fresh=fresh,
        valid=_mask_of_past(index) if now is None else index.valid(now),
        own=mask_without_cards(index, request.where),
        steps=mask_without_steps(index, request),
        state=mask_without_state(index, request.where),
    )


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
