"""LlamaIndex's ``BaseMemoryBlock`` on memwarden: :class:`MemwardenMemoryBlock`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from pydantic import PrivateAttr

from memwarden.api.scope import AsyncScope
from memwarden.clock import DEFAULT_THREAD
from memwarden.conversation.settings import ChatSettings
from memwarden.conversation.turn import check_chat_settings
from memwarden.records import MAX_PARTS, join_parts
from memwarden.remember.ingest.messages import read_messages
from memwarden.remember.ingest.redaction import redact_secrets
from memwarden.surfaces.integrations.binding import AnyWarden, StoreBinding

_ALL: Final = 2**31
_SPOKEN: Final = ("user", "assistant")
# Where LlamaIndex names the session of messages that it hands over.
_SESSION: Final = "session_id"


class MemwardenMemoryBlock(BaseMemoryBlock[str]):  # type: ignore[misc]  # LlamaIndex is not a development package
    """The memory of a user as a block of LlamaIndex's ``Memory``, for every session of the user.

    >>> block = MemwardenMemoryBlock(warden.scope(user="ana"))
    >>> memory = Memory.from_defaults(session_id="monday", memory_blocks=[block])
    >>> await agent.run("I am allergic to peanuts.", memory=memory)

    Each time the memory is read, what users and assistant say in it is stored as turns, once, and the block has the
    memories that answer the last message. A failing memory leaves the block empty.

    Args:
        warden: a scope, or a warden, which stands for its default user. The thread is that of the scope, or the
            session.
        settings: part that memory takes. None: ``ChatSettings(use_memory=True)``. Its injection mode has no effect,
            because LlamaIndex decides where blocks go.
        fields: ``name``, ``description``, ``priority`` and the other fields of a block.

    Calls raise NotKept if words could not be stored.
    """

    name: str = "memwarden"
    _bound: StoreBinding = PrivateAttr()
    _settings: ChatSettings = PrivateAttr()
    # How often each message left the queue of a thread. The same words can be said twice.
    _handed: dict[str | None, Counter[tuple[str | None, str]]] = PrivateAttr(default_factory=dict)

    def __init__(self, warden: AnyWarden, *, settings: ChatSettings | None = None, **fields: Any) -> None:
        super().__init__(**fields)
        self._bound = StoreBinding(warden)
        self._settings = check_chat_settings(settings)

    async def _aget(self, messages: list[ChatMessage] | None = None, session_id: str | None = None, **_: Any) -> str:
        """Store what is said in messages, and return the memories that answer the last one."""
        said = _read_messages(messages or ())
        if not said:
            return ""
        turn = self._scope(session_id).turn(said, self._settings, form="plain")
        await self._bound.wait(turn.__aenter__())
        await self._bound.wait(turn.__aexit__(None, None, None))
        return turn.block.text

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Store what is said in messages that left the session's queue, unless reading stored it before."""
        sessions: dict[str | None, list[ChatMessage]] = {}
        for message in messages:
            sessions.setdefault(message.additional_kwargs.get(_SESSION), []).append(message)
        for session_id, group in sessions.items():
            await self._bound.wait(self._store_unknown(self._scope(session_id), _read_messages(group)))

    async def _store_unknown(self, scope: AsyncScope, said: Sequence[dict[str, Any]]) -> None:
        where = {"channel": "turn", "thread_id": scope.who.thread or DEFAULT_THREAD}
        turns = await scope.find(where, limit=_ALL)
        known = Counter((turn.role, turn.text) for turn in join_parts(turns))
        handed = self._handed.get(scope.who.thread, Counter()).copy()
        new = []
        for message, form in zip(said, self._stored_forms(said), strict=True):
            handed[form] += 1
            if known[form] < handed[form]:
                known[form] += 1
                # With an id of its own it is not taken for the same words before it.
                new.append({**message, "id": uuid4().hex})
        if new:
            await scope.observe(new)
        self._handed[scope.who.thread] = handed

    def _stored_forms(self, said: Sequence[dict[str, Any]]) -> list[tuple[str | None, str]]:
        """Return role and text of messages as turns have them, with marks in the places of secrets."""
        settings = self._bound.runtime.settings
        messages = read_messages(said, settings.max_text_bytes * MAX_PARTS) if said else ()
        redacted = (redact_secrets(message, strict=settings.strict_secrets)[0] for message in messages)
        return [(message.role, message.text) for message in redacted]

    def _scope(self, session_id: str | None) -> AsyncScope:
        return self._bound.scope_of_run(None, self._bound.who.thread or session_id, "")


def _read_messages(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """Return what users and the assistant say, oldest first."""
    return [
        {"role": message.role.value, "content": message.content}
        for message in messages
        if message.role.value in _SPOKEN and message.content
    ]
