"""Words of a question that are spelled otherwise in the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from law_stores import DEFAULTS, told
from memwarden import Warden

SAID = (
    "I am allergic to hazelnuts, but almonds are fine.",
    "My sister Gwendolyn moved to Gdynia in May.",
    "I drive a silver Twingo.",
    "My house has a blue door.",
    "Wir haben die Haselnusstorte beim Konditor bestellt.",
    "J'ai acheté des noisettes au marché de Grenoble.",
    "Mi hermana trabaja en una panadería de Zaragoza.",
    "Моя сестра живёт в Екатеринбурге.",
)


@pytest.mark.parametrize(
    ("question", "answer", "word"),
    [
        ("Am I allergic to hazlnuts?", SAID[0], "hazelnuts"),  # a missing letter
        ("who moved to Gdynja", SAID[1], "gdynia"),  # a wrong one
        ("what car is the Twinngo", SAID[2], "twingo"),  # a doubled one
        ("What do you know of Gwednolyn?", SAID[1], "gwendolyn"),  # two that changed places
        ("WHAT ABOUT HAZLNUTS", SAID[0], "hazelnuts"),
        ("Was ist mit der Haselnustorte?", SAID[4], "haselnusstorte"),
        ("¿Quién trabaja en Zaragosa?", SAID[6], "zaragoza"),
        ("Кто живёт в Екатеринбруге?", SAID[7], "екатеринбурге"),
    ],
)
def test_a_mistyped_word_finds_what_holds_it(
    question: str, answer: str, word: str, remembered: Callable[[Sequence[str]], Any]
) -> None:
    first = remembered(SAID).query(question).items[0]
    assert first.memory.text == answer
    assert word in first.why.words


@pytest.mark.parametrize("question", ["Which door has my horse?", "Has my mouse a blue door?"])
def test_a_word_that_is_spelled_right_stays(question: str, remembered: Callable[[Sequence[str]], Any]) -> None:
    items = remembered(SAID).query(question, threshold=0.0).items
    assert items
    assert all("house" not in item.why.words for item in items)


@pytest.mark.parametrize(
    "question", ["Where is Twingu parked?", "Was macht Zwingo?", "x" * 8_000, "grmpf " * 50 + "hazlnuts"]
)
def test_a_name_an_endless_word_and_gibberish_stay(question: str, remembered: Callable[[Sequence[str]], Any]) -> None:
    items = remembered(SAID).query(question, threshold=0.0).items
    assert not {"twingo", "hazelnuts"} & {word.lower() for item in items for word in item.why.words}


def test_without_models_a_long_word_is_looked_up_too() -> None:
    with told(SAID, config={"embedder": "none"}) as me:
        assert me.query("hazlnuts").items[0].memory.text == SAID[0]


def test_a_corrected_question_is_one_question_in_two_namespaces() -> None:
    with Warden.open("memory://", DEFAULTS) as warden:
        me = warden.scope(user="ana", project="shop")
        for text in ("My dentist is Dr. Okafor.", "My dentist closes at five.", "My dentist is on Mill Lane."):
            me.remember(text)
        for text in ("Dr. Okafor is the tooth doctor of the whole team.", "Teeth are checked by Dr. Okafor."):
            warden.tiers.project("shop").add_decision(text, ["x"])
        assert len(me.query("Who is my dentits?", top_k=2).items) == 2
