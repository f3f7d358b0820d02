"""Decides what is wrong with memories, and which fix would mend it. Nothing here reads or writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memwarden.ids import DEFAULT_THREAD
from memwarden.records import AuditFinding, Channel, Fix, Flaw, Memory, MemoryState
from memwarden.remember.ingest.intake import holds_context, redact_secrets
from memwarden.remember.resolve.resolution import may_merge
from memwarden.remember.resolve.resolver import DERIVED_CHANNELS, are_comparable, is_card
from memwarden.remember.resolve.same_fact import judge
from memwarden.text.flags import Flag, content_terms

# What is corrected comes before what is forgotten, so that no fix finds its memory gone.
_ORDER = (
    Flaw.SECRET,
    Flaw.CONTRADICTION,
    Flaw.SUCCESSOR_GONE,
    Flaw.RESTATED_PROMPT,
    Flaw.CHATTER,
    Flaw.SOURCE_GONE,
    Flaw.DUPLICATE,
)


@dataclass(frozen=True, slots=True)
class OrderedMemory:
    """A memory with its place in the order of writing."""

    memory: Memory
    n: int

    @property
    def time(self) -> tuple[datetime, int]:
        """Orders memories by since when they are true."""
        return self.memory.since, self.n


@dataclass(frozen=True, slots=True)
class FactPair:
    """Two facts of which the rules say ``label``, "same" or "supersede"."""

    older: OrderedMemory
    newer: OrderedMemory
    label: str
    rule: str


def is_open_fact(memory: Memory) -> bool:
    """Whether a memory is compared with others: an open fact, and no index card."""
    return memory.channel in DERIVED_CHANNELS and memory.valid_to is None and not is_card(memory)


def check_memory(memory: Memory, flags: int) -> list[AuditFinding]:
    """Return what is wrong with a single memory. flags: of :class:`memwarden.text.flags.Flag`."""
    found = []
    cleaned, kinds = redact_secrets(memory)
    if kinds:
        why = f"it holds a secret: {', '.join(kinds)}"
        found.append(AuditFinding(Flaw.SECRET, (memory.id,), why, _fix_for_secret(cleaned)))
    if _restates_prompt(memory):
        found.append(_finding_to_forget(Flaw.RESTATED_PROMPT, memory, "it repeats what memwarden put into a prompt"))
    elif _is_small_talk(memory, flags):
        found.append(_finding_to_forget(Flaw.CHATTER, memory, "greeting, thanks or small talk alone, kept as a fact"))
    return found


def _restates_prompt(memory: Memory) -> bool:
    return any(holds_context(text) for text in (memory.text, memory.summary, memory.context) if text)


def _is_small_talk(memory: Memory, flags: int) -> bool:
    # An item with a payload says what its text does not.
    if memory.channel not in DERIVED_CHANNELS or memory.payload is not None:
        return False
    return bool(flags & Flag.CHATTER) or not content_terms(memory.text)


def _fix_for_secret(cleaned: Memory) -> Fix:
    """Every correction takes secrets out of all fields. What was said is not corrected."""
    if cleaned.channel == Channel.TURN or not cleaned.text:
        return Fix("forget", cleaned.id)
    return Fix("update", cleaned.id, {"text": cleaned.text})


def compare_facts(memory: OrderedMemory, other: OrderedMemory, cosine: float | None) -> FactPair | None:
    """Judge two facts as ``remember`` would, the older first; None when both may stand as they are."""
    older, newer = sorted((memory, other), key=lambda known: known.time)
    if not are_comparable(newer.memory, older.memory):
        return None
    judgement = judge(older.memory.text, newer.memory.text, cosine=cosine)
    same = judgement.label == "same" and may_merge(newer.memory, older.memory)
    if not same and judgement.label != "supersede":
        return None
    return FactPair(older, newer, judgement.label, judgement.rule)


def find_duplicates(pairs: Iterable[FactPair], leave_out: Collection[str]) -> list[AuditFinding]:
    """Find facts that repeat another fact; a fact that stays for a duplicate is itself kept.

    leave_out: ids of memories that go anyhow.
    """
    same = sorted(
        (pair for pair in pairs if pair.label == "same"), key=lambda item: [_rank(each) for each in _order_pair(item)]
    )
    gone = set(leave_out)
    found = []
    for item in same:
        stays, goes = (each.memory.id for each in _order_pair(item))
        if gone.isdisjoint((stays, goes)):
            gone.add(goes)
            why = f"they say the same (rule: {item.rule})"
            found.append(AuditFinding(Flaw.DUPLICATE, (stays, goes), why, Fix("forget", goes)))
    return found


def _order_pair(twins: FactPair) -> list[OrderedMemory]:
    """Return the two facts, the survivor first."""
    return sorted((twins.older, twins.newer), key=_rank)


def _rank(known: OrderedMemory) -> tuple[bool, datetime, int]:
    """Orders memories that say the same, the survivor first: a pinned memory, else the oldest."""
    return not known.memory.pinned, known.memory.since, known.n


def find_contradictions(pairs: Iterable[FactPair], leave_out: Collection[str]) -> list[AuditFinding]:
    """Find open facts that a newer open fact replaces by the rules, each with the next newer fact.

    leave_out: ids of memories that go anyhow.
    """
    next_one: dict[str, FactPair] = {}
    for pair in pairs:
        ids = {pair.older.memory.id, pair.newer.memory.id}
        if pair.label == "supersede" and ids.isdisjoint(leave_out):
            known = next_one.setdefault(pair.older.memory.id, pair)
            if pair.newer.time < known.newer.time:
                next_one[pair.older.memory.id] = pair
    return [_contradiction(item) for item in sorted(next_one.values(), key=lambda item: item.older.time)]


def _contradiction(twins: FactPair) -> AuditFinding:
    older, newer = twins.older.memory, twins.newer.memory
    why = f"the newer fact gives a new value (rule: {twins.rule}), and both hold now"
    return AuditFinding(
        Flaw.CONTRADICTION, (older.id, newer.id), why, Fix("update", older.id, {"valid_to": newer.since})
    )


class ForgottenTurns:
    """Turns that were forgotten, by the names under which facts know them."""

    def __init__(self, turns: Iterable[Memory]) -> None:
        self._ids: dict[tuple[str | None, str], str] = {}
        for turn in turns:
            self._ids[None, turn.id] = turn.id
            self._ids.update(((turn.thread_id, source), turn.id) for source in turn.sources)

    def under(self, fact: Memory) -> AuditFinding | None:
        """Return the finding for a fact whose source turns were all forgotten."""
        turns = [self._turn(fact, source) for source in fact.sources] if fact.channel != Channel.TURN else []
        known = [turn for turn in turns if turn is not None]
        if not known or len(known) < len(turns):
            return None
        why = "every turn that it rests on was forgotten"
        return AuditFinding(Flaw.SOURCE_GONE, (fact.id, *dict.fromkeys(known)), why, Fix("forget", fact.id))

    def _turn(self, fact: Memory, source: str) -> str | None:
        return self._ids.get((None, source)) or self._ids.get((fact.thread_id or DEFAULT_THREAD, source))


def find_last_successor(replaced: str, successors: Mapping[str, Sequence[str]], active: Collection[str]) -> str | None:
    """Return the last successor of a fact, when no successor is active; else None.

    Args:
        successors: of each memory what replaced it, directly. active: ids.
    """
    last, passed, waiting = None, {replaced}, list(successors.get(replaced, ()))
    while waiting:
        last = waiting.pop(0)
        if last in active:
            return None
        passed.add(last)
        waiting += [item for item in successors.get(last, ()) if item not in passed]
    return last


def check_successor(fact: Memory, last: Memory, readable: Collection[str] | None) -> AuditFinding | None:
    """Return the finding for a fact whose last successor was forgotten; None for an unreadable or merged successor."""
    if last.state != MemoryState.SOFT_DELETED or (readable is not None and last.category not in readable):
        return None
    why = "it was replaced, and what replaced it was forgotten: neither holds now"
    return AuditFinding(Flaw.SUCCESSOR_GONE, (fact.id, last.id), why, Fix("restore", last.id))


def ids_to_forget(findings: Iterable[AuditFinding]) -> set[str]:
    """The ids of memories that findings would have forgotten."""
    return {finding.fix.memory_id for finding in findings if finding.fix.verb == "forget"}


def order_findings(findings: Iterable[AuditFinding]) -> tuple[AuditFinding, ...]:
    """Return the findings in an order in which their fixes apply: nothing is forgotten or restored twice."""
    kept = []
    mended: set[tuple[str, str]] = set()
    for finding in sorted(findings, key=lambda item: _ORDER.index(Flaw(item.kind))):
        step = (finding.fix.verb, finding.fix.memory_id)
        if finding.fix.verb == "update" or step not in mended:
            mended.add(step)
            kept.append(finding)
    return tuple(kept)


def _finding_to_forget(kind: Flaw, memory: Memory, why: str) -> AuditFinding:
    return AuditFinding(kind, (memory.id,), why, Fix("forget", memory.id))
