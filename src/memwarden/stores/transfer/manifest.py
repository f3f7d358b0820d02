"""The manifest of a backup, and the protocol of stores that can be backed up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from memwarden.errors import InvalidInput, StoreUnavailable

Tick = Callable[[int, int], None]
"""Progress callback: steps done, and steps in all."""


@dataclass(frozen=True, slots=True)
class NamespaceRevision:
    """A namespace and its revision at the time of the backup."""

    tenant: str
    path: str
    rev: int


@dataclass(frozen=True, slots=True)
class TableContents:
    """A table in a backup: its columns in order, and its number of rows."""

    columns: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a backup.

    engine: ``sqlite`` or ``postgres``; it can be restored to the same engine only. made_at: UTC, ISO 8601.
    schema: number of the last migration. model: the embedding model of the vectors, or None. namespaces: sorted.
    """

    engine: str
    made_at: str
    schema: int
    model: str | None
    namespaces: tuple[NamespaceRevision, ...]
    tables: Mapping[str, TableContents]

    @property
    def revisions(self) -> int:
        """Total journal entries of all namespaces."""
        return sum(namespace.rev for namespace in self.namespaces)


@runtime_checkable
class BackupStore(Protocol):
    """A store that can be backed up to a file and restored. Neither method needs the store to be open."""

    async def back_up(self, target: Path, tick: Tick = ...) -> Manifest:
        """Copy a snapshot of the store into a new file, while others write to it; migrate nothing.

        Raises Conflict when ``target`` is there, NotFound without a store, StoreFull, StoreUnavailable, StoreCorrupt
        when the store is damaged.
        """

    async def restore(self, path: Path, tick: Tick = ...) -> Manifest:
        """Create the store from a backup, whole or not at all, and bring it up to date.

        Raises Conflict when something is there or the backup is of another engine, StoreCorrupt for a backup that is
        not whole, StoreTooNew, StoreFull, StoreUnavailable.
        """


def require_backup(store: object) -> BackupStore:
    """Return the store if it can be backed up. Raises InvalidInput."""
    if not isinstance(store, BackupStore):
        raise InvalidInput(
            f"{type(store).__name__} has no backup of its own; memwarden migrate copies a store to a SQLite file"
        )
    return store


async def run_in_thread(work: Callable[[Tick], Manifest], tick: Tick) -> Manifest:
    """Run blocking work in a thread; cancelling the caller stops it at the next tick."""
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
    """Ignore progress."""
