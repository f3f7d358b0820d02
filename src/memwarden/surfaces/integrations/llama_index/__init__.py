"""LlamaIndex adapter. Needs the package ``llama-index-core``."""

from memwarden.surfaces.integrations.llama_index.memory_block import MemwardenMemoryBlock

__all__ = ["MemwardenMemoryBlock"]
