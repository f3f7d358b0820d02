"""The handles of a scope over HTTP: review, journal, consent, usage, checkpoints, state and sessions."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn, Self

from memwarden.agent.plain_sessions import ProactiveTools
from memwarden.agent.session_rules import DEFAULT_WINDOW_TOKENS, MEMORY, check_window
from memwarden.agent.state import AsyncState, StateKey
from memwarden.agent.stored_sessions import AsyncSessions
from memwarden.api.checkpoints import AsyncThreadCheckpoints
from memwarden.api.consent import AsyncConsent
from memwarden.api.journal import AsyncJournal
from memwarden.api.remote.connection import PAGE, Connection, check_tenant, path_part, read_record, refuse, sent_as
from memwarden.api.review import AsyncReview
from memwarden.api.usage import AsyncUsage
from memwarden.errors import InvalidInput, NotFound
from memwarden.observability.records import MemoryUse, OpCount, OpEvent
from memwarden.records import Consent, Delta, HistoryEntry, Memory, PendingReview, Scope, UserContext, WriteResult
from memwarden.runtime.services import Runtime
from memwarden.stores.shared.checkpoints import CheckpointKey, CheckpointOutline
from memwarden.upkeep.jobs import AsyncJobs
from memwarden.upkeep.records import JobRun, JobStatus

if TYPE_CHECKING:
    from memwarden.upkeep.reembedding import Reembedding


class RemoteHandle:
    """What the remote handles share: the connection and who calls."""

    _connection: Connection
    who: Scope

    def join(self, connection: Connection, who: Scope, runtime: Runtime) -> Self:
        """Use a connection for a caller, with the state on this side of the server."""
        self._connection = connection
        self.who = who
        self._runtime = runtime
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
        asked = {"state": state, "limit": given.get("limit"), "fill": given.get("fill")}
        return read_record(await self.read("/v1/consents", **asked), list[Consent])

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


class RemoteState(RemoteHandle, AsyncState):
    """Values saved by key, over HTTP."""

    def __init__(self) -> None: ...

    @sent_as(AsyncState.save)
    async def save(self, given: dict[str, Any]) -> StateKey:
        key, expires_in = given.pop("key"), given.get("expires_in")
        if isinstance(expires_in, timedelta):
            given["expires_in"] = expires_in.total_seconds()
        return read_record(await self.send("PUT", f"/v1/state/{path_part(key)}", given), StateKey)

    @sent_as(AsyncState.load)
    async def load(self, given: dict[str, Any]) -> Any:
        return (await self.read(f"/v1/state/{path_part(given['key'])}"))["value"]

    @sent_as(AsyncState.list_keys)
    async def list_keys(self, given: dict[str, Any]) -> list[StateKey]:
        return read_record((await self.read("/v1/state", **given))["keys"], list[StateKey])

    @sent_as(AsyncState.search)
    async def search(self, given: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = (await self.read("/v1/state", **given, include_values=True))["results"]
        return found

    @sent_as(AsyncState.clear)
    async def clear(self, given: dict[str, Any]) -> list[str]:
        names = [item["key"] for item in (await self.read("/v1/state", pattern=given.get("pattern", "*")))["keys"]]
        for name in names if not given.get("dry_run", False) else []:
            await self.send("DELETE", f"/v1/state/{path_part(name)}")
        return names

    @sent_as(AsyncState.load_for_model)
    async def load_for_model(self, given: dict[str, Any]) -> dict[str, Any]:
        given["keys"] = list(given["keys"])
        found: dict[str, Any] = await self.send("POST", "/v1/state/values", given)
        return found

    @sent_as(AsyncState.find_for_goal)
    async def find_for_goal(self, given: dict[str, Any]) -> list[StateKey]:
        return read_record(await self.send("POST", "/v1/state/relevant", given), list[StateKey])

    @sent_as(AsyncState.save_from_tool)
    async def save_from_tool(self, given: dict[str, Any]) -> StateKey:
        path = f"/v1/state/{path_part(given.pop('key'))}"
        return read_record(await self.send("PUT", path, given), StateKey)


class RemoteSessions(RemoteHandle, AsyncSessions):
    """Stored sessions, over HTTP."""

    def __init__(self, *, tools: ProactiveTools | None = None, window_tokens: int | None = None) -> None:
        self._proactive = tools
        self._window_tokens = window_tokens

    def with_options(
        self,
        *,
        get_proactive_tool_messages: ProactiveTools | None = None,
        window_tokens: int = DEFAULT_WINDOW_TOKENS,
    ) -> AsyncSessions:
        checked = RemoteSessions(tools=get_proactive_tool_messages, window_tokens=check_window(window_tokens))
        return checked.join(self._connection, self.who, self._runtime)

    @sent_as(AsyncSessions.initialize_session_memory)
    async def initialize_session_memory(self, given: dict[str, Any]) -> None:
        await self.send("POST", "/v1/sessions", given)

    @sent_as(AsyncSessions.prepare_messages_for_agent)
    async def prepare_messages_for_agent(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        path = f"/v1/sessions/{path_part(given.pop('session_id'))}/messages"
        if self._window_tokens is not None:
            given["window_tokens"] = self._window_tokens
        found: list[dict[str, Any]] = (await self.send("POST", path, given))["messages"]
        return found

    @sent_as(AsyncSessions.finalize_current_cycle)
    async def finalize_current_cycle(self, given: dict[str, Any]) -> None:
        given.pop("channel_logger", None)
        await self.send("POST", f"/v1/sessions/{path_part(given.pop('session_id'))}/exchanges", given)

    @sent_as(AsyncSessions.add_tool_to_cache)
    async def add_tool_to_cache(self, given: dict[str, Any]) -> None:
        given.pop("channel_logger", None)
        await self.send("POST", "/v1/tool-cache/store", given)

    @sent_as(AsyncSessions.lookup_tool_in_cache)
    async def lookup_tool_in_cache(self, given: dict[str, Any]) -> dict[str, Any] | None:
        found: dict[str, Any] | None = (await self.send("POST", "/v1/tool-cache/lookup", given))["entry"]
        return found

    @sent_as(AsyncSessions.inject_screen_context)
    async def inject_screen_context(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        session_id = given["session_id"]
        if (await self.load(session_id))[MEMORY]["screen_injection_done"]:
            return []
        if self._proactive is None:
            raise InvalidInput("there are no tools for screens; give with_options get_proactive_tool_messages")
        messages, sentence = await asyncio.to_thread(self._proactive, given["json_data"])
        body = {"screen": given["json_data"], "messages": [dict(item) for item in messages], "sentence": sentence}
        found: list[dict[str, Any]] = (await self.send("POST", f"/v1/sessions/{path_part(session_id)}/screen", body))[
            "messages"
        ]
        return found

    @sent_as(AsyncSessions.load)
    async def load(self, given: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = await self.read(f"/v1/sessions/{path_part(given['session_id'])}")
        return found

    @sent_as(AsyncSessions.list_ids)
    async def list_ids(self, given: dict[str, Any]) -> list[str]:
        found: list[str] = (await self.read("/v1/sessions"))["items"]
        return found

    @sent_as(AsyncSessions.clear)
    async def clear(self, given: dict[str, Any]) -> bool:
        try:
            await self.send("DELETE", f"/v1/sessions/{path_part(given['session_id'])}")
        except NotFound:
            return False
        return True


class RemoteJobs(AsyncJobs):
    """The jobs that keep memory clean, over HTTP. A worker runs what is due there, and re-embedding is done there."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @sent_as(AsyncJobs.run)
    async def run(self, given: dict[str, Any]) -> list[JobRun]:
        check_tenant(given.get("tenant", "default"))
        body = {"user_id": given.get("user"), "dry_run": given.get("dry_run", False)}
        path = f"/v1/jobs/{path_part(given['name'])}/run"
        return read_record(await self._connection.call("POST", path, body), list[JobRun])

    @sent_as(AsyncJobs.status)
    async def status(self, given: dict[str, Any]) -> list[JobStatus]:
        check_tenant(given.get("tenant", "default"))
        found: list[JobStatus] = []
        cursor = None
        while True:
            asked = {"user_id": given.get("user"), "limit": PAGE, "cursor": cursor}
            page = await self._connection.call("GET", "/v1/jobs", **asked)
            found += read_record(page["items"], list[JobStatus])
            cursor = page["cursor"]
            if cursor is None:
                return found

    @sent_as(AsyncJobs.run_due)
    async def run_due(self, given: dict[str, Any]) -> list[JobRun]:
        refuse("run_due")

    def due(self, *, tenant: str | None = None) -> NoReturn:
        refuse("due")

    @sent_as(AsyncJobs.run_one)
    async def run_one(self, given: dict[str, Any]) -> JobRun:
        refuse("run_one")

    @sent_as(AsyncJobs.status_of)
    async def status_of(self, given: dict[str, Any]) -> list[JobStatus]:
        refuse("status_of")

    @sent_as(AsyncJobs.reembed)
    async def reembed(self, given: dict[str, Any]) -> Reembedding:
        refuse("reembed")
