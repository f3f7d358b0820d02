"""Names the gate of each omission."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import zip_longest

from memwarden.recall.answer.gates import GATES, Gates
from memwarden.recall.answer.pack import BudgetedAnswer
from memwarden.recall.answer.searches import QuestionSearch
from memwarden.recall.answer.select import Candidate, Selection
from memwarden.records import (
    Cut,
)


def list_cuts(
    ids: Sequence[str],
    selection: Selection,
    packed: BudgetedAnswer,
    echoes: Sequence[int],
    gates: Gates,
    most: int | None,
) -> tuple[Cut, ...]:
    """List the omissions, near misses first."""
    cuts = [Cut(item.id, gate, item.score, GATES[gate]) for item, gate in packed.dropped]
    named = {cut.id for cut in cuts} | {item.id for item in packed.items}
    others = [
        *((item, "top_k") for item in selection.ranked if ids[item.place] not in named),
        *((Candidate(place, 0.0), "echo") for place in echoes if most is not None and gates.readable[place]),
        *selection.left_out,
    ]
    cuts += [Cut(ids[item.place], gate, item.score, GATES[gate]) for item, gate in others[:most]]
    return tuple(cuts[:most])


def join_cuts(
    searches: Sequence[QuestionSearch], packed: BudgetedAnswer, left: Collection[str], most: int | None
) -> tuple[Cut, ...]:
    """Return what no question let in, each memory once, by the question to which it is nearest.

    left: ids that stand in the answer beside its items.
    """
    lists = [
        list_cuts(
            search.asked.ctx.index.columns.ids,
            search.selection,
            packed,
            search.asked.echoes,
            search.asked.gates,
            most,
        )
        for search in searches
    ]
    shown = {*left, *(item.id for item in packed.items)}
    nearest: dict[str, Cut] = {}
    for row in zip_longest(*lists):
        for cut in row:
            if cut is None or cut.id in shown:
                continue
            known = nearest.get(cut.id)
            nearest[cut.id] = cut if known is None or cut.score > known.score else known
    return tuple(nearest.values())[:most]
