"""The verbs over HTTP: a warden whose store is behind a server (extra ``client``).

Each verb has the signature of the verb that it stands for (:class:`memwarden.api.scope.AsyncScope`), sends what was
given, and makes the same records of the answer. What works on a store of this machine alone says so.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, Self, TypeVar
from urllib.parse import quote

import msgspec

from memwarden import errors
from memwarden.agent.state import AsyncState, StateKey
from memwarden.agent.stored_sessions import AsyncSessions
from memwarden.api.handles import AsyncConsent, AsyncJournal, AsyncReview, AsyncThreadCheckpoints
from memwarden.api.scope import AsyncScope
from memwarden.errors import InvalidConfig, InvalidInput, MemwardenError, NotFound, StoreUnavailable
from memwarden.observability.records import OpCount, OpEvent
from memwarden.recall.answer.render import CLASSIC_TEMPLATE, LEAN_TEMPLATE
from memwarden.records import (
    Audit,
    Consent,
    ContextBlock,
    Cut,
    Delta,
    HistoryEntry,
    Memory,
    Overview,
    PendingReview,
    QueryResult,
    RecallItem,
    Relation,
    Scope,
    UserContext,
    Why,
    WriteResult,
)
from memwarden.remember.ingest.messages import checked_name

if TYPE_CHECKING:
    from memwarden.runtime import Runtime
    from memwarden.stores.protocol import Store

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")
T = TypeVar("T")

# The server gives up earlier; this is for a network that lost the answer.
SECONDS = 120.0
# What a server lists at once.
PAGE = 1_000
_BY_STATUS: Mapping[int, type[MemwardenError]] = {
    401: errors.KeyRefused,
    403: errors.Denied,
    404: NotFound,
    409: errors.Conflict,
    412: errors.Conflict,
    422: InvalidInput,
    429: errors.RateLimited,
}


def sent_as(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, R]],
) -> Callable[[Callable[[Any, dict[str, Any]], Awaitable[R]]], Callable[Concatenate[A, P], Coroutine[Any, Any, R]]]:
    """Give a function that sends what was given the signature of the verb that it stands for."""
    signature = inspect.signature(method)

    def stand_for(
        send: Callable[[Any, dict[str, Any]], Awaitable[R]],
    ) -> Callable[Concatenate[A, P], Coroutine[Any, Any, R]]:
        @functools.wraps(method)
        async def verb(self: A, /, *args: P.args, **kwargs: P.kwargs) -> R:
            given = dict(signature.bind(self, *args, **kwargs).arguments)
            given.pop("self")
            return await send(self, given)

        return verb

    return stand_for


class Connection:
    """Calls of a server, with a key. Raises the errors of the product that the server answers with."""

    def __init__(self, url: str, key: str | None) -> None:
        try:
            import httpx2
        except ImportError:
            raise InvalidConfig("a server takes the extra: pip install 'memwarden[client]'") from None
        self._failures = (httpx2.TransportError, httpx2.InvalidURL)
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._client = httpx2.AsyncClient(base_url=url.rstrip("/"), headers=headers, timeout=SECONDS)
        self._url = url

    async def call(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Call the server; return what it answers as plain values, None for nothing."""
        params = {name: _as_text(value) for name, value in query.items() if value is not None}
        content = None if body is None else msgspec.json.encode(body, enc_hook=_plain)
        headers = {} if content is None else {"Content-Type": "application/json"}
        try:
            answer = await self._client.request(method, path, params=params, content=content, headers=headers)
        except self._failures as error:
            raise StoreUnavailable(
                f"the server at {self._url} cannot be reached ({type(error).__name__}); is it running there?"
            ) from error
        if answer.is_success:
            return msgspec.json.decode(answer.content) if answer.content else None
        raise _error_of(answer.status_code, answer.content)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()


class _OfThisMachine:
    """Stands for the runtime that a remote scope has not: every use says so."""

    def __getattr__(self, name: str) -> NoReturn:
        _refuse("this")


def _refuse(what: str) -> NoReturn:
    raise InvalidInput(
        f"{what} works on a store of this machine; over HTTP use the verbs that docs/howto/serve-over-http.md lists"
    )


class RemoteHandle:
    """What the remote handles share: the connection and who calls."""

    _connection: Connection
    who: Scope

    def join(self, connection: Connection, who: Scope) -> Self:
        """Use a connection for somebody."""
        self._connection = connection
        self.who = who
        self._parts: Runtime = _OfThisMachine()  # type: ignore[assignment]  # so that what is local alone says so
        return self

    @property
    def identity(self) -> dict[str, Any]:
        """Who calls, as a query says it."""
        return {"user_id": self.who.user, "agent": self.who.agent, "thread_id": self.who.thread}

    @property
    def whole_identity(self) -> dict[str, Any]:
        """Who calls, as a body says it."""
        return {**self.identity, "run_id": self.who.run, "actor_id": self.who.actor}

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
        return [PendingReview(_record(item["memory"], Memory), item["why"]) for item in found]

    @sent_as(AsyncReview.approve)
    async def approve(self, given: dict[str, Any]) -> WriteResult:
        body = {"approve": True, "vouch": given.get("vouch", False)}
        return _record(await self.send("POST", f"/v1/review/{_part(given['memory_id'])}/decision", body), WriteResult)

    @sent_as(AsyncReview.reject)
    async def reject(self, given: dict[str, Any]) -> WriteResult:
        path = f"/v1/review/{_part(given['memory_id'])}/decision"
        return _record(await self.send("POST", path, {"approve": False}), WriteResult)


class RemoteJournal(RemoteHandle, AsyncJournal):
    """History, undo, changes and events, over HTTP."""

    def __init__(self) -> None: ...

    @sent_as(AsyncJournal.history)
    async def history(self, given: dict[str, Any]) -> list[HistoryEntry]:
        memory_id = given.pop("memory_id", None)
        path = "/v1/journal" if memory_id is None else f"/v1/memories/{_part(memory_id)}/history"
        return _record(await self.read(path, **given), list[HistoryEntry])

    @sent_as(AsyncJournal.undo)
    async def undo(self, given: dict[str, Any]) -> WriteResult:
        return _record(await self.send("POST", f"/v1/journal/{_part(given['change'])}/undo"), WriteResult)

    @sent_as(AsyncJournal.forgotten)
    async def forgotten(self, given: dict[str, Any]) -> list[Memory]:
        return _record(await self.read("/v1/trash", **given), list[Memory])

    @sent_as(AsyncJournal.delta)
    async def delta(self, given: dict[str, Any]) -> Delta:
        path = f"/v1/threads/{_part(self.who.thread or 'default')}/delta"
        query = {"user_id": self.who.user, "agent": self.who.agent, **given}
        return _record(await self._connection.call("GET", path, **query), Delta)

    @sent_as(AsyncJournal.events)
    async def events(self, given: dict[str, Any]) -> list[OpEvent]:
        return _record(await self.read("/v1/events", **given), list[OpEvent])

    @sent_as(AsyncJournal.event_counts)
    async def event_counts(self, given: dict[str, Any]) -> list[OpCount]:
        return _record(await self.read("/v1/events/counts", **given), list[OpCount])


class RemoteConsent(RemoteHandle, AsyncConsent):
    """The user context, proposals and decisions, over HTTP."""

    def __init__(self) -> None: ...

    @property
    def _place(self) -> str:
        return f"/v1/users/{_part(self.who.user)}/context"

    @sent_as(AsyncConsent.user_context)
    async def user_context(self, given: dict[str, Any]) -> UserContext:
        return _record(await self._connection.call("GET", self._place, agent=self.who.agent), UserContext)

    @sent_as(AsyncConsent.propose)
    async def propose(self, given: dict[str, Any]) -> WriteResult:
        body = {**given.pop("patch"), **given}
        return _record(await self._connection.call("PATCH", self._place, body, agent=self.who.agent), WriteResult)

    @sent_as(AsyncConsent.proposals)
    async def proposals(self, given: dict[str, Any]) -> list[Consent]:
        state = given.get("state", "pending") or "all"
        return _record(await self.read("/v1/consents", state=state, limit=given.get("limit")), list[Consent])

    @sent_as(AsyncConsent.decide)
    async def decide(self, given: dict[str, Any]) -> Consent:
        path, body = f"/v1/consents/{_part(given['consent_id'])}/decision", {"approve": given["approve"]}
        return _record(await self.send("POST", path, body), Consent)


class RemoteState(RemoteHandle, AsyncState):
    """Values saved by key, over HTTP."""

    def __init__(self) -> None: ...

    @sent_as(AsyncState.save)
    async def save(self, given: dict[str, Any]) -> StateKey:
        key, expires_in = given.pop("key"), given.get("expires_in")
        if isinstance(expires_in, timedelta):
            given["expires_in"] = expires_in.total_seconds()
        return _record(await self.send("PUT", f"/v1/state/{_part(key)}", given), StateKey)

    @sent_as(AsyncState.load)
    async def load(self, given: dict[str, Any]) -> Any:
        return (await self.read(f"/v1/state/{_part(given['key'])}"))["value"]

    @sent_as(AsyncState.list_keys)
    async def list_keys(self, given: dict[str, Any]) -> list[StateKey]:
        return _record((await self.read("/v1/state", **given))["keys"], list[StateKey])

    @sent_as(AsyncState.search)
    async def search(self, given: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = (await self.read("/v1/state", **given, include_values=True))["results"]
        return found

    @sent_as(AsyncState.clear)
    async def clear(self, given: dict[str, Any]) -> list[str]:
        names = [item["key"] for item in (await self.read("/v1/state", pattern=given.get("pattern", "*")))["keys"]]
        for name in names if not given.get("dry_run", False) else []:
            await self.send("DELETE", f"/v1/state/{_part(name)}")
        return names


class RemoteSessions(RemoteHandle, AsyncSessions):
    """Stored sessions, over HTTP."""

    def __init__(self) -> None: ...

    @sent_as(AsyncSessions.initialize_session_memory)
    async def initialize_session_memory(self, given: dict[str, Any]) -> None:
        await self.send("POST", "/v1/sessions", given)

    @sent_as(AsyncSessions.prepare_messages_for_agent)
    async def prepare_messages_for_agent(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        path = f"/v1/sessions/{_part(given.pop('session_id'))}/messages"
        found: list[dict[str, Any]] = (await self.send("POST", path, given))["messages"]
        return found

    @sent_as(AsyncSessions.finalize_current_cycle)
    async def finalize_current_cycle(self, given: dict[str, Any]) -> None:
        given.pop("channel_logger", None)
        await self.send("POST", f"/v1/sessions/{_part(given.pop('session_id'))}/exchanges", given)

    @sent_as(AsyncSessions.add_tool_to_cache)
    async def add_tool_to_cache(self, given: dict[str, Any]) -> None:
        given.pop("channel_logger", None)
        await self.send("POST", "/v1/tool-cache/store", given)

    @sent_as(AsyncSessions.lookup_tool_in_cache)
    async def lookup_tool_in_cache(self, given: dict[str, Any]) -> dict[str, Any] | None:
        found: dict[str, Any] | None = (await self.send("POST", "/v1/tool-cache/lookup", given))["entry"]
        return found

    @sent_as(AsyncSessions.load)
    async def load(self, given: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = await self.read(f"/v1/sessions/{_part(given['session_id'])}")
        return found

    @sent_as(AsyncSessions.list_ids)
    async def list_ids(self, given: dict[str, Any]) -> list[str]:
        found: list[str] = (await self.read("/v1/sessions"))["items"]
        return found

    @sent_as(AsyncSessions.clear)
    async def clear(self, given: dict[str, Any]) -> bool:
        try:
            await self.send("DELETE", f"/v1/sessions/{_part(given['session_id'])}")
        except NotFound:
            return False
        return True


class RemoteScope(RemoteHandle, AsyncScope):
    """The verbs of a caller, over HTTP."""

    def __init__(self, connection: Connection, who: Scope) -> None:
        self.join(connection, who)

    @sent_as(AsyncScope.observe)
    async def observe(self, given: dict[str, Any]) -> WriteResult:
        messages = given.pop("messages")
        listed = messages if isinstance(messages, str | Mapping) else list(messages)
        body = {**self.whole_identity, "messages": listed, **given}
        return _record(await self._connection.call("POST", "/v1/memory/observe", body), WriteResult)

    @sent_as(AsyncScope.remember)
    async def remember(self, given: dict[str, Any]) -> WriteResult:
        stated = given.pop("text_or_messages")
        name = "text" if isinstance(stated, str) else "texts"
        body = {**self.whole_identity, name: stated, **given}
        return _record(await self._connection.call("POST", "/v1/memories", body), WriteResult)

    @sent_as(AsyncScope.extract)
    async def extract(self, given: dict[str, Any]) -> WriteResult:
        body = {**self.whole_identity, **given}
        return _record(await self._connection.call("POST", "/v1/memory/extract", body), WriteResult)

    @sent_as(AsyncScope.extract_pending)
    async def extract_pending(self, given: dict[str, Any]) -> WriteResult:
        path = f"/v1/threads/{_part(self.who.thread or 'default')}/extract"
        query = {"user_id": self.who.user, "agent": self.who.agent, **given}
        return _record(await self._connection.call("POST", path, **query), WriteResult)

    @sent_as(AsyncScope.query)
    async def query(self, given: dict[str, Any]) -> QueryResult:
        body = {**self.whole_identity, **given}
        return _read_query(await self._connection.call("POST", "/v1/memory/query", body))

    @sent_as(AsyncScope.context)
    async def context(self, given: dict[str, Any]) -> ContextBlock:
        template = given.get("template", LEAN_TEMPLATE)
        if template not in (LEAN_TEMPLATE, CLASSIC_TEMPLATE):
            raise InvalidInput("over HTTP a block has LEAN_TEMPLATE or CLASSIC_TEMPLATE")
        given["template"] = "classic" if template == CLASSIC_TEMPLATE else "lean"
        body = {**self.whole_identity, **given}
        return _read_block(await self._connection.call("POST", "/v1/memory/context", body))

    @sent_as(AsyncScope.get)
    async def get(self, given: dict[str, Any]) -> Memory:
        return _record(await self.read(f"/v1/memories/{_part(given['memory_id'])}"), Memory)

    @sent_as(AsyncScope.find)
    async def find(self, given: dict[str, Any]) -> list[Memory]:
        limit, filters = given.pop("limit", 100), given.pop("filters", None)
        if limit > PAGE and (given.get("order_by") not in (None, "created_at") or given.get("descending") is False):
            raise InvalidInput(f"over HTTP at most {PAGE} memories come in another order than the newest first")
        where = None if filters is None else msgspec.json.encode(filters, enc_hook=_plain).decode()
        found: list[Memory] = []
        cursor = None
        while True:
            most = min(PAGE, limit - len(found))
            page = await self.read("/v1/memories", **given, limit=most, filters=where, cursor=cursor)
            found += _record(page["items"], list[Memory])
            cursor = page["cursor"]
            if cursor is None or len(found) >= limit:
                return found

    @sent_as(AsyncScope.relations)
    async def relations(self, given: dict[str, Any]) -> list[Relation]:
        return _record(await self.read(f"/v1/memories/{_part(given['memory_id'])}/relations"), list[Relation])

    @sent_as(AsyncScope.overview)
    async def overview(self, given: dict[str, Any]) -> Overview:
        path = f"/v1/users/{_part(self.who.user)}/overview"
        return _record(await self._connection.call("GET", path, agent=self.who.agent, **given), Overview)

    @sent_as(AsyncScope.audit)
    async def audit(self, given: dict[str, Any]) -> Audit:
        given.pop("progress", None)
        return _record(await self.read("/v1/audit", **given), Audit)

    @sent_as(AsyncScope.forget)
    async def forget(self, given: dict[str, Any]) -> WriteResult:
        wanted = given["memory_id"]
        if not isinstance(wanted, str):
            _refuse("forgetting several memories at once")
        return _record(await self.send("DELETE", f"/v1/memories/{_part(wanted)}"), WriteResult)

    @sent_as(AsyncScope.restore)
    async def restore(self, given: dict[str, Any]) -> WriteResult:
        return _record(await self.send("POST", f"/v1/memories/{_part(given['memory_id'])}/restore"), WriteResult)

    @sent_as(AsyncScope.update)
    async def update(self, given: dict[str, Any]) -> WriteResult:
        path = f"/v1/memories/{_part(given.pop('memory_id'))}"
        expected = given.pop("expected_version", None)
        changes = {name: value for name, value in given.items() if value is not None}
        return _record(await self.send("PATCH", path, changes, expected_version=expected), WriteResult)

    @sent_as(AsyncScope.promote)
    async def promote(self, given: dict[str, Any]) -> str:
        path = f"/v1/memories/{_part(given['memory_id'])}/promote"
        return str((await self.send("POST", path, {"to": given["to"]}))["id"])

    @property
    def review(self) -> AsyncReview:
        return RemoteReview().join(self._connection, self.who)

    @property
    def journal(self) -> AsyncJournal:
        return RemoteJournal().join(self._connection, self.who)

    @property
    def consent(self) -> AsyncConsent:
        return RemoteConsent().join(self._connection, self.who)

    @property
    def state(self) -> AsyncState:
        return RemoteState().join(self._connection, self.who)

    @property
    def sessions(self) -> AsyncSessions:
        return RemoteSessions().join(self._connection, self.who)

    @property
    def checkpoints(self) -> AsyncThreadCheckpoints:
        _refuse("looking at checkpoints")

    def turn(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("turn")

    def chat(self, *_: Any, **__: Any) -> NoReturn:
        _refuse("chat")


class RemoteWarden:
    """A warden whose store is behind a server. Made by :meth:`memwarden.AsyncWarden.open` with its URL.

    It stands for an AsyncWarden without being made of it: what it has not, it refuses.
    """

    def __init__(self, url: str, key: str | None) -> None:
        self._connection = Connection(url, key)

    async def start(self) -> Self:
        """Ask the server whether it lives. Raises StoreUnavailable."""
        try:
            await self._connection.call("GET", "/healthz")
        except BaseException:
            await self._connection.close()
            raise
        return self

    async def close(self) -> None:
        """Let go of the connections. May be called twice."""
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
        _refuse(name)

    def scope(
        self,
        *,
        user: str = "default",
        agent: str | None = None,
        thread: str | None = None,
        run: str | None = None,
        actor: str | None = None,
        tenant: str = "default",
    ) -> AsyncScope:
        """Return the verbs bound to somebody, as far as the key allows. The key decides about the tenant."""
        if tenant != "default":
            raise InvalidInput("over HTTP the key decides about the tenant; leave it out")
        names = {"user": user, "agent": agent, "thread": thread, "run": run, "actor": actor}
        checked = {name: checked_name(value, name) for name, value in names.items()}
        return RemoteScope(self._connection, Scope(**checked))  # type: ignore[arg-type]  # user is no None

    async def users(self, *, tenant: str = "default") -> list[str]:
        """Return the users whom the key may read, by name."""
        found: list[str] = (await self._connection.call("GET", "/v1/users"))["items"]
        return found

    @property
    def settings(self) -> Any:
        _refuse("reading settings")

    @property
    def store(self) -> Store:
        _refuse("reading the store itself")


def _record(value: Any, kind: type[T]) -> T:
    """Return a record of plain values. Raises StoreUnavailable for an answer of another form."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, TypeError, KeyError) as error:
        raise StoreUnavailable(
            f"the server answers in another form than this memwarden reads ({error}); use the same release"
        ) from error


def _read_item(value: dict[str, Any]) -> RecallItem:
    why, memory = _record(value["why"], Why), _record(value["memory"], Memory)
    plain = {name: value[name] for name in ("id", "text", "category", "channel", "kind", "score")}
    created_at = _record(value["created_at"], datetime)
    return RecallItem(
        **plain, sources=tuple(value["sources"]), created_at=created_at, explain=lambda: why, memory=memory
    )


def _read_query(value: dict[str, Any]) -> QueryResult:
    own = {name: tuple(map(_read_item, value.pop(name))) for name in ("items", "related")}
    own |= _read_shared(value)
    names = ("categories", "confidences")
    lists = {name: None if value[name] is None else tuple(value[name]) for name in names}
    return QueryResult(**{**value, **own, **lists})


def _read_block(value: dict[str, Any]) -> ContextBlock:
    own: dict[str, Any] = {"items": tuple(map(_read_item, value.pop("items")))}
    own |= _read_shared(value)
    own |= {name: _record(value.pop(name), tuple[Memory, ...]) for name in ("updated", "overview_of")}
    return ContextBlock(**{**value, **own})


def _read_shared(value: dict[str, Any]) -> dict[str, Any]:
    return {"cut": _record(value.pop("cut"), tuple[Cut, ...]), "delta": _record(value.pop("delta"), Delta | None)}  # type: ignore[arg-type]


def _error_of(status: int, content: bytes) -> MemwardenError:
    """Return the error that a problem document names."""
    try:
        problem = msgspec.json.decode(content)
        name, detail = str(problem["error"]), str(problem["detail"])
    except (msgspec.DecodeError, TypeError, KeyError):
        name, detail = "", f"the server answered {status} and no problem document; is it a memwarden server?"
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, MemwardenError) and kind is not errors.NotKept:
        return kind(detail)
    return _BY_STATUS.get(status, StoreUnavailable)(detail)


def _part(value: Any) -> str:
    """Return a text as a part of a path."""
    return quote(str(value), safe="")


def _as_text(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise InvalidInput(f"{type(value).__name__} is no JSON; keep to texts, numbers, true, false, null, lists, objects")
