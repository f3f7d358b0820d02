"""Which memories an erasure removes, by small namespaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memwarden.api.erasure_plan import RemovalPlan, plan_removal
from memwarden.records import Channel, Memory
from memwarden.testing.examples import a_memory

EXTRACTED_BY = "memwarden"


def a_turn(name: str, thread: str, source: str | None = None) -> Memory:
    return a_memory(name, channel=Channel.TURN, thread_id=thread, sources=() if source is None else (source,))


def a_fact(name: str, *sources: str, thread: str | None = None, by: str | None = None) -> Memory:
    return a_memory(name, channel=Channel.SEMANTIC, thread_id=thread, sources=sources, actor_id=by)


def plan(begun: Iterable[str], memories: Iterable[Memory], merged: Mapping[str, str] | None = None) -> RemovalPlan:
    return plan_removal(begun, {memory.id: memory for memory in memories}, merged or {})


def test_unknown_ids_are_ignored() -> None:
    assert plan(["x"], [a_turn("a", "t1")]) == RemovalPlan((), (), ())


def test_facts_go_with_the_turns_that_they_rest_on_in_any_depth() -> None:
    memories = [a_turn("a", "t1"), a_fact("f", "a"), a_fact("g", "f"), a_fact("h", "g"), a_fact("other", "z")]
    assert plan(["a"], memories).ids == ("a", "f", "g", "h")


def test_a_fact_without_a_thread_goes_with_any_of_its_sources() -> None:
    memories = [a_turn("a", "t1"), a_turn("b", "t2"), a_fact("f", "a", "b")]
    assert plan(["a"], memories).ids == ("a", "f")


def test_a_fact_of_another_thread_goes_only_with_all_of_its_sources() -> None:
    memories = [a_turn("a", "t1"), a_turn("b", "t2"), a_fact("f", "b", "a", thread="t2")]
    first = plan(["a"], memories)
    assert (first.ids, first.citing) == (("a",), ("f",))
    assert plan(["a", "b"], memories).ids == ("a", "b", "f")


def test_an_extract_goes_with_any_turn_of_its_own_thread() -> None:
    memories = [a_turn("a", "t1"), a_turn("b", "t1"), a_fact("f", "a", "b", thread="t1", by=EXTRACTED_BY)]
    assert plan(["a"], memories).ids == ("a", "f")
    stated = [*memories[:2], a_fact("f", "a", "b", thread="t1", by="ann")]
    assert plan(["a"], stated).ids == ("a",)


def test_ids_of_callers_count_within_their_thread_alone() -> None:
    memories = [
        a_turn("a", "t1", "msg-1"),
        a_fact("here", "msg-1", thread="t1"),
        a_fact("there", "msg-1", thread="t2"),
    ]
    result = plan(["a"], memories)
    assert result.ids == ("a", "here")
    assert result.citing == ()
    assert result.named == (("t1", frozenset({"msg-1"})),)


def test_turns_rest_on_nothing() -> None:
    memories = [a_turn("a", "t1", "msg-1"), a_turn("b", "t1", "msg-1")]
    assert plan(["a"], memories).ids == ("a",)


def test_a_memory_goes_with_the_memory_that_absorbed_it() -> None:
    memories = [a_turn("a", "t1"), a_fact("f", "a"), a_fact("twin", "z")]
    assert plan(["a"], memories, {"twin": "f"}).ids == ("a", "f", "twin")
    assert plan(["a"], memories, {"twin": "stays"}).ids == ("a", "f")
