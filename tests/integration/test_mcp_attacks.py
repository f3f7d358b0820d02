"""The corpus of attacks through every door of a model: what is caught comes to no prompt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from memwarden import AsyncWarden
from memwarden.security.injection import find_suspicion
from memwarden.surfaces.hooks.session import CodingSession
from memwarden.surfaces.mcp.profiles import serve_scope

CORPUS = Path(__file__).parents[1] / "evaluation/orders/attacks.txt"
CONFIG = {"embedder": "wordllama"}


def attacks() -> list[str]:
    """What the detector catches of the attacks, in ten languages."""
    lines = [line for line in CORPUS.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    texts = [line.replace("\\n", "\n").split("\t")[2] for line in lines]
    return [text for text in texts if find_suspicion(text)]


def shown(answer: Any) -> str:
    """All that a model reads of an answer."""
    return str(answer.model_dump(mode="json"))


async def refused(client: Client, tool: str, **arguments: Any) -> None:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error, (tool, arguments)


@pytest.fixture
def url() -> str:
    return "memory://"


async def test_no_attack_gets_in_through_a_tool(async_warden: AsyncWarden) -> None:
    """Remembered, saved by key, as a correction, or as a node of the graph."""
    corpus = attacks()
    assert len(corpus) >= 100
    warden = AsyncWarden.open("memory://", CONFIG)
    me = warden.scope(user="ana", thread="mcp")
    async with Client(serve_scope(warden, me, profile="full")) as client:
        kept = await client.call_tool("memory_remember", {"content": "Ana's stall is on the market in Porto."})
        assert kept.structured_content is not None
        for text in corpus:
            await refused(client, "memory_remember", content=text)
            await refused(client, "saveState", key="note", value={"text": text})
            await refused(client, "memory_update", id=kept.structured_content["id"], content=text)
        told = ""
        for tool, arguments in (
            ("memory_query", {"query": "Ana's stall", "top_k": 20}),
            ("memory_context", {"message": "Where is Ana's stall?"}),
            ("memory_history", {"id": kept.structured_content["id"]}),
            ("listStateKeys", {"include_values": True}),
            ("review_list", {}),
            ("memory_delta", {"since_rev": 0}),
        ):
            told += shown(await client.call_tool(tool, arguments))
        assert "Porto" in told
        assert not [text for text in corpus if text in told]
    graph = AsyncWarden.open("memory://", CONFIG)
    async with Client(serve_scope(graph, graph.scope(user="ana"), profile="graph")) as client:
        for text in corpus:
            node = {"name": "Ana", "entityType": "person", "observations": [text]}
            await refused(client, "create_entities", entities=[node])
        assert (await client.call_tool("read_graph", {})).structured_content == {"entities": [], "relations": []}


async def test_no_attack_gets_in_through_the_output_of_a_command(async_warden: AsyncWarden) -> None:
    session = CodingSession(async_warden, "shop")
    failed = {"hook_event_name": "PostToolUseFailure", "session_id": "s1"}
    for number, text in enumerate(attacks()):
        await session.answer({**failed, "tool_input": {"command": f"make step{number}"}, "error": text})
    await session.answer({**failed, "tool_input": {"command": "make all"}, "error": "No module named psycopg"})
    kept = await async_warden.backend("project/shop").list_all()
    told = json.dumps([item.payload for item in kept], ensure_ascii=False)
    told += json.dumps(await session.answer({"hook_event_name": "SessionStart"}), ensure_ascii=False)
    assert "No module named psycopg" in told
    assert "[left out: reads like an order]" in told
    assert not [text for text in attacks() if text in told or " ".join(text.split()) in told]
