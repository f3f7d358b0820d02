"""What a new statement does to its neighbours, decided without a store."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memwarden.recall.nearby import NearbyMemory
from memwarden.records import Event, Link, Memory, MemoryState, Put, Remove
from memwarden.remember.resolve.resolution import (
    Band,
    NeighbourPair,
    Resolution,
    are_comparable,
    close_stored,
    is_open_at,
    judge_pair,
    may_merge,
    merge_stored,
    resolve,
)
from memwarden.remember.resolve.same_fact import Judgement
from memwarden.testing.examples import SIGNALS, START, a_memory

CARD = "card"
DOCUMENT = "document_id"
EXTRACTED_BY = "memwarden"

MAX_LINKS = 5
MAX_SOURCES = 64
MAX_SUPERSEDED = 3

AT = START + timedelta(days=9)


def a_pair(
    old: Memory, label: str, *, newer: bool = True, score: float = 0.9, guards: tuple[str, ...] = ()
) -> NeighbourPair:
    judgement = Judgement(label, "a rule", guards)  # type: ignore[arg-type]
    return NeighbourPair(old, NearbyMemory(old.id, 0.8, score), judgement, newer)


def settled(new: Memory, *pairs: NeighbourPair, link_min: float = 0.55) -> Resolution:
    return resolve(new, SIGNALS, pairs, AT, step=4, link_min=link_min)


def kinds(resolution: Resolution) -> list[str]:
    return [type(change).__name__ for change in resolution.changes]


@pytest.mark.parametrize(
    ("label", "band"),
    [("same", "auto"), ("supersede", "auto"), ("check", "check"), ("link", "fallback"), ("different", "below")],
)
def test_every_judgement_falls_in_one_band(label: str, band: str) -> None:
    assert a_pair(a_memory("a"), label).band == Band(band)


def test_a_statement_without_neighbours_is_created() -> None:
    item = settled(a_memory("new"))
    assert (kinds(item), item.outcome, item.id) == (["Put"], "created", "new")


def test_the_same_fact_is_merged_into_the_known_one() -> None:
    old = a_memory("old", sources=("m1",), tags=("a",), importance=0.4, text="Ana lives in Berlin.")
    new = a_memory("new", sources=("m1", "m2"), tags=("b",), importance=0.9, pinned=True, text="Ana's home is Berlin.")
    item = settled(new, a_pair(old, "same"))
    added, merged, gone = item.changes
    assert (item.outcome, item.id) == ("merged", "old")
    assert isinstance(added, Put)
    assert (added.memory, added.step) == (new, 4)
    assert isinstance(merged, Put)
    assert merged.memory == replace(
        old, sources=("m1", "m2"), tags=("a", "b"), importance=0.9, pinned=True, updated_at=AT
    )
    assert (merged.event, merged.step, merged.signals) == (Event.MERGE, 5, None)
    assert merged.meta == {"of": "new", "band": "auto", "rule": "a rule", "cosine": 0.8}
    assert isinstance(gone, Remove)
    assert (gone.id, gone.state, gone.event, gone.step) == ("new", MemoryState.MERGED, Event.MERGE, 5)
    assert gone.meta == {"into": "old", "band": "auto", "rule": "a rule", "cosine": 0.8}


def test_a_merge_keeps_a_bounded_number_of_sources() -> None:
    old = a_memory("old", sources=tuple(f"m{number}" for number in range(MAX_SOURCES)))
    item = settled(a_memory("new", sources=("last",)), a_pair(old, "same"))
    assert len(item.touched[0].sources) == MAX_SOURCES
    assert item.touched[0].sources[-1] == "last"


@pytest.mark.parametrize("change", [{"category": "work"}, {"channel": "insight"}])
def test_a_merge_never_moves_words_to_other_readers(change: dict[str, Any]) -> None:
    item = settled(a_memory("new"), a_pair(a_memory("old", **change), "same"))
    assert item.outcome == "created"


def test_a_new_value_closes_the_old_one_where_it_begins() -> None:
    old = a_memory("old", created_at=START - timedelta(days=3))
    new = a_memory("new", valid_from=START + timedelta(days=1))
    item = settled(new, a_pair(old, "supersede", guards=("number",)))
    added, closed, link = item.changes
    assert (item.outcome, item.id, item.reason) == ("superseded", "new", "replaces old (rule: a rule)")
    assert isinstance(added, Put)
    assert added.step == 4
    assert isinstance(closed, Put)
    assert closed.memory == replace(old, valid_to=new.valid_from, updated_at=AT)
    assert (closed.event, closed.step) == (Event.SUPERSEDE, 5)
    assert closed.meta == {"by": "new", "band": "auto", "rule": "a rule", "guards": ["number"], "cosine": 0.8}
    assert link == Link("new", "old", "supersedes", step=5)


def test_a_validity_never_ends_before_it_begins() -> None:
    old = a_memory("old", valid_from=START + timedelta(days=5))
    item = settled(a_memory("new"), a_pair(old, "supersede"))
    assert item.touched[1].valid_to == old.valid_from


def test_one_statement_replaces_few() -> None:
    pairs = [a_pair(a_memory(f"old{number}"), "supersede") for number in range(MAX_SUPERSEDED + 2)]
    item = settled(a_memory("new"), *pairs)
    assert len(item.touched) == 1 + MAX_SUPERSEDED


def test_what_was_said_earlier_and_is_told_later_is_born_closed() -> None:
    known = a_memory("known", created_at=START + timedelta(days=2))
    item = settled(a_memory("new"), a_pair(known, "supersede", newer=False))
    added, link = item.changes
    assert isinstance(added, Put)
    assert added.memory.valid_to == known.created_at
    assert link == Link("known", "new", "supersedes", step=4)
    assert (item.outcome, "known" in item.reason) == ("created", True)


def test_pairs_are_judged_the_older_one_first() -> None:
    berlin = a_memory("b", text="Ana lives in Berlin.", created_at=START)
    lisbon = a_memory("l", text="Ana lives in Lisbon now.", created_at=START + timedelta(days=1))
    near = NearbyMemory("x", 0.44, 0.9)
    assert (judge_pair(lisbon, berlin, near).judgement.label, judge_pair(lisbon, berlin, near).newer) == (
        "supersede",
        True,
    )
    told_late = judge_pair(berlin, lisbon, near)
    assert (told_late.judgement.label, told_late.newer) == ("supersede", False)


def test_near_ones_are_linked_the_strongest_first() -> None:
    scores = [0.6, 0.54, 0.9, 0.7, 0.65, 0.8, 0.55]
    pairs = [a_pair(a_memory(f"m{score}"), "different", score=score) for score in scores]
    item = settled(a_memory("new"), *pairs)
    links = [change for change in item.changes if isinstance(change, Link)]
    assert [link.strength for link in links] == [0.9, 0.8, 0.7, 0.65, 0.6]
    assert len(links) == MAX_LINKS
    assert {(link.from_id, link.type, link.step) for link in links} == {("new", "related_to", 4)}


@pytest.mark.parametrize("label", ["check", "link"])
def test_a_close_call_says_so_in_the_journal(label: str) -> None:
    item = settled(a_memory("new"), a_pair(a_memory("old"), label, guards=("order",)))
    assert item.outcome == "created"
    assert item.changes[0].meta == {
        "near": "old",
        "band": "check" if label == "check" else "fallback",
        "rule": "a rule",
        "guards": ["order"],
        "cosine": 0.8,
    }


def test_a_quotation_stands_for_a_turn_and_is_linked_to_nothing() -> None:
    quoted = a_memory("new", tags=("quotation",))
    assert kinds(settled(quoted, a_pair(a_memory("old"), "different"))) == ["Put"]
    assert kinds(settled(a_memory("new"), a_pair(a_memory("old", tags=("quotation",)), "different"))) == ["Put"]
    assert kinds(settled(a_memory("new"), a_pair(a_memory("old"), "different"))) == ["Put", "Link"]


@pytest.mark.parametrize(
    ("new", "old", "merged"),
    [
        ({}, {}, True),
        ({"channel": "episodic"}, {}, False),
        ({"trust": "external"}, {}, False),
        ({"category": "work"}, {}, False),
        ({"payload": {"a": 1}}, {}, True),
        ({}, {"payload": {"a": 1}}, True),
        ({"payload": {"a": 1}}, {"payload": {"a": 1, "b": 2}}, True),
        ({"payload": {"a": 1}}, {"payload": {"a": 2}}, False),
        ({"payload": {DOCUMENT: "d1"}}, {}, False),
        ({"payload": {DOCUMENT: "d1"}}, {"payload": {DOCUMENT: "d1"}}, True),
        # Categories of extracts are guesses, an agent's own category is not.
        ({"actor_id": EXTRACTED_BY, "category": "work"}, {"category": "activity"}, True),
        ({"actor_id": EXTRACTED_BY, "category": "work"}, {"category": "health"}, False),
        ({"actor_id": EXTRACTED_BY, "category": "work"}, {"category": "health", "actor_id": EXTRACTED_BY}, True),
        ({"actor_id": EXTRACTED_BY, "category": "agent:a"}, {"category": "activity"}, False),
        ({"category": "work"}, {"category": "activity", "actor_id": EXTRACTED_BY}, False),
    ],
)
def test_a_merge_loses_nothing(new: dict[str, Any], old: dict[str, Any], merged: bool) -> None:
    plain = {"channel": "semantic", "category": "activity"}
    assert may_merge(a_memory("n", **{**plain, **new}), a_memory("o", **{**plain, **old})) == merged


def test_stored_statements_are_merged_and_closed_by_decisions_of_two_changes() -> None:
    stays, goes = a_memory("a", sources=("s1",), importance=0.2), a_memory("b", sources=("s2",), importance=0.6)
    merge = merge_stored(stays, goes, AT, 3, {"rule": "r"})
    assert kinds(merge) == ["Put", "Remove"]
    assert (merge.touched[0].sources, merge.touched[0].importance) == (("s1", "s2"), 0.6)
    assert merge.touched[0].text == stays.text
    later = a_memory("c", created_at=AT)
    close = close_stored(stays, later, AT, 3, {"rule": "r"})
    assert kinds(close) == ["Put", "Link"]
    assert close.touched[0].valid_to == AT


def test_an_extract_is_open_until_its_end_and_a_stated_end_holds() -> None:
    later = AT + timedelta(seconds=1)
    assert is_open_at(a_memory("m"), AT)
    assert is_open_at(a_memory("m", valid_to=later, actor_id=EXTRACTED_BY), AT)
    assert not is_open_at(a_memory("m", valid_to=AT, actor_id=EXTRACTED_BY), AT)
    assert not is_open_at(a_memory("m", valid_to=later), AT)


@pytest.mark.parametrize(
    ("new", "old", "comparable"),
    [
        ({}, {}, True),
        ({"trust": "external"}, {"trust": "person"}, False),
        ({"trust": "person"}, {"trust": "external"}, True),
        ({"channel": "episodic"}, {}, True),  # an event ends a state
        ({"channel": "insight"}, {}, False),
        ({"name": "Ana"}, {"name": "Ben"}, False),
        ({}, {"channel": "episodic", "tags": (CARD,), "actor_id": EXTRACTED_BY}, False),
    ],
)
def test_statements_of_a_speaker_are_compared(new: dict[str, Any], old: dict[str, Any], comparable: bool) -> None:
    assert (
        are_comparable(a_memory("n", **{"channel": "semantic", **new}), a_memory("o", **{"channel": "semantic", **old}))
        == comparable
    )


def test_a_statement_is_not_compared_with_itself() -> None:
    assert not are_comparable(a_memory("n", channel="semantic"), a_memory("n", channel="semantic"))
