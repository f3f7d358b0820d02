"""Answers questions with reasons; no model but the embedder is called on this path."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import chain, zip_longest
from typing import NamedTuple

from memwarden import clock
from memwarden.categories import Categories
from memwarden.filters import Condition, Where, is_inside
from memwarden.models.protocols import Embedder, EncodedQuestion, Reranker
from memwarden.recall.answer import render as block
from memwarden.recall.answer.echoes import drop_copies, find_prompt_echoes, fold_repeats
from memwarden.recall.answer.explain import join_cuts
from memwarden.recall.answer.frame import load_name_check
from memwarden.recall.answer.gates import (
    Gates,
    default_conditions,
    in_categories,
    open_gates,
    resolve_metadata,
    unanswering_flags,
)
from memwarden.recall.answer.items import (
    join_telling_facts,
    make_block_items,
    make_found_item,
)
from memwarden.recall.answer.memory_cache import CachedMemory, MemoryCache
from memwarden.recall.answer.overview import MAX_READ, find_overview_item, read_overview
from memwarden.recall.answer.pack import (
    BudgetedAnswer,
    classic_order,
    count_least_items,
    limit_items,
    pack_items,
    tell_words_once,
)
from memwarden.recall.answer.related import append_related, choose_neighbours, find_neighbours
from memwarden.recall.answer.replies import find_partners, join_partners
from memwarden.recall.answer.request import OF_KNOWN_TRUST, Request, join_talk, list_searched
from memwarden.recall.answer.searches import (
    Found,
    OwnedCandidate,
    PendingSignals,
    QueryContext,
    QuestionSearch,
    RankedMemories,
    RankedQuery,
    answers_any,
    choose_searched,
    interleave_questions,
    is_answerable,
)
from memwarden.recall.answer.select import Candidate, Selection, select_candidates
from memwarden.recall.clauses import ClauseReader
from memwarden.recall.default_order import rerank
from memwarden.recall.evidence.answer import is_unsure
from memwarden.recall.index.columns import Mask
from memwarden.recall.index.encode import QuestionEncoder, index_ids
from memwarden.recall.index.namespace_index import NamespaceIndex, NamespaceIndexes
from memwarden.recall.index.view import NamespaceView
from memwarden.recall.large.past import LargePast, LargePasts
from memwarden.recall.large.registry import LargeBounds, LargeNamespaces, read_known
from memwarden.recall.large.search import LargeNamespace, RestoredRows, open_rows
from memwarden.recall.question import Question, dense_text, prepare_question
from memwarden.recall.rank.combine import RELATION_WEIGHT, Spread
from memwarden.recall.rank.currency import best_places
from memwarden.recall.rank.ranking import Ranking, rank
from memwarden.recall.spelling import correct_spelling
from memwarden.recall.time.change_cursor import ChangeCursor, IndexMoment, Outdated
from memwarden.recall.time.delta import fit_delta, tell_outdated
from memwarden.recall.time.past import AsOf, PastIndexes, PastNamespace
from memwarden.records import (
    OVERVIEW_ID,
    ContextBlock,
    Delta,
    Memory,
    Namespace,
    Overview,
    QueryResult,
    RecallItem,
    Scope,
)
from memwarden.settings import CONTEXT_BAR, QUERY_BAR, SHARE_BESIDE_BEST, ItemBar
from memwarden.stores.protocol import Store
from memwarden.stores.shared.search import OpenRows, SearchableStore
from memwarden.text.question_words import asks_question
from memwarden.text.tokenizer import TokenCounter, estimate

# Minimum number of candidates that a reranker reads.
MAX_RERANKED = 50
# Candidates beyond the wanted number, to fill the budget when a long memory does not fit.
SPARE_CANDIDATES = 5
# Omissions named without ``explain``, nearest first.
MAX_SHOWN_CUTS = 20
# Share of all chances of an answer that the memories of a block add up to: the others seldom hold one.
SHARE_IN_BLOCK = 0.96
# Candidates among which importance and recency decide in a numbered block.
MIN_WEIGHED = 10


class Recall:
    """Answers questions for scopes from the namespace indexes of one store."""

    def __init__(
        self,
        store: Store,
        indexes: NamespaceIndexes,
        larges: LargeNamespaces | None,
        embedder: Embedder | None,
        categories: Categories,
        *,
        held_bytes: int,
        past_bytes: int,
        reranker: Reranker | None = None,
        preset: str = "auto",
        relation_weight: float = RELATION_WEIGHT,
        left_out: frozenset[str] = frozenset(),
        external: bool = True,
        count: TokenCounter = estimate,
        now: Callable[[], datetime] = lambda: clock.now(),
    ) -> None:
        self._store = store
        self._indexes = indexes
        self._larges = larges
        self.filler: PendingSignals | None = None
        self._encoder = QuestionEncoder(embedder)
        self._clauses = ClauseReader(embedder)
        self.categories = categories
        self._memory_cache = MemoryCache(held_bytes)
        self._vouched = () if external else OF_KNOWN_TRUST
        self.change_cursor = ChangeCursor(store, external=external)
        self.pasts = PastIndexes(store, indexes, embedder, past_bytes)
        self._large_pasts = LargePasts(store, indexes, embedder, past_bytes)
        self._reranker = reranker
        self._preset = preset
        self._relation_weight = relation_weight
        self._left_out = left_out
        self._count = count
        self._now = now
        self._name_check: asyncio.Future[None] | None = None
        indexes.on_long_read = self._load_name_check

    async def query(self, scope: Scope, request: Request) -> QueryResult:
        """Answer a query: one question, or several interleaved."""
        request = self._vouching(request)
        texts = [text for message in request.questions for text in await self._clauses.read(message)]
        # A question that was asked before is no answer; a statement in the query's very words is.
        echoed = [text for text in request.questions if asks_question(text)]
        asked = await self._ask_all(scope, request, list(dict.fromkeys(texts)), echoed)
        index = asked[0].ctx.index
        moment = IndexMoment(index.rev, index.epoch, index.stated_rev)
        searches = await self._search_all(request, asked, request.top_k + SPARE_CANDIDATES)
        untold = request.as_of is not None or not request.news
        news, told = (None, False) if untold else await self._fit_changes(scope, moment, request)
        header = news.text if news else ""
        render = partial(block.join_changes, header) if header else partial(block.render_bullets, known={})
        always = interleave_questions(searches, [search.selection.always for search in searches])
        owners = interleave_questions(searches, [search.selection.ranked for search in searches])
        answering = len({search.asked.asked for search in searches if search.selection.ranked})
        packed = pack_items(
            (),
            (make_found_item(request.full, searches[item.question], item.candidate) for item in owners.values()),
            fill=(make_found_item(request.full, searches[item.question], item.candidate) for item in always.values()),
            most=request.top_k * max(answering, 1),
            budget=request.budget_tokens,
            render=render,
            count=self._count,
            covering=join_telling_facts(searches),
            used=self._count(header),
        )
        relevant = answers_any(searches, packed, request.threshold)
        packed, standing = await self._append_related(request, searches, always | owners if relevant else {}, packed)
        cuts = join_cuts(searches, packed, [item.id for item in standing], None if request.explain else MAX_SHOWN_CUTS)
        if not untold:
            self.change_cursor.note_shown(scope, moment, _own(scope, packed.items))
        if told:
            # Last: an answer that fails or is cancelled has shown nothing.
            self.change_cursor.acknowledge(scope, moment)
        confidences = tuple(search.asked.ranking.confidence for search in searches)
        return QueryResult(
            items=packed.items,
            text=packed.text,
            rev=moment.rev,
            tokens=packed.tokens,
            budget_tokens=request.budget_tokens,
            cut=cuts,
            categories=request.categories,
            confidence=max(confidences),
            confidences=confidences,
            preset=index.view.preset if self._preset == "auto" else self._preset,
            relevant=relevant,
            related=tuple(standing),
            delta=news,
            pending=self._count_pending(asked),
        )

    def _vouching(self, request: Request) -> Request:
        """Add to a request the conditions of what nobody vouches for, where it is left out."""
        return replace(request, where=(*request.where, *self._vouched)) if self._vouched else request

    async def _search_all(self, request: Request, asked: Sequence[RankedQuery], most: int) -> list[QuestionSearch]:
        """Choose each question's candidates, at most so many where no reranker reads more, and read them."""
        most = max(most, MAX_RERANKED) if self._reranker else most
        # All are chosen before anything is awaited: until then the index stays as it is.
        chosen = [
            (
                self._select(item.ctx.index, item.ranking, item.gates, request, most, QUERY_BAR, SHARE_BESIDE_BEST),
                item,
            )
            for item in asked
        ]
        related = [
            find_neighbours(item.ctx.index, item.gates, selection.ranked) if len(item.ctx.index.edges) else {}
            for selection, item in chosen
        ]
        searches = []
        for (selection, item), neighbours in zip(chosen, related, strict=True):
            found = await self._fetch(item, selection)
            if self._reranker is not None:
                await rerank(self._reranker, item.question.text, selection, found)
            searches.append(QuestionSearch(item, selection, neighbours, found))
        if request.beside:
            drop_copies(searches)
        return searches

    async def _append_related(
        self,
        request: Request,
        searches: Sequence[QuestionSearch],
        owners: Mapping[str, OwnedCandidate],
        packed: BudgetedAnswer,
    ) -> tuple[BudgetedAnswer, list[RecallItem]]:
        """Add what is related to the items, where the budget leaves room."""
        owned = [item for item in packed.items if item.id in owners]
        known = {item.id: searches[owners[item.id].question].related.get(item.id, ()) for item in owned}
        wanted = []
        for entry, item_id in choose_neighbours(known, owned, self.categories.declared):
            search = searches[owners[item_id].question]
            score = float(search.asked.ranking.scores[entry.place])
            read = await self._read(search.asked.ctx, [entry.place])
            if entry.place in read:
                found = Candidate(entry.place, score, beside=item_id)
                wanted.append(make_found_item(request.full, search, found, read))
        return append_related(packed, wanted, request.budget_tokens, self._count)

    async def context(self, scope: Scope, said: Sequence[str], request: Request) -> ContextBlock:
        """Make the block for a prompt. ``said``: the recent messages, the message to answer last."""
        request = self._vouching(request)
        if request.template.by_day:
            request = replace(request, most=limit_items(request.most, request.budget_tokens))
        searches = await self._search_places(scope, request, said)
        # Of the person's own namespace, to which what was shown before and the overview belong.
        ctx, ranking = searches[0].asked.ctx, searches[0].asked.ranking
        index, now = ctx.index, ctx.now
        confidence = max(search.asked.ranking.confidence for search in searches)
        budget, template = request.budget_tokens, request.template
        moment = IndexMoment(index.rev, index.epoch, index.stated_rev if ctx.follows else index.rev)
        outdated, told = await self._fit_outdated(scope, moment, ctx, budget)
        header = told.text if told else ""
        render = partial(block.render_changes_and_block, header, now, template, known={})
        covering = join_telling_facts(searches)
        glance, rests_on, told_whole = await self._glance(scope, ctx, ranking, budget, request)
        covering = {**covering, **{key: (*covering.get(key, ()), *by) for key, by in told_whole.items()}}
        made, filling = make_block_items(searches)
        if template.numbered:
            made.sort(key=lambda item: (item.memory.pinned, classic_order(item, now)), reverse=True)
        packed = pack_items(
            glance,
            made,
            most=request.most,
            budget=budget,
            render=render,
            count=self._count,
            covering=covering,
            used=self._count(header) if header else 0,
            fill=filling,
            few=count_least_items(budget) if template.by_day else None,
        )
        packed = replace(packed, items=tuple(block.order_items(packed.items, template)))
        cut = join_cuts(searches, packed, (), None if request.explain else MAX_SHOWN_CUTS)
        relevant = answers_any(searches, packed, request.threshold)
        if told is not None and outdated is not None:
            told, packed = tell_words_once(outdated, told, packed, now, template, self._count)
        rests_on = rests_on if OVERVIEW_ID in {item.id for item in packed.items} else []
        shown = [*rests_on, *_own(scope, packed.items)]
        self.change_cursor.note_shown(scope, moment, shown, outdated)
        return ContextBlock(
            text=packed.text,
            items=packed.items,
            tokens=packed.tokens,
            delta=told,
            updated=outdated.updated if told and outdated else (),
            overview_of=tuple(rests_on),
            budget_tokens=request.budget_tokens or 0,
            rev=index.rev,
            cut=cut,
            confidence=confidence,
            relevant=relevant,
            unsure=is_unsure(confidence, relevant, said[-1]),
            pending=self._count_pending(search.asked for search in searches),
        )

    async def _search_places(self, scope: Scope, request: Request, said: Sequence[str]) -> list[QuestionSearch]:
        """Search each namespace for what a block's last message asks, and read what was found."""
        questions = await self._clauses.read(said[-1])
        # Several questions are searched each for itself; one may lean on the talk before it.
        texts = questions if len(questions) > 1 else list_searched([*said[:-1], *questions])
        asked = await self._ask_all(scope, request, texts, said)
        places = (asked[start : start + len(texts)] for start in range(0, len(asked), len(texts)))
        chosen = list(
            chain.from_iterable(
                some if len(questions) > 1 else [choose_searched(some, request.threshold)] for some in places
            )
        )
        # Spare ones, because repeated texts are left out later.
        most = max(MIN_WEIGHED, request.most) if request.template.numbered else request.most + SPARE_CANDIDATES
        # All are chosen before anything is awaited, as for a query.
        choose = partial(self._select, request=request, limit=most, bar=CONTEXT_BAR)
        selected = [choose(item.ctx.index, item.ranking, item.gates) for item in chosen]
        if request.template.by_day:
            for item, selection in zip(chosen, selected, strict=True):
                selection.leave_unlikely(SHARE_IN_BLOCK * float(item.ranking.scores[item.gates.open].sum()))
        searches = [
            QuestionSearch(item, selection, {}, await self._fetch(item, selection))
            for item, selection in zip(chosen, selected, strict=True)
        ]
        if request.beside:
            drop_copies(searches)
        return searches

    async def _fit_outdated(
        self, scope: Scope, moment: IndexMoment, ctx: QueryContext, budget: int | None
    ) -> tuple[Outdated | None, Delta | None]:
        """Return what the thread's model was shown and is no longer so, and the lines of it that fit the budget."""
        readable = self.categories.readable(scope.agent, None)
        # A part of a large namespace does not know what is there: the journal tells what was removed.
        is_there = ctx.index.is_active if ctx.follows else bool
        found = await self.change_cursor.outdated(scope, moment, readable, is_there)
        if not found.changes:
            return found, None
        told = fit_delta(tell_outdated(found.since, moment.rev, found.changes, ctx.now), budget, self._count)
        return (found if told else None), told

    async def _glance(
        self, scope: Scope, ctx: QueryContext, ranking: Ranking, budget: int | None, request: Request
    ) -> tuple[list[RecallItem], list[Memory], dict[str, tuple[str, ...]]]:
        """Return the overview of a block, where the settings ask for it; see :func:`find_overview_item`."""
        if not request.overview:
            return [], [], {}
        return await find_overview_item(ctx, self._tellable(scope), ranking, (budget, request.overview), self._count)

    async def delta(self, scope: Scope, since_rev: int | None) -> Delta:
        """Return what changed since the scope's thread looked last, or since a revision."""
        if self._larges is not None and await self._larges.ready(scope.namespace):
            head = await self._store.head(scope.namespace)
            moment = IndexMoment(head.rev, head.epoch, head.rev)
        else:
            index = await self._indexes.current(scope.namespace)
            moment = IndexMoment(index.rev, index.epoch, index.stated_rev)
        found = await self.change_cursor.since(scope, moment, since_rev, self.categories.readable(scope.agent, None))
        self.change_cursor.acknowledge(scope, moment)
        return found

    async def _fit_changes(self, scope: Scope, moment: IndexMoment, request: Request) -> tuple[Delta | None, bool]:
        """Return the changes that fit the budget, and whether they count as seen."""
        if request.since_rev is None and self.change_cursor.is_unchanged(scope, moment):
            return None, True
        readable = self.categories.readable(scope.agent, None)
        found = await self.change_cursor.since(scope, moment, request.since_rev, readable)
        shown = fit_delta(found, request.budget_tokens, self._count) if found else None
        return shown, bool(shown or not found)

    async def overview(self, scope: Scope, about: str | None, budget: int) -> Overview:
        """Return the open values of a person that fit the budget. about: a name or relation, None for the speakers."""
        told, read = self._tellable(scope), partial(self._store.get, scope.namespace)
        part = await self._larges.stated(scope.namespace, told, about) if self._larges is not None else None
        index = await self._index(scope.namespace) if part is None else part
        ctx = QueryContext(index, self._now(), read, (), follows=part is None)
        # What was chosen of a large namespace is read whole: older statements stand beside the newest turns.
        return (await read_overview(ctx, told, about, budget, self._count, MAX_READ if part is None else None))[0]

    def _tellable(self, scope: Scope) -> Where:
        """The conditions of what a scope may be told in an overview."""
        return (*in_categories(self.categories.readable(scope.agent, None)), *self._vouched)

    async def list_past(
        self, scope: Scope, as_of: AsOf, where: Where, *, limit: int, order_by: str, descending: bool
    ) -> list[Memory]:
        """Return what fulfils the conditions as of a revision or a time, in the order of the store's ``find``."""
        large, past = await self._ready_large(scope.namespace), None
        if large is not None:
            past = await self._large_pasts.list_rows(
                *(self._searched, scope.namespace, large, as_of), where, limit, order_by, descending
            )
        past = past or await self.pasts.at(scope.namespace, as_of)
        where = await resolve_metadata(past.index, where, None, partial(past.read, self._store))
        hidden = await past.hidden(self._store, self.categories.readable(scope.agent, None))
        ids = past.list_ids(where, hidden, limit=limit, order_by=order_by, descending=descending)
        return await past.read(self._store, ids)

    async def rank_memories(self, scope: Scope, text: str, where: Where, limit: int) -> RankedMemories:
        """Rank at most ``limit`` memories that fulfil conditions, without reading them."""
        request = self._vouching(Request(text, None, where, limit, 0.0, None, full=True, explain=False, news=False))
        (ranked,) = await self._ask_all(replace(scope, thread=None), request, [text], ())
        scores, ids = ranked.ranking.scores, ranked.ctx.index.columns.ids
        places = best_places(scores, ranked.gates.open, limit).tolist()
        return RankedMemories(ranked.ranking.subject, [(ids[place], float(scores[place])) for place in places])

    async def open_index(self, namespace: Namespace) -> NamespaceIndex | None:
        """Return a namespace's index, up to date; None for a namespace that its store searches."""
        is_large = self._larges is not None and await self._larges.ready(namespace) is not None
        return None if is_large else await self._index(namespace)

    async def _ask_all(
        self, scope: Scope, request: Request, texts: Sequence[str], said: Sequence[str]
    ) -> list[RankedQuery]:
        """Rank each text's answers, a namespace after the other. said: the messages that stand in the prompt anyway."""
        places = (scope.namespace, *request.beside)
        prepared = [await self._prepare(scope, place, request, texts, said) for place in places]
        # Nothing is awaited while they are ranked, so that no index changes under the others' rankings.
        return list(chain.from_iterable(rank_all() for rank_all in prepared))

    async def _prepare(
        self, scope: Scope, namespace: Namespace, request: Request, texts: Sequence[str], said: Sequence[str]
    ) -> Callable[[], list[RankedQuery]]:
        """Return what ranks each text's answers in a namespace."""
        large = await self._ready_large(namespace)
        past = None
        if large is not None and request.as_of is not None:
            past = await self._large_pasts.at(self._searched, namespace, large, request.as_of)
        is_searched = request.as_of is None if past is None else past.whole is None
        if large is not None and is_searched:
            await self._await_signals(namespace)
            found = [await self._ask_store(scope, namespace, large, past, request, text, said) for text in texts]
            if all(found):
                return partial(list, filter(None, found))
        if past is not None and past.whole is not None:
            ctx = await self._open_past(scope, past.view(past.whole))
        else:
            ctx = await self._open_context(scope, namespace, request.as_of)
        ids = partial(self._store.find_ids, namespace) if ctx.follows else None
        if any(map(is_inside, request.where)):
            request = replace(request, where=await resolve_metadata(ctx.index, request.where, ids, ctx.read))
        # The view is read for each text, because the index may change while a text is encoded.
        read = [await self._encode(text, _view_of(ctx, request)) for text in texts]
        talks = [join_talk(request, text) for text in texts if request.talk]
        continued = [await self._encode(talk, _view_of(ctx, request)) for talk in talks]
        echoes = await find_prompt_echoes(ctx, said, [await index_ids(text) for text in said], scope.thread)
        return partial(self._rank_all, scope, ctx, request, list(zip_longest(read, continued)), echoes)

    async def _encode(self, text: str, view: NamespaceView) -> EncodedText:
        """Return a text as the store spells it, with its vectors."""
        spelled = correct_spelling(text, view, self._encoder.is_word)
        return EncodedText(text, spelled, await self._encoder.encode(dense_text(spelled, view)))

    def _rank_all(
        self,
        scope: Scope,
        ctx: QueryContext,
        request: Request,
        texts: Iterable[tuple[EncodedText, EncodedText | None]],
        echoes: Sequence[int],
    ) -> list[RankedQuery]:
        view = _view_of(ctx, request)  # as it is now
        asked = [(one.text, self._prepare_question(one, talk, view, ctx.now)) for one, talk in texts]
        gates = self._gates(scope, ctx, request, echoes, past=any(item.asks_back for _, item in asked))
        planned = ctx.index.mask((Condition("valid_from", "$gt", ctx.now),))
        rank = partial(self._rank, planned=planned if planned.any() else None)
        return [RankedQuery(text, ctx, item, rank(item, view, gates.open), gates, echoes) for text, item in asked]

    def _prepare_question(
        self, asked: EncodedText, talk: EncodedText | None, view: NamespaceView, now: datetime
    ) -> Question:
        question = self._with_reading(prepare_question(asked.spelled, view, asked.vectors, now))
        if talk is None:
            return question
        return replace(question, talk=prepare_question(talk.spelled, view, talk.vectors, now))

    def _with_reading(self, question: Question) -> Question:
        """Add what a question asks for, where statements are read."""
        reader = self._encoder.reader
        if reader is None or question.second is None:
            return question
        reading = reader.question(question.text, question.second)
        by_name = bool(question.speakers) and not question.asks_of_self
        return replace(question, reading=reading.of_speaker() if by_name else reading)

    async def _ask_store(
        self,
        scope: Scope,
        namespace: Namespace,
        large: LargeNamespace,
        past: LargePast | None,
        request: Request,
        text: str,
        said: Sequence[str],
    ) -> RankedQuery | None:
        """Rank a namespace that is searched by its store; None when it no longer is.

        past: the moment that is asked about; None for now.
        """
        assert self._larges is not None
        now = self._now() if past is None else past.moment
        large = large if past is None else past.large
        question = self._prepare_question(await self._encode(text, large.view), None, large.view, now)
        if request.talk:
            talk = await self._encode(join_talk(request, text), large.view)
            # The message alone says whether the past is asked for: an earlier question of the talk does not.
            question = replace(prepare_question(talk.spelled, large.view, talk.vectors, now), reading=question.reading)
        asks_back = question.asks_back
        readable = self.categories.readable(scope.agent, None)
        where = (*in_categories(readable), *in_categories(request.categories), *request.where)
        by_channel = any(condition.field == "channel" for condition in request.where)
        without = unanswering_flags(request)
        conditions = default_conditions(request, by_channel, None if asks_back else now)
        open_ = open_rows((*where, *conditions), without, cards=by_channel)
        restored = None
        if past is not None:
            restored = past, await self._restore(past, open_, readable)
            open_ = replace(open_, known=past.known)
        always = tuple(item.name for item in self.categories.declared.values() if item.always)
        words = [await index_ids(text) for text in said]
        bounds = LargeBounds(open_, always, bool(where), said, words, request.explain, restored)
        ranked = await self._larges.rank(namespace, large, question, bounds, self._rank)
        if ranked is None:
            return None
        index, ranking, echoes = ranked.found, ranked.ranking, ranked.echoes
        if past is None:
            read = partial(read_known, namespace, ranked.contents, partial(self._store.get, namespace))
            ctx = QueryContext(index, now, read, (), follows=False)
        else:
            ctx = await self._open_past(scope, past.view(index))
        request = replace(request, where=await resolve_metadata(index, request.where, None, ctx.read))
        gates = self._gates(scope, ctx, request, echoes, past=asks_back)
        return RankedQuery(text, ctx, question, ranking, gates, echoes)

    async def _ready_large(self, namespace: Namespace) -> LargeNamespace | None:
        """Return a namespace that its store searches. None: it is held in memory."""
        return None if self._larges is None else await self._larges.ready(namespace)

    @property
    def _searched(self) -> SearchableStore:
        assert self._larges is not None
        assert self._larges.store is not None
        return self._larges.store

    async def _restore(self, past: LargePast, open_: OpenRows, readable: Collection[str] | None) -> RestoredRows:
        """Return the rows that changed since a moment. open_: which of them an answer may hold."""
        read = partial(past.read, self._store)
        where = await resolve_metadata(past.changed.active, open_.where, None, read)
        return past.restore(replace(open_, where=where), readable)

    async def _open_context(self, scope: Scope, namespace: Namespace, as_of: AsOf | None) -> QueryContext:
        if as_of is None:
            return QueryContext(
                await self._index(namespace), self._now(), partial(self._store.get, namespace), (), follows=True
            )
        return await self._open_past(scope, await self.pasts.at(namespace, as_of))

    async def _open_past(self, scope: Scope, past: PastNamespace) -> QueryContext:
        hidden = await past.hidden(self._store, self.categories.readable(scope.agent, None))
        return QueryContext(past.index, past.moment, partial(past.read, self._store), hidden, follows=False)

    def _gates(self, scope: Scope, ctx: QueryContext, request: Request, echoes: Sequence[int], *, past: bool) -> Gates:
        readable = self.categories.readable(scope.agent, None)
        return open_gates(ctx.index, request, readable, ctx.hidden, echoes, None if past else ctx.now)

    def _rank(
        self,
        question: Question,
        view: NamespaceView,
        allowed: Mask,
        among: int | None = None,
        spread: Mapping[str, Spread] | None = None,
        planned: Mask | None = None,
    ) -> Ranking:
        return rank(
            question,
            view,
            allowed,
            model=self._encoder.name,
            relation_weight=self._relation_weight,
            left_out=self._left_out,
            among=among,
            spread=spread,
            planned=planned,
        )

    async def _index(self, namespace: Namespace) -> NamespaceIndex:
        """A namespace's index, up to date; while it is built the first time, the embedder loads beside it."""
        index = await self._loaded_index(namespace)
        if not index.lacking or not await self._await_signals(namespace):
            return index
        return await self._indexes.current(namespace)

    async def _await_signals(self, namespace: Namespace) -> bool:
        """Wait for the vectors of what was said just before; return whether any were awaited."""
        return self.filler is not None and await self.filler.wait_for_recent(namespace)

    def _count_pending(self, asked: Iterable[RankedQuery]) -> int:
        """Return how many texts of the searched indexes have no vector yet."""
        return sum(len(index.lacking) for index in {id(each.ctx.index): each.ctx.index for each in asked}.values())

    def _load_name_check(self) -> None:
        """Load the check of names in a thread, once, while a namespace is read: its answer may show one."""
        if self._name_check is None:
            self._name_check = asyncio.get_running_loop().run_in_executor(None, load_name_check)

    async def _loaded_index(self, namespace: Namespace) -> NamespaceIndex:
        if self._encoder.ready:
            return await self._indexes.current(namespace)
        loading = asyncio.create_task(self._encoder.load())
        try:
            return await self._indexes.current(namespace)
        finally:
            await loading

    def _select(
        self,
        index: NamespaceIndex,
        ranking: Ranking,
        gates: Gates,
        request: Request,
        limit: int,
        bar: ItemBar,
        beside_best: float = 0.0,
    ) -> Selection:
        """Choose the candidates for an answer.

        Args:
            beside_best: share of the best score that a memory must reach, where the caller gives no threshold.
        """
        least = bar.least if request.threshold is None else bar.share * request.threshold
        return select_candidates(
            index,
            ranking.scores,
            gates,
            relevant=is_answerable(ranking, request.threshold),
            threshold=least,
            declared=self.categories.declared,
            limit=limit,
            everything=request.explain,
            beside_best=beside_best if request.threshold is None else 0.0,
        )

    async def _fetch(self, asked: RankedQuery, selection: Selection) -> Found:
        """Read the candidates; drop those forgotten since the ranking, fold what repeats another, and join replies."""
        places = {alway.place for alway in (*selection.always, *selection.ranked)}
        partners = find_partners(asked.ctx.index, asked.gates, selection.ranked)
        found = await self._read(asked.ctx, list({*places, *(partner.place for partner in partners.values())}))
        if not places <= found.keys():
            selection.keep(found)
        fold_repeats(selection, found)
        join_partners(selection, partners, found)
        return found

    async def _read(self, ctx: QueryContext, places: Sequence[int]) -> Found:
        """Read the memories of places, from the cache where held; forgotten memories are left out."""
        index = ctx.index
        ids = index.columns.ids
        found = self._memory_cache.known(index.number, places) if ctx.follows else {}
        missing = {ids[place]: place for place in places if place not in found}
        if missing:
            for memory in await ctx.read(list(missing)):
                place = missing[memory.id]
                found[place] = (
                    self._memory_cache.hold(index.number, place, memory) if ctx.follows else CachedMemory(memory)
                )
        return found


class EncodedText(NamedTuple):
    """A text that is searched for: as it was said, as the store spells it, and its vectors, if there is a model."""

    text: str
    spelled: str
    vectors: EncodedQuestion | None


def _view_of(ctx: QueryContext, request: Request) -> NamespaceView:
    """Return what features see for a request: index cards and quotations only if it asks for a channel."""
    by_channel = any(condition.field == "channel" for condition in request.where)
    return ctx.index.whole_view if by_channel else ctx.index.view


def _own(scope: Scope, shown: Iterable[RecallItem]) -> list[Memory]:
    """Return the memories of the scope's own namespace, whose changes its thread is told."""
    memories = [memory for item in shown if item.id != OVERVIEW_ID for memory in (item.memory, item.partner)]
    return [memory for memory in memories if memory is not None and memory.namespace == scope.namespace]
