"""Arguments of mem0's calls, checked as mem0 checks them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from memwarden.checks import quote
from memwarden.compat.mem0.conditions import ENTITIES, check_entity
from memwarden.compat.mem0.items import NO_USER
from memwarden.errors import InvalidConfig, InvalidInput

log = logging.getLogger(__name__)

MAX_TOP_K: Final = 1_000
# The place in mem0's configuration for settings of memwarden, with ``url`` and ``key`` for the store.
OWN_CONFIG: Final = "memwarden"
_ROLES = ("user", "assistant")
# Names in metadata that the arguments of a call alone may set.
_IDENTITY = (*ENTITIES, "actor_id")


def read_config(config: Mapping[str, Any] | None) -> tuple[str | None, Mapping[str, Any] | None, str | None]:
    """Return the store's URL, memwarden's settings and the key of a server from a configuration of mem0.

    None stands for the environment. Other parts of the configuration are named in a warning, because memwarden does
    not use them. Raises InvalidConfig for anything but a mapping.
    """
    if config is None:
        return None, None, None
    if not isinstance(config, Mapping):
        raise InvalidConfig(f"config is a mapping, not {quote(config)}")
    unused = sorted(str(name) for name in config if name != OWN_CONFIG)
    if unused:
        log.warning("memwarden does not use these parts of a mem0 configuration: %s", ", ".join(unused))
    settings = config.get(OWN_CONFIG)
    if settings is None:
        return None, None, None
    if not isinstance(settings, Mapping):
        raise InvalidConfig(f"{OWN_CONFIG!r} in config is a mapping of settings, not {quote(settings)}")
    own = dict(settings)
    url, key = own.pop("url", None), own.pop("key", None)
    return url, own or None, key


def check_entities(user_id: Any, agent_id: Any, run_id: Any) -> tuple[str, dict[str, str]]:
    """Return the user, and the labels that keep agent and run. Raises InvalidInput if there is none of the three."""
    given = dict(zip(ENTITIES, (user_id, agent_id, run_id), strict=True))
    entities = {name: checked for name, value in given.items() if (checked := check_entity(value, name)) is not None}
    if not entities:
        raise InvalidInput("At least one of 'user_id', 'agent_id', or 'run_id' must be provided")
    return entities.pop("user_id", NO_USER), entities


def check_messages(messages: Any) -> list[dict[str, Any]]:
    """Return the messages of user and assistant, with role, content and name. Raises InvalidInput for another type."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    elif isinstance(messages, Mapping):
        messages = [messages]
    if not isinstance(messages, Sequence) or not all(isinstance(message, Mapping) for message in messages):
        raise InvalidInput(f"messages must be str, dict, or list[dict], not {quote(messages)}")
    kept = []
    for message in messages:
        if message.get("role") not in _ROLES or not message.get("content"):
            if message.get("role") != "system":
                log.warning("left out a message without content or of the role %r", message.get("role"))
            continue
        kept.append({name: message[name] for name in ("role", "content", "name") if message.get(name) is not None})
    return kept


def drop_identity(metadata: Mapping[str, Any] | None, call: str) -> dict[str, Any]:
    """Return metadata without the names that only arguments set. Raises InvalidInput unless it is a mapping."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise InvalidInput(f"metadata is a mapping, not {quote(metadata)}")
    for name in _IDENTITY:
        if name in metadata:
            log.warning("%s: metadata[%r] is ignored; identity is set by arguments", call, name)
    return {name: value for name, value in metadata.items() if name not in _IDENTITY}


def refuse_entities(call: str, *entities: Any) -> None:
    """Raise InvalidInput if entity ids are given where mem0 takes them in filters only."""
    if any(entity is not None for entity in entities):
        raise InvalidInput(
            f"Top-level entity parameters are not supported in {call}(). Use filters={{'user_id': '...'}} instead"
        )


def check_query(query: Any) -> str:
    """Return a query without white space around it. Raises InvalidInput without words."""
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput("Invalid query: must be a non-empty string")
    return query.strip()


def check_top_k(top_k: Any, most: int | None) -> int:
    """Return the number of results wanted, at most a limit. Raises InvalidInput unless it is a whole number from 0."""
    if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 0:
        raise InvalidInput(f"Invalid top_k: {quote(top_k)}. Must be a non-negative integer")
    return top_k if most is None else min(top_k, most)


def read_expiration(value: Any) -> datetime | None:
    """Return the moment at which a memory with an ``expiration_date`` expires: the end of that day, UTC.

    Raises InvalidInput unless it is a date, a datetime or a text ``YYYY-MM-DD``.
    """
    if value is None:
        return None
    if isinstance(value, datetime):
        day = value.date()
    elif isinstance(value, date):
        day = value
    else:
        try:
            day = date.fromisoformat(value)
        except (TypeError, ValueError):
            raise InvalidInput(f"expiration_date must be a date in YYYY-MM-DD format, not {quote(value)}") from None
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)
