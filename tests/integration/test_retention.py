"""Turns and versions go for good once they are as old as the settings say; nothing else does."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from memwarden import AsyncWarden, clock
from memwarden.errors import NotFound

CONFIG = {"embedder": "auto", "extraction": "every_turn"}


async def test_old_turns_and_versions_are_removed_for_good(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    now = clock.now()
    async with AsyncWarden.open(url, config={**CONFIG, "turn_days": 30, "version_days": 10}) as warden:
        me = warden.scope(user="ana", thread="t1")
        old = {"role": "user", "content": "My daughter Quokkamia is allergic to peanuts.", "id": "m1"}
        await me.observe([{**old, "created_at": now - timedelta(days=31)}])
        await me.observe(
            [{"role": "user", "content": "Good bread.", "id": "m2", "created_at": now - timedelta(days=29)}]
        )
        kept = str((await me.remember("The boat is called Quokkaold.")).results[0].id)
        await me.update(kept, text="The boat is called Wombat.")
        turns = [item.id for item in await me.find({"channel": "turn"})]
        facts = {item.text for item in await me.find({"channel": "semantic"})}
        assert len(facts) >= 2
        (planned,) = await warden.jobs.run("retain", user="ana", dry_run=True)
        assert [change.verb for change in planned.changes] == ["remove_turn"]
        monkeypatch.setattr(clock, "now", lambda: now + timedelta(days=11, hours=1))
        assert (await warden.jobs.run("retain", user="ana", dry_run=True))[0].status == "ok"
        (ran,) = await warden.jobs.run("retain", user="ana")
        assert sorted(change.verb for change in ran.changes) == ["remove_turn", "remove_turn", "remove_version"]
        assert await me.find({"channel": "turn"}) == []
        assert {item.text for item in await me.find({"channel": "semantic"})} == facts  # what was made of them stays
        assert (await me.get(kept)).text == "The boat is called Wombat."
        # The quoted fact got a version: it answers for its turn from now on.
        assert (await warden.store.holdings(me.who.namespace)).versions == 1
        assert len(turns) == 2
        for turn in turns:
            with pytest.raises(NotFound):
                await me.get(turn)
        assert [change.verb for change in (await warden.jobs.run("retain", user="ana"))[0].changes] == [
            "remove_version"
        ]
        assert (await warden.store.holdings(me.who.namespace)).versions == 0
        assert (await warden.jobs.run("retain", user="ana"))[0].changes == ()


async def test_a_pinned_turn_stays(url: str) -> None:
    async with AsyncWarden.open(url, config={**CONFIG, "turn_days": 30}) as warden:
        me = warden.scope(user="ana", thread="t1")
        said = {"role": "user", "content": "My will lies at notary Huber.", "id": "m1", "created_at": "1999-01-01"}
        await me.observe([said])
        (turn,) = await me.find({"channel": "turn"})
        await me.pin(turn.id, True)
        assert (await warden.jobs.run("retain", user="ana"))[0].changes == ()
        assert (await me.get(turn.id)).pinned


async def test_a_pinned_fact_keeps_no_turn_and_stays_as_it_is(url: str) -> None:
    """The days that turns are kept are a promise; what somebody pinned of them is a statement of its own."""
    async with AsyncWarden.open(url, config={**CONFIG, "turn_days": 30}) as warden:
        me = warden.scope(user="ana", thread="t1")
        said = "My daughter Mia is allergic to peanuts."
        await me.observe([{"role": "user", "content": said, "id": "m1", "created_at": "1999-01-01"}])
        (turn,) = await me.find({"channel": "turn"})
        (fact, *_) = [item for item in await me.find({"channel": "semantic"}) if {turn.id, "m1"} & {*item.sources}]
        await me.pin(fact.id, True)
        assert [change.memory_id for change in (await warden.jobs.run("retain", user="ana"))[0].changes] == [turn.id]
        kept = await me.get(fact.id)
        assert (kept.text, kept.pinned, await me.find({"channel": "turn"})) == (fact.text, True, [])
        assert fact.id in {item.id for item in (await me.query("What is Mia allergic to?")).items}


async def test_everything_is_kept_by_default(url: str) -> None:
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.observe([{"role": "user", "content": "I keep bees.", "created_at": "1999-01-01"}])
        (ran,) = await warden.jobs.run("retain", user="ana")
        assert (ran.changes, ran.reason) == ((), "turn_days and version_days are 0: everything is kept")
        assert len(await me.find({"channel": "turn"})) == 1


async def test_a_quotation_answers_when_its_turn_is_gone(url: str) -> None:
    settings = {"embedder": "auto", "extraction": "off", "turn_days": 30}
    async with AsyncWarden.open(url, config=settings) as warden:
        me = warden.scope(user="ana", thread="t1")
        said = "Ich arbeite seit drei Jahren als Krankenpfleger im Nordklinikum in Kassel."
        old = clock.now() - timedelta(days=31)
        await me.observe([{"role": "user", "content": said, "id": "m1", "created_at": old}])
        await me.extract_pending()
        (fact,) = await me.find({"channel": "semantic"})
        assert fact.id not in [item.id for item in (await me.query("Wo arbeite ich?")).items]
        await warden.jobs.run("retain", user="ana")
        assert [item.id for item in (await me.query("Wo arbeite ich?")).items] == [fact.id]
        (there,) = await me.find({"channel": "semantic"})
        assert (there.text, there.tags) == (fact.text, ())
