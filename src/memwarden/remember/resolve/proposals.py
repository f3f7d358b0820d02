"""Proposals for changes of a user context, and the decisions on them, each a single batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import uuid_utils

from memwarden import clock, filters
from memwarden.concurrency.optimistic import change_atomically
from memwarden.errors import Conflict, InvalidInput, NotFound
from memwarden.models.protocols import Embedder
from memwarden.recall.index.encode import make_signals_in_thread
from memwarden.records import (
    Batch,
    BatchChange,
    Channel,
    Consent,
    ConsentState,
    Event,
    Memory,
    MemoryState,
    MessageResult,
    Namespace,
    Outcome,
    Put,
    Remove,
    Scope,
    Signals,
    Trust,
    UserContext,
    WriteMode,
    WriteResult,
)
from memwarden.records import JournalEntry as Entry
from memwarden.remember.resolve.user_context import (
    CATEGORY,
    CONSENT_FIELDS,
    CONTEXT_ID,
    GOALS_ADD,
    MAX_GOALS,
    TONE,
    VALUES,
    ContextEdit,
    apply_decision,
    apply_edit,
    context_payload,
    context_text,
    is_empty,
    is_same,
    read_answer,
    read_context,
)
from memwarden.remember.write_store import is_reserved
from memwarden.stores.protocol import BatchStore

# How long a proposal waits for consent before it expires.
PROPOSAL_LIFETIME = timedelta(days=7)
# A single turn may be a joke or a slip. Where no consent is required, a second turn that says the same is enough.
MIN_SIGNALS = 2


class ConsentStep(StrEnum):
    """The step that is taken about a proposed change."""

    NOTHING = "nothing"
    APPLY = "apply"
    PROPOSE = "propose"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class PendingProposal:
    """A pending proposal. signals: the turns that speak for it."""

    id: str
    edit: ContextEdit
    signals: frozenset[str]


@dataclass(frozen=True, slots=True)
class ConsentVerdict:
    """The decision about a change, and its reason.

    Attributes:
        closes: proposals of the same change that are closed; for WAIT the proposal that goes on waiting.
        signals: every turn that speaks for it.
    """

    edit: ContextEdit
    step: ConsentStep
    reason: str
    closes: tuple[str, ...] = ()
    signals: frozenset[str] = frozenset()


def judge_edit(
    context: UserContext,
    waiting: Iterable[PendingProposal],
    edit: ContextEdit,
    signals: frozenset[str],
    *,
    confident: bool = False,
    suspicious: bool = False,
) -> ConsentVerdict:
    """Decide about a change.

    Args:
        waiting: the proposals that wait now. signals: turns of the person that speak for the change.
        confident: an insight that is sure of it says so. suspicious: its words look like orders for an assistant.
    """
    waiting = list(waiting)
    if apply_edit(context, edit) == context:
        return ConsentVerdict(edit, ConsentStep.NOTHING, "nothing to change: the user context says so already")
    if edit.field == GOALS_ADD and len(context.goals) >= MAX_GOALS:
        return ConsentVerdict(edit, ConsentStep.NOTHING, f"there are {MAX_GOALS} goals, the most; remove a goal first")
    same = [item for item in waiting if is_same(item.edit, edit)]
    ids = tuple(item.id for item in same)
    heard = signals.union(*(item.signals for item in same))
    asks = _why_ask(context, waiting, edit, suspicious)
    if asks is None and (confident or len(heard) >= MIN_SIGNALS):
        reason = f"heard in {len(heard)} turns" if len(heard) >= MIN_SIGNALS else "a confident insight"
        return ConsentVerdict(edit, ConsentStep.APPLY, reason, ids, heard)
    reason = asks or f"heard in {len(heard)} of {MIN_SIGNALS} turns; waits for more or for consent"
    if same and (edit.field in CONSENT_FIELDS or any(heard == item.signals for item in same)):
        return ConsentVerdict(edit, ConsentStep.WAIT, f"it waits already: {reason}", ids[:1], heard)
    return ConsentVerdict(edit, ConsentStep.PROPOSE, reason, ids, heard)


def _why_ask(
    context: UserContext, waiting: Sequence[PendingProposal], edit: ContextEdit, suspicious: bool
) -> str | None:
    """Return why the change needs consent, however often it was said; None when it does not."""
    if edit.field in CONSENT_FIELDS:
        return f"{edit.field} changes with consent only"
    if edit.field not in (TONE, GOALS_ADD) or edit.value is None:
        return "what is taken out is taken out with consent only"
    if suspicious:
        return "its words look like orders for an assistant; it waits for consent"
    if edit.field in context.decided:
        return f"the person decided on {edit.field}; it waits for consent"
    if edit.field == TONE and any(item.edit.field == TONE and not is_same(item.edit, edit) for item in waiting):
        return "another tone waits, too; it waits for consent"
    return None


def check_context_undo(entries: Sequence[Entry]) -> None:
    """Raise Conflict for a decision on a user context that cannot be taken back by an undo.

    An undo takes an approval back. It does not take the undo back: that would bring a value without consent.
    """
    changed = {entry.memory_id for entry in entries if is_reserved(entry.memory_id)}
    if not changed:
        return
    if CONTEXT_ID not in changed:
        raise Conflict(f"change {entries[0].step} is about a proposal for the user context; propose it again instead")
    if any("undoes" in (entry.meta or {}) for entry in entries):
        raise Conflict(
            f"change {entries[0].step} took a change of the user context back; propose that again: it needs consent"
        )


def was_closed_while_pending(entry: Entry) -> bool:
    """Whether an entry says that something stored apart was closed. An undo leaves it closed."""
    closed = entry.event in (Event.DELETE, Event.CONFIRM)
    return closed and entry.old_version is None and entry.new_version is None


def state_after(approved: bool) -> tuple[MemoryState, Event]:
    """Return the state of a decided proposal, and the journal's event for the decision."""
    return (MemoryState.MERGED, Event.CONFIRM) if approved else (MemoryState.SOFT_DELETED, Event.DELETE)


# A person who is asked more than this answers nothing.
MAX_PENDING = 1_000
# A yes belongs to a question that was asked just now.
MAX_TURNS_BACK = 50
# As long as forgotten memories are kept; the journal's entries stay on.
RETENTION_AFTER_DECISION = timedelta(days=30)
# Proposals share their source with the context and differ in their ids.
_PROPOSALS = filters.parse({"source": CONTEXT_ID, "channel": Channel.STATE})


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The state that a decision is made on."""

    rev: int
    at: datetime
    held: Memory | None
    context: UserContext
    waiting: tuple[Memory, ...]
    expired: tuple[Memory, ...]


class Proposals:
    """Proposes and decides changes of user contexts. Holds no state of its own."""

    def __init__(
        self,
        store: BatchStore,
        embedder: Embedder | None,
        now: Callable[[], datetime] = lambda: clock.now(),
        *,
        strict: bool = False,
    ) -> None:
        self._store = store
        self._strict = strict
        self._embedder = embedder
        self.now = now

    async def context(self, namespace: Namespace) -> UserContext:
        """Return the user context that holds now."""
        return read_context(await self._read_context_memory(namespace))

    async def propose(
        self,
        scope: Scope,
        edits: Sequence[ContextEdit],
        sources: Sequence[str],
        confident: bool,
        *,
        said_at: datetime | None = None,
    ) -> WriteResult:
        """Apply the changes that need no consent, and propose the others.

        said_at: since when proposals wait, where they were said before now.
        """
        from memwarden.security.injection import (
            find_suspicion,  # their word lists are for those alone who propose something
        )
        from memwarden.security.secrets import redact

        namespace = scope.namespace
        edits = [
            edit if edit.value is None else replace(edit, value=redact(edit.value, strict=self._strict).text)
            for edit in edits
        ]
        signals = await self._signals(namespace, sources)
        suspicious = [edit.value is not None and bool(find_suspicion(edit.value)) for edit in edits]

        async def propose() -> WriteResult:
            now = await self._take_snapshot(namespace)
            context, verdicts = now.context, list[ConsentVerdict]()
            waiting = [_pending_proposal(item) for item in now.waiting]
            for edit, doubt in zip(edits, suspicious, strict=True):
                verdict = judge_edit(context, waiting, edit, signals, confident=confident, suspicious=doubt)
                context = apply_edit(context, edit) if verdict.step == ConsentStep.APPLY else context
                verdicts.append(verdict)
            ids = [_proposal_id(verdict) for verdict in verdicts]
            changes = [
                *_expire_proposals(now),
                *await self._changes(scope, now, context, verdicts, ids, said_at or now.at),
            ]
            rev = await self._apply(namespace, changes, now, scope.actor or scope.agent)
            return WriteResult(rev, tuple(_result_of(item, name) for item, name in zip(verdicts, ids, strict=True)))

        return await change_atomically(namespace, propose)

    async def consents(self, namespace: Namespace, state: str | None, limit: int) -> list[Consent]:
        """Return proposals in a state, or all, the newest first."""
        now = await self._take_snapshot(namespace)
        found = [*now.waiting, *now.expired]
        if state not in (ConsentState.PENDING,):
            for closed in (MemoryState.SOFT_DELETED, MemoryState.MERGED):
                found += await self._store.find(namespace, _PROPOSALS, limit=MAX_PENDING, state=closed)
        ours = [item for item in found if item.id.startswith(CONTEXT_ID)]
        ours.sort(key=lambda item: (item.created_at, item.id), reverse=True)
        told: list[Consent] = []
        for our in ours:
            consent = await self._consent(our, now)
            if state in (None, consent.state) and len(told) < limit:
                told.append(consent)
        return told

    async def decide(
        self, scope: Scope, consent_id: str, approve: bool, *, way: str, by: str, turns: Sequence[str] = ()
    ) -> Consent:
        """Make a proposed change, or decline it.

        Raises NotFound, Conflict for a proposal that was decided already, by whoever, or that has expired.
        """
        namespace = scope.namespace

        async def decide() -> Consent:
            now = await self._take_snapshot(namespace)
            chosen = next((item for item in now.waiting if item.id == consent_id), None)
            if chosen is None:
                raise await self._refusal(namespace, consent_id, now, by)
            changes = await self._decision(scope, now, chosen, approve, {"by": by, "way": way}, turns)
            await self._apply(namespace, [*_expire_proposals(now), *changes], now, scope.actor or scope.agent or by)
            (decided,) = await self._store.get(namespace, [consent_id], removed=True)
            return await self._consent(decided, now)

        return await change_atomically(namespace, decide)

    async def acknowledge(self, scope: Scope, turn_id: str) -> list[Consent]:
        """Decide what a person's turn answers with a plain yes or no. Raises NotFound for no turn of theirs."""
        namespace = scope.namespace
        asked, said = await self._question_before(namespace, turn_id, scope.user)
        if asked is None:
            return []
        decided: list[Consent] = []
        for item in (await self._take_snapshot(namespace)).waiting:
            # Asked before it was proposed: that question was about something else.
            answer = read_answer(asked.text, said.text, _edit_of(item)) if item.created_at <= asked.updated_at else None
            if answer is None:
                continue
            turns = (asked.id, said.id)
            try:
                decided.append(await self.decide(scope, item.id, answer, way="chat", by=scope.user, turns=turns))
            except Conflict:
                continue  # decided on otherwise in the meantime
        return decided

    async def _question_before(self, namespace: Namespace, turn_id: str, user: str) -> tuple[Memory | None, Memory]:
        """Return the assistant's turn right before a turn of the person, or None, and that turn."""
        found = await self._store.get(namespace, [turn_id])
        if not found or found[0].channel != Channel.TURN:
            raise NotFound(f"no turn {turn_id!r} in {namespace.path}")
        (said,) = found
        theirs = said.name is None or said.name.casefold() == user.casefold()
        if said.role != "user" or said.trust != Trust.PERSON or not theirs:
            raise NotFound(f"{turn_id!r} is no turn of {user!r} in {namespace.path}: nobody else can consent")
        where = filters.parse({"thread_id": {"$eq": said.thread_id}, "channel": Channel.TURN})
        last = await self._store.find(namespace, where, limit=MAX_TURNS_BACK, order_by=filters.WRITTEN)
        places = [place for place, item in enumerate(last) if item.id == turn_id]
        before = last[places[0] + 1] if places and places[0] + 1 < len(last) else None
        return (before if before is not None and before.role == "assistant" else None), said

    async def _read_context_memory(self, namespace: Namespace) -> Memory | None:
        found = await self._store.get(namespace, [CONTEXT_ID])
        return found[0] if found else None

    async def _take_snapshot(self, namespace: Namespace) -> _Snapshot:
        rev = (await self._store.head(namespace)).rev  # first: what changes after it makes the decision Stale
        at = self.now()
        held = await self._read_context_memory(namespace)
        found = await self._store.find(namespace, _PROPOSALS, limit=MAX_PENDING, state=MemoryState.PROPOSED)
        ours = [item for item in found if item.id.startswith(CONTEXT_ID)]
        waiting = tuple(our for our in ours if not _is_expired(our, at))
        expired = tuple(our for our in ours if _is_expired(our, at))
        return _Snapshot(rev, at, held, read_context(held), waiting, expired)

    async def _signals(self, namespace: Namespace, sources: Sequence[str]) -> frozenset[str]:
        """Return the person's turns that sources rest on, each once: only a person's turn is a signal."""
        found = await self._store.get(namespace, sources) if sources else []
        return frozenset(
            turn
            for item in found
            if item.trust == Trust.PERSON and item.role != "assistant" and _is_said(item)
            for turn in item.sources or (item.id,)
        )

    async def _changes(
        self,
        scope: Scope,
        now: _Snapshot,
        context: UserContext,
        verdicts: Sequence[ConsentVerdict],
        ids: Sequence[str],
        since: datetime,
    ) -> list[BatchChange]:
        """Return the changes of verdicts: what is applied at once is a single decision, each proposal another."""
        changes: list[BatchChange] = []
        for step, (entry, name) in enumerate(zip(verdicts, ids, strict=True), 2):
            if entry.step == ConsentStep.PROPOSE:
                state = ConsentState.REPLACED
                changes += [
                    _close_proposal(closed, now.at, state, {"field": entry.edit.field}, step) for closed in entry.closes
                ]
                put = replace(_memory_of_proposal(scope, name, entry, now.at), created_at=since)
                meta = {"field": entry.edit.field, "signals": len(entry.signals)}
                expires = since + PROPOSAL_LIFETIME
                changes.append(Put(put, Signals(), state=MemoryState.PROPOSED, purge_at=expires, step=step, meta=meta))
        made = [verdict for verdict in verdicts if verdict.step == ConsentStep.APPLY]
        for item in made:
            rule = {"field": item.edit.field, "rule": item.reason}
            changes += [_close_proposal(closed, now.at, ConsentState.APPLIED, rule, 1) for closed in item.closes]
        if made:
            told = {"fields": [item.edit.field for item in made], "rules": [item.reason for item in made]}
            meta = {"consent": ConsentState.APPLIED, **told}
            changes += await self._write(scope, now, context, meta, 1)
        return changes

    async def _decision(
        self,
        scope: Scope,
        now: _Snapshot,
        chosen: Memory,
        approve: bool,
        told: dict[str, Any],
        turns: Sequence[str],
    ) -> list[BatchChange]:
        edit = _edit_of(chosen)
        state = ConsentState.APPROVED if approve else ConsentState.DECLINED
        told = {"field": edit.field, **told, **({"turns": list(turns)} if turns else {})}
        changes: list[BatchChange] = [_close_proposal(chosen.id, now.at, state, told, 1)]
        context = apply_decision(now.context, edit)
        if approve and context != now.context:
            if len(context.goals) > MAX_GOALS:
                raise InvalidInput(
                    f"there are {MAX_GOALS} goals, the most; remove a goal first, then approve this proposal"
                )
            meta = {"consent": state, **told, "proposal": chosen.id}
            changes += await self._write(scope, now, context, meta, 1)
        return changes

    async def _write(
        self, scope: Scope, now: _Snapshot, context: UserContext, meta: dict[str, Any], step: int
    ) -> list[BatchChange]:
        """Return the changes that store a context. It names no sources: a memory stands for its turns in answers, and
        those say more than a city."""
        if is_empty(context):
            gone = Remove(CONTEXT_ID, purge_at=now.at + RETENTION_AFTER_DECISION, step=step, meta=meta)
            return [] if now.held is None else [gone]
        text = context_text(context)
        created_at = now.held.created_at if now.held is not None else now.at
        memory = Memory(
            id=CONTEXT_ID,
            namespace=scope.namespace,
            text=text,
            created_at=created_at,
            updated_at=now.at,
            channel=Channel.STATE,
            category=CATEGORY,
            payload=context_payload(context),
            user_id=scope.user,
        )
        (signals,) = await make_signals_in_thread([(text, created_at)], self._embedder)
        mode = WriteMode.UPSERT if now.held is None else WriteMode.UPDATE
        return [Put(memory, signals, mode, step=step, meta=meta)]

    async def _apply(
        self, namespace: Namespace, changes: Sequence[BatchChange], now: _Snapshot, actor: str | None
    ) -> int:
        if not changes:
            return now.rev
        batch = Batch(namespace, tuple(changes), now.at, actor=actor, decided_at=now.rev)
        return (await self._store.apply(batch)).rev

    async def _refusal(self, namespace: Namespace, consent_id: str, now: _Snapshot, by: str) -> NotFound | Conflict:
        """Return the error that says why there is nothing to decide."""
        if any(item.id == consent_id for item in now.expired):
            await self._apply(namespace, list(_expire_proposals(now)), now, by)
        found = await self._store.get(namespace, [consent_id], removed=True)
        if not found or not consent_id.startswith(CONTEXT_ID + "."):
            return NotFound(f"no consent {consent_id!r} in {namespace.path}; consent.proposals lists them")
        was = await self._consent(found[0], now)
        who = f" by {was.decided_by} ({was.way})" if was.decided_by else ""
        when = f" at {was.decided_at:%Y-%m-%d %H:%M} UTC" if was.decided_at else ""
        return Conflict(f"consent {consent_id!r} is {was.state} already{who}{when}; propose the change again")

    async def _consent(self, memory: Memory, now: _Snapshot) -> Consent:
        """Return a proposal as the caller sees it, with the decision from the journal."""
        edit = _edit_of(memory)
        plain = Consent(
            memory.id,
            edit.field,
            edit.value,
            getattr(now.context, edit.field) if edit.field in VALUES else None,
            ConsentState.EXPIRED if _is_expired(memory, now.at) else ConsentState.PENDING,
            memory.sources,
            memory.created_at,
            memory.purge_at if memory.state == MemoryState.PROPOSED else memory.created_at + PROPOSAL_LIFETIME,
        )
        if memory.state == MemoryState.PROPOSED:
            return plain
        last = await self._store.journal(memory.namespace, memory_id=memory.id, descending=True, limit=1)
        meta = (last[0].meta or {}) if last else {}
        return replace(
            plain,
            replaces=None,
            state=ConsentState(meta.get("consent", ConsentState.EXPIRED)),
            decided_at=last[0].at if last else None,
            decided_by=meta.get("by"),
            way=meta.get("way"),
        )


def _is_said(memory: Memory) -> bool:
    """Whether a memory is a turn, or no statement of an agent: what an agent states itself is nobody's signal."""
    return memory.channel == Channel.TURN or memory.agent_id is None


def _is_expired(memory: Memory, at: datetime) -> bool:
    return memory.purge_at is not None and memory.purge_at <= at


def _edit_of(memory: Memory) -> ContextEdit:
    held = memory.payload or {}
    return ContextEdit(held["field"], held["value"])


def _pending_proposal(memory: Memory) -> PendingProposal:
    return PendingProposal(memory.id, _edit_of(memory), frozenset(memory.sources))


def _close_proposal(proposal: str, at: datetime, state: ConsentState, told: dict[str, Any], step: int) -> Remove:
    into, event = state_after(state in (ConsentState.APPROVED, ConsentState.APPLIED))
    meta = {"consent": state, **told}
    return Remove(proposal, into, event, at + RETENTION_AFTER_DECISION, step=step, meta=meta)


def _expire_proposals(now: _Snapshot) -> list[Remove]:
    """Close what waited too long."""
    return [
        _close_proposal(item.id, now.at, ConsentState.EXPIRED, {"field": _edit_of(item).field}, -number)
        for number, item in enumerate(now.expired, 1)
    ]


def _proposal_id(verdict: ConsentVerdict) -> str:
    """The id of what a verdict leaves behind."""
    if verdict.step == ConsentStep.WAIT:
        return verdict.closes[0]
    return f"{CONTEXT_ID}.{uuid_utils.uuid7()}" if verdict.step == ConsentStep.PROPOSE else CONTEXT_ID


def _memory_of_proposal(scope: Scope, name: str, verdict: ConsentVerdict, at: datetime) -> Memory:
    edit = verdict.edit
    return Memory(
        id=name,
        namespace=scope.namespace,
        text=f"{edit.field}: {edit.value or 'nothing'}",
        created_at=at,
        updated_at=at,
        channel=Channel.STATE,
        category=CATEGORY,
        source=CONTEXT_ID,
        sources=tuple(sorted(verdict.signals)),
        payload={"field": edit.field, "value": edit.value},
        user_id=scope.user,
        agent_id=scope.agent,
        run_id=scope.run,
        actor_id=scope.actor,
        thread_id=scope.thread,
    )


def _result_of(verdict: ConsentVerdict, name: str) -> MessageResult:
    outcomes = {ConsentStep.NOTHING: Outcome.REJECTED, ConsentStep.APPLY: Outcome.UPDATED}
    outcome = outcomes.get(verdict.step, Outcome.PROPOSED)
    return MessageResult(
        None if verdict.step == ConsentStep.NOTHING else name, outcome, f"{verdict.edit.field}: {verdict.reason}"
    )
