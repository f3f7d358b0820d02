"""The relations in RAM, and what a relation lends to a rank (B2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memwarden.recall.index.encode import make_signals
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.index.view import Edges
from memwarden.recall.question import Question
from memwarden.recall.rank.neighbours import lend_by_relations
from memwarden.recall.rank.ranking import rank
from memwarden.records import Edge, Head, Scan
from memwarden.stores.shared.decide import index_row
from memwarden.testing.examples import START, a_memory
from memwarden.text.tokenizer import term_id

TEXTS = {"a": "Ana sails her boat", "b": "The boat is blue", "c": "Ben cooks soup", "d": "A lamp stands there"}

edges = st.builds(
    Edge,
    st.sampled_from("abc"),
    st.sampled_from("def"),
    st.sampled_from(["related_to", "supersedes"]),
    st.sampled_from([0.5, 0.75, 1.0]),
    st.booleans(),
).flatmap(lambda edge: st.sampled_from([edge, edge._replace(from_id=edge.to_id, to_id=edge.from_id)]))


@given(st.lists(st.lists(edges, max_size=4, unique_by=lambda edge: edge[:3]), max_size=6))
def test_edges_that_followed_are_those_that_are_left(scans: list[list[Edge]]) -> None:
    followed = Edges()
    left: dict[tuple[str, str, str], float] = {}
    for scan in scans:
        followed.follow(scan)
        for edge in scan:
            left.pop(edge[:3], None)
            if edge.live:
                left[edge[:3]] = edge.strength
    assert len(followed) == len(left)
    for item in "abcdef":
        ends = [((end, kind), s) for (a, b, kind), s in left.items() for me, end in ((a, b), (b, a)) if me == item]
        assert followed.of(item) == {key: max(s for other, s in ends if other == key) for key, _ in ends}
    places = {name: place for place, name in enumerate("abcde")}  # f has none
    wanted = sorted(
        (places[item], places[other], s)
        for (a, b, kind), s in left.items()
        for item, other in ((a, b), (b, a))
        if kind == "related_to" and {a, b} <= places.keys()
    )
    joined = followed.list_related(places)
    if joined is None:
        assert not wanted
        return
    counts = np.diff(np.append(joined.starts, len(joined.others)))
    assert np.repeat(joined.places, counts).tolist() == joined.owners.tolist()
    assert sorted(zip(joined.owners.tolist(), joined.others.tolist(), joined.strengths.tolist(), strict=True)) == wanted


def an_index(*links: Edge) -> NamespaceIndex:
    rows = []
    for number, (name, text) in enumerate(TEXTS.items(), 1):
        (signals,) = make_signals([(text, START)], None)
        rows.append(index_row(number, a_memory(name, text=text), signals))
    index = NamespaceIndex(3_600_000_000, None)
    index.follow(Scan(rows, Head(len(rows), 0), list(links)))
    return index


def about_boats() -> Question:
    return Question("boat", (term_id("boat"),), (0.001,), ("boat",), ("boat",))


TOTAL = np.array([4.0, 3.0, 1.0, 1.0], np.float32)


def lent(*links: Edge, allowed: str = "abcd") -> list[float]:
    """What relations lend to the four texts, which score as TOTAL says."""
    mask = np.array([name in allowed for name in TEXTS])
    return [round(float(item), 6) for item in lend_by_relations(an_index(*links).view, TOTAL, mask)]


def link(text: str, other: str, strength: float, **fields: Any) -> Edge:
    return Edge(text, other, "related_to", strength, True)._replace(**fields)


def test_a_relation_lends_strength_times_what_the_other_end_has_more() -> None:
    assert lent() == [0, 0, 0, 0]
    assert lent(link("c", "a", 0.5)) == [0, 0, 1.5, 0]  # a has more than c, and gains nothing
    assert lent(link("c", "a", 0.5), link("b", "c", 0.9), link("d", "c", 1.0)) == [0, 0, 1.8, 0]
    assert lent(link("a", "b", 0.5)) == [0, 0.5, 0, 0]
    assert lent(link("c", "a", 0.5, type="supersedes")) == [0, 0, 0, 0]
    assert lent(link("c", "a", 0.5, live=False)) == [0, 0, 0, 0]
    assert lent(link("c", "a", 0.5), allowed="bcd") == [0, 0, 0, 0]  # what may not be in the answer lends nothing


def test_what_is_related_to_a_better_memory_rises_and_says_why() -> None:
    view = an_index(link("c", "a", 0.8)).view
    ranking = rank(about_boats(), view, view.alive, relation_weight=0.25)
    without = rank(about_boats(), an_index().view, view.alive)
    assert ranking.scores[2] > without.scores[2]
    assert ranking.scores[3] == without.scores[3]
    assert (ranking.moves_of(2), ranking.moves_of(3), without.moves_of(2)) == (("related",), (), ())
