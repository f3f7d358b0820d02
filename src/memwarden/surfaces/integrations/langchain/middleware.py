"""Middleware of LangChain's ``create_agent``: each call of the model is a turn of a scope."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables.config import ensure_config

from memwarden.conversation.settings import ChatSettings
from memwarden.conversation.turn import AsyncTurn, check_chat_settings
from memwarden.surfaces.integrations.binding import AnyWarden, StoreBinding

_ROLES: Final = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
# Key of a turn's message for the LangChain message that it was read from.
_ORIGIN: Final = "langchain"


class MemwardenMiddleware(AgentMiddleware[Any, Any, Any]):
    """Memory for an agent of ``create_agent``: memories into each prompt, the words said into the store.

    >>> agent = create_agent(model, tools, middleware=[MemwardenMiddleware(warden, user_from="user_id")])
    >>> agent.invoke(messages, {"configurable": {"user_id": "ana", "thread_id": "monday"}})

    Each call of the model is a turn (:meth:`memwarden.api.scope.AsyncScope.turn`): the user's message is stored before
    the call, the answer after it, and a failing memory never fails the call. The state of the agent keeps the messages
    without memories. ``invoke`` and ``ainvoke`` work over a Warden; over an AsyncWarden await the agent.

    Args:
        warden: a warden or a scope, whose user is the user unless ``user_from`` is given.
        user_from: name under ``configurable`` of a run's config, or field of its context, that names the user. A run
            without it raises InvalidInput. ``thread_id`` under ``configurable`` is the thread.
        settings: part that memory takes. None: ``ChatSettings(use_memory=True)``.

    Calls raise NotKept if words could not be stored.
    """

    def __init__(
        self, warden: AnyWarden, *, user_from: str | None = None, settings: ChatSettings | None = None
    ) -> None:
        super().__init__()
        self._bound = StoreBinding(warden, user_from)
        self._settings = check_chat_settings(settings)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model inside of a turn."""
        turn = self._begin(request)
        self._bound.run(turn.__aenter__())
        try:
            response = handler(_with_memories(request, turn))
            _record(turn, response)
        except BaseException as error:
            self._bound.run(turn.__aexit__(type(error), error, error.__traceback__))
            raise
        self._bound.run(turn.__aexit__(None, None, None))
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Call the model inside of a turn."""
        turn = self._begin(request)
        await self._bound.wait(turn.__aenter__())
        try:
            response = await handler(_with_memories(request, turn))
            _record(turn, response)
        except BaseException as error:
            await self._bound.wait(turn.__aexit__(type(error), error, error.__traceback__))
            raise
        await self._bound.wait(turn.__aexit__(None, None, None))
        return response

    def _begin(self, request: ModelRequest[Any]) -> AsyncTurn:
        config, context = ensure_config(), getattr(request.runtime, "context", None)
        scope = self._bound.scope(config, context)
        given = [] if request.system_message is None else [request.system_message]
        return scope.turn([_as_dict(message) for message in (*given, *request.messages)], self._settings, form="plain")


def _as_dict(message: BaseMessage) -> dict[str, Any]:
    role = _ROLES.get(message.type, message.type)
    name = {"name": message.name} if message.name and role == "user" else {}
    return {"role": role, "content": message.content, _ORIGIN: message, **name}


def _with_memories(request: ModelRequest[Any], turn: AsyncTurn) -> ModelRequest[Any]:
    """Return the request with the messages of a turn. Messages that the turn left as they were are the same objects."""
    messages = [_as_message(message) for message in turn.messages]
    if messages and isinstance(messages[0], SystemMessage):
        return request.override(system_message=messages[0], messages=messages[1:])
    return request.override(messages=messages)


def _as_message(message: dict[str, Any]) -> Any:
    origin, content = message.get(_ORIGIN), message["content"]
    if origin is None:
        return SystemMessage(content) if message["role"] == "system" else HumanMessage(content)
    return origin if origin.content == content else origin.model_copy(update={"content": content})


def _record(turn: AsyncTurn, response: ModelResponse[Any]) -> None:
    texts: Sequence[str] = [message.text for message in response.result if isinstance(message, AIMessage)]
    for text in texts:
        if text.strip():
            turn.record_response(text)
