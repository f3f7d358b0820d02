"""The verbs of a scope that read: queries, context blocks, lists, relations and audits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from memwarden import arguments, clock
from memwarden import filters as filtering
from memwarden.api.handle import ScopeHandle
from memwarden.categories import OWN_RECORDS
from memwarden.checks import SECONDS, check_whole, quote, word
from memwarden.errors import InvalidConfig, InvalidInput
from memwarden.observability.instrument import instrumented
from memwarden.observability.records import Node, Op
from memwarden.recall.answer.template import LEAN_TEMPLATE, MAX_IN_CONTEXT, Template
from memwarden.records import (
    MAX_PARTS,
    Audit,
    CitedAnswer,
    ContextBlock,
    Memory,
    Overview,
    QueryResult,
    Relation,
    Statement,
)
from memwarden.remember.extract import procedures
from memwarden.remember.ingest.messages import (
    checked_name,
    checked_names,
    read_messages,
)
from memwarden.settings import DEFAULT_BLOCK_TOKENS
from memwarden.text.language import checked_text, find_misfit
from memwarden.text.parts import cut_text

if TYPE_CHECKING:
    from memwarden.recall.answer.request import Request

Returns = Literal["bullets", "full"]
AsOf = int | datetime | str | float | None
RETURNS = get_args(Returns)
MAX_TOP_K = 1_000
MAX_QUERIES = 10


class ScopeReads(ScopeHandle):
    """The verbs of a scope that read. They change nothing that is remembered."""

    @instrumented(Node.HOTPATH, Op.SEARCH)
    async def query(
        self,
        query: str | None = None,
        categories: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        top_k: int = 3,
        threshold: float | None = None,
        budget_tokens: int | None = 512,
        returns: Returns = "bullets",
        explain: bool = False,
        as_of: AsOf = None,
        since_rev: int | None = None,
        *,
        queries: Sequence[str] | None = None,
    ) -> QueryResult:
        """Find what answers a question: turns and memories ranked together. Nothing when nothing is relevant.

        Args:
            query: the question, in words.
            queries: 1 to 10 questions in place of ``query``. Each is searched for by itself. The best of each come
                first, then the second of each, and so on, under one budget and each memory once. ``confidence`` is the
                highest of theirs, ``confidences`` holds all.
            categories: the categories to search. None: all that the agent may read.
            filters: see :mod:`memwarden.filters`.
            top_k: the most items wanted, 1..1000. With several questions, for each that has an answer.
            threshold: the least chance, 0..1, that twenty items would hold the answer. Items with a third of it as
                their score are in. None: the calibrated bar. 0 switches the bar off.
            budget_tokens: the most tokens that ``text`` may take. None for no limit.
            returns: ``bullets`` (a line each, long texts cut to the part that matches) or ``full`` (whole texts).
            explain: name the gate of every memory that was left out, not only of the nearest.
            as_of: answer from the past. A whole number is a revision: what was recorded then, whatever became of it
                since. A datetime, ISO text or seconds since 1970 (a float) is a time: what is known to have been true
                then, in the words that were in force. What was written later counts when it is dated before.
            since_rev: tell what changed after this revision (``rev`` of the last answer that you have). None: since
                this thread looked last, as far as is known. An answer from the past tells no changes.

        Raises InvalidInput (also for a revision that there is not), InvalidFilter, CategoryDenied, StoreError. Changes
        nothing that is remembered.
        """
        first, *more = self._questions(query, queries)
        request = self._request(first, categories, filters, top_k, threshold, budget_tokens, returns, explain)
        if more:
            request = replace(request, more=tuple(more))
        if as_of is not None and since_rev is not None:
            raise InvalidInput("an answer from the past tells no changes; give as_of or since_rev, not both")
        if as_of is not None:
            request = replace(request, as_of=self._past_moment(as_of))
        elif since_rev is not None:
            request = replace(request, since_rev=check_whole(since_rev, "since_rev", 0, None))
        return await self._runtime.services.recall.query(self.who, request)

    @instrumented(Node.CONTEXT, Op.SEARCH)
    async def context(
        self,
        messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        budget_tokens: int = DEFAULT_BLOCK_TOKENS,
        *,
        threshold: float | None = None,
        participants: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        explain: bool = False,
        max_memories: int = MAX_IN_CONTEXT,
        template: Template = LEAN_TEMPLATE,
        overview_tokens: int = 0,
    ) -> ContextBlock:
        """Make the ``<memories>`` block to put before a turn. Empty when nothing is relevant.

        The last message is searched for. If it asks nothing, the last three messages of the role ``user`` before it
        count, too. If it says little ("and in May?"), the last three messages of any role do. As many memories as bear
        on it and fit the budget go in, what was said last first.

        Args:
            messages: the conversation so far, the message to answer last, or its text alone. What stands in it is not
                repeated.
            budget_tokens: the most tokens that the whole block may take. A limit: up to 22 memories, or one for 68
                tokens of a larger budget, go in; after 12, or one for 68 tokens, only likely ones.
            threshold: the least chance, 0..1, that the block holds the answer. Memories with a sixtieth of it as
                their score go in. None: the calibrated bar.
            participants: only memories in which any of these takes part. Capitals make no difference. A filter of
                ``characters`` must hold as well.
            max_memories: 1..100. Those that only fill what is left (``context: all``) do not count.
            overview_tokens: so many tokens of an overview of the person go in as an item, whatever the message asks:
                "what should I cook tonight?" names no allergy. 0: none; 150 tell what matters most. At most 40 % of
                the budget.
            template: the words of the block; ``CLASSIC_TEMPLATE`` numbers memories and tells kind, importance and age.
        """
        most_bytes = self._runtime.settings.max_text_bytes
        read = read_messages(messages, most_bytes * MAX_PARTS)
        if misfit := read[-1].misfit or find_misfit(read[-1].text, "it", most_bytes):
            raise InvalidInput(f"the message to answer cannot be searched for: {misfit}")
        from memwarden.recall.answer.request import list_talk

        spoken = [message for message in read if message.text and message.role in ("user", "assistant")]
        # A long text is not repeated, but nothing is searched for it.
        parts = [cut_text(message.text, most_bytes) for message in spoken]
        long = [part for each in parts if len(each) > 1 for part in each]
        spoken = [message for message, each in zip(spoken, parts, strict=True) if len(each) == 1]
        said = [message.text for message in spoken]
        if not said:
            raise InvalidInput("messages holds no words of a user or assistant; give the message to answer")
        request = self._request(said[-1], None, filters, 1, threshold, budget_tokens, "bullets", explain)
        most = check_whole(max_memories, "max_memories", 1, MAX_IN_CONTEXT)
        if not isinstance(template, Template):
            raise InvalidInput(f"template is a memwarden.recall.answer.template.Template, not {quote(template)}")
        glance = check_whole(overview_tokens, "overview_tokens", 0, None)
        talk = list_talk([message.text for message in spoken if message.role == "user" or message is spoken[-1]])
        request = replace(request, most=most, template=template, overview=glance, talk=talk)
        if participants is not None:
            names = checked_names(participants, "participants")
            taking_part = filtering.Condition("characters", filtering.IN_ANY_CASE, _in_any_case(names))
            request = replace(request, where=(*request.where, taking_part))
        block = await self._runtime.services.recall.context(self.who, [*long, *said], request)
        self._runtime.prompts.note(self.who, said[-1], block)
        return block

    async def get(self, memory_id: str) -> Memory:
        """Return a memory, also when it is no longer true (its ``valid_to`` tells).

        Raises NotFound, also for a memory that the agent may not read.
        """
        return await self._get(memory_id)

    @instrumented(Node.HOTPATH, Op.SEARCH)
    async def find(
        self,
        filters: Mapping[str, Any] | None = None,
        *,
        limit: int = 100,
        order_by: str = "created_at",
        descending: bool = True,
        as_of: AsOf = None,
    ) -> list[Memory]:
        """List memories by filter, without a question: by tag, by conversation (``thread_id``), by anything.

        Newest first by default. What is no longer true is left out, unless a filter asks for ``valid_to``. ``as_of``
        lists the past, as in :meth:`query`.

        Raises InvalidInput, InvalidFilter, CategoryDenied (a category filter outside the allowlist).
        """
        where = self._where(filters)
        descending = arguments.check_truth(descending, "descending")
        allowed = self._runtime.settings.categories.readable(self.who.agent, None)
        if allowed is not None:
            where = (*where, filtering.Condition("category", "$in", allowed))
        most, by = check_whole(limit, "limit", 1, None), filtering.sort_field(order_by)
        if as_of is not None:
            moment = arguments.check_moment(as_of)
            return await self._runtime.services.recall.list_past(
                self.who, moment, where, limit=most, order_by=by, descending=descending
            )
        if not any(condition.field == "valid_to" for condition in where):
            where = (*where, filtering.Condition("valid_to", filtering.UNSET_OR_AFTER, clock.now()))
        if not any(condition.field in ("category", "channel") for condition in where):
            where = (*where, filtering.Condition("category", "$ne", OWN_RECORDS))
        return await self._runtime.store.find(self.who.namespace, where, limit=most, order_by=by, descending=descending)

    async def relations(self, memory_id: str | Sequence[str]) -> list[Relation]:
        """Return what memories are related to: the edges that begin or end at them, sorted by from, to and type.

        Edges to what was forgotten, or what the agent may not read, are left out. Raises NotFound for a single memory
        that is not there; of several, those that are not there have none.
        """
        if isinstance(memory_id, str):
            await self.get(memory_id)
        ids = [memory_id] if isinstance(memory_id, str) else [arguments.check_memory_id(item) for item in memory_id]
        edges = await self._runtime.store.relations(self.who.namespace, ids)
        ends = list(dict.fromkeys(end for edge in edges for end in (edge.from_id, edge.to_id)))
        active = await self._runtime.store.get(self.who.namespace, ends)
        allowed = self._runtime.settings.categories.readable(self.who.agent, None)
        known = {item.id for item in active if allowed is None or item.category in allowed}
        return [edge for edge in edges if edge.from_id in known and edge.to_id in known]

    async def overview(self, about: str | None = None, *, budget_tokens: int = 150) -> Overview:
        """Return what is certain of a person: facts that were stated or extracted, else quotations by topic.

        Each line names its source. ``update(line.source, text=..., quote=line.value)`` corrects a line, and ``forget``
        rejects its memory. A corrected turn keeps its words in its conversation and answers no question.

        Args:
            about: a name ("Ines") or a relation ("sister"). Facts and quotations that name it are shown, and quotations
                of a speaker with this name. None: everything.
            budget_tokens: the most tokens that ``text`` may take.

        What was said since the last second may be lacking. Raises InvalidInput, UnknownAgent, StoreError.
        """
        budget = check_whole(budget_tokens, "budget_tokens", 1, None)
        if about is not None:
            about = checked_name(about, "about")
        return await self._runtime.services.recall.overview(self.who, about, budget)

    async def ask(self, question: str, *, seconds: float = 30.0) -> CitedAnswer:
        """Let the warden's chat model answer a question from what is remembered, with the memories that it cites.

        The model is shown an overview of the person, asks several questions, and answers from what they find, or says
        that it is not known. Then it may search a second time. Its answer has to cite memories that it was shown.

        Args:
            seconds: how long it may take, above 0, at most a day.

        Raises InvalidConfig without a chat model, ModelUnavailable when it fails, is late or answers garbage,
        InvalidInput, StoreError. Changes nothing that is remembered.
        """
        from memwarden.agent.answer_question import answer_question

        asked = checked_text(question, "question", self._runtime.settings.max_text_bytes)
        limit: float = SECONDS.check(seconds, "seconds")
        model = self._runtime.chat
        if model is None:
            raise InvalidConfig(
                "ask needs a chat model: set chat_model and chat_url, or open the warden with chat_model=; "
                "query works without"
            )
        return await answer_question(self, model, asked, limit)

    async def statements(self, memory_id: str) -> tuple[Statement, ...]:
        """Return what a memory's words state: who has which value of which attribute, since when, and how surely.

        Raises InvalidInput, NotFound, StoreError.
        """
        from memwarden.statements.reader import load_weights  # it loads numpy
        from memwarden.statements.shown import show_statements
        from memwarden.statements.statement import unpack

        memory = await self.get(memory_id)
        rows = await self._runtime.store.index_rows(self.who.namespace, [memory_id])
        packed = rows[0].statements if rows else None
        return show_statements(memory, unpack(packed), load_weights().name) if packed else ()

    async def audit(self, *, limit: int = 10_000, progress: Callable[[int, int], None] | None = None) -> Audit:
        """Say what is wrong with what is remembered, and what would mend it. Changes nothing.

        Found are facts that say the same, facts that contradict each other, memories that repeat what memwarden put
        into a prompt, chatter kept as facts, secrets in old texts, facts that rest on forgotten turns, and facts whose
        successor was forgotten. Facts are compared as :meth:`remember` compares them, by rules alone. An agent is told
        nothing of what it may not read.

        Args:
            limit: look at so many active memories at most, those written last. Facts are compared among these.
            progress: called now and then, on the event loop, with how many were looked at and how many will be.

        Raises InvalidInput, StoreError.
        """
        from memwarden.remember.resolve.audit import audit_namespace

        return await audit_namespace(
            self._runtime.store,
            self._runtime.services.indexes,
            self._runtime.services.larges,
            self.who.namespace,
            self._readable,
            limit=check_whole(limit, "limit", 1, None),
            progress=progress,
        )

    def _past_moment(self, as_of: AsOf) -> int | datetime:
        moment = arguments.check_moment(as_of)
        if self.who.beside and not isinstance(moment, datetime):
            raise InvalidInput("revisions are counted in each namespace by itself; with a project or task give a time")
        return moment

    def _questions(self, query: str | None, queries: Sequence[str] | None) -> tuple[str, ...]:
        """Return the questions of a query, each once."""
        if query is not None and queries is not None:
            raise InvalidInput("give query, a question, or queries, a list of questions, not both")
        if queries is None:
            return (checked_text(query, "query", self._runtime.settings.max_text_bytes),)
        if isinstance(queries, str) or not isinstance(queries, Sequence):
            raise InvalidInput(f"queries is a list of questions, not {quote(queries)}; a single question is query")
        if not 1 <= len(queries) <= MAX_QUERIES:
            raise InvalidInput(f"queries holds 1 to {MAX_QUERIES} questions, not {len(queries)}")
        most = self._runtime.settings.max_text_bytes
        checked = [checked_text(text, f"queries[{number}]", most) for number, text in enumerate(queries)]
        return tuple(dict.fromkeys(checked))

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
        from memwarden.recall.answer.request import Request

        settings = self._runtime.settings
        word(RETURNS).check(returns, "returns")
        wanted = None if categories is None else checked_names(categories, "categories")
        return Request(
            query=checked_text(query, "query", settings.max_text_bytes),
            categories=settings.categories.readable(self.who.agent, wanted),
            where=self._where(filters),
            top_k=check_whole(top_k, "top_k", 1, MAX_TOP_K),
            threshold=None if threshold is None else arguments.check_share(threshold, "threshold"),
            budget_tokens=None if budget_tokens is None else check_whole(budget_tokens, "budget_tokens", 1, None),
            full=returns == "full",
            explain=bool(explain),
            steps=wanted is not None and procedures.CATEGORY in wanted,
            beside=self.who.beside,
        )

    def _where(self, filters: Mapping[str, Any] | None) -> filtering.Where:
        """Parse filters. A category that the agent may not read is refused here too, never silently dropped."""
        if filters is None:
            return ()
        where = filtering.parse(filters)
        for condition in where:
            if condition.field == "category" and condition.op in ("$eq", "$in"):
                named = condition.value if condition.op == "$in" else (condition.value,)
                if named:
                    self._runtime.settings.categories.readable(self.who.agent, named)
        return where


def _in_any_case(names: Sequence[str]) -> tuple[str, ...]:
    """Return names folded, and as people write them, for a database that knows no capitals beyond its own language."""
    forms = (form for name in names for form in (name.casefold(), name, name.lower(), name.title(), name.upper()))
    return tuple(dict.fromkeys(forms))
