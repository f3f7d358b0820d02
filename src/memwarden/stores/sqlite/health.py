"""Examines and repairs the file (:mod:`memwarden.stores.shared.health`).

Damage of indexes is told from damage of tables on a copy without indexes: what is still wrong there is in the tables,
and no repair brings that back. A repair is tried on a copy first; the file is repaired, in a single transaction, only
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

from memwarden.errors import NotFound, StoreCorrupt
from memwarden.stores.shared.health import HealthFinding, RepairReport
from memwarden.stores.sqlite import checks, file
from memwarden.stores.sqlite.backup import copy_pages, explain_errors, open_copy
from memwarden.stores.transfer import backup

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
            return [*_check_missing(db), *checks.run_checks(db), *_check_bloat(db)]
    with _make_temporary_copy(path) as copy:
        return _examine_damaged(copy, lines)


def repair(path: Path, kept: Path | None = None) -> RepairReport:
    """Mend a file of the present schema. See :class:`memwarden.stores.shared.health.HealthCheck`."""
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
        raise StoreCorrupt(
            f"{path} cannot be mended ({_first(left)}); it was left as it is. {checks.RESTORE.capitalize()}"
        )
    with explain_errors(path), closing(file.connect(path, _BUSY_SECONDS)) as db:
        _mend(db)
    return RepairReport(kept, tuple(item for item in found if item.mend), tuple(examine(path)))


def _first(found: list[HealthFinding]) -> str:
    return next((item.said for item in found if item.kind == "damage" or item.mend), found[0].said)


def _check_integrity(db: sqlite3.Connection) -> list[str]:
    """Return the damage that SQLite finds; empty for a sound file."""
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
            return [found, *missing, *checks.run_checks(db)]
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
    """Mend what can be mended in a transaction; then rewrite the file where that is worth it."""
    damaged = bool(_check_integrity(db))
    db.execute("BEGIN IMMEDIATE")
    try:
        if damaged:
            _rebuild_indexes(db)
        _make_missing(db)
        checks.mend_tables(db)
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
