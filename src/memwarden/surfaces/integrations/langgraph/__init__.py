"""LangGraph adapters (extra ``langgraph``). Each name imports LangGraph on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memwarden.surfaces.integrations.langgraph.saver import MemwardenSaver, acopy_from_memory, copy_from_memory
    from memwarden.surfaces.integrations.langgraph.store import MemwardenStore

__all__ = ["MemwardenSaver", "MemwardenStore", "acopy_from_memory", "copy_from_memory"]

_WHERE = {
    "MemwardenSaver": "saver",
    "MemwardenStore": "store",
    "acopy_from_memory": "saver",
    "copy_from_memory": "saver",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
