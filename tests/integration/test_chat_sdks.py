"""A whole chat over the real SDKs: session, memories, tools, streams, and a provider that fails.

The provider is aimock (``tests/upstream.py``), which stands for the paid models.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from memwarden import Warden
from memwarden.api.blocking import BoundScope
from memwarden.conversation import upstreams
from sdks import (
    APIS,
    CLAUDE,
    ERRORS,
    FACT,
    GPT,
    QUESTION,
    USER,
    Api,
    AsyncClients,
    Clients,
    clients_of,
    knowing,
    name_of,
    said,
)
from upstream import Upstream

ANSWER = "Almond cake — für Ana 🎂, no hazelnuts."
everywhere = pytest.mark.parametrize("api", APIS, ids=name_of)


def model_of(api: Api, clients: Clients | AsyncClients) -> Any:
    """The provider's model as a chat takes it."""
    if api.form == "openai_chat":
        return upstreams.openai_chat(clients.openai, model=GPT)
    if api.form == "openai_responses":
        return upstreams.openai_responses(clients.openai, model=GPT)
    return upstreams.anthropic(clients.anthropic, model=CLAUDE, max_tokens=64)


@pytest.fixture(scope="module")
def clients(upstream_process: Upstream) -> Iterator[Clients]:
    with clients_of(upstream_process.url) as opened:
        yield opened


@pytest.fixture(scope="module")
def warden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warden]:
    with Warden.open(f"sqlite:///{tmp_path_factory.mktemp('chats') / 'store.db'}", config={}) as opened:
        yield opened


@pytest.fixture
def me(warden: Warden) -> BoundScope:
    return knowing(warden)


def prompt(api: Api, system: str, *talk: dict[str, Any]) -> dict[str, Any]:
    """What the provider has to get."""
    if api.form == "anthropic":
        return {"model": CLAUDE, "max_tokens": 64, "system": system, "messages": list(talk)}
    return {"model": GPT, api.talk_of: [{"role": "system", "content": system}, *talk]}


def of_user(words: str) -> dict[str, Any]:
    return {"role": "user", "content": words}


def of_model(words: str) -> dict[str, Any]:
    return {"role": "assistant", "content": words}


@everywhere
def test_the_session_and_the_memories_are_in_the_prompt(
    api: Api, me: BoundScope, clients: Clients, upstream: Upstream
) -> None:
    upstream.says(ANSWER, after=QUESTION)
    upstream.says("Rye bread.", letters=3)
    chat = me.chat(model_of(api, clients), system="Be short.")
    first = chat.continue_chat(QUESTION)
    assert first.text == ANSWER
    assert FACT in first.block.text
    with chat.stream("And which bread, with her allergy to hazelnuts?") as pieces:
        assert list(pieces) == ["Rye", " br", "ead", "."]
    then = of_user("And which bread, with her allergy to hazelnuts?")
    assert upstream.prompts() == [
        prompt(api, f"Be short.\n\n{first.block.text}", USER),
        prompt(api, f"Be short.\n\n{pieces.reply.block.text}", USER, of_model(ANSWER), then) | {"stream": True},
    ]
    assert said(me) == [
        ("user", QUESTION), ("assistant", ANSWER), ("user", then["content"]), ("assistant", "Rye bread."),
    ]  # fmt: skip


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
@everywhere
def test_the_model_calls_a_tool(
    api: Api, streaming: bool, me: BoundScope, clients: Clients, upstream: Upstream
) -> None:
    call = {"name": "saveState", "arguments": {"key": "cake", "value": "almond"}, "id": "call_1"}
    moment = {"content": "A moment. ", "toolCalls": [call]}
    upstream.script({"match": {"hasToolResult": False}, "response": moment, "chunkSize": 4})
    upstream.says(ANSWER)
    chat = me.chat(model_of(api, clients), tools=me.tools(only=["saveState"]))
    if streaming:
        with chat.stream(QUESTION) as pieces:
            assert "".join(pieces) == f"A moment. {ANSWER}"
    else:
        assert chat.continue_chat(QUESTION).text == ANSWER
    assert me.state.load("cake") == "almond"
    assert said(me) == [("user", QUESTION), ("assistant", "A moment. "), ("assistant", ANSWER)]
    first, second = upstream.prompts()
    assert {**second, api.talk_of: 0} == {**first, api.talk_of: 0}
    asked = len(first[api.talk_of])
    assert second[api.talk_of][:asked] == first[api.talk_of]
    call_id, result = called_back(api, second[api.talk_of][asked:])
    assert call_id == "call_1"
    assert json.loads(result)["success"] is True


def called_back(api: Api, talk: list[Any]) -> tuple[str, str]:
    """The id of the call and its result, in what a prompt holds after the question."""
    if api.form == "openai_chat":
        answer, result = talk
        assert answer["content"] == "A moment. "
        assert json.loads(answer["tool_calls"][0]["function"]["arguments"]) == {"key": "cake", "value": "almond"}
        return result["tool_call_id"], result["content"]
    if api.form == "openai_responses":
        message, call, result = talk
        assert (message["content"][0]["text"], call["call_id"]) == ("A moment. ", "call_1")
        assert json.loads(call["arguments"]) == {"key": "cake", "value": "almond"}
        return result["call_id"], result["output"]
    (text, call), (result,) = (item["content"] for item in talk)
    assert (text["text"], call["id"], call["input"]) == ("A moment. ", "call_1", {"key": "cake", "value": "almond"})
    return result["tool_use_id"], result["content"]


@everywhere
def test_a_refused_message_is_stored_and_the_chat_goes_on(
    api: Api, me: BoundScope, clients: Clients, upstream: Upstream
) -> None:
    upstream.fails(429, times=1)
    upstream.says(ANSWER)
    chat = me.chat(model_of(api, clients), system="Be short.")
    with pytest.raises(ERRORS) as refused:
        chat.continue_chat("Hello.")
    assert getattr(refused.value, "status_code", None) == 429
    assert said(me) == [("user", "Hello.")]
    reply = chat.continue_chat(QUESTION)
    assert upstream.prompts()[1] == prompt(api, f"Be short.\n\n{reply.block.text}", USER)
    assert said(me) == [("user", "Hello."), ("user", QUESTION), ("assistant", ANSWER)]


@everywhere
def test_of_an_answer_that_breaks_off_the_chat_knows_what_was_delivered(
    api: Api, me: BoundScope, clients: Clients, upstream: Upstream
) -> None:
    upstream.breaks_off(ANSWER, chunks=7)
    chat = me.chat(model_of(api, clients))
    got: list[str] = []
    with pytest.raises((*ERRORS, httpx2.TransportError)), chat.stream("Which cake?") as pieces:
        got.extend(pieces)
    words = "".join(got)
    assert words
    assert words != ANSWER
    assert said(me) == [("user", "Which cake?"), ("assistant", words)]
    upstream.reset()
    upstream.says("Almond.")
    assert chat.continue_chat("And?").text == "Almond."
    talk = upstream.prompts()[0][api.talk_of]
    assert talk[-3:] == [of_user("Which cake?"), of_model(words), of_user("And?")]
