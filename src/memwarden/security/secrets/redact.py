"""Redacts secrets: puts a mark in the place of each and names the kinds that it found.

Three kinds of rules: tokens of known providers (gitleaks' rules, ``providers.py``), formats such as key blocks and card
numbers (here), and what a sentence calls a secret (``phrases.py``). No model; the only I/O reads the rule file, once.
What is caught, what is not, and why the rules are gitleaks': ``docs/why/secrets.md``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memwarden.security.secrets import phrases, providers
from memwarden.security.secrets.providers import SecretSpan, join_spans, lower_in_place

_MARK = re.compile(r"\[redacted:[a-z0-9-]{1,60}\]")


@dataclass(frozen=True, slots=True)
class RedactedText:
    """A text without its secrets.

    ``found`` has the kind of each secret, with repeats, in the order in which they were found: from left to right, then
    those that only showed once the others were gone.
    """

    text: str
    found: tuple[str, ...]


def redact(text: str) -> RedactedText:
    """Put ``[redacted:kind]`` in place of every secret in a text.

    Redacting the result again changes nothing. Never raises for a text; takes time in proportion to its length.
    """
    kinds: list[str] = []
    # A mark can set free what was glued to the secret: go on until nothing is found. Each round takes text away.
    while spans := _drop_marked(text, join_spans(_find_spans(text))):
        kinds += [span.kind for span in spans]
        text = _mark_spans(text, spans)
    return RedactedText(text, tuple(kinds))


def _find_spans(text: str) -> Iterator[SecretSpan]:
    # In the order of rank: who knows a secret by name gives it its kind.
    yield from providers.find_provider_tokens(text)
    yield from find_formats(text)
    yield from phrases.find_phrases(text)


def _drop_marked(text: str, spans: Iterable[SecretSpan]) -> list[SecretSpan]:
    if "[redacted:" not in text:
        return list(spans)
    marks = [mark.span() for mark in _MARK.finditer(text)]
    return [span for span in spans if not any(start < span.end and span.start < end for start, end in marks)]


def _mark_spans(text: str, spans: Iterable[SecretSpan]) -> str:
    parts: list[str] = []
    at = 0
    for span in spans:
        parts += [text[at : span.start], f"[redacted:{span.kind}]"]
        at = span.end
    return "".join([*parts, text[at:]])


_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----")
# A block whose end was cut off is redacted as far as its lines go on; "\n" may be written out, as in JSON.
_BLOCK_LINES = re.compile(r"(?:[A-Za-z0-9+/=:,. \t-]|\\[nr]|[\r\n])*")

# The password of user:password@host. Greedy up to the last @ before a slash or a blank, as a password may hold an @.
_ADDRESS = re.compile(r"://[^\s/:@?#'\"<>]{0,100}:([^\s/'\"<>]{1,200})@")
_STANDS_FOR_A_PASSWORD = re.compile(
    r"\$(?:\{.*|[A-Za-z_]+)|<.*|\{.*|%[a-z_]+%|\[.*|\*+|(?:your|my)?[-_]?(?:password|passwd|pwd|pass|pw)|x{3,}|\.{3}",
    re.I,
)

# What is searched for in the text in lower case, and what has to stand there; the group is the secret.
_LABELLED: tuple[tuple[str, re.Pattern[str], str], ...] = (
    *(
        (word, re.compile(rf"{word}[ \t]{{1,3}}([a-z0-9._~+/-]{{16,2000}}={{0,2}})"), "authorization")
        for word in ("bearer", "basic", "token")
    ),
    ("sess", re.compile(r"sess(?:ion|id|ionid|ion_id|ion-id)?=([^\s;,'\"]{16,500})"), "session-cookie"),
    ("sid=", re.compile(r"sid=([^\s;,'\"]{16,500})"), "session-cookie"),
)

# Digits in groups as people write them. Any script's digits count.
# (The sign before is looked at after the first digit: so the scan for that digit is fast.)
_DIGITS = re.compile(r"\d(?<![\d.,]\d)(?:[ -]?\d){11,30}(?!\d)")
_GROUP = re.compile(r"\d+")
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

_WALLET = re.compile(r"[5KL9c](?<![A-Za-z0-9].)[1-9A-HJ-NP-Za-km-z]{50,51}(?![A-Za-z0-9])")
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def find_formats(text: str) -> Iterator[SecretSpan]:
    """Yield every secret in the text that shows by its format; spans may overlap."""
    if "-----BEGIN" in text:
        yield from _private_keys(text)
    if "://" in text:
        yield from _passwords_in_addresses(text)
    yield from _label_values(lower_in_place(text))
    yield from _cards(text)
    for match in _WALLET.finditer(text):
        if _is_wallet_key(match.group()):
            yield SecretSpan(*match.span(), "wallet-key")


def _label_values(lower: str) -> Iterator[SecretSpan]:
    for stem, pattern, kind in _LABELLED:
        at = lower.find(stem)
        while at != -1:
            match = pattern.match(lower, at)
            if match and (len(match.group(1)) >= 30 or any(sign.isdigit() for sign in match.group(1))):
                yield SecretSpan(*match.span(1), kind)
            at = lower.find(stem, at + len(stem))


def _private_keys(text: str) -> Iterator[SecretSpan]:
    at = 0
    while begin := _BLOCK.search(text, at):
        end_mark = f"-----END {begin.group(1)}-----"
        end = text.find(end_mark, begin.end(), begin.end() + 20_000)
        if end != -1:
            at = end + len(end_mark)
        else:
            lines = _BLOCK_LINES.match(text, begin.end())
            at = lines.end() if lines else begin.end()
        yield SecretSpan(begin.start(), at, "private-key")


def _passwords_in_addresses(text: str) -> Iterator[SecretSpan]:
    for match in _ADDRESS.finditer(text):
        if not _STANDS_FOR_A_PASSWORD.fullmatch(match.group(1)):
            yield SecretSpan(*match.span(1), "url-password")


def _cards(text: str) -> Iterator[SecretSpan]:
    for run in _DIGITS.finditer(text):
        groups = [(run.start() + group.start(), run.start() + group.end()) for group in _GROUP.finditer(run.group())]
        at = 0
        while at < len(groups):
            last = _last_group_of_card(text, groups, at)
            if last is None:
                at += 1
            else:
                yield SecretSpan(groups[at][0], groups[last][1], "card-number")
                at = last + 1


def _last_group_of_card(text: str, groups: list[tuple[int, int]], first: int) -> int | None:
    """Return the last group of a card number that begins at ``first``, or None: an expiry date may follow."""
    digits: list[int] = []
    for number in range(first, len(groups)):
        start, end = groups[number]
        digits += [int(sign) for sign in text[start:end]]
        if len(digits) > 19 or end - start < 3:
            return None
        if is_card_number(digits):
            return number
    return None


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


def _is_wallet_key(text: str) -> bool:
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
