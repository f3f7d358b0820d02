"""Reads typed statements from what was said, and from a question what it asks for."""

from __future__ import annotations

import re
import tomllib
import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Any, Final, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from memwarden.models.products import multiply
from memwarden.records import Channel, IndexRow
from memwarden.statements.homes import tells_home
from memwarden.statements.posts import find_asked_post, find_held_post, find_owners, names_post
from memwarden.statements.statement import ANYBODY, FORMAT, NONE, Clause, PackedStatement, clauses_of, days_held, pack
from memwarden.statements.wording import (
    ASSISTANT,
    MAX_SIGNS,
    SELF,
    Mention,
    asks_what_somebody_does,
    find_mentions,
    find_somebody,
    keys_of_speaker,
    mentions_speaker,
    own_relation,
    parts_of_introduction,
    subjects_among,
    subjects_of,
    tells_age,
    tells_new_work,
    word_in_first_person,
    word_nameless,
)
from memwarden.text.dates.recognizer import spans_in
from memwarden.text.language import language_of, normalize_text
from memwarden.text.lexicon import pattern_of
from memwarden.text.question_words import read_question_words
from memwarden.text.tokenizer import GLUED_SCRIPT
from memwarden.text.update_words import load_update_words

Floats = npt.NDArray[np.float32]


When = Literal["current", "past", "list", "when", "why"]


def when_asked(text: str, past: float) -> When:
    """Return what a question asks for: the present, the past, a list, a time or a reason. past: the chance of that."""
    asked_for = read_question_words(text)
    if asked_for.reason:
        return "why"
    # A reason is asked for in the past tense too, so that "why" goes first.
    if past >= 0.5 or asked_for.past:
        return "past"
    if asked_for.time:
        return "when"
    return "list" if asked_for.several else "current"


BUCKETS: Final = 1 << 14
MAX_READ_CHARACTERS: Final = 400

_HASHED_WORD: Final = re.compile(r"[a-z0-9äöüßàâçéèêëîïôûùœáíóúñ¿¡']+|[\u3040-\u30ff\u4e00-\u9fff]")
_DIGITS: Final = re.compile(r"\d+")


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, every number as "0"; each sign of an unspaced language is a word."""
    # "rent 540" and "rent 612" state the same attribute: every number is the same word.
    return _HASHED_WORD.findall(_DIGITS.sub("0", text[:MAX_READ_CHARACTERS].lower().replace("’", "'")))


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


class LinearHead(NamedTuple):
    """A linear map of a sentence vector and of hashed words. words is None for a map of the vector alone."""

    dense: Floats
    words: Floats | None
    bias: Floats

    def scores(self, vectors: Floats, buckets: list[list[int]]) -> Floats:
        """Return one line of scores a clause."""
        scores = multiply(vectors, self.dense) + self.bias
        if self.words is not None:
            # Few buckets a clause: adding their rows beats a sparse product, which would need scipy.
            for line, places in enumerate(buckets):
                scores[line] += self.words[places].sum(axis=0) / np.sqrt(len(places) or 1)
        return np.asarray(scores, np.float32)


def add_needed(chances: Floats, attributes: tuple[str, ...]) -> Floats:
    """Return the chances of a request's attributes with those of what the topics need that it sounds like.

    attributes: the names of the columns.
    """
    topics, needed = _tables(attributes)
    about = np.minimum(topics @ chances, np.float32(1))
    return np.asarray(np.maximum(chances, (needed * about[:, None]).max(axis=0)), np.float32)


@cache
def _tables(attributes: tuple[str, ...]) -> tuple[Floats, Floats]:
    """A line a topic: 1 for what it sounds like, and for what it needs."""
    read = tomllib.loads(files(__package__).joinpath("needs.toml").read_text(encoding="utf-8"))
    sides = [[np.isin(attributes, topic[side]) for topic in read.values()] for side in ("topics", "needed")]
    topics, needed = (np.array(side, np.float32) for side in sides)
    return topics, needed


class CommonWords:
    """Words in lower case that are nobody's name, by checksum."""

    def __init__(self, checksums: frozenset[int]) -> None:
        self._checksums = checksums

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and zlib.crc32(word.encode()) in self._checksums

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return len(self._checksums)


def with_other_keys(asked: Sequence[str], told: Iterable[Sequence[str]]) -> set[str]:
    """Return the keys of somebody with the others by which texts call them: who said "my sister Marta" asks for both.

    told: the keys of each statement.
    """
    found = set(asked)
    beside = [keys for keys in told if len(keys) > 1 and not found.isdisjoint(keys)]
    for keys in beside:
        relations = {key for key in keys if key.startswith("relation:")}
        names = {key for key in keys if key.startswith("name:")}
        # "Marta and my mother" are two.
        if len(relations) == len(names) == 1 and not found.isdisjoint(relations | names):
            found |= relations | names
    return found


class StatementWeights(NamedTuple):
    """All that was learned.

    Attributes:
        attributes: names, in the order of the columns of ``attribute``. codes: their numbers in packed statements.
        many: which attributes hold several values at once, such as allergies. kin: a number that attributes share of
        which either answers a question for the other, such as job and employer; 0 for none. of_relations: which
        attributes of whoever speaks are somebody else, such as a partner's name.
        attribute: which attribute a clause or a question is of. states: whether a clause states something that holds.
        sort: state, change or end. question: a question of the present, of the past, or an implicit request.
        asks: whether a text asks at all. said, asked: maps into the space where questions meet their answers.
        centres: in that space, of the statements of each attribute, of unit length.
        common: checksums of words in lower case that are nobody's name.
    """

    attributes: tuple[str, ...]
    codes: npt.NDArray[np.uint32]
    many: npt.NDArray[np.bool_]
    kin: npt.NDArray[np.uint8]
    of_relations: npt.NDArray[np.bool_]
    attribute: LinearHead
    states: LinearHead
    sort: LinearHead
    question: LinearHead
    asks: LinearHead
    said: Floats
    centres: Floats
    asked: Floats
    common: frozenset[int]

    def name(self, code: int) -> str:
        """Return the attribute of a code, "none" for a code of other weights."""
        places = np.flatnonzero(self.codes == code)
        return self.attributes[int(places[0])] if len(places) else NONE


def attribute_code(attribute: str) -> int:
    """Return the number of an attribute in packed statements: it stays when others are added."""
    return zlib.crc32(attribute.encode())


@cache
def load_weights() -> StatementWeights:
    """Return the weights of the wheel, read once."""
    # Read through importlib.resources, so that a wheel in a zip file works too.
    with np.load(BytesIO(files(__package__).joinpath("weights.npz").read_bytes())) as stored:
        arrays = {name: stored[name] for name in stored.files}

    def wide(name: str) -> Floats:
        return np.asarray(arrays[name].astype(np.float32) * arrays[f"{name}_scale"], np.float32)

    def head(name: str) -> LinearHead:
        words = wide(f"{name}_words") if f"{name}_words" in arrays else None
        return LinearHead(wide(f"{name}_dense"), words, arrays[f"{name}_bias"].astype(np.float32))

    attributes = tuple(arrays["attributes"].tobytes().decode().split("\n"))
    codes = np.array([attribute_code(name) for name in attributes], np.uint32)
    return StatementWeights(
        attributes,
        codes,
        arrays["many"].astype(np.bool_),
        arrays["kin"],
        arrays["of_relations"].astype(np.bool_),
        head("attribute"),
        head("states"),
        head("sort"),
        head("question"),
        head("asks"),
        wide("said"),
        wide("centres"),
        wide("asked"),
        frozenset(arrays["common"].tolist()),
    )


# Of a text the clauses that most likely state something are kept; what they lie near to helps a search in any case.
MAX_STATEMENTS: Final = 5
ATYPICAL: Final = 0.3
# The attribute of a clause is one of those that are known, however far it lies from all of them. A clause nearer to
# the centre of an attribute's statements than TYPICAL is told with its full chance, a clause farther than ATYPICAL
# never. As evidence for a search it counts either way: there a name in a short sentence moves it as far.
TYPICAL: Final = 0.6
CLAUSE_BATCH: Final = 256


# So surely an attribute is asked for, that it would be told surely where it is known; and what is lacking then costs.
SURELY_ASKED: Final = 0.8
UNTOLD: Final = 3.0
# The chance of an attribute that a written rule tells.
OF_RULE: Final = 0.9
# From this chance on a question is a request that only needs to know.
MIN_IMPLICIT: Final = 0.5


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
        attributes: a chance for each attribute of the weights, or most of that of its kin; for a request that needs to
            know, of what it needs. subjects: keys of whom it asks about.
        when: the present, the past, all values, a time or a reason.
        implicit: the chance that it is a request that only needs to know. asks: that it asks at all.
        vector: where answers to it lie, of unit length.
        relation: the only relation of whoever asks that it is about: "sister"; None for none and for several.
        many: whether the likeliest attribute holds several values at once, and more is asked than whether one is so.
        by_name: whether it is about somebody who speaks, by name: then it needs nothing beside what it asks for.
        of_somebody: whether it asks for somebody or what is theirs, as for a landlord or the name of a dog: then what
            is told of others may answer.
    """

    attributes: Floats
    subjects: tuple[str, ...]
    when: When
    implicit: float
    asks: float
    vector: Floats
    relation: str | None = None
    many: bool = False
    by_name: bool = False
    of_somebody: bool = False

    def of_speaker(self) -> QuestionReading:
        """The same about somebody who speaks, by name."""
        return replace(self, by_name=True)

    @property
    def is_request(self) -> bool:
        """Whether it asks for no value, and needs to know some."""
        return self.implicit >= MIN_IMPLICIT and not self.by_name

    @property
    def asks_for_single(self) -> bool:
        """Whether a single value is asked for, not a list."""
        return not self.many and self.when != "list"

    @property
    def asks_for_several(self) -> bool:
        """Whether several statements answer it: a list, what is over, why and when it came so, what a request needs."""
        return not self.asks_for_single or self.when != "current" or self.is_request

    def doubt(self, told: float) -> float:
        """The logits by which an answer is doubted where much is known, and nothing surely tells what is asked for."""
        asked = float(self.attributes.max())
        return UNTOLD * max(asked - told, 0.0) if asked >= SURELY_ASKED else 0.0


class _WordedClause(NamedTuple):
    """A clause as the person it is about would say it.

    Attributes:
        is_other: whether these are other words than were said. of_others: whether it is surely about others alone.
    """

    text: str
    subjects: tuple[str, ...]
    is_other: bool
    of_others: bool


def _word_clauses(said: SaidText, clauses: Sequence[Clause], common: Collection[str]) -> list[_WordedClause]:
    parts = parts_of_introduction(said.text)
    found = []
    for clause in clauses:
        text = clause.spoken[:MAX_SIGNS]
        mentions = sorted(find_mentions(text, common))
        subjects = subjects_among(text, mentions, said.speaker, said.role)
        words = clause.spoken
        if parts and clause.start < parts[0].start:
            # "Dara here, 41, a cook" is of whoever speaks.
            subjects = keys_of_speaker(said.speaker) if said.role != ASSISTANT else ()
        else:
            words = word_in_first_person(clause.spoken, find_somebody(text, mentions))
        if subjects == (ANYBODY,):
            subjects = _named_before(said, clause.start, common) or subjects
        elif not mentions and said.role != ASSISTANT:
            subjects = _goes_on_about(said, clause, clauses, common) or subjects
        # What is stated for somebody may call them by their name.
        known = said.role is not None or any(not key.startswith("name:") for key in subjects)
        alone = bool(subjects) and SELF not in subjects and known and not mentions_speaker(text, mentions)
        # "My landlord raised the rent to 900 euros", "Dr. Keller said ..." are of the speaker, too.
        alone = alone and not (names_post(text) or _reschedules(text, mentions, said.at))
        found.append(_WordedClause(words, subjects, words != clause.spoken, alone))
    return found


def _reschedules(text: str, mentions: Sequence[Mention], at: datetime) -> bool:
    """Whether a text gives a day to a thing that may be the speaker's: "Lufthansa moved the flight to 9 May"."""
    words = load_update_words(language_of(text))
    sign = None if words is None else words.patterns.get("rescheduled")
    if sign is None or sign.search(normalize_text(text)) is None:
        return False
    return all(mention.sort != "third" for mention in mentions) and bool(spans_in(text, at))


_SENTENCE_END: Final = re.compile(r"[.!?…]\s|\n|[.!?…]$")


def _goes_on_about(
    said: SaidText, clause: Clause, clauses: Sequence[Clause], common: Collection[str]
) -> tuple[str, ...]:
    """Whom a clause without a subject goes on about: "Jas is in Leeds now, works as a vet"; empty for the speaker.

    Chinese and Japanese leave out the speaker too often for that.
    """
    if GLUED_SCRIPT.search(clause.text):
        return ()
    around = [each for each in clauses if each.start < clause.start and clause.end <= each.end]
    if not around:
        return ()
    begun = said.text[max(each.start for each in around) : clause.start]
    if _SENTENCE_END.search(begun):
        return ()
    subjects = subjects_of(begun, said.speaker, said.role, common)
    return () if SELF in subjects else subjects


# So far before "she" somebody is looked for.
MAX_BEFORE: Final = 160


def _named_before(said: SaidText, end: int, common: Collection[str]) -> tuple[str, ...]:
    """Whom the words before name last as those they are about: "My sister Jo is a vet. She has two boys."""
    for clause in reversed(clauses_of(said.text[max(end - MAX_BEFORE, 0) : end])):
        subjects = subjects_of(clause.text, said.speaker, said.role, common)
        if any(key.startswith(("name:", "relation:")) for key in subjects):
            return subjects
    return ()


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
        worded = [_word_clauses(each, parts, self._names()) for each, parts in zip(said, clauses, strict=True)]
        plain = vectors.copy()
        places = [
            place for place, clause in enumerate(clause for parts in worded for clause in parts) if clause.is_other
        ]
        texts = [clause.text for parts in worded for clause in parts if clause.is_other]
        for first in range(0, len(texts), CLAUSE_BATCH):
            plain[places[first : first + CLAUSE_BATCH]] = self._encoder.embed(texts[first : first + CLAUSE_BATCH])
        found: list[bytes] = []
        start = 0
        for each, parts, words in zip(said, clauses, worded, strict=True):
            rows = slice(start, start + len(parts))
            start += len(parts)
            found.append(pack(self._read(each, parts, words, (vectors[rows], plain[rows]))) if parts else b"")
        return found

    def question(self, text: str, vector: Floats | None = None) -> QuestionReading:
        """Return what a question asks for. vector: the encoder's of the text, if it is at hand."""
        line = self._encoder.embed([text])[0] if vector is None else vector
        lines = line[None].astype(np.float32)
        weights, buckets = self.weights, [buckets_of(text)]
        kinds = _softmax(weights.question.scores(lines, buckets))[0]
        past, implicit = float(kinds[1]), float(kinds[2])
        mentions = sorted(find_mentions(text[:MAX_SIGNS], self._names()))
        attributes = _softmax(weights.attribute.scores(self._nameless(text, lines), buckets))[0]
        subjects = subjects_among(text[:MAX_SIGNS], mentions, None, "user")
        relation = own_relation(text, found=mentions)
        # "I'm seeing someone new, his name is Farid" says of whoever speaks who the partner is.
        of_somebody = bool(weights.of_relations[attributes.argmax()])
        if relation is not None and of_somebody:
            subjects = tuple(sorted({*subjects, SELF}))
        if (mentions or subjects) and asks_what_somebody_does(text):
            attributes = _with_rule(attributes, weights, "job")
        if post := find_asked_post(text):
            attributes = _with_rule(attributes, weights, post)
            # "Chi" of "Chi è il mio dentista?" has a capital and names nobody.
            subjects = tuple(key for key in subjects if not _is_question_word(key.removeprefix("name:")))
        wanted = _with_kin(attributes, weights.kin)
        return QuestionReading(
            add_needed(wanted, weights.attributes) if implicit >= MIN_IMPLICIT else wanted,
            subjects,
            when_asked(text, past),
            implicit,
            float(_sigmoid(weights.asks.scores(lines, buckets))[0, 0]),
            _unit(multiply(lines, weights.asked))[0],
            relation,
            bool(weights.many[attributes.argmax()]) and not read_question_words(text).whether,
            of_somebody=of_somebody or bool(post),
        )

    def _nameless(self, text: str, lines: Floats) -> Floats:
        """The vector of a question in which nobody is named: a name moves that of a short sentence far."""
        worded = word_nameless(text, self._names(), asks=True)
        return lines if worded == text else self._encoder.embed([worded]).astype(np.float32)

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
                    texts.append(part.spoken)
                place += 1
        vectors = np.zeros((place, self._encoder.dimensions), np.float32)
        for first in range(0, len(texts), CLAUSE_BATCH):
            vectors[wanted[first : first + CLAUSE_BATCH]] = self._encoder.embed(texts[first : first + CLAUSE_BATCH])
        for row, vector in known:
            vectors[row] = vector
        return vectors

    def _read(
        self,
        said: SaidText,
        clauses: Sequence[Clause],
        worded: Sequence[_WordedClause],
        vectors: tuple[Floats, Floats],
    ) -> list[PackedStatement]:
        """Return what clauses state. vectors: of the clauses, and of their words in the first person."""
        weights = self.weights
        buckets = [buckets_of(clause.text) for clause in worded]
        said_so = [buckets_of(clause.spoken) for clause in clauses]
        # "My sister's birthday is on 3 October" states something as it was said, "he's a cook" as he would say it.
        both = ((vectors[0], said_so), (vectors[1], buckets))
        states = np.max([_sigmoid(weights.states.scores(rows, words))[:, 0] for rows, words in both], axis=0)
        kept = [int(row) for row in np.argsort(-states, kind="stable")[:MAX_STATEMENTS]]
        kept.sort()  # in the order of the text again
        rows = vectors[1][kept]
        chosen = [buckets[row] for row in kept]
        chances = _softmax(weights.attribute.scores(rows, chosen))
        sorts = _softmax(weights.sort.scores(rows, chosen))
        likeness = multiply(_unit(multiply(rows, weights.said)), weights.centres.T)
        typical = np.clip((likeness - ATYPICAL) / (TYPICAL - ATYPICAL), 0, 1)
        meanings = np.rint(127 * _unit(multiply(vectors[0][kept], weights.said))).astype(np.int8)
        found = []
        for line, row in enumerate(kept):
            clause, subjects = clauses[row], worded[row].subjects
            of_somebody = any(key.startswith(("name:", "relation:")) for key in subjects)
            ruled = {
                "age": tells_age(clause.spoken, of_somebody),
                "employer": tells_new_work(clause.spoken),
                "home city": tells_home(clause.spoken),
            }
            post = find_held_post(clause.spoken, self._names())
            if post is not None and (of_somebody or ANYBODY in subjects):
                subjects = find_owners(clause.spoken, post, self._names())
            rules = [name for name, holds in ruled.items() if holds] + ([post.attribute] if post is not None else [])
            for attribute in rules:
                chances[line] = _with_rule(chances[line], weights, attribute)
                typical[line], states[row] = 1, 1
            best = np.argsort(-chances[line], kind="stable")[:3]
            since, until = days_held(clause.text, said.at)
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
                    "+".join(subjects),
                    meanings[line].tobytes(),
                    worded[row].of_others and SELF not in subjects,
                )
            )
        return found


def is_read(packed: bytes | None) -> bool:
    """Whether a text's statements were read, in the present format; a text may state nothing."""
    return packed is not None and (not packed or packed[0] == FORMAT)


def lacks_signals(row: IndexRow, stating: bool) -> bool:
    """Whether signals of a row are still to be made: a turn's vector, or statements that no release of now has read.

    stating: whether there is a model that reads statements.
    """
    if not row.vector:
        return row.vector is not None or row.channel == Channel.TURN
    return stating and not is_read(row.statements)


# So much of the chance of an attribute its kin have.
KIN_SHARE: Final = 0.8


def _is_question_word(word: str) -> bool:
    return pattern_of("question_words").fullmatch(word) is not None


def _with_rule(chances: Floats, weights: StatementWeights, attribute: str) -> Floats:
    """Return the chances with that of an attribute that a written rule tells."""
    return np.asarray(
        np.maximum(chances, np.float32(OF_RULE) * (weights.codes == attribute_code(attribute))), np.float32
    )


def _with_kin(chances: Floats, kin: npt.NDArray[np.uint8]) -> Floats:
    """Return the chances with those of kin raised: whoever asks for a job is told by "I started at Nordlift"."""
    best = np.zeros(int(kin.max()) + 1, np.float32)
    np.maximum.at(best, kin, chances)
    best[0] = 0
    return np.asarray(np.maximum(chances, np.float32(KIN_SHARE) * best[kin]), np.float32)


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float32)


def _sigmoid(scores: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(scores, -30, 30))), np.float32)


def _unit(rows: Floats) -> Floats:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), np.float32)
