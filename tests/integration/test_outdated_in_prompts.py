"""What a thread's model was shown and is no longer so is told in its next prompt, once, in the part that changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from memwarden import ChatSettings, Warden
from memwarden.text.tokenizer import estimate

OLD, NEW = "The launch of the web shop is on 3 May.", "The launch of the web shop is on 10 May."
ASKED = [{"role": "user", "content": "When is the launch of the web shop?"}]
OTHER = [{"role": "user", "content": "How do the rings of Saturn stay in place?"}]
STABLE = ChatSettings(use_memory=True, memory_injection_mode="cache_stable", memory_extraction_mode="on_save")


@pytest.fixture
def warden() -> Iterator[Warden]:
    with Warden.open("memory://", {"embedder": "auto"}) as opened:
        yield opened


@pytest.fixture
def me(warden: Warden) -> Any:
    return warden.scope(user="ana", thread="t1")


@pytest.fixture
def elsewhere(warden: Warden) -> Any:
    """The same person in another conversation."""
    return warden.scope(user="ana", thread="t2")


def test_nothing_is_told_while_all_still_holds(me: Any, elsewhere: Any) -> None:
    elsewhere.remember(OLD, category="goals")
    assert OLD in me.context(ASKED).text
    elsewhere.remember("The office plant is called Kurt.")
    block = me.context(ASKED)
    assert block.delta is None
    assert "Memory updates" not in block.text


def test_a_correction_is_told_and_its_words_stand_once(me: Any, elsewhere: Any) -> None:
    (fact,) = elsewhere.remember(OLD, category="goals").results
    seen = me.context(ASKED)
    elsewhere.update(fact.id, text=NEW)
    block = me.context(ASKED)
    assert block.text.startswith(f"Memory updates since rev {seen.rev}:\n- ↑updated: [Goals] (see the memories)\n\n")
    assert block.text.count(NEW) == 1
    assert OLD not in block.text
    assert block.tokens == estimate(block.text) <= block.budget_tokens
    assert me.context(ASKED).delta is None  # told once


def test_it_is_told_beside_a_question_about_something_else(me: Any, elsewhere: Any) -> None:
    (fact,) = elsewhere.remember(OLD, category="goals").results
    me.context(ASKED)
    elsewhere.update(fact.id, text=NEW)
    block = me.context(OTHER)
    assert block
    assert not block.relevant
    assert block.text.endswith(f"- ↑updated: [Goals] {NEW}")
    assert block.items == ()


def test_a_fact_that_took_the_place_of_what_was_shown_is_told(me: Any, elsewhere: Any) -> None:
    elsewhere.remember("Ana lives in Berlin.", category="goals")
    assert me.context([{"role": "user", "content": "Where does Ana live?"}]).items
    elsewhere.remember("Ana lives in Porto now.", category="goals")
    block = me.context(OTHER)
    assert block.text.endswith("- ↑updated: [Goals] Ana lives in Porto now.")
    assert "Berlin" not in block.text


@pytest.mark.parametrize("how", ["forget", "expire"])
def test_what_is_gone_is_told_without_its_words(me: Any, elsewhere: Any, how: str) -> None:
    (fact,) = elsewhere.remember(OLD, category="goals", created_at="2026-01-02").results
    me.context(ASKED)
    if how == "forget":
        elsewhere.forget(fact.id)
    else:
        elsewhere.update(fact.id, valid_from="2026-01-02", valid_to="2026-01-03")
    text = me.context(OTHER).text
    assert "[Goals] what was known of 2 Jan 2026 holds no longer" in text
    assert "launch" not in text


def test_a_turn_that_was_shown_and_forgotten_is_told(me: Any, elsewhere: Any) -> None:
    (turn,) = elsewhere.observe([{"role": "user", "content": OLD, "created_at": "2026-01-02"}]).results
    assert me.context(ASKED).items
    elsewhere.forget(turn.id)
    assert "what was known of 2 Jan 2026 holds no longer" in me.context(OTHER).text


def test_what_the_thread_was_never_shown_is_no_news(me: Any, elsewhere: Any) -> None:
    (fact,) = elsewhere.remember(OLD, category="goals").results
    me.context(OTHER)
    elsewhere.update(fact.id, text=NEW)
    assert not me.context(OTHER)


def test_what_a_query_showed_counts(me: Any, elsewhere: Any) -> None:
    (fact,) = elsewhere.remember(OLD, category="goals").results
    assert me.query(ASKED[0]["content"]).items
    elsewhere.forget(fact.id)
    assert "holds no longer" in me.context(OTHER).text


def test_an_agent_is_not_told_of_what_it_may_not_read(warden: Warden) -> None:
    anyone: Any = warden.scope(user="ana", thread="t1")
    planner: Any = warden.scope(user="ana", thread="t1", agent="planner")
    (fact,) = anyone.remember(OLD, category="goals").results
    assert planner.context(ASKED).items
    anyone.update(fact.id, text=NEW, category="preferences")
    assert "10 May" not in planner.context(OTHER).text


def test_changes_that_do_not_fit_come_later(me: Any, elsewhere: Any) -> None:
    (fact,) = elsewhere.remember(OLD, category="goals").results
    me.context(ASKED)
    elsewhere.update(fact.id, text=NEW)
    assert me.context(OTHER, budget_tokens=5).text == ""
    assert NEW in me.context(OTHER).text


def test_a_turn_tells_it_in_the_prompt_and_stores_none_of_it(me: Any, elsewhere: Any) -> None:
    (fact,) = elsewhere.remember(OLD, category="goals").results
    history: list[dict[str, Any]] = [*ASKED]
    with me.turn(history) as turn:
        turn.record_response("On 3 May.")
    history += [{"role": "assistant", "content": "On 3 May."}, *OTHER]
    elsewhere.update(fact.id, text=NEW)
    with me.turn(history) as turn:
        assert NEW in str(turn.messages)
        turn.record_response("By gravity.")
        kept = turn.messages
    # An application that keeps what was put in gives it back with the next message.
    with me.turn(
        [*kept, {"role": "assistant", "content": "By gravity."}, {"role": "user", "content": "Thanks."}]
    ) as turn:
        assert "Memory updates" not in str(turn.messages)
        turn.record_response("You're welcome.")
    assert not [item for item in me.find() if "Memory updates" in item.text]


def test_a_chat_tells_it(me: Any, elsewhere: Any) -> None:
    (fact,) = elsewhere.remember(OLD, category="goals").results
    prompts: list[str] = []

    def upstream(messages: Any) -> str:
        prompts.append(str(messages))
        return "On 3 May."

    chat = me.chat(upstream)
    chat.continue_chat(ASKED[0]["content"])
    elsewhere.update(fact.id, text=NEW)
    chat.continue_chat(OTHER[0]["content"])
    assert "Memory updates" not in prompts[0]
    assert NEW in prompts[1]


def test_a_cache_stable_prompt_tells_it_before_the_message(me: Any, elsewhere: Any) -> None:
    """What stood in the prompt stays; the change stands where the prompt changes anyway, and stays there too."""
    (fact,) = elsewhere.remember(OLD, category="goals").results
    elsewhere.remember("The merchant guild gives supplies in exchange for escorts.", category="goals")
    settings = replace(STABLE, max_memory_context=1)
    history: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]

    def ask(text: str) -> list[dict[str, Any]]:
        history.append({"role": "user", "content": text})
        with me.turn(history, settings) as turn:
            turn.record_response("Noted.")
        history.append({"role": "assistant", "content": "Noted."})
        return list(turn.messages)

    ask("Who gives us supplies in exchange for escorts?")
    second = ask(ASKED[0]["content"])
    assert OLD in second[3]["content"]
    elsewhere.update(fact.id, text=NEW)
    third = ask(OTHER[0]["content"])
    assert third[:2] == second[:2]  # the snapshot stays; the delta with what is no longer so leaves
    assert OLD not in str(third)
    assert third[-1]["content"].startswith("Memory updates since rev ")
    assert third[-1]["content"].endswith(OTHER[0]["content"])
    assert str(third).count(NEW) == 1
    fourth = ask("Thanks.")
    assert fourth[: len(third)] == third
