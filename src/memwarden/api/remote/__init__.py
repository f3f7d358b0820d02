"""A warden whose store is behind a server: scopes, tiers and what concerns the whole store, over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, cast

from memwarden.agent.state import AsyncState
from memwarden.agent.stored_sessions import AsyncSessions, AsyncToolCache
from memwarden.api.checkpoints import AsyncThreadCheckpoints
from memwarden.api.exports import FormatExport
from memwarden.api.imports import ImportSummary, ImportTick, is_database
from memwarden.api.remote.connection import Connection, check_tenant, path_part, read_record, refuse
from memwarden.api.remote.handles import RemoteJobs
from memwarden.api.remote.scope import RemoteScope
from memwarden.api.remote.tiers import RemoteTiers
from memwarden.api.scope import AsyncScope
from memwarden.categories import categories_content, read_categories
from memwarden.errors import InvalidInput
from memwarden.records import Scope
from memwarden.remember.imports.source import ImportOptions
from memwarden.remember.ingest.messages import checked_name
from memwarden.runtime.services import Runtime, Services
from memwarden.settings import Settings
from memwarden.stores.transfer.backup import Manifest, read_manifest
from memwarden.stores.transfer.bundle import ExportResult, read_bundle_manifest
from memwarden.stores.transfer.erasure import ErasureReceipt
from memwarden.tiers.tiers import AsyncTiers
from memwarden.upkeep.jobs import AsyncJobs

if TYPE_CHECKING:
    from memwarden.models.protocols import ChatModel
    from memwarden.stores.protocol import Store


class _OfThisMachine:
    """A store that refuses every use, because it is behind a server."""

    def __getattr__(self, name: str) -> NoReturn:
        refuse("this")


class ClientRuntime(Runtime):
    """State on this side of a server: settings of prompts, open turns and the chat model."""

    def __init__(self, settings: Settings, chat: ChatModel | None) -> None:
        super().__init__(cast("Store", _OfThisMachine()), settings, lambda *_: refuse("this"), chat)

    @property
    def services(self) -> Services:
        """Raises InvalidInput."""
        refuse("this")


class RemoteWarden:
    """A warden whose store is behind a server. Made by :meth:`memwarden.AsyncWarden.open` with its URL.

    It has the verbs of an AsyncWarden, and refuses those that need the store on this machine.
    """

    def __init__(self, url: str, key: str | None, settings: Settings, chat: ChatModel | None = None) -> None:
        self._connection = Connection(url, key)
        self._runtime = ClientRuntime(settings, chat)

    async def start(self) -> Self:
        """Ask the server whether it lives. Raises StoreUnavailable."""
        try:
            await self._connection.call("GET", "/healthz")
        except BaseException:
            await self._connection.close()
            raise
        return self

    async def close(self) -> None:
        """Store what was said in turns that nobody left, and let go of the connections. May be called twice."""
        await self._runtime.end_turns()
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        refuse(name)

    def scope(
        self,
        *,
        user: str = "default",
        agent: str | None = None,
        thread: str | None = None,
        run: str | None = None,
        actor: str | None = None,
        project: str | None = None,
        task: str | None = None,
        role: str | None = None,
        tenant: str = "default",
    ) -> AsyncScope:
        """Return the verbs bound to somebody, as far as the key allows. The key decides about the tenant."""
        check_tenant(tenant)
        names = {"user": user, "agent": agent, "thread": thread, "run": run, "actor": actor}
        names |= {"project": project, "task": task, "role": role}
        checked = {name: checked_name(value, name) for name, value in names.items()}
        return RemoteScope(self._connection, Scope(**checked), self._runtime)  # type: ignore[arg-type]  # user is no None

    async def users(self, *, tenant: str = "default") -> list[str]:
        """Return the users whom the key may read, by name."""
        found: list[str] = (await self._connection.call("GET", "/v1/users"))["items"]
        return found

    async def back_up(self, path: str | Path) -> Manifest:
        """Copy the whole store as it stands now into a new file here, with a key that may operate."""
        file = Path(path)
        await self._connection.download("POST", "/v1/backup", file)
        return await asyncio.to_thread(read_manifest, file)

    async def import_files(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        user: str | None = None,
        tenant: str = "default",
        format: str | None = None,
        options: ImportOptions | None = None,
        trust: str | None = None,
        dry_run: bool = False,
        progress: ImportTick | None = None,
        wait: bool = False,
        encoding: ImportTick | None = None,
    ) -> ImportSummary:
        """Send a file or zip to the server, which reads what another program keeps.

        wait, encoding: mean nothing here, since the server goes on with the meanings by itself.
        """
        check_tenant(tenant)
        (path,) = [paths] if isinstance(paths, str | Path) else paths
        if is_database(path):
            raise InvalidInput("a database is read where the store is: memwarden import URL")
        said = options or ImportOptions()
        asked = {
            "user_id": user, "name": Path(path).name, "format": format, "zone": said.zone,
            "day_first": said.day_first, "thread": said.thread, "branches": said.branches, "trust": trust,
            "strict": said.strict,
            "column": [f"{name}={column}" for name, column in said.mapping.items()], "dry_run": dry_run,
        }  # fmt: skip
        summary: dict[str, Any] = {}
        async for line in self._connection.upload("/v1/import", Path(path), **asked):
            if progress is not None and "done" in line:
                progress(line["done"], line["total"])
            summary = line.get("summary", summary)
        return read_record(summary, ImportSummary)

    async def export(self, path: str | Path, *, user: str, tenant: str = "default") -> ExportResult:
        """Write everything that is remembered of a person into a new file here."""
        check_tenant(tenant)
        left = await self._download(path, user, "bundle")
        return ExportResult(await asyncio.to_thread(read_bundle_manifest, Path(path)), left)

    async def export_format(self, path: str | Path, format: str, *, user: str, tenant: str = "default") -> FormatExport:
        """Write what is remembered of a person into a new file of another format here. A vault as a zip."""
        check_tenant(tenant)
        told = await self._connection.download("GET", "/v1/export", Path(path), user_id=user, format=format)
        counts = {name: int(told[f"x-memory-{name}"]) for name in ("memories", "turns")}
        return FormatExport(format, **counts, left_out=json.loads(told["x-memory-left-out"]))

    async def erase(
        self,
        *,
        user: str,
        tenant: str = "default",
        thread: str | None = None,
        memory: str | None = None,
        confirm: str | None = None,
        dry_run: bool = False,
        begun: ErasureReceipt | None = None,
    ) -> ErasureReceipt:
        """Remove a person, a thread or a memory for good there. Return the receipt.

        begun: the unfinished receipt of a call that was broken off, which is brought to its end.
        """
        check_tenant(tenant)
        if begun is not None:
            if (begun.user, begun.thread, begun.memory) != (user, thread, memory):
                raise InvalidInput(f"the erasure that was begun is of {begun.subject}, which is something else")
            if not dry_run and confirm == user:
                told = {"begun": asdict(begun), "confirm": confirm}
                path = f"/v1/users/{path_part(user)}/erasures"
                return read_record(await self._connection.call("POST", path, told), ErasureReceipt)
        named = {"threads": thread, "memories": memory}
        part = "".join(f"/{name}/{path_part(value)}" for name, value in named.items() if value is not None)
        path = f"/v1/users/{path_part(user)}{part}"
        return read_record(
            await self._connection.call("DELETE", path, confirm=confirm, dry_run=dry_run), ErasureReceipt
        )

    async def verify_erased(self, receipt: ErasureReceipt) -> list[str]:
        """Return everything in the store there that contradicts a receipt. Nothing when all is gone."""
        path = f"/v1/users/{path_part(receipt.user)}/erasures/verify"
        told: Mapping[str, Any] = await self._connection.call("POST", path, asdict(receipt))
        found: list[str] = told["found"]
        return found

    async def _download(self, path: str | Path, user: str, format: str) -> dict[str, int]:
        told = await self._connection.download("GET", "/v1/export", Path(path), user_id=user, format=format)
        left: dict[str, int] = json.loads(told["x-memory-left-out"])
        return left

    async def reload_categories(self, source: str | Path | Mapping[str, Any] | None = None) -> None:
        """Put categories and allowlists in force for everybody who uses the server."""
        if source is None:
            raise InvalidInput("over HTTP give the file of categories or its content; the server keeps it")
        categories = await asyncio.to_thread(read_categories, source)
        content = categories_content(categories)
        content["categories"] = content["categories"]["custom"]
        await self._connection.call("PUT", "/v1/config/categories", content)

    @property
    def tiers(self) -> AsyncTiers:
        """The stores of tasks, projects and what holds everywhere."""
        return RemoteTiers(self._connection, self._runtime)

    @property
    def state(self) -> AsyncState:
        """What was saved by key for the user ``default``."""
        return self.scope().state

    @property
    def sessions(self) -> AsyncSessions:
        """The stored sessions of the user ``default``."""
        return self.scope().sessions

    @property
    def tool_cache(self) -> AsyncToolCache:
        """The cached results of tools of the user ``default``."""
        return self.scope().tool_cache

    @property
    def checkpoints(self) -> AsyncThreadCheckpoints:
        """The checkpoints of the user ``default``."""
        return self.scope().checkpoints

    @property
    def jobs(self) -> AsyncJobs:
        """The jobs that keep memory clean, with a key that may operate."""
        return RemoteJobs(self._connection)

    @property
    def settings(self) -> Any:
        refuse("reading settings")

    @property
    def store(self) -> Store:
        refuse("reading the store itself")
