"""Consistency checks between the tables of the file, and their repairs."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from memwarden.stores.shared.health import HealthFinding

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
_MOST = "(SELECT coalesce(max(m.row) & 4294967295, 0) FROM memories m WHERE m.ns = one.no)"
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
        f"SELECT count(*) FROM namespaces AS one WHERE one.rows < {_MOST}",
        "namespaces that would give a number away twice",
        f"UPDATE namespaces AS one SET rows = {_MOST} WHERE one.rows < {_MOST}",
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
        "(SELECT 1 FROM memories m WHERE m.ns = one.ns AND m.id = one.memory_id)",
        "memories that the journal tells of are gone",
    ),
)


def run_checks(db: sqlite3.Connection) -> list[HealthFinding]:
    """Return the inconsistencies between the tables."""
    return [found for item in CHECKS if (found := _run_check(db, item))]


def mend_tables(db: sqlite3.Connection) -> int:
    """Repair inconsistent rows in the caller's transaction; return how many rows changed."""
    changed = sum(db.execute(item.mend).rowcount for item in CHECKS if item.mend)
    if changed:
        db.execute("UPDATE namespaces SET epoch = epoch + 1")  # whoever holds an index in memory builds it anew
    return changed


def _run_check(db: sqlite3.Connection, check: TableCheck) -> HealthFinding | None:
    count = int(db.execute(check.counting).fetchone()[0])
    doing = {"orphans": "removed", "counter": "counted anew"}[check.kind] if check.mend else ""
    return HealthFinding(check.kind, check.where, count, f"{count:,} {check.said}", doing) if count else None
