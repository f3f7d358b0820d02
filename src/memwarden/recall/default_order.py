"""Orders of memories: without a question, for an assembled context, and by a reranker, which may fail."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from memwarden.errors import ModelUnavailable
from memwarden.filters import Condition, Where
from memwarden.models.protocols import Reranker
from memwarden.observability.instrument import record_model_failure
from memwarden.recall.answer.searches import Found
from memwarden.recall.answer.select import Selection
from memwarden.recall.index.columns import Mask
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.records import CARD, Channel

log = logging.getLogger(__name__)

RERANK_TIMEOUT = 5.0
_STATED = (Condition("channel", "$ne", Channel.TURN),)


@dataclass(frozen=True, slots=True)
class DefaultOrder:
    """The valid, readable stated memories of a namespace, in order.

    Attributes:
        ids: the most important first: the requested ends of time, then pinned memories, then by importance, then the
            newest. edges: how many ids are ends: the newest, the oldest, the second newest, and so on.
        left_out: id and gate (:data:`memwarden.recall.answer.gates.GATES`) of excluded memories.
    """

    ids: list[str]
    edges: int
    left_out: list[tuple[str, str]]


def order_memories(
    index: NamespaceIndex, readable: tuple[str, ...] | None, now: datetime, ends: int, where: Where = ()
) -> DefaultOrder:
    """Order a namespace's memories without a question.

    Args:
        readable: the readable categories; None for all. ends: how many of the oldest, and of the newest, come first.
        where: further conditions, for a namespace that holds more than items.
    """
    allowed = () if readable is None else (Condition("category", "$in", readable),)
    open_: Mask = index.mask((*_STATED, *allowed, *where))
    if (cards := index.extracted(CARD)) is not None:
        open_ = open_ & ~cards
    ids, left_out = index.columns.ids, list[tuple[str, str]]()
    steps = index.of_channel(Channel.PROCEDURAL)
    for gate, passing in (("validity", index.valid(now)), ("procedural", None if steps is None else ~steps)):
        if passing is not None:
            left_out += [(ids[place], gate) for place in np.flatnonzero(open_ & ~passing).tolist()]
            open_ = open_ & passing
    edges, middle = _split_ends(index, np.flatnonzero(open_), ends)
    order = [*edges.tolist(), *_order_by_importance(index, middle).tolist()]
    return DefaultOrder([ids[place] for place in order], len(edges), left_out)


def _split_ends(index: NamespaceIndex, places: npt.NDArray[np.int64], ends: int) -> tuple[npt.NDArray[np.int64], ...]:
    """The ends of time, and the places between them."""
    if not ends:
        return places[:0], places
    said = index.columns.number("created_at")[places]
    by_time = places[np.lexsort((index.order[places], said))]
    ends = min(ends, -(-len(by_time) // 2))
    turns = np.empty(2 * ends, np.int64)
    turns[0::2], turns[1::2] = by_time[::-1][:ends], by_time[:ends]
    edges = np.array(list(dict.fromkeys(turns.tolist())), np.int64)
    return edges, by_time[ends : len(by_time) - ends]


def _order_by_importance(index: NamespaceIndex, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    columns = index.columns
    pinned, importance = columns.number("pinned")[places], columns.number("importance")[places]
    said = columns.number("created_at")[places]
    return places[np.lexsort((-index.order[places], -said, -importance, ~pinned))]


async def rerank(reranker: Reranker, query: str, selection: Selection, found: Found) -> None:
    """Reorder the candidates; the scores stay in place, so that they fall with the rank."""
    if len(selection.ranked) < 2:
        return
    texts = [found[item.place].memory.text for item in selection.ranked]
    try:
        asked = asyncio.to_thread(reranker.score, query, texts)
        judged = [float(score) for score in await asyncio.wait_for(asked, RERANK_TIMEOUT)]
        selection.reorder(judged)
    except Exception as error:  # somebody else's code, which must not cost an answer
        log.warning("the reranker is left out: %s", type(error).__name__)
        record_model_failure("reranker_unavailable" if isinstance(error, ModelUnavailable) else "reranker_broken")
