"""Caches memories as they were read, with the parts that excerpts are made from."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import cached_property

from memwarden.recall.answer import render
from memwarden.recall.answer.excerpt import TermedSentence, one_line, split_with_terms
from memwarden.records import Memory
from memwarden.text import tokenizer

ENTRY_BYTES = 1_500
TEXT_SHARE = 8
"""Estimate of an entry's size: these bytes, and this many times its texts (line, sentences, terms)."""


class CachedMemory:
    """A memory with its lazily computed excerpt parts."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    @cached_property
    def line(self) -> str:
        """The summary, else the text, as a single line."""
        return one_line(self._shown_text)

    @cached_property
    def bullet_start(self) -> str:
        """The beginning of its bullet."""
        return render.render_bullet(self.memory, "")

    @cached_property
    def sentences(self) -> Sequence[TermedSentence]:
        """The sentences of the summary, else of the text, with their terms."""
        return split_with_terms(self._shown_text, tokenizer.words_and_forms)

    @cached_property
    def whole(self) -> str:
        """The whole text, as far as it is fit for a prompt."""
        return render.fit_to_show(self.memory, self.memory.text)

    @cached_property
    def _shown_text(self) -> str:
        return render.shown_words(self.memory)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        texts = (self.memory.text, self.memory.summary or "", self.memory.context or "")
        return ENTRY_BYTES + TEXT_SHARE * sum(map(sys.getsizeof, texts))


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
