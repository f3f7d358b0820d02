"""What every form can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from memwarden.errors import InvalidInput

Messages = Sequence[Any]
Request = Messages | Mapping[str, Any]
"""A list of messages, or the arguments of the call (``client.messages.create(**request)``)."""

MODES: Final = ("system_append", "context_message", "user_prefix")
"""The ways to put a text in (C2): after the system prompt; as a message of its own before the message to answer; before
the words of that message."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that a model wants called. arguments: a JSON object; what is none stays the text that it is."""

    id: str
    name: str
    arguments: Any


class MessageFormat(Protocol):
    """The messages of one API. Everything is read from mappings and from the SDK's objects alike.

    All methods raise InvalidInput for what is not of the form.
    """

    name: str

    def read_turns(self, request: Request) -> list[dict[str, Any]]:
        """Return what users and the assistant said, oldest first, as ``observe`` takes it.

        ``role`` and ``content`` each, and ``name``, ``id`` and ``created_at`` if the caller gave them. Words are those
        of text parts (several are joined by a line break) and of refusals. System prompts, calls and results of tools,
        reasoning, images and messages without words are left out.
        """

    def unread(self, request: Request) -> list[str]:
        """Return why messages are left out of :meth:`read_turns` that are malformed (an unknown role, no content)."""

    def with_block(self, request: Request, text: str, mode: str) -> Any:
        """Return a new request with a text in it; an equal one for an empty text. ``mode`` is one of :data:`MODES`."""

    def with_placed(self, request: Request, early: str, later: Mapping[int, str]) -> Any:
        """Return a new request with a text after the system prompt, and texts before the words of messages.

        early: of several system messages it goes to the first one, since later ones may change from turn to turn (a
            summary of what was said). Empty for none. later: by the place of the message in :meth:`read_turns`.
        """

    def clean_texts(self, request: Request, clean: Callable[[str], str]) -> Any:
        """Return a new request in which ``clean`` went over the texts of the system's and the users.

        Messages and parts of which nothing is left are left out. What the assistant said stays.
        """

    def answer(self, response: Any) -> str:
        """Return the words of a whole response, or of its message; of several choices the first's.

        Empty for one that only calls tools.
        """

    def delta(self, event: Any) -> str:
        """Return the words that an event of a stream brings, "" for one that brings none.

        The words of all events, put together, are those of the whole response.
        """

    def calls(self, response: Any) -> tuple[ToolCall, ...]:
        """Return the tools that a whole response wants called, in order; of several choices the first's."""

    def with_results(self, request: Request, response: Any, results: Mapping[str, str]) -> Any:
        """Return a new request, for the next call of the model: with the response, and what its tools returned.

        results: by the id of the call, one for each.
        """


def check_mode(mode: Any) -> str:
    """Return a mode. Raises InvalidInput for another one."""
    if not isinstance(mode, str) or mode not in MODES:
        raise InvalidInput(f"a mode is one of {', '.join(MODES)}, not {mode!r:.80}")
    return mode
