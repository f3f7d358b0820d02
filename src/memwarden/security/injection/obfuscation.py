"""Finds what a text hides: folds it to plain letters, and decodes what is encoded in it."""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote, unquote_plus

# Signs that show nothing: zero-width, soft hyphen, direction marks, variation selectors, tags.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
)
# Accents, and the vowel signs of Arabic; not the marks that make another letter in Japanese or Hindi.
_MARKS = re.compile("[\u0300-\u036f\u064b-\u0655\u0670\u0640]")
_LETTERS = str.maketrans(
    {
        "ł": "l",
        "ı": "i",
        "ø": "o",
        "đ": "d",
        "æ": "ae",
        "œ": "oe",
        "ة": "ه",
        "ى": "ي",
        "ٱ": "ا",
        "’": "'",
        "‘": "'",
        "“": '"',
        "”": '"',
    }
)

# Scripts that set no blanks.
_APART = re.compile(
    "(?<=[\u3040-\u30ff\u3400-\u9fff\u3001\u3002\uff0c:\u201c\u201d]) (?=[\u3040-\u30ff\u3400-\u9fff\u201c\u201d:,])"
)
# The machine, not the French "j'ai" or the Italian "ai".
_AI = re.compile(r"\bAIs?\b|\b[Aa]i(?=[:_-]|\s(?:agent|assistant|model|system|tool|reader|bot|crawler)s?\b)")
# Letters of other scripts that look Latin; only read so inside a word that mixes scripts.
_LOOKALIKE = str.maketrans("авсԁеһіјкӏмоԛрѕтԝухєԍαεικνορτυχ", "abcdehijklmoqpstwyxegaeiknoptux")
_WORD = re.compile(r"[^\W\d_]{2,60}")
_LATIN = re.compile("[A-Za-z]")
_LOOKALIKES = re.compile("[\u0370-\u03ff\u0400-\u052f]")
_DIGITS_AS_LETTERS = str.maketrans("013457@$!", "oieastasi")
_WITH_DIGITS = re.compile(r"\b(?=\w{0,40}[a-z])(?=[\w@$!]{0,40}[013457@$])[a-z0-9@$!]{3,40}")
_BROKEN = re.compile(r"(?<=[^\W\d_])-\n[ \t]{0,20}(?=[^\W\d_])")
_SPACED = re.compile(r"(?<!\w)(?:[^\W_][ .*_|\-\u00b7]{1,3}){7,400}[^\W_](?!\w)")

# Kinds of hidden writing that nobody uses by accident.
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f")
_TAGS = re.compile("[\U000e0020-\U000e007e]{2,}")
_TURNED = re.compile("[\u202d\u202e]")
_IN_WORDS = re.compile("(?<=[A-Za-zА-я])[\u200b-\u200d\u2060\u2062-\u2064\ufeff](?=[A-Za-zА-я])")
_MANY = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff]{8,}")
_MIN_IN_WORDS = 3
# So many words of letters of two scripts, and so many letters apart from each other.
_MIN_MIXED = 3
_MIN_SPACED = 30
# Fewer words with digits in them are versions, sizes and names.
_MIN_WITH_DIGITS = 3

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}[ :]?){16,}")
_ESCAPED = re.compile(r"(?:\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}){4,}")
# Letters of ASCII that are written as numbers: honest programs escape other signs only.
_ESCAPED_LETTERS = re.compile(
    r"(?:(?:&#(?:x[0-9a-f]{2}|\d{2,3});|\\u00[2-7][0-9a-f]|\\x[2-7][0-9a-f])\s?){12,}", re.IGNORECASE
)
# Small words by which a text shows that it is one, in six languages.
_SMALL_WORDS = frozenset(
    """the and to all you your of from that is not with for now die und der nicht dem alle deine los las que del todas
    les des tes moi est pour et dans tous il che per tutti uma para seu""".split()
)
_MIN_SMALL_WORDS = 3
_QUERY = re.compile(r"[?&]\w{1,20}=((?:[^\s&+]{1,60}\+){4,200}[^\s&+]{1,60})")
_MAX_DECODED = 20_000


def fold_lookalikes(text: str) -> str:
    """Lower case, without accents, invisible signs and forms of compatibility; white space becomes a blank.

    "AI" reads as "llm".
    """
    text = unicodedata.normalize(
        "NFD", _AI.sub("llm", unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))).casefold()
    )
    text = unicodedata.normalize("NFC", _MARKS.sub("", text)).translate(_LETTERS)
    return _APART.sub("", re.sub(r"[^\S\n]+", " ", text))


def find_disguise(text: str, folded: str) -> Iterator[str]:
    """The text as it would read without disguise, for each disguise that it wears: other scripts, digits, "
    "spaced letters."""
    latin = _WORD.sub(_in_one_script, folded) if _LOOKALIKES.search(folded) else folded
    if latin != folded:
        yield latin
    if len(_WITH_DIGITS.findall(folded)) >= _MIN_WITH_DIGITS:
        yield _WITH_DIGITS.sub(lambda match: match.group().translate(_DIGITS_AS_LETTERS), folded)
    # Words that were broken at the end of a line.
    if _BROKEN.search(text):
        yield fold_lookalikes(_BROKEN.sub("", text))
    # On the text as it is written: how many blanks there are tells where words end.
    joined = _SPACED.sub(_closed_up, text)
    if joined != text:
        yield fold_lookalikes(joined)


def _in_one_script(word: re.Match[str]) -> str:
    return word.group().translate(_LOOKALIKE) if _mixes(word.group()) else word.group()


def _mixes(word: str) -> bool:
    return bool(_LOOKALIKES.search(word) and _LATIN.search(word))


def _closed_up(match: re.Match[str]) -> str:
    # Where words of spaced letters stand two blanks apart, those stay words.
    return " ".join(re.sub(r"[^\w]", "", word) for word in re.split(r" {2,}|\n", match.group()))


def find_invisible(text: str) -> str | None:
    """Return the invisible writing that no honest text holds, or None."""
    if tags := _TAGS.search(_FLAG.sub("", text)):
        return "".join(chr(ord(sign) - 0xE0000) for sign in tags.group())
    if (turned := _TURNED.search(text)) is not None:
        return text[turned.start() : turned.start() + 80]
    if letters := _ESCAPED_LETTERS.search(text):
        return letters.group()[:80]
    if _MANY.search(text) or len(_IN_WORDS.findall(text)) >= _MIN_IN_WORDS:
        return "zero-width signs"
    if len(mixed := [word for word in _WORD.findall(text) if _mixes(word)]) >= _MIN_MIXED:
        return " ".join(mixed)
    for match in _SPACED.finditer(text):
        if sum(map(str.isalpha, match.group())) >= _MIN_SPACED:
            return match.group()
    return None


def decode_hidden(text: str) -> Iterator[str]:
    """What the text holds in another coding: Base64, hexadecimal, escapes, entities, percent signs, ROT13, "
    "backwards."""
    for match in _BASE64.finditer(text):
        for inner in _read_bytes(_from_base64(match.group())):
            yield inner
            yield from (again for twice in _BASE64.findall(inner) for again in _read_bytes(_from_base64(twice)))
    for match in _HEX.finditer(text):
        yield from _read_bytes(bytes.fromhex(re.sub(r"[ :]", "", match.group())))
    if _ESCAPED.search(text):
        yield _ESCAPED.sub(lambda match: codecs.decode(match.group(), "unicode_escape"), text)
    if "&#" in text:
        yield html.unescape(text)
    if text.count("%") >= 4:
        yield unquote(text)
    for match in _QUERY.finditer(text):
        yield unquote_plus(match.group(1))
    lower = text.lower()
    plain = _count_small_words(lower)
    for turned in (codecs.encode(lower, "rot13"), lower[::-1]):
        if _count_small_words(turned) >= _MIN_SMALL_WORDS and (plain < _MIN_SMALL_WORDS or _names_cipher(lower)):
            yield turned


def _count_small_words(text: str) -> int:
    return len(_SMALL_WORDS.intersection(text.split()))


def _names_cipher(lower: str) -> bool:
    return any(word in lower for word in ("rot13", "rot-13", "cipher", "revers", "backward", "envers", "rückwärts"))


def _from_base64(written: str) -> bytes:
    written = written.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(written[: len(written) // 4 * 4] + _pad(written))
    except (binascii.Error, ValueError):
        return b""


def _pad(written: str) -> str:
    rest = written[len(written) // 4 * 4 :]
    return rest + "=" * (4 - len(rest)) if len(rest) > 1 else ""


def _read_bytes(raw: bytes) -> Iterator[str]:
    try:
        text = raw[:_MAX_DECODED].decode("utf-8")
    except UnicodeDecodeError:
        return
    if len(text) >= 12 and all(sign.isprintable() or sign.isspace() for sign in text):
        yield text
