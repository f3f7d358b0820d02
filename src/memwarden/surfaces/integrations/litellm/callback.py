"""LiteLLM's callback on memwarden, for its client and its proxy: :class:`MemwardenCallback`."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from litellm.integrations.custom_logger import CustomLogger

from memwarden.clock import new_id
from memwarden.conversation.settings import ChatSettings
from memwarden.conversation.turn import AsyncTurn, check_chat_settings
from memwarden.errors import InvalidInput
from memwarden.surfaces.integrations.binding import AnyWarden, StoreBinding

_CHAT: Final = ("acompletion", "completion")
# Maximum calls under way. LiteLLM does not report the end of a stream that its reader abandoned.
MAX_OPEN: Final = 1_000
# Seconds between two looks at the calls under way.
_PAUSE: Final = 0.02


class MemwardenCallback(CustomLogger):  # type: ignore[misc]  # LiteLLM is not a development package
    """Memory for chat completions of LiteLLM: memories into each prompt, the words said into the store.

    >>> litellm.callbacks = [MemwardenCallback(warden, user_from="user")]
    >>> await litellm.acompletion(model="gpt-5-mini", messages=messages, user="ana", litellm_session_id="monday")

    Each call is a turn (:meth:`memwarden.api.scope.AsyncScope.turn`): the user's message is stored before the call, the
    answer after it, when LiteLLM reports it. A failing memory never fails the call. ``litellm_session_id`` is the
    thread, unless the scope has one. Calls other than chat completions pass untouched.

    Args:
        warden: a warden or a scope, whose user is the user unless ``user_from`` is given.
        user_from: ``user``: the field ``user`` of a request names the user. ``key``: in the proxy the owner of the key
            is the user, whatever the request says. A call without it raises InvalidInput.
        settings: part that memory takes. None: ``ChatSettings(use_memory=True)``.

    LiteLLM calls it in awaited calls only: ``acompletion``, ``Router.acompletion`` and the proxy. It reports an answer
    after it has returned it, so a program that ends awaits :meth:`wait_for_answers` first.
    """

    def __init__(
        self, warden: AnyWarden, *, user_from: str | None = None, settings: ChatSettings | None = None
    ) -> None:
        super().__init__()
        # LiteLLM takes two callbacks for the same one if their public texts and numbers are equal.
        self.id = new_id()
        if user_from not in (None, "user", "key"):
            raise InvalidInput(f"user_from is 'user', 'key' or None, not {user_from!r:.80}")
        self._bound = StoreBinding(warden, user_from)
        self._settings = check_chat_settings(settings)
        # Turns by the id of their call.
        self._turns: OrderedDict[str, AsyncTurn] = OrderedDict()

    async def wait_for_answers(self, seconds: float = 10.0) -> bool:
        """Wait until LiteLLM has reported the end of every call under way. Returns whether it has, within the time."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + seconds
        # Turns may end on other loops, which an asyncio.Event does not cross.
        while self._turns and loop.time() < ends_at:  # noqa: ASYNC110
            await asyncio.sleep(_PAUSE)
        return not self._turns

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any] | None:
        """Begin a turn with a request to the proxy, and put memories in."""
        return await self._begin(data, call_type, {"user": data.get("user"), "key": user_api_key_dict.user_id})

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """Begin a turn with a call of the client, and put memories in."""
        if kwargs.get("proxy_server_request"):
            return None  # the proxy has called the other hook
        return await self._begin(kwargs, getattr(call_type, "value", call_type), {"user": kwargs.get("user")})

    async def async_log_success_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """End the turn with the answer, which is whole if it was a stream. Raises NotKept."""
        if turn := self._turns.get(kwargs.get("litellm_call_id", "")):
            turn.record_response(response_obj)
            await self._end(kwargs["litellm_call_id"], turn, look=True)

    async def async_log_failure_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """End the turn without an answer. Raises NotKept."""
        await self._abandon(kwargs.get("litellm_call_id", ""))

    async def async_post_call_failure_hook(self, request_data: dict[str, Any], *_: Any, **__: Any) -> None:
        """End the turn of a request that the proxy refused. Raises NotKept."""
        await self._abandon(request_data.get("litellm_call_id", ""))

    async def _begin(self, request: dict[str, Any], call_type: str, named: Mapping[str, Any]) -> dict[str, Any] | None:
        if call_type not in _CHAT:
            return None
        if request.get("messages") is None:
            raise InvalidInput("memory needs the messages by their name: acompletion(model=..., messages=...)")
        thread = self._bound.who.thread or request.get("litellm_session_id")
        scope = self._bound.scope_of_run(named, thread, "the request")
        await self._abandon(request["litellm_call_id"])  # of an earlier attempt
        turn = scope.turn(request["messages"], self._settings, form="openai_chat")
        await self._bound.wait(turn.__aenter__())
        self._turns[request["litellm_call_id"]] = turn
        if len(self._turns) > MAX_OPEN:
            await self._abandon(next(iter(self._turns)))
        return {**request, "messages": turn.messages}

    async def _abandon(self, call_id: str) -> None:
        if turn := self._turns.get(call_id):
            await self._end(call_id, turn, look=False)

    async def _end(self, call_id: str, turn: AsyncTurn, *, look: bool) -> None:
        try:
            await self._bound.wait(turn.end(look=look))
        finally:
            if self._turns.get(call_id) is turn:
                del self._turns[call_id]
