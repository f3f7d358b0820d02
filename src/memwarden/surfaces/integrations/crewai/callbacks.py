"""Callbacks of CrewAI's crews on memwarden: :class:`MemwardenCrewCallbacks`."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

from crewai.utilities.crew.crew_context import get_crew_context

from memwarden.api.scope import AsyncScope
from memwarden.clock import new_id
from memwarden.conversation.settings import ChatSettings
from memwarden.conversation.turn import check_chat_settings
from memwarden.errors import InvalidInput, NotKept
from memwarden.surfaces.integrations.binding import AnyWarden, StoreBinding

# Maximum kickoffs inside of each other. CrewAI does not report a kickoff that failed, so its run remains.
MAX_NESTED: Final = 8


class _Run(NamedTuple):
    """A kickoff under way."""

    owner: MemwardenCrewCallbacks
    crew_id: str
    scope: AsyncScope


# CrewAI calls both callbacks of a kickoff in the same context. A crew may run inside of a tool of another one.
_runs: ContextVar[tuple[_Run, ...]] = ContextVar("memwarden_crew_runs", default=())


class MemwardenCrewCallbacks:
    """Memory for a crew of CrewAI: memories into its inputs, the words said into the store.

    >>> memory = MemwardenCrewCallbacks(warden, user_from="user_id")
    >>> crew = Crew(
    ...     agents=[agent],
    ...     tasks=[Task(description="Answer: {message}\\n{memories}", expected_output="An answer.", agent=agent)],
    ...     before_kickoff_callbacks=[memory.before_kickoff],
    ...     after_kickoff_callbacks=[memory.after_kickoff],
    ... )
    >>> crew.kickoff({"message": "I am allergic to peanuts.", "user_id": "ana", "thread_id": "monday"})

    Before a kickoff the user's message is stored and the memories that answer it become the input ``memories``. After
    it the crew's answer is stored. If memories cannot be read, ``memories`` is empty.

    Args:
        warden: a warden or a scope, whose user is the user unless ``user_from`` is given. The thread is that of the
            scope, or the input ``thread_id``.
        message_from: name of the input that holds the user's message.
        user_from: name of the input that names the user.
        settings: part that memory takes. None: ``ChatSettings(use_memory=True)``. Its injection mode has no effect,
            because the task's description decides where memories go.

    Kickoffs raise InvalidInput without a message or a user, and NotKept if words could not be stored. CrewAI does not
    await callbacks, so over an AsyncWarden they serve ``kickoff_async``, which runs in a thread, and not ``akickoff``.
    """

    def __init__(
        self,
        warden: AnyWarden,
        *,
        message_from: str = "message",
        user_from: str | None = None,
        settings: ChatSettings | None = None,
    ) -> None:
        self._bound = StoreBinding(warden, user_from)
        self._message_from = message_from
        self._settings = check_chat_settings(settings)

    def before_kickoff(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Store the user's message. Returns the inputs with the memories that answer it."""
        message = inputs.get(self._message_from)
        if not isinstance(message, str):
            raise InvalidInput(f"the inputs of this kickoff have no message; give them {self._message_from!r}, a text")
        thread = self._bound.who.thread or inputs.get("thread_id")
        scope = self._bound.scope_of_run(inputs, thread, "the inputs")
        memories = self._bound.run(self._begin(scope, message)) if message.strip() else ""
        _runs.set((*_runs.get()[1 - MAX_NESTED :], _Run(self, _running_crew(), scope)))
        return {**inputs, "memories": memories}

    def after_kickoff(self, output: Any) -> Any:
        """Store the crew's answer. Returns the output unchanged. Structured data is not stored."""
        scope = self._end_run()
        is_text = output.pydantic is None and output.json_dict is None
        if is_text and output.raw.strip() and self._settings.use_memory:
            # With an id of its own an answer is not taken for the same words before it.
            answer = {"role": "assistant", "content": output.raw, "id": f"crewai:{new_id()}"}
            try:
                self._bound.run(scope.observe([answer]))
            except Exception as error:
                raise NotKept(f"the crew's answer is not stored: {error}", [answer], output.raw) from error
        return output

    async def _begin(self, scope: AsyncScope, message: str) -> str:
        # With a key of its own a message is not taken for the same words before it.
        turn = scope.turn([{"role": "user", "content": message}], self._settings, form="plain", key=new_id())
        async with turn:
            return turn.block.text

    def _end_run(self) -> AsyncScope:
        runs, crew_id = _runs.get(), _running_crew()
        for number in reversed(range(len(runs))):
            if runs[number].owner is self and runs[number].crew_id == crew_id:
                _runs.set(runs[:number])
                return runs[number].scope
        raise InvalidInput("give the crew both callbacks, before_kickoff and after_kickoff")


def _running_crew() -> str:
    """Return the id of the crew that runs here."""
    crew = get_crew_context()
    return (crew.id if crew else None) or ""
