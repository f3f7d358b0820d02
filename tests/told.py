"""What a namespace's journal tells, worked out from the journal alone, to be held against what the store answers.

An independent little model: it knows nothing of the code that writes. Used by the random sequences of
``properties/test_truth.py`` and by the kills of ``faults/``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from memwarden.clock import microseconds
from memwarden.records import JournalEntry, Memory, Namespace
from memwarden.stores.protocol import Store
from memwarden.text.signals import term_bytes

EdgeKey = tuple[str, str, str]
Key = tuple[str, int]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Told:
    """The state after one journal entry.

    active: version by id. last: the highest version that was written of each id. edges: strength by (from, to, type).
    apart: what waits, by id the event that put it there.
    """

    active: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    edges: dict[EdgeKey, float] = field(default_factory=dict)
    apart: dict[str, str] = field(default_factory=dict)

    def copy(self) -> Told:
        return Told(dict(self.active), dict(self.last), dict(self.edges), dict(self.apart))

    def take(self, entry: JournalEntry) -> None:
        """Go one entry on. AssertionError for an entry that cannot follow on this state."""
        before = self.active.get(entry.memory_id)
        assert entry.old_version == before, f"{entry} says otherwise what was active before: {before}"
        if entry.event in ("LINK", "UNLINK"):
            self._edge(entry)
        elif entry.event in ("PROPOSE", "QUARANTINE"):
            put_back = "undoes" in (entry.meta or {})
            assert entry.new_version is None
            assert put_back == (entry.memory_id in self.last), f"{entry} is not new"
            assert entry.memory_id not in self.apart, f"{entry} waits already"
            self.active.pop(entry.memory_id, None)
            self.apart[entry.memory_id] = entry.event
            self.last.setdefault(entry.memory_id, 1)
        elif entry.new_version is None:
            waited = self.apart.pop(entry.memory_id, None)
            assert (before is None) == (waited is not None), f"{entry} removes what was not there"
            self.active.pop(entry.memory_id, None)
        else:
            self._content(entry, before, entry.new_version)

    def _content(self, entry: JournalEntry, before: int | None, new: int) -> None:
        last = self.last.get(entry.memory_id, 0)
        brought_back = before is None and entry.event in ("RESTORE", "CONFIRM")
        waited = self.apart.pop(entry.memory_id, None)
        assert (waited is not None) == (entry.event == "CONFIRM"), f"{entry} confirms what did not wait, or the like"
        assert new == (last if brought_back else last + 1), f"{entry} follows on version {last}"
        assert (before is None) == (entry.event == "ADD" or brought_back), f"{entry} has a wrong name"
        self.active[entry.memory_id] = self.last[entry.memory_id] = new

    def _edge(self, entry: JournalEntry) -> None:
        told = entry.meta or {}
        key = (entry.memory_id, str(told["to"]), str(told["type"]))
        assert entry.new_version == entry.old_version, f"{entry} changes no memory"
        assert told.get("was") == self.edges.get(key), f"{entry} says otherwise what the edge was: {self.edges}"
        if entry.event == "UNLINK":
            del self.edges[key]
        else:
            assert key[0] in self.active, f"{entry} begins nowhere"
            assert key[1] in self.active, f"{entry} ends nowhere"
            self.edges[key] = float(told["strength"])


def replay(entries: Sequence[JournalEntry], states: list[Told]) -> None:
    """Append the state after each entry; states[rev] is the state at a revision, states[0] the empty one."""
    for entry in entries:
        state = states[-1].copy()
        assert entry.seq == len(states), f"{entry} is not the next one after {len(states) - 1}"
        assert 0 < entry.step <= entry.seq, f"{entry} belongs to a step that began later"
        state.take(entry)
        states.append(state)


def check_steps(journal: Sequence[JournalEntry]) -> None:
    """Every step is named by its first entry, and is one decision of one caller at one time."""
    first: dict[int, JournalEntry] = {}
    for entry in journal:
        item = first.setdefault(entry.step, entry)
        assert item.seq == entry.step, f"{entry}: step {entry.step} begins with {item.seq}"
        assert (item.at, item.actor) == (entry.at, entry.actor), f"{entry} was not written with {item}"


async def check_store(store: Store, namespace: Namespace, told: Told, since: int = 0) -> dict[str, Memory]:
    """Hold everything that a store answers about the present against what the journal told. Returns what is active.

    since: a revision; what the store says changed after it must be enough to follow.
    """
    ids = sorted(told.last)
    found = {item.id: item for item in await store.find(namespace, limit=10**6, order_by="written")}
    assert {item.id: item.version for item in found.values()} == told.active, "find"
    assert await store.get(namespace, sorted(found)) == [found[item] for item in sorted(found)], "get"
    kept = {item.id: item for item in await store.get(namespace, ids, removed=True)}
    assert {item.id: item.version for item in kept.values()} == told.last, "get, those removed too"
    assert {item for item in kept if kept[item].state == "active"} == set(found), "states"
    waits = {item for item in kept if kept[item].state in ("candidate", "quarantined", "proposed")}
    assert waits == set(told.apart), "what waits apart"
    versions = await store.versions(namespace, sorted(told.active.items()))
    assert versions == [found[item] for item in sorted(found)], "the version that the journal names is what is active"
    relations = await store.relations(namespace, ids)
    edges = {(relation.from_id, relation.to_id, relation.type): relation.strength for relation in relations}
    assert (edges, len(relations)) == (told.edges, len(edges)), "relations"
    await _check_scan(store, namespace, told, found, since)
    assert await store.count(namespace) == len(found)
    return found


async def _check_scan(store: Store, namespace: Namespace, told: Told, found: dict[str, Memory], since: int) -> None:
    whole = await store.scan(namespace)
    rows = {row.id: row for row in whole.rows if row.live}
    assert set(rows) == set(found), "scan"
    for item, row in rows.items():
        memory = found[item]
        assert row.terms == term_bytes(memory.text), f"the signals of {item} are those of other words"
        end = None if memory.valid_to is None else microseconds(memory.valid_to)
        assert (row.valid_to, row.updated_at) == (end, microseconds(memory.updated_at)), f"scan of {item}"
    assert {tuple(edge)[:3]: edge.strength for edge in whole.edges if edge.live} == told.edges, "edges of the scan"
    if since:
        later = await store.scan(namespace, since)
        touched = {item.memory_id for item in await store.journal(namespace, since=since) if "LINK" not in item.event}
        assert {row.id for row in later.rows} == touched, "what the scan says changed"


def content(memory: Memory | None) -> Memory | None:
    """A memory without what goes on by itself, to be compared to the byte. None: it is not active."""
    if memory is None:
        return None
    return replace(memory, version=0, updated_at=EPOCH, state="active", purge_at=None)
