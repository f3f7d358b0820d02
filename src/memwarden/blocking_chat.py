"""The blocking twins of state, its tools and the overseer."""

from __future__ import annotations

from typing import Any

from memwarden.chat.overseer import AsyncOverseer, OverseerSettings
from memwarden.chat.state import AsyncState
from memwarden.chat.tools import AsyncTools, Permission, Tool
from memwarden.loop import Facade, blocking
from memwarden.records import Scope


class State(Facade):
    """The saved values of one person. See :class:`memwarden.chat.state.AsyncState`."""

    _inner: AsyncState

    @property
    def who(self) -> Scope:
        """Who asks."""
        return self._inner.who

    save = blocking(AsyncState.save)
    load = blocking(AsyncState.load)
    loaded = blocking(AsyncState.loaded)
    list_keys = blocking(AsyncState.list_keys)
    search = blocking(AsyncState.search)
    found_for = blocking(AsyncState.found_for)
    save_from_tool = blocking(AsyncState.save_from_tool)
    clear = blocking(AsyncState.clear)


class Overseer(Facade):
    """Decides for one person's state. See :class:`memwarden.chat.overseer.AsyncOverseer`."""

    _inner: AsyncOverseer

    @property
    def settings(self) -> OverseerSettings:
        """How it works."""
        return self._inner.settings

    prepare = blocking(AsyncOverseer.prepare)
    relevant = blocking(AsyncOverseer.relevant)
    after = blocking(AsyncOverseer.after)


class Tools(Facade):
    """Tools that a model may call. See :class:`memwarden.chat.tools.AsyncTools`."""

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
