"""The verbs of a caller over HTTP: each sends what was given, and makes the same records of the answer.

A turn and a chat run their model on this side and keep what is said on the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from memwarden.agent.state import AsyncState
from memwarden.agent.stored_sessions import AsyncSessions
from memwarden.api.checkpoints import AsyncThreadCheckpoints
from memwarden.api.consent import AsyncConsent
from memwarden.api.journal import AsyncJournal
from memwarden.api.remote.connection import (
    PAGE,
    Connection,
    path_part,
    plain,
    read_block,
    read_query,
    read_record,
    sent_as,
)
from memwarden.api.remote.handles import (
    RemoteConsent,
    RemoteHandle,
    RemoteJournal,
    RemoteReview,
    RemoteSessions,
    RemoteState,
    RemoteThreadCheckpoints,
    RemoteUsage,
)
from memwarden.api.review import AsyncReview
from memwarden.api.scope import AsyncScope
from memwarden.api.usage import AsyncUsage
from memwarden.clock import DEFAULT_THREAD
from memwarden.conversation.prompt_cache import PromptLayout
from memwarden.conversation.recording import MemoryVerdict, TurnLog
from memwarden.conversation.settings import ChatSettings
from memwarden.errors import InvalidInput, NotFound
from memwarden.recall.answer.template import LEAN_TEMPLATE, Template
from memwarden.records import (
    Audit,
    ContextBlock,
    Memory,
    MessageResult,
    Overview,
    QueryResult,
    Relation,
    Scope,
    Statement,
    WriteResult,
)
from memwarden.runtime.services import Runtime

# The messages that go with a call.
BATCH = 4_000
Messages = str | Mapping[str, Any] | Iterable[Mapping[str, Any]]


class RemoteScope(RemoteHandle, AsyncScope):
    """The verbs of a caller, over HTTP."""

    def __init__(self, connection: Connection, who: Scope, runtime: Runtime) -> None:
        self.join(connection, who, runtime)
        self._log = RemoteTurnLog().join(connection, who, runtime)

    @sent_as(AsyncScope.observe)
    async def observe(self, given: dict[str, Any]) -> WriteResult:
        return await observe_in_batches(self, given["messages"], given.get("key"), given.get("progress"))

    @sent_as(AsyncScope.remember)
    async def remember(self, given: dict[str, Any]) -> WriteResult:
        stated = given.pop("text_or_messages")
        name = "text" if isinstance(stated, str | Mapping) else "texts"
        body = {**self.whole_identity, name: stated, **given}
        return read_record(await self._connection.call("POST", "/v1/memories", body), WriteResult)

    @sent_as(AsyncScope.extract)
    async def extract(self, given: dict[str, Any]) -> WriteResult:
        body = {**self.whole_identity, **given}
        return read_record(await self._connection.call("POST", "/v1/memory/extract", body), WriteResult)

    @sent_as(AsyncScope.extract_pending)
    async def extract_pending(self, given: dict[str, Any]) -> WriteResult:
        path = f"/v1/threads/{path_part(self.who.thread or 'default')}/extract"
        query = {"user_id": self.who.user, "agent": self.who.agent, **given}
        return read_record(await self._connection.call("POST", path, **query), WriteResult)

    @sent_as(AsyncScope.query)
    async def query(self, given: dict[str, Any]) -> QueryResult:
        body = {**self.whole_identity, **given}
        return read_query(await self._connection.call("POST", "/v1/memory/query", body))

    @sent_as(AsyncScope.context)
    async def context(self, given: dict[str, Any]) -> ContextBlock:
        if not isinstance(template := given.pop("template", LEAN_TEMPLATE), Template):
            raise InvalidInput(f"template is a memwarden.recall.answer.template.Template, not {template!r:.80}")
        if template != LEAN_TEMPLATE:
            given["template"] = msgspec.to_builtins(template)
        body = {**self.whole_identity, **given}
        return read_block(await self._connection.call("POST", "/v1/memory/context", body))

    @sent_as(AsyncScope.get)
    async def get(self, given: dict[str, Any]) -> Memory:
        return read_record(await self.read(f"/v1/memories/{path_part(given['memory_id'])}"), Memory)

    @sent_as(AsyncScope.find)
    async def find(self, given: dict[str, Any]) -> list[Memory]:
        limit, filters = given.pop("limit", 100), given.pop("filters", None)
        if limit > PAGE and (given.get("order_by") not in (None, "created_at") or given.get("descending") is False):
            raise InvalidInput(f"over HTTP at most {PAGE} memories come in another order than the newest first")
        where = None if filters is None else msgspec.json.encode(filters, enc_hook=plain).decode()
        found: list[Memory] = []
        cursor = None
        while True:
            most = min(PAGE, limit - len(found))
            page = await self.read("/v1/memories", **given, limit=most, filters=where, cursor=cursor)
            found += read_record(page["items"], list[Memory])
            cursor = page["cursor"]
            if cursor is None or len(found) >= limit:
                return found

    @sent_as(AsyncScope.relations)
    async def relations(self, given: dict[str, Any]) -> list[Relation]:
        wanted = given["memory_id"]
        if isinstance(wanted, str):
            return read_record(await self.read(f"/v1/memories/{path_part(wanted)}/relations"), list[Relation])
        found: set[Relation] = set()
        for memory_id in wanted:
            with suppress(NotFound):  # of several, those that are not there have none
                found.update(await self.relations(memory_id))
        return sorted(found, key=lambda edge: (edge.from_id, edge.to_id, edge.type))

    @sent_as(AsyncScope.overview)
    async def overview(self, given: dict[str, Any]) -> Overview:
        path = f"/v1/users/{path_part(self.who.user)}/overview"
        return read_record(await self._connection.call("GET", path, agent=self.who.agent, **given), Overview)

    @sent_as(AsyncScope.audit)
    async def audit(self, given: dict[str, Any]) -> Audit:
        given.pop("progress", None)
        return read_record(await self.read("/v1/audit", **given), Audit)

    @sent_as(AsyncScope.forget)
    async def forget(self, given: dict[str, Any]) -> WriteResult:
        wanted = given["memory_id"]
        if isinstance(wanted, str):
            expected = given.get("expected_version")
            path = f"/v1/memories/{path_part(wanted)}"
            return read_record(await self.send("DELETE", path, expected_version=expected), WriteResult)
        body = {"memory_ids": list(wanted)}
        return read_record(await self.send("POST", "/v1/memories/forget", body), WriteResult)

    @sent_as(AsyncScope.reset)
    async def reset(self, given: dict[str, Any]) -> WriteResult:
        if given.get("filters") is not None:
            given["filters"] = msgspec.json.encode(given["filters"], enc_hook=plain).decode()
        return read_record(await self.send("DELETE", "/v1/memories", **given), WriteResult)

    @sent_as(AsyncScope.statements)
    async def statements(self, given: dict[str, Any]) -> tuple[Statement, ...]:
        path = f"/v1/memories/{path_part(given['memory_id'])}/statements"
        return read_record(await self.read(path), tuple[Statement, ...])

    @sent_as(AsyncScope.restore)
    async def restore(self, given: dict[str, Any]) -> WriteResult:
        return read_record(
            await self.send("POST", f"/v1/memories/{path_part(given['memory_id'])}/restore"), WriteResult
        )

    @sent_as(AsyncScope.update)
    async def update(self, given: dict[str, Any]) -> WriteResult:
        path = f"/v1/memories/{path_part(given.pop('memory_id'))}"
        expected = given.pop("expected_version", None)
        changes = {name: value for name, value in given.items() if value is not None}
        return read_record(await self.send("PATCH", path, changes, expected_version=expected), WriteResult)

    @sent_as(AsyncScope.promote)
    async def promote(self, given: dict[str, Any]) -> str:
        path = f"/v1/memories/{path_part(given['memory_id'])}/promote"
        return str((await self.send("POST", path, {"to": given["to"]}))["id"])

    def _check_sessions(self) -> None:
        """The server knows the allowlists, and refuses when the session is read."""

    @property
    def review(self) -> AsyncReview:
        return RemoteReview().join(self._connection, self.who, self._runtime)

    @property
    def journal(self) -> AsyncJournal:
        return RemoteJournal().join(self._connection, self.who, self._runtime)

    @property
    def consent(self) -> AsyncConsent:
        return RemoteConsent().join(self._connection, self.who, self._runtime)

    @property
    def usage(self) -> AsyncUsage:
        return RemoteUsage().join(self._connection, self.who, self._runtime)

    @property
    def state(self) -> AsyncState:
        return RemoteState().join(self._connection, self.who, self._runtime)

    @property
    def sessions(self) -> AsyncSessions:
        return RemoteSessions().join(self._connection, self.who, self._runtime)

    @property
    def checkpoints(self) -> AsyncThreadCheckpoints:
        return RemoteThreadCheckpoints().join(self._connection, self.who, self._runtime)


class RemoteTurnLog(RemoteHandle, TurnLog):
    """What turns keep and read behind a server. The model runs on this side."""

    def __init__(self) -> None: ...

    async def store(
        self,
        messages: Messages,
        key: str | None,
        progress: Callable[[int], object] | None = None,
        from_start: bool = False,
    ) -> WriteResult:
        return await observe_in_batches(self, messages, key, progress, extract=False, from_start=from_start)

    async def look_if_due(self, mode: str, turns: int) -> WriteResult | None:
        if mode not in ("every_turn", "periodic"):
            return None
        path = f"/v1/threads/{path_part(self.who.thread or DEFAULT_THREAD)}/extract-due"
        query = {"user_id": self.who.user, "agent": self.who.agent}
        found = await self._connection.call("POST", path, {"mode": mode, "turns": turns}, **query)
        return read_record(found["result"], WriteResult | None)  # type: ignore[arg-type]  # a union is no type to mypy

    async def look(self) -> WriteResult | None:
        return await self.look_if_due("every_turn", 1)

    async def lay_out(
        self, said: Sequence[Mapping[str, Any]], block: ContextBlock, settings: ChatSettings, *, renew: bool = False
    ) -> PromptLayout | None:
        told = {"messages": list(said), "settings": msgspec.to_builtins(settings), "renew": renew}
        found = await self._connection.call("POST", "/v1/memory/layout", {**self.whole_identity, **told})
        return read_record(found["layout"], PromptLayout | None)  # type: ignore[arg-type]  # as above

    async def record_uses(self, uses: Iterable[MemoryVerdict], rev: int) -> None:
        told = [{"memory_id": use.memory_id, "verdict": use.verdict, "share": use.share} for use in uses]
        if told:
            await self._connection.call("POST", "/v1/uses", {**self.whole_identity, "rev": rev, "uses": told})


async def observe_in_batches(
    caller: RemoteHandle,
    messages: Messages,
    key: str | None,
    progress: Callable[[int], object] | None,
    *,
    extract: bool = True,
    from_start: bool = False,
) -> WriteResult:
    """Send what was said, in as many calls as the server takes it in."""
    listed: Any = messages if isinstance(messages, str | Mapping) else list(messages)
    whole = {**caller.whole_identity, **({"key": key} if key else {})}
    whole |= {} if extract else {"extract": False, "from_start": from_start}
    if not isinstance(listed, list) or len(listed) <= BATCH:
        sent = await caller.observe_at_once({**whole, "messages": listed})
        if progress is not None:
            progress(len(sent.results))
        return sent
    results: list[MessageResult] = []
    rev = undated = 0
    for number in range(0, len(listed), BATCH):
        own = {"key": f"{key}:{number}"} if key else {}
        sent = await caller.observe_at_once({**whole, **own, "messages": listed[number : number + BATCH]})
        results += sent.results
        rev, undated = sent.rev, undated + sent.undated
        if progress is not None:
            progress(len(results))
    return WriteResult(rev, tuple(results), undated)
