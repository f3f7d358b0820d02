"""Addresses of the authorization server: its issuer, its endpoints and the resource that tokens are for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from memwarden.errors import InvalidConfig

RESOURCE_PATH: Final = "/mcp"
# Paths that clients try without metadata, by the first revision of the MCP authorization specification.
AUTHORIZATION_PATH: Final = "/authorize"
TOKEN_PATH: Final = "/token"
REGISTRATION_PATH: Final = "/register"
REVOCATION_PATH: Final = "/revoke"
SERVER_METADATA_PATH: Final = "/.well-known/oauth-authorization-server"
RESOURCE_METADATA_PATH: Final = "/.well-known/oauth-protected-resource"
# Hosts that name this machine. Plain HTTP is safe to them alone (RFC 8252, section 8.3).
LOOPBACK: Final = frozenset(("127.0.0.1", "[::1]", "localhost"))
DEFAULT_PORTS: Final = {"https": "443", "http": "80"}
_BASE: Final = re.compile(r"(https?)://(\[::1\]|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::([1-9][0-9]{0,4}))?/?")


@dataclass(frozen=True, slots=True)
class Addresses:
    """URLs of a server as its clients see them.

    Attributes:
        issuer: public base URL without a slash at its end; the issuer of RFC 8414 and RFC 9207.
        host: host of the base URL, as the header Host names it, without its port.
    """

    issuer: str
    host: str

    @property
    def resource(self) -> str:
        """URL of the MCP server: the audience of every token (RFC 8707)."""
        return self.issuer + RESOURCE_PATH

    @property
    def resource_metadata(self) -> str:
        """URL of the metadata of the MCP server (RFC 9728)."""
        return self.issuer + RESOURCE_METADATA_PATH + RESOURCE_PATH

    def is_resource(self, url: str) -> bool:
        """Whether a resource indicator names the MCP server. Capitals and a slash at the end do not matter."""
        return url.removesuffix("/").lower() == self.resource


def read_addresses(url: str) -> Addresses:
    """Return the addresses below a public base URL. Raises InvalidConfig."""
    parts = _BASE.fullmatch(url.strip().lower())
    if parts is None:
        raise InvalidConfig(
            f"oauth takes the public URL of the server, such as https://memory.example.org, without a path, a query or "
            f"a user, not {url!r:.120}"
        )
    scheme, host, port = parts.groups()
    if scheme == "http" and host not in LOOPBACK:
        raise InvalidConfig(
            f"oauth takes https, because tokens travel over it, not {url!r:.120}; http is for 127.0.0.1, [::1] and "
            "localhost alone"
        )
    suffix = "" if port in (None, DEFAULT_PORTS[scheme]) else f":{port}"
    return Addresses(f"{scheme}://{host}{suffix}", host.strip("[]"))
