"""An agent with long-term memory: a LangGraph graph whose tools write to and search a store that memwarden keeps.

Run it twice: the second time it knows what it was told the first time. Where a chat model would be there is a script,
so that it runs without a key: put yours in its place.

    pip install '.[langgraph]'
    python examples/langgraph_memory.py notes.db
    python examples/langgraph_memory.py notes.db
"""

from __future__ import annotations

import sys
from typing import Annotated, Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedStore, ToolNode, tools_condition
from langgraph.store.base import BaseStore

from memwarden import MemwardenStore, Warden

MEMORIES = ("memories",)


@tool
def remember(text: str, store: Annotated[BaseStore, InjectedStore()]) -> str:
    """Keep something about the user for later conversations."""
    store.put(MEMORIES, str(uuid4()), {"text": text})
    return f"Kept: {text}"


@tool
def search_memory(query: str, store: Annotated[BaseStore, InjectedStore()]) -> str:
    """Search what is known about the user."""
    found = store.search(MEMORIES, query=query, limit=2)
    return "\n".join(item.value["text"] for item in found) or "Nothing is known."


def scripted_model(messages: list[AnyMessage]) -> AIMessage:
    """Stand in for a chat model that calls tools: questions are searched for, statements kept, results said again."""
    last = messages[-1]
    if isinstance(last, ToolMessage):
        return AIMessage(str(last.content))
    text = str(last.content)
    name, given = ("search_memory", {"query": text}) if text.endswith("?") else ("remember", {"text": text})
    return AIMessage("", tool_calls=[{"name": name, "args": given, "id": str(uuid4())}])


def agent(state: MessagesState) -> dict[str, Any]:
    return {"messages": [scripted_model(state["messages"])]}


def build(store: BaseStore) -> Any:
    """The graph: the agent and its tools, which get the store."""
    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode([remember, search_memory]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition)
    builder.add_edge("tools", "agent")
    return builder.compile(store=store)


def main(file: str) -> None:
    with Warden.open(f"sqlite:///{file}") as warden:
        store = MemwardenStore(warden.scope(user="ana"), index={"fields": ["text"]})
        known = store.search(MEMORIES)
        said = "What food does she like?" if known else "Ana loves Italian food, pasta above all."
        answer = build(store).invoke({"messages": [HumanMessage(said)]})
        print(f"{said} -> {answer['messages'][-1].content}")


if __name__ == "__main__":
    main(sys.argv[1])
