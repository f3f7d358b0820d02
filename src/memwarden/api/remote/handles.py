"""The handles of a scope over HTTP: review, journal, consent, usage and checkpoints."""

from __future__ import annotations

from typing import Any, Self

from memwarden.api.handles import AsyncConsent, AsyncJournal, AsyncReview, AsyncThreadCheckpoints, AsyncUsage
from memwarden.api.remote.connection import Connection, path_part, read_record, sent_as
from memwarden.observability.records import MemoryUse, OpCount, OpEvent
from memwarden.records import Consent, Delta, HistoryEntry, Memory, PendingReview, Scope, UserContext, WriteResult
from memwarden.runtime import Runtime
from memwarden.stores.shared.checkpoints import CheckpointKey, CheckpointOutline


class RemoteHandle:
    """What the remote handles share: the connection and who calls."""

    _connection: Connection
    who: Scope

    def join(self, connection: Connection, who: Scope, parts: Runtime) -> Self:
        """Use a connection for somebody. parts: what of a warden is on this side."""
        self._connection = connection
        self.who = who
        self._parts = parts
        return self

    @property
    def identity(self) -> dict[str, Any]:
        """Who calls, as a query says it."""
        return {"user_id": self.who.user, "agent": self.who.agent, "thread_id": self.who.thread}

    @property
    def whole_identity(self) -> dict[str, Any]:
        """Who calls, as a body says it."""
        who = self.who
        beside = {"project_id": who.project, "task_id": who.task, "role": who.role}
        return {**self.identity, "run_id": who.run, "actor_id": who.actor, **beside}

    async def observe_at_once(self, body: dict[str, Any]) -> WriteResult:
        """Send what was said in a single call."""
        return read_record(await self._connection.call("POST", "/v1/memory/observe", body), WriteResult)

    async def read(self, path: str, **query: Any) -> Any:
        """Read something."""
        return await self._connection.call("GET", path, **self.identity, **query)

    async def send(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Change something."""
        return await self._connection.call(method, path, body, **self.identity, **query)


class RemoteReview(RemoteHandle, AsyncReview):
    """Decisions on candidates and quarantined texts, over HTTP."""

    def __init__(self) -> None: ...

    @sent_as(AsyncReview.pending)
    async def pending(self, given: dict[str, Any]) -> list[PendingReview]:
        found = await self.read("/v1/review", state=given.get("state") or "all", limit=given.get("limit"))
        return [PendingReview(read_record(item["memory"], Memory), item["why"]) for item in found]

    @sent_as(AsyncReview.approve)
    async def approve(self, given: dict[str, Any]) -> WriteResult:
        body = {"approve": True, "vouch": given.get("vouch", False)}
        return read_record(
            await self.send("POST", f"/v1/review/{path_part(given['memory_id'])}/decision", body), WriteResult
        )

    @sent_as(AsyncReview.reject)
    async def reject(self, given: dict[str, Any]) -> WriteResult:
        path = f"/v1/review/{path_part(given['memory_id'])}/decision"
        return read_record(await self.send("POST", path, {"approve": False}), WriteResult)


class RemoteJournal(RemoteHandle, AsyncJournal):
    """History, undo, changes and events, over HTTP."""

    def __init__(self) -> None: ...

    @sent_as(AsyncJournal.history)
    async def history(self, given: dict[str, Any]) -> list[HistoryEntry]:
        memory_id = given.pop("memory_id", None)
        path = "/v1/journal" if memory_id is None else f"/v1/memories/{path_part(memory_id)}/history"
        return read_record(await self.read(path, **given), list[HistoryEntry])

    @sent_as(AsyncJournal.undo)
    async def undo(self, given: dict[str, Any]) -> WriteResult:
        return read_record(await self.send("POST", f"/v1/journal/{path_part(given['change'])}/undo"), WriteResult)

    @sent_as(AsyncJournal.forgotten)
    async def forgotten(self, given: dict[str, Any]) -> list[Memory]:
        return read_record(await self.read("/v1/trash", **given), list[Memory])

    @sent_as(AsyncJournal.delta)
    async def delta(self, given: dict[str, Any]) -> Delta:
        path = f"/v1/threads/{path_part(self.who.thread or 'default')}/delta"
        query = {"user_id": self.who.user, "agent": self.who.agent, **given}
        return read_record(await self._connection.call("GET", path, **query), Delta)

    @sent_as(AsyncJournal.events)
    async def events(self, given: dict[str, Any]) -> list[OpEvent]:
        return read_record(await self.read("/v1/events", **given), list[OpEvent])

    @sent_as(AsyncJournal.event_counts)
    async def event_counts(self, given: dict[str, Any]) -> list[OpCount]:
        return read_record(await self.read("/v1/events/counts", **given), list[OpCount])


class RemoteConsent(RemoteHandle, AsyncConsent):
    """The user context, proposals and decisions, over HTTP."""

    def __init__(self) -> None: ...

    @property
    def _place(self) -> str:
        return f"/v1/users/{path_part(self.who.user)}/context"

    @sent_as(AsyncConsent.user_context)
    async def user_context(self, given: dict[str, Any]) -> UserContext:
        return read_record(await self._connection.call("GET", self._place, agent=self.who.agent), UserContext)

    @sent_as(AsyncConsent.propose)
    async def propose(self, given: dict[str, Any]) -> WriteResult:
        body = {**given.pop("patch"), **given}
        return read_record(await self._connection.call("PATCH", self._place, body, agent=self.who.agent), WriteResult)

    @sent_as(AsyncConsent.proposals)
    async def proposals(self, given: dict[str, Any]) -> list[Consent]:
        state = given.get("state", "pending") or "all"
        return read_record(await self.read("/v1/consents", state=state, limit=given.get("limit")), list[Consent])

    @sent_as(AsyncConsent.decide)
    async def decide(self, given: dict[str, Any]) -> Consent:
        path = f"/v1/consents/{path_part(given.pop('consent_id'))}/decision"
        return read_record(await self.send("POST", path, given), Consent)

    @sent_as(AsyncConsent.acknowledge)
    async def acknowledge(self, given: dict[str, Any]) -> list[Consent]:
        return read_record(await self.send("POST", "/v1/consents/acknowledge", given), list[Consent])


class RemoteUsage(RemoteHandle, AsyncUsage):
    """Feedback on memories in prompts, over HTTP."""

    def __init__(self) -> None: ...

    @sent_as(AsyncUsage.feedback)
    async def feedback(self, given: dict[str, Any]) -> None:
        use = {"memory_id": given["memory_id"], "verdict": given["verdict"]}
        body = {**self.whole_identity, "rev": given["rev"], "uses": [use]}
        await self._connection.call("POST", "/v1/uses", body)

    @sent_as(AsyncUsage.uses)
    async def uses(self, given: dict[str, Any]) -> list[MemoryUse]:
        return read_record(await self.read("/v1/uses", **given), list[MemoryUse])


class RemoteThreadCheckpoints(RemoteHandle, AsyncThreadCheckpoints):
    """The checkpoints of a person's threads, over HTTP."""

    def __init__(self) -> None: ...

    @sent_as(AsyncThreadCheckpoints.outlines)
    async def outlines(self, given: dict[str, Any]) -> list[CheckpointOutline]:
        found = await self.read(f"/v1/checkpoints/{path_part(given['thread'])}")
        # The record is a tuple, which travels as an object.
        return [
            CheckpointOutline(CheckpointKey(**item["key"]), item["parent"], item["metadata"], frozenset(item["has"]))
            for item in found
        ]

    @sent_as(AsyncThreadCheckpoints.copy_thread)
    async def copy_thread(self, given: dict[str, Any]) -> None:
        path = f"/v1/checkpoints/{path_part(given['target'])}"
        await self.send("PUT", path, {"copy_of": given["source"]})

    @sent_as(AsyncThreadCheckpoints.delete_thread)
    async def delete_thread(self, given: dict[str, Any]) -> None:
        await self.send("DELETE", f"/v1/checkpoints/{path_part(given['thread'])}")
