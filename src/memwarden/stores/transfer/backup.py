"""The backup file: a snapshot of a store with a manifest and a digest over everything.

The file is a zip, so that any tool can extract it. Its last bytes, the zip's comment, are the SHA-256 of everything
before them: a missing end or a flipped bit is found before anything is extracted. Nothing is ever overwritten.
Unfinished files lie in a folder ``<name>.<random>.partial`` beside the target, which appears whole or not at all.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import os
import shutil
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Protocol, runtime_checkable
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from memwarden.errors import Conflict, InvalidInput, StoreCorrupt, StoreFull, StoreTooNew, StoreUnavailable

# Progress callback: steps done, and steps in all.
Tick = Callable[[int, int], None]


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

    engine: ``sqlite`` or ``postgres``. It can be restored to the same engine only. made_at: UTC, ISO 8601.
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
        """Copy a snapshot of the store into a new file, while others write to it. Migrate nothing.

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
    """Run blocking work in a thread. Cancelling the caller stops it at the next tick."""
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


FORMAT = 1
PARTIAL = ".partial"
MANIFEST = "manifest.json"
# Bytes that are read or written at once.
CHUNK = 1 << 20

_ZIP = b"PK\x03\x04"
_SEAL = b"memwarden backup sha256:"
_HEX = 64
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def refuse_existing(target: Path) -> None:
    """Raise Conflict when something is at ``target`` already, StoreUnavailable when its folder is not there."""
    if os.path.lexists(target):
        raise Conflict(f"{target} is there already, and nothing is overwritten; choose another name")
    if not target.absolute().parent.is_dir():
        raise StoreUnavailable(f"the folder {target.absolute().parent} is not there; make it, or choose another folder")


@contextmanager
def make_work_folder(target: Path) -> Iterator[Path]:
    """Make a folder for unfinished files beside ``target`` and remove it at the end (not after a kill).

    Errors of the disk become StoreFull and StoreUnavailable.
    """
    with explain_os_errors(target):
        refuse_existing(target)
        folder = Path(tempfile.mkdtemp(prefix=f"{target.name}.", suffix=PARTIAL, dir=target.absolute().parent))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def explain_os_errors(place: Path) -> Iterator[None]:
    """Turn errors of the operating system at ``place`` into StoreFull and StoreUnavailable."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise StoreFull(f"no room left for {place}; nothing was kept there. Make room and repeat it") from error
        raise StoreUnavailable(f"{place} cannot be read or written: {error.strerror or error}") from error


def require_room(target: Path, size: int) -> None:
    """Raise StoreFull when the disk of ``target`` has less than ``size`` bytes free."""
    free = shutil.disk_usage(target.absolute().parent).free
    if free < size:
        raise StoreFull(
            f"the disk of {target} has {free / 1e6:,.0f} MB free, and {size / 1e6:,.0f} MB are needed; make room and "
            "repeat it"
        )


def publish(done: Path, target: Path) -> None:
    """Give a finished file its name, durably and without replacing a file. Raises Conflict."""
    with done.open("rb") as file:
        os.fsync(file.fileno())
    try:
        os.link(done, target)  # a rename would replace an existing file
    except FileExistsError:
        refuse_existing(target)
        raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        refuse_existing(target)
        done.rename(target)  # a file system without links
    _sync_folder(target.absolute().parent)


@contextmanager
def pack(target: Path) -> Iterator[ZipFile]:
    """Open a new backup for :func:`add_file` and :func:`add_manifest`. Seal it with its digest at the end."""
    with _new(target) as file:
        with ZipFile(file, "w", ZIP_DEFLATED, compresslevel=1) as archive:
            archive.comment = _SEAL + b"0" * _HEX
            yield archive
        digest = _digest(file, file.seek(0, os.SEEK_END) - _HEX)
        file.seek(-_HEX, os.SEEK_END)
        file.write(digest)
        file.flush()
        os.fsync(file.fileno())


def add_manifest(archive: ZipFile, manifest: Manifest) -> None:
    """Write the manifest. It comes after all files."""
    archive.writestr(MANIFEST, json.dumps({"format": FORMAT, **asdict(manifest)}, indent=1))


def add_file(archive: ZipFile, name: str, path: Path) -> None:
    """Write a file into a backup."""
    with path.open("rb") as source, archive.open(name, "w", force_zip64=True) as packed:
        shutil.copyfileobj(source, packed, CHUNK)


@contextmanager
def unpack(path: Path) -> Iterator[tuple[ZipFile, Manifest]]:
    """Open a backup after checking every byte. Raises StoreCorrupt, StoreTooNew, StoreUnavailable."""
    with explain_os_errors(path), path.open("rb") as file:
        _check(file, path)
        try:
            archive = ZipFile(file)
            told = json.loads(archive.read(MANIFEST))
        except (BadZipFile, KeyError, ValueError) as error:
            raise _corrupt_backup(path, f"it has no manifest: {error}") from error
        with archive:
            try:
                yield archive, _manifest(told, path)
            except (BadZipFile, EOFError, zlib.error) as error:
                raise _corrupt_backup(path, f"its content cannot be unpacked: {error}") from error


def read_manifest(path: Path) -> Manifest:
    """Check every byte of a backup and return its manifest. Raises what :func:`unpack` raises."""
    with unpack(path) as (_, manifest):
        return manifest


def extract_file(archive: ZipFile, name: str, target: Path, tick: Tick = ignore_tick) -> None:
    """Extract a file of a backup to ``target``, which must not exist yet."""
    size = archive.getinfo(name).file_size
    with archive.open(name) as packed, _new(target) as file:
        while chunk := packed.read(CHUNK):
            file.write(chunk)
            tick(file.tell(), size)
        file.flush()
        os.fsync(file.fileno())


def refuse_foreign(manifest: Manifest, archive: ZipFile, engine: str, path: Path, *parts: str) -> None:
    """Raise Conflict for a backup of another engine, StoreCorrupt if it lacks any of these files."""
    if manifest.engine != engine:
        raise Conflict(
            f"{path} is a backup of {manifest.engine} and cannot be restored to {engine}; restore it to its own kind, "
            "then use memwarden migrate"
        )
    missing = {*parts} - {*archive.namelist()}
    if missing:
        raise _corrupt_backup(path, f"it lacks {min(missing)}")


def refuse_newer(schema: int, known: int, path: Path) -> None:
    """Raise StoreTooNew for a backup that a later memwarden made."""
    if schema > known:
        raise StoreTooNew(f"{path} has schema {schema}, this memwarden knows up to {known}; upgrade memwarden")


def _check(file: IO[bytes], path: Path) -> None:
    begin, size = file.read(len(_ZIP)), file.seek(0, os.SEEK_END)
    end = len(_SEAL) + _HEX
    file.seek(max(0, size - end))
    tail = file.read()
    if not tail.startswith(_SEAL) or size <= end:
        what = "it is cut off, or was changed at its end" if begin == _ZIP else "nor does it begin as a backup"
        raise _corrupt_backup(path, f"it does not end as a backup: {what}")
    if _digest(file, size - _HEX) != tail[-_HEX:]:
        raise _corrupt_backup(path, "its content is not what was written: something changed or left out a part of it")


def _digest(file: IO[bytes], size: int) -> bytes:
    """Return the SHA-256 of the first ``size`` bytes, in hexadecimal digits."""
    digest = hashlib.sha256()
    file.seek(0)
    while size and (chunk := file.read(min(CHUNK, size))):
        digest.update(chunk)
        size -= len(chunk)
    return digest.hexdigest().encode()


def _manifest(told: Any, path: Path) -> Manifest:
    try:
        if told["format"] != FORMAT:
            raise StoreTooNew(f"{path} is a backup of format {told['format']}, known is {FORMAT}; upgrade memwarden")
        return Manifest(
            str(told["engine"]),
            str(told["made_at"]),
            int(told["schema"]),
            None if told["model"] is None else str(told["model"]),
            tuple(
                NamespaceRevision(str(item["tenant"]), str(item["path"]), int(item["rev"]))
                for item in told["namespaces"]
            ),
            {name: TableContents(tuple(item["columns"]), int(item["rows"])) for name, item in told["tables"].items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _corrupt_backup(path, f"its manifest says {error!r}") from error


def _corrupt_backup(path: Path, why: str) -> StoreCorrupt:
    return StoreCorrupt(f"{path} is no whole backup of memwarden: {why}. Nothing was taken from it; use another backup")


def _new(path: Path) -> IO[bytes]:
    """Create a file that only this user can read."""
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), "w+b")


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # some systems know no folders that can be synced
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
