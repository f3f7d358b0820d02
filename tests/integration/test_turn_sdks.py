"""A turn around the real SDKs: what reaches the provider, and what of its answer reaches the store.

The provider is aimock (``tests/upstream.py``), which stands for the paid models.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from typing import Any

import httpx2
import pytest

from memwarden import AsyncWarden, Warden
from memwarden.api.blocking import BoundScope
from memwarden.conversation.prompt_cache import PrefixMeter
from memwarden.conversation.settings import ChatSettings, read_chat_settings
from sdks import (
    APIS,
    CHAT,
    ERRORS,
    FACT,
    GPT,
    MESSAGES,
    QUESTION,
    USER,
    Api,
    AsyncClients,
    Clients,
    async_clients_of,
    clients_of,
    knowing,
    name_of,
    said,
)
from upstream import Upstream

ANSWER = "Almond cake — für Ana 🎂, no hazelnuts."
MODES = ("system_append", "context_message", "user_prefix")
CALLS_A_TOOL = (
    {
        "match": {"hasToolResult": False},
        "response": {
            "content": "Let me look.",
            "toolCalls": [{"name": "nuts_in", "arguments": {"cake": "almond"}, "id": "call_1"}],
        },
    },
    {"match": {"hasToolResult": True}, "response": {"content": ANSWER}},
)
"""A model that says a word, calls a tool, and answers when it has the result."""
everywhere = pytest.mark.parametrize("api", APIS, ids=name_of)


@pytest.fixture(scope="module")
def clients(upstream_process: Upstream) -> Iterator[Clients]:
    with clients_of(upstream_process.url) as opened:
        yield opened


@pytest.fixture(scope="module")
def warden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warden]:
    with Warden.open(f"sqlite:///{tmp_path_factory.mktemp('turns') / 'store.db'}", config={}) as opened:
        yield opened


@pytest.fixture
def me(warden: Warden) -> BoundScope:
    return knowing(warden)


def expected(api: Api, mode: str, block: str) -> dict[str, Any]:
    """What the provider has to get, written out for each API and mode."""
    together = {"role": "user", "content": f"{block}\n\n{QUESTION}"}
    system = {"role": "system", "content": "Be short."}
    longer = f"Be short.\n\n{block}"
    parts = [{"type": "text", "text": block}, {"type": "text", "text": QUESTION}]
    changes: dict[tuple[str, str], dict[str, Any]] = {
        ("openai_chat", "system_append"): {"messages": [{"role": "system", "content": longer}, USER]},
        ("openai_chat", "context_message"): {"messages": [system, {"role": "system", "content": block}, USER]},
        ("openai_chat", "user_prefix"): {"messages": [system, together]},
        ("openai_responses", "system_append"): {"instructions": longer},
        ("openai_responses", "context_message"): {"input": [{"role": "developer", "content": block}, USER]},
        ("openai_responses", "user_prefix"): {"input": [together]},
        ("anthropic", "system_append"): {"system": longer},
        ("anthropic", "context_message"): {"messages": [{"role": "user", "content": parts}]},
        ("anthropic", "user_prefix"): {"messages": [together]},
    }
    return api.request | changes[api.form, mode]


@pytest.mark.parametrize("mode", MODES)
@everywhere
def test_the_provider_gets_the_exact_prompt(
    api: Api, mode: str, me: BoundScope, clients: Clients, upstream: Upstream
) -> None:
    upstream.says(ANSWER)
    settings = ChatSettings(use_memory=True, memory_injection_mode=mode)
    with me.turn(api.request, settings, form=api.form) as turn:
        assert FACT in turn.block.text
        assert turn.record_response(api.call(clients)(**turn.request)) == ANSWER
    assert upstream.prompts() == [expected(api, mode, turn.block.text)]
    assert said(me) == [("user", QUESTION), ("assistant", ANSWER)]


def test_a_list_of_messages_is_enough(me: BoundScope, clients: Clients, upstream: Upstream) -> None:
    upstream.says(ANSWER)
    with me.turn([USER]) as turn:
        turn.record_response(clients.openai.chat.completions.create(model=GPT, messages=turn.messages))
    assert upstream.prompts() == [
        {"model": GPT, "messages": [{"role": "system", "content": turn.block.text}, USER]},
    ]
    assert said(me) == [("user", QUESTION), ("assistant", ANSWER)]


@everywhere
def test_the_prompt_of_a_stream_is_as_exact(api: Api, me: BoundScope, clients: Clients, upstream: Upstream) -> None:
    upstream.says(ANSWER)
    with me.turn(api.request, form=api.form) as turn, api.call(clients)(**turn.request, stream=True) as events:
        assert len(list(turn.stream(events))) > 2
    assert upstream.prompts() == [expected(api, "system_append", turn.block.text) | {"stream": True}]
    assert said(me) == [("user", QUESTION), ("assistant", ANSWER)]


@everywhere
def test_the_streams_of_the_sdks_that_gather_are_heard_once(
    api: Api, me: BoundScope, clients: Clients, upstream: Upstream
) -> None:
    """Their events repeat, at the end of a part, the words that came before."""
    upstream.says(ANSWER)
    with me.turn(api.request, form=api.form) as turn, api.gathers(clients)(**turn.request) as events:
        for _ in turn.stream(events):
            pass
    assert said(me) == [("user", QUESTION), ("assistant", ANSWER)]


def test_the_texts_of_anthropics_stream_may_be_passed_on(me: BoundScope, clients: Clients, upstream: Upstream) -> None:
    upstream.says(ANSWER)
    with (
        me.turn(MESSAGES.request, form="anthropic") as turn,
        clients.anthropic.messages.stream(**turn.request) as events,
    ):
        assert "".join(turn.stream(events.text_stream)) == ANSWER
    assert said(me) == [("user", QUESTION), ("assistant", ANSWER)]


@pytest.mark.parametrize("mode", [*MODES, "cache_stable"])
@pytest.mark.parametrize("form", [None, "anthropic"])
def test_messages_to_anthropic_hold_no_system_message(
    form: str | None, mode: str, me: BoundScope, clients: Clients, upstream: Upstream
) -> None:
    """Their API refuses the role. A request without a system prompt is known by its other arguments."""
    upstream.says(ANSWER)
    given = {name: value for name, value in MESSAGES.request.items() if name != "system"}
    settings = ChatSettings(use_memory=True, memory_injection_mode=mode)
    with me.turn(given, settings, form=form) as turn:
        assert turn.record_response(clients.anthropic.messages.create(**turn.request)) == ANSWER
    (prompt,) = upstream.prompts()
    assert [message["role"] for message in prompt["messages"]] == ["user"]
    assert FACT in str(prompt)


@everywhere
def test_without_memory_the_request_passes_as_it_is(
    api: Api, me: BoundScope, clients: Clients, upstream: Upstream
) -> None:
    upstream.says(ANSWER)
    api.call(clients)(**api.request)
    with me.turn(api.request, ChatSettings(), form=api.form) as turn:
        turn.record_response(api.call(clients)(**turn.request))
    alone, within = upstream.prompts()
    assert within == alone
    assert said(me) == []


@everywhere
def test_nothing_relevant_changes_nothing(api: Api, me: BoundScope, clients: Clients, upstream: Upstream) -> None:
    upstream.says("19.")
    given = api.asking({"role": "user", "content": "What is seven plus twelve?"})
    with me.turn(given, form=api.form) as turn:
        turn.record_response(api.call(clients)(**turn.request))
    assert not turn.block
    assert upstream.prompts() == [given]
    assert said(me) == [("user", "What is seven plus twelve?"), ("assistant", "19.")]


@pytest.mark.parametrize("mode", MODES)
@everywhere
def test_a_conversation_is_stored_once_and_holds_no_block(
    api: Api, mode: str, me: BoundScope, clients: Clients, upstream: Upstream
) -> None:
    """Three turns; the program hands over the whole conversation each time, as it is written without memory."""
    asked = ["Hello, I bake for Ana today.", QUESTION, "And which bread can Ana eat with her allergy to hazelnuts?"]
    answers = ["Nice!", ANSWER, "Rye bread."]
    for question, answer in zip(asked, answers, strict=True):
        upstream.says(answer, after=question)
    settings = ChatSettings(use_memory=True, memory_injection_mode=mode)
    talk: list[dict[str, Any]] = []
    for question in asked:
        talk.append({"role": "user", "content": question})
        with me.turn(api.asking(*talk), settings, form=api.form) as turn:
            talk.append({"role": "assistant", "content": turn.record_response(api.call(clients)(**turn.request))})
    assert said(me) == [
        (role, words)
        for question, answer in zip(asked, answers, strict=True)
        for role, words in (("user", question), ("assistant", answer))
    ]
    assert "<memories>" in str(upstream.prompts()[1])
    assert not any("<memories>" in item.text for item in me.find())


@pytest.mark.parametrize("status", [429, 500, None], ids=["busy", "down", "hangs up"])
@everywhere
def test_a_refused_call_leaves_the_question_stored_and_may_be_repeated(
    api: Api, status: int | None, me: BoundScope, clients: Clients, upstream: Upstream
) -> None:
    if status is None:
        upstream.hangs_up()
    else:
        upstream.fails(status)
    with pytest.raises(ERRORS) as refused, me.turn(api.request, form=api.form) as turn:
        turn.record_response(api.call(clients)(**turn.request))
    assert getattr(refused.value, "status_code", None) == status
    assert said(me) == [("user", QUESTION)]

    upstream.reset()
    upstream.says(ANSWER)
    with me.turn(api.request, form=api.form) as turn:
        turn.record_response(api.call(clients)(**turn.request))
    assert said(me) == [("user", QUESTION), ("assistant", ANSWER)]


@pytest.mark.parametrize("api", [CHAT, MESSAGES], ids=name_of)
def test_what_the_sdk_repeats_is_the_same_prompt(api: Api, me: BoundScope, upstream: Upstream) -> None:
    upstream.fails(500, times=1)
    upstream.says(ANSWER)
    with clients_of(upstream.url, retries=1) as clients, me.turn(api.request, form=api.form) as turn:
        turn.record_response(api.call(clients)(**turn.request))
    first, second = upstream.prompts()
    assert first == second == expected(api, "system_append", turn.block.text)
    assert said(me) == [("user", QUESTION), ("assistant", ANSWER)]


@pytest.mark.parametrize("chunks", [1, 6, 9])
@everywhere
def test_of_a_connection_that_breaks_what_was_delivered_is_stored(
    api: Api, chunks: int, me: BoundScope, clients: Clients, upstream: Upstream
) -> None:
    upstream.breaks_off(ANSWER, chunks=chunks)
    got: list[Any] = []
    with (  # noqa: PT012
        pytest.raises((*ERRORS, httpx2.TransportError)),
        me.turn(api.request, form=api.form) as turn,
        api.call(clients)(**turn.request, stream=True) as events,
    ):
        for event in turn.stream(events):
            got.append(event)
    words = "".join(api.words(event) for event in got)
    assert ANSWER.startswith(words)
    assert words != ANSWER
    assert bool(words) == (chunks > 1)
    assert said(me) == [("user", QUESTION), *([("assistant", words.strip())] if words.strip() else [])]


@pytest.mark.parametrize("how", ["break", "error"])
@everywhere
def test_of_a_stream_that_is_left_what_was_delivered_is_stored(
    api: Api, how: str, me: BoundScope, clients: Clients, upstream: Upstream
) -> None:
    upstream.says(ANSWER, letters=4)
    words = ""
    with (
        contextlib.suppress(ZeroDivisionError),
        me.turn(api.request, form=api.form) as turn,
        api.call(clients)(**turn.request, stream=True) as events,
    ):
        for event in turn.stream(events):
            words += api.words(event)
            if len(words) >= 12:
                break
        if how == "error":
            raise ZeroDivisionError
    assert words == ANSWER[:12]
    assert said(me) == [("user", QUESTION), ("assistant", words)]


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
@everywhere
def test_tools_are_called_within_one_turn(
    api: Api, streaming: bool, me: BoundScope, clients: Clients, upstream: Upstream
) -> None:
    upstream.script(*CALLS_A_TOOL)
    with me.turn({**api.request, "tools": [api.tool]}, form=api.form) as turn:
        request = turn.request
        for asked_before in (False, True):
            if streaming:
                with api.gathers(clients)(**request) as events:
                    for _ in turn.stream(events):
                        pass
                    answer = api.gathered(events)
            else:
                answer = api.call(clients)(**request)
                turn.record_response(answer)
            request = request if asked_before else api.next_round(request, answer, "none")
    first, second = upstream.prompts()
    more = {"tools": first["tools"]} | ({"stream": True} if streaming else {})
    assert first == expected(api, "system_append", turn.block.text) | more
    assert second[api.talk_of][: len(first[api.talk_of])] == first[api.talk_of]
    assert len(str(second[api.talk_of])) > len(str(first[api.talk_of]))
    assert {**second, api.talk_of: 0} == {**first, api.talk_of: 0}
    assert said(me) == [("user", QUESTION), ("assistant", "Let me look."), ("assistant", ANSWER)]


@pytest.mark.parametrize("mode", MODES)
@everywhere
def test_a_turn_may_stand_around_each_call_of_a_loop_with_tools(
    api: Api, mode: str, me: BoundScope, clients: Clients, upstream: Upstream
) -> None:
    """As a graph does it, whose state is the conversation without memories."""
    upstream.script(*CALLS_A_TOOL)
    settings = ChatSettings(use_memory=True, memory_injection_mode=mode)
    request = api.request
    for asked_before in (False, True):
        with me.turn(request, settings, form=api.form) as turn:
            answer = api.call(clients)(**turn.request)
            turn.record_response(answer)
        assert "<memories>" in turn.block.text
        request = request if asked_before else api.next_round(request, answer, "none")
    first, second = upstream.prompts()
    asked = expected(api, mode, turn.block.text)
    assert first == asked
    assert {**second, api.talk_of: second[api.talk_of][: len(first[api.talk_of])]} == asked
    assert len(second[api.talk_of]) > len(first[api.talk_of])
    assert said(me) == [("user", QUESTION), ("assistant", "Let me look."), ("assistant", ANSWER)]


@everywhere
def test_a_stable_prompt_begins_with_all_of_the_last(
    api: Api, me: BoundScope, clients: Clients, upstream: Upstream
) -> None:
    upstream.says(ANSWER)
    few = {"memory_search_threshold": 0.3, "max_memory_context": 1}
    settings = read_chat_settings({"use_memory": True, "memory_injection_mode": "cache_stable", **few})
    request, blocks, meter = api.request, [], PrefixMeter()
    for question in ("Where does Bo keep the eggs?", "Which cellar is it, where Bo keeps the eggs?", "Thanks!"):
        with me.turn(request, settings, form=api.form) as turn:
            turn.record_response(api.call(clients)(**turn.request))
            blocks.append(turn.block.text)
        me.remember("Bo keeps the eggs in the cellar.")
        talk = [*request[api.talk_of], {"role": "assistant", "content": ANSWER}, {"role": "user", "content": question}]
        request = request | {api.talk_of: talk}
    prompts = upstream.prompts()
    assert prompts[0] == expected(api, "system_append", blocks[0])
    for last, prompt in pairwise(prompts):
        assert prompt[api.talk_of][: len(last[api.talk_of])] == last[api.talk_of]
        assert {**prompt, api.talk_of: 0} == {**last, api.talk_of: 0}
    assert [meter.add(prompt).of_last for prompt in prompts] == [0, 1, 1]
    assert [str(prompt).count("in the cellar") for prompt in prompts] == [0, 1, 1]


@pytest.fixture
async def async_clients(upstream: Upstream) -> AsyncIterator[AsyncClients]:
    async with async_clients_of(upstream.url) as opened:
        yield opened


@everywhere
async def test_asynchronous_clients(api: Api, async_clients: AsyncClients, upstream: Upstream) -> None:
    """An answer whole, one streamed, and one that is cancelled while it is streamed."""
    upstream.says(ANSWER, letters=4)
    call = api.call(async_clients)
    more = api.asking({"role": "user", "content": "Which nuts are they?"})
    words = ""
    enough = asyncio.Event()

    async with AsyncWarden.open("memory://", config={}) as warden:
        me = warden.scope(user="ana", thread="today")
        await me.remember(f"{FACT}.")
        async with me.turn(api.request, form=api.form) as turn:
            turn.record_response(await call(**turn.request))
        assert upstream.prompts() == [expected(api, "system_append", turn.block.text)]
        async with (
            me.turn(api.request, form=api.form, key="again") as turn,
            await call(**turn.request, stream=True) as events,
        ):
            assert len([event async for event in turn.stream(events)]) > 2

        async def reads() -> None:
            nonlocal words
            async with me.turn(more, form=api.form) as turn, await call(**turn.request, stream=True) as events:
                async for event in turn.stream(events):
                    words += api.words(event)
                    if len(words) >= 12:
                        enough.set()
                        await asyncio.Event().wait()

        reading = asyncio.create_task(reads())
        await enough.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        turns = await me.find({"channel": "turn"}, order_by="written", descending=False)
    assert words == ANSWER[:12]
    assert [(turn.role, turn.text) for turn in turns] == [
        ("user", QUESTION), ("assistant", ANSWER), ("user", QUESTION), ("assistant", ANSWER),
        ("user", "Which nuts are they?"), ("assistant", words),
    ]  # fmt: skip


async def test_conversations_at_the_same_time_keep_apart(async_clients: AsyncClients, upstream: Upstream) -> None:
    """Of twelve people each prompt holds what is known of one, and each thread what that one heard."""
    people = [f"Person{number}" for number in range(12)]
    for person in reversed(people):  # Person1 is in Person11, too
        upstream.says(f"Cake for {person}.", after=f"{person},", letters=3)

    async def turn_of(warden: AsyncWarden, person: str, api: Api) -> tuple[str, ...]:
        me = warden.scope(user=person, thread="today")
        await me.remember(f"{person} is allergic to the nut number {person[6:]}.")
        given = api.asking({"role": "user", "content": f"What can {person}, who is allergic to a nut, eat?"})
        async with me.turn(given, form=api.form) as turn:
            async for _ in turn.stream(await api.call(async_clients)(**turn.request, stream=True)):
                pass
        turns = await me.find({"channel": "turn"}, order_by="written", descending=False)
        return tuple(turn.text for turn in turns)

    async with AsyncWarden.open("memory://", config={}) as warden:
        threads = await asyncio.gather(
            *(turn_of(warden, person, APIS[number % 3]) for number, person in enumerate(people))
        )
    assert threads == [
        (f"What can {person}, who is allergic to a nut, eat?", f"Cake for {person}.") for person in people
    ]
    for prompt in upstream.prompts():
        asked = re.findall(r"can (Person\d+),", str(prompt))
        assert len(asked) == 1
        assert set(re.findall(r"Person\d+", str(prompt))) == set(asked)
        assert f"nut number {asked[0][6:]}." in str(prompt)
