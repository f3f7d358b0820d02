"""A backup is one file that is whole or refused; restoring it makes a store that holds the same, or none."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing, redirect_stderr, redirect_stdout
from hashlib import sha256
from io import StringIO
from pathlib import Path
from zipfile import ZipFile

import psycopg
import pytest

from memwarden import Warden
from memwarden.errors import Conflict, InvalidInput, NotFound, StoreCorrupt, StoreError, StoreTooNew, StoreUnavailable
from memwarden.records import Namespace
from memwarden.stores.memory.store import MemoryStore
from memwarden.stores.postgres.backup import refuse_undecided
from memwarden.stores.protocol import Store
from memwarden.stores.shared.checkpoints import ChannelValue, CheckpointSearch
from memwarden.stores.sqlite import SqliteStore
from memwarden.stores.transfer import backup
from memwarden.stores.transfer.backup import Manifest, NamespaceRevision, read_manifest, refuse_existing, require_backup
from memwarden.stores.transfer.move import seal_namespace
from memwarden.stores.url import store_at
from memwarden.surfaces.cli.main import run
from memwarden.testing.checkpoint_tests import a_saved, a_write
from memwarden.testing.examples import OTHER_TENANT, OTHER_USER, a_batch, a_put
from memwarden.testing.page_tests import a_long_life

MEMWARDEN = Path(sys.executable).with_name("memwarden")
ENGINES = pytest.mark.parametrize("engine", ["sqlite", "postgres"])


@pytest.fixture
def new_url(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Returns the URL of a store that is not there yet, at each call another one."""
    names = iter(range(100))

    def make(engine: str) -> str:
        if engine == "postgres":
            database: Callable[[], str] = request.getfixturevalue("new_database")
            return database()
        return f"sqlite:///{tmp_path / f'store{next(names)}.db'}"

    return make


def cli(*words: str, code: int = 0) -> str:
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        exit_code = run(words)
    assert exit_code == code, (out.getvalue(), err.getvalue())
    return out.getvalue() + err.getvalue()


async def live(url: str) -> None:
    """Two tenants; everything that a namespace can hold."""
    store = store_at(url)
    await store.open()
    await a_long_life(store)
    await store.apply(a_batch(a_put("a\x01", namespace=OTHER_TENANT), namespace=OTHER_TENANT))
    await store.identity("some model")
    saved = a_saved(links=(("a", "1"),))  # in a namespace that holds nothing else
    await store.checkpoints.put(OTHER_USER, saved, [ChannelValue("a", "1", "k", b"\x00a")])
    await store.checkpoints.put_writes(OTHER_USER, saved.key, [a_write()])
    await store.close()


async def held(url: str) -> list[object]:
    """What a store holds."""
    store = store_at(url)
    await store.open()
    found: list[object] = [(await store.about()).model]
    found += [(namespace, await seal_namespace(store, namespace)) for namespace in await store.namespaces()]
    found += await store.checkpoints.find(OTHER_USER, CheckpointSearch())
    await store.close()
    return found


def a_backup(path: Path) -> Path:
    """A backup of a SQLite store, and nothing beside it."""
    asyncio.run(live(f"sqlite:///{path.with_suffix('.db')}"))
    asyncio.run(SqliteStore(path.with_suffix(".db")).back_up(path))
    path.with_suffix(".db").unlink()
    return path


@ENGINES
def test_what_is_restored_holds_the_same(engine: str, new_url: Callable[[str], str], tmp_path: Path) -> None:
    source, target, file = new_url(engine), new_url(engine), tmp_path / "b.mwbackup"
    asyncio.run(live(source))
    process = subprocess.run(
        [MEMWARDEN, "backup", "create", str(file), "--db", source, "--json"], capture_output=True, check=True
    )
    assert process.stderr == b""
    told = json.loads(process.stdout)
    assert (told["engine"], told["rows"]["memories"], told["model"]) == (engine, 11, "some model")
    assert sum(item["revision"] for item in told["namespaces"]) == told["rows"]["journal"] == 23
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "is whole" in cli("backup", "check", str(file))
    assert "23 changes" in " ".join(cli("backup", "restore", str(file), "--to", target).split())
    assert asyncio.run(held(target)) == asyncio.run(held(source))
    assert not list(tmp_path.glob("*.partial"))


@ENGINES
def test_life_goes_on_in_what_was_restored(engine: str, new_url: Callable[[str], str], tmp_path: Path) -> None:
    source, target = new_url(engine), new_url(engine)
    with Warden.open(source, config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana")
        me.remember("Ana lives in Berlin.", key="once")
        manifest = warden.back_up(tmp_path / "b")
        me.remember("This came later.")
    assert manifest == read_manifest(tmp_path / "b")
    assert manifest.namespaces == (NamespaceRevision("default", "user/ana", 1),)
    asyncio.run(require_backup(store_at(target)).restore(tmp_path / "b"))
    with Warden.open(target, config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana")
        assert me.remember("Ana lives in Berlin.", key="once").rev == 1
        assert [item.text for item in me.find()] == ["Ana lives in Berlin."]
        assert me.remember("Ana has a cat.").rev > 1


def until_nothing_is_unfinished(folder: Path) -> None:
    deadline = time.monotonic() + 300
    while list(folder.glob("*.partial")):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@ENGINES
async def test_who_is_cancelled_at_the_end_is_left_no_file(
    engine: str, new_url: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, file = new_url(engine), tmp_path / "b"
    await live(url)
    packed, go_on = threading.Event(), threading.Event()
    add_manifest = backup.add_manifest

    def waits(archive: ZipFile, manifest: Manifest) -> None:
        packed.set()
        go_on.wait(300)
        add_manifest(archive, manifest)

    monkeypatch.setattr(backup, "add_manifest", waits)
    task = asyncio.ensure_future(require_backup(store_at(url)).back_up(file))
    await asyncio.to_thread(packed.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    await asyncio.to_thread(until_nothing_is_unfinished, tmp_path)
    await asyncio.to_thread(refuse_existing, file)  # it is not there


@ENGINES
def test_nothing_is_overwritten(engine: str, new_url: Callable[[str], str], tmp_path: Path) -> None:
    source, other, file = new_url(engine), new_url(engine), tmp_path / "b"
    asyncio.run(live(source))
    file.write_text("mine")
    assert "nothing is overwritten" in cli("backup", "create", str(file), "--db", source, code=1)
    assert file.read_text() == "mine"
    file.unlink()
    cli("backup", "create", str(file), "--db", source)
    asyncio.run(_open(store_at(other)))  # empty, but somebody's
    for taken in (source, other):
        before = asyncio.run(held(taken))
        assert "nothing is overwritten" in cli("backup", "restore", str(file), "--to", taken, code=1)
        assert asyncio.run(held(taken)) == before


async def _open(store: Store) -> None:
    await store.open()
    await store.close()


def test_a_log_without_its_file_is_not_overwritten(tmp_path: Path) -> None:
    file = a_backup(tmp_path / "b")
    (tmp_path / "c.db-wal").write_text("of a store whose file was moved away")
    with pytest.raises(Conflict, match="db-wal"):
        asyncio.run(SqliteStore(tmp_path / "c.db").restore(file))
    assert not (tmp_path / "c.db").exists()


@ENGINES
def test_of_another_engine_or_a_later_memwarden(engine: str, new_url: Callable[[str], str], tmp_path: Path) -> None:
    source, target, other = new_url(engine), new_url(engine), "postgres" if engine == "sqlite" else "sqlite"
    asyncio.run(live(source))
    asyncio.run(require_backup(store_at(source)).back_up(tmp_path / "b"))
    with pytest.raises(Conflict, match="migrate"):
        asyncio.run(require_backup(store_at(new_url(other))).restore(tmp_path / "b"))
    forged(tmp_path / "b", tmp_path / "later", '"schema": ', '"schema": 9')
    with pytest.raises(StoreTooNew, match="upgrade"):
        asyncio.run(require_backup(store_at(target)).restore(tmp_path / "later"))
    forged(tmp_path / "b", tmp_path / "format", '"format": ', '"format": 9')
    with pytest.raises(StoreTooNew, match="upgrade"):
        read_manifest(tmp_path / "format")
    assert_nothing_at(target)


@ENGINES
def test_a_manifest_that_tells_something_else(engine: str, new_url: Callable[[str], str], tmp_path: Path) -> None:
    """The content is held against the manifest, even when the digest is right."""
    source, target = new_url(engine), new_url(engine)
    asyncio.run(live(source))
    asyncio.run(require_backup(store_at(source)).back_up(tmp_path / "b"))
    changes = ['"rev": 9', '"rows": 9', '"schema": -', '"engine": x', '"rev": "', '"tables": x', '"journal2": ']
    for number, change in enumerate(changes):
        name = change.replace("2", "").partition(":")[0] + ": "
        forged(tmp_path / "b", tmp_path / f"c{number}", name, change)
        with pytest.raises(StoreError):
            asyncio.run(require_backup(store_at(target)).restore(tmp_path / f"c{number}"))
        assert_nothing_at(target)
    with ZipFile(tmp_path / "b") as archive, backup.pack(tmp_path / "d") as other:
        other.writestr(backup.MANIFEST, archive.read(backup.MANIFEST))
    with pytest.raises(StoreCorrupt, match="lacks"):
        asyncio.run(require_backup(store_at(target)).restore(tmp_path / "d"))
    assert_nothing_at(target)


def forged(path: Path, to: Path, old: str, new: str) -> None:
    """Make a backup whose digest is right and whose manifest is another one."""
    with ZipFile(path) as archive, backup.pack(to) as other:
        for name in archive.namelist():
            content = archive.read(name)
            if name == backup.MANIFEST:
                assert old.encode() in content
                content = content.replace(old.encode(), new.encode(), 1)
            other.writestr(name, content)


def assert_nothing_at(url: str) -> None:
    if url.startswith("sqlite"):
        assert not Path(url.removeprefix("sqlite:///")).exists()
        assert not list(Path(url.removeprefix("sqlite:///")).parent.glob("*.partial"))
        return
    with psycopg.connect(url) as db:
        assert db.execute("SELECT to_regnamespace('memwarden')").fetchone() == (None,)


def test_a_backup_with_a_flipped_bit_or_without_its_end_is_recognised(tmp_path: Path) -> None:
    file = a_backup(tmp_path / "b")
    whole = file.read_bytes()
    places = {*range(0, len(whole), max(1, len(whole) // 150)), *range(40), *range(len(whole) - 120, len(whole))}
    for at in sorted(places):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        file.write_bytes(damaged)
        with pytest.raises(StoreCorrupt, match=r"no whole backup.*another backup"):
            read_manifest(file)
    for size in (*range(0, len(whole), max(1, len(whole) // 100)), *range(len(whole) - 120, len(whole))):
        file.write_bytes(whole[:size])
        with pytest.raises(StoreCorrupt, match="no whole backup"):
            read_manifest(file)
    file.write_bytes(whole + b"more")
    with pytest.raises(StoreCorrupt, match="no whole backup"):
        read_manifest(file)


@ENGINES
def test_of_a_damaged_backup_nothing_is_restored(engine: str, new_url: Callable[[str], str], tmp_path: Path) -> None:
    source, target, file = new_url(engine), new_url(engine), tmp_path / "b"
    asyncio.run(live(source))
    asyncio.run(require_backup(store_at(source)).back_up(file))
    whole = file.read_bytes()
    for number in range(8):
        damaged = bytearray(whole)
        damaged[len(whole) * number // 8 + 3] ^= 4
        file.write_bytes(damaged if number % 2 else whole[: len(whole) * number // 8])
        before = sha256(file.read_bytes()).hexdigest()
        assert "Nothing was taken from it" in cli("backup", "restore", str(file), "--to", target, code=1)
        assert "no whole backup" in cli("backup", "check", str(file), code=1)
        assert sha256(file.read_bytes()).hexdigest() == before
        assert_nothing_at(target)
    file.write_bytes(whole)
    cli("backup", "restore", str(file), "--to", target)
    assert asyncio.run(held(target)) == asyncio.run(held(source))


def test_something_else_is_no_backup(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    (tmp_path / "empty").touch()
    with ZipFile(tmp_path / "zip", "w") as other:
        other.writestr("manifest.json", "{}")
    with backup.pack(tmp_path / "sealed") as other:
        other.writestr("manifest.json", "[1]")
    with backup.pack(tmp_path / "nothing") as other:
        pass
    for name in ("text", "empty", "zip", "sealed", "nothing"):
        assert "no whole backup" in cli("backup", "check", str(tmp_path / name), code=1)
    assert "no file" in cli("backup", "check", str(tmp_path / "none"), code=3)
    assert "no file" in cli("backup", "restore", str(tmp_path / "none"), "--to", "memory://", code=3)


def test_a_store_in_memory_has_no_backups(tmp_path: Path) -> None:
    with Warden.open("memory://", config={"embedder": "none"}) as warden, pytest.raises(InvalidInput, match="file"):
        warden.back_up(tmp_path / "b")
    with pytest.raises(InvalidInput):
        require_backup(MemoryStore())
    assert list(tmp_path.iterdir()) == []


@ENGINES
def test_of_no_store_there_is_no_backup(engine: str, new_url: Callable[[str], str], tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nothing to back up"):
        asyncio.run(require_backup(store_at(new_url(engine))).back_up(tmp_path / "b"))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    file = a_backup(tmp_path / "b")
    with pytest.raises(StoreUnavailable, match="folder"):
        asyncio.run(SqliteStore(tmp_path / "none" / "c.db").restore(file))
    asyncio.run(live(f"sqlite:///{tmp_path / 'a.db'}"))
    with pytest.raises(StoreUnavailable, match="folder"):
        asyncio.run(SqliteStore(tmp_path / "a.db").back_up(tmp_path / "none" / "b"))
    assert not (tmp_path / "none").exists()


def test_a_damaged_store_is_not_backed_up_and_not_touched(tmp_path: Path) -> None:
    asyncio.run(live(f"sqlite:///{tmp_path / 'a.db'}"))
    with closing(sqlite3.connect(tmp_path / "a.db")) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'memories_by_id'").fetchone()
    with (tmp_path / "a.db").open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    before = sha256((tmp_path / "a.db").read_bytes()).hexdigest()
    assert "damaged" in cli("backup", "create", str(tmp_path / "b"), "--db", f"sqlite:///{tmp_path / 'a.db'}", code=1)
    assert sha256((tmp_path / "a.db").read_bytes()).hexdigest() == before
    assert not (tmp_path / "b").exists()
    os.truncate(tmp_path / "a.db", 8192)
    assert "cut off" in cli("backup", "create", str(tmp_path / "b"), "--db", f"sqlite:///{tmp_path / 'a.db'}", code=1)
    assert (tmp_path / "a.db").stat().st_size == 8192


# What there is in the database is copied, also what is new there


async def test_every_table_is_decided_and_no_row_is_left_out(postgres_url: str, tmp_path: Path) -> None:
    """Something new that holds data and is no table breaks this; rows are counted around every wall."""
    await live(postgres_url)
    manifest = await require_backup(store_at(postgres_url)).back_up(tmp_path / "b")
    with psycopg.connect(postgres_url) as db:
        tables = db.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace AND relkind IN ('r', 'p')"
        ).fetchall()
        counted = {
            name: db.execute(f"SELECT count(*) FROM memwarden.{name}".encode()).fetchall()[0][0] for (name,) in tables
        }
    assert {counted.pop(name, 0) for name in ("digests", "vectors")} == {0}  # made of the others, when they are needed
    assert {name: table.rows for name, table in manifest.tables.items()} == counted


def test_what_nobody_decided_on_is_refused() -> None:
    refuse_undecided([("memories", "r"), ("parted", "p"), ("history", "v"), ("memories_pkey", "i")])
    for kind in "Smf":  # sequences, materialised views, foreign tables
        with pytest.raises(StoreUnavailable, match=r"memwarden\.loose"):
            refuse_undecided([("memories", "r"), ("loose", kind)])


_NEW_TABLE = """
    CREATE TABLE memwarden.later (tenant text, namespace text, said text, PRIMARY KEY (tenant, namespace));
    ALTER TABLE memwarden.later ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
    CREATE POLICY one_namespace ON memwarden.later USING (
        tenant = nullif(current_setting('memwarden.tenant', true), '') AND
        namespace = nullif(current_setting('memwarden.namespace', true), ''));
    GRANT SELECT ON memwarden.later TO memwarden_app;
    INSERT INTO memwarden.later VALUES ('test', 'user/ann', 'one'), ('elsewhere', 'user/x', E'tab\\tand\\nline');
"""


async def test_a_new_table_comes_along_by_itself(
    new_database: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the rows of a namespace without memories. It comes with a migration."""
    from memwarden.stores.postgres import schema

    source, target, last = new_database(), new_database(), schema.migrations()[-1]
    await live(source)
    migration = last._replace(number=last.number + 1, script=_NEW_TABLE.encode())
    known = (*schema.migrations(), migration)
    monkeypatch.setattr(schema, "migrations", lambda: known)
    await _open(store_at(source))
    manifest = await require_backup(store_at(source)).back_up(tmp_path / "b")
    assert manifest.tables["later"].rows == 2
    assert manifest.schema == migration.number
    empty = migration._replace(script=_NEW_TABLE.partition("INSERT")[0].encode())
    monkeypatch.setattr(schema, "migrations", lambda: (*known[:-1], empty))
    await require_backup(store_at(target)).restore(tmp_path / "b")
    with psycopg.connect(target) as db:
        assert db.execute("SELECT * FROM memwarden.later ORDER BY said").fetchall() == [
            ("test", "user/ann", "one"), ("elsewhere", "user/x", "tab\tand\nline"),
        ]  # fmt: skip
    monkeypatch.undo()
    with pytest.raises(StoreTooNew):
        await require_backup(store_at(new_database())).restore(tmp_path / "b")


async def test_an_older_backup_is_brought_up_to_date(
    new_database: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memwarden.stores.postgres import schema

    source, target, last = new_database(), new_database(), schema.migrations()[-1]
    await live(source)
    await require_backup(store_at(source)).back_up(tmp_path / "b")
    migration = last._replace(number=last.number + 1, script=_NEW_TABLE.encode())
    known = (*schema.migrations(), migration)
    monkeypatch.setattr(schema, "migrations", lambda: known)
    await require_backup(store_at(target)).restore(tmp_path / "b")
    with psycopg.connect(target) as db:
        assert db.execute("SELECT count(*) FROM memwarden.later").fetchone() == (2,)
        assert db.execute("SELECT value FROM memwarden.meta WHERE key = 'schema'").fetchone() == (str(last.number + 1),)
        assert db.execute("SELECT count(*) FROM memwarden.journal").fetchone() == (23,)


async def test_the_wall_stands_again_after_a_restore(new_database: Callable[[], str], tmp_path: Path) -> None:
    source, target = new_database(), new_database()
    await live(source)
    await require_backup(store_at(source)).back_up(tmp_path / "b")
    await require_backup(store_at(target)).restore(tmp_path / "b")
    with psycopg.connect(target) as db:
        open_tables = db.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace AND relkind = 'r' "
            "AND relname <> 'meta' AND NOT (relrowsecurity AND relforcerowsecurity)"
        ).fetchall()
        assert open_tables == []
        db.execute("SET LOCAL ROLE memwarden_app")
        db.execute("SET LOCAL memwarden.whole = 'on'")  # it is for the owner alone
        assert db.execute("SELECT count(*) FROM memwarden.memories").fetchone() == (0,)


async def test_a_store_from_before_there_were_backups_lets_its_owner_read(
    new_database: Callable[[], str], tmp_path: Path
) -> None:
    """Also one whose policy names somebody else, as after a move to another owner."""
    source = new_database()
    await live(source)
    with psycopg.connect(source, autocommit=True) as db:
        db.execute("DROP POLICY whole ON memwarden.memories")
        db.execute("ALTER POLICY whole ON memwarden.journal TO memwarden_app")
        manifest = await require_backup(store_at(source)).back_up(tmp_path / "b")
        assert (manifest.tables["memories"].rows, manifest.tables["journal"].rows) == (11, 23)
        policies = "SELECT tablename FROM pg_policies WHERE policyname = 'whole' AND roles <> ARRAY[current_user]"
        assert db.execute(policies).fetchall() == []


async def test_an_owner_without_more_rights_restores(new_database: Callable[[], str], tmp_path: Path) -> None:
    """A service login may do neither."""
    source, target, login = new_database(), new_database(), "memwarden_backup_login"
    await live(source)
    with psycopg.connect(source, autocommit=True) as db:
        db.execute(f"CREATE ROLE {login} LOGIN PASSWORD 'a-secret' IN ROLE memwarden_app".encode())
    as_login = [
        f"postgresql://{login}:a-secret@{item.partition('//')[2].rpartition('@')[2]}" for item in (source, target)
    ]
    try:
        with pytest.raises(StoreUnavailable, match="login that owns"):
            await require_backup(store_at(as_login[0])).back_up(tmp_path / "b")
        await require_backup(store_at(source)).back_up(tmp_path / "b")
        with pytest.raises(StoreUnavailable, match=r"rights|may not"):
            await require_backup(store_at(as_login[1])).restore(tmp_path / "b")
        with psycopg.connect(target, autocommit=True) as db:
            name = db.info.dbname
            db.execute(f"GRANT CREATE ON DATABASE {name} TO {login}".encode())
            db.execute(f"GRANT memwarden_search TO {login} WITH INHERIT FALSE".encode())
        await require_backup(store_at(as_login[1])).restore(tmp_path / "b")
        assert await held(as_login[1]) == await held(source)
        manifest = await require_backup(store_at(as_login[1])).back_up(tmp_path / "again")
        assert manifest.tables == read_manifest(tmp_path / "b").tables
    finally:
        for url in (source, target):
            with psycopg.connect(url, autocommit=True) as db:
                db.execute(f"DROP OWNED BY {login} CASCADE".encode())
        with psycopg.connect(source, autocommit=True) as db:
            db.execute(f"DROP ROLE {login}".encode())


def a_manifest(**changes: object) -> Manifest:
    return Manifest(
        "sqlite",
        "2026-01-01T00:00:00+00:00",
        1,
        None,
        (NamespaceRevision("a", "b", 3), NamespaceRevision("a", "c", 4)),
        {},
    )


def test_a_manifest_counts_revisions() -> None:
    assert a_manifest().revisions == 7


# Backs up a database, waits until more was written to it, and says how much more memory the second backup takes.
_MEASURED = """
import asyncio, re, sys
from pathlib import Path
from memwarden.stores.postgres import PostgresStore

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

def back_up(name):
    asyncio.run(PostgresStore(sys.argv[1]).back_up(Path(sys.argv[2]) / name))
    return peak()

before = back_up("little.zip")
print("ready", flush=True)
input()
print(back_up("much.zip") - before)
"""


def test_a_backup_of_postgresql_streams(postgres_url: str, tmp_path: Path) -> None:
    """16 MB of text take, held whole, that and more; by pages of COPY next to nothing beside the first page."""
    fill_texts(postgres_url, "little", 100)
    command = [sys.executable, "-c", _MEASURED, postgres_url, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        fill_texts(postgres_url, "much", 800)
        child.stdin.write("\n")
        child.stdin.flush()
        grown = int(child.stdout.readline())
    assert sum(item.file_size for item in ZipFile(tmp_path / "much.zip").infolist()) > 16_000_000
    assert grown < 8_000, grown


def fill_texts(url: str, user: str, count: int) -> None:
    """Write memories of 20 KB."""

    async def fill() -> None:
        store, here = store_at(url), Namespace("default", f"user/{user}")
        await store.open()
        for first in range(0, count, 100):
            puts = [a_put(f"m{n}", namespace=here, text=f"{n} the sea " * 2000) for n in range(first, first + 100)]
            await store.apply(a_batch(*puts, namespace=here))
        await store.close()

    asyncio.run(fill())
