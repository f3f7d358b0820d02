"""The verbs of a scope about what waits apart (F9, B13): candidates, and texts that were held back.

They are the methods of :class:`memwarden.api.scope.AsyncScope` under the same names.
"""

from __future__ import annotations

from typing import Protocol

from memwarden import arguments
from memwarden.errors import Denied, InvalidInput
from memwarden.records import MemoryState, PendingReview, Scope, WriteResult
from memwarden.runtime import Runtime


class Decider(Protocol):
    """What these verbs need of a scope."""

    _parts: Runtime

    @property
    def who(self) -> Scope: ...

    @property
    def _readable(self) -> tuple[str, ...] | None: ...


async def waiting(self: Decider, state: str | None = None, *, limit: int = 100) -> list[PendingReview]:
    """List what waits apart, in no answer, until somebody decides on it: the newest first.

    It is for a person's eyes: a text that was held back looks like orders for an assistant, so keep it out of prompts.
    What is proposed for the user context is listed by :meth:`consents`.

    Args:
        state: ``candidate`` (a statement that waits until it is heard again) or ``quarantined`` (a text that was held
            back). None: both; for an agent candidates alone, in categories that it may read.
        limit: the most of them.

    Raises InvalidInput; Denied for an agent that asks for what was held back.
    """
    from memwarden.remember.resolve.review import REVIEWED_STATES, check_agent
    from memwarden.remember.resolve.review import list_pending as read_waiting

    if state is not None and state not in REVIEWED_STATES:
        raise InvalidInput(f"state is one of {', '.join(sorted(REVIEWED_STATES))} or None, not {state!r:.80}")
    if state is not None:
        check_agent(self.who, state)
    states = [item for item in REVIEWED_STATES if state in (None, item)]
    if self.who.agent is not None:
        states = [MemoryState.CANDIDATE]
    most = arguments.whole(limit, "limit", 1, None)
    return await read_waiting(self._parts.store, self.who.namespace, states, self._readable, most)


async def release(self: Decider, memory_id: str, *, vouch: bool = False) -> WriteResult:
    """Let in what waits apart: it becomes a memory, and is judged against what is known as :meth:`remember` does.

    A text that was held back keeps its trust: it corrects nothing that a person said, and of it no prompt shows what
    reads like an order, even if nothing else is left. The decision is in the journal (CONFIRM) and can be undone: then
    it waits again.

    Args:
        vouch: a person has read it and answers for its words. From now on they count as a person's: shown whole, and
            able to correct.

    Returns ``created``, ``merged`` or ``superseded``, as :meth:`remember`. Raises NotFound for an id that there is not,
    or that the agent may not read; Conflict for what does not wait, or not any more; Denied for an agent that would let
    in what was held back, or vouch: nobody does that for a person. InvalidInput, StoreError.
    """
    vouch = arguments.truth(vouch, "vouch")
    if vouch and self.who.agent is not None:
        raise Denied(f"agent {self.who.agent!r} cannot vouch for a text; a person does, in a scope without an agent")
    return await self._parts.working.writer.release(
        self.who, arguments.memory_id(memory_id), self._readable, vouch=vouch
    )


async def discard(self: Decider, memory_id: str) -> WriteResult:
    """Give up what waits apart. For 30 days that can be undone: then it waits again.

    Raises as :meth:`release`.
    """
    return await self._parts.working.writer.discard(self.who, arguments.memory_id(memory_id), self._readable)
