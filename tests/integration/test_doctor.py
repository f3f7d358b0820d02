"""``memwarden doctor``: health, and a leakage suite that finds nothing here and finds every hole that is made."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import partialmethod
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memwarden import AsyncWarden, clock
from memwarden import settings as config
from memwarden.api.consent import AsyncConsent
from memwarden.api.journal import AsyncJournal
from memwarden.api.review import AsyncReview
from memwarden.api.scope import AsyncScope
from memwarden.api.usage import AsyncUsage
from memwarden.categories import Categories
from memwarden.errors import StoreUnavailable
from memwarden.observability.prompt_queue import MadePrompt
from memwarden.records import Batch, Memory, Namespace, Receipt, Remove
from memwarden.runtime.traces import TraceWriter
from memwarden.stores.memory.store import MemoryStore
from memwarden.stores.postgres import PostgresStore
from memwarden.stores.protocol import Store
from memwarden.stores.sqlite import SqliteStore
from memwarden.stores.transfer.move import StoreWithExtras
from memwarden.stores.url import store_at
from memwarden.surfaces.cli.main import run
from memwarden.surfaces.doctor import LeakReport, look_for_leaks, talk

MEMWARDEN = Path(sys.executable).with_name("memwarden")
SETTINGS = config.settings_from({"embedder": "wordllama"})


def cli(*words: str, code: int = 0) -> str:
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        exit_code = run(words)
    assert exit_code == code, (out.getvalue(), err.getvalue())
    return out.getvalue() + err.getvalue()


async def looked(store: Store, settings: config.Settings = SETTINGS) -> LeakReport:
    async with AsyncWarden(store, settings) as warden:
        return await look_for_leaks(warden)


def leaky(found: LeakReport) -> set[str]:
    return {f"{item.boundary}: {item.path}" for item in found.tried if item.leaks}


@pytest.mark.parametrize(
    "url",
    [*(pytest.param(kind, marks=pytest.mark.soak) for kind in ("memory", "json")), "sqlite", "postgres"],
    indirect=True,
)
async def test_nothing_leaks_and_nothing_stays_behind(url: str) -> None:
    async with AsyncWarden.open(url, config={}) as warden:
        await warden.scope(user="ana").remember("Ana lives in Berlin.")
        found = await look_for_leaks(warden)
        assert leaky(found) == set()
        assert found.left == ""
        assert await warden.store.namespaces() == [Namespace("default", "user/ana")]
        assert [item.text for item in await warden.scope(user="ana").find()] == ["Ana lives in Berlin."]
    boundaries = {item.boundary for item in found.tried}
    assert boundaries >= {"tenant", "user", "project", "agent"}
    assert ("database" in boundaries) == url.startswith("postgresql")
    assert sum(item.tried for item in found.tried) > 1000
    for path in ("get by guessed id", "query in the past", "undo", "backend query_semantic", "store pages", "tiers pin",
                 "tiers context of a task"):  # fmt: skip
        assert any(item.path == path and item.tried for item in found.tried), path


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.soak)])
async def test_who_only_asked_leaves_nothing_either(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine blocks are written down while canaries are tried, for people who have said nothing."""
    url = str(request.getfixturevalue("postgres_url")) if engine == "postgres" else f"sqlite:///{tmp_path / 'm.db'}"
    warden = AsyncWarden(store_at(url), SETTINGS)

    async def talk_and_ask(me: AsyncScope) -> None:
        await talk(me)
        nobody = warden.scope(tenant=me.who.namespace.tenant, user="nobody")
        shown = MadePrompt(nobody.who, "What?", await nobody.context("What?"), clock.microseconds(clock.now()))
        await TraceWriter(warden.store, SETTINGS).write([shown])

    monkeypatch.setattr("memwarden.surfaces.doctor.talk", talk_and_ask)
    async with warden:
        assert (await look_for_leaks(warden)).left == ""
        assert isinstance(warden.store, StoreWithExtras)
        assert await warden.store.beside() == []


async def test_tiers_that_open_onto_another_project_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every path of theirs goes by one place, which is made to lead elsewhere."""
    from memwarden.tiers import stores as store

    def next_door(path: str, tenant: str) -> Namespace:
        return Namespace(tenant, path.replace("project/two", "project/one"))

    monkeypatch.setattr(store, "parse_namespace", next_door)
    found = leaky(await looked(MemoryStore()))
    assert {f"project: tiers {path}" for path in ("get by guessed id", "query by crafted filters", "list", "history",
                                                  "promote")} <= found  # fmt: skip


async def test_every_verb_is_tried() -> None:
    """A verb that is new has to be aimed at what is another's too."""
    import inspect

    from memwarden.surfaces import doctor
    from memwarden.tiers.backend import AsyncBackend

    text = inspect.getsource(doctor)
    owners: dict[str, type[Any]] = {
        "me": AsyncScope, "me.review": AsyncReview, "me.journal": AsyncJournal, "me.consent": AsyncConsent,
        "me.usage": AsyncUsage, "mine": AsyncBackend,
    }  # fmt: skip
    verbs = {f"{way}.{name}" for way, owner in owners.items() for name in _coroutines(owner)}
    missing = {verb for verb in verbs if verb not in text}
    assert missing == set()


def _coroutines(kind: type[Any]) -> list[str]:
    import inspect

    return [name for name, _ in inspect.getmembers(kind, inspect.iscoroutinefunction) if not name.startswith("_")]


class OneForAll(MemoryStore):
    """Answers one verb for every namespace from that of another, if it has one; a hole of the worst kind."""

    verb = ""

    def _victim(self) -> Namespace:
        return next((space for space in self._spaces if space.path == "user/ana"), Namespace("none", "none"))


def _hole(verb: str) -> type[OneForAll]:
    """A store that answers canaries about somebody else's namespace, by this verb."""

    async def wrong(self: OneForAll, verb: str, namespace: Namespace, *given: Any, **named: Any) -> Any:
        right = getattr(super(OneForAll, self), verb)
        return await right(self._victim() if namespace.path == "user/tom" else namespace, *given, **named)

    return type(f"Leaky{verb}", (OneForAll,), {verb: partialmethod(wrong, verb)})


SELDOM_BROKEN = ("find", "scan", "versions", "journal", "relations", "count", "events")


@pytest.mark.parametrize("verb", ["get", *(pytest.param(verb, marks=pytest.mark.soak) for verb in SELDOM_BROKEN)])
async def test_a_verb_that_answers_about_another_is_caught(verb: str) -> None:
    assert leaky(await looked(_hole(verb)()))


class SharedReceipts(MemoryStore):
    """Idempotency keys that do not know whose they are."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[str, Receipt] = {}

    async def apply(self, batch: Batch) -> Receipt:
        if batch.key is None:
            return await super().apply(batch)
        if batch.key not in self.answers:
            self.answers[batch.key] = await super().apply(batch)
        return self.answers[batch.key]


class SharedWrites(MemoryStore):
    """Tom's ids reach whoever has them, and what he removes does too."""

    async def apply(self, batch: Batch) -> Receipt:
        ids = [change.id for change in batch.changes if isinstance(change, Remove)]
        for item, space in self._spaces.items():
            if batch.namespace.path == "user/tom" and ids and ids[0] in space.rows:
                return await super().apply(replace(batch, namespace=item))
        return await super().apply(batch)

    async def get(self, namespace: Namespace, ids: Sequence[str], *, removed: bool = False) -> list[Memory]:
        for space in self._spaces if namespace.path == "user/tom" else ():
            if found := await super().get(space, ids):
                return found
        return await super().get(namespace, ids, removed=removed)


async def test_shared_idempotency_keys_are_caught() -> None:
    assert "user: observe with the same key" in leaky(await looked(SharedReceipts()))


async def test_writes_that_reach_another_are_caught() -> None:
    found = leaky(await looked(SharedWrites()))
    assert {"user: get by guessed id", "user: forget"} <= found


class Blind(Categories):
    """Allowlists that let everything through."""

    def readable(self, agent: str | None, wanted: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return wanted


async def test_an_allowlist_that_does_not_hold_is_caught() -> None:
    shipped = SETTINGS.categories
    settings = replace(SETTINGS, categories=Blind(shipped.declared, shipped.allowlists))
    found = leaky(await looked(MemoryStore(), settings))
    assert {
        "agent: find",
        "agent: query",
        "agent: get by guessed id",
        "agent: history",
        "agent: find in the past",
    } <= found
    assert not any(item.startswith(("user", "tenant", "project")) for item in found)


HOLES: Mapping[str, tuple[str, str]] = {
    "row security is off": (
        "ALTER TABLE memwarden.memories DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE memwarden.memories ENABLE ROW LEVEL SECURITY",
    ),
    "a policy for all": (
        "CREATE POLICY everything ON memwarden.journal USING (true)",
        "DROP POLICY everything ON memwarden.journal",
    ),
    "a view past the policies": (
        "CREATE VIEW memwarden.past AS SELECT tenant, namespace FROM memwarden.memories; "
        "GRANT SELECT ON memwarden.past TO memwarden_app",
        "DROP VIEW memwarden.past",
    ),
    "a policy that opens when unset": (
        "CREATE POLICY unset ON memwarden.memories USING (current_setting('memwarden.tenant', true) IS NULL "
        "OR current_setting('memwarden.tenant', true) = '')",
        "DROP POLICY unset ON memwarden.memories",
    ),
}


# The longer form tries the others.
USUAL = "row security is off"


@pytest.mark.parametrize(
    "hole", [USUAL, *(pytest.param(hole, marks=pytest.mark.soak) for hole in HOLES if hole != USUAL)]
)
async def test_a_hole_in_the_database_is_caught(hole: str, postgres_url: str) -> None:
    """By the statements that the store itself sends. The paths of the verbs are tried by the whole suite, above."""
    make, mend = HOLES[hole]
    warden = await AsyncWarden.open(postgres_url, config={}).start()
    for user in ("ana", "tom"):
        await warden.scope(user=user).remember("My kettle is copper.")
    assert isinstance(warden.store, PostgresStore)
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(make.encode())
        try:
            tried = await warden.store.probe_row_security(
                *(Namespace("default", f"user/{name}") for name in ("tom", "ana"))
            )
        finally:
            await warden.close()
            db.execute(mend.encode())
    assert any(item.path.startswith("raw SQL") and item.leaks for item in tried)


async def test_canaries_are_removed_when_the_suite_breaks_off(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*given: Any) -> Any:
        raise asyncio.CancelledError

    async with AsyncWarden.open(url, config={}) as warden:
        monkeypatch.setattr(AsyncScope, "relations", broken)
        with pytest.raises(asyncio.CancelledError):
            await look_for_leaks(warden)
        assert await warden.store.namespaces() == []


async def test_a_store_that_fails_is_not_called_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    async def failing(*given: Any) -> Any:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(MemoryStore, "relations", failing)
    with pytest.raises(StoreUnavailable):
        await looked(MemoryStore())


async def test_a_login_that_may_not_delete_is_told_that_canaries_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(self: Any, namespace: Namespace) -> None:
        raise StoreUnavailable("may not remove rows")

    monkeypatch.setattr(MemoryStore, "erase", refused)
    found = await looked(MemoryStore())
    assert (found.leaks, found.left) == (0, "may not remove rows")


def test_doctor_tells_the_health_of_a_store(tmp_path: Path) -> None:
    db = f"sqlite:///{tmp_path / 'm.db'}"
    assert "no store" in cli("doctor", "--db", db, code=3)
    cli("add", "Ana lives in Berlin.", "--db", db, "--user", "ana")
    process = subprocess.run([MEMWARDEN, "doctor", "--json", "--db", db], capture_output=True, check=True)
    told = json.loads(process.stdout)
    assert told["engine"].startswith("SQLite ")
    assert told["schema"] >= 2
    assert told["bytes"] > 4096
    assert told["model"].startswith("wordllama")
    assert told["promises"] == {"durable": True, "shared": True, "rows_enforced": False, "exclusive": False}
    (space,) = told["namespaces"]
    assert (space["path"], space["revision"], space["rows"]["memories"]) == ("user/ana", 1, 1)
    assert "default:user/ana" in cli("doctor", "--db", db)
    assert "empty" in cli("doctor", "--db", "memory://", code=2)


def test_doctor_names_namespaces_that_are_large_for_the_engine(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMWARDEN_SEARCH_ABOVE", "2")
    for db, large in ((f"sqlite:///{tmp_path / 'm.db'}", True), (postgres_url, False)):
        cli("add", "Ana lives in Berlin.", "--db", db, "--user", "ana")
        assert "Large" not in cli("doctor", "--db", db)
        cli("add", "Ana has a canoe.", "--db", db, "--user", "ana")
        assert ("memwarden migrate: default:user/ana." in cli("doctor", "--db", db)) is large
        assert json.loads(cli("doctor", "--json", "--db", db)).get("large", []) == (
            ["default:user/ana"] if large else []
        )


def test_doctor_says_what_it_upgraded(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    script = Path(__file__).with_name("old_stores") / "sqlite_0010.sql"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(script.read_text("utf-8"))
    told = " ".join(cli("doctor", "--db", f"sqlite:///{path}").split())
    assert "It was of an earlier schema, and was upgraded." in told
    (copy,) = tmp_path.glob("old.db.schema-10.*.mwbackup")
    assert copy.name in told.replace(" ", "")
    assert "upgraded" not in cli("doctor", "--db", f"sqlite:///{path}")
    assert "upgraded_from" not in json.loads(cli("doctor", "--db", f"sqlite:///{path}", "--json"))


def test_doctor_binds_no_model(tmp_path: Path) -> None:
    asyncio.run(_make(tmp_path / "m.db"))
    told = json.loads(cli("doctor", "--json", "--db", f"sqlite:///{tmp_path / 'm.db'}"))
    assert (told["model"], told["namespaces"]) == (None, [])


async def _make(file: Path) -> None:
    store = SqliteStore(file)
    await store.open()
    await store.close()


def test_a_damaged_store_is_no_health(tmp_path: Path) -> None:
    (tmp_path / "m.db").write_bytes(b"not a store" * 50)
    assert "not a memwarden store" in cli("doctor", "--db", f"sqlite:///{tmp_path / 'm.db'}", code=1)


def test_the_command_prints_a_table_and_leaves_nothing(tmp_path: Path) -> None:
    db = f"sqlite:///{tmp_path / 'm.db'}"
    cli("add", "Ana lives in Berlin.", "--db", db, "--user", "ana")
    said = cli("doctor", "--leaks", "--db", db)
    assert "no leaks." in said
    assert "no row security" in said
    assert "keys of a server over HTTP are not tried" in " ".join(cli("doctor", "--help").split())
    with closing(sqlite3.connect(tmp_path / "m.db")) as tables:
        assert tables.execute("SELECT path FROM namespaces").fetchall() == [("user/ana",)]
        assert tables.execute("SELECT count(*) FROM signals").fetchone() == (1,)


def test_a_leak_is_exit_code_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(_make(tmp_path / "m.db"))
    store = _hole("find")()
    monkeypatch.setattr("memwarden.api.warden.store_at", lambda url: store)
    db = f"sqlite:///{tmp_path / 'm.db'}"
    reports: list[LeakReport] = []

    async def look_once(warden: AsyncWarden) -> LeakReport:
        reports.extend([] if reports else [await look_for_leaks(warden)])
        return reports[0]

    monkeypatch.setattr("memwarden.surfaces.cli.admin.doctor.look_for_leaks", look_once)
    assert "LEAK across user by find" in cli("doctor", "--leaks", "--db", db, code=1)
    told = json.loads(cli("doctor", "--leaks", "--json", "--db", db, code=1))
    assert told["leaks"] > 0


@pytest.mark.soak
async def test_a_service_login_on_postgres_says_that_canaries_stay(postgres_url: str) -> None:
    async with AsyncWarden(store_at(postgres_url), SETTINGS):
        pass  # the login that owns the schema says once what the store is bound to
    login = "memwarden_doctor_login"
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(f"CREATE ROLE {login} LOGIN PASSWORD 'a-secret' IN ROLE memwarden_app".encode())
        try:
            host = postgres_url.partition("//")[2].rpartition("@")[2]
            found = await looked(store_at(f"postgresql://{login}:a-secret@{host}"))
        finally:
            db.execute(f"DROP OWNED BY {login}".encode())
            db.execute(f"DROP ROLE {login}".encode())
    assert leaky(found) == set()
    assert "the login that owns the schema" in found.left
    assert "a-secret" not in found.left
