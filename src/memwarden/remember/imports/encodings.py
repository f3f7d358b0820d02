"""Encodings of texts that are not UTF-8."""

from __future__ import annotations

import codecs

# Bytes that are judged.
_SAMPLE = 262_144
# Western Europe's and its superset, which Windows writes; a guess of a rarer one has to be clearly better.
_USUAL = "cp1252"
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def read_mark(first: bytes) -> str | None:
    """Return the encoding that a byte order mark names, apart from UTF-8's."""
    return next((name for mark, name in _MARKS.items() if first.startswith(mark)), None)


def detect_encoding(data: bytes) -> str | None:
    """Return the encoding of a text that is not UTF-8.

    None for binary data, and without charset-normalizer (the extra ``imports``).
    """
    marked = read_mark(data)
    if marked is not None or b"\0" in data:
        return marked
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return None
    matches = from_bytes(data[:_SAMPLE])
    best = matches.best()
    if best is None:
        return None
    usual = next((match for match in matches if _USUAL in match.could_be_from_charset), None)
    return _USUAL if usual is not None and usual.chaos <= best.chaos else best.encoding
