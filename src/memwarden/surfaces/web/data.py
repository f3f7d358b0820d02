"""A person's memory in and out: imports of files, tried first; exports; erasures for good, with their receipt."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import quote

from starlette.background import BackgroundTask
from starlette.datastructures import UploadFile
from starlette.responses import FileResponse, Response

from memwarden.api.imports import ImportSummary
from memwarden.arguments import check_no_agent
from memwarden.errors import InvalidInput
from memwarden.remember.imports.source import ImportOptions
from memwarden.surfaces.http.keys import Operation
from memwarden.surfaces.http.routes.data import UNNAMED, max_unpacked, receive_file
from memwarden.surfaces.web.page import PageRoutes, WebPage

routes = PageRoutes()
PIECE_BYTES: Final = 1 << 20
# What the tables of a store hold, as a page says it.
TABLES: Final = {
    "memories": "memories",
    "versions": "earlier versions",
    "journal": "entries of the history",
    "relations": "links",
    "threads": "marks of conversations",
    "events": "events",
    "items": "items, with what models were shown",
    "checkpoints": "saved states of graphs",
}


def find_owner(page: WebPage) -> str:
    """Return whose memory it is, all of it. Raises Denied for an agent, and for somebody whom the key is not for."""
    check_no_agent(page.agent)
    return page.user


@routes.get("/import", Operation.WRITE)
async def import_form(page: WebPage) -> Response:
    """Show the form for a file of another program."""
    find_owner(page)
    return page.show("import.html", summary=None, failed="", thread="")


@routes.post("/import", Operation.WRITE, files=1)
async def import_file(page: WebPage) -> Response:
    """Read a file that was sent, or say what it holds."""
    find_owner(page)
    upload, is_trial = page.form.get("file"), page.asked("action") != "import"
    if not isinstance(upload, UploadFile) or not upload.size:
        raise InvalidInput("choose a file that is not empty")
    with tempfile.TemporaryDirectory(prefix="memwarden-import-") as folder:
        try:
            summary = await read_upload(page, upload, Path(folder), is_trial=is_trial)
            failed = ""
        except InvalidInput as error:  # where the file lies here is nobody's business
            summary, failed = None, str(error).replace(f"{folder}/", "")
    status = HTTPStatus.UNPROCESSABLE_ENTITY if failed else HTTPStatus.OK
    template = "import_part.html" if page.is_fragment else "import.html"
    return page.show(template, status, summary=summary, failed=failed, thread=page.asked("thread") or "")


async def read_upload(page: WebPage, upload: UploadFile, folder: Path, *, is_trial: bool) -> ImportSummary:
    """Import a file that was sent for the page's person. Raises InvalidInput."""
    file = await receive_file(_pieces_of(upload), folder, upload.filename or UNNAMED)
    most = max_unpacked((await asyncio.to_thread(file.stat)).st_size)
    options = ImportOptions(thread=page.asked("thread"), max_unpacked=most)
    return await page.warden.import_files(
        file, user=page.user, tenant=page.grant.tenant, options=options, dry_run=is_trial
    )


async def _pieces_of(upload: UploadFile) -> AsyncIterator[bytes]:
    while piece := await upload.read(PIECE_BYTES):
        yield piece


@routes.get("/erase", Operation.DECIDE)
async def erase_form(page: WebPage) -> Response:
    """Show what would be erased: a person, a conversation or a memory."""
    find_owner(page)
    return await show_plan(page, "")


async def show_plan(page: WebPage, said: str) -> Response:
    """Return the page that counts what would go and asks for the person's name."""
    thread, memory = page.asked("thread"), page.asked("id")
    plan = await page.warden.erase(user=page.user, tenant=page.grant.tenant, thread=thread, memory=memory, dry_run=True)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if said else HTTPStatus.OK
    return page.show("erase.html", status, plan=plan, said_wrong=said, tables=TABLES)


@routes.post("/erase", Operation.DECIDE)
async def erase(page: WebPage) -> Response:
    """Erase for good what a form names, once it names the person; the answer is the receipt."""
    user, given = find_owner(page), (page.asked("confirm") or "").strip()
    if given != user:
        return await show_plan(page, "That is not the name. Nothing was erased.")
    receipt = await page.warden.erase(
        user=user, tenant=page.grant.tenant, thread=page.asked("thread"), memory=page.asked("id"), confirm=given
    )
    link = "data:application/json," + quote(receipt.to_json())
    return page.show("erased.html", receipt=receipt, link=link, tables=TABLES)


@routes.get("/export")
async def export(page: WebPage) -> Response:
    """Send everything that is remembered of a person as a file, which memwarden import reads."""
    find_owner(page)
    folder = tempfile.TemporaryDirectory(prefix="memwarden-export-")
    file = Path(folder.name) / "memories.zip"
    try:
        await page.warden.export(file, user=page.user, tenant=page.grant.tenant)
    except BaseException:
        folder.cleanup()
        raise
    return FileResponse(
        file, media_type="application/zip", filename=file.name, background=BackgroundTask(folder.cleanup)
    )
