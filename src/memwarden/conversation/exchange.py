"""Ends a chat message as a whole: its turn, then the session that takes the exchange in."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from types import TracebackType
from typing import Final, Self

from memwarden.agent.sessions.stored_sessions import AsyncSessions
from memwarden.concurrency.tasks import shielded
from memwarden.conversation.turn import AsyncTurn
from memwarden.errors import NotKept
from memwarden.ids import new_id
from memwarden.runtime import Runtime

DIGEST_BYTES: Final = 16
# Time limit for taking an exchange into the session: writers of a session wait for each other for up to 30 seconds, and
# a model that shortens a text may take 120.
MAX_TAKE_IN_SECONDS: Final = 150.0

log = logging.getLogger(__name__)


class ChatExchange:
    """A context manager around a turn and its session.

    However it is left: the turn's words are stored, memories are extracted as the settings say, and the exchange is in
    the session with the delivered part of the answer. A message without an answer stays the session's open cycle.
    """

    def __init__(
        self, parts: Runtime, turn: AsyncTurn, sessions: AsyncSessions, session: str, message: str, key: str | None
    ) -> None:
        self._parts = parts
        self._turn = turn
        self._sessions = sessions
        self._session = session
        self._message = message
        self._key = key or new_id()
        self._over = False

    async def __aenter__(self) -> Self:
        await self._turn.__aenter__()
        self._parts.turns.add(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.end(look=error is None)
        except NotKept as lost:
            if error is None:
                raise
            error.add_note(str(lost))
            log.error("%s", lost)

    async def end(self, *, look: bool = True) -> None:
        """Store everything. Repeatable: later calls do nothing. Raises NotKept."""
        if self._over:
            return
        self._over = True
        try:
            await shielded(lambda: self._store(look))  # whole: a turn that is stored belongs in the session
        finally:
            self._parts.turns.discard(self)

    async def _store(self, look: bool) -> None:
        """Store the turn, then the exchange. Repeatable."""
        answer = self._turn.own_answer
        lost: NotKept | None = None
        try:
            await self._turn.end(look=look)
        except NotKept as error:
            lost = error
        try:
            if answer is not None:
                await self._take_in(answer)
        except Exception as error:
            if lost is None:
                lost = NotKept(
                    f"the exchange could not be taken into the session {self._session!r}, its turns are stored "
                    f"({type(error).__name__}: {error})",
                    (),
                )
                lost.__cause__ = error
        if lost is not None:
            lost.answer = answer
            raise lost

    async def _take_in(self, answer: str) -> None:
        """Take the exchange into the session, once for each answer to a message with this key."""
        digest = hashlib.blake2b(f"{self._key}\n{answer}".encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES)
        async with asyncio.timeout(MAX_TAKE_IN_SECONDS):
            await self._sessions.finalize_current_cycle(
                self._session, self._message, answer, key=f"chat:{digest.hexdigest()}"
            )
