"""The job ``weigh``: moves the importance of memories by the use that prompts made of them.

What was judged in the days that events are kept decides, and never what was decided before: when judgements are taken
back, the importance goes back; where none are left, it stays where it is. It stays near the importance that was given,
the journal says why it moved, and what somebody undid is not done again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from memwarden.observability.records import EventFilter, MemoryUse, Op, summarize_uses
from memwarden.records import UNDOES, Channel, JournalEntry, Memory, Namespace, Put, WriteMode
from memwarden.remember.write_store import is_reserved
from memwarden.stores.protocol import Store
from memwarden.upkeep.records import MOVED_BY_USE, JobChange, JobContext, JobReport

# Importance is moved by a level of five at most, in either direction.
MAX_SHIFT: Final = 0.2
# So many judgements move it by half of what more and more of them would.
HALF_EVIDENCE: Final = 5
# Somebody who says that a memory was wrong knows; that a prompt did not use it says little.
WRONG_WEIGHT: Final = 5
# What would move it by less is left.
MIN_MOVE: Final = 0.05
MAX_EVENTS_READ: Final = 10_000
# So many entries of a journal are read first; a longer one is read on to the last move.
ENTRIES_READ: Final = 50
_WEIGHED: Final = (Channel.SEMANTIC, Channel.EPISODIC, Channel.INSIGHT)


def usual_share(uses: Sequence[MemoryUse]) -> float:
    """Return in what part of their prompts memories were used, all together."""
    used = sum(use.used for use in uses)
    judged = used + sum(use.unused + WRONG_WEIGHT * use.wrong for use in uses)
    return used / judged if judged else 0.0


def find_shift(use: MemoryUse, usual: float) -> float:
    """Return by how much a memory's importance is moved. usual: in what part of their prompts all memories are used.

    Twice as often as usual is more, half as often is less; few judgements move it little.
    """
    judged = use.used + use.unused + WRONG_WEIGHT * use.wrong
    if not judged:
        return 0.0
    ahead = use.used / judged - usual
    most = 1 - usual if ahead > 0 else usual
    # Where nothing was ever of use, only what was wrong is worse than the rest.
    leaning = ahead / most if most else -float(use.wrong > 0)
    return MAX_SHIFT * leaning * judged / (judged + HALF_EVIDENCE)


def find_given(memory: Memory, entries: Sequence[JournalEntry]) -> float | None:
    """Return the importance that was given to a memory; None when somebody took such a move back.

    entries: of its journal, the newest first.
    """
    moves = {entry.step: entry for entry in entries if is_move(entry)}
    if any((entry.meta or {}).get(UNDOES) in moves for entry in entries):
        return None
    for entry in moves.values():
        told = entry.meta or {}
        # What somebody set since is given.
        return float(told["given"]) if abs(float(told["set"]) - memory.importance) < 1e-9 else memory.importance
    return memory.importance


def is_move(entry: JournalEntry) -> bool:
    """Whether a journal entry is a move of a memory's importance, which changed nothing else."""
    return (entry.meta or {}).get("rule") == MOVED_BY_USE


async def weigh(context: JobContext) -> JobReport:
    """Move the importance of what was used more or less than the rest."""
    if not context.namespace.path.startswith("user/"):
        return JobReport()
    await context.runtime.events.flush()
    where = EventFilter(op=Op.USE)
    found = await context.runtime.store.events(context.namespace, where, limit=MAX_EVENTS_READ)
    uses = {use.memory_id: use for use in summarize_uses(found)}
    taken_back = {event.memory_id for event in found if event.memory_id is not None} - set(uses)
    usual = usual_share(list(uses.values()))

    async def weigh_some(some: JobContext, ids: Sequence[str]) -> JobReport:
        return await _weigh_some(some, ids, uses, usual)

    return await context.in_parts(weigh_some, [*uses, *sorted(taken_back)])


async def _weigh_some(
    context: JobContext, ids: Sequence[str], uses: Mapping[str, MemoryUse], usual: float
) -> JobReport:
    store, namespace = context.runtime.store, context.namespace
    rev = (await store.head(namespace)).rev
    puts: list[Put] = []
    changes: list[JobChange] = []
    for memory in await store.get(namespace, ids):
        if memory.channel not in _WEIGHED or is_reserved(memory.id):
            continue
        given = find_given(memory, await _read_journal(store, namespace, memory.id))
        if given is None:
            continue
        use = uses.get(memory.id)
        shift = 0.0 if use is None else find_shift(use, usual)
        importance = round(min(1.0, max(0.0, given + (shift if abs(shift) >= MIN_MOVE else 0.0))), 2)
        back = importance == given != memory.importance
        if abs(importance - memory.importance) >= MIN_MOVE or back:
            puts.append(_move(memory, given, importance, use, len(puts)))
            changes.append(JobChange("weigh", memory.id, _tell(memory.importance, importance, use)))
    if not context.dry_run:
        await context.apply(puts, rev)
    return JobReport(tuple(changes))


async def _read_journal(store: Store, namespace: Namespace, memory_id: str) -> list[JournalEntry]:
    """Return the entries of a memory back to its last move, and to all that was undone since, the newest first."""
    limit = ENTRIES_READ
    while True:
        entries = await store.journal(namespace, memory_id=memory_id, descending=True, limit=limit)
        undone = {step for entry in entries if (step := (entry.meta or {}).get(UNDOES)) is not None}
        found = any(is_move(entry) for entry in entries) and undone <= {entry.step for entry in entries}
        if found or len(entries) < limit:
            return entries
        limit *= 4


def _move(memory: Memory, given: float, importance: float, use: MemoryUse | None, step: int) -> Put:
    """Write another importance. The rest is as it was: no delta tells it, and what came before can still be undone."""
    counts = {} if use is None else {"used": use.used, "unused": use.unused, "wrong": use.wrong}
    meta = {"rule": MOVED_BY_USE, "given": given, "set": importance, **counts, "content_of": memory.version}
    return Put(replace(memory, importance=importance), None, WriteMode.UPDATE, step=step, meta=meta)


def _tell(before: float, after: float, use: MemoryUse | None) -> str:
    moved = f"importance {before:g} to {after:g}"
    if use is None:
        return f"{moved}: what was judged is taken back"
    wrong = f", wrong in {use.wrong}" if use.wrong else ""
    return f"{moved}: used in {use.used} of {use.used + use.unused + use.wrong} prompts{wrong}"
