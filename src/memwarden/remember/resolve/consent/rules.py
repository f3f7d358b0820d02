"""Decides what becomes of a proposed change of a user context: nothing, applied, or proposed. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from memwarden.errors import Conflict
from memwarden.records import Event, MemoryState, UserContext
from memwarden.records import JournalEntry as Entry
from memwarden.remember.resolve.consent.user_context import (
    CONSENT_FIELDS,
    CONTEXT_ID,
    GOALS_ADD,
    MAX_GOALS,
    TONE,
    ContextEdit,
    apply_edit,
    is_same,
)
from memwarden.remember.write_store import is_reserved

PROPOSAL_LIFETIME = timedelta(days=7)
"""How long a proposal waits for consent before it expires."""
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
