"""A stream that is aborted after any number of its tokens stores exactly what was delivered, by whatever way (C7)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from memwarden import AsyncWarden, Warden
from memwarden.conversation import turn as turns

TOKENS = [
    "Dear", " Mia", ",", "\n\n", "1", ".", " Rice", " cakes", " —", " no", " pea", "nuts", "!", " 🥜", "👩\u200d", "👧",
    " ", "", "Zażółć", " gęślą", " jaźń", "\t", "日本", "語", "。", "\n", "```", "py", "\n", "x", " =", " 1", "\n",
    "```",
    "\n", "<", "b", ">", "Thanks", "</", "b", ">", " ", " ", "Yours", ",", "\n", "the", " kitchen", ".",
]  # fmt: skip
ASKED = {"role": "user", "content": "Which snacks are there?"}


class Gone(Exception):
    """What breaks off."""


def test_there_are_fifty_tokens_of_every_sort() -> None:
    assert len(TOKENS) == 50


def event(token: str) -> dict[str, Any]:
    """A token as OpenAI's chat completions stream it."""
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": token}}]}


def word(said: Any) -> str:
    return str(said["choices"][0]["delta"]["content"])


def upstream(tokens: int) -> Iterator[dict[str, Any]]:
    """The stream, which breaks off by itself after so many tokens."""
    yield {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"role": "assistant"}}]}
    yield from map(event, TOKENS[:tokens])
    raise Gone


def told(turn: Any, tokens: int) -> Generator[str]:
    """An application's own generator around a turn."""
    with turn:
        for item in turn.stream(upstream(tokens)):
            if "content" in item["choices"][0]["delta"]:
                yield word(item)


def leave(turn: Any, tokens: int) -> list[str]:
    heard: list[str] = []
    with turn:
        for item in turn.stream(map(event, TOKENS)):
            if tokens == 0:
                break  # the turn has no way to know that nobody read the one that it passed on
            heard.append(word(item))
            if len(heard) == tokens:
                break
    return heard if tokens else [TOKENS[0]]


def fail(turn: Any, tokens: int) -> list[str]:
    heard: list[str] = []

    def read() -> None:
        with turn:
            for item in turn.stream(map(event, TOKENS)):
                heard.append(word(item))
                if len(heard) >= tokens:
                    raise Gone

    with pytest.raises(Gone):
        read()
    return heard


def lose_upstream(turn: Any, tokens: int) -> list[str]:
    heard: list[str] = []
    with pytest.raises(Gone):
        heard.extend(told(turn, tokens))
    return TOKENS[:tokens]


def close(turn: Any, tokens: int) -> list[str]:
    words = told(turn, len(TOKENS))
    heard = [next(words) for _ in range(tokens)]
    words.close()
    return heard


def throw_away(turn: Any, tokens: int) -> list[str]:
    words = told(turn, len(TOKENS))
    heard = [next(words) for _ in range(tokens)]
    del words  # which ends it at once, in CPython
    return heard


@pytest.mark.parametrize("abort", [leave, fail, lose_upstream, close, throw_away])
def test_what_was_delivered_is_stored(tmp_path: Path, abort: Callable[[Any, int], list[str]]) -> None:
    with Warden.open(f"sqlite:///{tmp_path}/m.db", {"embedder": "none"}) as warden:
        delivered = {}
        for tokens in range(len(TOKENS) + 1):
            me = warden.scope(user="ana", thread=f"t{tokens}")
            delivered[tokens] = abort(me.turn([ASKED]), tokens)
        for tokens, heard in delivered.items():
            turns = warden.scope(user="ana").find({"thread_id": f"t{tokens}"}, order_by="written", descending=False)
            check(
                [(turn.role, turn.text) for turn in turns], heard, begun=tokens > 0 or abort not in (close, throw_away)
            )


def test_a_token_that_is_taken_in_too_late_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tee_stream(events: Any, take: Callable[[Any], str], *, words: bool) -> Iterator[Any]:
        for event in events:
            yield event
            take(event)

    monkeypatch.setattr(turns, "tee_stream", tee_stream)
    with pytest.raises(AssertionError, match="Dear"):
        test_what_was_delivered_is_stored(tmp_path, close)


def check(turns: list[Any], heard: list[str], *, begun: bool = True) -> None:
    """What is stored of a thread: all words to the last sign. begun: if the turn was, its question is there."""
    if not begun:
        assert (turns, heard) == ([], [])
        return
    whole = "".join(heard)
    assert turns == [("user", ASKED["content"]), *([("assistant", whole)] if whole.strip() else [])]


@pytest.mark.parametrize(("pieces", "stored"), [(["A ", "\ud83d", "\ude00!"], "A 😀!"), (["A ", "\ud83d"], "A \ufffd")])
def test_a_character_that_the_provider_split(pieces: list[str], stored: str) -> None:
    with Warden.open("memory://", {"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t")
        with me.turn([ASKED]) as turn:
            assert list(turn.stream(pieces)) == pieces
        assert [item.text for item in me.find({"role": "assistant"})] == [stored]


async def later(tokens: int, waits: asyncio.Event | None) -> AsyncIterator[dict[str, Any]]:
    """The stream, which hangs after so many tokens, or breaks off."""
    for item in TOKENS[:tokens]:
        yield event(item)
    if waits is None:
        raise Gone
    waits.set()
    await asyncio.sleep(60)


async def cancel_upstream(turn: Any, tokens: int) -> list[str]:
    return await _cancelled(turn, tokens, tokens, abort_here=False)


async def cancel_reader(turn: Any, tokens: int) -> list[str]:
    """Who reads waits for something of his own."""
    return await _cancelled(turn, tokens, len(TOKENS), abort_here=True)


async def _cancel_when(waits: asyncio.Event, reading: Coroutine[Any, Any, None]) -> None:
    task = asyncio.create_task(reading)
    await waits.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def _cancelled(turn: Any, tokens: int, sent: int, *, abort_here: bool) -> list[str]:
    heard, waits = list[str](), asyncio.Event()

    async def read() -> None:
        async with turn:
            async for item in turn.stream(later(sent, waits)):
                heard.append(word(item))
                if len(heard) == tokens and abort_here:
                    waits.set()
                    await asyncio.sleep(60)

    await _cancel_when(waits, read())
    return heard


async def run_out_of_time(turn: Any, tokens: int) -> list[str]:
    heard: list[str] = []

    async def read() -> None:
        async with turn, asyncio.timeout(None) as limit:
            async for item in turn.stream(later(tokens, asyncio.Event())):
                heard.append(word(item))
                if len(heard) == tokens:
                    limit.reschedule(0)

    with pytest.raises(TimeoutError):
        await read()
    return heard


async def lose_later(turn: Any, tokens: int) -> list[str]:
    heard: list[str] = []

    async def read() -> None:
        async with turn:
            async for item in turn.stream(later(tokens, None)):
                heard.append(word(item))

    with pytest.raises(Gone):
        await read()
    return heard


async def close_later(turn: Any, tokens: int) -> list[str]:
    async def words() -> AsyncIterator[str]:
        async with turn:
            async for item in turn.stream(later(len(TOKENS), None)):
                yield word(item)

    reading = words()
    heard = [await anext(reading) for _ in range(tokens)]
    await reading.aclose()  # type: ignore[attr-defined]  # a generator
    return heard


@pytest.mark.parametrize("abort", [cancel_upstream, cancel_reader, run_out_of_time, lose_later, close_later])
async def test_what_was_delivered_is_stored_later(
    tmp_path: Path, abort: Callable[[Any, int], Awaitable[list[str]]]
) -> None:
    async with AsyncWarden.open(f"sqlite:///{tmp_path}/m.db", {"embedder": "none"}) as warden:
        delivered = {}
        for tokens in range(1 if abort in (run_out_of_time, cancel_reader) else 0, len(TOKENS) + 1):
            me = warden.scope(user="ana", thread=f"t{tokens}")
            delivered[tokens] = await abort(me.turn([ASKED]), tokens)
            assert len(delivered[tokens]) == tokens
        for tokens, heard in delivered.items():
            found = await warden.scope(user="ana").find(
                {"thread_id": f"t{tokens}"}, order_by="written", descending=False
            )
            check([(item.role, item.text) for item in found], heard, begun=tokens > 0 or abort is not close_later)


async def leave_chat(stream: Any, tokens: int) -> list[str]:
    heard: list[str] = []
    async with stream:
        async for item in stream:
            heard.append(item)
            if len(heard) == tokens:
                break
    return heard


async def fail_in_chat(stream: Any, tokens: int) -> list[str]:
    heard: list[str] = []

    async def read() -> None:
        async with stream:
            async for item in stream:
                heard.append(item)
                if len(heard) == tokens:
                    raise Gone

    with pytest.raises(Gone):
        await read()
    return heard


async def cancel_chat(stream: Any, tokens: int) -> list[str]:
    heard, waits = list[str](), asyncio.Event()

    async def read() -> None:
        async with stream:
            async for item in stream:
                heard.append(item)
                if len(heard) == tokens:
                    waits.set()
                    await asyncio.sleep(60)

    await _cancel_when(waits, read())
    return heard


async def lose_chat(stream: Any, tokens: int) -> list[str]:
    heard: list[str] = []

    async def read() -> None:
        async for item in stream:
            heard.append(item)

    with pytest.raises(Gone):
        await read()
    return heard


def speaking(words: list[str], *, breaks_off: bool) -> Callable[[Any], AsyncIterator[str]]:
    """A model that says these words."""

    async def pieces(messages: Any) -> AsyncIterator[str]:
        for word in words:
            yield word
        if breaks_off:
            raise Gone

    return pieces


@pytest.mark.parametrize(
    "abort",
    [
        leave_chat,
        cancel_chat,
        pytest.param(fail_in_chat, marks=pytest.mark.slow),
        pytest.param(lose_chat, marks=pytest.mark.slow),
    ],
)
async def test_what_a_chat_delivered_is_stored_and_in_its_session(
    tmp_path: Path, abort: Callable[[Any, int], Awaitable[list[str]]]
) -> None:
    words, lost = [item for item in TOKENS if item], abort is lose_chat
    async with AsyncWarden.open(f"sqlite:///{tmp_path}/m.db", {"embedder": "none"}) as warden:
        for tokens in range(1, len(words) + 1):
            me = warden.scope(user="ana", thread=f"t{tokens}")
            model = speaking(words[:tokens] if lost else words, breaks_off=lost)
            heard = await abort(me.chat(model).stream(str(ASKED["content"])), tokens)
            assert heard == words[:tokens]
            found = await me.find({"channel": "turn", "thread_id": f"t{tokens}"}, order_by="written", descending=False)
            check([(item.role, item.text) for item in found], heard)
            session = (await me.sessions.load(f"t{tokens}"))["conversation_memory"]["exchanges"]
            assert session == [{"user_question": ASKED["content"], "final_answer": "".join(heard)}]
