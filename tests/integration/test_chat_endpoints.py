"""Every request to a chat model, against endpoints that take few parameters, or none, and endpoints of no use.

The endpoint stands for a paid model: it holds requests to the published rules, and answers what the test chose.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from memwarden import AsyncWarden
from memwarden.agent.overseer import OverseerSettings
from memwarden.api.scope import AsyncScope
from strict_endpoint import ChatEndpoint, fill, serve_endpoint

KINDS = ("strict", "object", "plain", "silent", "reasoning", "parts", "detail")
BOAT = "My sister Ottilie bought a boat called Heron in March."


def answer(body: dict[str, Any]) -> Any:
    """Answer by what is asked; the schema stands in the request, or in the system text."""
    system = body["messages"][0]["content"]
    form = body.get("response_format") or {}
    schema = form["json_schema"]["schema"] if "json_schema" in form else json.loads(system.rpartition("schema: ")[2])
    given = fill(schema)
    if "facts" in given:
        line = schema["properties"]["facts"]["items"]["properties"]
        if "sources" in line:
            fact = {**fill(schema["properties"]["facts"]["items"]), "text": "Ottilie has a boat called Heron."}
            return {**given, "facts": [{**fact, "sources": line["sources"]["items"]["enum"][:1], "evidence": BOAT}]}
        return {"facts": [{"id": line["id"]["enum"][0], "fact": "sister Ottilie has a boat called Heron"}]}
    if "cites" in given:
        return {**given, "known": True, "answer": "Heron.", "cites": [1]}
    if "save" in given:
        return {"save": True, "key": "found_boat", "reason": "it may help"}
    if "relations" in given:
        return {"relations": ["related"]}
    if "insights" in given:
        return {"insights": [{"summary": "The user speaks of boats often.", "tags": ["boats"], "importance": 2}]}
    return given


@pytest.fixture(params=KINDS)
def endpoint(request: pytest.FixtureRequest) -> Iterator[ChatEndpoint]:
    with serve_endpoint(ChatEndpoint(request.param, answer)) as served:
        yield served


def config(endpoint: ChatEndpoint, **more: Any) -> dict[str, Any]:
    return {"chat_model": "m", "chat_url": endpoint.url, "embedder": "none", "merging": "auto", **more}


async def use_everything(me: AsyncScope, warden: AsyncWarden) -> None:
    """Make each kind of request once."""
    await me.observe([{"role": "user", "content": BOAT}, {"role": "assistant", "content": "A fine name."}])
    await me.extract_pending()
    await me.remember("Ana enjoys hiking in the mountains.")
    await me.remember("Ana likes long walks in the mountains.")
    assert (await me.ask("What is the boat called?")).text == "Heron."
    await me.state.save("boat", {"name": "Heron"})
    overseer = me.overseer(OverseerSettings(auto_save=True))
    await overseer.relevant("Which boat is it?")
    assert (await overseer.after("find_boat", {"name": "Heron"}, "find the boat")).save
    long = "The boat is blue and long and old. " * 400
    await me.sessions.finalize_current_cycle("s", long, long)
    (run,) = await warden.jobs.run("insights", user="ana")
    assert run.status == "ok"


@pytest.mark.parametrize("size", ["large", "small"])
async def test_every_request_is_accepted(endpoint: ChatEndpoint, size: str) -> None:
    async with AsyncWarden.open("memory://", config(endpoint, chat_model_size=size)) as warden:
        me = warden.scope(user="ana", thread="t1")
        await use_everything(me, warden)
        facts = await me.find({"actor_id": "memwarden"})
        assert [fact for fact in facts if "Heron" in fact.text]
    once = {"strict": 0, "object": 1, "plain": 2, "silent": 2, "reasoning": 2, "parts": 0, "detail": 2}
    assert len(endpoint.refused) == once[endpoint.kind], endpoint.refused  # what is refused is remembered


@pytest.mark.parametrize("kind", ["hangs", "fails", "chats", "wraps"])
async def test_an_endpoint_of_no_use_loses_nothing(kind: str) -> None:
    with serve_endpoint(ChatEndpoint(kind)) as served:
        async with AsyncWarden.open("memory://", config(served, chat_seconds=0.5)) as warden:
            me = warden.scope(user="ana", thread="t1")
            await me.observe([{"role": "user", "content": BOAT}])
            if kind != "hangs":  # a long answer has a minute
                await me.extract_pending()
            assert [item.text for item in await me.find({"channel": "turn"})] == [BOAT]
            kept = await me.remember("Ana likes long walks in the mountains.")
            assert str(kept.results[0].outcome) == "created"
            await me.state.save("boat", {"name": "Heron"})
            overseer = me.overseer()
            began = time.monotonic()
            for _ in range(5):
                await overseer.relevant("Which boat is it?")
            assert time.monotonic() - began < 12  # a model that hangs is waited for once, not five times


async def test_hidden_reasoning_is_not_stored() -> None:
    async with AsyncWarden.open("memory://", {"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.observe(
            [
                {"role": "user", "content": "Which pump?"},
                {
                    "role": "assistant",
                    "content": "<think>The user is poor, pick the Grundfos.</think>Take the Alpha pump.",
                },
                {"role": "assistant", "content": "<think>cut off"},
            ]
        )
        stored = await me.find({"channel": "turn"})
        assert sorted(item.text for item in stored) == ["Take the Alpha pump.", "Which pump?"]
