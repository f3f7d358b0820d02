"""Check digits of account numbers, cards and wallet keys, by published examples."""

from __future__ import annotations

import pytest

from memwarden.security.secrets.checksums import is_card_number, is_iban, is_wallet_key


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("DE89370400440532013000", True),
        ("GB29 NWBK 6016 1331 9268 19", True),
        ("NO9386011117947", True),
        ("DE89370400440532013001", False),
        ("DE98370400440532013000", False),
        ("GB29NWBK60161331926", False),
        ("DE89", False),
    ],
)
def test_account_numbers(text: str, right: bool) -> None:
    assert is_iban(text) == right


@pytest.mark.parametrize(
    ("number", "right"),
    [
        ("4111111111111111", True),
        ("5555555555554444", True),
        ("2223003122003222", True),
        ("378282246310005", True),
        ("30569309025904", True),
        ("6011111111111117", True),
        ("3530111333300000", True),
        ("4111111111111112", False),  # its check digit is 1
        ("411111111111111", False),  # too short for Visa
        ("0000000000000000", False),  # nobody issues it
        ("79927398713", False),  # right check digit, and no card is as short
    ],
)
def test_card_numbers(number: str, right: bool) -> None:
    assert is_card_number([int(digit) for digit in number]) == right


@pytest.mark.parametrize(
    ("key", "right"),
    [
        ("5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ", True),
        ("KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn", True),
        ("5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTj", False),
        ("5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyT0", False),  # 0 is not a character of Base58
        ("z" * 90, False),
        ("", False),
    ],
)
def test_wallet_keys(key: str, right: bool) -> None:
    assert is_wallet_key(key) == right
