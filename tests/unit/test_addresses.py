"""The public base URL of a server: https, or this machine alone, and nothing behind the host."""

from __future__ import annotations

import pytest

from memwarden.errors import InvalidConfig
from memwarden.surfaces.http.app import ServerOptions, find_addresses
from memwarden.surfaces.oauth.addresses import read_addresses


@pytest.mark.parametrize(
    ("url", "issuer"),
    [
        ("https://memory.example.org", "https://memory.example.org"),
        ("https://Memory.Example.org:443/", "https://memory.example.org"),
        ("https://memory.example.org:8443", "https://memory.example.org:8443"),
        ("http://127.0.0.1:8765", "http://127.0.0.1:8765"),
        ("http://[::1]:8765", "http://[::1]:8765"),
        ("http://localhost", "http://localhost"),
    ],
)
def test_a_base_url_has_a_single_spelling(url: str, issuer: str) -> None:
    addresses = read_addresses(url)
    assert addresses.issuer == issuer
    assert addresses.resource == f"{issuer}/mcp"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("memory.example.org", "public URL"),
        ("http://memory.example.org", "https"),
        ("https://memory.example.org/path", "without a path"),
        ("https://user@memory.example.org", "without a path"),
        ("https://memory.example.org?x=1", "without a path"),
        ("https://", "public URL"),
        ("yes", "public URL"),
    ],
)
def test_any_other_is_refused_with_what_to_write(url: str, words: str) -> None:
    with pytest.raises(InvalidConfig, match=words):
        read_addresses(url)


@pytest.mark.parametrize("options", [{"mcp": ""}, {"root_path": "/memory"}])
def test_oauth_needs_mcp_at_a_host_of_its_own(options: dict[str, str]) -> None:
    with pytest.raises(InvalidConfig, match="--mcp off"):
        find_addresses(ServerOptions(oauth="https://memory.example.org", **options))  # type: ignore[arg-type]


def test_oauth_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memwarden.surfaces.http.app.find_spec", lambda name: None)
    with pytest.raises(InvalidConfig, match=r"\.\[mcp\]"):
        find_addresses(ServerOptions(oauth="https://memory.example.org"))


def test_a_resource_is_named_in_any_case() -> None:
    addresses = read_addresses("https://memory.example.org")
    assert all(map(addresses.is_resource, ("https://Memory.example.org/mcp", "https://memory.example.org/mcp/")))
    assert not any(
        map(
            addresses.is_resource,
            ("https://memory.example.org", "https://evil.example/mcp", "https://memory.example.org/mcp/x"),
        )
    )
