"""Which parameters a chat endpoint takes, found by what it refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

# Ways to ask for JSON, the strictest first. ``text`` asks in words alone.
FORMATS: Final = ("json_schema", "json_object", "text")
# Tokens. Room for hidden reasoning, which counts against the limit of models that take ``max_completion_tokens``.
REASONING_TOKENS: Final = 2_000
# Status codes of an endpoint that refuses a parameter.
REFUSALS: Final = (400, 404, 415, 422, 500, 501)
_FORMAT_WORDS: Final = ("response_format", "json_schema", "json_object", "schema", "structured", "guided", "grammar")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The parameters of a request.

    Attributes:
        form: one of :data:`FORMATS`.
        limit: name of the parameter that limits the answer's tokens; empty: none is sent.
        sampling: whether ``temperature`` is sent.
    """

    form: str = FORMATS[0]
    limit: str = "max_tokens"
    sampling: bool = True

    def after_refusal(self, status: int, parameter: str, words: str) -> Dialect | None:
        """Return the dialect to try next, or None if the refusal is about something else.

        Args:
            status: HTTP status code. parameter: name of the refused parameter, empty if the endpoint names none.
            words: what the endpoint says.
        """
        if status not in REFUSALS:
            return None
        said = f"{parameter} {words}".lower()
        if self.limit and self.limit in said:
            return replace(self, limit="max_completion_tokens" if self.limit == "max_tokens" else "")
        if self.sampling and "temperature" in said:
            return replace(self, sampling=False)
        named = any(word in said for word in _FORMAT_WORDS)
        # Some servers answer 400 without a name. One that fails at a grammar answers 500 and names it.
        if self.form == FORMATS[-1] or not (named or status in (400, 422)):
            return None
        return replace(self, form=FORMATS[FORMATS.index(self.form) + 1])

    def parameters(self, schema: Mapping[str, Any], max_tokens: int, reasoning_tokens: int) -> dict[str, Any]:
        """Return the parameters of a request beside model, messages and time limit."""
        given: dict[str, Any] = {"temperature": 0} if self.sampling else {}
        if self.limit:
            hidden = REASONING_TOKENS if self.limit == "max_completion_tokens" else 0
            given[self.limit] = max_tokens + max(hidden, reasoning_tokens)
        if self.form == "json_schema":
            strict = {"name": "answer", "strict": True, "schema": dict(schema)}
            given["response_format"] = {"type": "json_schema", "json_schema": strict}
        elif self.form == "json_object":
            given["response_format"] = {"type": "json_object"}
        return given

    def describe_answer(self, schema: Mapping[str, Any]) -> str:
        """Return what the system text says about the answer's form, where no parameter does."""
        if self.form == "json_schema":
            return ""
        return f"\nAnswer with a JSON object alone, by this JSON schema: {json.dumps(schema, ensure_ascii=False)}"
