"""Agno adapter. Needs the package ``agno``."""

from memwarden.surfaces.integrations.agno.hooks import MemwardenHooks

__all__ = ["MemwardenHooks"]
