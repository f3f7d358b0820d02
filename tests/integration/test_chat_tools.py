"""Tools of a chat whose calls or results are not as they should be. The models are scripts: what APIs send."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from memwarden import Warden
from memwarden.agent.tools import AsyncTools, Parameter, Tool
from memwarden.api.blocking import BoundScope
from memwarden.conversation import upstreams


@pytest.fixture
def me() -> Iterator[BoundScope]:
    with Warden.open("memory://", {"embedder": "none"}) as warden:
        yield warden.scope(user="ana", thread="t1")


class Client:
    """A client of either API that answers what it is told to, and keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []
        self.messages = SimpleNamespace(create=self.create)
        self.chat = SimpleNamespace(completions=self.messages)

    def create(self, **arguments: Any) -> Any:
        self.asked.append(arguments)
        return self.answers.pop(0)


class Wipe:
    """A tool that takes no arguments for all."""

    def __init__(self, *returns: Any) -> None:
        self.called: list[str | None] = []
        self.returns = list(returns)

    async def __call__(self, path: str | None = None) -> Any:
        self.called.append(path)
        return self.returns.pop(0) if self.returns else {"success": True, "wiped": path}

    @property
    def tools(self) -> AsyncTools:
        path = Parameter("path", "string", "Which; all when left out")
        return AsyncTools([Tool("wipe", "Wipes.", (path,), "What was wiped", "write", self)])


def called(id: str, arguments: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": "wipe", "arguments": arguments}}


def completion(*calls: dict[str, Any], finish: str = "tool_calls") -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}


DONE = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}]}


def results(client: Client) -> list[dict[str, Any]]:
    return [item for item in client.asked[-1]["messages"] if item["role"] == "tool"]


@pytest.mark.parametrize("cached", [{}, {"wipe": 2}], ids=["", "cached"])
@pytest.mark.parametrize("odd", [None, "text", [1], {("a", 1): 2}, {"x": "\ud800"}], ids=ascii)
def test_a_tool_that_returns_no_json_is_told_to_the_model(me: BoundScope, odd: Any, cached: dict[str, int]) -> None:
    client, wipe = Client(completion(called("c1", "{}")), DONE, completion(called("c2", "{}")), DONE), Wipe(odd)
    chat = me.chat(upstreams.openai_chat(client, model="m"), tools=wipe.tools, tool_cache=cached)
    assert chat.continue_chat("Wipe it.").text == "Done."
    assert json.loads(results(client)[0]["content"])["success"] is False
    assert chat.continue_chat("Again.").text == "Done."
    assert json.loads(results(client)[-1]["content"]) == {"success": True, "wiped": None}


def test_a_call_that_was_cut_off_is_not_run(me: BoundScope) -> None:
    """Anthropic's stream ends at the limit of tokens, within the arguments of a call."""
    begun = {"type": "tool_use", "id": "c1", "name": "wipe", "input": {}}
    cut = {"type": "input_json_delta", "partial_json": '{"path": "/tm'}
    events = [
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_delta", "index": 0, "delta": cut},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}},
    ]
    done = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Done."}}
    client, wipe = Client(iter(events), iter([done])), Wipe()
    chat = me.chat(upstreams.anthropic(client, model="m"), tools=wipe.tools)
    with chat.stream("Clean tmp.") as pieces:
        assert "".join(pieces) == "Done."
    assert wipe.called == []
    answer, told = client.asked[-1]["messages"][-2:]
    assert answer["content"] == [begun]
    assert json.loads(told["content"][0]["content"])["success"] is False


@pytest.mark.parametrize("id", ["", "same"])
def test_each_call_has_its_result(me: BoundScope, id: str) -> None:
    """Providers behind OpenAI's API that give no ids to calls, or the same to all."""
    client = Client(completion(called(id, '{"path": "a"}'), called(id, '{"path": "b"}')), DONE)
    wipe = Wipe()
    me.chat(upstreams.openai_chat(client, model="m"), tools=wipe.tools).continue_chat("Wipe both.")
    told = {result["tool_call_id"]: json.loads(result["content"])["wiped"] for result in results(client)}
    asked = next(item for item in client.asked[-1]["messages"] if item.get("tool_calls"))["tool_calls"]
    assert [told[item["id"]] for item in asked] == ["a", "b"] == wipe.called
