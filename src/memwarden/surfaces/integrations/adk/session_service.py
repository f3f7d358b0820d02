"""ADK's ``BaseSessionService`` on memwarden: :class:`MemwardenSessionService`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event
from google.adk.sessions import BaseSessionService, Session, State
from google.adk.sessions.base_session_service import GetSessionConfig, ListSessionsResponse
from uuid_utils import uuid7

from memwarden import clock
from memwarden.api.blocking import Warden
from memwarden.api.warden import AsyncWarden
from memwarden.checks import quote
from memwarden.errors import InvalidInput
from memwarden.records import Namespace
from memwarden.stores.shared.items import (
    DropItem,
    ItemChange,
    ItemSearch,
    PutItem,
    StoredItem,
    check_name,
    require_items,
)
from memwarden.surfaces.integrations.adk.events import make_message
from memwarden.surfaces.integrations.adk.names import bind_apps, make_scope
from memwarden.surfaces.integrations.item_paths import ALL_ITEMS, make_label, next_moment

# Paths of items. Below the path of the sessions, each has a label of its own with its events and its state.
SESSIONS: Final = "adk.sessions"
STATE: Final = "adk.state"
_PREFIXES: Final = (State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX)


class MemwardenSessionService(BaseSessionService):  # type: ignore[misc]  # ADK is not among the development packages
    """Sessions of ADK in the memory of their users, shared by processes.

    >>> runner = Runner(agent=agent, app_name="shop", session_service=MemwardenSessionService(warden))

    The app is the tenant, the user of ADK the user. Events are kept in the order in which they were appended, state by
    key, so that of two writers of the same key the last one wins. An event is durable when ``append_event`` returns.
    What events say is also observed as turns of the session's thread, once for each id of an event.

    Args:
        warden: a :class:`memwarden.Warden` or :class:`memwarden.AsyncWarden`. SQLite, PostgreSQL or memory.
        observe: whether events are observed as turns.

    Raises InvalidInput for a store without items, and in calls for names that cannot be kept.
    """

    def __init__(self, warden: Warden | AsyncWarden, *, observe: bool = True) -> None:
        self._bound = bind_apps(warden)
        self._items = require_items(self._bound.runtime.store)
        self._observe = observe

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        """Create a session. Raises AlreadyExistsError for an id that is taken, StoreError."""
        name = (session_id or "").strip() or str(uuid7())
        return await self._bound.wait(self._create(app_name, user_id, name, state or {}))

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Return a session with its state and events, None if there is none. Raises StoreError."""
        return await self._bound.wait(self._get(app_name, user_id, session_id.strip(), config))

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Return the sessions of a user without their events, the last updated one last.

        Raises InvalidInput without a user, because each user's sessions are apart, and StoreError.
        """
        if user_id is None:
            raise InvalidInput("list_sessions needs a user_id: the sessions of each user are kept apart")
        return await self._bound.wait(self._list(app_name, user_id))

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Remove a session with its events and its own state. What was observed stays remembered. Raises StoreError."""
        await self._bound.wait(self._delete(app_name, user_id, session_id.strip()))

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return the state of a user in an app, by key without the prefix. Raises StoreError."""
        return await self._bound.wait(self._read_state(self._namespace(app_name, user_id), STATE))

    async def append_event(self, session: Session, event: Event) -> Event:
        """Append an event, durably and once for each id, and apply its changes of state.

        Raises SessionNotFoundError, StoreError. Then the session that was given is as before.
        """
        if event.partial:
            return event
        stored = self._trim_temp_delta_state(event.model_copy(deep=True))
        if await self._bound.wait(self._append(session, stored)):
            event = await super().append_event(session=session, event=event)
            session.last_update_time = event.timestamp
        return event

    def _namespace(self, app: str, user: str) -> Namespace:
        return make_scope(self._bound, app, user).who.namespace

    async def _create(self, app: str, user: str, name: str, state: Mapping[str, Any]) -> Session:
        space = self._namespace(app, user)
        if await self._items.get(space, [(SESSIONS, check_name(name, "a session_id"))]):
            raise AlreadyExistsError(f"Session with id {name} already exists.")
        at = clock.now()
        record = _put(SESSIONS, name, at.timestamp(), clock.microseconds(at))
        await self._write(app, space, name, state, [record], clock.microseconds(at))
        session = await self._get(app, user, name, None)
        assert session is not None
        return session

    async def _get(self, app: str, user: str, name: str, config: GetSessionConfig | None) -> Session | None:
        space = self._namespace(app, user)
        records = await self._items.get(space, [(SESSIONS, name)])
        if not records:
            return None
        events = await self._read_events(space, name, config)
        shared = await self._read_shared_state(app, space)
        return await self._make_session(app, user, name, records[SESSIONS, name], shared, events)

    async def _list(self, app: str, user: str) -> ListSessionsResponse:
        space = self._namespace(app, user)
        names = await self._items.keys(space, SESSIONS)
        records = await self._items.get(space, [(SESSIONS, name) for name in names])
        shared = await self._read_shared_state(app, space)
        sessions = [
            await self._make_session(app, user, name, record, shared, []) for (_, name), record in records.items()
        ]
        return ListSessionsResponse(sessions=sorted(sessions, key=lambda item: (item.last_update_time, item.id)))

    async def _delete(self, app: str, user: str, name: str) -> None:
        space = self._namespace(app, user)
        hits = await self._items.search(space, ItemSearch(_path(name), ALL_ITEMS))
        changes: list[ItemChange] = [DropItem(hit.item.path, hit.item.key) for hit in hits]
        await self._items.write(space, [*changes, DropItem(SESSIONS, name)])

    async def _append(self, session: Session, event: Event) -> bool:
        """Store an event and its changes of state. Return False if it is there already."""
        app, user, name = session.app_name, session.user_id, session.id
        space, path = self._namespace(app, user), f"{_path(name)}.events"
        known = await self._items.get(space, [(SESSIONS, name), (path, event.id)])
        if (SESSIONS, name) not in known:
            raise SessionNotFoundError(f"Session {name} not found.")
        key = event.id
        if (path, key) in known:
            if _read_event(known[path, key]) == event:
                return False
            key = f"{event.id}.{uuid7()}"  # another event of the same id
        if self._observe and (message := make_message(event)):
            await make_scope(self._bound, app, user, name).observe(message)
        at = await next_moment(self._items, space, path)
        value = json.loads(event.model_dump_json(exclude_defaults=True, fallback=str))
        changes: list[ItemChange] = [_put(path, key, value, at), _put(SESSIONS, name, event.timestamp, at)]
        await self._write(app, space, name, event.actions.state_delta if event.actions else {}, changes, at)
        return True

    async def _write(
        self, app: str, space: Namespace, name: str, state: Mapping[str, Any], changes: list[ItemChange], at: int
    ) -> None:
        """Write changes of a session together with state, each key where its prefix says, without temporary keys."""
        of_app: list[ItemChange] = []
        for key, value in state.items():
            prefix = next((prefix for prefix in _PREFIXES if key.startswith(prefix)), "")
            bare = key.removeprefix(prefix)
            if prefix == State.APP_PREFIX:
                of_app.append(_put(STATE, bare, value, at))
            elif prefix == State.USER_PREFIX:
                changes.append(_put(STATE, bare, value, at))
            elif not prefix:
                changes.append(_put(f"{_path(name)}.state", bare, value, at))
        if of_app:
            await self._items.write(_app_namespace(app), of_app)
        await self._items.write(space, changes)

    async def _read_events(self, space: Namespace, name: str, config: GetSessionConfig | None) -> list[Event]:
        most = ALL_ITEMS if config is None or config.num_recent_events is None else config.num_recent_events
        if most == 0:
            return []
        hits = await self._items.search(space, ItemSearch(f"{_path(name)}.events", most))
        events = [_read_event(hit.item) for hit in reversed(hits)]
        if config is None or config.after_timestamp is None:
            return events
        earlier = [place for place, event in enumerate(events) if event.timestamp < config.after_timestamp]
        return events[max(earlier, default=-1) + 1 :]

    async def _read_state(self, space: Namespace, path: str) -> dict[str, Any]:
        hits = await self._items.search(space, ItemSearch(path, ALL_ITEMS))
        return {hit.item.key: json.loads(hit.item.value)["value"] for hit in hits}

    async def _read_shared_state(self, app: str, space: Namespace) -> dict[str, Any]:
        of_app, of_user = await self._read_state(_app_namespace(app), STATE), await self._read_state(space, STATE)
        return {f"{State.APP_PREFIX}{key}": value for key, value in of_app.items()} | {
            f"{State.USER_PREFIX}{key}": value for key, value in of_user.items()
        }

    async def _make_session(
        self, app: str, user: str, name: str, record: StoredItem, shared: Mapping[str, Any], events: list[Event]
    ) -> Session:
        own = await self._read_state(self._namespace(app, user), f"{_path(name)}.state")
        updated = json.loads(record.value)["value"]
        return Session(
            app_name=app, user_id=user, id=name, state={**own, **shared}, events=events, last_update_time=updated
        )


def _app_namespace(app: str) -> Namespace:
    return Namespace(app, "global")


def _path(name: str) -> str:
    return check_name(f"{SESSIONS}.{make_label(name)}", "a session_id")


def _put(path: str, key: str, value: Any, at: int) -> PutItem:
    try:
        text = json.dumps({"value": value}, default=str)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the state {quote(key)} cannot be kept: {error}") from None
    return PutItem(StoredItem(path, check_name(key, "a key of a state"), text, at, at))


def _read_event(item: StoredItem) -> Event:
    return Event.model_validate(json.loads(item.value)["value"])
