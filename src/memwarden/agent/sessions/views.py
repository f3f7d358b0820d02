"""Renders three views of a session, for logs and people. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from memwarden.agent.sessions.rules import COMPRESSIONS, MEMORY, SESSION_ID
from memwarden.agent.sessions.shorten import size


def memory_state(session: Mapping[str, Any]) -> str:
    """Return the view of a session's memory and its sizes."""
    memory = session[MEMORY]
    parts = (
        f"Session: {session[SESSION_ID]}",
        f"Exchanges: {len(memory['exchanges'])}",
        f"Summary: {size(memory['summary'])} bytes",
        f"LLM compressions: {session[COMPRESSIONS]}",
    )
    return f"=== MEMORY STATE ===\n{' | '.join(parts)}"


def cache_state(session: Mapping[str, Any]) -> str:
    """Return the view of the cached results and their remaining exchanges."""
    cache = session[MEMORY]["tool_cache"]
    lines = [
        f"  • {item['tool_name']}({item['parameters']}): "
        f"{item['remaining_duration']}/{item['original_duration']} exchanges remaining"
        for item in cache.values()
    ]
    return "\n".join(["=== FUNCTION CACHE STATE ===", f"Cached functions: {len(cache)}", *lines])


def agent_receives(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the view of the messages for an agent, numbered from 1."""
    lines = [f"[{number}] {item['role'].upper()}: {_text(item)}" for number, item in enumerate(messages, 1)]
    return "\n".join([f"=== AGENT RECEIVES ({len(messages)} messages) ===", *lines])


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return json.dumps(content or message.get("tool_calls"), ensure_ascii=False, default=str)
