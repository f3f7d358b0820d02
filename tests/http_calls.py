"""Calls of an application in this process, over the same bytes that a network would carry."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from memwarden import AsyncWarden
from memwarden.surfaces.http.app import ServerOptions, create_app
from memwarden.surfaces.http.keys import KeyRing

OPEN = ServerOptions(open_door=True)


@asynccontextmanager
async def calling(
    warden: AsyncWarden, options: ServerOptions = OPEN, *, key: str | None = None, host: str = "localhost"
) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of an application over an open warden."""
    app = create_app(warden, options, start=False)
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url=f"http://{host}", headers=headers) as client:
        try:
            yield client
        finally:
            await app.state.proxy.close()


async def make_key(warden: AsyncWarden, **grant: Any) -> str:
    """Make a key and return its text."""
    return (await KeyRing(warden.store).create(**grant)).text


def said(text: str, **fields: Any) -> dict[str, Any]:
    """A message of a user."""
    return {"role": "user", "content": text, **fields}
