"""The one way out: a question becomes an answer, with reasons. No model but the embedder is called on this path."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import NamedTuple

from memwarden import clock
from memwarden.categories import Categories
from memwarden.errors import ModelUnavailable
from memwarden.filters import UNSET_OR_AFTER, Condition, Where
from memwarden.models.protocols import Embedder, EncodedQuestion, PieceEmbedder, Reranker
from memwarden.observability.instrument import model_failed
from memwarden.recall.answer import items
from memwarden.recall.answer import related as beside
from memwarden.recall.answer import render as block
from memwarden.recall.answer.budget import BudgetedAnswer, pack, widened
from memwarden.recall.answer.items import Found
from memwarden.recall.answer.memory_cache import CachedMemory, MemoryCache
from memwarden.recall.answer.on_demand import is_unsure
from memwarden.recall.answer.select import GATES, Candidate, Gates, Selection, select
from memwarden.recall.index.columns import Mask
from memwarden.recall.index.links import following
from memwarden.recall.index.namespace_index import Indexes, NamespaceIndex
from memwarden.recall.index.view import NamespaceView
from memwarden.recall.large.registry import LargeNamespaces
from memwarden.recall.large.search import Large, PartialView, on, open_rows, with_pieces
from memwarden.recall.large.statistics import measure
from memwarden.recall.query_analysis import is_english
from memwarden.recall.question import Question, ask, dense_text
from memwarden.recall.rank.score import DEFAULT_BAR, ITEM_FLOOR, RELATION_WEIGHT, Ranking, rank
from memwarden.recall.time.change_cursor import ChangeCursor, Moment
from memwarden.recall.time.changes import fitted
from memwarden.recall.time.past import AsOf, PastIndexes
from memwarden.records import Channel, ContextBlock, Cut, Delta, Memory, QueryResult, RecallItem, Scope, SeenMark
from memwarden.stores.protocol import Store
from memwarden.text import tokenizer
from memwarden.tokens import TokenCounter, estimate

RERANKED = 50
"""A reranker reads this many candidates at the least."""
RERANK_SECONDS = 5.0

log = logging.getLogger(__name__)

SPARE = 5
"""This many more candidates than wanted are at hand, to fill what the budget leaves when a long one does not fit."""
SHOWN_CUTS = 20
"""Without ``explain`` this many of the nearest omissions are named."""

CONTEXT_CANDIDATES = 10
CONTEXT_FLOOR = 0.5
RECENT_MESSAGES = 3
"""Design C's limits for a context block. The best memory must reach the threshold, the others half of it: the threshold
asks whether there is an answer, and where there is one its neighbours belong to it."""


@dataclass(frozen=True, slots=True)
class Request:
    """A checked query. categories: what may be searched, None for everything. See :meth:`AsyncScope.query`.

    as_of: a revision, a time (aware, UTC), or None for now. since_rev: tell what changed since; None: since the thread
    looked last. steps: whether the category ``procedural`` was asked for by its name. news: False tells no
    changes. most, template: of a context block, how many memories at most, and in which words.
    """

    query: str
    categories: tuple[str, ...] | None
    where: Where
    top_k: int
    threshold: float | None
    budget_tokens: int | None
    full: bool
    explain: bool
    as_of: AsOf | None = None
    since_rev: int | None = None
    steps: bool = False
    news: bool = True
    most: int = block.CONTEXT_MEMORIES
    template: block.Template = block.DESIGN


@dataclass(frozen=True, slots=True)
class QueryContext:
    """From where a question is asked.

    Attributes:
        index: what is known there. now: when that is.
        read: reads the memories of ids, as they are there; those that are gone are left out.
        hidden: places that whoever asks may not read now, whatever their category was then.
        follows: whether the index follows the store, so that what is gone from one is gone from the other. An index of
            the past does not: what it shows is read each time.
    """

    index: NamespaceIndex
    now: datetime
    read: Callable[[Sequence[str]], Awaitable[list[Memory]]]
    hidden: Sequence[int]
    follows: bool


class RankedQuery(NamedTuple):
    """A question that was asked: from where, what came of it, what may be in the answer, and what only repeats it."""

    here: QueryContext
    question: Question
    ranking: Ranking
    gates: Gates
    echoes: Sequence[int]


class Recall:
    """Answers questions for scopes from the namespace indexes of one store."""

    def __init__(
        self,
        store: Store,
        indexes: Indexes,
        larges: LargeNamespaces,
        embedder: Embedder | None,
        categories: Categories,
        *,
        held_bytes: int,
        past_bytes: int,
        reranker: Reranker | None = None,
        preset: str = "auto",
        relation_weight: float = RELATION_WEIGHT,
        left_out: frozenset[str] = frozenset(),
        count: TokenCounter = estimate,
        now: Callable[[], datetime] = clock.now,
    ) -> None:
        self._store = store
        self._indexes = indexes
        self._larges = larges
        self._embedder = embedder
        # Told once: to ask whether something fulfils a protocol takes longer than to embed a question.
        self._encode = embedder.question if isinstance(embedder, PieceEmbedder) else partial(_by_vector, embedder)
        self._categories = categories
        self._held = MemoryCache(held_bytes)
        self._news = ChangeCursor(store)
        self._pasts = PastIndexes(store, indexes, embedder, past_bytes)
        self._reranker = reranker
        self._preset = preset
        self._relation_weight = relation_weight
        self._left_out = left_out
        self._count = count
        self._now = now

    async def query(self, scope: Scope, request: Request) -> QueryResult:
        """Answer a query (B6)."""
        (asked,) = await self._asked(scope, request, [request.query], [request.query])
        here, question, ranking, gates, echoes = asked
        index = here.index
        # From here on to the fetch nothing is awaited: the index stays as it is.
        moment = Moment(index.rev, index.epoch, index.stated_rev)
        ids = index.columns.ids
        most = request.top_k + SPARE
        selection = self._select(index, ranking, gates, request, max(most, RERANKED) if self._reranker else most, 1.0)
        related = beside.neighbours(index, gates, selection.ranked) if len(index.edges) else {}
        found = await self._fetch(here, selection)
        await self._rerank(request.query, selection, found)
        shown = items.whole if request.full else items.excerpt
        make_of = partial(items.item, question, ranking, ranking.weights, shown)
        make = partial(make_of, found)
        untold = request.as_of is not None or not request.news
        news, told = (None, False) if untold else await self._news_of(scope, moment, request)
        header = news.text if news else ""
        packed = pack(
            map(make, selection.always),
            map(make, selection.ranked),
            most=request.top_k,
            budget=request.budget_tokens,
            render=partial(_after, header) if header else block.bullets,
            count=self._count,
            covering=_covering(selection, ids),
            used=self._count(header),
        )
        cuts = _cuts(ids, selection, packed, echoes, gates, None if request.explain else SHOWN_CUTS)
        relevant = _relevant(packed, selection, ids)
        standing: list[RecallItem] = []
        if relevant and related:
            taken = [
                Candidate(item.place, float(ranking.scores[item.place]), beside=item_id)
                for item, item_id in beside.chosen(related, packed.items, self._categories.declared)
            ]
            read = await self._read(here, [item.place for item in taken])
            wanted = [make_of(read, item) for item in taken if item.place in read]
            packed, standing = beside.append(packed, wanted, request.budget_tokens, self._count)
        if told:
            self._news.told(scope, moment)  # last: an answer that fails or is given up on the way has told nothing
        return QueryResult(
            items=packed.items,
            text=packed.text,
            rev=moment.rev,
            tokens=packed.tokens,
            budget_tokens=request.budget_tokens,
            cut=tuple(cut for cut in cuts if cut.id not in {item.id for item in standing}) if standing else cuts,
            categories=request.categories,
            confidence=ranking.confidence,
            preset=ranking.preset,
            relevant=relevant,
            related=tuple(standing),
            delta=news,
        )

    async def context(self, scope: Scope, said: Sequence[str], request: Request) -> ContextBlock:
        """Make the block for a prompt (C1, C6). ``said``: the recent messages, the one to answer last."""
        # The message alone, and with the talk before it, which says what "it" and "there" are: the better of the two.
        texts = list(dict.fromkeys((said[-1], "\n".join(said[-1 - RECENT_MESSAGES :]))))
        asked = await self._asked(scope, request, texts, said)
        here, question, ranking, gates, echoes = max(asked, key=lambda item: item.ranking.confidence)
        index, now = here.index, here.now
        rev, ids = index.rev, index.columns.ids
        candidates = max(CONTEXT_CANDIDATES, request.most)
        selection = self._select(index, ranking, gates, request, candidates, CONTEXT_FLOOR)
        found = await self._fetch(here, selection)
        make = partial(items.item, question, ranking, ranking.weights, items.plain_excerpt, found)
        render = partial(block.memories_block, now=now, template=request.template)
        covering = _covering(selection, ids)
        weighed, again = _said_once(
            sorted(map(make, selection.ranked), key=lambda item: _weight(item, now), reverse=True)
        )
        packed = pack(
            map(make, selection.always),
            sorted(weighed, key=lambda item: item.id in covering),  # facts before the turns that they rest on
            most=request.most,
            budget=request.budget_tokens,
            render=render,
            count=self._count,
            covering=covering,
        )
        wider = partial(
            items.wider, question, {found[item.place].memory.id: found[item.place] for item in selection.ranked}
        )
        packed = widened(packed, wider, budget=request.budget_tokens, render=render, count=self._count)
        packed = replace(packed, dropped=(*packed.dropped, *((item, "echo") for item in again)))
        cut = _cuts(ids, selection, packed, echoes, gates, None if request.explain else SHOWN_CUTS)
        relevant = _relevant(packed, selection, ids)
        return ContextBlock(
            text=packed.text,
            items=packed.items,
            tokens=packed.tokens,
            budget_tokens=request.budget_tokens or 0,
            rev=rev,
            cut=cut,
            confidence=ranking.confidence,
            relevant=relevant,
            unsure=is_unsure(ranking.confidence, relevant, said[-1]),
        )

    async def delta(self, scope: Scope, since_rev: int | None) -> Delta:
        """Return what changed since the scope's thread looked last, or since a revision (B1)."""
        if await self._larges.ready(scope.namespace):
            head = await self._store.head(scope.namespace)
            moment = Moment(head.rev, head.epoch, head.rev)
        else:
            index = await self._indexes.current(scope.namespace)
            moment = Moment(index.rev, index.epoch, index.stated_rev)
        found = await self._news.since(scope, moment, since_rev, self._categories.readable(scope.agent, None))
        self._news.told(scope, moment)
        return found

    def seen(self, scope: Scope) -> tuple[SeenMark, ...]:
        """Return up to which revision the scope's thread, and agents in it, were told what changed."""
        return self._news.seen(scope)

    async def _news_of(self, scope: Scope, moment: Moment, request: Request) -> tuple[Delta | None, bool]:
        """What changed, as far as it fits the budget, and whether it counts as told; else the next answer tells it."""
        if request.since_rev is None and self._news.nothing(scope, moment):
            return None, True
        readable = self._categories.readable(scope.agent, None)
        found = await self._news.since(scope, moment, request.since_rev, readable)
        shown = fitted(found, request.budget_tokens, self._count) if found else None
        return shown, bool(shown or not found)

    async def listed(
        self, scope: Scope, as_of: AsOf, where: Where, *, limit: int, order_by: str, descending: bool
    ) -> list[Memory]:
        """Return what fulfils the conditions as of a revision or a time, in the order of the store's ``find``."""
        past = await self._pasts.at(scope.namespace, as_of)
        hidden = await past.hidden(self._store, self._categories.readable(scope.agent, None))
        ids = past.listed(where, hidden, limit=limit, order_by=order_by, descending=descending)
        return await past.read(self._store, ids)

    async def _asked(
        self, scope: Scope, request: Request, texts: Sequence[str], said: Sequence[str]
    ) -> list[RankedQuery]:
        """Ask each text. said: what stands in the prompt anyway."""
        large = await self._larges.ready(scope.namespace) if request.as_of is None else None
        if large is not None:
            found = [await self._asked_of_store(scope, large, request, text, said) for text in texts]
            if all(found):
                return [item for item in found if item]
        here = await self._standpoint(scope, request.as_of)
        view = here.index.view
        encoded = [await self._encoded(dense_text(text, view)) for text in texts]
        echoes = await self._echoes(here, said, scope.thread)
        view = here.index.view  # as it is now
        gates = self._gates(scope, here, request, echoes)
        asked = [ask(text, view, item, here.now, self._left_out) for text, item in zip(texts, encoded, strict=True)]
        return [RankedQuery(here, item, self._rank(item, view, gates.open), gates, echoes) for item in asked]

    async def _asked_of_store(
        self, scope: Scope, large: Large, request: Request, text: str, said: Sequence[str]
    ) -> RankedQuery | None:
        """Ask a namespace that is searched by its store; None when it no longer is."""
        namespace, now = scope.namespace, self._now()
        encoded = await self._encoded(dense_text(text, large.view))
        question = ask(text, large.view, encoded, now, self._left_out)
        question = replace(question, measure=measure(question, large.view, large.whole))
        readable = self._categories.readable(scope.agent, None)
        where = (*_in_categories(readable), *_in_categories(request.categories), *request.where)
        by_channel = any(condition.field == "channel" for condition in request.where)
        open_ = open_rows((*where, *_unasked(request, by_channel, now)), cards=by_channel)
        always = tuple(item.name for item in self._categories.declared.values() if item.always)
        gathered = await self._larges.gather(namespace, large, question, open_, always, narrow=bool(where))
        if gathered is None:
            return None
        found, part = gathered
        read = partial(self._store.get, namespace)
        echoing = await _echoing(read, part, said)
        allowed = part.rows.open.copy()
        allowed[echoing] = False
        among = round(large.share(open_) * large.whole.alive)
        first = replace(question, pieces=None, memo={})
        ranking = self._rank(first, part.view, allowed, among)
        chosen = part.finalists(ranking.scores, allowed, self._larges.reach.finalists, request.explain)
        again = question.pieces is not None and len(question.pieces) > 0
        index, pieces = await self._larges.made(namespace, part, chosen, found.head, pieces=again)
        if question.pieces is not None and again:
            view = with_pieces(part, pieces, question.pieces.shape[1])
            ranking = self._rank(question, view, allowed, among)
        here = QueryContext(index, now, read, (), follows=False)
        numbers = {int(part.rows.n[place]) for place in echoing}
        echoes = [place for place, n in enumerate(index.order.tolist()) if n in numbers]
        return RankedQuery(here, question, on(index, part, ranking), self._gates(scope, here, request, echoes), echoes)

    async def _standpoint(self, scope: Scope, as_of: AsOf | None) -> QueryContext:
        if as_of is None:
            read = partial(self._store.get, scope.namespace)
            return QueryContext(await self._index(scope), self._now(), read, (), follows=True)
        past = await self._pasts.at(scope.namespace, as_of)
        hidden = await past.hidden(self._store, self._categories.readable(scope.agent, None))
        return QueryContext(past.index, past.moment, partial(past.read, self._store), hidden, follows=False)

    async def _echoes(self, here: QueryContext, said: Sequence[str], thread: str | None) -> list[int]:
        """Return what only repeats what stands in the prompt anyway: turns, and facts made of the thread's own ones.

        What the model said in the thread to an earlier message of the prompt stands there too: an application may put
        the parts of an answer together, or leave out what was said before a tool was called.
        """
        index = here.index
        found = [(place, _bare(text)) for text in said for place in index.same_words(tokenizer.term_ids(text))]
        if not found:
            return []
        ids = index.columns.ids
        stored = await here.read(list(dict.fromkeys(ids[place] for place, _ in found)))
        texts = {memory.id: _bare(memory.text) for memory in stored}
        echoes = [(place, text) for place, text in dict.fromkeys(found) if texts.get(ids[place]) == text]
        earlier = {_bare(text) for text in said[:-1]}
        asked = [place for place, text in echoes if text in earlier]
        answers: list[int] = []
        if asked:
            of_model = index.mask((Condition("thread_id", "$eq", thread), Condition("role", "$eq", "assistant")))
            answers = following(index.view.previous, of_model & index.view.turns, asked)
        own = index.mask((Condition("thread_id", "$eq", thread),)) & index.view.turns
        facts = [fact for place, _ in echoes if own[place] for fact in index.facts_on(place)]
        return [*(place for place, _ in echoes), *answers, *facts]

    def _gates(self, scope: Scope, here: QueryContext, request: Request, echoes: Sequence[int]) -> Gates:
        index = here.index
        readable = index.mask(_in_categories(self._categories.readable(scope.agent, None)))
        readable[list(here.hidden)] = False
        fresh = index.live.copy()
        fresh[list(echoes)] = False
        return Gates(
            readable=readable,
            category=index.mask(_in_categories(request.categories)),
            filter=index.mask(request.where),
            worthy=index.live & ~index.view.chatter,
            fresh=fresh,
            valid=index.valid(here.now),
            own=_own(index, request.where),
            steps=_steps(index, request),
            state=_unsaved(index, request.where),
        )

    async def _rerank(self, query: str, selection: Selection, found: Found) -> None:
        """Let the reranker order the candidates; the scores stay where they are, so that they fall with the rank."""
        if self._reranker is None or len(selection.ranked) < 2:
            return
        texts = [found[item.place].memory.text for item in selection.ranked]
        try:
            asked = asyncio.to_thread(self._reranker.score, query, texts)
            judged = [float(score) for score in await asyncio.wait_for(asked, RERANK_SECONDS)]
            selection.reorder(judged)
        except Exception as error:  # somebody else's code, which must not cost an answer
            log.warning("the reranker is left out: %s", type(error).__name__)
            model_failed("reranker_unavailable" if isinstance(error, ModelUnavailable) else "reranker_broken")

    def _rank(self, question: Question, view: NamespaceView, allowed: Mask, among: int | None = None) -> Ranking:
        model = self._embedder.name if self._embedder else None
        return rank(
            question,
            view,
            allowed,
            among=among,
            preset=self._preset,
            model=model,
            relation_weight=self._relation_weight,
        )

    async def _encoded(self, text: str) -> EncodedQuestion | None:
        """Embed a question; None to go by words alone, without an embedder or when it fails."""
        embedder = self._embedder
        if embedder is None or (embedder.english_only and not is_english(text)):
            return None
        try:
            return self._encode(text) if embedder.ready else await asyncio.to_thread(self._encode, text)
        except ModelUnavailable as error:
            log.warning("a question is answered by its words alone: %s", error)
            model_failed("embedder_unavailable")
            return None

    async def _index(self, scope: Scope) -> NamespaceIndex:
        """The scope's index, up to date; while it is built the first time, the embedder loads beside it."""
        if self._embedder is None or self._embedder.ready:
            return await self._indexes.current(scope.namespace)
        loading = asyncio.create_task(asyncio.to_thread(self._embedder.embed, [""]))
        try:
            return await self._indexes.current(scope.namespace)
        finally:
            await loading

    def _select(
        self, index: NamespaceIndex, ranking: Ranking, gates: Gates, request: Request, limit: int, share: float
    ) -> Selection:
        """share: how much of the threshold the others must reach when the best one reaches it whole."""
        return select(
            index,
            ranking.scores,
            gates,
            relevant=ranking.confidence >= (DEFAULT_BAR if request.threshold is None else request.threshold),
            threshold=ITEM_FLOOR if request.threshold is None else request.threshold * share,
            declared=self._categories.declared,
            limit=limit,
            everything=request.explain,
        )

    async def _fetch(self, here: QueryContext, selection: Selection) -> Found:
        """Read the candidates that are not held; the selection loses those that were forgotten since the ranking."""
        places = [alway.place for alway in (*selection.always, *selection.ranked)]
        found = await self._read(here, places)
        if len(found) < len(places):
            selection.keep(found)
        return found

    async def _read(self, here: QueryContext, places: Sequence[int]) -> Found:
        """Read the memories of places that are not held; those that were forgotten since are left out."""
        index = here.index
        ids = index.columns.ids
        found = self._held.known(index.number, places) if here.follows else {}
        missing = {ids[place]: place for place in places if place not in found}
        if missing:
            for memory in await here.read(list(missing)):
                place = missing[memory.id]
                found[place] = self._held.hold(index.number, place, memory) if here.follows else CachedMemory(memory)
        return found


def _by_vector(embedder: Embedder | None, text: str) -> EncodedQuestion:
    assert embedder is not None
    return EncodedQuestion(embedder.embed([text])[0])


async def _echoing(
    read: Callable[[Sequence[str]], Awaitable[list[Memory]]], part: PartialView, said: Sequence[str]
) -> list[int]:
    """Return the places of a part that only repeat what stands in the prompt."""
    found = [(place, _bare(text)) for text in said for place in part.same_words(tokenizer.term_ids(text))]
    if not found:
        return []
    stored = await read(list(dict.fromkeys(part.rows.ids[place] for place, _ in found)))
    texts = {memory.id: _bare(memory.text) for memory in stored}
    return [place for place, text in dict.fromkeys(found) if texts.get(part.rows.ids[place]) == text]


def _after(told: str, items: Sequence[RecallItem]) -> str:
    """What changed, and after a blank line the items."""
    return f"{told}\n\n{block.bullets(items)}" if items else told


def _bare(text: str) -> str:
    return " ".join(text.split()).casefold()


def _said_once(items: Sequence[RecallItem]) -> tuple[list[RecallItem], list[RecallItem]]:
    """Items without turns that say the same words as an earlier one; and these. A question is often asked again."""
    first: dict[tuple[str | None, str], str] = {}
    for item in items:
        if item.memory.channel == Channel.TURN:
            first.setdefault((item.memory.role, _bare(item.memory.text)), item.id)
    again = [
        item
        for item in items
        if item.memory.channel == Channel.TURN and first[item.memory.role, _bare(item.memory.text)] != item.id
    ]
    left_out = {item.id for item in again}
    return [item for item in items if item.id not in left_out], again


def _weight(item: RecallItem, now: datetime) -> tuple[bool, float]:
    """Design C's order: importance x recency x relevance, the pinned before the rest."""
    age_days = max(0.0, (now - item.created_at).total_seconds() / 86_400)
    recency = max(0.1, 0.5 ** (age_days / 30))
    return item.memory.pinned, item.memory.importance * recency * item.score


def _own(index: NamespaceIndex, where: Where) -> Mask | None:
    cards = None if any(condition.field == "channel" for condition in where) else index.cards
    return None if cards is None else ~cards


def _unasked(request: Request, by_channel: bool, now: datetime) -> Where:
    """What :func:`_steps`, :func:`_unsaved` and the end of a fact's time leave out, as conditions.

    by_channel: whether a filter asks for a channel.
    """
    steps = () if request.steps else (Condition("channel", "$ne", str(Channel.PROCEDURAL)),)
    saved = () if by_channel else (Condition("channel", "$ne", str(Channel.STATE)),)
    return (*steps, *saved, Condition("valid_to", UNSET_OR_AFTER, now))


def _steps(index: NamespaceIndex, request: Request) -> Mask | None:
    """What holds no steps of how something is done, unless their category is asked for by its name (B12)."""
    steps = None if request.steps else index.of_channel(Channel.PROCEDURAL)
    return None if steps is None else ~steps


_SAVED = (Condition("category", "$eq", "state"),)
"""How a person wants to be spoken to is of the same channel, and of another category."""


def _unsaved(index: NamespaceIndex, where: Where) -> Mask | None:
    """What is no value that was saved by key, unless a filter asks for a channel."""
    asked = any(condition.field == "channel" for condition in where)
    saved = None if asked else index.of_channel(Channel.STATE)
    return None if saved is None else ~(saved & index.columns.mask(_SAVED))


def _in_categories(names: tuple[str, ...] | None) -> Where:
    return () if names is None else (Condition("category", "$in", names),)


def _covering(selection: Selection, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """For the ids of turns among the candidates, the ids of the facts that rest on them."""
    return {ids[item.place]: tuple(ids[fact] for fact in item.facts) for item in selection.ranked if item.facts}


def _relevant(packed: BudgetedAnswer, selection: Selection, ids: Sequence[str]) -> bool:
    always = {ids[alway.place] for alway in selection.always}
    return any(item.id not in always for item in packed.items)


def _cuts(
    ids: Sequence[str],
    selection: Selection,
    packed: BudgetedAnswer,
    echoes: Sequence[int],
    gates: Gates,
    most: int | None,
) -> tuple[Cut, ...]:
    """Name what was left out: what nearly got in first."""
    cuts = [Cut(item.id, gate, item.score, GATES[gate]) for item, gate in packed.dropped]
    named = {cut.id for cut in cuts} | {item.id for item in packed.items}
    others = [
        *((item, "top_k") for item in selection.ranked if ids[item.place] not in named),
        *((Candidate(place, 0.0), "echo") for place in echoes if most is not None and gates.readable[place]),
        *selection.left_out,
    ]
    cuts += [Cut(ids[item.place], gate, item.score, GATES[gate]) for item, gate in others[:most]]
    return tuple(cuts[:most])
