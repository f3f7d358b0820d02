"""Removal for good: what a namespace holds, the receipt of an erasure, and the proof of absence.

A receipt holds no words: counts, some ids of memories that memwarden made, and what is left to do where no store can
reach. Its digest shows whether it was changed since.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from memwarden.errors import InvalidInput, StoreUnavailable
from memwarden.filters import Condition, Where
from memwarden.records import JournalEntry, Memory, MemoryState, Namespace
from memwarden.stores.shared.checkpoints import Checkpoints
from memwarden.stores.shared.raw_files import read_raw

FORMAT = 1
# Maximum ids in a receipt.
MAX_SAMPLE = 20
_ID_LENGTH = 36
_MADE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Bytes of a file that are looked through at once.
_CHUNK = 1 << 20


class Holdings(NamedTuple):
    """Row counts of a namespace by table, with what lies beside its memories."""

    memories: int
    signals: int
    versions: int
    journal: int
    relations: int
    threads: int
    receipts: int
    events: int
    items: int
    item_vectors: int
    checkpoints: int
    checkpoint_blobs: int
    checkpoint_writes: int
    checkpoint_threads: int


# Stands in a journal entry for what was erased: entries are counted, so none may be missing.
ERASED = "erased"
# What is left to do where a store is files.
COPIED_FILES = (
    "replicas and copies of the files, such as Litestream's or a synchronised folder's, keep older versions: let them "
    "expire, or delete them",
    "snapshots of the file system and the free blocks of the disk hold what the files held",
)
# Ends the name of a thread where the mark of an agent in it is kept.
MARK_SEPARATOR = "\x1f"


class ErasedPart(NamedTuple):
    """A part of a namespace to be removed for good.

    ids: of memories, with all that is theirs. threads: whose marks, journal and events lose their name. versions:
    earlier contents, by id and version. citing: memories that stay and name some of the ids as their sources. named:
    by thread, the ids that callers gave to what goes, which count within their thread alone.
    """

    ids: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    versions: tuple[tuple[str, int], ...] = ()
    citing: tuple[str, ...] = ()
    named: tuple[tuple[str | None, frozenset[str]], ...] = ()

    def make_finder(self) -> Callable[[str], bool]:
        """Return what tells whether a text, such as the meta of a journal entry, holds the id of what goes."""
        gone = frozenset(self.ids)
        return lambda text: not gone.isdisjoint(_MADE.findall(text))

    def leave_out(self, sources: Sequence[str], thread: str | None) -> tuple[str, ...]:
        """Return the sources of a memory of a thread without what goes."""
        gone = {*self.ids, *dict(self.named).get(thread, ())}
        return tuple(source for source in sources if source not in gone)


class ErasableStore(Protocol):
    """The part of a store that verifying takes."""

    @property
    def checkpoints(self) -> Checkpoints:
        """The saved states of agents."""

    async def get(self, namespace: Namespace, ids: Sequence[str], *, removed: bool = False) -> list[Memory]:
        """Return memories, also removed ones."""

    async def find_ids(
        self, namespace: Namespace, where: Where = (), *, state: MemoryState = MemoryState.ACTIVE
    ) -> list[str]:
        """Return the ids of memories in a state."""

    async def journal(
        self,
        namespace: Namespace,
        *,
        since: int = 0,
        memory_id: str | None = None,
        thread_id: str | None = None,
        limit: int = 1000,
    ) -> list[JournalEntry]:
        """Return journal entries."""

    @property
    def place(self) -> str:
        """Where the store is, as a URL without a login."""

    async def holdings(self, namespace: Namespace) -> Holdings:
        """Return the rows of a namespace by table."""

    async def namespaces(self) -> list[Namespace]:
        """Return every namespace that was ever written to."""

    def files(self) -> list[Path]:
        """Return the files that hold the store's bytes."""


@dataclass(frozen=True, slots=True)
class ErasureReceipt:
    """What an erasure removed, when, and what is left to the operator.

    Attributes:
        tenant, path: the namespace. store: its store, without a login. engine: name and version.
        started_at, finished_at: UTC, ISO 8601. Not finished: None, for a dry run and for an erasure that was broken
            off, which the same call brings to its end.
        sample: ids of some of the memories, to look for in the store's files.
        kinds: memories by channel, whatever their state. counts: rows by table.
        left_to_do: what holds copies where no store reaches: backups, replicas, logs.
        digest: SHA-256 over everything else.
        thread, memory: what was erased of the namespace. Both None: all of it.
    """

    tenant: str
    path: str
    store: str
    engine: str
    started_at: str
    finished_at: str | None
    kinds: Mapping[str, int]
    counts: Mapping[str, int]
    sample: tuple[str, ...] = ()
    left_to_do: tuple[str, ...] = ()
    digest: str = ""
    thread: str | None = None
    memory: str | None = None

    @property
    def namespace(self) -> Namespace:
        return Namespace(self.tenant, self.path)

    @property
    def user(self) -> str:
        """Whose memory it was."""
        return self.path.partition("/")[2]

    @property
    def total(self) -> int:
        """Rows of all tables."""
        return sum(self.counts.values())

    @property
    def whole(self) -> bool:
        """Whether all of the namespace was erased."""
        return self.thread is None and self.memory is None

    @property
    def subject(self) -> str:
        """What was erased, in words."""
        part = f"thread {self.thread} of " if self.thread else f"memory {self.memory} of " if self.memory else ""
        return f"{part}{self.path}"

    def seal(self) -> ErasureReceipt:
        """Return the receipt with its digest."""
        return replace(self, digest=_digest(self))

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"


def read_receipt(text: str) -> ErasureReceipt:
    """Return the receipt that a text holds. Raises InvalidInput when it is none, or was changed."""
    try:
        said: dict[str, Any] = json.loads(text)
        if said.pop("format") != FORMAT:
            raise InvalidInput("the receipt is of another format; use the memwarden that wrote it, or a later one")
        receipt = ErasureReceipt(**{**said, "left_to_do": tuple(said["left_to_do"]), "sample": tuple(said["sample"])})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"this is no receipt of an erasure: {error!r:.200}") from None
    if receipt.digest != _digest(receipt):
        raise InvalidInput("the receipt was changed after it was written: its digest is not that of its content")
    return receipt


async def find_traces(store: ErasableStore, receipt: ErasureReceipt) -> list[str]:
    """Return everything that contradicts a receipt. Nothing when the namespace is gone.

    Asks the store, and where it has files looks through their bytes for the sample of ids.
    """
    if receipt.store != store.place:
        return [f"the receipt is of {receipt.store}, and this is {store.place}; name the store that it is of"]
    if receipt.finished_at is None:
        return ["the erasure was not finished; repeat it"]
    found = await (_find_whole(store, receipt) if receipt.whole else _find_part(store, receipt))
    if not found:
        found += await asyncio.to_thread(_look_through, store.files(), receipt.sample)
    return found


async def _find_whole(store: ErasableStore, receipt: ErasureReceipt) -> list[str]:
    held = await store.holdings(receipt.namespace)
    found = [f"{count:,} rows in {table}" for table, count in held._asdict().items() if count]
    if receipt.namespace in await store.namespaces():
        found.append(f"the namespace {receipt.namespace} is listed")
    return found


async def _find_part(store: ErasableStore, receipt: ErasureReceipt) -> list[str]:
    """Return what is left of a thread or a memory."""
    namespace = receipt.namespace
    ids = [*receipt.sample, *([receipt.memory] if receipt.memory else [])]
    found = [f"the memory {item.id} is there" for item in await store.get(namespace, ids, removed=True)]
    found += [f"the journal names {name}" for name in ids if await store.journal(namespace, memory_id=name, limit=1)]
    if receipt.thread is not None:
        where = (Condition("thread_id", "$eq", receipt.thread),)
        for state in MemoryState:
            count = len(await store.find_ids(namespace, where, state=state))
            found += [f"{count:,} memories ({state}) of the thread"] if count else []
        if await store.journal(namespace, thread_id=receipt.thread, limit=1):
            found.append("the journal names the thread")
        if await store.checkpoints.outlines(namespace, receipt.thread):
            found.append("checkpoints of the thread")
    return found


def choose_sample(ids: Sequence[str]) -> tuple[str, ...]:
    """Return some ids of memories, evenly chosen. Only ids that memwarden made, since others may be words."""
    made = [item for item in ids if _MADE.fullmatch(item)]
    return tuple(made[:: max(1, -(-len(made) // MAX_SAMPLE))])


def _look_through(files: Sequence[Path], wanted: Sequence[str]) -> list[str]:
    """Return which files hold which ids."""
    return [f"{file} still holds {name}" for file in files for name in _find_in(file, wanted)]


def _find_in(file: Path, wanted: Sequence[str]) -> list[str]:
    names = {name: name.encode() for name in wanted}
    found = {name for block in _blocks(file, _ID_LENGTH - 1) for name, sought in names.items() if sought in block}
    return [name for name in wanted if name in found]


def _blocks(file: Path, overlap: int) -> Iterator[bytes]:
    """Yield a file in blocks that overlap, so that nothing is cut in two."""
    try:
        kept, read = b"", 0
        while chunk := read_raw(file, _CHUNK, read):
            yield kept + chunk
            kept, read = (kept + chunk)[-overlap:], read + len(chunk)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreUnavailable(f"{file} cannot be read: {error.strerror or error}") from error


def _digest(receipt: ErasureReceipt) -> str:
    said = asdict(replace(receipt, digest=""))
    # A receipt of a whole person has the digest that it had before parts could be erased.
    said = {name: value for name, value in said.items() if name not in ("thread", "memory") or value is not None}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
