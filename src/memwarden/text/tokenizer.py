"""Words of a text: one tokeniser for every language, engine and side (memory and question).

A term is a stem. Terms are hashed to 32 bits (`term_id`), so that no vocabulary table is kept.
Changing anything here means re-indexing every store: bump `VERSION`.

* Scripts with spaces: Unicode words, NFKC, casefolded, possessives and elisions cut, Snowball stem
  of the text's language, then accents folded (stemmers need the accents, people forget them).
* Scripts without spaces and Hangul: pairs of characters, without the commonest function words; katakana words whole.
* Numbers lose thousands separators; e-mail addresses and links give their parts and the whole.
* Stop words, question words among them, are dropped per language of the text: a union over all
  languages would drop English "die", "war", "son".
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import Stemmer

VERSION: Final = 1
DEFAULT_LANGUAGE: Final = "english"

LISTS: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("word_lists.toml").read_text(encoding="utf-8"))
_STOP: Final[dict[str, frozenset[str]]] = {name: frozenset(listed.split()) for name, listed in LISTS["stop"].items()}

# Snowball algorithm of a script that stands for one language only.
_SCRIPT_LANGUAGE: Final = (
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0530, 0x058F, "armenian"),
    (0x0600, 0x06FF, "arabic"),
    (0x0900, 0x097F, "hindi"),
    (0x0B80, 0x0BFF, "tamil"),
)

# Marks that belong to a word although Python's \w leaves them out (accents, Hebrew and Arabic
# points, Indic vowel signs, joiners).
_MARKS: Final = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0970-\u0dff\u0f18-\u0fbc\u200c\u200d"
)
# Thai, Lao, Burmese, Khmer, kana, Han, Hangul: no spaces, or words too glued to stem.
_GLUED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
GLUED_SCRIPT: Final = re.compile(f"[{_GLUED}]")
_SAME_SCRIPT: Final = re.compile(
    "(?P<katakana>[\u30a0-\u30ff\u31f0-\u31ff]+)|(?P<hiragana>[\u3040-\u309f]+)"
    "|(?P<han>[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+)|(?P<other>.)+?"
    "(?=[\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|$)",
    re.DOTALL,
)
_FUNCTION_HAN: Final = frozenset("".join(LISTS["glued"]["han"].split()))
_FUNCTION_KANA: Final = frozenset(LISTS["glued"]["kana"].split())
_PIECE: Final = re.compile(
    rf"(?P<glued>[{_GLUED}]+)"
    r"|(?P<number>\d+(?:[.,:]\d+)+(?![^\W_]))"
    rf"|(?P<word>(?:(?![{_GLUED}])[^\W_]|[{_MARKS}])+(?:['’](?:(?![{_GLUED}])[^\W_]|[{_MARKS}])+)*)"
)
_ASCII_PIECE: Final = re.compile(r"\d+(?:[.,:]\d+)+(?![a-z0-9])|[a-z0-9]+(?:'[a-z0-9]+)*")
_ADDRESS: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|https?://[^\s<>\"')\]]+", re.IGNORECASE)
_ELISION: Final = re.compile(r"^(?:l|d|j|m|n|s|t|c|qu|jusqu|lorsqu|puisqu|dell|nell|all|dall|sull|un)'(?=\w\w)")
_CONTRACTION: Final = re.compile(r"(?:n't|'(?:s|re|ve|ll|d|m|em|clock))$")

# British spellings become American ones ("favourite", "organised"); other words that the rule
# touches change alike everywhere, which is all a term needs.
_BRITISH: Final = re.compile(r"(?<=i)s(e|ed|es|ing|er|ers|ation|ations)$")

_VOTERS: Final = frozenset().union(*_STOP.values())


@lru_cache(maxsize=16)
def stemmer(language: str) -> Stemmer.Stemmer:
    stemmer = Stemmer.Stemmer(language)
    stemmer.maxCacheSize = 0  # `_term_of` caches already
    return stemmer


def fold(word: str) -> str:
    """Take Latin, Greek and Cyrillic accents off; marks of other scripts carry the vowels."""
    if word.isascii():
        return word
    bare = (c for c in unicodedata.normalize("NFD", word) if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", "".join(bare)).replace("ß", "ss")


def _script_language(word: str) -> str | None:
    code = ord(word[0])
    if code < 0x0370:
        return None
    return next((name for low, high, name in _SCRIPT_LANGUAGE if low <= code <= high), None)


@lru_cache(maxsize=200_000)
def _term_of(word: str, language: str) -> str:
    """The term of one casefolded word, or "" for a stop word."""
    if word[0].isdigit():
        return word.replace(",", "") if "," in word else word
    if "'" in word:
        word = _ELISION.sub("", _CONTRACTION.sub("", word)).replace("'", "")
        if not word:
            return ""
    language = _script_language(word) or language
    if word in _STOP.get(language, ()):
        return ""
    if language == "english" and len(word) > 5:
        word = _BRITISH.sub(r"z\1", word.replace("our", "or"))
    return fold(str(stemmer(language).stemWord(word)))


def _vote(words: list[str], default: str) -> str:
    """The language of a text by its stop words; the default wins ties and short texts."""
    voters = _VOTERS.intersection(words)
    own = len(voters & _STOP.get(default, frozenset()))
    if own == 0 and (told := _telling(words)):
        return told
    if len(voters) < own + 2:
        return default
    counts = {name: len(voters & stop) for name, stop in _STOP.items()}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] >= own + 2 else default


def _telling(words: list[str]) -> str | None:
    """The one language that a stop word with an accent gives away ("dónde", "über"), or None."""
    marked = [word for word in words if not word.isascii() and word in _VOTERS]
    named = {name for word in marked for name, stop in _STOP.items() if word in stop}
    return named.pop() if len(named) == 1 else None


def normal(text: str) -> str:
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).replace("’", "'").casefold()


def pieces(plain: str) -> tuple[list[str], list[str]]:
    """Words and numbers, and runs of glued script, of a normalised text."""
    if plain.isascii():
        return _ASCII_PIECE.findall(plain), []
    words: list[str] = []
    glued: list[str] = []
    for found in _PIECE.finditer(plain):
        (glued if found.lastgroup == "glued" else words).append(found[0])
    return words, glued


def _glued_terms(run: str) -> list[str]:
    """Terms of a run of glued script: katakana words whole; elsewhere pairs of characters, without function words.

    Kanji and kana are taken apart where the script changes: the kana between kanji are mostly grammar.
    """
    out: list[str] = []
    for part in _SAME_SCRIPT.finditer(run):
        text = part[0]
        if part.lastgroup == "katakana":
            out.append(text)
        elif part.lastgroup == "han":
            out.extend(_pairs(text, _FUNCTION_HAN))
        elif part.lastgroup == "hiragana":
            if part.start() == 0:  # after a kanji it is an ending
                out.extend(pair for pair in _pairs(text, frozenset()) if len(pair) == 2 and pair not in _FUNCTION_KANA)
        else:
            out.extend(_pairs(text, frozenset()))
    return out


def _pairs(text: str, function: frozenset[str]) -> list[str]:
    """Pairs of neighbouring characters; a single one that stands between function characters, itself."""
    out: list[str] = []
    for piece in _split(text, function) if function else [text]:
        out.extend([piece] if len(piece) == 1 else [piece[i : i + 2] for i in range(len(piece) - 1)])
    return out


def _split(text: str, function: frozenset[str]) -> list[str]:
    return "".join(" " if sign in function else sign for sign in text).split()


def language_of(text: str, default: str = DEFAULT_LANGUAGE) -> str:
    """The language whose stop words a text shows; `default` when that is not clear."""
    return _vote(pieces(normal(text))[0], default)


def terms(text: str, default: str = DEFAULT_LANGUAGE) -> list[str]:
    """The terms of a text in order, repeats included.

    `default` is the language of Latin text that shows no stop words of its own: pass the
    namespace's usual language for a question of two bare words.
    """
    plain = normal(text)
    words, glued = pieces(plain)
    language = _vote(words, default)
    out = [term for word in words if (term := _term_of(word, language))]
    for run in glued:
        out.extend(_glued_terms(run))
    if "@" in plain or "://" in plain:
        out.extend(found.rstrip(".,;:!?") for found in _ADDRESS.findall(plain))
    return out


def term_id(term: str) -> int:
    """32 bits for a term: two of 50,000 terms collide about once in three stores, harmlessly."""
    return zlib.crc32(term.encode())


def term_ids(text: str, default: str = DEFAULT_LANGUAGE) -> list[int]:
    """`terms`, hashed."""
    return [zlib.crc32(term.encode()) for term in terms(text, default)]
