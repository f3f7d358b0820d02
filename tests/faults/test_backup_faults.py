"""Backups under load, kills inside backup and restore, and disks that end: what is there is whole, or is not there."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from memwarden.errors import StoreError, StoreFull
from memwarden.records import Namespace
from memwarden.stores.sqlite import SqliteStore
from memwarden.stores.sqlite.health import examine
from memwarden.stores.transfer.backup import read_manifest, require_backup
from memwarden.stores.transfer.move import NamespaceSeal, seal_namespace
from memwarden.stores.url import store_at
from memwarden.testing.examples import OTHER_TENANT, a_batch, a_put
from memwarden.testing.page_tests import a_long_life
from told import Told, check_steps, check_store, replay

_CROWD = Path(__file__).with_name("crowd_child.py")
ANA = Namespace("default", "user/ana")


# Under load


async def whole(url: str, rev: int) -> None:
    """The journal tells exactly the rows, up to the revision that the backup names."""
    store = store_at(url)
    await store.open()
    journal = await store.journal(ANA, limit=10**6)
    states = [Told()]
    replay(journal, states)
    check_steps(journal)
    assert len(journal) == rev == (await store.head(ANA)).rev
    await check_store(store, ANA, states[-1])
    await store.close()


async def revision(url: str) -> int:
    store = store_at(url)
    await store.open()
    try:
        return (await store.head(ANA)).rev
    finally:
        await store.close()


@pytest.mark.parametrize("calls", [8, pytest.param(200, marks=pytest.mark.soak)])
@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.soak)])
def test_a_backup_taken_under_load_is_of_one_revision(
    engine: str, calls: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Two processes with eight writers each go on at full speed; every backup tells one revision, whole."""
    url = f"sqlite:///{tmp_path / 'm.db'}" if engine == "sqlite" else request.getfixturevalue("postgres_url")
    asyncio.run(revision(url))
    children = [
        subprocess.Popen([sys.executable, _CROWD, url, name, str(calls), tmp_path / name], stderr=subprocess.PIPE)
        for name in "pq"
    ]
    taken: list[tuple[Path, int, int]] = []
    while any(child.poll() is None for child in children):
        before, file = asyncio.run(revision(url)), tmp_path / f"{len(taken)}.mwbackup"
        asyncio.run(require_backup(store_at(url)).back_up(file))
        taken.append((file, before, asyncio.run(revision(url))))
    for child in children:
        _, errors = child.communicate(timeout=120)
        assert child.returncode == 0, errors
    grown = [item for item in taken if item[2] > item[1]]  # somebody wrote while it was made
    assert len(grown) >= 2
    for number, (file, before, after) in enumerate([grown[0], grown[-1]]):
        rev = read_manifest(file).revisions
        assert before <= rev <= after
        database: Callable[[], str] = request.getfixturevalue("new_database") if engine == "postgres" else str
        target = database() or f"sqlite:///{tmp_path / f'restored{number}.db'}"
        asyncio.run(require_backup(store_at(target)).restore(file))
        asyncio.run(whole(target, rev))
        if engine == "sqlite":
            assert examine(tmp_path / f"restored{number}.db") == []


# Killed

_KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from memwarden.stores.transfer import backup
from memwarden.stores.sqlite import backup as pages
from memwarden.stores.url import store_at
verb, url, file, left = sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
pages._PAGES, backup.CHUNK = 8, 8192

def passed(*given):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def audited(event, given):
    if event in ("tempfile.mkdtemp", "os.link", "shutil.rmtree"):
        passed()

store = store_at(url)
sys.addaudithook(audited)
asyncio.run(store.back_up(file, passed) if verb == "back_up" else store.restore(file, passed))
"""


async def live(url: str) -> None:
    store = store_at(url)
    await store.open()
    await a_long_life(store)
    await store.apply(a_batch(*(a_put(f"m{n}", text=f"word{n} " * 60) for n in range(200))))
    await store.apply(a_batch(a_put("b", namespace=OTHER_TENANT), namespace=OTHER_TENANT))
    await store.close()


async def held(url: str) -> list[NamespaceSeal]:
    store = store_at(url)
    await store.open()
    try:
        return [await seal_namespace(store, namespace) for namespace in await store.namespaces()]
    finally:
        await store.close()


def killed(verb: str, url: str, file: Path, nth: int) -> bool:
    command = [sys.executable, "-c", _KILLED, verb, url, str(file), str(nth)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode == -signal.SIGKILL


def is_there(url: str) -> bool:
    if url.startswith("sqlite"):
        return Path(url.removeprefix("sqlite:///")).exists()
    with psycopg.connect(url) as db:
        return db.execute("SELECT to_regnamespace('memwarden')").fetchone() != (None,)


@pytest.mark.parametrize(
    ("making", "restoring"), [((2, 6, 10), (2, 5)), pytest.param(range(1, 30), range(1, 30), marks=pytest.mark.soak)]
)
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_kills_inside_backup_and_restore(
    engine: str, making: Sequence[int], restoring: Sequence[int], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The store is as it was; the target is whole, or not there. What was left over says that it is unfinished."""
    url = f"sqlite:///{tmp_path / 'm.db'}" if engine == "sqlite" else request.getfixturevalue("postgres_url")
    asyncio.run(live(url))
    content, file, deaths = asyncio.run(held(url)), tmp_path / "b.mwbackup", 0
    for nth in making:
        died = killed("back_up", url, file, nth)
        deaths += died
        if file.exists():
            assert read_manifest(file).revisions == 223
            file.unlink()
        else:
            assert died
    assert asyncio.run(held(url)) == content
    assert all(item.name.endswith(".partial") for item in tmp_path.iterdir() if item.name != "m.db")
    asyncio.run(require_backup(store_at(url)).back_up(file))
    database: Callable[[], str] = request.getfixturevalue("new_database") if engine == "postgres" else str
    target = database() or f"sqlite:///{tmp_path / 'restored.db'}"
    for nth in restoring:
        died = killed("restore", target, file, nth)
        deaths += died
        assert died or is_there(target)
        if is_there(target):
            break
    if not is_there(target):
        asyncio.run(require_backup(store_at(target)).restore(file))
    assert asyncio.run(held(target)) == content
    assert deaths >= 4


# Full disks


@contextmanager
def a_small_disk(folder: Path) -> Iterator[bool]:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)]
    mounted = os.getuid() == 0 and subprocess.run(command, capture_output=True).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_without_room_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(live(f"sqlite:///{tmp_path / 'm.db'}"))
    with a_small_disk(tmp_path / "small") as mounted:
        if not mounted:
            pytest.skip("only root may mount a small disk; the next test needs no mount")
        with pytest.raises(StoreFull, match="are needed"):
            asyncio.run(SqliteStore(tmp_path / "m.db").back_up(tmp_path / "small" / "b"))
        monkeypatch.setattr("memwarden.stores.transfer.backup.require_room", lambda target, size: None)
        with pytest.raises(StoreFull, match=str(tmp_path / "small")):
            asyncio.run(SqliteStore(tmp_path / "m.db").back_up(tmp_path / "small" / "b"))
        assert list((tmp_path / "small").iterdir()) == []
        asyncio.run(SqliteStore(tmp_path / "m.db").back_up(tmp_path / "b"))
        with pytest.raises(StoreFull):
            asyncio.run(SqliteStore(tmp_path / "small" / "r.db").restore(tmp_path / "b"))
        assert list((tmp_path / "small").iterdir()) == []


_LIMITED = """
import asyncio, resource, signal, sys
from pathlib import Path
from memwarden.errors import StoreFull, StoreUnavailable
from memwarden.stores.url import store_at
verb, url, file, most = sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
store = store_at(url)
try:
    asyncio.run(store.back_up(file) if verb == "back_up" else store.restore(file))
except (StoreFull, StoreUnavailable) as error:
    print(error)
else:
    raise SystemExit("it was not refused")
"""


def limited(verb: str, url: str, file: Path, most: int) -> str:
    command = [sys.executable, "-B", "-c", _LIMITED, verb, url, str(file), str(most)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_a_disk_that_ends_meanwhile_is_told_and_nothing_stays(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The limit on file size stands for the end of the disk or of a quota."""
    url = f"sqlite:///{tmp_path / 'm.db'}" if engine == "sqlite" else request.getfixturevalue("postgres_url")
    asyncio.run(live(url))
    file = tmp_path / "b.mwbackup"
    for most in (0, 8192) if engine == "postgres" else (40_000, 100_000):
        assert str(file) in limited("back_up", url, file, most)
        assert not [item for item in tmp_path.iterdir() if item.name != "m.db"]
    if engine == "sqlite":
        asyncio.run(require_backup(store_at(url)).back_up(file))
        target = tmp_path / "restored.db"
        for most in (0, 100_000):
            assert str(target) in limited("restore", f"sqlite:///{target}", file, most)
            assert sorted(item.name for item in tmp_path.iterdir()) == ["b.mwbackup", "m.db"]
        assert examine(tmp_path / "m.db") == []


def test_a_repair_without_room_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.db"
    asyncio.run(live(f"sqlite:///{path}"))
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP INDEX memories_by_rev")
    before = path.read_bytes()
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage._replace(free=1000))
    with pytest.raises(StoreError, match="are needed"):
        asyncio.run(SqliteStore(path).repair())
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["m.db"]
