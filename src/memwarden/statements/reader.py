"""Reads typed statements from what was said, and from a question what it asks for."""

from __future__ import annotations

import re
import tomllib
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from memwarden.statements.statement import (
    NONE,
    Clause,
    CommonWords,
    LinearHead,
    PackedStatement,
    When,
    add_needed,
    asks_what_somebody_does,
    buckets_of,
    clauses_of,
    days_held,
    find_unspaced_names,
    introduces_with_age,
    pack,
    when_asked,
)

Floats = npt.NDArray[np.float32]


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


SELF: Final = "self"
ASSISTANT: Final = "assistant"
# So far from "my" the relation may stand that it means.
NEAR_SIGNS: Final = 22
# So far a name and a relation may stand apart and mean the same person ("my sister Ana").
BESIDE_SIGNS: Final = 16
MAX_SIGNS: Final = 400
# A name that stands later in a statement is seldom whom it is about ("moved to Porto"); in a question it often is.
NAME_SIGNS: Final = 14

_NAME_WORD: Final = re.compile(r"[A-Za-zÀ-ÿœŒ]+(?:['’][A-Za-zÀ-ÿ]+)?")
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
# How far before a word the end of a sentence is looked for.
_MAX_BEFORE_NAME: Final = 12
_SENTENCE_START: Final = re.compile(r"(?:^|[.!?:\n])\s*[\"'“(¿¡]*$")
_ASKS: Final = re.compile(
    r"[?？]|^\s*(?:what|where|who|when|which|how|does|did|is|has|was|wo|wer|wie|wann|qué|dónde|quién|cuándo|où|qui|quand)\b",
    re.IGNORECASE,
)
_BEFORE_PLACE: Final = re.compile(
    r"\b(?:to|in|at|from|with|of|for|by|near|into|on|via|nach|bei|mit|von|aus|zu|en|a|de|con|por|para|à|au|chez|avec|dans)"
    r"\s+(?:the\s+)?$",
    re.IGNORECASE,
)
# "Where did I live before Porto?" asks about no Porto.
_AFTER_TIME: Final = re.compile(
    r"\b(?:before|after|since|until|vor|nach|seit|bis|antes de|después de|desde|hasta|avant|après|depuis)\s+$",
    re.IGNORECASE,
)
# "Sold the Polo" and "mi Polo" name a thing.
_AFTER_ARTICLE: Final = re.compile(
    r"\b(?:the|a|an|my|our|his|her|their|el|la|los|las|un|una|mi|nuestro|nuestra|le|les|une|mon|ma|notre)\s+$",
    re.IGNORECASE,
)
# "He dejado" is "I have left" in Spanish, no man.
_HAVE: Final = re.compile(r"he\s+(?:\w{2,}(?:ado|ido|cho|sto|rto|lto)|ido)\b", re.IGNORECASE)
# "Aino and I moved" is about both.
_AND_I: Final = re.compile(r"\s+(?:and|und|y|et)\s+(?:I|me|ich|yo|moi)\b")
_GERMAN: Final = re.compile(r"\b(?:ich|der|die|das|und|ist|nicht|mit|hab|wir|ein|eine)\b")
# "我在小学当老师" tells of a job, "私は先生です" too.
_NOT_OWNED: Final = re.compile(r"[はがも在是当做和跟成]")


class SubjectWords(NamedTuple):
    """The word lists. relations: each word with the first word of its line. broader: what each is part of."""

    self: frozenset[str]
    you: frozenset[str]
    third: frozenset[str]
    possessive: frozenset[str]
    relations: dict[str, str]
    broader: dict[str, tuple[str, ...]]
    large: frozenset[str]
    nobody: frozenset[str]
    unspaced: tuple[tuple[str, str, str], ...]
    """Words of languages without blanks, the longest first: word, sort and key."""


class _Mention(NamedTuple):
    start: int
    shortness: int
    sort: str
    key: str


@cache
def subject_words() -> SubjectWords:
    """Return the word lists, read once."""
    read = tomllib.loads(files(__package__).joinpath("subjects.toml").read_text(encoding="utf-8"))
    lists = {name: frozenset(words.split()) for name, words in read["pronouns"].items()}
    lines = [line.split() for line in read["relations"]["lines"].strip().splitlines()]
    # Reversed, so that of two lines with the same word the first wins.
    relations = {word: line[0] for line in reversed(lines) for word in line}
    unspaced = [(word, "relation", f"relation:{first}") for word, first in relations.items() if _UNSPACED.search(word)]
    for sort in ("self", "third", "you"):
        unspaced += [(word, sort, sort) for word in lists[sort] if _UNSPACED.search(word)]
    unspaced.sort(key=lambda entry: -len(entry[0]))
    return SubjectWords(
        lists["self"],
        lists["you"],
        lists["third"],
        lists["possessive"],
        relations,
        {narrow: tuple(wide.split()) for narrow, wide in read["broader"].items()},
        frozenset(read["large"]["words"].split()),
        frozenset(read["nobody"]["words"].split()),
        tuple(unspaced),
    )


def subjects_of(
    text: str, speaker: str | None = None, role: str | None = "user", common: Collection[str] = frozenset()
) -> tuple[str, ...]:
    """Return the keys of whom a clause is about: "self", "name:ana", "relation:sister"; sorted, empty for nobody.

    speaker: the name of who says it; "self" then stands beside that name. In an assistant's words "you" is the user.
    common: words in lower case that are nobody's name although a sentence begins with them.
    """
    text = text[:MAX_SIGNS]
    return _subjects_of(text, sorted(_mentions(text, common)), speaker, role)


def _subjects_of(text: str, found: list[_Mention], speaker: str | None, role: str | None) -> tuple[str, ...]:
    # Chats drop the subject: "moved last week", "works fine now". The speaker is meant more often than not.
    if not found:
        return _self(speaker) if role != ASSISTANT else ()
    first = _meant(text.lower(), found)
    if first.sort == "you":
        return (SELF,) if role == ASSISTANT else ()
    if first.sort == "self":
        return _self(speaker) if role != ASSISTANT else ()
    if first.sort == "third":
        return ("third",)
    other = "name" if first.sort == "relation" else "relation"
    near = {
        mention.key
        for mention in found
        if mention.sort == other and 0 <= mention.start - first.start <= BESIDE_SIGNS - first.shortness
    }
    with_me = role != ASSISTANT and any(_AND_I.match(text, each.start - each.shortness) for each in found)
    return tuple(sorted({first.key, *near, *(_self(speaker) if with_me else ())}))


def _self(speaker: str | None) -> tuple[str, ...]:
    return tuple(sorted({f"name:{speaker.casefold()}", SELF})) if speaker else (SELF,)


def _meant(low: str, found: list[_Mention]) -> _Mention:
    """The first mention, or the relation after it that a possessive points at ("my sister")."""
    first = found[0]
    # "my sister works" is about the sister, though "my" comes first.
    if first.sort in ("self", "you") and low[first.start : first.start - first.shortness] in subject_words().possessive:
        for mention in found[1:]:
            if mention.start - first.start > NEAR_SIGNS:
                break
            if mention.sort == "relation" and not _NOT_OWNED.search(low[first.start : mention.start]):
                return mention
    return first


def _mentions(text: str, common: Collection[str]) -> list[_Mention]:
    lists = subject_words()
    low = text.lower().replace("’", "'")
    # "What is Ana allergic to?" names her late; in "moved to Porto" the name is a place.
    asks = _ASKS.search(text) is not None
    found = [
        _Mention(start, -len(name), "name", f"name:{name}")
        for start, name in _find_names(text, common)
        if (asks or start <= NAME_SIGNS)
        and not (_BEFORE_PLACE.search(text[:start]) and not asks)
        and not _AFTER_ARTICLE.search(text[:start])
        and not _AFTER_TIME.search(text[:start])
    ]
    for match in _NAME_WORD.finditer(low):
        word = match[0]
        bare = word.removesuffix("'s")
        if bare in lists.relations:
            found.append(_Mention(match.start(), -len(bare), "relation", f"relation:{lists.relations[bare]}"))
            continue
        if word.startswith("j'"):
            found.append(_Mention(match.start(), -len(word), "self", "self"))
            continue
        if _HAVE.match(low, match.start()):
            found.append(_Mention(match.start(), -len(word), "self", "self"))
            continue
        for sort, words in (("self", lists.self), ("you", lists.you), ("third", lists.third)):
            if word in words:
                found.append(_Mention(match.start(), -len(word), sort, sort))
                break
    if _UNSPACED.search(text):
        found += _unspaced_mentions(text)
    return found


def relations_in(text: str) -> frozenset[str]:
    """Return the keys of the relations that a text names: "relation:sister"."""
    found = _mentions(text[:MAX_SIGNS], ())
    return frozenset(mention.key for mention in found if mention.sort == "relation")


def _unspaced_mentions(text: str) -> list[_Mention]:
    lists = subject_words()
    found = [_Mention(text.find(word), -len(word), sort, key) for word, sort, key in lists.unspaced if word in text]
    ends = [each.start - each.shortness for each in found if each.sort == "relation"]
    starts_with_somebody = any(each.start == 0 for each in found)
    for start, length, name in find_unspaced_names(text, ends, starts_with_somebody):
        if name not in lists.nobody:
            found.append(_Mention(start, -length, "name", f"name:{name.lower()}"))
    return found


def own_relation(text: str, common: Collection[str] = frozenset(), found: list[_Mention] | None = None) -> str | None:
    """Return the only relation of whoever speaks that a text is about, where it says no name: "sister"."""
    found = sorted(_mentions(text[:MAX_SIGNS], common)) if found is None else found
    related = [mention for mention in found if mention.sort == "relation"]
    if len(related) != 1 or any(mention.sort == "name" for mention in found):
        return None
    first = next((mention for mention in found if mention.sort == "self"), None)
    owned = first is not None and _meant(text.lower(), [first, *related]) == related[0]
    return related[0].key.partition(":")[2] if owned else None


@cache
def relation_words(relation: str) -> tuple[str, ...]:
    """Return the words for a relation and for what it is one of: a mother is one of the parents."""
    lists = subject_words()
    lines = {relation, *lists.broader.get(relation, ())}
    return tuple(word for word, line in lists.relations.items() if line in lines)


def names_in(text: str, common: Collection[str] = frozenset()) -> list[str]:
    """Return what looks like a name, in lower case: words written large. German writes every noun large: none."""
    return [name for _, name in _find_names(text, common)]


def _find_names(text: str, common: Collection[str]) -> list[tuple[int, str]]:
    """Names with where they stand."""
    # German writes every noun large, so that a large letter says nothing of a name.
    if _GERMAN.search(text.lower()):
        return []
    lists = subject_words()
    found: list[tuple[int, str]] = []
    for match in _NAME_WORD.finditer(text):
        bare = re.sub(r"['’]s$", "", match[0])
        low = bare.lower()
        if not bare[0].isupper() or len(bare) < 2 or (bare.isupper() and len(bare) > 3):
            continue
        if low in lists.self or low in lists.you or low in lists.third or low in lists.relations or low in lists.large:
            continue
        starts = _SENTENCE_START.search(text, max(0, match.start() - _MAX_BEFORE_NAME), match.start()) is not None
        if not (starts and low in common):
            found.append((match.start(), low))
    return found


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
        many: whether the likeliest attribute holds several values at once. by_name: whether it is about somebody who
            speaks, by name: then it needs nothing beside what it asks for.
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

    def question(self, text: str, vector: Floats | None = None) -> QuestionReading:
        """Return what a question asks for. vector: the encoder's of the text, if it is at hand."""
        line = self._encoder.embed([text])[0] if vector is None else vector
        lines = line[None].astype(np.float32)
        weights, buckets = self.weights, [buckets_of(text)]
        kinds = _softmax(weights.question.scores(lines, buckets))[0]
        past, implicit = float(kinds[1]), float(kinds[2])
        attributes = _softmax(weights.attribute.scores(lines, buckets))[0]
        mentions = sorted(_mentions(text[:MAX_SIGNS], self._names()))
        subjects = _subjects_of(text[:MAX_SIGNS], mentions, None, "user")
        relation = own_relation(text, found=mentions)
        # "I'm seeing someone new, his name is Farid" says of whoever speaks who the partner is.
        if relation is not None and weights.of_relations[attributes.argmax()]:
            subjects = tuple(sorted({*subjects, SELF}))
        if (mentions or subjects) and asks_what_somebody_does(text):
            attributes = _with_rule(attributes, weights, "job")
        wanted = _with_kin(attributes, weights.kin)
        return QuestionReading(
            add_needed(wanted, weights.attributes) if implicit >= MIN_IMPLICIT else wanted,
            subjects,
            when_asked(text, past),
            implicit,
            float(_sigmoid(weights.asks.scores(lines, buckets))[0, 0]),
            _unit(lines @ weights.asked)[0],
            relation,
            bool(weights.many[attributes.argmax()]),
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
            if introduces_with_age(clause.text):
                chances[line] = np.maximum(
                    chances[line], np.float32(OF_RULE) * (weights.codes == attribute_code("age"))
                )
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
                    "+".join(subjects_of(clause.text, said.speaker, said.role, self._names())),
                    meanings[line].tobytes(),
                )
            )
        return found


# So much of the chance of an attribute its kin have.
KIN_SHARE: Final = 0.8


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
