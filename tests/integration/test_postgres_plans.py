"""The server answers by index, with row security on: a question costs what it brings, not what the table holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from memwarden.filters import parse
from memwarden.records import Link, MemoryState, Namespace
from memwarden.stores.postgres import PostgresStore
from memwarden.stores.postgres.items import PostgresItems
from memwarden.stores.postgres.read import Reader
from memwarden.stores.postgres.rows import register_dumpers
from memwarden.stores.shared.items import ItemSearch, PutItem, StoredItem
from memwarden.testing.examples import NAMESPACE, a_batch, a_put

NAMESPACES = [Namespace("test", f"user/{number}") for number in range(20)]
ROWS = 400
ASKED: dict[str, tuple[Callable[[Reader, Namespace], object], str]] = {
    "head": (lambda reader, here: reader.head(here), "namespaces_pkey"),
    "get": (lambda reader, here: reader.get(here, ["m5", "m9"], False), "memories_pkey"),
    "newest": (
        lambda reader, here: reader.find(here, (), 10, "created_at", True, MemoryState.ACTIVE),
        "memories_by_time",
    ),
    "tail of a thread": (
        lambda reader, here: reader.find(here, parse({"thread_id": "t3"}), 10, "written", True, MemoryState.ACTIVE),
        "memories_by_thread",
    ),
    "what changed": (lambda reader, here: reader.scan(here, ROWS - 1), "memories_by_rev"),
    "versions": (lambda reader, here: reader.versions(here, [("m5", 1)]), "versions_pkey"),
    "journal": (lambda reader, here: reader.journal(here, ROWS - 5, None, None, None, True, False, 9), "journal_pkey"),
    "history": (lambda reader, here: reader.journal(here, 0, "m5", None, None, True, False, 9), "journal_by_memory"),
    "thread": (lambda reader, here: reader.thread(here, "t3", 5), "journal_by_thread"),
    "relations": (lambda reader, here: reader.relations(here, ["m5"]), "relations_by_to"),
}


class Noting:
    """A connection that notes which questions are asked over it."""

    def __init__(self, real: psycopg.Connection[Any]) -> None:
        self.asked: list[tuple[bytes, Any]] = []
        self._real = real

    def pipeline(self) -> Any:
        return self._real.pipeline()

    def execute(self, sql: bytes, values: Any = None, **options: Any) -> Any:
        if b"FROM memwarden." in sql or b"JOIN memwarden." in sql:
            self.asked.append((sql, values))
        return self._real.execute(sql, values, **options)


@pytest.fixture(scope="module")
def filled(new_database: Callable[[], str]) -> str:
    url = new_database()
    asyncio.run(fill(url))
    with psycopg.connect(url, autocommit=True) as db:
        others = "SELECT 'test', 'user/other' || n, 1, 0, 1 FROM generate_series(1, 5000) n"
        db.execute(f"INSERT INTO memwarden.namespaces {others}".encode())  # so many that an index pays
        db.execute("ANALYZE")
    return url


async def fill(url: str) -> None:
    store = PostgresStore(url)
    await store.open()
    for here in NAMESPACES:
        puts = [a_put(f"m{n}", namespace=here, thread_id=f"t{n % 20}", channel="turn") for n in range(ROWS)]
        await store.apply(a_batch(*puts, namespace=here))
        links = [Link(f"m{n}", f"m{n + 1}") for n in range(ROWS - 1)]
        await store.apply(a_batch(*links, namespace=here))
        again = [a_put(f"m{n}", puts[0].mode.UPDATE, namespace=here, thread_id=f"t{n % 20}") for n in range(40)]
        await store.apply(a_batch(*again, namespace=here))
    await store.close()


@pytest.mark.parametrize("name", ASKED)
def test_each_question_uses_its_index(filled: str, name: str) -> None:
    ask, index = ASKED[name]
    here = NAMESPACES[7]
    with psycopg.connect(filled, autocommit=True) as db:
        register_dumpers(db)
        noting: Any = Noting(db)
        ask(Reader(noting, 30), here)
        plans = [plan_of(db, here, *item) for item in noting.asked]
    assert any(index in plan for plan in plans), "\n".join(plans)
    assert not any("Seq Scan on memories" in plan or "Seq Scan on journal" in plan for plan in plans), "\n".join(plans)


async def test_what_was_just_imported_is_read_by_index(new_database: Callable[[], str]) -> None:
    """Without waiting for the server to gather statistics by itself, which takes up to a minute."""
    url = new_database()
    store = PostgresStore(url)
    await store.open()
    await store.apply(a_batch(*(a_put(f"m{n}") for n in range(2_000))))
    await store.close()  # waits for what follows a write
    with psycopg.connect(url, autocommit=True) as db:
        register_dumpers(db)
        noting: Any = Noting(db)
        Reader(noting, 30).get(NAMESPACE, [f"m{n}" for n in range(0, 200, 10)], False)
        assert "memories_pkey" in plan_of(db, NAMESPACE, *noting.asked[0])
        assert db.execute("SELECT memwarden.gather_statistics()").fetchone() == (False,)  # nothing has doubled since


def plan_of(db: psycopg.Connection[Any], here: Namespace, sql: bytes, values: Any) -> str:
    with db.transaction():
        db.execute(
            "SELECT set_config('role', 'memwarden_app', true), set_config('memwarden.tenant', %s, true), "
            "set_config('memwarden.namespace', %s, true)",
            [here.tenant, here.path],
        )
        return "\n".join(line for (line,) in db.execute(b"EXPLAIN " + sql, values).fetchall())


async def test_an_item_is_read_by_its_key_before_the_server_has_statistics(new_database: Callable[[], str]) -> None:
    """A namespace that was filled a moment ago is read as one that is a day old: not whole, for a single item."""
    url = new_database()
    store = PostgresStore(url)
    await store.open()
    items = [StoredItem("notes", f"k{number:04}", '{"n":1}', number, number, None) for number in range(2_000)]
    await store.items.write(NAMESPACE, [PutItem(item) for item in items])
    await store.close()
    with psycopg.connect(url, autocommit=True) as db:
        noting = Noting(db)
        register_dumpers(db)

        async def run(work: Callable[[Any], Any]) -> Any:
            return work(noting)

        asking = PostgresItems(run, 10.0)
        assert list(await asking.get(NAMESPACE, [("notes", "k0007")])) == [("notes", "k0007")]
        assert len(await asking.search(NAMESPACE, ItemSearch("notes", 10, 0))) == 10
        for sql, values in noting.asked:
            (plan,) = db.execute(b"EXPLAIN (ANALYZE, FORMAT JSON) " + sql, values).fetchone() or ()
            assert most_rows(plan[0]["Plan"]) <= 20, plan


def most_rows(plan: dict[str, Any]) -> float:
    """Return the most rows that a node of a plan read, those that it threw away too."""
    own = float(plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0))
    return max([own, *map(most_rows, plan.get("Plans", ()))])
