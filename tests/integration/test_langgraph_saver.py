"""LangGraph's own conformance suite, and what a graph's states become in the store."""

from __future__ import annotations

import asyncio
import json
import pickle
import sqlite3
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, TypedDict

import psycopg
import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.report import ProgressCallbacks
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph

from agent import ROUNDS, build, contents, expected, follow
from memwarden import AsyncWarden, Warden
from memwarden.errors import InvalidInput
from memwarden.stores.shared.checkpoints import CheckpointKey, SavedCheckpoint
from memwarden.surfaces.integrations.langgraph import MemwardenSaver, acopy_from_memory, copy_from_memory
from memwarden.testing import run_on_loop

PAGE = 100

CAPABILITIES = {
    "put": 17,
    "put_writes": 10,
    "get_tuple": 10,
    "list": 16,
    "delete_thread": 5,
    "delete_for_runs": 7,
    "copy_thread": 8,
    "prune": 8,
}
"""What LangGraph's suite has to find and how many tests of each; it says nothing of what it does not find."""


@pytest.mark.parametrize("kind", ["warden", "async warden", "scope", "async scope"])
async def test_langgraphs_own_conformance_suite(url: str, kind: str) -> None:
    seen: dict[str, list[str]] = {}

    @checkpointer_test(name="MemwardenSaver")
    async def ours() -> AsyncIterator[MemwardenSaver]:
        if kind.startswith("async"):
            async with AsyncWarden.open(url, config={"embedder": "none"}) as warden:
                yield MemwardenSaver(warden if kind == "async warden" else warden.scope(tenant="t", user="ann"))
        else:
            blocking = await asyncio.to_thread(Warden.open, url, {"embedder": "none"})
            with blocking:
                yield MemwardenSaver(blocking if kind == "warden" else blocking.scope(user="ann"))

    def note(capability: str, test: str, passed: bool, error: str | None) -> None:
        assert passed, f"{test}: {error}"
        seen.setdefault(capability, []).append(test)

    report = await validate(ours, progress=ProgressCallbacks(on_test_result=note))
    assert {name: len(tests) for name, tests in seen.items()} == CAPABILITIES
    assert {name for name, result in report.results.items() if result.detected and result.passed} == set(CAPABILITIES)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store of each kind that keeps states of agents."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'store.db'}"


def test_a_store_that_would_forget_them_is_refused(tmp_path: Path) -> None:
    with (
        Warden.open(f"json:///{tmp_path / 'folder'}", {"embedder": "none"}) as warden,
        pytest.raises(InvalidInput, match="JsonStore keeps memories durably, but no states of agents"),
    ):
        MemwardenSaver(warden)


ANN: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


def a_checkpoint(values: dict[str, Any], **changes: Any) -> Checkpoint:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = values
    checkpoint["channel_versions"] = dict.fromkeys(values, "1")
    return {**checkpoint, **changes}  # type: ignore[typeddict-item]  # only its own keys


def put(saver: MemwardenSaver, values: dict[str, Any], config: Any = ANN, **metadata: Any) -> Any:
    checkpoint = a_checkpoint(values)
    return saver.put(config, checkpoint, {"step": 0, **metadata}, checkpoint["channel_versions"])  # type: ignore[typeddict-item]


def values_of(saver: BaseCheckpointSaver[str], config: Any = ANN) -> dict[str, Any]:
    found = saver.get_tuple(config)
    assert found is not None
    return found.checkpoint["channel_values"]


@dataclass
class Plan:
    """Something of the user's own in a state."""

    steps: list[str]


VALUES = {
    "messages": [HumanMessage("Guten Tag \x00\ud83d\ude00", id="1"), AIMessage("", tool_calls=[], id="2")],
    "plan": Plan(["a"]),
    "things": {
        "a": {1, 2},
        3: (b"\x00\xff", 2**63, -1.5, float("inf"), datetime(2026, 1, 1, tzinfo=UTC), uuid.UUID(int=7)),
    },
    "long": "x" * 5_000,
    "short": "x",
    "none": None,
    "yes": True,
}


def test_values_of_many_kinds_come_back(warden: Warden) -> None:
    """As LangGraph's own saver in memory gives them back: it turns tuples into lists."""
    saver, reference = MemwardenSaver(warden), InMemorySaver()
    for item in (saver, reference):
        put(item, VALUES)  # type: ignore[arg-type]  # a saver as well
    assert values_of(saver) == values_of(reference)
    assert values_of(saver)["plan"] == Plan(["a"])


def test_values_without_a_version_or_new_version_are_kept(warden: Warden) -> None:
    saver = MemwardenSaver(warden)
    checkpoint = a_checkpoint({"a": [1], "b": [2]}, channel_versions={"a": "1"})
    saver.put(ANN, checkpoint, {}, {})
    assert values_of(saver) == {"a": [1], "b": [2]}


@pytest.mark.parametrize("blocking", [True, False])
async def test_both_kinds_of_methods_with_both_kinds_of_wardens(url: str, blocking: bool) -> None:
    async def use(saver: MemwardenSaver) -> None:
        """The blocking method in another thread, the async one here; and a graph both ways."""
        await asyncio.to_thread(put, saver, {"a": [1]})
        assert (await saver.aget(ANN)) is not None
        graph = build(saver)
        for thread in ("x", "y"):
            await follow(graph, thread)
            state = await asyncio.to_thread(graph.get_state, {"configurable": {"thread_id": thread}})
            assert contents(state) == expected(ROUNDS)
        listed = await asyncio.to_thread(lambda: list(saver.list(None)))
        assert [item.config for item in listed] == [item.config async for item in saver.alist(None)]
        assert len(listed) > 60

    if blocking:
        opened = await asyncio.to_thread(Warden.open, url, {"embedder": "none"})
        with opened:
            await use(MemwardenSaver(opened))
    else:
        async with AsyncWarden.open(url, {"embedder": "none"}) as warden:
            saver = MemwardenSaver(warden)
            await use(saver)
            with pytest.raises(asyncio.InvalidStateError, match="await the async method"):
                saver.get_tuple(ANN)


def test_a_blocking_graph_goes_on_after_a_restart(tmp_path: Path) -> None:
    config: Any = {"configurable": {"thread_id": "t"}}
    for round_ in range(3):
        with Warden.open(f"sqlite:///{tmp_path / 'a.db'}", {"embedder": "none"}) as warden:
            graph = build(MemwardenSaver(warden.scope(user="ana")))
            asyncio.run(follow(graph, "t", round_ + 1))
            assert contents(graph.get_state(config)) == expected(round_ + 1)


def test_threads_of_two_scopes_are_two_threads(warden: Warden) -> None:
    scopes = [warden.scope(user="ana"), warden.scope(user="ben"), warden.scope(tenant="x", user="ana")]
    savers = [*map(MemwardenSaver, scopes), MemwardenSaver(warden)]
    for number, saver in enumerate(savers):
        put(saver, {"n": [number]})
    for number, saver in enumerate(savers):
        assert values_of(saver) == {"n": [number]}
        assert len(list(saver.list(None))) == 1
    savers[0].delete_thread("t")
    assert [saver.get_tuple(ANN) is None for saver in savers] == [True, False, False, False]
    assert values_of(MemwardenSaver(warden.scope())) == {"n": [3]}


def test_long_lists_come_page_by_page(warden: Warden) -> None:
    saver = MemwardenSaver(warden)
    for number in range(2 * PAGE + 5):
        put(
            saver, {"n": number}, {"configurable": {"thread_id": f"t{number % 3}", "checkpoint_ns": ""}}, odd=number % 2
        )
    listed = [item.checkpoint["channel_values"]["n"] for item in saver.list(None)]
    assert listed == list(range(2 * PAGE + 5))[::-1]
    assert [item.checkpoint["channel_values"]["n"] for item in saver.list(None, limit=PAGE + 3)] == listed[: PAGE + 3]
    assert len(list(saver.list(None, filter={"odd": 1}))) == PAGE + 2
    assert list(saver.list(None, limit=0)) == []


class Unknown:
    """Something that no serializer knows."""


@pytest.mark.parametrize("writing", [False, True])
def test_what_cannot_be_saved_without_pickle_is_refused(warden: Warden, writing: bool) -> None:
    saver = MemwardenSaver(warden)
    config, bad = put(saver, {"a": [1]}), {"good": 1, "bad": Unknown()}
    for wrong in (2**64, -(2**70)):
        with pytest.raises(InvalidInput, match=r"channel 'huge' .* 64-bit"):
            put(saver, {"huge": wrong})
    with pytest.raises(InvalidInput, match=r"'bad' holds something that cannot be saved without pickle \(Unknown: "):
        saver.put_writes(config, [("good", 1), ("bad", Unknown())], "task") if writing else put(saver, bad)
    assert values_of(saver) == {"a": [1]}
    found = saver.get_tuple(ANN)
    assert found is not None
    assert found.pending_writes == []


def test_pickle_is_neither_written_nor_read(warden: Warden) -> None:
    class Pickling:
        """A serializer that pickles and does not say so."""

        def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
            return "pickle", pickle.dumps(obj)

        def loads_typed(self, data: tuple[str, bytes]) -> Any:
            raise AssertionError(data)

    inner = JsonPlusSerializer(pickle_fallback=True)
    for serde in (inner, EncryptedSerializer(Turned(), inner)):
        with pytest.raises(InvalidInput, match="pickle_fallback"):
            MemwardenSaver(warden, serde=serde)
    with pytest.raises(InvalidInput, match="pickled by the serde"):
        put(MemwardenSaver(warden, serde=Pickling()), {"a": [1]})
    saver = MemwardenSaver(warden)
    saved = SavedCheckpoint(
        CheckpointKey("t", "", "1"), None, "", "pickle", pickle.dumps({"channel_values": {}}), (), (), {}
    )
    run_on_loop(warden, warden.store.checkpoints.put(warden.scope().who.namespace, saved, ()))
    with pytest.raises(NotImplementedError, match="pickle"):
        saver.get_tuple(ANN)


class Turned:
    """A cipher for tests: it turns bytes around."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "turned", plaintext[::-1]

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        assert ciphername == "turned"
        return ciphertext[::-1]


def test_what_is_encrypted_stands_nowhere_in_plain_text(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    with Warden.open(f"sqlite:///{file}", {"embedder": "none"}) as warden:
        saver = MemwardenSaver(warden, serde=EncryptedSerializer(Turned(), JsonPlusSerializer()))
        put(saver, {"small": "SECRET", "large": ["SECRET"] * 100})
        assert values_of(saver) == {"small": "SECRET", "large": ["SECRET"] * 100}
    assert b"SECRET" not in file.read_bytes()
    assert b"TERCES" in file.read_bytes()


def test_what_is_too_large_is_refused_and_said_where(warden: Warden) -> None:
    saver = MemwardenSaver(warden, most_bytes=10_000)
    config = put(saver, {"a": [1]})
    with pytest.raises(InvalidInput, match=r"most of them \(.*\) in 'large', is over the limit of 10,000"):
        put(saver, {"a": [1], "large": ["x" * 10_000]})
    with pytest.raises(InvalidInput, match="in 'large'"):
        saver.put_writes(config, [("large", "x" * 10_000)], "task")
    assert values_of(saver) == {"a": [1]}


@pytest.mark.parametrize("config", [{}, {"configurable": {}}, {"configurable": {"thread_id": ""}}])
def test_a_config_without_a_thread_is_refused(warden: Warden, config: Any) -> None:
    with pytest.raises(InvalidInput, match="names no thread"):
        MemwardenSaver(warden).get_tuple(config)


def test_wrong_calls_are_refused(warden: Warden) -> None:
    saver = MemwardenSaver(warden)
    with pytest.raises(InvalidInput, match="checkpoint_id"):
        saver.put_writes(ANN, [("a", 1)], "task")
    with pytest.raises(InvalidInput, match="strategy is any of"):
        saver.prune(["t"], strategy="other")
    for call in (saver.prune, saver.delete_for_runs):
        with pytest.raises(InvalidInput, match="not a single text"):
            call("t")
    with pytest.raises(InvalidInput, match="Warden"):
        MemwardenSaver("sqlite:///a.db")  # type: ignore[arg-type]


def joined(state: list[AnyMessage], writes: Sequence[list[AnyMessage]]) -> list[AnyMessage]:
    """A reducer as delta channels have it: of what there is and all that was written."""
    return [*state, *chain.from_iterable(writes)]


class DeltaState(TypedDict):
    """A state of which most checkpoints hold only what changed."""

    messages: Annotated[list[AnyMessage], DeltaChannel(joined, snapshot_frequency=4)]


def test_pruning_keeps_what_delta_channels_rest_on(warden: Warden) -> None:
    """The latest checkpoint of a delta channel holds no value; it is worked out from the snapshot before it."""

    saver = MemwardenSaver(warden)
    builder = StateGraph(DeltaState)
    builder.add_node("answer", lambda state: {"messages": [AIMessage(f"answer {len(state['messages'])}")]})
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    for number in range(7):
        graph.invoke({"messages": [HumanMessage(f"question {number}")]}, config)
    before = graph.get_state(config).values
    assert len(before["messages"]) == 14
    many = len(list(saver.list(config)))
    saver.prune(["t"])
    assert graph.get_state(config).values == before
    left = len(list(saver.list(config)))
    assert 1 <= left < many / 2
    graph.invoke({"messages": [HumanMessage("more")]}, config)
    assert len(graph.get_state(config).values["messages"]) == 16


def test_the_latest_state_is_a_row_to_read(url: str, warden: Warden) -> None:
    """Design B's table (B15): a row for each user and thread, read with plain SQL."""
    if not url.startswith(("sqlite", "postgresql")):
        return  # it has no tables
    for user in ("ana", "ben"):
        asyncio.run(follow(build(MemwardenSaver(warden.scope(user=user))), "t", 2))
    put(MemwardenSaver(warden.scope(user="ana")), {"note": "\x00", "memory_context": "plain", "huge": {1: 2**63}})
    rows = states(url)
    assert [(row["user_id"], row["thread_id"]) for row in rows] == [("ana", "t"), ("ben", "t")]
    ana, ben = (row["checkpoint_data"] for row in rows)
    assert ana["memory_context"] == "plain"
    assert (ana["conversation"], ana["graph_state"]["huge"]) == (None, {"1": 2**63})
    assert [item["content"] for item in ben["conversation"]] == expected(2)
    assert ben["graph_state"]["reports"] == ["report 0", "report 1"]
    assert ben["memory_context"] == ben["graph_state"]["memory_context"] == "10 messages"
    assert list(ben["agent_states"]) == ["reporter"]
    assert ben["agent_states"]["reporter"]["memory_context"] == "10 messages"
    assert ben["conversation"][0]["type"] == "human"
    assert ben["conversation"][1]["tool_calls"][0]["name"] == "note"


def test_the_time_of_a_thread_moves_on(url: str, warden: Warden) -> None:
    if not url.startswith(("sqlite", "postgresql")):
        return  # it has no tables
    saver = MemwardenSaver(warden.scope(user="ana"))
    put(saver, {"n": 1})
    (first,) = states(url)
    time.sleep(1.1)
    put(saver, {"n": 2})
    (second,) = states(url)
    assert second["id"] == first["id"]
    assert second["created_at"] == first["created_at"] == first["updated_at"] < second["updated_at"]


def test_large_values_are_shown_in_part(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    values: dict[str, Any] = {
        "list": [f"{number:03}" * 10 for number in range(500)],
        "text": "x" * 9_000,
        "object": {"a": "x" * 9_000},
    }
    odd = {"one": ["small", "x" * 9_000], "unknown": [{"a": {b"b": 1}}] * 2}
    with Warden.open(url, {"embedder": "none"}) as warden:
        put(MemwardenSaver(warden), {**values, **odd})
        assert values_of(MemwardenSaver(warden)) == {**values, **odd}
    ((state,),) = [[row["checkpoint_data"]["graph_state"]] for row in states(url)]
    last = state["list"]["last"]
    assert last == values["list"][-len(last) :]
    assert (len(last) > 100, state["list"]["left_out"]) == (True, 500 - len(last))
    assert state["text"] == {"left_out": 8_000, "begins": "x" * 1_000}
    assert set(state["object"]) == set(state["one"]) == {"left_out"}
    assert state["unknown"] is None


def states(url: str) -> list[dict[str, Any]]:
    sql = "SELECT user_id, thread_id, checkpoint_data, id, created_at, updated_at FROM {} ORDER BY user_id"
    names = ("user_id", "thread_id", "checkpoint_data", "id", "created_at", "updated_at")
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as db:
            rows = [dict(zip(names, row, strict=True)) for row in db.execute(sql.format("supervisor_checkpoints"))]
            return [{**row, "checkpoint_data": json.loads(row["checkpoint_data"])} for row in rows]
    with psycopg.connect(url) as db:
        found = db.execute(sql.format("memwarden.supervisor_checkpoints").encode()).fetchall()
        return [dict(zip(names, row, strict=True)) for row in found]


@pytest.mark.parametrize("blocking", [True, False])
def test_a_saver_in_memory_moves_without_loss(warden: Warden, blocking: bool) -> None:
    source = InMemorySaver()
    graph = build(source)
    for thread in ("done", "asked"):
        asyncio.run(follow(graph, thread, 2))
    asked: Any = {"configurable": {"thread_id": "asked"}}
    asyncio.run(graph.ainvoke({"messages": [HumanMessage("round 2")]}, asked))  # it waits for a person now
    source.put_writes(
        {"configurable": {"thread_id": "odd", "checkpoint_ns": "", "checkpoint_id": "0"}}, [("a", 1)], "w", "p"
    )
    put(source, VALUES, {"configurable": {"thread_id": "odd", "checkpoint_ns": "a:b"}}, owner="ana")  # type: ignore[arg-type]
    target = MemwardenSaver(warden.scope(user="ana"))
    for _ in range(2):  # a second time changes nothing
        copied = copy_from_memory(source, target) if blocking else asyncio.run(acopy_from_memory(source, target))
        assert copied == len(list(source.list(None)))
        assert all_of(target) == all_of(source)
    assert any(item.pending_writes for item in source.list(asked))
    history = target.get_delta_channel_history(config=asked, channels=["messages"])
    assert history == source.get_delta_channel_history(config=asked, channels=["messages"])
    moved = build(target)
    asyncio.run(follow(moved, "asked", 3))
    assert contents(moved.get_state(asked)) == expected(3)


def all_of(saver: BaseCheckpointSaver[str]) -> list[Any]:
    """Everything that a saver gives back, thread by thread."""
    found = sorted(saver.list(None), key=lambda item: str(sorted(item.config["configurable"].items())))
    return [item._asdict() for item in found]


def test_a_serializer_that_is_assigned_later_writes(tmp_path: Path) -> None:
    class Marked(JsonPlusSerializer):
        def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
            used.append(obj)
            return super().dumps_typed(obj)

    used: list[Any] = []
    with Warden.open("memory://", config={}) as warden:
        saver = MemwardenSaver(warden)
        saver.serde = Marked()
        config: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        saver.put(config, empty_checkpoint(), {}, {})
    assert used


def test_a_filter_with_dots_leads_into_metadata(url: str) -> None:
    with Warden.open(url, {"embedder": "none"}) as warden:
        saver = MemwardenSaver(warden)
        put(saver, {"a": 1}, writes={"agent": {"step": 3}}, **{"a.b": "plain"})
        for wanted in ({"writes.agent.step": 3}, {"writes.agent": {"step": 3}}, {"a.b": "plain"}, {"writes.no": None}):
            assert len(list(saver.list(ANN, filter=wanted))) == 1
        for other in ({"writes.agent.step": 4}, {"a.b": "other"}, {"writes.agent.step.more": 3}):
            assert list(saver.list(ANN, filter=other)) == []


def test_a_persons_threads_are_looked_at_copied_and_removed(url: str) -> None:
    with Warden.open(url, {"embedder": "none"}) as warden:
        put(MemwardenSaver(warden), {"a": 1}, source="loop")
        (outline,) = warden.checkpoints.outlines("t")
        assert outline.metadata["source"] == "loop"
        assert warden.scope(user="tom").checkpoints.outlines("t") == []
        warden.checkpoints.copy_thread("t", "t2")
        warden.checkpoints.delete_thread("t")
        assert (warden.checkpoints.outlines("t"), len(warden.checkpoints.outlines("t2"))) == ([], 1)
        with pytest.raises(InvalidInput, match="thread"):
            warden.checkpoints.delete_thread(None)  # type: ignore[arg-type]
