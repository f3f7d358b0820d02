"""Keeps what documents state: a document that is handed over again changes only what changed in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from memwarden import clock, filters
from memwarden.concurrency.optimistic import change_atomically
from memwarden.records import (
    ALREADY,
    DOCUMENT,
    Batch,
    Channel,
    Link,
    Memory,
    MemoryState,
    MessageResult,
    Namespace,
    Outcome,
    Put,
    Scope,
    WriteMode,
    WriteResult,
)
from memwarden.remember.imports.records import MAX_PART, ImportedDocument, ImportedStatement, digest_parts
from memwarden.remember.ingest.messages import MAX_NAME, Draft
from memwarden.remember.wholes import find_other_parts
from memwarden.remember.write_store import GuardedStore
from memwarden.remember.writer import Writer
from memwarden.stores.protocol import StoreReader

# What the metadata of a document's memory says of it; an export leaves these out.
PART, ENDED = "document_part", "document_ended"
OWN_METADATA: Final = frozenset({DOCUMENT, PART, ENDED})
SOURCE = "document/"
LINKS_TO = "links_to"
NO_LONGER_STATED = "its document no longer states it"
# Statements, or changes, that a batch holds.
MAX_BATCH = 200
# Memories that are read at a time.
_PAGE = 100
_STATES = (MemoryState.ACTIVE, MemoryState.SOFT_DELETED, MemoryState.MERGED, MemoryState.QUARANTINED)
_DERIVED = (Channel.SEMANTIC, Channel.EPISODIC, Channel.INSIGHT, Channel.PROCEDURAL)


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A memory of a document. live: whether it counts in answers. ended: whether its document no longer states it."""

    id: str
    live: bool
    ended: bool


@dataclass(slots=True)
class DocumentCounts:
    """What became of the statements of documents."""

    stored: int = 0
    known: int = 0
    ended: int = 0
    linked: int = 0


async def read_documents(
    store: StoreReader, namespace: Namespace, document: str | None = None, readable: Collection[str] | None = None
) -> dict[str, dict[str, DocumentPart]]:
    """Return what is remembered of documents, or of one: by document, by the fingerprint of what it states.

    readable: the categories that the caller may read; None for all.
    """
    wanted: dict[str, object] = {f"metadata.{DOCUMENT}": {"$ne": None} if document is None else document}
    where = filters.parse(wanted if readable is None else {**wanted, "category": list(readable)})
    found: dict[str, dict[str, DocumentPart]] = {}
    for state in _STATES:
        ids = await store.find_ids(namespace, where, state=state)
        async for memory in _read_all(store, namespace, ids):
            held = memory.metadata
            part = DocumentPart(memory.id, state == MemoryState.ACTIVE and not held.get(ENDED), bool(held.get(ENDED)))
            found.setdefault(str(held[DOCUMENT]), {})[str(held.get(PART))] = part
    return found


class DocumentRehearsal:
    """Counts what a writer of documents would do."""

    def __init__(self, known: Mapping[str, Mapping[str, DocumentPart]]) -> None:
        self._known = known
        self._seen: dict[str, set[str]] = {}
        self.counts = DocumentCounts()
        self.refused: dict[str, int] = {}

    async def add(self, document: ImportedDocument) -> None:
        """Count what is new in a document, and what it no longer states."""
        if document.collection is not None:
            self._seen.setdefault(document.collection, set()).add(document.id)
        if document.unread:
            return
        known = self._known.get(document.id, {})
        stated = {statement.digest for statement in document.statements}
        there = {digest for digest in stated if digest in known and not known[digest].ended}
        self.counts.known += len(there)
        self.counts.stored += len(stated - there)
        self.counts.ended += sum(part.live for digest, part in known.items() if digest not in stated)

    async def finish(self) -> None:
        """Count what the documents that are gone stated."""
        for name in find_gone(self._known, self._seen):
            self.counts.ended += sum(part.live for part in self._known[name].values())


def find_gone(known: Iterable[str], seen: Mapping[str, Set[str]]) -> list[str]:
    """Return the known documents of the collections that were read, which are not among them now."""
    return [name for name in known if any(name.startswith(where) and name not in now for where, now in seen.items())]


class DocumentWriter:
    """Writes the documents of an import into a person's memory."""

    def __init__(
        self,
        store: GuardedStore,
        writer: Writer,
        who: Scope,
        known: dict[str, dict[str, DocumentPart]],
        *,
        trust: str | None,
        category: str,
    ) -> None:
        self._store, self._writer = store, writer
        self._who, self._trust, self._category = who, trust, category
        self._known = known
        self._waiting: list[tuple[str, ImportedStatement]] = []
        self._characters = 0
        self._going: list[str] = []
        self._coming: list[str] = []
        self._links: list[tuple[str, str]] = []
        self._seen: dict[str, set[str]] = {}
        self.counts = DocumentCounts()
        self.refused: dict[str, int] = {}

    async def add(self, document: ImportedDocument) -> None:
        """Take a document in: what is new waits for the batch, what it no longer states is ended at the end."""
        if document.collection is not None:
            self._seen.setdefault(document.collection, set()).add(document.id)
        if document.unread:
            return
        known = self._known.get(document.id, {})
        stated = {statement.digest: statement for statement in document.statements}
        for digest, statement in stated.items():
            if digest not in known:
                self._waiting.append((document.id, statement))
                self._characters += len(statement.text)
            elif known[digest].ended:
                self._coming.append(known[digest].id)
            else:
                self.counts.known += 1
        self._going += [part.id for digest, part in known.items() if digest not in stated and part.live]
        self._links += [(document.id, target) for target in document.links]
        if len(self._waiting) >= MAX_BATCH or self._characters >= MAX_PART:
            await self._flush()

    async def finish(self) -> None:
        """Store what waits, end what documents no longer state and what rested on it, and link the documents."""
        await self._flush()
        gone = find_gone(self._known, self._seen)
        self._going += [part.id for name in gone for part in self._known[name].values() if part.live]
        at = clock.now()
        await self._change(self._coming, at, end=False)
        self.counts.stored += len(self._coming)
        going = list(dict.fromkeys(self._going))
        if going:
            going += await _find_resting(self._store, self._who.namespace, going)
        await self._change(going, at, end=True)
        self.counts.ended += len(going)
        await self._link(at)

    async def _flush(self) -> None:
        waiting, self._waiting, self._characters = self._waiting, [], 0
        if not waiting:
            return
        drafts = [self._draft(document, statement) for document, statement in waiting]
        result = await self._writer.remember(self._who, drafts, None)
        for (document, statement), told in zip(waiting, result.results, strict=True):
            if told.outcome == Outcome.REJECTED or told.id is None:
                self.refused[told.reason] = self.refused.get(told.reason, 0) + 1
                continue
            self.counts.stored += 1
            self._known.setdefault(document, {})[statement.digest] = DocumentPart(told.id, live=True, ended=False)

    def _draft(self, document: str, statement: ImportedStatement) -> Draft:
        return Draft(
            text=statement.text,
            channel=statement.channel,
            kind=statement.kind,
            category=statement.category or self._category,
            importance=statement.importance,
            tags=statement.tags,
            pinned=statement.pinned,
            source=source_of(document),
            summary=statement.summary,
            context=statement.context,
            created_at=statement.created_at,
            valid_from=statement.valid_from,
            trust=self._trust,
            metadata={**statement.metadata, DOCUMENT: document, PART: statement.digest},
            expires_at=statement.valid_to,
        )

    async def _change(self, ids: Sequence[str], at: datetime, *, end: bool) -> None:
        await _change(self._store, self._who, ids, at, end=end)

    async def _link(self, at: datetime) -> None:
        edges = [edge for edge in map(self._edge, dict.fromkeys(self._links)) if edge is not None]
        for start in range(0, len(edges), MAX_BATCH):
            batch = Batch(self._who.namespace, tuple(edges[start : start + MAX_BATCH]), at, actor=self._who.actor)
            receipt = await self._store.apply(batch)
            self.counts.linked += sum(item.outcome == "created" for item in receipt.applied)

    def _edge(self, link: tuple[str, str]) -> Link | None:
        """Return the edge between the first memories of two documents, where both have any."""
        ends = [next((part.id for part in self._known.get(name, {}).values() if part.live), None) for name in link]
        return None if ends[0] is None or ends[1] is None or ends[0] == ends[1] else Link(ends[0], ends[1], LINKS_TO)


async def remember_document(
    store: GuardedStore,
    writer: Writer,
    who: Scope,
    document: str,
    drafts: Sequence[Draft],
    readable: Collection[str] | None,
) -> WriteResult:
    """Store what a document states now: what is new in it, and the end of what it no longer states.

    Returns a result for each draft, and then for each memory that ended: ``updated``. A call that was broken off is
    repeated.
    """
    known = (await read_documents(store, who.namespace, document, readable)).get(document, {})
    digests = [_digest(draft) for draft in drafts]
    new = {digest: draft for digest, draft in zip(digests, drafts, strict=True) if digest not in known}
    marked = [
        replace(draft, metadata={**(draft.metadata or {}), DOCUMENT: document, PART: digest})
        for digest, draft in new.items()
    ]
    written = (await writer.remember(who, marked, readable)).results if marked else ()
    told = dict(zip(new, written, strict=True))
    back = [known[digest].id for digest in dict.fromkeys(digests) if digest in known and known[digest].ended]
    going = [part.id for digest, part in known.items() if digest not in digests and part.live]
    going += await _find_resting(store, who.namespace, going) if going else []
    at = clock.now()
    await _change(store, who, back, at, end=False)
    await _change(store, who, going, at, end=True)
    seen: set[str] = set()
    results = []
    for digest in digests:
        results.append(_tell_part(told.get(digest), known.get(digest), again=digest in seen))
        seen.add(digest)
    results += [MessageResult(item, Outcome.UPDATED, NO_LONGER_STATED) for item in going]
    return WriteResult((await store.head(who.namespace)).rev, tuple(results))


def _tell_part(new: MessageResult | None, known: DocumentPart | None, *, again: bool) -> MessageResult:
    """Return what became of a statement of a document. again: it stands in the document twice."""
    if new is not None:
        return replace(new, reason=ALREADY) if again and new.id else new
    assert known is not None, "a statement is new, or known"
    if known.ended and not again:
        return MessageResult(known.id, Outcome.RESTORED, "the document states it again")
    return MessageResult(known.id, Outcome.CREATED, ALREADY)


def _digest(draft: Draft) -> str:
    """Return the fingerprint of a draft, the same as of an imported statement that says the same."""
    return ImportedStatement(
        draft.text,
        valid_from=draft.valid_from,
        valid_to=draft.expires_at,
        tags=draft.tags,
        metadata=draft.metadata or {},
    ).digest


async def _change(store: GuardedStore, who: Scope, ids: Sequence[str], at: datetime, *, end: bool) -> None:
    """End memories, or open them again."""
    meta = {"document": "no longer states it" if end else "states it"}
    for start in range(0, len(ids), MAX_BATCH):
        part = ids[start : start + MAX_BATCH]

        async def change(part: Sequence[str] = part) -> None:
            stated = await store.get(who.namespace, part, removed=True)
            others = await find_other_parts(store, who.namespace, stated)
            changes = tuple(
                Put(
                    _ended(memory, at) if end else _reopened(memory, at), None, WriteMode.UPDATE,
                    expected_version=memory.version, meta=meta,
                )
                for memory in await store.get(who.namespace, [*part, *others])
            )  # fmt: skip
            if changes:
                await store.apply(Batch(who.namespace, changes, at, actor=who.actor or who.agent, agent=who.agent))

        await change_atomically(who.namespace, change)


def _ended(memory: Memory, at: datetime) -> Memory:
    payload = {**memory.metadata, ENDED: True} if DOCUMENT in memory.metadata else memory.payload
    end = memory.valid_to if memory.valid_to is not None and memory.valid_to < at else max(at, memory.since)
    return replace(memory, valid_to=end, updated_at=at, payload=payload)


def _reopened(memory: Memory, at: datetime) -> Memory:
    kept = {name: value for name, value in memory.metadata.items() if name != ENDED}
    return replace(memory, valid_to=None, updated_at=at, payload=kept)


async def _find_resting(store: StoreReader, namespace: Namespace, gone: Iterable[str]) -> list[str]:
    """Return the memories that rest on nothing but what goes, and on what goes with that."""
    where = (filters.Condition("channel", "$in", tuple(map(str, _DERIVED))),)
    resting = {
        memory.id: set(memory.sources)
        async for memory in _read_all(store, namespace, await store.find_ids(namespace, where))
        if memory.sources and memory.valid_to is None
    }
    going, found = set(gone), list[str]()
    while new := [item for item, sources in resting.items() if item not in going and sources <= going]:
        going.update(new)
        found += new
    return found


async def _read_all(store: StoreReader, namespace: Namespace, ids: Sequence[str]) -> AsyncIterator[Memory]:
    """Yield memories of any state; a page of them is in memory."""
    for start in range(0, len(ids), _PAGE):
        for memory in await store.get(namespace, ids[start : start + _PAGE], removed=True):
            yield memory


def source_of(document: str) -> str:
    """Return the source of what a document states."""
    source = f"{SOURCE}{document}"
    return source if len(source) <= MAX_NAME else f"{source[: MAX_NAME - 24]}…{digest_parts(source)}"


def leave_out_own(metadata: Mapping[str, object]) -> dict[str, object]:
    """Return a memory's metadata without what an import noted of its document."""
    return {name: value for name, value in metadata.items() if name not in OWN_METADATA}
