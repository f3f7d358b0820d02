"""Small things that every part of the write path needs: ids, and the thread of those who name none."""

from __future__ import annotations

import uuid_utils

DEFAULT_THREAD = "default"


def new_id() -> str:
    """A UUIDv7: sorted by time, made without asking the store."""
    return str(uuid_utils.uuid7())
