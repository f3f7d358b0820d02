"""The tables of a namespace in memory."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from memwarden import clock
from memwarden.filters import Where, matches
from memwarden.records import JournalEntry, Memory, MemoryState, Namespace
from memwarden.stores.shared.decide import find_dropped, find_purged, may_leave
from memwarden.stores.transfer.erasure import ERASED, MARK_SEPARATOR, ErasedPart
from memwarden.stores.transfer.pages import (
    EarlierContent,
    IdempotentAnswer,
    KeptEdge,
    Mark,
    MemoryRow,
    Page,
    Tally,
    find_archived,
    last_revision,
)

EdgeKey = tuple[str, str, str]


@dataclass(slots=True)
class NamespaceTables:
    """The tables of a namespace. Rows lie in the order in which they were first written.

    count: how many rows were ever written. versions: earlier contents, by id and version. threads: for each thread the
    numbers of the rows that are or were in it, ascending. ids: the rows' ids by number. source_keys: the id behind each
    thread and source key (:func:`memwarden.stores.shared.decide.join_source_key`). seen, extracted: the marks of
    threads. accessed: when a memory last stood in an answer.
    """

    rev: int = 0
    epoch: int = 0
    count: int = 0
    rows: dict[str, MemoryRow] = field(default_factory=dict)
    ids: dict[int, str] = field(default_factory=dict)
    versions: dict[tuple[str, int], Memory] = field(default_factory=dict)
    threads: dict[str | None, list[int]] = field(default_factory=dict)
    source_keys: dict[str, str] = field(default_factory=dict)
    edges: dict[EdgeKey, KeptEdge] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)
    extracted: dict[str, int] = field(default_factory=dict)
    journal: list[JournalEntry] = field(default_factory=list)
    receipts: dict[str, IdempotentAnswer] = field(default_factory=dict)
    accessed: dict[str, datetime] = field(default_factory=dict)

    def is_forgotten(self, row: MemoryRow) -> bool:
        """Whether a row was an active memory until what it said was taken back. What is purged has sources then."""
        if row.memory.state != MemoryState.SOFT_DELETED:
            return row.memory.state == MemoryState.PURGED and bool(row.memory.sources)
        last = self.journal[row.rev - 1]  # the entry of a revision stands at its place
        return last.takes_back(row.memory)

    def keep(self, row: MemoryRow) -> None:
        """Insert or replace a row. New rows come in the order of their numbers."""
        identity, thread = row.memory.id, row.memory.thread_id
        self.ids[row.n] = identity
        self.rows[identity] = row
        numbers = self.threads.setdefault(thread, [])
        at = bisect_left(numbers, row.n)
        if at == len(numbers) or numbers[at] != row.n:
            numbers.insert(at, row.n)

    def content(self, memory_id: str, version: int) -> Memory | None:
        """Return a memory as it was in a version, as active. None if unknown."""
        row = self.rows.get(memory_id)
        if row is not None and row.memory.version == version:
            return None if row.memory.state == MemoryState.PURGED else as_active(row.memory)
        return self.versions.get((memory_id, version))

    def matching(self, where: Where, state: MemoryState, *, newest_first: bool = False) -> Iterable[Memory]:
        """Yield the matching memories in a state, as written. A thread condition uses the thread's index."""
        rows: Iterable[MemoryRow]
        thread = next((item for item in where if item.field == "thread_id" and item.op in ("$eq", "$in")), None)
        if thread is None:
            rows = reversed(self.rows.values()) if newest_first else self.rows.values()
        else:
            named = set(thread.value) if thread.op == "$in" else {thread.value}
            numbers = [self.threads.get(item, []) for item in named]
            wanted = numbers[0] if len(numbers) == 1 else sorted({n for some in numbers for n in some})
            rows = (self.rows[self.ids[n]] for n in (reversed(wanted) if newest_first else wanted))
        return (row.memory for row in rows if row.memory.state == state and matches(where, row.memory))

    def erase_part(self, part: ErasedPart) -> None:
        """See :meth:`memwarden.stores.protocol.Store.erase_part`."""
        gone, threads = set(part.ids), set(part.threads)
        numbers = {self.rows[item].n for item in gone if item in self.rows}
        self.rows = {name: row for name, row in self.rows.items() if name not in gone}
        self.ids = {n: name for n, name in self.ids.items() if n not in numbers}
        self.threads = {name: [n for n in of if n not in numbers] for name, of in self.threads.items()}
        self.threads = {name: of for name, of in self.threads.items() if of}
        dropped = set(part.versions)
        self.versions = {
            key: memory for key, memory in self.versions.items() if key[0] not in gone and key not in dropped
        }
        self.source_keys = {key: name for key, name in self.source_keys.items() if name not in gone}
        self.edges = {key: edge for key, edge in self.edges.items() if not gone & {key[0], key[1]}}
        self.receipts = {
            key: answer
            for key, answer in self.receipts.items()
            if not gone & {result.id for result in answer.receipt.applied}
        }
        for marks in (self.seen, self.extracted):
            for name in [name for name in marks if name.partition(MARK_SEPARATOR)[0] in threads]:
                del marks[name]
        cites, citing = part.make_finder(), set(part.citing)
        for name in citing & self.rows.keys():
            row = self.rows[name]
            self.rows[name] = replace(row, memory=_without(row.memory, part))
        self.versions = {
            key: _without(memory, part) if key[0] in citing else memory for key, memory in self.versions.items()
        }
        self.journal = [
            replace(entry, memory_id=ERASED, old_version=None, new_version=None, thread_id=None, meta=None)
            if entry.memory_id in gone
            else replace(entry, thread_id=None)
            if entry.thread_id in threads
            else entry
            for entry in self.journal
        ]
        self.journal = [
            replace(entry, meta=None) if entry.meta and cites(json.dumps(entry.meta)) else entry
            for entry in self.journal
        ]
        self.epoch += 1

    def tally(self) -> Tally:
        rows, threads = len(self.rows), len(self.seen.keys() | self.extracted.keys())
        return Tally(rows, rows, len(self.versions), len(self.journal), len(self.edges), threads, len(self.receipts))

    def page(self, namespace: Namespace, since: int, limit: int) -> Page:
        """See :meth:`memwarden.stores.protocol.Store.dump_page`."""
        rev = last_revision(since, limit, self.rev)
        changes = tuple(self.journal[since:rev])  # the entry of a revision stands at its place
        rows = sorted((row for row in self.rows.values() if since < row.rev <= rev), key=lambda item: item.rev)
        edges = sorted((edge for edge in self.edges.values() if since < edge.rev <= rev), key=lambda item: item.rev)
        answers = [receipt for receipt in self.receipts.values() if since <= receipt.receipt.rev <= rev]
        return Page(
            namespace,
            since,
            rev,
            self.rev,
            self.count,
            changes,
            tuple(rows),
            tuple(
                EarlierContent(self.rows[key[0]].n, self.versions[key])
                for key in find_archived(changes)
                if key in self.versions
            ),
            tuple(edges),
            self._marks() if rev == self.rev else (),
            tuple(sorted(answers, key=lambda item: (item.receipt.rev, item.key))),
        )

    def take_in(self, page: Page) -> None:
        """See :meth:`memwarden.stores.protocol.Store.load_page`."""
        self.follow(page)
        self.sort()
        # Nobody knows here when they were read: they are watched from now on.
        at = clock.now()
        for row in page.memories:
            self.accessed.setdefault(row.memory.id, at)
        self.epoch += 1

    def sort(self) -> None:
        """Sort the rows by first writing. A page holds them by revision."""
        self.rows = dict(sorted(self.rows.items(), key=lambda item: item[1].n))

    def follow(self, page: Page) -> None:
        """Apply a page whose new rows were first written after the present rows, as a batch makes it."""
        for memory in page.memories:
            self.keep(memory)
            if memory.source_key is not None:
                self.source_keys[memory.source_key] = memory.memory.id
        self.versions.update(((item.memory.id, item.memory.version), item.memory) for item in page.earlier)
        for edge in page.edges:
            said = edge.relation
            self.edges[said.from_id, said.to_id, str(said.type)] = edge
        self.journal.extend(page.changes)
        self._drop_versions(page.changes)
        self._drop_purged(page.changes)
        self.seen.update((mark.thread_id, mark.seen) for mark in page.marks if mark.seen is not None)
        self.extracted.update((mark.thread_id, mark.extracted) for mark in page.marks if mark.extracted is not None)
        self.receipts.update((answer.key, answer) for answer in page.answers)
        self.rev, self.count = page.rev, max(self.count, page.rows)

    def _drop_versions(self, changes: Iterable[JournalEntry]) -> None:
        """Remove the earlier contents that these entries no longer keep."""
        for memory_id, version in find_dropped(changes).items():
            key = memory_id, version - 1
            while key in self.versions:  # versions are removed from below, so under a gap there are none
                if may_leave(self.versions[key]):
                    del self.versions[key]
                key = memory_id, key[1] - 1

    def _drop_purged(self, changes: Iterable[JournalEntry]) -> None:
        """Remove the earlier contents of memories that are purged."""
        named = (self.rows.get(item) for item in find_purged(changes))
        purged = {row.memory.id for row in named if row is not None and row.memory.state == MemoryState.PURGED}
        if purged:
            self.versions = {key: kept for key, kept in self.versions.items() if key[0] not in purged}

    def _marks(self) -> tuple[Mark, ...]:
        threads = sorted(self.seen.keys() | self.extracted.keys())
        return tuple(Mark(thread, self.seen.get(thread), self.extracted.get(thread)) for thread in threads)


def _without(memory: Memory, part: ErasedPart) -> Memory:
    """Return a memory that does not name what goes as its source."""
    return replace(memory, sources=part.leave_out(memory.sources, memory.thread_id))


def as_active(memory: Memory) -> Memory:
    """Return a copy of the memory in the active state."""
    return replace(memory, state=MemoryState.ACTIVE, purge_at=None)
