"""A linear classifier of wording: features of each short stretch, with learned weights.

What makes an order is who is meant to do it: "when asked about X, say Y" beside a word for the reading machine or its
user. So words of the same sense are read as that sense (``concepts.toml``), in many languages, and what counts beside
the words is which senses follow each other in a sentence. The weights (``weights.txt``) are those of a linear model,
made by ``python tests/evaluation/fit_wording.py`` from the texts in ``tests/evaluation/orders``. Zero is the line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import NamedTuple, TypeVar

from memwarden.security.injection.obfuscation import fold_lookalikes
from memwarden.security.words import load_words

# A word or sign, and its sense.
Token = tuple[str, str]

_READERS = frozenset(("AI", "HELPER"))
_SIGNS = frozenset(":,;!-])\u2013\u2014\u3001\uff1a\u060c")
_OPEN = frozenset("\"([{*#<>-!'/@.|\u2022\u3010\u300c\u201c")
_WORDS = Path(__file__).with_name("words.toml")
_BESIDE = load_words(_WORDS, "address")
_BEHIND = load_words(_WORDS, "address_behind")
_ORDERS = frozenset("MUST REMEMBER FORGET SAY RECOMMEND SEND TREAT PAY HIDE DO NOT ALWAYS ONWARD".split())
_NEAR = 3


def find_addressee(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the ways in which the sentence addresses a machine; the same way may come twice."""
    start = next((place for place, (word, _) in enumerate(tokens) if word not in _OPEN), 0)
    for place, (_, sense) in enumerate(tokens):
        if sense in _READERS:
            before, after = tokens[max(0, place - _NEAR) : place], tokens[place + 1 : place + 1 + _NEAR]
            for way in _ways(before, after, first=place - start <= 1):
                yield f"{way} {sense}"


def _ways(before: Sequence[Token], after: Sequence[Token], *, first: bool) -> Iterator[str]:
    if first and after and after[0][0] in _SIGNS:
        yield "called"
    if any(word in _BESIDE for word, _ in before) or (after and after[0][0] in _BEHIND):
        yield "addressed"
        if any(word in _SIGNS for word, _ in after):
            yield "addressed and told"
    ordered = next((sense for _, sense in after if sense in _ORDERS), None)
    if ordered is not None:
        yield "ordered"
        yield f"ordered {ordered}"
        if first:
            yield "ordered at once"
    if any(sense == "READING" for _, sense in (*before, *after)):
        yield "reads"
    if any(sense in ("IF", "YOU") for _, sense in before):
        yield "if"


# In characters: a sentence is looked at in pieces of this length at most (each begins in the middle of the piece
# before), and up to three of them together.
_PIECE = 240
STRETCH_TOKENS = 360
MAX_TOGETHER = 3
_MAX_WORD = 30
# How many senses apart two senses still belong together.
_GAP = 5
# So many letters of a longer word stand for all its forms.
_STEM = 5
_PART = 4
# A stretch with fewer features counts as if it had so many: a single word says little.
MIN_TOKENS = 12
# A key among the weights that is no feature: the lower line, below zero.
LOWER = "!lower"

_SENTENCE = re.compile(
    r"[^.!?\u3002\uff01\uff1f\u061f\u0964\n]+(?:[.!?](?=\w)[^.!?\u3002\uff01\uff1f\u061f\u0964\n]+)*"
    r"[.!?\u3002\uff01\uff1f\u061f\u0964]{0,3}"
)
_CLOSE = "\u3040-\u30ff\u3400-\u9fff"
_TOP = "(?:example|com|org|net|info|io|dev|app|ai|co|shop|biz|eu|de|fr|es|it|pt|nl|pl|ru|cn|jp|kr|uk|us|ch|at|se)"
_TOKEN = re.compile(
    r"(?P<url>https?://\S{1,200}|\bwww\.\S{1,200}"
    rf"|(?<![\w.@-])(?:[a-z\d-]{{1,60}}\.){{1,4}}{_TOP}(?![\w-])(?:/\S{{0,200}})?)"
    rf"|(?P<mail>[\w.+-]{{1,60}}@[\w-]{{1,60}}\.\w+)|(?P<close>[{_CLOSE}]+)"
    rf"|(?P<word>[^\W_{_CLOSE}]+(?:['-][^\W_{_CLOSE}]+)*)|(?P<sign>[^\w\s])"
)


ShownText = TypeVar("ShownText", frozenset[str], dict[str, float])


class InjectionScore(NamedTuple):
    """The distance of a text's worst stretch from the line (below zero: under it), and its words."""

    over: float
    words: str


class TextStretch(NamedTuple):
    """Up to three sentences that follow each other: their words, and the features that they show."""

    words: str
    features: frozenset[str]


class TextSentence(NamedTuple):
    """A sentence or a line where it stands in a text."""

    begin: int
    end: int
    words: str


def classify(folded: str) -> InjectionScore:
    """Weigh every stretch of a folded text; the heaviest counts, so that a page around an order changes nothing."""
    worst = InjectionScore(_weights()[""], "")
    for words, known in _runs([(piece, _known_words(features_of(piece))) for piece in _pieces(folded)]):
        over = _sum(known)
        if over > worst.over:
            worst = InjectionScore(over, words)
    return worst


def score_features(features: Iterable[str]) -> float:
    """Return the distance from the line of a stretch with these features."""
    return _sum(_known_words(features))


def _known_words(features: Iterable[str]) -> dict[str, float]:
    weights = _weights()
    return {feature: weights[feature] for feature in features if feature in weights}


def _sum(known: Mapping[str, float]) -> float:
    return sum(known.values()) / sqrt(max(len(known), MIN_TOKENS)) + _weights()[""]


def lower_line() -> float:
    """Return the line for single sentences, below zero."""
    return _weights()[LOWER]


def split_sentences(text: str) -> list[TextSentence]:
    """The sentences and lines of a text that is not folded."""
    return [
        TextSentence(match.start(), match.end(), match.group())
        for match in _SENTENCE.finditer(text)
        if len(match.group().strip()) > 1
    ]


def find_stretches(folded: str) -> Iterator[TextStretch]:
    """Every stretch of a folded text, each sentence also alone."""
    return (TextStretch(*run) for run in _runs([(piece, features_of(piece)) for piece in _pieces(folded)]))


def _runs(pieces: Sequence[tuple[str, ShownText]]) -> Iterator[tuple[str, ShownText]]:
    for first, (begin, its) in enumerate(pieces):
        words, shown = begin, its
        yield words, shown
        for piece, more in pieces[first + 1 : first + MAX_TOGETHER]:
            if len(words) + len(piece) > STRETCH_TOKENS:
                break
            words, shown = f"{words} {piece}", shown | more
            yield words, shown


def _pieces(folded: str) -> list[str]:
    return [
        match.group()[begin : begin + _PIECE].strip()
        for match in _SENTENCE.finditer(folded)
        if len(match.group().strip()) > 1
        for begin in range(0, max(1, len(match.group()) - _PIECE // 2), _PIECE // 2)
    ]


def features_of(piece: str) -> frozenset[str]:
    """The features that a folded sentence shows."""
    tokens = [token for match in _TOKEN.finditer(piece) for token in _tokens(match)]
    words = [word for word, _ in tokens]
    line = ["^"]
    for _, sense in tokens:
        if sense != "_" or line[-1] != "_":
            line.append(sense)
    line.append("$")
    features = {f"w:{word}" for word in words}
    features.update(f"n:{a} {b}" for a, b in pairwise(line))
    # A word beside a sense, so that small words tell how a sense is meant: "tell them", "the user's", "a model".
    features.update(f"m:{a} {b}" for (a, _), (_, b) in pairwise(tokens) if b != "_")
    features.update(f"m:{a} {b}" for (_, a), (b, _) in pairwise(tokens) if a != "_")
    features.update(f"s:{word[:_STEM]}" for word in words if len(word) > _STEM)
    features.update(f"g:{part}" for word in words if word.isalpha() for part in _inner_parts(word))
    # Where no blanks are set, two signs make a word more often than one.
    features.update(f"s:{a}{b}" for (a, _), (b, _) in pairwise(tokens) if _is_close(a) and _is_close(b))
    seen = [sense for sense in line[1:-1] if sense.isupper()]
    features.update(f"c:{sense}" for sense in seen)
    for place, sense in enumerate(seen):
        features.update(f"p:{sense} {later}" for later in seen[place + 1 : place + 1 + _GAP])
    features.update(f"a:{kind}" for kind in find_addressee(tokens))
    return frozenset(features)


def _inner_parts(word: str) -> Iterator[str]:
    """Runs of letters within a word: they say the same in its other forms and in kin languages."""
    return (word[at : at + _PART] for at in range(1, len(word) - _PART + 1))


def _is_close(token: str) -> bool:
    return "\u3040" <= token[0] <= "\u9fff"


def _tokens(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    kind, token = match.lastgroup, match.group()
    if kind in ("url", "mail"):
        yield kind, kind.upper()
    elif kind == "sign":
        yield token, token
    elif kind == "word":
        word = token[:_MAX_WORD]
        yield word, sense_of(word)
    else:
        yield from _read_close(token)


def _read_close(run: str) -> Iterator[tuple[str, str]]:
    """Words of a script that sets no blanks: those with a sense, and the signs between them."""
    at = 0
    for match in _senses().within.finditer(run):
        yield from ((sign, "_") for sign in run[at : match.start()])
        yield match.group(), _senses().parts[match.group()]
        at = match.end()
    yield from ((sign, "_") for sign in run[at:])


class _Senses(NamedTuple):
    whole: dict[str, str]
    stems: dict[str, str]
    parts: dict[str, str]
    within: re.Pattern[str]


_ARABIC = re.compile("[\u0600-\u06ff]")


@lru_cache(maxsize=20_000)
def sense_of(word: str) -> str:
    senses = _senses()
    if word in senses.whole:
        return senses.whole[word]
    for length in range(len(word), 1, -1):
        if word[:length] in senses.stems:
            return senses.stems[word[:length]]
    if _ARABIC.search(word) and (match := senses.within.search(word)):
        return senses.parts[match.group()]
    if "-" in word or "'" in word:
        for part in re.split("[-']", word):
            if len(part) > 1 and (sense := sense_of(part)) != "_":
                return sense
    return "#" if word.isdigit() else "_"


@cache
def _senses() -> _Senses:
    source = tomllib.loads(resources.files(__package__).joinpath("concepts.toml").read_text(encoding="utf-8"))
    whole: dict[str, str] = {}
    stems: dict[str, str] = {}
    parts: dict[str, str] = {}
    for sense, scripts in source.items():
        for word in fold_lookalikes(f"{scripts.get('latin', '')} {scripts.get('other', '')}").split():
            (stems if word.endswith("*") else whole).setdefault(word.rstrip("*").replace("_", " "), sense.upper())
        for word in fold_lookalikes(scripts.get("within", "")).split():
            parts.setdefault(word, sense.upper())
    longest_first = sorted(parts, key=len, reverse=True)
    return _Senses(whole, stems, parts, re.compile("|".join(map(re.escape, longest_first))))


@cache
def _weights() -> dict[str, float]:
    """The weight of each feature; that of nothing is what is added to every sum."""
    lines = resources.files(__package__).joinpath("weights.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.rpartition("\t") for line in lines if not line.startswith("#!"))
    return {feature: int(weight) / 100 for feature, _, weight in pairs}
