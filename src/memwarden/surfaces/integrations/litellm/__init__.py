"""LiteLLM adapter. Needs the package ``litellm``."""

from memwarden.surfaces.integrations.litellm.callback import MemwardenCallback

__all__ = ["MemwardenCallback"]
