"""Reads what LangGraph keeps in PostgreSQL: the conversations in a saver's checkpoints, and the items of a store.

The layout is that of langgraph-checkpoint-postgres 3: tables ``checkpoints``, ``checkpoint_blobs`` and ``store``. The
values of a checkpoint lie beside it, by channel and version, so that each is read once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from memwarden.errors import StoreUnavailable, missing_extra
from memwarden.remember.imports.langgraph import TABLES, add_messages, follow_parents, read_value
from memwarden.remember.imports.memories import read_item
from memwarden.remember.imports.messages import read_rows
from memwarden.remember.imports.records import ImportedDocument, ImportedThread, ImportRecord, MalformedPart
from memwarden.remember.imports.source import MAX_WHOLE, ImportOptions
from memwarden.stores.url import without_login

if TYPE_CHECKING:
    from psycopg import Connection

SCHEMES = "postgresql://", "postgres://"
_BLOBS = "checkpoint_blobs"
_COLUMNS: Final = {**TABLES, _BLOBS: {"thread_id", "checkpoint_ns", "channel", "version", "type", "blob"}}
# Rows that are fetched at a time: each may be of megabytes.
_ROWS = 20
_SECONDS = 10


class PostgresSource:
    """A database to import. All of its rows are read as they stood when it was opened, however often."""

    def __init__(self, url: str, options: ImportOptions | None = None) -> None:
        self._url = url
        self.place = without_login(url)
        self.options = options or ImportOptions()
        self._db: Connection[Any] | None = None

    def close(self) -> None:
        """Let go of the database."""
        if self._db is not None:
            self._db.close()

    def read(self) -> Iterator[ImportRecord]:
        """Yield a thread for each conversation of a saver, and a document for each item of a store."""
        with self._opened() as db:
            held = _tables(db)
            if not {"checkpoints", "store"} & held:
                raise MalformedPart(f"{self.place} holds no tables of a LangGraph saver or store")
            if "checkpoints" in held:
                threads = db.execute("SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id").fetchall()
                for (thread,) in threads:
                    yield _read_thread(db, str(thread), f"{self.place}, thread {thread}")
            if "store" in held:
                yield from _read_store(db, self.place)

    @contextmanager
    def _opened(self) -> Iterator[Connection[Any]]:
        try:
            import psycopg
        except ImportError:
            raise missing_extra("PostgreSQL", "postgres") from None
        try:
            if self._db is None:
                self._db = psycopg.connect(self._url, connect_timeout=_SECONDS)
                self._db.isolation_level, self._db.read_only = psycopg.IsolationLevel.REPEATABLE_READ, True
            yield self._db
        except psycopg.OperationalError as error:
            raise StoreUnavailable(f"{self.place} cannot be read: {error}") from error
        except psycopg.Error as error:
            raise MalformedPart(f"{self.place} cannot be read: {error}") from None


def _tables(db: Connection[Any]) -> set[str]:
    """Return LangGraph's tables in the schemas that the login sees; a saver's lie beside their values."""
    asked = (
        "SELECT a.attrelid::regclass::text, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
        "WHERE c.relname = ANY(%s) AND c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid) AND a.attnum > 0"
    )
    columns: dict[str, set[str]] = {}
    for table, column in db.execute(asked, (list(_COLUMNS),)):
        columns.setdefault(table, set()).add(column)
    found = {name for name, wanted in _COLUMNS.items() if wanted <= columns.get(name, set())}
    return found - {"checkpoints"} if _BLOBS not in found else found


def _read_thread(db: Connection[Any], thread: str, where: str) -> ImportedThread:
    """Return what was said on the way to a thread's last checkpoint, each message at the time of its first one."""
    skipped, said = Counter[str](), dict[str, Mapping[str, Any]]()
    user: str | None = None
    seen: set[tuple[str, str]] = set()
    asked = (
        "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM checkpoints WHERE thread_id = %s "
        "ORDER BY checkpoint_id"
    )
    for identity in follow_parents(db.execute(asked, (thread,)), skipped):
        row = db.execute(
            "SELECT checkpoint, metadata FROM checkpoints "
            "WHERE thread_id = %s AND checkpoint_ns = '' AND checkpoint_id = %s",
            (thread, identity),
        ).fetchone()
        checkpoint, metadata = row or ({}, {})
        if not isinstance(checkpoint, Mapping):
            raise MalformedPart(f"{where}, checkpoint {identity} is no checkpoint")
        named = metadata.get("user_id") if isinstance(metadata, Mapping) else None
        user = named if isinstance(named, str) and named.strip() else user
        versions = {(str(name), str(version)) for name, version in (checkpoint.get("channel_versions") or {}).items()}
        values = dict(checkpoint.get("channel_values") or {})
        for channel, value in _read_values(db, thread, versions - seen, f"{where}, checkpoint {identity}"):
            values[channel] = value
        seen |= versions
        add_messages(said, values, checkpoint.get("ts"))
    rows = read_rows(said.values(), where, skipped)
    return ImportedThread(thread, rows, where, user=user, skipped=skipped)


def _read_values(
    db: Connection[Any], thread: str, versions: set[tuple[str, str]], where: str
) -> Iterator[tuple[str, Any]]:
    asked = (
        "SELECT type, length(blob), CASE WHEN length(blob) <= %s THEN blob END FROM checkpoint_blobs "
        "WHERE thread_id = %s AND checkpoint_ns = '' AND channel = %s AND version = %s"
    )
    for channel, version in sorted(versions):
        for kind, size, body in db.execute(asked, (MAX_WHOLE, thread, channel, version)):
            if size is not None and size > MAX_WHOLE:
                raise MalformedPart(f"{where}, {channel}: over {MAX_WHOLE:,} bytes")
            if body is not None and kind not in ("null", "empty", "bytes", "bytearray"):
                yield channel, read_value(kind, bytes(body), f"{where}, {channel}")


def _read_store(db: Connection[Any], place: str) -> Iterator[ImportedDocument]:
    with db.cursor(name="items") as cursor:
        cursor.itersize = _ROWS
        cursor.execute("SELECT prefix, key, value, created_at FROM store ORDER BY prefix, key")
        for number, (prefix, key, value, created_at) in enumerate(cursor, 1):
            at = None if created_at is None else created_at.isoformat()
            item = {"namespace": str(prefix).split("."), "key": key, "value": value, "created_at": at}
            yield read_item(item, f"{place}, item {number}")
