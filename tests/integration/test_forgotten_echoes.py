"""An answer of the assistant that repeats what is forgotten is named, and stays until somebody forgets it."""

from __future__ import annotations

import pytest

from memwarden import Warden
from memwarden.remember.echoes import list_echoes, repeats

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
        ("I put 4711 on the list.", "The code of my bike lock is 4711.", True),
        ("Zoe should stay away from peanuts.", "My daughter Zoe is 9, she is allergic to peanuts.", True),
        ("Zoé devrait éviter les arachides.", "Ma fille Zoé a 9 ans, elle est allergique aux arachides.", True),
        ("Zoe called.", "My daughter Zoe is 9, she is allergic to peanuts.", False),
        ("The Olympic games of 2024 were held in Paris.", "I bought the flat in 2024.", False),
        ("It takes 12 minutes.", "I have 12 cats and a boat in Bergen.", False),
    ],
)
def test_an_answer_repeats_what_it_shares(answer: str, told: str, expected: bool) -> None:
    assert repeats(answer, told) == expected


def test_a_correction_names_the_answer_that_repeats_the_wrong_words(warden: Warden) -> None:
    me = warden.scope(user="ana", thread="t")
    said, answer, other = me.observe(
        [
            {"role": "user", "content": "I live in Bern. My bike code is 4711."},
            {"role": "assistant", "content": "Noted: you live in Bern."},
            {"role": "assistant", "content": "And the code of your bike is 4711."},
        ]
    ).results
    corrected = me.update(str(said.id), text="I live in Basel.", quote="I live in Bern.")
    reason = corrected.results[0].reason
    assert reason.startswith("replaces message")
    assert str(answer.id) in reason
    assert str(other.id) not in reason
    assert list_echoes(corrected) == [answer.id]
    assert list_echoes(me.forget(str(answer.id))) == []
