"""Makes terms of an earlier number anew when a database is opened."""

from __future__ import annotations

import logging
from typing import Any

from psycopg import Connection

from memwarden.clock import moment
from memwarden.errors import StoreUnavailable
from memwarden.records import Namespace
from memwarden.stores.postgres.sql.rows import decode_text
from memwarden.stores.postgres.sql.transaction import TransactionKind, begin, scope_values
from memwarden.stores.transfer.backup import Tick
from memwarden.text import TERMS_VERSION
from memwarden.text.signals import make_text_signals

TERMS_MIGRATION = 8
"""Before this migration the database may be open in processes that would write earlier terms."""
TERMS_PAGE = 500
"""Memories whose terms are made anew in a transaction."""
APPLICATION = "memwarden 8"
"""Name of this memwarden's connections, with the number of the last migration that older processes must not miss."""
_DONE = f"terms_{TERMS_VERSION}"
_PAGE_SECONDS = 60.0

_OLDER_SESSIONS = b"""
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'memwarden'
"""
_SPACE = b"SELECT terms, terms_n FROM memwarden.namespaces WHERE tenant = %s AND namespace = %s FOR UPDATE"
_ROWS = b"""
    SELECT n, text, escaped, created_at FROM memwarden.memories
    WHERE tenant = %s AND namespace = %s AND n > %s ORDER BY n LIMIT %s
"""
_TAKE = (
    b"UPDATE memwarden.signals SET terms = %s, flags = %s, days = %s WHERE tenant = %s AND namespace = %s AND n = %s"
)
_NOTE = b"UPDATE memwarden.namespaces SET terms = %s, terms_n = %s WHERE tenant = %s AND namespace = %s"

log = logging.getLogger(__name__)


def refuse_older_sessions(db: Connection[Any], place: str, number: int) -> None:
    """Raise StoreUnavailable if a process of an earlier memwarden has a database of schema ``number`` open."""
    if not 0 < number < TERMS_MIGRATION:
        return
    (older,) = db.execute(_OLDER_SESSIONS).fetchone() or (0,)
    if older:
        raise StoreUnavailable(
            f"{place} has to be upgraded, and {older} connections of an earlier memwarden are open; end those "
            "processes, then open the store again"
        )


def renew_terms(db: Connection[Any], place: str, tick: Tick) -> None:
    """Make the terms, flags and days of every memory anew, of namespaces that hold those of an earlier number.

    Each page is a transaction that notes how far it came: a killed upgrade goes on there when the store is opened
    again, and processes that open it at once share the work.
    """
    if db.execute(b"SELECT 1 FROM memwarden.meta WHERE key = %s", (_DONE,)).fetchone():
        return
    begin(db, None, _PAGE_SECONDS, TransactionKind.READ, listing=True)
    due = db.execute(
        b"SELECT tenant, namespace FROM memwarden.namespaces WHERE terms < %s", (TERMS_VERSION,)
    ).fetchall()
    db.rollback()
    if due:
        log.warning("%s: the terms of %d namespaces are made anew; this is done once", place, len(due))
    for done, (tenant, path) in enumerate(due, 1):
        namespace = Namespace(decode_text(tenant), decode_text(path))
        while _renew_page(db, namespace):
            pass
        tick(done, len(due))
    begin(db, None, _PAGE_SECONDS)
    db.execute(b"INSERT INTO memwarden.meta (key, value) VALUES (%s, 'done') ON CONFLICT DO NOTHING", (_DONE,))
    db.commit()


def _renew_page(db: Connection[Any], namespace: Namespace) -> bool:
    """Make a page of a namespace's terms anew; return whether there may be more."""
    scope = scope_values(namespace)
    begin(db, namespace, _PAGE_SECONDS)
    found = db.execute(_SPACE, scope).fetchone()
    if found is None or found[0] >= TERMS_VERSION:
        db.rollback()
        return False
    rows = db.execute(_ROWS, (*scope, found[1], TERMS_PAGE)).fetchall()
    with db.cursor() as cursor:
        cursor.executemany(
            _TAKE,
            [
                (*make_text_signals(decode_text(text) if escaped else text, moment(said)), *scope, n)
                for n, text, escaped, said in rows
            ],
        )
    if rows:
        db.execute(_NOTE, (found[0], rows[-1][0], *scope))
    else:
        db.execute(_NOTE, (TERMS_VERSION, 0, *scope))
        db.execute(b"DELETE FROM memwarden.digests WHERE tenant = %s AND namespace = %s", scope)
    db.commit()
    return bool(rows)
