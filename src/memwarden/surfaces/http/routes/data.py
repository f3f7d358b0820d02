"""Data in and out, and out for good: imports, exports, erasures. Keys of agents do none of it."""

from __future__ import annotations

import asyncio
import json
import tempfile
import zipfile
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path as FilePath
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, StreamingResponse

from memwarden.api.imports import ImportSummary
from memwarden.errors import Denied, InvalidInput, MemwardenError
from memwarden.remember.imports.source import ImportOptions
from memwarden.stores.transfer.bundle import is_bundle
from memwarden.stores.transfer.erasure import ErasureReceipt, read_receipt
from memwarden.surfaces.http.access import Caller, Eraser, Exporter, Importer
from memwarden.surfaces.http.answers import ErasureView, ImportView, TracesView
from memwarden.surfaces.http.bodies import BegunErasureBody, Name, ReceiptBody
from memwarden.surfaces.http.keys import Operation
from memwarden.surfaces.http.paths import WHOLE_NAME

router = APIRouter(prefix="/v1", tags=["data"])
LINES = "application/x-ndjson"
# Bytes of a file's name that file systems take.
MAX_NAME_BYTES = 255
# What a zip may unpack to: text shrinks to a tenth; a small body shall not fill the server's memory.
MAX_RATIO, MIN_UNPACKED = 30, 64 * 1024**2
# Between two lines of progress.
TICK_SECONDS = 0.2
ExportFormat = Literal["bundle", "mem0", "graph", "markdown-zip"]
_NAMES: dict[str, str] = {
    "bundle": "memory.zip",
    "mem0": "mem0.json",
    "graph": "memory.jsonl",
    "markdown-zip": "vault.zip",
}
UserId = Annotated[str, WHOLE_NAME, Path(min_length=1, max_length=256)]
Confirm = Annotated[str | None, Query(max_length=256, description="The user's id: without it nothing is erased.")]
DryRun = Annotated[bool, Query(description="Only check and count.")]


UNNAMED = "import"
"""The name of a file that was given none."""
_BYTES = {"schema": {"type": "string", "format": "binary"}}


@router.post(
    "/import",
    response_model=ImportView,
    openapi_extra={"requestBody": {"required": True, "content": {"application/octet-stream": _BYTES}}},
)
async def import_file(
    caller: Importer,
    request: Request,
    user_id: Annotated[Name | None, Query(description="Default: the key's user, else as the file says.")] = None,
    name: Annotated[Name, Query(description="The file's name, which names its conversation or vault.")] = UNNAMED,
    format: Annotated[Name | None, Query(description="Default: recognised by the content.")] = None,
    zone: Annotated[Name, Query(description="Time zone of times that name none.")] = "UTC",
    day_first: Annotated[bool | None, Query(description="Of dates such as 3/4/2024.")] = None,
    column: Annotated[list[Name] | None, Query(description="Columns of a table, as field=name.")] = None,
    thread: Annotated[Name | None, Query(description="Name of the conversation of a log.")] = None,
    branches: Annotated[bool, Query(description="Branches of chats that are not shown, too.")] = False,
    strict: Annotated[bool, Query(description="Import nothing if one entry is malformed.")] = False,
    trust: Annotated[Name | None, Query(description="Whom statements come from; a person's word takes decide.")] = None,
    dry_run: DryRun = False,
) -> Any:
    """Import a file of another program, the body; with Accept: application/x-ndjson tell progress, a line each."""
    user = caller.grant.narrow_user(user_id) if caller.grant.user or user_id else None
    if trust == "person":
        caller.grant.check_operation(Operation.DECIDE)
    mapping = dict(pair.partition("=")[::2] for pair in column or ())
    folder = tempfile.TemporaryDirectory(prefix="memwarden-import-")
    try:
        file = await receive_file(request.stream(), FilePath(folder.name), name)
        most = max_unpacked((await asyncio.to_thread(file.stat)).st_size)
        said = ImportOptions(zone, day_first, mapping, thread, branches, max_unpacked=most, strict=strict)

        async def run(tick: Callable[[int, int], object] | None) -> ImportSummary:
            try:
                return await caller.warden.import_files(
                    file, user=user, tenant=caller.grant.tenant, format=format, options=said, trust=trust,
                    dry_run=dry_run, progress=tick,
                )  # fmt: skip
            except InvalidInput as error:  # where the file lies here is nobody's business
                raise InvalidInput(str(error).replace(f"{folder.name}/", "")) from None

        if LINES in request.headers.get("accept", ""):
            lines = _tell_progress(run)
            return StreamingResponse(lines, media_type=LINES, background=BackgroundTask(folder.cleanup))
        done = await run(None)
    except BaseException:
        folder.cleanup()
        raise
    folder.cleanup()
    return done


def max_unpacked(size: int) -> int:
    """Return what a zip of so many bytes may unpack to."""
    return max(MIN_UNPACKED, MAX_RATIO * size)


async def receive_file(pieces: AsyncIterator[bytes], folder: FilePath, name: str) -> FilePath:
    """Write what is sent into a file of the given name. Raises InvalidInput for no body, and for a bundle."""
    base = PurePosixPath(name.replace("\\", "/")).name
    if not base.isprintable() or len(base.encode("utf-8", "replace")) > MAX_NAME_BYTES:
        raise InvalidInput(f"name must be printable and of at most {MAX_NAME_BYTES} bytes; shorten the file's name")
    file = folder / (base if base not in ("", ".", "..") else "import")
    size = 0
    with await asyncio.to_thread(file.open, "wb") as opened:
        async for piece in pieces:
            size += len(piece)
            await asyncio.to_thread(opened.write, piece)
    if not size:
        raise InvalidInput("the body is empty; send the file's bytes as it")
    if await asyncio.to_thread(is_bundle, file):
        # It passes no screening, and says itself which tenant and person it is of.
        raise InvalidInput("a bundle of memwarden is read where the store is: memwarden import FILE")
    if name == UNNAMED and await asyncio.to_thread(zipfile.is_zipfile, file):
        # Notes gone from a vault of the same name end what rested on them: two unnamed vaults would end each other.
        raise InvalidInput("a zip has to be named, since a vault is known again by its name; add ?name=notes.zip")
    return file


async def _tell_progress(
    run: Callable[[Callable[[int, int], object]], Coroutine[Any, Any, ImportSummary]],
) -> AsyncIterator[str]:
    """Yield lines of progress, and at the end the summary or the error. Who hangs up ends the import."""
    last: list[tuple[int, int]] = []
    task = asyncio.ensure_future(run(lambda done, total: last.append((done, total))))
    try:
        while not task.done():
            await asyncio.wait([task], timeout=TICK_SECONDS)
            if last:
                done, total = last[-1]
                last.clear()
                yield json.dumps({"done": done, "total": total}) + "\n"
        try:
            yield json.dumps({"summary": asdict(task.result())}) + "\n"
        except MemwardenError as error:
            yield json.dumps({"error": type(error).__name__, "detail": str(error)}) + "\n"
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task


@router.get(
    "/export",
    response_class=FileResponse,
    responses={200: {"content": {"application/octet-stream": {}}, "description": "The file."}},
)
async def export_file(
    caller: Exporter,
    user_id: Annotated[Name | None, Query(description="Whose memory. Default: the key's user.")] = None,
    format: Annotated[ExportFormat, Query(description="All but a bundle are for other programs.")] = "bundle",
) -> Any:
    """Return everything that is remembered of a person as a file. A header counts what it cannot carry."""
    user = caller.grant.narrow_user(user_id)
    folder = tempfile.TemporaryDirectory(prefix="memwarden-export-")
    file = FilePath(folder.name) / _NAMES[format]
    tenant = caller.grant.tenant
    try:
        if format == "bundle":
            written = await caller.warden.export(file, user=user, tenant=tenant)
            left, counts = written.left_behind, (written.manifest.memories, 0)
        else:
            made = await caller.warden.export_format(file, format, user=user, tenant=tenant)
            left, counts = made.left_out, (made.memories, made.turns)
    except BaseException:
        folder.cleanup()
        raise
    return FileResponse(
        file, media_type="application/octet-stream", filename=file.name, background=BackgroundTask(folder.cleanup),
        headers={
            "X-Memory-Left-Out": json.dumps(dict(left)),
            "X-Memory-Memories": str(counts[0]), "X-Memory-Turns": str(counts[1]),
        },
    )  # fmt: skip


@router.delete("/users/{user_id}", response_model=ErasureView)
async def erase_user(user_id: UserId, caller: Eraser, confirm: Confirm = None, dry_run: DryRun = False) -> Any:
    """Erase a person for good; the answer is the receipt, to be kept."""
    return await _erase(caller, user_id, confirm, dry_run)


@router.delete("/users/{user_id}/threads/{thread}", response_model=ErasureView)
async def erase_thread(
    user_id: UserId,
    thread: Annotated[str, WHOLE_NAME, Path(min_length=1, max_length=256)],
    caller: Eraser,
    confirm: Confirm = None,
    dry_run: DryRun = False,
) -> Any:
    """Erase a thread for good, with everything that was made of it."""
    return await _erase(caller, user_id, confirm, dry_run, thread=thread)


@router.delete("/users/{user_id}/memories/{memory_id}", response_model=ErasureView)
async def erase_memory(
    user_id: UserId,
    memory_id: Annotated[str, WHOLE_NAME, Path(min_length=1, max_length=256)],
    caller: Eraser,
    confirm: Confirm = None,
    dry_run: DryRun = False,
) -> Any:
    """Erase a memory for good, with what rests on it."""
    return await _erase(caller, user_id, confirm, dry_run, memory=memory_id)


@router.post("/users/{user_id}/erasures", response_model=ErasureView)
async def end_erasure(user_id: UserId, body: BegunErasureBody, caller: Eraser) -> Any:
    """Bring an erasure that was broken off to its end, by the receipt that its dry run answered."""
    begun = _read_receipt(user_id, body.begun, caller)
    return await caller.warden.erase(
        user=user_id, tenant=begun.tenant, thread=begun.thread, memory=begun.memory, confirm=body.confirm, begun=begun
    )


@router.post("/users/{user_id}/erasures/verify", response_model=TracesView)
async def verify_erasure(user_id: UserId, body: ReceiptBody, caller: Eraser) -> Any:
    """Look for what a receipt says was erased: in every table, and in the bytes of the store's files."""
    found = await caller.warden.verify_erased(_read_receipt(user_id, body, caller))
    return TracesView(absent=not found, found=found)


def _read_receipt(user_id: str, body: ReceiptBody, caller: Caller) -> ErasureReceipt:
    """Return a receipt of the user. Raises Denied, and InvalidInput for a changed receipt or another user's."""
    caller.grant.narrow_user(user_id)
    if body.tenant != caller.grant.tenant:
        raise Denied("the receipt is of another tenant than this key")
    receipt = read_receipt(body.model_dump_json())
    if receipt.user != user_id:
        raise InvalidInput(f"the receipt is of the user {receipt.user!r:.80}, the URL names {user_id!r:.80}")
    return receipt


async def _erase(
    caller: Caller,
    user_id: str,
    confirm: str | None,
    dry_run: bool,
    *,
    thread: str | None = None,
    memory: str | None = None,
) -> ErasureReceipt:
    user = caller.grant.narrow_user(user_id)
    return await caller.warden.erase(
        user=user, tenant=caller.grant.tenant, thread=thread, memory=memory, confirm=confirm, dry_run=dry_run
    )
