"""No answer is lost without a word: raw responses, sound, streams of both sorts, answers without anything."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Self

import pytest

from memwarden import Warden
from memwarden.api.blocking import BoundScope
from memwarden.errors import InvalidInput

ASKED = [{"role": "user", "content": "Where is the harbour?"}]


@pytest.fixture
def me() -> Iterator[BoundScope]:
    with Warden.open("memory://", {"embedder": "none"}) as warden:
        yield warden.scope(user="ana", thread="t")


def completion(**message: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": None} | message}]}


def stored(me: BoundScope) -> list[str]:
    return [item.text for item in me.find({"role": "assistant"}, order_by="written", descending=False)]


class BothWays:
    """A stream that is iterated either way, as litellm gives it."""

    def __init__(self, *words: str) -> None:
        self.events = iter([{"choices": [{"index": 0, "delta": {"content": word}}]} for word in words])

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return next(self.events)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        raise AssertionError("it was read as nobody who blocks reads it")


def test_a_raw_response_is_what_it_holds(me: BoundScope) -> None:
    raw = SimpleNamespace(http_response=object(), parse=lambda: completion(content="By the sea."))
    with me.turn(ASKED) as turn:
        assert turn.record_response(raw) == "By the sea."
    assert stored(me) == ["By the sea."]


def test_a_raw_response_that_has_to_be_awaited_is_told(me: BoundScope) -> None:
    async def parse() -> Any:
        return completion(content="By the sea.")

    with me.turn(ASKED) as turn:
        assert turn.record_response(SimpleNamespace(http_response=object(), parse=parse)) == ""
    assert "await" in str(turn.failures[0])


def test_the_words_of_an_answer_in_sound_are_stored(me: BoundScope) -> None:
    with me.turn(ASKED) as turn:
        turn.record_response(completion(audio={"id": "a", "transcript": "By the sea."}))
    with me.turn({"model": "m", "input": "And the park?"}) as turn:
        part = {"type": "output_audio", "transcript": "Behind it."}
        turn.record_response({"output": [{"type": "message", "content": [part]}]})
    assert stored(me) == ["By the sea.", "Behind it."]


@pytest.mark.parametrize(
    ("request_", "event"),
    [
        (ASKED, {"choices": [{"index": 0, "delta": {"audio": {"transcript": "By the sea."}}}]}),
        ({"model": "m", "input": "Where?"}, {"type": "response.output_audio_transcript.delta", "delta": "By the sea."}),
    ],
)
def test_the_words_of_sound_are_stored_from_a_stream(me: BoundScope, request_: Any, event: Any) -> None:
    with me.turn(request_) as turn:
        assert list(turn.stream([event])) == [event]
    assert stored(me) == ["By the sea."]


def test_a_blocking_turn_reads_a_stream_of_both_sorts(me: BoundScope) -> None:
    with me.turn(ASKED) as turn:
        assert "".join(turn.words(BothWays("By ", "the sea."))) == "By the sea."
    assert stored(me) == ["By the sea."]


def test_an_answer_with_nothing_in_it_is_told(me: BoundScope) -> None:
    with me.turn(ASKED) as turn:
        turn.record_response(completion())
    assert "neither words nor calls" in str(turn.failures[0])
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    with me.turn(ASKED) as turn:
        turn.record_response(completion(tool_calls=[call]))
    assert turn.failures == ()


def test_a_response_in_the_place_of_a_stream_is_an_error(me: BoundScope) -> None:
    with me.turn(ASKED) as turn, pytest.raises(InvalidInput, match="record_response"):
        turn.stream(SimpleNamespace(choices=[]))


def test_a_session_takes_long_questions_without_end(me: BoundScope) -> None:
    pasted = "The harbour was rebuilt in 1901. " * 1_000
    for number in range(12):
        me.sessions.prepare_messages_for_agent("s", f"{number}: {pasted}")
        me.sessions.finalize_current_cycle("s", f"{number}: {pasted}", "Fine.")
    memory = me.sessions.load("s")["conversation_memory"]
    assert len(memory["exchanges"]) == 10
    assert all(len(item["user_question"].encode()) <= 2_000 for item in memory["exchanges"])
