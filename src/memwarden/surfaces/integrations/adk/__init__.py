"""The memory service of Google's Agent Development Kit. Needs the package ``google-adk``."""

from memwarden.surfaces.integrations.adk.memory_service import MemwardenMemoryService

__all__ = ["MemwardenMemoryService"]
