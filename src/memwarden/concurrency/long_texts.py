"""Runs the reading of long texts in a worker thread, so that others are answered meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

THREAD_CHARACTERS = 4_000
"""More characters than this are read in a worker thread."""


async def read_long(characters: int, read: Callable[[], T]) -> T:
    """Return what ``read`` makes of so many characters."""
    return read() if characters <= THREAD_CHARACTERS else await asyncio.to_thread(read)
