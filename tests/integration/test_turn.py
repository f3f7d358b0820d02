"""A turn around an application's own call of a model: what is in the prompt, what is stored, however it ends."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memwarden import AsyncWarden, Warden
from memwarden.api.scope import AsyncScope
from memwarden.concurrency import tasks as concurrency_tasks
from memwarden.conversation import turn as turns
from memwarden.conversation.settings import ChatSettings
from memwarden.errors import InvalidInput, NotKept, StoreUnavailable
from memwarden.records import Memory
from memwarden.testing import get_runtime, get_store, run_on_loop

MIA = "My daughter Mia is allergic to peanuts and I need ideas for snacks."
ASKED = "Which snacks can my daughter Mia, who is allergic to peanuts, take to school?"
WORDS = [f"word{number} " for number in range(12)]
ON = ChatSettings(use_memory=True)
OWN = replace(
    ON,
    memory_context_prefix="Known of old:",
    memory_context_suffix="",
    memory_format="* {{summary}}",
    memory_injection_mode="user_prefix",
)


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def assistant(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def said(found: list[Memory]) -> list[tuple[str | None, str]]:
    return [(item.role, item.text) for item in found]


def turns_of(warden: Warden, thread: str = "t1") -> list[tuple[str | None, str]]:
    filters = {"channel": "turn", "thread_id": thread}
    return said(warden.scope(user="ana").find(filters, order_by="written", descending=False))


async def later_turns_of(me: AsyncScope) -> list[tuple[str | None, str]]:
    return said(await me.find({"channel": "turn"}, order_by="written", descending=False))


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Warden]:
    """A warden on one kind of store, where the kind makes no difference."""
    with Warden.open(f"sqlite:///{tmp_path}/m.db", {"embedder": "none"}) as opened:
        yield opened


@pytest.fixture
async def me(tmp_path: Path) -> AsyncIterator[AsyncScope]:
    async with AsyncWarden.open(f"sqlite:///{tmp_path}/m.db", {"embedder": "none"}) as warden:
        yield warden.scope(user="ana", thread="t1")


def down(monkeypatch: pytest.MonkeyPatch, warden: Warden | AsyncWarden, *names: str) -> None:
    """From now on the store refuses these calls, as one does that cannot be reached."""

    async def refuse(*args: Any, **named: Any) -> Any:
        raise StoreUnavailable("the database cannot be reached")

    for name in names:
        monkeypatch.setattr(warden.store, name, refuse)


def test_memories_are_in_the_prompt_and_both_sides_are_stored(warden: Warden) -> None:
    warden.scope(user="ana", thread="t0").observe([user(MIA)])
    messages = [{"role": "system", "content": "Be brief."}, user(ASKED)]
    with warden.scope(user="ana", thread="t1").turn(messages) as turn:
        assert turn.block
        assert turn.messages == [{"role": "system", "content": f"Be brief.\n\n{turn.block.text}"}, user(ASKED)]
        assert "allergic to peanuts" in turn.block.text
        assert turns_of(warden) == [("user", ASKED)]  # before the model is asked
        assert (
            turn.record_response({"choices": [{"message": {"role": "assistant", "content": "Rice cakes."}}]})
            == "Rice cakes."
        )
    assert messages == [{"role": "system", "content": "Be brief."}, user(ASKED)]
    assert turns_of(warden) == [("user", ASKED), ("assistant", "Rice cakes.")]
    assert [item.outcome for item in turn.stored] == ["created", "created"]
    assert turn.failures == ()


def test_a_conversation_that_is_handed_over_whole_is_stored_once(warden: Warden) -> None:
    me, messages = warden.scope(user="ana", thread="t1"), []
    for number in range(4):
        messages.append(user(f"Question {number}"))
        with me.turn(messages) as turn:
            messages.append({"role": "assistant", "content": turn.record_response("The same answer.")})
    assert turns_of(warden) == [(message["role"], message["content"]) for message in messages]


def test_without_memory_everything_passes_untouched(warden: Warden) -> None:
    me, messages = warden.scope(user="ana", thread="t1"), [user(MIA)]
    with me.turn(messages, ChatSettings()) as turn:
        assert turn.messages is messages
        assert list(turn.stream(["Rice ", "cakes."])) == ["Rice ", "cakes."]
    assert turns_of(warden) == []


def test_the_arguments_of_a_call_go_in_and_come_out(warden: Warden) -> None:
    me = warden.scope(user="ana", thread="t0")
    me.observe([user(MIA)])
    request = {"model": "m", "system": "Be brief.", "messages": [user(ASKED)]}
    with warden.scope(user="ana", thread="t1").turn(request) as turn:
        assert turn.request == {**request, "system": f"Be brief.\n\n{turn.block.text}"}
        assert turn.messages == [user(ASKED)]
        turn.record_response({"content": [{"type": "text", "text": "Rice cakes."}, {"type": "tool_use", "name": "x"}]})
    assert turns_of(warden) == [("user", ASKED), ("assistant", "Rice cakes.")]


def test_several_answers_of_one_turn_keep_their_order(warden: Warden) -> None:
    with warden.scope(user="ana", thread="t1").turn([user("What is the weather?")]) as turn:
        turn.record_response("Let me look.")
        assert "".join(turn.stream(["It ", "rains."])) == "It rains."
        turn.record_response("")
    assert turns_of(warden)[1:] == [("assistant", "Let me look."), ("assistant", "It rains.")]


def test_ids_of_the_application_are_kept(warden: Warden) -> None:
    me = warden.scope(user="ana", thread="t1")
    messages = [user("One?", id="q1")]
    with me.turn(messages) as turn:
        messages.append({"role": "assistant", "content": turn.record_response("One.", id="a1"), "id": "a1"})
    with me.turn([*messages, user("Two?", id="q2")]) as turn:
        turn.record_response("Two.", id="a2")
    found = me.find({"channel": "turn"}, order_by="written", descending=False)
    assert [each.sources[0] for each in found] == ["q1", "a1", "q2", "a2"]


def test_a_turn_that_is_repeated_with_its_key_is_stored_once(warden: Warden) -> None:
    me = warden.scope(user="ana", thread="t1")
    history = [user("Earlier"), {"role": "assistant", "content": "Sure"}]
    for answer in ("One.", "One.", "Another one."):
        with me.turn([*history, user("Again")], key="k1") as turn:
            turn.record_response(answer)
    assert turns_of(warden) == [("user", "Again"), ("assistant", "One."), ("assistant", "Another one.")]


@pytest.mark.parametrize("begun", ['{"a":', [{"type": "text", "text": '{"a":'}]])
@pytest.mark.parametrize("form", ["anthropic", "openai_chat"])
def test_with_a_key_an_answer_that_is_begun_is_no_answer_yet(warden: Warden, form: str, begun: Any) -> None:
    request = {"messages": [user("Earlier"), assistant("Sure"), user("As JSON?"), assistant(begun)]}
    me = warden.scope(user="ana", thread="t1")
    for _ in range(2):
        with me.turn(request, form=form, key="k1") as turn:
            turn.record_response("1}")
    assert turns_of(warden) == [("user", "As JSON?"), ("assistant", '{"a":1}')]
    with me.turn([*request["messages"][2:3], assistant('{"a":1}'), user("And b?")]) as turn:
        turn.record_response("2")
    assert [words for _, words in turns_of(warden)] == ["As JSON?", '{"a":1}', "And b?", "2"]


def test_with_a_key_an_answer_that_calls_tools_is_one(warden: Warden) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    looks = assistant("Let me look.") | {"tool_calls": [call]}
    with warden.scope(user="ana", thread="t1").turn([user("Rain?"), looks], key="k2") as turn:
        turn.record_response("It rains.")
    assert turns_of(warden) == [("assistant", "It rains.")]


@pytest.mark.parametrize("late", ["stream", "words"])
def test_a_stream_that_is_read_after_its_turn_is_an_error_at_once(warden: Warden, late: str) -> None:
    me = warden.scope(user="ana", thread="t1")

    def handler() -> Iterator[str]:
        with me.turn([user("Tell me")]) as turn:
            return iter(getattr(turn, late)(iter(WORDS)))

    heard: list[str] = []
    with pytest.raises(InvalidInput, match="the turn is over"):
        heard.extend(handler())
    assert (heard, turns_of(warden)) == ([], [("user", "Tell me")])


async def test_a_stream_that_is_read_after_its_warden_is_an_error_at_once(tmp_path: Path) -> None:
    url, heard = f"sqlite:///{tmp_path}/m.db", list[str]()
    async with AsyncWarden.open(url, {"embedder": "none"}) as warden:
        turn = warden.scope(user="ana", thread="t1").turn([user("Tell me")])
        await turn.__aenter__()
        stream = turn.stream(events())
        heard.append(await anext(stream))
    with pytest.raises(InvalidInput, match="the turn is over"):
        heard.append(await anext(stream))
    await turn.__aexit__(None, None, None)
    assert heard == ["word0 "]
    with Warden.open(url, {"embedder": "none"}) as warden:
        assert turns_of(warden) == [("user", "Tell me"), ("assistant", "word0 ")]


@pytest.mark.parametrize("words", range(0, len(WORDS) + 1, 4))
def test_a_stream_that_is_left_stores_what_was_delivered(warden: Warden, words: int) -> None:
    delivered = []
    with warden.scope(user="ana", thread="t1").turn([user("Tell me")]) as turn:
        for number, piece in enumerate(turn.stream(iter([*WORDS, "and so on"]))):
            delivered.append(piece)
            if number == words:
                break
    assert turns_of(warden) == [("user", "Tell me"), ("assistant", "".join(delivered))]


def broken_off(turn: Any, words: int) -> Generator[str]:
    """An application's own generator around a turn."""
    with turn:
        yield from turn.stream(iter(WORDS[:words]))
        raise ConnectionError("the upstream is gone")


def test_a_stream_that_breaks_off_stores_what_was_delivered(warden: Warden) -> None:
    turn = warden.scope(user="ana", thread="t1").turn([user("Tell me")])
    with pytest.raises(ConnectionError):
        list(broken_off(turn, 3))
    assert turns_of(warden) == [("user", "Tell me"), ("assistant", "word0 word1 word2 ")]


def test_a_generator_that_is_closed_or_thrown_away_stores_what_was_delivered(warden: Warden) -> None:
    me = warden.scope(user="ana", thread="t1")
    closed = broken_off(me.turn([user("Tell me")]), 5)
    assert next(closed) == "word0 "
    closed.close()
    dropped = broken_off(me.turn([user("And this?")]), 5)
    assert [next(dropped), next(dropped)] == ["word0 ", "word1 "]
    del dropped
    gc.collect()
    assert turns_of(warden) == [
        ("user", "Tell me"),
        ("assistant", "word0 "),
        ("user", "And this?"),
        ("assistant", "word0 word1 "),
    ]


def test_a_generator_that_nobody_closes_is_stored_when_the_warden_is(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    with Warden.open(url, {"embedder": "none"}) as warden:
        left = broken_off(warden.scope(user="ana", thread="t1").turn([user("Tell me")]), 5)
        assert next(left) == "word0 "
    with pytest.raises(InvalidInput, match="the turn is over"):
        list(left)
    with Warden.open(url, {"embedder": "none"}) as warden:
        assert turns_of(warden) == [("user", "Tell me"), ("assistant", "word0 ")]


def test_a_generator_found_unused_on_the_loops_thread_is_stored(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    with Warden.open(url, {"embedder": "none"}) as warden:
        kept = [broken_off(warden.scope(user="ana", thread="t1").turn([user("Tell me")]), 5)]
        next(kept[0])

        async def drop() -> None:
            kept.clear()  # the generator ends here, on the thread of the loop

        run_on_loop(warden, drop())
    with Warden.open(url, {"embedder": "none"}) as warden:
        assert turns_of(warden) == [("user", "Tell me"), ("assistant", "word0 ")]


async def events(pause: asyncio.Event | None = None, words: list[str] = WORDS) -> AsyncIterator[str]:
    for piece in words:
        yield piece
    if pause is not None:
        pause.set()
        await asyncio.sleep(60)


async def test_a_task_that_is_cancelled_stores_what_was_delivered(me: AsyncScope) -> None:
    waiting = asyncio.Event()

    async def talk() -> None:
        async with me.turn([user("Tell me")]) as turn:
            async for _ in turn.stream(events(waiting)):
                pass

    task = asyncio.create_task(talk())
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await later_turns_of(me) == [("user", "Tell me"), ("assistant", "".join(WORDS))]


async def test_who_is_cancelled_while_it_is_stored_stores_it_and_is_cancelled(
    me: AsyncScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, storing = get_store(me), asyncio.Event()
    apply = store.apply

    async def slow(batch: Any) -> Any:
        storing.set()
        await asyncio.sleep(0.05)
        return await apply(batch)

    async def talk() -> None:
        async with me.turn([user("Tell me")]) as turn:
            turn.record_response("All of it.")
            monkeypatch.setattr(store, "apply", slow)

    task = asyncio.create_task(talk())
    await storing.wait()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await later_turns_of(me) == [("user", "Tell me"), ("assistant", "All of it.")]


async def test_an_async_generator_that_is_closed_stores_what_was_delivered(me: AsyncScope) -> None:
    async def told() -> AsyncIterator[str]:
        async with me.turn([user("Tell me")]) as turn:
            async for piece in turn.stream(events()):
                yield piece

    stream: Any = told()
    assert [await anext(stream), await anext(stream)] == ["word0 ", "word1 "]
    await stream.aclose()
    assert await later_turns_of(me) == [("user", "Tell me"), ("assistant", "word0 word1 ")]


def test_a_loop_that_ends_stores_what_was_delivered(tmp_path: Path) -> None:
    """``asyncio.run`` cancels every task, those that store as well."""
    url = f"sqlite:///{tmp_path}/m.db"
    config = {"embedder": "none"}

    async def main() -> None:
        warden = await AsyncWarden.open(url, config).start()
        waiting = asyncio.Event()

        async def talk() -> None:
            try:
                async with warden.scope(user="ana", thread="t1").turn([user("Tell me")]) as turn:
                    async for _ in turn.stream(events(waiting)):
                        pass
            finally:
                await warden.close()

        tasks.append(asyncio.create_task(talk()))
        await waiting.wait()

    tasks: list[asyncio.Task[None]] = []
    asyncio.run(main())
    with Warden.open(url, config) as warden:
        assert turns_of(warden) == [("user", "Tell me"), ("assistant", "".join(WORDS))]


async def test_work_is_begun_again_when_it_was_broken_off_itself() -> None:
    begun: list[asyncio.Task[Any] | None] = []

    async def work() -> str:
        begun.append(asyncio.current_task())
        await asyncio.sleep(0.01)
        return "done"

    task = asyncio.create_task(concurrency_tasks.shielded(work))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert begun[0] is not None
    begun[0].cancel()
    assert await task == "done"
    assert len(begun) == 2


def test_a_turn_goes_out_without_memories_when_they_cannot_be_found(
    warden: Warden, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    me = warden.scope(user="ana", thread="t1")
    with monkeypatch.context() as patch:
        down(patch, warden, "apply", "scan", "head")
        with caplog.at_level(logging.WARNING), me.turn([user(MIA)]) as turn:
            assert turn.messages == [user(MIA)]
            assert not turn.block
            patch.undo()  # it is back before the answer is there
            turn.record_response("Rice cakes.")
    assert [type(each) for each in turn.failures] == [StoreUnavailable] * 2
    assert turns_of(warden) == [("user", MIA), ("assistant", "Rice cakes.")]
    assert "goes on" in caplog.text
    assert "Mia" not in caplog.text
    assert any(each.status == "error" and each.reason == "StoreUnavailable" for each in me.journal.events())


def test_what_could_not_be_stored_is_told_after_the_answer(warden: Warden, monkeypatch: pytest.MonkeyPatch) -> None:
    me = warden.scope(user="ana", thread="t1")
    with monkeypatch.context() as patch:
        turn = me.turn([user(MIA)])
        turn.__enter__()
        turn.record_response("Rice cakes.")
        down(patch, warden, "apply")
        with pytest.raises(NotKept) as told:
            turn.__exit__(None, None, None)
        assert isinstance(told.value.__cause__, StoreUnavailable)
        assert told.value.messages == ({"role": "assistant", "content": "Rice cakes."},)
        with pytest.raises(ConnectionError) as failed:
            list(broken_off(me.turn([user(MIA), user("And?")]), 2))
        assert "could not be stored" in failed.value.__notes__[0]
    me.observe(told.value.messages)
    assert turns_of(warden) == [("user", MIA), ("assistant", "Rice cakes.")]


def test_a_store_that_hangs_does_not_hold_up_the_conversation(warden: Warden, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(*args: Any, **named: Any) -> Any:
        await asyncio.sleep(60)

    me = warden.scope(user="ana", thread="t1")
    monkeypatch.setattr(turns, "MAX_SECONDS_BEFORE", 0.05)
    monkeypatch.setattr(turns, "MAX_SECONDS_AFTER", 0.05)
    with monkeypatch.context() as patch:
        for name in ("apply", "head", "scan"):
            patch.setattr(warden.store, name, hang)
        with pytest.raises(NotKept) as told, me.turn([user(MIA)]) as turn:
            turn.record_response("Rice cakes.")
    assert [each["content"] for each in told.value.messages] == [MIA, "Rice cakes."]
    reasons = [(each.node, each.reason) for each in me.journal.events()]
    assert ("context", "TimeoutError") in reasons


async def test_a_search_that_takes_too_long_goes_on_beside(me: AsyncScope, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large namespace is read once, however long that takes; and a store that hangs gathers no searches."""
    await me.observe([user(MIA)])
    ready, begun = asyncio.Event(), []
    scan = get_store(me).scan

    async def slow(*args: Any) -> Any:
        begun.append(args)
        await ready.wait()
        return await scan(*args)

    monkeypatch.setattr(get_store(me), "scan", slow)
    monkeypatch.setattr(turns, "MAX_SECONDS_BEFORE", 0.1)
    for _ in range(3):
        async with me.turn([user(ASKED)]) as turn:
            assert [type(failure) for failure in turn.failures] == [TimeoutError]
    assert len(begun) == 1
    ready.set()
    await asyncio.wait(get_runtime(me).late.values())
    async with me.turn([user(ASKED)]) as turn:
        assert turn.failures == ()
        assert turn.block


class Odd:
    """No response of anybody."""


def test_an_answer_that_cannot_be_read_ends_no_turn(warden: Warden) -> None:
    odd = [Odd(), "Rice ", {"choices": 7}, "cakes.", None]
    with warden.scope(user="ana", thread="t1").turn([user(MIA)]) as turn:
        assert turn.record_response(Odd()) == ""
        assert list(turn.stream(odd)) == odd
    assert turns_of(warden) == [("user", MIA), ("assistant", "Rice cakes.")]
    assert turn.failures


@pytest.mark.parametrize("settings", [ON, replace(ON, memory_injection_mode="user_prefix"), OWN])
def test_what_was_put_in_is_never_stored(warden: Warden, settings: ChatSettings) -> None:
    """The application keeps the prompt as its history, and the model repeats the block, whole and cut off."""
    warden.scope(user="ana", thread="t0").observe([user(MIA)])
    me, messages = warden.scope(user="ana", thread="t1"), []
    for number, ending in enumerate((None, -20, None)):
        messages.append(user(f"{ASKED} {number}"))
        with me.turn(messages, settings) as turn:
            assert turn.block
            messages = list(turn.messages)
            answer = f"Rice cakes. {number}\n{turn.block.text[:ending]}"
            messages.append({"role": "assistant", "content": turn.record_response(answer)})
    assert turns_of(warden) == [
        pair for number in range(3) for pair in (("user", f"{ASKED} {number}"), ("assistant", f"Rice cakes. {number}"))
    ]


def facts(warden: Warden) -> list[str]:
    found = warden.scope(user="ana").find({"channel": "semantic"}, order_by="written", descending=False)
    return [item.text for item in found]


@pytest.mark.parametrize("extraction", ["off", "every_turn"])
def test_the_thread_is_looked_through_as_the_turn_says(extraction: str) -> None:
    """Whatever the warden's own setting is: the turn's takes its place."""
    with Warden.open("memory://", {"extraction": extraction, "embedder": "auto"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        periodic = replace(ON, memory_extraction_interval=2)
        with me.turn([user(MIA)], periodic) as turn:
            turn.record_response("Rice cakes.")
        assert facts(warden) == []
        assert turn.kept is None
        with me.turn([user("I work as a nurse at St Mary's hospital in Porto.")], periodic) as turn:
            turn.record_response("A hard job.")
        known = len(facts(warden))
        assert known
        assert turn.kept is not None
        for mode in ("on_save", "llm_triggered"):
            with me.turn(
                [user("My son Paul has been allergic to walnuts for years.")], replace(ON, memory_extraction_mode=mode)
            ):
                pass
        assert len(facts(warden)) == known
        with me.turn([user("Now then.")]) as turn:
            turn.settings = replace(ON, memory_extraction_mode="every_turn")
        assert len(facts(warden)) > known


def test_a_turn_that_fails_is_looked_through_later(warden: Warden) -> None:
    every = replace(ON, memory_extraction_mode="every_turn")
    with pytest.raises(ConnectionError), warden.scope(user="ana", thread="t1").turn([user(MIA)], every):
        raise ConnectionError
    assert facts(warden) == []


@pytest.mark.parametrize("wrong", ["text", 7, [], [7], {"model": "m"}])
def test_what_is_no_request_is_refused_before_anything_happens(warden: Warden, wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        warden.scope(user="ana").turn(wrong)


def test_a_turn_is_used_once(warden: Warden) -> None:
    turn = warden.scope(user="ana").turn([user("Hm")])
    with pytest.raises(InvalidInput, match="not open"):
        turn.record_response("early")
    with turn:
        turn.end()
        turn.end()
    uses: list[Callable[[], Any]] = [
        turn.__enter__,
        lambda: turn.record_response("late"),
        lambda: turn.stream(["late"]),
    ]
    for use in uses:
        with pytest.raises(InvalidInput, match=r"once|not open"):
            use()
    with pytest.raises(InvalidInput, match="ChatSettings"):
        turn.settings = {"use_memory": True}  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ({"rol": "user", "content": MIA}, "messages[1].role is one of user, assistant, "),
        (user(MIA) | {"role": "foo"}, "not 'foo'"),
        (user(MIA) | {"role": MIA}, "not str"),
        ({"role": "user"}, "messages[1].content is missing"),
        ({"role": "user", "content": {"text": MIA}}, "messages[1].content is text or a list of parts, not dict"),
    ],
)
def test_a_malformed_message_is_told(warden: Warden, caplog: pytest.LogCaptureFixture, bad: Any, why: str) -> None:
    me = warden.scope(user="ana", thread="t1")
    with caplog.at_level(logging.WARNING), me.turn([user("My name is Hal"), bad]) as turn:
        assert turn.messages[-1] == bad
        turn.record_response("okay")
    (failure,) = turn.failures
    assert isinstance(failure, InvalidInput)
    assert why in str(failure)
    assert why in caplog.text
    assert "Mia" not in caplog.text
    assert turns_of(warden) == [("user", "My name is Hal"), ("assistant", "okay")]


def test_what_has_no_words_is_no_failure(warden: Warden) -> None:
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function"}]}
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}
    told = {"role": "tool", "tool_call_id": "c1", "content": "4"}
    with warden.scope(user="ana", thread="t1").turn([user(""), image, called, told, user("Four?")]) as turn:
        turn.record_response("Yes.")
    assert turn.failures == ()


def test_the_log_says_why_an_answer_cannot_be_read(warden: Warden, caplog: pytest.LogCaptureFixture) -> None:
    me = warden.scope(user="ana", thread="t1")
    with caplog.at_level(logging.WARNING), me.turn([user(MIA)]) as turn:
        turn.record_response({"text": "Rice cakes."})
    assert "InvalidInput: a response is a text or has 'choices', unlike this dict" in caplog.text


def test_settings_that_leave_memory_off_are_told(warden: Warden, caplog: pytest.LogCaptureFixture) -> None:
    turns.tell_that_memory_is_off.cache_clear()
    me = warden.scope(user="ana", thread="t1")
    for settings in (ChatSettings(), None, ON):
        me.turn([user(MIA)], settings)
    assert "use_memory" not in caplog.text
    for _ in range(2):
        me.turn([user(MIA)], ChatSettings(memory_injection_mode="cache_stable"))
    assert caplog.text.count("not use_memory=True: nothing is put in or stored") == 1


def test_messages_may_be_any_iterable(one: Warden) -> None:
    me = one.scope(user="ana", thread="t1")
    with me.turn({"messages": (item for item in [user("My sister Rosa grows tomatoes.")])}, ON) as turn:
        assert [item["content"] for item in turn.messages] == ["My sister Rosa grows tomatoes."]
        turn.record_response("How nice.")
    me.observe(user(text) for text in ["My bike is red."])
    assert turns_of(one) == [
        ("user", "My sister Rosa grows tomatoes."), ("assistant", "How nice."), ("user", "My bike is red."),
    ]  # fmt: skip


def test_a_stored_prompt_without_input_goes_through(one: Warden) -> None:
    me = one.scope(user="ana", thread="t1")
    request = {"model": "m", "prompt": {"id": "pmpt_1"}}
    with me.turn(request, ON) as turn:
        assert turn.request == request
        turn.record_response({"output": [{"type": "message", "content": [{"type": "output_text", "text": "Hello."}]}]})
    assert turn.failures == ()
    assert turns_of(one) == [("assistant", "Hello.")]


def test_a_blocking_caller_says_when_the_question_is_stored() -> None:
    with Warden.open("memory://") as warden:
        me = warden.scope(user="u", thread="t")
        turn = me.turn({"messages": [{"role": "user", "content": "I live in Ghent."}]})
        turn.stores_beside = True
        with turn:
            assert not me.find({})
            turn.begin_storing()
            turn.end()
        assert [memory.text for memory in me.find({})] == ["I live in Ghent."]
