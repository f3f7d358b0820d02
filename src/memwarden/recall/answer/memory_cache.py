"""Cache of answered memories with their excerpts and terms."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from memwarden.recall.answer.excerpt import TermedSentence, normalize_text, with_terms
from memwarden.recall.answer.frame import fit_to_show
from memwarden.recall.answer.render import bullet_start, day_of, is_of_assistant, shown_words
from memwarden.records import (
    Memory,
)
from memwarden.text import time_words, tokenizer
from memwarden.text.negation import denies
from memwarden.text.passages import read_passages
from memwarden.text.sentences import SentenceSpan, split_spans
from memwarden.text.small_talk import DENIAL, words_of_answer

ENTRY_BYTES = 1_500


# Estimate of an entry's size: these bytes, and this many times its texts (line, sentences, terms).
TEXT_SHARE = 8


class SplitPassage(NamedTuple):
    """A passage as it was written, where its sentences are, and their terms."""

    text: str
    spans: Sequence[SentenceSpan]
    sentences: Sequence[TermedSentence]


class CachedMemory:
    """A memory with its lazily computed excerpt parts."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._split: dict[int, SplitPassage] = {}

    @cached_property
    def bullet_start(self) -> str:
        """The beginning of its bullet."""
        return bullet_start(self.memory)

    @cached_property
    def passages(self) -> Sequence[str]:
        """The passages of the summary, else of the text, as they were written."""
        return read_passages(self._shown_text)

    @cached_property
    def termed_passages(self) -> Sequence[TermedSentence]:
        """The passages with their terms."""
        return [with_terms(passage, tokenizer.words_and_forms) for passage in self.passages]

    def split_passage(self, passage: int) -> SplitPassage:
        """Return a passage with its line breaks and sentences. passage: its number."""
        if passage not in self._split:
            text = self.passages[passage]
            spans = tuple(split_spans(text))
            sentences = [with_terms(span.text, tokenizer.words_and_forms) for span in spans]
            self._split[passage] = SplitPassage(text, spans, sentences)
        return self._split[passage]

    @cached_property
    def whole(self) -> str:
        """The whole text, as far as it is fit for a prompt."""
        return fit_to_show(self.memory, self.memory.text)

    @cached_property
    def _shown_text(self) -> str:
        return shown_words(self.memory)

    @property
    def shows_text(self) -> bool:
        """Whether its text is shown unchanged: no summary in its place, and no orders left out."""
        return self._shown_text == self.memory.text

    @cached_property
    def is_of_assistant(self) -> bool:
        """Whether a model said it."""
        return is_of_assistant(self.memory)

    @cached_property
    def normal_text(self) -> str:
        """The text without differences of case and white space."""
        return normalize_text(self.memory.text)

    @cached_property
    def repeatable(self) -> str:
        """The words by which it repeats another; "yesterday" tells something else on another day."""
        words = self.normal_text
        return f"{words} {day_of(self.memory)}" if time_words.has_time_word(words) else words

    @cached_property
    def words(self) -> frozenset[str]:
        """The stems and forms of the text, and whether it denies something."""
        denial = (DENIAL,) if denies(self.memory.text) else ()
        return tokenizer.words_and_forms(self.memory.text).union(denial)

    @cached_property
    def own_terms(self) -> frozenset[str] | None:
        """The terms of the sentences that tell something, without acknowledgements; None of a long text."""
        return None if len(self.memory.text) > MAX_REPEATED else words_of_answer(self.memory.text)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        texts = (self.memory.text, self.memory.summary or "", self.memory.context or "")
        return ENTRY_BYTES + TEXT_SHARE * sum(map(sys.getsizeof, texts))


# A longer text of an assistant is no mere repetition.
MAX_REPEATED: Final = 300


class MemoryCache:
    """Cache of answered memories within a number of bytes, least recently used dropped first.

    They are known by their index and their place in it. A place is a version of a memory: whoever changes or removes
    the memory moves the store's revision, and an index that follows it has the memory at another place, or nowhere. So
    what stands here is never older than the index that asks for it.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._held: OrderedDict[tuple[int, int], CachedMemory] = OrderedDict()
        self._bytes = 0

    def known(self, index: int, places: Iterable[int]) -> dict[int, CachedMemory]:
        """Return the cached memories of an index's places, and mark them as used."""
        found = {}
        for place in places:
            item = self._held.get((index, place))
            if item is not None:
                self._held.move_to_end((index, place))
                found[place] = item
        return found

    def hold(self, index: int, place: int, memory: Memory) -> CachedMemory:
        """Keep a memory, unless it is too big or its payload could be changed by whoever reads it."""
        item = CachedMemory(memory)
        if memory.payload is None and item.nbytes <= self._max_bytes and (index, place) not in self._held:
            self._held[index, place] = item
            self._bytes += item.nbytes
            while self._bytes > self._max_bytes:
                _, dropped = self._held.popitem(last=False)
                self._bytes -= dropped.nbytes
        return item

    @property
    def nbytes(self) -> int:
        """About how much memory they take."""
        return self._bytes
