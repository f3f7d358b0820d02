"""Strands Agents adapter. Needs the package ``strands-agents``."""

from memwarden.surfaces.integrations.strands.session_manager import MemwardenSessionManager

__all__ = ["MemwardenSessionManager"]
