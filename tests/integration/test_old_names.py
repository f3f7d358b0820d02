"""Names of the last release still work, and say what they are called now."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from memwarden import AsyncWarden, Warden
from memwarden.api.scope import OLD_NAMES
from memwarden.errors import Conflict, NotFound


@pytest.fixture
def warden() -> Iterator[Warden]:
    with Warden.open("memory://") as warden:
        yield warden


def test_a_turn_still_hears(warden: Warden) -> None:
    with warden.scope(user="ana", thread="t").turn([{"role": "user", "content": "Hello."}]) as turn:
        old: Any = turn
        with pytest.warns(DeprecationWarning, match="turn.record_response"):
            assert old.heard("Hi.") == "Hi."
    assert turn.answer == "Hi."


def test_a_task_still_reaches_a_state(warden: Warden) -> None:
    task: Any = warden.tiers.task("k")
    with pytest.warns(DeprecationWarning, match="task.enter_state"):
        assert task.reached("running") is False


def test_sessions_are_still_configured(warden: Warden) -> None:
    sessions: Any = warden.scope(user="ana").sessions
    with pytest.warns(DeprecationWarning, match="sessions.with_options"):
        sessions.configured(window_tokens=100)


def test_the_asynchronous_ones_too() -> None:
    async def use() -> None:
        async with AsyncWarden.open("memory://") as warden:
            me = warden.scope(user="ana", thread="t")
            turn: Any
            async with me.turn([{"role": "user", "content": "Hello."}]) as turn:
                with pytest.warns(DeprecationWarning, match="turn.record_response"):
                    turn.heard("Hi.")
            old: Any = me.sessions
            with pytest.warns(DeprecationWarning, match="sessions.with_options"):
                old.configured(window_tokens=100)

    asyncio.run(use())


@pytest.mark.parametrize("old", OLD_NAMES)
def test_verbs_that_moved_to_a_handle_work_under_their_old_names(warden: Warden, old: str) -> None:
    me: Any = warden.scope(user="ana", thread="t")
    (made,) = me.remember("Ana keeps bees.").results
    given: dict[str, tuple[Any, ...]] = {
        "undo": (1,),
        "release": (made.id,),
        "discard": (made.id,),
        "propose_context": ({"city": "Lisbon"},),
        "decide": ("unknown", True),
        "acknowledge": (made.id,),
        "feedback": (made.id, "used"),
    }
    named = {"rev": 1} if old == "feedback" else {}
    message = f"scope.{old} goes with the next release; use scope.{OLD_NAMES[old]}$"
    # It comes to the new verb, which may refuse it.
    with pytest.warns(DeprecationWarning, match=message) as warned, suppress(Conflict, NotFound):
        getattr(me, old)(*given.get(old, ()), **named)
    assert warned[0].filename == __file__


async def test_asynchronous_verbs_too() -> None:
    async with AsyncWarden.open("memory://") as warden:
        me: Any = warden.scope(user="ana")
        with pytest.warns(DeprecationWarning, match="scope.extract_pending"):
            await me.look_through()
        with pytest.warns(DeprecationWarning, match="scope.journal.history"):
            assert await me.history() == []
