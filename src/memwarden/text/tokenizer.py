"""Terms and flags of a text, and the estimate of its tokens in a prompt: the tokeniser for every language.

A term is a stem. Beside the stem of a word stands its folded surface form (`index_ids`), so that a word
meets itself although the question was taken for another language than the memory. Terms are hashed to 32 bits
(`term_id`), so that no vocabulary table is kept. Changing anything here, or the language detector or its word lists,
means that stores make their terms anew: bump `memwarden.text.TERMS_VERSION`.

* Scripts with spaces: Unicode words, NFKC, casefolded, possessives and elisions cut, Snowball stem
  of the text's language, then accents folded (stemmers need the accents, people forget them).
* Scripts without spaces and Hangul: pairs of characters, without the commonest function words. Katakana words whole.
* Numbers lose thousands separators. E-mail addresses and links give their parts and the whole.
* Stop words, question words among them, are dropped per language of the text: a union over all
  languages would drop English "die", "war", "son".
"""

from __future__ import annotations

import math
import re
import unicodedata
import zlib
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final, NamedTuple, Protocol

import Stemmer

from memwarden.text.language import DEFAULT_LANGUAGE, MAX_SHORT, language_of_words
from memwarden.text.language import normalize_text as normal
from memwarden.text.lexicon import all_words, languages, load_lexicon

# A word in any of these scripts is in the language of the script, whatever the text around it is in.
_SCRIPT_LANGUAGE: Final = (
    (0x0370, 0x03FF, "el"),
    (0x0400, 0x052F, "ru"),
    (0x0530, 0x058F, "hy"),
    (0x0600, 0x06FF, "ar"),
    (0x0900, 0x097F, "hi"),
    (0x0B80, 0x0BFF, "ta"),
)

# Marks that belong to a word although Python's \w leaves them out (accents, Hebrew and Arabic
# points, Indic vowel signs, joiners).
_MARKS: Final = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0970-\u0dff\u0f18-\u0fbc\u200c\u200d"
)
# Thai, Lao, Burmese, Khmer, kana, Han, Hangul: no spaces, or words too glued to stem.
GLUED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
GLUED_SCRIPT: Final = re.compile(f"[{GLUED}]")
_SAME_SCRIPT: Final = re.compile(
    "(?P<katakana>[\u30a0-\u30ff\u31f0-\u31ff]+)|(?P<hiragana>[\u3040-\u309f]+)"
    "|(?P<han>[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+)|(?P<other>.)+?"
    "(?=[\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|$)",
    re.DOTALL,
)
_PIECE: Final = re.compile(
    rf"(?P<glued>[{GLUED}]+)"
    r"|(?P<number>\d+(?:[.,:]\d+)+(?![^\W_]))"
    rf"|(?P<word>(?:(?![{GLUED}])[^\W_]|[{_MARKS}])+(?:['’](?:(?![{GLUED}])[^\W_]|[{_MARKS}])+)*)"
)
_ASCII_PIECE: Final = re.compile(r"\d+(?:[.,:]\d+)+(?![a-z0-9])|[a-z0-9]+(?:'[a-z0-9]+)*")
_ADDRESS: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|https?://[^\s<>\"')\]]+", re.IGNORECASE)
_CONTRACTION: Final = re.compile(r"(?:n't|'(?:s|re|ve|ll|d|m|em|clock))$")

# British spellings become American ones ("favourite", "organised"). Other words that the rule
# touches change alike everywhere, which is all a term needs.
_BRITISH: Final = re.compile(r"(?<=i)s(e|ed|es|ing|er|ers|ation|ations)$")


# Words of which what was made of them is kept. Twenty times as many took 180 MB after 8 MB of text, and no less time.
MAX_KNOWN_WORDS: Final = 10_000


# Lexicons are read at the first use of their words: most commands read no text, and ten files take 40 ms.
@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a language code; none of a language without a lexicon."""
    return frozenset(load_lexicon(language).words.get("stop", ()) if language in languages() else ())


@cache
def _function_han() -> frozenset[str]:
    return frozenset("".join(all_words("particles")))


@cache
def _elision() -> re.Pattern[str]:
    return re.compile(rf"^(?:{'|'.join(sorted(all_words('elisions')))})'(?=\w\w)")


@lru_cache(maxsize=32)
def stemmer(language: str) -> Stemmer.Stemmer:
    """Return the Snowball stemmer of a language code. Languages without one are stemmed as English is."""
    algorithm = load_lexicon(language).stemmer if language in languages() else ""
    stemmer = Stemmer.Stemmer(algorithm or "english")
    stemmer.maxCacheSize = 0  # `_term_of` caches already
    return stemmer


def fold(word: str) -> str:
    """Remove Latin, Greek and Cyrillic accents. Marks of other scripts carry the vowels."""
    if word.isascii():
        return word
    bare = (c for c in unicodedata.normalize("NFD", word) if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", "".join(bare)).replace("ß", "ss")


def _script_language(word: str) -> str | None:
    code = ord(word[0])
    if code < 0x0370:
        return None
    return next((name for low, high, name in _SCRIPT_LANGUAGE if low <= code <= high), None)


@lru_cache(maxsize=MAX_KNOWN_WORDS)
def _term_of(word: str, language: str) -> str:
    """Return the term of a casefolded word, "" for a stop word."""
    if word[0].isdigit():
        return word.replace(",", "") if "," in word else word
    word = _whole(word)
    if not word:
        return ""
    language = _script_language(word) or language
    if word in stop_words(language):
        return ""
    if language == "en" and len(word) > 5:
        word = _BRITISH.sub(r"z\1", word.replace("our", "or"))
    return fold(str(stemmer(language).stemWord(word)))


@lru_cache(maxsize=MAX_KNOWN_WORDS)
def surface_of(word: str) -> str:
    """Return a casefolded word folded, without elision and contraction; "" for a number."""
    return "" if word[0].isdigit() else fold(_whole(word))


def _whole(word: str) -> str:
    return _elision().sub("", _CONTRACTION.sub("", word)).replace("'", "") if "'" in word else word


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
    """Return the terms of a run of glued script: katakana words whole, elsewhere pairs of characters.

    Kanji and kana are taken apart where the script changes: the kana between kanji are mostly grammar.
    """
    out: list[str] = []
    for part in _SAME_SCRIPT.finditer(run):
        text = part[0]
        if part.lastgroup == "katakana":
            out.append(text)
        elif part.lastgroup == "han":
            out.extend(_pairs(text, _function_han()))
        elif part.lastgroup == "hiragana":
            if part.start() == 0:  # after a kanji it is an ending
                kana = all_words("kana_particles")
                out.extend(pair for pair in _pairs(text, frozenset()) if len(pair) == 2 and pair not in kana)
        else:
            out.extend(_pairs(text, frozenset()))
    return out


def _pairs(text: str, function: frozenset[str]) -> list[str]:
    """Return pairs of neighbouring characters, and single characters between function characters."""
    out: list[str] = []
    for piece in _split(text, function) if function else [text]:
        out.extend([piece] if len(piece) == 1 else [piece[i : i + 2] for i in range(len(piece) - 1)])
    return out


def _split(text: str, function: frozenset[str]) -> list[str]:
    return "".join(" " if sign in function else sign for sign in text).split()


class _WordsOfText(NamedTuple):
    plain: str
    words: list[str]
    glued: list[str]
    language: str


def _take_apart(text: str, default: str) -> _WordsOfText:
    return _take_short_apart(text, default) if len(text) <= MAX_SHORT else _take_any_apart(text, default)


# A question or a message is asked several times for its words. Longer texts are read, not held.
@lru_cache(maxsize=64)
def _take_short_apart(text: str, default: str) -> _WordsOfText:
    return _take_any_apart(text, default)


def _take_any_apart(text: str, default: str) -> _WordsOfText:
    plain = normal(text)
    words, glued = pieces(plain)
    return _WordsOfText(plain, words, glued, language_of_words(words, default, plain))


def terms(text: str, default: str = DEFAULT_LANGUAGE) -> list[str]:
    """Return the terms of a text in order, repeats included.

    `default` is the language of Latin text that shows none of its own: pass the namespace's usual language for a
    question of two bare words.
    """
    return _stems(_take_apart(text, default))


def words_and_forms(text: str) -> frozenset[str]:
    """Return the stems and surface forms of a text, to ask whether it holds a word."""
    parts = _take_apart(text, DEFAULT_LANGUAGE)
    return frozenset((*_stems(parts), *(form for _, form in _surface_forms(parts))))


def surface_forms(text: str, default: str = DEFAULT_LANGUAGE) -> list[tuple[str, str]]:
    """Return stem and surface form of each word where they differ, in order."""
    return list(_surface_forms(_take_apart(text, default)))


def _surface_forms(parts: _WordsOfText) -> Iterator[tuple[str, str]]:
    for word in parts.words:
        ids = _ids_of(word, parts.language)
        if ids.term and ids.form:
            yield ids.term, ids.form


def _stems(parts: _WordsOfText) -> list[str]:
    return [*(term for word in parts.words if (term := _term_of(word, parts.language))), *_other_terms(parts)]


def _other_terms(parts: _WordsOfText) -> list[str]:
    """The terms of glued script and of addresses."""
    out: list[str] = []
    for run in parts.glued:
        out.extend(_glued_terms(run))
    if "@" in parts.plain or "://" in parts.plain:
        out.extend(found.rstrip(".,;:!?") for found in _ADDRESS.findall(parts.plain))
    return out


# Set in the ids of surface forms, so that a text's length counts its words once.
SURFACE_BIT: Final = 0x8000_0000


def term_id(term: str) -> int:
    """Return 31 bits for a stem. Two of 50,000 collide about once in two stores, harmlessly."""
    return zlib.crc32(term.encode()) & ~SURFACE_BIT


def surface_id(form: str) -> int:
    """Return 32 bits for a surface form, never the id of a stem."""
    return zlib.crc32(form.encode()) | SURFACE_BIT


def index_ids(text: str, default: str = DEFAULT_LANGUAGE) -> list[int]:
    """Return the ids of a passage in an index: its stems in order, then the other surface forms.

    default: language of a passage that shows none.
    """
    parts = _take_apart(text, default)
    words = [ids for word in parts.words if (ids := _ids_of(word, parts.language)).term]
    others = _other_terms(parts)
    held = {*(word.term for word in words), *others}
    forms = dict.fromkeys(word.form_id for word in words if word.form and word.form not in held)
    return [*(word.term_id for word in words), *map(term_id, others), *forms]


class _WordIds(NamedTuple):
    term: str
    form: str
    term_id: int
    form_id: int


@lru_cache(maxsize=MAX_KNOWN_WORDS)
def _ids_of(word: str, language: str) -> _WordIds:
    """Return a word's stem and other surface form with their ids. A stop word has no stem."""
    term, form = _term_of(word, language), surface_of(word)
    form = form if form != term else ""
    return _WordIds(term, form, term_id(term), surface_id(form))


_NOT_ASCII = bytes(range(128, 256))


class TokenCounter(Protocol):
    """Tells how many tokens a text takes in a model's prompt."""

    def __call__(self, text: str) -> int:
        """Return the number of tokens, 0 for an empty text."""


def estimate(text: str) -> int:
    """The default counter: a token for 4 ASCII characters, and a token for 3 bytes of anything else, rounded up.

    Of short messages the vocabularies o200k and Llama 3 make 1.04 to 1.3 times as many in English, French, German
    and Spanish, .8 to 1.1 times in Chinese and Japanese (cl100k: 1.2 to 1.5), .5 to .7 times in Russian.
    """
    if text.isascii():
        return math.ceil(len(text) / 4)
    encoded = text.encode("utf-8", "surrogatepass")
    ascii_length = len(encoded.translate(None, delete=_NOT_ASCII))
    return math.ceil(ascii_length / 4 + (len(encoded) - ascii_length) / 3)
