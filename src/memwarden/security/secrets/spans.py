"""Where a secret stands in a text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SecretSpan:
    """The characters from ``start`` up to but not with ``end``, and what kind of secret they are."""

    start: int
    end: int
    kind: str


def join_spans(spans: Iterable[SecretSpan]) -> list[SecretSpan]:
    """The spans from left to right, those that overlap made one, which has the kind of the one that came first.

    So the order of ``spans`` is their rank: what knows a secret by its form comes before what only knows its label.
    """
    ranked = sorted(enumerate(spans), key=lambda item: (item[1].start, item[1].end))
    result: list[tuple[int, SecretSpan]] = []
    for rank, span in ranked:
        if result and span.start < result[-1][1].end:
            best, last = result[-1]
            kind = span.kind if rank < best else last.kind
            result[-1] = (min(rank, best), SecretSpan(last.start, max(last.end, span.end), kind))
        else:
            result.append((rank, span))
    return [span for _, span in result]


def lower_in_place(text: str) -> str:
    """The text in lower case with every character at its place; of one letter (İ) Python makes two."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in text)
