"""What needs consent, what is made at once, and what changes nothing."""

from __future__ import annotations

import pytest

from memwarden.errors import InvalidInput
from memwarden.records import UserContext
from memwarden.remember.resolve.consent.rules import ConsentVerdict, PendingProposal, Step, judge
from memwarden.remember.resolve.consent.user_context import (
    ASKED,
    EDITABLE,
    MOST_GOALS,
    Edit,
    by_the_person,
    edited,
    payload_of,
    read_patch,
    text_of,
)

NOBODY = UserContext()
ONE, TWO = frozenset({"m1"}), frozenset({"m1", "m2"})


def decided(
    edit: Edit, signals: frozenset[str] = TWO, *waiting: PendingProposal, context: UserContext = NOBODY
) -> ConsentVerdict:
    return judge(context, waiting, edit, signals)


@pytest.mark.parametrize("field", ASKED)
def test_what_needs_consent_waits_however_sure_it_is(field: str) -> None:
    verdict = judge(NOBODY, [], Edit(field, "x"), frozenset(map(str, range(9))), confident=True)
    assert verdict.step == Step.PROPOSE
    waits = PendingProposal("p", Edit(field, "x"), ONE)
    again = judge(NOBODY, [waits], Edit(field, "x"), frozenset("abc"), confident=True)
    assert (again.step, again.closes) == (Step.WAIT, ("p",))


def test_what_is_taken_out_needs_consent() -> None:
    context = UserContext(tone="short", goals=("run",))
    for edit in (Edit("tone", None), Edit("goals_remove", "run"), Edit("goals_remove", "RUN")):
        assert judge(context, [], edit, TWO, confident=True).step == Step.PROPOSE


@pytest.mark.parametrize("edit", [Edit("tone", "short"), Edit("goals_add", "run a marathon")])
def test_two_turns_or_an_insight_that_is_sure_are_enough_for_the_rest(edit: Edit) -> None:
    assert decided(edit, frozenset()).step == Step.PROPOSE
    assert decided(edit, ONE).step == Step.PROPOSE
    assert decided(edit, TWO).step == Step.APPLY
    assert judge(NOBODY, [], edit, frozenset(), confident=True).step == Step.APPLY
    waits = PendingProposal("p", edit, ONE)
    assert decided(edit, ONE, waits).step == Step.WAIT  # the same turn again is no second one
    verdict = decided(edit, frozenset({"m2"}), waits)
    assert (verdict.step, verdict.closes, verdict.signals) == (Step.APPLY, ("p",), TWO)


def test_likeness_does_not_count() -> None:
    waits = PendingProposal("p", Edit("tone", "short"), ONE)
    assert decided(Edit("tone", "brief"), frozenset({"m2"}), waits).step == Step.PROPOSE
    assert decided(Edit("tone", "Short"), frozenset({"m2"}), waits).step == Step.APPLY


def test_a_tone_that_is_contradicted_waits() -> None:
    waits = PendingProposal("p", Edit("tone", "formal"), ONE)
    assert decided(Edit("tone", "casual"), TWO, waits).step == Step.PROPOSE
    assert judge(NOBODY, [waits], Edit("tone", "casual"), ONE, confident=True).step == Step.PROPOSE
    assert decided(Edit("goals_add", "run"), TWO, waits).step == Step.APPLY


def test_what_the_person_decided_stays_until_they_decide_otherwise() -> None:
    context = by_the_person(NOBODY, Edit("tone", "formal"))
    assert context.decided == ("tone",)
    assert decided(Edit("tone", "casual"), context=context).step == Step.PROPOSE


def test_more_signals_for_what_waits_replace_it() -> None:
    context = by_the_person(NOBODY, Edit("tone", "formal"))
    waits = PendingProposal("p", Edit("tone", "casual"), ONE)
    verdict = decided(Edit("tone", "casual"), TWO, waits, context=context)
    assert (verdict.step, verdict.closes, verdict.signals) == (Step.PROPOSE, ("p",), TWO)
    assert decided(Edit("tone", "casual"), ONE, waits, context=context).step == Step.WAIT


def test_orders_to_an_assistant_are_not_made_at_once() -> None:
    assert judge(NOBODY, [], Edit("tone", "x"), TWO, confident=True, suspicious=True).step == Step.PROPOSE


@pytest.mark.parametrize(
    "edit",
    [Edit("city", "Lyon"), Edit("tone", "SHORT"), Edit("goals_add", "run"), Edit("goals_remove", "fly"),
     Edit("pronouns", None)],
)  # fmt: skip
def test_what_is_so_already_changes_nothing(edit: Edit) -> None:
    context = UserContext(city="Lyon", tone="short", goals=("Run",))
    assert edited(context, edit) == context
    assert judge(context, [], edit, TWO).step == Step.NOTHING


def test_a_name_in_other_letters_is_another_name() -> None:
    assert decided(Edit("preferred_name", "Ana"), context=UserContext(preferred_name="ana")).step == Step.PROPOSE


def test_there_are_so_many_goals_at_most() -> None:
    full = UserContext(goals=tuple(f"goal {number}" for number in range(MOST_GOALS)))
    assert decided(Edit("goals_add", "one more"), context=full).step == Step.NOTHING


def test_a_patch_is_read() -> None:
    patch = {"city": "  Sao  Paulo ", "tone": None, "goals_add": ["run", "run", "read"], "goals_remove": "fly"}
    assert read_patch(patch) == (
        Edit("city", "Sao Paulo"), Edit("tone", None), Edit("goals_add", "run"), Edit("goals_add", "read"),
        Edit("goals_remove", "fly"),
    )  # fmt: skip
    assert {edit.field for edit in read_patch(dict.fromkeys(EDITABLE, "x"))} == set(EDITABLE)


@pytest.mark.parametrize(
    "patch",
    [None, {}, "city=Lyon", {"age": "7"}, {"goals": ["run"]}, {"city": ""}, {"city": 7}, {"city": "a\nb"},
     {"city": "x" * 201}, {"goals_add": None}, {"goals_add": []}, {"goals_add": [""]}, {1: "x"}, {"city": "\ud800"},
     {"city": ["Lyon"]}],
)  # fmt: skip
def test_a_patch_of_another_form_is_refused(patch: object) -> None:
    with pytest.raises(InvalidInput):
        read_patch(patch)


def test_a_context_in_a_prompt() -> None:
    context = UserContext(preferred_name="Ana", tone="short", goals=("run", "read"))
    assert text_of(context) == "Preferred name: Ana. Tone: short. Goals: run; read."
    assert payload_of(context)["goals"] == ["run", "read"]
