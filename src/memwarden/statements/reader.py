"""Reads typed statements from what was said, and from a question what it asks for."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, Literal, NamedTuple, Protocol

import numpy as np

from memwarden.statements.clauses import Clause, clauses_of
from memwarden.statements.features import buckets_of
from memwarden.statements.statement import SORTS, PackedStatement, Statement, pack, unpack
from memwarden.statements.subjects import subjects_of
from memwarden.statements.weights import NONE, CommonWords, Floats, StatementWeights, load_weights
from memwarden.text.dates.recognizer import spans_in

MAX_STATEMENTS: Final = 5
"""Of a text the clauses that most likely state something are kept; what they lie near to helps a search in any case."""
MIN_CHANCE: Final = 0.35
"""What states something with a smaller chance is evidence for a search, but shown as a statement nowhere."""
MAX_VALUE: Final = 200
ATYPICAL: Final = 0.3
TYPICAL: Final = 0.6
"""The attribute of a clause is one of those that are known, however far it lies from all of them. A clause nearer
to the centre of an attribute's statements than TYPICAL is told with its full chance, a clause farther than ATYPICAL
never. As evidence for a search it counts either way: there a name in a short sentence moves it as far."""
CLAUSE_BATCH: Final = 256

When = Literal["current", "past", "list", "when", "why"]

_UNTIL: Final = re.compile(
    r"\b(?:until|till|til|up to|bis(?: zum)?|hasta(?: el)?|jusqu\S*)\s|まで|为止|到.{1,8}(?:结束|为止)", re.IGNORECASE
)
_WHY: Final = re.compile(
    r"\b(?:why|reason|how come|warum|wieso|weshalb|por qué|pourquoi)\b|なぜ|なんで|どうして|为什么|为啥|干嘛",
    re.IGNORECASE,
)
_WHEN: Final = re.compile(
    r"\b(?:when|what (?:day|date|time)|how long|wann|wie lange|seit wann|cuándo|cuánto tiempo|quand|combien de temps|"
    r"quelle date)\b|いつ|何時|何日|何曜日|什么时候|几点|几号|哪天|多久",
    re.IGNORECASE,
)
_LIST: Final = re.compile(
    r"\b(?:list|all (?:the|my|of|our)|everything|everyone|which \w+s|names of|alle|sämtliche|liste|todos|todas|lista|"
    r"tous|toutes)\b|全部|ぜんぶ|一覧|リスト|所有|都有|哪些|列",
    re.IGNORECASE,
)


class SentenceEncoder(Protocol):
    """The model of sentence vectors that the weights were fitted on."""

    dimensions: int

    def embed(self, texts: Sequence[str]) -> Floats: ...


class SaidText(NamedTuple):
    """A text as it was said. speaker: a person's name. vector: of the whole text, if it is at hand."""

    text: str
    at: datetime
    role: str | None = "user"
    speaker: str | None = None
    vector: Floats | None = None


@dataclass(frozen=True, slots=True)
class QuestionReading:
    """What a question asks for.

    Attributes:
        attributes: a chance for each attribute of the weights. subjects: keys of whom it asks about.
        when: the present, the past, all values, a time or a reason.
        implicit: the chance that it is a request that only needs to know. asks: that it asks at all.
        vector: where answers to it lie, of unit length.
    """

    attributes: Floats
    subjects: tuple[str, ...]
    when: When
    implicit: float
    asks: float
    vector: Floats


class StatementReader:
    """Reads statements with a sentence encoder and the learned weights. Safe to use from several threads."""

    def __init__(self, encoder: SentenceEncoder, weights: StatementWeights | None = None) -> None:
        self._encoder = encoder
        self._given = weights
        self._common = CommonWords(frozenset())

    @property
    def weights(self) -> StatementWeights:
        """The weights, read at first use."""
        if self._given is None:
            self._given = load_weights()
        return self._given

    def pack_all(self, said: Sequence[SaidText]) -> list[bytes]:
        """Return for each text its packed statements; empty for none. Raises ModelUnavailable as the encoder does."""
        clauses = [clauses_of(each.text) for each in said]
        vectors = self._vectors(said, clauses)
        found: list[bytes] = []
        start = 0
        for each, parts in zip(said, clauses, strict=True):
            rows = vectors[start : start + len(parts)]
            start += len(parts)
            found.append(pack(self._read(each, parts, rows)) if parts else b"")
        return found

    def statements(self, said: SaidText) -> list[Statement]:
        """Return a text's statements."""
        return unpack_records(said.text, self.pack_all([said])[0], self.weights)

    def question(self, text: str, vector: Floats | None = None) -> QuestionReading:
        """Return what a question asks for. vector: the encoder's of the text, if it is at hand."""
        line = self._encoder.embed([text])[0] if vector is None else vector
        lines = line[None].astype(np.float32)
        weights, buckets = self.weights, [buckets_of(text)]
        kinds = _softmax(weights.question.scores(lines, buckets))[0]
        past, implicit = float(kinds[1]), float(kinds[2])
        return QuestionReading(
            _softmax(weights.attribute.scores(lines, buckets))[0],
            subjects_of(text, None, "user", self._names()),
            _when(text, past),
            implicit,
            float(_sigmoid(weights.asks.scores(lines, buckets))[0, 0]),
            _unit(lines @ weights.asked)[0],
        )

    def _names(self) -> Collection[str]:
        if not len(self._common):
            self._common = CommonWords(self.weights.common)
        return self._common

    def _vectors(self, said: Sequence[SaidText], clauses: Sequence[Sequence[Clause]]) -> Floats:
        """The vectors of all clauses; a text that is a single clause brings its own."""
        texts: list[str] = []
        known: list[tuple[int, Floats]] = []
        wanted: list[int] = []
        place = 0
        for each, parts in zip(said, clauses, strict=True):
            for part in parts:
                # Most messages are a single clause, whose vector was made with the row: no second embedding.
                if each.vector is not None and part.text == each.text.strip():
                    known.append((place, each.vector))
                else:
                    wanted.append(place)
                    texts.append(part.text)
                place += 1
        vectors = np.zeros((place, self._encoder.dimensions), np.float32)
        for first in range(0, len(texts), CLAUSE_BATCH):
            vectors[wanted[first : first + CLAUSE_BATCH]] = self._encoder.embed(texts[first : first + CLAUSE_BATCH])
        for row, vector in known:
            vectors[row] = vector
        return vectors

    def _read(self, said: SaidText, clauses: Sequence[Clause], vectors: Floats) -> list[PackedStatement]:
        weights = self.weights
        buckets = [buckets_of(clause.text) for clause in clauses]
        states = _sigmoid(weights.states.scores(vectors, buckets))[:, 0]
        kept = [int(row) for row in np.argsort(-states, kind="stable")[:MAX_STATEMENTS]]
        kept.sort()  # in the order of the text again
        rows = vectors[kept]
        chosen = [buckets[row] for row in kept]
        chances = _softmax(weights.attribute.scores(rows, chosen))
        sorts = _softmax(weights.sort.scores(rows, chosen))
        units = _unit(rows @ weights.said)
        typical = np.clip((units @ weights.centres.T - ATYPICAL) / (TYPICAL - ATYPICAL), 0, 1)
        meanings = np.rint(127 * units).astype(np.int8)
        found = []
        for line, row in enumerate(kept):
            clause = clauses[row]
            best = np.argsort(-chances[line], kind="stable")[:3]
            since, until = _holds(clause.text, said.at)
            found.append(
                PackedStatement(
                    tuple(int(weights.codes[place]) for place in best),  # type: ignore[arg-type]
                    tuple(round(255 * float(chances[line, place])) for place in best),  # type: ignore[arg-type]
                    round(255 * float(states[row])),
                    round(255 * float(1 - sorts[line, 0])),
                    round(255 * float(typical[line, best[0]])),
                    int(sorts[line].argmax()),
                    clause.start,
                    clause.end,
                    since.toordinal(),
                    None if until is None else until.toordinal(),
                    "+".join(subjects_of(clause.text, said.speaker, said.role, self._names())),
                    meanings[line].tobytes(),
                )
            )
        return found


def unpack_records(text: str, packed: bytes, weights: StatementWeights) -> list[Statement]:
    """Return what a text states as records: the narrowest clauses that likely state something."""
    likely = [each for each in unpack(packed) if each.states >= 255 * MIN_CHANCE]
    return [_record(text, each, weights) for each in likely if not any(_inside(other, each) for other in likely)]


def _inside(inner: PackedStatement, outer: PackedStatement) -> bool:
    return inner is not outer and outer.start <= inner.start and inner.end <= outer.end


def _record(text: str, each: PackedStatement, weights: StatementWeights) -> Statement:
    attribute = weights.name(each.attributes[0])
    return Statement(
        each.subject,
        attribute,
        text[each.start : each.end][:MAX_VALUE],
        date.fromordinal(each.since),
        None if each.until is None else date.fromordinal(each.until),
        SORTS[each.sort],
        round(each.states / 255 * (each.chances[0] * each.typical / 255**2 if attribute != NONE else 1), 3),
        each.start,
        each.end,
    )


def _holds(text: str, at: datetime) -> tuple[date, date | None]:
    """Since when, and up to when, what a clause says holds: days that it names, else the day on which it was said."""
    said = at.date()
    spans = spans_in(text, at)
    if not spans:
        return said, None
    first, last = min(span.first for span in spans), max(span.last for span in spans)
    # "until 30 June" ends what holds; the same days without it say since when.
    if _UNTIL.search(text):
        return (first if first <= said and first != last else said), last
    return first, None


def _when(text: str, past: float) -> When:
    if _WHY.search(text):
        return "why"
    # A reason is asked for in the past tense too, so that "why" goes first.
    if past >= 0.5:
        return "past"
    if _WHEN.search(text):
        return "when"
    return "list" if _LIST.search(text) else "current"


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float32)


def _sigmoid(scores: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(scores, -30, 30))), np.float32)


def _unit(rows: Floats) -> Floats:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), np.float32)
