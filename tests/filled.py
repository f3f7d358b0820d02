"""Namespaces with many items, written at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from memwarden import Warden, clock
from memwarden.records import Batch, Memory, Namespace, Put, Signals
from memwarden.testing import run_on_loop


def fill(warden: Warden, path: str, amount: int, make: Callable[[int], dict[str, Any]]) -> list[str]:
    """Write many items in one batch, as the store takes them."""
    namespace, at = Namespace("default", path), clock.now()
    memories = [
        replace(Memory(f"n{number:05d}", namespace, f"note {number}", at, at, kind="decision"), **make(number))
        for number in range(amount)
    ]
    run_on_loop(warden, warden.store.apply(Batch(namespace, tuple(Put(memory, Signals()) for memory in memories), at)))
    return [memory.id for memory in memories]
