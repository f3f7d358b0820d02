"""Gives the system back the memory that loading a model frees, and keeps a process small (glibc, on Linux)."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

# Numbers of glibc's parameters: pools that threads take memory from, and the size from which a block is of its own.
_ARENAS, _OWN_BLOCK = -8, -3
_MAX_ARENAS, _OWN_BLOCK_BYTES = 2, 1 << 20


def release_freed_memory() -> None:
    """Give the system back what was freed: loading a model frees more than it keeps."""
    trim = _find("malloc_trim")
    if trim is not None:
        trim(0)


def keep_process_small() -> None:
    """Let threads share their pools of memory, and give large blocks back at once, from now on.

    For a program of our own: the setting is of the whole process.
    """
    set_option = _find("mallopt")
    if set_option is not None:
        set_option(_ARENAS, _MAX_ARENAS)
        set_option(_OWN_BLOCK, _OWN_BLOCK_BYTES)


def _find(name: str) -> Any:
    """Return a function of the C library; None where there is none."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
