"""A file of every earlier schema opens, holds what it held, and a copy of what it was is kept beside it."""

# Nothing else runs on these tests' event loops, so blocking calls hold nobody up.
# ruff: noqa: ASYNC240

from __future__ import annotations

import asyncio
import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import namedtuple
from collections.abc import Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from memwarden.errors import StoreCorrupt, StoreError, StoreFull, StoreUnavailable
from memwarden.records import Namespace, Remove
from memwarden.stores.sqlite import SqliteStore, file, terms
from memwarden.stores.sqlite.backup import list_copies
from memwarden.stores.transfer.backup import NamespaceRevision, read_manifest
from memwarden.testing.examples import a_batch
from memwarden.text import TERMS_VERSION
from memwarden.text.signals import term_bytes
from told import Told, check_steps, check_store, replay

MAX_COPIES = 3

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
    assert [(item.id, item.text, item.version, item.valid_to) for item in found] == [
        ("said", "I moved to Lisbon.", 1, None),
        ("fact", "Ana lives in Lisbon.", 2, None),
    ]
    assert [version.text for version in await store.versions(NAMESPACE, [("fact", 1)])] == ["Ana lives in Porto."]
    journal = await store.journal(NAMESPACE)
    assert [(item.seq, item.step, item.channel) for item in journal] == [
        (1, 1, "turn"), (2, 2, "semantic"), (3, 3, "semantic"), (4, 4, "semantic"), (5, 5, "semantic"),
    ]  # fmt: skip
    assert [item.state for item in await store.get(NAMESPACE, ["gone"], removed=True)] == ["soft_deleted"]
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


OLD = Path(__file__).with_name("old_stores")
LANDED = {
    "0001_first.sql": "03c831691f751d49",
    "0002_journal.sql": "100005c2385cddb5",
    "0003_events.sql": "6305fda70b713b93",
    "0004_checkpoints.sql": "7e027412fb1b0e1d",
    "0005_items.sql": "3be3b1c7a3869a7b",
    "0006_checkpoint_rows.sql": "dc894feec58eed99",
    "0007_statements.sql": "a3feaee5acd7b81d",
    "0008_terms.sql": "45649bff0eb6b81a",
}
"""Migrations that users may have run, with a digest of their statements: they never change again."""
TEXTS = {
    1: ["Lisbon in May", "How is it", "lives in Lisbon. Since May.", "has a cat named Żółć", "chess"],
    2: ["What was new?", "lives in Porto", "has a cat named Żółć"],
    3: ["What was new?", "lives in Porto", "has a cat named Żółć"],
    4: ["What was new?", "lives in Porto", "has a cat named Żółć"],
    5: ["What was new?", "lives in Porto", "has a cat named Żółć"],
    6: ["What was new?", "lives in Porto", "has a cat named Żółć"],
    7: ["What was new?", "lives in Porto", "has a cat named Żółć"],
    9: ["What was new?", "lives in Porto", "has a cat named Żółć"],
}


def an_old_store(number: int, path: Path) -> Path:
    """A file that the memwarden of that schema wrote: two tenants who talked, stated, corrected and forgot things."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript((OLD / f"sqlite_{number:04}.sql").read_text("utf-8"))
    return path


@pytest.mark.parametrize("name", LANDED)
def test_what_landed_is_frozen(name: str) -> None:
    number = int(name[:4])
    statements = next(migration.statements for migration in file.migrations() if migration.number == number)
    bare = re.sub(r"--[^\n]*|\s+", "", "".join(statements))
    assert sha256(bare.encode()).hexdigest()[:16] == LANDED[name], "write another migration; users have run this one"


@pytest.mark.parametrize("number", TEXTS)
async def test_a_store_of_every_schema_opens_after_a_copy_was_kept(number: int, tmp_path: Path) -> None:
    path = an_old_store(number, tmp_path / "old.db")
    before = dump(path)
    store = SqliteStore(path)
    await store.open()
    for namespace in await store.namespaces():
        states = [Told()]
        journal = await store.journal(namespace, limit=1000)
        replay(journal, states)
        if number > 1:
            check_steps(journal)
        if number == 1:  # it kept signals of another shape for what was written past the public API
            found = {item.id: item for item in await store.find(namespace, limit=1000)}
            assert {item.id: item.version for item in found.values()} == states[-1].active
        else:
            found = await check_store(store, namespace, states[-1])
        texts = [item.text for item in found.values()]
        assert all(any(part in text for text in texts) for part in TEXTS[number]), texts
        assert (await store.apply(a_batch(Remove(next(iter(found))), namespace=namespace))).rev == len(journal) + 1
    assert (await store.about()).schema == file.migrations()[-1].number
    await store.close()
    kept = list_copies(path)
    assert len(kept) == (number < file.migrations()[-1].number)
    for item in kept:
        assert item.name.startswith(f"old.db.schema-{number}.")
        manifest = read_manifest(item)
        assert (manifest.schema, [stand.path for stand in manifest.namespaces]) == (number, ["user/ana", "user/tom"])
        shutil.unpack_archive(item, tmp_path / "out", "zip")
        assert dump(tmp_path / "out" / "store.db") == before
        await SqliteStore(tmp_path / "again.db").restore(item)
        again = SqliteStore(tmp_path / "again.db")
        await again.open()
        assert (await again.about()).schema == file.migrations()[-1].number
        assert [
            (await again.head(Namespace(*name))).rev for name in (("default", "user/ana"), ("firm", "user/tom"))
        ] == [stand.rev for stand in manifest.namespaces]
        await again.close()
    assert not list(tmp_path.glob("again.db.*"))  # what is restored needs no copy


async def test_checkpoints_of_an_old_store_are_kept(tmp_path: Path) -> None:
    store = SqliteStore(an_old_store(5, tmp_path / "old.db"))
    await store.open()
    for namespace in await store.namespaces():
        found = await store.checkpoints.get(namespace, "t")
        assert found is not None
        assert (found.saved.links, [value.data for value in found.values]) == ((("a", "1"),), [b"\x00a"])
        assert [write.data for write in found.writes] == [b"v"]
    await store.close()
    with closing(sqlite3.connect(tmp_path / "old.db")) as db:
        states = [json.loads(data)["graph_state"] for (data,) in db.execute(SHOWN)]
    assert states == [{"b": 1, "a": "a"}] * 2


SHOWN = "SELECT checkpoint_data FROM supervisor_checkpoints"


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return list(db.iterdump())


async def test_a_copy_holds_what_was_only_in_the_log(tmp_path: Path) -> None:
    path, written = tmp_path / "old.db", an_old_store(1, tmp_path / "written.db")
    with closing(sqlite3.connect(written)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("UPDATE namespaces SET epoch = 7")
        db.commit()
        for ending in ("", "-wal"):  # as a process that was killed leaves them
            shutil.copy(f"{written}{ending}", f"{path}{ending}")
    await opened(path)
    (copy,) = list_copies(path)
    shutil.unpack_archive(copy, tmp_path / "out", "zip")
    with closing(sqlite3.connect(tmp_path / "out" / "store.db")) as db:
        assert db.execute("SELECT DISTINCT epoch FROM namespaces").fetchall() == [(7,)]


async def test_a_store_that_is_open_elsewhere_is_not_upgraded(tmp_path: Path) -> None:
    """A process of an earlier memwarden would go on writing terms as it knows them."""
    path = an_old_store(7, tmp_path / "old.db")
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
    with closing(sqlite3.connect(path)) as holding:
        holding.execute("SELECT count(*) FROM memories").fetchone()
        store = SqliteStore(path, busy_seconds=0.2)
        with pytest.raises(StoreUnavailable, match=r"another process has it open.*end that process"):
            await store.open()
        assert holding.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone() == (7,)
    await opened(path)


async def test_terms_are_made_anew_with_progress_and_go_on_after_a_break(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = an_old_store(7, tmp_path / "old.db")
    monkeypatch.setattr(terms, "TERMS_PAGE", 3)
    ticks: list[tuple[int, int]] = []

    def breaking(done: int, total: int) -> None:
        ticks.append((done, total))
        if len(ticks) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await SqliteStore(path, tick=breaking).open()
    with closing(sqlite3.connect(path)) as db:
        (total,) = db.execute("SELECT count(*) FROM memories").fetchone()
        (row,) = db.execute("SELECT value FROM meta WHERE key = 'terms_row'").fetchone()
        held = db.execute(
            "SELECT m.row > ?, m.text, s.terms FROM memories m JOIN signals s USING (row)", (row,)
        ).fetchall()
    assert ticks == [(3, total), (6, total)]
    assert [terms == term_bytes(text) for later, text, terms in held if not later] == [True] * 6
    assert any(terms != term_bytes(text) for later, text, terms in held if later)
    ticks.clear()
    monkeypatch.setattr(terms, "TERMS_PAGE", 500)
    store = SqliteStore(path, tick=lambda done, total: ticks.append((done, total)))
    await store.open()
    await store.close()
    assert ticks[0] == (total - 6, total)
    with closing(sqlite3.connect(path)) as db:
        made = db.execute("SELECT m.text, s.terms FROM memories m JOIN signals s USING (row)").fetchall()
        assert dict(db.execute("SELECT key, value FROM meta WHERE key LIKE 'terms%'")) == {"terms": TERMS_VERSION}
    assert all(terms == term_bytes(text) for text, terms in made)


async def opened(path: Path) -> None:
    store = SqliteStore(path)
    try:
        await store.open()
    finally:
        await store.close()


async def test_only_the_newest_copies_stay(tmp_path: Path) -> None:
    """And nothing else beside the file is taken for one."""
    path = tmp_path / "old.db"
    others = [f"{path.name}.schema-1.mwbackup", "other.db.schema-1.20260101T000000000000.mwbackup", "old.db.mwbackup"]
    for name in others:
        (tmp_path / name).touch()
    for _ in range(MAX_COPIES + 2):
        path.unlink(missing_ok=True)
        await opened(an_old_store(1, path))
    kept = list_copies(path)
    assert len(kept) == MAX_COPIES
    assert kept == sorted(kept)
    assert all((tmp_path / name).exists() for name in others)


async def test_without_room_for_a_copy_nothing_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = an_old_store(1, tmp_path / "old.db")
    usage = namedtuple("usage", "total used free")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 1000, 1000))
        with pytest.raises(StoreFull, match=r"was not upgraded.*make room"):
            await opened(path)
    assert dump(path) == dump(an_old_store(1, tmp_path / "same.db"))
    assert sorted(item.name for item in tmp_path.iterdir()) == ["old.db", "same.db"]
    await opened(path)
    assert len(list_copies(path)) == 1


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (1, "ALTER TABLE versions ADD COLUMN valid_to INTEGER"),
        (1, "CREATE TABLE relations (ns)"),
        (1, "UPDATE meta SET value = 2 WHERE key = 'schema'"),
        (2, "UPDATE meta SET value = 1 WHERE key = 'schema'"),
        (2, "DELETE FROM meta WHERE key = 'schema'"),
        (2, "DROP TABLE threads"),
        (2, "DROP TABLE meta"),
        (2, "ALTER TABLE memories DROP COLUMN valid_to"),
        (2, "ALTER TABLE journal RENAME COLUMN step TO steps"),
    ],
)
async def test_a_half_migrated_store_is_recognised_and_left_alone(number: int, change: str, tmp_path: Path) -> None:
    path = an_old_store(number, tmp_path / "old.db")
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            "DROP VIEW IF EXISTS change_log; DROP VIEW IF EXISTS history; DROP VIEW IF EXISTS thread_revision"
        )
        db.executescript(change)
        db.execute("PRAGMA journal_mode = WAL")
    before = sha256(path.read_bytes()).hexdigest()
    with pytest.raises(StoreCorrupt, match=r"left alone; restore a copy"):
        await opened(path)
    assert sha256(path.read_bytes()).hexdigest() == before
    assert list_copies(path) == []


async def test_a_first_schema_that_nobody_released_is_recognised(tmp_path: Path) -> None:
    """While it was written the first migration changed; a file of such a day says 1, and has other columns."""
    path = an_old_store(1, tmp_path / "old.db")
    with closing(sqlite3.connect(path)) as db:
        db.execute("ALTER TABLE signals RENAME COLUMN pieces TO parts")
    with pytest.raises(StoreCorrupt, match="signals lacks pieces"):
        await opened(path)


async def test_a_damaged_old_store_is_not_upgraded(tmp_path: Path) -> None:
    path = an_old_store(1, tmp_path / "old.db")
    with closing(sqlite3.connect(path)) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'journal_by_memory'").fetchone()
        db.execute("PRAGMA journal_mode = WAL")
    with path.open("r+b") as raw:
        raw.seek((page - 1) * 4096)
        raw.write(b"\xff" * 4096)
    before = sha256(path.read_bytes()).hexdigest()
    with pytest.raises(StoreError, match="was not upgraded"):
        await opened(path)
    assert sha256(path.read_bytes()).hexdigest() == before


_KILLED = """
import asyncio, os, re, signal, sys
from memwarden.stores.sqlite import SqliteStore
left = int(sys.argv[2])

class Mortal(SqliteStore):
    def _connect(self, *, reading):
        db = super()._connect(reading=reading)
        db.set_trace_callback(passed)
        return db

def passed(sql):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def audited(event, given):
    if event in ("os.link", "tempfile.mkdtemp", "shutil.rmtree"):
        passed(event)

sys.addaudithook(audited)
store = Mortal(sys.argv[1])
asyncio.run(store.open())
print("opened", left)
asyncio.run(store.close())
"""


@pytest.mark.parametrize("points", [(18, 19, 20, 35), pytest.param(range(1, 60), marks=pytest.mark.soak)])
def test_a_kill_at_any_point_of_an_upgrade_loses_nothing(points: Sequence[int], tmp_path: Path) -> None:
    """Before each statement of it and each step of the copy: the file is the old one, whole, or the new one."""
    killed, before = 0, dump(an_old_store(1, tmp_path / "same.db"))
    for nth in points:
        folder = tmp_path / str(nth)
        folder.mkdir()
        path = an_old_store(1, folder / "old.db")
        command = [sys.executable, "-c", _KILLED, str(path), str(nth)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        killed += done.returncode == -signal.SIGKILL
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            (schema,) = db.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
        assert schema == file.migrations()[-1].number or dump(path) == before
        for copy in list_copies(path):
            assert read_manifest(copy).namespaces == (
                NamespaceRevision("default", "user/ana", 8),
                NamespaceRevision("firm", "user/tom", 8),
            )
        asyncio.run(opened(path))
        assert len(list_copies(path)) in (1, 2)
        assert not list(folder.glob("*.partial")), "what a kill left is taken away by the next upgrade"
    assert killed >= 4
