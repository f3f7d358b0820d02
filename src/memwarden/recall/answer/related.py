"""Related memories beside the items of an answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from memwarden.categories import Category
from memwarden.recall.answer.gates import Gates
from memwarden.recall.answer.pack import BudgetedAnswer
from memwarden.recall.answer.render import render_related_bullet
from memwarden.recall.answer.select import Candidate
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.records import (
    Memory,
    RecallItem,
    RelationType,
)
from memwarden.text.tokenizer import (
    TokenCounter,
)


def append_related(
    packed: BudgetedAnswer, related: Sequence[RecallItem], budget: int | None, count: TokenCounter
) -> tuple[BudgetedAnswer, list[RecallItem]]:
    """Add related memories to an answer's text as long as it fits the budget; return it and those that are in."""
    shown: list[RecallItem] = []
    for item in related:
        text = f"{packed.text}\n{render_related_bullet(item)}"
        tokens = count(text)
        if budget is None or tokens <= budget:
            packed = replace(packed, text=text, tokens=tokens)
            shown.append(item)
    return packed, shown


# Related bullets in an answer.
MAX_RELATED = 2


class Neighbour(NamedTuple):
    """The memory at the end of a relation. facts: for a turn, ids of the memories that stand in for it."""

    strength: float
    place: int
    id: str
    category: str
    facts: tuple[str, ...]


def find_neighbours(index: NamespaceIndex, gates: Gates, candidates: Iterable[Candidate]) -> dict[str, list[Neighbour]]:
    """Return, by candidate id, the related memories that may be in an answer."""
    ids, open_ = index.columns.ids, gates.open
    category = index.columns.coded["category"]
    found: dict[str, list[Neighbour]] = {}
    for candidate in candidates:
        for (other, kind), strength in index.edges.of(ids[candidate.place]).items():
            place = index.place(other)
            if kind == RelationType.RELATED_TO and place is not None and open_[place]:
                facts = tuple(ids[fact] for fact in index.facts_on(place))
                named = str(category.values[category.codes[place]])
                found.setdefault(ids[candidate.place], []).append(Neighbour(strength, place, other, named, facts))
    return found


def choose_neighbours(
    known: Mapping[str, Sequence[Neighbour]], items: Sequence[RecallItem | Memory], declared: Mapping[str, Category]
) -> list[tuple[Neighbour, str]]:
    """Return at most two neighbours of an answer's items, the strongest first, each with the item's id.

    Left out are memories in the answer, and those whose category's ``rag_length`` is used up there.
    """
    there = {item.id for item in items}
    held = [item.category for item in items]
    pairs = [(entry, item.id) for item in items for entry in known.get(item.id, ())]
    taken: dict[str, tuple[Neighbour, str]] = {}
    for entry, beside in sorted(pairs, key=lambda pair: -pair[0].strength):
        category = declared.get(entry.category)
        full = category and category.rag_length and held.count(entry.category) >= category.rag_length
        if (
            len(taken) < MAX_RELATED
            and entry.id not in {*there, *taken}
            and not there.intersection(entry.facts)
            and not full
        ):
            taken[entry.id] = entry, beside
            held.append(entry.category)
    return list(taken.values())
