"""Redirect URIs: a spelling that leaves no doubt, an exact match, a free port on the user's own machine."""

from __future__ import annotations

import pytest

from memwarden.errors import InvalidInput
from memwarden.surfaces.oauth.redirects import (
    add_answer,
    check_redirect_uris,
    is_on_loopback,
    is_registered,
    origin_of,
)

GOOD = (
    "https://claude.ai/api/mcp/auth_callback",
    "https://chatgpt.com/connector_platform_oauth_redirect",
    "https://assistant.example:8443/cb?tenant=a%20b&x=1",
    "https://assistant.example",
    "http://127.0.0.1:33418",
    "http://127.0.0.1:33418/",
    "http://localhost:54212/callback",
    "http://[::1]:7777/cb",
)
BAD = (
    "javascript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "cursor://anysphere/callback",
    "http://assistant.example/cb",
    "http://127.0.0.1.evil.example/cb",
    "http://127.1/cb",
    "https://user@assistant.example/cb",
    "https://assistant.example@evil.example/cb",
    "https://assistant.example/cb#part",
    "https://Assistant.example/cb",
    "HTTPS://assistant.example/cb",
    "https://assistant.example:443/cb",
    "https://assistant.example:99999/cb",
    "https://assistant.example/a/../cb",
    "https://assistant.example/a/%2e%2E/cb",
    "https://assistant.example\\evil.example/cb",
    "https://assistant.example/c b",
    "https://assistant.example/cb\r\nX: y",
    "https://assistant.example/%zz",
    "https://*.example/cb",
    "https://аssistant.example/cb",
    "https:///cb",
    "https://assistant.example/cb?state=fixed",
    "https://assistant.example/cb?iss=https://evil.example",
    "https://assistant.example?x=1",
    "//assistant.example/cb",
    "",
    "https://assistant.example/" + 2_000 * "a",
)


@pytest.mark.parametrize("uri", GOOD)
def test_a_clear_uri_may_be_registered(uri: str) -> None:
    assert check_redirect_uris([uri]) == (uri,)


@pytest.mark.parametrize("uri", BAD)
def test_any_other_may_not(uri: str) -> None:
    with pytest.raises(InvalidInput):
        check_redirect_uris([uri])


@pytest.mark.parametrize("uris", [None, "https://a.example/", [], {}, [None], [["https://a.example/"]], 11 * GOOD[:1]])
def test_a_list_of_one_to_ten_uris_is_needed(uris: object) -> None:
    with pytest.raises(InvalidInput):
        check_redirect_uris(uris)


@pytest.mark.parametrize(
    ("uri", "registered"),
    [
        ("https://a.example/cb", "https://a.example/cb"),
        ("http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb"),
        ("http://localhost:1/cb", "http://localhost/cb"),
        ("http://[::1]/cb", "http://[::1]:9/cb"),
    ],
)
def test_a_uri_matches_by_characters_and_on_loopback_by_any_port(uri: str, registered: str) -> None:
    assert is_registered(uri, [registered])


@pytest.mark.parametrize(
    ("uri", "registered"),
    [
        ("https://a.example/cb/", "https://a.example/cb"),
        ("https://a.example/cb/more", "https://a.example/cb"),
        ("https://a.example/cb?x=1", "https://a.example/cb"),
        ("https://a.example/CB", "https://a.example/cb"),
        ("https://a.example:8443/cb", "https://a.example/cb"),
        ("https://localhost:1/cb", "https://localhost:2/cb"),
        ("http://127.0.0.1:1/other", "http://127.0.0.1:2/cb"),
        ("http://localhost:1/cb", "http://127.0.0.1:1/cb"),
        ("http://127.0.0.1:1@evil.example/cb", "http://127.0.0.1:1/cb"),
        ("http://127.0.0.1:1/cb#x", "http://127.0.0.1:1/cb"),
        ("", "https://a.example/cb"),
    ],
)
def test_nothing_else_matches(uri: str, registered: str) -> None:
    assert not is_registered(uri, [registered])


def test_an_answer_is_added_and_encoded() -> None:
    assert add_answer("https://a.example/cb", {"code": "a&b\r\n", "state": None}) == (
        "https://a.example/cb?code=a%26b%0D%0A"
    )
    assert (
        add_answer("https://a.example/cb?x=1", {"iss": "https://b"}) == "https://a.example/cb?x=1&iss=https%3A%2F%2Fb"
    )


def test_the_origin_of_a_uri_is_shown_and_put_into_the_policy() -> None:
    assert origin_of("https://a.example:8443/cb?x=1") == "https://a.example:8443"
    assert origin_of("http://127.0.0.1:1") == "http://127.0.0.1:1"
    assert is_on_loopback("http://[::1]:1/cb")
    assert not is_on_loopback("https://a.example/cb")
