"""Hashed words of a clause: what a vector of its meaning blurs, such as negation, tense and modal verbs."""

from __future__ import annotations

import re
import zlib
from typing import Final

BUCKETS: Final = 1 << 14
MAX_CHARACTERS: Final = 400

_WORD: Final = re.compile(r"[a-z0-9äöüßàâçéèêëîïôûùœáíóúñ¿¡']+|[\u3040-\u30ff\u4e00-\u9fff]")
_DIGITS: Final = re.compile(r"\d+")


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, every number as "0"; each sign of an unspaced language is a word."""
    # "rent 540" and "rent 612" state the same attribute: every number is the same word.
    return _WORD.findall(_DIGITS.sub("0", text[:MAX_CHARACTERS].lower().replace("’", "'")))


def buckets_of(text: str) -> list[int]:
    """Return the sorted buckets of a text's words, of its pairs of words and of the beginnings of long words."""
    words = words_of(text)
    found = {f"u{word}" for word in words}
    found |= {f"p{word[:5]}" for word in words if len(word) > 5 and word.isalpha()}
    # Pairs hold what single words do not: "not" with its verb, "want to", the first and the last word of a question.
    found |= {f"b{left} {right}" for left, right in zip(["^", *words], [*words, "$"], strict=True)}
    if "?" in text or "？" in text:
        found.add("?")
    # A checksum, not hash(): the weights were fitted in another process.
    return sorted({zlib.crc32(feature.encode()) % BUCKETS for feature in found})
