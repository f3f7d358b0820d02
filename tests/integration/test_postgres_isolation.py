"""Row security on PostgreSQL, gone around memwarden: no rows but those of the namespace that a transaction names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import pytest_asyncio
from psycopg import errors

from memwarden.errors import InvalidInput, StoreUnavailable
from memwarden.filters import parse
from memwarden.records import Link, Namespace, Remove, SeenMark, WriteMode
from memwarden.stores.postgres import PostgresStore
from memwarden.stores.shared.checkpoints import ChannelValue
from memwarden.stores.shared.items import PutItem, StoredItem
from memwarden.stores.shared.search import OpenRows, SearchLegs, format_term
from memwarden.testing.checkpoint_tests import a_saved, a_write
from memwarden.testing.event_tests import an_event
from memwarden.testing.examples import NAMESPACE, OTHER_TENANT, OTHER_USER, a_batch, a_put

EVERYWHERE = (NAMESPACE, OTHER_USER, OTHER_TENANT)
LOGIN = "memwarden_test_login"
NAME_IT = "SELECT set_config('memwarden.tenant', 'test', true), set_config('memwarden.namespace', %s, true)"


@pytest_asyncio.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    """A store with something in every table for three namespaces."""
    store = PostgresStore(postgres_url, connections=2)
    await store.open()
    for item in EVERYWHERE:
        changes = (a_put("a", namespace=item), a_put("b", namespace=item, thread_id="t"), Link("a", "b"))
        await store.apply(a_batch(*changes, a_put("a", WriteMode.UPDATE, namespace=item), namespace=item, key="k"))
        seen = a_batch(Remove("b"), namespace=item)
        await store.apply(type(seen)(seen.namespace, seen.changes, seen.at, seen=(SeenMark("t", 1),)))
        await store.record([an_event(namespace=item)])
        saved = a_saved(links=(("a", "1"),))
        await store.checkpoints.put(item, saved, [ChannelValue("a", "1", "k", b"")])
        await store.checkpoints.put_writes(item, saved.key, [a_write()])
        await store.counts.add(item, "key", 60, 1)
        await store.items.write(item, [PutItem(StoredItem("a", "k", "{}", 1, 1), (("$", b"vector"),))])
    yield store
    await store.close()


@contextmanager
def as_app(url: str, tenant: str | None = None, namespace: str | None = None) -> Iterator[psycopg.Connection[Any]]:
    """A transaction of the role of the store, with the settings that are given and no others."""
    with psycopg.connect(url) as db:
        db.execute("SET LOCAL ROLE memwarden_app")
        for name, value in (("tenant", tenant), ("namespace", namespace)):
            if value is not None:
                db.execute("SELECT set_config(%s, %s, true)", [f"memwarden.{name}", value])
        yield db


def tables(url: str) -> list[str]:
    """Every table and view of the store but ``meta``, which names no namespace."""
    with psycopg.connect(url) as db:
        found = db.execute(
            "SELECT oid::regclass::text FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace "
            "AND relkind IN ('r', 'p', 'v', 'm', 'f') AND relname <> 'meta'"
        ).fetchall()
    return sorted(name for (name,) in found)


def counts(db: psycopg.Connection[Any], names: list[str]) -> dict[str, int]:
    found = {}
    for name in names:
        ((found[name],),) = db.execute(f"SELECT count(*) FROM {name}".encode()).fetchall()
    return found


async def made_large(store: PostgresStore) -> None:
    """Fill what only large namespaces have."""
    for item in EVERYWHERE:
        assert await store.make_search(item, 2)
        await store.save_digest(item, 1, b"as if")


async def test_every_table_holds_something_here(store: PostgresStore, postgres_url: str) -> None:
    """Or the tests below would pass on an empty table."""
    await made_large(store)
    for item in EVERYWHERE:
        with as_app(postgres_url, item.tenant, item.path) as db:
            assert all(counts(db, tables(postgres_url)).values())
    assert len(tables(postgres_url)) == 23


@pytest.mark.parametrize(
    ("tenant", "namespace"),
    [
        (None, None), ("", ""), ("", NAMESPACE.path), (NAMESPACE.tenant, ""), (NAMESPACE.tenant, None),
        (None, NAMESPACE.path), ("zz", NAMESPACE.path), (NAMESPACE.tenant, "user/zz"), ("%", "%"),
        ("test' OR '1'='1", NAMESPACE.path), (NAMESPACE.tenant.upper(), NAMESPACE.path),
    ],
)  # fmt: skip
async def test_without_a_namespace_nothing_is_seen(
    store: PostgresStore, postgres_url: str, tenant: str | None, namespace: str | None
) -> None:
    with psycopg.connect(postgres_url) as db:  # rows that an unset setting would show, if '' were a name like others
        db.execute("INSERT INTO memwarden.namespaces VALUES ('', '', 1, 1, 1), ('', 'user/ann', 1, 1, 1)")
    with as_app(postgres_url, tenant, namespace) as db:
        assert set(counts(db, tables(postgres_url)).values()) == {0}


@pytest.mark.parametrize("ending", ["COMMIT", "ROLLBACK"])
async def test_a_setting_ends_with_its_transaction(store: PostgresStore, postgres_url: str, ending: str) -> None:
    """After it the setting reads '' and not NULL; the policies have to fail closed on both."""
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("SET ROLE memwarden_app")
        db.execute("BEGIN")
        db.execute(
            "SELECT set_config('memwarden.tenant', 'test', true), set_config('memwarden.namespace', %s, true)",
            [NAMESPACE.path],
        )
        assert counts(db, ["memwarden.memories"]) == {"memwarden.memories": 2}
        db.execute(ending.encode())
        assert db.execute("SELECT current_setting('memwarden.tenant', true)").fetchone() == ("",)
        assert set(counts(db, tables(postgres_url)).values()) == {0}


async def test_one_namespace_is_seen_and_no_other(store: PostgresStore, postgres_url: str) -> None:
    await made_large(store)
    with as_app(postgres_url, OTHER_USER.tenant, OTHER_USER.path) as db:
        for name in tables(postgres_url):
            seen = db.execute(f"SELECT DISTINCT tenant, namespace FROM {name}".encode()).fetchall()
            assert seen == [(OTHER_USER.tenant, OTHER_USER.path)], name


async def test_other_namespaces_cannot_be_written(store: PostgresStore, postgres_url: str) -> None:
    theirs = (NAMESPACE.tenant, NAMESPACE.path)
    with as_app(postgres_url, OTHER_USER.tenant, OTHER_USER.path) as db:
        changed = db.execute("UPDATE memwarden.memories SET text = 'x' WHERE namespace = %s", [NAMESPACE.path])
        assert changed.rowcount == 0
        changed = db.execute("UPDATE memwarden.memories SET text = 'x'")
        assert changed.rowcount == 2
        for table in ("items", "item_vectors"):
            gone = db.execute(f"DELETE FROM memwarden.{table} WHERE namespace = %s".encode(), [NAMESPACE.path])
            assert gone.rowcount == 0
    for statement in (
        "INSERT INTO memwarden.receipts VALUES (%s, %s, 'x', NULL, 1, '[]', 1)",
        "INSERT INTO memwarden.threads VALUES (%s, %s, 'x', 1)",
        "INSERT INTO memwarden.items VALUES (%s, %s, 'a', 'k', '{}', 1, 1)",
        "INSERT INTO memwarden.item_vectors VALUES (%s, %s, 'a', 'k', '$', 'x')",
        "INSERT INTO memwarden.namespaces VALUES (%s, %s, 1, 1, 1) "
        "ON CONFLICT (tenant, namespace) DO UPDATE SET rev = 9",
        "UPDATE memwarden.memories SET tenant = %s, namespace = %s",
    ):
        with (
            pytest.raises(errors.InsufficientPrivilege),
            as_app(postgres_url, OTHER_USER.tenant, OTHER_USER.path) as db,
        ):
            db.execute(statement.encode(), theirs)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM memwarden.memories",
        "UPDATE memwarden.journal SET actor = 'x'",
        "DELETE FROM memwarden.journal",
        "UPDATE memwarden.versions SET text = 'x'",
        "UPDATE memwarden.receipts SET rev = 1",
        "UPDATE memwarden.meta SET value = '1'",
        "INSERT INTO memwarden.meta (key, value) VALUES ('erasures', '7')",
        "DELETE FROM memwarden.meta",
        "TRUNCATE memwarden.memories",
        "DROP TABLE memwarden.memories",
        "ALTER TABLE memwarden.memories DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE memwarden.memories NO FORCE ROW LEVEL SECURITY",
        "DROP POLICY one_namespace ON memwarden.memories",
        "CREATE POLICY open ON memwarden.memories USING (true)",
        "ALTER ROLE memwarden_app BYPASSRLS",
        "CREATE TABLE memwarden.mine (x int)",
    ],
)
async def test_the_role_cannot_open_the_wall_nor_change_the_past(
    store: PostgresStore, postgres_url: str, statement: str
) -> None:
    with pytest.raises(errors.InsufficientPrivilege), as_app(postgres_url, NAMESPACE.tenant, NAMESPACE.path) as db:
        db.execute(statement.encode())


async def test_the_role_removes_earlier_contents_of_state_alone(store: PostgresStore, postgres_url: str) -> None:
    for item in EVERYWHERE:
        put = a_put("s", WriteMode.UPSERT, namespace=item, channel="state")
        await store.apply(a_batch(put, put, namespace=item))
    with as_app(postgres_url, NAMESPACE.tenant, NAMESPACE.path) as db:
        assert db.execute("DELETE FROM memwarden.versions").rowcount == 1
    for entry, left in ((NAMESPACE, []), (OTHER_USER, [1]), (OTHER_TENANT, [1])):
        assert [held.version for held in await store.versions(entry, [("s", 1)])] == left
        assert [held.version for held in await store.versions(entry, [("a", 1)])] == [1]


async def test_row_security_cannot_be_asked_away(store: PostgresStore, postgres_url: str) -> None:
    with as_app(postgres_url, NAMESPACE.tenant, NAMESPACE.path) as db:
        db.execute("SET LOCAL row_security = off")  # means: rather an error than fewer rows
        with pytest.raises(errors.InsufficientPrivilege):
            db.execute("SELECT * FROM memwarden.memories")


async def test_the_listing_tells_names_and_opens_nothing_else(store: PostgresStore, postgres_url: str) -> None:
    assert await store.namespaces() == sorted(EVERYWHERE)
    with as_app(postgres_url) as db:
        db.execute("SELECT set_config('memwarden.listing', 'on', true)")
        seen = counts(db, tables(postgres_url))
        assert {name for name, number in seen.items() if number} == {"memwarden.namespaces"}
        assert db.execute("UPDATE memwarden.namespaces SET rev = 0").rowcount == 0


# Connections that are kept


POISONS = (
    ["SET memwarden.tenant = 'test'", f"SET memwarden.namespace = '{OTHER_USER.path}'"],
    ["SET memwarden.listing = 'on'", "SET ROLE memwarden_app"],
    ["SET search_path = pg_temp", "CREATE TEMP TABLE memories AS SELECT 'a' AS id"],
    ["SET default_transaction_isolation = 'serializable'", "SET default_transaction_read_only = on"],
    ["SET standard_conforming_strings = off", "SET DateStyle = 'German'", "SET statement_timeout = '1s'"],
)


@pytest.mark.parametrize("poison", POISONS, ids=lambda poison: poison[0])
async def test_a_poisoned_connection_shows_and_writes_the_asked_namespace(
    store: PostgresStore, poison: list[str]
) -> None:
    every_connection(store, lambda db: [db.execute(item.encode()) for item in poison])
    await works_for_each(store)


def begin_as_another(db: psycopg.Connection[Any]) -> None:
    db.execute("BEGIN")
    db.execute(
        "SELECT set_config('memwarden.tenant', 'test', true), set_config('memwarden.namespace', 'user/bob', true)"
    )


def abort(db: psycopg.Connection[Any]) -> None:
    begin_as_another(db)
    with pytest.raises(errors.DivisionByZero):
        db.execute("SELECT 1 / 0")


def cut(db: psycopg.Connection[Any]) -> None:
    db.close()


def end_the_backend(db: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.OperationalError):
        db.execute("SELECT pg_terminate_backend(pg_backend_pid())")


@pytest.mark.parametrize("state", [begin_as_another, abort, cut, end_the_backend])
async def test_a_connection_left_in_any_state_does_no_harm(
    store: PostgresStore, state: Callable[[psycopg.Connection[Any]], object]
) -> None:
    every_connection(store, state)
    await works_for_each(store)


def every_connection(store: PostgresStore, spoil: Callable[[psycopg.Connection[Any]], object]) -> None:
    """Do something to all connections that the store keeps, and leave them as they are."""
    connections = store.connections
    with connections.borrow() as item, connections.borrow() as other:
        kept = [item, other]
    with connections.borrow() as item, connections.borrow() as other:
        assert {item, other} == set(kept)
    for connection in kept:
        spoil(connection)


async def works_for_each(store: PostgresStore) -> None:
    for number, item in enumerate(EVERYWHERE):
        before = await store.head(item)
        name = f"new{number}"
        await store.apply(a_batch(a_put(name, namespace=item), namespace=item))
        assert (await store.head(item)).rev == before.rev + 1
        assert {memory.namespace for memory in await store.find(item)} == {item}
        assert [memory.id for memory in await store.get(item, [f"new{n}" for n in range(3)])] == [name]
        assert (await store.scan(item, before.rev)).rows[0].id == name
    assert await store.namespaces() == sorted(EVERYWHERE)


# Names and values that try to get out


@pytest.mark.parametrize(
    "path", ["user/ann'; SET ROLE postgres; --", "user/%", "user/ann\x00x", 'user/"ann"', "user/ann "]
)
async def test_crafted_names_are_names(store: PostgresStore, path: str) -> None:
    crafted = Namespace(NAMESPACE.tenant, path)
    assert await store.find(crafted) == []
    assert await store.count(crafted, parse({"id": "a"})) == 0
    await store.apply(a_batch(a_put("mine", namespace=crafted), namespace=crafted))
    assert [item.id for item in await store.find(crafted)] == ["mine"]
    assert [item.id for item in await store.find(NAMESPACE)] == ["a"]
    assert crafted in await store.namespaces()


@pytest.mark.parametrize("name", ["tenant", "path"])
async def test_an_empty_name_is_refused_and_shows_nothing(store: PostgresStore, name: str) -> None:
    empty = Namespace("" if name == "tenant" else "test", "" if name == "path" else "user/ann")
    with pytest.raises(InvalidInput):
        await store.apply(a_batch(a_put("x", namespace=empty), namespace=empty))
    assert await store.find(empty) == []


# Opening


TABLE = "ALTER TABLE memwarden"


@pytest.mark.parametrize(
    ("open_door", "close_it", "said"),
    [
        ("ALTER ROLE memwarden_app BYPASSRLS", ["ALTER ROLE memwarden_app NOBYPASSRLS"], "bypass"),
        ("ALTER ROLE memwarden_app SUPERUSER", ["ALTER ROLE memwarden_app NOSUPERUSER"], "superuser"),
        (f"{TABLE}.signals DISABLE ROW LEVEL SECURITY", [f"{TABLE}.signals ENABLE ROW LEVEL SECURITY"], "signals"),
        (f"{TABLE}.journal NO FORCE ROW LEVEL SECURITY", [f"{TABLE}.journal FORCE ROW LEVEL SECURITY"], "journal"),
        (
            f"{TABLE}.versions OWNER TO memwarden_app",
            [
                f"{TABLE}.versions OWNER TO CURRENT_USER",
                "GRANT SELECT, INSERT, DELETE ON memwarden.versions TO memwarden_app",
            ],
            "owns memwarden.versions",
        ),
        ("CREATE TABLE memwarden.added (x int)", ["DROP TABLE memwarden.added"], "added"),
    ],
)
async def test_a_wall_with_a_hole_is_not_opened(
    store: PostgresStore, postgres_url: str, open_door: str, close_it: list[str], said: str
) -> None:
    other = PostgresStore(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(open_door.encode())
        try:
            with pytest.raises(StoreUnavailable, match=said):
                await other.open()
        finally:
            for item in close_it:
                db.execute(item.encode())
    await other.open()
    await other.close()


@pytest.fixture
def login(postgres_server: str) -> Iterator[Callable[[str], str]]:
    """Makes a login that is a member of the store's role and nothing else; returns a database's URL for it."""
    with psycopg.connect(postgres_server, autocommit=True) as db:
        db.execute(f"CREATE ROLE {LOGIN} LOGIN PASSWORD 'a-secret' IN ROLE memwarden_app".encode())

    def url_of(url: str) -> str:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        return parts._replace(netloc=f"{LOGIN}:a-secret@{host}").geturl()

    yield url_of
    with psycopg.connect(postgres_server, autocommit=True) as db:
        db.execute(f"DROP OWNED BY {LOGIN}".encode())
        db.execute(f"DROP ROLE {LOGIN}".encode())


async def test_a_login_that_owns_nothing_can_use_the_store(
    store: PostgresStore, postgres_url: str, login: Callable[[str], str]
) -> None:
    service = PostgresStore(login(postgres_url))
    await service.open()
    await works_for_each(service)
    await service.close()
    with psycopg.connect(login(postgres_url)) as db, pytest.raises(errors.InsufficientPrivilege):
        db.execute("ALTER TABLE memwarden.memories DISABLE ROW LEVEL SECURITY")


async def test_the_owners_login_alone_says_which_model_a_store_is_of(
    store: PostgresStore, postgres_url: str, login: Callable[[str], str]
) -> None:
    service = PostgresStore(login(postgres_url))
    await service.open()
    with pytest.raises(StoreUnavailable, match="login that owns the schema"):
        await service.identity("mine")
    assert (await service.about()).model is None
    assert await store.identity("theirs") == "theirs"
    assert await service.identity("mine") == "theirs"
    await service.close()


async def test_a_login_without_rights_is_told_what_to_do(
    store: PostgresStore, new_database: Callable[[], str], login: Callable[[str], str]
) -> None:
    empty = new_database()
    with pytest.raises(StoreUnavailable, match="memwarden_app") as refused:
        await PostgresStore(login(empty)).open()
    assert "a-secret" not in str(refused.value)


async def test_an_owner_that_is_no_superuser_is_held_to_row_security_too(
    store: PostgresStore, new_database: Callable[[], str], login: Callable[[str], str]
) -> None:
    url = new_database()
    with psycopg.connect(url, autocommit=True) as db:
        (name,) = db.execute("SELECT quote_ident(current_database())").fetchone() or ("",)
        db.execute(f"GRANT CREATE ON DATABASE {name} TO {LOGIN}".encode())
        db.execute(f"GRANT memwarden_search TO {LOGIN} WITH INHERIT FALSE".encode())
        db.execute("CREATE EXTENSION vector")
    owned = PostgresStore(login(url))
    await owned.open()
    await owned.apply(a_batch(a_put("a")))
    assert await owned.make_search(NAMESPACE, 2)
    await owned.save_digest(NAMESPACE, 1, b"as if")
    every_word = SearchLegs(OpenRows(), b"\x00\x3c\x00\x00", 5, format_term(1), 5)
    found = await owned.look(NAMESPACE, every_word)
    number = found.near.n  # of the only row, as 8 bytes
    assert (len(number), found.holding.n) == (8, number)
    await owned.close()
    with psycopg.connect(login(url)) as db:
        assert set(counts(db, tables(url)).values()) == {0}
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"REASSIGN OWNED BY {LOGIN} TO CURRENT_USER".encode())
        db.execute(f"DROP OWNED BY {LOGIN}".encode())


async def test_no_other_encoding_of_the_client_is_used(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    store = PostgresStore(postgres_url, connections=1)
    await store.open()
    try:
        await store.items.write(NAMESPACE, [PutItem(StoredItem("a", "k", '"東京"', 1, 1))])
        assert (await store.items.get(NAMESPACE, [("a", "k")]))["a", "k"].value == '"東京"'
    finally:
        await store.close()
