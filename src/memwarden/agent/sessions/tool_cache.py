"""Caches results of tools for a number of exchanges of a session, never for anybody else.

Pure functions on the dict ``tool_cache`` of a session, which holds entries by their key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, MutableMapping
from functools import lru_cache
from typing import Any, NamedTuple

from memwarden.errors import InvalidInput
from memwarden.ids import new_id
from memwarden.recall.answer.frame import clean_line, frame_external
from memwarden.records import Trust
from memwarden.remember.ingest.intake import screen

Cache = MutableMapping[str, dict[str, Any]]


class Owner(NamedTuple):
    """The owner of a session. Part of every key, so that a cache in other hands answers nothing."""

    tenant: str
    user: str | None
    session_id: str


def cache_key(owner: Owner, tool_name: str, parameters: Mapping[str, Any]) -> str:
    """Return the key of a call, equal for parameters in any order. Raises InvalidInput unless they are JSON."""
    whole = json.dumps([*owner, _name(tool_name), copy_parameters(parameters)], sort_keys=True)
    return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()


def copy_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a call's parameters as JSON. Raises InvalidInput unless they are a JSON object."""
    if not isinstance(parameters, Mapping):
        raise InvalidInput(f"the parameters of a tool are a JSON object, not {parameters!r:.80}")
    try:
        copied: dict[str, Any] = json.loads(json.dumps(dict(parameters), allow_nan=False, sort_keys=True))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the parameters of a tool are no JSON object: {error}") from None
    return copied


def keep_result(
    cache: Cache,
    owner: Owner,
    tool_name: str,
    parameters: Mapping[str, Any],
    result: str,
    duration: int,
    at: float,
    call_id: str | None = None,
) -> bool:
    """Keep a result for ``duration`` exchanges, in place of an earlier result; return whether it was kept.

    A duration of 0 or less keeps nothing. at: seconds since 1970. Raises InvalidInput.
    """
    key = cache_key(owner, tool_name, parameters)
    if isinstance(duration, bool) or not isinstance(duration, int):
        raise InvalidInput(f"llm_cache_duration is a whole number of exchanges, not {duration!r:.80}")
    if not isinstance(result, str):
        raise InvalidInput(f"the result of a tool is a text, not {result!r:.80}; give it as JSON")
    if duration <= 0:
        return False
    cache.pop(key, None)  # the newest stands last
    cache[key] = {
        "tool_name": tool_name,
        "parameters": copy_parameters(parameters),
        "result": result,
        "remaining_duration": duration,
        "original_duration": duration,
        "call_id": call_id or f"call_{new_id()}",
        "cached_at": at,
    }
    return True


def look_up(cache: Cache, owner: Owner, tool_name: str, parameters: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a copy of the cached entry of a call and renew its duration; None for an unknown call."""
    entry = cache.get(cache_key(owner, tool_name, parameters))
    if entry is None:
        return None
    entry["remaining_duration"] = entry["original_duration"]
    return dict(entry)


def count_down(cache: Cache) -> None:
    """End an exchange: every entry loses an exchange of its duration, and expired entries are removed."""
    for key, entry in list(cache.items()):
        entry["remaining_duration"] -= 1
        if entry["remaining_duration"] <= 0:
            del cache[key]


def render_entry(entry: Mapping[str, Any]) -> str:
    """Return an entry as a line for a model. A result that reads like orders to an assistant is hidden."""
    call = f"{entry['tool_name']}({json.dumps(entry['parameters'], ensure_ascii=False, sort_keys=True)})"
    return f"- {clean_line(call)}: {frame_external(fit_result(entry['result']), 'tool/')}"


@lru_cache(maxsize=128)  # 15 ms for 1,000 characters, and the same results stand in every prompt of a session
def fit_result(result: str) -> str:
    """Return a tool's result for a model, without sentences that read like orders, or why it is hidden."""
    from memwarden.security.injection.detector import (
        redact_orders,  # its tables are for those alone who keep what came from outside
    )

    look = screen(Trust.EXTERNAL, result)
    return f"[{look.reason}]" if look.kinds else redact_orders(result)


def _name(tool_name: Any) -> str:
    if not isinstance(tool_name, str) or not tool_name:
        raise InvalidInput(f"tool_name is a text, not {tool_name!r:.80}")
    return tool_name
