"""Every body that goes to a provider obeys the provider's published rules, with memories in it and in each mode."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from memwarden import Warden
from memwarden.api.blocking import BoundScope
from memwarden.conversation.settings import ChatSettings
from memwarden.models.openai import OpenAIChat
from memwarden.models.schemas import object_of
from provider_rules import (
    Body,
    find_anthropic_breaches,
    find_chat_breaches,
    find_embedding_breaches,
    find_reasoning_breaches,
    find_response_breaches,
)
from strict_endpoint import ChatEndpoint, serve_endpoint

MODES = ("system_append", "context_message", "user_prefix", "cache_stable")
ASKED = "What is Ottilie's boat called?"
SETTINGS = ChatSettings(use_memory=True, memory_search_threshold=0.0)
IMAGE = "data:image/png;base64,iVBORw0KGgo="
CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
MARK = {"cache_control": {"type": "ephemeral"}}

CHAT: dict[str, list[dict[str, Any]]] = {
    "one message": [{"role": "user", "content": ASKED}],
    "system": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": ASKED}],
    "developer": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": ASKED}],
    "developer late": [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello."},
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": ASKED},
    ],
    "parts": [
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": IMAGE}}, {"type": "text", "text": ASKED}],
        },
    ],
    "picture alone": [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": "Which?"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": IMAGE}}]},
    ],
    "result of a tool": [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "Heron"},
    ],
    "result and question": [
        {"role": "user", "content": "Look it up."},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "Heron"},
        {"role": "user", "content": ASKED},
    ],
}
RESPONSES: dict[str, dict[str, Any]] = {
    "text": {"input": ASKED},
    "instructions": {"instructions": "Be brief.", "input": ASKED},
    "items": {"input": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": ASKED}]},
    "parts": {
        "input": [
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_image", "image_url": IMAGE}, {"type": "input_text", "text": ASKED}],
            }
        ]
    },
    "reasoning": {
        "input": [
            {"role": "user", "content": ASKED},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "function_call", "call_id": "c1", "name": "find", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "Heron"},
        ]
    },
}
ANTHROPIC: dict[str, dict[str, Any]] = {
    "one message": {"messages": [{"role": "user", "content": ASKED}]},
    "system": {"system": "Be brief.", "messages": [{"role": "user", "content": ASKED}]},
    "four marks": {
        "system": [{"type": "text", "text": f"Rule {number}.", **MARK} for number in range(3)],
        "messages": [{"role": "user", "content": [{"type": "text", "text": ASKED, **MARK}]}],
    },
    "empty system": {"system": "", "messages": [{"role": "user", "content": ASKED}]},
    "prefill": {"messages": [{"role": "user", "content": ASKED}, {"role": "assistant", "content": "The boat is"}]},
    "result of a tool": {
        "messages": [
            {"role": "user", "content": ASKED},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Look it up.", "signature": "s"},
                    {"type": "tool_use", "id": "t1", "name": "find", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "Heron"},
                    {"type": "text", "text": f"So: {ASKED}"},
                ],
            },
        ]
    },
    "result alone": {
        "messages": [
            {"role": "user", "content": ASKED},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "find", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "Heron"}]},
        ]
    },
    "picture": {
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
                    {"type": "text", "text": ASKED},
                ],
            }
        ]
    },
}
Rules = Callable[[Body], Iterator[str]]
BODIES: list[tuple[str, str, Body, Rules]] = [
    *(("openai_chat", name, {"model": "m", "messages": sent}, find_chat_breaches) for name, sent in CHAT.items()),
    *(("openai_responses", name, {"model": "m", **sent}, find_response_breaches) for name, sent in RESPONSES.items()),
    *(
        ("anthropic", name, {"model": "m", "max_tokens": 9, **sent}, find_anthropic_breaches)
        for name, sent in ANTHROPIC.items()
    ),
]


@pytest.fixture(scope="module")
def me() -> Iterator[BoundScope]:
    with Warden.open("memory://", {"embedder": "none"}) as warden:
        scope = warden.scope(user="ana", thread="before")
        scope.remember("Ottilie's boat is called Heron.")
        scope.remember("Ottilie's boat is painted blue.", source="https://boats.example/heron")
        yield warden.scope(user="ana", thread="now")


@pytest.mark.parametrize(
    ("form", "name", "body", "rules"), BODIES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_request_with_memories_obeys_the_rules(
    form: str, name: str, body: Body, rules: Rules, me: BoundScope
) -> None:
    assert list(rules(body)) == []
    before = json.dumps(body)
    for mode in MODES:
        with me.turn(dict(body), replace(SETTINGS, memory_injection_mode=mode), form=form) as turn:
            assert list(rules(turn.request)) == [], mode
            assert {
                key: turn.request[key] for key in body.keys() - {"messages", "input", "system", "instructions"}
            } == {key: body[key] for key in body.keys() - {"messages", "input", "system", "instructions"}}
            if name != "picture alone":
                assert "Heron" in json.dumps(turn.request).replace(before[1:-1], "")
            turn.record_response("It is called Heron.")
    assert json.dumps(body) == before


def test_the_tools_obey_the_rules(me: BoundScope) -> None:
    tools = me.tools()
    asked = [{"role": "user", "content": ASKED}]
    assert list(find_chat_breaches({"messages": asked, "tools": tools.openai()})) == []
    assert list(find_anthropic_breaches({"messages": asked, "tools": tools.anthropic()})) == []


@pytest.mark.parametrize("limit", [300, 4_000])
def test_a_reasoning_model_gets_no_parameter_that_it_refuses(limit: int) -> None:
    with serve_endpoint(ChatEndpoint("reasoning")) as endpoint:
        model = OpenAIChat("o4", url=endpoint.url)
        for _ in range(2):
            model.complete("Answer.", ASKED, schema=object_of({"name": {"type": "string"}}), max_tokens=limit)
        last = endpoint.asked[-1]
        assert len(endpoint.asked) == 4  # two refusals, once
    assert list(find_reasoning_breaches(last)) == []
    assert last["max_completion_tokens"] > limit


@pytest.mark.parametrize(
    ("rules", "body"),
    [
        (find_chat_breaches, {"messages": [*CHAT["system"], *CHAT["developer"]]}),
        (find_chat_breaches, {"messages": [{"role": "tool", "tool_call_id": "c9", "content": "x"}]}),
        (find_chat_breaches, {"messages": [CHAT["result of a tool"][1], {"role": "user", "content": "x"}]}),
        (find_response_breaches, {"input": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]}),
        (find_response_breaches, {"input": [{"type": "reasoning"}, {"role": "user", "content": "x"}]}),
        (find_anthropic_breaches, {"messages": [{"role": "assistant", "content": "x"}]}),
        (find_anthropic_breaches, {"messages": [{"role": "user", "content": [{"type": "text", "text": " "}]}]}),
        (find_reasoning_breaches, {"temperature": 0}),
        (find_embedding_breaches, {"input": ["船" * 8_000]}),
    ],
)
def test_the_rules_find_what_breaks_them(rules: Rules, body: Body) -> None:
    assert list(rules(body))
