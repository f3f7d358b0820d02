"""Vectors follow words: what a slow model has not read yet is found by its words, and soon by its sense."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from memwarden import AsyncWarden
from memwarden.errors import ModelUnavailable
from memwarden.models import choice as embedder_choice
from memwarden.recall.index import encode


class SlowEmbedder:
    """Stands for a slow model: two directions, told by one word; holds every call until it is let go."""

    name = "slow-test"
    dimensions = 2
    english_only = False
    slow = True
    ready = True

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.fails = False
        self.calls = 0

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.calls += len(texts)
        if self.fails:
            raise ModelUnavailable("the endpoint is down")
        assert self.gate.wait(200)
        near = [any(word in text for word in ("dog", "beagle")) for text in texts]
        return np.array([[1, 0] if dog else [0, 1] for dog in near], np.float32)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowEmbedder]:
    made = SlowEmbedder()
    monkeypatch.setattr(embedder_choice, "make_local", lambda choice: made)
    yield made
    made.gate.set()


def said(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


def open_store(path: Path) -> AsyncWarden:
    return AsyncWarden.open(f"sqlite:///{path / 'store.db'}", {"embedder": "minilm"})


async def vectors(warden: AsyncWarden) -> list[bytes | None]:
    me = warden.scope(user="ana")
    return [row.vector for row in (await warden.store.scan(me.who.namespace)).rows]


async def test_observe_does_not_wait_for_a_slow_model_and_words_answer_meanwhile(
    tmp_path: Path, model: SlowEmbedder
) -> None:
    async with open_store(tmp_path) as warden:
        me = warden.scope(user="ana", thread="a")
        await me.query("anything")
        model.gate.clear()
        await me.observe(said("My beagle is called Rolf.", "The bus leaves at nine."))
        assert await vectors(warden) == [None, None]
        model.gate.set()
        found = await me.query("What is my beagle called?")
        assert "Rolf" in found.text
        assert None not in await vectors(warden)


async def test_vectors_are_made_when_the_writer_pauses_or_at_once_for_a_question(
    tmp_path: Path, model: SlowEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode, "QUIET_SECONDS", 90.0)
    monkeypatch.setattr(encode, "MAX_DELAY", 90.0)
    async with open_store(tmp_path) as warden:
        me = warden.scope(user="ana", thread="a")
        for text in ("My beagle is called Rolf.", "The bus leaves at nine.", "The tram leaves at ten."):
            await me.observe(said(text))
        assert model.calls == 0
        assert "Rolf" in (await me.query("What is my beagle called?")).text
        assert None not in await vectors(warden)
        await me.observe(said("The ferry leaves at noon."))
    # Closing waits for no pause.


async def test_what_was_left_is_made_when_the_store_is_read_again(tmp_path: Path, model: SlowEmbedder) -> None:
    model.fails = True
    async with open_store(tmp_path) as warden:
        await warden.scope(user="ana", thread="a").observe(said("My beagle is called Rolf.", "…"))
    model.fails = False
    async with open_store(tmp_path) as warden:
        assert await vectors(warden) == [None, None]
        assert (await warden.scope(user="ana", thread="b").query("beagle Rolf")).items
        assert None not in await vectors(warden)


async def test_a_vector_made_by_another_process_is_taken_and_not_made_again(
    tmp_path: Path, model: SlowEmbedder
) -> None:
    async with open_store(tmp_path) as first, open_store(tmp_path) as second:
        await first.scope(user="ana", thread="a").observe(said("My beagle is called Rolf."))
        await first.scope(user="ana", thread="b").query("beagle")
        calls = model.calls
        await second.scope(user="ana", thread="b").query("beagle")
        assert model.calls == calls + 1  # the question alone


async def test_a_text_without_words_is_asked_for_once(tmp_path: Path, model: SlowEmbedder) -> None:
    async with open_store(tmp_path) as warden:
        me = warden.scope(user="ana", thread="a")
        await me.observe(said("…"))
        await me.query("beagle")
        calls = model.calls
        await me.query("dog")
        assert model.calls == calls + 1


async def test_a_turn_that_is_forgotten_while_its_vector_is_made_stays_forgotten(
    tmp_path: Path, model: SlowEmbedder
) -> None:
    async with open_store(tmp_path) as warden:
        me = warden.scope(user="ana", thread="a")
        await me.query("anything")
        model.gate.clear()
        written = await me.observe(said("My beagle is called Rolf.", "The bus leaves at nine."))
        threading.Timer(0.3, model.gate.set).start()
        await me.forget(str(written.results[0].id))
        assert "Rolf" not in (await me.query("beagle", threshold=0.0)).text
        assert [memory.text for memory in await me.find({"channel": "turn"})] == ["The bus leaves at nine."]
