"""AG2 adapter. Needs the package ``ag2``."""

from memwarden.surfaces.integrations.ag2.middleware import MemwardenTurnMiddleware

__all__ = ["MemwardenTurnMiddleware"]
