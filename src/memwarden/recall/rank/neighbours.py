"""Neighbours of a place: the turns before and after it, and memories related to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memwarden.recall.index.columns import Floats, Ints, Mask

if TYPE_CHECKING:
    from memwarden.recall.index.view import NamespaceView


def value_of(neighbour: Ints, values: Floats) -> Floats:
    """Return the value of each place's neighbour; 0 without one. neighbour: its place, or -1."""
    return np.where(neighbour >= 0, values[neighbour], np.float32(0))


def lend_by_relations(view: NamespaceView, total: Floats, allowed: Mask) -> Floats:
    """Return for each place the largest strength x (score of a related place - own score), at least 0.

    It brings a memory nearer to a better memory that it is related to. Without the difference, similar facts would
    lift each other above a turn that answers better and has no relations.
    """
    related = view.related
    if related is None:
        return view.nothing
    lent = related.strengths * (total[related.others] - total[related.owners])
    lent *= allowed[related.others]
    value = np.zeros(view.size, np.float32)
    value[related.places] = np.maximum(np.maximum.reduceat(lent, related.starts), 0)
    return value
