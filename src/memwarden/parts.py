"""What a warden puts together when it opens, and hands to its scopes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakValueDictionary

from memwarden.config import Settings
from memwarden.errors import StoreUnavailable
from memwarden.event_queue import EventQueue
from memwarden.looking import Looks
from memwarden.records import Namespace
from memwarden.stores.base import Store

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from memwarden.models.base import ChatModel, Embedder
    from memwarden.recall.index import Indexes
    from memwarden.recall.larges import Larges
    from memwarden.recall.recall import Recall
    from memwarden.remember.consent.keeper import Consents
    from memwarden.remember.extract import Extractor
    from memwarden.remember.write import Writer


@dataclass(frozen=True, slots=True)
class Working:
    """The parts that there are once the store is open."""

    recall: Recall
    writer: Writer
    extractor: Extractor
    indexes: Indexes
    larges: Larges
    consents: Consents
    embedder: Embedder | None
    chat: ChatModel | None


class Open(Protocol):
    """Something under way that has words to store."""

    def end(self, *, look: bool = ...) -> Coroutine[Any, Any, None]:
        """Store them."""


class Parts:
    """A store, its settings and, once it is open, what works on it. One for a warden and all its scopes."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self.events = EventQueue(store, settings)
        self.looks = Looks()
        self.locks: WeakValueDictionary[tuple[str, ...], asyncio.Lock] = WeakValueDictionary()
        self.turns: set[Open] = set()
        """Turns that are not over yet, so that none is lost that nobody leaves."""
        self.late: dict[Namespace, asyncio.Task[Any]] = {}
        """Searches that nobody waits for any more, and that still go on."""
        self.opened: Working | None = None
        self.closed = False

    @property
    def working(self) -> Working:
        """The parts at work. Raises StoreUnavailable before the warden is open."""
        if self.opened is None:
            raise StoreUnavailable(
                "the warden is not open; use it as a context manager: with Warden.open(...) as warden"
            )
        return self.opened
