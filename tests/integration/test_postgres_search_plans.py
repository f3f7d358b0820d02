"""A search within a large namespace goes by that namespace's own indexes, with row security on."""

from __future__ import annotations

import asyncio
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import psycopg
import pytest
from test_postgres_plans import Noting

from memwarden.filters import Condition
from memwarden.records import Namespace, Put, Signals
from memwarden.stores.postgres import PostgresStore
from memwarden.stores.postgres.rows import register_dumpers
from memwarden.stores.postgres.search import Searcher, index_names
from memwarden.stores.shared.search import OpenRows, SearchLegs, SearchRows, format_term
from memwarden.testing.examples import a_batch, a_memory

HERE, OTHER = Namespace("test", "user/large"), Namespace("test", "user/other")
ROWS = 1_000


def put(here: Namespace, number: int) -> Put:
    """A turn with a word of its own, a common word, and a vector that points its own way."""
    at = number / ROWS
    terms = number.to_bytes(4, "little") + (10**6 + number % 3).to_bytes(4, "little")
    vector = b"".join(half(value) for value in (at, (1 - at * at) ** 0.5))
    memory = a_memory(f"m{number}", namespace=here, thread_id=f"t{number // 20}", channel="turn")
    return Put(memory, Signals(terms, vector, 0, b"", None))


def half(value: float) -> bytes:
    return struct.pack("<e", value)


@pytest.fixture(scope="module")
def filled(new_database: Callable[[], str]) -> str:
    url = new_database()

    async def fill() -> None:
        store = PostgresStore(url)
        await store.open()
        for here, start in product((HERE, OTHER), range(0, ROWS, 500)):
            batch = a_batch(*(put(here, start + number) for number in range(500)), namespace=here)
            await store.apply(batch)
        for here in (HERE, OTHER):
            assert await store.make_search(here, 2)
            await store.save_digest(here, ROWS, b"as if")
        await store.close()

    asyncio.run(fill())
    return url


async def test_two_namespaces_may_be_made_ready_at_once(new_database: Callable[[], str]) -> None:
    store = PostgresStore(new_database())
    await store.open()
    try:
        for here in (HERE, OTHER):
            await store.apply(a_batch(*(put(here, number) for number in range(50)), namespace=here))
        made: set[Namespace] = set()
        for _ in range(5):
            results = await asyncio.gather(*(store.make_search(here, 2) for here in (HERE, OTHER)))
            made |= {here for here, result in zip((HERE, OTHER), results, strict=True) if result}
            assert any(results)
            for here in made:
                await store.drop_search(here)
    finally:
        await store.close()


LEGS = {
    "near": (SearchLegs(OpenRows(), vector=half(1) + half(0), near=20), index_names(HERE).near),
    "always": (SearchLegs(OpenRows(), always=("general", "none")), index_names(HERE).category),
    "newest": (SearchLegs(OpenRows(), newest=20), "memories_by_n"),
    "words": (SearchLegs(OpenRows(), words=format_term(10**6), holding=50), index_names(HERE).rows),
    "in time": (SearchLegs(OpenRows(), times=((0, 10**16),), in_time=20), "memories_by_time"),
    "filtered": (SearchLegs(OpenRows(), filtered=20), "memories_by_n"),
}


@pytest.mark.parametrize("name", LEGS)
def test_each_leg_goes_by_its_index(filled: str, name: str) -> None:
    legs, index = LEGS[name]
    with psycopg.connect(filled, autocommit=True) as db:
        register_dumpers(db)
        noting: Any = Noting(db)
        Searcher(noting, 30).look(HERE, legs, keep=True)
        plans = [plan(db, *item) for item in noting.asked]
    assert any(f"Scan using {index}" in plan or f"Backward using {index}" in plan for plan in plans), "\n".join(plans)
    assert not any("Seq Scan" in plan for plan in plans), "\n".join(plans)


def test_the_turns_around_are_read_by_thread(filled: str) -> None:
    with psycopg.connect(filled, autocommit=True) as db:
        register_dumpers(db)
        noting: Any = Noting(db)
        found = Searcher(noting, 30).surround(HERE, [700, 701], [("t5", 110, 3)], OpenRows())
        assert [found_row.row.n for found_row in found] == [107, 108, 109, 111, 112, 113, 700, 701]
        assert "memories_by_thread" in plan(db, *noting.asked[0])


def test_a_statement_of_a_namespace_is_planned_once(filled: str) -> None:
    """Also where names of the namespace would be placeholders or end a literal."""
    odd = Namespace("100%s", "user/o'%%\\\\neil")
    legs = SearchLegs(OpenRows(), half(1) + half(0), 20, format_term(10**6), 20, 20, always=("general",))
    with psycopg.connect(filled, autocommit=True) as db:
        register_dumpers(db)
        for here in (HERE, HERE, odd):
            found = Searcher(db, 30).look(here, legs, keep=True)
            assert bool(found.near.n) == (here is HERE)
            Searcher(db, 30).surround(here, [700], [("t5", 110, 3)], OpenRows())
        kept = db.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%%memwarden.signals%%'")
        assert kept.fetchone() == (10,)


def test_a_kept_plan_for_the_nearest_expects_enough_rows(filled: str) -> None:
    """Every memory is of one category, so a plan for an unknown category would expect no row, and be bad."""
    where = tuple(Condition(field, "$ne", "other") for field in ("category", "channel"))
    with psycopg.connect(filled, autocommit=True) as db:
        register_dumpers(db)
        noting: Any = Noting(db)
        Searcher(noting, 30).look(HERE, SearchLegs(OpenRows(where), half(1) + half(0), 20), keep=True)
        (statement,) = (sql.decode() for sql, _ in noting.asked if b"memwarden.vectors" in sql)
        places = iter(range(1, 99))
        kept = re.sub("%s", lambda _: f"${next(places)}", statement)
        with db.transaction():
            named(db)
            found = db.execute(f"EXPLAIN (GENERIC_PLAN) {kept}".encode(), prepare=False).fetchall()
        (limit,) = (line for (line,) in found if "Limit" in line)
        assert "rows=20 " in limit, "\n".join(line for (line,) in found)


async def test_plans_for_filters_of_the_caller_are_not_kept(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[bool] = []
    look = Searcher.look

    def note(self: Searcher, here: Namespace, legs: SearchLegs, *, keep: bool = False) -> SearchRows:
        kept.append(keep)
        return look(self, here, legs, keep=keep)

    monkeypatch.setattr(Searcher, "look", note)
    store = PostgresStore(filled)
    await store.open()
    legs = SearchLegs(OpenRows(), half(1) + half(0), 20, format_term(10**6), 20, 20, always=("activity",))
    found = await store.look(HERE, legs)
    assert [leg for leg in found._fields[2:] if getattr(found, leg).n] == ["near", "holding", "newest", "always"]
    await store.look(HERE, replace(legs, filtered=20))
    await store.close()
    assert kept == [True, True, False, False]


def test_words_are_found_by_index_past_row_security(filled: str) -> None:
    """What the function runs is seen from within; the same under row security would look at every row."""
    query = f"({format_term(77)}) | ({format_term(10**6)} & {format_term(78)})"
    told: list[str] = []
    with psycopg.connect(filled, autocommit=True) as db:
        db.add_notice_handler(lambda notice: told.append(str(notice.message_primary)))
        for setting in ("log_min_duration = 0", "log_nested_statements = on", "log_analyze = on"):
            db.execute("LOAD 'auto_explain'")
            db.execute(f"SET auto_explain.{setting}".encode())
        db.execute("SET client_min_messages = log")
        with db.transaction():
            named(db)
            found = db.execute("SELECT n FROM memwarden.places_with(%s, 100)", [query]).fetchall()
            assert found == [(78,), (79,)]
        (inner,) = [text for text in told if "memwarden.words(terms) @@" in text and "Bitmap" in text]
        assert f"Bitmap Index Scan on {index_names(HERE).words}" in inner
        assert "Seq Scan" not in inner


def test_rows_of_another_large_namespace_are_not_found(filled: str) -> None:
    with psycopg.connect(filled, autocommit=True) as db:
        register_dumpers(db)
        legs = SearchLegs(OpenRows(), half(1) + half(0), 2_000, format_term(10**6), 10_000, 5_000)
        found = Searcher(db, 30).look(HERE, legs)
        assert (len(found.near.n), len(found.holding.n), len(found.newest.n)) == (8 * 1_000, 8 * 334, 8 * 1_000)
        nobody = Searcher(db, 30).look(Namespace("test2", "user/large"), legs)
        assert not any(item.n for item in nobody[2:])
        assert (nobody.head.rev, nobody.digest) == (0, None)


def named(db: psycopg.Connection[Any]) -> None:
    db.execute(
        "SELECT set_config('role', 'memwarden_app', true), set_config('memwarden.tenant', %s, true), "
        "set_config('memwarden.namespace', %s, true)",
        [HERE.tenant, HERE.path],
    )


def plan(db: psycopg.Connection[Any], sql: bytes, values: Any) -> str:
    with db.transaction():
        named(db)
        for setting in ("enable_seqscan", "enable_hashjoin", "enable_mergejoin"):
            db.execute(f"SET LOCAL {setting} = off".encode())
        return "\n".join(line for (line,) in db.execute(b"EXPLAIN " + sql, values, prepare=False).fetchall())
