"""Forms of a word with one letter changed."""

from __future__ import annotations

import pytest

from memwarden.text.misspelling import change_one_letter


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("hazlnut", "hazelnut"),
        ("comittee", "committee"),
        ("twinngo", "twingo"),
        ("gdynja", "gdynia"),
        ("hosue", "house"),
        ("кошкаа", "кошка"),
    ],
)
def test_one_letter_is_added_removed_replaced_or_swapped(word: str, form: str) -> None:
    assert form in set(change_one_letter(word))


def test_other_scripts_have_no_forms() -> None:
    assert list(change_one_letter("犬")) == []
