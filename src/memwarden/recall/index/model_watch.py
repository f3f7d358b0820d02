"""Notices that a store was moved to another embedding model."""

from __future__ import annotations

from collections.abc import Callable

from memwarden.records import Namespace
from memwarden.stores.protocol import Store


class ModelWatch:
    """Tells the indexes of a model whether their store still holds its vectors.

    An index that is held when the store moves stays true for what it holds, and goes on answering with the model that
    it is made of until the indexes of the new model are built.
    """

    def __init__(self, store: Store, model: str) -> None:
        """model: the name of the model, or ``none``."""
        self._store = store
        self._model = model
        self._passed: set[Namespace] = set()
        self.moved = False
        """Whether the store is known to hold the vectors of another model."""
        self.on_moved: Callable[[str], None] = lambda model: None
        """Called with the model that the store was moved to."""

    async def only_moved(self, namespace: Namespace, known: int, epoch: int) -> bool:
        """Whether the move alone made a namespace's new epoch, so that an index of the epoch before stays true."""
        if epoch != known + 1 or not await self.look():
            return False
        first = namespace not in self._passed
        self._passed.add(namespace)
        return first

    async def look(self) -> bool:
        """Ask whether the store was moved, and say so."""
        bound = await self._store.identity(self._model)
        if bound != self._model:
            self.moved = True
            self.on_moved(bound)
        return self.moved
