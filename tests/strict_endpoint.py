"""A chat endpoint on this machine that holds requests to a provider's published rules, and refuses what breaks them.

Rules of strict schemas: https://platform.openai.com/docs/guides/structured-outputs (supported schemas).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# Keywords of a strict schema. Others are refused, such as ``maxItems`` and ``allOf`` by many compatible servers.
KEYWORDS = {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "description"}
TYPES = {"string", "number", "integer", "boolean", "object", "array", "null"}
PARAMETERS = {"model", "messages", "response_format", "temperature", "max_tokens", "max_completion_tokens", "stream"}
MAX_PROPERTIES, MAX_LEVELS, MAX_ENUMS, MAX_NAMES = 5_000, 10, 1_000, 120_000


def find_breaches(schema: Any, *, root: bool = True) -> Iterator[str]:
    """Yield what breaks the rules of strict schemas."""
    if root and (schema.get("type") != "object" or "anyOf" in schema):
        yield "the root is an object"
    yield from _breaches(schema, 1)
    if root:
        names = list(_names(schema))
        if sum(map(len, names)) > MAX_NAMES:
            yield "the names are too long in total"


def _breaches(schema: Any, level: int) -> Iterator[str]:
    if not isinstance(schema, Mapping):
        yield f"{schema!r} is not a schema"
        return
    if level > MAX_LEVELS:
        yield "too many levels"
        return
    yield from (f"keyword {word}" for word in schema.keys() - KEYWORDS)
    types = schema.get("type")
    listed = [types] if isinstance(types, str) else types or []
    yield from (f"type {item!r}" for item in listed if item not in TYPES)
    if not listed and "anyOf" not in schema:
        yield "a schema without a type"
    if "object" in listed:
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False:
            yield "additionalProperties is false"
        if sorted(schema.get("required", [])) != sorted(properties):
            yield f"required lists every property: {sorted(properties)}"
        if len(properties) > MAX_PROPERTIES:
            yield "too many properties"
        for part in properties.values():
            yield from _breaches(part, level + 1)
    if "array" in listed:
        if "items" not in schema:
            yield "an array without items"
        else:
            yield from _breaches(schema["items"], level + 1)
    if "enum" in schema and not 0 < len(schema["enum"]) <= MAX_ENUMS:
        yield "an enum has 1 to 1,000 values"
    for part in schema.get("anyOf", ()):
        yield from _breaches(part, level + 1)


def _names(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        yield from schema.get("properties", {})
        yield from (value for value in schema.get("enum", ()) if isinstance(value, str))
        for part in (*schema.get("properties", {}).values(), schema.get("items")):
            yield from _names(part)


def fill(schema: Mapping[str, Any]) -> Any:
    """Return the shortest answer that a schema allows."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema["type"] if isinstance(schema["type"], str) else "null"
    if kind == "object":
        return {name: fill(part) for name, part in schema["properties"].items()}
    return {"string": "x", "integer": 1, "number": 1, "boolean": False, "array": [], "null": None}[kind]


class ChatEndpoint:
    """An endpoint of a certain kind.

    Args:
        kind: ``strict`` takes strict schemas; ``object`` knows ``json_object`` alone; ``plain`` knows no
            ``response_format``; ``silent`` refuses both without naming why; ``reasoning`` also refuses ``max_tokens``
            and ``temperature`` and thinks aloud; ``parts`` answers with parts, the first of them hidden; ``detail``
            refuses ``response_format`` as FastAPI does; ``hangs``, ``fails``, ``chats`` and ``wraps``, an error behind
            the status 200, are of no use.
        answer: what is answered to a request, as JSON; None: the shortest answer that the schema allows.
    """

    def __init__(self, kind: str = "strict", answer: Callable[[dict[str, Any]], Any] | None = None) -> None:
        self.kind = kind
        self.answer = answer
        self.asked: list[dict[str, Any]] = []
        self.refused: list[str] = []
        self.url = ""
        self.over = threading.Event()

    def judge(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the status and the answer to a request."""
        self.asked.append(body)
        if self.kind == "hangs":
            self.over.wait(60)
        if self.kind == "fails":
            return 500, {"error": {"message": "internal error"}}
        if self.kind == "wraps":
            return 200, {"error": {"message": "provider returned error", "code": 502}}
        refusal = self._refusal(body)
        if refusal is not None:
            message, parameter = refusal
            self.refused.append(message)
            if self.kind == "detail":
                return 422, {"detail": [{"loc": ["body", parameter], "msg": "Extra inputs are not permitted"}]}
            named = {} if self.kind == "silent" else {"param": parameter}
            return 400, {"error": {"message": "bad request" if self.kind == "silent" else message, **named}}
        return 200, self._completion(body)

    def _refusal(self, body: dict[str, Any]) -> tuple[str, str] | None:
        for name in body.keys() - PARAMETERS:
            return f"Unrecognized request argument supplied: {name}", name
        if self.kind == "reasoning" and "max_tokens" in body:
            return "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens"
        if self.kind == "reasoning" and "temperature" in body:
            return "Unsupported value: 'temperature' does not support 0 with this model.", "temperature"
        form = body.get("response_format")
        if form is None:
            return None
        if self.kind in ("plain", "silent", "detail"):
            return "response_format is not supported by this model", "response_format"
        if form["type"] == "json_object":
            said = " ".join(message["content"] for message in body["messages"])
            return None if "JSON" in said else ("'messages' must contain the word 'json'", "messages")
        if self.kind == "object":
            return "This response_format type is unavailable now", "response_format"
        breaches = list(find_breaches(form["json_schema"]["schema"]))
        if breaches:
            return f"Invalid schema for response_format 'answer': {breaches[0]}", "response_format"
        return None

    def _completion(self, body: dict[str, Any]) -> dict[str, Any]:
        form = body.get("response_format") or {}
        said: Any
        if self.kind == "chats":
            said = "Sure! I would be glad to help you with that. What would you like to know?"
        elif self.answer is not None:
            said = json.dumps(self.answer(body))
        else:
            said = json.dumps(fill(form["json_schema"]["schema"])) if "json_schema" in form else "{}"
        if self.kind == "reasoning":
            said = f'<think>They want {{"facts": []}}, or [1, 2].</think>\n{said}'
        if self.kind == "parts":
            thought = {"type": "thinking", "thinking": [{"type": "text", "text": "They want [1, 2]."}]}
            said = [thought, {"type": "text", "text": said}]
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


@contextmanager
def serve_endpoint(endpoint: ChatEndpoint) -> Iterator[ChatEndpoint]:
    """Serve an endpoint; its ``url`` is set meanwhile."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the standard library's name
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = endpoint.judge(body)
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())
            except OSError:
                return  # the caller waited long enough

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield endpoint
    finally:
        endpoint.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
