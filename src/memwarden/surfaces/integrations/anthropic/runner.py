"""The memory tool for the tool runner of Anthropic's SDK: :class:`MemwardenMemoryTool` and its async twin."""

from __future__ import annotations

from typing import Any

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError

from memwarden.surfaces.integrations.anthropic.commands import CommandRefused
from memwarden.surfaces.integrations.anthropic.folder import MemoryFolder
from memwarden.surfaces.integrations.binding import AnyWarden


class MemwardenMemoryTool(BetaAbstractMemoryTool):
    """The memory tool of a user, for ``client.beta.messages.tool_runner(tools=[...])``.

    Args:
        warden: as for :class:`memwarden.surfaces.integrations.anthropic.MemoryFolder`; blocking.
        cache_control: of the tool's definition.
    """

    def __init__(self, warden: AnyWarden, *, cache_control: Any = None) -> None:
        super().__init__(cache_control=cache_control)
        self._folder = MemoryFolder(warden)

    def call(self, input: object) -> str:
        """Run a command as the model gave it. Raises the SDK's ToolError for a refusal."""
        try:
            return self._folder.run_blocking(input)  # type: ignore[arg-type]  # it is checked there
        except CommandRefused as refusal:
            raise ToolError(str(refusal)) from refusal

    def view(self, command: Any) -> str:
        """Run a command of the SDK."""
        return self.call(command.model_dump())

    create = str_replace = insert = delete = rename = view


class AsyncMemwardenMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool of a user, for the tool runner of ``AsyncAnthropic``. See :class:`MemwardenMemoryTool`."""

    def __init__(self, warden: AnyWarden, *, cache_control: Any = None) -> None:
        super().__init__(cache_control=cache_control)
        self._folder = MemoryFolder(warden)

    async def call(self, input: object) -> str:
        """Run a command as the model gave it. Raises the SDK's ToolError for a refusal."""
        try:
            return await self._folder.run(input)  # type: ignore[arg-type]  # it is checked there
        except CommandRefused as refusal:
            raise ToolError(str(refusal)) from refusal

    async def view(self, command: Any) -> str:
        """Run a command of the SDK."""
        return await self.call(command.model_dump())

    create = str_replace = insert = delete = rename = view
