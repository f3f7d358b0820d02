"""Secrets leave a text before it is stored: ``redact`` puts a mark in place of each, and says what kinds it found.

Plain rules without a model and without I/O but for reading its own rule file once. What is caught, what is not, and why
the rules are gitleaks': ``docs/why/secrets.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memwarden.security.secrets import formats, phrases, providers
from memwarden.security.secrets.spans import SecretSpan, join_spans

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
    yield from formats.find_formats(text)
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
