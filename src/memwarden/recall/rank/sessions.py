"""Sessions: how far the messages of a place's session bear on the question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memwarden.recall.index.columns import Floats

if TYPE_CHECKING:
    from memwarden.recall.index.view import NamespaceView


def mean_best_two(view: NamespaceView, total: Floats) -> Floats:
    """Return for each place half the sum of the two best scores of its session. Dead places do not count.

    A place outside of sessions is a session of its own.
    """
    slots, alone = view.slot, view.sessions
    low = np.float32(-np.inf)
    scores = np.where(slots < alone, total, low)
    best = np.full(alone + 1, low, np.float32)
    np.maximum.at(best, slots, scores)
    first = np.full(alone + 1, view.size, np.int64)
    np.minimum.at(first, slots, np.where(scores == best[slots], np.arange(view.size), view.size))
    second = np.full(alone + 1, low, np.float32)
    np.maximum.at(second, slots, np.where(np.arange(view.size) == first[slots], low, scores))
    both = np.where(np.isfinite(best), best, 0) + np.where(np.isfinite(second), second, 0)
    return np.where(slots < alone, both[slots], total).astype(np.float32) / np.float32(2)
