"""Keeps names in paths whole: a slash within a name is no border between parts of the path."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

from pydantic import BeforeValidator
from starlette.types import ASGIApp, Receive, Scope, Send

from memwarden.surfaces.proxy.shapes import is_passed_on, path_of

# Stands for a slash within a name until the name is read; no name holds control characters.
_SLASH: Final = "\x1f"
_ENCODED: Final = b"%2f"
# The nouns whose paths name things. What is passed on to models goes as it came.
_NOUNS: Final = frozenset(
    (
        "memories", "users", "consents", "threads", "review", "state", "sessions", "checkpoints", "tiers", "agents",
        "journal",
    )
)  # fmt: skip
# Put beside the Path of a parameter that is a name.
WHOLE_NAME: Final = BeforeValidator(lambda name: name.replace(_SLASH, "/") if isinstance(name, str) else name)


class WholeNames:
    """Wraps an application, which finds its routes by the parts of a path as the caller parted them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw: bytes = scope.get("raw_path", b"") if scope["type"] == "http" else b""
        if _ENCODED in raw.lower() and _names_things(scope):
            parts = (unquote(part.decode("latin-1")).replace("/", _SLASH) for part in raw.split(b"/"))
            scope = {**scope, "path": "/".join(parts)}
        # Clients whose base URL ends with a slash, or whose path does.
        if scope["type"] == "http" and scope["path"].endswith("/") and is_passed_on(path_of(scope).rstrip("/")):
            scope = {**scope, "path": scope["path"].rstrip("/")}
        await self._app(scope, receive, send)


def _names_things(scope: Scope) -> bool:
    path: str = scope["path"].removeprefix(scope.get("root_path", ""))
    _, version, noun, *_ = [*path.split("/"), "", "", ""]
    return version == "v1" and noun in _NOUNS
