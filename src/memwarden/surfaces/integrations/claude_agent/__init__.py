"""Claude Agent SDK adapter. It needs no package of its own."""

from memwarden.surfaces.integrations.claude_agent.session_store import MemwardenSessionStore

__all__ = ["MemwardenSessionStore"]
