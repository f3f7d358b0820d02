"""Backup and restore of the SQLite file (:mod:`memwarden.stores.transfer.backup`)."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from memwarden.errors import NotFound, StoreCorrupt, StoreError
from memwarden.stores.sqlite import file
from memwarden.stores.transfer import backup
from memwarden.stores.transfer.backup import PARTIAL, Manifest, NamespaceRevision, TableContents, Tick, ignore_tick

ENGINE = "sqlite"
# The file in the backup: a SQLite file as any tool opens it.
STORE = "store.db"

_PAGES = 500  # are copied between two looks at the clock: 2 MB
_BUSY_SECONDS = 30.0
_WHILE_WRITING = {"SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_TRUNCATE"}


def back_up(source: Path, target: Path, tick: Tick = ignore_tick) -> Manifest:
    """Copy a snapshot of a store into a new backup, while others write to it. Nothing is migrated.

    Raises Conflict when ``target`` is there, StoreFull, StoreUnavailable, StoreCorrupt when the store is damaged.
    """
    if not source.exists():
        raise NotFound(f"there is no store at {source}; there is nothing to back up")
    with backup.make_work_folder(target) as folder:
        backup.require_room(target, 2 * source.stat().st_size)  # the copy, and the packed backup
        file.check_content(source)
        copy = folder / STORE
        with explain_errors(source, target):
            copy_pages(source, copy, tick)
        with explain_errors(copy):
            manifest = _check_copy(copy, source)
        packed = folder / "packed"
        with backup.pack(packed) as archive:
            backup.add_file(archive, STORE, copy)
            backup.add_manifest(archive, manifest)
        tick(1, 1)  # who is gone by now is left no file
        backup.publish(packed, target)
    return manifest


def restore(path: Path, target: Path, tick: Tick = ignore_tick) -> Manifest:
    """Restore a backup to a new file, whole or not at all, and bring it up to date.

    Raises Conflict when ``target`` is there or the backup is of another engine, StoreCorrupt, StoreTooNew, StoreFull,
    StoreUnavailable.
    """
    for beside in ("-wal", "-shm", "-journal"):
        backup.refuse_existing(target.with_name(target.name + beside))
    with backup.unpack(path) as (archive, manifest), backup.make_work_folder(target) as folder:
        backup.refuse_foreign(manifest, archive, ENGINE, path, STORE)
        backup.refuse_newer(manifest.schema, file.migrations()[-1].number, path)
        backup.require_room(target, archive.getinfo(STORE).file_size)
        copy = folder / STORE
        backup.extract_file(archive, STORE, copy, tick)
        file.check_path(copy)
        with explain_errors(path, target):
            found = _check_copy(copy, path)
            if replace(found, made_at=manifest.made_at) != manifest:
                raise StoreCorrupt(f"{path} does not hold what its manifest says; nothing was restored")
            _bring_up_to_date(copy)
        tick(1, 1)  # who is gone by now is left no file
        backup.publish(copy, target)
    return manifest


def copy_pages(source: Path, copy: Path, tick: Tick = ignore_tick) -> None:
    """Copy the pages of a database file, damaged or not, into a new file without a log."""
    file.make_file(copy)
    with closing(file.connect(source, _BUSY_SECONDS, reading=True)) as db, closing(open_copy(copy)) as other:
        # An open snapshot. Without it the copy would restart whenever another process commits.
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        db.backup(other, pages=_PAGES, progress=lambda status, left, total: tick(total - left, total), sleep=0.01)
        other.execute("PRAGMA journal_mode = DELETE").fetchone()  # a backup is a single file, so no log beside it


def _check_copy(copy: Path, source: Path) -> Manifest:
    """Check an unshared copy and return its manifest. Raises StoreCorrupt."""
    with closing(open_copy(copy)) as db:
        found = [str(row[0]) for row in db.execute("PRAGMA integrity_check(3)")]
        if found != ["ok"]:
            raise StoreCorrupt(
                f"{source} is damaged ({found[0]}); no copy was made of it. memwarden doctor tells more, and --repair "
                "mends indexes; else restore an earlier backup"
            )
        facts = dict(db.execute("SELECT key, value FROM meta").fetchall())
        spaces = db.execute("SELECT tenant, path, rev FROM namespaces ORDER BY tenant, path").fetchall()
        names = db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        return Manifest(
            ENGINE,
            datetime.now(UTC).isoformat(timespec="seconds"),
            int(facts["schema"]),
            facts.get("model"),
            tuple(NamespaceRevision(*row) for row in spaces),
            {name: _table(db, name) for (name,) in sorted(names)},
        )


def _table(db: sqlite3.Connection, name: str) -> TableContents:
    columns = tuple(str(row[0]) for row in db.execute("SELECT name FROM pragma_table_info(?)", (name,)))
    return TableContents(columns, int(db.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]))


def _bring_up_to_date(copy: Path) -> None:
    with closing(file.connect(copy, _BUSY_SECONDS)) as db:
        file.make_ready(db, copy, _BUSY_SECONDS)
        db.execute("PRAGMA journal_mode = DELETE").fetchone()


def open_copy(path: Path) -> sqlite3.Connection:
    """Open an unshared copy, without syncing."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")  # what it becomes part of is synced
    db.execute("PRAGMA temp_store = MEMORY")
    return db


@contextmanager
def explain_errors(path: Path, written: Path | None = None) -> Iterator[None]:
    """Explain SQLite's errors as errors at ``path``, or at ``written`` when writing failed there."""
    try:
        yield
    except sqlite3.Error as error:
        place = written if written and getattr(error, "sqlite_errorname", "") in _WHILE_WRITING else path
        raise file.explain(error, place) from error


# Maximum backups kept beside a file, the newest: each upgrade adds a copy as large as the store.
MAX_COPIES = 3

_COPY = r"\.schema-(\d+)\.(\d{8}T\d{12})\.mwbackup"


def keep_copy(path: Path, number: int) -> Path:
    """Make a backup of a file of schema ``number`` beside it. The caller holds the file's write lock.

    Raises the errors of :func:`memwarden.stores.sqlite.backup.back_up`, saying that nothing was upgraded.
    """
    for item in path.absolute().parent.iterdir():  # left by a kill; the write lock keeps others from copying now
        if re.fullmatch(re.escape(path.name) + _COPY + r"\..*" + re.escape(PARTIAL), item.name):
            shutil.rmtree(item, ignore_errors=True)
    when = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    target = path.with_name(f"{path.name}.schema-{number}.{when}.mwbackup")
    try:
        back_up(path, target)
    except StoreError as error:
        raise type(error)(f"{path} was not upgraded and is as it was, since no copy could be kept: {error}") from error
    return target


def forget_oldest(path: Path) -> None:
    """Remove all but the newest backups beside a file."""
    for old in list_copies(path)[:-MAX_COPIES]:
        old.unlink(missing_ok=True)


def list_copies(path: Path) -> list[Path]:
    """Return the backups that upgrades left beside a file, the oldest first."""
    found = {
        match[2]: item
        for item in path.absolute().parent.iterdir()
        if (match := re.fullmatch(re.escape(path.name) + _COPY, item.name))
    }
    return [found[when] for when in sorted(found)]
