"""Imports what other programs keep: checked as a whole first, then written part by part. Known entries are skipped."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memwarden import checks as scale
from memwarden import clock, filters
from memwarden.agent.state import AsyncState, read_saved
from memwarden.api.scope import AsyncScope
from memwarden.arguments import check_category, check_kind
from memwarden.errors import Denied, InvalidInput, NotFound
from memwarden.records import ALREADY, MAX_PARTS, Channel, Namespace, Outcome, Scope, Trust, WriteResult
from memwarden.remember.documents import DocumentRehearsal, DocumentWriter, read_documents
from memwarden.remember.imports.graph import ENTITIES, RELATIONS
from memwarden.remember.imports.langgraph_postgres import SCHEMES, PostgresSource
from memwarden.remember.imports.memories import check_channel
from memwarden.remember.imports.records import (
    ImportedDocument,
    ImportedNode,
    ImportedStatement,
    ImportedThread,
    ImportRecord,
    MalformedPart,
    Refuse,
    digest_parts,
    in_parts,
    raise_malformed,
)
from memwarden.remember.imports.registry import find_reader
from memwarden.remember.imports.source import ImportOptions, ImportSource
from memwarden.remember.ingest.messages import (
    checked_metadata,
    checked_name,
    checked_names,
    read_messages,
    read_time,
)
from memwarden.text.language import checked_text

if TYPE_CHECKING:
    from memwarden.runtime.services import Runtime
    from memwarden.stores.protocol import Store

# Records that are read at a time, off the event loop.
READ_AHEAD = 20
LANGGRAPH = "langgraph"
DEFAULT_USER = "default"
# Bytes of files from which an import holds one model at a time.
LARGE_IMPORT = 32 * 1024**2
# Between two looks at how much has its vectors.
WAIT_SECONDS = 0.5
# Rows that the filler is given at a time: it keeps their ids.
_FILLED = 2_000
# Turns that are read at a time to compare what comes with them.
_PAGE = 100
ImportTick = Callable[[int, int], object]
Sift = Callable[[ImportRecord, Refuse], ImportRecord | None]
# Reasons that an error names.
_REASONS = 20


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """The counts of an import.

    Attributes:
        formats: of the files, in their order. users: whose memories it went to.
        stored: messages and statements that are new. known: those that were there.
        ended: statements that their documents no longer make, and what rested on them.
        linked: links between notes that are new. nodes: entities and relations of graphs that are new.
        skipped: what was left out, by reason. refused: malformed entries by their place,
            and what the store would not take by reason. Each with its count.
        undated: messages and statements without a time of their own, which count as said now.
        first_at, last_at: the earliest and the latest time, ISO 8601.
        dry_run: whether nothing was written. Stored is then what would be.
    """

    formats: tuple[str, ...]
    users: tuple[str, ...]
    threads: int
    documents: int
    stored: int
    known: int
    ended: int
    linked: int
    nodes: int
    undated: int
    skipped: Mapping[str, int]
    refused: Mapping[str, int]
    first_at: str | None
    last_at: str | None
    dry_run: bool


@dataclass(slots=True)
class _Counts:
    """What is counted while records pass by."""

    skipped: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    users: dict[str, None] = field(default_factory=dict)
    threads: dict[tuple[str, str], None] = field(default_factory=dict)
    total: int = 0
    documents: int = 0
    stored: int = 0
    known: int = 0
    nodes: int = 0
    undated: int = 0
    times: list[datetime] = field(default_factory=list)

    def add(self, record: ImportRecord, user: str | None) -> None:
        """Count a checked record."""
        self.skipped.update(record.skipped)
        whose = user or record.user or DEFAULT_USER
        if isinstance(record, ImportedThread):
            for message in record.messages:
                self.note(read_time(message))
            self.total += len(record.messages)
            self.threads[whose, record.thread] = None
        elif isinstance(record, ImportedDocument):
            for statement in record.statements:
                self.note(statement.created_at or statement.valid_from)
            self.documents += bool(record.statements)
            self.total += len(record.statements)
        else:
            self.nodes += 1
        if not isinstance(record, ImportedDocument) or record.statements:
            self.users[whose] = None

    def note(self, at: datetime | None) -> None:
        if at is None:
            self.undated += 1
        else:
            known = [*self.times, at]
            self.times = [min(known), max(known)]


async def import_paths(
    runtime: Runtime,
    paths: Sequence[str | Path],
    *,
    user: str | None,
    tenant: str,
    name: str | None,
    options: ImportOptions,
    trust: str | None,
    dry_run: bool,
    progress: ImportTick | None,
    wait: bool = False,
    encoding: ImportTick | None = None,
) -> ImportSummary:
    """Import files, folders and zips. See :meth:`memwarden.api.warden.AsyncWarden.import_files`."""
    databases = [PostgresSource(str(path), options) for path in paths if is_database(path)]
    sources = [ImportSource(Path(path), options) for path in paths if not is_database(path)]
    readers = [await asyncio.to_thread(find_reader, source, name) for source in sources]
    if databases and name not in (None, LANGGRAPH):
        raise InvalidInput(f"a database is read as {LANGGRAPH}, not as {name!r:.40}")

    def read(sift: Sift) -> Iterator[ImportRecord]:
        for source, reader in zip(sources, readers, strict=True):
            if reader.name != LANGGRAPH:  # SQLite lets a program go on writing to what is read
                source.check_unchanged()
        for source, reader in zip(sources, readers, strict=True):
            yield from source.sifted(reader.read(source), sift)
        for database in databases:
            for record in database.read():
                kept = sift(record, raise_malformed)
                if kept is not None:
                    yield kept

    formats = tuple(dict.fromkeys([*(reader.name for reader in readers), *([LANGGRAPH] if databases else [])]))
    size = sum(source.size for source in sources)
    with ExitStack() as ends:
        for database in databases:
            ends.callback(database.close)
        ends.enter_context(_in_little_memory(runtime, size))
        with _write_first(runtime, size, wait=wait):
            done = await import_records(
                runtime,
                read,
                lambda: {said: count for source in sources for said, count in source.refused.items()},
                user=user,
                tenant=tenant,
                formats=formats,
                trust=trust,
                dry_run=dry_run,
                progress=progress,
            )
        if wait and not dry_run:
            await make_findable(runtime, [Scope(tenant=tenant, user=name).namespace for name in done.users], encoding)
    return done


def is_database(path: str | Path) -> bool:
    """Return whether what is imported is a database, by its URL. A path is never one."""
    return isinstance(path, str) and path.startswith(SCHEMES)


def _in_little_memory(runtime: Runtime, size: int) -> AbstractContextManager[None]:
    """Hold one model at a time while much is imported, unless both are in memory already: then somebody needs them."""
    embedder = runtime.services.embedder
    hold: Callable[[], AbstractContextManager[None]] | None = getattr(embedder, "hold_one_at_a_time", None)
    return nullcontext() if hold is None or size < LARGE_IMPORT or getattr(embedder, "ready", True) else hold()


def _write_first(runtime: Runtime, size: int, *, wait: bool) -> AbstractContextManager[None]:
    """Where models are held one at a time, let them wait until much is written: each of both takes its memory.

    wait: whether the caller goes through all rows then.
    """
    filler = runtime.services.filler
    alternating = getattr(runtime.services.embedder, "alternating", False)
    return nullcontext() if filler is None or size < LARGE_IMPORT or not alternating else filler.pause(collect=not wait)


async def import_records(
    runtime: Runtime,
    read: Callable[[Sift], Iterable[ImportRecord]],
    refused: Callable[[], Mapping[str, int]],
    *,
    user: str | None,
    tenant: str,
    formats: tuple[str, ...],
    trust: str | None = None,
    dry_run: bool = False,
    progress: ImportTick | None = None,
) -> ImportSummary:
    """Import records: all of them are checked, and then read a second time and written.

    read: begins the records anew, and sifts each. refused: malformed entries that reading left out, by place.
    user: whose they are, whatever the records say.
    """
    if trust is not None:
        scale.word(Trust).check(trust, "trust")
    checked = _Counts()
    try:
        async for record in _stream(read(lambda record, refuse: _sift(record, runtime, user, refuse))):
            checked.add(record, user)
    except MalformedPart as error:
        raise InvalidInput(f"{error}; nothing was imported") from None
    checked.refused.update(refused())
    if not (checked.total or checked.documents or checked.nodes):
        reasons = {**checked.skipped, **checked.refused}
        left_out = "; ".join(f"{what} ({count})" for what, count in list(reasons.items())[:_REASONS])
        raise InvalidInput(f"there is nothing to import{': ' + left_out if left_out else ''}")
    writer = RecordWriter(runtime, user, tenant, trust=trust, dry_run=dry_run)
    try:
        async for record in _stream(read(lambda record, refuse: _sift(record, runtime, user, refuse))):
            await writer.write(record)
            if progress is not None:
                progress(writer.done, checked.total)
    except MalformedPart as error:  # it was whole when it was checked
        left = f"{writer.done:,} of {checked.total:,} are in" if writer.done else "nothing was imported"
        raise InvalidInput(f"{error}; {left}: import it again once nobody writes to it") from None
    await writer.finish()
    return writer.summarise(checked, formats)


async def make_findable(runtime: Runtime, namespaces: Sequence[Namespace], tick: ImportTick | None = None) -> None:
    """Wait until everything in some namespaces has its vectors, also what an earlier process left without.

    tick: is told how many memories have been looked at, of how many.
    """
    filler = runtime.services.filler
    if filler is None:
        return
    held = [(namespace, await runtime.store.find_ids(namespace)) for namespace in namespaces]
    total, done = sum(len(ids) for _, ids in held), 0
    for namespace, ids in held:
        for start in range(0, len(ids), _FILLED):
            some = ids[start : start + _FILLED]
            filler.add(namespace, some)
            ended = False
            while not ended:
                ended = await filler.wait(None, WAIT_SECONDS)
                if getattr(runtime.services.embedder, "alternating", False):
                    runtime.services.indexes.drop(namespace)  # made again for the next question; it copies every vector
                if tick is not None:
                    tick(done + len(some) - min(len(some), filler.lacking(namespace)), total)
            done += len(some)


async def _stream(records: Iterable[ImportRecord]) -> Any:
    """Yield records that a worker thread reads, some at a time."""
    parts = in_parts(records, READ_AHEAD)
    while part := await asyncio.to_thread(lambda: next(parts, ())):
        for record in part:
            yield record


def _sift(record: ImportRecord, runtime: Runtime, user: str | None, refuse: Refuse) -> ImportRecord | None:
    """Return what a store would take of a record. The rest is refused with its place."""
    begun = next(iter(record.spots), None) if isinstance(record, ImportedThread) else None
    try:
        checked_name(user or record.user or DEFAULT_USER, "user")
        if isinstance(record, ImportedThread):
            checked_name(record.thread, "thread")
            return _sift_messages(record, runtime, refuse)
        if isinstance(record, ImportedDocument):
            for statement in record.statements:
                _check_statement(statement, runtime)
    except InvalidInput as error:
        refuse(error if isinstance(error, MalformedPart) else MalformedPart(f"{record.where}: {error}", spot=begun))
        if not isinstance(record, ImportedDocument):
            return None
        return replace(record, statements=(), links=(), unread=True)
    return record


def _sift_messages(record: ImportedThread, runtime: Runtime, refuse: Refuse) -> ImportedThread:
    """Return a thread without the messages that no store would take."""
    spots = record.spots or (None,) * len(record.messages)
    kept: list[Mapping[str, Any]] = []
    for number, (message, spot) in enumerate(zip(record.messages, spots, strict=True), 1):
        try:
            read_messages(message, runtime.settings.max_text_bytes * MAX_PARTS)
        except InvalidInput as error:
            said = str(error).removeprefix("messages[0]")
            which = f"message {number} of {record.thread!r:.60}" if spot is None else "the message"
            refuse(MalformedPart(f"{record.where}: {which}{said}", spot=spot))
        else:
            kept.append(message)
    return record if len(kept) == len(record.messages) else replace(record, messages=tuple(kept), spots=())


def _check_statement(statement: ImportedStatement, runtime: Runtime) -> None:
    checked_text(statement.text, "text", runtime.settings.max_text_bytes * MAX_PARTS)
    check_channel(statement.channel, "channel")
    scale.check_importance(statement.importance)
    checked_names(list(statement.tags), "tags")
    checked_metadata(statement.metadata, "metadata")
    if statement.kind is not None:
        check_kind(statement.kind)
    if statement.category is not None:
        check_category(runtime.settings, statement.category)


class RecordWriter:
    """Writes checked records, each under the key of its content."""

    def __init__(self, runtime: Runtime, user: str | None, tenant: str, *, trust: str | None, dry_run: bool) -> None:
        self._runtime, self._user, self._tenant = runtime, user, tenant
        self._trust, self._dry_run = trust, dry_run
        self._documents: dict[str, DocumentWriter | DocumentRehearsal] = {}
        self._graphs: dict[str, GraphWriter] = {}
        # What the thread holds that came last: long conversations come in parts.
        self._thread: tuple[str, str] | None = None
        self._held: dict[str, str] = {}
        self._counts = _Counts()
        self.done = 0

    async def write(self, record: ImportRecord) -> None:
        """Write a record, or with a dry run count what is new in it."""
        whose = self._user or record.user or DEFAULT_USER
        if isinstance(record, ImportedThread):
            await self._observe(whose, record)
            self.done += len(record.messages)
        elif isinstance(record, ImportedDocument):
            if whose not in self._documents:
                self._documents[whose] = await self._open_documents(whose)
            await self._documents[whose].add(record)
            self.done += len(record.statements)
        else:
            if whose not in self._graphs:
                self._graphs[whose] = GraphWriter(self._runtime.store, self._scope(whose).state)
            await self._graphs[whose].add(record, dry_run=self._dry_run)

    async def finish(self) -> None:
        """Write what waits."""
        for documents in self._documents.values():
            await documents.finish()

    def summarise(self, checked: _Counts, formats: tuple[str, ...]) -> ImportSummary:
        """Return what was done, with what the check counted."""
        made = [documents.counts for documents in self._documents.values()]
        refused = checked.refused + self._counts.refused
        for documents in self._documents.values():
            refused.update(documents.refused)
        for graph in self._graphs.values():
            refused.update(graph.refused)
        times = [at.astimezone(UTC).isoformat() for at in checked.times]
        return ImportSummary(
            formats=formats,
            users=tuple(checked.users),
            threads=len(checked.threads),
            documents=checked.documents,
            stored=self._counts.stored + sum(item.stored for item in made),
            known=self._counts.known + sum(item.known for item in made),
            ended=sum(item.ended for item in made),
            linked=sum(item.linked for item in made),
            nodes=sum(graph.new for graph in self._graphs.values()),
            undated=checked.undated,
            skipped=dict(checked.skipped),
            refused=dict(refused),
            first_at=times[0] if times else None,
            last_at=times[-1] if times else None,
            dry_run=self._dry_run,
        )

    def _scope(self, user: str, thread: str | None = None) -> AsyncScope:
        return AsyncScope(self._runtime, Scope(tenant=self._tenant, user=user, thread=thread))

    async def _observe(self, user: str, record: ImportedThread) -> None:
        me = self._scope(user, record.thread)
        if self._thread != (user, record.thread):
            self._thread, self._held = (user, record.thread), await self._read_thread(me)
        new = [item for item in record.messages if self._held.get(item["id"]) != digest_parts(_words_of(item))]
        self._counts.known += len(record.messages) - len(new)
        if self._dry_run:
            self._counts.stored += len(new)
        elif new:
            self._count(await me.observe(new))
        self._held.update((item["id"], digest_parts(_words_of(item))) for item in new)

    async def _read_thread(self, me: AsyncScope) -> dict[str, str]:
        """Return the ids of a thread's turns, with fingerprints of their words."""
        where = filters.parse({"thread_id": me.who.thread, "channel": Channel.TURN})
        store, held = self._runtime.store, dict[str, str]()
        ids = await store.find_ids(me.who.namespace, where)
        for start in range(0, len(ids), _PAGE):
            turns = await store.get(me.who.namespace, ids[start : start + _PAGE])
            held |= {turn.sources[0]: digest_parts(turn.text) for turn in turns if turn.sources}
        return held

    def _count(self, result: WriteResult) -> None:
        for item in result.results:
            if item.outcome == Outcome.REJECTED:
                self._counts.refused[item.reason] += 1
            elif item.reason == ALREADY:
                self._counts.known += 1
            else:
                self._counts.stored += 1

    async def _open_documents(self, user: str) -> DocumentWriter | DocumentRehearsal:
        me = self._scope(user)
        known = await read_documents(self._runtime.store, me.who.namespace)
        services, category = self._runtime.services, self._runtime.settings.categories.default_for(None)
        return (
            DocumentRehearsal(known)
            if self._dry_run
            else DocumentWriter(services.guard, services.writer, me.who, known, trust=self._trust, category=category)
        )


def _words_of(message: Mapping[str, Any]) -> str:
    """The words of a message as they are stored."""
    return str(message["content"])


class GraphWriter:
    """Adds entities and relations to the knowledge graph that the graph tools of MCP show.

    It knows them by their names and by fingerprints of what they say.
    """

    def __init__(self, store: Store, state: AsyncState) -> None:
        self._store, self._state = store, state
        self._keys: dict[str, str] | None = None
        self._said: dict[str, set[str]] = {}
        self._relations: set[str] = set()
        self.new = 0
        self.refused = Counter[str]()

    async def add(self, record: ImportedNode, *, dry_run: bool) -> None:
        """Add a node, or to an entity that is there what it does not hold yet."""
        if self._keys is None:
            self._keys = await self._read_graph()
        node = dict(record.node)
        if "name" not in node:
            relation = digest_parts(sorted(node.items()))
            if relation not in self._relations:
                self._relations.add(relation)
                await self._save(f"{RELATIONS}{clock.new_id()}", node, dry_run=dry_run)
            return
        name, said = str(node["name"]), node["observations"]
        known = self._said.get(name)
        new = [text for text in said if known is None or digest_parts(text) not in known]
        if known is not None and not new:
            return
        self._said.setdefault(name, set()).update(map(digest_parts, new))
        key = self._keys.setdefault(name, f"{ENTITIES}{clock.new_id()}")
        if known is not None and not dry_run:
            with suppress(NotFound):  # refused before, or cleared meanwhile: then it is new
                there = await self._state.load(key)
                node = {**there, "observations": [*there["observations"], *new]}
        await self._save(key, node, dry_run=dry_run)

    async def _read_graph(self) -> dict[str, str]:
        """Note what is saved. Return the keys of entities by name."""
        keys: dict[str, str] = {}
        async for key, node in read_saved(self._store, self._state.who.namespace, (ENTITIES, RELATIONS)):
            if key.startswith(RELATIONS):
                self._relations.add(digest_parts(sorted(node.items())))
            elif "name" in node:
                keys[node["name"]] = key
                self._said[node["name"]] = set(map(digest_parts, node["observations"]))
        return keys

    async def _save(self, key: str, node: Mapping[str, Any], *, dry_run: bool) -> None:
        try:
            if not dry_run:
                await self._state.save(key, node, trust=Trust.EXTERNAL)
            self.new += 1
        except Denied as error:  # it looks like orders to an assistant
            self.refused[str(error)] += 1
