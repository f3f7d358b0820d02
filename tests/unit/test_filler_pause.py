"""The pause in which vectors wait for a writer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from memwarden.recall.index import encode
from memwarden.recall.index.encode import SignalFiller
from memwarden.records import Namespace

ANA = Namespace("t", "user/ana")


class CountingFiller(SignalFiller):
    """Counts the rows of each batch instead of making their vectors."""

    def __init__(self) -> None:
        anything: Any = SimpleNamespace()
        super().__init__(anything, anything, anything, 5.0)
        self.batches: list[int] = []

    async def _fill(self, namespace: Namespace, ids: Sequence[str]) -> None:
        self.batches.append(len(ids))

    def _tidy(self, namespace: Namespace) -> None:
        pass


async def test_rows_of_a_writer_are_made_together_after_the_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode, "QUIET_SECONDS", 0.02)
    filler = CountingFiller()
    for number in range(10):
        filler.add(ANA, [str(number)])
        await asyncio.sleep(0)
    assert filler.lacking(ANA) == 10
    await asyncio.sleep(0.1)
    assert filler.batches == [10]
    assert filler.lacking(ANA) == 0


async def test_a_writer_that_never_pauses_gets_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode, "QUIET_SECONDS", 30.0)
    monkeypatch.setattr(encode, "MAX_DELAY", 0.02)
    filler = CountingFiller()
    for number in range(20):
        filler.add(ANA, [str(number)])
        await asyncio.sleep(0.005)
    assert filler.batches


async def test_a_question_ends_the_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode, "QUIET_SECONDS", 30.0)
    monkeypatch.setattr(encode, "MAX_DELAY", 30.0)
    filler = CountingFiller()
    for _ in range(2):  # also after an earlier question
        filler.add(ANA, ["one", "two"])
        await asyncio.sleep(0)
        async with asyncio.timeout(20):
            assert await filler.wait_for_recent(ANA)
    assert filler.batches == [2, 2]


async def test_close_ends_the_pause_without_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode, "QUIET_SECONDS", 30.0)
    filler = CountingFiller()
    filler.add(ANA, ["one"])
    await asyncio.sleep(0)
    async with asyncio.timeout(20):
        await filler.close()
    assert filler.batches == []


class NamingFiller(CountingFiller):
    """Names the rows of each batch, and takes a moment for each."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[tuple[Namespace, Sequence[str]]] = []

    async def _fill(self, namespace: Namespace, ids: Sequence[str]) -> None:
        self.made.append((namespace, ids))
        await asyncio.sleep(0.01)


async def test_what_a_question_waits_for_comes_before_other_rows_and_the_last_said_first() -> None:
    filler, others = NamingFiller(), [Namespace("t", f"user/{number}") for number in range(5)]
    for each in others:
        filler.add(each, ["other"])
    filler.add(ANA, [str(number) for number in range(100)])
    assert await filler.wait(ANA, 5.0)
    order = [namespace for namespace, _ in filler.made]
    assert order.count(ANA) >= 2
    assert order[: order.count(ANA)] == [ANA] * order.count(ANA)
    assert filler.made[0][1][-1] == "99"
    assert max(len(ids) for _, ids in filler.made) < 50  # so that a second is enough for some of them
    assert await filler.wait(None, 5.0)
    assert {namespace for namespace, _ in filler.made} == {ANA, *others}


async def test_whoever_waits_without_a_limit_holds_up_nobody() -> None:
    filler, other = NamingFiller(), Namespace("t", "user/other")
    filler.add(ANA, [str(number) for number in range(200)])
    filler.add(other, ["one"])
    assert await filler.wait(ANA, None)
    assert [namespace for namespace, _ in filler.made].index(other) <= 2
