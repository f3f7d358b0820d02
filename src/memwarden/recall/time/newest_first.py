"""Order of items by time, because the later statement about a matter holds."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
import numpy.typing as npt

from memwarden.clock import microseconds
from memwarden.records import RecallItem

# Cosine of two items from which on they are about the same matter.
MIN_ALIKE = 0.25
# The same for vectors that are means of a table: there all texts lie nearer to each other.
MIN_ALIKE_OF_TABLE = 0.6
# Among fewer memories two items are seldom about the same matter, however alike they are: there an item whose logit is
# lower by more than MAX_SCORE_GAP stays below.
FEW_MEMORIES = 100
MAX_SCORE_GAP = 0.3
# A longer list is a ranking for somebody who goes on with it, no answer: there the newest of dozens would lead.
MAX_ARRANGED = 40


def put_newest_first(
    items: Sequence[RecallItem], last: Collection[str] = (), first: Sequence[str] = ()
) -> list[RecallItem]:
    """Return items with what was said last first: it is what holds now.

    last: ids of what stands below the others. first: of what stands above them, in order.
    """
    newest = sorted(items, key=lambda item: (item.id not in last, item.created_at), reverse=True)
    leading = {memory_id: number for number, memory_id in enumerate(first)}
    return sorted(newest, key=lambda item: leading.get(item.id, len(leading)))


def put_newer_first(
    items: Sequence[RecallItem],
    vectors: npt.NDArray[np.float32],
    alike: float = MIN_ALIKE,
    memories: int = FEW_MEMORIES,
    moment: int | None = None,
) -> list[RecallItem]:
    """Return items best first, but of items that say alike things the newest at the first of their places.

    What was said later about the same matter holds now. The n-th item keeps the n-th score.

    vectors: a row of unit length for each item; a row of zeros is like no other. alike: the cosine of like items.
    memories: among how many they were found; few are seldom about the same matter. moment: a time that is asked about,
    in microseconds: what was said later stands below.
    """
    if len(items) > MAX_ARRANGED:
        return list(items)
    close = vectors @ vectors.T >= alike
    if memories < FEW_MEMORIES:
        odds = np.array([item.score for item in items]).clip(1e-6, 1 - 1e-6)
        logits = np.log(odds / (1 - odds))
        close &= logits[None] - logits[:, None] <= MAX_SCORE_GAP
    leaders: list[int] = []
    groups: dict[int, list[int]] = {}
    for place in range(len(items)):
        leader = next((earlier for earlier in leaders if close[place, earlier]), None)
        if leader is None:
            leaders.append(place)
        groups.setdefault(place if leader is None else leader, []).append(place)
    arranged = list(items)
    for places in groups.values():
        # Equal times stay best first.
        newest = sorted(places, key=lambda place: _recency(items[place], moment), reverse=True)
        for place, taken in zip(places, newest, strict=True):
            if taken != place:
                arranged[place] = replace(items[taken], score=items[place].score)
    return arranged


def _recency(item: RecallItem, moment: int | None) -> tuple[bool, datetime]:
    said = microseconds(item.created_at) + 60_000_000 * item.memory.utc_offset
    return moment is None or said <= moment, item.created_at


def drop_last(arranged: Sequence[RecallItem], best: str | None, always: Container[str], most: int) -> list[RecallItem]:
    """Return at most so many items, the best of them and the first of the others, and all that are always there."""
    others = [item.id for item in arranged if item.id not in always and item.id != best]
    dropped = set(others[most - (best is not None) :])
    return [item for item in arranged if item.id not in dropped]
