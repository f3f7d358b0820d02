"""Puts a value that was replaced below the value that replaced it, among the best for a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from memwarden.recall.index.columns import Mask
from memwarden.recall.index.statement_table import REPLACES
from memwarden.recall.index.view import Floats, NamespaceView

MAX_EXAMINED: Final = 24
"""Of the places only the best are compared: what stands below them is in no answer."""
MAX_GAP: Final = 0.8
"""So much worse, on the scale of ranking, the later text may suit the question; else it is about another matter."""
STEP: Final = 0.05


def demote_outdated(view: NamespaceView, logits: Floats, allowed: Mask, words: Floats | None = None) -> Floats:
    """Return the logits with each outdated place just below the place that replaced it.

    logits: that each place bears on the question, not on its past. words: see
    :meth:`memwarden.recall.index.statement_table.StatementTable.replacement_scores`.
    """
    table = view.statements
    if table is None or not len(table):
        return logits
    places = best_places(logits, allowed)
    scores = table.replacement_scores(places, view.created_at[places], words)
    found = logits.copy()
    # The oldest first: what was replaced twice ends below both.
    for line in np.argsort(view.created_at[places], kind="stable").tolist():
        place = places[line]
        later = [
            places[other]
            for other in np.flatnonzero(scores[:, line] >= REPLACES).tolist()
            if logits[places[other]] >= logits[place] - MAX_GAP
        ]
        if later:
            found[place] = min(float(found[place]), min(float(found[other]) for other in later) - STEP)
    return found


def best_places(logits: Floats, allowed: Mask) -> Sequence[int]:
    """Return the best allowed places, best first."""
    open_places = np.flatnonzero(allowed)
    if len(open_places) > MAX_EXAMINED:
        least = len(open_places) - MAX_EXAMINED
        open_places = open_places[np.argpartition(logits[open_places], least)[least:]]
    order = np.argsort(-logits[open_places], kind="stable")
    found: list[int] = open_places[order].tolist()
    return found
