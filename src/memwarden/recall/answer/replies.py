"""Joins a question and its reply into a single item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from memwarden.recall.answer.gates import Gates
from memwarden.recall.answer.searches import Found
from memwarden.recall.answer.select import Candidate, Partner, Selection, rests_on_ended
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.rank.currency import says_one_thing

# Terms of a reply that says little without its question.
SHORT_REPLY: Final = 3


def find_partners(index: NamespaceIndex, gates: Gates, candidates: Iterable[Candidate]) -> dict[int, Partner]:
    """Map each place to the turn that is shown with it: a question to its reply, a short reply to its question.

    The reply is the next turn of the talk, by another speaker, and asks nothing. Neither is long. A turn for which
    other memories stand has no partner.
    """
    view = index.view
    partners: dict[int, Partner] = {}
    for candidate in candidates:
        place = candidate.place
        if not view.turns[place] or candidate.facts:
            continue
        if view.asks_question[place]:
            question, reply = place, int(view.following[place])
        elif view.length[place] <= SHORT_REPLY:
            question, reply = int(view.previous[place]), place
        else:
            continue
        partner = Partner(reply, replies=True) if question == place else Partner(question, replies=False)
        if partner.place >= 0 and _is_exchange(index, question, reply) and _may_be_shown(index, gates, partner.place):
            partners[place] = partner
    return partners


def _is_exchange(index: NamespaceIndex, question: int, reply: int) -> bool:
    """Whether a turn asks, and the next one is by another speaker, asks nothing, and neither is long."""
    view = index.view
    names, roles = index.columns.coded["name"].codes, index.columns.coded["role"].codes
    alike = names[question] == names[reply] and roles[question] == roles[reply]
    # With the long replies of an assistant fewer memories fit into a block (docs/why/recall.md).
    short = says_one_thing(view, np.array([question, reply])).all()
    return bool(view.asks_question[question] and not view.asks_question[reply] and short and not alike)


def _may_be_shown(index: NamespaceIndex, gates: Gates, place: int) -> bool:
    if not gates.besides[place] or index.view.chatter[place]:
        return False
    # A quotation or an index card stands for no turn in an answer.
    if any(gates.own is None or gates.own[fact] for fact in index.facts_on(place)):
        return False
    return not rests_on_ended(index, gates.valid, gates.own, place)


def join_partners(selection: Selection, partners: Mapping[int, Partner], found: Found) -> None:
    """Give each candidate its partner, the best candidates first. Each turn is shown once."""
    shown: set[int] = set()
    ranked: list[Candidate] = []
    for item in selection.ranked:
        if item.place in shown:
            selection.left_out.append((item, "joined"))
            continue
        shown.add(item.place)
        partner = partners.get(item.place)
        if partner is not None and partner.place in found and partner.place not in shown:
            shown.add(partner.place)
            item = item._replace(partner=partner)
        ranked.append(item)
    selection.ranked = ranked
