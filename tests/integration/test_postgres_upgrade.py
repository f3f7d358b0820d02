"""A database of every earlier schema opens, holds what it held, and needs no superuser for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import psycopg
import pytest

from memwarden import AsyncWarden
from memwarden.errors import StoreUnavailable
from memwarden.records import Remove
from memwarden.stores.postgres import PostgresStore, schema
from memwarden.stores.transfer.backup import NamespaceRevision, read_manifest
from memwarden.testing.examples import a_batch
from memwarden.text.signals import term_bytes
from told import Told, check_steps, check_store, replay

OLD = Path(__file__).with_name("old_stores")
LANDED = {1: "ab0807a9fca7b89a"}
"""Migrations that users may have run, with a digest of their statements: they never change again."""
LOGIN = "memwarden_upgrade_login"


@pytest.mark.parametrize("number", LANDED)
def test_what_landed_is_frozen(number: int) -> None:
    script = next(migration.script for migration in schema.migrations() if migration.number == number).decode()
    bare = re.sub(r"--[^\n]*|\s+", "", script)
    assert sha256(bare.encode()).hexdigest()[:16] == LANDED[number], "write another migration; users have run this one"


@pytest.fixture
def owned(new_database: Callable[[], str]) -> Iterator[str]:
    """The URL of an empty database for a login that may make a schema in it, and is no superuser."""
    url = new_database()
    with psycopg.connect(url, autocommit=True) as db:
        for role in ("memwarden_app", "memwarden_search"):
            if db.execute("SELECT oid FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None:
                db.execute(f"CREATE ROLE {role} NOLOGIN NOINHERIT".encode())
        db.execute(f"CREATE ROLE {LOGIN} LOGIN PASSWORD 'a-secret' IN ROLE memwarden_app".encode())
        db.execute(f"GRANT CREATE ON DATABASE {db.info.dbname} TO {LOGIN}".encode())
        db.execute(f"GRANT memwarden_search TO {LOGIN} WITH INHERIT FALSE".encode())
        yield f"postgresql://{LOGIN}:a-secret@{url.partition('//')[2].rpartition('@')[2]}"
        db.execute(f"DROP OWNED BY {LOGIN} CASCADE".encode())
        db.execute(f"DROP ROLE {LOGIN}".encode())


@pytest.mark.parametrize("number", sorted(int(item.stem[-4:]) for item in OLD.glob("postgres_*.mwbackup")))
async def test_a_database_of_every_schema_opens(number: int, owned: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows came from a backup that the memwarden of that schema made; the tables are those of that schema."""
    backup = OLD / f"postgres_{number:04}.mwbackup"
    stands = read_manifest(backup).namespaces
    known = schema.migrations()
    with monkeypatch.context() as then:
        then.setattr(schema, "migrations", lambda: known[:number])
        await PostgresStore(owned).restore(backup)
    store = PostgresStore(owned)
    await store.open()
    assert (await store.about()).schema == known[-1].number
    heads = [(namespace, (await store.head(namespace)).rev) for namespace in await store.namespaces()]
    assert tuple(NamespaceRevision(item.tenant, item.path, rev) for item, rev in heads) == stands
    for namespace, rev in heads:
        states = [Told()]
        journal = await store.journal(namespace, limit=1000)
        replay(journal, states)
        check_steps(journal)
        found = await check_store(store, namespace, states[-1])
        assert any("lives in Porto" in item.text for item in found.values())
        assert (await store.apply(a_batch(Remove(next(iter(found))), namespace=namespace))).rev == rev + 1
    await store.close()
    assert await store.examine() == []


async def test_earlier_contents_of_state_leave_a_database_that_kept_all(owned: str) -> None:
    """Before schema 6 nothing removed them, and the role of the store could not."""
    await PostgresStore(owned).restore(OLD / "postgres_0005.mwbackup")
    async with AsyncWarden.open(owned, config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana")
        for number in range(2):
            await me.state.save("count", number)
            await me.sessions.finalize_current_cycle("A", f"q{12 + number}", "a")
        for item, newest in (("state:count", 16), ("session:A", 26)):
            held = await warden.store.versions(me.who.namespace, [(item, version) for version in range(1, newest + 1)])
            assert [memory.version for memory in held] == list(range(newest - 10, newest + 1))
            assert len(await me.journal.history(item, limit=100)) == newest
        assert (await me.sessions.load("A"))["conversation_memory"]["summary"].startswith("User: q0\n")


async def an_old_database(owned: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore a database of schema 5."""
    known = schema.migrations()
    with monkeypatch.context() as then:
        then.setattr(schema, "migrations", lambda: known[:5])
        await PostgresStore(owned).restore(OLD / "postgres_0005.mwbackup")


async def test_a_database_that_an_older_process_has_open_is_not_upgraded(
    owned: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would go on writing terms as it knows them."""
    await an_old_database(owned, monkeypatch)
    store = PostgresStore(owned)
    with (
        psycopg.connect(owned, application_name="memwarden"),
        pytest.raises(StoreUnavailable, match="1 connections of an earlier memwarden are open"),
    ):
        await store.open()
    await store.open()
    assert (await store.about()).schema == schema.migrations()[-1].number
    await store.close()


async def test_terms_are_made_anew_with_progress_and_go_on_after_a_break(
    owned: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await an_old_database(owned, monkeypatch)
    ticks: list[tuple[int, int]] = []

    def breaking(done: int, total: int) -> None:
        ticks.append((done, total))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await PostgresStore(owned, tick=breaking).open()
    store = PostgresStore(owned, tick=lambda done, total: ticks.append((done, total)))
    await store.open()
    names = await store.namespaces()
    assert ticks == [(1, len(names)), *((done, len(names) - 1) for done in range(1, len(names)))]
    for namespace in names:
        rows = (await store.scan(namespace)).rows
        texts = {item.id: item.text for item in await store.get(namespace, [row.id for row in rows], removed=True)}
        assert rows
        assert all(row.terms == term_bytes(texts[row.id]) for row in rows)
    await store.close()
    ticks.clear()
    again = PostgresStore(owned, tick=lambda done, total: ticks.append((done, total)))
    await again.open()
    await again.close()
    assert ticks == []
