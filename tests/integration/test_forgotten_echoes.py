"""An answer of the assistant that repeats what is forgotten is named, and stays until somebody forgets it."""

from __future__ import annotations

import pytest

from memwarden import Warden
from memwarden.remember.echoes import repeats

CONFIG = {"embedder": "none"}


def test_forgetting_names_the_answer_that_repeats_the_fact(warden: Warden) -> None:
    me = warden.scope(user="ana", thread="t")
    said, answer, other, thanks = me.observe(
        [
            {"role": "user", "content": "The code of my bike lock is 4711."},
            {"role": "assistant", "content": "Noted: the code of your bike lock is 4711."},
            {"role": "user", "content": "I also have a canoe."},
            {"role": "assistant", "content": "Great, enjoy!"},
        ]
    ).results
    forgotten = me.forget(str(said.id)).results[0]
    assert str(answer.id) in forgotten.reason
    assert str(thanks.id) not in forgotten.reason
    assert me.get(str(answer.id)).text.startswith("Noted")
    assert me.forget(str(answer.id)).results[0].reason == ""
    assert not any("4711" in memory.text for memory in me.find())
    assert me.forget(str(other.id)).results[0].reason == ""


def test_both_at_once_leave_nothing_to_name(warden: Warden) -> None:
    me = warden.scope(user="ana", thread="t")
    told = me.observe(
        [
            {"role": "user", "content": "I live in Bern."},
            {"role": "assistant", "content": "Bern is a good place to live."},
        ]
    ).results
    assert [item.reason for item in me.forget([str(item.id) for item in told]).results] == ["", ""]


@pytest.mark.parametrize(
    ("answer", "told", "expected"),
    [
        ("Noted: you live in Bern.", "I live in Bern.", True),
        ("Dein Zahnarzt ist also Dr. Keller.", "Mein Zahnarzt ist Dr. Keller.", True),
        ("Which colour do you like?", "I live in Bern.", False),
        ("Thanks!", "I live in Bern.", False),
    ],
)
def test_an_answer_repeats_what_it_shares(answer: str, told: str, expected: bool) -> None:
    assert repeats(answer, told) == expected
