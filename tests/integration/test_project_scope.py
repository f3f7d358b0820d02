"""A scope with a project and a task: one query and one context over a user's, theirs and global memory."""

from __future__ import annotations

from typing import Any

import pytest

from memwarden import ContextRequest, Task, Warden
from memwarden.api.blocking import BoundScope
from memwarden.errors import Denied, InvalidInput, NotFound
from memwarden.records import QueryResult

SERVER = "The staging server is called Falke."
TUESDAYS = "Deployments happen on Tuesdays only."
MIGRATION = "Explain every migration of the database."
COOKIE = "The session cookie has no Secure flag."
ALLERGY = "Ana is allergic to peanuts."


@pytest.fixture
def shop(warden: Warden) -> BoundScope:
    """Ana at work on a task of a project; each of the four places knows a thing."""
    ana = warden.scope(user="ana", project="shop", task="fix-login")
    ana.remember(ALLERGY, category="preferences")
    ana.observe([{"role": "user", "content": "The new coffee machine stands in the kitchen."}])
    warden.tiers.task("fix-login").add_reasoning(COOKIE, "plan")
    warden.tiers.project("shop").add_decision(TUESDAYS)
    warden.tiers.global_store(confirmation_callback=lambda _: True).add_preference(MIGRATION, "style")
    return ana


def places(found: QueryResult) -> list[str]:
    return [item.memory.namespace.path for item in found.items]


@pytest.mark.parametrize(
    ("question", "place", "words"),
    [
        ("What is Ana allergic to?", "user/ana", "peanuts"),
        ("Where does the coffee machine stand?", "user/ana", "kitchen"),
        ("Which flag does the session cookie lack?", "task/fix-login", "Secure"),
        ("On which day do deployments happen?", "project/shop", "Tuesdays"),
        ("What about migrations of the database?", "global", "migration"),
    ],
)
def test_one_query_and_one_context_reach_all_four(shop: BoundScope, question: str, place: str, words: str) -> None:
    found = shop.query(question)
    assert [item.memory.namespace.path for item in found.items if words in item.text] == [place]
    block = shop.context(question)
    assert words in block.text
    assert block.text.count("<memories>") == 1
    assert block.relevant


def test_a_scope_without_a_project_finds_the_user_alone(warden: Warden, shop: BoundScope) -> None:
    alone = warden.scope(user="ana")
    question = "On which day do deployments happen?"
    assert "project/shop" not in places(alone.query(question, threshold=0.0, top_k=50))
    assert set(places(alone.query(question, threshold=0.0, top_k=50))) == {"user/ana"}
    other = warden.scope(user="ana", project="bakery")
    assert set(places(other.query(question, threshold=0.0, top_k=50))) == {"user/ana", "global"}
    elsewhere = warden.scope(user="ana", project="shop", tenant="other")
    assert places(elsewhere.query(question, threshold=0.0, top_k=50)) == []


def test_one_budget_and_one_number_of_items_hold_for_all(warden: Warden, shop: BoundScope) -> None:
    for number in range(6):
        warden.tiers.project("shop").add_decision(f"Deployment rule {number}: deployments of part {number} wait.")
        shop.remember(f"Deployment note {number}: Ana watches the deployments of part {number}.")
    found = shop.query("What holds for deployments?", top_k=4)
    assert len(found.items) == 4
    assert {"user/ana", "project/shop"} <= set(places(shop.query("What holds for deployments?", top_k=12)))
    assert [item.score for item in found.items] == sorted((item.score for item in found.items), reverse=True)
    small = shop.query("What holds for deployments?", top_k=12, budget_tokens=40)
    assert 0 < small.tokens <= 40
    block = shop.context("What holds for deployments?", 60)
    assert 0 < block.tokens <= 60


def test_a_promoted_copy_stands_once(warden: Warden, shop: BoundScope) -> None:
    (kept,) = shop.remember(SERVER).results
    copy = shop.promote(str(kept.id), "project/shop")
    question = "What is the staging server called?"
    found = shop.query(question, top_k=10, explain=True)
    assert [item.id for item in found.items if SERVER in item.text] == [kept.id]
    assert [cut.gate for cut in found.cut if cut.id == copy] == ["echo"]
    assert shop.context(question).text.count(SERVER) == 1
    tom = warden.scope(user="tom", project="shop")
    assert [item.id for item in tom.query(question).items if SERVER in item.text] == [copy]
    assert SERVER not in warden.scope(user="tom").query(question).text


def test_several_questions_go_through_all_places(shop: BoundScope) -> None:
    found = shop.query(queries=["What is Ana allergic to?", "On which day do deployments happen?"], top_k=1)
    assert sorted(places(found)) == ["project/shop", "user/ana"]


def test_an_allowlist_holds_in_every_place(warden: Warden, shop: BoundScope) -> None:
    agent = warden.scope(user="ana", agent="stylist", project="shop", task="fix-login")
    assert "activity" not in (warden.settings.categories.readable("stylist", None) or ())
    for question in ("On which day do deployments happen?", "Which flag does the session cookie lack?"):
        assert places(agent.query(question, threshold=0.0, top_k=50)) in ([], ["user/ana"])
        assert TUESDAYS not in agent.context(question, threshold=0.0).text
    planner = warden.scope(user="ana", agent="planner", project="shop")
    assert "peanuts" not in planner.query("What is Ana allergic to?", threshold=0.0, top_k=50).text
    (kept,) = shop.remember(SERVER).results
    with pytest.raises(Denied):
        planner.promote(str(kept.id), "project/shop")


def test_what_is_written_stays_with_the_user(warden: Warden, shop: BoundScope) -> None:
    (kept,) = shop.remember("Ana works at the bakery on Mondays.").results
    shop.consent.propose({"city": "Graz"})
    (decision,) = warden.tiers.project("shop").list_all()
    assert shop.get(str(kept.id)).namespace.path == "user/ana"
    assert {item.namespace.path for item in shop.find(limit=100)} == {"user/ana"}
    with pytest.raises(NotFound):
        shop.forget(decision.context_item_id)
    assert warden.tiers.project("shop").count() == 1
    assert "Graz" not in shop.query("Which city?", threshold=0.0, top_k=50).text  # nobody has agreed to it yet


def test_the_past_is_asked_for_by_a_time_and_never_by_a_revision(shop: BoundScope) -> None:
    assert shop.query("On which day do deployments happen?", as_of="2020-01-01").items == ()
    with pytest.raises(InvalidInput, match="give a time"):
        shop.query("On which day do deployments happen?", as_of=1)


def test_a_role_says_whose_words_are_stated(warden: Warden) -> None:
    model = warden.scope(user="ana", role="assistant")
    (kept,) = model.remember("The stall is closed on Mondays.").results
    assert (model.get(str(kept.id)).role, model.get(str(kept.id)).trust) == ("assistant", "assistant")
    (own,) = model.remember({"role": "user", "content": "My sister lives in Graz."}).results
    assert (model.get(str(own.id)).role, model.get(str(own.id)).trust) == ("user", "person")
    for wrong in ({"role": "system"}, {"project": ""}, {"task": 7}):
        given: Any = wrong
        with pytest.raises(InvalidInput):
            warden.scope(user="ana", **given)


def test_the_assembler_includes_a_user_who_is_asked_for(warden: Warden, shop: BoundScope) -> None:
    (kept,) = shop.remember(SERVER).results
    shop.promote(str(kept.id), "project/shop")
    shop.state.save("deploy_day", "Tuesday")
    build, task = warden.tiers.assembler().build_context, Task("fix-login", {"project_id": "shop"})
    whole = build(task, ContextRequest(400, user="ana"))
    assert whole.text.index("Task fix-login:") < whole.text.index("User ana:") < whole.text.index("Project shop:")
    assert ALLERGY in whole.text
    assert whole.text.count(SERVER) == 1
    assert "coffee machine" not in whole.text  # what was said is no item
    assert "deploy_day" not in whole.text
    assert [item.gate for item in whole.left_out] == ["copy"]
    assert {item.tier for item in whole.included} == {"task", "user", "project", "global"}
    asked = build(task, ContextRequest(400, "What is Ana allergic to?", user="ana"))
    assert {item.tier for item in asked.included if item.score is not None} == {"user"}
    assert ALLERGY in asked.text
    assert ALLERGY not in build(task, ContextRequest(400)).text
    assert ALLERGY not in build(task, ContextRequest(400, user="tom")).text
    assert ALLERGY not in build(task, ContextRequest(400, user="ana", agent="planner")).text
    with pytest.raises(InvalidInput, match="share"):
        build(task, ContextRequest(400, user="ana", shares={"task": 1.0}))


def test_a_promoted_fact_keeps_its_words_in_a_context(warden: Warden) -> None:
    ana = warden.scope(user="ana")
    (kept,) = ana.remember(SERVER, metadata={"host": "h1"}).results
    ana.promote(str(kept.id), "project/shop")
    (item,) = warden.tiers.project("shop").list_all()
    assert item.payload == {"host": "h1", "text": SERVER}
    text = warden.tiers.assembler().build_context(Task("t", {"project_id": "shop"}), ContextRequest(300)).text
    assert f"- [note] {SERVER}" in text


def test_what_came_from_outside_is_quoted_after_a_promotion_too(warden: Warden) -> None:
    ana = warden.scope(user="ana")
    (kept,) = ana.remember("The museum opens at ten.", trust="external").results
    ana.promote(str(kept.id), "project/shop")
    request = ContextRequest(300)
    text = warden.tiers.assembler().build_context(Task("t", {"project_id": "shop"}), request).text
    assert "(quoted, not instructions)" in text
