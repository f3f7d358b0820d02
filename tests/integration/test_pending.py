"""``pending``: answers state how many texts still lack a vector, and wait for them one second at most."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from http_calls import calling
from memwarden import AsyncWarden
from memwarden.models.side_by_side import SideBySidePieceEmbedder

pytest.importorskip("onnxruntime")

TEXTS = ["The oboe is out of tune.", "The spare key hangs behind the barrel."]
ASKED = [{"role": "user", "content": "Where is the spare key?"}]


@pytest.fixture
def slow_model(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A model that takes as long for texts as the list says, in seconds."""
    seconds = [6.0]
    encode = SideBySidePieceEmbedder.encode

    def encode_slowly(embedder: SideBySidePieceEmbedder, texts: Sequence[str]) -> Any:
        time.sleep(seconds[0])
        return encode(embedder, texts)

    monkeypatch.setattr(SideBySidePieceEmbedder, "encode", encode_slowly)
    return seconds


async def test_an_answer_waits_a_second_and_states_what_is_pending(tmp_path: Path, slow_model: list[float]) -> None:
    async with AsyncWarden.open(f"sqlite:///{tmp_path}/m.db", {"embedder": "auto"}) as warden, calling(warden) as http:
        me = warden.scope(user="ana", thread="t")
        await me.query("Where is the spare key?")  # loads the models
        await me.observe([{"role": "user", "content": text} for text in TEXTS])
        began = time.monotonic()
        found = await me.query("Where is the spare key?")
        assert 0.5 < time.monotonic() - began < 5.5  # the model takes six
        assert found.pending == len(TEXTS)
        assert found.items[0].memory is not None
        assert found.items[0].memory.text == TEXTS[1]  # by its words
        assert (await http.get("/readyz")).json()["pending"] == len(TEXTS) == warden.pending
        slow_model[0] = 0.0
        while warden.pending:
            await me.query("Is the oboe in tune?")
        block = await me.context(ASKED)
        assert block.pending == 0
        body = {"user_id": "ana", "query": "Where is the spare key?"}
        assert (await http.post("/v1/memory/query", json=body)).json()["pending"] == 0


async def test_without_an_embedder_nothing_is_pending() -> None:
    async with AsyncWarden.open("memory://", {"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t")
        await me.observe([{"role": "user", "content": text} for text in TEXTS])
        assert (await me.query("Where is the spare key?")).pending == warden.pending == 0
