"""Opens the SQLite file: checks its owner, schema and rights, and migrates it."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import struct
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from memwarden.errors import InvalidInput, StoreCorrupt, StoreError, StoreFull, StoreTooNew, StoreUnavailable
from memwarden.stores.shared.raw_files import read_raw
from memwarden.stores.sqlite.rows import FOLD
from memwarden.stores.transfer.backup import Tick, ignore_tick
from memwarden.text import TERMS_VERSION

# Stands in the header of every memwarden file: "mwdr".
APPLICATION_ID = 0x6D776472

_MAGIC = b"SQLite format 3\x00"
_NETWORK = {"nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "afs", "ncpfs", "ceph", "fuse.ceph", "9p"}
_NETWORK |= {"fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone", "lustre", "gpfs", "beegfs"}
_ALMOST_NOTHING = 1_000_000
# The statements are fixed and the schema's number was checked, so a missing table or column was overwritten.
_ONLY_BY_DAMAGE = ("decode to UTF-8", "no such column", "no such table")

_PRAGMAS = (
    "PRAGMA synchronous = FULL",  # a commit is on the disk before it is acknowledged
    "PRAGMA fullfsync = ON",  # macOS: fsync alone leaves it in the drive's cache
    "PRAGMA checkpoint_fullfsync = ON",
    "PRAGMA secure_delete = ON",  # what is deleted is overwritten
    "PRAGMA temp_store = MEMORY",  # texts never reach a temporary file
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA wal_autocheckpoint = 4000",  # pages; at 16 MB a page that changed often is folded into the file only once
)
# kB of pages that a connection keeps: for a writer of memories, whose batch of 1,000 must not spill before its commit,
# and for every other. Each fills its own as the file grows, so a server's memory would go on growing for an hour.
WRITER_CACHE_KB = 16_000
CACHE_KB = 2_000
_COLUMNS = (
    "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c "
    "WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid"
)


class SqliteMigration(NamedTuple):
    number: int
    statements: tuple[str, ...]


def connect(path: Path, busy_seconds: float, *, reading: bool = False, cache_kb: int = CACHE_KB) -> sqlite3.Connection:
    """Open a connection to a file that is there, in autocommit mode with the common settings."""
    db = sqlite3.connect(
        _address(path),
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        uri=True,
    )
    try:
        db.create_function(FOLD, 1, str.casefold, deterministic=True)
        for pragma in _PRAGMAS:
            db.execute(pragma)
        db.execute(f"PRAGMA cache_size = -{cache_kb}")
        if reading:
            db.execute("PRAGMA query_only = ON")
    except BaseException:
        db.close()
        raise
    return db


def _address(path: Path) -> str:
    # Not the bare path: SQLite would make a file anew that was deleted meanwhile.
    there = path.absolute().as_uri()
    if not is_read_only(path):
        return f"{there}?mode=rw"
    # Without a log nobody has the file open, and SQLite need not make one beside it.
    return f"{there}?mode=ro" if log_of(path).exists() else f"{there}?mode=ro&immutable=1"


def is_read_only(path: Path) -> bool:
    """Whether a file with content is there to which, or to the folder of which, this user may not write."""
    there = path.is_file() and path.stat().st_size > 0
    return there and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK))


def log_of(path: Path) -> Path:
    """Return the path of the log that belongs to a file while it is open."""
    return path.with_name(f"{path.name}-wal")


def check_readable(db: sqlite3.Connection, path: Path) -> None:
    """Raise StoreUnavailable for a read-only file that cannot be read as it is."""
    if _is_up_to_date(db, path) and _terms_version(db) == TERMS_VERSION:
        return
    raise StoreUnavailable(
        f"{path} was written by an earlier memwarden and is read-only, so that it cannot be upgraded; allow this user "
        "to write to it and its folder, or copy it elsewhere"
    )


def check_path(path: Path) -> None:
    """Refuse a path where no store can be. Changes no file, but creates missing parent folders."""
    if str(path) == ":memory:":
        raise StoreUnavailable("SqliteStore keeps a file; for a store in memory use MemoryStore()")
    if path.is_dir():
        raise StoreUnavailable(f"{path} is a folder; give the path of a file in it, such as {path / 'memory.db'}")
    _make_parent(path)
    mounts = Path("/proc/mounts")
    if mounts.exists():
        refuse_network(path, mounts.read_text(errors="replace"))
    if path.exists() and path.stat().st_size:
        check_content(path)
    if not is_read_only(path) and not os.access(path.parent, os.W_OK | os.X_OK):
        raise StoreUnavailable(
            f"the folder {path.parent} is read-only; SQLite writes a log beside the file, so allow this user to write "
            "to the folder, or choose another folder"
        )


def check_content(path: Path) -> None:
    """Refuse a truncated or foreign file, or a later memwarden's, without changing it."""
    _check_header(path)
    _check_schema_on_disk(path)


def make_file(path: Path) -> None:
    """Create a missing file, readable by this user alone. SQLite gives its log the same rights."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        pass  # its rights are its owner's choice
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StoreFull(f"no room left on the disk of {path}; make room and open it again") from error
        raise StoreUnavailable(f"{path} cannot be made: {error.strerror}") from error


def identity_of(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another that takes its place. None for a missing file.

    Raises StoreUnavailable for a file that cannot be looked at, which may well be there.
    """
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be looked at: {error.strerror}; is its folder open to you?") from error
    return found.st_dev, found.st_ino


def refuse_network(path: Path, mounts: str) -> None:
    """Raise StoreUnavailable if ``path`` lies on a network file system, given the text of ``/proc/mounts``."""
    place = path.resolve()
    best, kind = Path("/"), ""
    for line in mounts.splitlines():
        parts = line.split(" ")
        if len(parts) < 3:
            continue
        mount = Path(parts[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\"))
        if place.is_relative_to(mount) and len(mount.parts) >= len(best.parts):
            best, kind = mount, parts[2]
    if kind in _NETWORK:
        raise StoreUnavailable(
            f"{path} is on a network file system ({kind} at {best}), where SQLite's locks and shared log are not safe; "
            "use a local disk, or PostgreSQL"
        )


# Number of the migration since which terms have their present form. Processes of earlier schemas write other terms.
TERMS_MIGRATION = 11


def refuse_shared_upgrade(path: Path, busy_seconds: float) -> None:
    """Raise StoreUnavailable if a file of an earlier schema has to be upgraded while another process has it open."""
    if not path.stat().st_size or _application(path) != APPLICATION_ID:
        return
    # Not as in check_content: what another process has just upgraded may be in the log alone.
    with closing(sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)) as db:
        try:
            db.execute("PRAGMA query_only = ON")
            number = _schema(db)
        except sqlite3.DatabaseError:
            return  # make_ready says what is wrong
    if not 0 < number < TERMS_MIGRATION:
        return
    from memwarden.stores.sqlite.terms import require_alone  # upgrades are rare

    require_alone(path, busy_seconds)


class UpgradeCopies(NamedTuple):
    """Makes a backup of a file of a schema beside it, and removes all but the newest backups."""

    keep: Callable[[Path, int], Path]
    forget_oldest: Callable[[Path], None]


def make_ready(
    db: sqlite3.Connection,
    path: Path,
    busy_seconds: float,
    *,
    copies: Callable[[], UpgradeCopies] | None = None,
    tick: Tick = ignore_tick,
) -> None:
    """Claim a new file, switch it to WAL and bring its schema up to date. Several processes may do so at once.

    copies: keeps a backup of an older file beside it; None: none. tick: told how many memories' terms were made anew,
    and of how many.
    """
    if _number(db, "PRAGMA application_id") != APPLICATION_ID:
        _claim(db, path)
    _switch_to_wal(db, path, busy_seconds)
    if not _is_up_to_date(db, path):
        _migrate(db, path, copies)
    if _terms_version(db) != TERMS_VERSION:
        from memwarden.stores.sqlite.terms import renew_terms

        renew_terms(db, path, tick)


def _terms_version(db: sqlite3.Connection) -> int:
    return _number(db, "SELECT coalesce(max(value), 0) FROM meta WHERE key = 'terms'")


def explain(error: sqlite3.Error, path: Path) -> StoreError | InvalidInput:
    """Return memwarden's error for an error of SQLite: what happened and what to do."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    new: StoreError | InvalidInput
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _no_room(path)):
        new = StoreFull(f"no room left on the disk of {path}; nothing of this call was kept. Make room and repeat it")
    elif code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or any(item in str(error) for item in _ONLY_BY_DAMAGE):
        new = damage_error(path, error)
    elif code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        new = StoreUnavailable(
            f"{path} is locked: another process has been writing to it for longer than the time-out. End that process "
            "or try again later"
        )
    elif code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        new = StoreUnavailable(f"{path} or its folder is read-only; allow this user to write to both")
    elif code == sqlite3.SQLITE_CANTOPEN:
        new = StoreUnavailable(f"{path} or the log beside it cannot be opened; look at the rights of file and folder")
    elif code == sqlite3.SQLITE_TOOBIG:
        new = InvalidInput(f"a value is too big for {path}: {error}")
    else:
        new = StoreUnavailable(f"{path} cannot be used ({error}); look at the disk, its quota and its free space")
    new.__cause__ = error
    return new


def damage_error(path: Path, error: Exception) -> StoreCorrupt:
    """Return the error for content that memwarden cannot have written."""
    return StoreCorrupt(f"{path} is damaged ({error}); restore a copy of it")


@cache
def migrations() -> tuple[SqliteMigration, ...]:
    """Return the numbered SQL files, in order."""
    folder = resources.files("memwarden.stores") / "migrations" / "sqlite"
    files = sorted((item for item in folder.iterdir() if item.name.endswith(".sql")), key=lambda item: item.name)
    return tuple(SqliteMigration(int(file.name.split("_")[0]), _statements(file.read_text("utf-8"))) for file in files)


def _statements(script: str) -> tuple[str, ...]:
    # Not executescript(): it commits first, and a migration must be one transaction.
    statements: list[str] = []
    text = ""
    for line in script.splitlines(keepends=True):
        text += line
        if sqlite3.complete_statement(text):
            statements.append(text)
            text = ""
    return tuple(statements)


def _make_parent(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"the folder {path.parent} is not there and cannot be made: {error.strerror}") from error


def _check_header(path: Path) -> None:
    try:
        header = read_raw(path, 100)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be read: {error.strerror}") from error
    if len(header) < 100 or not header.startswith(_MAGIC):
        raise StoreCorrupt(f"{path} is not a memwarden store (no SQLite file at all); it was left alone")
    application = _application(path)
    if application not in (0, APPLICATION_ID):
        raise StoreCorrupt(f"{path} belongs to another program (application id {application:#x}); it was left alone")
    (page_size,) = struct.unpack_from(">H", header, 16)
    (pages,) = struct.unpack_from(">I", header, 28)
    log = log_of(path)
    in_use = log.exists() and log.stat().st_size > 0  # then the rest of the file may still be in the log
    if not in_use and path.stat().st_size < (65_536 if page_size == 1 else page_size) * pages:
        raise StoreCorrupt(f"{path} is cut off: it is shorter than its header says; restore a copy of it")


def _application(path: Path) -> int:
    (application,) = struct.unpack_from(">I", read_raw(path, 100), 68)
    return int(application)


def _check_schema_on_disk(path: Path) -> None:
    """Refuse foreign and newer files before any connection could change them.

    ``immutable`` reads the main file alone and writes nothing beside it. It misses what is still in the log, and may
    see half of a page while another process folds the log into the file: so for a file of memwarden only a clear
    answer counts, and the same checks are repeated under the lock.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
        if _application(path) == APPLICATION_ID:
            with suppress(sqlite3.DatabaseError):
                _refuse_newer(_schema(db), path)
        elif _number(db, "SELECT count(*) FROM sqlite_master"):
            raise _foreign(path)


def _claim(db: sqlite3.Connection, path: Path) -> None:
    # Before the switch to WAL, so that the header of the main file tells whose it is from its first page on.
    db.execute("BEGIN EXCLUSIVE")
    try:
        if _number(db, "PRAGMA application_id") != APPLICATION_ID:
            if _number(db, "SELECT count(*) FROM sqlite_master"):
                raise _foreign(path)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute("COMMIT")
    except BaseException:
        _roll_back(db)
        raise


def _switch_to_wal(db: sqlite3.Connection, path: Path, busy_seconds: float) -> None:
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
            break
        except sqlite3.OperationalError as error:
            # SQLite does not wait here when two processes switch a new file at once.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    if mode != "wal":
        raise StoreUnavailable(f"the file system of {path} cannot share memory (no WAL); use a local disk")


def _is_up_to_date(db: sqlite3.Connection, path: Path) -> bool:
    db.execute("BEGIN")  # number and tables of the same snapshot
    try:
        number = _schema(db)
        if number == migrations()[-1].number:
            check_tables(db, number, path)
        return number == migrations()[-1].number
    finally:
        db.execute("ROLLBACK")


def _migrate(db: sqlite3.Connection, path: Path, copies: Callable[[], UpgradeCopies] | None) -> None:
    kept: Path | None = None
    db.execute("BEGIN IMMEDIATE")
    try:
        number = _schema(db)
        _refuse_newer(number, path)
        check_tables(db, number, path)
        if copies and number and number != migrations()[-1].number:
            kept = copies().keep(path, number)
        _run_migrations(db, number, path)
        db.execute("COMMIT")
    except BaseException:
        _roll_back(db)
        if kept:
            kept.unlink()  # the migration was rolled back, so the copy is not needed
        raise
    if kept and copies:
        copies().forget_oldest(path)


def _run_migrations(db: sqlite3.Connection, number: int, path: Path) -> None:
    try:
        for migration in migrations():
            if migration.number > number:
                for statement in migration.statements:
                    db.execute(statement)
    except sqlite3.Error as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT):
            raise
        raise StoreCorrupt(
            f"{path} cannot be brought from schema {number} to {migrations()[-1].number} ({error}); it was left as it "
            "was. Restore a copy of it"
        ) from error
    db.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('schema', ?)", (migrations()[-1].number,))


def check_tables(db: sqlite3.Connection, number: int, path: Path) -> None:
    """Raise StoreCorrupt for a file whose tables are not those of the schema that it names.

    A migration is a single transaction, so no kill leaves this behind. Tables that no schema knows are ignored.
    """
    wanted, known, found = tables_of(number), tables_of(migrations()[-1].number), _tables(db)
    for name in sorted(known.keys() | wanted.keys()):
        if found.get(name) != wanted.get(name):
            lacks = sorted({*wanted.get(name, ())} - {*found.get(name, ())})
            what = (
                "is missing" if name not in found else f"lacks {', '.join(lacks)}" if lacks else "is of another schema"
            )
            raise StoreCorrupt(
                f"{path} says that it has schema {number}, but its table {name} {what}: half of an upgrade, or changed "
                "by hand. It was left alone; restore a copy of it"
            )


def tables_of(number: int) -> dict[str, tuple[str, ...]]:
    """Return the tables of a schema, each with its columns in order."""
    return _tables_after(tuple(migration for migration in migrations() if migration.number <= number))


@cache
def _tables_after(some: tuple[SqliteMigration, ...]) -> dict[str, tuple[str, ...]]:
    with closing(build_schema(some)) as db:
        return _tables(db)


def build_schema(some: tuple[SqliteMigration, ...]) -> sqlite3.Connection:
    """Return an empty database in memory, built by these migrations, to compare a file with."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    for migration in some:
        for statement in migration.statements:
            db.execute(statement)
    return db


def _tables(db: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for table, column in db.execute(_COLUMNS):
        found[table] = (*found.get(table, ()), column)
    return found


def _roll_back(db: sqlite3.Connection) -> None:
    if db.in_transaction:
        db.execute("ROLLBACK")


def _schema(db: sqlite3.Connection) -> int:
    if not _number(db, "SELECT count(*) FROM sqlite_master WHERE name = 'meta'"):
        return 0
    return _number(db, "SELECT coalesce(max(value), 0) FROM meta WHERE key = 'schema'")


def _number(db: sqlite3.Connection, sql: str) -> int:
    return int(db.execute(sql).fetchone()[0])


def _foreign(path: Path) -> StoreCorrupt:
    return StoreCorrupt(f"{path} is a SQLite database of another program; it was left alone")


def _refuse_newer(schema: int, path: Path) -> None:
    known = migrations()[-1].number
    if schema > known:
        raise StoreTooNew(f"{path} has schema {schema}, this memwarden knows up to {known}; upgrade memwarden")


def _no_room(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < _ALMOST_NOTHING
    except OSError:
        return False
