"""Extracts what is worth keeping from a thread, part by part, each exactly once.

What is kept is decided by :mod:`memwarden.remember.extract.rules` exchange by exchange, or by a configured chat model
in batches of turns (:mod:`memwarden.remember.extract.by_model`). Facts go through the resolver, as everything that is
stated (:mod:`memwarden.remember.resolve.resolver`), in a batch with the mark, so that after a kill the work goes on
where it stood: nothing is lost, nothing is kept twice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from functools import partial
from typing import NamedTuple

import numpy as np

from memwarden import clock, filters
from memwarden.categories import DEFAULT_CATEGORY, OWN_RECORDS, Categories, is_own_category
from memwarden.clock import DEFAULT_THREAD, new_id
from memwarden.concurrency.optimistic import change_atomically
from memwarden.errors import ModelUnavailable
from memwarden.models.protocols import ChatModel, Embedder
from memwarden.recall.index.encode import make_signals_in_thread, said_text, statement_reader
from memwarden.recall.index.namespace_index import NamespaceIndex, NamespaceIndexes
from memwarden.recall.large.registry import LargeNamespaces
from memwarden.recall.nearby import find_nearby
from memwarden.records import (
    CARD,
    EXTRACTED_BY,
    QUOTATION,
    Batch,
    Channel,
    Event,
    ExtractionMark,
    Memory,
    MemoryState,
    Namespace,
    Scope,
    Signals,
    Trust,
)
from memwarden.remember.extract import procedures
from memwarden.remember.extract.records import (
    MAX_TURNS_BEFORE,
    EndedFact,
    ExtractedItem,
    PendingTurns,
    ThreadTail,
    add_by_rules,
    as_said,
    group_exchanges,
    merge_extracts,
)
from memwarden.remember.extract.records import ExchangeExtract as Kept
from memwarden.remember.ingest.screening import NOT_SUSPICIOUS, TRUST_RANK, Screening
from memwarden.remember.resolve.proposals import PROPOSAL_LIFETIME
from memwarden.remember.resolve.resolution import Resolution, latest_candidates, open_statements
from memwarden.remember.resolve.resolver import IncomingEnd, IncomingStatement, Resolver
from memwarden.remember.resolve.told_context import find_told_context
from memwarden.remember.resolve.user_context import ContextEdit
from memwarden.remember.write_store import GuardedStore
from memwarden.settings import ExtractionInstructions
from memwarden.text.tokenizer import term_id

# A long log is worked off in steps of this size, each with a mark of its own, so that a kill loses a single step.
MAX_TURNS = 200
# Somebody who writes meanwhile makes a step begin anew, at most this often.
# A model reads so much at once: more of a talk tells it more, and its answer has to come in time.
MAX_BATCH_TURNS = 40
MAX_BATCH_TOKENS = 5_000
# A small one loses the thread of more.
MAX_BATCH_TURNS_SMALL = 10
# The most known memories that a model is shown: those near the turns first, then the newest.
MAX_KNOWN = 60
# Tokens of these.
MAX_KNOWN_TOKENS = 2_500
MAX_NEAR_A_TURN = 8
# A model that does not answer leaves the turns waiting for the next look; after so many looks the rules read them.
MAX_PUT_OFF = 3

# The channels of facts.
FACT_CHANNELS = [Channel.SEMANTIC, Channel.EPISODIC]

# What exchanges give, by the ids of their turns.
ReadExchanges = dict[tuple[str, ...], Kept]


class ExtractedStatement(NamedTuple):
    """A statement to be resolved, with the reason for keeping it, and the rest as in
    :class:`memwarden.remember.resolve.resolver.IncomingStatement`."""

    memory: Memory
    why: str
    look: Screening
    compared: bool
    replaces: tuple[str, ...] = ()
    shown: frozenset[str] = frozenset()
    may_end: bool = True


class TalkStatistics(NamedTuple):
    """What extraction reads of a namespace as a whole.

    Attributes:
        preset: of weights. speakers: names of those who speak. rows: number of memories.
        count: returns how many of them hold a term. memories: index of all; None for a large namespace.
    """

    preset: str
    speakers: Collection[str]
    rows: int
    count: Callable[[int], int]
    memories: NamespaceIndex | None

    def rarity(self, term: str) -> float:
        """Return the rarity of a term."""
        return math.log((1 + self.rows) / (1 + self.count(term_id(term))))


class Extractor:
    """Looks through threads.

    Args:
        chat: reads batches of turns in place of the rules, which take over when its answers are of no use.
        most_a_day: the most facts of a user that are kept of what was said on a day.
        instructions: what the model is told beside the built-in words. small: it is a small one, and words nothing.
    """

    def __init__(
        self,
        store: GuardedStore,
        indexes: NamespaceIndexes,
        larges: LargeNamespaces,
        embedder: Embedder | None,
        facts: Resolver,
        categories: Categories,
        *,
        chat: ChatModel | None,
        preset: str,
        most_a_day: int,
        instructions: ExtractionInstructions | None = None,
        small: bool = False,
        now: Callable[[], datetime] = lambda: clock.now(),
    ) -> None:
        self._store = store
        self._indexes = indexes
        self._larges = larges
        self._embedder = embedder
        self._facts = facts
        self.categories = categories
        self._chat = chat
        self._preset = preset
        self._most_a_day = most_a_day
        self.now = now
        self._instructions = instructions or ExtractionInstructions()
        self._small = small
        self._put_off: Counter[tuple[Namespace, str, int]] = Counter()

    @property
    def asks_a_model(self) -> bool:
        """Whether extraction asks a chat model, and takes as long."""
        return self._chat is not None

    async def waiting(self, scope: Scope, most: int = MAX_TURNS) -> int:
        """Count the turns of the scope's thread that await extraction, at most ``most``."""
        thread = scope.thread or DEFAULT_THREAD
        marks = await self._store.thread(scope.namespace, thread)
        return len(await self._new_turns(scope.namespace, thread, marks.extracted, most))

    async def look_through(self, scope: Scope, *, again: bool = False) -> list[Resolution]:
        """Look through what the scope's thread holds beyond its mark; return what was decided about each item.

        again: begin at the first turn.

        Of a day that gives more facts than a user may have the first ones are facts, and the others wait as candidates;
        no model is asked for them. Stops where a model does not answer, and goes on there with the next look.
        """
        resolutions: list[Resolution] = []
        read: ReadExchanges = {}
        tails: dict[int, ThreadTail] = {}
        if again:
            await self._back_to_the_beginning(scope)

        async def keep_next() -> tuple[PendingTurns, list[Resolution], bool] | None:
            work = await self._work(scope, tails)
            if work is None:
                return None
            for other in read.keys() - set(map(_turn_ids, work.exchanges)):
                del read[other]
            return (work, *await self._keep(scope, work, read))

        place = (scope.namespace, scope.thread or DEFAULT_THREAD)
        while (kept := await change_atomically(place, keep_next)) is not None:
            work, done, over = kept
            resolutions += done
            tails = {work.mark_after(len(work.exchanges)): work.tail}
            if over:
                break
        return resolutions

    async def _back_to_the_beginning(self, scope: Scope) -> None:
        thread = scope.thread or DEFAULT_THREAD

        async def move_back() -> None:
            marks = await self._store.thread(scope.namespace, thread)
            mark = ExtractionMark(thread, 0, marks.extracted)
            await self._store.apply(Batch(scope.namespace, (), self.now(), actor=EXTRACTED_BY, extracted=mark))

        await change_atomically((scope.namespace, thread), move_back)

    async def _work(self, scope: Scope, tails: Mapping[int, ThreadTail]) -> PendingTurns | None:
        """Read the turns to be extracted from next. tails: those that are known, by the mark."""
        namespace, thread = scope.namespace, scope.thread or DEFAULT_THREAD
        mark = (await self._store.thread(namespace, thread)).extracted
        most = MAX_TURNS if self._chat is None else MAX_BATCH_TURNS_SMALL if self._small else MAX_BATCH_TURNS
        new = dict(await self._new_turns(namespace, thread, mark, most))
        if not new:
            return None
        turns = as_said(await self._store.get(namespace, list(new)))
        two_person = self._two_person(await self._read_statistics(namespace))
        tail = tails.get(mark) or await self._tail(namespace, thread, mark, two_person=two_person)
        if self._chat is not None:
            return _batch_of(turns, new, mark, tail)
        exchanges = group_exchanges([*tail.open_exchange(two_person=two_person), *turns], two_person=two_person)
        exchanges = tuple(exchange for exchange in exchanges if any(turn.id in new for turn in exchange))
        return PendingTurns(exchanges, new, mark, tail.with_turns(turns), tail.turns)

    async def _new_turns(self, namespace: Namespace, thread: str, since: int, most: int) -> list[tuple[str, int]]:
        """Ids and journal numbers of turns after a mark, at most so many."""
        new_turns: list[tuple[str, int]] = []
        while len(new_turns) < most:
            entries = await self._store.journal(namespace, since=since, thread_id=thread, limit=most)
            new_turns += [
                (entry.memory_id, entry.seq)
                for entry in entries
                if entry.channel == Channel.TURN and entry.event == Event.ADD
            ]
            if len(entries) < most:
                break
            since = entries[-1].seq
        return new_turns[:most]

    async def _tail(self, namespace: Namespace, thread: str, mark: int, *, two_person: bool) -> ThreadTail:
        """Read the tail behind a mark, from the journal's end, since there is mostly little after the mark."""
        if not mark:
            return ThreadTail()
        limit = 2 * MAX_TURNS_BEFORE
        while True:
            entries = await self._store.journal(namespace, thread_id=thread, descending=True, limit=limit)
            turns = [entry for entry in entries if entry.channel == Channel.TURN and entry.event == Event.ADD]
            before = [turn.memory_id for turn in turns if turn.seq <= mark]
            if len(before) >= MAX_TURNS_BEFORE or len(entries) < limit:
                break
            limit *= 4
        count = 0
        if two_person:
            where = filters.parse({"thread_id": thread, "channel": Channel.TURN})
            later = await self._store.get(namespace, [turn.memory_id for turn in turns if turn.seq > mark])
            count = await self._store.count(namespace, where) - len(later)
        return ThreadTail(as_said(await self._store.get(namespace, before[:MAX_TURNS_BEFORE][::-1])), count)

    async def _read_statistics(self, namespace: Namespace) -> TalkStatistics:
        large = await self._larges.ready(namespace)
        if large is not None:
            whole = large.whole
            return TalkStatistics(
                whole.preset, whole.speakers, whole.alive, partial(whole.holding, found=0), memories=None
            )
        index = await self._indexes.current(namespace)
        view, rows = index.view, len(index.columns.ids)
        return TalkStatistics(view.preset, view.speakers, rows, lambda term: len(index.postings(term)[0]), index)

    def _two_person(self, talk: TalkStatistics) -> bool:
        return (talk.preset if self._preset == "auto" else self._preset) == "chat"

    async def _keep(self, scope: Scope, work: PendingTurns, read: ReadExchanges) -> tuple[list[Resolution], bool]:
        """Store what the exchanges give, with the mark; return also whether a model did not answer.

        What is merged is no fact more: so this ends where a day might be full, and then sees what was left of it.

        read: what exchanges gave at an earlier try, so that no model is asked again; those of this try are added.
        """
        namespace, at = scope.namespace, self.now()
        talk = await self._read_statistics(namespace)
        left = _FactsLeft(self._store, namespace, self._most_a_day)
        statements: list[ExtractedStatement] = []
        ended: list[EndedFact] = []
        done = 0
        for exchange in work.exchanges:
            ids, day = _turn_ids(exchange), exchange[0].created_at.astimezone(UTC).date()
            if done and await left.of(day) <= 0:
                break
            if ids not in read:
                try:
                    read[ids] = await self._items(exchange, work, talk, ask=await left.of(day) > 0)
                except ModelUnavailable:
                    self._put_off[namespace, scope.thread or DEFAULT_THREAD, work.since] += 1
                    return [], True
            chosen = _leave_to_consent(_choose_items(read[ids], exchange, work.new), exchange, at)
            facts = sum(1 for item in chosen if item.tier == "fact")
            if facts > await left.of(day):
                if done:
                    break
                chosen = _limit_facts(chosen, await left.of(day))
            left.use(day, facts)
            statements += [
                ExtractedStatement(
                    self._memory(item, exchange, at),
                    item.reason,
                    _screening_of(item),
                    item.tier != "card",
                    item.replaces,
                    item.shown,
                    item.may_end,
                )
                for item in chosen
            ]
            statements += self._procedures(exchange, work.new, at)
            ended += read[ids].ended
            done += 1
        mark = ExtractionMark(scope.thread or DEFAULT_THREAD, work.mark_after(done), work.since)
        if not (statements or ended):
            if mark.rev != mark.since:
                await self._store.apply(Batch(namespace, (), at, actor=EXTRACTED_BY, extracted=mark))
            return [], False
        signals = await make_signals_in_thread(
            [(item.memory.text, item.memory.said_at) for item in statements], self._embedder
        )
        stated = [
            IncomingStatement(
                each.memory,
                item,
                each.look,
                each.compared,
                meta={"why": each.why},
                replaces=each.replaces,
                shown=each.shown,
                may_end=each.may_end,
            )
            for each, item in zip(statements, signals, strict=True)
        ]
        _, resolutions = await self._facts.write(
            stated,
            None,
            at,
            actor=EXTRACTED_BY,
            extracted=mark,
            candidates=lambda: latest_candidates(self._store, namespace),
            ends=[_incoming_end(item, work) for item in ended],
        )
        return resolutions, False

    async def _items(self, exchange: Sequence[Memory], work: PendingTurns, talk: TalkStatistics, *, ask: bool) -> Kept:
        """What a part of a thread gives: by the model if it may be asked, else by rules. Raises ModelUnavailable."""
        before = work.turns_before()
        if self._chat is None:
            return await self._by_rules(exchange, talk, before)
        from memwarden.remember.extract.by_model import TurnBatch, read_batch  # most ask no model

        extract = None
        place = (exchange[0].namespace, exchange[0].thread_id or DEFAULT_THREAD, work.since)
        if ask and self._put_off[place] < MAX_PUT_OFF:
            batch = TurnBatch(exchange, work.before, instructions=self._instructions, small=True)
            if not self._small:
                known = await self._known(exchange, talk.memories)
                batch = TurnBatch(exchange, work.before, known, self._offered(), self._instructions)
            extract = await read_batch(self._chat, batch)
            self._put_off.pop(place, None)
            if extract is not None and not self._small:
                return extract
        two_person = self._two_person(talk)
        by_rules = merge_extracts(
            [await self._by_rules(part, talk, before) for part in group_exchanges(exchange, two_person=two_person)]
        )
        # A small model takes most of what is told for chat: it adds to what the rules keep.
        return by_rules if extract is None else add_by_rules(extract, by_rules)

    async def _by_rules(self, exchange: Sequence[Memory], talk: TalkStatistics, before: Mapping[str, Memory]) -> Kept:
        """What rules find in an exchange. before: of each turn the one before it."""
        # Patterns that only extraction reads with.
        from memwarden.remember.extract.rules.exchange import everyday_rarity, extract_exchange

        two_person = self._two_person(talk)
        said = [turn for turn in exchange if turn.role != "assistant"]
        speakers = frozenset(name.split()[0].casefold() for name in talk.speakers if name.split())
        quoted = await self._by_statements(said, before, speakers, two_person=two_person)
        extract = extract_exchange(
            exchange if two_person else exchange[:2],  # a card shows the first answer, as when that came alone
            two_person=two_person,
            said_at=exchange[0].created_at,
            idf=lambda term: max(talk.rarity(term), everyday_rarity(term)),
            told=bool(quoted),
        )
        return replace(extract, facts=tuple(quoted))

    async def _by_statements(
        self, turns: Sequence[Memory], before: Mapping[str, Memory], speakers: Collection[str], *, two_person: bool
    ) -> list[ExtractedItem]:
        """What the typed statements of turns give to remember; nothing where none are read."""
        if not turns or statement_reader(self._embedder) is None:
            return []
        from memwarden.remember.extract.rules.quotations import opening_of, question_before, quote_turn
        from memwarden.statements.reader import load_weights

        rows = await self._store.index_rows(turns[0].namespace, [turn.id for turn in turns])
        stated = {row.id: row.statements for row in rows}
        if lacking := [turn for turn in turns if stated.get(turn.id) is None]:
            made = await make_signals_in_thread([said_text(turn) for turn in lacking], self._embedder)
            stated |= {turn.id: signals.statements for turn, signals in zip(lacking, made, strict=True)}
        questions = {turn.id: each for turn in turns if (each := question_before(turn, before)) is not None}
        read = await make_signals_in_thread([(each.text, each.at) for each in questions.values()], self._embedder)
        for (name, each), signals in zip(questions.items(), read, strict=True):
            questions[name] = each.read(signals.statements)
        weights = load_weights()
        items = [
            quote_turn(
                turn,
                stated[turn.id] or b"",
                weights,
                turn.created_at,
                two_person=two_person,
                speakers=speakers,
                asked=questions.get(turn.id),
                opening=opening_of(turn, before),
            )
            for turn in turns
        ]
        return [item for item in items if item is not None]

    async def _known(self, turns: Sequence[Memory], index: NamespaceIndex | None) -> list[Memory]:
        """Open memories that the turns may change: those near them, then the newest; in the order of time.

        index: of the namespace; None for a large one, whose store is searched.
        """
        from memwarden.remember.extract.by_model import trim_batch

        vectors: dict[str, bytes | None] = {}
        if index is None:
            namespace = turns[0].namespace
            rows = self._indexes.of_model(await self._store.index_rows(namespace, [turn.id for turn in turns]))
            vectors = {row.id: row.vector or None for row in rows}
            near_turns = [Signals(row.terms, row.vector or None) for row in rows]
            found = await self._larges.find_statements(namespace, FACT_CHANNELS, near_turns)
            index = found or await self._indexes.current(namespace)
        shared = [name for name in index.columns.coded["category"].values if not is_own_category(name)]
        begun = min(turn.created_at for turn in turns)
        allowed = open_statements(index, Channel.SEMANTIC, None, shared, begun)
        allowed |= open_statements(index, Channel.EPISODIC, None, shared, begun)
        near: dict[str, float] = {}
        for turn in turns:
            place = index.place(turn.id)
            vector = vectors.get(turn.id)
            if place is not None and index.dimensions is not None:
                vector = index.vectors_of([place]).astype("<f2").tobytes()
            for item in find_nearby(index, turn.text, vector, allowed, model=None, most=MAX_NEAR_A_TURN):
                near[item.id] = max(near.get(item.id, 0.0), item.score)
        newest = sorted(np.flatnonzero(allowed), key=lambda place: -index.order[place])[:MAX_KNOWN]
        ids = dict.fromkeys([*sorted(near, key=lambda name: -near[name]), *(index.columns.ids[at] for at in newest)])
        there = await self._store.get(turns[0].namespace, list(ids)[:MAX_KNOWN])
        written = {name: number for number, name in enumerate(sorted(ids, key=lambda name: _order_of(index, name)))}
        places = {name: number for number, name in enumerate(ids)}
        nearest = sorted(there, key=lambda item: places[item.id])
        known = trim_batch([item for item in nearest if item.trust != Trust.EXTERNAL], MAX_KNOWN_TOKENS)
        return sorted(known, key=lambda item: (item.since, written[item.id]))

    def _offered(self) -> list[str]:
        """The categories that a fact may have, those that fill answers last."""
        if self._instructions.categories and self._chat is not None:
            return list(self._instructions.categories)
        apart = (OWN_RECORDS, Channel.STATE, procedures.CATEGORY)
        declared = self.categories.declared
        names = [name for name in declared if not (is_own_category(name) or name in apart)]
        return sorted(names, key=lambda name: declared[name].always)

    def _memory(self, item: ExtractedItem, exchange: Sequence[Memory], at: datetime) -> Memory:
        by_id = {turn.id: turn for turn in exchange}
        said = by_id[item.sources[0]]
        trust = min((by_id[source].trust for source in item.sources), key=TRUST_RANK.__getitem__)
        # No role: what is made of words is in nobody's mouth, so that a person can correct it; whom they come from is
        # its trust.
        return Memory(
            id=new_id(),
            namespace=said.namespace,
            text=item.text,
            created_at=clock.as_utc(said.created_at),
            utc_offset=said.utc_offset,
            updated_at=at,
            channel=item.channel,
            kind=item.kind,
            category=_own_category_of(item, exchange) or self._category(item.category, trust),
            importance=item.importance,
            tags=(CARD,) if item.tier == "card" else (QUOTATION,) if item.quoted else (),
            source=said.source,
            # The callers' ids, where there are any; with what it shows of others it goes when that is erased.
            sources=(*(by_id[source].sources[0] for source in item.sources), *item.answers),
            user_id=said.user_id,
            actor_id=EXTRACTED_BY,
            thread_id=said.thread_id,
            valid_from=clock.as_utc(item.valid_from),
            valid_to=item.valid_to and clock.as_utc(item.valid_to),
            trust=trust,
        )

    def _procedures(self, exchange: Sequence[Memory], new: Mapping[str, int], at: datetime) -> list[ExtractedStatement]:
        """The steps that a person asks to remember; none where nobody could ask for their category."""
        if procedures.CATEGORY not in self.categories.declared:
            return []
        return [
            ExtractedStatement(
                _memory_of_procedure(turn, text, at), "somebody asked to remember these steps", NOT_SUSPICIOUS, False
            )
            for turn in exchange
            if turn.id in new
            and turn.role != "assistant"
            and (text := procedures.find_taught_procedure(turn.text)) is not None
        ]

    def _category(self, wanted: str, trust: str) -> str:
        """The wanted category, if it is offered; what fills every answer is for the words of a person alone."""
        category = self.categories.declared.get(wanted)
        if category is None or wanted not in self._offered() or (category.always and trust != Trust.PERSON):
            return DEFAULT_CATEGORY
        return wanted


class _FactsLeft:
    """How many facts more a user may have of what was said on a day."""

    def __init__(self, store: GuardedStore, namespace: Namespace, most: int) -> None:
        self._store, self._namespace, self._most = store, namespace, most
        self._left: dict[date, int] = {}

    async def of(self, day: date) -> int:
        if day not in self._left:
            begin = datetime.combine(day, time(), UTC)
            where = {
                "actor_id": EXTRACTED_BY,
                "channel": FACT_CHANNELS,
                "created_at": {"$gte": begin.isoformat(), "$lte": datetime.combine(day, time.max, UTC).isoformat()},
            }
            facts = await self._store.count(self._namespace, filters.parse(where))
            cards = await self._store.count(self._namespace, filters.parse({**where, "tags": [CARD]}))
            self._left[day] = self._most - facts + cards
        return self._left[day]

    def use(self, day: date, facts: int) -> None:
        self._left[day] -= facts


def _batch_of(turns: Sequence[Memory], new: Mapping[str, int], mark: int, tail: ThreadTail) -> PendingTurns:
    """The first of the turns that a model reads at once."""
    from memwarden.remember.extract.by_model import trim_batch

    batch = trim_batch(turns, MAX_BATCH_TOKENS)
    last = new[batch[-1].id] if len(batch) < len(turns) else max(new.values())
    taken = {name: seq for name, seq in new.items() if seq <= last}
    return PendingTurns((tuple(batch),) if batch else (), taken, mark, tail.with_turns(batch), tail.turns)


def _incoming_end(item: EndedFact, work: PendingTurns) -> IncomingEnd:
    said = [turn for exchange in work.exchanges for turn in exchange if turn.id in item.sources]
    trust = min((turn.trust for turn in said), key=TRUST_RANK.__getitem__)
    return IncomingEnd(said[0].namespace, item.memory_id, item.at, trust, tuple(turn.sources[0] for turn in said))


def _own_category_of(item: ExtractedItem, exchange: Sequence[Memory]) -> str | None:
    """The own category of an agent whose answer an item repeats: others may not read what that answer rests on."""
    rests_on = exchange if item.tier == "card" else [turn for turn in exchange if turn.id in item.sources]
    answers = (turn.category for turn in rests_on if turn.role == "assistant")
    return next((category for category in answers if is_own_category(category)), None)


def _memory_of_procedure(said: Memory, text: str, at: datetime) -> Memory:
    # Signed as the turn is: the look may have been begun for another agent's call.
    return Memory(
        id=new_id(),
        namespace=said.namespace,
        text=text,
        created_at=clock.as_utc(said.created_at),
        utc_offset=said.utc_offset,
        updated_at=at,
        channel=Channel.PROCEDURAL,
        category=procedures.CATEGORY,
        source=said.source,
        sources=(said.sources[0],),
        user_id=said.user_id,
        agent_id=said.agent_id,
        run_id=said.run_id,
        actor_id=EXTRACTED_BY,
        thread_id=said.thread_id,
        trust=said.trust,
    )


def _order_of(index: NamespaceIndex, memory_id: str) -> int:
    """When a memory was written, beside others; the same after a restart."""
    place = index.place(memory_id)
    return -1 if place is None else int(index.order[place])


def _turn_ids(exchange: Sequence[Memory]) -> tuple[str, ...]:
    return tuple(turn.id for turn in exchange)


def _choose_items(kept: Kept, exchange: Sequence[Memory], new: Mapping[str, int]) -> list[ExtractedItem]:
    """Choose the items that rest on new turns, and the card of an answered exchange, or of a batch."""
    items = [item for item in kept.facts if all(source in new for source in item.sources)]
    answered = len(exchange) > 1 and exchange[1].id in new
    return [*items, kept.card] if kept.card is not None and (answered or kept.of_batch) else items


def _leave_to_consent(chosen: Sequence[ExtractedItem], exchange: Sequence[Memory], at: datetime) -> list[ExtractedItem]:
    """Make candidates of what the consent inbox asks about: name, pronouns, city, language and tone, said just now."""
    since = at - PROPOSAL_LIFETIME
    told = {
        turn.id: find_told_context(turn.text) for turn in exchange if turn.role == "user" and turn.created_at >= since
    }
    return [
        replace(item, tier="candidate", reason="it is proposed for the user context, and the person decides")
        if item.tier == "fact" and _is_for_consent(item, told)
        else item
        for item in chosen
    ]


def _is_for_consent(item: ExtractedItem, told: Mapping[str, Sequence[ContextEdit]]) -> bool:
    edits = [edit for source in item.sources for edit in told.get(source, ())]
    return any(edit.value is not None and edit.value.casefold() in item.text.casefold() for edit in edits)


def _limit_facts(chosen: Sequence[ExtractedItem], left: int) -> list[ExtractedItem]:
    """Limit the facts among items; the excess become candidates."""
    facts = [item for item in chosen if item.tier == "fact"]
    more = [replace(item, tier="candidate", reason="more than a day's facts") for item in facts[left:]]
    return [*facts[:left], *more, *(item for item in chosen if item.tier != "fact")]


def _screening_of(item: ExtractedItem) -> Screening:
    return Screening(MemoryState.CANDIDATE) if item.tier == "candidate" else NOT_SUSPICIOUS
