"""Every route refuses a missing, a wrong, an expired, a weaker and a foreign key. The routes are listed by the app."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from http_calls import calling, make_key
from memwarden import AsyncWarden, clock
from memwarden.surfaces.cli.main import run
from memwarden.surfaces.http.app import ServerOptions, create_app, describe

CONFIG = {"embedder": "none"}
OPERATIONS = ("read", "write", "decide", "operate")
OPEN_ROUTES = {("get", "/healthz"), ("get", "/readyz")}
"""They tell whether the server is well, and nothing that anybody remembers."""
MESSAGES = {"messages": "I moved to Graz."}
TOOL_CALL = {"session_id": "s1", "tool_name": "weather", "parameters": {}}
RECEIPT = {
    "tenant": "default", "path": "user/tom", "store": "memory:", "engine": "memory", "digest": "x",
    "started_at": "2026-01-01T00:00:00+00:00", "kinds": {}, "counts": {},
}  # fmt: skip
BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("post", "/v1/memory/observe"): MESSAGES,
    ("post", "/v1/memory/query"): {"query": "Where does Ana live?"},
    ("post", "/v1/memory/context"): MESSAGES,
    ("post", "/v1/memory/extract"): {"response": '["Ana lives in Graz."]'},
    ("post", "/v1/memories"): {"text": "Ana lives in Graz."},
    ("post", "/v1/memory/layout"): {"messages": [{"role": "user", "content": "Where do I live?"}]},
    ("post", "/v1/memories/forget"): {"memory_ids": ["m1"]},
    ("post", "/v1/jobs/{job}/run"): {"dry_run": True},
    ("post", "/v1/uses"): {"rev": 1, "uses": [{"memory_id": "m1", "verdict": "used"}]},
    ("post", "/v1/threads/{thread}/extract-due"): {"mode": "periodic", "turns": 8},
    ("post", "/v1/consents/acknowledge"): {"turn_id": "t1"},
    ("put", "/v1/checkpoints/{thread}"): {"copy_of": "t1"},
    ("post", "/v1/state/relevant"): {"goal": "thank somebody"},
    ("post", "/v1/state/values"): {"keys": ["kudos"]},
    ("post", "/v1/sessions/{session_id}/screen"): {"screen": {}, "messages": [], "sentence": "A screen."},
    ("put", "/v1/config/categories"): {"categories": [{"name": "activity"}], "allowlists": {"planner": ["activity"]}},
    ("put", "/v1/agents/{name}/allowlist"): {"categories": ["activity"]},
    ("patch", "/v1/tiers/{tier}/{place}/items/{item_id}"): {"preference": "Short answers."},
    ("post", "/v1/tiers/{tier}/{place}/items/{item_id}/promote"): {},
    ("post", "/v1/tiers/{tier}/{place}/items/{item_id}/pin"): {"pinned": True},
    ("post", "/v1/tiers/{tier}/{place}/state"): {"state": "running"},
    ("post", "/v1/tiers/{tier}/{place}/room"): {"max_items": 10},
    ("patch", "/v1/memories/{memory_id}"): {"pinned": True},
    ("post", "/v1/memories/{memory_id}/promote"): {"to": "project/p1"},
    ("post", "/v1/review/{memory_id}/decision"): {"approve": True},
    ("patch", "/v1/users/{user_id}/context"): {"city": "Graz"},
    ("post", "/v1/consents/{consent_id}/decision"): {"approve": True},
    ("put", "/v1/state/{key}"): {"value": 1},
    ("post", "/v1/sessions"): {"session_id": "s1"},
    ("post", "/v1/sessions/{session_id}/messages"): {"user_message": "Hello?"},
    ("post", "/v1/sessions/{session_id}/exchanges"): {"user_question": "Where?", "final_answer": "There."},
    ("post", "/v1/tool-cache/lookup"): TOOL_CALL,
    ("post", "/v1/tool-cache/store"): {**TOOL_CALL, "result": "sunny", "llm_cache_duration": 3},
    ("post", "/v1/tiers/{tier}/{place}"): {"kind": "pattern", "pattern": "Tests first.", "domain": "code"},
    ("post", "/v1/assemble"): {"task_id": "t1", "budget_tokens": 100},
    ("post", "/v1/assemble/uses"): {"build_id": "b1", "uses": [{"tier": "task", "tokens": 9, "used": 3}]},
    ("post", "/v1/chat/completions"): {"messages": [{"role": "user", "content": "Where do I live?"}]},
    ("post", "/v1/responses"): {"input": "Where do I live?"},
    ("post", "/v1/messages"): {"messages": [{"role": "user", "content": "Where do I live?"}]},
    ("post", "/v1/messages/count_tokens"): {"messages": []},
    ("post", "/v1/embeddings"): {"input": "Where?"},
    ("post", "/v1/completions"): {"prompt": "Where?"},
    ("post", "/v1/users/{user_id}/erasures"): {"begun": RECEIPT, "confirm": "tom"},
    ("post", "/v1/users/{user_id}/erasures/verify"): RECEIPT,
}
"""The smallest body that each route takes."""
PASSED_ON = {
    "/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens", "/v1/embeddings",
    "/v1/completions", "/v1/models", "/v1/models/{model}",
}  # fmt: skip
"""What goes to a provider of models: clients parse errors as it writes them, and headers say whose memory it is."""
PATHS = {"job": "expire", "tier": "project", "rev": "1", "name": "planner"}
"""What stands in paths; everything else is the name of something that is not there."""
READS = {"/v1/memory/query", "/v1/memory/context", "/v1/assemble", "/v1/state/relevant", "/v1/state/values"}
"""Their questions stand in a body."""
OF_TENANTS = {"/v1/assemble", "/v1/assemble/uses", "/v1/memories/{memory_id}/promote"} | {
    f"/v1/tiers/{{tier}}/{{place}}{rest}"
    for rest in (
        "", "/items", "/items/{item_id}", "/items/{item_id}/promote", "/items/{item_id}/pin",
        "/items/{item_id}/restore", "/history", "/journal/{rev}/undo", "/state", "/room",
    )
}  # fmt: skip
"""What belongs to a whole tenant takes a key that is bound to nobody."""
OF_NOBODY = {"/metrics", "/v1/users", "/v1/config/categories", "/v1/agents/{name}/allowlist", "/v1/backup"}
"""What is about no single user: a key sees of it what its grant says."""


OPERATED = {"/metrics", "/v1/jobs"}
"""What is read of the running of the server."""


class Route(NamedTuple):
    """An operation of the document, with its words."""

    method: str
    path: str
    secured: bool
    in_body: bool

    @property
    def url(self) -> str:
        parts = [PATHS.get(part[1:-1], "tom") if part.startswith("{") else part for part in self.path.split("/")]
        return "/".join(parts)


def find_routes() -> list[Route]:
    document = describe(create_app(AsyncWarden.open("memory://")))
    schemas = document["components"]["schemas"]
    found = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            schema = schemas.get(content.get("schema", {}).get("$ref", "").rpartition("/")[2], {})
            found.append(Route(method, path, "security" in operation, "user_id" in schema.get("properties", {})))
    return found


ROUTES = find_routes()
SECURED = [route for route in ROUTES if route.secured]


@pytest.fixture
async def warden() -> AsyncIterator[AsyncWarden]:
    async with AsyncWarden.open("memory://", config=CONFIG) as opened:
        yield opened


async def call(client: httpx2.AsyncClient, route: Route, key: str | None, **body: Any) -> httpx2.Response:
    sent = BODIES.get((route.method, route.path))
    headers = {} if key is None else {"Authorization": f"Bearer {key}", "X-Memory-Key": key}
    if route.path in PASSED_ON:
        named = {"user_id": "X-Memory-User", "agent": "X-Memory-Agent"}
        headers |= {named[name]: value for name, value in body.items()}
        body = {}
    whole = None if sent is None else {**sent, **(body if route.in_body else {})}
    params = {} if route.in_body else body
    if route.path == "/v1/changes":
        params["seconds"] = 0
    return await client.request(route.method.upper(), route.url, params=params, json=whole, headers=headers)


def error_of(answer: httpx2.Response) -> str:
    """The name of the error of a refusal, in a problem document or as a provider of models writes it."""
    error = answer.json()["error"]
    if isinstance(error, str):
        return error
    return str(error.get("code") or {401: "KeyRefused", 403: "Denied", 404: "NotFound"}[answer.status_code])


def test_every_route_but_those_of_health_takes_a_key() -> None:
    assert {(route.method, route.path) for route in ROUTES if not route.secured} == OPEN_ROUTES
    assert len(SECURED) > 40


async def test_no_route_takes_a_missing_wrong_expired_or_revoked_key(
    warden: AsyncWarden, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = await make_key(warden, operations=OPERATIONS)
    brief = await make_key(warden, operations=OPERATIONS, lifetime=timedelta(hours=1))
    wrong = good[:-2] + ("AA" if good[-2:] != "AA" else "BB")
    later = clock.now() + timedelta(hours=2)
    monkeypatch.setattr(clock, "now", lambda: later)
    async with calling(warden, ServerOptions(open_door=True)) as client:
        for route in SECURED:
            for key in (None, "", wrong, brief):
                refused = await call(client, route, key)
                assert refused.status_code == 401, (route, key)
                assert error_of(refused) == "KeyRefused"
                assert refused.headers["www-authenticate"]
            assert (await call(client, route, good)).status_code != 401, route


async def test_no_route_takes_a_key_of_another_operation(warden: AsyncWarden) -> None:
    keys = {name: await make_key(warden, operations=[name]) for name in OPERATIONS}
    needed = set()
    async with calling(warden) as client:
        for route in SECURED:
            answers = {name: (await call(client, route, key)) for name, key in keys.items()}
            let_in = [name for name, answer in answers.items() if answer.status_code != 403]
            assert all(error_of(answers[name]) == "Denied" for name in OPERATIONS if name not in let_in)
            if route.path in PASSED_ON:
                assert let_in == ["read", "write"], (route, let_in)  # what the key may do decides how memory takes part
                continue
            if route.path == "/v1/memory/layout":
                assert let_in == []  # it takes a key that may write and read
                continue
            assert len(let_in) == 1, (route, let_in)
            reads = route.path in READS or (route.method == "get" and route.path not in OPERATED)
            assert (let_in == ["read"]) == reads, (route, let_in)
            needed.update(let_in)
    assert needed == set(OPERATIONS)


async def test_no_route_serves_another_user_or_agent_than_the_keys(warden: AsyncWarden) -> None:
    ana = await make_key(warden, user="ana", operations=OPERATIONS)
    planner = await make_key(warden, user="ana", agent="planner", operations=OPERATIONS)
    tried = 0
    async with calling(warden) as client:
        for route in SECURED:
            if route.path in OF_NOBODY:
                continue
            of_user = "{user_id}" in route.path
            others = {} if of_user or route.path in OF_TENANTS else {"user_id": "tom"}
            refused = await call(client, route, ana, **others)
            assert refused.status_code == 403, route
            assert error_of(refused) == "Denied"
            # What belongs to a tenant has nobody in its URL, and refuses a key that is bound to anybody.
            others = {} if route.path in OF_TENANTS else {"agent": "stylist"}
            other_agent = await call(client, route, planner, **others)
            assert other_agent.status_code == 403, route
            tried += 1
    assert tried > 35
    assert await warden.users() == []


async def test_no_body_is_read_before_the_key_is_known(warden: AsyncWarden) -> None:
    await make_key(warden)
    async with calling(warden) as client:
        refused = await client.post("/v1/memories", content=b"{" * 100, headers={"Content-Type": "application/json"})
        assert (refused.status_code, refused.json()["error"]) == (401, "KeyRefused")


async def test_the_whole_store_is_copied_for_the_keys_of_its_operators_alone(warden: AsyncWarden) -> None:
    for bound in ({"user": "ana"}, {"agent": "planner"}, {"tenant": "acme"}):
        key = await make_key(warden, operations=["read", "operate"], **bound)
        async with calling(warden, key=key) as client:
            assert (await client.post("/v1/backup")).status_code == 403, bound


async def test_a_page_of_another_port_is_a_foreign_page(warden: AsyncWarden) -> None:
    async with calling(warden, ServerOptions(open_door=True), host="localhost:8765") as client:
        for origin in ("http://localhost:3000", "http://[", "null"):
            refused = await client.post("/v1/journal/1/undo", headers={"Origin": origin})
            assert (refused.status_code, refused.json()["error"]) == (403, "OriginRefused"), origin
        assert (await client.get("/v1/memories", headers={"Origin": "http://localhost:8765"})).status_code == 200


async def test_invented_methods_are_counted_as_others(warden: AsyncWarden) -> None:
    async with calling(warden, ServerOptions(open_door=True)) as client:
        await client.request("BREW", "/v1/memories")
        told = (await client.get("/metrics")).text
    assert "BREW" not in told
    assert 'method="other"' in told


async def test_a_call_brings_at_most_so_much(warden: AsyncWarden) -> None:
    async with calling(warden, ServerOptions(open_door=True)) as client:
        texts = [f"Ana has been to town {number}." for number in range(101)]
        assert (await client.post("/v1/memories", json={"texts": texts})).status_code == 422
        messages = [{"role": "user", "content": "hi"}] * 10_001
        assert (await client.post("/v1/memory/context", json={"messages": messages})).status_code == 422


@pytest.mark.parametrize("option", ["--forwarded-from=127.0.0.1", "--allow-host=memory.example", "--root-path=/m"])
def test_a_store_without_keys_is_not_served_behind_a_proxy(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", "--db", f"sqlite:///{tmp_path}/a.db", "--port", "0", option]) == 2
    assert "memwarden key create" in capsys.readouterr().err


async def test_a_key_that_may_only_write_lays_no_memories_out(warden: AsyncWarden) -> None:
    """A layout holds the whole block of memories."""
    await warden.scope(user="ana").remember("Ana lives in Leipzig.")
    body = {"messages": [{"role": "user", "content": "Where does Ana live?"}], "user_id": "ana"}
    answers = []
    for operations in (("write",), ("read", "write")):
        key = await make_key(warden, user="ana", operations=operations)
        async with calling(warden, key=key) as client:
            answers.append((await client.post("/v1/memory/layout", json=body)).status_code)
    assert answers == [403, 200]


async def test_below_a_mount_nobodys_body_is_read_before_the_key_is_known(warden: AsyncWarden) -> None:
    """A caller with a wrong key is refused although its body never comes to an end."""
    await make_key(warden)
    app = create_app(warden, start=False)
    sent: list[Any] = []

    async def never_ends() -> Any:
        sent.append("asked for the body")
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message.get("status"))

    headers = [(b"host", b"localhost"), (b"authorization", b"Bearer mw_no"), (b"content-length", b"99")]
    path = "/mem/v1/memory/query"
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
             "path": path, "raw_path": path.encode(), "root_path": "/mem", "query_string": b"", "headers": headers,
             "client": ("127.0.0.1", 1), "server": ("localhost", 80)}  # fmt: skip
    await app(scope, never_ends, send)
    assert sent[0] == 401
