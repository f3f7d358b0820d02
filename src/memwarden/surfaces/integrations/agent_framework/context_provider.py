"""Agent Framework's context provider on memwarden: :class:`MemwardenContextProvider`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import uuid4

from agent_framework import ContextProvider, Message

from memwarden.api.scope import AsyncScope
from memwarden.conversation.settings import ChatSettings
from memwarden.conversation.turn import check_chat_settings
from memwarden.surfaces.integrations.binding import AnyWarden, StoreBinding

_SPOKEN: Final = ("user", "assistant")


class MemwardenContextProvider(ContextProvider):  # type: ignore[misc]  # Agent Framework is not a development package
    """Memory for an agent of Agent Framework: memories into its instructions, the words said into the store.

    >>> memory = MemwardenContextProvider(warden, user_from="user_id")
    >>> agent = Agent(client, "Be brief.", context_providers=[memory])
    >>> session = AgentSession(session_id="monday")
    >>> session.state["user_id"] = "ana"
    >>> await agent.run("I am allergic to peanuts.", session=session)

    Before a run the user's messages are stored, and the memories that answer the last one are added to the instructions
    of this run. After it the answer is stored. A failing memory adds nothing.

    Args:
        warden: a warden or a scope, whose user is the user unless ``user_from`` is given. The thread is that of the
            scope, or the session.
        user_from: key of the session's state that names the user. A run without it raises InvalidInput.
        settings: part that memory takes. None: ``ChatSettings(use_memory=True)``. Its injection mode has no effect,
            because Agent Framework decides where instructions go.
        source_id: name of the provider in the framework.

    Runs raise NotKept if words could not be stored.
    """

    def __init__(
        self,
        warden: AnyWarden,
        *,
        user_from: str | None = None,
        settings: ChatSettings | None = None,
        source_id: str = "memwarden",
    ) -> None:
        super().__init__(source_id)
        self._bound = StoreBinding(warden, user_from)
        self._settings = check_chat_settings(settings)

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        """Store what is said to the agent, and add the memories that answer it."""
        said = _read_messages(context.get_messages(include_input=True))
        if not said:
            return
        # With a key the turn stores only what follows the last answer: the rest is history.
        turn = self._scope(session).turn(said, self._settings, form="plain", key=uuid4().hex)
        await self._bound.wait(turn.__aenter__())
        await self._bound.wait(turn.__aexit__(None, None, None))
        if turn.block.text:
            context.extend_instructions(self.source_id, turn.block.text)

    async def after_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        """Store what the agent said."""
        said = _read_messages(context.response.messages if context.response else ())
        # With an id of its own an answer is not taken for the same words before it.
        if said and self._settings.use_memory:
            await self._bound.wait(self._scope(session).observe([{**message, "id": uuid4().hex} for message in said]))

    def _scope(self, session: Any) -> AsyncScope:
        return self._bound.scope_of_run(session.state, self._bound.who.thread or session.session_id, "the session")


def _read_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return what users and the agent say, oldest first."""
    return [
        {"role": message.role, "content": message.text}
        for message in messages
        if message.role in _SPOKEN and message.text.strip()
    ]
