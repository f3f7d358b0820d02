"""memwarden: the memory of LLM agents. What to load, what to keep, and why.

>>> from memwarden import Warden
>>> with Warden.open("sqlite:///notes.db") as warden:
...     me = warden.scope(user="ana", thread="t1")
...     me.observe([{"role": "user", "content": "I am allergic to peanuts."}])
...     print(me.query("What can't I eat?").text)

Every public name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from memwarden.agent.overseer import OverseerSettings
    from memwarden.agent.plain_sessions import SessionMemory
    from memwarden.agent.tools import AsyncTools
    from memwarden.api.blocking import BoundScope, Warden
    from memwarden.api.context_store import ContextStore
    from memwarden.api.scope import AsyncScope
    from memwarden.api.warden import AsyncWarden
    from memwarden.conversation.chat import Action
    from memwarden.conversation.prompt_cache import PrefixMeter
    from memwarden.conversation.settings import ChatSettings
    from memwarden.conversation.upstreams import anthropic, openai_chat, openai_responses
    from memwarden.errors import (
        CategoryDenied,
        Conflict,
        InvalidInput,
        MemwardenError,
        NotFound,
        NotKept,
        StoreError,
        UnknownAgent,
    )
    from memwarden.recall.answer.render import format_context
    from memwarden.recall.answer.template import Template
    from memwarden.records import Memory, Scope
    from memwarden.remember.imports.source import ImportOptions
    from memwarden.security.injection import find_suspicion
    from memwarden.security.injection.detector import redact_orders
    from memwarden.security.secrets import redact
    from memwarden.settings import Settings
    from memwarden.surfaces.integrations.adk import MemwardenMemoryService as MemwardenMemoryService
    from memwarden.surfaces.integrations.adk import MemwardenSessionService as MemwardenSessionService
    from memwarden.surfaces.integrations.ag2 import MemwardenTurnMiddleware as MemwardenTurnMiddleware
    from memwarden.surfaces.integrations.agent_framework import MemwardenContextProvider as MemwardenContextProvider
    from memwarden.surfaces.integrations.agno import MemwardenHooks as MemwardenHooks
    from memwarden.surfaces.integrations.anthropic import AsyncMemwardenMemoryTool as AsyncMemwardenMemoryTool
    from memwarden.surfaces.integrations.anthropic import MemoryFolder as MemoryFolder
    from memwarden.surfaces.integrations.anthropic import MemwardenMemoryTool as MemwardenMemoryTool
    from memwarden.surfaces.integrations.claude_agent import MemwardenSessionStore as MemwardenSessionStore
    from memwarden.surfaces.integrations.crewai import MemwardenCrewCallbacks as MemwardenCrewCallbacks
    from memwarden.surfaces.integrations.langchain import MemwardenByteStore as MemwardenByteStore
    from memwarden.surfaces.integrations.langchain import MemwardenMiddleware as MemwardenMiddleware
    from memwarden.surfaces.integrations.langchain import MemwardenRetriever as MemwardenRetriever
    from memwarden.surfaces.integrations.langchain import as_langchain_tools as as_langchain_tools
    from memwarden.surfaces.integrations.langgraph import MemwardenSaver as MemwardenSaver
    from memwarden.surfaces.integrations.langgraph import MemwardenStore as MemwardenStore
    from memwarden.surfaces.integrations.langgraph import acopy_from_memory as acopy_from_memory
    from memwarden.surfaces.integrations.langgraph import copy_from_memory as copy_from_memory
    from memwarden.surfaces.integrations.litellm import MemwardenCallback as MemwardenCallback
    from memwarden.surfaces.integrations.llama_index import MemwardenMemoryBlock as MemwardenMemoryBlock
    from memwarden.surfaces.integrations.openai_agents import MemwardenSession as MemwardenSession
    from memwarden.surfaces.integrations.pydantic_ai import MemwardenCapability as MemwardenCapability
    from memwarden.surfaces.integrations.strands import MemwardenSessionManager as MemwardenSessionManager
    from memwarden.text.dates.recognizer import asked_spans, spans_in
    from memwarden.tiers import ContextItem, ContextRequest, FailureSignature, Profile, Task

__version__ = "0.1.0"
__all__ = [
    "Action",
    "AsyncScope",
    "AsyncTools",
    "AsyncWarden",
    "BoundScope",
    "CategoryDenied",
    "ChatSettings",
    "Conflict",
    "ContextItem",
    "ContextRequest",
    "ContextStore",
    "FailureSignature",
    "ImportOptions",
    "InvalidInput",
    "Memory",
    "MemwardenError",
    "NotFound",
    "NotKept",
    "OverseerSettings",
    "PrefixMeter",
    "Profile",
    "Scope",
    "SessionMemory",
    "Settings",
    "StoreError",
    "Task",
    "Template",
    "UnknownAgent",
    "Warden",
    "__version__",
    "anthropic",
    "asked_spans",
    "find_suspicion",
    "format_context",
    "openai_chat",
    "openai_responses",
    "redact",
    "redact_orders",
    "spans_in",
]

_MODULES: Final = {
    "agent.overseer": ("OverseerSettings",),
    "agent.plain_sessions": ("SessionMemory",),
    "agent.tools": ("AsyncTools",),
    "api.blocking": ("BoundScope", "Warden"),
    "api.context_store": ("ContextStore",),
    "api.scope": ("AsyncScope",),
    "api.warden": ("AsyncWarden",),
    "conversation.chat": ("Action",),
    "conversation.prompt_cache": ("PrefixMeter",),
    "conversation.settings": ("ChatSettings",),
    "conversation.upstreams": ("anthropic", "openai_chat", "openai_responses"),
    "errors": (
        "CategoryDenied", "Conflict", "InvalidInput", "MemwardenError", "NotFound", "NotKept", "StoreError",
        "UnknownAgent",
    ),
    "recall.answer.render": ("format_context",),
    "recall.answer.template": ("Template",),
    "records": ("Memory", "Scope"),
    "remember.imports.source": ("ImportOptions",),
    "security.injection": ("find_suspicion",),
    "security.injection.detector": ("redact_orders",),
    "security.secrets": ("redact",),
    "settings": ("Settings",),
    # Adapters of frameworks, most of which need an extra, are not in __all__.
    "surfaces.integrations.adk": ("MemwardenMemoryService", "MemwardenSessionService"),
    "surfaces.integrations.ag2": ("MemwardenTurnMiddleware",),
    "surfaces.integrations.agent_framework": ("MemwardenContextProvider",),
    "surfaces.integrations.agno": ("MemwardenHooks",),
    "surfaces.integrations.anthropic": ("AsyncMemwardenMemoryTool", "MemoryFolder", "MemwardenMemoryTool"),
    "surfaces.integrations.claude_agent": ("MemwardenSessionStore",),
    "surfaces.integrations.crewai": ("MemwardenCrewCallbacks",),
    "surfaces.integrations.langchain": (
        "MemwardenByteStore", "MemwardenMiddleware", "MemwardenRetriever", "as_langchain_tools",
    ),
    "surfaces.integrations.langgraph": (
        "MemwardenSaver", "MemwardenStore", "acopy_from_memory", "copy_from_memory",
    ),
    "surfaces.integrations.litellm": ("MemwardenCallback",),
    "surfaces.integrations.llama_index": ("MemwardenMemoryBlock",),
    "surfaces.integrations.openai_agents": ("MemwardenSession",),
    "surfaces.integrations.pydantic_ai": ("MemwardenCapability",),
    "surfaces.integrations.strands": ("MemwardenSessionManager",),
    "text.dates.recognizer": ("asked_spans", "spans_in"),
    "tiers": ("ContextItem", "ContextRequest", "FailureSignature", "Profile", "Task"),
}  # fmt: skip
LAZY_NAMES: Final = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in LAZY_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{LAZY_NAMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *LAZY_NAMES})
