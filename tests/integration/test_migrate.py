"""Everything of a store moves to another one, whatever the engines, wherever it is broken off."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from memwarden import AsyncWarden
from memwarden.errors import Conflict, ModelMismatch, StoreUnavailable
from memwarden.records import Namespace, WriteMode
from memwarden.stores.memory.store import MemoryStore
from memwarden.stores.protocol import Store
from memwarden.stores.shared.items import PutItem, StoredItem
from memwarden.stores.sqlite import SqliteStore
from memwarden.stores.sqlite.rows import CONTENT
from memwarden.stores.transfer.move import move_namespaces, plan_transfer, seal_namespace
from memwarden.stores.transfer.pages import Page
from memwarden.stores.url import store_at
from memwarden.surfaces.cli.main import run
from memwarden.testing.checkpoint_tests import a_saved
from memwarden.testing.examples import NAMESPACE, OTHER_TENANT, OTHER_USER, a_batch, a_put
from memwarden.testing.page_tests import a_long_life

MEMWARDEN = Path(sys.executable).with_name("memwarden")
QUESTION = "Where does Ana live?"


def cli(*words: str, code: int = 0) -> str:
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        exit_code = run(words)
    assert exit_code == code, (out.getvalue(), err.getvalue())
    return out.getvalue() + err.getvalue()


@asynccontextmanager
async def opened(*stores: Store) -> AsyncIterator[tuple[Store, ...]]:
    for store in stores:
        await store.open()
    yield stores
    for item in stores:
        await item.close()


async def no_life(store: Store) -> None:
    pass


async def live(file: Path, life: Callable[[Store], Awaitable[None]] = a_long_life) -> None:
    async with opened(SqliteStore(file)) as (store,):
        await life(store)


async def fill(url: str) -> None:
    """Two users and two tenants that talked, changed their minds, and took it back."""
    async with AsyncWarden.open(url, config={}) as warden:
        for tenant, user in (("default", "ana"), ("default", "tom"), ("firm", "ana")):
            me = warden.scope(tenant=tenant, user=user, thread="t1", actor="ann")
            await me.observe([{"role": "user", "content": f"{user} says hello from the garden.", "id": "m1"}], key="k")
            for text in ("Ana lives in Berlin.", "Ana lives in Lisbon now.", "Tom's bike is red.", "Tom has a van."):
                await me.remember(text)
            await me.forget((await me.find())[0].id)
            await me.journal.undo(4)
            await me.query(QUESTION)
            await me.observe([{"role": "user", "content": "What was new?", "id": "m2"}])


async def answers(url: str) -> list[Any]:
    """What each of them is answered, and what happens when a call comes again."""
    told: list[Any] = []
    async with AsyncWarden.open(url, config={}) as warden:
        for tenant, user in (("default", "ana"), ("default", "tom"), ("firm", "ana")):
            me = warden.scope(tenant=tenant, user=user, thread="t1")
            found = await me.query(QUESTION)
            told.append([(item.id, round(item.score, 9)) for item in found.items])
            told.append((found.rev, found.text, await me.journal.history(), await me.journal.delta(0)))
            again = [{"role": "user", "content": f"{user} says hello from the garden.", "id": "m1"}]
            told.append(await me.observe(again, key="k"))
            with pytest.raises(Conflict):
                await me.observe([{"role": "user", "content": "Something else."}], key="k")
            told.append(await me.find(as_of=2))
    return told


@pytest.mark.parametrize("way", ["sqlite to postgres", "postgres to sqlite", "sqlite to sqlite"])
def test_a_deployment_moves_and_answers_as_before(way: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    urls = [
        str(request.getfixturevalue("postgres_url")) if item == "postgres" else f"sqlite:///{tmp_path}/{number}.db"
        for number, item in enumerate(way.split(" to "))
    ]
    asyncio.run(fill(urls[0]))
    process = subprocess.run(
        [MEMWARDEN, "migrate", "--from", urls[0], "--to", urls[1], "--json"], capture_output=True, check=True
    )
    told = json.loads(process.stdout)["namespaces"]
    assert process.stderr == b""  # progress is for terminals
    assert [(item["tenant"], item["path"]) for item in told] == [
        ("default", "user/ana"), ("default", "user/tom"), ("firm", "user/ana"),
    ]  # fmt: skip
    assert all(item["same"] and item["rows"]["journal"] == item["revision"] > 8 for item in told)
    assert asyncio.run(answers(urls[0])) == asyncio.run(answers(urls[1]))


class Breaking(MemoryStore):
    """Breaks off at every second page that it takes in, before or after it is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = count(1)

    async def load_page(self, page: Page) -> None:
        number = next(self.calls)
        if number % 4 != 2:
            await super().load_page(page)
        if number % 2 == 0:
            raise StoreUnavailable("broken off")


async def test_broken_off_at_every_page_it_finishes_and_doubles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    dump = MemoryStore.dump_page

    async def one_revision(self: MemoryStore, namespace: Namespace, since: int = 0, *, limit: int = 1) -> Page:
        return await dump(self, namespace, since, limit=1)

    monkeypatch.setattr(MemoryStore, "dump_page", one_revision)
    async with opened(MemoryStore(), Breaking()) as (source, target):
        await a_long_life(source)
        breaks = 0
        while True:
            try:
                (moved,) = await move_namespaces(source, target)
                break
            except StoreUnavailable:
                breaks += 1
        assert moved.same
        assert breaks > 10
        assert await target.journal(NAMESPACE) == await source.journal(NAMESPACE)


@pytest.mark.parametrize(("rows", "kills"), [(3_000, 2), pytest.param(6_000, 8, marks=pytest.mark.soak)])
def test_a_killed_process_started_again_finishes(tmp_path: Path, rows: int, kills: int) -> None:
    """SIGKILL at random times, from the start of the process to the comparison at the end."""
    source, target = (f"sqlite:///{tmp_path / name}" for name in ("a.db", "b.db"))
    texts = "\n".join(
        json.dumps({"role": "user", "content": f"Number {n} of many.", "id": f"m{n}"}) for n in range(rows)
    )
    (tmp_path / "many.jsonl").write_text(texts)
    cli("observe", str(tmp_path / "many.jsonl"), "--db", source, "--embedder", "none")
    chance, heads = random.Random(6), []
    words = ["migrate", "--from", source, "--to", target, "--json"]
    for _ in range(kills):
        process = subprocess.Popen([MEMWARDEN, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.3 + chance.random() * 0.5)
        process.send_signal(signal.SIGKILL)
        process.wait()
        heads.append(_head(tmp_path / "b.db"))
    assert heads == sorted(heads)
    (told,) = json.loads(cli(*words))["namespaces"]
    assert told["same"]
    assert told["rows"]["memories"] == told["rows"]["journal"] == rows
    with closing(sqlite3.connect(tmp_path / "b.db")) as db:
        assert db.execute(
            "SELECT count(*), count(DISTINCT id), max(seq) FROM journal, (SELECT id FROM memories LIMIT 1)"
        )
        assert db.execute("SELECT count(DISTINCT id), count(*) FROM memories").fetchone() == (rows, rows)


def _head(file: Path) -> int:
    if not file.exists():
        return 0
    with closing(sqlite3.connect(file)) as db:
        if not db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'namespaces'").fetchone()[0]:
            return 0
        return int(db.execute("SELECT coalesce(max(rev), 0) FROM namespaces").fetchone()[0])


async def test_what_is_written_to_the_source_meanwhile_comes_too() -> None:
    class Growing(MemoryStore):
        written = count(1)

        async def tally(self, namespace: Namespace) -> Any:
            number = next(self.written)
            if number <= 3:
                await self.apply(a_batch(a_put("a", WriteMode.UPDATE, text=f"late {number}"), a_put(f"late{number}")))
            return await super().tally(namespace)

    async with opened(Growing(), MemoryStore()) as (source, target):
        await a_long_life(source)
        (moved,) = await move_namespaces(source, target)
        assert moved.same
        assert moved.target.rev == 22 + 3 * 2


async def test_a_source_that_never_rests_is_told_so() -> None:
    class Restless(MemoryStore):
        numbers = count(1)

        async def tally(self, namespace: Namespace) -> Any:
            await self.apply(a_batch(a_put(f"late{next(self.numbers)}")))
            return await super().tally(namespace)

    async with opened(Restless(), MemoryStore()) as (source, target):
        await a_long_life(source)
        with pytest.raises(Conflict, match="test:user/ann"):
            await move_namespaces(source, target)


async def test_a_target_that_holds_something_else_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    async with opened(MemoryStore(), SqliteStore(tmp_path / "b.db")) as (source, target):
        await source.apply(a_batch(a_put("x", namespace=OTHER_TENANT), namespace=OTHER_TENANT))
        for item in (NAMESPACE, OTHER_USER):
            await source.apply(a_batch(a_put("a", namespace=item), a_put("b", namespace=item), namespace=item))
        await target.apply(a_batch(a_put("z", namespace=OTHER_USER), namespace=OTHER_USER))
        before = await seal_namespace(target, OTHER_USER)
        with pytest.raises(Conflict, match="test:user/bob"):
            await move_namespaces(source, target)
        assert await target.namespaces() == [OTHER_USER]
        assert await seal_namespace(target, OTHER_USER) == before


async def test_a_target_that_went_on_by_itself_is_refused() -> None:
    async with opened(MemoryStore(), MemoryStore()) as (source, target):
        await a_long_life(source)
        assert (await move_namespaces(source, target))[0].same
        assert (await move_namespaces(source, target))[0].same  # there is nothing left to do
        await target.apply(a_batch(a_put("own")))
        with pytest.raises(Conflict):
            await plan_transfer(source, target)
        await source.apply(a_batch(a_put("other")))
        with pytest.raises(Conflict):
            await plan_transfer(source, target)


async def test_other_namespaces_of_the_target_are_left_alone() -> None:
    async with opened(MemoryStore(), MemoryStore()) as (source, target):
        await source.apply(a_batch(a_put("a")))
        await target.apply(a_batch(a_put("z", namespace=OTHER_USER), namespace=OTHER_USER))
        assert [item.namespace for item in await move_namespaces(source, target)] == [NAMESPACE]
        assert await target.namespaces() == [NAMESPACE, OTHER_USER]


async def test_the_model_goes_with_the_vectors() -> None:
    async with opened(MemoryStore(), MemoryStore(), MemoryStore()) as (source, target, other):
        await source.identity("wordllama")
        await source.apply(a_batch(a_put("a")))
        await move_namespaces(source, target)
        assert (await target.about()).model == "wordllama"
        await other.identity("minilm")
        with pytest.raises(ModelMismatch, match="minilm"):
            await move_namespaces(source, other)
        assert await other.namespaces() == []


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE memories SET text = 'changed' WHERE id = 'c'",
        "UPDATE signals SET flags = flags + 1 WHERE row & 4294967295 = 2",
        "UPDATE versions SET text = 'changed' WHERE version = 1",
        "UPDATE relations SET strength = 0.1",
        "UPDATE threads SET thread_id = 'other' WHERE thread_id = 't1'",
        "UPDATE receipts SET fingerprint = 'x' WHERE key = 'first'",
        "UPDATE journal SET actor = 'eve' WHERE seq = 22",
        f"INSERT INTO versions (row, version, {', '.join(CONTENT)}) SELECT row, 99, {', '.join(CONTENT)} FROM memories",
        "DELETE FROM signals WHERE row & 4294967295 = 3",
    ],
)
def test_what_differs_at_the_end_is_found_and_named(tmp_path: Path, damage: str) -> None:
    asyncio.run(live(tmp_path / "a.db"))
    urls = ["--from", f"sqlite:///{tmp_path / 'a.db'}", "--to", f"sqlite:///{tmp_path / 'b.db'}"]
    assert "hold the same" in cli("migrate", *urls)
    with closing(sqlite3.connect(tmp_path / "b.db")) as db:
        assert db.execute(damage).rowcount > 0
        db.commit()
    told = cli("migrate", *urls, code=1)
    assert "test:user/ann" in told
    assert "Moved" not in told
    if "journal" not in damage:  # that one is refused before
        (item,) = json.loads(cli("migrate", *urls, "--json", code=1))["namespaces"]
        assert not item["same"]
        assert item["target"] != {"rev": item["revision"], "rows": item["rows"], "digest": item["digest"]}


def test_a_dry_run_tells_and_writes_nothing(tmp_path: Path) -> None:
    asyncio.run(live(tmp_path / "a.db"))
    urls = ["--from", f"sqlite:///{tmp_path / 'a.db'}", "--to", f"sqlite:///{tmp_path / 'b.db'}"]
    assert "0 of 22" in cli("migrate", *urls, "--dry-run")
    assert not (tmp_path / "b.db").exists()
    cli("migrate", *urls)
    told = json.loads(cli("migrate", *urls, "--dry-run", "--json"))
    assert (told["dry_run"], told["namespaces"][0]["there"], told["namespaces"][0]["revision"]) == (True, 22, 22)


def test_wrong_urls(tmp_path: Path) -> None:
    here = f"sqlite:///{tmp_path / 'a.db'}"
    assert "a single process" in cli("migrate", "--from", "memory://", "--to", here, code=2)
    assert "same store" in cli("migrate", "--from", here, "--to", f"sqlite:///{tmp_path}/./a.db", code=2)
    assert "no store" in cli("migrate", "--from", here, "--to", f"{here}2", code=3)
    assert "names no store" in cli("migrate", "--from", "postgre://me:secret@x/y", "--to", here, code=2)
    assert "secret" not in cli("migrate", "--from", "postgre://me:secret@x/y", "--to", here, code=2)
    assert not any(tmp_path.iterdir())


def test_an_empty_store_has_nothing_to_move(tmp_path: Path) -> None:
    asyncio.run(live(tmp_path / "a.db", no_life))
    told = cli("migrate", "--from", f"sqlite:///{tmp_path / 'a.db'}", "--to", f"sqlite:///{tmp_path / 'b.db'}")
    assert "nothing to move" in told


async def test_both_engines_seal_alike(tmp_path: Path, postgres_url: str) -> None:
    """The digest says the same of the same content, and another thing of any other."""
    async with opened(MemoryStore(), SqliteStore(tmp_path / "a.db"), store_at(postgres_url)) as stores:
        for store in stores:
            await a_long_life(store)
        seals = [await seal_namespace(store, NAMESPACE) for store in stores]
        assert len(set(seals)) == 1
        await stores[1].apply(replace(a_batch(a_put("a", WriteMode.UPDATE, text="x"))))
        assert (await seal_namespace(stores[1], NAMESPACE)).digest != seals[0].digest


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_what_stays_behind_is_named(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    postgres = engine == "postgres"
    url = str(request.getfixturevalue("postgres_url")) if postgres else f"sqlite:///{tmp_path / 'a.db'}"

    async def fill_more() -> None:
        async with opened(store_at(url)) as (store,):
            held: Any = store
            await store.apply(a_batch(a_put("a")))
            await held.items.write(OTHER_USER, [PutItem(StoredItem("a", "k", "{}", 1, 1))])
            await held.checkpoints.put(NAMESPACE, a_saved(), [])

    asyncio.run(fill_more())
    urls = ["--from", url, "--to", f"json:///{tmp_path / 'b'}"]  # which keeps none of them
    told = json.loads(cli("migrate", *urls, "--json", code=5))
    assert [(item["path"], item["items"], item["states"]) for item in told["not_moved"]] == [
        (NAMESPACE.path, 0, 1), (OTHER_USER.path, 1, 0),
    ]  # fmt: skip
    assert f"NOT MOVED of {OTHER_USER}: 1 items" in cli("migrate", *urls, code=5)


def test_who_may_not_see_what_stays_behind_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(store: SqliteStore) -> None:
        raise StoreUnavailable("this login may not")

    asyncio.run(live(tmp_path / "a.db"))
    monkeypatch.setattr(SqliteStore, "beside", refused)
    urls = ["--from", f"sqlite:///{tmp_path / 'a.db'}", "--to", f"sqlite:///{tmp_path / 'b.db'}"]
    assert "could not be seen" in cli("migrate", *urls, code=5)
