"""Extraction and consolidation of a large namespace give what they give for a small one, and read it not whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest

from memwarden import AsyncScope, AsyncWarden, clock
from memwarden.records import Namespace
from memwarden.testing import get_runtime
from memwarden.testing.scripted import ScriptedModel
from memwarden_bench import sentences

ABOVE = 50
SAID = (
    "I live in Ghent and my dentist is Dr Moser.",
    "That sounds lovely!",
    "My sister Ines plays the cello, she moved to Porto in May.",
    "Nice, how old is she?",
    "I am allergic to walnuts, and I work at the harbour office.",
    "Noted.",
)


def opened(url: str, chat: ScriptedModel | None = None, embedder: str = "wordllama") -> AsyncWarden:
    # Merging would end facts before consolidation sees them.
    config = {"search_above": ABOVE, "embedder": embedder, "extraction": "off", "merging": "auto"}
    return AsyncWarden.open(url, config=config, chat_model=chat)


async def fill(url: str, users: Iterable[str], embedder: str = "wordllama") -> None:
    """Give users the same memories. Those of nora are ready to be searched, and others are read into memory."""
    async with AsyncWarden.open(url, {"embedder": embedder, "extraction": "off"}) as warden:
        for user in users:
            for thread, messages in sentences.threads(sentences.turns(60)):
                await warden.scope(user=user, thread=thread).observe(messages)
            await warden.scope(user=user).remember("Nora lives in Bruges.", created_at="2024-01-10")
    async with opened(url, embedder=embedder) as warden:
        await warden.scope(user="nora").query("What about the canoe?")
        await get_runtime(warden).services.larges.wait_idle()
        assert await get_runtime(warden).services.larges.ready(Namespace("default", "user/nora"))


def refuse_whole(warden: AsyncWarden, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no namespace be read whole."""

    async def refuse(*asked: Any) -> None:
        raise AssertionError("the namespace is read whole")

    monkeypatch.setattr(get_runtime(warden).store, "scan", refuse)


async def stated(me: AsyncScope) -> list[tuple[Any, ...]]:
    found = await me.find({"channel": {"$ne": "turn"}}, limit=1_000)
    return sorted((item.text, str(item.channel), item.category, item.tags, item.valid_to is None) for item in found)


async def tell(me: AsyncScope) -> None:
    roles = ("user", "assistant")
    await me.observe(
        [
            {
                "role": roles[number % 2],
                "id": f"s{number}",
                "content": text,
                "created_at": f"2025-06-01T10:0{number}:00Z",
            }
            for number, text in enumerate(SAID)
        ]
    )
    await me.extract_pending()


@pytest.mark.parametrize("model", [False, True], ids=["rules", "model"])
async def test_facts_are_extracted_without_the_whole_namespace(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch, model: bool
) -> None:
    url = new_database()
    embedder = "wordllama" if model else "auto"
    await fill(url, ("nora", "bob"), embedder)
    kept, prompts = [], []
    for user in ("nora", "bob"):
        chat = ScriptedModel(json.dumps({"facts": [], "ended": []})) if model else None
        async with opened(url, chat, embedder) as warden:
            if user == "nora":
                refuse_whole(warden, monkeypatch)
            else:
                get_runtime(warden).services.larges.store = None
            me = warden.scope(user=user, thread="told")
            await tell(me)
            kept.append(await stated(me))
            prompts.append([call.prompt for call in chat.asked] if chat else [])
        monkeypatch.undo()
    assert kept[0] == kept[1]
    assert prompts[0] == prompts[1]
    if model:
        assert "Nora lives in Bruges." in prompts[0][0]
    else:
        assert any("Ghent" in text for text, *_ in kept[0])


async def test_facts_are_consolidated_without_the_whole_namespace(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_database()
    await fill(url, ("nora", "bob"))
    now = clock.now()
    async with AsyncWarden.open(url, {"merging": "off", "embedder": "wordllama"}) as warden:
        for user in ("nora", "bob"):
            me = warden.scope(user=user)
            for text in ("Ana lives in Berlin.", "Ana lives in Berlin", "Ana has 2 cats."):
                await me.remember(text, created_at=now - timedelta(days=9))
            await me.remember("Ana lives in Lisbon now.", created_at=now - timedelta(days=2))
    kept, verbs = [], []
    for user in ("nora", "bob"):
        async with opened(url) as warden:
            if user == "nora":
                refuse_whole(warden, monkeypatch)
            else:
                get_runtime(warden).services.larges.store = None
            (run,) = await warden.jobs.run("consolidate", user=user)
            verbs.append([change.verb for change in run.changes])
            kept.append(await stated(warden.scope(user=user)))
        monkeypatch.undo()
    assert verbs[0] == verbs[1]
    assert {"merge", "supersede"} & set(verbs[0])
    assert kept[0] == kept[1]
