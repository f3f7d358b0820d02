"""Microsoft Agent Framework adapter. Needs the package ``agent-framework-core``."""

from memwarden.surfaces.integrations.agent_framework.context_provider import MemwardenContextProvider

__all__ = ["MemwardenContextProvider"]
