"""The public API: a warden opens a store, a scope speaks for somebody. Methods check, delegate and answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, get_args

from memwarden import clock, consent
from memwarden import config as configuration
from memwarden import filters as filtering
from memwarden import importance as scale
from memwarden.backend import AsyncBackend, parse_namespace
from memwarden.categories import Categories
from memwarden.config import Settings
from memwarden.errors import Conflict, InvalidConfig, InvalidInput, ModelMismatch, NotFound, StoreUnavailable
from memwarden.recall.history import all_shown
from memwarden.recall.history import history as read_history
from memwarden.records import (
    Audit,
    Channel,
    ContextBlock,
    Delta,
    HistoryEntry,
    Kind,
    Memory,
    QueryResult,
    Relation,
    Scope,
    State,
    Trust,
    WriteResult,
    Written,
)
from memwarden.remember.draft import Draft
from memwarden.remember.messages import checked_name, checked_names, checked_text, read_messages, read_stated
from memwarden.remember.response import read_response
from memwarden.stores.base import Store
from memwarden.stores.url import store_at

if TYPE_CHECKING:
    from memwarden.models.base import ChatModel, Embedder, Reranker
    from memwarden.recall.index import Indexes
    from memwarden.recall.recall import Recall, Request
    from memwarden.remember.consent.keeper import Consents
    from memwarden.remember.extract import Extractor
    from memwarden.remember.write import Writer

Config = Settings | Mapping[str, Any] | str | Path | None
Returns = Literal["bullets", "full"]
AsOf = int | datetime | str | float | None
RETURNS = get_args(Returns)
MAX_TOP_K = 1_000
LARGEST = 2**62
"""No whole number that a caller gives may be larger: stores count in 64 bits."""
CLEARABLE = ("valid_from", "valid_to", "summary", "context")
"""What a memory need not have, so that :meth:`AsyncScope.update` can take it away."""
MOST_TRIES = 5
"""So often a memory is read again because somebody changed it between the reading and the writing."""
HELD_SHARE = 64
"""This part of the memory that indexes may take is for memories that stood in answers, kept to be shown again."""
PAST_SHARE = 8
"""And this part for the indexes of moments in the past that were asked about last."""
T = TypeVar("T")


class AsyncWarden:
    """The memory of agents on one store. Make it with :meth:`open` and use it as an async context manager.

    >>> async with AsyncWarden.open("sqlite:///notes.db") as warden:
    ...     me = warden.scope(user="ana", thread="t1")
    ...     await me.observe([{"role": "user", "content": "I am allergic to peanuts."}])
    ...     found = await me.query("What can't I eat?")
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        reranker: Reranker | None = None,
        chat_model: ChatModel | None = None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._reranker = reranker
        self._chat_model = chat_model
        self._recall: Recall | None = None
        self._writer: Writer | None = None
        self._extractor: Extractor | None = None
        self._indexes: Indexes | None = None
        self._consents: Consents | None = None

    @classmethod
    def open(
        cls,
        url: str | None = None,
        config: Config = None,
        *,
        reranker: Reranker | None = None,
        chat_model: ChatModel | None = None,
    ) -> Self:
        """Return a warden for a store; it opens on ``async with`` (or :meth:`start`).

        Args:
            url: ``memory://``, ``sqlite:///relative.db``, ``sqlite:////absolute/path.db`` or
                ``postgresql://login:password@host/database`` (extra ``postgres``). None means the setting
                ``db``, by default a file in the user's data folder.
            config: settings, a mapping of settings, or the path of a ``memwarden.toml``. None reads the environment
                and ``memwarden.toml`` in the working folder.
            reranker: what judges a query's candidates by reading them (:class:`memwarden.models.base.Reranker`), within
                5 seconds; when it fails or is late, the order stays as it was.
            chat_model: what judges pairs of statements that no rule decides (:class:`memwarden.models.base.ChatModel`).
                None takes the setting ``chat_model``; without both the rules alone decide.

        Raises InvalidConfig for a wrong setting or URL.
        """
        settings = _settings(config)
        chat = chat_model or _chat_model(settings)
        return cls(store_at(url or settings.db or configuration.default_db()), settings, reranker, chat)

    async def start(self) -> Self:
        """Open the store. Raises StoreError; ModelMismatch if the store has another model."""
        await self._store.open()
        try:
            embedder = await asyncio.to_thread(_embedder, self._settings)
            await self._bind(embedder.name if embedder else "none")
            self._assemble(embedder)
        except BaseException:
            await self._store.close()
            raise
        return self

    async def close(self) -> None:
        """Finish pending writes and let go of the store. May be called twice."""
        await self._store.close()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def scope(
        self,
        *,
        user: str = "default",
        agent: str | None = None,
        thread: str | None = None,
        run: str | None = None,
        actor: str | None = None,
        tenant: str = "default",
    ) -> AsyncScope:
        """Return the verbs bound to somebody.

        Args:
            user: whose memory it is: everything is written to and read from the namespace ``user/<user>``.
            agent: the agent that asks; it may read the categories of its allowlist only. None: all categories.
            thread: the conversation; turns of one thread follow one another. None: the thread ``default``.
            run, actor: recorded with what is written, to filter by.
            tenant: hard isolation; nothing is ever shared between tenants.

        Raises InvalidInput for names that are empty, too long or unprintable, UnknownAgent for an agent without an
        allowlist.
        """
        names = {"tenant": tenant, "user": user, "agent": agent, "thread": thread, "run": run, "actor": actor}
        for required in ("tenant", "user"):
            if names[required] is None:
                raise InvalidInput(f"{required} is a text of at least one character, not None")
        checked = {name: checked_name(value, name) for name, value in names.items()}
        self._settings.categories.readable(checked["agent"], None)
        return AsyncScope(self, Scope(**checked))  # type: ignore[arg-type]  # tenant and user are no None, see above

    def backend(self, namespace: str, *, tenant: str = "default") -> AsyncBackend:
        """Return design E's storage contract (E1) for one namespace.

        Args:
            namespace: ``user/<id>``, ``project/<id>``, ``task/<id>`` or ``global``.

        Raises InvalidInput for another path.
        """
        where = parse_namespace(namespace, tenant)
        return AsyncBackend(self._store, _started(self._writer), _started(self._indexes), where)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._settings

    @property
    def store(self) -> Store:
        """The store underneath, for what the verbs do not offer. Writing past the verbs is not supported."""
        return self._store

    def _assemble(self, embedder: Embedder | None) -> None:
        """Put the parts together; here, so that importing memwarden loads none of them."""
        from memwarden.models.apart import Apart
        from memwarden.recall.index import Indexes
        from memwarden.recall.recall import RERANK_SECONDS, Recall
        from memwarden.remember.consent.closed import ClosedStore
        from memwarden.remember.consent.keeper import Consents
        from memwarden.remember.extract import Extractor
        from memwarden.remember.facts import Facts
        from memwarden.remember.write import Writer

        held_bytes = self._settings.index_bytes // HELD_SHARE
        past_bytes = self._settings.index_bytes // PAST_SHARE
        self._indexes = Indexes(
            self._store,
            session_gap_hours=self._settings.session_gap_hours,
            dimensions=embedder.dimensions if embedder else None,
            max_bytes=self._settings.index_bytes - held_bytes - past_bytes,
            piece_dimensions=getattr(embedder, "piece_dimensions", None),
        )
        self._recall = Recall(
            self._store,
            self._indexes,
            embedder,
            self._settings.categories,
            held_bytes=held_bytes,
            past_bytes=past_bytes,
            reranker=None if self._reranker is None else Apart(self._reranker, RERANK_SECONDS),
            preset=self._settings.preset,
            relation_weight=self._settings.relation_weight,
            left_out=frozenset(self._settings.leave_out),
        )
        closed: Any = ClosedStore(self._store)
        self._consents = Consents(self._store, embedder)
        facts = Facts(
            closed,
            self._indexes,
            chat=self._chat_model,
            model=embedder.name if embedder else None,
            link_min=self._settings.link_min,
            merging=self._settings.merging == "auto",
        )
        self._writer = Writer(closed, embedder, facts)
        self._extractor = Extractor(
            closed,
            self._indexes,
            embedder,
            facts,
            self._settings.categories,
            chat=self._chat_model,
            preset=self._settings.preset,
            most_a_day=self._settings.facts_a_day,
        )

    async def _bind(self, model: str) -> None:
        bound = await self._store.identity(model)
        if bound != model:
            raise ModelMismatch(
                f"this store holds vectors of {bound!r}, the configured embedder is {model!r}; set embedder to the "
                "store's, or use another store"
            )


class AsyncScope:
    """The verbs, bound to who asks. Made by :meth:`AsyncWarden.scope`; cheap, holds nothing open."""

    def __init__(self, warden: AsyncWarden, who: Scope) -> None:
        self._warden = warden
        self.who = who

    async def observe(
        self, messages: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, key: str | None = None
    ) -> WriteResult:
        """Store what was said, word for word, durably and once, before anything clever happens to it.

        Args:
            messages: ``{role, content, name=, id=, created_at=}`` each, oldest first. ``id`` comes back as the turn's
                source id and makes the message idempotent within the thread. ``created_at`` (datetime, ISO text or
                seconds; default now) is when it was said.
            key: idempotency key of the whole call. The same key with the same messages answers as the first time;
                with other messages it is a Conflict. Without key and ids, messages that repeat the end of the thread
                are known to be the conversation handed over again.

        Returns one result a message: ``created`` (reason "already stored" if it was there), or ``rejected`` with the
        reason (system prompts, tool output, no words). Applied whole or not at all.

        Raises InvalidInput, Conflict, StoreError.
        """
        read = read_messages(messages, self._warden.settings.max_text_bytes)
        result = await self._writer.observe(self.who, read, checked_name(key, "key"), self._recall.seen(self.who))
        if await self._is_due():
            await self.look_through()
        return result

    async def look_through(self, *, again: bool = False) -> WriteResult:
        """Look through what the thread holds beyond its mark, for what is worth keeping (F7, B13).

        ``observe`` does it by itself, as the setting ``extraction`` says. Facts are stored and judged as ``remember``
        does; what is less sure waits as a ``candidate`` until it is heard again; each exchange gets an index card. A
        thread's turns are looked through once, also by several processes and after a kill.

        Args:
            again: begin at the thread's first turn. What is known already is merged, not doubled.

        Returns what was decided about each fact, candidate and card. Raises StoreError.
        """
        settled = await self._started_extractor.look_through(self.who, again=again)
        head = await self._warden.store.head(self.who.namespace)
        return WriteResult(head.rev, tuple(Written(one.id, one.outcome, one.reason) for one in settled))

    async def _is_due(self) -> bool:
        """Whether the thread's new turns shall be looked through now (C3)."""
        settings = self._warden.settings
        if settings.extraction == "periodic":
            return await self._started_extractor.waiting(self.who) >= settings.extraction_turns
        return settings.extraction == "every_turn"

    async def remember(
        self,
        text_or_messages: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]],
        *,
        channel: str = Channel.SEMANTIC,
        kind: str | None = None,
        category: str = "activity",
        importance: float = 0.5,
        tags: Sequence[str] = (),
        pinned: bool = False,
        source: str | None = None,
        sources: Sequence[str] = (),
        summary: str | None = None,
        context: str | None = None,
        characters: Sequence[str] = (),
        created_at: datetime | str | float | None = None,
        valid_from: datetime | str | float | None = None,
        trust: str | None = None,
        key: str | None = None,
    ) -> WriteResult:
        """Store something worth knowing, as stated: a fact, a decision, a preference, a procedure.

        What is stated is compared with what is known (B16): a paraphrase is merged into the memory that says the same,
        a new value takes the place of the old one, whose validity ends (``valid_to``); each is one decision in the
        journal that names its rule and can be undone. Others are linked to their nearest neighbours (B2). Compared
        are semantic, episodic and insight memories of one channel and one speaker that the agent may read; the setting
        ``merging`` switches it off.

        Args:
            text_or_messages: a text, a message, or a list of them; one memory is made of each.
            channel: ``semantic``, ``episodic``, ``insight``, ``procedural`` or ``state``.
            kind: what sort of statement; None lets its words decide.
            category: a declared category; it decides which agents may read it.
            importance: 0..1. pinned: first in line for a context block, never expires.
            source: where it comes from, a path or URI. sources: ids of the turns that it rests on; such a turn is not
                shown beside it.
            summary, context: short forms for a context block. characters: who takes part in it.
            created_at: when it was learned (default now). valid_from: since when it is true.
            trust: whom the words come from: ``person``, ``assistant`` or ``external`` (a tool, a page, a document, an
                import). None tells it from role, kind and source. What is external and looks like orders for an
                assistant is ``quarantined``: kept apart, never shown to a model.
            key: idempotency key of the whole call: the same key with the same texts answers as the first time, with
                others it is a Conflict.

        Returns for each text ``created``; ``merged`` with the id of the memory that says the same; ``superseded`` with
        its own id when it took the place of older ones, which the reason names; or ``rejected`` for a greeting or
        thanks alone. Raises InvalidInput, Conflict, StoreError.
        """
        settings = self._warden.settings
        if channel == Channel.TURN or not isinstance(channel, str) or channel not in set(Channel):
            stated = ", ".join(one for one in Channel if one != Channel.TURN)
            raise InvalidInput(f"channel is one of {stated}, not {channel!r:.80}; use observe for turns")
        if trust is not None and trust not in set(Trust):
            raise InvalidInput(f"trust is one of {', '.join(Trust)}, not {trust!r:.80}")
        draft = Draft(
            text="",
            channel=str(channel),
            kind=None if kind is None else _kind(kind),
            category=_category(settings, category),
            importance=scale.checked(importance),
            tags=checked_names(tags, "tags"),
            pinned=_truth(pinned, "pinned"),
            source=checked_name(source, "source"),
            sources=checked_names(sources, "sources"),
            summary=None if summary is None else checked_text(summary, "summary", settings.max_text_bytes),
            context=None if context is None else checked_text(context, "context", settings.max_text_bytes),
            characters=checked_names(characters, "characters"),
            created_at=None if created_at is None else clock.parse(created_at, "created_at"),
            valid_from=None if valid_from is None else clock.parse(valid_from, "valid_from"),
            trust=trust,
        )
        stated_texts = read_stated(text_or_messages, settings.max_text_bytes)
        drafts = [draft.of(one) for one in stated_texts]
        return await self._writer.remember(self.who, drafts, self._readable, checked_name(key, "key"))

    async def extract(self, response: str, *, category: str = "activity", source: str | None = None) -> WriteResult:
        """Store the memories that a model's answer lists as worth remembering (C8).

        Args:
            response: JSON, bare, fenced or with words around it: a list of texts or of objects with ``content``, and
                maybe ``summary``, ``type``, ``importance`` (1..10) and ``tags``.

        All of them are stored in one batch, or none. Raises InvalidInput when there is no such list in it.
        """
        settings = self._warden.settings
        listed = read_response(checked_text(response, "response", settings.max_text_bytes), settings.max_text_bytes)
        drafts = [
            Draft(
                text=checked_text(one.text, f"memory {number} of the response", settings.max_text_bytes),
                category=_category(settings, category),
                kind=one.kind,
                importance=one.importance,
                tags=one.tags,
                source=checked_name(source, "source"),
                summary=one.summary,
            )
            for number, one in enumerate(listed)
        ]
        return await self._writer.remember(self.who, drafts, self._readable)

    async def query(
        self,
        query: str,
        categories: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        top_k: int = 3,
        threshold: float | None = None,
        budget_tokens: int | None = 512,
        returns: Returns = "bullets",
        explain: bool = False,
        as_of: AsOf = None,
        since_rev: int | None = None,
    ) -> QueryResult:
        """Find what answers a question: turns and memories ranked together; nothing when nothing is relevant (B6).

        Args:
            query: the question, in words.
            categories: the categories to search. None: all that the agent may read.
            filters: see :mod:`memwarden.filters`.
            top_k: the most items wanted, 1..1000.
            threshold: drop items with a lower score. None: the calibrated bar, which decides whether there is an
                answer at all. 0 switches the bar off.
            budget_tokens: the most tokens that ``text`` may take; None for no limit.
            returns: ``bullets`` (one line each, long texts cut to the part that matches) or ``full`` (whole texts).
            explain: name the gate of every memory that was left out, not only of the nearest.
            as_of: answer from the past. A whole number is a revision: what was recorded then, whatever became of it
                since. A datetime, ISO text or seconds since 1970 (a float) is a time: what is known to have been true
                then, in the words that were in force; what was written later counts when it is dated before.
            since_rev: tell what changed after this revision (``rev`` of the last answer that you have). None: since
                this thread looked last, as far as is known. An answer from the past tells no changes.

        Raises InvalidInput (also for a revision that there is not), InvalidFilter, CategoryDenied, StoreError. Never
        writes.
        """
        request = self._request(query, categories, filters, top_k, threshold, budget_tokens, returns, explain)
        if as_of is not None and since_rev is not None:
            raise InvalidInput("an answer from the past tells no changes; give as_of or since_rev, not both")
        if as_of is not None:
            request = replace(request, as_of=_as_of(as_of))
        elif since_rev is not None:
            request = replace(request, since_rev=_whole(since_rev, "since_rev", 0, None))
        return await self._recall.query(self.who, request)

    async def context(
        self,
        messages: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        budget_tokens: int = 500,
        *,
        threshold: float = 0.7,
        participants: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        explain: bool = False,
    ) -> ContextBlock:
        """Make the ``<memories>`` block to put before a turn (C1, C6); empty when nothing is relevant.

        The last message and the talk just before it are searched for. When the best memory reaches the threshold, it
        and at most 9 others that reach half of it are ordered by importance x recency x relevance, and at most 5 of
        them go in, within the budget.

        Args:
            messages: the conversation so far, the message to answer last. What stands in it is not repeated.
            budget_tokens: the most tokens that the whole block may take.
            threshold: the least score of the best memory, on the calibrated scale.
            participants: only memories in which one of these takes part. A filter of ``characters`` must hold as well.
        """
        read = read_messages(messages, self._warden.settings.max_text_bytes)
        said = [message.text for message in read if message.text and message.role in ("user", "assistant")]
        if not said:
            raise InvalidInput("messages holds no words of a user or assistant; give the message to answer")
        request = self._request(said[-1], None, filters, 1, threshold, budget_tokens, "bullets", explain)
        if participants is not None:
            taking_part = filtering.Condition("characters", "$in", checked_names(participants, "participants"))
            request = replace(request, where=(*request.where, taking_part))
        return await self._recall.context(self.who, said, request)

    async def get(self, memory_id: str) -> Memory:
        """Return one memory, also one that is no longer true (its ``valid_to`` tells).

        Raises NotFound, also for one that the agent may not read.
        """
        found = await self._warden.store.get(self.who.namespace, [_id(memory_id)])
        allowed = self._warden.settings.categories.readable(self.who.agent, None)
        if not found or (allowed is not None and found[0].category not in allowed):
            raise NotFound(f"no memory {memory_id!r} in {self.who.namespace.path}")
        return found[0]

    async def find(
        self,
        filters: Mapping[str, Any] | None = None,
        *,
        limit: int = 100,
        order_by: str = "created_at",
        descending: bool = True,
        as_of: AsOf = None,
    ) -> list[Memory]:
        """List memories by filter, without a question: by tag, by conversation (``thread_id``), by anything (C8).

        Newest first by default. What is no longer true is left out, unless a filter asks for ``valid_to``. ``as_of``
        lists the past, as in :meth:`query`.

        Raises InvalidInput, InvalidFilter, CategoryDenied (a category filter outside the allowlist).
        """
        where = self._where(filters)
        allowed = self._warden.settings.categories.readable(self.who.agent, None)
        if allowed is not None:
            where = (*where, filtering.Condition("category", "$in", allowed))
        most, by = _whole(limit, "limit", 1, None), filtering.sort_field(order_by)
        if as_of is not None:
            moment = _as_of(as_of)
            return await self._recall.listed(self.who, moment, where, limit=most, order_by=by, descending=descending)
        if not any(condition.field == "valid_to" for condition in where):
            where = (*where, filtering.Condition("valid_to", filtering.UNSET_OR_AFTER, clock.now()))
        return await self._warden.store.find(self.who.namespace, where, limit=most, order_by=by, descending=descending)

    async def delta(self, since_rev: int | None = None) -> Delta:
        """Return what changed since this thread looked last, or since a revision (B1): facts, not turns.

        Every answer to a query tells it too, as the first lines of its text. What was told counts as seen when this
        process answers the next time, and for others when the thread's next turn is observed: it is told at least once,
        and not further back than 20 turns of the thread. Raises InvalidInput, StoreError.
        """
        since = None if since_rev is None else _whole(since_rev, "since_rev", 0, None)
        return await self._recall.delta(self.who, since)

    async def history(
        self, memory_id: str | None = None, *, since: int = 0, limit: int = 100, descending: bool = False
    ) -> list[HistoryEntry]:
        """Return what happened to a memory, or to everything of this user: oldest first, the content before and after.

        Memories that were forgotten or merged have a history too. To read all of it, pass the last ``seq`` as ``since``
        until an answer is empty. An agent sees the entries whose contents are all in categories that it may read; their
        ``meta`` is None where it names a memory that the agent may not read.

        Args:
            memory_id: of one memory; None for all. since: a revision; only later entries. limit: the most entries.
            descending: the newest first.

        Raises NotFound, InvalidInput, StoreError.
        """
        return await read_history(
            self._warden.store,
            self.who.namespace,
            None if memory_id is None else _id(memory_id),
            since=_whole(since, "since", 0, None),
            limit=_whole(limit, "limit", 1, None),
            readable=self._readable,
            descending=_truth(descending, "descending"),
        )

    async def relations(self, memory_id: str) -> list[Relation]:
        """Return what a memory is related to (B2): the edges that begin or end at it, sorted by from, to and type.

        Edges to what was forgotten, or what the agent may not read, are left out. Raises NotFound.
        """
        await self.get(memory_id)
        edges = await self._warden.store.relations(self.who.namespace, [memory_id])
        ends = list(dict.fromkeys(end for edge in edges for end in (edge.from_id, edge.to_id)))
        active = await self._warden.store.get(self.who.namespace, ends)
        allowed = self._warden.settings.categories.readable(self.who.agent, None)
        known = {one.id for one in active if allowed is None or one.category in allowed}
        return [edge for edge in edges if edge.from_id in known and edge.to_id in known]

    async def audit(self, *, limit: int = 10_000, progress: Callable[[int, int], None] | None = None) -> Audit:
        """Say what is wrong with what is remembered, and what would mend it (F8). Changes nothing.

        Found are facts that say the same, facts that contradict each other, memories that repeat what memwarden put
        into a prompt, chatter kept as facts, secrets in old texts, facts that rest on forgotten turns, and facts whose
        successor was forgotten. Facts are compared as :meth:`remember` compares them, by rules alone. An agent is told
        nothing of what it may not read.

        Args:
            limit: look at so many active memories at most, those written last; facts are compared among these.
            progress: called now and then, on the event loop, with how many were looked at and how many will be.

        Raises InvalidInput, StoreError.
        """
        from memwarden.remember.audit.auditor import audit

        return await audit(
            self._warden.store,
            _started(self._warden._indexes),
            self.who.namespace,
            self._readable,
            limit=_whole(limit, "limit", 1, None),
            progress=progress,
        )

    async def forget(self, memory_id: str | Sequence[str]) -> WriteResult:
        """Take memories out of every answer about the present. They can be restored for 30 days.

        Raises NotFound for an unknown id, and then forgets nothing.
        """
        if not isinstance(memory_id, str | Sequence | Set):
            raise InvalidInput(f"a memory id is a text, or give a list of them, not {memory_id!r:.80}")
        ids = [memory_id] if isinstance(memory_id, str) else list(memory_id)
        for one in ids:
            await self.get(one)
        return await self._writer.forget(self.who, ids)

    async def restore(self, memory_id: str) -> WriteResult:
        """Bring a forgotten memory back, as it was. Returns ``restored``, also when it is active already.

        Raises NotFound for an unknown id, Conflict for a memory that was merged into another one (undo the merge) and
        for one that was held back and never was an answer.
        """
        (found,) = await self._any_state([_id(memory_id)])
        if found.state == State.MERGED:
            raise Conflict(f"memory {memory_id!r} was merged into another one; look at its history and undo the merge")
        if found.state not in (State.ACTIVE, State.SOFT_DELETED):
            raise Conflict(
                f"memory {memory_id!r} was never forgotten: it is {found.state}, stored apart from all answers"
            )
        return await self._writer.restore(self.who, memory_id)

    async def update(
        self,
        memory_id: str,
        *,
        text: str | None = None,
        kind: str | None = None,
        category: str | None = None,
        importance: float | None = None,
        tags: Sequence[str] | None = None,
        pinned: bool | None = None,
        summary: str | None = None,
        context: str | None = None,
        valid_from: datetime | str | float | None = None,
        valid_to: datetime | str | float | None = None,
        clear: Sequence[str] = (),
        expected_version: int | None = None,
    ) -> WriteResult:
        """Correct a memory: what is given is changed, the rest stays; the old content stays in the history.

        For something that became otherwise, state the new fact with :meth:`remember`: it keeps what was true before.

        Args:
            valid_from, valid_to: since when it is true, and since when no longer. The end may not be before the
                beginning, which is ``created_at`` where ``valid_from`` is not known.
            clear: fields to be emptied: of ``valid_from``, ``valid_to``, ``summary`` and ``context``.
            expected_version: refuse (Conflict) unless this is the stored version, so that nobody's change is lost.

        Raises NotFound, InvalidInput (also for other words of a turn, which stays as it was said), CategoryDenied,
        Conflict, StoreError.
        """
        old = await self.get(memory_id)
        settings = self._warden.settings
        if text is not None and old.channel == Channel.TURN:
            raise InvalidInput(f"{memory_id!r} is something that was said, and stays as it was said; forget it instead")
        given: dict[str, Any] = {
            "text": None if text is None else checked_text(text, "text", settings.max_text_bytes),
            "kind": None if kind is None else _kind(kind),
            "category": None if category is None else self._own_category(category),
            "importance": None if importance is None else scale.checked(importance),
            "tags": None if tags is None else checked_names(tags, "tags"),
            "pinned": None if pinned is None else _truth(pinned, "pinned"),
            "summary": None if summary is None else checked_text(summary, "summary", settings.max_text_bytes),
            "context": None if context is None else checked_text(context, "context", settings.max_text_bytes),
            "valid_from": None if valid_from is None else clock.parse(valid_from, "valid_from"),
            "valid_to": None if valid_to is None else clock.parse(valid_to, "valid_to"),
        }
        changes = {name: value for name, value in given.items() if value is not None}
        changes |= dict.fromkeys(_cleared(clear, changes))
        if not changes:
            raise InvalidInput(f"nothing to change; give one of {', '.join(given)} or clear")
        if expected_version is not None and _whole(expected_version, "expected_version", 1, None) != old.version:
            raise Conflict(f"memory {memory_id!r} has version {old.version}, not {expected_version}; read it again")
        for tries_left in range(MOST_TRIES - 1, -1, -1):
            new = replace(old, **changes)
            if {"valid_from", "valid_to"} & changes.keys():
                _check_order(new)
            try:
                return await self._writer.update(self.who, old, new, self._readable)
            except Conflict:
                if expected_version is not None or not tries_left:
                    raise
                old = await self.get(memory_id)  # somebody else changed it meanwhile: what they gave stays
        raise AssertionError  # the last try returns or raises

    async def pin(self, memory_id: str, pinned: bool = True) -> WriteResult:
        """Put a memory first in line for a context block and keep it from expiring; ``False`` takes that back."""
        return await self.update(memory_id, pinned=pinned)

    async def undo(self, change: int) -> WriteResult:
        """Take a decision back, whole: everything that was changed together with a journal entry.

        What a memory held before is there again to the byte; what the decision had created is forgotten, what it had
        removed or merged is there again, links too. An undo is a change like any other, and can be undone.

        Args:
            change: ``seq`` of one of its entries, as :meth:`history` gives it.

        Raises NotFound for a change that there is not, or when the agent may not read all of what was decided with it
        (both contents of each entry, both ends of each link); Conflict when it was undone already, when one of its
        memories was changed later (undo that first), or when a link that it took away leads to a memory that is not
        there now (restore that first).
        """
        wanted = _whole(change, "change", 1, None)
        store, namespace = self._warden.store, self.who.namespace
        found = await store.journal(namespace, since=wanted - 1, limit=1)
        entries = await store.journal(namespace, step=found[0].step, limit=10**9) if found else []
        if wanted not in [one.seq for one in entries]:
            raise NotFound(f"no change {wanted} in {namespace.path}; history lists them")
        if not await all_shown(store, namespace, entries, self._readable):
            raise NotFound(f"no change {wanted} in {namespace.path}; history lists them")
        return await self._writer.undo(self.who, entries)

    user_context = consent.user_context
    propose_context = consent.propose_context
    consents = consent.consents
    decide = consent.decide
    acknowledge = consent.acknowledge

    async def _any_state(self, ids: Sequence[str]) -> list[Memory]:
        """Memories whatever their state. Raises NotFound for one that is not there or that the agent may not read."""
        found = await self._warden.store.get(self.who.namespace, ids, removed=True)
        readable = self._readable
        known = {one.id for one in found if readable is None or one.category in readable}
        for one in ids:
            if one not in known:
                raise NotFound(f"no memory {one!r} in {self.who.namespace.path}")
        return found

    def _own_category(self, name: str) -> str:
        """A category that the agent may read. Raises CategoryDenied."""
        category = _category(self._warden.settings, name)
        self._warden.settings.categories.readable(self.who.agent, (category,))
        return category

    @property
    def _readable(self) -> tuple[str, ...] | None:
        """The categories that the agent may read; None for all."""
        return self._warden.settings.categories.readable(self.who.agent, None)

    @property
    def _recall(self) -> Recall:
        return _started(self._warden._recall)

    @property
    def _started_extractor(self) -> Extractor:
        return _started(self._warden._extractor)

    @property
    def _writer(self) -> Writer:
        return _started(self._warden._writer)

    @property
    def _consents(self) -> Consents:
        return _started(self._warden._consents)

    @property
    def _categories(self) -> Categories:
        return self._warden.settings.categories

    def _request(
        self,
        query: str,
        categories: Sequence[str] | None,
        filters: Mapping[str, Any] | None,
        top_k: int,
        threshold: float | None,
        budget_tokens: int | None,
        returns: str,
        explain: bool,
    ) -> Request:
        from memwarden.recall.recall import Request

        settings = self._warden.settings
        if returns not in RETURNS:
            raise InvalidInput(f"returns is 'bullets' or 'full', not {returns!r}")
        wanted = None if categories is None else checked_names(categories, "categories")
        return Request(
            query=checked_text(query, "query", settings.max_text_bytes),
            categories=settings.categories.readable(self.who.agent, wanted),
            where=self._where(filters),
            top_k=_whole(top_k, "top_k", 1, MAX_TOP_K),
            threshold=None if threshold is None else _share(threshold, "threshold"),
            budget_tokens=None if budget_tokens is None else _whole(budget_tokens, "budget_tokens", 1, None),
            full=returns == "full",
            explain=bool(explain),
        )

    def _where(self, filters: Mapping[str, Any] | None) -> filtering.Where:
        """Parse filters. A category that the agent may not read is refused here too, never silently dropped."""
        where = filtering.parse(filters)
        for condition in where:
            if condition.field == "category" and condition.op in ("$eq", "$in"):
                named = condition.value if condition.op == "$in" else (condition.value,)
                if named:
                    self._warden.settings.categories.readable(self.who.agent, named)
        return where


def _settings(config: Config) -> Settings:
    if isinstance(config, Settings):
        return config
    if isinstance(config, Mapping):
        wrong = [name for name in config if not isinstance(name, str) or name == "file"]
        if wrong:
            raise InvalidConfig(f"unknown setting {wrong[0]!r:.80}")
        return configuration.load(**config)
    if config is not None and not isinstance(config, str | Path):
        raise InvalidConfig(f"config is settings, a mapping of them or the path of a file, not {config!r:.80}")
    return configuration.load(None if config is None else Path(config))


def _embedder(settings: Settings) -> Embedder | None:
    """Return the configured embedder; it loads its model at first use. Raises InvalidConfig for a missing extra."""
    if settings.embedder == "none":
        return None
    if settings.embedder == "minilm":
        from memwarden.recall.words import LISTS

        try:
            from memwarden.models.minilm import MiniLMEmbedder
        except ImportError:
            raise InvalidConfig("embedder 'minilm' needs the extra: pip install 'memwarden[onnx]'") from None
        return MiniLMEmbedder(frozenset(LISTS["stop"]["english"].split()))
    if settings.embedder == "openai":
        try:
            from memwarden.models.openai import OpenAIEmbedder
        except ImportError:
            raise InvalidConfig("embedder 'openai' needs the extra: pip install 'memwarden[openai]'") from None
        return OpenAIEmbedder(settings.embedding_model, settings.embedding_dimensions, settings.embedding_url or None)
    from memwarden.models.wordllama import shared

    return shared()


def _chat_model(settings: Settings) -> ChatModel | None:
    """Return the configured chat model. Raises InvalidConfig for a missing extra."""
    if not settings.chat_model:
        return None
    try:
        from memwarden.models.openai import OpenAIChat
    except ImportError:
        raise InvalidConfig("chat_model needs the extra: pip install 'memwarden[openai]'") from None
    return OpenAIChat(settings.chat_model, settings.chat_url or None)


def _started(part: T | None) -> T:
    if part is None:
        raise StoreUnavailable("the warden is not open; use it as a context manager: with Warden.open(...) as warden")
    return part


def _category(settings: Settings, name: Any) -> str:
    if not isinstance(name, str):
        raise InvalidInput(f"a category is a text, not {name!r:.80}")
    return settings.categories.known(name)


def _kind(value: Any) -> str:
    if not isinstance(value, str) or value not in set(Kind):
        raise InvalidInput(f"kind is one of {', '.join(Kind)}, not {value!r:.80}")
    return value


def _truth(value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{what} is True or False, not {value!r}")
    return value


def _cleared(names: Any, given: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields to be emptied. Raises InvalidInput for one that every memory has, or that is given as well."""
    cleared = checked_names(names, "clear")
    for name in cleared:
        if name not in CLEARABLE:
            raise InvalidInput(f"clear takes {', '.join(CLEARABLE)}, not {name!r}")
        if name in given:
            raise InvalidInput(f"{name} is both given and to be cleared")
    return cleared


def _check_order(memory: Memory) -> None:
    if memory.valid_to is not None and memory.valid_to < memory.since:
        beginning = "valid_from" if memory.valid_from else "created_at, since no valid_from is known"
        raise InvalidInput(
            f"it would end ({memory.valid_to.isoformat()}) before it begins ({memory.since.isoformat()}, {beginning})"
        )


def _id(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"a memory id is a text, not {value!r}")
    return value


def _whole(value: Any, what: str, least: int, most: int | None) -> int:
    if isinstance(value, int) and abs(value) > LARGEST:
        raise InvalidInput(f"{what} is larger than any number that a store counts to")
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        upto = "" if most is None else f" to {most:,}"
        raise InvalidInput(f"{what} is a whole number from {least}{upto}, not {value!r}")
    return value


def _as_of(value: Any) -> int | datetime:
    """A revision as it is, a time as an aware datetime."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _whole(value, "as_of", 0, None)
    return clock.parse(value, "as_of")


def _share(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{what} is a number from 0 to 1, not {value!r}")
    return float(value)
