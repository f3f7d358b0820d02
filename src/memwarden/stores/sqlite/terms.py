"""Makes the terms of an earlier file anew, which no process of an earlier memwarden may write to meanwhile."""

from __future__ import annotations

import logging
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from memwarden.clock import moment
from memwarden.errors import StoreUnavailable
from memwarden.records import local_time
from memwarden.stores.transfer.backup import Tick
from memwarden.text import TERMS_VERSION
from memwarden.text.signals import make_text_signals

log = logging.getLogger(__name__)

# Memories whose terms are made anew in a transaction.
TERMS_PAGE = 500


def require_alone(path: Path, busy_seconds: float) -> None:
    """Wait until no other process has the file open. Raise StoreUnavailable when one keeps it.

    A process of an earlier memwarden would go on writing earlier terms beside the new ones. Nothing is changed.
    """
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            with closing(sqlite3.connect(path, timeout=0.0, isolation_level=None)) as db:
                # Set before the log is read, this takes the whole file, which an open connection elsewhere prevents.
                db.execute("PRAGMA locking_mode = EXCLUSIVE")
                db.execute("SELECT count(*) FROM sqlite_master").fetchone()
                return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
            if time.monotonic() > deadline:
                raise StoreUnavailable(
                    f"{path} has to be upgraded and another process has it open, perhaps of an earlier memwarden; end "
                    "that process, then open the store again"
                ) from error
            time.sleep(0.05)


def renew_terms(db: sqlite3.Connection, path: Path, tick: Tick) -> None:
    """Make the terms, flags and days of every memory anew if the file holds those of an earlier number.

    Each page is a transaction that notes how far it came: a killed upgrade goes on there when the store is opened
    again, and processes that open it at once share the work.
    """
    if _meta(db, "terms") == TERMS_VERSION:
        return
    (total,) = db.execute("SELECT count(*) FROM memories").fetchone()
    if total:
        log.warning("%s: the terms of %d memories are made anew; this is done once", path, total)
    done = 0
    while (page := _renew_page(db)) is not None:
        done += page
        tick(min(done, total), total)


def _renew_page(db: sqlite3.Connection) -> int | None:
    """Make a page of terms anew. Return its size, None when all are done."""
    db.execute("BEGIN IMMEDIATE")
    try:
        if _meta(db, "terms") == TERMS_VERSION:
            db.execute("ROLLBACK")
            return None
        rows = db.execute(
            "SELECT row, text, created_at, utc_offset FROM memories WHERE row > ? ORDER BY row LIMIT ?",
            (_meta(db, "terms_row"), TERMS_PAGE),
        ).fetchall()
        made = [(make_text_signals(text, local_time(moment(said), offset)), row) for row, text, said, offset in rows]
        db.executemany(
            "UPDATE signals SET terms = ?, flags = ?, days = ?, passages = ? WHERE row = ?",
            [(*new, row) for new, row in made],
        )
        if rows:
            _set_meta(db, "terms_row", rows[-1][0])
        else:
            db.execute("DELETE FROM meta WHERE key = 'terms_row'")
            _set_meta(db, "terms", TERMS_VERSION)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    return len(rows)


def _meta(db: sqlite3.Connection, key: str) -> int:
    return int(db.execute("SELECT coalesce(max(value), 0) FROM meta WHERE key = ?", (key,)).fetchone()[0])


def _set_meta(db: sqlite3.Connection, key: str, value: int) -> None:
    db.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))
