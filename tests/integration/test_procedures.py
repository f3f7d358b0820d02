"""How something is done (B12): kept when it is asked to be, in no default context, read by those who may and ask."""

from __future__ import annotations

from typing import Any

import pytest

from memwarden import Warden
from memwarden.api.blocking import BoundScope
from memwarden.errors import CategoryDenied, InvalidInput

STEPS = "1. Stop the queue.\n2. Run the migration.\n3. Start the queue."
ASKED = f"Please remember how to deploy the shop:\n{STEPS}"
QUESTION = "How do we deploy the shop, with the queue and the migration?"


def told(me: BoundScope) -> BoundScope:
    me.observe([{"role": "user", "content": ASKED}, {"role": "assistant", "content": "I will remember it."}])
    me.extract_pending()
    return me


def steps_of(me: BoundScope) -> list[str]:
    return [item.text for item in me.find({"channel": "procedural"})]


def shown(warden: Warden, agent: str | None, **given: Any) -> str:
    """Everything that an agent gets to see of the steps."""
    me = warden.scope(user="ana", thread="t2", agent=agent)
    found = me.query(QUESTION, threshold=0.0, top_k=50, budget_tokens=None, returns="full", since_rev=0, **given)
    return "\n".join(item.memory.text for item in found.items if item.memory.channel == "procedural")


def test_steps_are_kept_when_somebody_asks_for_that(warden: Warden) -> None:
    me = told(warden.scope(user="ana", thread="t1"))
    (kept,) = me.find({"channel": "procedural"})
    assert kept.text == f"How to deploy the shop:\n{STEPS}"
    assert (kept.category, kept.user_id, kept.thread_id, kept.actor_id) == ("procedural", "ana", "t1", "memwarden")
    assert (kept.agent_id, kept.run_id, kept.tags, kept.importance, kept.pinned) == (None, None, (), 0.5, False)
    assert kept.sources == (me.find({"channel": "turn", "role": "user"})[0].id,)
    me.extract_pending(again=True)
    assert len(steps_of(me)) == 1
    assert not [item for item in me.find({"channel": ["semantic", "insight"]}) if "queue" in item.text]


@pytest.mark.parametrize(
    ("role", "content"),
    [("user", STEPS), ("assistant", ASKED), ("user", "Remember how we laughed at the zoo?"), ("user", "Thanks!")],
)
def test_nothing_is_kept_unasked(warden: Warden, role: str, content: str) -> None:
    me = warden.scope(user="ana", thread="t1")
    me.observe([{"role": role, "content": content}])
    me.extract_pending()
    assert steps_of(me) == []


def test_steps_are_in_no_default_context(warden: Warden) -> None:
    me = warden.scope(user="ana", thread="t1")
    (kept,) = me.remember(STEPS, channel="procedural", pinned=True, importance=1.0).results
    for agent in (None, "planner", "executor", "supervisor", "researcher", "stylist"):
        them = warden.scope(user="ana", thread="t2", agent=agent)
        message = {"role": "user", "content": QUESTION}
        assert "migration" not in them.context([message], threshold=0.0, explain=True).text
        assert "migration" not in them.query(QUESTION, threshold=0.0, top_k=50, since_rev=0).text
        assert "migration" not in them.query(QUESTION, threshold=0.0, filters={"channel": "procedural"}).text
        assert not [bullet for bullet in them.journal.delta(0).bullets if "migration" in bullet]
    explained = me.query(QUESTION, threshold=0.0, explain=True)
    assert {cut.gate for cut in explained.cut if cut.id == kept.id} == {"procedural"}


def test_who_may_read_their_category_and_asks_for_it_gets_them(warden: Warden) -> None:
    warden.scope(user="ana").remember(STEPS, channel="procedural")
    for agent in (None, "planner", "executor"):
        assert shown(warden, agent, categories=["procedural"]) == STEPS
        assert shown(warden, agent, categories=["tasks", "procedural"]) == STEPS
        assert shown(warden, agent) == ""
    for agent in ("supervisor", "researcher", "stylist"):
        with pytest.raises(CategoryDenied):
            shown(warden, agent, categories=["procedural"])
    past = warden.scope(user="ana").query(QUESTION, categories=["procedural"], threshold=0.0, as_of=1)
    assert STEPS.splitlines()[1] in past.items[0].memory.text
    assert not warden.scope(user="ana").query(QUESTION, threshold=0.0, as_of=1).items


def test_stated_steps_keep_their_form(warden: Warden) -> None:
    me = warden.scope(user="ana", agent="planner")
    (written,) = me.remember("- stop the queue\n- run the migration", channel="procedural", tags=["ops"]).results
    kept = me.get(str(written.id))
    assert (kept.text, kept.category) == ("1. Stop the queue.\n2. Run the migration.", "procedural")
    me.update(kept.id, text="* stop everything\n* start it")
    assert me.get(kept.id).text == "1. Stop everything.\n2. Start it."
    with pytest.raises(InvalidInput):
        me.remember("Just do it.", channel="procedural")
    with pytest.raises(InvalidInput):
        me.remember(STEPS, channel="procedural", category="tasks")
    with pytest.raises(InvalidInput):
        me.update(kept.id, text="Just do it.")
    with pytest.raises(InvalidInput):
        me.update(kept.id, category="tasks")


def test_steps_change_no_fact_and_no_fact_changes_steps(warden: Warden) -> None:
    """They never pollute other channels: nothing is merged, replaced or linked."""
    me = warden.scope(user="ana")
    me.remember("Run the migration.", category="tasks")
    me.remember("1. Run the migration.", channel="procedural")
    (again,) = me.remember("Run the migration.", category="tasks").results
    assert again.outcome == "merged"
    assert sorted(item.channel for item in me.find()) == ["procedural", "semantic"]
    assert all(not me.relations(item.id) for item in me.find())


def test_without_their_category_there_are_no_steps(url: str) -> None:
    categories = {"categories": {"system": [{"name": "activity", "context": "rag"}]}, "allowlists": {}}
    with Warden.open(url, config={"categories": categories}) as warden:
        me = told(warden.scope(user="ana", thread="t1"))
        assert steps_of(me) == []
        with pytest.raises(InvalidInput, match="procedural"):
            me.remember(STEPS, channel="procedural")
