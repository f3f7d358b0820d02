"""CrewAI adapter. Needs the package ``crewai``."""

from memwarden.surfaces.integrations.crewai.callbacks import MemwardenCrewCallbacks

__all__ = ["MemwardenCrewCallbacks"]
