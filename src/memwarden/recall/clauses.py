"""Questions of a message, without greetings, reasons, small talk and thanks around them."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from memwarden.errors import ModelUnavailable
from memwarden.models.multilingual import MultilingualEmbedder
from memwarden.models.protocols import Embedder
from memwarden.models.side_by_side import SideBySideEmbedder
from memwarden.statements.reader import CommonWords, load_weights
from memwarden.statements.wording import Mention, find_mentions
from memwarden.text.language import language_of
from memwarden.text.lexicon import all_words, pattern_of
from memwarden.text.question_words import asks_question, opens_question
from memwarden.text.sentences import split_spans
from memwarden.text.small_talk import content_terms, is_chatter
from memwarden.text.tokenizer import GLUED_SCRIPT

Floats = npt.NDArray[np.float32]
EmbedTexts = Callable[[Sequence[str]], Floats]

# Where a sentence is divided. A comma within a number divides nothing.
_DIVIDES: Final = re.compile(
    r"[;:,—–…](?=\s)|\s[-–—:](?=\s)|[、，；：]|(?<=[\u3040-\u30ff\u3400-\u9fff])\s(?=[\u3040-\u30ff\u3400-\u9fff])|(?P<ends>(?<=\w\w\w)[.!?]+\s)"
)
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
# Words. A shorter clause without punctuation has one subject. Words before and after a place; places that are tried.
MIN_UNMARKED_WORDS: Final = 8
MIN_WORDS_BEFORE: Final = 2
MIN_WORDS_AFTER: Final = 5
MAX_PLACES: Final = 3
# Words of small talk after a question without punctuation between.
MAX_FAREWELL: Final = 4
# Chances from which on a clause is a frame and asks. A question mark lowers the second. Chosen on phrases that the
# model was not fitted on (bench/scripts/fit_clauses.py).
IS_FRAME: Final = 0.2
IS_FRAME_SURELY: Final = 0.5
UNMARKED_FRAME: Final = 0.7
# The same of a part with an object of its own: "I need it for a form", but not "the dose I take at night".
REASON_FRAME: Final = 0.35
# Words in which the object stands.
MAX_TO_OBJECT: Final = 4
ASKS: Final = 0.35
ASKS_WITH_MARK: Final = 0.1
ASKS_WITHOUT_MARK: Final = 0.7
# The same beside a question that is complete.
MAY_BE_FRAME: Final = 0.15
# Share of the chance of a frame that a clause keeps in which somebody is mentioned: by a name, which may be a greeting
# with a capital, or as a relation.
NAME_SHARE: Final = 0.6
RELATION_SHARE: Final = 0.6
# A question with fewer content terms, and without a name, needs the statement before it.
OPEN_TERMS: Final = 2
# A statement with fewer says nothing that a question may be about: "Hello again!".
STATED_TERMS: Final = 1.5
# A clause with fewer is no complete question, so that the rest of its sentence stays.
OWN_TERMS: Final = 2
# Messages with more questions are searched as one.
MAX_QUESTIONS: Final = 3
# Letters. Shorter messages in capitals may be names: "NASA?"
MIN_CAPITALS: Final = 8
# Characters that end a clause but not a message.
_LOOSE_ENDS: Final = " \t\n,;:—–-…、，；："
# Characters. A longer message is a text to work on rather than a question, and is searched as it is.
MAX_MESSAGE: Final = 1_200
MAX_CLAUSES: Final = 24
# Characters. A shorter message without punctuation inside is one clause.
MIN_MESSAGE: Final = 40


@dataclass(frozen=True, slots=True)
class MessageClause:
    """A part of a message between two punctuation marks.

    Attributes:
        start, end: its place in the message. sentence: number of its sentence.
    """

    start: int
    end: int
    text: str
    sentence: int

    @property
    def asks(self) -> bool:
        """Whether it ends with a question mark."""
        return asks_question(self.text[-3:])


def divide_at_spaces(clauses: Sequence[MessageClause], embed: EmbedTexts) -> list[MessageClause]:
    """Divide long clauses in which a reason follows without punctuation: "where is it I need it for a form"."""
    found: list[MessageClause] = []
    for clause in clauses:
        place = _find_reason(clause, embed)
        if place is None:
            place = _find_farewell(clause, embed)
        if place is None:
            found.append(clause)
            continue
        middle = clause.start + place
        found.append(MessageClause(clause.start, middle, clause.text[:place].strip(), clause.sentence))
        found.append(MessageClause(middle, clause.end, clause.text[place:], clause.sentence))
    return found


def _find_farewell(clause: MessageClause, embed: EmbedTexts) -> int | None:
    """Return where the last words of a clause are small talk: "which card is it on thx"."""
    words = list(_WORD.finditer(clause.text))
    if GLUED_SCRIPT.search(clause.text):
        return None
    last = words[max(MIN_WORDS_BEFORE + 1, len(words) - MAX_FAREWELL) :]
    places = [word.start() for word in last if word[0].lower() in _last_words()]
    places = [place for place in places if _is_small_talk(clause.text[place:])]
    if not places:
        return None
    parts = [clause.text[place:] for place in places]
    chances = _model_chances(parts, embed(parts))[0]
    return min((place for place, chance in zip(places, chances, strict=True) if chance >= UNMARKED_FRAME), default=None)


def _find_reason(clause: MessageClause, embed: EmbedTexts) -> int | None:
    """Return where in a clause a reason or thanks begin, if a question is before them."""
    words = list(_WORD.finditer(clause.text))
    if len(words) < MIN_UNMARKED_WORDS or GLUED_SCRIPT.search(clause.text):
        return None
    stops = all_words("stop") | all_words("thanks")
    places = [
        word.start()
        for last, word in pairwise(words[MIN_WORDS_BEFORE - 1 : 1 - MIN_WORDS_AFTER])
        if last[0].lower() not in all_words("auxiliaries")
        and (word[0].lower() in _first_person() or (word[0][0].isupper() and word[0].lower().split("'")[0] in stops))
    ][-MAX_PLACES:]
    if not places:
        return None
    parts = [part for place in places for part in (clause.text[:place].strip(), clause.text[place:])]
    chances = clause_chances(parts, embed(parts))
    before, after = chances.frame[::2], chances.frame[1::2]
    least = [REASON_FRAME if _has_object(clause.text[place:]) else UNMARKED_FRAME for place in places]
    sure = [
        place
        for place, first, rest, bar in zip(places, before, after, least, strict=True)
        if first < IS_FRAME_SURELY and rest >= bar
    ]
    return min(sure, default=None)


def _has_object(text: str) -> bool:
    words = [word[0].lower() for word in _WORD.finditer(text)][:MAX_TO_OBJECT]
    return not all_words("objects").isdisjoint(words)


@cache
def _last_words() -> frozenset[str]:
    return all_words("thanks") | all_words("farewells")


@cache
def _first_person() -> frozenset[str]:
    return all_words("first_person")


def split_clauses(message: str) -> list[MessageClause]:
    """Split a message into clauses, in order; punctuation alone is not a clause.

    In messages a sentence may begin with a small letter.
    """
    clauses: list[MessageClause] = []
    number = 0
    for sentence in split_spans(message):
        start = sentence.start
        for hit in (*_DIVIDES.finditer(sentence.text), None):
            end = sentence.end if hit is None else sentence.start + hit.end()
            if any(map(str.isalnum, message[start:end])):
                clauses.append(MessageClause(start, end, message[start:end].strip(), number))
            start = end
            number += hit is None or hit["ends"] is not None
    return clauses


class ClauseChances(NamedTuple):
    """What a model says of clauses, each (n,) of 0..1.

    Attributes:
        frame: the chance that a clause is a greeting, a reason, small talk or thanks. asks: that it asks for something.
    """

    frame: Floats
    asks: Floats


@cache
def clause_weights() -> Floats:
    """Weights of :func:`clause_chances`, (2, 515): for each of the chances a number a feature, then the constant."""
    return np.asarray(np.load(Path(__file__).with_name("clauses.npy")), np.float32)


def clause_features(texts: Sequence[str], vectors: Floats) -> Floats:
    """Return what the chances are read from: vector, question mark, number of content terms; (n, 514)."""
    extra = [[asks_question(text), np.log1p(len(content_terms(text)))] for text in texts]
    return np.concatenate([vectors, np.array(extra, np.float32).reshape(-1, 2)], axis=1)


def clause_chances(texts: Sequence[str], vectors: Floats, *, has_names: bool = True) -> ClauseChances:
    """Return what each clause is.

    vectors: of the multilingual model, (n, 512). has_names: False for German, in which every noun has a capital.
    """
    frame, asks = _model_chances(texts, vectors)
    chatter = [_is_small_talk(text) for text in texts]
    frame[chatter], asks[chatter] = 1, 0
    asks[[_asks_alone(text) for text in texts]] = 1
    # "My sister visits": who is mentioned may be meant by the question.
    shares_of = {"relation": RELATION_SHARE, "name": NAME_SHARE if has_names else 1.0}
    for place in np.flatnonzero(~np.array(chatter, np.bool_)).tolist():
        shares = [shares_of.get(mention.sort, 1.0) for mention in _mentions(texts[place])]
        frame[place] *= min(shares, default=1)
    return ClauseChances(frame, asks)


def _model_chances(texts: Sequence[str], vectors: Floats) -> Floats:
    """Return both chances by the vectors alone, (2, n)."""
    weights = clause_weights()
    logits = clause_features(texts, vectors) @ weights[:, :-1].T + weights[:, -1]
    return np.asarray(1 / (1 + np.exp(-logits)), np.float32).T


def _is_small_talk(text: str) -> bool:
    if not is_chatter(text) or _asks_alone(text):
        return False
    return not asks_question(text) or pattern_of("pleasantries").search(text) is not None


def _asks_alone(text: str) -> bool:
    """Whether a clause without content asks for something: "Where is it?", but not "How are you?"."""
    return is_chatter(text) and opens_question(text) and pattern_of("pleasantries").search(text) is None


# Messages whose questions are known. About 300 bytes each.
MAX_KNOWN_MESSAGES: Final = 512

log = logging.getLogger(__name__)


class ClauseReader:
    """Finds the questions of messages."""

    def __init__(self, embedder: Embedder | None) -> None:
        """embedder: of the store. Without a multilingual model clauses are known by their words alone."""
        if isinstance(embedder, SideBySideEmbedder):
            embedder = embedder.multilingual
        self._encoder = embedder if isinstance(embedder, MultilingualEmbedder) else None
        # By digest: messages are not kept.
        self._known: OrderedDict[bytes, tuple[str, ...]] = OrderedDict()

    async def read(self, message: str) -> tuple[str, ...]:
        """Return the questions of a message; see :func:`divide_message`."""
        if len(message) > MAX_MESSAGE or (len(message) < MIN_MESSAGE and len(split_clauses(message)) < 2):
            return divide_message(message, None)
        digest = hashlib.blake2b(message.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if digest not in self._known:
            self._known[digest] = await asyncio.to_thread(self._divide, message)
            if len(self._known) > MAX_KNOWN_MESSAGES:
                self._known.popitem(last=False)
        self._known.move_to_end(digest)
        return self._known[digest]

    def _divide(self, message: str) -> tuple[str, ...]:
        try:
            return divide_message(message, None if self._encoder is None else self._encoder.embed)
        except ModelUnavailable as error:
            log.warning("a message is divided by its words alone: %s", error)
            return divide_message(message, None)


def divide_message(message: str, embed: EmbedTexts | None) -> tuple[str, ...]:
    """Return the questions of a message, each with the statements that it needs; at least one text.

    embed: the multilingual model; None to go by words alone.
    """
    message = _without_capitals(message)
    clauses = split_clauses(message) if len(message) <= MAX_MESSAGE else []
    if clauses and embed is not None and len(clauses) <= MAX_CLAUSES:
        clauses = divide_at_spaces(clauses, embed)
    if len(clauses) < 2 or len(clauses) > MAX_CLAUSES:
        return (message,)
    texts = [clause.text for clause in clauses]
    if embed is None:
        return choose_questions(message, clauses, chances_by_words(texts))
    chances = clause_chances(texts, embed(texts), has_names=language_of(message) != "de")
    return choose_questions(message, clauses, chances)


def chances_by_words(texts: Sequence[str]) -> ClauseChances:
    """Return what each clause is as far as words tell it."""
    frame = np.array([_is_small_talk(text) for text in texts], np.float32)
    asks = np.array([asks_question(text) for text in texts], np.float32) * (1 - frame)
    return ClauseChances(frame, asks)


def choose_questions(message: str, clauses: Sequence[MessageClause], chances: ClauseChances) -> tuple[str, ...]:
    """Return the questions among the clauses of a message; the message without frames around it if it asks nothing."""
    sentences = [
        _read_sentence(
            message, [place for place, clause in enumerate(clauses) if clause.sentence == number], clauses, chances
        )
        for number in dict.fromkeys(clause.sentence for clause in clauses)
    ]
    asking = [sentence for sentence in sentences if sentence.asks]
    if any(asks_question(sentence.text[-1:]) for sentence in asking):
        # A writer of question marks ends each question with one.
        asking = [each for each in asking if asks_question(each.text[-1:]) or each.chance >= ASKS_WITHOUT_MARK]
    if not asking or len(asking) > MAX_QUESTIONS:
        return (_without_edges(message, sentences),)
    return tuple(_word_question(sentences, questions) for questions in _join_elliptic(asking))


class _Sentence(NamedTuple):
    """A sentence without frames at its ends.

    Attributes:
        asks: whether it asks for something.
        is_frame: whether nothing else is in it, beside a question. is_surely: the same for a message without any.
        chance: the largest chance of its clauses to ask.
    """

    start: int
    end: int
    text: str
    asks: bool
    is_frame: bool
    is_surely: bool
    chance: float


def _read_sentence(
    message: str, places: Sequence[int], clauses: Sequence[MessageClause], chances: ClauseChances
) -> _Sentence:
    frame, asks = chances.frame, chances.asks
    kept = [place for place in places if frame[place] < IS_FRAME_SURELY]
    asking = [place for place in kept if _asks(clauses[place], float(frame[place]), float(asks[place]))]
    if asking:
        # Beside a question that is complete, what is said by the way is left out.
        core = message[clauses[asking[0]].start : clauses[asking[-1]].end]
        if len(set(content_terms(core))) >= OWN_TERMS:
            kept = [place for place in kept if place in asking or frame[place] < MAY_BE_FRAME]
    used = kept or places
    start, end = clauses[used[0]].start, clauses[used[-1]].end
    chance = max((float(asks[place]) for place in asking), default=0.0)
    is_frame = not asking and all(frame[place] >= IS_FRAME for place in places)
    return _Sentence(
        start, end, message[start:end].strip().rstrip(_LOOSE_ENDS), bool(asking), is_frame, not kept, chance
    )


def _asks(clause: MessageClause, frame: float, asks: float) -> bool:
    """Whether a clause asks for something, and is no greeting or reason in the form of a question."""
    return frame < max(IS_FRAME, asks) and (asks >= ASKS or (clause.asks and asks >= ASKS_WITH_MARK))


def _without_edges(message: str, sentences: Sequence[_Sentence]) -> str:
    """Return a message without the frames before and after; all of it if there is nothing else."""
    kept = [sentence for sentence in sentences if not sentence.is_surely]
    return message[kept[0].start : kept[-1].end].strip().rstrip(_LOOSE_ENDS) if kept else message


def _join_elliptic(asking: Sequence[_Sentence]) -> list[list[_Sentence]]:
    """Join to the question before what is no question without it: "Where is it?"."""
    joined: list[list[_Sentence]] = []
    for sentence in asking:
        if joined and not content_terms(sentence.text):
            joined[-1].append(sentence)
        else:
            joined.append([sentence])
    return joined


def _word_question(sentences: Sequence[_Sentence], questions: Sequence[_Sentence]) -> str:
    """Return questions with the statements around them that they need, in the order of the message."""
    text = " ".join(question.text for question in questions)
    open_terms = 0 if _names(text) else OPEN_TERMS - _count_terms(text)
    stated = [each for each in sentences if not each.asks and not _is_beside(each, open_terms)]
    begin = questions[0].start
    needed = [each for each in stated if _needs(text, each.text, is_before=each.start < begin)]
    words = " ".join(item.text for item in sorted([*questions, *needed], key=lambda item: item.start))
    if not needed and (name := _name_before(sentences, questions[0], text)):
        return f"{name}: {words}"
    return words


def _count_terms(text: str) -> float:
    """Return the number of content terms; where words have no spaces between them, pairs of signs count half."""
    return len(set(content_terms(text))) / (2 if GLUED_SCRIPT.search(text) else 1)


def _is_beside(sentence: _Sentence, open_terms: float) -> bool:
    """Whether a statement is no part of the question. "The boiler leaks. Who do I call?": the question needs it.

    open_terms: how many content terms the question lacks.
    """
    if open_terms >= OPEN_TERMS:
        return _is_small_talk(sentence.text)
    return sentence.is_surely if open_terms > 0 else sentence.is_frame


def _needs(question: str, statement: str, *, is_before: bool) -> bool:
    """Whether a question may be about a statement: any before it, one after it that names somebody."""
    if (is_before and _count_terms(statement) >= STATED_TERMS) or not content_terms(question):
        return True
    return _names(statement) and not _names(question)


def _name_before(sentences: Sequence[_Sentence], question: _Sentence, text: str) -> str | None:
    """Return the person whom a question before names, if this one names nobody but says "she" or "they"."""
    sorts = {mention.sort for mention in _mentions(text)}
    if "third" not in sorts or sorts & _SOMEBODY:
        return None
    for sentence in reversed([item for item in sentences if item.asks and item.start < question.start]):
        named = [mention for mention in _mentions(sentence.text) if mention.sort in _SOMEBODY]
        if named:
            first = min(named)
            return sentence.text[first.start : first.start - first.shortness]
    return None


_SOMEBODY: Final = frozenset(("name", "relation"))


def _names(text: str) -> bool:
    """Whether a text names a person or a relation."""
    return any(mention.sort in _SOMEBODY for mention in _mentions(text))


def _mentions(text: str) -> list[Mention]:
    return find_mentions(text, _common_words())


@cache
def _common_words() -> CommonWords:
    return CommonWords(load_weights().common)


def _without_capitals(message: str) -> str:
    """Return a message written in capitals in small letters."""
    return message.lower() if message.isupper() and sum(map(str.isalpha, message)) >= MIN_CAPITALS else message
