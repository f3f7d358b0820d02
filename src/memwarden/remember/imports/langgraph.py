"""Reads what LangGraph keeps in SQLite: the conversations in a saver's checkpoints, and the items of a store.

The layout is that of langgraph-checkpoint-sqlite 3: tables ``checkpoints`` and ``store``. No class that a file names is
made: a value that was written with the name of its class is read as the data that it holds.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final

from memwarden.errors import missing_extra
from memwarden.remember.imports.memories import read_item
from memwarden.remember.imports.messages import read_rows
from memwarden.remember.imports.records import ImportedDocument, ImportedThread, ImportRecord, MalformedPart
from memwarden.remember.imports.source import MAX_WHOLE, ImportSource

_SQLITE = "SQLite format 3\x00"
TABLES: Final = {
    "checkpoints": {
        "thread_id",
        "checkpoint_ns",
        "checkpoint_id",
        "parent_checkpoint_id",
        "type",
        "checkpoint",
        "metadata",
    },
    "store": {"prefix", "key", "value", "created_at"},
}
_ROLES = {"human": "user", "HumanMessageChunk": "user", "ai": "assistant", "AIMessageChunk": "assistant"}
_BEGIN = "__start__"  # the channel of a run's input, whose messages come again in their own channel
_SNAPSHOT = 7  # the code under which LangGraph packs the whole of a channel, without a class
_WAIT_SECONDS = 5.0


def is_langgraph(source: ImportSource) -> bool:
    """Return whether a file is a SQLite database of a LangGraph saver or store."""
    if not (source.path.is_file() and source.head.startswith(_SQLITE)):
        return False
    with _opened(source) as db:
        return bool(_tables(db))


def read_langgraph(source: ImportSource) -> Iterator[ImportRecord]:
    """Yield a thread for each conversation of a saver, and a document for each item of a store."""
    with _opened(source) as db:
        held = _tables(db)
        if "checkpoints" in held:
            yield from _read_saver(source, db)
        if "store" in held:
            yield from _read_store(source, db)


@contextmanager
def _opened(source: ImportSource) -> Iterator[sqlite3.Connection]:
    """Open the database for reading alone; what its schema says is not trusted."""
    try:
        with closing(
            # Records are read one after the other, but not all of them by the same thread.
            sqlite3.connect(
                f"{source.path.resolve().as_uri()}?mode=ro", uri=True, timeout=_WAIT_SECONDS, check_same_thread=False
            )
        ) as db:
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_WHOLE)
            db.execute("PRAGMA trusted_schema = OFF")
            db.execute("BEGIN")
            yield db
    except sqlite3.Error as error:
        raise MalformedPart(f"{source.place(source.main)} cannot be read as a SQLite database: {error}") from None


def _tables(db: sqlite3.Connection) -> set[str]:
    """Return LangGraph's tables in a database. Views and virtual tables are none: programs make their rows."""
    plain = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'create virtual%'"
    names = {name for (name,) in db.execute(plain)} & TABLES.keys()
    return {name for name in names if TABLES[name] <= {row[1] for row in db.execute(f"PRAGMA table_info({name})")}}


# --- savers


def _read_saver(source: ImportSource, db: sqlite3.Connection) -> Iterator[ImportRecord]:
    threads = [row[0] for row in db.execute("SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id")]
    for thread in threads:
        yield _read_thread(source, db, str(thread))


def _read_thread(source: ImportSource, db: sqlite3.Connection, thread: str) -> ImportedThread:
    """Return what was said on the way to a thread's last checkpoint, each message at the time of its first one."""
    where = f"{source.place(source.main)}, thread {thread}"
    skipped = Counter[str]()
    said: dict[str, Mapping[str, Any]] = {}
    user: str | None = None
    for identity, kind, body, metadata in _way_to_the_last(db, thread, skipped):
        checkpoint = _read_checkpoint(kind, body, f"{where}, checkpoint {identity}")
        user = _user(metadata) or user
        add_messages(said, checkpoint.get("channel_values"), checkpoint.get("ts"))
    rows = read_rows(said.values(), where, skipped)
    return ImportedThread(thread, rows, where, user=user, skipped=skipped)


def add_messages(said: dict[str, Mapping[str, Any]], values: Any, said_at: Any) -> None:
    """Add the messages in the channels of a checkpoint that none before it holds."""
    for message in _messages(values):
        name = str(message.get("id") or json.dumps([message.get("type"), message.get("content")], default=str))
        said.setdefault(name, _message_row(message, said_at))


def _way_to_the_last(
    db: sqlite3.Connection, thread: str, skipped: Counter[str]
) -> Iterator[tuple[str, str, bytes, bytes]]:
    """Yield the checkpoints from a thread's first to its last."""
    asked = "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM checkpoints WHERE thread_id = ?"
    whole = (
        "SELECT checkpoint_id, type, checkpoint, metadata FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''"
    )
    for identity in follow_parents(db.execute(f"{asked} ORDER BY checkpoint_id", (thread,)), skipped):
        yield from db.execute(f"{whole} AND checkpoint_id = ?", (thread, identity))


def follow_parents(outlines: Iterable[Sequence[Any]], skipped: Counter[str]) -> list[str]:
    """Return the ids from a thread's first checkpoint to its last; others are counted: of branches and of subgraphs.

    outlines: the namespace, the id and the parent of each checkpoint, by id.
    """
    parents: dict[str, str | None] = {}
    for space, identity, parent in outlines:
        if space:
            skipped["checkpoints of subgraphs"] += 1
        else:
            parents[identity] = parent
    way: dict[str, None] = {}
    step: str | None = next(reversed(parents), None)
    while step is not None and step in parents and step not in way:
        way[step] = None
        step = parents[step]
    if len(parents) > len(way):
        skipped["checkpoints of branches that are not shown"] += len(parents) - len(way)
    return list(way)[::-1]


def _read_checkpoint(kind: Any, body: Any, where: str) -> Mapping[str, Any]:
    read = read_value(kind, body, where)
    if not isinstance(read, Mapping):
        raise MalformedPart(f"{where} is no checkpoint")
    return read


def read_value(kind: Any, body: Any, where: str) -> Any:
    """Return a value that LangGraph wrote. Raises MalformedPart for a damaged or encrypted value."""
    if kind not in ("json", "msgpack"):
        raise MalformedPart(f"{where} is written as {kind!r:.40}; only json and msgpack are read, without encryption")
    try:
        return json.loads(body) if kind == "json" else _unpack(body)
    except (ValueError, TypeError, RecursionError) as error:
        raise MalformedPart(f"{where} is damaged: {error}") from None


def _unpack(body: bytes) -> Any:
    try:
        import ormsgpack
    except ImportError as error:
        raise missing_extra("checkpoints of LangGraph", "langgraph") from error

    def read_data(code: int, packed: bytes) -> Any:
        # Either (module, class, data, ...) or, for a snapshot of a channel, the data alone.
        held = ormsgpack.unpackb(packed, ext_hook=read_data, option=ormsgpack.OPT_NON_STR_KEYS)
        return held[2] if code != _SNAPSHOT and isinstance(held, Sequence) and len(held) > 2 else held

    return ormsgpack.unpackb(body, ext_hook=read_data, option=ormsgpack.OPT_NON_STR_KEYS)


def _messages(values: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the messages in the channels of a checkpoint."""
    if not isinstance(values, Mapping):
        return
    for channel, value in values.items():
        for item in value if isinstance(value, list) and channel != _BEGIN else ():
            # In JSON a message stands as {"lc", "type": "constructor", "id", "kwargs"}.
            message = item["kwargs"] if isinstance(item, Mapping) and isinstance(item.get("kwargs"), Mapping) else item
            if isinstance(message, Mapping) and "content" in message and isinstance(message.get("type"), str):
                yield message


def _message_row(message: Mapping[str, Any], said_at: Any) -> Mapping[str, Any]:
    role = _ROLES.get(message["type"], message["type"])
    kept = {"id": message.get("id"), "name": message.get("name"), "created_at": said_at}
    return {"role": role, "content": message["content"]} | {key: value for key, value in kept.items() if value}


def _user(metadata: Any) -> str | None:
    """Return whose run a checkpoint is of, where the program gave LangGraph a ``user_id``."""
    try:
        read = json.loads(metadata or b"{}")
    except (ValueError, TypeError):
        return None
    user = read.get("user_id") if isinstance(read, Mapping) else None
    return user if isinstance(user, str) and user.strip() else None


# --- stores


def _read_store(source: ImportSource, db: sqlite3.Connection) -> Iterator[ImportedDocument]:
    asked = db.execute("SELECT prefix, key, value, created_at FROM store ORDER BY prefix, key")
    for number, (prefix, key, value, created_at) in enumerate(asked, 1):
        where = f"{source.place(source.main)}, item {number}"
        try:
            held = json.loads(value)
        except (ValueError, TypeError):
            raise MalformedPart(f"{where} holds no JSON") from None
        yield read_item(
            {"namespace": str(prefix).split("."), "key": key, "value": held, "created_at": created_at}, where
        )
