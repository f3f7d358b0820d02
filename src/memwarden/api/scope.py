"""The verbs of a caller: what is said and stated, conversations, and the handles. Methods check, delegate, answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memwarden import arguments, clock
from memwarden import checks as scale
from memwarden.agent.session_rules import DEFAULT_WINDOW_TOKENS
from memwarden.agent.state import AsyncState
from memwarden.agent.stored_sessions import AsyncSessions, AsyncToolCache, check_allowed
from memwarden.agent.tools import AsyncTools, Permission, memory_tools, select_tools, state_tools
from memwarden.api.changes import ScopeChanges
from memwarden.api.checkpoints import AsyncThreadCheckpoints
from memwarden.api.consent import AsyncConsent
from memwarden.api.foreign_names import hint_at
from memwarden.api.journal import AsyncJournal
from memwarden.api.review import AsyncReview
from memwarden.api.usage import AsyncUsage
from memwarden.checks import quote, word
from memwarden.conversation.recording import TurnLog
from memwarden.conversation.settings import DEFAULT_SECONDS, ChatSettings
from memwarden.errors import Denied, InvalidInput
from memwarden.observability.instrument import instrumented
from memwarden.observability.records import Node, Op
from memwarden.records import MAX_PARTS, Channel, ContextBlock, Scope, Trust, WriteResult
from memwarden.remember.extract import procedures
from memwarden.remember.ingest.messages import (
    Draft,
    checked_label,
    checked_metadata,
    checked_name,
    checked_names,
    read_stated,
)
from memwarden.remember.ingest.screening import trust_of
from memwarden.runtime.services import Runtime
from memwarden.text.language import checked_text

if TYPE_CHECKING:
    from memwarden.agent.overseer import AsyncOverseer, OverseerSettings
    from memwarden.conversation.chat import AsyncChat, ChatTools
    from memwarden.conversation.turn import AsyncTurn

# Verbs that a scope had before it had handles. They go with the next release.
# Verbs of other libraries, and what does the same here.
FOREIGN_NAMES = {
    "add": "observe for what was said, remember for what you state",
    "add_messages": "observe",
    "store": "observe for what was said, remember for what you state",
    "save": "remember, or state.save for a value by key",
    "put": "remember, or state.save for a value by key",
    "search": "query for an answer, find for a list by filter",
    "get_all": "find",
    "list": "find",
    "get_context": "context",
    "delete": "forget",
    "delete_all": "reset",
    "clear": "reset",
}


@hint_at("a scope", FOREIGN_NAMES)
class AsyncScope(ScopeChanges):
    """The verbs, bound to a caller. Made by :meth:`memwarden.AsyncWarden.scope`. Cheap, holds nothing open."""

    def __init__(self, runtime: Runtime, who: Scope) -> None:
        super().__init__(runtime, who)
        self._log = TurnLog(runtime, who)

    async def observe(
        self,
        messages: str | Mapping[str, Any] | Iterable[Mapping[str, Any]],
        *,
        key: str | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> WriteResult:
        """Store what was said, word for word, durably and once, before anything clever happens to it.

        Args:
            messages: ``{role, content, name=, id=, created_at=, metadata=}`` each, oldest first. A text alone is the
                user's. ``id`` comes back as the turn's source id and makes the message idempotent within the thread.
                ``created_at`` (datetime, ISO text or seconds; else ``timestamp``, ``date`` and ``time``; default now)
                is when it was said.
            key: idempotency key of the whole call. The same key with the same messages answers as the first time.
                With other messages it is a Conflict. Without key and ids, messages that repeat the end of the thread
                are known to be the conversation handed over again.
            progress: is told how many messages are stored so far, after each batch of 4,000: more are no unit, and a
                call that broke off goes on where it was when it is made again.

        Returns a result for each message: ``created`` (reason "already stored" if it was there), or ``rejected``
        with the reason: system prompts, tool output, no words, or words that cannot be kept (too long, binary, broken
        Unicode). The others are stored all the same. What is stored is stored whole or not at all.

        Raises InvalidInput, Conflict, StoreError.
        """
        result = await self._log.store(messages, key, progress)
        settings = self._runtime.settings
        await self._log.look_if_due(settings.extraction, settings.extraction_turns)
        return result

    async def extract_pending(self, *, again: bool = False) -> WriteResult:
        """Look through what the thread holds beyond its mark, for what is worth keeping.

        ``observe`` does it by itself, as the setting ``extraction`` says. With a chat model beside the call, which does
        not wait for it. This verb waits for what is under way in the thread, and does the rest.

        Facts are stored and judged as ``remember`` does. What is less sure waits as a ``candidate`` until it is heard
        again. Each exchange gets an index card. A thread's turns are looked through once, also by several processes
        and after a kill.

        Args:
            again: begin at the thread's first turn. What is known already is merged, not doubled.

        Returns what was decided about each fact, candidate and card. Raises StoreError.
        """
        await self._runtime.looks.over(self.who)
        return await self._log.look_now(again)

    @instrumented(Node.HOTPATH, Op.CREATE)
    async def remember(
        self,
        text_or_messages: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]],
        *,
        channel: str = Channel.SEMANTIC,
        kind: str | None = None,
        category: str | None = None,
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
        expires_at: datetime | str | float | None = None,
        metadata: Mapping[str, Any] | None = None,
        trust: str | None = None,
        key: str | None = None,
        document_id: str | None = None,
    ) -> WriteResult:
        """Store something worth knowing, as stated: a fact, a decision, a preference, a procedure.

        What is stated is compared with what is known: a paraphrase is merged into the memory that says the same,
        a new value takes the place of the old one, whose validity ends (``valid_to``). Each is a single decision in the
        journal that names its rule and can be undone. Others are linked to their nearest neighbours. Compared
        are semantic, episodic and insight memories of the same channel and speaker that the agent may read. What
        happened (episodic) also takes the place of what was so (semantic), and the other way round. The setting
        ``merging`` switches it off.

        Args:
            text_or_messages: a text, a message, or a list of them. Each becomes a memory.
            channel: ``semantic``, ``episodic``, ``insight``, ``procedural`` or ``state``. A procedure is a text that
                lists steps. They are numbered, stored in the category ``procedural``, and in an answer only when
                ``query`` is asked for that category by its name.
            kind: what sort of statement. None lets its words decide.
            category: a declared category. It decides which agents may read it. None: ``activity``, or the agent's own
                category (``agent:<name>``) if it may not read that.
            importance: 0..1. pinned: first in line for a context block, never expires.
            source: where it comes from, a path or URI. sources: ids of the turns that it rests on. Such a turn is not
                shown beside it.
            summary, context: short forms for a context block. characters: who takes part in it.
            created_at: when it was learned (default now). valid_from: since when it is true.
            expires_at: until when it is true (``valid_to``): from then on it is in no answer about the present. It is
                compared with nothing, and stands beside what holds for good.
            metadata: a JSON object of yours, 64 KB at most. It is in no prompt. Filters ask for it by
                ``metadata.<name>``. Paraphrases whose metadata disagree are not merged.
            trust: whom the words come from: ``person``, ``assistant`` or ``external`` (a tool, a page, a document, an
                import). None: a person's words have no source or a thread (``thread/t1``). Every other source is
                external. What is external, or stated by an agent, and looks like orders for an assistant is
                ``quarantined``: kept apart, never shown to a model.
            key: idempotency key of the whole call: the same key with the same texts answers as the first time, with
                others it is a Conflict.
            document_id: names the document that states these texts, and nothing else: what it stated in an earlier
                call and states no longer is ended, with what rests on that alone. An empty list: it is gone. What it
                states already is not stored again. Its words are from outside unless ``trust`` says otherwise.

        Returns for each text ``created``; ``merged`` with the id of the memory that says the same; ``superseded`` with
        its own id when it took the place of older ones, which the reason names; or ``rejected`` for a greeting or
        thanks alone; of a document then ``updated`` for each memory that ended. Raises InvalidInput, Conflict,
        StoreError.
        """
        settings = self._runtime.settings
        _check_channel(channel)
        given = _stated_source(source, document_id, key)
        self._check_trust(trust, kind, given)
        draft = Draft(
            text="",
            channel=str(channel),
            kind=None if kind is None else arguments.check_kind(kind),
            category=self._stated_category(
                procedures.CATEGORY if category is None and channel == Channel.PROCEDURAL else category
            ),
            importance=scale.check_importance(importance),
            tags=checked_names(tags, "tags"),
            pinned=arguments.check_truth(pinned, "pinned"),
            source=given,
            sources=checked_names(sources, "sources"),
            summary=None if summary is None else checked_text(summary, "summary", settings.max_text_bytes),
            context=None if context is None else checked_text(context, "context", settings.max_text_bytes),
            characters=checked_names(characters, "characters"),
            created_at=None if created_at is None else clock.parse_local(created_at, "created_at"),
            valid_from=None if valid_from is None else clock.parse(valid_from, "valid_from"),
            metadata=checked_metadata(metadata, "metadata"),
            trust=trust,
        )
        draft = replace(draft, expires_at=arguments.check_expiry(expires_at, draft.valid_from or draft.created_at))
        if channel == Channel.PROCEDURAL:
            arguments.check_category(settings, procedures.CATEGORY)
        gone = document_id is not None and isinstance(text_or_messages, list | tuple) and not text_or_messages
        stated_texts = () if gone else read_stated(text_or_messages, settings.max_text_bytes * MAX_PARTS)
        drafts = [procedures.read_stated_procedure(draft.of(stated_text)) for stated_text in stated_texts]
        return await self._store_stated(drafts, document_id, key)

    async def _store_stated(self, drafts: Sequence[Draft], document_id: str | None, key: str | None) -> WriteResult:
        services = self._runtime.services
        if document_id is None:
            return await services.writer.remember(self.who, drafts, self._readable, checked_name(key, "key"))
        from memwarden.remember.documents import remember_document  # loaded only by programs that keep documents

        return await remember_document(services.guard, services.writer, self.who, document_id, drafts, self._readable)

    def _check_trust(self, trust: str | None, kind: str | None, source: str | None) -> None:
        """Check the argument ``trust``. An agent cannot call external content a person's words."""
        if trust is None:
            return
        word(Trust).check(trust, "trust")
        if trust == Trust.PERSON and self.who.agent is not None and trust_of(None, kind, source) == Trust.EXTERNAL:
            raise Denied(f"agent {self.who.agent!r} cannot vouch for {source or kind!r}: it is no person's words")

    @instrumented(Node.HOTPATH, Op.CREATE)
    async def extract(self, response: str, *, category: str | None = None, source: str | None = None) -> WriteResult:
        """Store the memories that a model's answer lists as worth remembering.

        Args:
            response: JSON, bare, fenced or with words around it: a list of texts or of objects with ``content``, and
                maybe ``summary``, ``type``, ``importance`` (1..10) and ``tags``.

        All of them are stored in a single batch, or none. They are the assistant's words, or external when ``source``
        is: they replace nothing that a person said. Raises InvalidInput when there is no such list in it.
        """
        settings = self._runtime.settings
        given = checked_label(source, "source")
        from memwarden.remember.extract.model import read_response  # patterns that only this verb reads with

        listed = read_response(checked_text(response, "response", settings.max_text_bytes), settings.max_text_bytes)
        drafts = [
            Draft(
                text=checked_text(item.text, f"memory {number} of the response", settings.max_text_bytes),
                category=self._stated_category(category),
                kind=item.kind,
                importance=item.importance,
                tags=item.tags,
                source=given,
                summary=item.summary,
                trust=trust_of("assistant", None, given),
            )
            for number, item in enumerate(listed)
        ]
        return await self._runtime.services.writer.remember(self.who, drafts, self._readable)

    @property
    def state(self) -> AsyncState:
        """Values saved by key, loaded only when a goal needs them."""
        return AsyncState(self._runtime, self.who)

    @property
    def sessions(self) -> AsyncSessions:
        """Stored sessions: the last exchanges, a summary, results of tools."""
        return AsyncSessions(self._runtime, self.who)

    @property
    def tool_cache(self) -> AsyncToolCache:
        """Results of tools that stored sessions hold for some exchanges."""
        return AsyncToolCache(self.sessions)

    @property
    def checkpoints(self) -> AsyncThreadCheckpoints:
        """States of graphs that LangGraph's saver keeps, by thread."""
        return AsyncThreadCheckpoints(self._runtime, self.who)

    def overseer(self, settings: OverseerSettings | None = None) -> AsyncOverseer:
        """Return what decides which state a goal needs, and which results of tools are saved.

        It asks the warden's chat model. Without a model search and rules decide.
        """
        from memwarden.agent.overseer import AsyncOverseer, OverseerSettings  # stems its lists of words

        return AsyncOverseer(self.state, self._runtime.chat, settings or OverseerSettings())

    def tools(
        self,
        permission: Permission = "write",
        *,
        only: Sequence[str] | None = None,
        block: ContextBlock | None = None,
    ) -> AsyncTools:
        """Return the tools that an agent's model may call: to search and to store memories, and those of :attr:`state`.

        Args:
            permission: ``read`` leaves out what writes, and refuses it.
            only: the names of the tools that are wanted. None: all.
            block: what a turn has put into its prompt already (:meth:`context`). With it, ``searchMemories`` is there
                only when the block says too little and the store may know more, and finds three bullets at most.

        Raises InvalidInput for a name that no tool has.
        """
        if block is not None and not isinstance(block, ContextBlock):
            raise InvalidInput(f"block is what context returned, not {quote(block)}")
        return AsyncTools(
            select_tools((*memory_tools(self, block), *state_tools(self.state)), only), permission=permission
        )

    def turn(
        self,
        request: Any,
        settings: ChatSettings | None = None,
        *,
        form: str | None = None,
        key: str | None = None,
        only: str | None = None,
        seconds: float | None = None,
    ) -> AsyncTurn:
        """Return a turn: a context manager around your own call of a model, which weaves memory into it.

        On entering it finds memories for the request and puts them in (``turn.request``, ``turn.messages``), and stores
        what the user said. Give it the answer with ``turn.record_response`` or ``turn.stream``. On leaving, however
        that happens, it stores what was delivered, word for word, and has the thread looked through as the settings
        say, whatever the warden's setting ``extraction`` is. When memory fails, the turn goes on without it.

        Args:
            request: a list of messages, or the arguments of the call as a mapping, so that
                ``client.messages.create(**turn.request)`` works. It is never changed. What the thread holds already is
                known. The rest of what was said in it is stored.
            settings: how memory takes part. None for ``ChatSettings(use_memory=True)``.
            form: ``openai_chat``, ``openai_responses``, ``anthropic`` or ``plain``, where the request does not show it.
            key: idempotency key of this turn. With it only what follows the last answer in the request is stored.
            only: ``read`` puts memories in and stores nothing, ``write`` stores and puts nothing in. None does both.
            seconds: how long memory may take in all before the call of the model; None: 10 for each step. What is late
                is left out, and what was said is then stored at the end.

        Raises InvalidInput for a request that is none. Leaving the turn raises NotKept when something that was said
        could not be stored.
        """
        from memwarden.conversation.turn import AsyncTurn  # numpy

        return AsyncTurn(self._log, self, request, settings, form=form, key=key, only=only, seconds=seconds)

    def chat(
        self,
        upstream: Any,
        settings: ChatSettings | None = None,
        *,
        check_action: Callable[[str], Any] | None = None,
        session: str | None = None,
        system: str | None = None,
        tools: ChatTools = None,
        tool_cache: Mapping[str, int] | None = None,
        defer_remote: Callable[[str], Any] | None = None,
        seconds: float = DEFAULT_SECONDS,
        window_tokens: int = DEFAULT_WINDOW_TOKENS,
    ) -> AsyncChat:
        """Return a chat with a model, with memory woven into it.

        Its prompts are made of a stored session (the last 10 exchanges, a summary, results of tools): they stay small.

        Args:
            upstream: the model: ``openai_chat(client, model=...)``, ``openai_responses(...)`` or ``anthropic(...)`` of
                :mod:`memwarden.conversation.upstreams`, or any callable that takes messages and returns a text or
                its pieces.
            settings: how memory takes part. None for ``ChatSettings(use_memory=True)``. ``chat.settings`` changes them.
            check_action: called with each message first. Returns an :class:`memwarden.conversation.chat.Action`,
                or None when the message is for the model.
            session: the id of the stored session. None for the scope's thread.
            system: the system prompt.
            tools: what the model may call (:meth:`tools`), or a function that returns it for the memories of a turn.
            tool_cache: for how many exchanges a tool's result is used again for the same parameters, by its name.
            defer_remote: when given, it answers every message, and nothing else happens with it.
            seconds: how long the model may take for an answer or its next piece, and each function, above 0, at most
                a day.
            window_tokens: the most that the messages of the session take.

        Functions that block are called in threads of their own. Raises InvalidInput, and CategoryDenied for an agent
        that may not read the category ``state``, in which the session is.
        """
        from memwarden.conversation.chat import AsyncChat  # numpy

        self._check_sessions()  # now, and not after each answer that was paid for
        return AsyncChat(
            self._log,
            self,
            upstream,
            settings,
            check_action=check_action,
            session=session,
            system=system,
            tools=tools,
            tool_cache=tool_cache,
            defer_remote=defer_remote,
            seconds=seconds,
            window_tokens=window_tokens,
        )

    def _check_sessions(self) -> None:
        """Raise CategoryDenied for an agent that may not read sessions."""
        check_allowed(self._runtime, self.who)

    @property
    def review(self) -> AsyncReview:
        """Decisions on candidates and on quarantined texts."""
        return AsyncReview(self._runtime, self.who)

    @property
    def journal(self) -> AsyncJournal:
        """History, undo, changes since a revision, and operational events."""
        return AsyncJournal(self._runtime, self.who)

    @property
    def consent(self) -> AsyncConsent:
        """The user context, proposals for it, and the person's decisions."""
        return AsyncConsent(self._runtime, self.who)

    @property
    def usage(self) -> AsyncUsage:
        """Feedback on memories in prompts, and how often they were of use."""
        return AsyncUsage(self._runtime, self.who)


def _check_channel(channel: object) -> None:
    """Check that statements may be stored in a channel: every channel except that of turns."""
    if channel == Channel.TURN or not isinstance(channel, str) or channel not in set(Channel):
        stated = ", ".join(item for item in Channel if item != Channel.TURN)
        raise InvalidInput(f"channel is {stated}, not {quote(channel)}; use observe for turns")


def _stated_source(source: str | None, document_id: str | None, key: str | None) -> str | None:
    """Return the source of statements: as given, else the URI of their document."""
    given = checked_label(source, "source")
    if checked_name(document_id, "document_id") is None:
        return given
    if key is not None:
        raise InvalidInput("what a document states is known by its document_id; leave out key")
    from memwarden.remember.documents import source_of

    return given or source_of(str(document_id))
