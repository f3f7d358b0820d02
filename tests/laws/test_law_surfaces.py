"""L4: every surface returns the same items in the same order for the same words."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp_types import TextContent

from http_calls import calling
from law_stores import DEFAULTS, Note, as_messages, vocabulary
from memwarden import AsyncScope, AsyncWarden
from memwarden.surfaces.cli.main import run
from memwarden.surfaces.mcp.profiles import serve_scope

TOP = 5
_HREF = re.compile(r"""["/=]([0-9a-f]{8}-[0-9a-f-]{27})""")


async def call_mcp(client: Client, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    (part,) = (await client.call_tool(name, arguments)).content
    assert isinstance(part, TextContent)
    return dict(json.loads(part.text))


async def find_answered(me: AsyncScope, notes: Sequence[Note]) -> tuple[str, list[str]]:
    """Return a question with more than one result, and the ids of the results."""
    for note in notes:
        found = await me.query(note.question, top_k=TOP)
        if len(found.items) > 1:
            return note.question, [item.id for item in found.items]
    raise AssertionError("no question has several results")


def run_command(db: str, *words: str) -> dict[str, Any]:
    with redirect_stdout(io.StringIO()) as out:
        assert run([*words, "--user", "ana", "--json", "--db", db]) == 0
    return dict(json.loads(out.getvalue()))


@pytest.mark.parametrize("language", ["en", "ja"])
async def test_l4_every_surface_answers_alike(language: str, tmp_path: Path) -> None:
    notes = vocabulary(language).notes(1, 24)
    url = f"sqlite:///{tmp_path}/s.db"
    async with AsyncWarden.open(url, config=DEFAULTS) as warden:
        await warden.scope(user="ana", thread="earlier").observe(as_messages([note.text for note in notes]))
        me = warden.scope(user="ana", thread="now")
        question, wanted = await find_answered(me, notes)
        block = await me.context(question, 200)
        assert block.items
        async with calling(warden) as http:
            body = {"user_id": "ana", "query": question, "top_k": TOP}
            answer = (await http.post("/v1/memory/query", json=body)).json()
            assert [item["id"] for item in answer["items"]] == wanted
            body = {"user_id": "ana", "messages": question, "budget_tokens": 200}
            assert (await http.post("/v1/memory/context", json=body)).json()["text"] == block.text
            page = (await http.get("/ui/memories", params={"user": "ana", "q": question, "what": "all"})).text
            listed = list(dict.fromkeys(_HREF.findall(page)))
            assert listed[: len(wanted)] == wanted
        async with Client(serve_scope(warden, warden.scope(user="ana", thread="mcp"), "write")) as client:
            results = (await call_mcp(client, "memory_query", {"query": question, "top_k": TOP}))["results"]
            assert [item["id"] for item in results][: len(wanted)] == wanted


def test_l4_the_command_line_answers_like_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMWARDEN_EMBEDDER", "auto")
    monkeypatch.setenv("MEMWARDEN_VECTOR_SECONDS", "60")
    notes = vocabulary("en").notes(1, 24)
    url = f"sqlite:///{tmp_path}/s.db"

    async def ask() -> tuple[str, list[str], str]:
        async with AsyncWarden.open(url, config=DEFAULTS) as warden:
            await warden.scope(user="ana", thread="earlier").observe(as_messages([note.text for note in notes]))
            me = warden.scope(user="ana", thread="now")
            question, wanted = await find_answered(me, notes)
            return question, wanted, (await me.context(question, 200)).text

    question, wanted, text = asyncio.run(ask())
    found = run_command(url, "query", question, "--top-k", str(TOP))
    assert [item["id"] for item in found["items"]] == wanted
    assert run_command(url, "context", question, "--budget-tokens", "200")["text"] == text
