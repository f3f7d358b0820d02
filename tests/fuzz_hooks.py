"""Hooks of schemathesis: generated calls name users, agents, memories and items that exist.

``FUZZ_KNOWN`` is a JSON object of the values by name of a parameter. Which of them a call gets is decided by what was
generated in its place. A call that removes data of a user names one whom no other call needs.
"""

from __future__ import annotations

import json
import os
import zlib
from typing import Any

import schemathesis

KNOWN: dict[str, list[Any]] = json.loads(os.environ["FUZZ_KNOWN"])
# Half of the calls name no agent.
NO_AGENT = "no agent"
# Parameters that a call may leave out, and whose generated values fit nothing that exists.
LEFT_OUT = frozenset(
    """
    if-match if-none-match last-event-id cursor expected_version since_rev as_of filters order_by run_id actor_id op
    node tenant project_id max_items channel idempotency-key about source status state format column thread_id
    threshold participants role until since tool_id document_id expires_at expires_in valid_from valid_to key user
    shares
    """.split()
)
# Bodies of operations whose rules no schema can say; what is generated fills the rest.
BODIES: dict[str, dict[str, Any]] = {
    "POST /v1/memory/observe": {"messages": [{"role": "user", "content": "The kettle is new."}]},
    "POST /v1/memory/query": {"query": "kettle", "queries": None, "categories": None},
    "POST /v1/memory/context": {"messages": "Where is the kettle?", "categories": None},
    "POST /v1/memories": {"text": "The kettle is copper.", "texts": None, "category": None, "trust": None},
    "POST /v1/memories/{memory_id}/promote": {"to": "user/ana"},
    "POST /v1/memory/layout": {"messages": [{"role": "user", "content": "Kettle?"}], "settings": {}},
    "POST /v1/uses": {"rev": 1, "uses": []},
    "PATCH /v1/users/{user_id}/context": {"city": "Graz", "language": "de", "tone": None, "sources": []},
    "PATCH /v1/memories/{memory_id}": {"text": "The kettle is blue.", "category": None, "kind": None, "clear": []},
    "POST /v1/threads/{thread}/extract-due": {"mode": "every_turn", "turns": 1},
    "PUT /v1/state/{key}": {"value": {"name": "Heron"}, "trust": "person", "tool": None},
    "POST /v1/state/values": {"keys": ["boat"]},
    "POST /v1/sessions/{session_id}/screen": {"screen": {}, "messages": [], "sentence": "Go on."},
    "PUT /v1/checkpoints/{thread}": {"copy_of": "t1"},
    "POST /v1/tiers/{tier}/{place}": {"kind": "decision", "decision": "We cache answers."},
    "POST /v1/assemble": {"task_id": "k1", "project_id": "p1", "budget_tokens": 500},
    "POST /v1/tiers/{tier}/{place}/state": {"state": "running"},
    "POST /v1/tiers/{tier}/{place}/room": {"max_items": 500, "new": None},
    "PATCH /v1/tiers/{tier}/{place}/items/{item_id}": {"preference": "Short answers.", "confirm": True},
    "POST /v1/tiers/{tier}/{place}/items/{item_id}/promote": {"confirm": True},
    "PUT /v1/agents/{name}/allowlist": {"categories": ["activity"]},
    "POST /v1/jobs/{job}/run": {"user_id": "ana", "dry_run": True},
    "POST /v1/memory/extract": {"response": '[{"content": "The kettle is copper."}]', "category": None},
    "PUT /v1/config/categories": {"categories": [{"name": "activity"}], "allowlists": {}},
    "POST /v1/consents/acknowledge": {"turn_id": "t1"},
}
# Path and query of operations that fit only some of what exists.
PLACES: dict[str, dict[str, Any]] = {
    "PATCH /v1/tiers/{tier}/{place}/items/{item_id}": {"tier": "global", "place": "all", "item_id": "PREFERENCE"},
    "POST /v1/tiers/{tier}/{place}/state": {"tier": "task", "place": "k1"},
    "DELETE /v1/tiers/{tier}/{place}": {"tier": "task", "place": "k2"},
    "POST /v1/tiers/{tier}/{place}/items/{item_id}/promote": {"item_id": "DECISION"},
    "POST /v1/memories/{memory_id}/restore": {"memory_id": "FORGOTTEN"},
    "POST /v1/review/{memory_id}/decision": {"memory_id": "HELD"},
    "DELETE /v1/memories/{memory_id}": {"memory_id": "SPARE"},
    "DELETE /v1/users/{user_id}": {"user_id": "leaves"},
    "DELETE /v1/users/{user_id}/threads/{thread}": {"user_id": "ben", "thread": "t9"},
    "DELETE /v1/users/{user_id}/memories/{memory_id}": {"user_id": "ben", "memory_id": "ERASED"},
    "DELETE /v1/threads/{thread}": {"thread": "t8"},
    "DELETE /v1/sessions/{session_id}": {"session_id": "s2"},
    "DELETE /v1/state/{key}": {"key": "spare"},
    "GET /v1/memory/traces/{trace}": {"trace": "TRACE"},
    "DELETE /v1/checkpoints/{thread}": {"thread": "t8"},
}
CONFIRMED = {"DELETE /v1/users/{user_id}": "leaves", "DELETE /v1/users/{user_id}/threads/{thread}": "ben"} | {
    "DELETE /v1/users/{user_id}/memories/{memory_id}": "ben"
}


def operation(context: Any) -> str:
    return f"{context.operation.method.upper()} {context.operation.path}"


def fit(name: str, value: Any) -> Any:
    """Return what exists in place of a generated value."""
    values = KNOWN.get(name)
    return value if not values else values[zlib.crc32(repr(value).encode()) % len(values)]


def resolve(value: Any) -> Any:
    """Return the id that a word in capitals means."""
    return fit(value, value) if isinstance(value, str) and value.isupper() else value


@schemathesis.hook
def map_query(context: Any, query: dict[str, Any] | None) -> dict[str, Any] | None:
    query = query or {}
    made = {name: fit(name, value) for name, value in query.items() if name.lower() not in LEFT_OUT}
    made = {name: value for name, value in made.items() if value != NO_AGENT}
    if any(
        item["name"] == "user_id" and item["in"] == "query"
        for item in context.operation.definition.raw.get("parameters", ())
    ):
        made["user_id"] = KNOWN["user_id"][0]
    if operation(context) in CONFIRMED:
        made.pop("agent", None)
    if "confirm" in made:
        made["confirm"] = CONFIRMED.get(operation(context), "true")
    return made


@schemathesis.hook
def map_headers(context: Any, headers: dict[str, Any] | None) -> dict[str, Any] | None:
    return headers and {name: value for name, value in headers.items() if name.lower() not in LEFT_OUT}


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    if not path_parameters:
        return path_parameters
    chosen = PLACES.get(operation(context), {})
    made = {name: fit(name, value) for name, value in path_parameters.items()}
    if "tier" in made and "tier" not in chosen:
        made |= {"tier": "project", "place": "p1"}
    return made | {name: resolve(value) for name, value in chosen.items()}


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    if operation(context) == "POST /v1/import":
        return b"User: The kettle is copper.\nAssistant: Noted.\n"
    if not isinstance(body, dict):
        return body
    own = BODIES.get(operation(context), {})
    made = {
        name: fit(name, value)
        for name, value in body.items()
        if name not in LEFT_OUT
        and fit(name, value) != NO_AGENT
        and not (name not in own and name in ("kind", "category", "categories"))
    }
    if operation(context) == "POST /v1/tiers/{tier}/{place}":
        return own
    return made | own
