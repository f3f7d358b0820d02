"""Makes the records of queries and blocks of what a server answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memwarden.api.remote.connection import read_record
from memwarden.records import ContextBlock, Cut, Delta, Memory, QueryResult, RecallItem, Why


def _read_item(value: dict[str, Any]) -> RecallItem:
    why, memory = read_record(value["why"], Why), read_record(value["memory"], Memory)
    plain = {name: value[name] for name in ("id", "text", "category", "channel", "kind", "score")}
    created_at = read_record(value["created_at"], datetime)
    return RecallItem(
        **plain, sources=tuple(value["sources"]), created_at=created_at, explain=lambda: why, memory=memory
    )


def read_query(value: dict[str, Any]) -> QueryResult:
    own = {name: tuple(map(_read_item, value.pop(name))) for name in ("items", "related")}
    own |= _read_shared(value)
    names = ("categories", "confidences")
    lists = {name: None if value[name] is None else tuple(value[name]) for name in names}
    return QueryResult(**{**value, **own, **lists})


def read_block(value: dict[str, Any]) -> ContextBlock:
    own: dict[str, Any] = {"items": tuple(map(_read_item, value.pop("items")))}
    own |= _read_shared(value)
    own |= {name: read_record(value.pop(name), tuple[Memory, ...]) for name in ("updated", "overview_of")}
    return ContextBlock(**{**value, **own})


def _read_shared(value: dict[str, Any]) -> dict[str, Any]:
    delta = value.pop("delta")
    own = {"cut": read_record(value.pop("cut"), tuple[Cut, ...])}
    return {**own, "delta": None if delta is None else read_record(delta, Delta)}
