"""The write path: texts run through typed steps, become a single batch, and are applied once.

:data:`OBSERVE_STEPS` and :data:`REMEMBER_STEPS` list the steps in order. Model calls and hashing end before the
transaction starts; :meth:`memwarden.stores.protocol.Store.apply` is the only place where anything is written.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, Generic, TypeVar

from memwarden import clock, filters
from memwarden.categories import DEFAULT_CATEGORY
from memwarden.clock import DEFAULT_THREAD, new_id
from memwarden.concurrency.optimistic import change_atomically
from memwarden.errors import Denied, InvalidInput, NotFound
from memwarden.lifecycle import KEPT_AFTER_FORGETTING
from memwarden.models.protocols import Embedder
from memwarden.models.reasoning import strip_reasoning
from memwarden.recall.index.encode import SignalFiller, make_signals_in_thread, read_long
from memwarden.records import (
    ALREADY,
    RESET,
    Batch,
    ChangeResult,
    Channel,
    JournalEntry,
    Link,
    Memory,
    MemoryState,
    MessageResult,
    Outcome,
    Put,
    Receipt,
    Remove,
    Restore,
    Scope,
    SeenMark,
    Signals,
    TextPart,
    Trust,
    WriteMode,
    WriteResult,
    leave_part_tags,
    read_part,
)
from memwarden.remember.corrections import find_quotations, make_rest, mark_corrected
from memwarden.remember.ingest.messages import Draft, Message, kind_of
from memwarden.remember.ingest.new_turns import MAX_COMPARED, TurnKey, digest_message, find_new_turns, key_of_id
from memwarden.remember.ingest.own_context import list_retold, strip_context, strip_retold
from memwarden.remember.ingest.redaction import describe_secrets, mark_private, redact_secrets
from memwarden.remember.ingest.screening import NOT_SUSPICIOUS, Screening, screen, screen_answer, trust_of
from memwarden.remember.resolve.proposals import check_context_undo
from memwarden.remember.resolve.resolver import IncomingStatement, Resolver, replayed_result
from memwarden.remember.resolve.review import check_restore, check_review_undo
from memwarden.remember.undo import plan_undo, tell_undo
from memwarden.remember.wholes import find_other_parts
from memwarden.remember.write_store import GuardedStore, hash_arguments
from memwarden.text.flags import Flag
from memwarden.text.parts import cut_text

SMALL_TALK_REJECTED = "greeting, thanks or small talk alone: nothing to remember"
SMALL_TALK_STORED = "greeting, thanks or small talk alone: kept in the turn log, never recalled"
NO_WORDS = "it carries no words"
# What is added to a message's id for a further part.
PART_ID = " (part {number})"
STORED_IN_PARTS = "longer than a memory may be: stored in {count} linked parts"
# Reasons of the correction of a turn.
REPLACES_TURN: Final = "replaces message {turn}, which ended."
KEEPS_REPLACED: Final = "The right words that were replaced later are memory {id}."
KEEPS_REST: Final = "The rest of the message is memory {id}."
# Fields of a memory that a correction changes, besides its text.
CORRECTED_FIELDS: Final = (
    "kind", "category", "importance", "tags", "pinned", "summary", "context", "valid_from", "valid_to", "payload",
)  # fmt: skip
# A time that lies further ahead is not believed. Local time without an offset is at most 14 hours ahead.
MAX_AHEAD: Final = timedelta(days=1)
AHEAD: Final = "its time {time} lies ahead, so it counts as said now"
UNSTORED_ROLES = {
    "system": "system prompts are instructions, not something to remember",
    "developer": "developer prompts are instructions, not something to remember",
    "tool": "tool output is not part of what people said; remember what matters of it with kind='tool_output'",
    "function": "function output is not part of what people said; remember what matters of it with kind='tool_output'",
}
_NO_SIGNALS: Final = Signals()

T = TypeVar("T", Message, Draft)


@dataclass(frozen=True, slots=True)
class WriteCall:
    """The values that the steps of a call share.

    at: the time of the write. key: the caller's idempotency key. category: of turns. readable: the categories that the
    caller may read; None for all. max_text_bytes: size of a memory's text. whole: what stands for all messages of a
    call that makes several batches.
    find_told: which of some lines memories say. from_start: whether the messages are a conversation from its start.
    fills: whether vectors of texts in parts follow after the write.
    """

    scope: Scope
    store: GuardedStore
    embedder: Embedder | None
    at: datetime
    max_text_bytes: int
    key: str | None = None
    category: str = DEFAULT_CATEGORY
    readable: Collection[str] | None = None
    hold: bool = False
    strict: bool = False
    whole: str | None = None
    find_told: Callable[[Collection[str]], Awaitable[set[str]]] | None = None
    from_start: bool = False
    fills: bool = False

    @property
    def batch_key(self) -> str | None:
        """The idempotency key, apart for an agent with a log of its own: a known key tells it nothing of others."""
        return self.key if self.key is None else self.own_prefix + self.key

    @property
    def own_prefix(self) -> str:
        """What begins the keys of turns in an agent's own log; empty for the turns that everybody shares."""
        return "" if self.category == DEFAULT_CATEGORY else f"{self.category}|"

    @property
    def thread(self) -> str:
        """The thread that the turns belong to."""
        return self.scope.thread or DEFAULT_THREAD


@dataclass(frozen=True, slots=True)
class IncomingText(Generic[T]):
    """A message or a draft on its way into the store, with what the steps found out about it.

    Attributes:
        source: the message or draft, without own context and secrets once these steps are done.
        secrets: the kinds of the secrets that were redacted.
        result: set by the step that decides that the text is not stored; later steps skip it.
        key: the key under which a turn is stored once.
        memory, signals, screening: what is stored of it.
        ahead: the time of the text that lies ahead and is not believed.
        part, parts: number of a part of a text over the size limit, from 1 on, and how many there are.
    """

    source: T
    secrets: tuple[str, ...] = ()
    result: MessageResult | None = None
    key: str | None = None
    memory: Memory | None = None
    signals: Signals = _NO_SIGNALS
    screening: Screening = NOT_SUSPICIOUS
    ahead: datetime | None = None
    part: int = 1
    parts: int = 1


Step = Callable[[WriteCall, list[IncomingText[T]]], Awaitable[list[IncomingText[T]]]]


def for_each(change: Callable[[WriteCall, IncomingText[T]], IncomingText[T]]) -> Step[T]:
    """Make a step of a function of a single text; texts that have a result are passed over."""

    async def step(call: WriteCall, texts: list[IncomingText[T]]) -> list[IncomingText[T]]:
        def change_all() -> list[IncomingText[T]]:
            return [text if text.result is not None else change(call, text) for text in texts]

        return await read_long(sum(len(text.source.text) for text in texts), change_all)

    return step


def strip_own_context(call: WriteCall, text: IncomingText[Message]) -> IncomingText[Message]:
    """Remove the blocks that memwarden itself put into a prompt, and the hidden reasoning of an assistant."""
    stripped = strip_context(text.source.text)
    if text.source.role == "assistant":
        stripped = strip_reasoning(stripped)
    return text if stripped == text.source.text else replace(text, source=replace(text.source, text=stripped))


async def strip_retold_lines(call: WriteCall, texts: list[IncomingText[Message]]) -> list[IncomingText[Message]]:
    """Remove lines in which a model repeats memories that stood in a prompt; memories are read for such lines alone."""
    lines = {line for text in texts if text.result is None for line in list_retold(text.source.text)}
    told = await call.find_told(lines) if lines and call.find_told is not None else set()
    if not told:
        return texts
    left = [strip_retold(text.source.text, told) for text in texts]
    return [replace(text, source=replace(text.source, text=kept)) for text, kept in zip(texts, left, strict=True)]


def redact(call: WriteCall, text: IncomingText[T]) -> IncomingText[T]:
    """Put marks in the places of secrets."""
    source, kinds = redact_secrets(text.source, strict=call.strict)
    return replace(text, source=source, secrets=kinds) if kinds else text


def drop_time_ahead(call: WriteCall, text: IncomingText[T]) -> IncomingText[T]:
    """Take the time from a text that would have been said in the future: else it would be the newest for long."""
    said_at = text.source.created_at
    if said_at is None or clock.as_utc(said_at) <= call.at + MAX_AHEAD:
        return text
    return replace(text, source=replace(text.source, created_at=None), ahead=said_at)


def refuse_unstorable(call: WriteCall, text: IncomingText[Message]) -> IncomingText[Message]:
    """Reject prompts, output of tools and messages without words."""
    message = text.source
    reason = UNSTORED_ROLES.get(message.role or "") or (None if message.text else message.misfit or NO_WORDS)
    return text if reason is None else replace(text, result=MessageResult(None, Outcome.REJECTED, reason))


async def cut(call: WriteCall, texts: list[IncomingText[T]]) -> list[IncomingText[T]]:
    """Cut texts over the size limit into parts. Further parts of a message with an id get ids of their own."""

    def cut_all() -> list[IncomingText[T]]:
        return [part for text in texts for part in _cut(text, call.max_text_bytes)]

    return await read_long(sum(len(text.source.text) for text in texts), cut_all)


def _cut(text: IncomingText[T], max_bytes: int) -> list[IncomingText[T]]:
    pieces = [text.source.text] if text.result is not None else cut_text(text.source.text, max_bytes)
    if len(pieces) == 1:
        return [text]
    return [
        replace(text, source=_part_of(text.source, piece, number), part=number, parts=len(pieces))
        for number, piece in enumerate(pieces, 1)
    ]


def _part_of(source: T, piece: str, number: int) -> T:
    if isinstance(source, Message) and source.id and number > 1:
        return replace(source, text=piece, id=f"{source.id}{PART_ID.format(number=number)}")
    return replace(source, text=piece)


def by_whole(texts: Sequence[IncomingText[T]]) -> Iterator[list[IncomingText[T]]]:
    """Yield the parts of each text. A text within the size limit is a list of its own."""
    start = 0
    while start < len(texts):
        end = start + texts[start].parts
        yield list(texts[start:end])
        start = end


async def deduplicate(call: WriteCall, texts: list[IncomingText[Message]]) -> list[IncomingText[Message]]:
    """Give each turn the key under which it is stored once; pass over turns that the thread holds already."""
    new = [text for text in texts if text.result is None]
    keys = iter(await _turn_keys(call, [text.source for text in new], [text.ahead for text in new]))
    return [text if text.result is not None else _with_key(call, text, next(keys)) for text in texts]


async def _turn_keys(call: WriteCall, messages: Sequence[Message], ahead: Sequence[datetime | None]) -> list[TurnKey]:
    """The key of each turn: the message's id, else its number in the call's idempotency key, else by comparison.

    ahead: of each message the time that lies ahead.
    """
    if call.key is not None or all(message.id for message in messages):
        return [TurnKey(key_of_id(message) or f"key:{call.key}:{number}") for number, message in enumerate(messages)]
    where = filters.parse({"thread_id": call.thread, "channel": Channel.TURN})
    if call.readable is not None:
        where = (*where, filters.Condition("category", "$in", tuple(call.readable)))
    limit = min(2 * len(messages) + 10, max(len(messages), MAX_COMPARED))
    tail = await call.store.find(call.scope.namespace, where, limit=limit, order_by=filters.WRITTEN)
    return find_new_turns(messages, tail[::-1], from_start=call.from_start, ahead=ahead)


def _with_key(call: WriteCall, text: IncomingText[Message], key: TurnKey) -> IncomingText[Message]:
    if key.refused is not None:
        return replace(text, result=MessageResult(None, Outcome.REJECTED, key.refused))
    if key.known is not None:
        return replace(text, result=MessageResult(key.known, Outcome.CREATED, ALREADY))
    return replace(text, key=call.own_prefix + key.source_key)


async def encode(call: WriteCall, texts: list[IncomingText[T]]) -> list[IncomingText[T]]:
    """Make the signals of every text that goes on, in a single call of the model."""

    async def make(in_parts: bool, embedder: Embedder | None) -> Iterator[Signals]:
        said = [
            (text.source.text, text.source.created_at or call.at)
            for text in texts
            if text.result is None and (text.parts > 1) == in_parts
        ]
        return iter(await make_signals_in_thread(said, embedder) if said else ())

    whole, parts = await make(False, call.embedder), await make(True, None if call.fills else call.embedder)
    return [
        text if text.result is not None else replace(text, signals=next(parts if text.parts > 1 else whole))
        for text in texts
    ]


def refuse_small_talk(call: WriteCall, text: IncomingText[Draft]) -> IncomingText[Draft]:
    """Reject a stated text that is greeting, thanks or small talk alone."""
    if text.parts > 1 or not text.signals.flags & Flag.CHATTER:
        return text
    return replace(text, secrets=(), result=MessageResult(None, Outcome.REJECTED, SMALL_TALK_REJECTED))


def screen_memory(memory: Memory, *, unreviewed: bool, hold: bool = False) -> Screening:
    """Screen all the texts of a memory that a prompt may show."""
    return screen(memory.trust, memory.text, memory.summary, memory.context, unreviewed=unreviewed, hold=hold)


def _is_unreviewed(scope: Scope, memory: Memory) -> bool:
    """Whether a statement is screened although nobody said that it comes from outside.

    An agent could else state a quarantined text that it may not approve; so could a model whose answer is extracted.
    """
    stated = memory.channel != Channel.TURN
    return stated and (scope.agent is not None or memory.trust == Trust.ASSISTANT)


def make_turn(call: WriteCall, text: IncomingText[Message]) -> IncomingText[Message]:
    """Make the memory of a turn."""
    message, memory_id = text.source, new_id()
    memory = Memory(
        id=memory_id,
        namespace=call.scope.namespace,
        text=message.text,
        created_at=(message.created_at or call.at).astimezone(UTC),
        utc_offset=clock.offset_of(message.created_at or call.at),
        updated_at=call.at,
        channel=Channel.TURN,
        kind=kind_of(message.text),
        category=call.category,
        source=f"thread/{call.thread}",
        sources=(message.id or memory_id,),
        tags=mark_private((), message.text),
        characters=(message.name,) if message.name else (),
        role=message.role,
        name=message.name,
        user_id=call.scope.user,
        agent_id=call.scope.agent,
        run_id=call.scope.run,
        actor_id=call.scope.actor,
        thread_id=call.thread,
        payload=message.metadata,
        trust=trust_of(message.role),
    )
    return replace(text, memory=memory)


def make_memory(call: WriteCall, text: IncomingText[Draft]) -> IncomingText[Draft]:
    """Make the memory that a draft asks for."""
    draft, scope = text.source, call.scope
    role = draft.role or scope.role
    memory = Memory(
        id=new_id(),
        namespace=scope.namespace,
        text=draft.text,
        created_at=(draft.created_at or call.at).astimezone(UTC),
        utc_offset=clock.offset_of(draft.created_at or call.at),
        updated_at=call.at,
        channel=draft.channel,
        kind=draft.kind or kind_of(draft.text),
        category=draft.category,
        importance=draft.importance,
        tags=mark_private(draft.tags, draft.text, draft.summary, draft.context),
        pinned=draft.pinned,
        source=draft.source,
        sources=draft.sources,
        summary=draft.summary,
        context=draft.context,
        characters=draft.characters,
        role=role,
        name=draft.name,
        user_id=scope.user,
        agent_id=scope.agent,
        run_id=scope.run,
        actor_id=scope.actor,
        thread_id=scope.thread,
        valid_from=draft.valid_from,
        valid_to=draft.expires_at,
        payload=draft.metadata,
        trust=draft.trust or trust_of(role, draft.kind, draft.source),
    )
    return replace(text, memory=memory)


def screen_for_orders(call: WriteCall, text: IncomingText[T]) -> IncomingText[T]:
    """Decide whether the memory is quarantined: a text from outside that reads like orders to an assistant."""
    memory = _memory_of(text)
    if memory.channel == Channel.TURN and memory.trust == Trust.ASSISTANT:
        screening = screen_answer(memory.text)
    else:
        screening = screen_memory(memory, unreviewed=_is_unreviewed(call.scope, memory), hold=call.hold)
    if screening == NOT_SUSPICIOUS:
        return text
    return replace(text, screening=screening, key=_key_of_held(call, memory, text.source) or text.key)


def _key_of_held(call: WriteCall, memory: Memory, source: object) -> str | None:
    """Return the key of a turn that is held back, by its words: a thread's own turns, with which it would be compared
    when it comes again, are those that a prompt may show. None for a turn that its caller names, and for no turn."""
    if memory.channel != Channel.TURN or call.key is not None or (isinstance(source, Message) and source.id):
        return None
    return f"{call.own_prefix}held:{hash_arguments([call.thread, memory.role, memory.text])}"


async def tag_parts(call: WriteCall, texts: list[IncomingText[T]]) -> list[IncomingText[T]]:
    """Tag the memories of a text's parts. If a part is held back, all are."""
    return [part for parts in by_whole(texts) for part in (_tag_parts(call, parts) if len(parts) > 1 else parts)]


def _tag_parts(call: WriteCall, parts: list[IncomingText[T]]) -> list[IncomingText[T]]:
    whole = next((part.memory.id for part in parts if part.memory is not None), "")
    held = next((part.screening for part in parts if part.screening != NOT_SUSPICIOUS), NOT_SUSPICIOUS)
    return [part if part.memory is None else _tag_part(call, part, part.memory, whole, held) for part in parts]


def _tag_part(
    call: WriteCall, text: IncomingText[T], memory: Memory, whole: str, screening: Screening
) -> IncomingText[T]:
    memory = replace(memory, tags=(*memory.tags, *TextPart(whole, text.part, text.parts).tags))
    key = None if screening == NOT_SUSPICIOUS else _key_of_held(call, memory, text.source)
    return replace(text, memory=memory, screening=screening, key=text.key if key is None else f"{key}:{text.part}")


# What is decided about all messages of a call together, and what is made of a part of them before it is applied.
_READ_STEPS: Final[tuple[Step[Message], ...]] = (
    for_each(strip_own_context),
    strip_retold_lines,
    for_each(drop_time_ahead),
    for_each(redact),
    for_each(refuse_unstorable),
    cut,
    deduplicate,
)
_TURN_STEPS: Final[tuple[Step[Message], ...]] = (for_each(make_turn), encode, for_each(screen_for_orders), tag_parts)
# How a message becomes a turn; then the batch is applied.
OBSERVE_STEPS: Final = (*_READ_STEPS, *_TURN_STEPS)
# So many messages make a batch: a year of talk at once would fill the memory with vectors and rows.
MAX_BATCH_MESSAGES: Final = 4_000

# How a stated text becomes a statement; then the resolver decides what it does to the others, and applies that.
REMEMBER_STEPS: Final[tuple[Step[Draft], ...]] = (
    for_each(drop_time_ahead),
    for_each(redact),
    cut,
    encode,
    for_each(refuse_small_talk),
    for_each(make_memory),
    for_each(screen_for_orders),
    tag_parts,
)


async def run_steps(steps: Sequence[Step[T]], call: WriteCall, texts: list[IncomingText[T]]) -> list[IncomingText[T]]:
    """Run texts through steps in order; the texts keep their order."""
    for step in steps:
        texts = await step(call, texts)
    return texts


class Writer:
    """Writes for scopes. Holds no state of its own."""

    def __init__(
        self,
        store: GuardedStore,
        embedder: Embedder | None,
        resolver: Resolver,
        filler: SignalFiller | None = None,
        now: Callable[[], datetime] = lambda: clock.now(),
        *,
        max_text_bytes: int,
        hold: bool = False,
        strict: bool = False,
    ) -> None:
        """filler: makes the signals of turns afterwards, where the embedder is slow.

        max_text_bytes: size of a memory's text. A longer text is stored in parts. hold: see :func:`screen`.
        strict: codes of a home are secrets.
        """
        self._max_text_bytes = max_text_bytes
        self._hold = hold
        self._strict = strict
        self._store = store
        self._embedder = embedder
        self._resolver = resolver
        self._filler = filler
        self.now = now

    async def observe(
        self,
        scope: Scope,
        messages: Sequence[Message],
        key: str | None,
        seen: tuple[SeenMark, ...] = (),
        *,
        category: str = DEFAULT_CATEGORY,
        readable: Collection[str] | None = None,
        progress: Callable[[int], object] | None = None,
        from_start: bool = False,
    ) -> WriteResult:
        """Store messages, durably and once, without secrets; quarantine what looks like an attack.

        seen: up to which revision the thread, and the agents in it, were shown what changed. progress: is told after
        each batch how many messages are decided. from_start: whether the messages are a conversation from its start.
        """
        # A slow model is not waited for: the words answer at once, and the vectors follow.
        embedder = self._embedder if self._filler is None else None
        most = self._max_text_bytes
        call = WriteCall(
            scope, self._store, embedder, self.now(), most, key, category, readable, self._hold, self._strict
        )
        find_told = partial(self._resolver.find_told, scope.namespace, readable=readable)
        call = replace(call, find_told=find_told, from_start=from_start)
        left = await run_steps(_READ_STEPS, call, [IncomingText(message) for message in messages])
        # A part of a call has a key of its own; of other messages it is a Conflict, whichever part they are in.
        several = key is not None and len(left) > MAX_BATCH_MESSAGES
        whole = hash_arguments([digest_message(text.source) for text in left]) if several else None
        told: list[WriteResult] = []
        while left or not told:
            end = _end_of_batch(left)
            part, left = left[:end], left[end:]
            of_part = replace(call, key=f"{key}|{len(told)}" if key is not None and told else key, whole=whole)
            told.append(await self._store_turns(of_part, part, seen))
            if progress is not None:
                progress(sum(len(result.results) for result in told))
        results = tuple(result for done in told for result in done.results)
        return WriteResult(told[-1].rev, results, sum(result.undated for result in told))

    async def _store_turns(
        self, call: WriteCall, part: list[IncomingText[Message]], seen: tuple[SeenMark, ...]
    ) -> WriteResult:
        texts = await run_steps(_TURN_STEPS, call, part)
        rev, applied = await self._apply_turns(call, texts, seen)
        if self._filler is not None:
            self._filler.add(call.scope.namespace, [item.id for item in applied if item.outcome == "created"])
        others = await self._texts_of(call.scope, [item.id for item in applied if item.outcome == "duplicate"])
        changes = iter(applied)
        results = [text.result or _observe_result(text, next(changes), others) for text in texts]
        await self._remove_misplaced(call, texts, results)
        undated = sum(
            text.result is None and text.source.created_at is None and result.reason != ALREADY and text.part == 1
            for text, result in zip(texts, results, strict=True)
        )
        return replace(_write_result(rev, texts, results), undated=undated)

    async def _remove_misplaced(
        self, call: WriteCall, texts: Sequence[IncomingText[Message]], results: Sequence[MessageResult]
    ) -> None:
        """Remove new parts of a message whose id already holds other words."""
        misplaced = [
            item.id
            for made in by_whole_results(texts, results)
            if any(item.outcome == Outcome.REJECTED for item in made)
            for item in made
            if item.id and item.outcome == Outcome.CREATED and item.reason != ALREADY
        ]
        if misplaced:
            removals = tuple(Remove(item, purge_at=call.at) for item in misplaced)
            await self._store.apply(Batch(call.scope.namespace, removals, call.at, actor=_actor(call.scope)))

    async def _apply_turns(
        self, call: WriteCall, texts: Sequence[IncomingText[Message]], seen: tuple[SeenMark, ...]
    ) -> tuple[int, tuple[ChangeResult, ...]]:
        puts = tuple(_put_turn(text) for text in texts if text.result is None)
        if not puts and call.key is None:
            return (await self._store.head(call.scope.namespace)).rev, ()
        asked = [[digest_message(text.source), text.source.id] for text in texts]
        batch = Batch(
            call.scope.namespace,
            puts,
            call.at,
            key=call.batch_key,
            fingerprint=_fingerprint(call, asked),
            actor=_actor(call.scope),
            agent=call.scope.agent,
            seen=seen,
        )
        receipt = await self._store.apply(batch)
        return receipt.rev, receipt.applied

    async def _texts_of(self, scope: Scope, ids: Sequence[str]) -> dict[str, str]:
        stored = await self._store.get(scope.namespace, ids, removed=True) if ids else []
        return {memory.id: memory.text for memory in stored}

    async def remember(
        self, scope: Scope, drafts: Sequence[Draft], readable: Collection[str] | None, key: str | None = None
    ) -> WriteResult:
        """Store memories that a caller states, each resolved against what is known. readable: see :class:`Resolver`."""
        call = WriteCall(
            scope, self._store, self._embedder, self.now(), self._max_text_bytes, key, hold=self._hold,
            strict=self._strict, fills=self._filler is not None,
        )  # fmt: skip
        texts = await run_steps(REMEMBER_STEPS, call, [IncomingText(draft) for draft in drafts])
        stated = [_statement_of(text) for text in texts if text.result is None]
        if not stated:
            head = await self._store.head(scope.namespace)
            return _write_result(head.rev, texts, [text.result for text in texts if text.result])
        receipt, resolutions = await self._resolver.write(
            stated,
            readable,
            call.at,
            actor=_actor(scope),
            agent=scope.agent,
            key=key,
            fingerprint=_fingerprint(call, [repr(text.source.in_utc) for text in texts]),
        )
        if self._filler is not None and not receipt.replayed:
            self._filler.add(scope.namespace, [item.memory.id for item in stated if not item.compared])
        decided = iter(
            await self._replayed_results(scope, receipt, stated)
            if receipt.replayed
            else [MessageResult(item.id, Outcome(item.outcome), item.reason) for item in resolutions]
        )
        return _write_result(receipt.rev, texts, [text.result or next(decided) for text in texts])

    async def _replayed_results(
        self, scope: Scope, receipt: Receipt, stated: Sequence[IncomingStatement]
    ) -> list[MessageResult]:
        """Read what the statements of a call became when it was applied for the first time."""
        results = [replayed_result(receipt.applied, number - item.part + 1) for number, item in enumerate(stated)]
        known = await self._store.get(scope.namespace, [item.id for item in results if item.id], removed=True)
        quarantined = {memory.id for memory in known if memory.state == MemoryState.QUARANTINED}
        return [replace(item, outcome=Outcome.QUARANTINED) if item.id in quarantined else item for item in results]

    async def update(self, scope: Scope, old: Memory, new: Memory, readable: Collection[str] | None) -> WriteResult:
        """Write a memory's new content. Raises Conflict when the stored version is no longer the old version.

        A change reaches all parts of a text. A new text takes the place of all parts.
        """
        at = self.now()
        redacted = partial(redact_secrets, replace(new, updated_at=at), strict=self._strict)
        new, kinds = await read_long(len(new.text), redacted)
        if scope.agent is not None and (new.text, new.summary, new.context) != (old.text, old.summary, old.context):
            screening = await read_long(len(new.text), partial(screen_memory, new, unreviewed=True))
            if screening.kinds:
                raise Denied(f"not changed: {screening.reason}; a person may change it, in a scope without an agent")
        signals: Signals | None = None
        links: tuple[Link, ...] = ()
        if (new.text, new.created_at) != (old.text, old.created_at):
            (signals,) = await make_signals_in_thread([(new.text, new.said_at)], self._embedder)
            links = await self._resolver.links_of(new, signals, readable)
        put = Put(_keep_part(old, new), signals, WriteMode.UPDATE, expected_version=old.version)
        others = await self._change_other_parts(scope, old, put.memory, at)
        batch = Batch(scope.namespace, (put, *links, *others), at, actor=_actor(scope), agent=scope.agent)
        receipt = await self._store.apply(batch)
        result = MessageResult(new.id, Outcome.UPDATED, parts=_count_parts(put.memory))
        return WriteResult(receipt.rev, (_name_secrets(kinds, result),))

    async def correct_turn(self, scope: Scope, turn: Memory, right: Sequence[Draft], rest: str) -> WriteResult:
        """Store the right words of a turn and the rest of it and end it with its quotations, as a single decision.

        Args:
            turn: as it was read. Raises Conflict when its stored version is another.
            right: the right words, of which later ones have ended. rest: the other words of the turn, which stay true.
        """
        at = self.now()
        call = WriteCall(
            scope, self._store, self._embedder, at, self._max_text_bytes, hold=self._hold, strict=self._strict
        )
        drafts = [*right, make_rest(turn, rest)] if rest else right
        texts = await run_steps(REMEMBER_STEPS, call, [IncomingText(each) for each in drafts])
        given = [part for parts in list(by_whole(texts))[: len(right)] for part in parts]
        if given[0].memory is None:
            raise InvalidInput(f"not changed: {SMALL_TALK_REJECTED}")
        if suspicious := next((text.screening for text in given if text.screening.kinds), None):
            raise Denied(f"not changed: {suspicious.reason}; a person may change it, in a scope without an agent")
        secrets = tuple(dict.fromkeys(kind for text in given for kind in text.secrets))
        new = [(text.memory, text.signals) for text in texts if text.memory is not None]
        stated = [
            replace(memory, **{name: getattr(turn, name) for name in ("thread_id", "run_id", "agent_id", "user_id")})
            for memory, _ in new
        ]
        puts = [Put(memory, signals) for memory, (_, signals) in zip(stated, new, strict=True)]
        changes: list[Put | Remove] = [*puts]
        meta = {"by": stated[0].id}
        ended = mark_corrected(turn, at)
        changes.append(Put(ended, None, WriteMode.UPDATE, expected_version=turn.version, meta=meta))
        if not rest:
            changes += await self._change_other_parts(scope, turn, ended, at)
        changes += [
            Put(mark_corrected(quotation, at), None, WriteMode.UPDATE, expected_version=quotation.version, meta=meta)
            for quotation in await find_quotations(self._store, turn)
        ]
        batch = Batch(scope.namespace, tuple(changes), at, actor=_actor(scope), agent=scope.agent)
        receipt = await self._store.apply(batch)
        kept = [text.memory.id for text in given if text.memory is not None]
        told = [(KEEPS_REPLACED if item.id in kept else KEEPS_REST).format(id=item.id) for item in stated[1:]]
        reason = " ".join([REPLACES_TURN.format(turn=turn.id), *told])
        result = MessageResult(stated[0].id, Outcome.SUPERSEDED, reason)
        return WriteResult(receipt.rev, (_name_secrets(secrets, result),))

    async def _change_other_parts(self, scope: Scope, old: Memory, new: Memory, at: datetime) -> list[Put | Remove]:
        """Return the changes of the other parts of a text: removals for a new text, else new fields."""
        others = await find_other_parts(self._store, scope.namespace, [old])
        if new.text != old.text:
            return [Remove(item, purge_at=at + KEPT_AFTER_FORGETTING) for item in others]
        given: dict[str, Any] = {
            name: getattr(new, name) for name in CORRECTED_FIELDS if getattr(new, name) != getattr(old, name)
        }
        shared = leave_part_tags(given.get("tags", ()))
        changes: list[Put | Remove] = []
        for part in await self._store.get(scope.namespace, others):
            if "tags" in given:
                given["tags"] = (*shared, *_part_tags(part))
            changed = replace(part, updated_at=at, **given)
            changes.append(Put(changed, None, WriteMode.UPDATE, expected_version=part.version))
        return changes

    async def forget(
        self, scope: Scope, ids: Sequence[str], *, reset: bool = False, decided_at: int | None = None
    ) -> WriteResult:
        """Remove memories from every answer, with the other parts of their texts.

        Raises NotFound, and forgets nothing, if an id is unknown.

        reset: what changed is told without the words. decided_at: raise Stale when any was changed after it.
        """
        found = {memory.id: memory for memory in await self._store.get(scope.namespace, ids)}
        missing = [memory_id for memory_id in ids if memory_id not in found]
        if missing:
            raise NotFound(f"no memory {missing[0]!r} in {scope.namespace.path}")
        at = self.now()
        purge_at, meta = at + KEPT_AFTER_FORGETTING, {RESET: True} if reset else None
        others = await find_other_parts(self._store, scope.namespace, found.values())
        changes = tuple(Remove(memory_id, purge_at=purge_at, meta=meta) for memory_id in (*ids, *others))
        batch = Batch(scope.namespace, changes, at, actor=_actor(scope), agent=scope.agent, decided_at=decided_at)
        receipt = await self._store.apply(batch)
        return WriteResult(
            receipt.rev,
            tuple(MessageResult(item, Outcome.DELETED, parts=_count_parts(found[item])) for item in ids),
        )

    async def restore(self, scope: Scope, memory_id: str) -> WriteResult:
        """Bring a forgotten memory back, as it was, with the other parts of its text.

        Raises Conflict for a pending memory that was rejected.
        """
        await check_restore(self._store, scope.namespace, memory_id)
        found = await self._store.get(scope.namespace, [memory_id], removed=True)
        others = await find_other_parts(self._store, scope.namespace, found, MemoryState.SOFT_DELETED)
        changes = tuple(map(Restore, (memory_id, *others)))
        batch = Batch(scope.namespace, changes, self.now(), actor=_actor(scope), agent=scope.agent)
        receipt = await self._store.apply(batch)
        reason = "" if receipt.applied[0].outcome == "restored" else "it is active already"
        parts = 1 + len(others)
        return WriteResult(receipt.rev, (MessageResult(memory_id, Outcome.RESTORED, reason, parts),))

    async def undo(self, scope: Scope, entries: Sequence[JournalEntry]) -> WriteResult:
        """Take a decision back. entries: all of its step. Raises Conflict when a later change stands on it."""
        check_context_undo(entries)
        check_review_undo(scope, entries)
        at = self.now()

        async def undo() -> WriteResult:
            changes, rev = await plan_undo(self._store, self._embedder, scope.namespace, entries, at)
            batch = Batch(scope.namespace, changes, at, actor=_actor(scope), agent=scope.agent, decided_at=rev)
            receipt = await self._store.apply(batch)
            return WriteResult(receipt.rev, tell_undo(changes, receipt.applied, entries[0].step))

        return await change_atomically(scope.namespace, undo)


def _part_tags(memory: Memory) -> tuple[str, ...]:
    part = read_part(memory.tags)
    return () if part is None else part.tags


def _count_parts(memory: Memory) -> int:
    """Return how many memories hold the text that a memory holds a part of."""
    part = read_part(memory.tags)
    return 1 if part is None else part.parts


def _keep_part(old: Memory, new: Memory) -> Memory:
    """Return a memory's new content as the same part of its text. A new text is no part."""
    own = leave_part_tags(new.tags)
    tags = own if new.text != old.text else (*own, *_part_tags(old))
    return new if tags == new.tags else replace(new, tags=tags)


def _memory_of(text: IncomingText[T]) -> Memory:
    assert text.memory is not None, "make_turn and make_memory run before the steps that read the memory"
    return text.memory


def _put_turn(text: IncomingText[Message]) -> Put:
    kinds = text.screening.kinds
    meta: dict[str, Any] | None = {"kinds": list(kinds)} if kinds else None
    return Put(_memory_of(text), text.signals, source_key=text.key, state=text.screening.state, meta=meta)


def _statement_of(text: IncomingText[Draft]) -> IncomingStatement:
    dated = bool(text.source.created_at or text.source.valid_from)
    memory, whole = _memory_of(text), text.parts == 1
    return IncomingStatement(memory, text.signals, text.screening, compared=whole, dated=dated, part=text.part)


def _observe_result(text: IncomingText[Message], applied: ChangeResult, stored: Mapping[str, str]) -> MessageResult:
    """The result of a turn that was applied. stored: the texts of turns that were there already, by id."""
    message = text.source
    if applied.outcome == "duplicate":
        if stored.get(applied.id, message.text) == message.text:
            return MessageResult(applied.id, Outcome.CREATED, ALREADY)
        own_id = (message.id or "").removesuffix(PART_ID.format(number=text.part))
        reason = f"the id {own_id!r} already holds other words in this thread"
        return MessageResult(applied.id, Outcome.REJECTED, reason)
    if text.screening.kinds:
        return MessageResult(applied.id, Outcome.QUARANTINED, text.screening.reason)
    small_talk = text.signals.flags & Flag.CHATTER
    return MessageResult(applied.id, Outcome.CREATED, SMALL_TALK_STORED if small_talk else "")


def _name_time_ahead(ahead: datetime | None, result: MessageResult) -> MessageResult:
    """Return the result of a text with its time that was not believed."""
    if ahead is None or result.outcome == Outcome.REJECTED or result.reason == ALREADY:
        return result
    return replace(result, reason="; ".join(filter(None, (result.reason, AHEAD.format(time=ahead.isoformat())))))


def _write_result(rev: int, texts: Sequence[IncomingText[T]], results: Sequence[MessageResult]) -> WriteResult:
    joined = map(_join_results, by_whole_results(texts, results))
    named = (
        _name_secrets(parts[0].secrets, _name_time_ahead(parts[0].ahead, result))
        for parts, result in zip(by_whole(texts), joined, strict=True)
    )
    return WriteResult(rev, tuple(named))


def by_whole_results(
    texts: Sequence[IncomingText[T]], results: Sequence[MessageResult]
) -> Iterator[list[MessageResult]]:
    """Yield the results of the parts of each text."""
    each = iter(results)
    return ([next(each) for _ in parts] for parts in by_whole(texts))


def _join_results(parts: Sequence[MessageResult]) -> MessageResult:
    """Return the result of a text: that of its first part, unless another part was refused or held back."""
    first = parts[0]
    if len(parts) == 1:
        return first
    lead = min(parts, key=lambda item: (item.outcome == first.outcome, item.reason == ALREADY))
    if lead.outcome == Outcome.REJECTED:
        return MessageResult(None if lead.id is None else first.id, lead.outcome, lead.reason)
    reason = lead.reason or STORED_IN_PARTS.format(count=len(parts))
    return MessageResult(first.id, lead.outcome, reason, len(parts))


def _end_of_batch(texts: Sequence[IncomingText[Message]]) -> int:
    """Return how many texts the first batch takes, so that no text is in two batches."""
    end = min(MAX_BATCH_MESSAGES, len(texts))
    while end < len(texts) and texts[end].part > 1:
        end += 1
    return end


def _name_secrets(kinds: tuple[str, ...], result: MessageResult) -> MessageResult:
    """The same result, naming the kinds of secrets that were redacted."""
    if not kinds:
        return result
    return replace(result, reason="; ".join(filter(None, (result.reason, describe_secrets(kinds)))))


def _fingerprint(call: WriteCall, asked: Sequence[Any]) -> str | None:
    """Return a fingerprint of what an idempotency key stands for; None without a key."""
    whole = [] if call.whole is None else [call.whole]
    return None if call.key is None else hash_arguments([call.thread, list(asked), *whole])


def _actor(scope: Scope) -> str | None:
    return scope.actor or scope.agent
