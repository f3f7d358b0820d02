"""The daily verbs over HTTP: the same answers as in process, errors as problem documents, repeats, versions, pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from http_calls import OPEN, calling, make_key, said
from memwarden import AsyncScope, AsyncWarden
from memwarden.records import Batch, Receipt, Remove, WriteResult
from memwarden.surfaces.http.app import ServerOptions

CONFIG = {"embedder": "wordllama"}


@pytest.fixture
def url(items_url: str) -> str:
    return items_url


@pytest.fixture
async def client(async_warden: AsyncWarden) -> AsyncIterator[httpx2.AsyncClient]:
    async with calling(async_warden) as opened:
        yield opened


def check_problem(response: httpx2.Response, status: int, error: str) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert problem["status"] == status
    assert problem["error"] == error
    assert problem["request_id"] == response.headers["x-request-id"]
    assert problem["detail"]
    return problem


async def test_what_was_said_is_stored_asked_for_and_put_into_a_prompt(
    client: httpx2.AsyncClient, async_warden: AsyncWarden
) -> None:
    messages = [said("I am allergic to peanuts.", id="m1"), {"role": "assistant", "content": "I will remember it."}]
    stored = await client.post("/v1/memory/observe", json={"user_id": "ana", "thread_id": "t1", "messages": messages})
    assert stored.status_code == 200
    assert [item["outcome"] for item in stored.json()["results"]] == ["created", "created"]

    asked = {"agent": None, "query": "What am I allergic to?", "filters": {"user_id": "ana", "role": "user"}}
    found = (await client.post("/v1/memory/query", json={**asked, "top_k": 1, "return": "bullets"})).json()
    expected = await async_warden.scope(user="ana").query("What am I allergic to?", filters={"role": "user"}, top_k=1)
    assert found["text"] == expected.text
    assert "peanuts" in found["text"]
    assert found["relevant"] is True
    assert found["rev"] == stored.json()["rev"]
    assert [item["sources"] for item in found["items"]] == [["m1"]]
    assert found["items"][0]["text"].startswith("[activity] ")
    assert [item["name"] for item in found["items"][0]["why"]["features"]]

    block = await client.post(
        "/v1/memory/context", json={"user_id": "ana", "messages": "I am hungry, allergic as I am"}
    )
    assert "peanuts" in block.json()["text"]
    assert block.json()["text"].startswith("<memories>")

    nobody = await client.post("/v1/memory/query", json={"user_id": "tom", "query": "What am I allergic to?"})
    assert nobody.json()["items"] == []


async def test_a_repeat_writes_nothing_and_another_body_is_a_conflict(client: httpx2.AsyncClient) -> None:
    header = {"Idempotency-Key": "call-1"}
    body = {"user_id": "ana", "messages": [said("I moved to Graz.")]}
    first = await client.post("/v1/memory/observe", json=body, headers=header)
    again = await client.post("/v1/memory/observe", json=body, headers=header)
    assert first.json()["rev"] == again.json()["rev"] == 1
    assert first.json()["results"][0]["id"] == again.json()["results"][0]["id"]
    other = {"user_id": "ana", "messages": [said("I moved to Linz.")]}
    check_problem(await client.post("/v1/memory/observe", json=other, headers=header), 409, "Conflict")

    fact = {"user_id": "ana", "text": "Ana likes tea.", "key": "fact-1"}
    first = await client.post("/v1/memories", json=fact)
    again = await client.post("/v1/memories", json=fact)
    assert first.status_code == again.status_code == 201
    assert first.json()["rev"] == again.json()["rev"]
    assert again.json()["results"][0]["reason"] == "already stored"
    check_problem(await client.post("/v1/memories", json=fact, headers=header), 422, "InvalidInput")


@pytest.mark.parametrize("other", ["changes", "forgets"])
async def test_the_etag_of_a_change_is_of_that_change(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    whose = {"user_id": "ana"}
    made = await client.post("/v1/memories", json={**whose, "text": "Ana likes tea."})
    place = f"/v1/memories/{made.json()['results'][0]['id']}"
    update = AsyncScope.update

    async def update_before_another(scope: AsyncScope, memory_id: str, **given: Any) -> WriteResult:
        written = await update(scope, memory_id, **given)
        await (update(scope, memory_id, pinned=True) if other == "changes" else scope.forget(memory_id))
        return written

    monkeypatch.setattr(AsyncScope, "update", update_before_another)
    changed = await client.patch(place, params=whose, json={"text": "Ana likes mate."})
    assert (changed.status_code, changed.headers["ETag"]) == (200, '"2"')


async def test_a_memory_is_stated_read_corrected_forgotten_restored_and_told_of(client: httpx2.AsyncClient) -> None:
    whose = {"user_id": "ana"}
    made = await client.post("/v1/memories", json={**whose, "text": "Ana lives in Graz.", "tags": ["home"]})
    place = f"/v1/memories/{made.json()['results'][0]['id']}"
    read = await client.get(place, params=whose)
    assert (read.json()["text"], read.json()["tags"]) == ("Ana lives in Graz.", ["home"])
    assert read.headers["etag"] == '"1"'
    unchanged = await client.get(place, params=whose, headers={"If-None-Match": '"1"'})
    assert (unchanged.status_code, unchanged.content) == (304, b"")

    changed = await client.patch(place, params=whose, json={"text": "Ana lives in Linz."}, headers={"If-Match": '"1"'})
    assert changed.json()["results"][0]["outcome"] == "updated"
    assert changed.headers["ETag"] == '"2"'
    same = await client.get(place, params=whose, headers={"If-None-Match": 'W/"1", "2"'})
    assert same.status_code == 304
    late = await client.patch(place, params=whose, json={"pinned": True}, headers={"If-Match": '"1", "9"'})
    check_problem(late, 412, "PreconditionFailed")
    check_problem(await client.delete(place, params=whose, headers={"If-Match": '"1"'}), 412, "PreconditionFailed")
    assert (await client.get(place, params=whose)).json()["pinned"] is False

    assert (await client.delete(place, params=whose, headers={"If-Match": '"1", "2"'})).json()["results"][0][
        "outcome"
    ] == ("deleted")
    check_problem(await client.get(place, params=whose), 404, "NotFound")
    assert (await client.post(f"{place}/restore", params=whose)).json()["results"][0]["outcome"] == "restored"
    history = (await client.get(f"{place}/history", params=whose)).json()
    assert [entry["event"] for entry in history] == ["ADD", "UPDATE", "DELETE", "RESTORE"]
    assert history[1]["old"]["text"] == "Ana lives in Graz."
    assert (await client.get(f"/memory{place.removeprefix('/v1/memories')}/history", params=whose)).json() == history
    copy = await client.post(f"{place}/promote", params=whose, json={"to": "project/home"})
    assert copy.status_code == 200
    assert copy.json()["id"]


async def test_what_is_corrected_in_the_moment_of_a_delete_stays(
    client: httpx2.AsyncClient, async_warden: AsyncWarden, monkeypatch: pytest.MonkeyPatch
) -> None:
    whose = {"user_id": "ana"}
    made = await client.post("/v1/memories", json={**whose, "text": "Ana lives in Graz."})
    memory_id = made.json()["results"][0]["id"]
    apply = async_warden.store.apply

    async def apply_late(batch: Batch) -> Receipt:
        if any(isinstance(change, Remove) for change in batch.changes):
            monkeypatch.setattr(async_warden.store, "apply", apply)
            await async_warden.scope(user="ana").update(memory_id, text="Ana lives in Linz.")
        return await apply(batch)

    monkeypatch.setattr(async_warden.store, "apply", apply_late)
    late = await client.delete(f"/v1/memories/{memory_id}", params=whose, headers={"If-Match": '"1"'})
    assert late.status_code == 409
    assert (await async_warden.scope(user="ana").get(memory_id)).text == "Ana lives in Linz."


async def test_relations_are_listed(client: httpx2.AsyncClient, async_warden: AsyncWarden) -> None:
    me = async_warden.scope(user="ana")
    first = await me.remember("Ana plays the cello in an orchestra in Graz.")
    await me.remember("Ana's orchestra in Graz plays on Friday.")
    known = await me.relations(str(first.results[0].id))
    told = (await client.get(f"/v1/memories/{first.results[0].id}/relations", params={"user_id": "ana"})).json()
    assert [(edge["from_id"], edge["to_id"]) for edge in told] == [(edge.from_id, edge.to_id) for edge in known]
    assert told


async def test_pages_hold_each_memory_once_though_many_share_a_moment(client: httpx2.AsyncClient) -> None:
    same = [said(f"Number {number} of a day.", created_at="2025-03-01T12:00:00Z") for number in range(5)]
    later = [said(f"Later, number {number}.", created_at=f"2025-03-02T12:00:0{number}Z") for number in range(4)]
    await client.post("/v1/memory/observe", json={"user_id": "ana", "messages": [*same, *later]})
    for limit in (1, 2, 3, 9, 20):
        ids: list[str] = []
        cursor: str | None = None
        while True:
            params = {"user_id": "ana", "limit": limit, **({"cursor": cursor} if cursor else {})}
            page = (await client.get("/v1/memories", params=params)).json()
            assert len(page["items"]) <= limit
            ids += [item["id"] for item in page["items"]]
            cursor = page["cursor"]
            if cursor is None:
                break
        assert len(ids) == len(set(ids)) == 9
    some: dict[str, str | int] = {"user_id": "ana", "filters": '{"created_at": {"$gte": "2025-03-02"}}', "limit": 3}
    first = (await client.get("/v1/memories", params=some)).json()
    rest = (await client.get("/v1/memories", params={**some, "cursor": first["cursor"]})).json()
    assert [item["text"] for item in first["items"] + rest["items"]] == [f"Later, number {n}." for n in (3, 2, 1, 0)]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "error"),
    [
        ("POST", "/v1/memory/query", {"query": "x", "querys": 1}, 422, "InvalidInput"),
        ("POST", "/v1/memory/query", {"query": "x", "top_k": "3"}, 422, "InvalidInput"),
        ("POST", "/v1/memory/query", {"query": "x", "filters": {"kin": 1}}, 422, "InvalidFilter"),
        ("POST", "/v1/memory/query", {"query": "x", "agent": "nobody"}, 403, "UnknownAgent"),
        ("POST", "/v1/memory/query", {"query": "x", "agent": "planner", "categories": ["profile"]}, 403, None),
        ("POST", "/v1/memory/query", {}, 422, "InvalidInput"),
        ("POST", "/v1/memory/query", {"query": "x", "user_id": "a", "filters": {"user_id": "b"}}, 422, "InvalidInput"),
        ("POST", "/v1/memory/observe", {"messages": []}, 422, "InvalidInput"),
        ("POST", "/v1/memories", {"text": "a", "texts": ["b"]}, 422, "InvalidInput"),
        ("GET", "/v1/memories/none", None, 404, "NotFound"),
        ("GET", "/v1/memories?cursor=WzEsMl0", None, 422, "InvalidInput"),
        ("GET", "/v1/memories?filters=[]", None, 422, "InvalidInput"),
        ("GET", "/v1/nothing", None, 404, "NotFound"),
        ("PUT", "/v1/memories", None, 405, "MethodNotAllowed"),
    ],
)
async def test_what_is_wrong_is_said_as_a_problem(
    client: httpx2.AsyncClient, method: str, path: str, body: dict[str, Any] | None, status: int, error: str | None
) -> None:
    response = await client.request(method, path, json=body)
    check_problem(response, status, error or "CategoryDenied")


BEGINNERS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("/v1/memory/observe?user_id=ana", {"json": {"messages": "I moved."}}, "no parameter 'user_id' in its URL"),
    ("/v1/memory/observe", {"data": {"messages": "x"}}, "Content-Type: application/json (curl has --json for it)"),
    ("/v1/memory/observe", {"json": [1]}, "wrong at body: this is to be a JSON object"),
    ("/v1/memory/observe", {"json": {}}, "body.messages: this is missing"),
    ("/v1/memory/observe", {"json": {"messages": "x", "user": "ana"}}, "body.user: there is no such field"),
    ("/v1/memory/observe", {"json": {"messages": []}}, "wrong at body.messages.list: List should have at least 1"),
    ("/v1/memory/observe", {"json": {"messages": ["x"]}}, "body.messages.list.0: this is to be a JSON object"),
    ("/v1/memory/observe", {"json": {"messages": [said("x", role="narrator")]}}, "body.messages.list.0.role: Input"),
    ("/v1/memories/m1", {"json": {}}, "POST does nothing here; this path takes DELETE, GET, PATCH"),
    ("/v1/memory/observe/", {"json": {"messages": "x"}}, "there is no such route"),
)
"""What somebody types who has just met the server, and what helps."""


async def test_a_beginners_mistake_is_told_plainly_and_stores_nothing() -> None:
    async with AsyncWarden.open("memory://", {"embedder": "none"}) as warden, calling(warden) as client:
        for path, sent, detail in BEGINNERS:
            refused = await client.post(path, **sent)
            told = check_problem(refused, refused.status_code, refused.json()["error"])
            assert detail in told["detail"]
            assert len(told.get("mistakes", "x")) == 1, path
        listed = check_problem(await client.get("/v1/memories?user=ana"), 422, "InvalidInput")
        assert "no parameter 'user' in its URL; it takes: agent, as_of, cursor" in listed["detail"]
        headers = {"Content-Type": "application/json"}
        broken = await client.post("/v1/memory/query", content=b'{"query": "a secret word"', headers=headers)
        assert "body: this is no JSON at character 25: Expecting" in broken.json()["detail"]
        assert "secret" not in broken.text
        assert await warden.users() == []


async def test_a_wrong_method_is_told_all_that_there_are(client: httpx2.AsyncClient) -> None:
    refused = await client.put("/v1/memories/m1")
    check_problem(refused, 405, "MethodNotAllowed")
    assert refused.headers["allow"] == "DELETE, GET, PATCH"


async def test_a_body_that_is_no_text_is_wrong(client: httpx2.AsyncClient) -> None:
    headers = {"Content-Type": "application/json"}
    check_problem(await client.post("/v1/memory/query", content=b"\x80q\x01", headers=headers), 422, "InvalidInput")


async def test_the_words_of_a_wrong_request_are_not_repeated(client: httpx2.AsyncClient) -> None:
    response = await client.post("/v1/memory/query", json={"query": {"my": "secret-words"}})
    assert "secret-words" not in response.text
    assert check_problem(response, 422, "InvalidInput")["mistakes"][0]["where"] == "body.query"
    broken = await client.post("/v1/memory/query", content=b'{"query": ', headers={"Content-Type": "application/json"})
    check_problem(broken, 422, "InvalidInput")


async def test_a_large_body_is_refused_with_or_without_its_length(async_warden: AsyncWarden) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b" " * 100

    async with calling(async_warden, ServerOptions(open_door=True, max_body=1_000)) as client:
        for content in (b" " * 4_000, parts()):
            sent = await client.post("/v1/memory/query", content=content, headers={"Content-Type": "application/json"})
            check_problem(sent, 413, "LargeBody")
        assert (await client.post("/v1/memory/query", json={"query": "still there?"})).status_code == 200


async def test_a_foreign_host_and_a_foreign_page_are_refused(async_warden: AsyncWarden) -> None:
    async with calling(async_warden, OPEN, host="evil.example") as client:
        check_problem(await client.get("/v1/memories"), 421, "HostRefused")
        assert (await client.get("/healthz")).status_code == 200  # probes know no name
    async with calling(
        async_warden, ServerOptions(hosts=("memory.example",), open_door=True), host="memory.example"
    ) as (client):
        assert (await client.get("/healthz")).status_code == 200
        check_problem(
            await client.get("/v1/memories", headers={"Origin": "https://evil.example"}), 403, "OriginRefused"
        )
        assert (await client.get("/healthz", headers={"Origin": "http://memory.example"})).status_code == 200
    allowed = ServerOptions(origins=("https://app.example",), open_door=True)
    async with calling(async_warden, allowed) as client:
        headers = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
        asked = await client.options("/v1/memory/query", headers=headers)
        assert asked.headers["access-control-allow-origin"] == "https://app.example"


async def test_calls_of_a_key_are_limited_and_told(async_warden: AsyncWarden) -> None:
    key, other = await make_key(async_warden), await make_key(async_warden)
    async with calling(async_warden, ServerOptions(rate="2/hour"), key=key) as client:
        first = await client.get("/v1/memories")
        assert (first.headers["ratelimit-limit"], first.headers["ratelimit-remaining"]) == ("2", "1")
        assert (await client.get("/v1/memories")).status_code == 200
        third = await client.get("/v1/memories")
        check_problem(third, 429, "RateLimited")
        assert int(third.headers["retry-after"]) > 0
        assert (await client.get("/v1/memories", headers={"Authorization": f"Bearer {other}"})).status_code == 200


async def test_health_tells_of_store_disk_and_model(client: httpx2.AsyncClient, async_warden: AsyncWarden) -> None:
    assert (await client.get("/healthz")).json() == {"status": "ok", "checks": {}, "pending": 0}
    ready = await client.get("/readyz")
    checks = {"store": "ok", "disk": "ok", "model": "ok"}
    assert ready.json() == {"status": "ok", "checks": checks, "pending": 0}
    await async_warden.store.close()
    gone = await client.get("/readyz")
    assert gone.status_code == 503
    assert gone.json()["checks"]["store"] != "ok"
    check_problem(await client.get("/v1/memories"), 503, "StoreUnavailable")


async def test_a_key_that_may_only_read_writes_nothing_by_listing_proposals(async_warden: AsyncWarden) -> None:
    me = async_warden.scope(user="ana")
    await me.observe("My pronouns are they/them.")
    rev = (await async_warden.store.head(me.who.namespace)).rev
    async with calling(async_warden, key=await make_key(async_warden, operations=["read"])) as client:
        assert (await client.get("/v1/consents", params={"user_id": "ana"})).json() == []
    assert (await async_warden.store.head(me.who.namespace)).rev == rev
    async with calling(async_warden, key=await make_key(async_warden, operations=["read", "write"])) as client:
        (waiting,) = (await client.get("/v1/consents", params={"user_id": "ana"})).json()
    assert (waiting["field"], waiting["value"]) == ("pronouns", "they/them")


async def test_the_key_of_a_person_tells_no_project_about_them(async_warden: AsyncWarden) -> None:
    (kept,) = (await async_warden.scope(user="ana").remember("Ana lives in Graz.")).results
    place, body = f"/v1/memories/{kept.id}/promote", {"to": "project/home"}
    async with calling(async_warden, key=await make_key(async_warden, user="ana", operations=["decide"])) as client:
        check_problem(await client.post(place, json=body), 403, "Denied")
    assert await async_warden.tiers.project("home").count() == 0
    async with calling(async_warden, key=await make_key(async_warden, operations=["decide"])) as client:
        assert (await client.post(place, params={"user_id": "ana"}, json=body)).status_code == 200
    assert await async_warden.tiers.project("home").count() == 1
