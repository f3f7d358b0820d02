"""Same fact, new value, related, different: what each rule decides and what each guard stops."""

from __future__ import annotations

import pytest

from memwarden.remember.same_fact import judge

SAME = [
    ("Otto lives in Graz.", "Otto resides in Graz."),
    ("The choir is led by Bea.", "Bea leads the choir."),
    ("Otto has a dog named Wolf.", "Otto's dog is called Wolf."),
    ("Bea works as a baker.", "Bea is a baker."),
    ("Otto doesn't like plums.", "Otto dislikes plums."),
    ("On Fridays Otto swims.", "Otto swims every Friday."),
    ("Bea's favourite dish is goulash.", "Goulash is Bea's favorite food."),
    ("The fee is 20 euros.", "The fee is €20."),
]

SUPERSEDE = [
    ("Otto lives in Graz.", "Otto lives in Linz now.", "new value"),
    ("Bea eats cheese.", "Bea does not eat cheese.", "negation"),
    ("The rent is 700 euros.", "The rent is 750 euros.", "number or day"),
    ("Otto smokes.", "Otto used to smoke.", "used to"),
    ("Otto passed the test.", "Otto failed the test.", "opposite"),
    ("All doors are locked.", "Most doors are locked.", "quantifier"),
]


@pytest.mark.parametrize(("old", "new"), SAME)
def test_the_same_in_other_words_is_the_same(old: str, new: str) -> None:
    assert judge(old, new).label == judge(new, old).label == "same"


@pytest.mark.parametrize(("old", "new", "rule"), SUPERSEDE)
def test_a_new_value_supersedes(old: str, new: str, rule: str) -> None:
    found = judge(old, new)
    assert (found.label, found.rule) == ("supersede", rule)
