"""A LangGraph agent with tools that remembers: each call of its model is a turn.

The graph's state holds the conversation of one thread and survives a restart; what was said in other threads is found
by the turn and put before the model. Each line is a message; the end of the input ends the chat.

    pip install '.[langgraph]' langchain-openai
    OPENAI_API_KEY=... python examples/langgraph_agent.py agent.db monday

OPENAI_BASE_URL names another server that speaks OpenAI's protocol, MODEL another model.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from langchain_core.messages import HumanMessage, convert_to_openai_messages
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from memwarden import BoundScope, MemwardenSaver, Warden

MODEL = os.environ.get("MODEL", "gpt-5-mini")
NUTS = {"almond cake": "almonds", "carrot cake": "walnuts", "sponge cake": "none"}


@tool
def nuts_in(cake: str) -> str:
    """Say what nuts a cake of ours holds."""
    return NUTS.get(cake.lower(), f"we bake: {', '.join(NUTS)}")


def build(warden: Warden, me: BoundScope) -> Any:
    """The graph: the agent and its tools."""
    model = ChatOpenAI(model=MODEL).bind_tools([nuts_in])

    def agent(state: MessagesState) -> dict[str, Any]:
        with me.turn(convert_to_openai_messages(state["messages"])) as turn:
            answer = model.invoke(turn.messages)
            turn.record_response(answer)
        return {"messages": [answer]}

    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode([nuts_in]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition)
    builder.add_edge("tools", "agent")
    return builder.compile(checkpointer=MemwardenSaver(warden.scope(user=me.who.user)))


def main(file: str, thread: str) -> None:
    """Talk in a thread until the input ends."""
    with Warden.open(f"sqlite:///{file}") as warden:
        graph = build(warden, warden.scope(user="ana", thread=thread))
        for line in filter(None, map(str.strip, sys.stdin)):
            state = graph.invoke({"messages": [HumanMessage(line)]}, {"configurable": {"thread_id": thread}})
            print(state["messages"][-1].text)


if __name__ == "__main__":
    if len(sys.argv) != 3 or not os.environ.get("OPENAI_API_KEY"):
        sys.exit("usage: OPENAI_API_KEY=... python examples/langgraph_agent.py FILE THREAD")
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:  # Ctrl-C
        sys.exit(130)
