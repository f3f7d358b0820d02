"""Chances of a whole answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from memwarden.recall.evidence.answer import is_unsure, kind_of
from memwarden.recall.rank.shape import plainness_of

LONG = "Could you please look up which bakery in Lyon sold the walnut bread that Nora praised?"


@pytest.mark.parametrize(
    ("confidence", "relevant", "message", "unsure"),
    [(0.8, False, LONG, True), (0.8, True, LONG, False), (0.1, False, LONG, False), (0.8, False, "and in May?", False)],
)
def test_an_empty_block_is_unsure_if_the_answer_may_be_in_the_store(
    confidence: float, relevant: bool, message: str, unsure: bool
) -> None:
    assert is_unsure(confidence, relevant, message) == unsure


def kind(signals: str, english: bool, model: str | None) -> str:
    question: Any = SimpleNamespace(english=english)
    combined: Any = SimpleNamespace(closeness=SimpleNamespace(kind=signals))
    return kind_of(question, combined, model)


def test_weights_are_those_of_the_models_at_hand() -> None:
    assert kind("both", True, "all-minilm-l6-v2") == "both"
    assert kind("both", False, "all-minilm-l6-v2") == "multilingual"
    assert kind("both", True, "other-model") == "multilingual"
    assert kind("first", True, "all-minilm-l6-v2") == "first"
    assert kind("first", True, "wordllama") == "wordllama"
    assert kind("first", True, "other-model") == "words"
    assert kind("words", True, None) == "words"


def test_short_texts_are_plain_and_long_texts_are_not() -> None:
    def plainness(*lengths: float) -> float:
        view: Any = SimpleNamespace(length=np.array(lengths, np.float32))
        return plainness_of(view, np.ones(len(lengths), np.bool_))

    assert plainness(2, 3, 2) > 0.9
    assert plainness(40, 60) < 0.01
    assert plainness(2, 2) > plainness(2, 8)
