"""Pydantic AI adapter. Needs the package ``pydantic-ai-slim``."""

from memwarden.surfaces.integrations.pydantic_ai.capability import MemwardenCapability

__all__ = ["MemwardenCapability"]
