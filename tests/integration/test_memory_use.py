"""Whether the memories in a prompt were of use (F22): judged from the answer, corrected by the caller, taken back."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

import pytest

from memwarden import Warden
from memwarden.api.blocking import BoundScope
from memwarden.conversation import turn as rules
from memwarden.conversation.settings import ChatSettings
from memwarden.errors import CategoryDenied, InvalidInput, NotFound
from memwarden.observability.records import MemoryUse, Node, Op, OpEvent, UseVerdict, summarize_uses
from memwarden.records import Namespace

ASKED = "Which snacks can my daughter Mia take on the school trip on Friday?"
FACTS = ("Mia is allergic to peanuts and to sesame.", "Mia's school trip on Friday goes to the harbour museum.")
SETTINGS = ChatSettings(use_memory=True, memory_search_threshold=0.0, memory_extraction_mode="llm_triggered")


@pytest.fixture
def warden() -> Iterator[Warden]:
    with Warden.open("memory://", config={}) as opened:
        yield opened


@pytest.fixture
def ana(warden: Warden) -> BoundScope:
    me = warden.scope(user="ana", thread="t1")
    me.remember(list(FACTS))
    return me


def answered(me: BoundScope, answer: str, asked: str = ASKED) -> int:
    """Hold a turn, and return the revision of its block."""
    with me.turn([{"role": "user", "content": asked}], SETTINGS) as turn:
        assert {item.text for item in turn.block.items} >= set(FACTS)
        turn.record_response(answer)
    return int(turn.block.rev)


def verdicts(me: BoundScope) -> dict[str, tuple[int, int, int]]:
    return {me.get(use.memory_id).text: (use.used, use.unused, use.wrong) for use in me.usage.uses()}


def test_a_turn_judges_what_its_answer_used(ana: BoundScope) -> None:
    answered(ana, "Rice cakes and grapes; no peanuts, and nothing with sesame.")
    assert verdicts(ana) == {FACTS[0]: (1, 0, 0), FACTS[1]: (0, 1, 0)}
    answered(ana, "Something small: the harbour museum has a kiosk.")
    found = verdicts(ana)
    assert (found[FACTS[0]], found[FACTS[1]]) == ((1, 1, 0), (1, 1, 0))
    told = ana.journal.events(op="use")
    assert {item.status for item in told if item.reason == "used"} == {"ok"}
    assert {item.status for item in told if item.reason == "unused"} == {"skipped"}
    assert {item.node for item in told} == {"context"}
    assert all(item.category == "activity" and 0 <= (item.sim or 0) <= 1 for item in told)
    assert sum(event_count.count for event_count in ana.journal.event_counts(op="use")) == len(told)


def test_a_stream_is_judged_when_it_is_over(ana: BoundScope) -> None:
    with ana.turn([{"role": "user", "content": ASKED}], SETTINGS) as turn:
        for _ in turn.stream(["Rice cakes, no pea", "nuts and no se", "same."]):
            assert ana.usage.uses() == []
    assert verdicts(ana)[FACTS[0]] == (1, 0, 0)


def test_what_was_said_in_the_prompt_is_no_use_of_a_memory(ana: BoundScope) -> None:
    answered(ana, "On the school trip on Friday Mia can take snacks.")
    assert verdicts(ana) == {FACTS[0]: (0, 1, 0), FACTS[1]: (0, 1, 0)}


def test_a_block_that_stays_in_the_history_is_not_what_was_said(ana: BoundScope) -> None:
    with ana.turn([{"role": "user", "content": ASKED}], SETTINGS) as turn:
        history = turn.messages
        turn.record_response("I will think about it.")
    history = [*history, {"role": "assistant", "content": "I will think about it."}]
    with ana.turn([*history, {"role": "user", "content": "And? " + ASKED}], SETTINGS) as turn:
        turn.record_response("No peanuts, no sesame.")
    assert verdicts(ana)[FACTS[0]] == (1, 1, 0)


def test_a_turn_that_failed_or_had_no_answer_judges_nothing(ana: BoundScope) -> None:
    def broken() -> None:
        with ana.turn([{"role": "user", "content": ASKED}], SETTINGS) as turn:
            turn.record_response("No peanuts and no sesame.")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    with ana.turn([{"role": "user", "content": ASKED}], SETTINGS) as turn:
        turn.record_response(" ")
    with ana.turn([{"role": "user", "content": "What is the boiling point of tungsten?"}]) as turn:
        turn.record_response("3,422 degrees, and no peanuts.")
    assert ana.usage.uses() == []


def test_the_caller_has_the_last_word_and_can_take_it_back(ana: BoundScope, warden: Warden) -> None:
    rev = answered(ana, "Rice cakes and grapes; no peanuts, and nothing with sesame.")
    ids = {ana.get(use.memory_id).text: use.memory_id for use in ana.usage.uses()}
    before = ana.get(ids[FACTS[0]])
    ana.usage.feedback(ids[FACTS[0]], "wrong", rev=rev)
    ana.usage.feedback(ids[FACTS[1]], "used", rev=rev)
    assert verdicts(ana) == {FACTS[0]: (0, 0, 1), FACTS[1]: (1, 0, 0)}
    (item,) = ana.usage.uses(memory_id=ids[FACTS[0]])
    assert (item.memory_id, item.category, item.wrong) == (before.id, "activity", 1)
    assert ana.journal.events(op="use", status="error")[0].memory_id == before.id
    ana.usage.feedback(ids[FACTS[0]], "unused", rev=rev)
    assert verdicts(ana)[FACTS[0]] == (0, 1, 0)
    ana.usage.feedback(ids[FACTS[0]], "withdrawn", rev=rev)
    assert list(verdicts(ana)) == [FACTS[1]]
    ana.usage.feedback(ids[FACTS[0]], "used", rev=rev + 1)  # another prompt
    warden.scope(user="ana", thread="t2").usage.feedback(ids[FACTS[0]], "used", rev=rev + 1)  # and another
    assert verdicts(ana)[FACTS[0]] == (2, 0, 0)
    assert ana.usage.uses(since=datetime.now(UTC) + timedelta(hours=1)) == []
    assert ana.get(before.id) == before  # nothing that is remembered changed
    assert [item.event for item in ana.journal.history(before.id)] == ["ADD"]


def test_wrong_feedback_is_refused(ana: BoundScope, warden: Warden) -> None:
    item = ana.find()[0].id
    for verdict in ("good", "", None, 1):
        with pytest.raises(InvalidInput, match="used, unused, wrong or withdrawn"):
            ana.usage.feedback(item, verdict, rev=1)  # type: ignore[arg-type]
    for rev in (-1, 1.5, True, None):
        with pytest.raises(InvalidInput, match="rev"):
            ana.usage.feedback(item, "used", rev=rev)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        ana.usage.feedback("no-such-memory", "used", rev=1)
    with pytest.raises(NotFound):
        warden.scope(user="ben").usage.feedback(item, "used", rev=1)
    assert ana.usage.uses() == []


def test_an_agent_judges_and_sees_what_it_may_read(ana: BoundScope, warden: Warden) -> None:
    (kept,) = ana.remember("Ana wants to visit Lisbon in May.", category="profile").results
    ana.usage.feedback(str(kept.id), "used", rev=1)
    planner = warden.scope(user="ana", agent="planner", thread="t1")
    assert planner.usage.uses() == []
    with pytest.raises((NotFound, CategoryDenied)):
        planner.usage.feedback(str(kept.id), "wrong", rev=1)
    assert verdicts(ana) == {"Ana wants to visit Lisbon in May.": (1, 0, 0)}
    assert warden.scope(user="ben").usage.uses() == []


def test_without_events_nothing_is_known_and_nothing_fails() -> None:
    with Warden.open("memory://", {"events": "off"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        me.remember(list(FACTS))
        rev = answered(me, "No peanuts, no sesame.")
        me.usage.feedback(me.find()[0].id, "wrong", rev=rev)
        assert me.usage.uses() == []


def test_rules_that_fail_do_not_fail_the_turn(ana: BoundScope) -> None:
    with mock.patch.object(rules, "judge_uses", side_effect=ZeroDivisionError):
        with ana.turn([{"role": "user", "content": ASKED}], SETTINGS) as turn:
            turn.record_response("No peanuts, no sesame.")
        assert [type(failure) for failure in turn.failures] == [ZeroDivisionError]
    assert [item.outcome for item in turn.stored] == ["created", "created"]


def test_a_signal_lies_beside_the_journal_and_outlives_the_process(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'm.db'}"
    with Warden.open(url) as warden:
        me = warden.scope(user="ana", thread="t1")
        me.remember(list(FACTS))
        answered(me, "Rice cakes and grapes; no peanuts, and nothing with sesame.")
    with closing(sqlite3.connect(tmp_path / "m.db")) as db:
        rows = db.execute("SELECT reason, status, thread_id FROM events WHERE op = 'use' ORDER BY reason").fetchall()
    assert rows == [("unused", "skipped", "t1"), ("used", "ok", "t1")]
    with Warden.open(url) as warden:
        me = warden.scope(user="ana", thread="t9")
        assert verdicts(me) == {FACTS[0]: (1, 0, 0), FACTS[1]: (0, 1, 0)}
        assert all("use" not in item.event.lower() for item in me.journal.history(limit=1_000))


def test_on_every_store(url: str) -> None:
    with Warden.open(url) as warden:
        me = warden.scope(user="ana", thread="t1")
        (kept,) = me.remember(FACTS[0]).results
        for verdict in ("used", "wrong"):
            me.usage.feedback(str(kept.id), verdict, rev=7)
        (item,) = me.usage.uses(memory_id=str(kept.id))
        assert (item.used, item.unused, item.wrong) == (0, 0, 1)


def test_sums_of_events() -> None:
    start = datetime(2026, 5, 1, tzinfo=UTC)

    def event(
        number: int, memory: str | None, verdict: str, thread: str = "t1", rev: int = 1, op: str = Op.USE
    ) -> OpEvent:
        return OpEvent(
            f"{number:04}", Namespace("default", "user/ana"), Node.CONTEXT, op, "ok", start + timedelta(seconds=number),
            thread_id=thread, memory_id=memory, category="profile", rev=rev, reason=verdict,
        )  # fmt: skip

    told = [
        event(1, "a", UseVerdict.USED),
        event(2, "a", UseVerdict.USED, rev=2),
        event(3, "a", UseVerdict.WRONG, rev=2),
        event(4, "a", UseVerdict.UNUSED, thread="t2"),
        event(5, "b", UseVerdict.USED),
        event(6, "b", UseVerdict.WITHDRAWN),
        event(7, "c", "", op=Op.SEARCH),
        event(8, None, "InvalidInput"),
        event(9, "d", UseVerdict.WITHDRAWN),
        event(10, "d", UseVerdict.UNUSED),
    ]
    wanted = [
        MemoryUse("d", "profile", 0, 1, 0, start + timedelta(seconds=10)),
        MemoryUse("a", "profile", 1, 1, 1, start + timedelta(seconds=4)),
    ]
    assert summarize_uses(told) == summarize_uses(reversed(told)) == wanted
