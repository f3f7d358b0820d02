"""Extracts what is worth keeping from a thread, exchange by exchange, each exactly once.

What is kept of an exchange is decided by :mod:`memwarden.remember.extract.rules`, or by a configured chat
model. Facts go through the resolver, as everything that is stated (:mod:`memwarden.remember.resolve.resolver`), in a
batch with the mark, so that after a kill the work goes on where it stood: nothing is lost, nothing is kept twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, time
from typing import NamedTuple

from memwarden import clock, filters
from memwarden.categories import DEFAULT_CATEGORY, Categories, is_own_category
from memwarden.clock import DEFAULT_THREAD, new_id
from memwarden.errors import Stale
from memwarden.models.protocols import ChatModel, Embedder
from memwarden.recall.index.encode import make_signals_in_thread
from memwarden.recall.index.namespace_index import NamespaceIndex, NamespaceIndexes
from memwarden.records import (
    CARD,
    EXTRACTED_BY,
    Batch,
    Channel,
    Event,
    ExtractionMark,
    JournalEntry,
    Memory,
    MemoryState,
    Namespace,
    Scope,
)
from memwarden.remember.extract import procedures
from memwarden.remember.extract.model import extract_by_model
from memwarden.remember.extract.records import (
    MAX_TURNS_BEFORE,
    ExtractedItem,
    PendingTurns,
    ThreadTail,
    group_exchanges,
)
from memwarden.remember.extract.records import ExchangeExtract as Kept
from memwarden.remember.extract.rules.exchange import everyday_rarity, extract_exchange
from memwarden.remember.ingest.intake import NOT_SUSPICIOUS, TRUST_RANK, Screening
from memwarden.remember.resolve.resolution import Resolution, latest_candidates
from memwarden.remember.resolve.resolver import IncomingStatement, Resolver
from memwarden.remember.write_store import GuardedStore
from memwarden.text.tokenizer import term_id

# A long log is worked off in steps of this size, each with a mark of its own, so that a kill loses a single step.
MAX_TURNS = 200
# Somebody who writes meanwhile makes a step begin anew, at most this often.
MAX_TRIES = 20
# An exchange gives far fewer facts: with this many left of a day, nobody needs the exact count, which costs a walk
# through the journal.
AMPLE_FACTS_LEFT = 20


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


class Extractor:
    """Looks through threads. Holds no state of its own.

    Args:
        chat: reads exchanges in place of the rules, which take over when it has no answer.
        most_a_day: the most facts of a user that are kept in a day.
    """

    def __init__(
        self,
        store: GuardedStore,
        indexes: NamespaceIndexes,
        embedder: Embedder | None,
        facts: Resolver,
        categories: Categories,
        *,
        chat: ChatModel | None,
        preset: str,
        most_a_day: int,
        now: Callable[[], datetime] = clock.now,
    ) -> None:
        self._store = store
        self._indexes = indexes
        self._embedder = embedder
        self._facts = facts
        self.categories = categories
        self._chat = chat
        self._preset = preset
        self._most_a_day = most_a_day
        self.now = now

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

        Stops when no facts are left of the user's day, before anybody is asked, and goes on another day. Of an exchange
        that gives more than are left the first ones are facts, and the others wait as candidates.
        """
        settled: list[Resolution] = []
        tried_at, tries = -1, 0
        read: ReadExchanges = {}
        tails: dict[int, ThreadTail] = {}
        if again:
            await self._back_to_the_beginning(scope)
        while (work := await self._work(scope, tails)) is not None:
            # Where another process looked through the same turns, the mark has moved, and nothing was tried in vain.
            if work.since != tried_at:
                tries = 0
                read = {ids: read[ids] for ids in map(_turn_ids, work.exchanges) if ids in read}
            tries += 1
            tried_at = work.since
            try:
                done, over = await self._keep(scope, work, read, last_try=tries == MAX_TRIES)
            except Stale:  # that, or somebody changed a memory or stated something meanwhile
                if tries == MAX_TRIES:
                    raise
                continue
            settled += done
            tails = {work.mark_after(len(work.exchanges)): work.tail}
            if over:
                break
        return settled

    async def _back_to_the_beginning(self, scope: Scope) -> None:
        thread = scope.thread or DEFAULT_THREAD
        marks = await self._store.thread(scope.namespace, thread)
        mark = ExtractionMark(thread, 0, marks.extracted)
        await self._store.apply(Batch(scope.namespace, (), self.now(), actor=EXTRACTED_BY, extracted=mark))

    async def _work(self, scope: Scope, tails: Mapping[int, ThreadTail]) -> PendingTurns | None:
        """Read the turns to be extracted from next. tails: those that are known, by the mark."""
        namespace, thread = scope.namespace, scope.thread or DEFAULT_THREAD
        mark = (await self._store.thread(namespace, thread)).extracted
        new = dict(await self._new_turns(namespace, thread, mark, MAX_TURNS))
        if not new:
            return None
        turns = await self._store.get(namespace, list(new))
        two_person = self._two_person(await self._indexes.current(namespace))
        tail = tails.get(mark) or await self._tail(namespace, thread, mark, two_person=two_person)
        exchanges = group_exchanges([*tail.open_exchange(two_person=two_person), *turns], two_person=two_person)
        exchanges = tuple(exchange for exchange in exchanges if any(turn.id in new for turn in exchange))
        return PendingTurns(exchanges, new, mark, tail.with_turns(turns))

    async def _new_turns(self, namespace: Namespace, thread: str, since: int, most: int) -> list[tuple[str, int]]:
        """Ids and journal numbers of turns after a mark, at most so many."""
        found: list[tuple[str, int]] = []
        while len(found) < most:
            entries = await self._store.journal(namespace, since=since, thread_id=thread, limit=most)
            found += [
                (entry.memory_id, entry.seq)
                for entry in entries
                if entry.channel == Channel.TURN and entry.event == Event.ADD
            ]
            if len(entries) < most:
                break
            since = entries[-1].seq
        return found[:most]

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
        return ThreadTail(tuple(await self._store.get(namespace, before[:MAX_TURNS_BEFORE][::-1])), count)

    def _two_person(self, index: NamespaceIndex) -> bool:
        return (index.view.preset if self._preset == "auto" else self._preset) == "chat"

    async def _keep(
        self, scope: Scope, work: PendingTurns, read: ReadExchanges, *, last_try: bool
    ) -> tuple[list[Resolution], bool]:
        """Store what the exchanges give, with the mark; return also whether the day's facts are used up.

        What is merged is no fact more: so this ends where the day might be full, and then sees what was left of it.

        read: what exchanges gave at an earlier try, so that no model is asked again; those of this try are added.
        """
        namespace, at = scope.namespace, self.now()
        index = await self._indexes.current(namespace)
        left = self._most_a_day - await self._kept_today(namespace, at)
        found: list[ExtractedStatement] = []
        done = 0
        for exchange in work.exchanges:
            ids = _turn_ids(exchange)
            if left <= 0:
                break
            if ids not in read:
                read[ids] = await self._items(exchange, index)
            chosen = _choose_items(read[ids], exchange, work.new)
            facts = sum(1 for item in chosen if item.tier == "fact")
            if facts > left:
                if done:
                    break
                chosen = _limit_facts(chosen, left)
            left -= facts
            found += [
                ExtractedStatement(
                    self._memory(item, exchange, at), item.reason, _screening_of(item), item.tier != "card"
                )
                for item in chosen
            ]
            found += self._procedures(exchange, work.new, at)
            done += 1
        over = bool(work.exchanges) and not done
        mark = ExtractionMark(scope.thread or DEFAULT_THREAD, work.mark_after(done), work.since)
        if not found:
            if mark.rev != mark.since:
                await self._store.apply(Batch(namespace, (), at, actor=EXTRACTED_BY, extracted=mark))
            return [], over
        signals = await make_signals_in_thread(
            [(item.memory.text, item.memory.created_at) for item in found], self._embedder
        )
        stated = [
            IncomingStatement(each.memory, item, each.look, each.compared, meta={"why": each.why})
            for each, item in zip(found, signals, strict=True)
        ]
        _, settled = await self._facts.write(
            stated,
            None,
            at,
            actor=EXTRACTED_BY,
            extracted=mark,
            last_try=last_try,
            candidates=lambda: latest_candidates(self._store, namespace),
        )
        return settled, over

    async def _kept_today(self, namespace: Namespace, at: datetime) -> int:
        """Count the facts of the day; an upper bound where there is ample room."""
        midnight = datetime.combine(at.astimezone(UTC).date(), time(), UTC)
        where = filters.parse(
            {"actor_id": EXTRACTED_BY, "channel": FACT_CHANNELS, "updated_at": {"$gte": midnight.isoformat()}}
        )
        changed = await self._store.count(namespace, where)
        if self._most_a_day - changed >= AMPLE_FACTS_LEFT:
            return changed
        since, kept = await self._store.revision_at(namespace, midnight), set[str]()
        while entries := await self._store.journal(namespace, since=since, turns=False):
            kept |= {entry.memory_id for entry in entries if _is_new_fact(entry)}
            since = entries[-1].seq
        return len(await self._store.get(namespace, list(kept)))  # those that were merged are gone

    async def _items(self, exchange: Sequence[Memory], index: NamespaceIndex) -> Kept:
        two_person = self._two_person(index)
        by_rules = extract_exchange(
            exchange if two_person else exchange[:2],  # a card shows the first answer, as when that came alone
            two_person=two_person,
            said_at=exchange[0].created_at,
            idf=_term_rarity(index),
            partners=tuple(index.view.speakers) if two_person else (),
        )
        if self._chat is None:
            return by_rules
        return await extract_by_model(self._chat, exchange, by_rules, two_person=two_person) or by_rules

    def _memory(self, item: ExtractedItem, exchange: Sequence[Memory], at: datetime) -> Memory:
        by_id = {turn.id: turn for turn in exchange}
        said = by_id[item.sources[0]]
        # No role: what is made of words is in nobody's mouth, so that a person can correct it; whom they come from is
        # its trust.
        return Memory(
            id=new_id(),
            namespace=said.namespace,
            text=item.text,
            created_at=said.created_at,
            updated_at=at,
            channel=item.channel,
            kind=item.kind,
            category=_own_category_of(item, exchange) or self._category(item.category),
            importance=item.importance,
            tags=(CARD,) if item.tier == "card" else (),
            source=said.source,
            sources=tuple(by_id[source].sources[0] for source in item.sources),  # the caller's ids, where there are any
            user_id=said.user_id,
            actor_id=EXTRACTED_BY,
            thread_id=said.thread_id,
            valid_from=item.valid_from,
            trust=min((by_id[source].trust for source in item.sources), key=TRUST_RANK.__getitem__),
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

    def _category(self, wanted: str) -> str:
        """The wanted category, if it is declared and not always offered: that is for what somebody states."""
        declared = self.categories.declared.get(wanted)
        return wanted if declared is not None and not declared.always else DEFAULT_CATEGORY


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
        created_at=said.created_at,
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


def _turn_ids(exchange: Sequence[Memory]) -> tuple[str, ...]:
    return tuple(turn.id for turn in exchange)


def _choose_items(kept: Kept, exchange: Sequence[Memory], new: Mapping[str, int]) -> list[ExtractedItem]:
    """Choose the items that rest on new turns, and the card of an answered exchange."""
    items = [item for item in (*kept.facts, *kept.candidates) if all(source in new for source in item.sources)]
    answered = len(exchange) > 1 and exchange[1].id in new
    return [*items, kept.card] if kept.card is not None and answered else items


def _limit_facts(chosen: Sequence[ExtractedItem], left: int) -> list[ExtractedItem]:
    """Limit the facts among items; the excess become candidates."""
    facts = [item for item in chosen if item.tier == "fact"]
    more = [replace(item, tier="candidate", reason="more than a day's facts") for item in facts[left:]]
    return [*facts[:left], *more, *(item for item in chosen if item.tier != "fact")]


def _is_new_fact(entry: JournalEntry) -> bool:
    """Whether a journal entry says that a fact was extracted; cards are none."""
    named = entry.actor == EXTRACTED_BY and entry.channel in FACT_CHANNELS and entry.event in (Event.ADD, Event.CONFIRM)
    return named and not (entry.meta or {}).get(CARD)


def _screening_of(item: ExtractedItem) -> Screening:
    return Screening(MemoryState.CANDIDATE) if item.tier == "candidate" else NOT_SUSPICIOUS


def _term_rarity(index: NamespaceIndex) -> Callable[[str], float]:
    """Return a function for the rarity of a term, in the namespace or in everyday talk if that is higher."""
    rows = len(index.columns.ids)

    def rarity(term: str) -> float:
        places, _ = index.postings(term_id(term))
        here = math.log((1 + rows) / (1 + len(places)))
        return max(here, everyday_rarity(term))

    return rarity
