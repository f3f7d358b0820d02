"""The one way out: a question becomes an answer, with reasons. No model but the embedder is called on this path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from memwarden import clock
from memwarden.categories import Categories, Category
from memwarden.filters import Condition, Where
from memwarden.models.base import Embedder
from memwarden.recall import block
from memwarden.recall.excerpt import excerpt
from memwarden.recall.index import Indexes, NamespaceIndex
from memwarden.recall.pack import pack
from memwarden.recall.question import Question, ask
from memwarden.recall.score import DEFAULT_BAR, Ranking, rank
from memwarden.recall.select import GATES, Gates, Selection, select
from memwarden.records import Channel, ContextBlock, Cut, Item, Memory, QueryResult, Scope, Why
from memwarden.stores.base import Store
from memwarden.tokens import TokenCounter, estimate

SPARE = 3
"""This many times the wanted number of candidates are tried, so that the next ones fill what the budget leaves."""
SHOWN_CUTS = 20
"""Without ``explain`` this many of the nearest omissions are named."""

CONTEXT_CANDIDATES = 10
CONTEXT_THRESHOLD = 0.7
CONTEXT_MEMORIES = 5
RECENT_MESSAGES = 3
"""Design C's limits for a context block."""


@dataclass(frozen=True, slots=True)
class Request:
    """A checked query. categories: what may be searched, None for everything. See :meth:`AsyncScope.query`."""

    query: str
    categories: tuple[str, ...] | None
    where: Where
    top_k: int
    threshold: float | None
    budget_tokens: int | None
    full: bool
    explain: bool


class Recall:
    """Answers questions for scopes from the namespace indexes of one store."""

    def __init__(
        self,
        store: Store,
        indexes: Indexes,
        embedder: Embedder | None,
        categories: Categories,
        *,
        count: TokenCounter = estimate,
        now: Callable[[], datetime] = clock.now,
    ) -> None:
        self._store = store
        self._indexes = indexes
        self._embedder = embedder
        self._declared: Mapping[str, Category] = categories.declared
        self._count = count
        self._now = now

    async def query(self, scope: Scope, request: Request) -> QueryResult:
        """Answer a query (B6)."""
        index = await self._indexes.current(scope.namespace)
        rev, ids = index.rev, index.columns.ids
        question = ask(request.query, index.view, self._embedder)
        gates = _gates(index, request)
        ranking = rank(question, index.view, gates.open)
        selection = self._select(index, ranking, gates, request, request.top_k * SPARE)
        found = await self._fetch(scope, index, selection)
        words = partial(_whole, question) if request.full else partial(_excerpt, question)
        always, ranked = self._items(index, question, ranking, selection, found, words)
        ranked, echoes = _without_echoes(ranked, (request.query,))
        packed = pack(
            always,
            ranked,
            most=request.top_k,
            budget=request.budget_tokens,
            render=block.bullets,
            count=self._count,
        )
        return QueryResult(
            items=packed.items,
            text=packed.text,
            rev=rev,
            tokens=packed.tokens,
            budget_tokens=request.budget_tokens,
            cut=_cuts(ids, selection, (*echoes, *packed.dropped), None if request.explain else SHOWN_CUTS),
            categories=request.categories,
            confidence=ranking.confidence,
            preset=ranking.preset,
            relevant=any(item in ranked for item in packed.items),
        )

    async def context(self, scope: Scope, said: Sequence[str], request: Request) -> ContextBlock:
        """Make the block for a prompt (C1, C6). ``said``: the recent messages, the one to answer last."""
        index = await self._indexes.current(scope.namespace)
        rev, ids = index.rev, index.columns.ids
        # The message alone, and with the talk before it, which says what "it" and "there" are: the better of the two.
        texts = dict.fromkeys((said[-1], "\n".join(said[-1 - RECENT_MESSAGES :])))
        questions = [ask(text, index.view, self._embedder) for text in texts]
        gates = _gates(index, request)
        rankings = [rank(question, index.view, gates.open) for question in questions]
        best = max(range(len(rankings)), key=lambda number: rankings[number].confidence)
        question, ranking = questions[best], rankings[best]
        selection = self._select(index, ranking, gates, request, CONTEXT_CANDIDATES)
        found = await self._fetch(scope, index, selection)
        always, ranked = self._items(index, question, ranking, selection, found, partial(_plain_excerpt, question))
        ranked, echoes = _without_echoes(ranked, said)
        now = self._now()
        packed = pack(
            always,
            sorted(ranked, key=lambda item: _weight(item, now), reverse=True),
            most=CONTEXT_MEMORIES,
            budget=request.budget_tokens,
            render=lambda items: block.memories_block(items, now),
            count=self._count,
        )
        cut = _cuts(ids, selection, (*echoes, *packed.dropped), None if request.explain else SHOWN_CUTS)
        return ContextBlock(packed.text, packed.items, packed.tokens, request.budget_tokens or 0, rev, cut)

    def _select(self, index: NamespaceIndex, ranking: Ranking, gates: Gates, request: Request, limit: int) -> Selection:
        return select(
            index,
            ranking.scores,
            gates,
            relevant=ranking.confidence >= (DEFAULT_BAR if request.threshold is None else request.threshold),
            threshold=request.threshold or 0.0,
            declared=self._declared,
            limit=limit,
            everything=request.explain,
        )

    async def _fetch(self, scope: Scope, index: NamespaceIndex, selection: Selection) -> dict[str, Memory]:
        wanted = [index.columns.ids[one.place] for one in selection.candidates]
        return {memory.id: memory for memory in await self._store.get(scope.namespace, wanted)} if wanted else {}

    def _items(
        self,
        index: NamespaceIndex,
        question: Question,
        ranking: Ranking,
        selection: Selection,
        found: Mapping[str, Memory],
        words: Callable[[Memory], str],
    ) -> tuple[list[Item], list[Item]]:
        """Items of ``context: all`` categories, and the ranked ones. What vanished since the ranking is left out."""
        always: list[Item] = []
        ranked: list[Item] = []
        for one in selection.candidates:
            memory = found.get(index.columns.ids[one.place])
            if memory is not None:
                why = Why(
                    words=question.matched(memory.text),
                    features=ranking.explain(one.place),
                    note="always offered: its category has context 'all'" if one.always else "",
                )
                (always if one.always else ranked).append(_item(memory, words(memory), one.score, why))
        return always, ranked


def _item(memory: Memory, text: str, score: float, why: Why) -> Item:
    return Item(
        id=memory.id,
        text=text,
        category=memory.category,
        channel=memory.channel,
        kind=memory.kind,
        score=score,
        sources=memory.sources,
        created_at=memory.created_at,
        why=why,
        memory=memory,
    )


def _whole(question: Question, memory: Memory) -> str:
    return block.bullet(memory, memory.text)


def _excerpt(question: Question, memory: Memory) -> str:
    return block.bullet(memory, _plain_excerpt(question, memory))


def _plain_excerpt(question: Question, memory: Memory) -> str:
    return excerpt(memory.summary or memory.text, question.weigh)


def _without_echoes(items: Sequence[Item], said: Sequence[str]) -> tuple[list[Item], list[tuple[Item, str]]]:
    """Leave out turns that only repeat what stands in the prompt anyway."""
    repeated = {" ".join(text.split()).casefold() for text in said}
    kept: list[Item] = []
    echoes: list[tuple[Item, str]] = []
    for item in items:
        echo = item.channel == Channel.TURN and " ".join(item.memory.text.split()).casefold() in repeated
        (echoes.append((item, "echo")) if echo else kept.append(item))
    return kept, echoes


def _weight(item: Item, now: datetime) -> tuple[bool, float]:
    """Design C's order: importance x recency x relevance, the pinned before the rest."""
    age_days = max(0.0, (now - item.created_at).total_seconds() / 86_400)
    recency = max(0.1, 0.5 ** (age_days / 30))
    return item.memory.pinned, item.memory.importance * recency * item.score


def _gates(index: NamespaceIndex, request: Request) -> Gates:
    categories = () if request.categories is None else (Condition("category", "$in", request.categories),)
    return Gates(
        category=index.mask(categories), filter=index.mask(request.where), worthy=index.live & ~index.view.chatter
    )


def _cuts(
    ids: Sequence[str], selection: Selection, dropped: Sequence[tuple[Item, str]], most: int | None
) -> tuple[Cut, ...]:
    """Name what was left out: what nearly got in first."""
    cuts = [Cut(item.id, gate, item.score, GATES[gate]) for item, gate in dropped]
    cuts += [Cut(ids[one.place], gate, one.score, GATES[gate]) for one, gate in selection.left_out]
    return tuple(cuts[:most])
