"""The forms in which every SQL engine stores what is more than a value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memwarden.errors import InvalidInput


def once(thread: str | None, source_key: str | None) -> str | None:
    """Return one text for a thread and a source key that no other pair has, or None without a source key."""
    if source_key is None:
        return None
    return f":{source_key}" if thread is None else f"{len(thread)}:{thread}{source_key}"


def meta_text(meta: Mapping[str, Any] | None) -> str | None:
    """Return a change's meta as JSON. Raises InvalidInput for what is none."""
    try:
        return None if meta is None else json.dumps(dict(meta), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the meta of a change is not JSON: {error}") from None
