"""The contract of stores as tests, for authors of stores. Needs the extra ``memwarden[testing]``.

* :class:`memwarden.testing.store_tests.StoreTests`: subclass it and run pytest.
* :func:`memwarden.testing.state_machine.store_machine`: random calls, every answer compared with the reference.
* :mod:`memwarden.testing.examples`: the memories, batches and filters that these tests use.

Below, what hands tests the runtime, the store and the event loop behind a handle, for what the verbs do not show.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from memwarden.api.facade import Facade
from memwarden.api.handle import ScopeHandle
from memwarden.api.warden import AsyncWarden
from memwarden.runtime.services import Runtime
from memwarden.stores.protocol import Store

R = TypeVar("R")


def get_async_twin(handle: Any) -> Any:
    """Return the async object that a blocking one calls; an async one is returned as it is."""
    return handle._inner if isinstance(handle, Facade) else handle


def get_runtime(handle: AsyncWarden | ScopeHandle | Facade) -> Runtime:
    """Return what a warden shares with all its scopes."""
    runtime: Runtime = get_async_twin(handle)._runtime
    return runtime


def get_store(handle: AsyncWarden | ScopeHandle | Facade) -> Store:
    """Return the store that a handle reads and writes."""
    return get_runtime(handle).store


def run_on_loop(handle: Facade, coroutine: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine on the loop of a blocking handle, where its store lives, and wait for its answer."""
    return handle._loop.run(coroutine)
