"""The tools of a scope inside LangChain's own agent, with a scripted model that reads their schemas."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from memwarden import AsyncWarden, Warden, as_langchain_tools
from memwarden.errors import InvalidInput

CONFIG = {"embedder": "none"}


class ScriptedModel(BaseChatModel):
    """Keeps what a message begins with "Keep:", searches for anything else, and answers with what a tool said."""

    offered: list[dict[str, Any]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        self.offered[:] = [convert_to_openai_tool(tool)["function"] for tool in tools]
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            answer = json.loads(str(last.content))
            found = "; ".join(item["text"] for item in answer.get("results", ()))
            said = AIMessage(found or answer.get("error") or answer.get("outcome") or "nothing")
        else:
            text = str(last.content)
            keep = text.startswith("Keep:")
            name = "createMemory" if keep else "searchMemories"
            given = {"content": text.removeprefix("Keep: ")} if keep else {"query": text}
            said = AIMessage("", tool_calls=[{"name": name, "args": given, "id": "call-1", "type": "tool_call"}])
        return ChatResult(generations=[ChatGeneration(message=said)])


def an_agent(model: ScriptedModel, tools: Any, **options: Any) -> Any:
    return create_agent(model, as_langchain_tools(tools, **options))


def said(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def run_of(user: str | None, thread: str = "t1") -> Any:
    named = {} if user is None else {"user_id": user}
    return {"configurable": {"thread_id": thread, **named}}


def last_of(answer: dict[str, Any]) -> str:
    return str(answer["messages"][-1].content)


def test_an_agent_keeps_and_finds_with_the_tools_of_a_scope(url: str) -> None:
    with Warden.open(url, config=CONFIG) as warden:
        me, model = warden.scope(user="ana"), ScriptedModel()
        agent = an_agent(model, me.tools(only=["searchMemories", "createMemory"]))
        assert last_of(agent.invoke(said("Keep: Ana keeps two zebras in Graz."))) == "created"
        assert "two zebras in Graz" in last_of(agent.invoke(said("How many zebras does Ana keep in Graz?")))
        assert [memory.text for memory in me.find()] == ["Ana keeps two zebras in Graz."]
        other = an_agent(model, warden.scope(user="bob").tools())
        assert "zebras" not in last_of(other.invoke(said("How many zebras does Ana keep in Graz?")))


async def test_an_agent_is_awaited_over_either_warden(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with Warden.open(url, config=CONFIG) as warden:
        agent = an_agent(ScriptedModel(), warden.scope(user="ana").tools())
        assert last_of(await agent.ainvoke(said("Keep: Ana keeps two zebras in Graz."))) == "created"
    async with AsyncWarden.open(url, config=CONFIG) as opened:
        agent = an_agent(ScriptedModel(), opened.scope(user="ana").tools())
        assert "zebras" in last_of(await agent.ainvoke(said("How many zebras does Ana keep in Graz?")))


def test_the_model_is_offered_the_schemas_and_reads_what_was_wrong() -> None:
    with Warden.open("memory://", config=CONFIG) as warden:
        me, model = warden.scope(user="ana"), ScriptedModel()
        agent = an_agent(model, me.tools())
        assert "greeting" in last_of(agent.invoke(said("Keep: Thanks!")))
        by_name = {tool["name"]: tool for tool in model.offered}
        assert by_name.keys() == {tool["function"]["name"] for tool in me.tools().openai()}
        for tool in me.tools().openai():
            wanted = tool["function"]
            assert by_name[wanted["name"]]["parameters"]["required"] == wanted["parameters"]["required"]
            assert by_name[wanted["name"]]["parameters"]["properties"] == wanted["parameters"]["properties"]
        only_read = as_langchain_tools(me.tools("read"))
        assert {tool.metadata["permission"] for tool in only_read if tool.metadata} == {"read"}
        assert "createMemory" not in {tool.name for tool in only_read}
        with pytest.raises(InvalidInput, match=r"scope\.tools"):
            as_langchain_tools(me)


def test_an_agent_that_is_made_once_serves_whom_each_run_names(url: str) -> None:
    with Warden.open(url, config=CONFIG) as warden:
        agent = an_agent(ScriptedModel(), warden, user_from="user_id")
        assert last_of(agent.invoke(said("Keep: Ana keeps two zebras in Graz."), run_of("ana", "monday"))) == "created"
        asked = said("How many zebras does Ana keep in Graz?")
        assert "two zebras" in last_of(agent.invoke(asked, run_of("ana")))
        assert "zebras" not in last_of(agent.invoke(asked, run_of("bob")))
        (kept,) = warden.scope(user="ana").find()
        assert (kept.user_id, kept.thread_id) == ("ana", "monday")
        with pytest.raises(InvalidInput, match="user_id"):
            agent.invoke(asked, run_of(None))


async def test_an_agent_that_serves_many_is_awaited(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        agent = an_agent(ScriptedModel(), warden, user_from="user_id")
        await agent.ainvoke(said("Keep: Ana keeps two zebras in Graz."), run_of("ana"))
        assert [memory.text for memory in await warden.scope(user="ana").find()] == ["Ana keeps two zebras in Graz."]
        assert await warden.scope(user="bob").find() == []


def test_what_cannot_serve_many_is_refused() -> None:
    with Warden.open("memory://", config=CONFIG) as warden:
        me = warden.scope(user="ana")
        (search,) = as_langchain_tools(warden, user_from="user_id", permission="read", only=["searchMemories"])
        assert search.name == "searchMemories"
        with pytest.raises(InvalidInput, match="single user"):
            as_langchain_tools(me.tools(), user_from="user_id")
        with pytest.raises(InvalidInput, match="user_from="):
            as_langchain_tools(warden)
