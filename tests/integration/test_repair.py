"""``memwarden doctor`` finds what is wrong with a store, and ``--repair`` mends what can be mended and nothing else."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, redirect_stderr, redirect_stdout
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from memwarden.errors import MemwardenError, StoreCorrupt, StoreError
from memwarden.stores.shared.items import PutItem, StoredItem
from memwarden.stores.sqlite import SqliteStore
from memwarden.stores.sqlite.health import examine, repair
from memwarden.stores.transfer.move import seal_namespace
from memwarden.surfaces.cli.main import run
from memwarden.testing.examples import NAMESPACE, OTHER_TENANT, a_batch, a_put
from memwarden.testing.page_tests import a_long_life


def cli(*words: str, code: int = 0) -> str:
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        exit_code = run(words)
    assert exit_code == code, (out.getvalue(), err.getvalue())
    return out.getvalue() + err.getvalue()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file with everything that a store can hold, of several pages in every larger table."""
    path = tmp_path_factory.mktemp("whole") / "a.db"
    asyncio.run(_live(path))
    return path.read_bytes()


@pytest.fixture
def path(whole: bytes, tmp_path: Path) -> Path:
    """That file, for this test alone."""
    (tmp_path / "a.db").write_bytes(whole)
    return tmp_path / "a.db"


async def _live(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    await a_long_life(store)
    await store.apply(a_batch(*(a_put(f"m{n}", text=f"word{n} " * 60) for n in range(120))))
    await store.apply(a_batch(a_put("b", namespace=OTHER_TENANT), namespace=OTHER_TENANT))
    await store.close()


def held(path: Path) -> Any:
    async def look() -> Any:
        store = SqliteStore(path)
        await store.open()
        try:
            return [await seal_namespace(store, item) for item in (NAMESPACE, OTHER_TENANT)]
        finally:
            await store.close()

    return asyncio.run(look())


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


def page_of(path: Path, name: str) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0])


def overwrite(path: Path, page: int) -> None:
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)


def lose_index_rows(path: Path) -> None:
    """Rows that the table has and the index has not."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        (sql,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'memories_by_rev'").fetchone()
        db.execute("PRAGMA writable_schema = ON")
        hidden = f"{sql} WHERE rev > 20"
        db.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'memories_by_rev'", (hidden,))
        db.execute("PRAGMA writable_schema = RESET")
        db.execute("REINDEX memories_by_rev")
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'memories_by_rev'", (sql,))
        db.execute("PRAGMA writable_schema = RESET")


_NAMED = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
_FOREIGN = "(99 << 32) | 5"
MENDABLE: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "an index lost rows": (lose_index_rows, "index", "damaged indexes"),
    "a page of an index": (lambda path: overwrite(path, page_of(path, "memories_by_id")), "index", "damaged indexes"),
    "another index": (lambda path: overwrite(path, page_of(path, "journal_by_thread")), "index", "damaged indexes"),
    "an index is missing": (lambda path: change(path, "DROP INDEX memories_by_time"), "index", "memories_by_time"),
    "a view is missing": (lambda path: change(path, "DROP VIEW history"), "index", "view history"),
    "signals": (
        lambda path: change(path, f"INSERT INTO signals (row, flags, terms, days) VALUES ({_FOREIGN}, 0, x'', x'')"),
        "orphans",
        "signals of no memory",
    ),
    "versions": (
        lambda path: change(path, f"UPDATE versions SET row = {_FOREIGN} WHERE version = 2"),
        "orphans",
        "earlier contents",
    ),
    "links": (
        lambda path: change(path, "INSERT INTO relations VALUES (1, 'a', 'nobody', 'related', 1.0, 1, 3, 0)"),
        "orphans",
        "links",
    ),
    "threads": (lambda path: change(path, "INSERT INTO threads VALUES (77, 't', 1, 1)"), "orphans", "no namespace"),
    "receipts": (
        lambda path: change(path, "INSERT INTO receipts VALUES (77, 'k', NULL, 1, '[]', 0)"),
        "orphans",
        "no namespace",
    ),
    "vectors of items": (
        lambda path: change(path, "INSERT INTO item_vectors VALUES (999, 'a', x'00000000')"),
        "orphans",
        "vectors of no item",
    ),
    "values of states": (
        lambda path: change(path, "INSERT INTO checkpoint_blobs VALUES (1, 'gone', '', 'c', '1', 'k', x'', NULL)"),
        "orphans",
        "values of no saved state",
    ),
    "writes of states": (
        lambda path: change(path, "INSERT INTO checkpoint_writes VALUES (77, 't', '', 'i', 'a', 0, '', 'c', 'k', x'')"),
        "orphans",
        "no namespace",
    ),
    "threads of states": (
        lambda path: change(path, "INSERT INTO checkpoint_threads VALUES (77, 't', 'i', 0, 0)"),
        "orphans",
        "no namespace",
    ),
    "a revision": (lambda path: change(path, "UPDATE namespaces SET rev = rev - 3"), "counter", "revision"),
    "a count of rows": (lambda path: change(path, "UPDATE namespaces SET rows = 1"), "counter", "twice"),
    "bloat": (
        lambda path: change(
            path, "CREATE TABLE bloat AS SELECT m.* FROM memories m, journal LIMIT 8000", "DROP TABLE bloat"
        ),
        "bloat",
        "pages are empty",
    ),
}  # fmt: skip


def test_nothing_is_wrong_and_nothing_is_done(path: Path) -> None:
    assert examine(path) == []
    before = sha256(path.read_bytes()).hexdigest()
    assert repair(path).copy is None
    assert sha256(path.read_bytes()).hexdigest() == before
    assert "Nothing is wrong" in cli("doctor", "--repair", "--db", f"sqlite:///{path}")
    assert [item.name for item in path.parent.iterdir()] == ["a.db"]


@pytest.mark.parametrize("harm", MENDABLE)
def test_it_is_found_and_mended(harm: str, path: Path) -> None:
    do, kind, said = MENDABLE[harm]
    before = held(path)
    with closing(sqlite3.connect(path)) as db:
        named = db.execute(_NAMED).fetchall()
    do(path)
    shutil.copy(path, path.with_name("harmed.db"))
    harmed = sha256(path.read_bytes()).hexdigest()
    found = json.loads(cli("doctor", "--json", "--db", f"sqlite:///{path}", code=1))["wrong"]
    assert [(item["kind"], bool(item["mend"])) for item in found] == [(kind, True)]
    assert said in found[0]["said"]
    assert sha256(path.read_bytes()).hexdigest() == harmed, "looking changed it"
    told = json.loads(cli("doctor", "--repair", "--json", "--db", f"sqlite:///{path}"))
    assert (told["mended"], told["wrong"]) == (found, [])
    copy = Path(told["copy"])
    assert copy.name.startswith("a.db.before-repair.")
    assert [item._asdict() for item in examine(copy)] == found, "the copy is the store as it was"
    if harm != "versions":
        assert held(path) == before
    again = json.loads(cli("doctor", "--repair", "--json", "--db", f"sqlite:///{path}"))
    assert (again["mended"], again["copy"], again["wrong"]) == ([], None, [])
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute(_NAMED).fetchall() == named


def test_an_index_of_ones_own_comes_back_too(path: Path) -> None:
    change(path, "CREATE INDEX mine ON memories (role)")
    overwrite(path, page_of(path, "memories_by_id"))
    assert repair(path, path.with_name("mine.db")).copy == path.with_name("mine.db")
    assert page_of(path, "mine") > 0


CONTENT = {
    "signals are gone": "DELETE FROM signals WHERE row & 4294967295 = 2",
    "a journal entry is gone": "DELETE FROM journal WHERE seq = 4",
    "the last entries are gone": "DELETE FROM journal WHERE seq > 20 AND ns = 1",
    "a memory is gone": "DELETE FROM memories WHERE id = 'b'",
    "a version is another one": "UPDATE memories SET version = 9 WHERE id = 'b'",
    "a namespace is gone": "DELETE FROM namespaces WHERE tenant <> 'test'",
}


@pytest.mark.parametrize("harm", CONTENT)
def test_what_is_lost_is_told_and_not_made_up(harm: str, path: Path) -> None:
    change(path, CONTENT[harm])
    told = cli("doctor", "--db", f"sqlite:///{path}", code=1)
    assert "WRONG" in told
    assert "backup restore" in told.replace("\n", "")  # lines break where the file's name is long
    after = cli("doctor", "--repair", "--db", f"sqlite:///{path}", code=1)
    assert "WRONG" in after
    assert any(not item.mend for item in examine(path))


@pytest.mark.parametrize("table", ["memories", "journal", "signals", "namespaces"])
def test_damage_that_no_repair_mends_is_refused_and_left_alone(table: str, path: Path) -> None:
    overwrite(path, page_of(path, table))
    before = sha256(path.read_bytes()).hexdigest()
    with pytest.raises(StoreCorrupt, match=r"left as it is.*backup restore"):
        repair(path)
    assert sha256(path.read_bytes()).hexdigest() == before
    assert not list(path.parent.glob("*before-repair*"))


def test_flipped_bits_and_missing_ends_are_never_a_raw_error_and_change_nothing(path: Path) -> None:
    """A bit in the middle of a text is no damage that SQLite can see. What it can see is told clearly."""
    whole, chance, kinds = path.read_bytes(), random.Random(4), dict[str, int]()
    places = [chance.randrange(len(whole)) for _ in range(40)] + [chance.randrange(100) for _ in range(20)]
    places += [4096 * page + chance.randrange(12) for page in range(1, len(whole) // 4096, 3)]
    for at in places:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        for beside in ("-wal", "-shm"):
            path.with_name(path.name + beside).unlink(missing_ok=True)
        try:
            found = examine(path)
            kind = found[0].kind if found else "unseen"
        except StoreError as error:
            kind = type(error).__name__
        kinds[kind] = kinds.get(kind, 0) + 1
        assert path.read_bytes() == damaged
    assert kinds["damage"] + kinds.get("StoreCorrupt", 0) > 20, kinds
    for size in range(1, len(whole), len(whole) // 30):
        path.write_bytes(whole[:size])
        with pytest.raises(StoreCorrupt):
            examine(path)
        with pytest.raises(MemwardenError):
            asyncio.run(SqliteStore(path).open())
        assert path.read_bytes() == whole[:size]


def test_writers_go_on_after_a_repair(path: Path) -> None:
    """A store that was open all the time sees the repaired file."""

    async def live_on() -> None:
        store = SqliteStore(path)
        await store.open()
        assert (await store.apply(a_batch(a_put("before")))).rev == 143
        change(path, "DROP INDEX memories_by_rev", "UPDATE namespaces SET rows = 1")
        overwritten = repair(path)
        assert {item.kind for item in overwritten.done} == {"index", "counter"}
        assert (await store.apply(a_batch(a_put("after")))).rev == 144
        assert [item.id for item in await store.get(NAMESPACE, ["before", "after"])] == ["before", "after"]
        await store.close()

    asyncio.run(live_on())
    assert examine(path) == []


_KILLED = """
import os, signal, sqlite3, sys
from pathlib import Path
from memwarden.stores.sqlite import file, health
left = int(sys.argv[2])

def passed(sql):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

connect = file.connect
def watched(path, seconds, *, reading=False):
    db = connect(path, seconds, reading=reading)
    if not reading:
        db.set_trace_callback(passed)
        db.set_progress_handler(lambda: passed("") or 0, 20_000)
    return db

file.connect = watched
health.repair(Path(sys.argv[1]))
"""


@pytest.mark.parametrize("points", [(14, 26, 40), pytest.param(range(1, 60), marks=pytest.mark.soak)])
def test_a_kill_at_any_point_of_a_repair_loses_nothing(points: Sequence[int], path: Path) -> None:
    change(path, "UPDATE namespaces SET rows = 1", "DROP VIEW history")
    overwrite(path, page_of(path, "memories_by_rev"))
    killed = 0
    for nth in points:
        folder = path.parent / str(nth)
        folder.mkdir()
        mine = Path(shutil.copy(path, folder / "a.db"))
        command = [sys.executable, "-c", _KILLED, str(mine), str(nth)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        killed += done.returncode == -signal.SIGKILL
        left = {item.kind for item in examine(mine)}
        assert left in ({"index", "counter"}, {"bloat"}, set()), "all of it was done, or nothing"
        repair(mine)
        assert examine(mine) == []
    assert killed >= 2


def test_options_that_do_not_go_together(tmp_path: Path) -> None:
    assert "--repair" in cli("doctor", "--backup", str(tmp_path / "b"), code=2)


@pytest.mark.parametrize("table", ["items", "checkpoints"])
def test_what_lies_in_no_namespace_is_told(table: str, path: Path) -> None:
    values = {
        "items": "(ns, path, key, value, created_at, updated_at) VALUES (77, 'a', 'b', '{}', 1, 1)",
        "checkpoints": "VALUES (77, 't', '', 'i', NULL, '', NULL, '[]', '[]', '{}', 'k', x'', '{}')",
    }
    change(path, f"INSERT INTO {table} {values[table]}")
    assert [(item.kind, item.where, item.mend) for item in examine(path)] == [("content", table, "")]


def test_a_store_of_items_alone_is_not_called_empty(tmp_path: Path) -> None:
    async def put() -> None:
        store = SqliteStore(tmp_path / "a.db")
        await store.open()
        await store.items.write(NAMESPACE, [PutItem(StoredItem("a", "k", "{}", 1, 1))])
        await store.close()

    asyncio.run(put())
    told = cli("doctor", "--db", f"sqlite:///{tmp_path / 'a.db'}")
    assert "No namespace holds memories" in told
    assert "Nothing is wrong" in told
