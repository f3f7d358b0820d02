"""Checkpoints of a user's threads."""

from __future__ import annotations

from memwarden.agent.stored_sessions import check_allowed
from memwarden.api.handle import ScopeHandle
from memwarden.errors import InvalidInput
from memwarden.records import Namespace
from memwarden.remember.ingest.messages import checked_name
from memwarden.stores.shared.checkpoints import CheckpointOutline


class AsyncThreadCheckpoints(ScopeHandle):
    """The checkpoints that LangGraph's saver keeps of a person's threads, to be looked at, copied and removed.

    An agent with an allowlist needs the category ``state`` in it. All raise InvalidInput, CategoryDenied, StoreError.
    """

    async def outlines(self, thread: str) -> list[CheckpointOutline]:
        """Return the outline of each checkpoint of a thread, without its values, the oldest first."""
        return await self._runtime.store.checkpoints.outlines(self._namespace, _thread_name(thread))

    async def copy_thread(self, source: str, target: str) -> None:
        """Copy all checkpoints of a thread to another, replacing what has the same keys."""
        names = _thread_name(source), _thread_name(target)
        await self._runtime.store.checkpoints.copy_thread(self._namespace, *names)

    async def delete_thread(self, thread: str) -> None:
        """Remove all checkpoints of a thread. An unknown thread is no error."""
        await self._runtime.store.checkpoints.delete_threads(self._namespace, [_thread_name(thread)])

    @property
    def _namespace(self) -> Namespace:
        check_allowed(self._runtime, self.who)
        return self.who.namespace


def _thread_name(thread: str) -> str:
    name = checked_name(thread, "thread")
    if name is None:
        raise InvalidInput("thread is a text, not None")
    return name
