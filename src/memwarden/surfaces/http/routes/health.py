"""Whether the process lives, and whether it can serve: store, schema, disk and model."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable
from typing import Any

from fastapi import APIRouter, Request, Response

from memwarden import AsyncWarden
from memwarden.errors import MemwardenError, StoreFull
from memwarden.stores.sqlite.store import SqliteStore
from memwarden.surfaces.http.answers import HealthView

router = APIRouter(tags=["health"])
CHECK_SECONDS = 5.0
MIN_FREE_BYTES = 16_777_216


@router.get("/healthz", response_model=HealthView)
async def healthz() -> Any:
    """Tell that the process answers. It asks nothing of the store."""
    return {"status": "ok", "checks": {}}


@router.get(
    "/readyz", response_model=HealthView, responses={503: {"description": "Something that requests need is not well."}}
)
async def readyz(request: Request, response: Response) -> Any:
    """Tell whether requests can be served: store and schema, room on the disk, the model."""
    warden: AsyncWarden = request.app.state.warden
    checks = {
        "store": await _state_of(_check_store(warden)),
        "disk": await _state_of(_check_disk(warden)),
        "model": await _state_of(_check_model(warden)),
    }
    well = all(state == "ok" for state in checks.values())
    response.status_code = 200 if well else 503
    return {"status": "ok" if well else "not ready", "checks": checks, "pending": warden.pending}


async def _state_of(check: Awaitable[None]) -> str:
    """Return ok, or what is wrong and what to do."""
    try:
        await asyncio.wait_for(check, CHECK_SECONDS)
    except TimeoutError:
        return f"no answer within {CHECK_SECONDS:g} seconds"
    except MemwardenError as error:
        return str(error)
    return "ok"


async def _check_store(warden: AsyncWarden) -> None:
    await warden.store.about()


async def _check_disk(warden: AsyncWarden) -> None:
    store = warden.store
    if isinstance(store, SqliteStore):
        free = (await asyncio.to_thread(shutil.disk_usage, store.path.parent)).free
        if free < MIN_FREE_BYTES:
            raise StoreFull(f"{free:,} bytes are free beside the store; make room")


async def _check_model(warden: AsyncWarden) -> None:
    if warden.settings.embedder != "none":
        await warden.embed("ready")
