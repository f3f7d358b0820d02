"""Opens a file of an earlier schema: contents stay, and a copy of the old file is kept."""

# Nothing else runs on these tests' event loops, so blocking calls hold nobody up.
# ruff: noqa: ASYNC240

from __future__ import annotations

import asyncio
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

from memwarden import AsyncWarden
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


async def test_the_designs_tables_can_be_read_as_views(tmp_path: Path) -> None:
    """B1's thread_revision and change_log and B8's history are views of the one journal."""
    path = an_old_store(tmp_path / "old.db")
    await opened(path)
    with closing(sqlite3.connect(path)) as db:
        ns = "ns = (SELECT ns FROM namespaces WHERE path = 'user/ana')"
        assert db.execute("SELECT thread_id, rev FROM thread_revision WHERE thread_id = 't'").fetchone() == ("t", 11)
        change = "SELECT rev, event FROM change_log WHERE thread_id = 't' ORDER BY rev DESC"
        assert db.execute(change).fetchone()[0] == 11
        moved = db.execute(f"SELECT id FROM memories WHERE text = 'Ana lives in Lisbon.' AND {ns}").fetchone()[0]
        history = "SELECT event FROM history WHERE memory_id = ? ORDER BY ts, id"
        assert [event for (event,) in db.execute(history, (moved,))] == ["ADD", "SUPERSEDE"]


OLD = Path(__file__).with_name("old_stores")
SCHEMA = 10
TEXTS = ["What was new?", "lives in Porto", "has a cat named Żółć", "Bed 20 is for thyme"]
STANDS = (NamespaceRevision("default", "user/ana", 11), NamespaceRevision("firm", "user/tom", 11))


def an_old_store(path: Path) -> Path:
    """Write the file that commit 21354826 made, schema 10."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript((OLD / f"sqlite_{SCHEMA:04}.sql").read_text("utf-8"))
    return path


async def test_a_store_of_an_earlier_schema_opens_after_a_copy_was_kept(tmp_path: Path) -> None:
    path = an_old_store(tmp_path / "old.db")
    before = dump(path)
    store = SqliteStore(path)
    await store.open()
    for namespace in await store.namespaces():
        states = [Told()]
        journal = await store.journal(namespace, limit=1000)
        replay(journal, states)
        check_steps(journal)
        found = await check_store(store, namespace, states[-1])
        texts = [item.text for item in found.values()]
        assert all(any(part in text for text in texts) for part in TEXTS), texts
        assert (await store.apply(a_batch(Remove(next(iter(found))), namespace=namespace))).rev == len(journal) + 1
    assert (await store.about()).schema == file.migrations()[-1].number
    await store.close()
    for item in list_copies(path):
        assert item.name.startswith(f"old.db.schema-{SCHEMA}.")
        manifest = read_manifest(item)
        assert (manifest.schema, manifest.namespaces) == (SCHEMA, STANDS)
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
    assert len(list_copies(path)) == 1
    assert not list(tmp_path.glob("again.db.*"))  # what is restored needs no copy


async def test_checkpoints_of_an_old_store_are_kept(tmp_path: Path) -> None:
    store = SqliteStore(an_old_store(tmp_path / "old.db"))
    await store.open()
    for namespace in await store.namespaces():
        checkpoint = await store.checkpoints.get(namespace, "t")
        assert checkpoint is not None
        assert checkpoint.values
    await store.close()


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return list(db.iterdump())


async def test_a_copy_holds_what_was_only_in_the_log(tmp_path: Path) -> None:
    path, written = tmp_path / "old.db", an_old_store(tmp_path / "written.db")
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
    path = an_old_store(tmp_path / "old.db")
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
    with closing(sqlite3.connect(path)) as holding:
        holding.execute("SELECT count(*) FROM memories").fetchone()
        store = SqliteStore(path, busy_seconds=0.2)
        with pytest.raises(StoreUnavailable, match=r"another process has it open.*end that process"):
            await store.open()
        assert holding.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone() == (SCHEMA,)
    await opened(path)


async def test_terms_are_made_anew_with_progress_and_go_on_after_a_break(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = an_old_store(tmp_path / "old.db")
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
    others = [f"{path.name}.schema-10.mwbackup", "other.db.schema-10.20260101T000000000000.mwbackup", "old.db.mwbackup"]
    for name in others:
        (tmp_path / name).touch()
    for _ in range(MAX_COPIES + 2):
        path.unlink(missing_ok=True)
        await opened(an_old_store(path))
    kept = list_copies(path)
    assert len(kept) == MAX_COPIES
    assert kept == sorted(kept)
    assert all((tmp_path / name).exists() for name in others)


async def test_without_room_for_a_copy_nothing_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = an_old_store(tmp_path / "old.db")
    usage = namedtuple("usage", "total used free")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 1000, 1000))
        with pytest.raises(StoreFull, match=r"was not upgraded.*make room"):
            await opened(path)
    assert dump(path) == dump(an_old_store(tmp_path / "same.db"))
    assert sorted(item.name for item in tmp_path.iterdir()) == ["old.db", "same.db"]
    await opened(path)
    assert len(list_copies(path)) == 1


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE signals ADD COLUMN passages BLOB",
        "UPDATE meta SET value = 11 WHERE key = 'schema'",
        "UPDATE meta SET value = 9 WHERE key = 'schema'",
        "DELETE FROM meta WHERE key = 'schema'",
        "DROP TABLE threads",
        "DROP TABLE meta",
        "ALTER TABLE memories DROP COLUMN valid_to",
        "ALTER TABLE journal RENAME COLUMN step TO steps",
    ],
)
async def test_a_half_migrated_store_is_recognised_and_left_alone(change: str, tmp_path: Path) -> None:
    path = an_old_store(tmp_path / "old.db")
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


async def test_an_unknown_form_of_a_schema_is_recognised(tmp_path: Path) -> None:
    """Before a release a schema may change in place. A file of another day then lacks a column."""
    path = an_old_store(tmp_path / "old.db")
    with closing(sqlite3.connect(path)) as db:
        db.execute("ALTER TABLE signals RENAME COLUMN pieces TO parts")
    with pytest.raises(StoreCorrupt, match="signals lacks pieces"):
        await opened(path)


async def test_an_export_of_an_earlier_commit_is_imported(tmp_path: Path) -> None:
    """Stores of earlier commits come over by export and import."""
    async with AsyncWarden.open(f"sqlite:///{tmp_path}/new.db") as warden:
        await warden.import_(OLD / "ana.zip")
        me = warden.scope(user="ana", thread="asking")
        texts = [memory.text for memory in await me.find(limit=100)]
        assert all(any(part in text for text in texts) for part in TEXTS), texts
        assert "Ana lives in Lisbon." not in texts
        answers = await me.query("Where does Ana live?", threshold=0.0)
        assert any("Porto" in item.text for item in answers.items)
        best = (await me.query("What is sown in bed 20?", top_k=1, threshold=0.0)).items[0]
        assert "Bed 20 is for thyme" in best.memory.text
        assert await me.state.load("kudos_givers") == ["Ben Okri", "Ana Souza"]


async def test_a_damaged_old_store_is_not_upgraded(tmp_path: Path) -> None:
    path = an_old_store(tmp_path / "old.db")
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
    killed, before = 0, dump(an_old_store(tmp_path / "same.db"))
    for nth in points:
        folder = tmp_path / str(nth)
        folder.mkdir()
        path = an_old_store(folder / "old.db")
        command = [sys.executable, "-c", _KILLED, str(path), str(nth)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        killed += done.returncode == -signal.SIGKILL
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            (schema,) = db.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
        assert schema == file.migrations()[-1].number or dump(path) == before
        for copy in list_copies(path):
            assert read_manifest(copy).namespaces == STANDS
        asyncio.run(opened(path))
        assert len(list_copies(path)) in (1, 2)
        assert not list(folder.glob("*.partial")), "what a kill left is taken away by the next upgrade"
    assert killed >= 4
