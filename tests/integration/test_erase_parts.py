"""A thread or a memory is erased for good: no word of it stays in any byte, and nothing else changes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from test_erase import BOB, held_in_files, held_in_tables, live

from commands import run_here
from memwarden import AsyncScope, AsyncWarden, Warden
from memwarden.errors import InvalidInput, NotFound
from memwarden.observability.records import EventFilter
from memwarden.stores.shared.checkpoints import ChannelValue, CheckpointKey, SavedCheckpoint
from memwarden.stores.transfer.bundle import export_bundle, import_bundle
from memwarden.stores.transfer.move import seal_namespace
from memwarden.stores.url import store_at

CONFIG = {"embedder": "none", "extraction": "every_turn"}
WORDS = (
    "quokkamia",
    "quokkathread",
    "quokkasession",
    "quokkanamed",
    "quokkakey",
    "quokkacheck",
    "quokkanote",
    "quokkaold",
)


async def talk(warden: AsyncWarden) -> AsyncScope:
    """Say something in two threads, and leave something of every kind in the first; return its scope."""
    me = warden.scope(user="ana", thread="quokkathread")
    said = [
        {"role": "user", "content": "My daughter Quokkamia is allergic to peanuts.", "id": "m1"},
        {"role": "assistant", "content": "I will keep nuts away from Quokkamia.", "id": "m2"},
    ]
    await me.observe(said, key="quokkakey")
    kept = await me.remember("The cabin is called Quokkaold.")
    await me.update(str(kept.results[0].id), text="The cabin is called Quokkanote.")
    await me.remember("The cabin is called Quokkanote.")  # merged into it
    await me.sessions.finalize_current_cycle("s1", "Where is the quokkasession?", "There.")
    # A session that has the thread's name is the thread's, whoever kept it.
    named = warden.scope(user="ana").sessions
    await named.finalize_current_cycle("quokkathread", "Where is the quokkanamed?", "There.")
    key = CheckpointKey("quokkathread", "", "0001")
    saved = SavedCheckpoint(key, None, "", "json", b'"quokkacheck"', (("v", "1"),), (), {"step": 1})
    await warden.store.checkpoints.put(me.who.namespace, saved, [ChannelValue("v", "1", "json", b'"x"')])
    other = warden.scope(user="ana", thread="wombat")
    await other.observe([{"role": "user", "content": "My son Tom is allergic to bees.", "id": "m1"}])
    return me


def held(url: str, folder: Path) -> set[str]:
    if url.startswith("postgresql"):
        return held_in_tables(url, WORDS)
    return held_in_files(list(folder.rglob("*")), WORDS)


@pytest.mark.parametrize("engine", ["sqlite", "json", "postgres"])
async def test_no_byte_of_a_thread_stays_and_the_rest_does(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = {"sqlite": f"sqlite:///{tmp_path / 'm.db'}", "json": f"json:///{tmp_path / 'm'}"}.get(engine)
    url = url or request.getfixturevalue("new_database")()
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        me = await talk(warden)
        await live(warden.scope(user="bob", thread="b"), warden.store, "wombat")
        bob = await seal_namespace(warden.store, BOB)
        assert (await me.query("Who is allergic to peanuts?", threshold=0)).items
        plan = await warden.erase(user="ana", thread="quokkathread", dry_run=True)
        with pytest.raises(InvalidInput, match="would erase thread quokkathread of user/ana for good"):
            await warden.erase(user="ana", thread="quokkathread")
        receipt = await warden.erase(user="ana", thread="quokkathread", confirm="ana")
        assert receipt.kinds == plan.kinds
        assert receipt.kinds["turn"] == 2
        assert receipt.counts["memories"] == plan.counts["memories"] >= 5
        if engine != "json":  # checkpoints of JSON files are in memory alone
            assert receipt.counts["checkpoints"] == 1
        assert await warden.verify_erased(receipt) == []
        assert held(url, tmp_path) == set()
        assert await seal_namespace(warden.store, BOB) == bob
        left = await warden.scope(user="ana").find({}, limit=50)
        assert {item.thread_id for item in left} == {"wombat"}
        answer = await me.query("Who is allergic?", threshold=0)
        assert {item.memory.thread_id for item in answer.items} == {"wombat"}
        assert await warden.store.events(me.who.namespace, EventFilter(thread_id="quokkathread")) == []
        # What is said there again is new, and the rest of the history is whole: it goes into any store.
        again = await me.observe([{"role": "user", "content": "Good bread.", "id": "m1"}])
        assert again.results[0].reason != "already stored"
        await export_bundle(warden.store, me.who.namespace, tmp_path / "ana.zip")
        other = store_at("memory://")
        await other.open()
        await import_bundle(other, tmp_path / "ana.zip")
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        left = await warden.scope(user="ana").find({}, limit=50)
        assert {item.thread_id for item in left} == {"wombat", "quokkathread"}


async def test_a_memory_goes_with_what_rests_on_it(url: str) -> None:
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        me = await talk(warden)
        (turn,) = [item for item in await me.find({"channel": "turn"}) if item.text.startswith("My daughter")]
        insight = await me.remember("Ana cooks with care.", channel="insight", sources=[turn.id])
        receipt = await warden.erase(user="ana", memory=turn.id, confirm="ana")
        assert (receipt.memory, receipt.kinds["turn"], await warden.verify_erased(receipt)) == (turn.id, 1, [])
        with pytest.raises(NotFound):
            await me.get(str(insight.results[0].id))
        texts = [item.text for item in await me.find({}, limit=50)]
        assert not [text for text in texts if "Quokkamia is allergic" in text]
        assert "My son Tom is allergic to bees." in texts  # its id is m1 too, in another thread
        assert "The cabin is called Quokkanote." in texts
        assert (await warden.erase(user="ana", memory="nothing", dry_run=True)).total == 0


async def test_a_merged_paraphrase_goes_with_its_memory_and_a_wrong_receipt_is_caught(url: str) -> None:
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        me = warden.scope(user="ana", thread="t1")
        kept = await me.remember("Ana lives in Berlin.")
        merged = await warden.scope(user="ana", thread="t2").remember("Ana lives in Berlin")
        assert merged.results[0].outcome == "merged"
        receipt = await warden.erase(user="ana", memory=str(kept.results[0].id), confirm="ana")
        assert receipt.counts["memories"] == 2
        assert (await warden.store.holdings(me.who.namespace)).memories == 0
        other = await me.remember("Ana keeps bees.")
        plan = await warden.erase(user="ana", memory=str(other.results[0].id), dry_run=True)
        claimed = replace(plan, finished_at=plan.started_at).seal()
        assert any("is there" in line for line in await warden.verify_erased(claimed))


_KILLED = """
import os, signal, sys
from memwarden.stores.postgres import pages
from memwarden.surfaces.cli.main import run

def die(*given):
    os.kill(os.getpid(), signal.SIGKILL)

def before_the_end(erase):
    def begun(db, *given):
        with db.transaction():
            erase(db, *given)
            die()
    return begun

rewrite = pages.rewrite

def half(db):
    execute, rewritten = db.execute, []
    def counted(sql, *given, **named):
        if sql.startswith(b"VACUUM (FULL"):
            rewritten.append(sql)
            if len(rewritten) == 4:
                die()
        return execute(sql, *given, **named)
    db.execute = counted
    return rewrite(db)

point, *arguments = sys.argv[1:]
if point == "rows deleted":
    pages.erase, pages.erase_part = before_the_end(pages.erase), before_the_end(pages.erase_part)
pages.rewrite = half if point == "three tables rewritten" else die
sys.exit(run(arguments))
"""


THREAD_ALONE = ["--thread", "quokkathread"]


@pytest.mark.parametrize(
    ("point", "part"),
    [
        ("rows deleted", []),
        ("rows committed", THREAD_ALONE),
        ("three tables rewritten", []),
        pytest.param("rows deleted", THREAD_ALONE, marks=pytest.mark.soak),
        pytest.param("rows committed", [], marks=pytest.mark.soak),
        pytest.param("three tables rewritten", THREAD_ALONE, marks=pytest.mark.soak),
    ],
)
def test_a_killed_erasure_on_postgresql_is_brought_to_its_end(
    point: str, part: list[str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url, receipt = str(request.getfixturevalue("new_database")()), tmp_path / "r.json"
    with Warden.open(url, config=CONFIG) as warden:
        me = warden.scope(user="ana", thread="quokkathread")
        me.observe([{"role": "user", "content": "My daughter Quokkamia is allergic to peanuts.", "id": "m1"}])
        warden.scope(user="bob").remember("Bob has a van.")
    erase = ["erase", "--user", "ana", *part, "--confirm", "ana", "--receipt", str(receipt), "--db", url]
    killed = subprocess.run([sys.executable, "-c", _KILLED, point, *erase], timeout=600, check=False, env=os.environ)
    assert killed.returncode == -signal.SIGKILL
    assert run_here("verify", "--erased", str(receipt), "--db", url).returncode
    assert run_here(*erase).returncode == 0
    assert run_here("verify", "--erased", str(receipt), "--db", url).returncode == 0
    assert held_in_tables(url, ("quokkamia",)) == set()
    with Warden.open(url, config=CONFIG) as warden:
        assert [item.text for item in warden.scope(user="bob").find({})] == ["Bob has a van."]
