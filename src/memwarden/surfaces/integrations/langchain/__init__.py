"""LangChain adapters (extra ``langchain``). Each name imports LangChain on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memwarden.surfaces.integrations.langchain.byte_store import MemwardenByteStore
    from memwarden.surfaces.integrations.langchain.middleware import MemwardenMiddleware
    from memwarden.surfaces.integrations.langchain.retriever import MemwardenRetriever
    from memwarden.surfaces.integrations.langchain.tools import as_langchain_tools

__all__ = ["MemwardenByteStore", "MemwardenMiddleware", "MemwardenRetriever", "as_langchain_tools"]

_WHERE = {
    "MemwardenByteStore": "byte_store",
    "MemwardenMiddleware": "middleware",
    "MemwardenRetriever": "retriever",
    "as_langchain_tools": "tools",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
