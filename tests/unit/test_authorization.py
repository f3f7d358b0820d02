"""Authorization requests: the order of checks, what is shown to the person, and what is sent back."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest

from memwarden.errors import InvalidInput
from memwarden.surfaces.oauth.addresses import read_addresses
from memwarden.surfaces.oauth.authorization import AuthorizationRefused, read_authorization, read_parameters
from memwarden.surfaces.oauth.clients import Client

ADDRESSES = read_addresses("https://memory.example.org")
CALLBACK = "https://assistant.example/cb"
CLIENT = Client("c", "Assistant", (CALLBACK,), ("read", "write"), ("authorization_code",))
REQUEST = {
    "response_type": "code",
    "redirect_uri": CALLBACK,
    "code_challenge": 43 * "a",
    "code_challenge_method": "S256",
}


def test_without_a_scope_reading_and_writing_are_asked_for() -> None:
    made = read_authorization(REQUEST, CLIENT, ADDRESSES)
    assert (made.operations, made.state, made.challenge) == (("read", "write"), None, 43 * "a")
    assert read_authorization({**REQUEST, "scope": ""}, CLIENT, ADDRESSES).operations == ("read", "write")
    assert read_authorization({**REQUEST, "scope": "read  read"}, CLIENT, ADDRESSES).operations == ("read",)


def test_an_answer_has_the_state_and_the_issuer() -> None:
    made = read_authorization({**REQUEST, "state": "s&t"}, CLIENT, ADDRESSES)
    answer = dict(parse_qsl(urlsplit(made.answer_with(ADDRESSES.issuer, code="x")).query))
    assert answer == {"code": "x", "state": "s&t", "iss": "https://memory.example.org"}


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge": 42 * "a"}, "invalid_request"),
        ({"resource": "https://memory.example.org/other"}, "invalid_target"),
        ({"scope": "decide"}, "invalid_scope"),
        ({"scope": "write"}, "invalid_scope"),
        ({"scope": "read operate"}, "invalid_scope"),
    ],
)
def test_a_mistake_has_the_code_of_oauth(changes: dict[str, str], error: str) -> None:
    with pytest.raises(AuthorizationRefused) as refused:
        read_authorization({**REQUEST, **changes}, CLIENT, ADDRESSES)
    assert (refused.value.error, refused.value.redirect_uri) == (error, CALLBACK)


def test_nothing_is_sent_to_a_redirect_that_is_not_registered() -> None:
    with pytest.raises(InvalidInput) as refused:
        read_authorization({**REQUEST, "redirect_uri": "https://evil.example/", "scope": "x"}, CLIENT, ADDRESSES)
    assert not isinstance(refused.value, AuthorizationRefused)


def test_a_parameter_comes_once() -> None:
    assert read_parameters([("a", "1"), ("b", "2")]) == {"a": "1", "b": "2"}
    with pytest.raises(InvalidInput, match="more than once"):
        read_parameters([("a", "1"), ("a", "1")])
