"""The errors of memwarden, arranged by what the caller does next.

    MemwardenError
    ├── InvalidInput            change the call; nothing was written
    │   ├── InvalidFilter       a filter names an unknown field or operator, or a value of the wrong type
    │   └── InvalidConfig       a setting, category or allowlist is wrong
    ├── NotFound                the id names nothing that this scope may see
    ├── Denied                  the scope may not do this
    │   ├── KeyRefused          a server was given no key, or a key that is unknown, expired or revoked
    │   ├── UnknownAgent        the agent has no allowlist
    │   └── CategoryDenied      a category outside the agent's allowlist
    ├── Conflict                somebody else changed it, or a key was used for something else; read again, then decide
    │   └── Stale               a memory was changed after the revision that the change was decided on
    ├── RateLimited             too many calls of a server; wait, then repeat
    ├── NotKept                 a turn could not be stored; give its messages to observe later
    ├── ModelUnavailable        a model failed or took too long; memwarden goes on without it where it can
    ├── WrongThread             call AsyncWarden there; a blocking call would wait for itself
    └── StoreError              the storage refused; nothing of the call was kept unless it was acknowledged
        ├── StoreUnavailable    try again later: locked, read-only, closed, a disk that fails
        ├── StoreFull           make room, then repeat the call
        ├── StoreCorrupt        restore a copy; the file was not changed
        ├── StoreTooNew         written by a later memwarden; upgrade
        ├── MemoryBackendError  what the storage contract of the tiers raises; also a MemoryError
        └── ModelMismatch       the store's vectors come from another embedding model

Every message says what was wrong, where, and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# The most characters of a message; what is longer loses its middle.
MAX_MESSAGE = 2_000


def _cut(message: str) -> str:
    half = MAX_MESSAGE // 2
    return message if len(message) <= MAX_MESSAGE else f"{message[:half]} ... {message[-half:]}"


class MemwardenError(Exception):
    """Root of all errors that memwarden raises on purpose. A message repeats no unbounded input."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(_cut(arg) if isinstance(arg, str) else arg for arg in args))


class InvalidInput(MemwardenError, ValueError):
    """The call itself is wrong. Nothing was written."""


class InvalidFilter(InvalidInput):
    """A filter names an unknown field or operator, or a value of the wrong type."""


class InvalidConfig(InvalidInput):
    """A setting, a category or an allowlist is wrong."""


def missing_extra(what: str, extra: str) -> InvalidConfig:
    """Return the error of what needs packages that are not installed, with both ways to install them."""
    return InvalidConfig(
        f"{what} needs the extra {extra!r}: in a clone of memwarden, pip install '.[{extra}]'; "
        f"with a package of it, pip install 'memwarden[{extra}]'"
    )


class NotFound(MemwardenError, LookupError):
    """The id names nothing that this scope may see."""


class Denied(MemwardenError, PermissionError):
    """The scope may not do this."""


class KeyRefused(Denied):
    """A server was given no key, or a key that is unknown, expired or revoked."""


class UnknownAgent(Denied):
    """The scope's agent has no allowlist, so it may read nothing."""


class CategoryDenied(Denied):
    """A requested category is outside the agent's allowlist."""


class Conflict(MemwardenError):
    """Somebody else changed it first, or an idempotency key was used for something else."""


class Stale(Conflict):
    """A memory was changed after the revision that a change of it was decided on."""


class RateLimited(MemwardenError):
    """More calls than a server takes from a key. Wait, then repeat the call."""


class NotKept(MemwardenError, RuntimeError):
    """What was said in a turn could not be stored. ``__cause__`` says why.

    Attributes:
        messages: what is not stored, as ``observe`` takes it, oldest first.
        answer: what the model answered, where ``continue_chat`` cannot return it.
    """

    def __init__(self, message: str, messages: Sequence[Mapping[str, Any]], answer: str | None = None) -> None:
        super().__init__(message)
        self.messages = tuple(messages)
        self.answer = answer


class ModelUnavailable(MemwardenError, RuntimeError):
    """A model failed, took too long or answered garbage. Reads and writes go on without it where they can."""


class WrongThread(MemwardenError, RuntimeError):
    """A blocking call on memwarden's own event loop would wait for itself for ever."""


class StoreError(MemwardenError, RuntimeError):
    """The storage refused. Nothing that was not acknowledged was kept."""


class StoreUnavailable(StoreError):
    """The store is closed, locked, read-only or on a failing disk."""


class StoreFull(StoreError):
    """There is no room left on the disk."""


class StoreCorrupt(StoreError):
    """The file is not a healthy memwarden store. It was not changed."""


class StoreTooNew(StoreError):
    """The file was written by a later memwarden."""


class MemoryBackendError(StoreError, MemoryError):
    """The storage refused an item (the contract of the tiers says MemoryError)."""


class ModelMismatch(StoreError):
    """The store's vectors come from another embedding model than the configured model."""
