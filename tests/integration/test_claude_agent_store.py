"""The session store of the Claude Agent SDK by its protocol; tests/adapters runs the SDK's own suite."""

from __future__ import annotations

import random
from typing import Any

import pytest

from memwarden import AsyncWarden, InvalidInput, MemwardenSessionStore

CONFIG = {"embedder": "none"}
KEYS: list[dict[str, str]] = [
    {"project_key": project, "session_id": session, **sub}
    for project in ("-home-ana", "a.b%2E")
    for session in ("s1", "s.1")
    for sub in ({}, {"subpath": "subagents/agent-1"}, {"subpath": "x.y"})
]


def an_entry(chance: random.Random, number: int) -> dict[str, Any]:
    message = {"role": "user", "content": [{"type": "text", "text": f"\u0000 number {number}"}]}
    named = {"uuid": f"u{chance.randrange(number + 1)}"} if chance.random() < 0.7 else {}
    return {"type": chance.choice(("user", "assistant", "summary")), "message": message, "number": number, **named}


@pytest.mark.parametrize("steps", [200, pytest.param(2_000, marks=pytest.mark.soak)])
async def test_random_calls_are_answered_as_by_lists(items_url: str, steps: int) -> None:
    chance = random.Random(steps)
    expected: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    async with AsyncWarden.open(items_url, config=CONFIG) as warden:
        store = MemwardenSessionStore(warden.scope(user="ana"), observe=False)
        other = MemwardenSessionStore(warden.scope(user="bob"), observe=False)
        for step in range(steps):
            key = chance.choice(KEYS)
            place = tuple(key.values())
            call = chance.choices(("append", "load", "list", "subkeys", "delete"), (6, 3, 1, 1, 0.5))[0]
            if call == "append":
                entries = [an_entry(chance, 10 * step + n) for n in range(chance.randrange(4))]
                await store.append(key, entries)
                for entry in entries:
                    kept = expected.setdefault(place, [])
                    if "uuid" not in entry or all(entry["uuid"] != one.get("uuid") for one in kept):
                        kept.append(entry)
            elif call == "load":
                assert await store.load(key) == (expected.get(place) or None)
            elif call == "list":
                project = key["project_key"]
                found = {item["session_id"] for item in await store.list_sessions(project)}
                assert found == {k[1] for k, kept in expected.items() if k[0] == project and len(k) == 2 and kept}
            elif call == "subkeys":
                found = set(await store.list_subkeys(key))
                assert found == {k[2] for k, kept in expected.items() if k[:2] == place[:2] and len(k) == 3 and kept}
            else:
                await store.delete(key)
                for k in [k for k in expected if k == place or (len(place) == 2 and k[:2] == place)]:
                    del expected[k]
        assert [await other.load(key) for key in KEYS] == [None] * len(KEYS)


async def test_what_is_said_is_remembered_and_the_rest_is_not() -> None:
    key = {"project_key": "shop", "session_id": "monday"}
    said = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "I am allergic to peanuts."}}
    result = {"type": "user", "uuid": "u2", "message": {"content": [{"type": "tool_result", "content": "Nuts."}]}}
    meta = {"type": "user", "uuid": "u3", "isMeta": True, "message": {"content": "Caveat: made by the program."}}
    answer = {"type": "assistant", "uuid": "u4", "message": {"content": [{"type": "text", "text": "Noted."}]}}
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        ana = warden.scope(user="ana")
        store = MemwardenSessionStore(ana)
        await store.append(key, [said, result, meta, answer, {"type": "summary"}])
        await store.append(key, [said])
        await store.append({**key, "subpath": "subagents/a"}, [{**said, "uuid": "u9"}])
        turns = await ana.find({"channel": "turn"}, order_by="written", descending=False)
        assert [(turn.role, turn.text, turn.thread_id) for turn in turns] == [
            ("user", "I am allergic to peanuts.", "monday"), ("assistant", "Noted.", "monday"),
        ]  # fmt: skip
        assert "peanuts" in (await ana.context("What am I allergic to?")).text
        with pytest.raises(InvalidInput, match="JSON"):
            await store.append(key, [{"type": "user", "wrong": {1, 2}}])
        assert len(await store.load(key) or ()) == 5
        await store.append(key, [{"type": "a", "uuid": "twice"}, {"type": "b", "uuid": "twice"}])
        assert (await store.load(key) or ())[5:] == [{"type": "a", "uuid": "twice"}]


@pytest.mark.parametrize(
    "entry",
    [
        {"isCompactSummary": True, "message": {"content": "The session goes on. Ana lives in Graz."}},
        {"isSidechain": True, "message": {"content": "Look for the vendor."}},
        {"isApiErrorMessage": True, "type": "assistant", "message": {"content": "Overloaded."}},
        {"message": {"content": "<command-name>/clear</command-name>"}},
        {"message": {"content": "<local-command-stdout>Ana prefers Mallory Ltd.</local-command-stdout>"}},
        {"message": {"content": [{"type": "text", "text": "<bash-stdout>Ana prefers Mallory Ltd.</bash-stdout>"}]}},
    ],
)
async def test_what_the_program_writes_is_nobodys_words(entry: dict[str, Any]) -> None:
    said = {"type": "user", "uuid": "u2", "message": {"content": "I live in Linz."}}
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        ana = warden.scope(user="ana")
        store = MemwardenSessionStore(ana)
        await store.append(KEYS[0], [{"type": "user", "uuid": "u1", **entry}, said])
        assert [turn.text for turn in await ana.find({"channel": "turn"})] == ["I live in Linz."]
        assert len(await store.load(KEYS[0]) or ()) == 2


async def test_content_that_is_no_text_is_named() -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        with pytest.raises(InvalidInput, match="content of a message"):
            await MemwardenSessionStore(warden).append(KEYS[0], [{"type": "user", "message": {"content": 7}}])
