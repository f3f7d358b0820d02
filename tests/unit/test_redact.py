"""Redaction: marks, order of kinds, overlapping spans, codes of a home."""

from __future__ import annotations

import pytest

from memwarden.security.secrets.providers import SecretSpan
from memwarden.security.secrets.redact import holds_home_code, join_spans, looks_like_password, redact

AWS = "AKIA" + "Z3MHAXVPQ7DKWT2S"


def test_a_text_without_secrets_stays_as_it_is() -> None:
    for text in ("", "Ana lives in Graz.", "Order 4111 of 2026-05-08, 12 EUR", "\ud800 \x00"):
        assert redact(text).text == text
        assert redact(text).found == ()


def test_secrets_are_marked_from_left_to_right() -> None:
    card = "4111 1111 1111 1111"
    result = redact(f"Card {card}, key {AWS}, mail to ana@example.org.")
    assert card not in result.text
    assert AWS not in result.text
    assert result.text.count("[redacted:") == len(result.found) == 2
    assert result.text.startswith("Card [redacted:")
    assert result.text.endswith(", mail to ana@example.org.")
    assert [f"[redacted:{kind}]" in result.text for kind in result.found] == [True, True]


def test_digits_of_an_id_are_no_card() -> None:
    for name in ("49163640-3753-3606-cff1-6af0322dbfb2", "389728e0-8e2c-3899-6440-489180f98488"):
        assert redact(f"graph/entities/{name} was saved").found == ()
    assert redact("4916 3640 3753 3606, order 389728e0").found == ("card-number",)


def test_redacting_again_changes_nothing() -> None:
    once = redact(f"password: tigerLily9! {AWS}")
    assert once.found
    assert redact(once.text).text == once.text
    assert redact(once.text).found == ()


@pytest.mark.parametrize(
    ("spans", "joined"),
    [
        ([], []),
        ([(5, 9, "a"), (0, 3, "b")], [(0, 3, "b"), (5, 9, "a")]),
        ([(0, 5, "first"), (3, 9, "second")], [(0, 9, "first")]),
        ([(3, 9, "first"), (0, 5, "second")], [(0, 9, "first")]),
        ([(0, 3, "a"), (3, 6, "b")], [(0, 3, "a"), (3, 6, "b")]),  # neighbours do not overlap
        ([(0, 9, "outer"), (2, 4, "inner"), (8, 12, "end")], [(0, 12, "outer")]),
        ([(6, 8, "first"), (0, 4, "second"), (3, 7, "third")], [(0, 8, "first")]),
    ],
)
def test_overlapping_spans_are_joined_under_the_first_kind(
    spans: list[tuple[int, int, str]], joined: list[tuple[int, int, str]]
) -> None:
    assert join_spans(SecretSpan(*span) for span in spans) == [SecretSpan(*span) for span in joined]


def test_codes_of_a_home_are_kept_unless_redaction_is_strict() -> None:
    text = "The alarm panel takes 2580 and then the green button."
    assert redact(text).text == text
    assert holds_home_code(text)
    assert "2580" not in redact(text, strict=True).text
    assert not holds_home_code("We meet in room 2580.")


@pytest.mark.parametrize(
    ("value", "password"), [("tigerLily9!", True), ("Heron1972", True), ("sunflower", False), ("graz", False)]
)
def test_a_password_is_made_of_more_than_a_word(value: str, password: bool) -> None:
    assert looks_like_password(value) == password
