"""Sessions of the OpenAI Agents SDK on memwarden: :class:`MemwardenSession`. Needs no package of the SDK."""

from memwarden.surfaces.integrations.openai_agents.session import MemwardenSession

__all__ = ["MemwardenSession"]
