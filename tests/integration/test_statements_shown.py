"""What a memory states stands in the reasons of an answer, follows its versions and is read anew by an upgrade."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest

from http_calls import calling
from memwarden import AsyncWarden, Warden
from memwarden.records import Fill, Namespace, Signals, Why
from memwarden.stores.url import store_at
from memwarden.surfaces.cli.main import run

CONFIG = {"embedder": "auto"}
NORA = Namespace("default", "user/nora")
SAID = [
    {"role": "user", "id": "m1", "content": "I live in Tromsø by the bridge.", "created_at": "2026-01-03T10:00Z"},
    {"role": "user", "id": "m2", "content": "I am allergic to sesame.", "created_at": "2026-01-04T10:00Z"},
]


def settled(me: Any) -> Any:
    """Wait until what was said has its signals: a question does."""
    me.query("allergic")
    return me


def test_why_shows_who_has_what_since_when_and_who_says_it(warden: Warden) -> None:
    me: Any = warden.scope(user="nora", thread="t")
    me.observe(SAID)
    (item,) = me.query("Where do I live?", top_k=1, explain=True).items
    (found,) = item.why.statements
    assert (found.subject, found.attribute, found.sort) == ("self", "home city", "state")
    assert (found.value, found.since, found.until) == (SAID[0]["content"], date(2026, 1, 3), None)
    assert found.sources == ("m1",)
    assert me.statements(item.id) == item.why.statements
    block = me.context("What am I allergic to?")
    told = {shown.sources: [each.attribute for each in shown.why.statements] for shown in block.items}
    assert told["m2",] == ["allergy"]


def test_a_fact_states_what_its_turns_say(warden: Warden) -> None:
    me: Any = warden.scope(user="nora", thread="t")
    turn = me.observe([SAID[0]]).results[0].id
    me.remember("Nora lives in Tromsø.", sources=[turn])
    (item,) = me.query("Where does Nora live?", top_k=1).items
    assert [(each.subject, each.attribute) for each in item.why.statements] == [("name:nora", "home city")]
    assert item.why.statements[0].sources == (turn,)


def test_a_correction_and_its_undoing_change_what_is_stated(warden: Warden) -> None:
    me: Any = warden.scope(user="nora", thread="t")
    kept = me.remember("Nora lives in Tromsø.").results[0].id
    changed = me.update(kept, text="Nora is allergic to sesame.")
    assert [found.attribute for found in me.statements(kept)] == ["allergy"]
    (then,) = me.query("Where does Nora live?", as_of=changed.rev - 1, top_k=1).items
    assert [found.attribute for found in then.why.statements] == ["home city"]
    me.journal.undo(changed.rev)
    assert [found.attribute for found in me.statements(kept)] == ["home city"]
    me.forget(kept)
    me.restore(kept)
    assert [found.attribute for found in me.statements(kept)] == ["home city"]


OLDER = b"\x01\x01" + bytes(40)


@pytest.mark.parametrize("stored", [None, OLDER])
async def test_statements_of_an_earlier_release_are_read_when_the_store_is_opened(
    url: str, stored: bytes | None
) -> None:
    if url == "memory://":
        pytest.skip("a store in memory has no earlier release")
    with Warden.open(url, CONFIG) as warden:
        me = settled(warden.scope(user="nora", thread="t"))
        ids = [result.id for result in me.observe(SAID).results]
        ids.append(me.remember("Nora works as a baker.").results[0].id)
        settled(me)
    await unread(url, ids, stored)
    with Warden.open(url, CONFIG) as warden:
        me = warden.scope(user="nora", thread="t")
        assert not any(me.statements(each) for each in ids)
        (item,) = me.query("Where do I live?", top_k=1).items
        assert [found.attribute for found in item.why.statements] == ["home city"]
        assert [found.attribute for each in ids for found in me.statements(each)] == ["home city", "allergy", "job"]


async def unread(url: str, ids: list[str], stored: bytes | None) -> None:
    """Make a store one whose statements were never read, or in a form of before."""
    store = store_at(url)
    await store.open()
    rows = await store.index_rows(NORA, ids)
    fills = [Fill(row.id, 1, Signals(row.terms, row.vector, row.flags, row.days, row.pieces, stored)) for row in rows]
    await store.fill(NORA, fills)
    assert [row.statements for row in await store.index_rows(NORA, ids)] == [stored] * len(ids)
    await store.close()


def test_the_command_line_tells_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with Warden.open(url, CONFIG) as warden:
        settled(warden.scope(user="nora", thread="t")).observe(SAID)
    asked = ["query", "Where do I live?", "--user", "nora", "--top-k", "1", "--db", url]
    assert run([*asked, "--explain"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "states home city of self: 'I live in Tromsø by the bridge.', since 2026-01-03 (state, " in told
    assert "said in m1" in told
    assert run([*asked, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["items"][0]["why"]["statements"]
    assert (found["attribute"], found["since"], found["until"]) == ("home city", "2026-01-03", None)
    assert found["sources"] == ["m1"]


async def test_they_travel_over_http() -> None:
    async with AsyncWarden.open("memory://", CONFIG) as warden:
        me = warden.scope(user="nora", thread="t")
        await me.observe(SAID)
        (near,) = (await me.query("Where do I live?", top_k=1)).items
        async with calling(warden) as client:
            asked = {"user_id": "nora", "query": "Where do I live?", "top_k": 1}
            (far,) = (await client.post("/v1/memory/query", json=asked)).json()["items"]
    (stated,) = near.why.statements
    (read,) = msgspec.convert(far["why"], Why).statements
    assert read == stated


def test_the_details_of_a_turn_are_found_beside_the_fact_that_was_made_of_it(warden: Warden) -> None:
    me: Any = warden.scope(user="nora", thread="t")
    text = "I fetched Wanda from the shelter in Graz: a dog of four years who is afraid of bicycles and loves pears."
    turn = me.observe([{"role": "user", "content": text}]).results[0].id
    me.remember("Nora has a dog called Wanda.", sources=[turn])
    plain = me.observe([{"role": "user", "content": "My sister is called Ines."}]).results[0].id
    me.remember("Nora's sister is called Ines.", sources=[plain])
    asked = warden.scope(user="nora", thread="later")
    for found in (asked.query("What is my dog Wanda afraid of?"), asked.context("What is my dog Wanda afraid of?")):
        assert turn in {item.id for item in found.items}
    # What the fact tells whole is said once.
    found = asked.query("What is my sister called?")
    assert plain not in {item.id for item in found.items}
    assert "Ines" in found.items[0].memory.text
