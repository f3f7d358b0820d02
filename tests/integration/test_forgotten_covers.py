"""A forgotten fact goes on covering the turns that it rests on, until it is restored or its making is undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memwarden import AsyncWarden, Warden, clock

SAID = "I live in Berlin, in a flat near the Spree."
QUESTION = "Where do I live?"


@pytest.fixture(params=["memory", "sqlite", "json"])
def warden(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Warden]:
    urls = {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path}/m.db", "json": f"json:///{tmp_path}/m"}
    with Warden.open(urls[request.param], {"embedder": "auto"}) as opened:
        yield opened


def tell(warden: Warden) -> tuple[Any, str, str]:
    """A turn and the fact that was made of it: the scope, the turn's id, the fact's id."""
    me: Any = warden.scope(user="mies", thread="t")
    (turn,) = me.observe([{"role": "user", "content": SAID, "id": "m1"}]).results
    me.observe([{"role": "user", "content": "My dentist is Dr Moser."}])
    (fact,) = me.remember("The user lives in Berlin.", sources=["m1"]).results
    return me, turn.id, fact.id


def shown(me: Any) -> set[str]:
    block = me.context([{"role": "user", "content": QUESTION}])
    return {item.id for item in (*me.query(QUESTION, top_k=10).items, *block.items)}


def test_forgetting_a_fact_does_not_uncover_its_turn(warden: Warden) -> None:
    me, turn, fact = tell(warden)
    assert fact in shown(me)
    me.forget(fact)
    assert not {turn, fact} & shown(me)
    gates = {cut.id: cut.gate for cut in me.query(QUESTION, explain=True).cut}
    assert gates[turn] == "ended"


def test_restoring_the_fact_brings_it_back(warden: Warden) -> None:
    me, turn, fact = tell(warden)
    me.forget(fact)
    me.restore(fact)
    assert fact in shown(me)
    assert turn not in shown(me)  # the fact covers it, as before


def test_undoing_the_forgetting_brings_the_fact_back(warden: Warden) -> None:
    me, _turn, fact = tell(warden)
    me.journal.undo(me.forget(fact).rev)
    assert fact in shown(me)


def test_a_fact_that_was_undone_was_never_made(warden: Warden) -> None:
    """Who takes the making of a fact back does not take back what the person said."""
    me, turn, fact = tell(warden)
    (made,) = (entry for entry in me.journal.history(fact) if entry.event == "ADD")
    me.journal.undo(made.step)
    assert turn in shown(me)


def test_a_turn_with_another_fact_is_found_by_that(warden: Warden) -> None:
    me, _turn, fact = tell(warden)
    (other,) = me.remember("The user's flat in Berlin is near the Spree.", sources=["m1"]).results
    me.forget(fact)
    assert other.id in shown(me)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    urls = {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path}/m.db"}
    return urls.get(request.param) or str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def pass_days(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    real = clock.now

    def later(days: int) -> None:
        moment = real() + timedelta(days=days)
        monkeypatch.setattr(clock, "now", lambda: moment)

    return later


def expire(warden: Warden, fact: str) -> list[str]:
    (run,) = warden.jobs.run("expire", user="mies")
    return [change.verb for change in run.changes if change.memory_id == fact]


@pytest.mark.parametrize("ended", ["unused", "replaced", "forgotten"])
def test_a_turn_is_uncovered_by_a_fact_that_nobody_needed_and_by_none_that_was_taken_back(
    url: str, ended: str, pass_days: Callable[[int], None]
) -> None:
    """That nobody asked for a fact takes nothing back of what the person said, also when the fact is purged."""
    with Warden.open(url, {"embedder": "none"}) as opened:
        me, turn, fact = tell(opened)
        me.update(fact, importance=0.1)
        if ended == "replaced":
            (new,) = me.remember("The user lives in Porto.").results
            assert new.outcome == "superseded"
        if ended == "forgotten":
            me.forget(fact)
        else:
            pass_days(61)
            assert expire(opened, fact) == ["soft_delete"]
        assert (turn in shown(me)) is (ended == "unused")
        rev = me.query(QUESTION).rev
        pass_days(92)
        assert expire(opened, fact) == ["purge"]
        assert (turn in shown(me)) is (ended == "unused")
        then = {item.id for item in me.query(QUESTION, as_of=rev).items}
        assert (turn in then) is (ended == "unused")
        if url.startswith("memory"):
            return
    with Warden.open(url, {"embedder": "none"}) as again:
        assert (turn in shown(again.scope(user="mies", thread="t"))) is (ended == "unused")


async def test_an_erased_thread_is_named_by_no_purged_fact(url: str, pass_days: Callable[[int], None]) -> None:
    async with AsyncWarden.open(url, {"embedder": "none"}) as warden:
        me, other = (warden.scope(user="mies", thread=thread) for thread in ("t", "u"))
        (turn,) = (await me.observe([{"role": "user", "content": SAID}])).results
        mine = str((await me.remember("The user lives in Berlin.", sources=[str(turn.id)])).results[0].id)
        (there,) = (await other.remember("The user's flat is by a river.", sources=[str(turn.id)])).results
        elsewhere = str(there.id)
        for fact in (mine, elsewhere):
            await me.forget(fact)
        pass_days(31)
        (run,) = await warden.jobs.run("expire", user="mies")
        assert {change.memory_id for change in run.changes} == {mine, elsewhere}
        rows = {row.id: row for row in (await warden.store.scan(me.who.namespace)).rows}
        assert [rows[fact].sources for fact in (mine, elsewhere)] == [(turn.id,)] * 2
        await warden.erase(user="mies", thread="t", confirm="mies")
        rows = {row.id: row for row in (await warden.store.scan(me.who.namespace)).rows}
        assert rows[elsewhere].sources == ()
        assert not rows.keys() & {turn.id, mine}


async def test_an_erased_turn_is_named_by_no_purged_fact_not_even_by_its_callers_id(
    url: str, pass_days: Callable[[int], None]
) -> None:
    async with AsyncWarden.open(url, {"embedder": "none"}) as warden:
        me, other = (warden.scope(user="mies", thread=thread) for thread in ("t", "u"))
        (turn,) = (await me.observe([{"id": "m-17", "role": "user", "content": SAID}])).results
        facts = [
            str((await scope.remember(text, sources=sources)).results[0].id)
            for scope, text, sources in (
                (me, "The user lives in Berlin.", ["m-17", "m-18"]),
                (me, "The user's flat is by a river.", ["m-18"]),
                (other, "The user is fond of rivers.", ["m-17", str(turn.id)]),
            )
        ]
        kept = str((await me.remember("The user has a balcony.", sources=["m-18", "m-17"])).results[0].id)
        for fact in facts:
            await me.forget(fact)
        pass_days(31)
        (run,) = await warden.jobs.run("expire", user="mies")
        assert {change.memory_id for change in run.changes} == set(facts)
        await warden.erase(user="mies", memory=str(turn.id), confirm="mies")
        rows = {row.id: row for row in (await warden.store.scan(me.who.namespace)).rows}
        # In another thread the caller's id is another turn's.
        assert [rows[fact].sources for fact in (*facts, kept)] == [("m-18",), ("m-18",), ("m-17",), ("m-18",)]


def test_a_store_that_is_opened_again_answers_the_same(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    with Warden.open(url, {"embedder": "auto"}) as opened:
        me, turn, fact = tell(opened)
        me.forget(fact)
        rev = me.query(QUESTION).rev
    with Warden.open(url, {"embedder": "auto"}) as again:
        me = again.scope(user="mies", thread="t")
        assert not {turn, fact} & shown(me)
        assert not {turn, fact} & {item.id for item in me.query(QUESTION, as_of=rev).items}
        assert fact in {item.id for item in me.query(QUESTION, as_of=rev - 1).items}


def test_the_overview_does_not_tell_what_was_forgotten(tmp_path: Path) -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as opened:
        me, _turn, fact = tell(opened)
        me.query(QUESTION)  # waits until what was said is read
        assert "Berlin" in me.overview().text
        me.forget(fact)
        assert "Berlin" not in me.overview().text
