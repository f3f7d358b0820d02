"""Strands' session manager on a user's namespace: :class:`MemwardenSessionManager`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final
from uuid import uuid4

from strands.session import RepositorySessionManager, SessionRepository
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage

from memwarden import clock
from memwarden.api.blocking import BoundScope, Warden
from memwarden.api.scope import AsyncScope
from memwarden.checks import quote
from memwarden.errors import InvalidInput
from memwarden.remember.ingest.messages import checked_name
from memwarden.stores.shared.items import DropItem, ItemSearch, PutItem, StoredItem, check_name, require_items
from memwarden.surfaces.integrations.binding import StoreBinding
from memwarden.surfaces.integrations.item_paths import ALL_ITEMS, make_label

# First label of the paths of all sessions. The session's label follows, then that of the agent.
PATH: Final = "strands"
SESSION, AGENT = "session", "agent"
# Labels of the states of multi-agents. No agent has an item under the second, whatever its name.
MULTI: Final = ("multi", "states")
# Field of a session's record that tells it from earlier sessions of the same name.
_UUID: Final = "memwarden_uuid"
# Digits of a message's key, so that keys sort as numbers do.
_DIGITS: Final = 12


class MemwardenSessionManager(RepositorySessionManager, SessionRepository):  # type: ignore[misc]  # no development package
    """A session of Strands Agents in a user's memory, shared by processes.

    >>> agent = Agent(agent_id="helper", session_manager=MemwardenSessionManager("monday", warden.scope(user="ana")))

    Messages, the state of agents and of multi-agents are kept as Strands gives them. What user and assistant say is
    also observed as turns of the thread ``session_id``. A message that a guardrail redacts is forgotten again.

    Args:
        session_id: name of the session, apart for each user.
        warden: a scope of a :class:`memwarden.Warden`, or the warden, which stands for its default user. Strands calls
            it from its own threads, so an AsyncWarden cannot serve. SQLite, PostgreSQL or memory.
        observe: whether messages are observed.

    Raises InvalidInput for a name that cannot be kept and for a store without items, SessionException as Strands' own
    managers do, StoreError.
    """

    def __init__(self, session_id: str, warden: Warden | BoundScope, *, observe: bool = True) -> None:
        if not isinstance(warden, Warden | BoundScope):
            raise InvalidInput(f"warden is a Warden or a scope of one here, not {quote(warden)}")
        self._bound = StoreBinding(warden)
        self._items = require_items(self._bound.runtime.store)
        self._observe = observe
        super().__init__(session_id=session_id, session_repository=self)

    def create_session(self, session: Session, **_: Any) -> Session:
        """Create a session. Raises SessionException if it exists."""
        if self._read(_path(session.session_id), SESSION) is not None:
            raise SessionException(f"Session {session.session_id} already exists")
        self._write(_path(session.session_id), SESSION, {**session.to_dict(), _UUID: uuid4().hex})
        return session

    def read_session(self, session_id: str, **_: Any) -> Session | None:
        """Return a session, None if there is none."""
        value = self._read(_path(session_id), SESSION)
        return None if value is None else Session.from_dict(value)

    def delete_session(self, session_id: str, **_: Any) -> None:
        """Remove a session with its agents and messages. What was observed stays remembered."""
        space = self._bound.who.namespace
        hits = self._bound.run(self._items.search(space, ItemSearch(_path(session_id), ALL_ITEMS)))
        if not hits:
            raise SessionException(f"Session {session_id} does not exist")
        self._bound.run(self._items.write(space, [DropItem(hit.item.path, hit.item.key) for hit in hits]))

    def create_agent(self, session_id: str, session_agent: SessionAgent, **_: Any) -> None:
        """Create an agent in a session."""
        self._write(_path(session_id, session_agent.agent_id), AGENT, session_agent.to_dict())

    def read_agent(self, session_id: str, agent_id: str, **_: Any) -> SessionAgent | None:
        """Return an agent, None if there is none."""
        value = self._read(_path(session_id, agent_id), AGENT)
        return None if value is None else SessionAgent.from_dict(value)

    def update_agent(self, session_id: str, session_agent: SessionAgent, **_: Any) -> None:
        """Change an agent. Raises SessionException if there is none."""
        previous = self.read_agent(session_id, session_agent.agent_id)
        if previous is None:
            raise SessionException(f"Agent {session_agent.agent_id} in session {session_id} does not exist")
        session_agent.created_at = previous.created_at
        self.create_agent(session_id, session_agent)

    def create_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **_: Any) -> None:
        """Keep a message, durably on return. Raises SessionException for a number that another message has."""
        message_id, path = session_message.message_id, _path(session_id, agent_id, "messages")
        value = session_message.to_dict()
        taken = self._read(path, _key(message_id))
        if taken is not None and taken != json.loads(_encode(value)):
            raise SessionException(f"Message {message_id} of agent {agent_id} in session {session_id} already exists")
        text = _read_text(session_message)
        if self._observe and text:
            turn_id = self._turn_id(session_id, agent_id, message_id)
            message = {"role": session_message.message["role"], "content": text, "id": turn_id}
            # First, because a repeated call finds the same turn again.
            self._bound.run(self._scope(session_id).observe(message))
        self._write(path, _key(message_id), value)

    def read_message(self, session_id: str, agent_id: str, message_id: int, **_: Any) -> SessionMessage | None:
        """Return a message, None if there is none."""
        value = self._read(_path(session_id, agent_id, "messages"), _key(message_id))
        return None if value is None else SessionMessage.from_dict(value)

    def update_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **_: Any) -> None:
        """Change a message. Raises SessionException if there is none."""
        message_id = session_message.message_id
        previous = self.read_message(session_id, agent_id, message_id)
        if previous is None:
            raise SessionException(f"Message {message_id} does not exist")
        session_message.created_at = previous.created_at
        if session_message.redact_message is not None:
            self._bound.run(_forget(self._scope(session_id), self._turn_id(session_id, agent_id, message_id)))
        self._write(_path(session_id, agent_id, "messages"), _key(message_id), session_message.to_dict())

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **_: Any
    ) -> list[SessionMessage]:
        """Return messages of an agent, oldest first. Raises SessionException if there is no such agent."""
        space, path = self._bound.who.namespace, _path(session_id, agent_id, "messages")
        if self._read(_path(session_id, agent_id), AGENT) is None:
            raise SessionException(f"Messages directory missing from agent: {agent_id} in session {session_id}")
        keys = self._bound.run(self._items.keys(space, path))
        wanted = keys[offset:] if limit is None else keys[offset : offset + limit]
        found = self._bound.run(self._items.get(space, [(path, key) for key in wanted]))
        return [SessionMessage.from_dict(json.loads(found[path, key].value)) for key in wanted if (path, key) in found]

    def create_multi_agent(self, session_id: str, multi_agent: Any, **_: Any) -> None:
        """Keep the state of a multi-agent."""
        self._write(_path(session_id, *MULTI), multi_agent.id, multi_agent.serialize_state())

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **_: Any) -> dict[str, Any] | None:
        """Return the state of a multi-agent, None if there is none."""
        return self._read(_path(session_id, *MULTI), multi_agent_id)

    def update_multi_agent(self, session_id: str, multi_agent: Any, **_: Any) -> None:
        """Change the state of a multi-agent. Raises SessionException if there is none."""
        if self.read_multi_agent(session_id, multi_agent.id) is None:
            raise SessionException(f"MultiAgent state {multi_agent.id} in session {session_id} does not exist")
        self.create_multi_agent(session_id, multi_agent)

    def _scope(self, session_id: str) -> AsyncScope:
        thread = checked_name(session_id, "session_id")
        return AsyncScope(self._bound.runtime, replace(self._bound.who, thread=thread))

    def _turn_id(self, session_id: str, agent_id: str, message_id: int) -> str:
        """Return the id of a message's turn. Numbers begin anew when the name of a session is used again."""
        session = self._read(_path(session_id), SESSION)
        if session is None:
            raise SessionException(f"Session {session_id} does not exist")
        place = f"{agent_id}:{message_id}"
        return f"{session[_UUID]}:{place}" if _UUID in session else place

    def _read(self, path: str, key: str) -> dict[str, Any] | None:
        found = self._bound.run(self._items.get(self._bound.who.namespace, [(path, key)]))
        if (path, key) not in found:
            return None
        value: dict[str, Any] = json.loads(found[path, key].value)
        return value

    def _write(self, path: str, key: str, value: Any) -> None:
        text = _encode(value)
        at = clock.microseconds(clock.now())
        put = PutItem(StoredItem(path, check_name(key, "a name of a session"), text, at, at))
        self._bound.run(self._items.write(self._bound.who.namespace, [put]))


async def _forget(scope: AsyncScope, turn_id: str) -> None:
    for turn in await scope.find({"channel": "turn", "thread_id": scope.who.thread}, limit=ALL_ITEMS):
        if turn.sources == (turn_id,):
            await scope.forget(turn.id)


def _path(*names: str) -> str:
    return check_name(".".join((PATH, *map(make_label, names))), "the name of a session")


def _encode(value: Any) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"what Strands keeps is JSON, not {quote(value)}: {error}") from None


def _key(message_id: Any) -> str:
    if not isinstance(message_id, int):
        raise ValueError(f"message_id=<{message_id}> | message id must be an integer")
    return f"{message_id:0{_DIGITS}}"


def _read_text(session_message: SessionMessage) -> str:
    """Return the words of a message; empty for calls of tools and their results."""
    parts = session_message.message["content"]
    return "\n".join(part["text"] for part in parts if part.get("text", "").strip())
