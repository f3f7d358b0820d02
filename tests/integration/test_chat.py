"""Design C's pipeline whole: the action check, memories, the model and its tools, what is kept, the session."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from memwarden import AsyncWarden, Warden
from memwarden.agent.tools import AsyncTools, Parameter, Tool
from memwarden.api.blocking import BoundScope
from memwarden.api.scope import AsyncScope
from memwarden.conversation import chat as exchange
from memwarden.conversation import turn, upstreams
from memwarden.conversation.chat import Action
from memwarden.conversation.settings import ChatSettings
from memwarden.errors import CategoryDenied, Conflict, InvalidInput, ModelUnavailable, NotKept, StoreUnavailable
from memwarden.testing import get_runtime, get_store
from upstream import Upstream

MIA = "My daughter Mia is allergic to peanuts and I need ideas for snacks."
ASKED = "Which snacks can my daughter Mia, who is allergic to peanuts, take to school?"
EVERY = ChatSettings(use_memory=True, memory_extraction_mode="every_turn")
WORDS = [f"word{number} " for number in range(8)]


@pytest.fixture
def me(tmp_path: Path) -> Iterator[BoundScope]:
    with Warden.open(f"sqlite:///{tmp_path}/m.db", {"embedder": "none"}) as warden:
        yield warden.scope(user="ana", thread="t1")


@pytest.fixture
def quoting(tmp_path: Path) -> Iterator[BoundScope]:
    """A scope of the default embedder, whose model finds what is worth a quotation."""
    with Warden.open(f"sqlite:///{tmp_path}/m.db", {"embedder": "auto"}) as warden:
        yield warden.scope(user="ana", thread="t1")


@pytest.fixture
async def later(tmp_path: Path) -> AsyncIterator[AsyncScope]:
    async with AsyncWarden.open(f"sqlite:///{tmp_path}/m.db", {"embedder": "none"}) as warden:
        yield warden.scope(user="ana", thread="t1")


def turns(me: BoundScope) -> list[tuple[str | None, str]]:
    found = me.find({"channel": "turn"}, order_by="written", descending=False)
    return [(item.role, item.text) for item in found]


def exchanges(me: BoundScope, session: str = "t1") -> list[tuple[str, str]]:
    memory = me.sessions.load(session)["conversation_memory"]
    return [(item["user_question"], item["final_answer"]) for item in memory["exchanges"]]


class Model:
    """A model that says what it is told to, and keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []

    def __call__(self, messages: list[dict[str, Any]]) -> Any:
        self.asked.append(messages)
        return self.answers.pop(0) if self.answers else "All right."


def test_the_pipeline_goes_in_design_cs_order(me: BoundScope, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []

    def watch(owner: Any, name: str, step: str) -> None:
        before = getattr(owner, name)

        async def watched(self: Any, *args: Any, **named: Any) -> Any:
            steps.append(step)
            return await before(self, *args, **named)

        monkeypatch.setattr(owner, name, watched)

    def model(messages: list[dict[str, Any]]) -> str:
        steps.append("model")
        return "Rice cakes."

    def check(message: str) -> None:
        steps.append("action")

    from memwarden.agent.stored_sessions import AsyncSessions
    from memwarden.remember.extract.extractor import Extractor
    from memwarden.remember.writer import Writer

    watch(AsyncScope, "context", "inject")
    watch(Writer, "observe", "store")
    watch(Extractor, "look_through", "extract")
    watch(AsyncSessions, "finalize_current_cycle", "save session")
    me.chat(model, EVERY, check_action=check).continue_chat(ASKED)
    assert steps == ["action", "inject", "store", "model", "store", "extract", "save session"]


def test_a_conversation_is_injected_stored_kept_and_in_the_session(warden: Warden) -> None:
    me, model = warden.scope(user="ana", thread="t1"), Model("Noted.", "Rice cakes.")
    chat = me.chat(model, EVERY, system="Be brief.")
    first = chat.continue_chat(MIA)
    assert first.text == "Noted."
    assert first.kept is not None
    assert [item.outcome for item in first.stored] == ["created", "created"]
    other = warden.scope(user="ana", thread="t2")
    second = other.chat(model, EVERY, system="Be brief.").continue_chat(ASKED)
    assert second.block
    assert model.asked[1] == [{"role": "system", "content": f"Be brief.\n\n{second.block.text}"}, user(ASKED)]
    assert turns(me) == [("user", MIA), ("assistant", "Noted."), ("user", ASKED), ("assistant", "Rice cakes.")]
    assert exchanges(me) == [(MIA, "Noted.")]
    assert exchanges(other, "t2") == [(ASKED, "Rice cakes.")]
    chat.continue_chat("And to drink?")
    assert model.asked[2][1:] == [user(MIA), {"role": "assistant", "content": "Noted."}, user("And to drink?")]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_prompts_stay_small_and_the_turns_stay_whole(me: BoundScope) -> None:
    long = "The northern gate of Gdynia is unguarded at dawn. " * 40
    model = Model(*[f"{number} {long}" for number in range(14)])
    chat = me.chat(model, session="s1", window_tokens=2_000)
    for number in range(14):
        chat.continue_chat(f"Question {number}?")
    assert len(exchanges(me, "s1")) == 10
    assert max(len(answer.encode()) for _, answer in exchanges(me, "s1")) <= 500
    assert [text for role, text in turns(me) if role == "assistant"] == [f"{item} {long}" for item in range(14)]
    assert sum(len(item["content"]) for item in model.asked[-1]) < 4 * 2_600


@pytest.mark.parametrize("action", list(Action))
def test_an_action_ends_the_message_there(quoting: BoundScope, action: Action) -> None:
    me = quoting
    model = Model()
    chat = me.chat(model, replace(EVERY, memory_extraction_mode="on_save"), check_action=lambda _: action.value)
    me.observe([user(MIA)])
    reply = chat.continue_chat("/bye")
    assert (reply.text, reply.action, model.asked) == (None, action, [])
    assert turns(me) == [("user", MIA)]
    assert (reply.kept is not None) == (action == Action.SAVE_AND_CONTINUE)
    assert bool(me.find({"channel": "semantic"})) == (action == Action.SAVE_AND_CONTINUE)
    with chat.stream("/bye") as pieces:
        assert list(pieces) == []
    assert pieces.reply.action == action
    with pytest.raises(InvalidInput, match="save_and_continue"):
        me.chat(model, check_action=lambda _: "stop").continue_chat("/bye")


def test_callbacks_may_ask_the_warden(me: BoundScope) -> None:
    """They run in threads of their own: a blocking call on the loop's thread would wait for itself."""
    me.observe([user(MIA)])

    def model(messages: Any) -> str:
        return str(len(me.find({"channel": "turn"})))

    chat = me.chat(model, check_action=lambda message: None if me.find() else "break")
    assert chat.continue_chat("How many?").text == "2"


def test_a_remote_chat_is_left_to_itself(me: BoundScope) -> None:
    model = Model()
    chat = me.chat(model, EVERY, defer_remote=lambda message: f"remote: {message}")
    assert chat.continue_chat(MIA).text == f"remote: {MIA}"
    assert "".join(chat.stream(MIA)) == f"remote: {MIA}"
    assert (model.asked, turns(me), me.sessions.list_ids()) == ([], [], [])


def test_no_answer_is_a_warning_and_the_session_is_saved(me: BoundScope, caplog: pytest.LogCaptureFixture) -> None:
    answers: list[Any] = [None, "", iter(())]
    for number, nothing in enumerate(answers):
        with caplog.at_level(logging.WARNING):
            reply = me.chat(Model(nothing)).continue_chat(f"Hello? {number}")
        assert reply.text is None
        assert "no answer" in caplog.text
        caplog.clear()
        cycle = me.sessions.load("t1")["conversation_memory"]["current_cycle"]
        assert (cycle["user_question"], cycle["final_answer"]) == (f"Hello? {number}", None)
    assert exchanges(me) == []
    assert turns(me) == [("user", f"Hello? {number}") for number in range(3)]
    assert [event.reason for event in me.journal.events(node="session")] == ["no_answer"] * 3


def test_without_memory_the_session_goes_on_alone(me: BoundScope) -> None:
    model = Model("Noted.", "Fine.")
    chat = me.chat(model, ChatSettings())
    chat.continue_chat(MIA)
    chat.continue_chat(ASKED)
    assert model.asked[1] == [user(MIA), {"role": "assistant", "content": "Noted."}, user(ASKED)]
    assert turns(me) == []
    assert exchanges(me) == [(MIA, "Noted."), (ASKED, "Fine.")]
    chat.settings = EVERY  # hot
    chat.continue_chat(MIA)
    assert turns(me)[0] == ("user", MIA)


def test_on_save_looks_through_when_it_is_saved(quoting: BoundScope) -> None:
    me = quoting
    chat = me.chat(Model("Noted."), replace(EVERY, memory_extraction_mode="on_save"))
    chat.continue_chat(MIA)
    assert me.find({"channel": "semantic"}) == []
    assert chat.save() is not None
    assert me.find({"channel": "semantic"})
    assert me.chat(Model(), EVERY).save() is None


def test_a_message_that_is_repeated_with_its_key_is_stored_once(me: BoundScope) -> None:
    for answer in ("One.", "One.", "Two."):
        assert me.chat(Model(answer)).continue_chat("Again", key="k1").text == answer
    assert turns(me) == [("user", "Again"), ("assistant", "One."), ("assistant", "Two.")]
    assert exchanges(me) == [("Again", "One."), ("Again", "Two.")]


def test_a_key_that_another_message_had_is_told_before_the_model_is_asked(me: BoundScope) -> None:
    model = Model("One.")
    me.chat(model).continue_chat("Again", key="k1")
    with pytest.raises(Conflict):
        me.chat(model).continue_chat("Something else", key="k1")
    with pytest.raises(Conflict), me.turn([user("A third")], key="k1"):
        pytest.fail("a model would be asked here")
    assert len(model.asked) == 1
    assert turns(me) == [("user", "Again"), ("assistant", "One.")]
    assert exchanges(me) == [("Again", "One.")]


def test_an_agent_that_may_not_read_sessions_is_told_before_the_model_is_asked() -> None:
    kinds = {"allowlists": {"cook": ["profile"], "nurse": ["profile", "state"]}}
    with Warden.open("memory://", {"embedder": "none", "categories": kinds}) as warden:
        with pytest.raises(CategoryDenied):
            warden.scope(user="ana", agent="cook").chat(Model())
        nurse = warden.scope(user="ana", agent="nurse").chat(Model("Fine."))
        assert nurse.continue_chat("Hello?").text == "Fine."


def test_a_model_that_changes_its_messages_changes_no_later_prompt(me: BoundScope) -> None:
    seen: list[str] = []

    def model(messages: list[dict[str, Any]]) -> str:
        messages[0]["content"] += " Today is Monday."
        seen.append(messages[0]["content"])
        return "Fine."

    chat = me.chat(model, system="Be brief.")
    for word in ("One?", "Two?"):
        chat.continue_chat(word)
    assert seen == ["Be brief. Today is Monday."] * 2


def late(given: Any) -> Any:
    time.sleep(60)


@pytest.mark.parametrize("named", [{"check_action": late}, {"tools": late}, {"defer_remote": late}])
def test_functions_that_hang_are_given_up(me: BoundScope, named: dict[str, Any]) -> None:
    with pytest.raises(ModelUnavailable, match=r"took longer than 0\.05 seconds"):
        me.chat(Model(), seconds=0.05, **named).continue_chat("Hello?")


def test_a_session_that_hangs_is_given_up(me: BoundScope, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(*args: Any, **named: Any) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(exchange, "MAX_TAKE_IN_SECONDS", 0.05)
    monkeypatch.setattr("memwarden.agent.stored_sessions.AsyncSessions.finalize_current_cycle", hang)
    with pytest.raises(NotKept, match="session") as told:
        me.chat(Model("Rice cakes.")).continue_chat(ASKED)
    assert told.value.answer == "Rice cakes."


def test_a_look_that_hangs_is_put_off(me: BoundScope, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(*args: Any, **named: Any) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(turn, "MAX_SECONDS_AFTER", 0.3)
    monkeypatch.setattr("memwarden.conversation.recording.TurnLog.look", hang)
    reply = me.chat(Model("Rice cakes."), EVERY).continue_chat(ASKED)
    assert [type(failure) for failure in reply.failures] == [TimeoutError]
    assert turns(me) == [("user", ASKED), ("assistant", "Rice cakes.")]


def test_what_is_said_twice_is_stored_twice(me: BoundScope) -> None:
    """Also when the first time had no answer: each message of a chat was said."""
    chat = me.chat(Model(None, "Hello."))
    chat.continue_chat("Hello?")
    chat.continue_chat("Hello?")
    assert turns(me) == [("user", "Hello?"), ("user", "Hello?"), ("assistant", "Hello.")]


@pytest.mark.parametrize("settings", [EVERY, replace(EVERY, memory_context_prefix="Known of old:")])
def test_what_was_put_in_comes_back_into_no_session(me: BoundScope, settings: ChatSettings) -> None:
    me.observe([user(MIA)])

    def parrot(messages: list[dict[str, Any]]) -> str:
        block = messages[0]["content"]
        assert "<memories>" in block
        return block if "only" in messages[-1]["content"] else f"Rice cakes.\n\n{block}"

    chat = me.chat(parrot, settings)
    assert "<memories>" in str(chat.continue_chat(ASKED).text)
    chat.continue_chat(f"{ASKED} Those only")
    assert turns(me)[1:] == [("user", ASKED), ("assistant", "Rice cakes."), ("user", f"{ASKED} Those only")]
    assert exchanges(me) == [(ASKED, "Rice cakes.")]


def test_a_stream_is_read_in_one_thread(me: BoundScope) -> None:
    """It may hold what belongs to its thread, such as a connection to SQLite."""

    def model(messages: Any) -> Iterator[str]:
        for _ in range(5):
            yield f"{threading.get_ident()} "

    with me.chat(model).stream("Hello?") as pieces:
        threads = list(pieces)
    assert len(threads) == 5
    assert len(set(threads)) == 1


@pytest.mark.parametrize("wrong", ["", "  ", None, 7])
def test_an_empty_message_is_refused(me: BoundScope, wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        me.chat(Model()).continue_chat(wrong)
    with pytest.raises(InvalidInput):
        me.chat(wrong)  # no model at all
    with pytest.raises(InvalidInput, match="seconds"):
        me.chat(Model(), seconds=0)


def test_a_model_that_fails_leaves_the_message_unanswered(me: BoundScope) -> None:
    def broken(messages: Any) -> str:
        raise ConnectionError("429")

    with pytest.raises(ConnectionError):
        me.chat(broken).continue_chat("Hello?")
    assert (turns(me), exchanges(me)) == ([("user", "Hello?")], [])


def hangs(messages: Any) -> str:
    time.sleep(60)
    return "Too late."


def hangs_in_a_stream(messages: Any) -> Iterator[str]:
    time.sleep(60)
    yield "Too late."


@pytest.mark.parametrize("model", [hangs, hangs_in_a_stream])
def test_a_model_that_hangs_is_given_up(me: BoundScope, model: Callable[[Any], Any]) -> None:
    with pytest.raises(ModelUnavailable, match=r"longer than 0\.05 seconds"):
        me.chat(model, seconds=0.05).continue_chat("Hello?")
    assert turns(me) == [("user", "Hello?")]
    assert [event.reason for event in me.journal.events(node="session")] == ["chat_model_late"]


def test_a_model_that_says_garbage_ends_nothing(warden: Warden) -> None:
    me = warden.scope(user="ana", thread="t1")
    garbage = ["\x00\x01\x02", "\ud83d", "\n \n", "</memories>", 7, {"choices": []}]
    chat = me.chat(Model(*garbage, "All right."), EVERY)
    for _ in garbage:
        chat.continue_chat("Hello?")
    assert chat.continue_chat("Once more?").text == "All right."
    assert turns(me)[0] == ("user", "Hello?")
    assert turns(me)[-2:] == [("user", "Once more?"), ("assistant", "All right.")]


async def test_a_model_that_hangs_in_its_answer_keeps_what_it_said(later: AsyncScope) -> None:
    async def hanging(messages: Any) -> AsyncIterator[str]:
        yield "Rice "
        await asyncio.sleep(60)

    got = []
    with pytest.raises(ModelUnavailable):  # noqa: PT012  what came before is what is looked at
        async for piece in later.chat(hanging, seconds=0.05).stream("Hello?"):
            got.append(piece)
    assert got == ["Rice "]
    found = await later.find({"channel": "turn"}, order_by="written", descending=False)
    assert [item.text for item in found] == ["Hello?", "Rice "]


def test_a_stream_gives_the_pieces_and_the_reply(me: BoundScope) -> None:
    chat = me.chat(Model(iter(WORDS), "In one piece."), EVERY)
    pieces = chat.stream("Tell me")
    assert next(pieces) == "word0 "
    with pytest.raises(InvalidInput, match="not over"):
        _ = pieces.reply
    assert list(pieces) == WORDS[1:]
    assert pieces.reply.text == "".join(WORDS)
    assert pieces.reply.kept is not None
    assert list(chat.stream("And?")) == ["In one piece."]
    assert exchanges(me) == [("Tell me", "".join(WORDS)), ("And?", "In one piece.")]


def left_by_close(pieces: Any) -> None:
    pieces.close()


def left_by_with(pieces: Any) -> None:
    with pieces:
        pass


def thrown_away(pieces: Any) -> None:
    del pieces
    gc.collect()


@pytest.mark.parametrize("leave", [left_by_close, left_by_with])
@pytest.mark.parametrize("words", [1, 3, 8])
def test_a_stream_that_is_left_stores_what_was_delivered(
    me: BoundScope, words: int, leave: Callable[[Any], None]
) -> None:
    closed = threading.Event()

    def model(messages: Any) -> Iterator[str]:
        try:
            yield from [*WORDS, "more"]
        finally:
            closed.set()  # whoever pays for the words stops making them

    pieces = me.chat(model).stream("Tell me")
    for _ in range(words):
        next(pieces)
    leave(pieces)
    assert turns(me) == [("user", "Tell me"), ("assistant", "".join(WORDS[:words]))]
    assert exchanges(me) == [("Tell me", "".join(WORDS[:words]))]
    assert pieces.reply.text == "".join(WORDS[:words])
    assert closed.wait(50)


def test_a_stream_that_nobody_leaves_is_stored(tmp_path: Path) -> None:
    url, config = f"sqlite:///{tmp_path}/m.db", {"embedder": "none"}
    with Warden.open(url, config) as warden:
        me = warden.scope(user="ana", thread="t1")
        pieces: Any = me.chat(Model(iter(WORDS))).stream("Thrown away")
        next(pieces)
        del pieces
        gc.collect()
        until = time.monotonic() + 300
        while exchanges(me) == [] and time.monotonic() < until:
            time.sleep(0.01)
        assert exchanges(me) == [("Thrown away", "word0 ")]
        held = me.chat(Model(iter(WORDS))).stream("Held")
        next(held)
    held.close()
    with Warden.open(url, config) as warden:
        me = warden.scope(user="ana", thread="t1")
        assert turns(me)[2:] == [("user", "Held"), ("assistant", "word0 ")]
        assert exchanges(me) == [("Thrown away", "word0 "), ("Held", "word0 ")]


async def test_a_stream_whose_task_is_cancelled_stores_what_was_delivered(later: AsyncScope) -> None:
    waits = asyncio.Event()

    async def model(messages: Any) -> AsyncIterator[str]:
        for word in WORDS:
            yield word
        waits.set()
        await asyncio.sleep(60)

    async def read() -> None:
        async for _ in later.chat(model).stream("Tell me"):
            pass

    task = asyncio.create_task(read())
    await waits.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    memory = (await later.sessions.load("t1"))["conversation_memory"]
    assert memory["exchanges"] == [{"user_question": "Tell me", "final_answer": "".join(WORDS)}]


async def test_a_chat_that_is_cancelled_anywhere_is_whole() -> None:
    """At each step of the loop: an answer is in the turns and in the session, or in neither."""

    async def model(messages: Any) -> str:
        for _ in range(5):
            await asyncio.sleep(0)
        return "Noted."

    ended: set[tuple[int, bool]] = set()
    async with AsyncWarden.open("memory://", {"embedder": "none"}) as warden:
        for steps in range(120):
            me = warden.scope(user="ana", thread=f"t{steps}")
            task = asyncio.create_task(me.chat(model).continue_chat("Hello?"))
            for _ in range(steps):
                await asyncio.sleep(0)
            if steps < 119:
                task.cancel()
            answered = not (await asyncio.wait([task]) and task.cancelled())
            found = await me.find({"channel": "turn", "thread_id": f"t{steps}"}, order_by="written", descending=False)
            said = [item.text for item in found]
            exchanges = (await me.sessions.load(f"t{steps}"))["conversation_memory"]["exchanges"]
            assert said in ([], ["Hello?"], ["Hello?", "Noted."])
            assert len(exchanges) == (len(said) == 2)
            assert len(said) == 2 or not answered
            ended.add((len(said), answered))
        assert not get_runtime(warden).turns
    assert ended == {(0, False), (1, False), (2, False), (2, True)}  # each way was met


def test_a_chat_that_is_read_after_its_warden_is_an_error_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"

    async def read() -> list[str]:
        async with AsyncWarden.open(url, {"embedder": "none"}) as warden:
            pieces = warden.scope(user="ana", thread="t1").chat(lambda messages: iter(WORDS)).stream("Tell me")
            heard = [await anext(pieces)]
        with pytest.raises(InvalidInput, match="the turn is over"):
            heard.append(await anext(pieces))
        return heard

    assert asyncio.run(read()) == WORDS[:1]
    with Warden.open(url, {"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        assert turns(me) == [("user", "Tell me"), ("assistant", "word0 ")]
        assert exchanges(me) == [("Tell me", "word0 ")]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A shell that starts the tests in the background has them ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_stops_the_model_and_stores_what_was_delivered(me: BoundScope) -> None:
    def model(messages: Any) -> Iterator[str]:
        yield "Rice "
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)

    pieces = me.chat(model).stream("Tell me")
    assert next(pieces) == "Rice "
    with pytest.raises(KeyboardInterrupt):
        next(pieces)
    assert turns(me) == [("user", "Tell me"), ("assistant", "Rice ")]
    assert exchanges(me) == [("Tell me", "Rice ")]
    pieces.close()


def test_the_chat_goes_on_while_the_store_is_down(me: BoundScope, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*args: Any, **named: Any) -> Any:
        raise StoreUnavailable("the database cannot be reached")

    store = get_store(me)
    model = Model("Rice cakes.", "Still here.")
    with monkeypatch.context() as patch:
        for name in ("apply", "head", "scan", "get"):
            patch.setattr(store, name, refuse)
        with pytest.raises(NotKept) as told:
            me.chat(model).continue_chat(ASKED)
    assert told.value.answer == "Rice cakes."
    assert [message["content"] for message in told.value.messages] == [ASKED, "Rice cakes."]
    assert model.asked == [[user(ASKED)]]
    me.observe(told.value.messages)
    assert me.chat(model).continue_chat("And now?").failures == ()


def test_a_session_that_cannot_be_saved_is_told_with_the_answer(
    me: BoundScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*args: Any, **named: Any) -> Any:
        raise StoreUnavailable("the database cannot be reached")

    from memwarden.agent.stored_sessions import AsyncSessions

    monkeypatch.setattr(AsyncSessions, "finalize_current_cycle", refuse)
    with pytest.raises(NotKept, match="session") as told:
        me.chat(Model("Rice cakes.")).continue_chat(ASKED)
    assert (told.value.answer, told.value.messages) == ("Rice cakes.", ())
    assert turns(me) == [("user", ASKED), ("assistant", "Rice cakes.")]


def open_ai(upstream: Upstream) -> Any:
    return openai.OpenAI(base_url=f"{upstream.url}/v1", api_key="none", max_retries=0)


MODELS: dict[str, Callable[[Upstream], upstreams.Upstream]] = {
    "chat": lambda item: upstreams.openai_chat(open_ai(item), model="gpt-5"),
    "responses": lambda item: upstreams.openai_responses(open_ai(item), model="gpt-5"),
    "anthropic": lambda item: upstreams.anthropic(
        anthropic.Anthropic(base_url=item.url, api_key="none", max_retries=0), model="claude-opus-5", max_tokens=99
    ),
}


async def test_the_async_sdks_are_asked_and_heard(later: AsyncScope, upstream: Upstream) -> None:
    upstream.says("Rice cakes are fine.")
    gpt = openai.AsyncOpenAI(base_url=f"{upstream.url}/v1", api_key="none", max_retries=0)
    claude = anthropic.AsyncAnthropic(base_url=upstream.url, api_key="none", max_retries=0)
    async with gpt, claude:
        for model in (
            upstreams.openai_chat(gpt, model="gpt-5"),
            upstreams.openai_responses(gpt, model="gpt-5"),
            upstreams.anthropic(claude, model="claude-opus-5", max_tokens=99),
        ):
            chat = later.chat(model)
            assert (await chat.continue_chat(ASKED)).text == "Rice cakes are fine."
            async with chat.stream("And now?") as pieces:
                assert "".join([piece async for piece in pieces]) == "Rice cakes are fine."


def weather(asked: list[str]) -> AsyncTools:
    async def look(city: str) -> dict[str, Any]:
        asked.append(city)
        return {"success": True, "weather": "rain"}

    city = Parameter("city", "string", "Where", required=True)
    return AsyncTools([Tool("weather", "Tells the weather.", (city,), "The weather", "read", look)])


def calls_once(upstream: Upstream, call: dict[str, Any]) -> None:
    match = {"userMessage": "", "hasToolResult": False}
    upstream.script({"match": match, "response": {"content": "A moment.", "toolCalls": [call]}})
    upstream.says("It rains.")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("name", MODELS)
def test_tools_are_called_and_their_results_used_again(
    me: BoundScope, upstream: Upstream, name: str, stream: bool
) -> None:
    calls_once(upstream, {"name": "weather", "arguments": {"city": "Gdynia"}, "id": "call_1"})
    asked: list[str] = []
    chat = me.chat(MODELS[name](upstream), tools=weather(asked), tool_cache={"weather": 3})
    for question in ("What is the weather?", "And still?"):
        reply = next(iter([chat.continue_chat(question)])) if not stream else None
        if reply is None:
            with chat.stream(question) as pieces:
                assert "".join(pieces) == "A moment.It rains."
            reply = pieces.reply
        assert reply.text == "It rains."
    assert asked == ["Gdynia"]
    assert [text for role, text in turns(me) if role == "assistant"] == ["A moment.", "It rains."] * 2
    assert exchanges(me)[-1] == ("And still?", "It rains.")
    results = [prompt for prompt in upstream.prompts() if "rain" in json.dumps(prompt)]
    assert results


@pytest.mark.parametrize("arguments", [{"town": "Gdynia"}, {"city": 7}, {"city": "Gdynia"}])
def test_a_tool_that_fails_is_told_to_the_model(me: BoundScope, upstream: Upstream, arguments: Any) -> None:
    async def broken(city: str) -> dict[str, Any]:
        raise ZeroDivisionError

    city = Parameter("city", "string", "Where", required=True)
    tools = AsyncTools([Tool("weather", "Tells the weather.", (city,), "The weather", "read", broken)])
    calls_once(upstream, {"name": "weather", "arguments": arguments, "id": "call_1"})
    assert me.chat(MODELS["chat"](upstream), tools=tools).continue_chat("What is the weather?").text == "It rains."
    told = json.loads(upstream.prompts()[-1]["messages"][-1]["content"])
    assert told["success"] is False


def test_a_model_that_calls_tools_for_ever_is_stopped(
    me: BoundScope, upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    call = {"name": "weather", "arguments": {"city": "Gdynia"}}
    upstream.script({"match": {"userMessage": ""}, "response": {"content": "Again.", "toolCalls": [call]}})
    asked: list[str] = []
    with caplog.at_level(logging.WARNING):
        reply = me.chat(MODELS["chat"](upstream), tools=lambda block: weather(asked)).continue_chat("Weather?")
    assert reply.text == "Again."
    assert len(asked) == len(upstream.prompts()) == 8
    assert "not asked again" in caplog.text


def test_a_model_keeps_things_by_itself_where_the_settings_say_so(me: BoundScope, upstream: Upstream) -> None:
    calls_once(upstream, {"name": "createMemory", "arguments": {"content": "Mia is allergic to peanuts."}, "id": "c1"})
    settings = replace(EVERY, memory_extraction_mode="llm_triggered")
    reply = me.chat(MODELS["chat"](upstream), settings, tools=me.tools("read", only=["loadState"])).continue_chat(MIA)
    assert [prompt["function"]["name"] for prompt in upstream.prompts()[0]["tools"]] == ["loadState", "createMemory"]
    assert reply.kept is None
    assert [item.text for item in me.find({"channel": "semantic"})] == ["Mia is allergic to peanuts."]
    with pytest.raises(InvalidInput, match="callable"):
        me.chat(Model(), settings).continue_chat("Hm")


def test_an_error_of_the_provider_goes_on_as_it_is(me: BoundScope, upstream: Upstream) -> None:
    error = {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429}
    upstream.script({"match": {"userMessage": ""}, "response": error})
    with pytest.raises(openai.RateLimitError):
        me.chat(MODELS["chat"](upstream)).continue_chat("Hello?")
    assert (turns(me), exchanges(me)) == ([("user", "Hello?")], [])
