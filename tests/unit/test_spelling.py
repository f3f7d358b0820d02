"""Words of a question that are spelled otherwise in the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from law_stores import told

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


def test_without_models_a_long_word_is_looked_up_too() -> None:
    with told(SAID, config={"embedder": "none"}) as me:
        assert me.query("hazlnuts").items[0].memory.text == SAID[0]
