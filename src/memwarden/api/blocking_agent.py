"""The blocking twins of state, its tools, the overseer and sessions."""

from __future__ import annotations

import warnings
from typing import Any

from memwarden.agent.overseer import AsyncOverseer, OverseerSettings
from memwarden.agent.sessions.plain_sessions import ProactiveTools
from memwarden.agent.sessions.rules import DEFAULT_WINDOW_TOKENS
from memwarden.agent.sessions.stored_sessions import AsyncSessions
from memwarden.agent.state import AsyncState
from memwarden.agent.tools import AsyncTools, Permission, Tool
from memwarden.concurrency.loop import Facade, blocking
from memwarden.records import Scope


class State(Facade):
    """The saved values of one person. See :class:`memwarden.agent.state.AsyncState`."""

    _inner: AsyncState

    @property
    def who(self) -> Scope:
        """Who asks."""
        return self._inner.who

    save = blocking(AsyncState.save)
    load = blocking(AsyncState.load)
    load_for_model = blocking(AsyncState.load_for_model)
    list_keys = blocking(AsyncState.list_keys)
    search = blocking(AsyncState.search)
    find_for_goal = blocking(AsyncState.find_for_goal)
    save_from_tool = blocking(AsyncState.save_from_tool)
    clear = blocking(AsyncState.clear)


class Overseer(Facade):
    """Decides for one person's state. See :class:`memwarden.agent.overseer.AsyncOverseer`."""

    _inner: AsyncOverseer

    @property
    def settings(self) -> OverseerSettings:
        """How it works."""
        return self._inner.settings

    prepare = blocking(AsyncOverseer.prepare)
    relevant = blocking(AsyncOverseer.relevant)
    after = blocking(AsyncOverseer.after)


class Tools(Facade):
    """Tools that a model may call. See :class:`memwarden.agent.tools.AsyncTools`."""

    _inner: AsyncTools

    @property
    def permission(self) -> Permission:
        """What the caller may do."""
        return self._inner.permission

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the caller may call, in the order of registration."""
        return self._inner.tools

    def register(self, tool: Tool) -> None:
        """Add a tool. Raises InvalidInput for a name that is taken."""
        self._inner.register(tool)

    def openai(self) -> list[dict[str, Any]]:
        """Return the tools as OpenAI's chat completions take them."""
        return self._inner.openai()

    def anthropic(self) -> list[dict[str, Any]]:
        """Return the tools as Anthropic's messages take them."""
        return self._inner.anthropic()

    call_tool = blocking(AsyncTools.call_tool)


class Sessions(Facade):
    """The stored sessions of one person. See :class:`memwarden.agent.sessions.stored_sessions.AsyncSessions`."""

    _inner: AsyncSessions

    @property
    def who(self) -> Scope:
        """Who asks."""
        return self._inner.who

    def with_options(
        self,
        *,
        get_proactive_tool_messages: ProactiveTools | None = None,
        window_tokens: int = DEFAULT_WINDOW_TOKENS,
    ) -> Sessions:
        """Return the same sessions with the tools of screens, and a window in tokens for prepared messages.

        The tools are called in a worker thread.
        """
        inner = self._inner.with_options(
            get_proactive_tool_messages=get_proactive_tool_messages, window_tokens=window_tokens
        )
        return Sessions(inner, self._loop)

    def configured(self, **options: Any) -> Sessions:
        """Call :meth:`with_options`, under the name that it had before; goes with the next release."""
        warnings.warn("sessions.configured is now sessions.with_options", DeprecationWarning, stacklevel=2)
        return self.with_options(**options)

    initialize_session_memory = blocking(AsyncSessions.initialize_session_memory)
    prepare_messages_for_agent = blocking(AsyncSessions.prepare_messages_for_agent)
    finalize_current_cycle = blocking(AsyncSessions.finalize_current_cycle)
    add_tool_to_cache = blocking(AsyncSessions.add_tool_to_cache)
    lookup_tool_in_cache = blocking(AsyncSessions.lookup_tool_in_cache)
    inject_screen_context = blocking(AsyncSessions.inject_screen_context)
    load = blocking(AsyncSessions.load)
    list_ids = blocking(AsyncSessions.list_ids)
    clear = blocking(AsyncSessions.clear)
