"""Disks that are full or read-only, files that are damaged, foreign, cut off or too new."""

# Nothing else runs on these tests' event loops, so blocking calls hold nobody up.
# ruff: noqa: ASYNC220, ASYNC221, ASYNC222, ASYNC240

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from memwarden import AsyncWarden
from memwarden.errors import StoreCorrupt, StoreError, StoreFull, StoreTooNew, StoreUnavailable
from memwarden.records import WriteMode
from memwarden.stores.sqlite import SqliteStore
from memwarden.stores.sqlite.file import migrations, refuse_network
from memwarden.testing.examples import NAMESPACE, a_batch, a_put

NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "memory.db"


async def _fill(path: Path, memories: int = 300) -> None:
    store = SqliteStore(path)
    await store.open()
    await store.apply(a_batch(*(a_put(f"m{i}", text="words " * 200) for i in range(memories))))
    await store.close()


def _print(folder: Path) -> dict[str, str]:
    """A fingerprint of every file of a folder."""
    return {item.name: sha256(item.read_bytes()).hexdigest() for item in sorted(folder.iterdir())}


async def _expect_refused(path: Path, error: type[StoreError], says: str) -> None:
    """Opening is refused with this error, and the folder is as it was, to the byte."""
    before = _print(path.parent)
    with pytest.raises(error, match=says):
        await SqliteStore(path).open()
    assert _print(path.parent) == before


# Files that are no store


@pytest.mark.parametrize(
    "content", [b"hello", b"x" * 10_000, b"SQLite format 3\x00", b"SQLite format 3\x00" + b"\xff" * 5000]
)
async def test_a_file_of_something_else(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    await _expect_refused(path, StoreCorrupt, str(path))


async def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    await _fill(path)
    assert path.stat().st_size > 0


@pytest.mark.parametrize("wal", [False, True])
@pytest.mark.parametrize("application_id", [0, 1234])
async def test_a_database_of_another_program(path: Path, wal: bool, application_id: int) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA application_id = {application_id}")
        if wal:
            db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE theirs (x)")
        db.execute("INSERT INTO theirs VALUES (1)")
        db.commit()
    await _expect_refused(path, StoreCorrupt, "another program")


async def test_a_newer_schema(path: Path) -> None:
    await _fill(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE meta SET value = 99 WHERE key = 'schema'")
        db.commit()
    await _expect_refused(path, StoreTooNew, "schema 99.*upgrade")


async def test_a_newer_schema_that_is_still_in_the_log(path: Path) -> None:
    """A later memwarden migrated and died: what the main file says is old, and must not be believed."""
    await _fill(path)
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE meta SET value = 99 WHERE key = 'schema'")
        other.commit()
        with pytest.raises(StoreTooNew, match="schema 99"):
            await SqliteStore(path).open()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone() == (99,)


async def test_a_main_file_that_is_half_folded_is_ours_all_the_same(path: Path) -> None:
    """Another process is folding its log into the file: the main file alone looks damaged, with the log it is whole."""
    await _fill(path)
    with closing(sqlite3.connect(path)) as other:
        (page,) = other.execute("SELECT rootpage FROM sqlite_master WHERE name = 'meta'").fetchone()
        other.execute("UPDATE meta SET value = value")
        other.execute("INSERT INTO meta VALUES ('more', ?)", ("x" * 20_000,))
        other.commit()
        whole = path.read_bytes()
        with path.open("r+b") as file:
            file.seek((page - 1) * 4096)
            file.write(b"\xff" * 4096)
        store = SqliteStore(path)
        await store.open()
        assert await store.count(NAMESPACE) == 300
        await store.close()
        path.write_bytes(whole)


async def test_a_file_that_was_cut_off(path: Path) -> None:
    await _fill(path)
    size = path.stat().st_size
    os.truncate(path, size // 2 // 4096 * 4096)
    await _expect_refused(path, StoreCorrupt, "cut off")


async def test_damage_in_the_middle_is_found_when_it_is_read(path: Path) -> None:
    await _fill(path)
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(os.urandom(path.stat().st_size - 8192))
    store = SqliteStore(path)
    damaged = sha256(path.read_bytes()).hexdigest()
    with pytest.raises(StoreCorrupt, match="restore a copy"):
        await _read_everything_and_write(store)
    await store.close()
    assert sha256(path.read_bytes()).hexdigest() == damaged


async def test_damage_that_sqlite_does_not_see_is_never_a_raw_error(path: Path) -> None:
    await _fill(path)
    whole = path.read_bytes()
    chance = random.Random(5)
    found: list[str] = []
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(chance.choice([1, 5, 40])):
            at = chance.randrange(4096, len(whole) - 60)
            damaged[at : at + 50] = bytes([chance.choice([0xAA, 0xFF, 0x00])]) * 50
        for beside in ("", "-wal", "-shm"):
            path.with_name(path.name + beside).unlink(missing_ok=True)
        path.write_bytes(damaged)
        store = SqliteStore(path)
        try:
            await _read_everything_and_write(store)
        except StoreError as error:
            found.append(str(error))
        await store.close()
    assert len(found) > 10
    assert [item for item in found if "restore a copy" not in item] == []


async def _read_everything_and_write(store: SqliteStore) -> None:
    await store.open()
    await store.scan(NAMESPACE)
    await store.find(NAMESPACE, order_by="importance", limit=1000)
    await store.apply(a_batch(a_put("new")))


async def test_damage_is_found_by_a_write(path: Path) -> None:
    await _fill(path)
    with closing(sqlite3.connect(path)) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'memories_by_id'").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    store = SqliteStore(path)
    await store.open()
    with pytest.raises(StoreCorrupt):
        await store.apply(a_batch(a_put("new")))
    await store.close()


# Places where no store can be


async def test_a_path_that_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"is a folder.*memory\.db"):
        await SqliteStore(tmp_path).open()


async def test_a_missing_parent_is_made(tmp_path: Path) -> None:
    await _fill(tmp_path / "a" / "b" / "c.db")


async def test_a_parent_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable, match="cannot be made"):
        await SqliteStore(tmp_path / "file" / "memory.db").open()


async def test_no_store_in_memory() -> None:
    with pytest.raises(StoreUnavailable, match="MemoryStore"):
        await SqliteStore(":memory:").open()


@pytest.mark.parametrize(
    ("mounts", "refused"),
    [
        ("/dev/a / ext4 rw 0 0\nserver:/x {place} nfs4 rw 0 0\n", True),
        ("//server/x {place} cifs rw 0 0\n/dev/a / ext4 rw 0 0\n", True),
        ("server:/x / nfs rw 0 0\n/dev/b {place} xfs rw 0 0\n", False),
        ("server:/x {place} nfs rw 0 0\ntmpfs {place} tmpfs rw 0 0\n", False),  # the later mount hides the earlier
        ("server:/x {place}-other nfs rw 0 0\n/dev/a / ext4 rw 0 0\n", False),
        ("strange\n\n", False),
    ],
)
def test_network_file_systems_are_refused(tmp_path: Path, mounts: str, refused: bool) -> None:
    place = tmp_path / "with space"
    text = mounts.format(place=str(place).replace(" ", "\\040"))
    if refused:
        with pytest.raises(StoreUnavailable, match="network file system"):
            refuse_network(place / "memory.db", text)
    else:
        refuse_network(place / "memory.db", text)


# Faults that come and go: run apart, as a user whose rights are limited


_CHILD = """
import asyncio, os, resource, signal, sys, tempfile
from pathlib import Path
from memwarden.errors import StoreError, StoreFull, StoreUnavailable
from memwarden.stores.sqlite import SqliteStore
from memwarden.testing.examples import NAMESPACE, a_batch, a_put

async def become_nobody():
    with tempfile.TemporaryDirectory() as other:  # so that all modules are loaded while they can be read for sure
        for _ in range(2):
            store = SqliteStore(Path(other) / "memory.db")
            await store.open()
            await store.close()
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid({nobody})
        os.setuid({nobody})

async def main():
    folder = Path(sys.argv[1])
    path = folder / "memory.db"
{body}
asyncio.run(main())
"""


def _run_child(folder: Path, body: str) -> None:
    script = _CHILD.format(nobody=NOBODY, body=textwrap.indent(textwrap.dedent(body), "    "))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(folder)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr


def _give(folder: Path) -> None:
    """Let the child in, whoever it runs as."""
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.getuid() and parent != Path("/") and parent.parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o755)
    if os.getuid() == 0:
        for item in (folder, *folder.iterdir()):
            os.chown(item, NOBODY, NOBODY)


@pytest.fixture
def entered() -> Iterator[Path]:
    """A folder that other users may enter: those of pytest are closed by every run of it that begins meanwhile."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


async def test_a_read_only_folder(entered: Path) -> None:
    folder = entered / "closed"
    folder.mkdir()
    _give(folder)
    folder.chmod(0o555)
    _run_child(
        folder,
        """
        await become_nobody()
        try:
            await SqliteStore(path).open()
        except StoreUnavailable as error:
            assert "read-only" in str(error) and "allow this user" in str(error), error
        else:
            raise SystemExit("a read-only folder was not refused")
        assert list(folder.iterdir()) == []
        folder.chmod(0o755)
        store = SqliteStore(path)
        await store.open()
        await store.apply(a_batch(a_put("a")))
        await store.close()
        """,
    )


_READ_ALL = """
    import shutil
    from memwarden import AsyncWarden
    from memwarden.stores.sqlite import backup, health
    quiet = {"embedder": "none"}

    async def read(path, others):
        async with AsyncWarden.open(f"sqlite:///{path}", config=quiet) as warden:
            me = warden.scope(user="ana", thread="t")
            assert "Quokka" in (await me.query("What is the boat called?")).text
            assert "Quokka" in (await me.context("What is the boat called?")).text
            assert len(await me.find()) == 1 and len(await me.journal.history()) == 1
            try:
                await me.remember("The bike is red.")
            except StoreUnavailable as error:
                refused = str(error)
            else:
                refused = ""
        await SqliteStore(path).back_up(others / "copy.mwbackup")
        await SqliteStore(others / "again.db").restore(others / "copy.mwbackup")
        async with AsyncWarden.open(f"sqlite:///{others}/again.db", config=quiet) as warden:
            assert "Quokka" in (await warden.scope(user="ana").find())[-1].text
        return refused

    with tempfile.TemporaryDirectory() as other:  # loads what is used, while it can be read for sure
        shutil.copy(path, f"{other}/own.db")
        os.chmod(f"{other}/own.db", 0o644)
        assert await read(Path(other) / "own.db", Path(other)) == ""
    await become_nobody()
    with tempfile.TemporaryDirectory() as other:
        assert "is read-only" in await read(path, Path(other))
"""


async def _remember_the_boat(path: Path) -> None:
    async with AsyncWarden.open(f"sqlite:///{path}", config={"embedder": "none"}) as warden:
        await warden.scope(user="ana").remember("The boat is called Quokka.")


@pytest.mark.parametrize(("of_file", "of_folder"), [(0o444, 0o755), (0o444, 0o555), (0o644, 0o555)])
async def test_a_read_only_file_is_read_and_backed_up(entered: Path, of_file: int, of_folder: int) -> None:
    folder = entered / "closed"
    await _remember_the_boat(folder / "memory.db")
    _give(folder)
    (folder / "memory.db").chmod(of_file)
    folder.chmod(of_folder)
    before = _print(folder)
    _run_child(folder, _READ_ALL)
    assert _print(folder) == before


async def test_a_read_only_file_that_somebody_opens_to_write_is_not_read_on(entered: Path) -> None:
    folder = entered / "closed"
    await _remember_the_boat(folder / "memory.db")
    _give(folder)
    (folder / "memory.db").chmod(0o444)
    _run_child(
        folder,
        """
        await become_nobody()
        store = SqliteStore(path)
        await store.open()
        await store.namespaces()
        path.with_name("memory.db-wal").touch()
        try:
            await store.namespaces()
        except StoreUnavailable as error:
            assert "open it again" in str(error), error
        else:
            raise SystemExit("a file was read on that another process writes to")
        """,
    )


async def test_a_read_only_file_of_an_earlier_memwarden(entered: Path) -> None:
    folder = entered / "closed"
    await _remember_the_boat(folder / "memory.db")
    with closing(sqlite3.connect(folder / "memory.db")) as db:
        db.execute("UPDATE meta SET value = 0 WHERE key = 'terms'")
        db.commit()
    _give(folder)
    (folder / "memory.db").chmod(0o444)
    _run_child(
        folder,
        """
        await become_nobody()
        try:
            await SqliteStore(path).open()
        except StoreUnavailable as error:
            assert "earlier memwarden" in str(error) and "copy it" in str(error), error
        else:
            raise SystemExit("terms of an earlier memwarden were taken for ours")
        """,
    )


async def test_a_full_disk_and_then_room_again(entered: Path) -> None:
    """The limit on file size stands for the end of the disk: the kernel refuses the same write calls.

    SQLite reports it as an error of the disk and not as "full", which is what a quota looks like, too.
    """
    _give(entered)
    _run_child(
        entered,
        """
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        store = SqliteStore(path)
        await store.open()
        kept = (await store.apply(a_batch(a_put("first")))).rev
        most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, most[1]))
        refused = 0
        for number in range(40):
            try:
                kept = (await store.apply(a_batch(a_put(f"m{number}", text="x" * 20_000), key=f"k{number}"))).rev
            except StoreError as error:
                assert isinstance(error, (StoreFull, StoreUnavailable)), error
                refused += 1
        assert refused > 5, refused
        assert (await store.head(NAMESPACE)).rev == kept == await store.count(NAMESPACE)
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
        for number in range(40):
            await store.apply(a_batch(a_put(f"m{number}", text="x" * 20_000), key=f"k{number}"))
        assert (await store.head(NAMESPACE)).rev == 41 == await store.count(NAMESPACE)
        assert [one.seq for one in await store.journal(NAMESPACE)] == list(range(1, 42))
        await store.close()
        """,
    )
    with closing(sqlite3.connect(entered / "memory.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_a_database_that_may_not_grow_is_full(path: Path) -> None:
    """SQLITE_FULL itself, without a mount: SQLite gives the same code for the end of the disk and for this limit."""

    class Small(SqliteStore):
        def _connect(self, *, reading: bool) -> sqlite3.Connection:
            db = super()._connect(reading=reading)
            if not reading:
                connections.append(db)
            return db

    connections: list[sqlite3.Connection] = []
    store = Small(path)
    await store.open()
    await store.apply(a_batch(a_put("first")))
    connections[0].execute("PRAGMA max_page_count = 60")
    small = [a_batch(a_put(f"s{i}", text="x")) for i in range(3)]
    large = a_batch(a_put("large", text="x" * 400_000), key="k")
    answers = await asyncio.gather(
        store.apply(small[0]), store.apply(large), *map(store.apply, small[1:]), return_exceptions=True
    )
    assert isinstance(answers[1], StoreFull)
    assert "repeat" in str(answers[1])
    assert [type(answer).__name__ for answer in answers] == ["Receipt", "StoreFull", "Receipt", "Receipt"]
    assert (await store.head(NAMESPACE)).rev == 4
    connections[0].execute("PRAGMA max_page_count = 1000000")
    assert (await store.apply(large)).rev == 5
    await store.close()


def _mount_small(folder: Path) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    return os.getuid() == 0 and subprocess.run(command, capture_output=True).returncode == 0


async def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    if not _mount_small(folder):
        pytest.skip("only root may mount a small disk; the two tests before this one need no mount")
    try:
        await _fill_up_and_recover(folder)
    finally:
        subprocess.run(["umount", str(folder)], check=True)


async def _fill_up_and_recover(folder: Path) -> None:
    ballast = folder / "ballast"
    ballast.write_bytes(b"x" * 300_000)
    store = SqliteStore(folder / "memory.db")
    await store.open()
    kept: list[str] = []
    refused: list[str] = []
    for number in range(80):
        name = f"m{number}"
        try:
            await store.apply(a_batch(a_put(name, text="x" * 10_000)))
            kept.append(name)
        except StoreFull:
            refused.append(name)
    assert len(kept) > 5
    assert len(refused) > 5
    found = await store.find(NAMESPACE, limit=1000, order_by="written", descending=False)
    assert [item.id for item in found] == kept  # reads go on, and nothing refused was kept
    ballast.unlink()
    await store.apply(a_batch(a_put(refused[0], text="x" * 10_000)))
    assert await store.count(NAMESPACE) == len(kept) + 1
    await store.close()
    with closing(sqlite3.connect(folder / "memory.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


# Other processes


async def test_a_locked_file(path: Path) -> None:
    await _fill(path, 1)
    store = SqliteStore(path, busy_seconds=0.2)
    await store.open()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match=r"locked.*try again"):
            await store.apply(a_batch(a_put("a")))
        assert await store.count(NAMESPACE) == 1  # reads go on
        other.execute("ROLLBACK")
    assert (await store.apply(a_batch(a_put("a")))).rev == 2
    await store.close()


async def test_after_a_fork_the_store_refuses(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 and later warn of what is tested here
        child = os.fork()
    if child == 0:
        os._exit(_answer_of_the_child(store))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert (await store.apply(a_batch(a_put("a")))).rev == 1
    await store.close()


def _answer_of_the_child(store: SqliteStore) -> int:
    try:
        store.head(NAMESPACE).send(None)
    except StoreUnavailable as error:
        return 0 if "fork" in str(error) else 1
    except BaseException:
        return 2
    return 3


async def test_many_processes_may_open_a_new_file_at_once(path: Path) -> None:
    script = """
import asyncio, sys
from memwarden.stores.sqlite import SqliteStore
from memwarden.testing.examples import a_batch, a_put

async def main():
    store = SqliteStore(sys.argv[1])
    await store.open()
    await store.apply(a_batch(a_put(sys.argv[2])))
    await store.close()
asyncio.run(main())
"""
    children = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", script, str(path), f"m{i}"], stderr=subprocess.PIPE)
        for i in range(6)
    ]
    for child in children:
        _, errors = child.communicate(timeout=600)
        assert child.returncode == 0, errors.decode()
    store = SqliteStore(path)
    await store.open()
    assert (await store.head(NAMESPACE)).rev == 6
    await store.close()


async def test_a_failed_migration_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await _fill(path)
    before = _print(path.parent)
    last = migrations()[-1]
    broken = last._replace(number=last.number + 1, statements=("CREATE TABLE half (x)", "CREATE TABLE half (x)"))
    monkeypatch.setattr("memwarden.stores.sqlite.file.migrations", lambda: (*migrations(), broken))
    with pytest.raises(StoreError, match="half"):
        await SqliteStore(path).open()
    assert _print(path.parent) == before
    monkeypatch.undo()
    store = SqliteStore(path)
    await store.open()
    assert await store.count(NAMESPACE) == 300
    await store.close()


async def test_a_later_migration_is_applied_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await _fill(path)
    last = migrations()[-1]
    later = last._replace(number=last.number + 1, statements=("CREATE TABLE later (x)", "INSERT INTO later VALUES (1)"))
    monkeypatch.setattr("memwarden.stores.sqlite.file.migrations", lambda: (*migrations(), later))
    for _ in range(2):
        store = SqliteStore(path)
        await store.open()
        await store.close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM later").fetchone() == (1,)
        assert db.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone() == (later.number,)
    monkeypatch.undo()
    await _expect_refused(path, StoreTooNew, "upgrade")


# What a commit does


async def test_the_live_connections_sync_and_overwrite(path: Path) -> None:
    connections: list[sqlite3.Connection] = []

    class Watched(SqliteStore):
        def _connect(self, *, reading: bool) -> sqlite3.Connection:
            connections.append(super()._connect(reading=reading))
            return connections[-1]

    store = Watched(path)
    await store.open()
    await store.apply(a_batch(a_put("a")))
    for db in connections:
        asked = {
            name: db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("synchronous", "journal_mode", "secure_delete")
        }
        assert asked == {"synchronous": 2, "journal_mode": "wal", "secure_delete": 1}
        assert db.execute("PRAGMA fullfsync").fetchone() == (1,)
    await store.close()


async def test_what_a_change_replaces_is_kept_only_as_a_version(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    await store.apply(a_batch(a_put("a", text="secret-1")))
    await store.apply(a_batch(a_put("a", WriteMode.UPDATE, text="public")))
    await store.close()
    with closing(sqlite3.connect(path)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        holding = [
            table for table in tables for row in db.execute(f"SELECT * FROM {table}") if "secret-1" in map(str, row)
        ]
    assert holding == ["versions"]


async def test_a_loop_that_is_gone_does_not_stop_the_writer(path: Path) -> None:
    store = SqliteStore(path)
    await asyncio.to_thread(lambda: asyncio.run(store.open()))

    def abandon() -> None:
        loop = asyncio.new_event_loop()
        task = loop.create_task(store.apply(a_batch(a_put("a"))))
        loop.run_until_complete(asyncio.sleep(0))
        task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    await asyncio.to_thread(abandon)
    assert (await store.apply(a_batch(a_put("b")))).applied[0].outcome == "created"
    assert await store.count(NAMESPACE) == 2
    await store.close()
