"""Memory of tasks, of projects and of all projects, and the contexts assembled from them, over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import msgspec

from memwarden.api.remote.connection import Connection, check_tenant, path_part, plain, read_record, sent_as
from memwarden.errors import NotFound
from memwarden.records import HistoryEntry, Namespace, WriteResult
from memwarden.runtime.services import Runtime
from memwarden.tiers import items
from memwarden.tiers.assembler import AsyncContextAssembler
from memwarden.tiers.backend import ContextItem
from memwarden.tiers.budget import (
    DEFAULT_PROJECT,
    ContextPackage,
    IncludedItem,
    LeftOut,
    MemoryConfig,
    Profile,
    TierUse,
)
from memwarden.tiers.items import read_failure
from memwarden.tiers.stores import (
    CLEAR_QUESTION,
    DEFAULT_MAX_ITEMS,
    AsyncGlobalMemoryStore,
    AsyncProjectMemoryStore,
    AsyncTaskMemoryStore,
    AsyncTierStore,
    Confirm,
    ItemUses,
    add_question,
    check_max_items,
    check_name,
    modify_question,
    remove_question,
    undo_question,
)
from memwarden.tiers.tiers import AsyncTiers


class RemoteTierStore(AsyncTierStore):
    """What the three stores share over HTTP."""

    _connection: Connection
    _url: str

    def __init__(self) -> None: ...

    def join(self, connection: Connection, path: str, place: str) -> Self:
        """Use a connection for a tier. path: of its namespace. place: its place in URLs."""
        self._connection = connection
        self.namespace = Namespace("default", path)
        self._url = f"/v1/tiers/{place}"
        return self

    async def call(self, method: str, path: str = "", body: Any = None, **query: Any) -> Any:
        """Call the server about this tier."""
        return await self._connection.call(method, self._url + path, body, **query)

    async def add(self, kind: str, **fields: Any) -> ContextItem:
        """Keep an item of a kind."""
        return read_item(await self.call("POST", "", {"kind": kind, **fields}))

    async def find_item(self, item_id: str) -> ContextItem:
        """Return an item. Raises NotFound."""
        return read_item(await self.call("GET", f"/items/{path_part(item_id)}"))

    @sent_as(AsyncTierStore.query)
    async def query(self, given: dict[str, Any]) -> list[ContextItem]:
        given["filters"] = msgspec.json.encode(given["filters"], enc_hook=plain).decode()
        return [read_item(item) for item in (await self.call("GET", **given))["items"]]

    @sent_as(AsyncTierStore.get)
    async def get(self, given: dict[str, Any]) -> ContextItem | None:
        try:
            return await self.find_item(given["item_id"])
        except NotFound:
            return None

    @sent_as(AsyncTierStore.list_all)
    async def list_all(self, given: dict[str, Any]) -> list[ContextItem]:
        return [read_item(item) for item in (await self.call("GET", "/items"))["items"]]

    @sent_as(AsyncTierStore.count)
    async def count(self, given: dict[str, Any]) -> int:
        return len(await self.list_all())

    @sent_as(AsyncTierStore.history)
    async def history(self, given: dict[str, Any]) -> list[HistoryEntry]:
        return read_record(await self.call("GET", "/history", **given), list[HistoryEntry])


class RemoteTaskStore(RemoteTierStore, AsyncTaskMemoryStore):
    """A task's memory, over HTTP."""

    @sent_as(AsyncTaskMemoryStore.add_reasoning)
    async def add_reasoning(self, given: dict[str, Any]) -> ContextItem:
        return await self.add("reasoning", **given)

    @sent_as(AsyncTaskMemoryStore.add_tool_output)
    async def add_tool_output(self, given: dict[str, Any]) -> ContextItem:
        return await self.add("tool_output", **given)

    @sent_as(AsyncTaskMemoryStore.promote)
    async def promote(self, given: dict[str, Any]) -> str:
        path = f"/items/{path_part(given.pop('item_id'))}/promote"
        return str((await self.call("POST", path, given))["id"])

    @sent_as(AsyncTaskMemoryStore.enter_state)
    async def enter_state(self, given: dict[str, Any]) -> bool:
        return bool((await self.call("POST", "/state", given))["cleared"])

    @sent_as(AsyncTaskMemoryStore.clear)
    async def clear(self, given: dict[str, Any]) -> None:
        await self.call("DELETE")


class RemoteProjectStore(RemoteTierStore, AsyncProjectMemoryStore):
    """A project's memory, over HTTP."""

    async def add(self, kind: str, **fields: Any) -> ContextItem:
        return read_item(await self.call("POST", "", {"kind": kind, **fields}, max_items=self.max_items))

    @sent_as(AsyncProjectMemoryStore.add_decision)
    async def add_decision(self, given: dict[str, Any]) -> ContextItem:
        return await self.add("decision", **given)

    @sent_as(AsyncProjectMemoryStore.add_convention)
    async def add_convention(self, given: dict[str, Any]) -> ContextItem:
        return await self.add("convention", **given)

    @sent_as(AsyncProjectMemoryStore.add_failure)
    async def add_failure(self, given: dict[str, Any]) -> ContextItem:
        code, whole = read_failure(given["failure"])
        return await self.add("failure", code=code, whole=whole, lesson=given["lesson"])

    @sent_as(AsyncProjectMemoryStore.add_preference)
    async def add_preference(self, given: dict[str, Any]) -> ContextItem:
        return await self.add("preference", **given)

    @sent_as(AsyncProjectMemoryStore.add_pattern)
    async def add_pattern(self, given: dict[str, Any]) -> ContextItem:
        return await self.add("pattern", **given)

    @sent_as(AsyncProjectMemoryStore.remove)
    async def remove(self, given: dict[str, Any]) -> bool:
        return bool((await self.call("DELETE", item_id=given["item_id"]))["removed"])

    @sent_as(AsyncProjectMemoryStore.pin)
    async def pin(self, given: dict[str, Any]) -> WriteResult:
        path = f"/items/{path_part(given.pop('item_id'))}/pin"
        return read_record(await self.call("POST", path, given), WriteResult)

    @sent_as(AsyncProjectMemoryStore.restore)
    async def restore(self, given: dict[str, Any]) -> WriteResult:
        path = f"/items/{path_part(given['item_id'])}/restore"
        return read_record(await self.call("POST", path), WriteResult)

    @sent_as(AsyncProjectMemoryStore.undo)
    async def undo(self, given: dict[str, Any]) -> WriteResult:
        found = await self.call("POST", f"/journal/{path_part(given['change'])}/undo")
        return read_record(found["result"], WriteResult)

    @sent_as(AsyncProjectMemoryStore.promote)
    async def promote(self, given: dict[str, Any]) -> str | None:
        item, confirm = await self.find_item(given["item_id"]), given.get("confirm", False)
        if item.kind == "preference":
            if not await self._may_add(item, confirm):
                return None
            confirm = True
        path = f"/items/{path_part(item.context_item_id)}/promote"
        return str((await self.call("POST", path, {"confirm": confirm} if confirm else {}))["id"])

    @sent_as(AsyncProjectMemoryStore.make_room)
    async def make_room(self, given: dict[str, Any]) -> int:
        return int((await self.call("POST", "/room", {"max_items": self.max_items, **given}))["removed"])


class RemoteGlobalStore(RemoteTierStore, AsyncGlobalMemoryStore):
    """The memory of all projects, over HTTP. The person is asked on this side."""

    @sent_as(AsyncGlobalMemoryStore.add_preference)
    async def add_preference(self, given: dict[str, Any]) -> ContextItem | None:
        must_ask, confirm = given.pop("require_confirmation", False), given.pop("confirm", False)
        item = items.preference(None, given["preference"], check_name(given["category"], "category"))
        question = add_question(given["preference"], str(item.payload["category"]))
        if not await self._may(question, confirm, must_ask=must_ask):
            return None
        return await self.add("preference", **given, confirm=True)

    @sent_as(AsyncGlobalMemoryStore.modify_preference)
    async def modify_preference(self, given: dict[str, Any]) -> ContextItem | None:
        old, words = await self.find_item(given["item_id"]), given["preference"]
        if old.kind != "preference":
            raise NotFound(f"no preference {given['item_id']!r} in {self.namespace.path}")
        told = [str(old.payload.get(name, "")) for name in ("preference", "category")]
        if not await self._may(modify_question(told[0], words, told[1]), given.get("confirm", False)):
            return None
        path = f"/items/{path_part(given['item_id'])}"
        return read_item((await self.call("PATCH", path, {"preference": words, "confirm": True}))["item"])

    @sent_as(AsyncGlobalMemoryStore.add_pattern)
    async def add_pattern(self, given: dict[str, Any]) -> ContextItem:
        return await self.add("pattern", **given)

    @sent_as(AsyncGlobalMemoryStore.remove)
    async def remove(self, given: dict[str, Any]) -> bool:
        item = await self.find_item(given["item_id"])
        if not await self._may(remove_question(items.item_words(item)), given.get("confirm", False)):
            return False
        return bool((await self.call("DELETE", item_id=given["item_id"], confirm=True))["removed"])

    @sent_as(AsyncGlobalMemoryStore.clear_all)
    async def clear_all(self, given: dict[str, Any]) -> bool:
        if not await self._may(CLEAR_QUESTION, given.get("confirm", False)):
            return False
        await self.call("DELETE", confirm=True)
        return True

    @sent_as(AsyncGlobalMemoryStore.undo)
    async def undo(self, given: dict[str, Any]) -> WriteResult | None:
        change = given["change"]
        if not await self._may(undo_question(change), given.get("confirm", False)):
            return None
        found = await self.call("POST", f"/journal/{path_part(change)}/undo", confirm=True)
        return read_record(found["result"], WriteResult)


class RemoteContextAssembler(AsyncContextAssembler):
    """Assembles the contexts of tasks, over HTTP. Profiles and its config are of this side."""

    _connection: Connection

    def join(self, connection: Connection) -> Self:
        """Use a connection."""
        self._connection = connection
        return self

    async def _build(self, task_id: str, project_id: str, plan: Any) -> ContextPackage:
        body = {
            "task_id": task_id,
            "project_id": project_id,
            "budget_tokens": plan.budget,
            "query": plan.query,
            "user": plan.user,
            "shares": None if plan.learned else plan.shares,
            "learned_shares": plan.learned,
            "agent": plan.agent,
            "threshold": plan.threshold,
            "head_tail_preserve": plan.ends,
            "explain": plan.explain,
        }
        package = read_package(await self._connection.call("POST", "/v1/assemble", body))
        return package if plan.learned else replace(package, split=plan.reason)

    async def _record(self, project_id: str, build_id: str, uses: Sequence[TierUse]) -> None:
        body = {"project_id": project_id, "build_id": build_id, "uses": [use._asdict() for use in uses]}
        if uses:
            await self._connection.call("POST", "/v1/assemble/uses", body)

    async def cleanup_task(self, task_id: str) -> None:
        name = check_name(task_id, "task_id")
        await self._connection.call("DELETE", f"/v1/tiers/task/{path_part(name)}")


class RemoteTiers(AsyncTiers):
    """Makes the stores of tasks, projects and global memory, over HTTP. The key decides about the tenant."""

    def __init__(self, connection: Connection, runtime: Runtime) -> None:
        super().__init__(runtime)
        self._connection = connection

    def task(self, task_id: str, *, tenant: str = "default") -> AsyncTaskMemoryStore:
        check_tenant(tenant)
        name = check_name(task_id, "task_id")
        store = RemoteTaskStore().join(self._connection, f"task/{name}", f"task/{path_part(name)}")
        store.task_id = name
        return store

    def project(
        self,
        project_id: str = DEFAULT_PROJECT,
        *,
        max_items: int = DEFAULT_MAX_ITEMS,
        confirmation_callback: Confirm | None = None,
        tenant: str = "default",
    ) -> AsyncProjectMemoryStore:
        check_tenant(tenant)
        name = check_name(project_id, "project_id")
        store = RemoteProjectStore().join(self._connection, f"project/{name}", f"project/{path_part(name)}")
        store.project_id, store.max_items = name, check_max_items(max_items)
        store._callback = confirmation_callback
        return store

    def global_store(
        self, *, confirmation_callback: Confirm | None = None, tenant: str = "default"
    ) -> AsyncGlobalMemoryStore:
        check_tenant(tenant)
        store = RemoteGlobalStore().join(self._connection, "global", "global/all")
        store.confirmation_callback = confirmation_callback
        return store

    def assembler(
        self,
        *,
        memory_config: MemoryConfig | None = None,
        profiles: Mapping[str, Profile] | None = None,
        tenant: str = "default",
    ) -> AsyncContextAssembler:
        check_tenant(tenant)
        own = RemoteContextAssembler(self._runtime, ItemUses(), tenant, dict(profiles or {}), memory_config)
        return own.join(self._connection)


def read_item(value: Mapping[str, Any]) -> ContextItem:
    """Return the item that a server answers."""
    return read_record(value, ContextItem)


def read_package(value: dict[str, Any]) -> ContextPackage:
    """Return the context that a server answers."""
    included = tuple(IncludedItem(**{**item, "item": read_item(item["item"])}) for item in value.pop("included"))
    omitted = tuple(LeftOut(**item) for item in value.pop("left_out"))
    listed = tuple(map(read_item, value.pop("items")))
    return ContextPackage(**value, items=listed, included=included, find_left_out=partial(tuple, omitted))
