"""Our callback in LiteLLM's client and router. Run by ``make adapters``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

litellm = pytest.importorskip("litellm")

from memwarden import AsyncWarden, ChatSettings, InvalidInput, MemwardenCallback, Warden  # noqa: E402
from upstream import Upstream  # noqa: E402

CONFIG = {"embedder": "none"}
FACT, OTHER, QUESTION = "I am allergic to peanuts.", "My sister Maria lives in Lyon.", "What am I allergic to?"
SECONDS = 10.0


@pytest.fixture(autouse=True)
def callbacks() -> Iterator[list[Any]]:
    """LiteLLM's list of callbacks, empty before and after."""
    litellm.callbacks = []
    yield litellm.callbacks
    litellm.callbacks = []


def ask(upstream: Upstream, text: str, **given: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": text}]
    return {
        "model": "openai/gpt-5-mini", "messages": said, "api_base": upstream.url + "/v1", "api_key": "none",
        "max_retries": 0, **given,
    }  # fmt: skip


async def turns_of(warden: AsyncWarden, user: str, number: int) -> list[tuple[str | None, str, str | None]]:
    """The turns of a user, once there are as many as expected: LiteLLM reports an answer after it was given."""
    ends_at = asyncio.get_running_loop().time() + SECONDS
    while True:
        turns = await warden.scope(user=user).find({"channel": "turn"}, order_by="written", descending=False)
        if len(turns) >= number or asyncio.get_running_loop().time() > ends_at:
            return [(turn.role, turn.text, turn.thread_id) for turn in turns]
        await asyncio.sleep(0.02)


async def test_the_first_session_is_in_the_prompt_of_the_third(
    tmp_path: Path, callbacks: list[Any], upstream: Upstream
) -> None:
    upstream.says("Noted.")
    for number, (day, text) in enumerate((("monday", FACT), ("tuesday", OTHER), ("friday", QUESTION))):
        async with AsyncWarden.open(f"sqlite:///{tmp_path / 'm.db'}", config=CONFIG) as warden:
            callbacks[:] = [MemwardenCallback(warden, user_from="user")]
            for user, said in (("ana", text), ("bob", QUESTION)):
                await litellm.acompletion(**ask(upstream, said, user=user, litellm_session_id=day))
                turns = await turns_of(warden, user, 2 * number + 2)
                assert turns[-2:] == [("user", said, day), ("assistant", "Noted.", day)]
    prompts = [str(prompt) for prompt in upstream.prompts()]
    assert FACT in prompts[4]
    assert "<memories>" not in prompts[0]
    assert not [prompt for prompt in prompts[1::2] if "peanuts" in prompt or "Lyon" in prompt]


async def test_a_stream_is_stored_as_an_answer(callbacks: list[Any], upstream: Upstream) -> None:
    upstream.says("No peanuts for you, Ana.", letters=3)
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        callbacks[:] = [MemwardenCallback(warden.scope(user="ana", thread="t"))]
        stream: AsyncIterator[Any] = await litellm.acompletion(**ask(upstream, FACT, stream=True))
        pieces = [piece async for piece in stream]
        assert len(pieces) > 3
        assert await turns_of(warden, "ana", 2) == [("user", FACT, "t"), ("assistant", "No peanuts for you, Ana.", "t")]


async def test_retries_and_fallbacks_of_a_router_store_words_once(callbacks: list[Any], upstream: Upstream) -> None:
    upstream.fails(500, times=1)
    upstream.says("Noted.")
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        callback = MemwardenCallback(warden, user_from="user")
        callbacks[:] = [callback]
        where = {"api_base": upstream.url + "/v1", "api_key": "none", "max_retries": 0}
        models = [
            {"model_name": name, "litellm_params": {"model": f"openai/{name}", **where}} for name in ("first", "second")
        ]
        router = litellm.Router(
            model_list=models, fallbacks=[{"first": ["second"]}], num_retries=0, disable_cooldowns=True
        )
        for text in (FACT, QUESTION):
            said = [{"role": "user", "content": text}]
            await router.acompletion(model="first", messages=said, user="ana", litellm_session_id="t")
            assert await callback.wait_for_answers()
        expected = [FACT, "Noted.", QUESTION, "Noted."]
        assert [text for _, text, _ in await turns_of(warden, "ana", 4)] == expected
        assert FACT in str(upstream.prompts()[-1])


async def test_a_failed_call_keeps_what_the_user_said(callbacks: list[Any], upstream: Upstream) -> None:
    upstream.fails(500)
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        callback = MemwardenCallback(warden.scope(user="ana"))
        callbacks[:] = [callback]
        with pytest.raises(litellm.InternalServerError):
            await litellm.acompletion(**ask(upstream, FACT))
        assert [text for _, text, _ in await turns_of(warden, "ana", 1)] == [FACT]
        assert await callback.wait_for_answers()


async def test_a_cancelled_call_keeps_what_the_user_said(callbacks: list[Any], upstream: Upstream) -> None:
    upstream.says("Noted.")
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        callbacks[:] = [MemwardenCallback(warden.scope(user="ana"))]
        call = asyncio.ensure_future(litellm.acompletion(**ask(upstream, FACT)))
        assert await turns_of(warden, "ana", 1)
        call.cancel()
        await asyncio.wait([call])
        assert (await turns_of(warden, "ana", 1))[0][1] == FACT


async def test_many_users_at_once_over_a_blocking_warden(callbacks: list[Any], upstream: Upstream) -> None:
    upstream.says("Noted.")
    with Warden.open("memory://", config=CONFIG) as warden:
        callback = MemwardenCallback(warden, user_from="user")
        callbacks[:] = [callback]
        users = [f"user{number}" for number in range(8)]
        calls = (litellm.acompletion(**ask(upstream, f"My code is {user}.", user=user)) for user in users)
        await asyncio.gather(*calls)
        assert await callback.wait_for_answers()
        for user in users:
            turns = warden.scope(user=user).find({"channel": "turn"})
            assert sorted(turn.text for turn in turns) == [f"My code is {user}.", "Noted."]


async def test_a_call_that_names_no_user_or_hides_its_messages_is_refused(
    callbacks: list[Any], upstream: Upstream
) -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        callbacks[:] = [MemwardenCallback(warden, user_from="user")]
        with pytest.raises(InvalidInput, match="names no user"):
            await litellm.acompletion(**ask(upstream, FACT))
        given = ask(upstream, FACT, user="ana")
        with pytest.raises(InvalidInput, match="by their name"):
            await litellm.acompletion(given.pop("model"), given.pop("messages"), **given)
        with pytest.raises(InvalidInput, match="user_from"):
            MemwardenCallback(warden, user_from="tenant")
    assert upstream.prompts() == []


SETTINGS = ChatSettings(use_memory=True)


def said(answer: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": "When does the stall open?"}]
    return {"model": "gpt-4o", "messages": messages, "mock_response": answer}


def test_a_turn_takes_answers_and_streams_of_blocking_calls() -> None:
    with Warden.open("memory://", config=CONFIG) as warden:
        ana = warden.scope(user="ana")
        with ana.turn(said("At eight."), SETTINGS) as turn:
            assert list(turn.stream(litellm.completion(**turn.request, stream=True)))
        with ana.turn(said("At nine."), SETTINGS) as turn:
            turn.record_response(litellm.completion(**turn.request))
        assert [item.text for item in ana.find({"role": "assistant"})] == ["At nine.", "At eight."]


async def test_a_turn_takes_answers_and_streams_of_awaited_calls() -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        ana = warden.scope(user="ana")
        async with ana.turn(said("At eight."), SETTINGS) as turn:
            assert [event async for event in turn.stream(await litellm.acompletion(**turn.request, stream=True))]
        async with ana.turn(said("At nine."), SETTINGS) as turn:
            turn.record_response(await litellm.acompletion(**turn.request))
        assert [item.text for item in await ana.find({"role": "assistant"})] == ["At nine.", "At eight."]
