"""What a clause states, as a record, and its packed form, which a store keeps beside the text's other signals."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal, NamedTuple

Sort = Literal["state", "change", "end"]
SORTS: Final[tuple[Sort, ...]] = ("state", "change", "end")

WIDTH: Final = 256
"""Numbers of a packed vector, one byte each."""
FORMAT: Final = 2
"""The first byte of packed statements; what begins with another is skipped and made anew by a re-embedding."""

_HEAD: Final = struct.Struct("<BB")
_FIXED: Final = struct.Struct("<IIIBBBBBBHHiiH")
_NO_DAY: Final = -(1 << 31)


@dataclass(frozen=True, slots=True)
class Statement:
    """Who has which value of which attribute, since when.

    Attributes:
        subject: keys of whom it is about, joined by "+": "self", "name:ana", "relation:sister"; empty for nobody.
        attribute: the likeliest attribute, for example "home city"; "none" for what fits no known attribute.
        value: the words that say it.
        since, until: the days from and up to which it holds, as far as the words say.
        sort: a "state" that holds, a "change" to a new value, or the "end" of a value.
        probability: the chance that the words state something that holds, times that of the attribute, less where they
            lie far from its other statements.
        start, end: the place of the words in the text.
    """

    subject: str
    attribute: str
    value: str
    since: date
    until: date | None
    sort: Sort
    probability: float
    start: int
    end: int


class PackedStatement(NamedTuple):
    """A statement as numbers.

    Attributes:
        attributes: codes of the three likeliest attributes. chances: theirs, 0..255.
        states: the chance that something is stated that holds, 0..255. changes: that it is a change or an end.
        typical: how near it lies to other statements of its likeliest attribute, 0..255.
        sort: number in SORTS. since, until: ordinal days; until may be None.
        vector: WIDTH bytes, 127 times the unit vector.
    """

    attributes: tuple[int, int, int]
    chances: tuple[int, int, int]
    states: int
    changes: int
    typical: int
    sort: int
    start: int
    end: int
    since: int
    until: int | None
    subject: str
    vector: bytes


def pack(statements: Sequence[PackedStatement]) -> bytes:
    """Return the bytes of a text's statements; none for none."""
    if not statements:
        return b""
    parts = [_HEAD.pack(FORMAT, len(statements))]
    for each in statements:
        # Its length travels in a byte.
        subject = each.subject.encode()[:255]
        until = _NO_DAY if each.until is None else each.until
        sorts = each.sort
        parts.append(
            _FIXED.pack(
                *each.attributes,
                *each.chances,
                each.states,
                each.changes,
                each.typical,
                each.start,
                each.end,
                each.since,
                until,
                sorts << 8 | len(subject),
            )
        )
        parts += [subject, each.vector]
    return b"".join(parts)


def unpack(packed: bytes) -> list[PackedStatement]:
    """Return the statements of a text; none from another format."""
    if not packed or packed[0] != FORMAT:
        return []
    found: list[PackedStatement] = []
    place = _HEAD.size
    for _ in range(packed[1]):
        a, b, c, x, y, z, states, changes, typical, start, end, since, until, last = _FIXED.unpack_from(packed, place)
        place += _FIXED.size
        length = last & 255
        subject = packed[place : place + length].decode(errors="ignore")
        place += length
        vector = packed[place : place + WIDTH]
        place += WIDTH
        ended = None if until == _NO_DAY else until
        found.append(
            PackedStatement(
                (a, b, c), (x, y, z), states, changes, typical, last >> 8, start, end, since, ended, subject, vector
            )
        )
    return found
