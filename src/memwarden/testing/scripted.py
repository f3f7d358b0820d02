"""A chat model with scripted answers, in place of a paid or remote model in tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from memwarden.errors import ModelUnavailable


class ModelCall(NamedTuple):
    """A call of :meth:`ScriptedModel.complete`."""

    system: str
    prompt: str
    schema: Mapping[str, Any]
    max_tokens: int


class ScriptedModel:
    """A :class:`memwarden.models.protocols.ChatModel` with its answers given beforehand.

    Args:
        answers: returned in order; an exception is raised. After the last answer ModelUnavailable is raised.
    """

    name = "scripted"

    def __init__(self, *answers: str | Exception) -> None:
        self.asked: list[ModelCall] = []
        self._answers = list(answers)

    def complete(self, system: str, prompt: str, *, schema: Mapping[str, Any], max_tokens: int) -> str:
        """Return the next answer."""
        self.asked.append(ModelCall(system, prompt, schema, max_tokens))
        if not self._answers:
            raise ModelUnavailable("the script is over")
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer
