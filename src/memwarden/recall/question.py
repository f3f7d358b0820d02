"""Prepares a question for the view of a namespace."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from memwarden.clock import moment
from memwarden.models.protocols import EncodedQuestion
from memwarden.recall import query_analysis
from memwarden.recall.index.view import NamespaceView
from memwarden.recall.rank.word_signals import form_ids
from memwarden.text import tokenizer
from memwarden.text.dates.calendar import DaySpan
from memwarden.text.dates.recognizer import asked_spans
from memwarden.text.language import is_english

if TYPE_CHECKING:
    from memwarden.statements.reader import QuestionReading


@dataclass(frozen=True)
class QuestionWords:
    """The words of a question, all that an answer's reasons refer to."""

    text: str
    stems: tuple[str, ...]
    forms: tuple[str, ...]

    @cached_property
    def spellings(self) -> Mapping[str, str]:
        """Each stem's spelling in the question."""
        return query_analysis.map_stems(self.text, self.stems)

    def matched(self, text: str) -> tuple[str, ...]:
        """Return the words of the question that a text holds in some form, in the order of the question."""
        held = tokenizer.words_and_forms(text)
        pairs = zip(self.stems, self.forms, strict=True)
        return tuple(self.spellings.get(stem, stem) for stem, form in pairs if stem in held or form in held)


@dataclass(frozen=True, slots=True)
class QuestionSpread:
    """Spread of a question's signals over a whole namespace (:mod:`memwarden.recall.large.statistics`).

    Attributes:
        deviations: standard deviation of each signal, by name. session_means: of the sessions' own signals.
    """

    deviations: Mapping[str, float]
    session_means: Mapping[str, float]


@dataclass(frozen=True)
class Question:
    """A question prepared for a view. ``memo`` caches values that several features share.

    Attributes:
        terms: term ids, once each. idf_prior: the share of everyday texts that hold each of them.
        stems: the terms as text, to show which words matched.
        forms: the words of the stems as they stand in the question, folded: a memory in which one stands holds the word
            although its stem there may be that of another language.
        vector: its embedding with partners' names as pronouns, or None without an embedder.
        second: its multilingual embedding, from an embedder of two sides. english: whether it shows no other language.
        preset: the weights that were asked for; None for those of the view.
        reading: what it asks for, where statements are read; else None.
        pieces, piece_words: vectors of its word pieces and the word that each is a piece of; None from models without.
        speakers: codes of the partners that it names.
        when: whether it asks for a time. dates: the dates that it names. asked_days: the days that it asks about.
        small_talk: whether it asks memory nothing.
        left_out: names of features that do not count.
        measure: how the signals spread over the whole namespace, when the view is only a part of it; else None.
    """

    text: str
    terms: tuple[int, ...]
    idf_prior: tuple[float, ...]
    stems: tuple[str, ...]
    forms: tuple[str, ...]
    vector: npt.NDArray[np.float32] | None = None
    second: npt.NDArray[np.float32] | None = None
    english: bool = True
    preset: str | None = None
    reading: QuestionReading | None = None
    pieces: npt.NDArray[np.float32] | None = None
    piece_words: tuple[str, ...] = ()
    speakers: tuple[int, ...] = ()
    when: bool = False
    dates: tuple[query_analysis.Date, ...] = ()
    asked_days: tuple[DaySpan, ...] = ()
    small_talk: bool = False
    left_out: frozenset[str] = frozenset()
    measure: QuestionSpread | None = None
    memo: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def whole_vector(self) -> npt.NDArray[np.float32]:
        """Both sides one after the other, of unit length, as stores hold them."""
        assert self.vector is not None
        if self.second is None:
            return self.vector
        both = np.concatenate([self.vector, self.second])
        return np.asarray(both / max(float(np.linalg.norm(both)), 1e-6), np.float32)

    @cached_property
    def asks_of_self(self) -> bool:
        """Whether it asks about whoever asks."""
        return query_analysis.asks_of_self(self.text)

    @cached_property
    def names_somebody(self) -> bool:
        """Whether it names somebody or something in particular."""
        return bool(self.speakers) or query_analysis.names_somebody(self.text)

    @cached_property
    def wording(self) -> QuestionWords:
        """The question's words, to show which of them a memory holds."""
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
        """Return the weight of the question's terms that a sentence holds."""
        return sum(
            self.rarity[stem] for stem, form in zip(self.stems, self.forms, strict=True) if stem in held or form in held
        )


def dense_text(text: str, view: NamespaceView) -> str:
    """Return the text that is embedded: speakers' names as pronouns, as they speak of themselves."""
    return query_analysis.to_pronouns(cut_middle(text), list(view.speakers))


def prepare_question(
    text: str,
    view: NamespaceView,
    encoded: EncodedQuestion | None,
    now: datetime,
    left_out: frozenset[str] = frozenset(),
) -> Question:
    """Prepare a question for a view.

    encoded: the vectors of :func:`dense_text`, or None to go by words alone. now: when it is asked.
    """
    partners = list(view.speakers)
    text = cut_middle(text)
    asked_days = _asked_days(text, view, now)
    stems = query_analysis.question_terms(_without_relative(text, asked_days), partners)
    stems = stems or query_analysis.question_terms(text, partners)  # "on Monday?" asks for the word itself
    return Question(
        text=text,
        terms=tuple(tokenizer.term_id(stem) for stem in stems),
        idf_prior=tuple(query_analysis.everyday_share(stem) for stem in stems),
        stems=tuple(stems),
        forms=query_analysis.surface_of_stems(text, stems),
        vector=None if encoded is None else encoded.vector[: _first_width(encoded, view)],
        second=None if encoded is None else _second_of(encoded, view),
        english=is_english(text),
        pieces=encoded.pieces if encoded else None,
        piece_words=tuple(encoded.words) if encoded else (),
        speakers=tuple(view.speakers[name] for name in query_analysis.partner_names(text, partners)),
        when=query_analysis.is_when_question(text),
        dates=tuple(query_analysis.find_dates(text)),
        asked_days=asked_days,
        small_talk=query_analysis.is_small_talk(text, partners),
        left_out=left_out,
    )


def _first_width(encoded: EncodedQuestion, view: NamespaceView) -> int:
    return len(encoded.vector) if view.vectors is None else view.vectors.shape[1]


def _second_of(encoded: EncodedQuestion, view: NamespaceView) -> npt.NDArray[np.float32] | None:
    """The multilingual part of a question's vector; None from an embedder with one side."""
    width = _first_width(encoded, view)
    return encoded.vector[width:] if view.second is not None and len(encoded.vector) > width else None


OLD_TALK = timedelta(days=60)
"""After such a silence a conversation is past, and "last week" counts from its own last turn."""


def _asked_days(text: str, view: NamespaceView, now: datetime) -> tuple[DaySpan, ...]:
    if view.clock is None:
        return asked_spans(text, now)
    oldest, newest = (moment(said) for said in view.clock)
    clock = newest if now - newest > OLD_TALK else now
    return asked_spans(text, clock, since=oldest.date())


def _without_relative(text: str, asked: tuple[DaySpan, ...]) -> str:
    """Remove "yesterday", "last week": in a stored text they mean other days."""
    for span in asked:
        if not any(sign.isdigit() for sign in span.text) and not query_analysis.names_month(span.text):
            text = text.replace(span.text, " ")
    return text


MAX_SIDE_CHARACTERS = 2_000
"""Of a message longer than twice this the beginning and the end are looked at: there it says what it wants."""


def cut_middle(text: str) -> str:
    """Return a text without the middle of what is too long for a question."""
    if len(text) <= 2 * MAX_SIDE_CHARACTERS:
        return text
    return f"{text[:MAX_SIDE_CHARACTERS]}\n{text[-MAX_SIDE_CHARACTERS:]}"
