"""The paths under which requests are passed on to an upstream."""

from __future__ import annotations

import httpx2
import pytest

from http_calls import calling
from memwarden import AsyncWarden
from memwarden.errors import NotFound
from memwarden.surfaces.http.app import ServerOptions
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
