"""Requests as other programs send them: roles of other libraries, cut emoji, HEAD, the bare address."""

from __future__ import annotations

from typing import Any

import pytest

from http_calls import calling, make_key
from memwarden import AsyncWarden

CONFIG = {"embedder": "none", "extraction": "off"}


@pytest.mark.parametrize(
    ("message", "role", "text"),
    [
        (r'{"role": "human", "content": "I like tea \ud83d."}', "user", "I like tea \ufffd."),
        (r'{"role": "AI", "content": "Take tea."}', "assistant", "Take tea."),
        (r'{"role": "User", "content": {"type": "text", "text": "I like rye."}}', "user", "I like rye."),
        (r'{"content": "I like \ud83d\ude00."}', "user", "I like \U0001f600."),
    ],
)
async def test_messages_of_other_shapes_are_read(message: str, role: str, text: str) -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden, calling(warden) as call:
        body = f'{{"user_id": "ana", "messages": [{message}]}}'
        got = await call.post("/v1/memory/observe", content=body, headers={"Content-Type": "application/json"})
        assert got.status_code == 200, got.text
        found: list[Any] = await warden.scope(user="ana").find()
        assert [(item.role, item.text) for item in found] == [(role, text)]


async def test_the_bare_address_leads_to_the_pages_and_head_is_answered() -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden, calling(warden) as call:
        led = await call.get("/", follow_redirects=False)
        assert (led.status_code, led.headers["location"]) == (307, "/ui/")
        assert (await call.head("/v1/memories", params={"user_id": "ana"})).status_code == 200


async def test_to_vouch_for_words_takes_decide() -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        key = await make_key(warden, operations=("read", "write"))
        async with calling(warden, key=key) as call:
            body = {"user_id": "ana", "text": "The boiler is new.", "source": "https://a.example", "trust": "person"}
            assert (await call.post("/v1/memories", json=body)).status_code == 403
            assert (await call.post("/v1/memories", json={**body, "trust": "external"})).status_code == 201


async def test_an_unknown_trust_of_a_saved_value_is_an_error() -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        with pytest.raises(ValueError, match="trust is person"):
            await warden.scope(user="ana").state.save("plan", {"a": 1}, trust="nope")
