"""Hooks of Agno's agents and teams on memwarden: :class:`MemwardenHooks`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from agno.exceptions import InputCheckError

from memwarden.api.scope import AsyncScope
from memwarden.conversation.formats.reading import field
from memwarden.conversation.settings import ChatSettings
from memwarden.conversation.turn import check_chat_settings
from memwarden.errors import InvalidInput
from memwarden.surfaces.integrations.binding import AnyWarden, StoreBinding

_SPOKEN: Final = ("user", "assistant")
# Attribute of a run's context for the block of the run. Agno's own fields are stored with the session.
_BLOCK: Final = "_memwarden_block"


class MemwardenHooks:
    """Memory for an agent or a team of Agno: memories into its instructions, the words said into the store.

    >>> memory = MemwardenHooks(warden, user_from="user_id")
    >>> agent = Agent(
    ...     model=OpenAIChat(id="gpt-5-mini"),
    ...     instructions=memory.instructions("Be brief."),
    ...     pre_hooks=[memory.before_run],
    ...     post_hooks=[memory.after_run],
    ... )
    >>> agent.run("I am allergic to peanuts.", user_id="ana", session_id="monday")

    Before a run the user's message is stored and memories are found for it, after it the answer is stored. A failing
    memory adds nothing. Over a Warden the hooks are blocking and serve ``run`` and ``arun``. Over an AsyncWarden they
    are awaited, which Agno does in ``arun``.

    Args:
        warden: a warden or a scope, whose user is the user unless ``user_from`` is given. The thread is that of the
            scope, or the ``session_id``.
        user_from: field of the run's context that names the user: ``user_id``. A run without it raises InputCheckError.
        settings: part that memory takes. None: ``ChatSettings(use_memory=True)``. Its injection mode has no effect,
            because Agno decides where instructions go.

    Attributes:
        before_run: for the agent's ``pre_hooks``.
        after_run: for the agent's ``post_hooks``. Agno logs what a hook raises, and so words that could not be stored.
    """

    def __init__(
        self, warden: AnyWarden, *, user_from: str | None = None, settings: ChatSettings | None = None
    ) -> None:
        self._bound = StoreBinding(warden, user_from)
        self._settings = check_chat_settings(settings)
        blocking = self._bound.blocking
        self.before_run: Callable[..., Any] = self._before_run if blocking else self._before_arun
        self.after_run: Callable[..., Any] = self._after_run if blocking else self._after_arun

    def instructions(self, *texts: str) -> Callable[..., list[str]]:
        """Return instructions for an agent: texts of its own, then the memories of the run."""

        def give_instructions(run_context: Any) -> list[str]:
            block = getattr(run_context, _BLOCK, "")
            return [*texts, block] if block else list(texts)

        return give_instructions

    def _before_run(self, run_input: Any, run_context: Any) -> None:
        self._bound.run(self._begin(run_input, run_context))

    async def _before_arun(self, run_input: Any, run_context: Any) -> None:
        await self._bound.wait(self._begin(run_input, run_context))

    def _after_run(self, run_output: Any, run_context: Any) -> None:
        self._bound.run(self._end(run_output, run_context))

    async def _after_arun(self, run_output: Any, run_context: Any) -> None:
        await self._bound.wait(self._end(run_output, run_context))

    async def _begin(self, run_input: Any, run_context: Any) -> None:
        try:
            scope = self._scope(run_context)
        except InvalidInput as error:
            raise InputCheckError(str(error)) from error  # Agno only logs other errors of hooks
        said = _read_input(run_input.input_content)
        if not said:
            return
        # With the run's id as key the attempts of a run are stored once.
        turn = scope.turn(said, self._settings, form="plain", key=run_context.run_id)
        async with turn:
            setattr(run_context, _BLOCK, turn.block.text)

    async def _end(self, run_output: Any, run_context: Any) -> None:
        words = run_output.content
        if isinstance(words, str) and words.strip() and self._settings.use_memory:
            answer = {"role": "assistant", "content": words, "id": f"agno:{run_context.run_id}"}
            await self._scope(run_context).observe([answer])

    def _scope(self, run_context: Any) -> AsyncScope:
        return self._bound.scope_of_run(run_context, self._bound.who.thread or run_context.session_id, "the context")


def _read_input(content: Any) -> list[dict[str, Any]]:
    """Return what the user says in the input of a run. Data that is not text has no words."""
    if isinstance(content, str):
        return [{"role": "user", "content": content}] if content.strip() else []
    messages: Sequence[Any] = content if isinstance(content, list) else [content]
    said = [{"role": field(message, "role"), "content": field(message, "content")} for message in messages]
    return [message for message in said if message["role"] in _SPOKEN and isinstance(message["content"], str)]
