"""The JSON file store: the memory store's tables, each namespace backed by a folder."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections import defaultdict
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from filelock import FileLock, Timeout

from memwarden import clock
from memwarden.errors import StoreCorrupt, StoreFull, StoreTooNew, StoreUnavailable
from memwarden.observability.records import DAY_SECONDS, EVERYTHING, EventFilter, OpCount, OpEvent
from memwarden.records import Batch, Fill, Namespace, Promises, Receipt
from memwarden.stores.jsonfile import folder as event_file
from memwarden.stores.jsonfile.folder import (
    FORMAT,
    SNAPSHOT,
    Folder,
    explain_os_errors,
    finish_removals,
    folder_of,
    make_folder,
    remove_folder,
    sync_folder,
)
from memwarden.stores.memory.space import NamespaceTables
from memwarden.stores.memory.store import MemoryStore
from memwarden.stores.shared.event_list import EventList
from memwarden.stores.transfer.backup import Tick, ignore_tick
from memwarden.stores.transfer.erasure import COPIED_FILES, ErasedPart, Holdings
from memwarden.stores.transfer.pages import About, Page
from memwarden.text import TERMS_VERSION
from memwarden.text.signals import make_text_signals

log = logging.getLogger(__name__)

# Default maximum of memories in a namespace: every snapshot holds and writes all of them.
MAX_ITEMS = 10_000
# Seconds without a write after which a namespace's snapshot is written.
QUIET_SECONDS = 1.0
# Maximum seconds between a write and the snapshot, however busy the namespace is.
MAX_SNAPSHOT_DELAY_SECONDS = 10.0
_ABOUT = "store.json"
_LOCK = "store.lock"
T = TypeVar("T")


class JsonStore(MemoryStore):
    """A folder of JSON files, for a single process and up to 10,000 memories in a namespace.

    Each namespace has a folder of its own: ``memory.json`` is a snapshot for people to read, and what came after it
    lies beside it in a log, synced before a write is acknowledged. A namespace is read at its first access. A second
    process gets StoreUnavailable. A write beyond ``most_items`` raises StoreFull, with the command that moves
    everything to a store that takes more.
    """

    promises: ClassVar[Promises] = Promises(durable=True, shared=False, rows_enforced=False, exclusive=True)

    def __init__(
        self,
        root: Path,
        *,
        most_items: int = MAX_ITEMS,
        quiet_seconds: float = QUIET_SECONDS,
        tick: Tick = ignore_tick,
    ) -> None:
        """tick: called from a thread while an upgrade makes terms anew, with the namespaces done and there."""
        super().__init__()
        self._root = root
        self._tick = tick
        self._most_items = most_items
        self._quiet_seconds = quiet_seconds
        self._lock = FileLock(root / _LOCK, thread_local=False, mode=0o600)
        self._process = 0
        self._folders: dict[Namespace, Folder] = {}
        self._open_lock = asyncio.Lock()
        self._ending: asyncio.Task[None] | None = None
        self._bind_lock = asyncio.Lock()
        self._load_locks: defaultdict[Namespace, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._write_locks: defaultdict[Namespace, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._running: set[asyncio.Task[Any]] = set()
        self._savers: dict[Namespace, asyncio.Task[None]] = {}
        self._event_locks: defaultdict[Namespace, asyncio.Lock] = defaultdict(asyncio.Lock)

    @property
    def place(self) -> str:
        return f"json:///{self._root.absolute()}"

    async def open(self) -> None:
        async with self._open_lock:
            if self._open:
                return
            taking = asyncio.ensure_future(asyncio.to_thread(self._lock_folder))
            try:
                await asyncio.shield(taking)
            except asyncio.CancelledError:  # the thread goes on, and takes a lock that nobody would let go
                await asyncio.wait([taking])
                if taking.exception() is None:
                    self._lock.release()
                raise
            self._process = os.getpid()
            await super().open()

    async def close(self) -> None:
        """Finish pending writes, write the snapshots that are due and release the folder's lock.

        Cancelling the caller does not interrupt it. A second close waits for its end.
        """
        if self._ending is None:
            if not self._open:
                return
            self._ending = asyncio.ensure_future(self._end())
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        try:
            async with self._open_lock:
                await self._finish()
        finally:
            await super().close()
            for folder in self._folders.values():
                folder.close()
            self._reset()
            self._lock.release()
            self._ending = None

    async def _finish(self) -> None:
        """Wait for pending writes, and write the snapshots that are due."""
        due, savers = list(self._savers), list(self._savers.values())
        for saver in savers:
            saver.cancel()
        if under_way := {*savers, *self._running}:
            await asyncio.wait(under_way)
        await super().close()
        for namespace in due:
            with suppress(StoreFull, StoreUnavailable):  # the log holds it
                await self._save(namespace)

    def _reset(self) -> None:
        self._folders.clear()
        self._spaces.clear()
        self._events = EventList()
        self._event_locks.clear()
        self._savers.clear()
        self._write_locks.clear()
        self._load_locks.clear()

    async def identity(self, model: str, instead_of: str | None = None) -> str:
        return await self._run_to_end(self._identity(model, instead_of))

    async def apply(self, batch: Batch) -> Receipt:
        return await self._run_to_end(self._apply(batch))

    async def fill(self, namespace: Namespace, fills: Sequence[Fill]) -> None:
        await self._run_to_end(self._fill(namespace, fills))

    async def touch(self, namespace: Namespace, ids: Sequence[str], at: datetime) -> None:
        await self._run_to_end(self._touch(namespace, ids, at))

    async def load_page(self, page: Page) -> None:
        await self._run_to_end(self._load_page(page))

    async def erase(self, namespace: Namespace) -> Holdings:
        return await self._run_to_end(self._erase(namespace))

    async def erase_part(self, namespace: Namespace, part: ErasedPart) -> None:
        await self._read_events(namespace)
        await self._run_to_end(self._erase_part(namespace, part))

    async def reclaim(self) -> list[str]:
        """Write snapshots in place of logs: these hold what was taken away meanwhile, of a finished task, say."""
        self._ready()
        left = [*COPIED_FILES]
        for namespace in sorted(await asyncio.to_thread(self._find_logged), key=str):
            try:
                await self._space(namespace)
                await self._run_to_end(self._save(namespace))
            except StoreCorrupt as error:
                left.append(f"the log of {namespace.path} may hold what was removed there: {error}")
        return left

    def files(self) -> list[Path]:
        return [item for item in self._root.rglob("*") if item.is_file()]

    async def record(self, events: Sequence[OpEvent]) -> None:
        checked = self._checked_events(events)
        for namespace in {item.namespace for item in checked}:
            await self._run_to_end(self._record(namespace, [item for item in checked if item.namespace == namespace]))

    async def events(
        self, namespace: Namespace, where: EventFilter = EVERYTHING, *, limit: int = 100, descending: bool = True
    ) -> list[OpEvent]:
        await self._read_events(namespace)
        return await super().events(namespace, where, limit=limit, descending=descending)

    async def event_counts(
        self, namespace: Namespace, where: EventFilter = EVERYTHING, *, seconds: int = DAY_SECONDS
    ) -> list[OpCount]:
        await self._read_events(namespace)
        return await super().event_counts(namespace, where, seconds=seconds)

    async def prune_events(self, namespace: Namespace, *, before: datetime, most: int) -> int:
        return await self._run_to_end(self._prune_events(namespace, before, most))

    async def namespaces(self) -> list[Namespace]:
        self._ready()
        for namespace in await asyncio.to_thread(self._namespaces_there):
            await self._space(namespace)
        return await super().namespaces()

    async def about(self) -> About:
        self._ready()
        taken = await asyncio.to_thread(self._count_bytes)
        return About("json", FORMAT, self._model, taken)

    # The way in

    async def _run_to_end(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work to its end, also when the caller is cancelled: files and tables must not diverge."""
        try:
            self._ready()
            if self._ending is not None:
                raise StoreUnavailable("the store is being closed; open it again")
        except StoreUnavailable:
            work.close()
            raise
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _identity(self, model: str, instead_of: str | None) -> str:
        async with self._bind_lock:
            if self._model is None or self._model == instead_of:
                await asyncio.to_thread(self._bind, model)
            return await super().identity(model, instead_of)

    async def _apply(self, batch: Batch) -> Receipt:
        async with self._write_locks[batch.namespace]:
            return await super().apply(batch)

    async def _fill(self, namespace: Namespace, fills: Sequence[Fill]) -> None:
        """Take signals in. They reach the disk with the next snapshot. What a crash takes is made again."""
        async with self._write_locks[namespace]:
            await super().fill(namespace, fills)
            self._save_later(namespace)

    async def _touch(self, namespace: Namespace, ids: Sequence[str], at: datetime) -> None:
        async with self._write_locks[namespace]:
            await super().touch(namespace, ids, at)
            if namespace in self._spaces:
                accessed = dict(self._spaces[namespace].accessed)
                await asyncio.to_thread(event_file.save_accesses, self._root / folder_of(namespace), accessed)

    async def _load_page(self, page: Page) -> None:
        async with self._write_locks[page.namespace]:
            await super().load_page(page)
            accessed = dict(self._spaces[page.namespace].accessed)
            await asyncio.to_thread(event_file.save_accesses, self._root / folder_of(page.namespace), accessed)

    async def _erase(self, namespace: Namespace) -> Holdings:
        async with self._write_locks[namespace]:
            held = await super().erase(namespace)
            saver = self._savers.pop(namespace, None)
            if saver is not None:
                saver.cancel()
            self._folders.pop(namespace).close()
            async with self._event_locks[namespace]:
                await asyncio.to_thread(remove_folder, self._root / folder_of(namespace))
            return held

    async def _erase_part(self, namespace: Namespace, part: ErasedPart) -> None:
        """Remove a part from the tables, and write them anew: the logs hold what was."""
        await self._space(namespace)
        try:
            async with self._write_locks[namespace]:
                await super().erase_part(namespace, part)
            await self._save(namespace)
        except BaseException:
            self._forget(namespace)
            raise
        async with self._event_locks[namespace]:
            kept = self._events.events(namespace, EVERYTHING, 2**62, descending=False)
            await asyncio.to_thread(event_file.replace_events, self._root / folder_of(namespace), kept)

    async def _record(self, namespace: Namespace, events: list[OpEvent]) -> None:
        async with self._event_locks[namespace]:
            await asyncio.to_thread(event_file.append_events, self._root / folder_of(namespace), events)
            if self._events.knows(namespace):
                self._events.record(events)

    async def _prune_events(self, namespace: Namespace, before: datetime, most: int) -> int:
        await self._read_events(namespace)
        async with self._event_locks[namespace]:
            pruned = self._events.prune(namespace, before, most)
            if pruned:
                kept = self._events.events(namespace, EVERYTHING, 2**62, descending=False)
                await asyncio.to_thread(event_file.replace_events, self._root / folder_of(namespace), kept)
            return pruned

    async def _read_events(self, namespace: Namespace) -> None:
        self._ready()
        async with self._event_locks[namespace]:
            if not self._events.knows(namespace):
                found = await asyncio.to_thread(event_file.read_events, self._root / folder_of(namespace), namespace)
                self._events.know(namespace, found)

    async def _space(self, namespace: Namespace) -> NamespaceTables:
        self._ready()
        if namespace not in self._folders:
            async with self._load_locks[namespace]:
                if namespace not in self._folders:
                    folder = Folder(self._root / folder_of(namespace))
                    space = await asyncio.to_thread(_read_space, folder, namespace)
                    space.epoch = 0 if space.rev else self._first_epoch
                    space.accessed = await asyncio.to_thread(_read_accesses, folder.path, space)
                    self._folders[namespace], self._spaces[namespace] = folder, space
        return self._spaces.get(namespace) or NamespaceTables(epoch=self._first_epoch)

    async def _write(self, page: Page) -> None:
        if page.rows > max(self._most_items, self._spaces[page.namespace].count):
            where = f"json:///{self._root}"
            raise StoreFull(
                f"{page.namespace} would hold {page.rows:,} memories, JSON files take {self._most_items:,}. "
                f"Move to a store that takes more: memwarden migrate --from {where} --to sqlite:///FILE"
            )
        try:
            await asyncio.to_thread(self._folders[page.namespace].append, page)
        except BaseException:
            self._forget(page.namespace)
            raise
        self._save_later(page.namespace)

    def _forget(self, namespace: Namespace) -> None:
        """Drop the tables after a failed write. The next access reads what the files really hold."""
        self._folders.pop(namespace).close()
        self._spaces.pop(namespace, None)

    # Snapshots

    def _save_later(self, namespace: Namespace) -> None:
        if namespace not in self._savers:
            self._savers[namespace] = asyncio.ensure_future(self._save_when_quiet(namespace))

    async def _save_when_quiet(self, namespace: Namespace) -> None:
        loop = asyncio.get_running_loop()
        latest, rev = loop.time() + MAX_SNAPSHOT_DELAY_SECONDS, -1
        while namespace in self._spaces and rev != self._spaces[namespace].rev and loop.time() < latest:
            rev = self._spaces[namespace].rev
            await asyncio.sleep(self._quiet_seconds)
        self._savers.pop(namespace, None)
        with suppress(StoreFull, StoreUnavailable):  # the log holds it; the next write tries again
            await self._run_to_end(self._save(namespace))

    async def _save(self, namespace: Namespace) -> None:
        async with self._write_locks[namespace]:
            folder, space = self._folders.get(namespace), self._spaces.get(namespace)
            if folder is None or space is None:
                return
            page = space.page(namespace, 0, max(space.rev, 1))
            number = await asyncio.to_thread(folder.turn)
            await asyncio.to_thread(folder.save, page, number)

    # Files

    def _lock_folder(self) -> None:
        with explain_os_errors(self._root):
            make_folder(self._root)
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                raise StoreUnavailable(
                    f"another process has {self._root} open; a store of JSON files serves a single process, "
                    "sqlite:///FILE for several"
                ) from None
        try:
            if not (self._root / _ABOUT).exists():
                self._bind(None)
            self._model, terms = self._read_about()
            finish_removals(self._root)
            if terms != TERMS_VERSION:
                self._renew_terms()
        except BaseException:
            self._lock.release()
            raise

    def _renew_terms(self) -> None:
        """Make the terms, flags and days of every memory anew, which are those of an earlier number.

        The folder first gets the present format, so that no earlier memwarden opens it half renewed. After
        a kill the next open begins again. Each namespace is replaced whole.
        """
        self._bind(self._model, terms=0)
        namespaces = sorted(self._namespaces_there(), key=str)
        for done, namespace in enumerate(namespaces):
            log.warning("%s: the terms of %s are made anew; this is done once", self._root, namespace.path)
            folder = Folder(self._root / folder_of(namespace))
            try:
                space = _read_space(folder, namespace)
            except StoreCorrupt as error:  # reading it says so again; the others are not held up
                log.warning("the terms of %s stay as they are: %s", namespace.path, error)
                continue
            for row in list(space.rows.values()):
                made = make_text_signals(row.memory.text, row.memory.said_at)
                signals = replace(
                    row.signals, terms=made.terms, flags=made.flags, days=made.days, passages=made.passages
                )
                space.rows[row.memory.id] = replace(row, signals=signals)
            folder.save(space.page(namespace, 0, max(space.rev, 1)), folder.turn())
            folder.close()
            self._tick(done + 1, len(namespaces))
        self._bind(self._model)

    def _read_about(self) -> tuple[str | None, int]:
        """Return the model that the folder is bound to and the number of its terms."""
        file = self._root / _ABOUT
        try:
            with explain_os_errors(self._root):
                said = json.loads(file.read_text())
            number, model, terms = int(said["format"]), said["model"], int(said.get("terms", 1))
        except (ValueError, KeyError, TypeError) as error:
            raise StoreCorrupt(f"{file} is not as memwarden wrote it ({error}); restore a copy of it") from None
        if number > FORMAT:
            raise StoreTooNew(f"{self._root} was written by a later memwarden; upgrade memwarden")
        return None if model is None else str(model), terms

    def _bind(self, model: str | None, terms: int = TERMS_VERSION) -> None:
        new = self._root / f"{_ABOUT}.new"
        with explain_os_errors(self._root):
            with new.open("w") as file:
                json.dump({"format": FORMAT, "terms": terms, "model": model}, file)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._root / _ABOUT)
            sync_folder(self._root)

    def _namespaces_there(self) -> set[Namespace]:
        folders = {item.parent for name in (SNAPSHOT, "log.*.jsonl") for item in self._root.rglob(name)}
        return {folder for folder in (Folder(path).namespace() for path in folders) if folder is not None}

    def _find_logged(self) -> set[Namespace]:
        """Return the namespaces whose logs hold anything."""
        folders = {item.parent for item in self._root.rglob("log.*.jsonl") if item.stat().st_size}
        return {folder for folder in (Folder(path).namespace() for path in folders) if folder is not None}

    def _count_bytes(self) -> int:
        return sum(item.stat().st_size for item in self._root.rglob("*") if item.is_file())

    def _ready(self) -> None:
        super()._ready()
        if os.getpid() != self._process:
            raise StoreUnavailable("the store was opened by another process before a fork; open it in this process")


def _read_space(folder: Folder, namespace: Namespace) -> NamespaceTables:
    """Return the tables of a namespace from its files. Raises StoreCorrupt."""
    space = NamespaceTables()
    for page in folder.pages():
        if page.namespace != namespace:
            raise StoreCorrupt(f"{folder.path} is the folder of {namespace}, and holds {page.namespace}")
        if page.since > space.rev:
            raise StoreCorrupt(
                f"{folder.path} lacks the revisions {space.rev + 1} to {page.since}; restore a copy of the folder"
            )
        if page.rev > space.rev or page.since == space.rev:
            space.follow(page)
    space.sort()
    return space


def _read_accesses(folder: Path, space: NamespaceTables) -> dict[str, datetime]:
    """Return when memories last stood in an answer. What nobody watched so far is watched from now on."""
    found = event_file.read_accesses(folder)
    if found is None and space.rows:
        found = dict.fromkeys(space.rows, clock.now())
        event_file.save_accesses(folder, found)
    return found or {}
