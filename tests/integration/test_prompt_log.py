"""What models were shown: noted beside the calls, with the question, told only to who may see it, and erased."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from http_calls import calling, make_key
from memwarden import AsyncWarden, clock
from memwarden.records import Namespace
from memwarden.stores.shared.items import ItemSearch, require_items
from memwarden.surfaces.http.app import ServerOptions
from memwarden.surfaces.http.routes.traces import TraceLog, TraceSearch

QUESTION = "Which instrument does Ana play?"


async def traces_of(warden: AsyncWarden, user: str = "ana") -> list[dict[str, Any]]:
    """Return what was noted for a person, the newest first."""
    space = warden.scope(user=user).who.namespace
    held = await require_items(warden.store).search(Namespace(space.tenant, space.path), ItemSearch("traces", 5_000))
    return [json.loads(hit.item.value) for hit in held]


async def wait_for_traces(warden: AsyncWarden, count: int) -> list[dict[str, Any]]:
    """Return what was noted, once they are so many: it is written beside the calls."""
    for _ in range(600):
        if len(found := await traces_of(warden)) == count:
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(f"{len(found)} prompts are noted, not {count}")


async def test_a_block_is_noted_with_its_question_and_the_score_of_each_item(items_url: str) -> None:
    async with AsyncWarden.open(items_url) as warden:
        ana = warden.scope(user="ana", thread="music")
        await ana.remember("Ana plays the cello in an orchestra.")
        await ana.remember("Ana plays tennis on Sundays.")
        block = await ana.context(QUESTION, threshold=0.0)
        (noted,) = await wait_for_traces(warden, 1)
    assert (noted["question"], noted["thread_id"], noted["agent_id"]) == (QUESTION, "music", None)
    assert {item["id"]: item["score"] for item in noted["items"]} == {
        item.id: round(item.score, 4) for item in block.items
    }
    assert len({item["score"] for item in noted["items"]}) == len(block.items) == 2
    assert all(0 < len(item["features"]) <= 10 for item in noted["items"])
    assert "cello" not in json.dumps(noted), "the texts stay where they are"


@pytest.mark.parametrize(
    ("asked", "config", "count"),
    [
        (QUESTION, {}, 1),
        ("What is the capital of Mongolia?", {}, 0),  # nothing was shown
        (QUESTION, {"events": "off"}, 0),
    ],
)
async def test_what_was_shown_is_noted_and_nothing_else(
    tmp_path: Path, asked: str, config: dict[str, str], count: int
) -> None:
    db = f"sqlite:///{tmp_path / 'store.db'}"
    async with AsyncWarden.open(db, config=config) as warden:  # its end writes what waits
        ana = warden.scope(user="ana")
        await ana.remember("Ana plays the cello in an orchestra.")
        assert bool((await ana.context(asked)).items) == (asked == QUESTION)
    async with AsyncWarden.open(db) as warden:
        assert [noted["question"] for noted in await traces_of(warden)] == [asked] * count


async def test_a_long_question_is_cut_and_its_secrets_are_taken_out() -> None:
    secret = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1bC3dE5"
    async with AsyncWarden.open("memory://") as warden:
        ana = warden.scope(user="ana")
        await ana.remember("Ana plays the cello in an orchestra.")
        await ana.context(f"My token is {secret}. {QUESTION} " + "Tell me all about it. " * 60, threshold=0.0)
        (noted,) = await wait_for_traces(warden, 1)
    assert len(noted["question"]) == 300
    assert noted["question"].startswith("My token is [redacted:")
    assert secret[4:20] not in json.dumps(noted)


@pytest.mark.parametrize("part", [{"thread": "music"}, {"memory": "turn"}, {"memory": "fact"}, {}])
async def test_a_question_goes_with_its_person_its_conversation_its_words_and_its_memories(
    embedded_url: str, part: dict[str, str]
) -> None:
    async with AsyncWarden.open(embedded_url) as warden:
        ana = warden.scope(user="ana", thread="music")
        ids = {"fact": str((await ana.remember("Ana plays the cello in an orchestra.")).results[0].id)}
        ids["turn"] = str((await ana.observe([{"role": "user", "content": QUESTION}])).results[0].id)
        await ana.context(QUESTION)
        other = warden.scope(user="ana", thread="kitchen")
        await other.remember("Ana bakes rye bread.")
        await other.context("Which bread does Ana bake?", max_memories=1)
        await wait_for_traces(warden, 2)
        gone = {name: ids.get(value, value) for name, value in part.items()}
        await warden.erase(user="ana", confirm="ana", thread=gone.get("thread"), memory=gone.get("memory"))
        left = [noted["question"] for noted in await traces_of(warden)]
    assert left == (["Which bread does Ana bake?"] if part else [])


async def test_an_erasure_waits_for_what_is_being_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncWarden.open("memory://") as warden:
        items = require_items(warden.store)
        write, writing, go_on = items.write, asyncio.Event(), asyncio.Event()

        async def write_slowly(*given: Any) -> None:
            writing.set()
            await go_on.wait()
            await write(*given)

        ana = warden.scope(user="ana")
        await ana.remember("Ana plays the cello in an orchestra.")
        monkeypatch.setattr(items, "write", write_slowly)
        await ana.context(QUESTION)
        await asyncio.wait_for(writing.wait(), 300)
        erasing = asyncio.create_task(warden.erase(user="ana", confirm="ana"))
        await asyncio.wait([erasing], timeout=0.5)
        go_on.set()
        await erasing
        assert await traces_of(warden) == []


async def test_what_a_project_showed_is_noted_too(tmp_path: Path) -> None:
    """What lies in another place is not missing from the person's."""
    async with AsyncWarden.open(f"sqlite:///{tmp_path / 'store.db'}") as warden:
        await warden.tiers.project("p1").add_decision("Ana plays the cello in the orchestra.")
        await warden.scope(user="ana").remember("Ana lives in Graz.")
        block = await warden.scope(user="ana", project="p1").context(QUESTION)
        assert "project/p1" in {item.memory.namespace.path for item in block.items}
        await wait_for_traces(warden, 1)


@pytest.mark.parametrize("part", ["all", "thread", "memory"])
async def test_what_another_process_erased_meanwhile_is_not_noted(part: str, tmp_path: Path) -> None:
    """A question waits a second before it is noted; by then somebody may have erased what it tells of."""
    url = f"sqlite:///{tmp_path / 'store.db'}"
    async with AsyncWarden.open(url) as asked, AsyncWarden.open(url) as other:
        told = await asked.scope(user="ana", thread="t1").observe("I play the cello in an orchestra.")
        named = {"thread": "t1"} if part == "thread" else {"memory": told.results[0].id} if part == "memory" else {}
        block = await asked.scope(user="ana", thread="t1").context(QUESTION)
        assert block.items
        receipt = await other.erase(user="ana", confirm="ana", **named)
    async with AsyncWarden.open(url) as warden:
        assert await traces_of(warden) == []
        found = await warden.verify_erased(receipt)
        assert [line for line in found if "items" in line] == []


async def test_the_newest_are_kept_and_the_others_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of programs that ask a few times each: the first prompt that a process notes takes the old with it."""
    monkeypatch.setattr("memwarden.runtime.traces.MAX_TRACES", 20)
    url = f"sqlite:///{tmp_path / 'store.db'}"
    async with AsyncWarden.open(url) as warden:
        ana = warden.scope(user="ana")
        await ana.remember("Ana plays the cello in an orchestra.")
        await ana.context(QUESTION)
        await wait_for_traces(warden, 1)
        for _ in range(30):
            await ana.context(QUESTION)
        await wait_for_traces(warden, 31)
    async with AsyncWarden.open(url) as warden:
        await warden.scope(user="ana").context(QUESTION)
        await wait_for_traces(warden, 20)


async def test_an_agent_is_not_told_what_another_was_asked() -> None:
    async with AsyncWarden.open("memory://") as warden:
        await warden.scope(user="ana").remember("Ana plays the cello in an orchestra.", category="procedural")
        for agent in ("planner", None):
            await warden.scope(user="ana", agent=agent).context(QUESTION)
        await wait_for_traces(warden, 2)
        keys: Sequence[str] = [await make_key(warden, user="ana", agent=agent) for agent in ("planner", None)]
        space = warden.scope(user="ana").who.namespace
        held = await require_items(warden.store).search(space, ItemSearch("traces", 10))
        places = {json.loads(hit.item.value)["agent_id"]: f"/v1/memory/traces/{hit.item.key}" for hit in held}
        async with calling(warden, ServerOptions()) as client:
            told = {}
            for whose, place in places.items():
                for viewer, key in zip(("planner", None), keys, strict=True):
                    found = await client.get(place, headers={"Authorization": f"Bearer {key}"})
                    told[whose, viewer] = found.json().get("question", found.status_code)
    assert told == {
        ("planner", "planner"): QUESTION,
        ("planner", None): QUESTION,
        (None, "planner"): 404,
        (None, None): QUESTION,
    }


async def test_a_forgotten_question_is_shown_no_more_until_it_is_restored(items_url: str) -> None:
    async with AsyncWarden.open(items_url) as warden:
        ana = warden.scope(user="ana", thread="music")
        await warden.scope(user="ana", thread="other").remember("Ana plays the cello in an orchestra.")
        said = await ana.observe([{"role": "user", "content": QUESTION, "id": "q"}, {"role": "user", "content": "Hm."}])
        await ana.context(QUESTION, threshold=0.0)
        await warden.scope(user="ana", thread="asked-alone").context(QUESTION, threshold=0.0)
        await wait_for_traces(warden, 2)

        async def shown() -> dict[str, str]:
            found = await TraceLog(warden.store).find(ana, TraceSearch())
            return {trace["thread_id"]: trace["question"] for trace in found}

        both = {"music": QUESTION, "asked-alone": QUESTION}
        assert await shown() == both
        gone = await ana.forget([str(said.results[0].id)])  # the turn
        assert await shown() == {**both, "music": ""}
        await ana.journal.undo(gone.rev)
        assert await shown() == both
        await ana.forget([str(said.results[1].id)])  # another turn of the conversation
        assert await shown() == both
        await ana.reset(confirm="ana", filters={"thread_id": "music"})  # the whole conversation
        assert await shown() == {**both, "music": ""}


async def test_a_forgotten_question_is_not_shown_again_once_its_turn_is_removed(
    items_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncWarden.open(items_url, config={"turn_days": 7}) as warden:
        await warden.scope(user="ana", thread="other").remember("Ana plays the cello in an orchestra.")
        ana, talk = (warden.scope(user="ana", thread=thread) for thread in ("music", "talk"))
        asked = await ana.observe([{"role": "user", "content": QUESTION}, {"role": "user", "content": "Hm."}])
        small_talk = await talk.observe([{"role": "user", "content": "Let us talk."}])
        for thread in ("music", "talk", "asked-alone"):
            await warden.scope(user="ana", thread=thread).context(QUESTION, threshold=0.0)
        await wait_for_traces(warden, 3)
        await ana.forget([str(asked.results[0].id), str(small_talk.results[0].id)])  # a turn, a whole conversation
        later = clock.now() + timedelta(days=8)
        monkeypatch.setattr(clock, "now", lambda: later)
        (run,) = await warden.jobs.run("retain", user="ana")
        assert [change.verb for change in run.changes] == ["remove_turn"] * 3
        traces = await TraceLog(warden.store).find(ana, TraceSearch())
        async with calling(warden) as client:
            told = {}
            for trace in traces:
                found = (await client.get(f"/v1/memory/traces/{trace['trace']}", params={"user_id": "ana"})).json()
                told[found["thread_id"]] = found["question"]
            page = (await client.get("/ui/shown", params={"user": "ana"})).text
    assert told == {"music": "", "talk": "", "asked-alone": QUESTION}
    assert page.count(f"<bdi>{QUESTION}</bdi>") == 1
