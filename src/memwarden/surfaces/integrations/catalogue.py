"""Catalogue of the adapters: what each offers, and which packages it needs."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple


class Adapter(NamedTuple):
    """An adapter of a framework.

    Attributes:
        framework: its name, as people write it.
        offers: names to import from ``module``.
        packages: distributions that it needs beside memwarden's own.
        install: words after ``pip install``, in a clone.
        page: file below ``docs/howto``.
    """

    framework: str
    module: str
    offers: tuple[str, ...]
    packages: tuple[str, ...]
    install: str
    page: str

    def missing(self) -> tuple[str, ...]:
        """Return the packages that are not installed."""
        return tuple(package for package in self.packages if not _is_installed(package))


ADAPTERS = (
    Adapter(
        "LangGraph", "memwarden", ("MemwardenSaver", "MemwardenStore"), ("langgraph", "langgraph-checkpoint", "orjson"),
        "'.[langgraph]'", "use-with-langgraph.md",
    ),
    Adapter(
        "LangChain", "memwarden", ("MemwardenRetriever", "MemwardenByteStore", "as_langchain_tools"),
        ("langchain-core",), "'.[langchain]'", "use-with-langchain.md",
    ),
    Adapter(
        "LangChain agents", "memwarden", ("MemwardenMiddleware",), ("langchain",), ". langchain",
        "use-with-langchain.md",
    ),
    Adapter(
        "OpenAI Agents SDK", "memwarden", ("MemwardenSession",), ("openai-agents",), ". openai-agents",
        "use-with-openai-agents.md",
    ),
    Adapter(
        "Claude Agent SDK", "memwarden", ("MemwardenSessionStore",), ("claude-agent-sdk",), ". claude-agent-sdk",
        "use-with-claude-agent-sdk.md",
    ),
    Adapter(
        "Pydantic AI", "memwarden", ("MemwardenCapability",), ("pydantic-ai-slim",), ". pydantic-ai-slim",
        "use-with-pydantic-ai.md",
    ),
    Adapter(
        "Strands Agents", "memwarden", ("MemwardenSessionManager",), ("strands-agents",), ". strands-agents",
        "use-with-strands.md",
    ),
    Adapter(
        "LlamaIndex", "memwarden", ("MemwardenMemoryBlock",), ("llama-index-core",), ". llama-index-core",
        "use-with-llama-index.md",
    ),
    Adapter(
        "LiteLLM", "memwarden", ("MemwardenCallback",), ("litellm",), ". litellm", "use-with-litellm.md",
    ),
    Adapter(
        "Microsoft Agent Framework", "memwarden", ("MemwardenContextProvider",), ("agent-framework-core",),
        ". agent-framework-core", "use-with-agent-framework.md",
    ),
    Adapter(
        "AG2", "memwarden", ("MemwardenTurnMiddleware",), ("ag2",), ". ag2", "use-with-ag2.md",
    ),
    Adapter(
        "Agno", "memwarden", ("MemwardenHooks",), ("agno",), ". agno", "use-with-agno.md",
    ),
    Adapter(
        "CrewAI", "memwarden", ("MemwardenCrewCallbacks",), ("crewai",), ". crewai", "use-with-crewai.md",
    ),
    Adapter(
        "Google ADK", "memwarden", ("MemwardenMemoryService", "MemwardenSessionService"), ("google-adk",),
        ". google-adk", "use-with-google-adk.md",
    ),
    Adapter(
        "Anthropic memory tool", "memwarden", ("MemwardenMemoryTool", "AsyncMemwardenMemoryTool", "MemoryFolder"),
        ("anthropic",), "'.[anthropic]'", "use-anthropics-memory-tool.md",
    ),
    Adapter(
        "mem0 client", "memwarden.compat.mem0", ("MemoryClient", "AsyncMemoryClient"), ("httpx2",), "'.[client]'",
        "use-mem0-calls.md",
    ),
    Adapter("mem0", "memwarden.compat.mem0", ("Memory", "AsyncMemory"), (), ".", "use-mem0-calls.md"),
)  # fmt: skip


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True
