"""What needs consent, what is made at once, and what changes nothing."""

from __future__ import annotations

import pytest

from memwarden.errors import InvalidInput
from memwarden.records import UserContext
from memwarden.remember.resolve.proposals import ConsentStep, ConsentVerdict, PendingProposal, judge_edit
from memwarden.remember.resolve.user_context import (
    ContextEdit,
    apply_decision,
    apply_edit,
    context_payload,
    context_text,
    read_patch,
)

CONSENT_FIELDS = (
    "preferred_name",
    "pronouns",
    "city",
    "language",
)
EDITABLE = (
    "preferred_name",
    "pronouns",
    "city",
    "language",
    "tone",
    "goals_add",
    "goals_remove",
)
MAX_GOALS = 20

NOBODY = UserContext()
ONE, TWO = frozenset({"m1"}), frozenset({"m1", "m2"})


def decided(
    edit: ContextEdit, signals: frozenset[str] = TWO, *waiting: PendingProposal, context: UserContext = NOBODY
) -> ConsentVerdict:
    return judge_edit(context, waiting, edit, signals)


@pytest.mark.parametrize("field", CONSENT_FIELDS)
def test_what_needs_consent_waits_however_sure_it_is(field: str) -> None:
    verdict = judge_edit(NOBODY, [], ContextEdit(field, "x"), frozenset(map(str, range(9))), confident=True)
    assert verdict.step == ConsentStep.PROPOSE
    waits = PendingProposal("p", ContextEdit(field, "x"), ONE)
    again = judge_edit(NOBODY, [waits], ContextEdit(field, "x"), frozenset("abc"), confident=True)
    assert (again.step, again.closes) == (ConsentStep.WAIT, ("p",))


def test_what_is_taken_out_needs_consent() -> None:
    context = UserContext(tone="short", goals=("run",))
    for edit in (ContextEdit("tone", None), ContextEdit("goals_remove", "run"), ContextEdit("goals_remove", "RUN")):
        assert judge_edit(context, [], edit, TWO, confident=True).step == ConsentStep.PROPOSE


@pytest.mark.parametrize("edit", [ContextEdit("tone", "short"), ContextEdit("goals_add", "run a marathon")])
def test_two_turns_or_an_insight_that_is_sure_are_enough_for_the_rest(edit: ContextEdit) -> None:
    assert decided(edit, frozenset()).step == ConsentStep.PROPOSE
    assert decided(edit, ONE).step == ConsentStep.PROPOSE
    assert decided(edit, TWO).step == ConsentStep.APPLY
    assert judge_edit(NOBODY, [], edit, frozenset(), confident=True).step == ConsentStep.APPLY
    waits = PendingProposal("p", edit, ONE)
    assert decided(edit, ONE, waits).step == ConsentStep.WAIT  # the same turn again is no second one
    verdict = decided(edit, frozenset({"m2"}), waits)
    assert (verdict.step, verdict.closes, verdict.signals) == (ConsentStep.APPLY, ("p",), TWO)


def test_likeness_does_not_count() -> None:
    waits = PendingProposal("p", ContextEdit("tone", "short"), ONE)
    assert decided(ContextEdit("tone", "brief"), frozenset({"m2"}), waits).step == ConsentStep.PROPOSE
    assert decided(ContextEdit("tone", "Short"), frozenset({"m2"}), waits).step == ConsentStep.APPLY


def test_a_tone_that_is_contradicted_waits() -> None:
    waits = PendingProposal("p", ContextEdit("tone", "formal"), ONE)
    assert decided(ContextEdit("tone", "casual"), TWO, waits).step == ConsentStep.PROPOSE
    assert judge_edit(NOBODY, [waits], ContextEdit("tone", "casual"), ONE, confident=True).step == ConsentStep.PROPOSE
    assert decided(ContextEdit("goals_add", "run"), TWO, waits).step == ConsentStep.APPLY


def test_what_the_person_decided_stays_until_they_decide_otherwise() -> None:
    context = apply_decision(NOBODY, ContextEdit("tone", "formal"))
    assert context.decided == ("tone",)
    assert decided(ContextEdit("tone", "casual"), context=context).step == ConsentStep.PROPOSE


def test_more_signals_for_what_waits_replace_it() -> None:
    context = apply_decision(NOBODY, ContextEdit("tone", "formal"))
    waits = PendingProposal("p", ContextEdit("tone", "casual"), ONE)
    verdict = decided(ContextEdit("tone", "casual"), TWO, waits, context=context)
    assert (verdict.step, verdict.closes, verdict.signals) == (ConsentStep.PROPOSE, ("p",), TWO)
    assert decided(ContextEdit("tone", "casual"), ONE, waits, context=context).step == ConsentStep.WAIT


def test_orders_to_an_assistant_are_not_made_at_once() -> None:
    assert (
        judge_edit(NOBODY, [], ContextEdit("tone", "x"), TWO, confident=True, suspicious=True).step
        == ConsentStep.PROPOSE
    )


@pytest.mark.parametrize(
    "edit",
    [
        ContextEdit("city", "Lyon"),
        ContextEdit("tone", "SHORT"),
        ContextEdit("goals_add", "run"),
        ContextEdit("goals_remove", "fly"),
        ContextEdit("pronouns", None),
    ],
)
def test_what_is_so_already_changes_nothing(edit: ContextEdit) -> None:
    context = UserContext(city="Lyon", tone="short", goals=("Run",))
    assert apply_edit(context, edit) == context
    assert judge_edit(context, [], edit, TWO).step == ConsentStep.NOTHING


def test_a_name_in_other_letters_is_another_name() -> None:
    assert (
        decided(ContextEdit("preferred_name", "Ana"), context=UserContext(preferred_name="ana")).step
        == ConsentStep.PROPOSE
    )


def test_there_are_so_many_goals_at_most() -> None:
    full = UserContext(goals=tuple(f"goal {number}" for number in range(MAX_GOALS)))
    assert decided(ContextEdit("goals_add", "one more"), context=full).step == ConsentStep.NOTHING


def test_a_patch_is_read() -> None:
    patch = {"city": "  Sao  Paulo ", "tone": None, "goals_add": ["run", "run", "read"], "goals_remove": "fly"}
    assert read_patch(patch) == (
        ContextEdit("city", "Sao Paulo"),
        ContextEdit("tone", None),
        ContextEdit("goals_add", "run"),
        ContextEdit("goals_add", "read"),
        ContextEdit("goals_remove", "fly"),
    )
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
    assert context_text(context) == "Preferred name: Ana. Tone: short. Goals: run; read."
    assert context_payload(context)["goals"] == ["run", "read"]
