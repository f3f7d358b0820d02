"""What is redacted of secrets in many formats, and what is left alone."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from secret_texts import NAMED, TOKENS, Case, cases

from memwarden.security.secrets import RedactedText, redact
from memwarden.security.secrets.checksums import is_card_number
from memwarden.security.secrets.providers import SecretSpan, provider_rules
from memwarden.security.secrets.redact import join_spans

CASES = list(cases())


def leaves(case: Case) -> bool:
    """Whether eight signs in a row of the secret are still there, or all of a shorter one."""
    text, size = redact(case.text).text, min(8, len(case.secret))
    return any(case.secret[at : at + size] in text for at in range(len(case.secret) - size + 1))


def test_there_is_enough_of_everything() -> None:
    assert len(CASES) >= 200
    assert len(TOKENS) + len(NAMED) >= 20


def test_of_all_secrets_at_least_95_of_100_go_and_of_each_format_at_least_half() -> None:
    left = [case for case in CASES if leaves(case)]
    assert len(left) <= 0.05 * len(CASES), left
    formats = Counter(case.format for case in CASES)
    assert all(count <= formats[name] / 2 for name, count in Counter(case.format for case in left).items()), left


def test_what_stands_around_a_secret_stays() -> None:
    for case in CASES:
        before, _, after = case.text.partition(case.secret)
        redacted = redact(case.text).text
        assert redacted.startswith(before[:20])
        assert redacted.endswith(after[-10:])


def test_a_mark_names_the_kind_and_found_counts() -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"
    assert redact(f"use {token}.") == RedactedText("use [redacted:github-pat].", ("github-pat",))
    assert redact("My password is hunter2, my PIN is 4821").found == ("password", "pin")
    assert redact("postgres://ada:s3cr3t-w0rd@db/shop").text == "postgres://ada:[redacted:url-password]@db/shop"
    assert redact("nothing here") == RedactedText("nothing here", ())


@pytest.mark.parametrize(
    "text",
    [
        "My password is too weak, I have to change it.",
        "The password is incorrect. Passwords must have at least 12 characters.",
        "password = request.form['password']",
        "password: str = Field(min_length=8)",
        "def login(user: str, password: str) -> Token:",
        "DB_PASSWORD=${DB_PASSWORD}",
        "api_key=<your-api-key>",
        "password=********",
        "The key is to listen. The secret is patience, the token is a symbol.",
        "Mein Passwort ist zu kurz.",
        "Mi contraseña es muy débil.",
        "Order 4111 1111 1111 1112 has shipped.",
        "Call +49 170 1234567 or 0049 30 901820.",
        "ISBN 978-3-16-148410-0, IBAN DE89 3704 0044 0532 0130 01",
        "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b was reverted",
        "https://example.com:8080/path?q=2024-01-01T10:20:30Z&page=12",
        "id: 123e4567-e89b-12d3-a456-426614174000",
        "LinkedIn, communications and so on",
        "The Internationalization-and-localization-of-software chapter",
        "Token bucket, secret santa, key lime pie, pass the salt",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redact(text) == RedactedText(text, ())


PIECES = [
    "password: ",
    "my PIN is ",
    "ghp_",
    "AKIA",
    "sk-",
    "eyJ",
    ".",
    "4111 1111 1111 1111",
    " ",
    "\n",
    "=",
    "://a:b@",
    "İ",
    "密码是",
    "[redacted:x]",
]


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=40)), max_size=12).map("".join))
@example("AGE-SECRET-KEY-1" + "Q" * 58 + "AKIA" + "A" * 16)
@example("password: [redacted:password] x1y2z3w4")
@example("\ud800 my password is a1b2c3d4")
def test_redacting_again_changes_nothing(text: str) -> None:
    once = redact(text)
    assert redact(once.text) == RedactedText(once.text, ())
    assert (once.text == text) == (not once.found)


@pytest.mark.parametrize("case", CASES[::7], ids=lambda case: case.format)
def test_redacting_a_secret_again_changes_nothing(case: Case) -> None:
    once = redact(case.text)
    assert redact(once.text) == RedactedText(once.text, ())


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "1",
        "1 ",
        "-",
        "eyJ",
        "-eyJ",
        "ghp_",
        "-glpat-",
        "password",
        "password=a",
        "my password is ",
        "://a:",
        "xapp-1-",
        " ",
        "\n",
        "-----BEGIN ",
        "İ",
    ],
)
def test_long_hostile_texts_end(unit: str) -> None:
    # No pattern may take time in a power of the length: with one that does, these would run for hours.
    redact(unit * (100_000 // len(unit)))
    redact(unit * (20_000 // len(unit)) + "!")


def test_all_rules_of_the_file_are_read_and_compile() -> None:
    assert len(provider_rules()) > 200
    assert all(re.compile(rule.pattern, re.ASCII) for rule in provider_rules())
    assert all(rule.keywords and all(word == word.lower() for word in rule.keywords) for rule in provider_rules())


def test_card_numbers() -> None:
    assert is_card_number([int(sign) for sign in "4111111111111111"])
    assert is_card_number([int(sign) for sign in "378282246310005"])
    assert not is_card_number([int(sign) for sign in "4111111111111112"])
    assert not is_card_number([int(sign) for sign in "9111111111111110"])
    assert redact("Karte: ٤١١١ ١١١١ ١١١١ ١١١١").found == ("card-number",)


def test_spans_that_overlap_become_one_of_the_better_kind() -> None:
    assert join_spans([SecretSpan(5, 9, "token"), SecretSpan(0, 7, "password"), SecretSpan(9, 12, "pin")]) == [
        SecretSpan(0, 9, "token"),
        SecretSpan(9, 12, "pin"),
    ]
