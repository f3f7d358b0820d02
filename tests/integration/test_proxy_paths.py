"""The paths under which requests are passed on to an upstream."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import httpx2
import pytest
from openai import AsyncAzureOpenAI

from http_calls import calling
from memwarden import AsyncWarden
from memwarden.errors import NotFound
from memwarden.surfaces.http.app import ServerOptions, create_app
from memwarden.surfaces.http.keys import KeyRing
from memwarden.surfaces.proxy.exchange import read_request
from memwarden.surfaces.proxy.upstream import quote_path
from provider_rules import find_chat_breaches
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
        (
            "/v1/chat/completions",
            gzip.compress(UTF_8[:40], mtime=0) + gzip.compress(UTF_8[40:], mtime=0),
            {"Content-Encoding": "gzip"},
        ),
        ("/v1/chat/completions", zlib.compress(UTF_8), {"Content-Encoding": "deflate"}),
        (
            "/v1/chat/completions",
            json.dumps(BODY, ensure_ascii=False).encode("latin-1"),
            {"Content-Type": "application/json; charset=ISO-8859-1"},
        ),
        ("/v1/chat/completions", json.dumps(BODY).encode("utf-16"), {"Content-Type": 'text/json; charset="utf-16"'}),
    ],
    ids=["a slash at the end", "gzip", "gzip of two members", "deflate", "Latin-1", "UTF-16"],
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
        assert head.lower().count(b"content-type:") == head.lower().count(b"content-type: application/json\r\n") == 1


PACKED = gzip.compress(UTF_8, mtime=0)
GZIP = {"Content-Encoding": "gzip"}


@pytest.mark.parametrize(
    ("path", "body", "headers", "status"),
    [
        ("/v1/chat/completions", gzip.compress(bytes(9_000_000)), GZIP, "degraded"),
        ("/v1/chat/completions", gzip.compress(bytes(5_000_000)) * 2, GZIP, "degraded"),
        ("/v1/chat/completions", gzip.compress(b"") * 1000 + PACKED, GZIP, "degraded"),
        ("/v1/chat/completions", b"\x1f\x8bbroken", GZIP, "degraded"),
        ("/v1/chat/completions", gzip.compress(b"no json"), GZIP, "degraded"),
        ("/v1/chat/completions", PACKED[:-9], GZIP, "degraded"),
        ("/v1/chat/completions", PACKED[:-1], GZIP, "degraded"),
        ("/v1/chat/completions", PACKED + b"more", GZIP, "degraded"),
        ("/v1/chat/completions", gzip.compress(PACKED), {"Content-Encoding": "gzip, gzip"}, "degraded"),
        (
            "/v1/chat/completions",
            gzip.compress(b"a-" + b"9" * 20_000),
            GZIP | {"Content-Type": "application/json; charset=punycode"},
            "degraded",
        ),
        ("/v1/chat/completions", UTF_8, {"Content-Type": "application/json; charset=utf-7"}, "degraded"),
        ("/v1/embeddings", PACKED, GZIP, "bypass"),
        ("/v1/embeddings", PACKED[:-9], GZIP, "bypass"),
    ],
    ids=[
        *("too large", "too large in two members", "too many members", "broken", "no JSON", "cut", "cut at its end"),
        *("something after it", "twice", "a slow charset", "another charset", "no form", "no form, cut"),
    ],
)
async def test_a_body_that_cannot_be_read_is_passed_on_untouched(
    path: str, body: bytes, headers: dict[str, str], status: str
) -> None:
    with raw_upstream() as upstream:
        upstream.says(whole(b"{}"))
        warden = AsyncWarden.open("memory://", config={"embedder": "none", "upstream": upstream.url})
        async with warden, calling(warden, ServerOptions(open_door=True)) as client:
            answer = await client.post(path, content=body, headers={"X-Memory-User": "ana", **headers})
            assert (answer.status_code, answer.headers["X-Memory-Status"]) == (200, status)
        ((head, sent),) = upstream.calls
        assert sent == body
        assert all(f"{name}: {value}".lower().encode() in head.lower() for name, value in headers.items())


SPEAKING = {"role": "assistant", "content": "Copper."}


@pytest.mark.parametrize("end", ["", "/openai", "/openai/v1"])
async def test_paths_of_azure_have_memory(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Azure's own client names a deployment, in one process with a client of the v1 API."""
    monkeypatch.setenv("MEMWARDEN_UPSTREAM_KEY", "azure-secret")
    with raw_upstream() as upstream:
        upstream.says(whole(json.dumps({"choices": [{"index": 0, "message": SPEAKING}]}).encode()))
        site = upstream.url.removesuffix("/v1")
        warden = AsyncWarden.open("memory://", config={"embedder": "none", "upstream": site + end})
        async with (
            warden,
            httpx2.AsyncClient(transport=httpx2.ASGITransport(app=create_app(warden, start=False))) as http,
        ):
            await warden.scope(user="ana").remember("Ana's kettle in the Küche is copper.")
            key = (await KeyRing(warden.store).create(user="ana")).text
            azure = AsyncAzureOpenAI(
                azure_endpoint="http://localhost",
                api_key=key,
                api_version="2024-10-21",
                http_client=http,
                max_retries=0,
            )
            messages: list[Any] = [{"role": "user", "content": ASKED}]
            thread = {"X-Memory-Thread": "t"}
            said = await azure.chat.completions.create(model="gpt 4o", messages=messages, extra_headers=thread)
            assert said.choices[0].message.content == "Copper."
            turns = await warden.scope(user="ana", thread="t").find({"channel": "turn"})
            assert {turn.text for turn in turns} == {ASKED, "Copper."}
            head, sent = upstream.calls[0]
            first = b"POST /openai/deployments/gpt%204o/chat/completions?api-version=2024-10-21 HTTP/1.1"
            assert head.split(b"\r\n")[0] == first
            assert b"api-key: azure-secret" in head.lower()
            assert key.encode() not in head
            assert b"copper" in sent
            assert list(find_chat_breaches(json.loads(sent))) == []
            upstream.says(whole(b'{"object": "list", "data": []}'))
            await azure.embeddings.create(model="ada", input="x", encoding_format="float")
            assert b"/openai/deployments/ada/embeddings?" in upstream.calls[0][0]
            newer = await http.get("http://localhost/openai/v1/models", headers={"api-key": key})
            assert newer.status_code == 200
            assert upstream.calls[-1][0].startswith(f"GET {end or ''}/models ".encode())


def test_a_charset_that_takes_long_is_not_decoded() -> None:
    assert read_request("openai_chat", b"a-" + b"9" * 200_000, "punycode").document is None
    assert read_request("openai_chat", UTF_8, "IDNA").document is None
    assert read_request("openai_chat", UTF_8, "UTF-8").document == BODY
    assert read_request("", UTF_8).document is None


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
