"""AG2's middleware on memwarden: :class:`MemwardenTurnMiddleware`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ag2.events import BaseEvent, ModelRequest, ModelResponse, TextInput
from ag2.middleware import BaseMiddleware

from memwarden.conversation.settings import ChatSettings
from memwarden.conversation.turn import AsyncTurn, check_chat_settings
from memwarden.surfaces.integrations.binding import AnyWarden, StoreBinding


class MemwardenTurnMiddleware:
    """Memory for an agent of AG2: memories into its prompt, the words said into the store.

    >>> memory = MemwardenTurnMiddleware(warden, user_from="user_id")
    >>> agent = Agent("helper", "Be brief.", config=OpenAIConfig("gpt-5-mini"), middleware=[memory])
    >>> await agent.ask("I am allergic to peanuts.", variables={"user_id": "ana"})

    Each call of the model is a turn (:meth:`memwarden.api.scope.AsyncScope.turn`): the user's message is stored before
    the call, the answer after it, and a failing memory never fails the call. The stream's history holds no memories.

    Args:
        warden: a warden or a scope, whose user is the user unless ``user_from`` is given. The thread is that of the
            scope, or the id of the stream.
        user_from: name of the context variable that names the user. A call without it raises InvalidInput.
        settings: part that memory takes. None: ``ChatSettings(use_memory=True)``. Its injection mode has no effect,
            because the memories are a part of the agent's prompt.

    Calls raise NotKept if words could not be stored.
    """

    def __init__(
        self, warden: AnyWarden, *, user_from: str | None = None, settings: ChatSettings | None = None
    ) -> None:
        self._bound = StoreBinding(warden, user_from)
        self._settings = check_chat_settings(settings)

    def __call__(self, event: BaseEvent, context: Any) -> BaseMiddleware:
        """Return the middleware of a turn of the agent."""
        return _TurnMiddleware(event, context, self._bound, self._settings)


class _TurnMiddleware(BaseMiddleware):  # type: ignore[misc]  # AG2 is not a development package
    def __init__(self, event: BaseEvent, context: Any, bound: StoreBinding, settings: ChatSettings) -> None:
        super().__init__(event, context)
        self._bound = bound
        self._settings = settings

    async def on_llm_call(self, call_next: Any, events: Sequence[BaseEvent], context: Any) -> ModelResponse:
        """Call the model inside of a turn."""
        turn = self._begin(events, context)
        await self._bound.wait(turn.__aenter__())
        prompt = context.prompt
        try:
            if turn.block.text:
                context.prompt = [*prompt, turn.block.text]
            response = await call_next(events, context)
            if response.content and response.content.strip():
                turn.record_response(response.content)
        except BaseException as error:
            await self._bound.wait(turn.__aexit__(type(error), error, error.__traceback__))
            raise
        finally:
            context.prompt = prompt
        await self._bound.wait(turn.__aexit__(None, None, None))
        return response

    def _begin(self, events: Sequence[BaseEvent], context: Any) -> AsyncTurn:
        thread = self._bound.who.thread or str(context.stream.id)
        scope = self._bound.scope_of_run(context.variables, thread, "the context")
        return scope.turn(_read_events(events), self._settings, form="plain")


def _read_events(events: Sequence[BaseEvent]) -> list[dict[str, Any]]:
    """Return what users and the agent say, oldest first."""
    said = []
    for event in events:
        if isinstance(event, ModelRequest):
            texts = [part.content for part in event.parts if isinstance(part, TextInput)]
            said.append({"role": "user", "content": "\n".join(texts)})
        elif isinstance(event, ModelResponse):
            said.append({"role": "assistant", "content": event.content or ""})
    return [message for message in said if message["content"].strip()]
