"""Duplicates, and what keeps two statements apart."""

from __future__ import annotations

import pytest
from same_fact_pairs import APART

from memwarden.remember.resolve.same_fact import Judgement, judge

SAME = [
    ("Otto lives in Graz.", "otto lives in graz"),
    ("Bea's vet is Dr. Rot", "Bea's vet is Dr. Rot!"),
    ("Otto wohnt  in Graz.", "Otto wohnt in Graz"),
    ("花は東京に住んでいる。", "花は東京に住んでいる"),
    ("Anna lubi psy!", "anna lubi  psy"),
]
GUARDED = [
    ("date", "The call is on Monday.", "The call is on Friday."),
    ("name", "Anna works with Kai.", "Anna works with Bea."),
    ("negation", "Otto is ill.", "Otto is not ill."),
    ("number", "Otto has two sons.", "Otto has three sons."),
    ("question", "Is Bea a vet?", "Bea is a vet."),
    ("relation", "My wife is ill.", "My husband is ill."),
    ("code", "The log is in /var/log.", "The log is in /var/Log."),
]
DECIDED = [
    ("Otto lives in Graz.", "Otto lives in Linz now.", "supersede", "moved"),
    ("The rent is 700 euros.", "The rent is 750 euros.", "supersede", "new value"),
    ("The deadline is 3 May.", "The deadline is 4 May.", "supersede", "new value"),
    ("Otto eats cheese.", "Otto does not eat cheese.", "supersede", "denied"),
    ("Otto works at Bosch.", "Otto no longer works at Bosch.", "supersede", "denied"),
    ("Otto lives in Graz.", "Otto's aunt moved to Linz.", "different", "apart"),
    ("Otto plays chess.", "Bea plays chess.", "link", "related"),
    ("Anna lubi psy.", "Marek pije mleko.", "different", "apart"),
]


@pytest.mark.parametrize(("old", "new"), SAME)
def test_a_duplicate_is_the_same(old: str, new: str) -> None:
    assert judge(old, new) == judge(new, old) == Judgement("same", "equal")


@pytest.mark.parametrize(("guard", "old", "new"), GUARDED)
def test_each_guard_is_named(guard: str, old: str, new: str) -> None:
    assert guard in judge(old, new).guards
    assert judge(old, new).label != "same"


@pytest.mark.parametrize(("old", "new", "label", "rule"), DECIDED)
def test_each_rule_decides(old: str, new: str, label: str, rule: str) -> None:
    found = judge(old, new)
    assert (found.label, found.rule) == (label, rule)


@pytest.mark.parametrize("kind", list(APART))
def test_lookalikes_are_not_the_same(kind: str) -> None:
    leaks = [pair for pair in APART[kind] if "same" in (judge(*pair).label, judge(*reversed(pair)).label)]
    assert leaks == []


def test_a_near_vector_sends_an_undecided_pair_to_be_checked_and_never_merges() -> None:
    undecided = ("Otto plays the harp in Graz.", "The harp of Otto in Graz is old.")
    assert judge(*undecided).label == "link"
    assert judge(*undecided, cosine=0.54).label == "link"
    assert judge(*undecided, cosine=0.55) == Judgement("check", "near", ())
    assert judge("Otto is ill.", "Otto is not ill.", cosine=1.0).label == "supersede"
    assert judge("Otto lives in Graz.", "otto lives in graz", cosine=-1.0).label == "same"


def test_a_quotation_is_judged_by_the_words_that_it_quotes() -> None:
    old = 'Ana, 4 March 2026: "I live in Graz."'
    assert judge(old, 'Ana, 6 May 2026: "I moved to Linz."').label == "supersede"
    assert judge(old, 'Ana, 6 May 2026: "I live in Graz."').label == "same"


@pytest.mark.parametrize("shown", ["Ana: 'So that is the flat.' – ", "The assistant: 'Where do you live?' – "])
def test_words_that_need_others_beside_them_are_ended_by_none(shown: str) -> None:
    old = shown + 'Ana, 4 March 2026: "I live in Graz."'
    assert judge(old, 'Ana, 6 May 2026: "I moved to Linz."').label == "different"
    assert judge(old, 'Ana, 6 May 2026: "I live in Graz."').label == "same"
