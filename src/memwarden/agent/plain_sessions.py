"""Session memory: the last exchanges, a summary of earlier exchanges, results of tools, the screen.

:class:`SessionMemory` works on plain dicts, which an application keeps as it likes.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

from memwarden import clock
from memwarden.agent import session_rules as rules
from memwarden.agent.session_rules import Message, Owner, Session, agent_receives, cache_state, memory_state
from memwarden.agent.shorten import run_shortening_now
from memwarden.checks import word
from memwarden.errors import InvalidInput
from memwarden.models.protocols import ChatModel
from memwarden.settings import EXTERNAL
from memwarden.text.tokenizer import TokenCounter, estimate

F = TypeVar("F", bound=Callable[..., Any])
# ``get_proactive_tool_messages(json_data)``: returns the messages of the tools that ran for a screen, in the form of
# OpenAI's chat completions (calls, then results), and a sentence about the screen.
ProactiveTools = Callable[[dict[str, Any]], tuple[Sequence[Mapping[str, Any]], str]]

# The logger of the views, unless the caller gives another.
LOGGER_NAME: Final = "memwarden.channel5"


class ChannelLogger(Protocol):
    """A logger of views: a ``logging.Logger``, or any object with ``info``."""

    def info(self, msg: str, /) -> Any:
        """Log a view of several lines."""


class SessionMemory:
    """The memory of sessions that are plain dicts.

    A session is any dict. Its memory is kept in it under ``conversation_memory``, its id under ``session_id`` (made if
    there is none). Not safe for two threads that change the same session.

    Args:
        model: shortens long answers and summaries. Without a model, or when it fails, rules do.
        get_proactive_tool_messages: runs the tools of a screen; :meth:`inject_screen_context` needs it.
        window_tokens: maximum size of the prepared messages. count: counts the tokens of a text.
        tenant, user: the owner of the sessions. Part of the keys of the tool cache.
        external: ``quote`` shows results of tools, without sentences that read like orders; ``held`` and ``off`` do
            not, as the setting of that name says.
    """

    def __init__(
        self,
        model: ChatModel | None = None,
        get_proactive_tool_messages: ProactiveTools | None = None,
        *,
        window_tokens: int = rules.DEFAULT_WINDOW_TOKENS,
        count: TokenCounter = estimate,
        tenant: str = "default",
        user: str | None = None,
        external: str = "quote",
    ) -> None:
        word(EXTERNAL).check(external, "external")
        self._external = external == "quote"
        self._model = model
        self._proactive = get_proactive_tool_messages
        self._window = rules.check_window(window_tokens)
        self._count = count
        self._tenant = tenant
        self._user = user

    def initialize_session_memory(self, session: Session) -> None:
        """Give a session its memory unless it has it. Raises InvalidInput for anything but a dict."""
        rules.memory_of(session)

    def prepare_messages_for_agent(self, session: Session, user_message: str) -> list[Message]:
        """Return the messages for an agent, the user's last, and begin the cycle of this message.

        In order: the summary and the cached results of tools (a system message each, if any), the exchanges, the user's
        message, and the agent's messages since (``current_cycle["agent_messages"]``) when the same message is prepared
        again. At most ``window_tokens``: messages that do not fit are left out whole, the oldest first, but never the
        user's message and the agent's messages since.

        Raises InvalidInput.
        """
        rules.open_cycle(session, rules.check_text(user_message, "user_message"))
        memory = rules.memory_of(session)
        messages = rules.prepare_messages(memory, user_message, self._window, self._count, external=self._external)
        log_view(None, lambda: agent_receives(messages))
        return messages

    def finalize_current_cycle(
        self, session: Session, user_question: str, final_answer: str, channel_logger: ChannelLogger | None = None
    ) -> None:
        """Take an exchange in and end the cycle.

        An answer of more than 750 bytes is shortened to 500. Of more than 10 exchanges the oldest is appended to the
        summary. A summary of more than 4,000 bytes is shortened to 3,000. Every cached result loses an exchange. The
        views of memory and cache go to ``channel_logger``. Raises InvalidInput, and then nothing is changed.
        """
        run_shortening_now(rules.close_cycle(session, user_question, final_answer), self._model)
        log_view(channel_logger, lambda: f"{memory_state(session)}\n\n{cache_state(session)}")

    def add_tool_to_cache(
        self,
        session: Session,
        tool_name: str,
        parameters: Mapping[str, Any],
        result: str,
        llm_cache_duration: int,
        channel_logger: ChannelLogger | None = None,
    ) -> None:
        """Keep a tool's result for ``llm_cache_duration`` exchanges of this session; 0 or less keeps nothing.

        Raises InvalidInput for parameters other than a JSON object, a result other than text, an invalid duration.
        """
        cache, at = rules.memory_of(session)["tool_cache"], clock.now().timestamp()
        if rules.keep_result(cache, self._owner(session), tool_name, parameters, result, llm_cache_duration, at):
            log_view(channel_logger, lambda: cache_state(session))

    def lookup_tool_in_cache(
        self, session: Session, tool_name: str, parameters: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Return a copy of the cached entry of a call, or None. A hit renews its whole duration."""
        return rules.look_up(rules.memory_of(session)["tool_cache"], self._owner(session), tool_name, parameters)

    def inject_screen_context(
        self, session: Session, json_data: dict[str, Any], channel_logger: ChannelLogger | None = None
    ) -> list[Message]:
        """Run the tools of a screen, once per session, and return their messages. Later calls return none.

        Results are cached for 3 exchanges, or as many as ``llm_cache_duration`` of their message says. A result that
        reads like orders to an assistant is hidden. An error of the tools is raised, and they run again next time.
        Raises InvalidInput without ``get_proactive_tool_messages``.
        """
        memory = rules.memory_of(session)
        if memory["screen_injection_done"]:
            return []
        if self._proactive is None:
            raise InvalidInput("there are no tools for screens; give SessionMemory get_proactive_tool_messages")
        messages, prompt_injection = rules.read_screen(self._proactive(json_data))
        for result in rules.proactive_results(messages):
            rules.keep_result(
                memory["tool_cache"], self._owner(session), *result[:4], clock.now().timestamp(), result.call_id
            )
        memory["screen_injection_done"] = True
        log_view(channel_logger, lambda: cache_state(session))
        return rules.screen_messages(prompt_injection, messages, external=self._external)

    def cached_tool(self, session: Session, llm_cache_duration: int, *, name: str | None = None) -> Callable[[F], F]:
        """Return a decorator: a repeated call with the same arguments is answered from the session.

        The function, async or not, returns a text and takes arguments that are JSON. Errors are not cached.

        Args:
            llm_cache_duration: exchanges. name: of the tool, if not the function's.
        """

        def decorate(function: F) -> F:
            tool = name or function.__name__
            signature = inspect.signature(function)

            def look_up_call(args: Any, named: Any) -> tuple[dict[str, Any], dict[str, Any] | None]:
                call = signature.bind(*args, **named)
                call.apply_defaults()
                parameters = rules.copy_parameters(call.arguments)
                return parameters, self.lookup_tool_in_cache(session, tool, parameters)

            @functools.wraps(function)
            def call(*args: Any, **named: Any) -> Any:
                parameters, entry = look_up_call(args, named)
                if entry is not None:
                    return entry["result"]
                result = function(*args, **named)
                self.add_tool_to_cache(session, tool, parameters, result, llm_cache_duration)
                return result

            @functools.wraps(function)
            async def call_async(*args: Any, **named: Any) -> Any:
                parameters, entry = look_up_call(args, named)
                if entry is not None:
                    return entry["result"]
                result = await function(*args, **named)
                self.add_tool_to_cache(session, tool, parameters, result, llm_cache_duration)
                return result

            return call_async if inspect.iscoroutinefunction(function) else call  # type: ignore[return-value]  # as it came

        return decorate

    def _owner(self, session: Session) -> Owner:
        return Owner(self._tenant, self._user, str(session[rules.SESSION_ID]))


def log_view(logger: ChannelLogger | None, view: Callable[[], str], *, strict: bool = False) -> None:
    """Log a view without secrets. It is made only when a logger listens."""
    listens = logging.getLogger(LOGGER_NAME)
    if logger is None and not listens.isEnabledFor(logging.INFO):
        return
    from memwarden.security.secrets import redact

    line = redact(view(), strict=strict).text
    if logger is not None:
        logger.info(line)
    else:
        listens.info("%s", line)
