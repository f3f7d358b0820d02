"""What a backup says of itself, and a store that can be backed up. The file itself is made in ``stores/backup.py``."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from memwarden.errors import InvalidInput, StoreUnavailable

Tick = Callable[[int, int], None]
"""Called with how many steps are done, and how many there are."""


@dataclass(frozen=True, slots=True)
class NamespaceRevision:
    """A namespace and the revision at which it stood."""

    tenant: str
    path: str
    rev: int


@dataclass(frozen=True, slots=True)
class TableContents:
    """A table: its columns in order, and how many rows there are. None: the engine's own file tells."""

    columns: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds.

    engine: ``sqlite`` or ``postgres``; the one that it can be restored to. made_at: UTC, ISO 8601. schema: number of
    the last migration. model: the embedding model of the vectors, or None. namespaces: sorted.
    """

    engine: str
    made_at: str
    schema: int
    model: str | None
    namespaces: tuple[NamespaceRevision, ...]
    tables: Mapping[str, TableContents]

    @property
    def revisions(self) -> int:
        """How many journal entries all namespaces have together."""
        return sum(namespace.rev for namespace in self.namespaces)


@runtime_checkable
class BackupStore(Protocol):
    """A store that can be copied into a file and made from it. Neither method needs the store to be open."""

    async def back_up(self, target: Path, tick: Tick = ...) -> Manifest:
        """Copy the store as it stands at one moment into a new file, while others write to it; migrate nothing.

        Raises Conflict when ``target`` is there, NotFound without a store, StoreFull, StoreUnavailable, StoreCorrupt
        when the store is damaged.
        """

    async def restore(self, path: Path, tick: Tick = ...) -> Manifest:
        """Make the store of a backup, whole or not at all, where none is yet, and bring it up to date.

        Raises Conflict when something is there or the backup is of another engine, StoreCorrupt for a backup that is
        not whole, StoreTooNew, StoreFull, StoreUnavailable.
        """


def require_backup(store: object) -> BackupStore:
    """Return the store, if it can be copied and restored. Raises InvalidInput."""
    if not isinstance(store, BackupStore):
        raise InvalidInput(
            f"{type(store).__name__} has no backup of its own; memwarden migrate copies a store to a SQLite file"
        )
    return store


async def run_in_thread(work: Callable[[Tick], Manifest], tick: Tick) -> Manifest:
    """Do the work in a thread, which ends when the caller is cancelled."""
    ended = threading.Event()

    def tell(done: int, total: int) -> None:
        if ended.is_set():
            raise StoreUnavailable("it was broken off; nothing was kept")
        tick(done, total)

    try:
        return await asyncio.to_thread(work, tell)
    finally:
        ended.set()


def ignore_tick(done: int, total: int) -> None:
    """Tell nobody."""
