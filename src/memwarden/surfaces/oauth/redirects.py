"""Redirect URIs of clients: which may be registered, which match, and how an answer is added to one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl, urlencode

from memwarden.errors import InvalidInput
from memwarden.surfaces.oauth.addresses import DEFAULT_PORTS, LOOPBACK

MAX_REDIRECT_URIS: Final = 10
MAX_URI_CHARACTERS: Final = 2_000
# Parameters that an answer adds. A registered URI with one of them would make an answer ambiguous.
ANSWER_PARAMETERS: Final = frozenset(("code", "state", "iss", "error", "error_description", "error_uri"))
_CHARACTER: Final = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})"
_URI: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[::1\]|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::(?P<port>[1-9][0-9]{0,4}))?"
    rf"(?P<rest>(?:(?P<path>/{_CHARACTER}*)(?:\?(?P<query>(?:{_CHARACTER}|\?)*))?)?)"
)
_DOTS: Final = re.compile(r"(?:\.|%2e){1,2}", re.IGNORECASE)


def check_redirect_uris(uris: object) -> tuple[str, ...]:
    """Return redirect URIs that a client may register. Raises InvalidInput."""
    if not isinstance(uris, Sequence) or isinstance(uris, str) or not 0 < len(uris) <= MAX_REDIRECT_URIS:
        raise InvalidInput(f"redirect_uris is a list of 1 to {MAX_REDIRECT_URIS} URIs")
    return tuple(_check_redirect_uri(uri) for uri in uris)


def _check_redirect_uri(uri: object) -> str:
    """Return a URI whose spelling leaves no doubt about its host. Raises InvalidInput."""
    if not isinstance(uri, str) or len(uri) > MAX_URI_CHARACTERS:
        raise InvalidInput(f"a redirect URI is a text of at most {MAX_URI_CHARACTERS:,} characters")
    parts = _URI.fullmatch(uri)
    if parts is None:
        raise InvalidInput(
            f"a redirect URI is https://host/path, or http://127.0.0.1/path: lower-case host, no user, no fragment, "
            f"not {uri!r:.200}"
        )
    scheme, host, port = parts["scheme"], parts["host"], parts["port"]
    if scheme == "http" and host not in LOOPBACK:
        raise InvalidInput(f"a redirect URI takes https unless it leads to the user's own machine, not {uri!r:.200}")
    if port is not None and (int(port) > 65_535 or port == DEFAULT_PORTS[scheme]):
        raise InvalidInput(f"a redirect URI names a port up to 65535 that is not the default, not {uri!r:.200}")
    if any(_DOTS.fullmatch(segment) for segment in (parts["path"] or "").split("/")):
        raise InvalidInput(f"a redirect URI has no . and .. in its path, not {uri!r:.200}")
    if ANSWER_PARAMETERS & dict(parse_qsl(parts["query"] or "", keep_blank_values=True)).keys():
        raise InvalidInput(f"a redirect URI has none of the parameters of an answer, not {uri!r:.200}")
    return uri


def is_registered(uri: str, registered: Sequence[str]) -> bool:
    """Whether a redirect URI equals a registered one, by characters.

    The port of a URI on the user's own machine may differ, because a native client takes a free port each time
    (RFC 8252, section 7.3).
    """
    return uri in registered or (
        (own := _without_loopback_port(uri)) is not None
        and own in (_without_loopback_port(candidate) for candidate in registered)
    )


def _without_loopback_port(uri: str) -> tuple[str, str] | None:
    """Return host and rest of a URI over plain HTTP on the user's own machine. None for any other."""
    parts = _URI.fullmatch(uri)
    if parts is None or parts["scheme"] != "http" or parts["host"] not in LOOPBACK:
        return None
    return parts["host"], parts["rest"]


def origin_of(uri: str) -> str:
    """Return scheme, host and port of a redirect URI that passed the check."""
    parts = _URI.fullmatch(uri)
    assert parts is not None
    return uri.removesuffix(parts["rest"]) if parts["rest"] else uri


def is_on_loopback(uri: str) -> bool:
    """Whether a redirect URI leads to a program on the user's own machine."""
    parts = _URI.fullmatch(uri)
    return parts is not None and parts["host"] in LOOPBACK


def add_answer(uri: str, answer: Mapping[str, str | None]) -> str:
    """Return a redirect URI with the parameters of an answer; None leaves one out."""
    added = urlencode({name: value for name, value in answer.items() if value is not None})
    return f"{uri}{'&' if '?' in uri else '?'}{added}"
