"""Finds what a text hides: folds it to plain letters, and decodes what is encoded in it."""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import quopri
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote, unquote_plus

from memwarden.security.words import load_words

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
_SMALL_WORDS = load_words(Path(__file__).with_name("words.toml"), "small")
_MIN_SMALL_WORDS = 2
_MIN_PROSE_WORDS = 4
# So much of prose is letters and blanks.
_PROSE_SHARE = 0.8
_SEGMENT = re.compile(r"[^\n.!?:]{16,400}")
_LOWER = "abcdefghijklmnopqrstuvwxyz"
_PRINTED = "".join(map(chr, range(33, 127)))
# Caesar's shifts, the alphabet backwards, and the half turn of all printed signs.
_CIPHERS = (
    *(str.maketrans(_LOWER, _LOWER[shift:] + _LOWER[:shift]) for shift in range(1, 26)),
    str.maketrans(_LOWER, _LOWER[::-1]),
)
_HALF_TURN = str.maketrans(_PRINTED, _PRINTED[47:] + _PRINTED[:47])
_BASE32 = re.compile(r"\b[A-Z2-7]{24,}={0,6}")
_BASE85 = re.compile(r"(?<!\S)[!-~]{25,2000}(?!\S)")
_BITS = re.compile(r"(?:\b[01]{8}\b ?){4,}")
_PRINTABLE = re.compile(r"(?:=(?:[0-9A-F]{2}|\r?\n)){6,}")
_MORSE = re.compile(r"(?:[.-]{1,5}(?: / | |/)){8,}[.-]{1,5}")
_MORSE_LETTERS = dict(
    zip(
        ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- "
        "--.. ----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----.".split(),
        _LOWER + "0123456789",
        strict=True,
    )
)
_BRAILLE = re.compile("[\u2800-\u28ff][\u2800-\u28ff ]{10,}")
_DOTS = dict(zip("⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵", _LOWER, strict=True))
_PIG = re.compile(r"(?:\b[a-z']{2,20}ay(?:'[a-z]{1,4})?\b[ ,.]{0,2}){5,}", re.IGNORECASE)
# Letters of mathematics, of which formulas need single ones; and a soft hyphen behind every few letters.
_FANCY = re.compile("(?:[\U0001d400-\U0001d7ff]{2,}[ ,]{0,2}){3,}")
_SOFT = re.compile(r"(?:\w{1,2}\u00ad[ \u00ad]{0,2}){8,}")
_QUERY = re.compile(r"[?&]\w{1,20}=((?:[^\s&+]{1,60}\+){4,200}[^\s&+]{1,60})")
_MAX_DECODED = 20_000
_MAX_TURNED = 2_000


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
    """The text without its disguise, for each that it wears: other scripts, digits, spaced letters."""
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
    if letters := _ESCAPED_LETTERS.search(text) or _FANCY.search(text) or _SOFT.search(text):
        return letters.group()[:80]
    if _MANY.search(text) or len(_IN_WORDS.findall(text)) >= _MIN_IN_WORDS:
        return "zero-width signs"
    if len(mixed := [word for word in _WORD.findall(text) if _mixes(word)]) >= _MIN_MIXED:
        return " ".join(mixed)
    for match in _SPACED.finditer(text):
        if sum(map(str.isalpha, match.group())) >= _MIN_SPACED:
            return match.group()
    return None


def find_encoded(text: str) -> str | None:
    """Return prose that the text holds in a coding that no reader takes for prose, or None.

    Who writes to people does not encode whole sentences: such a text is hidden, whatever it says.
    """
    for inner in (*_decode_runs(text), *_decipher(text)):
        if _is_prose(inner):
            return inner
    return None


def decode_hidden(text: str) -> Iterator[str]:
    """What the text holds in another coding: Base64, hexadecimal, escapes, entities, percent signs, ciphers."""
    yield from _decode_runs(text)
    if _ESCAPED.search(text):
        yield _ESCAPED.sub(lambda match: codecs.decode(match.group(), "unicode_escape"), text)
    if "&#" in text:
        yield html.unescape(text)
    if text.count("%") >= 4:
        yield unquote(text)
    for match in _QUERY.finditer(text):
        yield unquote_plus(match.group(1))
    yield from _decipher(text)


def _decode_runs(text: str) -> Iterator[str]:
    """What stands in runs of signs that are a coding's alone."""
    for pattern, decode in _CODINGS:
        for match in pattern.finditer(text):
            for inner in _read_bytes(_decode(decode, match.group())):
                yield inner
                yield from (
                    again for twice in _BASE64.findall(inner) for again in _read_bytes(_decode(_from_base64, twice))
                )


def _decode(decode: Callable[[str], bytes], written: str) -> bytes:
    try:
        return decode(written)
    except (binascii.Error, ValueError):
        return b""


def _from_base64(written: str) -> bytes:
    written = written.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(written[: len(written) // 4 * 4] + _pad(written))


def _from_base32(written: str) -> bytes:
    written = written.rstrip("=")
    return base64.b32decode(written + "=" * (-len(written) % 8))


def _from_morse(written: str) -> bytes:
    words = re.split(r" ?/ ?", written)
    return " ".join("".join(_MORSE_LETTERS.get(sign, "") for sign in word.split()) for word in words).encode()


def _from_pig_latin(written: str) -> bytes:
    # "iveway" is "give" or "ive": the small words come out right either way.
    words = [re.sub(r"[^a-z]", "", word.lower()).removesuffix("ay") for word in written.split()]
    return " ".join(_turn_back(word) for word in words).encode()


def _turn_back(word: str) -> str:
    turned = [word[-size:] + word[:-size] for size in (1, 2) if len(word) > size]
    return next((each for each in [word.removesuffix("w"), *turned] if each in _SMALL_WORDS), (turned or [word])[0])


_CODINGS: tuple[tuple[re.Pattern[str], Callable[[str], bytes]], ...] = (
    (_BASE64, _from_base64),
    (_BASE32, _from_base32),
    (_BASE85, lambda written: base64.b85decode(written)),
    (_BASE85, lambda written: base64.a85decode(written.removeprefix("<~").removesuffix("~>"))),
    (_HEX, lambda written: bytes.fromhex(re.sub(r"[ :]", "", written))),
    (_BITS, lambda written: bytes(int(octet, 2) for octet in written.split())),
    (_PRINTABLE, lambda written: quopri.decodestring(written)),
    (_MORSE, _from_morse),
    (_BRAILLE, lambda written: "".join(_DOTS.get(sign, " ") for sign in written).encode()),
    (_PIG, _from_pig_latin),
)


def _decipher(text: str) -> Iterator[str]:
    """What sentences without a small word say in another alphabet or backwards."""
    for match in _SEGMENT.finditer(text):
        segment = match.group().lower()
        if len(segment.split()) < _MIN_PROSE_WORDS or _small_words(segment):
            continue
        turnings = _turnings(match.group()) if segment.isascii() else (segment[::-1],)
        yield from (turned for turned in turnings if len(_small_words(turned)) >= _MIN_SMALL_WORDS)
    # Letters with accents are turned round, too, and a full turn needs signs that end a segment here.
    if len(text) <= _MAX_TURNED and not _small_words(text):
        yield from (
            turned
            for turned in (text[::-1].lower(), text.translate(_HALF_TURN).lower())
            if len(_small_words(turned)) >= _MIN_SMALL_WORDS
        )


def _turnings(segment: str) -> Iterator[str]:
    lower = segment.lower()
    yield from (lower.translate(cipher) for cipher in _CIPHERS)
    yield lower[::-1]


def _small_words(text: str) -> frozenset[str]:
    return _SMALL_WORDS.intersection(re.findall(r"[^\W\d_]+", text.lower()))


def _is_prose(text: str) -> bool:
    letters = sum(sign.isalpha() or sign == " " for sign in text)
    return (
        len(text.split()) >= _MIN_PROSE_WORDS
        and letters >= _PROSE_SHARE * len(text)
        and len(_small_words(text)) >= _MIN_SMALL_WORDS
    )


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
