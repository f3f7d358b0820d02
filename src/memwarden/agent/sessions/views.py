"""Design D's three views of a session, for logs and people (D6). Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from memwarden.agent.sessions.rules import COMPRESSIONS, MEMORY, SESSION_ID
from memwarden.agent.sessions.shorten import size


def memory_state(session: Mapping[str, Any]) -> str:
    """Return how much a session remembers."""
    memory = session[MEMORY]
    parts = (
        f"Session: {session[SESSION_ID]}",
        f"Exchanges: {len(memory['exchanges'])}",
        f"Summary: {size(memory['summary'])} bytes",
        f"LLM compressions: {session[COMPRESSIONS]}",
    )
    return f"=== MEMORY STATE ===\n{' | '.join(parts)}"


def cache_state(session: Mapping[str, Any]) -> str:
    """Return which results of tools are kept, and for how many exchanges."""
    cache = session[MEMORY]["tool_cache"]
    lines = [
        f"  • {item['tool_name']}({item['parameters']}): "
        f"{item['remaining_duration']}/{item['original_duration']} exchanges remaining"
        for item in cache.values()
    ]
    return "\n".join(["=== FUNCTION CACHE STATE ===", f"Cached functions: {len(cache)}", *lines])


def agent_receives(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the messages that an agent gets, numbered from 1."""
    lines = [f"[{number}] {item['role'].upper()}: {_text(item)}" for number, item in enumerate(messages, 1)]
    return "\n".join([f"=== AGENT RECEIVES ({len(messages)} messages) ===", *lines])


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return json.dumps(content or message.get("tool_calls"), ensure_ascii=False, default=str)
