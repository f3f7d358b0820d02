"""Memories kept as they were read, so that an answer need not read and take them apart again."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import cached_property

from memwarden.recall.answer import render
from memwarden.recall.answer.excerpt import TermedSentence, one_line, sentences
from memwarden.records import Memory
from memwarden.text import tokenizer

ENTRY_BYTES = 1_500
TEXT_SHARE = 8
"""What an entry takes: so much and this many times its texts: the text, its line, its sentences and their terms."""


class CachedMemory:
    """A memory and what excerpts of it are made from, worked out once."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    @cached_property
    def line(self) -> str:
        """The summary, else the text, as one line."""
        return one_line(self._shown)

    @cached_property
    def said(self) -> str:
        """How a bullet of it begins."""
        return render.bullet(self.memory, "")

    @cached_property
    def sentences(self) -> Sequence[TermedSentence]:
        """The sentences of the summary, else of the text, with their terms."""
        return sentences(self._shown, tokenizer.terms)

    @cached_property
    def whole(self) -> str:
        """All of the text that may stand in a prompt."""
        return render.fit_to_show(self.memory, self.memory.text)

    @cached_property
    def _shown(self) -> str:
        return render.words(self.memory)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        texts = (self.memory.text, self.memory.summary or "", self.memory.context or "")
        return ENTRY_BYTES + TEXT_SHARE * sum(map(sys.getsizeof, texts))


class MemoryCache:
    """The memories that were in answers lately, within a number of bytes, the least recently used dropped first.

    They are known by their index and their place in it. A place is one version of a memory: whoever changes or removes
    the memory moves the store's revision, and an index that follows it has the memory at another place, or nowhere. So
    what stands here is never older than the index that asks for it.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._held: OrderedDict[tuple[int, int], CachedMemory] = OrderedDict()
        self._bytes = 0

    def known(self, index: int, places: Iterable[int]) -> dict[int, CachedMemory]:
        """Return what is held of an index's places; from now on the last used ones."""
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
