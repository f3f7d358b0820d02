"""A LangGraph agent whose every run comes to the same end, and what its saver was told to be saved.

The model is scripted, since a real one would say something else each time; graph, tools, interrupts and saver are real.
In each round two tools are called side by side, one of them asks a person, and a subgraph writes a report.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from operator import add
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Send, interrupt

from memwarden.surfaces.integrations.langgraph import MemwardenSaver

ROUNDS = 3
Noted = dict[str, Any]


class State(TypedDict):
    """What the agent holds between its steps."""

    messages: Annotated[list[AnyMessage], add_messages]
    memory_context: str
    reports: Annotated[list[str], add]


@tool
def note(number: int) -> str:
    """Note something."""
    return f"noted {number} " + "x" * 500


@tool
def book(number: int) -> str:
    """Book something, once a person agrees."""
    return f"booked {number}: {interrupt(f'book {number}?')}"


def model(state: State) -> dict[str, Any]:
    """What the scripted model says: two calls to a question, an answer once the tools have answered."""
    last = state["messages"][-1]
    if isinstance(last, ToolMessage):
        return {"messages": [AIMessage("done")]}
    number = len(state["reports"])
    calls = [{"name": name, "args": {"number": number}, "id": f"{name}-{number}"} for name in ("note", "book")]
    return {"messages": [AIMessage("", tool_calls=calls)], "memory_context": f"round {number}"}


def next_step(state: State) -> list[Send] | str:
    """Each tool call is a task of its own; then the report."""
    last = state["messages"][-1]
    assert isinstance(last, AIMessage)
    return [
        Send("tools", {"messages": [AIMessage("", tool_calls=[tool_call])]}) for tool_call in last.tool_calls
    ] or "reporter"


def build(saver: Any) -> Any:
    """The agent, with a subgraph of two steps in it."""
    reporter = StateGraph(State)
    reporter.add_node("count", lambda state: {"memory_context": f"{len(state['messages'])} messages"})
    reporter.add_node("write", lambda state: {"reports": [f"report {len(state['reports'])}"]})
    reporter.add_edge(START, "count")
    reporter.add_edge("count", "write")
    inner = reporter.compile()

    async def report(state: State) -> dict[str, Any]:
        made = await inner.ainvoke(state)
        return {"reports": made["reports"][-1:], "memory_context": made["memory_context"]}

    graph = StateGraph(State)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([note, book]))
    graph.add_node("reporter", report)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", next_step, ["tools", "reporter"])
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=saver)


def expected(rounds: int) -> list[str]:
    """The contents of all messages after so many rounds."""
    said: list[str] = []
    for number in range(rounds):
        said += [f"round {number}", "", f"noted {number} " + "x" * 500, f"booked {number}: yes", "done"]
    return said


def contents(state: Any) -> list[str]:
    """The contents of a state's messages."""
    return [str(item.content) for item in state.values.get("messages", [])]


async def follow(graph: Any, thread: str, rounds: int = ROUNDS) -> None:
    """Bring a thread to the end of its rounds, from wherever it stands."""
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    while True:
        state = await graph.aget_state(config)
        if state.tasks:  # not next: a task whose writes are saved is no longer in it, though its step is not over
            asked = any(task.interrupts for task in state.tasks)
            given: Any = Command(resume="yes") if asked else None
        else:
            done = sum(isinstance(item, HumanMessage) for item in state.values.get("messages", []))
            if done == rounds:
                return
            given = {"messages": [HumanMessage(f"round {done}")]}
        await graph.ainvoke(given, config, durability="sync")


def seal(serde: Any, value: Any) -> str:
    """A short name of a value as it is written."""
    kind, data = serde.dumps_typed(value)
    return hashlib.sha256(kind.encode() + data).hexdigest()[:16]


def seal_of(serde: Any, tuple_: CheckpointTuple) -> str:
    """A short name of a checkpoint with its values, metadata and parent."""
    parent = (tuple_.parent_config or {}).get("configurable", {}).get("checkpoint_id")
    checkpoint: Any = dict(tuple_.checkpoint)
    checkpoint["channel_values"] = sorted(checkpoint["channel_values"].items())
    checkpoint["channel_versions"] = sorted(checkpoint["channel_versions"].items())
    checkpoint["versions_seen"] = sorted(
        (name, sorted(seen.items())) for name, seen in checkpoint["versions_seen"].items()
    )
    return seal(serde, [sorted(checkpoint.items()), sorted(dict(tuple_.metadata).items()), parent])


class NotingSaver(MemwardenSaver):
    """Notes what it was told is saved, after it was told.

    Args:
        noted: called with each note.
    """

    def __init__(self, warden: Any, noted: Callable[[str], None]) -> None:
        super().__init__(warden)
        self.noted = noted

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> RunnableConfig:
        named = config["configurable"]
        parent = named.get("checkpoint_id")
        given = CheckpointTuple(
            config, checkpoint, metadata, {"configurable": {"checkpoint_id": parent}} if parent else None
        )
        sealed = seal_of(self.serde, given)  # now, since messages get their ids later, in place
        kept = await super().aput(config, checkpoint, metadata, new_versions)
        self.noted(json.dumps({"kept": kept["configurable"], "seal": sealed}))
        return kept

    async def aput_writes(
        self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        named = {key: config["configurable"].get(key, "") for key in ("thread_id", "checkpoint_ns", "checkpoint_id")}
        sealed = [[channel, seal(self.serde, value)] for channel, value in writes]
        await super().aput_writes(config, writes, task_id, task_path)
        self.noted(json.dumps({"kept": named, "task": task_id, "writes": sealed}))


async def lost(saver: MemwardenSaver, notes: Sequence[Noted]) -> list[str]:
    """Return what was noted as saved and is not there, or is something else."""
    wrong = []
    for note in notes:
        found = await saver.aget_tuple({"configurable": note["kept"]})
        if found is None:
            if "seal" in note:
                wrong.append(f"LOST: checkpoint {note['kept']}")
        elif "seal" in note:
            if seal_of(saver.serde, found) != note["seal"]:
                wrong.append(f"OTHER: checkpoint {note['kept']}")
        else:
            there = [[channel, seal(saver.serde, value)] for task, channel, value in found.pending_writes or []]
            wrong += [f"LOST: write {write} of {note['kept']}" for write in note["writes"] if write not in there]
    return wrong


async def half(saver: MemwardenSaver) -> list[str]:
    """Return the checkpoints that lack a value which they should have, and those whose parent is not there."""
    wrong = []
    async for item in saver.alist(None):
        named, values = item.config["configurable"], item.checkpoint["channel_values"]
        asked = item.metadata.get("step", -1) >= 0 and named["checkpoint_ns"] == ""
        if asked and "messages" not in values:
            wrong.append(f"HALF: {named} has no messages")
        if item.parent_config is not None and await saver.aget_tuple(item.parent_config) is None:
            wrong.append(f"HALF: {named} has no parent")
    return wrong
