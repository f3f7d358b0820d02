"""Every verb of the tiers is listed here: what writes leaves an entry in a journal, and what reads leaves none (B8)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from memwarden import AsyncWarden
from memwarden.errors import UnknownAgent
from memwarden.observability.records import OpEvent
from memwarden.records import Namespace
from memwarden.testing import get_runtime
from memwarden.tiers import ContextRequest, FailureSignature, Task
from memwarden.tiers.assembler import AsyncContextAssembler
from memwarden.tiers.stores import AsyncGlobalMemoryStore, AsyncProjectMemoryStore, AsyncTaskMemoryStore
from memwarden.tiers.tiers import AsyncTiers

PATHS = ("task/k", "project/p", "project/default", "global")
CLASSES = (AsyncTiers, AsyncTaskMemoryStore, AsyncProjectMemoryStore, AsyncGlobalMemoryStore, AsyncContextAssembler)


@dataclass
class Site:
    """A warden with one item in each tier, and one that was taken out of the project."""

    warden: AsyncWarden
    task: AsyncTaskMemoryStore
    project: AsyncProjectMemoryStore
    everywhere: AsyncGlobalMemoryStore
    assembler: AsyncContextAssembler
    thought: str = ""
    decision: str = ""
    gone: str = ""
    wanted: str = ""

    async def prepare(self) -> None:
        self.thought = (await self.task.add_reasoning("The clock is wrong.", "plan")).context_item_id
        self.decision = (await self.project.add_decision("Clocks are UTC.")).context_item_id
        self.gone = (await self.project.add_decision("Clocks are local.")).context_item_id
        await self.project.remove(self.gone)
        kept = await self.everywhere.add_preference("Short answers.", "style", confirm=True)
        assert kept is not None
        self.wanted = kept.context_item_id

    async def entries(self) -> int:
        heads = [await self.warden.store.head(Namespace("default", path)) for path in PATHS]
        return sum(head.rev for head in heads)


async def _full(site: Site) -> Any:
    await site.project.add_decision("One too many.")
    return await site.warden.tiers.project("p", max_items=1).make_room()


async def _judge(site: Site) -> Any:
    package = await site.assembler.build_context(TASK, ContextRequest(500))
    return await site.assembler.record_uses(TASK, package, used=[site.decision])


async def _events(warden: AsyncWarden, path: str, *, descending: bool = True) -> list[OpEvent]:
    await get_runtime(warden).events.flush()
    return await warden.store.events(Namespace("default", path), descending=descending)


Call = Callable[[Site], Awaitable[Any]]
TASK = Task("k", {"project_id": "p"})
WRITES: dict[str, Call] = {
    "AsyncTaskMemoryStore.add_reasoning": lambda site: site.task.add_reasoning("It is an hour late.", "plan"),
    "AsyncTaskMemoryStore.add_tool_output": lambda site: site.task.add_tool_output("date", "12:00"),
    "AsyncTaskMemoryStore.promote": lambda site: site.task.promote(site.thought, "p"),
    "AsyncTaskMemoryStore.enter_state": lambda site: site.task.enter_state("completed"),
    "AsyncTaskMemoryStore.clear": lambda site: site.task.clear(),
    "AsyncProjectMemoryStore.add_decision": lambda site: site.project.add_decision("Logs are JSON."),
    "AsyncProjectMemoryStore.add_convention": lambda site: site.project.add_convention("Tabs.", "python"),
    "AsyncProjectMemoryStore.add_failure": lambda site: site.project.add_failure(FailureSignature("x"), "Look twice."),
    "AsyncProjectMemoryStore.add_preference": lambda site: site.project.add_preference("Long answers.", "style"),
    "AsyncProjectMemoryStore.add_pattern": lambda site: site.project.add_pattern("Test first.", "code"),
    "AsyncProjectMemoryStore.remove": lambda site: site.project.remove(site.decision),
    "AsyncProjectMemoryStore.pin": lambda site: site.project.pin(site.decision),
    "AsyncProjectMemoryStore.restore": lambda site: site.project.restore(site.gone),
    "AsyncProjectMemoryStore.undo": lambda site: site.project.undo(1),
    "AsyncProjectMemoryStore.promote": lambda site: site.project.promote(site.decision),
    "AsyncProjectMemoryStore.make_room": _full,
    "AsyncGlobalMemoryStore.add_preference": lambda site: site.everywhere.add_preference(
        "In verse.", "x", confirm=True
    ),
    "AsyncGlobalMemoryStore.modify_preference": lambda site: site.everywhere.modify_preference(
        site.wanted, "Shorter answers.", confirm=True
    ),
    "AsyncGlobalMemoryStore.add_pattern": lambda site: site.everywhere.add_pattern("Measure.", "speed"),
    "AsyncGlobalMemoryStore.remove": lambda site: site.everywhere.remove(site.wanted, confirm=True),
    "AsyncGlobalMemoryStore.clear_all": lambda site: site.everywhere.clear_all(confirm=True),
    "AsyncGlobalMemoryStore.undo": lambda site: site.everywhere.undo(1, confirm=True),
    "AsyncContextAssembler.cleanup_task": lambda site: site.assembler.cleanup_task("k"),
}
READS: dict[str, Call] = {
    **{
        f"{kind.__name__}.{verb}": call
        for kind, attribute in (
            (AsyncTaskMemoryStore, "task"),
            (AsyncProjectMemoryStore, "project"),
            (AsyncGlobalMemoryStore, "everywhere"),
        )
        for verb, call in {
            "query": lambda site, item=attribute: getattr(site, item).query({"kind": "decision"}),
            "get": lambda site, item=attribute: getattr(site, item).get(site.thought),
            "list_all": lambda site, item=attribute: getattr(site, item).list_all(),
            "count": lambda site, item=attribute: getattr(site, item).count(),
            "history": lambda site, item=attribute: getattr(site, item).history(),
        }.items()
    },
    "AsyncTaskMemoryStore.get_stage_outputs": lambda site: site.task.get_stage_outputs("plan"),
    "AsyncProjectMemoryStore.query_decisions": lambda site: site.project.query_decisions(),
    "AsyncProjectMemoryStore.section": lambda site: site.project.section("decisions"),
    "AsyncGlobalMemoryStore.query_preferences": lambda site: site.everywhere.query_preferences(),
    "AsyncContextAssembler.build_context": lambda site: site.assembler.build_context(
        TASK, ContextRequest(500, query="Which clock?", explain=True)
    ),
    "AsyncContextAssembler.record_uses": _judge,
}


def coroutines(kind: type[Any]) -> list[str]:
    named = inspect.getmembers(kind, inspect.iscoroutinefunction)
    return [f"{kind.__name__}.{name}" for name, _ in named if not name.startswith("_")]


def test_every_verb_is_shown_here() -> None:
    assert {name for kind in CLASSES for name in coroutines(kind)} == WRITES.keys() | READS.keys()
    assert not WRITES.keys() & READS.keys()


@pytest.mark.parametrize("verb", [*READS, *WRITES])
async def test_what_writes_is_in_a_journal_and_what_reads_is_not(verb: str) -> None:
    async with AsyncWarden.open("memory://", config={"embedder": "none"}) as warden:
        tiers = warden.tiers
        site = Site(warden, tiers.task("k"), tiers.project("p"), tiers.global_store(), tiers.assembler())
        await site.prepare()
        before = await site.entries()
        answer = await {**READS, **WRITES}[verb](site)
        assert ((await site.entries()) > before) == (verb in WRITES), answer


async def test_events_of_a_project_name_no_user() -> None:
    """Nobody's own memory was changed, so nobody is said to have changed it."""
    async with AsyncWarden.open("memory://", config={"embedder": "none"}) as warden:
        project = warden.tiers.project("p")
        item = await project.add_decision("Clocks are UTC.")
        await project.pin(item.context_item_id)
        told = await _events(warden, "project/p")
        assert [(item.op, item.user_id) for item in told] == [("update", None), ("create", None)]


async def test_a_context_that_is_built_leaves_an_event_in_its_task() -> None:
    """What was searched for a task is told (B14), with how near the best answer was and never with what it says."""
    async with AsyncWarden.open("memory://") as warden:
        assembler = warden.tiers.assembler()
        await assembler.build_context(TASK, ContextRequest(500))
        await warden.tiers.project("p").add_decision("Sessions live in PostgreSQL.")
        await assembler.build_context(TASK, ContextRequest(500, query="Where do sessions live?"))
        await assembler.build_context(TASK, ContextRequest(1))
        with pytest.raises(UnknownAgent):
            await assembler.build_context(TASK, ContextRequest(500, agent="nobody"))
        told = await _events(warden, "task/k", descending=False)
        assert [(item.node, item.op, item.status, item.reason) for item in told] == [
            ("context", "search", "skipped", "nothing_there"),
            ("context", "search", "ok", ""),
            ("context", "search", "skipped", "nothing_fits"),
            ("context", "search", "error", "UnknownAgent"),
        ]
        assert [item.sim is None for item in told] == [True, False, True, True]
        assert [item.agent_id for item in told] == [None, None, None, "nobody"]
        assert {(item.namespace.path, item.user_id, item.memory_id) for item in told} == {("task/k", None, None)}
        assert all(item.ms is not None for item in told)


async def test_a_context_is_built_without_events_when_they_are_off() -> None:
    async with AsyncWarden.open("memory://", config={"embedder": "none", "events": "off"}) as warden:
        await warden.tiers.task("k").add_reasoning("It is late.", "plan")
        assert (await warden.tiers.assembler().build_context(TASK, ContextRequest(500))).items
        assert await _events(warden, "task/k") == []


async def test_what_was_of_use_of_a_context_leaves_events_in_its_project() -> None:
    """An event a tier, without content: its tokens, and which part of them was of use."""
    async with AsyncWarden.open("memory://", config={"embedder": "none"}) as warden:
        tiers = warden.tiers
        site = Site(warden, tiers.task("k"), tiers.project("p"), tiers.global_store(), tiers.assembler())
        await site.prepare()
        uses = await _judge(site)
        told = [item for item in await _events(warden, "project/p", descending=False) if item.op == "use"]
        assert [(item.node, item.status, item.reason, item.memory_id) for item in told] == [
            ("context", "skipped", "task", None),
            ("context", "ok", "project", None),
            ("context", "skipped", "global", None),
        ]
        assert [item.count for item in told] == [use.tokens for use in uses]
        assert [item.sim for item in told] == [0.0, 1.0, 0.0]


async def test_without_events_nothing_is_learned() -> None:
    async with AsyncWarden.open("memory://", config={"embedder": "none", "events": "off"}) as warden:
        await warden.tiers.project("p").add_decision("Clocks are UTC.")
        assembler = warden.tiers.assembler()
        for _ in range(12):
            package = await assembler.build_context(TASK, ContextRequest(500, learned_shares=True))
            await assembler.record_uses(TASK, package, answer="Clocks are UTC.")
        assert package.split == "the usual split: 0 of the 10 judged contexts that it takes"
