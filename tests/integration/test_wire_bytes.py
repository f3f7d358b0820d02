"""With nothing remembered, what the SDKs send from within a turn is what they send without it, to the byte."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from itertools import count
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from openai.types.chat import ChatCompletionMessage

from memwarden import Warden
from memwarden.conversation.settings import ChatSettings
from sdks import CHAT, CLAUDE, ERRORS, GPT, MESSAGES, RESPONSES, Api, AsyncClients, Clients

MODES = ("system_append", "context_message", "user_prefix", "cache_stable")
NUMBERS = count()
PIXEL = "iVBORw0KGgo="
IMAGE_URL = f"data:image/png;base64,{PIXEL}"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ASKED = "Where shall we eat in Łódź 🍜?\n\n  Not too late.\t"
SAID = {"role": "user", "content": ASKED}
ANSWERED = {"role": "assistant", "content": "At the station. \u2028It opens at six."}
BRIEF = {"role": "system", "content": "Be brief."}
TALK = [SAID, ANSWERED, {"role": "user", "content": "And tomorrow?"}]
CACHED: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def text(words: str, kind: str = "text", **more: Any) -> dict[str, Any]:
    return {"type": kind, "text": words, **more}


def chat(*messages: Any, **more: Any) -> tuple[Api, dict[str, Any]]:
    return CHAT, {"model": GPT, "messages": list(messages) or [SAID], **more}


def responses(given: Any = ASKED, **more: Any) -> tuple[Api, dict[str, Any]]:
    return RESPONSES, {"model": GPT, "input": given, **more}


def claude(*messages: Any, **more: Any) -> tuple[Api, dict[str, Any]]:
    return MESSAGES, {"model": CLAUDE, "max_tokens": 64, "messages": list(messages) or [SAID], **more}


FUNCTION = {"name": "weather", "description": "The weather.", "parameters": SCHEMA}
CHAT_TOOL = {"type": "function", "function": FUNCTION}
CHAT_CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":  "Łódź"}'}}],
}
CHAT_RESULT = {"role": "tool", "tool_call_id": "c1", "content": "rain"}
CHAT_IMAGE = {"type": "image_url", "image_url": {"url": IMAGE_URL, "detail": "low"}}
SOUND = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
JSON_SCHEMA = {"name": "place", "schema": SCHEMA, "strict": True}
SPOKEN = text(ASKED, "input_text")
CALL = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":  "Łódź"}'}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "rain"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc="}
TOOL = {"name": "weather", "description": "The weather.", "input_schema": SCHEMA}
USE = {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Łódź"}}
DONE = {"type": "tool_result", "tool_use_id": "c1", "content": "rain"}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "A menu."}}
THINKS = {"type": "thinking", "thinking": "Hm.", "signature": "s="}

FORMS: dict[str, tuple[Api, dict[str, Any]]] = {
    "chat: a message": chat(),
    "chat: a stream": chat(stream=True),
    "chat: a stream with usage": chat(stream=True, stream_options={"include_usage": True}),
    "chat: system": chat(BRIEF, SAID),
    "chat: developer": chat({"role": "developer", "content": "Be brief."}, SAID),
    "chat: system of parts": chat({"role": "system", "content": [text("Be"), text(" brief.")]}, SAID),
    "chat: system in the middle": chat(SAID, ANSWERED, BRIEF, {"role": "user", "content": "And now?"}),
    "chat: a conversation": chat(BRIEF, *TALK),
    "chat: a conversation, a stream": chat(*TALK, stream=True),
    "chat: names": chat({**SAID, "name": "ana"}),
    "chat: parts": chat(user(text(ASKED), text("Thanks."))),
    "chat: an image": chat(user(CHAT_IMAGE, text(ASKED))),
    "chat: an image alone": chat(user(CHAT_IMAGE)),
    "chat: sound": chat(user(SOUND, text(ASKED)), modalities=["text"]),
    "chat: tools": chat(tools=[CHAT_TOOL]),
    "chat: a choice of tools": chat(tools=[CHAT_TOOL], tool_choice="required", parallel_tool_calls=False),
    "chat: a tool's result": chat(SAID, CHAT_CALL, CHAT_RESULT, tools=[CHAT_TOOL]),
    "chat: a tool's result, a stream": chat(SAID, CHAT_CALL, CHAT_RESULT, stream=True),
    "chat: sampling": chat(temperature=0.3, top_p=1, seed=7, n=1, stop=["."], presence_penalty=0.1),
    "chat: limits": chat(max_completion_tokens=64, reasoning_effort="low", logprobs=True, top_logprobs=2),
    "chat: JSON": chat(response_format={"type": "json_schema", "json_schema": JSON_SCHEMA}),
    "chat: for the record": chat(metadata={"run": "1"}, store=False, service_tier="auto", user="u"),
    "chat: more of the body": chat(extra_body={"top_k": 3, "Ünï": [1, 2.50]}, extra_headers={"x-run": "1"}),
    "chat: a message of the SDK": chat(SAID, ChatCompletionMessage(role="assistant", content="Six."), SAID),
    "responses: a text": responses(),
    "responses: a stream": responses(stream=True),
    "responses: a message": responses([SAID]),
    "responses: a typed message": responses([{"type": "message", **SAID}]),
    "responses: instructions": responses(instructions="Be brief."),
    "responses: developer": responses([{"role": "developer", "content": "Be brief."}, SAID]),
    "responses: a conversation": responses(TALK),
    "responses: a conversation, a stream": responses(TALK, stream=True, instructions="Be brief."),
    "responses: parts": responses([user(SPOKEN)]),
    "responses: an image": responses([user({"type": "input_image", "image_url": IMAGE_URL}, SPOKEN)]),
    "responses: a file": responses([user({"type": "input_file", "file_id": "file-1"}, SPOKEN)]),
    "responses: tools": responses(tools=[{"type": "function", **FUNCTION, "strict": True}], tool_choice="auto"),
    "responses: tools of the provider": responses(tools=[{"type": "web_search"}]),
    "responses: a tool's result": responses([SAID, CALL, RESULT]),
    "responses: thoughts sent back": responses([SAID, THOUGHT, CALL, RESULT], include=["reasoning.encrypted_content"]),
    "responses: after an answer": responses(previous_response_id="resp_1"),
    "responses: an item named": responses([SAID, {"type": "item_reference", "id": "msg_1"}, SAID]),
    "responses: JSON": responses(text={"format": {"type": "json_schema", **JSON_SCHEMA}}),
    "responses: limits": responses(max_output_tokens=64, temperature=0, reasoning={"effort": "low"}, truncation="auto"),
    "responses: for the record": responses(metadata={"run": "1"}, store=False, prompt_cache_key="k"),
    "claude: a message": claude(),
    "claude: a stream": claude(stream=True),
    "claude: system": claude(system="Be brief."),
    "claude: an empty system": claude(system=""),
    "claude: system of blocks": claude(system=[text("Be brief."), text("Be kind.", **CACHED)]),
    "claude: a conversation": claude(*TALK),
    "claude: a conversation, a stream": claude(*TALK, system="Be brief.", stream=True),
    "claude: blocks": claude(user(text(ASKED, **CACHED), text("Thanks."))),
    "claude: an image": claude(user(PICTURE, text(ASKED))),
    "claude: a document": claude(user({**DOCUMENT, "citations": {"enabled": True}}, text(ASKED))),
    "claude: tools": claude(tools=[TOOL], tool_choice={"type": "auto", "disable_parallel_tool_use": True}),
    "claude: cached tools": claude(tools=[{**TOOL, **CACHED}], system=[text("Be brief.", **CACHED)]),
    "claude: a tool's result": claude(SAID, {"role": "assistant", "content": [USE]}, user(DONE), tools=[TOOL]),
    "claude: a result and words": claude(SAID, {"role": "assistant", "content": [USE]}, user(DONE, text("And?"))),
    "claude: thoughts sent back": claude(SAID, {"role": "assistant", "content": [THINKS, USE]}, user(DONE)),
    "claude: thinking": claude(thinking={"type": "enabled", "budget_tokens": 1024}),
    "claude: a beginning": claude(SAID, {"role": "assistant", "content": "At the"}),
    "claude: sampling": claude(extra_body={"temperature": 0.3, "top_k": 3}, stop_sequences=["."]),
    "claude: for the record": claude(metadata={"user_id": "u"}, service_tier="auto"),
}


class Wire:
    """Stands for the network: keeps the requests to the byte and answers none."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, bytes]] = []
        self._runner = asyncio.Runner()
        client = httpx2.Client(transport=httpx2.MockTransport(self.take))
        self._clients = Clients(
            openai.OpenAI(api_key="none", http_client=client, max_retries=0),
            anthropic.Anthropic(api_key="none", http_client=client, max_retries=0),
        )
        async_client = httpx2.AsyncClient(transport=httpx2.MockTransport(self.take_async))
        self._async_clients = AsyncClients(
            openai.AsyncOpenAI(api_key="none", http_client=async_client, max_retries=0),
            anthropic.AsyncAnthropic(api_key="none", http_client=async_client, max_retries=0),
        )
        self._open = (client, async_client)

    def take(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append((request.method, str(request.url), request.read()))
        return httpx2.Response(400, json={"error": {"message": "not now", "type": "invalid_request_error"}})

    async def take_async(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append((request.method, str(request.url), await request.aread()))
        return httpx2.Response(400, json={"error": {"message": "not now", "type": "invalid_request_error"}})

    def call(self, api: Api, request: dict[str, Any]) -> None:
        """Send a request with the blocking SDK."""
        with contextlib.suppress(*ERRORS):
            api.call(self._clients)(**request)

    def call_async(self, api: Api, request: dict[str, Any]) -> None:
        """Send a request with the asynchronous SDK."""

        async def send() -> None:
            await api.call(self._async_clients)(**request)

        with contextlib.suppress(*ERRORS):
            self._runner.run(send())

    def close(self) -> None:
        client, async_client = self._open
        client.close()
        self._runner.run(async_client.aclose())
        self._runner.close()


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    """The SDKs are made once."""
    made = Wire()
    yield made
    made.close()


@pytest.fixture(scope="module")
def warden() -> Iterator[Warden]:
    with Warden.open("memory://", config={}) as opened:
        yield opened


def test_there_are_sixty_forms() -> None:
    assert len(FORMS) >= 60


@pytest.mark.parametrize("modes", ["one", pytest.param("all", marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", FORMS)
def test_an_empty_memory_changes_no_byte(name: str, modes: str, warden: Warden, wire: Wire) -> None:
    """In turn, each form is sent in one mode, and each mode with many forms."""
    api, request = FORMS[name]
    tried = MODES if modes == "all" else (MODES[list(FORMS).index(name) % len(MODES)],)
    wire.sent.clear()
    wire.call(api, request)
    wire.call_async(api, request)
    alone = wire.sent[0]
    assert wire.sent == [alone, alone]
    for mode in tried:
        settings = ChatSettings(use_memory=True, memory_injection_mode=mode)
        for form in (None, api.form):
            me = warden.scope(user=f"nobody-{next(NUMBERS)}")
            with contextlib.suppress(*ERRORS), me.turn(request, settings, form=form) as turn:
                wire.call(api, turn.request)
    with me.turn(request, settings, form=api.form) as turn:
        wire.call_async(api, turn.request)
    assert wire.sent == [alone] * (3 + 2 * len(tried))
