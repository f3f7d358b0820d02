"""What a caller gets wrong ends in the error tree; names of all languages are names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memwarden import Warden
from memwarden.api.blocking import BoundScope
from memwarden.errors import Conflict, InvalidInput, MemwardenError, NotFound

NAMES = ("مهدی‌یار", "山田　太郎", "Jean\u00a0Luc", "👩‍👩‍👧 family", "क्‍ष", "🏴󠁧󠁢󠁥󠁮󠁧󠁿")
NEVER = ("a\nb", "a\tb", "a\x7fb", "a\u2028b", "a\u202eb", "a\u2066b", "a\x85b", "\u3000")


def nested() -> list[Any]:
    deep: list[Any] = []
    for _ in range(3000):
        deep = [deep]
    return deep


@pytest.fixture
def ana() -> Iterator[BoundScope]:
    with Warden.open("memory://", config={}) as warden:
        yield warden.scope(user="ana", thread="t1")


WRONG: dict[str, Callable[[BoundScope, Warden], Any]] = {
    "a mapping as an item": lambda _, warden: warden.backend("user/ana").add({"a": 1}),
    "no order": lambda me, _: me.find(descending=None),  # type: ignore[arg-type]
    "a mapping as a block": lambda me, _: me.tools(block={}),  # type: ignore[arg-type]
    "a mapping as trust": lambda me, _: me.remember("Ana sails.", trust={}),  # type: ignore[arg-type]
    "deep value": lambda me, _: me.state.save("k", nested()),
    "deep text": lambda me, _: me.remember(nested()),
    "deep message": lambda me, _: me.observe(nested()),
    "deep content": lambda me, _: me.observe([{"role": "user", "content": nested()}]),
    "deep tags": lambda me, _: me.remember("Ana sails.", tags=nested()),
    "deep filter": lambda me, _: me.find({"tags": nested()}),
    "deep categories": lambda me, _: me.query("What?", categories=nested()),
    "deep patch": lambda me, _: me.consent.propose({"city": nested()}),
    "deep kind": lambda me, _: me.remember("Ana sails.", kind=nested()),  # type: ignore[arg-type]
    "deep category": lambda me, _: me.remember("Ana sails.", category=nested()),  # type: ignore[arg-type]
    "deep importance": lambda me, _: me.remember("Ana sails.", importance=nested()),  # type: ignore[arg-type]
    "deep id": lambda me, _: me.get(nested()),  # type: ignore[arg-type]
    "deep ids": lambda me, _: me.forget(nested()),
    "deep time": lambda me, _: me.remember("Ana sails.", created_at=nested()),  # type: ignore[arg-type]
    "deep user": lambda _, warden: warden.scope(user=nested()),  # type: ignore[arg-type]
    "deep description": lambda me, _: me.state.save("k", 1, description=nested()),  # type: ignore[arg-type]
    "long id": lambda me, _: me.get("z" * 300_000),
    "long field": lambda me, _: me.find({"x" * 300_000: 1}),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_argument_ends_in_the_error_tree(case: str) -> None:
    with Warden.open("memory://", config={}) as warden:
        with pytest.raises(MemwardenError) as wrong:
            WRONG[case](warden.scope(user="ana"), warden)
        assert len(str(wrong.value)) < 3_000
        assert warden.scope(user="ana").find({"channel": ["semantic", "state", "turn"]}) == []


def test_parameters_of_a_tool_may_be_nested_deeply(ana: BoundScope) -> None:
    assert not ana.tools().call_tool("saveState", nested())["success"]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_all_languages(warden: Warden, name: str) -> None:
    me = warden.scope(user=name, thread=name)
    (said,) = me.observe([{"role": "user", "name": name, "content": "The boat is red."}]).results
    spaced = name.replace("\u3000", " ").replace("\u00a0", " ")
    assert me.get(str(said.id)).name == spaced
    (stated,) = me.remember("The sail is white.", tags=[name]).results
    assert [item.id for item in me.find({"tags": [spaced]})] == [stated.id]
    me.state.save(name, 1)
    assert me.state.load(name) == 1
    assert me.consent.propose({"city": name}).results[0].outcome == "proposed"
    assert me.consent.proposals()[0].value == spaced
    assert warden.scope(user=spaced).find({"tags": [spaced]}) != []


@pytest.mark.parametrize("name", NEVER)
def test_control_characters_are_in_no_name(ana: BoundScope, name: str) -> None:
    with pytest.raises(InvalidInput, match="printable"):
        ana.remember("The sail is white.", tags=[name])
    with pytest.raises(InvalidInput, match="printable"):
        ana.consent.propose({"city": name})


def test_to_forget_twice_says_that_it_is_forgotten(ana: BoundScope) -> None:
    (stated,) = ana.remember("The sail is white.").results
    ana.forget(str(stated.id))
    with pytest.raises(NotFound, match="forgotten already; restore"):
        ana.forget(str(stated.id))


def test_the_undo_of_a_value_that_replaced_another_names_what_to_undo_first(ana: BoundScope) -> None:
    (old,) = ana.remember("Ana lives in Lisbon.").results
    (new,) = ana.remember("Ana lives in Berlin.").results
    assert new.outcome == "superseded"
    entries = [entry.seq for entry in ana.journal.history() if entry.event in ("ADD", "SUPERSEDE")]
    added, replaced = entries[1:]
    with pytest.raises(Conflict, match="took the place of"):
        ana.journal.undo(added)
    ana.journal.undo(replaced)
    ana.journal.undo(added)
    assert [item.id for item in ana.find()] == [old.id]
