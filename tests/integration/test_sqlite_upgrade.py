"""A file of every earlier schema opens, and holds what it held."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from memwarden.records import Namespace, Remove
from memwarden.stores.sqlite import SqliteStore, file
from memwarden.testing.examples import a_batch

NAMESPACE = Namespace("default", "user/ana")
_MEMORY = """
INSERT INTO memories (row, ns, rev, version, state, id, source_key, created_at, updated_at, channel, kind, category,
    importance, pinned, tags, characters, sources, thread_id, valid_from, text)
VALUES (4294967296 + ?, 1, ?, ?, ?, ?, ?, 1000, 2000, ?, 'note', 'profile', 0.5, 0, '[]', '[]', '[]', 't1', ?, ?)
"""


def a_file_of_schema(number: int, path: Path) -> None:
    """Write the file as that schema's memwarden did: a turn, a fact that was changed once, and one that was removed."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(f"PRAGMA application_id = {file.APPLICATION_ID}")
    for migration in file.migrations()[:number]:
        for statement in migration.statements:
            db.execute(statement)
    db.execute("INSERT INTO meta VALUES ('schema', ?), ('model', 'none')", (number,))
    db.execute("INSERT INTO namespaces VALUES (1, 'default', 'user/ana', 5, 0, 3)")
    rows = [
        (1, 1, 1, "active", "said", "2:t1id:m1", "turn", None, "I moved to Lisbon."),
        (2, 3, 2, "active", "fact", None, "semantic", 500, "Ana lives in Lisbon."),
        (3, 5, 1, "soft_deleted", "gone", None, "semantic", None, "Ana has a cat."),
    ]
    db.executemany(_MEMORY, rows)
    db.executemany("INSERT INTO signals VALUES (4294967296 + ?, 0, x'', NULL, x'', NULL)", [(1,), (2,), (3,)])
    db.execute(
        "INSERT INTO versions (row, version, created_at, updated_at, channel, kind, category, importance, pinned, tags,"
        " characters, sources, text) VALUES (4294967298, 1, 1000, 1000, 'semantic', 'note', 'profile', 0.5, 0, '[]',"
        " '[]', '[]', 'Ana lives in Porto.')"
    )
    entries: list[tuple[object, ...]] = [
        (1, "ADD", "said", None, 1),
        (2, "ADD", "fact", None, 1),
        (3, "UPDATE", "fact", 1, 2),
    ]
    entries += [(4, "ADD", "gone", None, 1), (5, "DELETE", "gone", 1, None)]
    db.executemany(
        "INSERT INTO journal (ns, seq, event, memory_id, old_version, new_version, thread_id, at) "
        "VALUES (1, ?, ?, ?, ?, ?, 't1', 3000)",
        entries,
    )
    db.close()


async def test_a_file_of_the_first_schema_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    a_file_of_schema(1, path)
    store = SqliteStore(path)
    await store.open()
    found = await store.find(NAMESPACE, order_by="written", descending=False)
    assert [(one.id, one.text, one.version, one.valid_to) for one in found] == [
        ("said", "I moved to Lisbon.", 1, None),
        ("fact", "Ana lives in Lisbon.", 2, None),
    ]
    assert [one.text for one in await store.versions(NAMESPACE, [("fact", 1)])] == ["Ana lives in Porto."]
    journal = await store.journal(NAMESPACE)
    assert [(one.seq, one.step, one.channel) for one in journal] == [
        (1, 1, "turn"), (2, 2, "semantic"), (3, 3, "semantic"), (4, 4, "semantic"), (5, 5, "semantic"),
    ]  # fmt: skip
    assert [one.state for one in await store.get(NAMESPACE, ["gone"], removed=True)] == ["soft_deleted"]
    receipt = await store.apply(a_batch(Remove("fact"), namespace=NAMESPACE))
    assert receipt.rev == 6
    await store.close()


async def test_the_designs_tables_can_be_read_as_views(tmp_path: Path) -> None:
    """B1's thread_revision and change_log and B8's history are views of the one journal."""
    path = tmp_path / "old.db"
    a_file_of_schema(1, path)
    store = SqliteStore(path)
    await store.open()
    await store.close()
    db = sqlite3.connect(path)
    assert db.execute("SELECT thread_id, rev FROM thread_revision").fetchall() == [("t1", 5)]
    change = "SELECT thread_id, rev, memory_id, event, ts FROM change_log WHERE thread_id = 't1' ORDER BY rev DESC"
    assert db.execute(change).fetchone() == ("t1", 5, "gone", "DELETE", 3000)
    history = "SELECT event, old_ref, new_ref FROM history WHERE memory_id = 'fact' ORDER BY ts, id"
    assert db.execute(history).fetchall() == [("ADD", None, 1), ("UPDATE", 1, 2)]
    db.close()
