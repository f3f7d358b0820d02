"""Opens a database of an earlier schema: contents stay, and no superuser is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from memwarden.errors import StoreUnavailable
from memwarden.records import Remove
from memwarden.stores.postgres import PostgresStore, schema
from memwarden.stores.transfer.backup import NamespaceRevision, read_manifest
from memwarden.testing.examples import a_batch
from memwarden.text.signals import term_bytes
from told import Told, check_steps, check_store, replay

BACKUP = Path(__file__).with_name("old_stores") / "postgres_0015.mwbackup"
SCHEMA = 15
LOGIN = "memwarden_upgrade_login"


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


async def test_a_database_of_an_earlier_schema_opens(owned: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Restores a backup of commit 21354826 into tables of its schema, then opens them with this code."""
    backup = BACKUP
    stands = read_manifest(backup).namespaces
    known = schema.migrations()
    with monkeypatch.context() as then:
        then.setattr(schema, "migrations", lambda: known[:SCHEMA])
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


async def an_old_database(owned: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore a database of schema 15."""
    known = schema.migrations()
    with monkeypatch.context() as then:
        then.setattr(schema, "migrations", lambda: known[:SCHEMA])
        await PostgresStore(owned).restore(BACKUP)


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
