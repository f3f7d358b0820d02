"""The running of the server: categories, allowlists, backups and metrics."""

from __future__ import annotations

import tempfile
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, PlainTextResponse

from memwarden.errors import NotFound
from memwarden.surfaces.http.access import Entrance, Operator, Reader
from memwarden.surfaces.http.answers import AllowlistView, CategoriesView
from memwarden.surfaces.http.bodies import AllowlistBody, CategoriesBody
from memwarden.surfaces.http.categories import KeptCategories
from memwarden.surfaces.http.metrics import render_metrics
from memwarden.surfaces.http.paths import WHOLE_NAME

router = APIRouter(prefix="/v1", tags=["operation"])
scrape_router = APIRouter(tags=["operation"])


@router.get("/config/categories", response_model=CategoriesView)
async def get_categories(caller: Reader) -> Any:
    """Tell the categories and the agents' allowlists in force."""
    known = caller.warden.settings.categories
    return {"categories": list(known.declared.values()), "allowlists": known.allowlists}


@router.get("/agents/{name}/allowlist", response_model=AllowlistView)
async def get_allowlist(name: Annotated[str, WHOLE_NAME, Path(min_length=1, max_length=256)], caller: Reader) -> Any:
    """Tell the categories that an agent may read and write."""
    allowed = caller.warden.settings.categories.allowlists.get(name)
    if allowed is None:
        raise NotFound(f"agent {name!r} has no allowlist")
    return {"agent": name, "categories": allowed}


@router.put("/config/categories", response_model=CategoriesView)
async def put_categories(body: CategoriesBody, caller: Operator, request: Request) -> Any:
    """Put categories and allowlists in force, in place of all earlier ones; other processes follow in a second."""
    caller.check_whole_store("changing categories")
    told = body.model_dump(exclude_none=True)
    await _kept(request).put({"categories": {"custom": told["categories"]}, "allowlists": told["allowlists"]})
    return await get_categories(caller)


@router.put("/agents/{name}/allowlist", response_model=AllowlistView)
async def put_allowlist(
    name: Annotated[str, WHOLE_NAME, Path(min_length=1, max_length=256)],
    body: AllowlistBody,
    caller: Operator,
    request: Request,
) -> Any:
    """Say which categories an agent may read and write. What is not declared yet, is by that."""
    caller.check_whole_store("changing an allowlist")
    await _kept(request).put_allowlist(name, body.categories)
    return await get_allowlist(name, caller)


def _kept(request: Request) -> KeptCategories:
    entrance: Entrance = request.app.state.entrance
    return entrance.categories


@scrape_router.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "For Prometheus."}},
)
async def metrics(caller: Operator) -> Any:
    """Tell how many requests were answered how, and how long they took."""
    return render_metrics()


@router.post(
    "/backup",
    response_class=FileResponse,
    responses={200: {"content": {"application/octet-stream": {}}, "description": "The backup, for backup restore."}},
)
async def back_up(caller: Operator) -> Any:
    """Copy the whole store as it stands now, all tenants, while it is in use."""
    caller.check_whole_store("a backup")
    folder = tempfile.TemporaryDirectory(prefix="memwarden-backup-")
    file = FilePath(folder.name) / "memwarden.backup"
    try:
        await caller.warden.back_up(file)
    except BaseException:
        folder.cleanup()
        raise
    return FileResponse(
        file, media_type="application/octet-stream", filename=file.name, background=BackgroundTask(folder.cleanup)
    )
