"""Names of the last release still work, and say what they are called now."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from memwarden import AsyncWarden, Warden


@pytest.fixture
def warden() -> Iterator[Warden]:
    with Warden.open("memory://") as warden:
        yield warden


def test_a_turn_still_hears(warden: Warden) -> None:
    with warden.scope(user="ana", thread="t").turn([{"role": "user", "content": "Hello."}]) as turn:
        with pytest.warns(DeprecationWarning, match="turn.record_response"):
            assert turn.heard("Hi.") == "Hi."
    assert turn.answer == "Hi."


def test_a_task_still_reaches_a_state(warden: Warden) -> None:
    task = warden.tiers.task("k")
    with pytest.warns(DeprecationWarning, match="task.enter_state"):
        assert task.reached("running") is False


def test_sessions_are_still_configured(warden: Warden) -> None:
    with pytest.warns(DeprecationWarning, match="sessions.with_options"):
        warden.scope(user="ana").sessions.configured(window_tokens=100)


def test_the_asynchronous_ones_too() -> None:
    async def use() -> None:
        async with AsyncWarden.open("memory://") as warden:
            me = warden.scope(user="ana", thread="t")
            async with me.turn([{"role": "user", "content": "Hello."}]) as turn:
                with pytest.warns(DeprecationWarning, match="turn.record_response"):
                    turn.heard("Hi.")
            with pytest.warns(DeprecationWarning, match="sessions.with_options"):
                me.sessions.configured(window_tokens=100)

    asyncio.run(use())
