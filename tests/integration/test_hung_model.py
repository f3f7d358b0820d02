"""A chat model that hangs costs its answers, and nothing else: no thread that reads and writes need, and no end."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memwarden import AsyncWarden, Warden
from memwarden.concurrency.isolation import isolated
from memwarden.errors import ModelUnavailable
from memwarden.models.json_answers import ask_json
from memwarden.testing import get_async_twin

MAX_CALLS = 4

SOON = 0.05
THREADS = min(32, (os.cpu_count() or 1) + 4)
"""So many the loop's own executor has."""


class Hung:
    """Stands for a remote model that answers no more: a real one cannot be made to hang."""

    name = "hung"

    def __init__(self) -> None:
        self.wakes = threading.Event()
        self.asked = 0

    def complete(self, *said: Any, **more: Any) -> str:
        self.asked += 1
        self.wakes.wait(600)
        return '{"answer": 1}'


@pytest.fixture
def hung() -> Iterator[Hung]:
    model = Hung()
    yield model
    model.wakes.set()


async def ask(model: Any, seconds: float = SOON) -> Any:
    return await ask_json(model, "s", "p", schema={}, read=lambda answer: answer, max_tokens=5, seconds=seconds)


async def ask_patiently(model: Any, seconds: float = SOON) -> Any:
    """Ask as a job does, which waits for no pause of a failed model."""
    with suppress(ModelUnavailable):
        return await ask_json(
            model, "s", "p", schema={}, read=lambda answer: answer, max_tokens=5, seconds=seconds, patient=True
        )
    return None


async def test_no_thread_of_reads_and_writes_hangs_with_it(hung: Hung, tmp_path: Path) -> None:
    async with AsyncWarden.open(f"json:///{tmp_path / 'm'}", {"embedder": "none"}, chat_model=hung) as warden:
        await asyncio.gather(*(ask(hung) for _ in range(2 * THREADS)))
        me = warden.scope(user="eve")
        async with asyncio.timeout(100):
            assert (await me.remember("Eve lives in Oslo. " * 400)).results[0].id
            assert (await me.query("Where does Eve live?")).items


async def test_an_interactive_call_leaves_a_model_that_was_late_alone(hung: Hung) -> None:
    for _ in range(3):
        assert await ask(hung) is None
    assert hung.asked == 1


async def test_while_it_hangs_it_is_asked_no_more_and_then_again(hung: Hung) -> None:
    for _ in range(3 * MAX_CALLS):
        assert await ask_patiently(hung) is None
    assert hung.asked == MAX_CALLS
    with pytest.raises(ModelUnavailable, match="still busy"):
        await isolated(hung, lambda: 1)
    assert await isolated(object(), lambda: 1) == 1  # another model is not held up
    hung.wakes.set()
    async with asyncio.timeout(100):
        while await ask_patiently(hung, 5.0) is None:  # noqa: ASYNC110 - there is nothing to wait for but its answer
            await asyncio.sleep(0.01)
    assert hung.asked == MAX_CALLS + 1


async def test_who_asks_while_others_do_waits_for_a_turn() -> None:
    most, now, lock = [0], [0], threading.Lock()

    def work() -> int:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.01)
        with lock:
            now[0] -= 1
        return 1

    model = object()
    assert sum(await asyncio.gather(*(isolated(model, work) for _ in range(4 * MAX_CALLS)))) == 4 * MAX_CALLS
    assert most[0] <= MAX_CALLS


@pytest.mark.parametrize("error", [ValueError("no"), StopIteration("no"), ModelUnavailable("no")])
async def test_what_it_raises_comes_to_who_asked(error: Exception) -> None:
    def work() -> int:
        raise error

    with pytest.raises((ValueError, RuntimeError, ModelUnavailable), match="no"):
        await isolated(object(), work)


def test_a_warden_closes_while_it_hangs(hung: Hung) -> None:
    with Warden.open("memory://", {"embedder": "none"}, chat_model=hung) as warden:
        me = warden.scope(user="ana")
        me.state.save("kudos", [1])
        overseer = me.overseer()
        get_async_twin(overseer).seconds = SOON
        overseer.relevant("kudos list")
        assert hung.asked == 1
        begun = time.monotonic()
    assert time.monotonic() - begun < 100
