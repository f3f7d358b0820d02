"""Writes through adapters, in a process of its own: ``writers.py STORE NAME WRITES ADAPTER ...``.

A line on stdout names each write that was acknowledged: the adapter and the text.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import random
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from memwarden import AsyncWarden, MemwardenSession
from memwarden.compat.mem0 import AsyncMemory

CONFIG = {"embedder": "none", "merging": "off"}
ALL = 100_000
# Seconds. A write of a busy machine that is cancelled before or after it was done.
MOST_BEFORE_CANCEL = 0.02


@dataclass(frozen=True)
class Adapter:
    """What an adapter writes and reads. package: that it needs."""

    package: str | None
    write: Callable[[AsyncWarden, str], Awaitable[object]]
    read: Callable[[AsyncWarden], Awaitable[list[str]]]


async def read_turns(warden: AsyncWarden, user: str, tenant: str = "default") -> list[str]:
    scope = warden.scope(user=user, tenant=tenant)
    return [turn.text for turn in await scope.find({"channel": "turn", "role": "user"}, limit=ALL)]


def a_session(warden: AsyncWarden) -> MemwardenSession:
    return MemwardenSession("s", warden.scope(user="session"))


async def write_session(warden: AsyncWarden, text: str) -> None:
    await a_session(warden).add_items([{"role": "user", "content": text}])


async def read_session(warden: AsyncWarden) -> list[str]:
    return [item["content"] for item in await a_session(warden).get_items()]


async def write_mem0(warden: AsyncWarden, text: str) -> None:
    await AsyncMemory(warden=warden).add(text, user_id="mem0")


async def read_mem0(warden: AsyncWarden) -> list[str]:
    found = await AsyncMemory(warden=warden).get_all(filters={"user_id": "mem0"}, top_k=ALL)
    return [item["memory"] for item in found["results"]]


async def write_folder(warden: AsyncWarden, text: str) -> None:
    from memwarden import MemoryFolder

    command = {"command": "create", "path": f"/memories/{text}.txt", "file_text": text}
    await MemoryFolder(warden.scope(user="folder")).run(command)


async def read_folder(warden: AsyncWarden) -> list[str]:
    from memwarden import MemoryFolder

    listed = await MemoryFolder(warden.scope(user="folder")).run({"command": "view", "path": "/memories"})
    return [line.rpartition("/")[2].removesuffix(".txt") for line in listed.splitlines() if line.endswith(".txt")]


async def write_item(warden: AsyncWarden, text: str) -> None:
    from memwarden import MemwardenStore

    await MemwardenStore(warden.scope(user="store")).aput(("notes",), text, {"text": text})


async def read_items(warden: AsyncWarden) -> list[str]:
    from memwarden import MemwardenStore

    found = await MemwardenStore(warden.scope(user="store")).asearch(("notes",), limit=ALL)
    return [item.value["text"] for item in found]


async def write_bytes(warden: AsyncWarden, text: str) -> None:
    from memwarden import MemwardenByteStore

    await MemwardenByteStore(warden.scope(user="bytes")).amset([(text, text.encode())])


async def read_bytes(warden: AsyncWarden) -> list[str]:
    from memwarden import MemwardenByteStore

    return [key async for key in MemwardenByteStore(warden.scope(user="bytes")).ayield_keys()]


async def run_langchain(warden: AsyncWarden, text: str) -> None:
    from langchain.agents import create_agent
    from langchain_core.language_models import FakeListChatModel

    from memwarden import MemwardenMiddleware

    agent: Any = create_agent(
        FakeListChatModel(responses=["Noted."]), middleware=[MemwardenMiddleware(warden.scope(user="langchain"))]
    )
    await agent.ainvoke({"messages": [{"role": "user", "content": text}]}, {"configurable": {"thread_id": text}})


async def run_pydantic_ai(warden: AsyncWarden, text: str) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    from memwarden import MemwardenCapability

    await Agent(TestModel(), capabilities=[MemwardenCapability(warden.scope(user="pydantic-ai"))]).run(text)


async def write_llama_index(warden: AsyncWarden, text: str) -> None:
    from llama_index.core.base.llms.types import ChatMessage

    from memwarden import MemwardenMemoryBlock

    block = MemwardenMemoryBlock(warden.scope(user="llama-index"))
    await block.aput([ChatMessage(role="user", content=text)], session_id="s")


PLACE: dict[str, Any] = {"app_name": "shop", "user_id": "adk"}


def make_event(text: str) -> Any:
    from google.adk.events import Event
    from google.genai import types

    return Event(id=text, author="user", content=types.Content(role="user", parts=[types.Part(text=text)]))


async def write_adk_memory(warden: AsyncWarden, text: str) -> None:
    from memwarden import MemwardenMemoryService

    await MemwardenMemoryService(warden).add_events_to_memory(**PLACE, session_id="m", events=[make_event(text)])


async def write_adk_session(warden: AsyncWarden, text: str) -> None:
    from google.adk.errors.already_exists_error import AlreadyExistsError

    from memwarden import MemwardenSessionService

    service, named = MemwardenSessionService(warden, observe=False), PLACE | {"session_id": "s"}
    with contextlib.suppress(AlreadyExistsError):
        await service.create_session(**named)
    await service.append_event(await service.get_session(**named), make_event(text))


async def read_adk_session(warden: AsyncWarden) -> list[str]:
    from memwarden import MemwardenSessionService

    session = await MemwardenSessionService(warden).get_session(**PLACE, session_id="s")
    assert session is not None
    return [event.id for event in session.events]


TRANSCRIPT = {"project_key": "shop", "session_id": "s"}


async def write_transcript(warden: AsyncWarden, text: str) -> None:
    from memwarden import MemwardenSessionStore

    store = MemwardenSessionStore(warden.scope(user="transcript"))
    await store.append(TRANSCRIPT, [{"type": "user", "uuid": text, "message": {"role": "user", "content": text}}])


async def read_transcript(warden: AsyncWarden) -> list[str]:
    from memwarden import MemwardenSessionStore

    entries = await MemwardenSessionStore(warden.scope(user="transcript")).load(TRANSCRIPT)
    return [entry["uuid"] for entry in entries or ()]


async def write_litellm(warden: AsyncWarden, text: str) -> None:
    from memwarden import MemwardenCallback

    call = {"messages": [{"role": "user", "content": text}], "litellm_call_id": text}
    await MemwardenCallback(warden.scope(user="litellm")).async_pre_call_deployment_hook(call, "acompletion")


async def write_agent_framework(warden: AsyncWarden, text: str) -> None:
    from agent_framework import AgentSession, Message, SessionContext

    from memwarden import MemwardenContextProvider

    provider, session = MemwardenContextProvider(warden.scope(user="agent-framework")), AgentSession(session_id="s")
    context = SessionContext(session_id="s", input_messages=[Message("user", [text])])
    await provider.before_run(agent=None, session=session, context=context, state={})


async def write_agno(warden: AsyncWarden, text: str) -> None:
    from agno.run import RunContext
    from agno.run.agent import RunInput

    from memwarden import MemwardenHooks

    hooks, context = MemwardenHooks(warden.scope(user="agno")), RunContext(run_id=text, session_id="s")
    await hooks.before_run(RunInput(text), context)


async def run_ag2(warden: AsyncWarden, text: str) -> None:
    from ag2 import Agent
    from ag2.testing import TestConfig

    from memwarden import MemwardenTurnMiddleware

    memory = MemwardenTurnMiddleware(warden.scope(user="ag2"))
    await Agent("helper", config=TestConfig("Noted."), middleware=[memory]).ask(text)


async def write_crewai(warden: AsyncWarden, text: str) -> None:
    from memwarden import MemwardenCrewCallbacks

    # CrewAI runs a crew in a thread, where it calls the callback.
    memory = MemwardenCrewCallbacks(warden.scope(user="crewai"))
    await asyncio.to_thread(memory.before_kickoff, {"message": text})


ADAPTERS = {
    "openai agents": Adapter(None, write_session, read_session),
    "mem0": Adapter(None, write_mem0, read_mem0),
    "anthropic": Adapter("anthropic", write_folder, read_folder),
    "langgraph": Adapter("langgraph", write_item, read_items),
    "langchain bytes": Adapter("langchain_core", write_bytes, read_bytes),
    "langchain agent": Adapter("langchain", run_langchain, lambda warden: read_turns(warden, "langchain")),
    "pydantic ai": Adapter("pydantic_ai", run_pydantic_ai, lambda warden: read_turns(warden, "pydantic-ai")),
    "claude agent": Adapter(None, write_transcript, read_transcript),
    "llama index": Adapter("llama_index", write_llama_index, lambda warden: read_turns(warden, "llama-index")),
    "litellm": Adapter("litellm", write_litellm, lambda warden: read_turns(warden, "litellm")),
    "agent framework": Adapter(
        "agent_framework", write_agent_framework, lambda warden: read_turns(warden, "agent-framework")
    ),
    "ag2": Adapter("ag2", run_ag2, lambda warden: read_turns(warden, "ag2")),
    "agno": Adapter("agno", write_agno, lambda warden: read_turns(warden, "agno")),
    "crewai": Adapter("crewai", write_crewai, lambda warden: read_turns(warden, "crewai")),
    "adk memory": Adapter("google.adk", write_adk_memory, lambda warden: read_turns(warden, "adk", "shop")),
    "adk sessions": Adapter("google.adk", write_adk_session, read_adk_session),
}


def is_installed(name: str) -> bool:
    package = ADAPTERS[name].package
    try:
        return package is None or importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


async def write_all(url: str, writer: str, rounds: int, names: Sequence[str]) -> None:
    """Write with each adapter in turn. Every fourth write is cancelled on its way."""
    chance = random.Random(writer)
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        for number in range(rounds):
            for name in names:
                text = f"{writer}-{number}"
                task = asyncio.ensure_future(ADAPTERS[name].write(warden, text))
                if number % 4 == 3:
                    await asyncio.wait([task], timeout=chance.random() * MOST_BEFORE_CANCEL)
                    task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
                    sys.stdout.write(f"{name}\t{text}\n")
                    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(write_all(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]))
