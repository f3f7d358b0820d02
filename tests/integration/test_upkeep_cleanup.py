"""The job that applies an audit's fixes: once, not against anybody's word, and back by undo."""

from __future__ import annotations

import pytest

from memwarden import AsyncWarden, clock


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: object) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{tmp_path}/store.db"


async def test_fixes_of_an_audit_are_applied_and_what_was_undone_is_left_alone(url: str) -> None:
    async with AsyncWarden.open(url, {"merging": "off"}) as warden:
        me = warden.scope(user="ana")
        await me.remember("Ana lives in Berlin.", created_at="2026-01-05")
        await me.remember("Ana lives in Berlin", created_at="2026-02-01")
        await me.remember("Ana lives in Lisbon now.", created_at="2026-05-02")
        before = [(item.text, item.valid_to) for item in await me.find()]
        (tried,) = await warden.jobs.run("clean", user="ana", dry_run=True)
        assert [change.verb for change in tried.changes] == ["update", "forget"]
        assert [(item.text, item.valid_to) for item in await me.find()] == before
        (run,) = await warden.jobs.run("clean", user="ana")
        assert run.changes == tried.changes
        assert [item.text for item in await me.find()] == ["Ana lives in Lisbon now."]
        assert (await me.audit()).findings == ()
        history = await me.journal.history(descending=True, limit=2)
        assert {item.actor for item in history} == {"upkeep"}
        for item in history:
            await me.journal.undo(item.seq)
        assert [(item.text, item.valid_to) for item in await me.find()] == before
        (again,) = await warden.jobs.run("clean", user="ana")
        assert again.changes == ()
        (status,) = [item for item in await warden.jobs.status(user="ana") if item.job == "clean"]
        assert status.due is None  # nobody cleans up unasked
        assert status.last is not None
        assert status.last <= clock.now()


async def test_what_is_pinned_stays(url: str) -> None:
    async with AsyncWarden.open(url, {"merging": "off"}) as warden:
        me = warden.scope(user="ana")
        await me.remember("Ana lives in Berlin.", pinned=True, created_at="2026-01-05")
        await me.remember("Ana lives in Lisbon now.", created_at="2026-05-02")
        (run,) = await warden.jobs.run("clean", user="ana")
        assert run.changes == ()


async def test_what_somebody_restored_is_left_alone() -> None:
    async with AsyncWarden.open("memory://", {"embedder": "none", "merging": "off"}) as warden:
        me = warden.scope(user="ana")
        await me.remember("Ana lives in Berlin.", created_at="2026-01-05")
        await me.remember("Ana lives in Berlin.", created_at="2026-02-01")
        (run,) = await warden.jobs.run("clean", user="ana")
        (change,) = run.changes
        assert change.verb == "forget"
        await me.restore(change.memory_id)
        (again,) = await warden.jobs.run("clean", user="ana")
        assert again.changes == ()


async def test_an_ending_that_was_undone_is_left_alone() -> None:
    async with AsyncWarden.open("memory://", {"embedder": "none", "merging": "off"}) as warden:
        me = warden.scope(user="ana")
        await me.remember("Ana lives in Berlin.", created_at="2026-01-05")
        await me.remember("Ana lives in Lisbon now.", created_at="2026-05-02")
        (run,) = await warden.jobs.run("clean", user="ana")
        assert [change.verb for change in run.changes] == ["update"]
        (ending,) = await me.journal.history(descending=True, limit=1)
        await me.journal.undo(ending.seq)
        assert not any(item.valid_to for item in await me.find())
        (again,) = await warden.jobs.run("clean", user="ana")
        assert again.changes == ()
