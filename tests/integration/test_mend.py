"""Repair of a store that earlier rules filled: wrong ends, values of other subjects, texts without meaning.

``earlier_rules.zip`` is the export of a store that commit 21354826 wrote, with extraction at every turn.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memwarden import AsyncWarden, Warden
from memwarden.api.scope import AsyncScope
from memwarden.records import Audit, Memory
from memwarden.surfaces.cli.main import run
from memwarden.testing import get_store

EARLIER = Path(__file__).with_name("data") / "earlier_rules.zip"
# Ended by a second car, and by a former home.
STILL_TRUE = {"I drive a Saab.", "J'habite à Graz."}
# Ended by a statement that it is over.
OVER = "I work at Lindholm Marine."


def of_kind(audit: Audit, kind: str) -> set[str]:
    return {finding.fix.memory_id for finding in audit.findings if finding.kind == kind}


async def texts(me: AsyncScope, ids: set[str]) -> set[str]:
    return {(await me.get(item)).text for item in ids}


async def contents(me: AsyncScope) -> list[Any]:
    """Return what the user may notice of each memory, without the times of writing."""

    def shown(memory: Memory) -> Any:
        return (memory.id, memory.text, memory.valid_to, memory.tags, memory.sources, memory.importance)

    found = await get_store(me).find(me.who.namespace, limit=10_000)
    return sorted(map(shown, found), key=repr)


async def test_an_audit_finds_what_earlier_rules_did_wrong() -> None:
    async with AsyncWarden.open("memory://") as warden:
        await warden.import_(EARLIER)
        me = warden.scope(user="ana")
        audit = await me.audit()
        ended = await texts(me, of_kind(audit, "wrong_end"))
        assert ended >= STILL_TRUE
        assert OVER not in ended
        beside = await texts(me, of_kind(audit, "other_subject"))
        assert len(beside) == 4
        assert all("Graham" in text for text in beside)  # the neighbour has nothing to do with them
        assert await texts(me, of_kind(audit, "meaningless")) == {'The user, 14 March 2026: "Mine is 3 years old lol"'}


async def test_an_audit_finds_nothing_wrong_in_what_todays_rules_extract() -> None:
    said = (
        "My neighbour Graham got a new puppy last week.", "My partner's name is Judith.", "I work at Lindholm Marine.",
        "new pads and a cable for the bike by tomorrow", "My new phone number is 079 555 12 12.", "We moved to Oslo.",
    )  # fmt: skip
    async with AsyncWarden.open("memory://", {"embedder": "auto", "extraction": "every_turn"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        for text in said:
            await me.observe([{"role": "user", "content": text}, {"role": "assistant", "content": "I see."}])
        await me.extract_pending()
        assert len(await me.find({"channel": "semantic"})) >= 4
        assert (await me.audit()).findings == ()


async def test_mending_reopens_what_is_true_and_each_step_can_be_undone(url: str) -> None:
    async with AsyncWarden.open(url) as warden:
        await warden.import_(EARLIER)
        me = warden.scope(user="ana")
        before, rev = await contents(me), (await get_store(me).head(me.who.namespace)).rev
        wrong = (await me.audit()).findings
        (mended,) = await warden.jobs.run("clean", user="ana")
        assert len(mended.changes) == len(wrong)
        assert (await me.audit()).findings == ()
        opened = {item.text for item in await me.find(limit=1_000) if item.valid_to is None}
        assert opened >= STILL_TRUE
        assert OVER not in opened
        # The turns of a removed fact still answer.
        said = [item.text for item in (await me.query("What is my partner's name?")).items]
        assert any("My partner's name is Judith." in text for text in said)
        steps = {entry.step for entry in await get_store(me).journal(me.who.namespace, since=rev, limit=1_000)}
        for step in sorted(steps, reverse=True):
            await me.journal.undo(step)
        assert await contents(me) == before
        (again,) = await warden.jobs.run("clean", user="ana")
        assert again.changes == ()  # what a person undid is not mended again


def test_the_command_mends_and_says_how_much(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path / 'old.db'}"
    with Warden.open(url) as warden:
        warden.import_(EARLIER)
    assert run(["audit", "--db", url, "--user", "ana"]) == 0
    listed = capsys.readouterr().out
    assert "wrong end: a newer fact ended it" in listed
    assert "--clear valid_to" in listed
    assert run(["audit", "--mend", "--db", url, "--user", "ana", "--agent", "planner"]) != 0
    capsys.readouterr()
    assert run(["audit", "--mend", "--db", url, "--user", "ana"]) == 0
    said = capsys.readouterr().out
    count = listed.count("  fix: memwarden ")
    assert f"Mended {count} of {count}." in said
    assert run(["audit", "--strict", "--db", url, "--user", "ana"]) == 0
