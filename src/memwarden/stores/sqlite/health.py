"""Examines and repairs the file (:mod:`memwarden.stores.shared.checkpoints`).

Damage of indexes is told from damage of tables on a copy without indexes: what is still wrong there is in the tables,
and no repair brings that back. A repair is tried on a copy first. The file is repaired, in a single transaction, only
if that copy is sound afterwards.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from memwarden.errors import NotFound, StoreCorrupt
from memwarden.stores.shared.checkpoints import HealthFinding, RepairReport
from memwarden.stores.sqlite import file
from memwarden.stores.sqlite.backup import copy_pages, explain_errors, open_copy
from memwarden.stores.transfer import backup
from memwarden.stores.transfer.erasure import ERASED

RESTORE = "restore a backup"


class TableCheck(NamedTuple):
    """A consistency check. counting: SQL that counts wrong rows. mend: SQL that repairs them, None if impossible."""

    kind: str
    where: str
    counting: str
    said: str
    mend: str | None = None


def _orphans(table: str, condition: str, said: str) -> TableCheck:
    where = f"FROM {table} AS one WHERE {condition}"
    return TableCheck("orphans", table, f"SELECT count(*) {where}", said, f"DELETE {where}")


_NO_MEMORY = "NOT EXISTS (SELECT 1 FROM memories m WHERE m.row = one.row)"
_NO_SPACE = "one.ns NOT IN (SELECT no FROM namespaces)"
_NO_END = (
    "NOT EXISTS (SELECT 1 FROM memories m WHERE m.ns = one.ns AND m.id = one.from_id) OR "
    "NOT EXISTS (SELECT 1 FROM memories m WHERE m.ns = one.ns AND m.id = one.to_id)"
)
_NO_ITEM = "NOT EXISTS (SELECT 1 FROM items i WHERE i.row = one.row)"
_NO_THREAD = (
    "NOT EXISTS (SELECT 1 FROM checkpoints c WHERE c.ns = one.ns AND c.thread_id = one.thread_id) AND "
    "NOT EXISTS (SELECT 1 FROM checkpoint_writes w WHERE w.ns = one.ns AND w.thread_id = one.thread_id)"
)
_LAST = "(SELECT coalesce(max(seq), 0) FROM journal j WHERE j.ns = one.no)"
_HIGHEST = "(SELECT coalesce(max(m.row) & 4294967295, 0) FROM memories m WHERE m.ns = one.no)"
# A journal with gaps does not tell the revision, so counters are checked against whole journals only.
_TOLD = (
    f"{_LAST} = (SELECT count(*) FROM journal j WHERE j.ns = one.no) AND "
    f"{_LAST} >= (SELECT coalesce(max(m.rev), 0) FROM memories m WHERE m.ns = one.no)"
)

CHECKS = (
    _orphans("signals", _NO_MEMORY, "signals of no memory"),
    _orphans("versions", _NO_MEMORY, "earlier contents of no memory"),
    _orphans("relations", _NO_END, "links from or to no memory"),
    *(_orphans(table, _NO_SPACE, "rows of no namespace") for table in ("threads", "receipts")),
    _orphans("item_vectors", _NO_ITEM, "vectors of no item"),
    # Writes may come before their checkpoint (PendingWrite), so writes without a checkpoint are no orphans.
    _orphans("checkpoint_blobs", f"{_NO_SPACE} OR {_NO_THREAD}", "values of no saved state"),
    *(_orphans(table, _NO_SPACE, "rows of no namespace") for table in ("checkpoint_writes", "checkpoint_threads")),
    TableCheck(
        "counter",
        "namespaces",
        f"SELECT count(*) FROM namespaces AS one WHERE one.rev <> {_LAST} AND {_TOLD}",
        "namespaces with another revision than their journal",
        f"UPDATE namespaces AS one SET rev = {_LAST} WHERE one.rev <> {_LAST} AND {_TOLD}",
    ),
    TableCheck(
        "counter",
        "namespaces",
        f"SELECT count(*) FROM namespaces AS one WHERE one.rows < {_HIGHEST}",
        "namespaces that would give a number away twice",
        f"UPDATE namespaces AS one SET rows = {_HIGHEST} WHERE one.rows < {_HIGHEST}",
    ),
    TableCheck(
        "content",
        "journal",
        f"SELECT count(*) FROM namespaces AS one WHERE NOT ({_TOLD})",
        "namespaces whose journal has gaps, or ends too early",
    ),
    *(
        TableCheck("content", table, f"SELECT count(*) FROM {table} AS one WHERE {_NO_SPACE}", "rows of no namespace")
        for table in ("memories", "journal", "items", "checkpoints")
    ),
    TableCheck(
        "content",
        "memories",
        "SELECT count(*) FROM memories AS one WHERE NOT EXISTS (SELECT 1 FROM signals s WHERE s.row = one.row)",
        "memories without signals, which no query finds",
    ),
    TableCheck(
        "content",
        "memories",
        "SELECT count(*) FROM memories AS one WHERE one.version IS NOT "
        # a proposed or quarantined memory is version 1 and has no version in the journal yet
        "(SELECT CASE count(*) WHEN 0 THEN 0 ELSE coalesce(max(new_version), 1) END FROM journal j "
        "WHERE j.ns = one.ns AND j.memory_id = one.id)",
        "memories of another version than the journal tells",
    ),
    TableCheck(
        "content",
        "memories",
        "SELECT count(DISTINCT one.ns || ' ' || one.memory_id) FROM journal AS one WHERE NOT EXISTS "
        f"(SELECT 1 FROM memories m WHERE m.ns = one.ns AND m.id = one.memory_id) AND one.memory_id <> '{ERASED}'",
        "memories that the journal tells of are gone",
    ),
)


def run_checks(db: sqlite3.Connection) -> list[HealthFinding]:
    """Return the inconsistencies between the tables."""
    return [found for item in CHECKS if (found := _run_check(db, item))]


def mend_tables(db: sqlite3.Connection) -> int:
    """Repair inconsistent rows in the caller's transaction. Return how many rows changed."""
    changed = sum(db.execute(item.mend).rowcount for item in CHECKS if item.mend)
    if changed:
        db.execute("UPDATE namespaces SET epoch = epoch + 1")  # whoever holds an index in memory builds it anew
    return changed


def _run_check(db: sqlite3.Connection, check: TableCheck) -> HealthFinding | None:
    count = int(db.execute(check.counting).fetchone()[0])
    doing = {"orphans": "removed", "counter": "counted anew"}[check.kind] if check.mend else ""
    return HealthFinding(check.kind, check.where, count, f"{count:,} {check.said}", doing) if count else None


_BUSY_SECONDS = 30.0
_LINES = 200  # of what SQLite finds wrong; more say nothing more
_BLOATED = 0.25  # of the file
_BLOATED_PAGES = 256  # 1 MB: less is not worth it
_UNUSED = re.compile(r"Page \d+.* is never used|[Ff]reelist")


def examine(path: Path) -> list[HealthFinding]:
    """Return the defects of a file of the present schema, changing nothing. Raises StoreError."""
    if not path.exists():
        raise NotFound(f"there is no store at {path}")
    file.check_content(path)
    with explain_errors(path), closing(file.connect(path, _BUSY_SECONDS, reading=True)) as db:
        lines = _check_integrity(db)
        if not lines:
            return [*_check_missing(db), *run_checks(db), *_check_bloat(db)]
    with _make_temporary_copy(path) as copy:
        return _examine_damaged(copy, lines)


def repair(path: Path, kept: Path | None = None) -> RepairReport:
    """Mend a file of the present schema. See :class:`memwarden.stores.shared.checkpoints.HealthCheck`."""
    found = examine(path)
    if not found:
        return RepairReport(None, (), ())
    if any(item.kind == "damage" for item in found):
        raise StoreCorrupt(
            f"{path} is damaged where no repair helps ({_first(found)}); it was left as it is. Restore a backup: "
            "memwarden backup restore FILE --to URL"
        )
    if not any(item.mend for item in found):
        return RepairReport(None, (), tuple(found))
    when = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    kept = kept or path.with_name(f"{path.name}.before-repair.{when}.db")
    with backup.make_work_folder(kept) as folder:
        backup.require_room(kept, 2 * path.stat().st_size)
        whole, tried = folder / "whole.db", folder / "tried.db"
        with explain_errors(path):
            copy_pages(path, whole)
            copy_pages(path, tried)
        backup.publish(whole, kept)
        with explain_errors(path), closing(open_copy(tried)) as db:
            _mend(db)
        left = examine(tried)
    if any(item.mend for item in left):
        raise StoreCorrupt(f"{path} cannot be mended ({_first(left)}); it was left as it is. {RESTORE.capitalize()}")
    with explain_errors(path), closing(file.connect(path, _BUSY_SECONDS)) as db:
        _mend(db)
    return RepairReport(kept, tuple(item for item in found if item.mend), tuple(examine(path)))


def _first(found: list[HealthFinding]) -> str:
    return next((item.said for item in found if item.kind == "damage" or item.mend), found[0].said)


def _check_integrity(db: sqlite3.Connection) -> list[str]:
    """Return the damage that SQLite finds. Empty for a sound file."""
    try:
        found = [str(row[0]) for row in db.execute(f"PRAGMA integrity_check({_LINES})")]
    except sqlite3.DatabaseError as error:
        return [str(error)]
    return [] if found == ["ok"] else [line for item in found for line in item.splitlines() if "***" not in line]


def _examine_damaged(copy: Path, lines: list[str]) -> list[HealthFinding]:
    try:
        with closing(open_copy(copy)) as db:
            _rebuild_indexes(db)
            deeper = [line for line in _check_integrity(db) if not _UNUSED.search(line)]
            if deeper:
                return [HealthFinding("damage", "tables", len(deeper), f"damaged pages: {deeper[0]}", "")]
            found = HealthFinding("index", "indexes", len(lines), f"damaged indexes: {lines[0]}", "made anew")
            if all(_UNUSED.search(line) for line in lines):
                found = HealthFinding(
                    "bloat", "file", len(lines), f"{len(lines):,} pages belong to nothing", "written anew"
                )
            missing = _check_missing(db)
            _make_missing(db)
            return [found, *missing, *run_checks(db)]
    except (sqlite3.Error, UnicodeDecodeError, OverflowError, ValueError) as error:
        return [HealthFinding("damage", "tables", len(lines), f"damaged pages: {lines[0]} ({error})", "")]


def _check_missing(db: sqlite3.Connection) -> list[HealthFinding]:
    names = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
    return [
        HealthFinding("index", name, 1, f"the {kind} {name} is missing", "made anew")
        for name, (kind, _) in _expected_objects().items()
        if name not in names
    ]


def _check_bloat(db: sqlite3.Connection) -> list[HealthFinding]:
    free, pages = (int(db.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("freelist_count", "page_count"))
    if free < _BLOATED_PAGES or free < _BLOATED * pages:
        return []
    return [HealthFinding("bloat", "file", free, f"{free:,} of {pages:,} pages are empty", "written anew")]


def _expected_objects() -> dict[str, tuple[str, str]]:
    """Return kind and SQL of the present schema's indexes and views, by name."""
    with closing(file.build_schema(file.migrations())) as db:
        sql = "SELECT name, type, sql FROM sqlite_master WHERE type IN ('index', 'view') AND sql IS NOT NULL"
        return {name: (kind, text) for name, kind, text in db.execute(sql)}


def _mend(db: sqlite3.Connection) -> None:
    """Mend what can be mended in a transaction. Then rewrite the file where that is worth it."""
    damaged = bool(_check_integrity(db))
    db.execute("BEGIN IMMEDIATE")
    try:
        if damaged:
            _rebuild_indexes(db)
        _make_missing(db)
        mend_tables(db)
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise
    if damaged or _check_bloat(db):
        db.execute("VACUUM")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def _rebuild_indexes(db: sqlite3.Connection) -> None:
    """Rebuild every index without reading it. Its old pages stay unused until a vacuum."""
    named = db.execute("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL").fetchall()
    db.execute("PRAGMA writable_schema = ON")
    db.execute("DELETE FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
    db.execute("PRAGMA writable_schema = RESET")
    db.execute("REINDEX")  # those of keys, which have no name
    for (sql,) in named:
        db.execute(sql)


def _make_missing(db: sqlite3.Connection) -> None:
    there = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
    for name, (_, sql) in _expected_objects().items():
        if name not in there:
            db.execute(sql)


@contextmanager
def _make_temporary_copy(path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="memwarden-") as folder, explain_errors(path):
        copy = Path(folder) / "copy.db"
        copy_pages(path, copy)
        yield copy
