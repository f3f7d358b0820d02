"""Published rules for the bodies of requests to OpenAI, Azure and Anthropic, and what breaks them.

Rules: the API references of OpenAI (chat completions, Responses, embeddings), of Azure OpenAI (reasoning models) and of
Anthropic (Messages, prompt caching, extended thinking, tool use), read in November 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Body = Mapping[str, Any]

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
CHAT_ROLES = {"system", "developer", "user", "assistant", "tool"}
CHAT_PARTS = {
    "system": {"text"},
    "developer": {"text"},
    "tool": {"text"},
    "assistant": {"text", "refusal"},
    "user": {"text", "image_url", "input_audio", "file"},
}
RESPONSE_PARTS = {
    "system": {"input_text"},
    "developer": {"input_text"},
    "user": {"input_text", "input_image", "input_file"},
    "assistant": {"output_text", "refusal"},
}
# By Azure's page on reasoning models.
NO_REASONING = {
    "temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias",
    "max_tokens",
}  # fmt: skip
MAX_EMBEDDED, MAX_EMBEDDED_TOKENS, MAX_REQUEST_TOKENS = 2_048, 8_192, 300_000
MAX_CACHE_MARKS = 4


def find_chat_breaches(body: Body) -> Iterator[str]:
    """Yield what breaks the rules of chat completions."""
    messages = body["messages"]
    roles = {message["role"] for message in messages}
    if {"system", "developer"} <= roles:
        yield "system and developer messages in one request"
    waiting: set[str] = set()
    for message in messages:
        role = message["role"]
        if role not in CHAT_ROLES:
            yield f"role {role!r}"
            continue
        if role == "tool":
            if message["tool_call_id"] not in waiting:
                yield "a tool message without its call"
            waiting.discard(message["tool_call_id"])
        elif waiting:
            yield f"calls without their results: {sorted(waiting)}"
        waiting |= {call["id"] for call in message.get("tool_calls") or ()}
        yield from _content_breaches(message, CHAT_PARTS[role], optional=bool(message.get("tool_calls")))
    yield from _schema_breaches(tool["function"] for tool in body.get("tools", ()))


def find_response_breaches(body: Body) -> Iterator[str]:
    """Yield what breaks the rules of Responses."""
    if not isinstance(body.get("instructions", ""), str | None):
        yield "instructions are a text"
    given = body["input"]
    if isinstance(given, str):
        return
    calls: set[str] = set()
    after_reasoning = False
    for item in given:
        kind = item.get("type", "message")
        if after_reasoning and (
            kind not in ("message", "function_call") or item.get("role", "assistant") != "assistant"
        ):
            yield "reasoning without the item that it led to"
        after_reasoning = kind == "reasoning"
        if kind == "function_call":
            calls.add(item["call_id"])
        elif kind == "function_call_output" and item["call_id"] not in calls:
            yield "an output without its call"
        elif kind == "message":
            yield from _content_breaches(item, RESPONSE_PARTS[item["role"]])


def find_anthropic_breaches(body: Body) -> Iterator[str]:
    """Yield what breaks the rules of Anthropic's Messages."""
    system, messages = body.get("system", ""), body["messages"]
    if not isinstance(system, str):
        yield from _block_breaches(system, {"text"})
    if not messages or messages[0]["role"] != "user":
        yield "the first message is the user's"
    called: set[str] = set()
    for message in messages:
        content = message["content"]
        if message["role"] not in ("user", "assistant"):
            yield f"role {message['role']!r}"
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        yield from _block_breaches(blocks)
        results = [block["type"] == "tool_result" for block in blocks]
        if sorted(results, reverse=True) != results:
            yield "a block before the results of tools"
        given = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        if given != called:
            yield f"results of {sorted(given)}, calls of {sorted(called)}"
        called = {block["id"] for block in blocks if block["type"] == "tool_use"}
        thinking = [block["type"] in ("thinking", "redacted_thinking") for block in blocks]
        if any(thinking) and not thinking[0]:
            yield "a block before the thinking"
    last = messages[-1]
    if last["role"] == "assistant" and isinstance(last["content"], str) and last["content"] != last["content"].rstrip():
        yield "the last answer ends with blanks"
    marks = str(body).count("'cache_control'")
    if marks > MAX_CACHE_MARKS:
        yield f"{marks} marks of caching"
    yield from _schema_breaches({**tool, "parameters": tool["input_schema"]} for tool in body.get("tools", ()))


def find_reasoning_breaches(body: Body) -> Iterator[str]:
    """Yield the parameters that reasoning models refuse, on OpenAI and on Azure."""
    yield from (f"parameter {name}" for name in sorted(NO_REASONING & body.keys()))


def find_embedding_breaches(body: Body) -> Iterator[str]:
    """Yield what breaks the rules of embeddings. A token has at least a byte, so bytes bound the tokens."""
    texts = body["input"]
    sizes = [len(text.encode()) for text in texts]
    if not 0 < len(texts) <= MAX_EMBEDDED:
        yield f"{len(texts)} texts"
    if not all(text.strip() for text in texts):
        yield "an empty text"
    if max(sizes, default=0) > MAX_EMBEDDED_TOKENS:
        yield f"a text of {max(sizes)} bytes"
    if sum(sizes) > MAX_REQUEST_TOKENS:
        yield f"{sum(sizes)} bytes in one request"


def _content_breaches(message: Body, parts: set[str], *, optional: bool = False) -> Iterator[str]:
    content = message.get("content")
    if content is None:
        if not optional:
            yield f"a message of {message['role']} without content"
    elif not isinstance(content, str):
        for part in content:
            if part["type"] not in parts:
                yield f"a part {part['type']} in a message of {message['role']}"


def _block_breaches(blocks: Any, kinds: set[str] | None = None) -> Iterator[str]:
    for block in blocks:
        if kinds is not None and block["type"] not in kinds:
            yield f"a block {block['type']}"
        if block["type"] == "text" and not block["text"].strip():
            yield "an empty text block"
        if block["type"] == "text" and not block["text"] and "cache_control" in block:
            yield "an empty text block with a mark of caching"


def _schema_breaches(functions: Any) -> Iterator[str]:
    for function in functions:
        if not NAME.fullmatch(function["name"]):
            yield f"name {function['name']!r}"
        schema = function["parameters"]
        if schema.get("type") != "object":
            yield f"the parameters of {function['name']} are an object"
        for word in ("anyOf", "oneOf", "allOf", "enum", "not"):
            if word in schema:
                yield f"{word} at the top of {function['name']}"
        for name, part in schema["properties"].items():
            if part.get("type") == "array" and "items" not in part:
                yield f"{name} of {function['name']} is a list without items"
            if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name):
                yield f"parameter {name!r}"
