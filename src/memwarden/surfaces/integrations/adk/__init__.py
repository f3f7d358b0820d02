"""Services of Google's Agent Development Kit. They need the package ``google-adk``."""

from memwarden.surfaces.integrations.adk.memory_service import MemwardenMemoryService
from memwarden.surfaces.integrations.adk.session_service import MemwardenSessionService

__all__ = ["MemwardenMemoryService", "MemwardenSessionService"]
