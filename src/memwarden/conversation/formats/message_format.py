"""Protocol of a message format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from memwarden.errors import InvalidInput

Messages = Sequence[Any]
# A list of messages, or the arguments of the call (``client.messages.create(**request)``).
Request = Messages | Mapping[str, Any]

# The ways to insert a text: after the system prompt; as a message of its own before the message to answer; before the
# words of that message.
MODES: Final = ("system_append", "context_message", "user_prefix")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of a model. arguments: a JSON object; anything else stays text."""

    id: str
    name: str
    arguments: Any


class MessageFormat(Protocol):
    """The message format of an API. Mappings and SDK objects are read alike.

    All methods raise InvalidInput for values of another form.
    """

    name: str

    def read_turns(self, request: Request) -> list[dict[str, Any]]:
        """Return what users and the assistant said, oldest first, as ``observe`` takes it.

        Each has ``role`` and ``content``, and the caller's ``name``, ``id`` and ``created_at`` if given. Words are
        those of text parts (several are joined by a line break) and of refusals. System prompts, calls and results of
        tools, reasoning, images and messages without words are left out.
        """

    def unread(self, request: Request) -> list[str]:
        """Return why :meth:`read_turns` leaves malformed messages out (an unknown role, no content)."""

    def with_block(self, request: Request, text: str, mode: str) -> Any:
        """Return a new request with a text inserted; an equal request for an empty text.

        mode: see :data:`MODES`.
        """

    def with_placed(self, request: Request, early: str, later: Mapping[int, str]) -> Any:
        """Return a new request with a text after the system prompt, and texts before the words of messages.

        early: empty for none. Of several system messages it goes to the first, since later system messages may change
        from turn to turn (a summary of what was said). later: by the index of the message in :meth:`read_turns`.
        """

    def clean_texts(self, request: Request, clean: Callable[[str], str]) -> Any:
        """Return a new request with ``clean`` applied to the texts of the system and the users.

        Messages and parts without remaining text are left out. The assistant's words stay.
        """

    def answer(self, response: Any) -> str:
        """Return the words of a whole response, or of its message; of several choices the first's.

        Empty for a response that only calls tools.
        """

    def delta(self, event: Any) -> str:
        """Return the words of a stream's event, "" for an event without words.

        The words of all events, joined, are those of the whole response.
        """

    def calls(self, response: Any) -> tuple[ToolCall, ...]:
        """Return the tool calls of a whole response, in order; of several choices the first's."""

    def with_results(self, request: Request, response: Any, results: Mapping[str, str]) -> Any:
        """Return the request of the next model call: with the response and the results of its tools.

        results: by the id of the call, for each call.
        """


def check_mode(mode: Any) -> str:
    """Return a mode. Raises InvalidInput for an unknown mode."""
    if not isinstance(mode, str) or mode not in MODES:
        raise InvalidInput(f"a mode is one of {', '.join(MODES)}, not {mode!r:.80}")
    return mode
