"""A person is erased for good: no row and no byte stays, nobody else's data changes, and the receipt proves it."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from commands import run_here
from memwarden import AsyncScope, AsyncWarden, Warden
from memwarden.errors import InvalidInput, NotFound
from memwarden.records import Namespace
from memwarden.stores.protocol import Store
from memwarden.stores.shared.checkpoints import ChannelValue, CheckpointKey, CheckpointSearch, SavedCheckpoint
from memwarden.stores.shared.items import PutItem, StoredItem
from memwarden.stores.sqlite.store import SqliteStore
from memwarden.stores.transfer.erasure import read_receipt
from memwarden.stores.transfer.move import NamespaceSeal, seal_namespace

CONFIG = {"embedder": "none", "extraction": "every_turn"}
# A word for each way by which something of a person is kept; none of them is a word of anybody else.
WORDS = (
    "quokkaturn", "quokkafact", "quokkaold", "quokkanew", "quokkagone", "quokkatag", "quokkasource", "quokkasummary",
    "quokkakey", "quokkastate", "quokkasession", "quokkatool", "quokkacity", "quokkaitem", "quokkacheck",
    "quokkathread", "quokkavalue", "quokkameta",
)  # fmt: skip
ANA, BOB = Namespace("default", "user/ana"), Namespace("default", "user/bob")


async def live(me: AsyncScope, store: Store, prefix: str = "quokka") -> None:
    """Let a person leave something of every kind."""

    def word(name: str) -> str:
        return f"{prefix}{name}"

    said = f"My daughter {word('turn').capitalize()} is allergic to peanuts."
    await me.observe([{"role": "user", "content": said, "id": "m1"}], key=word("key"))
    kept = await me.remember(f"The boat is called {word('old')}.", tags=[word("tag")], source=word("source"))
    first = kept.results[0].id
    await me.update(str(first), text=f"The boat is called {word('new')}.", summary=word("summary"))
    await me.remember(f"The bike is {word('fact')}.", metadata={"about": word("meta")})
    gone = await me.remember(f"The van is {word('gone')}.")
    await me.forget(str(gone.results[0].id))
    await me.state.save("plan", {"to": word("state")})
    await me.sessions.finalize_current_cycle("s1", f"Where is {word('session')}?", "There.")
    await me.tool_cache.store("s1", "look", {"at": "x"}, word("tool"), 5)
    await me.consent.propose({"city": word("city")})
    key = CheckpointKey(word("thread"), "", "0001")
    saved = SavedCheckpoint(key, None, "", "json", json.dumps(word("check")).encode(), (("v", "1"),), (), {"step": 1})
    await store.checkpoints.put(me.who.namespace, saved, [ChannelValue("v", "1", "json", word("value").encode())])
    if hasattr(store, "items"):
        item = StoredItem("notes", "k", json.dumps({"text": word("item")}), 1, 1)
        await store.items.write(me.who.namespace, [PutItem(item, (("text", b"\x00\x00\x80?"),))])


async def two_lives(url: str) -> NamespaceSeal:
    """Let two people live in a store; return what the second left."""
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        await live(warden.scope(user="ana", thread="quokkathread"), warden.store)
        await live(warden.scope(user="bob", thread="wombatthread"), warden.store, "wombat")
        return await seal_namespace(warden.store, BOB)


def held_in_files(files: Sequence[Path], words: Sequence[str] = WORDS) -> set[str]:
    """The words that stand in the bytes of files, in any case of letters."""
    content = b"".join(item.read_bytes().lower() for item in files if item.is_file())
    return {word for word in words if word.encode() in content}


def held_in_tables(url: str, words: Sequence[str] = WORDS) -> set[str]:
    """The words in the bytes of every heap, index and TOAST table of the schema, and of the statistics of columns."""
    wanted = (
        "SELECT pg_relation_filepath(c.oid) FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid "
        "LEFT JOIN pg_class t ON t.reltoastrelid = coalesce(i.indrelid, c.oid) "
        "WHERE c.relkind IN ('r', 'i', 't') AND (c.relnamespace = 'memwarden'::regnamespace "
        "OR t.relnamespace = 'memwarden'::regnamespace OR c.oid = 'pg_statistic'::regclass)"
    )
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CHECKPOINT")
        paths = [path for (path,) in db.execute(wanted.encode()).fetchall()]
        content = b"".join(
            bytes(db.execute("SELECT pg_read_binary_file(%s)", (path,)).fetchone()[0]).lower()  # type: ignore[index]
            for path in paths
        )
    return {word for word in words if word.encode() in content}


def held(url: str, folder: Path) -> set[str]:
    if url.startswith("postgresql"):
        return held_in_tables(url)
    return held_in_files(list(folder.rglob("*")))


@pytest.mark.parametrize("engine", ["sqlite", "json", "postgres"])
async def test_no_byte_of_a_person_stays_and_nobody_else_changes(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = {"sqlite": f"sqlite:///{tmp_path / 'm.db'}", "json": f"json:///{tmp_path / 'm'}"}.get(engine)
    url = url or request.getfixturevalue("new_database")()
    bob = await two_lives(url)
    in_memory = {"quokkaitem", "quokkacheck", "quokkathread", "quokkavalue"} if engine == "json" else set()
    assert held(url, tmp_path) >= {*WORDS} - in_memory
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        await warden.scope(user="ana").query("Where is the boat?")
        receipt = await warden.erase(user="ana", confirm="ana")
        assert receipt.kinds["turn"] >= 1
        assert receipt.kinds["state"] >= 3
        assert (receipt.counts["versions"] >= 1, receipt.counts["events"] >= 1) == (True, True)
        assert [line for line in receipt.left_to_do if "VACUUM" in line] == []
        assert held(url, tmp_path) == set()
        assert await warden.verify_erased(receipt) == []
        assert await warden.users() == ["bob"]
        assert await seal_namespace(warden.store, BOB) == bob
        with pytest.raises(NotFound):
            await warden.scope(user="ana").journal.undo(1)
    assert held(url, tmp_path) == set()


async def test_what_is_erased_is_counted_before_and_gone_after(url: str) -> None:
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        me = warden.scope(user="ana", thread="quokkathread")
        await live(me, warden.store)
        plan = await warden.erase(user="ana", dry_run=True)
        with pytest.raises(InvalidInput, match="would erase the user 'ana' for good"):
            await warden.erase(user="ana")
        assert await warden.users() == ["ana"]
        assert len(await me.find({"channel": "turn"})) == 1
        done = await warden.erase(user="ana", confirm="ana")
        assert done.kinds == plan.kinds
        assert {name: count for name, count in done.counts.items() if name != "events"} == {
            name: count for name, count in plan.counts.items() if name != "events"
        }
        assert done.finished_at is not None
        assert await me.find({}) == []
        assert (await me.query("Where is the boat?")).items == ()
        assert await warden.store.checkpoints.find(ANA, CheckpointSearch()) == []
        assert (await me.journal.history()) == []


async def test_a_receipt_that_is_wrong_is_caught(url: str, tmp_path: Path) -> None:
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        me = warden.scope(user="ana")
        await me.remember("Ana keeps bees.")
        plan = await warden.erase(user="ana", dry_run=True)
        assert await warden.verify_erased(plan) == ["the erasure was not finished; repeat it"]
        claimed = replace(plan, finished_at=plan.started_at).seal()
        assert any("rows in memories" in line for line in await warden.verify_erased(claimed))
        receipt = await warden.erase(user="ana", confirm="ana")
        assert await warden.verify_erased(receipt) == []
        elsewhere = replace(receipt, store="sqlite:////elsewhere.db").seal()
        assert "is of sqlite:////elsewhere.db" in (await warden.verify_erased(elsewhere))[0]
        await me.remember("Ana is back.")
        assert any("rows in memories" in line for line in await warden.verify_erased(receipt))


FILES = ("replicas and copies of the files", "snapshots of the file system")
LEFT_BEHIND = {
    "memory": (),
    "json": FILES,
    "sqlite": FILES,
    "postgresql": ("archived WAL and base backups", "replicas remove it when they have replayed", "statement logs"),
}


@pytest.mark.parametrize("part", ["whole", "thread", "memory"])
async def test_a_receipt_says_what_backups_and_replicas_need(part: str, url: str) -> None:
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        me = warden.scope(user="ana", thread="t")
        await me.observe([{"role": "user", "content": "Ana keeps bees.", "id": "m1"}])
        kept = (await me.remember("Ana sails.")).results[0].id
        name = {"whole": "ana", "thread": "t", "memory": str(kept)}[part]
        receipt = await warden.erase(
            user="ana",
            thread=name if part == "thread" else None,
            memory=name if part == "memory" else None,
            confirm="ana",
        )
    assert receipt.finished_at is not None
    wanted = (f"backups made before {receipt.finished_at} hold what was erased: delete them, or erase again",)
    for said in (*wanted, *LEFT_BEHIND[url.partition(":")[0]], "logs, exports and caches of your own"):
        assert len([line for line in receipt.left_to_do if line.startswith(said)]) == 1, (said, receipt.left_to_do)
    assert read_receipt(receipt.to_json()).left_to_do == receipt.left_to_do


async def test_a_restored_backup_is_erased_again(tmp_path: Path) -> None:
    """As the receipt says; a restored store is at another place, so that the receipt proves nothing of it."""
    urls = [f"sqlite:///{tmp_path / name}" for name in ("a.db", "b.db")]
    async with AsyncWarden.open(urls[0], config=CONFIG) as warden:
        await warden.scope(user="ana").remember("Ana keeps quokkas.")
        await warden.back_up(tmp_path / "b.mwbackup")
        receipt = await warden.erase(user="ana", confirm="ana")
        assert await warden.verify_erased(receipt) == []
    await SqliteStore(tmp_path / "b.db").restore(tmp_path / "b.mwbackup")
    async with AsyncWarden.open(urls[1], config=CONFIG) as warden:
        assert "name the store that it is of" in (await warden.verify_erased(receipt))[0]
        assert await warden.users() == ["ana"]
        assert await warden.verify_erased(await warden.erase(user="ana", confirm="ana")) == []
        assert held_in_files([tmp_path / "b.db", tmp_path / "b.db-wal"], ["quokka"]) == set()


async def test_a_receipt_names_the_keys_that_still_open_what_is_empty_now(async_warden: AsyncWarden) -> None:
    await async_warden.scope(user="ana").remember("Ana keeps bees.")
    receipt = await async_warden.erase(user="ana", confirm="ana")
    assert [line for line in receipt.left_to_do if "memwarden key revoke" in line]


async def test_an_undo_after_an_erasure_says_that_nothing_brings_it_back(async_warden: AsyncWarden) -> None:
    me = async_warden.scope(user="ana")
    for boat in ("Quokka", "Wombat", "Numbat"):
        kept = await me.remember(f"The {boat} is a boat of the harbour at {boat}ville.")
    await async_warden.erase(user="ana", confirm="ana")
    with pytest.raises(NotFound, match=r"nothing is kept there\. If the memory was erased, no undo brings it back"):
        await me.journal.undo(kept.rev)
    await me.remember("Ana keeps bees.")
    with pytest.raises(NotFound, match=r"its history ends at change 1\. If the memory was erased, no undo"):
        await me.journal.undo(kept.rev)


def test_bytes_that_stayed_are_found(tmp_path: Path) -> None:
    """Rows may be gone and their bytes not: verify looks through the file."""
    url = f"sqlite:///{tmp_path / 'm.db'}"
    with Warden.open(url, config=CONFIG) as warden:
        warden.scope(user="ana").remember("Ana keeps bees.")
        receipt = warden.erase(user="ana", confirm="ana")
    with (tmp_path / "m.db").open("ab") as file:
        file.write(receipt.sample[0].encode())
    with Warden.open(url, config=CONFIG) as warden:
        assert receipt.sample[0] in warden.verify_erased(receipt)[0]


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
async def test_another_process_answers_nothing_of_the_erased(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A warden that held the person's index tells the new person of the same name from the old."""
    url = f"sqlite:///{tmp_path / 'm.db'}" if engine == "sqlite" else request.getfixturevalue("postgres_url")
    async with AsyncWarden.open(url, config=CONFIG) as here, AsyncWarden.open(url, config=CONFIG) as other:
        await here.scope(user="ana").remember("The boat is called Quokka.")
        there = other.scope(user="ana")
        assert (await there.query("What is the boat called?")).items
        await here.erase(user="ana", confirm="ana")
        assert (await there.query("What is the boat called?")).items == ()
        await here.scope(user="ana").remember("The bike is green.")
        assert (await there.query("What is the boat called?")).items == ()
        assert [item.text for item in await there.find({})] == ["The bike is green."]
        assert [item.memory.text for item in (await there.query("Is the bike green?")).items] == ["The bike is green."]


_KILLED = """
import os, signal, sys
from memwarden.stores.jsonfile import store as json_store
from memwarden.stores.sqlite import pages
from memwarden.surfaces.cli.main import run

point, *arguments = sys.argv[1:]

def die(*given):
    os.kill(os.getpid(), signal.SIGKILL)

def audited(event, given):
    if (point == "folder renamed" and event == "shutil.rmtree" and str(given[0]).endswith(".removed")
            and os.path.isdir(given[0])):
        die()
    if point == "before the folder is renamed" and event == "os.rename" and str(given[1]).endswith(".removed"):
        die()

if point == "rows deleted":
    deleted = pages.erase
    def erase(db, namespace):
        deleted(db, namespace)
        die()
    pages.erase = erase
if point == "rows committed":
    pages.rewrite = die
if point == "half rewritten":
    def rewrite(db, path):
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        db.set_progress_handler(die, 200)
        db.execute("VACUUM")
    pages.rewrite = rewrite
sys.addaudithook(audited)
sys.exit(run(arguments))
"""
POINTS = [
    ("sqlite", "rows deleted"),
    ("sqlite", "rows committed"),
    ("sqlite", "half rewritten"),
    ("json", "before the folder is renamed"),
    ("json", "folder renamed"),
]


@pytest.mark.parametrize(("engine", "point"), POINTS)
def test_a_killed_erasure_is_brought_to_its_end(engine: str, point: str, tmp_path: Path) -> None:
    place = tmp_path / ("m.db" if engine == "sqlite" else "m")
    url, receipt = f"{engine}:///{place}", tmp_path / "r.json"
    bob = asyncio.run(two_lives(url))
    erase = ["erase", "--user", "ana", "--confirm", "ana", "--receipt", str(receipt), "--db", url]
    killed = subprocess.run([sys.executable, "-c", _KILLED, point, *erase], timeout=600, check=False)
    assert killed.returncode == -signal.SIGKILL
    begun = json.loads(receipt.read_text())
    assert begun["finished_at"] is None
    assert run_here("verify", "--erased", str(receipt), "--db", url).returncode
    assert run_here(*erase).returncode == 0
    done = json.loads(receipt.read_text())
    assert {name: done[name] for name in ("kinds", "counts", "started_at")} == {
        name: begun[name] for name in ("kinds", "counts", "started_at")
    }
    assert run_here("verify", "--erased", str(receipt), "--db", url).returncode == 0
    assert held_in_files([item for item in tmp_path.rglob("*") if item != receipt]) == set()
    again = run_here(*erase)
    assert again.returncode == 1  # the receipt of an erasure is not written over
    assert asyncio.run(sealed(url)) == bob


async def sealed(url: str) -> NamespaceSeal:
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        return await seal_namespace(warden.store, BOB)


def test_a_receipt_that_was_changed_is_refused(tmp_path: Path) -> None:
    url, receipt = f"sqlite:///{tmp_path / 'm.db'}", tmp_path / "r.json"
    with Warden.open(url, config=CONFIG) as warden:
        warden.scope(user="ana").remember("Ana keeps bees.")
        receipt.write_text(warden.erase(user="ana", confirm="ana").to_json())
    receipt.write_text(receipt.read_text().replace('"memories": 1', '"memories": 0'))
    told = run_here("verify", "--erased", str(receipt), "--db", url)
    assert told.returncode == 2
    assert "was changed" in told.stderr


def test_a_name_that_nobody_has_is_no_erasure(tmp_path: Path) -> None:
    url, receipt = f"sqlite:///{tmp_path / 'm.db'}", tmp_path / "r.json"
    with Warden.open(url, config=CONFIG) as warden:
        warden.scope(user="ana").remember("Ana keeps bees.")
    command = ["erase", "--db", url, "--receipt", str(receipt)]
    missed = run_here(*command, "--user", "ANA", "--confirm", "ANA")
    assert (missed.returncode, receipt.exists()) == (3, False)
    assert run_here(*command, "--user", "ana", "--confirm", "ana").returncode == 0
    assert receipt.stat().st_mode & 0o777 == 0o600
