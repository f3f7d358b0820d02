"""The folder ``/memories`` of Anthropic's memory tool, kept as saved state of a user: :class:`MemoryFolder`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from memwarden.agent.state import AsyncState, StateEdit
from memwarden.errors import CategoryDenied, Denied, InvalidInput
from memwarden.records import Trust
from memwarden.surfaces.integrations.anthropic.commands import (
    ROOT,
    CommandOutcome,
    CommandRefused,
    Files,
    changes_files,
    run_command,
)
from memwarden.surfaces.integrations.binding import AnyWarden, StoreBinding

# Every file and folder. Globs match slashes too.
_PATTERN: Final = f"{ROOT}/*"


class MemoryFolder:
    """The files of a user that a Claude model keeps with its memory tool, shared by processes.

    >>> folder = MemoryFolder(warden.scope(user="ana"))
    >>> client.messages.create(..., tools=[folder.definition])
    >>> result = folder.answer_blocking(block)  # of each tool_use block named "memory"

    A file is a value of :attr:`memwarden.api.scope.AsyncScope.state` by its path, so it has a history and is found by
    ``state.search`` and ``state.find_for_goal``. Secrets in it are replaced by a mark. A text that looks like orders to
    an assistant is refused. Each command is one transaction.

    Args:
        warden: a scope of a :class:`memwarden.Warden` or :class:`memwarden.AsyncWarden`, or either of these,
            which stands for its default user.
    """

    definition: Final = {"type": "memory_20250818", "name": "memory"}

    def __init__(self, warden: AnyWarden) -> None:
        self._bound = StoreBinding(warden)
        self._state = AsyncState(self._bound.runtime, self._bound.who)

    async def run(self, command: Mapping[str, Any]) -> str:
        """Run a command, the input of a tool call, and return its answer.

        Raises CommandRefused (an InvalidInput) with words for the model, StoreError.
        """
        return await self._bound.wait(self._run(command))

    def run_blocking(self, command: Mapping[str, Any]) -> str:
        """Run a command as :meth:`run` does, from blocking code."""
        return self._bound.run(self._run(command))

    async def answer(self, block: Any) -> dict[str, Any]:
        """Return the ``tool_result`` block for a ``tool_use`` block, an object of the SDK or a mapping.

        A refusal is a result with ``is_error``. Raises StoreError.
        """
        return await self._bound.wait(self._answer(block))

    def answer_blocking(self, block: Any) -> dict[str, Any]:
        """Return the result of a block as :meth:`answer` does, from blocking code."""
        return self._bound.run(self._answer(block))

    async def _answer(self, block: Any) -> dict[str, Any]:
        given = block if isinstance(block, Mapping) else {"id": block.id, "input": block.input}
        result = {"type": "tool_result", "tool_use_id": given["id"]}
        try:
            return result | {"content": await self._run(given["input"])}
        except CommandRefused as refusal:
            return result | {"content": str(refusal), "is_error": True}

    async def _run(self, command: Mapping[str, Any]) -> str:
        if not isinstance(command, Mapping):
            raise CommandRefused(f"Invalid command: {command!r:.80}")
        if not changes_files(command):
            return run_command(command, _read(await self._state.search(_PATTERN))).answer
        outcome = CommandOutcome("")

        def decide(values: Mapping[str, Any]) -> StateEdit:
            nonlocal outcome
            outcome = run_command(command, _read(values))
            return outcome.edit

        try:
            await self._state.rewrite(_PATTERN, decide, trust=Trust.EXTERNAL)
        except CategoryDenied:
            raise  # the program's mistake, not the model's
        except (InvalidInput, Denied) as error:
            raise CommandRefused(str(error)) from error
        return outcome.answer


def _read(values: Mapping[str, Any]) -> Files:
    """Return saved values as files. A value that a program saved under such a path may be other JSON."""
    return {path: value if isinstance(value, str) else json.dumps(value) for path, value in values.items()}
