"""``memwarden doctor`` on PostgreSQL: what is wrong is found, and mended by the owner after a backup was made."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memwarden.stores.postgres import PostgresStore
from memwarden.stores.shared.checkpoints import HealthFinding
from memwarden.stores.transfer.backup import read_manifest
from memwarden.stores.transfer.move import seal_namespace
from memwarden.stores.url import store_at
from memwarden.surfaces.cli.main import run
from memwarden.testing.examples import NAMESPACE, OTHER_TENANT, a_batch, a_put
from memwarden.testing.page_tests import a_long_life


def cli(*words: str, code: int = 0) -> str:
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        exit_code = run(words)
    assert exit_code == code, (out.getvalue(), err.getvalue())
    return out.getvalue() + err.getvalue()


async def live(url: str) -> None:
    store = store_at(url)
    await store.open()
    await a_long_life(store)
    await store.apply(a_batch(a_put("b", namespace=OTHER_TENANT), namespace=OTHER_TENANT))
    await store.close()


async def held(url: str) -> Any:
    store = store_at(url)
    await store.open()
    try:
        return [await seal_namespace(store, item) for item in (NAMESPACE, OTHER_TENANT)]
    finally:
        await store.close()


def examined(url: str) -> list[HealthFinding]:
    return asyncio.run(PostgresStore(url).examine())


def change(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as db:
        for statement in statements:
            db.execute(statement.encode())


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    asyncio.run(live(postgres_url))
    yield postgres_url
    index = "journal_by_memory ON memwarden.journal (tenant, namespace, memory_id, seq)"
    change(postgres_url, f"CREATE INDEX IF NOT EXISTS {index}")


_SIGNALS = "INSERT INTO memwarden.signals (tenant, namespace, n, flags, terms, days)"
MENDABLE = {
    "an index is missing": ("DROP INDEX memwarden.journal_by_memory", "index", "journal_by_memory is missing"),
    "an index is invalid": (
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'memwarden.journal_by_memory'::regclass",
        "index",
        "invalid",
    ),
    "signals": (f"{_SIGNALS} VALUES ('test', 'user/ann', 99, 0, '', '')", "orphans", "signals of no memory"),
    "versions": (
        "UPDATE memwarden.versions SET id = 'nobody' WHERE version = 2", "orphans", "earlier contents",
    ),
    "links": (
        "INSERT INTO memwarden.relations VALUES ('test', 'user/ann', 'a', 'nobody', 'related', 1.0, true, 3, 0)",
        "orphans",
        "links",
    ),
    "threads": ("INSERT INTO memwarden.threads VALUES ('test', 'nowhere', 't', 1, 1)", "orphans", "no namespace"),
    "receipts": (
        "INSERT INTO memwarden.receipts VALUES ('test', 'nowhere', 'k', NULL, 1, '[]', 0)", "orphans", "no namespace",
    ),
    "vectors of items": (
        "INSERT INTO memwarden.item_vectors VALUES ('test', 'user/ann', 'a', 'k', 'f', '')", "orphans", "of no item",
    ),
    "values of states": (
        "INSERT INTO memwarden.checkpoint_blobs VALUES ('test', 'user/ann', 'gone', '', 'c', '1', 'k', '')",
        "orphans",
        "no saved state",
    ),
    "a revision": ("UPDATE memwarden.namespaces SET rev = rev + 3", "counter", "revision"),
    "a count of rows": ("UPDATE memwarden.namespaces SET rows = 0", "counter", "twice"),
}  # fmt: skip


def test_nothing_is_wrong_and_nothing_is_done(url: str) -> None:
    assert examined(url) == []
    told = json.loads(cli("doctor", "--repair", "--json", "--db", url))
    assert (told["wrong"], told["mended"], told["copy"]) == ([], [], None)


@pytest.mark.parametrize("harm", MENDABLE)
def test_it_is_found_and_mended(harm: str, url: str, tmp_path: Path) -> None:
    before = asyncio.run(held(url))
    statement, kind, said = MENDABLE[harm]
    change(url, statement)
    found = json.loads(cli("doctor", "--json", "--db", url, code=1))["wrong"]
    assert [(item["kind"], bool(item["mend"])) for item in found] == [(kind, True)]
    assert said in found[0]["said"]
    assert "--backup FILE" in cli("doctor", "--repair", "--db", url, code=2)
    assert [item._asdict() for item in examined(url)] == found, "without a copy nothing is done"
    copy = tmp_path / "b.mwbackup"
    told = json.loads(cli("doctor", "--repair", "--backup", str(copy), "--json", "--db", url))
    assert (told["mended"], told["wrong"], told["copy"]) == (found, [], str(copy))
    assert len(read_manifest(copy).namespaces) == 2
    if harm != "versions":
        assert asyncio.run(held(url)) == before
    assert json.loads(cli("doctor", "--repair", "--json", "--db", url))["mended"] == []


@pytest.mark.parametrize(
    "harm",
    [
        "DELETE FROM memwarden.signals WHERE n = 2",
        "DELETE FROM memwarden.journal WHERE seq = 4",
        "DELETE FROM memwarden.memories WHERE id = 'b' AND tenant = 'test'",
        "UPDATE memwarden.memories SET version = 9 WHERE id = 'b'",
    ],
)
def test_what_is_lost_is_told_and_not_made_up(harm: str, url: str, tmp_path: Path) -> None:
    change(url, harm)
    assert any(not item.mend for item in examined(url))
    told = cli("doctor", "--repair", "--backup", str(tmp_path / "b"), "--db", url, code=1)
    assert "WRONG" in told
    assert "backup restore" in told.replace("\n", "")  # lines break where the file's name is long


def test_contents_of_indexes_are_checked_where_amcheck_is_there(url: str, tmp_path: Path) -> None:
    change(url, "CREATE EXTENSION amcheck")
    try:
        assert examined(url) == []
        change(
            url,  # an index that says that it holds rows and does not: built while it is told that there are none
            "DROP INDEX memwarden.journal_by_memory",
            "CREATE INDEX journal_by_memory ON memwarden.journal (tenant, namespace, memory_id, seq) WHERE false",
            "UPDATE pg_index SET indpred = NULL WHERE indexrelid = 'memwarden.journal_by_memory'::regclass",
        )
        (found,) = examined(url)
        assert (found.kind, found.where) == ("index", "journal_by_memory")
        cli("doctor", "--repair", "--backup", str(tmp_path / "b"), "--db", url)
        assert examined(url) == []
    finally:
        change(url, "DROP EXTENSION amcheck")


def test_bloat_is_vacuumed(url: str, tmp_path: Path) -> None:
    change(
        url,
        "ALTER TABLE memwarden.threads SET (autovacuum_enabled = false)",
        "INSERT INTO memwarden.threads SELECT 'test', 'user/ann', 'many' || n, 1, 1 FROM generate_series(1, 12000) n",
        "DELETE FROM memwarden.threads WHERE thread_id LIKE 'many%'",
        "SELECT pg_stat_force_next_flush()",
    )
    (found,) = examined(url)
    assert (found.kind, found.where) == ("bloat", "threads")
    cli("doctor", "--repair", "--backup", str(tmp_path / "b"), "--db", url)
    assert examined(url) == []
    change(url, "ALTER TABLE memwarden.threads RESET (autovacuum_enabled)")


def test_a_service_login_is_told_whose_work_it_is(url: str) -> None:
    login = "memwarden_health_login"
    change(url, f"CREATE ROLE {login} LOGIN PASSWORD 'a-secret' IN ROLE memwarden_app")
    try:
        host = url.partition("//")[2].rpartition("@")[2]
        as_login = f"postgresql://{login}:a-secret@{host}"
        told = cli("doctor", "--db", as_login)
        assert "test:user/ann" in told
        assert "was not looked for" in told
        assert "login that owns" in json.loads(cli("doctor", "--json", "--db", as_login))["not_examined"]
        assert "login that owns" in cli("doctor", "--repair", "--db", as_login, code=1)
    finally:
        change(url, f"DROP OWNED BY {login}", f"DROP ROLE {login}")
