"""The ways to ask a model through the real SDKs of OpenAI and Anthropic, each as it is written in a program."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import anthropic
import openai

from memwarden import Warden
from memwarden.api.blocking import BoundScope

_NUMBERS = count()
QUESTION = "Which cake can Ana, who is allergic to hazelnuts, eat?"
GPT, CLAUDE = "gpt-5", "claude-opus-5"
FACT = "Ana is allergic to hazelnuts"
ERRORS = (openai.OpenAIError, anthropic.AnthropicError)


@dataclass(frozen=True, slots=True)
class Clients:
    """Blocking clients of both SDKs, which try once."""

    openai: openai.OpenAI
    anthropic: anthropic.Anthropic


@dataclass(frozen=True, slots=True)
class AsyncClients:
    """Asynchronous clients of both SDKs, which try once."""

    openai: openai.AsyncOpenAI
    anthropic: anthropic.AsyncAnthropic


@contextmanager
def clients_of(url: str, retries: int = 0) -> Iterator[Clients]:
    """Clients of the provider at a URL."""
    with (
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=retries) as chat,
        anthropic.Anthropic(base_url=url, api_key="none", max_retries=retries) as claude,
    ):
        yield Clients(chat, claude)


@asynccontextmanager
async def async_clients_of(url: str) -> AsyncIterator[AsyncClients]:
    """Asynchronous clients of the provider at a URL."""
    async with (
        openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as chat,
        anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as claude,
    ):
        yield AsyncClients(chat, claude)


@dataclass(frozen=True, slots=True)
class Api:
    """One API: what a program gives for a question, and the calls of it.

    Attributes:
        request: the arguments of the call. tool: a tool as this API takes it.
        call: the call, of blocking or asynchronous clients. raw: the same, for an answer with its headers.
        gathers: the SDK's stream that gathers what came (``client...stream(...)``); gathered: what it has at the end.
        words: the words that an event of a stream brings, read as the SDK's types say.
        next_round: a request after an answer that called tools, with the result of each.
    """

    form: str
    request: dict[str, Any]
    tool: dict[str, Any]
    call: Callable[[Any], Callable[..., Any]]
    raw: Callable[[Any], Callable[..., Any]]
    gathers: Callable[[Any], Callable[..., Any]]
    gathered: Callable[[Any], Any]
    words: Callable[[Any], str]
    next_round: Callable[[dict[str, Any], Any, str], dict[str, Any]]

    @property
    def talk_of(self) -> str:
        """The name of the argument that holds the conversation."""
        return "input" if self.form == "openai_responses" else "messages"

    def asking(self, *talk: dict[str, Any]) -> dict[str, Any]:
        """The request with this conversation in place of the question."""
        if self.form == "openai_chat":
            return {**self.request, "messages": [self.request["messages"][0], *talk]}
        return {**self.request, self.talk_of: list(talk)}


def _chat_words(event: Any) -> str:
    return event.choices[0].delta.content or ""


def _responses_words(event: Any) -> str:
    return str(event.delta) if event.type == "response.output_text.delta" else ""


def _anthropic_words(event: Any) -> str:
    return str(event.delta.text) if event.type == "content_block_delta" else ""


def _chat_round(request: dict[str, Any], answer: Any, result: str) -> dict[str, Any]:
    message = answer.choices[0].message
    results = [{"role": "tool", "tool_call_id": call.id, "content": result} for call in message.tool_calls]
    return {**request, "messages": [*request["messages"], message, *results]}


def _responses_round(request: dict[str, Any], answer: Any, result: str) -> dict[str, Any]:
    calls = [item for item in answer.output if item.type == "function_call"]
    results = [{"type": "function_call_output", "call_id": call.call_id, "output": result} for call in calls]
    return {**request, "input": [*request["input"], *answer.output, *results]}


def _anthropic_round(request: dict[str, Any], answer: Any, result: str) -> dict[str, Any]:
    calls = [block for block in answer.content if block.type == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": result} for call in calls]
    talk = [{"role": "assistant", "content": answer.content}, {"role": "user", "content": results}]
    return {**request, "messages": [*request["messages"], *talk]}


USER = {"role": "user", "content": QUESTION}
_SCHEMA = {"type": "object", "properties": {"cake": {"type": "string"}}, "required": ["cake"]}
_TOOL = {"name": "nuts_in", "description": "What nuts a cake holds.", "parameters": _SCHEMA}
CHAT = Api(
    form="openai_chat",
    request={"model": GPT, "messages": [{"role": "system", "content": "Be short."}, USER]},
    tool={"type": "function", "function": _TOOL},
    call=lambda clients: clients.openai.chat.completions.create,
    raw=lambda clients: clients.openai.chat.completions.with_raw_response.create,
    gathers=lambda clients: clients.openai.chat.completions.stream,
    gathered=lambda stream: stream.get_final_completion(),
    words=_chat_words,
    next_round=_chat_round,
)
RESPONSES = Api(
    form="openai_responses",
    request={"model": GPT, "instructions": "Be short.", "input": [USER]},
    tool={"type": "function", **_TOOL},
    call=lambda clients: clients.openai.responses.create,
    raw=lambda clients: clients.openai.responses.with_raw_response.create,
    gathers=lambda clients: clients.openai.responses.stream,
    gathered=lambda stream: stream.get_final_response(),
    words=_responses_words,
    next_round=_responses_round,
)
MESSAGES = Api(
    form="anthropic",
    request={"model": CLAUDE, "max_tokens": 64, "system": "Be short.", "messages": [USER]},
    tool={"name": _TOOL["name"], "description": _TOOL["description"], "input_schema": _SCHEMA},
    call=lambda clients: clients.anthropic.messages.create,
    raw=lambda clients: clients.anthropic.messages.with_raw_response.create,
    gathers=lambda clients: clients.anthropic.messages.stream,
    gathered=lambda stream: stream.get_final_message(),
    words=_anthropic_words,
    next_round=_anthropic_round,
)
APIS = (CHAT, RESPONSES, MESSAGES)


def name_of(value: Any) -> str | None:
    """The name of an API among the parameters of a test."""
    return value.form if isinstance(value, Api) else None


def knowing(warden: Warden) -> BoundScope:
    """Somebody new of whom one thing is known."""
    who = warden.scope(user=f"ana-{next(_NUMBERS)}", thread="today")
    who.remember(f"{FACT}.")
    return who


def said(me: BoundScope) -> list[tuple[str | None, str]]:
    """What the thread holds, oldest first."""
    turns = me.find({"channel": "turn", "thread_id": me.who.thread}, order_by="written", descending=False)
    return [(turn.role, turn.text) for turn in turns]
