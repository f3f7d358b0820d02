"""Anthropic's memory tool on memwarden. The tools of the SDK's runner import it (extra ``anthropic``) on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memwarden.surfaces.integrations.anthropic.folder import MemoryFolder

if TYPE_CHECKING:
    from memwarden.surfaces.integrations.anthropic.runner import AsyncMemwardenMemoryTool, MemwardenMemoryTool

__all__ = ["AsyncMemwardenMemoryTool", "MemoryFolder", "MemwardenMemoryTool"]


def __getattr__(name: str) -> Any:
    if name not in ("AsyncMemwardenMemoryTool", "MemwardenMemoryTool"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.runner"), name)
