"""Checks the digits of account numbers, card numbers and wallet keys."""

from __future__ import annotations

import hashlib

# The beginnings of card numbers, and how long such a number is. (Of Visa's lengths the rare 13 and 19 are left out: one
# in ten of the times and ids as long has the right check digit.)
_ISSUERS: tuple[tuple[int, int, frozenset[int]], ...] = (
    (4, 4, frozenset({16})),
    (51, 55, frozenset({16})),
    (2221, 2720, frozenset({16})),
    (34, 34, frozenset({15})),
    (37, 37, frozenset({15})),
    (300, 305, frozenset({14})),
    (36, 36, frozenset({14})),
    (38, 39, frozenset({14})),
    (6011, 6011, frozenset({16})),
    (644, 659, frozenset({16})),
    (3528, 3589, frozenset({16})),
    (62, 62, frozenset({16, 17, 18, 19})),
    (5018, 5018, frozenset({16})),
    (6759, 6763, frozenset({16})),
)
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def is_iban(text: str) -> bool:
    """Whether the check digits of an account number are right (ISO 13616)."""
    plain = text.replace(" ", "")
    turned = plain[4:] + plain[:4]
    return 15 <= len(plain) <= 34 and int("".join(str(int(sign, 36)) for sign in turned)) % 97 == 1


def is_card_number(digits: list[int]) -> bool:
    """Whether an issuer gives out numbers that begin so and are as long, and the check digit (Luhn) is right."""
    if len(digits) < 13 or not _has_issuer(digits):
        return False
    doubled = [digit if place % 2 == 0 else digit * 2 for place, digit in enumerate(reversed(digits))]
    return sum(digit - 9 if digit > 9 else digit for digit in doubled) % 10 == 0


def _has_issuer(digits: list[int]) -> bool:
    written = "".join(map(str, digits))
    return any(
        len(digits) in lengths and low <= int(written[: len(str(low))]) <= high for low, high, lengths in _ISSUERS
    )


def is_wallet_key(text: str) -> bool:
    """Whether the checksum of a Bitcoin private key (WIF: Base58Check) is right."""
    number = 0
    for sign in text:
        number = number * 58 + _BASE58.index(sign) if sign in _BASE58 else -1
        if number < 0:
            return False
    if number.bit_length() > 38 * 8:
        return False
    raw = number.to_bytes(38, "big").lstrip(b"\0")
    body, check = raw[:-4], raw[-4:]
    return len(body) in (33, 34) and hashlib.sha256(hashlib.sha256(body).digest()).digest()[:4] == check
