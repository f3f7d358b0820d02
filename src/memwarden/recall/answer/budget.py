"""Packs an answer into a token budget."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memwarden.categories import Category
from memwarden.recall.answer import render
from memwarden.recall.answer.render import (
    MAX_BULLET_CHARACTERS,
    TermedSentence,
    cut_around_best,
    one_line,
    split_with_terms,
)
from memwarden.recall.answer.select import GATES, Candidate, Gates, Selection
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.question import Question, QuestionWords
from memwarden.recall.rank.score import Ranking, Weights, explain_features
from memwarden.records import (
    Cut,
    Memory,
    RecallItem,
    RelationType,
    Why,
)
from memwarden.settings import MIN_ITEM_SCORE
from memwarden.text import tokenizer
from memwarden.tokens import TokenCounter

ALWAYS_SHARE = 0.4
"""Memories of ``context: all`` categories take at most this share of the budget."""

WIDENING_FACTORS = (2, 4, 8, 16)
"""So many times as long as at first a cut text becomes when the budget leaves room."""
MIN_ALIKE = 0.3
"""Cosine of two items from which on they are about the same matter."""
MIN_ALIKE_OF_TABLE = 0.6
"""The same for vectors that are means of a table: there all texts lie nearer to each other."""
MIN_WORTHWHILE_TOKENS = 20
"""For fewer tokens, some words, no more of a text is tried."""


@dataclass(frozen=True, slots=True)
class BudgetedAnswer:
    """An answer within its budget. ``tokens``: size of ``text``. ``dropped``: (item, gate) in order of trying."""

    items: tuple[RecallItem, ...]
    text: str
    tokens: int
    dropped: tuple[tuple[RecallItem, str], ...]


def pack_items(
    always: Iterable[RecallItem],
    ranked: Iterable[RecallItem],
    *,
    most: int,
    budget: int | None,
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
    covering: Mapping[str, Collection[str]] = MappingProxyType({}),
    used: int = 0,
) -> BudgetedAnswer:
    """Take items in order while the rendered text fits.

    ``always`` items come first, within 40 % of the budget and not counted in ``most``; then at most ``most`` of the
    ranked items, which are consumed only as far as needed. An item that does not fit is passed over and the
    next is tried. The size of the rendered text, titles and all, never exceeds the budget.

    covering: for an item's id, the ids of items any of which makes it superfluous. used: tokens that the text takes
    without any item; the 40 % are of what is left.
    """
    share = None if budget is None else used + int((budget - used) * ALWAYS_SHARE)
    dropped: list[tuple[RecallItem, str]] = []
    taken: list[RecallItem] = []
    for item in always:
        _try_item(item, taken, dropped, share, render, count)
    first = len(taken)
    for item in ranked:
        if covering.get(item.id) and any(entry.id in covering[item.id] for entry in taken):
            dropped.append((item, "covered"))
        else:
            _try_item(item, taken, dropped, budget, render, count)
        if len(taken) - first >= most:
            break
    text = render(taken)
    return BudgetedAnswer(tuple(taken), text, count(text), tuple(dropped))


def widen_items(
    packed: BudgetedAnswer,
    wider: Callable[[RecallItem, int], RecallItem],
    *,
    budget: int | None,
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
) -> BudgetedAnswer:
    """Widen cut texts as far as the budget goes; no item is dropped for it.

    wider: an item with so many times as much of its text; the item itself when there is no more of it to show. Every
    item is widened twofold before any is fourfold, so that a long text does not take what all could use. What an item
    adds is counted by itself, since a text of many long items takes long to render and count; the whole is at the end.
    """
    taken, tokens = list(packed.items), packed.tokens
    sizes: dict[int, int] = {}
    earlier: list[tuple[int, RecallItem]] = []
    growing = list(range(len(taken)))
    for times in WIDENING_FACTORS:
        for place in tuple(growing):
            if budget is not None and budget - tokens < MIN_WORTHWHILE_TOKENS:
                break
            longer = wider(taken[place], times)
            if longer is taken[place]:
                growing.remove(place)  # all of it is shown
                continue
            before = sizes[place] if place in sizes else count(render([taken[place]]))
            size = count(render([longer]))
            if budget is None or tokens + size - before <= budget:
                earlier.append((place, taken[place]))
                taken[place], sizes[place] = longer, size
                tokens += size - before
            else:
                growing.remove(place)  # there is no room for more
    return _shrink_to_fit(packed, taken, earlier, budget, render, count)


def put_newest_first(items: Sequence[RecallItem]) -> list[RecallItem]:
    """Return items with what was said last first: it is what holds now."""
    return sorted(items, key=lambda item: item.created_at, reverse=True)


def put_newer_first(
    items: Sequence[RecallItem], vectors: npt.NDArray[np.float32], alike: float = MIN_ALIKE
) -> list[RecallItem]:
    """Return items best first, but of items that say alike things the newest at the first of their places.

    What was said later about the same matter holds now. The n-th item keeps the n-th score.

    vectors: a row of unit length for each item; a row of zeros is like no other. alike: the cosine of like items.
    """
    close = vectors @ vectors.T >= alike
    leaders: list[int] = []
    groups: dict[int, list[int]] = {}
    for place in range(len(items)):
        leader = next((earlier for earlier in leaders if close[place, earlier]), None)
        if leader is None:
            leaders.append(place)
        groups.setdefault(place if leader is None else leader, []).append(place)
    arranged = list(items)
    for places in groups.values():
        newest = sorted(places, key=lambda place: (items[place].created_at, place), reverse=True)
        for place, taken in zip(places, newest, strict=True):
            arranged[place] = replace(items[taken], score=items[place].score)
    return arranged


def rearrange_items(
    packed: BudgetedAnswer,
    items: Sequence[RecallItem],
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
) -> BudgetedAnswer:
    """Return the same items in another order."""
    text = render(items)
    return BudgetedAnswer(tuple(items), text, count(text), packed.dropped)


def _shrink_to_fit(
    packed: BudgetedAnswer,
    taken: list[RecallItem],
    earlier: list[tuple[int, RecallItem]],
    budget: int | None,
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
) -> BudgetedAnswer:
    """Undo the last widenings until the text fits the budget."""
    while earlier:
        text = render(taken)
        tokens = count(text)
        if budget is None or tokens <= budget:
            return BudgetedAnswer(tuple(taken), text, tokens, packed.dropped)
        place, item = earlier.pop()
        taken[place] = item
    return packed


def _try_item(
    item: RecallItem,
    taken: list[RecallItem],
    dropped: list[tuple[RecallItem, str]],
    budget: int | None,
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
) -> None:
    if budget is None or count(render([*taken, item])) <= budget:
        taken.append(item)
    else:
        dropped.append((item, "budget"))


def list_covering_facts(selection: Selection, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Map the ids of turns among the candidates to the ids of the facts that rest on them."""
    return {ids[item.place]: tuple(ids[fact] for fact in item.facts) for item in selection.ranked if item.facts}


def list_cuts(
    ids: Sequence[str],
    selection: Selection,
    packed: BudgetedAnswer,
    echoes: Sequence[int],
    gates: Gates,
    most: int | None,
) -> tuple[Cut, ...]:
    """List the omissions, near misses first."""
    cuts = [Cut(item.id, gate, item.score, GATES[gate]) for item, gate in packed.dropped]
    named = {cut.id for cut in cuts} | {item.id for item in packed.items}
    others = [
        *((item, "top_k") for item in selection.ranked if ids[item.place] not in named),
        *((Candidate(place, 0.0), "echo") for place in echoes if most is not None and gates.readable[place]),
        *selection.left_out,
    ]
    cuts += [Cut(ids[item.place], gate, item.score, GATES[gate]) for item, gate in others[:most]]
    return tuple(cuts[:most])


def has_relevant(packed: BudgetedAnswer, ranking: Ranking, threshold: float) -> bool:
    """Return whether a shown memory bears on the question; a memory that is always offered counts by its score."""
    return ranking.confidence >= threshold and any(item.score >= MIN_ITEM_SCORE for item in packed.items)


MAX_RELATED = 2
"""Related bullets in an answer."""


class Neighbour(NamedTuple):
    """The memory at the end of a relation. facts: for a turn, ids of the memories that stand in for it."""

    strength: float
    place: int
    id: str
    category: str
    facts: tuple[str, ...]


def find_neighbours(index: NamespaceIndex, gates: Gates, candidates: Iterable[Candidate]) -> dict[str, list[Neighbour]]:
    """Return, by candidate id, the related memories that may be in an answer."""
    ids, open_ = index.columns.ids, gates.open
    category = index.columns.coded["category"]
    found: dict[str, list[Neighbour]] = {}
    for candidate in candidates:
        for (other, kind), strength in index.edges.of(ids[candidate.place]).items():
            place = index.place(other)
            if kind == RelationType.RELATED_TO and place is not None and open_[place]:
                facts = tuple(ids[fact] for fact in index.facts_on(place))
                named = str(category.values[category.codes[place]])
                found.setdefault(ids[candidate.place], []).append(Neighbour(strength, place, other, named, facts))
    return found


def choose_neighbours(
    known: Mapping[str, Sequence[Neighbour]], items: Sequence[RecallItem], declared: Mapping[str, Category]
) -> list[tuple[Neighbour, str]]:
    """Return at most two neighbours of an answer's items, the strongest first, each with the item's id.

    Left out are memories in the answer, and those whose category's ``rag_length`` is used up there.
    """
    there = {item.id for item in items}
    held = [item.category for item in items]
    pairs = [(entry, item.id) for item in items for entry in known.get(item.id, ())]
    taken: dict[str, tuple[Neighbour, str]] = {}
    for entry, beside in sorted(pairs, key=lambda pair: -pair[0].strength):
        category = declared.get(entry.category)
        full = category and category.rag_length and held.count(entry.category) >= category.rag_length
        if (
            len(taken) < MAX_RELATED
            and entry.id not in {*there, *taken}
            and not there.intersection(entry.facts)
            and not full
        ):
            taken[entry.id] = entry, beside
            held.append(entry.category)
    return list(taken.values())


def append_related(
    packed: BudgetedAnswer, related: Sequence[RecallItem], budget: int | None, count: TokenCounter
) -> tuple[BudgetedAnswer, list[RecallItem]]:
    """Add related memories to an answer's text as long as it fits the budget; return it and those that are in."""
    shown: list[RecallItem] = []
    for item in related:
        text = f"{packed.text}\n{render.render_related_bullet(item)}"
        tokens = count(text)
        if budget is None or tokens <= budget:
            packed = replace(packed, text=text, tokens=tokens)
            shown.append(item)
    return packed, shown


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


Found = Mapping[int, CachedMemory]
"""The candidates' memories by place."""

Shown = Callable[[Question, CachedMemory], str]
"""Makes the text of an item."""


def make_item(
    question: Question, ranking: Ranking, weights: Weights, shown: Shown, found: Found, candidate: Candidate
) -> RecallItem:
    """Return the item of a candidate."""
    held = found[candidate.place]
    memory = held.memory
    return RecallItem(
        id=memory.id,
        text=shown(question, held),
        category=memory.category,
        channel=memory.channel,
        kind=memory.kind,
        score=candidate.score,
        sources=memory.sources,
        created_at=memory.created_at,
        explain=partial(
            _why, question.wording, weights, ranking.values(candidate.place), _note(candidate), memory.text
        ),
        memory=memory,
    )


def _note(candidate: Candidate) -> str:
    if candidate.always:
        return "always offered: its category has context 'all'"
    return f"related to {candidate.beside}" if candidate.beside else ""


def _why(wording: QuestionWords, weights: Weights, values: Sequence[float], note: str, text: str) -> Why:
    return Why(
        words=wording.matched(text),
        features=explain_features(weights, values),
        note=note,
    )


def show_whole(question: Question, held: CachedMemory) -> str:
    """Return a bullet with the whole text."""
    return held.bullet_start + render.frame_memory(held.memory, held.whole)


def show_excerpt(question: Question, held: CachedMemory) -> str:
    """Return a single-line bullet, cut to the part that matches."""
    return held.bullet_start + plain_excerpt(question, held)


def plain_excerpt(question: Question, held: CachedMemory, characters: int = MAX_BULLET_CHARACTERS) -> str:
    """Return the part that matches as a single line of at most ``characters``."""
    short = len(held.line) <= characters
    words = held.line if short else cut_around_best(held.sentences, question.weigh, characters)
    return render.frame_memory(held.memory, words)


def widen_item(question: Question, held: Mapping[str, CachedMemory], item: RecallItem, times: int) -> RecallItem:
    """Return the item with ``times`` an excerpt's length; itself if no more is to show.

    held: the memories that may be shown longer, by id.
    """
    entry = held.get(item.id)
    if entry is None or len(entry.line) <= len(item.text):
        return item
    return replace(item, text=plain_excerpt(question, entry, times * MAX_BULLET_CHARACTERS))
