"""Our memory block inside LlamaIndex's memory and agents. Run by ``make adapters``."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.memory import Memory
from pydantic import Field

from memwarden import AsyncWarden, MemwardenMemoryBlock, Warden

CONFIG = {"embedder": "none"}
FACT, OTHER, QUESTION = "I am allergic to peanuts.", "My sister Maria lives in Lyon.", "What am I allergic to?"


class EchoModel(CustomLLM):  # type: ignore[misc]
    """Stands in for a paid model: it keeps what it was given."""

    prompts: list[str] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="echo")

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        self.prompts.append(prompt)
        return CompletionResponse(text="Thought: I can answer.\nAnswer: Noted.")

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        yield self.complete(prompt)


async def said_in(warden: AsyncWarden, user: str, thread: str) -> list[tuple[str | None, str]]:
    where = {"channel": "turn", "thread_id": thread}
    turns = await warden.scope(user=user).find(where, order_by="written", descending=False, limit=10_000)
    return [(turn.role, turn.text) for turn in turns]


async def run(model: EchoModel, warden: AsyncWarden, user: str, session: str, message: str) -> None:
    block = MemwardenMemoryBlock(warden.scope(user=user))
    memory = Memory.from_defaults(session_id=session, memory_blocks=[block])
    agent = ReActAgent(llm=model, tools=[], system_prompt="Be brief.", streaming=False)
    assert str(await agent.run(message, memory=memory)) == "Noted."


async def test_the_first_session_is_in_the_prompt_of_the_third(tmp_path: Path) -> None:
    model = EchoModel()
    for day, text in (("monday", FACT), ("tuesday", OTHER), ("friday", QUESTION)):
        async with AsyncWarden.open(f"sqlite:///{tmp_path / 'm.db'}", config=CONFIG) as warden:
            await run(model, warden, "ana", day, text)
            await run(model, warden, "bob", day, QUESTION)
            said = await said_in(warden, "ana", day)
            assert said[0] == ("user", text)
            assert "Noted." in said[-1][1]
    assert "Be brief." in model.prompts[4]
    assert FACT in model.prompts[4]
    assert not [prompt for prompt in model.prompts[1::2] if "peanuts" in prompt or "Lyon" in prompt]


def spoken(messages: Sequence[ChatMessage]) -> list[tuple[str, str]]:
    return [(message.role.value, str(message.content)) for message in messages]


@pytest.mark.parametrize("reads", [0.2, 0], ids=["read", "never read"])
@pytest.mark.parametrize(("engine", "steps"), [("sqlite", 2_000), ("memory", 250), ("postgresql", 250)])
async def test_messages_are_stored_once_as_in_llama_indexs_own_store(engine_url: str, steps: int, reads: float) -> None:
    """A small queue hands most messages on to the block, some of which it has stored when it was read."""
    chance = random.Random(7)
    async with AsyncWarden.open(engine_url, config=CONFIG) as warden:
        block = MemwardenMemoryBlock(warden.scope(user="ana"))
        memory = Memory.from_defaults(session_id="s", token_limit=300, token_flush_size=60, memory_blocks=[block])
        for step in range(steps):
            role = "user" if step % 2 == 0 else "assistant"
            text = chance.choice((f"Number {step} is {chance.random()}.", "Yes.", f"\U0001f600 {step}"))
            await memory.aput(ChatMessage(role=role, content=text))
            if chance.random() < reads:
                await memory.aget()
        await memory.aget()
        theirs = spoken(await memory.aget_all(status=None))
        assert len(theirs) == steps
        assert await said_in(warden, "ana", "s") == theirs


async def test_a_message_with_a_secret_is_stored_once_and_the_same_answer_twice() -> None:
    def message(text: str) -> ChatMessage:
        return ChatMessage(role="user", content=text, additional_kwargs={"session_id": "s"})

    secret = "  My password is hunter2-Xy99!zz and the key is AKIAIOSFODNN7EXAMPLE  "
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        block = MemwardenMemoryBlock(warden.scope(user="ana"))
        await block.aget([message(secret)], session_id="s")
        for text in (secret, "Yes.", "Yes."):
            await block.aput([message(text)], from_short_term_memory=True, session_id="s")
        said = [text for _, text in await said_in(warden, "ana", "s")]
        assert len(said) == 3
        assert "password" in said[0]
        assert said[1:] == ["Yes.", "Yes."]


def test_a_blocking_warden_serves_the_blocking_memory(tmp_path: Path) -> None:
    with Warden.open(f"sqlite:///{tmp_path / 'm.db'}", config=CONFIG) as warden:
        warden.scope(user="ana").observe(FACT)
        block = MemwardenMemoryBlock(warden.scope(user="ana"), name="known")
        memory = Memory.from_defaults(session_id="s", memory_blocks=[block])
        memory.put(ChatMessage(role="user", content=QUESTION))
        first, last = memory.get()
        assert first.role.value == "system"
        assert "<known>" in str(first.content)
        assert FACT in str(first.content)
        assert last.content == QUESTION
