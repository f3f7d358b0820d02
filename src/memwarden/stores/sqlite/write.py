"""What a batch does to the file: read what is there, decide in Python, write with few statements.

A batch is cut into chunks in which no id and no source key occurs twice, so that the changes of a chunk do not depend
on each other and each table is written with one ``executemany``.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from memwarden.clock import microseconds
from memwarden.errors import Conflict, InvalidInput, NotFound
from memwarden.records import Applied, Batch, Event, Namespace, Put, Receipt, Remove, State, WriteMode
from memwarden.stores.sqlite.rows import CONTENT, Encoded, Values, encode

_Change = Encoded | Remove

_MOST_IDS = 500
_MOST_ROWS = 2**32 - 1

_CONTENT_NAMES = ", ".join(CONTENT)
_INSERT_MEMORY = (
    f"INSERT INTO memories (row, ns, rev, version, state, id, source_key, {_CONTENT_NAMES}) "
    f"VALUES (?, ?, ?, 1, '{State.ACTIVE}', ?, ?, {', '.join('?' * len(CONTENT))})"
)
_UPDATE_MEMORY = (
    f"UPDATE memories SET rev = ?, version = ?, state = '{State.ACTIVE}', "
    f"{', '.join(f'{name} = ?' for name in CONTENT)} WHERE row = ?"
)
_ARCHIVE = (
    f"INSERT INTO versions (row, version, {_CONTENT_NAMES}) SELECT row, version, {_CONTENT_NAMES} FROM memories "
    "WHERE row = ?"
)
_REMOVE_MEMORY = f"UPDATE memories SET rev = ?, state = '{State.SOFT_DELETED}' WHERE row = ?"
_INSERT_SIGNALS = "INSERT INTO signals (flags, terms, vector, days, pieces, row) VALUES (?, ?, ?, ?, ?, ?)"
_UPDATE_SIGNALS = "UPDATE signals SET flags = ?, terms = ?, vector = ?, days = ?, pieces = ? WHERE row = ?"
_INSERT_JOURNAL = (
    "INSERT INTO journal (ns, seq, event, memory_id, old_version, new_version, actor, thread_id, at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_INSERT_RECEIPT = "INSERT INTO receipts (ns, key, fingerprint, rev, applied, at) VALUES (?, ?, ?, ?, ?, ?)"


class _Space(NamedTuple):
    no: int
    rev: int
    rows: int


class _Found(NamedTuple):
    """What is stored under an id."""

    row: int
    version: int
    state: str
    thread_id: str | None

    @property
    def live(self) -> bool:
        return self.state == State.ACTIVE


def prepare(batch: Batch) -> Callable[[sqlite3.Connection], Receipt]:
    """Encode a batch, outside any lock, and return what writes it. Raises InvalidInput."""
    try:
        at = microseconds(batch.at)
    except (TypeError, AttributeError) as error:
        raise InvalidInput(f"the time of a batch is an aware datetime, not {batch.at!r}") from error
    changes = [encode(one, batch.namespace) if isinstance(one, Put) else one for one in batch.changes]
    chunks = list(_chunks(changes))
    return lambda db: _write(db, batch, at, chunks)


def bind_model(db: sqlite3.Connection, model: str) -> str:
    """Name the embedding model unless the file has one; return the one that it has."""
    db.execute("INSERT OR IGNORE INTO meta (key, value) VALUES ('model', ?)", (model,))
    (bound,) = db.execute("SELECT value FROM meta WHERE key = 'model'").fetchone()
    return str(bound)


def _chunks(changes: Sequence[_Change]) -> Iterator[list[_Change]]:
    chunk: list[_Change] = []
    seen: set[tuple[str, str]] = set()
    for change in changes:
        marks = _marks(change)
        if not seen.isdisjoint(marks):
            yield chunk
            chunk, seen = [], set()
        chunk.append(change)
        seen.update(marks)
    if chunk:
        yield chunk


def _marks(change: _Change) -> list[tuple[str, str]]:
    if isinstance(change, Remove):
        return [("id", change.id)]
    marks = [("id", change.put.memory.id)]
    return marks if change.once is None else [*marks, ("once", change.once)]


def _write(db: sqlite3.Connection, batch: Batch, at: int, chunks: Iterable[list[_Change]]) -> Receipt:
    space = _space(db, batch.namespace)
    if batch.key is not None and (earlier := _earlier(db, space, batch)) is not None:
        return earlier
    rev, rows = space.rev, space.rows
    applied: list[Applied] = []
    for chunk in chunks:
        plan = _Plan(batch, space.no, at, rev, rows)
        applied += plan.decide(chunk, _found(db, space.no, chunk), _first_ids(db, space.no, chunk))
        plan.write(db)
        rev, rows = plan.rev, plan.rows
    db.execute("UPDATE namespaces SET rev = ?, rows = ? WHERE no = ?", (rev, rows, space.no))
    if batch.key is not None:
        db.execute(_INSERT_RECEIPT, (space.no, batch.key, batch.fingerprint, rev, json.dumps(applied), at))
    return Receipt(rev, tuple(applied))


def _space(db: sqlite3.Connection, namespace: Namespace) -> _Space:
    name = (namespace.tenant, namespace.path)
    found = db.execute("SELECT no, rev, rows FROM namespaces WHERE tenant = ? AND path = ?", name).fetchone()
    if found is not None:
        return _Space(*found)
    cursor = db.execute("INSERT INTO namespaces (tenant, path, rev, epoch, rows) VALUES (?, ?, 0, 0, 0)", name)
    return _Space(cursor.lastrowid or 0, 0, 0)


def _earlier(db: sqlite3.Connection, space: _Space, batch: Batch) -> Receipt | None:
    sql = "SELECT fingerprint, rev, applied FROM receipts WHERE ns = ? AND key = ?"
    found = db.execute(sql, (space.no, batch.key)).fetchone()
    if found is None:
        return None
    fingerprint, rev, applied = found
    if fingerprint != batch.fingerprint:
        raise Conflict(f"the key {batch.key!r} was used for another call in {batch.namespace}")
    return Receipt(rev, tuple(Applied(*one) for one in json.loads(applied)), replayed=True)


def _found(db: sqlite3.Connection, ns: int, chunk: Iterable[_Change]) -> dict[str, _Found]:
    ids = [one.id if isinstance(one, Remove) else one.put.memory.id for one in chunk]
    rows = _look_up(db, "id, row, version, state, thread_id", "id", ns, ids)
    return {row[0]: _Found(*row[1:]) for row in rows}


def _first_ids(db: sqlite3.Connection, ns: int, chunk: Iterable[_Change]) -> dict[str, str]:
    keys = [one.once for one in chunk if isinstance(one, Encoded) and one.once is not None]
    # The index over source keys is partial; it is used only where the condition says so too.
    rows = _look_up(db, "source_key, id", "source_key IS NOT NULL AND source_key", ns, keys)
    return dict(rows)


def _look_up(db: sqlite3.Connection, columns: str, by: str, ns: int, values: Sequence[str]) -> list[Any]:
    rows: list[Any] = []
    for start in range(0, len(values), _MOST_IDS):
        some = values[start : start + _MOST_IDS]
        sql = f"SELECT {columns} FROM memories WHERE ns = ? AND {by} IN ({', '.join('?' * len(some))})"
        rows += db.execute(sql, (ns, *some)).fetchall()
    return rows


class _Plan:
    """What one chunk writes, table by table."""

    def __init__(self, batch: Batch, ns: int, at: int, rev: int, rows: int) -> None:
        self.rev = rev
        self.rows = rows
        self._batch = batch
        self._ns = ns
        self._at = at
        self._inserted: list[Values] = []
        self._inserted_signals: list[Values] = []
        self._archived: list[Values] = []
        self._updated: list[Values] = []
        self._updated_signals: list[Values] = []
        self._removed: list[Values] = []
        self._journal: list[Values] = []

    def decide(self, chunk: Iterable[_Change], found: dict[str, _Found], first: dict[str, str]) -> list[Applied]:
        """Return what becomes of each change. Raises Conflict, NotFound, InvalidInput; nothing is written yet."""
        return [
            self._remove(one, found.get(one.id))
            if isinstance(one, Remove)
            else self._put(one, found.get(one.put.memory.id), first)
            for one in chunk
        ]

    def write(self, db: sqlite3.Connection) -> None:
        for sql, rows in (
            (_INSERT_MEMORY, self._inserted),
            (_INSERT_SIGNALS, self._inserted_signals),
            (_ARCHIVE, self._archived),  # before the update, which overwrites what is archived
            (_UPDATE_MEMORY, self._updated),
            (_UPDATE_SIGNALS, self._updated_signals),
            (_REMOVE_MEMORY, self._removed),
            (_INSERT_JOURNAL, self._journal),
        ):
            if rows:
                db.executemany(sql, rows)

    def _put(self, change: Encoded, found: _Found | None, first: dict[str, str]) -> Applied:
        put, memory, namespace = change.put, change.put.memory, self._batch.namespace
        if put.mode == WriteMode.UPDATE:
            if found is None or not found.live:
                raise NotFound(f"there is no memory {memory.id!r} in {namespace} to update")
            if put.expected_version not in (None, found.version):
                raise Conflict(
                    f"memory {memory.id!r} has version {found.version}, not {put.expected_version}; read it again"
                )
            return self._rewrite(change, found)
        if put.mode == WriteMode.UPSERT and found is not None:
            return self._rewrite(change, found)
        if change.once is not None and change.once in first:
            return Applied(first[change.once], "duplicate")
        if found is not None:
            raise Conflict(f"the id {memory.id!r} is in use in {namespace}")
        return self._create(change)

    def _create(self, change: Encoded) -> Applied:
        memory = change.put.memory
        self.rows += 1
        if self.rows > _MOST_ROWS:
            raise InvalidInput(f"{self._batch.namespace} is full: {_MOST_ROWS} memories were written to it")
        row = self._ns << 32 | self.rows
        rev = self._log(Event.ADD, memory.id, None, 1, memory.thread_id)
        self._inserted.append((row, self._ns, rev, memory.id, change.once, *change.content))
        self._inserted_signals.append((*change.signals, row))
        return Applied(memory.id, "created")

    def _rewrite(self, change: Encoded, found: _Found) -> Applied:
        memory, version = change.put.memory, found.version + 1
        event, old = (Event.UPDATE, found.version) if found.live else (Event.ADD, None)
        rev = self._log(event, memory.id, old, version, memory.thread_id)
        self._archived.append((found.row,))
        self._updated.append((rev, version, *change.content, found.row))
        self._updated_signals.append((*change.signals, found.row))
        return Applied(memory.id, "updated" if found.live else "created")

    def _remove(self, change: Remove, found: _Found | None) -> Applied:
        if found is None or not found.live:
            return Applied(change.id, "missing")
        rev = self._log(Event.DELETE, change.id, found.version, None, found.thread_id)
        self._removed.append((rev, found.row))
        return Applied(change.id, "deleted")

    def _log(self, event: Event, memory_id: str, old: int | None, new: int | None, thread_id: str | None) -> int:
        self.rev += 1
        actor = self._batch.actor
        self._journal.append((self._ns, self.rev, event.value, memory_id, old, new, actor, thread_id, self._at))
        return self.rev
