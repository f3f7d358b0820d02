"""Texts that deny something."""

from __future__ import annotations

import pytest

from memwarden.text.negation import denies


@pytest.mark.parametrize(
    "text",
    ["I don't eat fish.", "I don’t eat fish.", "Never again.", "Ich mag keine Oliven.", "No tengo coche.",
     "Je ne fume pas.", "Non mangio formaggio.", "我不吃鱼。"],
)  # fmt: skip
def test_a_denial_is_found_in_any_language(text: str) -> None:
    assert denies(text)


@pytest.mark.parametrize("text", ["I eat fish.", "Ich mag Oliven.", "Tengo coche.", "Je fume.", "我吃鱼。"])
def test_an_affirmation_denies_nothing(text: str) -> None:
    assert not denies(text)
