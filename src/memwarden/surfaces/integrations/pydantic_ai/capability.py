"""Pydantic AI's capability on memwarden: :class:`MemwardenCapability`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import Tool
from pydantic_ai.toolsets import FunctionToolset

from memwarden.agent.tools import Permission, describe_tool, parameter_schema
from memwarden.api.scope import AsyncScope
from memwarden.conversation.settings import ChatSettings
from memwarden.conversation.turn import AsyncTurn, check_chat_settings
from memwarden.surfaces.integrations.binding import AnyWarden, StoreBinding
from memwarden.surfaces.integrations.pydantic_ai.history import read_history, write_history


class MemwardenCapability(AbstractCapability[Any]):
    """Memory for an agent of Pydantic AI: memories into each prompt, the words said into the store, tools on wish.

    >>> agent = Agent("openai:gpt-5-mini", capabilities=[MemwardenCapability(warden, user_from="user_id")])
    >>> agent.run_sync("I am allergic to peanuts.", deps=Deps(user_id="ana"))

    Each request to the model is a turn (:meth:`memwarden.api.scope.AsyncScope.turn`): the user's message is stored
    before the request, the answer after it, and a failing memory never fails the run. Memories are in the request
    alone; ``all_messages()`` holds the messages as they were given.

    Args:
        warden: a warden or a scope, whose user is the user unless ``user_from`` is given. The thread is that of the
            scope, or the run's ``conversation_id``.
        user_from: attribute or key of the run's ``deps`` that names the user. A run without it raises InvalidInput.
        settings: part that memory takes. None: ``ChatSettings(use_memory=True)``.
        tools: ``read`` or ``write`` offers the tools of the scope (:meth:`memwarden.api.scope.AsyncScope.tools`) to the
            model. None: no tools.
        only: names of the tools that are wanted. None: all.

    Runs raise NotKept if words could not be stored.
    """

    def __init__(
        self,
        warden: AnyWarden,
        *,
        user_from: str | None = None,
        settings: ChatSettings | None = None,
        tools: Permission | None = None,
        only: Sequence[str] | None = None,
    ) -> None:
        self._bound = StoreBinding(warden, user_from)
        self._settings = check_chat_settings(settings)
        self._permission = tools
        self._only = only
        self._toolset = None if tools is None else self._make_toolset(tools)
        # The turn of the request under way. Each run has a copy of the capability.
        self._turn: AsyncTurn | None = None

    async def for_run(self, ctx: RunContext[Any]) -> MemwardenCapability:
        """Return the capability for a run."""
        return copy(self)

    def get_toolset(self) -> FunctionToolset[Any] | None:
        """Return the tools of the scope, if they are wanted."""
        return self._toolset

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Begin a turn with what the model is about to be given, and put memories in."""
        await self._end_turn(None)  # of an earlier attempt, which had no answer
        history = request_context.messages
        turn = self._scope(ctx).turn(read_history(history), self._settings, form="plain")
        await self._bound.wait(turn.__aenter__())
        self._turn = turn
        return replace(request_context, messages=write_history(history, turn.messages))

    async def wrap_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, handler: Callable[..., Any]
    ) -> ModelResponse:
        """End the turn with the answer, or without one when the request failed."""
        try:
            response: ModelResponse = await handler(request_context)
            if self._turn and response.text and response.text.strip():
                self._turn.record_response(response.text)
        except BaseException as error:
            await self._end_turn(error)
            raise
        await self._end_turn(None)
        return response

    async def _end_turn(self, error: BaseException | None) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            kind, trace = (None, None) if error is None else (type(error), error.__traceback__)
            await self._bound.wait(turn.__aexit__(kind, error, trace))

    def _scope(self, ctx: RunContext[Any]) -> AsyncScope:
        return self._bound.scope_of_run(ctx.deps, self._bound.who.thread or ctx.conversation_id, "deps")

    def _make_toolset(self, permission: Permission) -> FunctionToolset[Any]:
        shown = AsyncScope(self._bound.runtime, self._bound.who).tools(permission, only=self._only).tools

        def call_of(name: str) -> Callable[..., Any]:
            async def call(ctx: RunContext[Any], **given: Any) -> dict[str, Any]:
                tools = self._scope(ctx).tools(permission, only=self._only)
                return await self._bound.wait(tools.call_tool(name, given))

            return call

        return FunctionToolset(
            [
                Tool.from_schema(
                    call_of(tool.name), tool.name, describe_tool(tool), parameter_schema(tool), takes_ctx=True
                )
                for tool in shown
            ]
        )
