"""Encodings of texts that are not UTF-8."""

from __future__ import annotations

import codecs
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

# Bytes that are judged.
_SAMPLE: Final = 262_144
# Western Europe's and its superset, which Windows writes; a guess of a rarer one has to be clearly better.
_USUAL: Final = "cp1252"
_MARKS: Final = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_KANA: Final = re.compile(r"[\u3041-\u3093\u30a1-\u30f6]")
_HANGUL: Final = re.compile(r"[\uac00-\ud7a3]")
# Characters, marks and wide forms of Chinese, Japanese and Korean texts.
_WIDE: Final = re.compile(r"[\u2010-\u2027\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff5e\u00b7]*")
# Chinese encodings begin with the common characters. Share of these in a text of any subject: .99.
_COMMON_HANZI: Final = {"gb2312": range(0xB0, 0xD8), "big5": range(0xA4, 0xC7)}
_LEAST_COMMON: Final = 0.9
# Share of a script's letters among all letters, above which a text is not one in Latin letters.
_LEAST_SCRIPT: Final = 0.6
# Share of common letters in a right reading: .55 to .8; in a wrong one: below .45.
_LEAST_RIGHT: Final = 0.45
# Marks of every language.
_QUOTES: Final = (
    "\u2018\u2019\u201c\u201d\u201e\u2013\u2014\u2026\u20ac\u00ab\u00bb\u00b0\u00a7\u00a1\u00bf\u00a0\u2022"
)


def read_mark(first: bytes) -> str | None:
    """Return the encoding that a byte order mark names, apart from UTF-8's."""
    return next((name for mark, name in _MARKS.items() if first.startswith(mark)), None)


def detect_encoding(data: bytes) -> str | None:
    """Return the encoding of a text that is not UTF-8.

    The letters of 25 languages decide, else charset-normalizer (the extra ``imports``). None for binary data, and
    without that package for what the letters do not show.
    """
    marked = read_mark(data)
    if marked is not None or b"\0" in data:
        return marked
    sample = data[:_SAMPLE]
    return _find_wide(sample) or _find_script(sample) or _find_latin(sample) or _guess(sample)


def _decode(sample: bytes, encoding: str) -> str | None:
    """Return a text, or None for bytes that the encoding lacks. A character that the sample cuts is left out."""
    try:
        return codecs.getincrementaldecoder(encoding)("strict").decode(sample)
    except (UnicodeDecodeError, LookupError):
        return None


def _find_wide(sample: bytes) -> str | None:
    """Return the encoding of a Japanese, Korean or Chinese text."""
    for encoding, needed in (("euc_jp", _KANA), ("cp932", _KANA), ("euc_kr", _HANGUL)):
        text = _decode(sample, encoding)
        high = "".join(sign for sign in text or "" if sign > "\x7f")
        counted = len(needed.findall(high))
        if counted and _WIDE.fullmatch(high) and (needed is _KANA or counted >= _LEAST_COMMON * len(high)):
            return encoding
    for encoding, common in _COMMON_HANZI.items():
        text = _decode(sample, encoding)
        signs = [sign.encode(encoding)[0] for sign in text or "" if "\u4e00" <= sign <= "\u9fff"]
        if signs and sum(lead in common for lead in signs) >= _LEAST_COMMON * len(signs):
            return "gb18030" if encoding == "gb2312" else encoding
    return None


def _find_script(sample: bytes) -> str | None:
    """Return the encoding of a text in letters that are not Latin."""
    best, found = _LEAST_RIGHT, None
    for script in _tables()["script"]:
        for encoding in script["encodings"]:
            share = _share_common(_decode(sample, encoding), script)
            if share > best:
                best, found = share, encoding
    return found


def _share_common(text: str | None, script: dict[str, Any]) -> float:
    """Return the share of common letters, 0 to 1; 0 for a text that is not in the script."""
    letters = re.findall(f"[{script['letters']}]", text or "")
    others = [sign for sign in text or "" if sign > "\x7f" and sign not in letters and sign not in _QUOTES]
    if not letters or others or len(letters) < _LEAST_SCRIPT * sum(map(str.isalpha, text or "")):
        return 0.0
    # In the wrong encoding of the right script the cases are exchanged.
    inside = re.findall(r"(?<=[^\W\d_])[^\W\d_]", text or "")
    capitals = sum(map(str.isupper, inside))
    natural = capitals == 0 or capitals == len(inside)
    return sum(letter.lower() in script["common"] for letter in letters) / len(letters) if natural else 0.0


def _find_latin(sample: bytes) -> str | None:
    """Return the encoding in which all letters are those of one language."""
    for encoding, letters in _latin():
        text = _decode(sample, encoding)
        high = {sign for sign in text or "" if sign > "\x7f"} - set(_QUOTES)
        if high and high <= letters:
            return encoding
    return None


def _latin() -> Iterator[tuple[str, set[str]]]:
    for table in _tables()["latin"]:
        for language in table["languages"]:
            yield table["encoding"], {*language, *language.upper()}


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("encodings.toml").read_text(encoding="utf-8"))


def _guess(sample: bytes) -> str | None:
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return None
    matches = from_bytes(sample)
    best = matches.best()
    if best is None:
        return None
    usual = next((match for match in matches if _USUAL in match.could_be_from_charset), None)
    return _USUAL if usual is not None and usual.chaos <= best.chaos else best.encoding
