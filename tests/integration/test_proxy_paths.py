"""The paths under which requests are passed on to an upstream."""

from __future__ import annotations

import gzip
import json
import zlib

import httpx2
import pytest

from http_calls import calling
from memwarden import AsyncWarden
from memwarden.errors import NotFound
from memwarden.surfaces.http.app import ServerOptions
from memwarden.surfaces.http.keys import KeyRing
from memwarden.surfaces.proxy.upstream import quote_path
from raw_upstream import raw_upstream, whole


@pytest.mark.parametrize(
    "path",
    [
        "/v1/models/../files",
        "/v1/models/../../admin?x=1",
        "/v1/models/./a",
        "/v1/models//a",
        "/v1/models/a#b",
        "/v1/models/%2e%2e/files",
        "/v1/models/..\\files",
    ],
)
def test_a_name_that_leads_elsewhere_is_no_model(path: str) -> None:
    with pytest.raises(NotFound, match="nothing is passed on"):
        quote_path(path)


@pytest.mark.parametrize(
    "name", ["%2e%2e%2ffiles", "%2e%2e/files", "a%2f..%2f..%2fadmin%3fx=1", "a%23b", "%252e%252e%2ffiles"]
)
async def test_a_request_for_such_a_name_never_reaches_the_upstream(name: str) -> None:
    with raw_upstream() as upstream:
        upstream.says(whole(b"{}"))
        warden = AsyncWarden.open("memory://", config={"embedder": "none", "upstream": upstream.url})
        async with warden, calling(warden, ServerOptions(open_door=True)) as client:
            refused = await client.get(httpx2.URL("http://127.0.0.1", raw_path=f"/v1/models/{name}".encode()))
            allowed = await client.get("/v1/models/org/name-1.5")
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "NotFound")
        assert allowed.status_code == 200
        assert [first.split(b" ")[1] for first, _ in upstream.calls] == [b"/v1/models/org/name-1.5"]


def test_names_of_models_reach_the_upstream_as_they_are() -> None:
    assert quote_path("/v1/models/org/name-1.5:free") == "/models/org/name-1.5:free"
    assert quote_path("/v1/models/a b") == "/models/a%20b"
    assert quote_path("/v1/chat/completions") == "/chat/completions"


ASKED = "What colour is Ana's kettle in the Küche?"
BODY = {"model": "m", "messages": [{"role": "user", "content": ASKED}]}
UTF_8 = json.dumps(BODY, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("path", "content", "headers"),
    [
        ("/v1/chat/completions/", UTF_8, {}),
        ("/v1/chat/completions", gzip.compress(UTF_8, mtime=0), {"Content-Encoding": "gzip"}),
        ("/v1/chat/completions", zlib.compress(UTF_8), {"Content-Encoding": "deflate"}),
        (
            "/v1/chat/completions",
            json.dumps(BODY, ensure_ascii=False).encode("latin-1"),
            {"Content-Type": "application/json; charset=ISO-8859-1"},
        ),
        ("/v1/chat/completions", json.dumps(BODY).encode("utf-16"), {"Content-Type": 'text/json; charset="utf-16"'}),
    ],
    ids=["a slash at the end", "gzip", "deflate", "Latin-1", "UTF-16"],
)
async def test_requests_of_other_forms_are_read(path: str, content: bytes, headers: dict[str, str]) -> None:
    said = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Copper."}}]}
    with raw_upstream() as upstream:
        upstream.says(whole(json.dumps(said).encode()))
        warden = AsyncWarden.open("memory://", config={"embedder": "none", "upstream": upstream.url})
        async with warden, calling(warden, ServerOptions(open_door=True)) as client:
            await warden.scope(user="ana").remember("Ana's kettle in the Küche is copper.")
            asked = {"Content-Type": "application/json", "X-Memory-User": "ana", "X-Memory-Thread": "t", **headers}
            answer = await client.post(path, content=content, headers=asked)
            assert (answer.status_code, answer.headers["X-Memory-Status"]) == (200, "hit")
            turns = await warden.scope(user="ana", thread="t").find({"channel": "turn"}, order_by="written")
            assert {turn.text for turn in turns} == {ASKED, "Copper."}
        ((head, sent),) = upstream.calls
        assert b"copper" in sent
        assert b"content-encoding" not in head.lower()


@pytest.mark.parametrize(
    "body",
    [gzip.compress(bytes(9_000_000)), b"\x1f\x8bbroken", gzip.compress(b"no json")],
    ids=["too large", "broken", "no JSON"],
)
async def test_a_compressed_body_that_is_no_conversation_is_passed_on(body: bytes) -> None:
    with raw_upstream() as upstream:
        upstream.says(whole(b"{}"))
        warden = AsyncWarden.open("memory://", config={"embedder": "none", "upstream": upstream.url})
        async with warden, calling(warden, ServerOptions(open_door=True)) as client:
            headers = {"X-Memory-User": "ana", "Content-Encoding": "gzip"}
            answer = await client.post("/v1/chat/completions", content=body, headers=headers)
            assert (answer.status_code, answer.headers["X-Memory-Status"]) == (200, "degraded")
        assert len(upstream.calls) == 1


async def test_a_key_that_may_only_read_spends_no_key_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMWARDEN_UPSTREAM_KEY", "sk-server")
    with raw_upstream() as upstream:
        upstream.says(whole(b"{}"))
        warden = AsyncWarden.open("memory://", config={"embedder": "none", "upstream": upstream.url})
        async with warden, calling(warden) as client:
            ring = KeyRing(warden.store)
            reader = (await ring.create(user="ana", operations=["read"])).text
            writer = (await ring.create(user="ana")).text
            for path in ("/v1/chat/completions", "/v1/embeddings", "/v1/messages"):
                refused = await client.post(path, json=BODY, headers={"Authorization": f"Bearer {reader}"})
                assert refused.status_code == 403
            own = {"X-Memory-Key": reader, "Authorization": "Bearer sk-own"}
            assert (await client.post("/v1/chat/completions", json=BODY, headers=own)).status_code == 200
            both = {"Authorization": f"Bearer {writer}"}
            assert (await client.post("/v1/chat/completions", json=BODY, headers=both)).status_code == 200
        keys = [head.lower().split(b"authorization: ")[1].split(b"\r")[0] for head, _ in upstream.calls]
        assert keys == [b"bearer sk-own", b"bearer sk-server"]
