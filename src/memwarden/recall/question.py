"""Prepares a question: what it asks for, its days and speakers, and how its words match."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from itertools import compress
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
import numpy.typing as npt

from memwarden.clock import moment
from memwarden.models.protocols import EncodedQuestion
from memwarden.recall.index.view import NamespaceView
from memwarden.recall.rank.bm25 import form_ids
from memwarden.records import local_time
from memwarden.text import tokenizer
from memwarden.text.dates.calendar import DaySpan
from memwarden.text.dates.recognizer import asked_spans, asks_only_for_days
from memwarden.text.language import DEFAULT_LANGUAGE, has_capital_nouns, is_english, language_of, normalize_text
from memwarden.text.lexicon import load_lexicon, pattern_of
from memwarden.text.question_words import asks_question, asks_time
from memwarden.text.small_talk import content_terms, is_chatter
from memwarden.text.tokenizer import GLUED_SCRIPT, fold, pieces, stemmer, surface_forms, term_id, terms

if TYPE_CHECKING:
    from memwarden.statements.reader import QuestionReading

T = TypeVar("T")

_MONTH_NUMBER: Final = {
    name: number
    for listed in ("months", "months_short")
    for number, name in enumerate(load_lexicon("en").words[listed], 1)
    if name != "-"
} | {"sept": 9}
_MONTH: Final = "|".join(sorted(_MONTH_NUMBER, key=len, reverse=True))

# Year, month, day; None where the text leaves it open.
Date = tuple[int | None, int | None, int | None]

_DATE: Final = re.compile(
    rf"\b(?P<y1>(?:19|20)\d\d)-(?P<m1>\d\d)(?:-(?P<d1>\d\d))?\b"
    rf"|\b(?:(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+)(?P<m2>{_MONTH})\b\.?(?:,?\s+(?P<y2>(?:19|20)\d\d))?"
    rf"|\b(?P<m3>{_MONTH})\b\.?(?:\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d))?(?:,?\s+(?P<y3>(?:19|20)\d\d))?"
    r"|\b(?P<y4>(?:19|20)\d\d)\b",
    re.IGNORECASE,
)


# How far before a month the word is looked for that makes it a month.
_MAX_BEFORE_MONTH: Final = 24
# "may", "march", "mar" and the like are words more often than months.
_DOUBTFUL_MONTHS: Final = frozenset(("may", "march", "mar", "dec", "sep", "jan", "sept", "jun"))
_BEFORE_MONTH: Final = re.compile(
    r"\b(?:in|of|during|since|until|till|last|next|this|by|early|late|mid|from|to|before|after)[\s-]+$",
    re.IGNORECASE,
)


def find_dates(text: str) -> list[Date]:
    """Return the calendar dates, months and years that an English or ISO text names."""
    found: list[Date] = []
    for hit in _DATE.finditer(text):
        part = hit.groupdict()
        month_text = part["m1"] or part["m2"] or part["m3"]
        year_text = part["y1"] or part["y2"] or part["y3"] or part["y4"]
        day_text = part["d1"] or part["d2"] or part["d3"]
        bare = part["m3"] and not (day_text or year_text)
        start = hit.start()
        if (
            bare
            and hit[0].lower() in _DOUBTFUL_MONTHS
            and not _BEFORE_MONTH.search(text, max(0, start - _MAX_BEFORE_MONTH), start)
        ):
            continue
        month = None
        if month_text:
            month = int(month_text) if month_text.isdigit() else _MONTH_NUMBER[month_text.lower()]
        found.append((int(year_text) if year_text else None, month, int(day_text) if day_text else None))
    return found


def names_month(text: str) -> bool:
    """Whether a text names a month in English."""
    return any(word in _MONTH_NUMBER for word in pieces(normalize_text(text))[0])


def partner_names(text: str, partners: list[str]) -> list[str]:
    """Return the partners whose full or first name a text says."""
    return [name for name in partners if _name_pattern(name).search(text)]


def to_pronouns(text: str, partners: list[str]) -> str:
    """Replace partners' names by "I" and "my", as they speak of themselves, for the dense model."""
    for name in partners:
        pattern = _name_pattern(name)
        text = pattern.sub(lambda hit: "my" if hit["own"] else "I", text)
    return text


@lru_cache(maxsize=4096)
def _name_pattern(name: str) -> re.Pattern[str]:
    parts = name.split()
    forms = {name, parts[0]} if parts else {name}
    either = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    edge = "" if GLUED_SCRIPT.search(name) else r"\b"  # no word ends inside glued script
    return re.compile(rf"{edge}(?:{either}){edge}(?P<own>['’]s?(?!\w))?", re.IGNORECASE)


# Stop words that carry the question when it holds nothing else ("What does Ana like?").
_WEAK: Final = frozenset("like make made give gave go going get kind do doing tell know describe happened".split())
_ASKS_WHAT: Final = re.compile(r"\b(?:what|who|where|when|which|whose|why)\b(?!['’]?s?\s+up)")
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_OWN: Final = re.compile(r"\b(?:i|me|my|mine|myself)\b")


_NAME: Final = re.compile(r"[^\W\d_][,;:]? (?!I\b|I['’])([A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ]+)")


def asks_of_self(text: str) -> bool:
    """Whether a question asks about whoever asks: it says "I" or "my" in a language that has such a word."""
    return pattern_of("first_person").search(text) is not None


def names_somebody(text: str) -> bool:
    """Whether a text names somebody or something: a capital inside a sentence, in languages that write names so."""
    if has_capital_nouns(text):
        return False
    return any(not names_month(found[1]) for found in _NAME.finditer(text))


def question_terms(text: str, partners: list[str], default: str = DEFAULT_LANGUAGE) -> list[str]:
    """Return the distinct terms of a question without partners' names.

    Partners say each other's names in greeting, so names point at the wrong turns. A question of
    stop words only keeps the weak ones; a question of names only keeps the names.
    """
    named = {term for name in partners for term in terms(name, default)}
    found = list(dict.fromkeys(terms(text, default)))
    kept = [term for term in found if term not in named]
    if kept:
        return kept
    weak = [word for word in pieces(normalize_text(text))[0] if word in _WEAK]
    return list(dict.fromkeys(fold(stemmer(default).stemWord(word)) for word in weak)) or found


def surface_of_stems(text: str, stems: Sequence[str]) -> tuple[str, ...]:
    """Return for each stem the surface form of its first word in a text, the stem itself where they are alike."""
    forms: dict[str, str] = {}
    for stem, form in surface_forms(text):
        forms.setdefault(stem, form)
    return tuple(forms.get(stem, stem) for stem in stems)


def is_small_talk(text: str, partners: list[str]) -> bool:
    """Whether a message is small talk: "hey, how are you?", "thanks a lot!"."""
    named = {term for name in partners for term in terms(name)}
    if not is_chatter(text) and any(term not in named for term in content_terms(text)):
        return False
    about = partner_names(text, partners) or _OWN.search(normalize_text(text))
    return not (about and asks_question(text) and _ASKS_WHAT.search(normalize_text(text)))


def everyday_share(term: str) -> float:
    """Return the share of everyday texts that hold a term; a guess for unlisted words."""
    return _EVERYDAY.get(term, 2e-4)


@lru_cache(maxsize=2048)
def first_term(word: str) -> tuple[int, float]:
    """Return the id of a word's first term and its share of everyday texts; 0 and 0 for a stop word or a sign."""
    return next(((term_id(stem), everyday_share(stem)) for stem in terms(word)), (0, 0.0))


_COMMON: Final = load_lexicon("en").words
# Shares in round figures: a prior needs the order of magnitude only.
_EVERYDAY: Final[dict[str, float]] = {
    **dict.fromkeys(terms(" ".join(_COMMON["common"])), 0.006),
    **dict.fromkeys(terms(" ".join(_COMMON["very_common"])), 0.025),
}


def map_stems(text: str, stems: Sequence[str]) -> dict[str, str]:
    """Map each stem to the word of the question it came from, or to itself if unknown."""
    found: dict[str, str] = {}
    language = language_of(text)
    for word in _WORD.findall(text):
        held = terms(word, language)
        if len(held) == 1:
            found.setdefault(held[0], word)
    return {stem: found.get(stem, stem) for stem in stems}


# What is asked for may be over: how it was, why and when it came so, and all that there ever was.
LOOKS_BACK = ("past", "why", "when", "list")


@dataclass(frozen=True)
class QuestionWords:
    """The words of a question, all that an answer's reasons refer to."""

    text: str
    stems: tuple[str, ...]
    forms: tuple[str, ...]

    @cached_property
    def spellings(self) -> Mapping[str, str]:
        """Each stem's spelling in the question."""
        return map_stems(self.text, self.stems)

    def matched(self, text: str) -> tuple[str, ...]:
        """Return the words of the question that a text holds in some form, in the order of the question."""
        held = tokenizer.words_and_forms(text)
        pairs = zip(self.stems, self.forms, strict=True)
        return tuple(self.spellings.get(stem, stem) for stem, form in pairs if stem in held or form in held)


@dataclass(frozen=True)
class Question:
    """A question prepared for a view.

    Attributes:
        terms: term ids, once each. idf_prior: the share of everyday texts that hold each of them.
        stems: the terms as text, to show which words matched.
        forms: the words of the stems as they stand in the question, folded: a memory in which one stands holds the word
            although its stem there may be that of another language.
        vector: its embedding with partners' names as pronouns, or None without an embedder.
        second: its multilingual embedding, from an embedder of two sides. english: whether it shows no other language.
        reading: what it asks for, where statements are read; else None.
        pieces, piece_words: vectors of its word pieces and the word that each is a piece of; None from models without.
        speakers: codes of the partners that it names.
        when: whether it asks for a time. asked_days: the days that it asks about.
        of_days: whether it asks for whatever was on these days, and nothing else.
        small_talk: whether it asks memory nothing.
        talk: a message together with what it continues, see :func:`memwarden.recall.answer.request.list_talk`.
    """

    text: str
    terms: tuple[int, ...]
    idf_prior: tuple[float, ...]
    stems: tuple[str, ...]
    forms: tuple[str, ...]
    vector: npt.NDArray[np.float32] | None = None
    second: npt.NDArray[np.float32] | None = None
    english: bool = True
    reading: QuestionReading | None = None
    pieces: npt.NDArray[np.float32] | None = None
    piece_words: tuple[str, ...] = ()
    speakers: tuple[int, ...] = ()
    when: bool = False
    asked_days: tuple[DaySpan, ...] = ()
    of_days: bool = False
    small_talk: bool = False
    talk: Question | None = None

    def keep_words(self, kept: Sequence[bool]) -> Question:
        """Return the question with a part of its words. kept: whether it keeps each of them."""

        def part(values: Sequence[T]) -> tuple[T, ...]:
            return tuple(compress(values, kept))

        return replace(
            self,
            terms=part(self.terms),
            idf_prior=part(self.idf_prior),
            stems=part(self.stems),
            forms=part(self.forms),
        )

    @cached_property
    def whole_vector(self) -> npt.NDArray[np.float32]:
        """Both sides one after the other, of unit length, as stores hold them."""
        assert self.vector is not None
        if self.second is None:
            return self.vector
        both = np.concatenate([self.vector, self.second])
        return np.asarray(both / max(float(np.linalg.norm(both)), 1e-6), np.float32)

    @cached_property
    def asks_past(self) -> bool:
        """Whether it asks how something was before, not how it is; False where statements are not read."""
        return self.reading is not None and self.reading.when == "past"

    @cached_property
    def asks_back(self) -> bool:
        """Whether what is over may answer it, too."""
        return self.reading is not None and self.reading.when in LOOKS_BACK

    @cached_property
    def dates(self) -> tuple[Date, ...]:
        """The dates that it names."""
        return tuple(find_dates(self.text))

    @cached_property
    def asks_of_self(self) -> bool:
        """Whether it asks about whoever asks."""
        return asks_of_self(self.text)

    @cached_property
    def names_somebody(self) -> bool:
        """Whether it names somebody or something in particular."""
        return bool(self.speakers) or names_somebody(self.text)

    @cached_property
    def wording(self) -> QuestionWords:
        """The question's words and those of its talk, to show which of them a memory holds."""
        if self.talk is not None:
            return self.talk.wording
        return QuestionWords(self.text, self.stems, self.forms)

    @cached_property
    def form_ids(self) -> Mapping[int, tuple[int, ...]]:
        """The ids under which memories hold the words that were stemmed as of another language, by the id of a stem."""
        pairs = zip(self.terms, self.forms, strict=True)
        return {term: form_ids(term, form) for term, form in pairs}

    @cached_property
    def rarity(self) -> Mapping[str, float]:
        """The weight of each stem: rare words weigh more."""
        return {stem: -float(np.log(prior)) for stem, prior in zip(self.stems, self.idf_prior, strict=True)}

    def weigh(self, held: Container[str]) -> float:
        """Return the weight of the question's terms that a sentence holds, with those of the talk that it continues."""
        if self.talk is not None:
            return self.talk.weigh(held)
        return sum(
            self.rarity[stem] for stem, form in zip(self.stems, self.forms, strict=True) if stem in held or form in held
        )


def dense_text(text: str, view: NamespaceView) -> str:
    """Return the text that is embedded: speakers' names as pronouns, as they speak of themselves."""
    return to_pronouns(cut_middle(text), list(view.speakers))


def prepare_question(
    text: str,
    view: NamespaceView,
    encoded: EncodedQuestion | None,
    now: datetime,
) -> Question:
    """Prepare a question for a view.

    encoded: the vectors of :func:`dense_text`, or None to go by words alone. now: when it is asked.
    """
    partners = list(view.speakers)
    text = cut_middle(text)
    asked_days = _asked_days(text, view, now)
    stems = question_terms(_without_relative(text, asked_days), partners)
    stems = stems or question_terms(text, partners)  # "on Monday?" asks for the word itself
    question = Question(
        text=text,
        terms=tuple(tokenizer.term_id(stem) for stem in stems),
        idf_prior=tuple(everyday_share(stem) for stem in stems),
        stems=tuple(stems),
        forms=surface_of_stems(text, stems),
        english=is_english(text),
        speakers=tuple(view.speakers[name] for name in partner_names(text, partners)),
        when=asks_time(text),
        asked_days=asked_days,
        of_days=asks_only_for_days(text, asked_days, partners),
        small_talk=not asked_days and is_small_talk(text, partners),
    )
    return question if encoded is None else add_vectors(question, view, encoded)


def add_vectors(question: Question, view: NamespaceView, encoded: EncodedQuestion) -> Question:
    """Return a question with its vectors, a single one from an embedder with one side; what was worked out stays."""
    width = len(encoded.vector) if view.vectors is None else view.vectors.shape[1]
    return replace(
        question,
        vector=encoded.vector[:width],
        second=encoded.vector[width:] if view.second is not None and len(encoded.vector) > width else None,
        pieces=encoded.pieces,
        piece_words=tuple(encoded.words),
    )


# After such a silence a conversation is past, and "last week" counts from its own last turn.
OLD_TALK = timedelta(days=60)


def _asked_days(text: str, view: NamespaceView, now: datetime) -> tuple[DaySpan, ...]:
    if view.clock is None:
        return asked_spans(text, now)
    (first, last), ahead = map(moment, view.clock), view.last_offset
    times = last if now - last > OLD_TALK else now, first
    now, first = (local_time(at, ahead) for at in times) if ahead else times
    return asked_spans(text, now, since=first.date())


def _without_relative(text: str, asked: tuple[DaySpan, ...]) -> str:
    """Remove "yesterday", "last week": in a stored text they mean other days."""
    for span in asked:
        if not any(sign.isdigit() for sign in span.text) and not names_month(span.text):
            text = text.replace(span.text, " ")
    return text


# Of a message longer than twice this the beginning and the end are looked at: there it says what it wants.
MAX_SIDE_CHARACTERS = 2_000


def cut_middle(text: str) -> str:
    """Return a text without the middle of what is too long for a question."""
    if len(text) <= 2 * MAX_SIDE_CHARACTERS:
        return text
    return f"{text[:MAX_SIDE_CHARACTERS]}\n{text[-MAX_SIDE_CHARACTERS:]}"
