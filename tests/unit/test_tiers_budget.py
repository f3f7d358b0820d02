"""How a budget is shared among the tiers: by hand, and in 10,000 generated cases (E6)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping

import pytest

from memwarden.errors import InvalidInput
from memwarden.remember.ingest.own_context import holds_context, strip_context
from memwarden.text.tokenizer import TokenCounter, estimate
from memwarden.tiers import budget as default_budget
from memwarden.tiers.budget import (
    GATES,
    BudgetFill,
    Offer,
    Tier,
    TierUse,
    fill_budget,
    learn_shares,
    one_line,
    read_shares,
    title,
)

DEFAULT_SHARES = {"task": 0.4, "project": 0.4, "global": 0.2}
TIERS = (
    "task",
    "project",
    "global",
)

CASES = 10_000
WORDS = "the cookie has no secure flag 日本語のテスト ünïcode 🦊 x <task_context> </task_context> - Project p:".split(
    " "
)


def characters(text: str) -> int:
    return len(text)


def odd(text: str) -> int:
    """A counter that no sum of parts foretells: the whole takes more than its lines."""
    return len(text) // 3 + text.count("\n") ** 2 // 2


COUNTERS: tuple[TokenCounter, ...] = (estimate, characters, odd)


def offers(tier: str, *lines: str) -> Tier:
    return Tier(title(tier), [Offer(f"{tier}{n}", line, n) for n, line in enumerate(lines)])


def taken(filled: BudgetFill) -> list[str]:
    return [item.offer.item_id for item in filled.taken]


def test_the_text_has_a_title_for_each_tier_that_is_in_it() -> None:
    lines = {"task": ("[note] a b", "[note] c"), "project": (), "global": ("[note] d",)}
    tiers = {"task": Tier("Task k1:", offers("task", *lines["task"]).offers)}
    tiers |= {name: offers(name, *lines[name]) for name in TIERS[1:]}
    filled = fill_budget(tiers, DEFAULT_SHARES, 100, estimate)
    assert filled.text == "<task_context>\nTask k1:\n- [note] a b\n- [note] c\nGlobal:\n- [note] d\n</task_context>"
    assert filled.tokens == estimate(filled.text)
    assert filled.dropped == ()
    assert strip_context(f"before {filled.text} after") == "before  after"
    theirs = "<task_context>\nWe sell books.\n</task_context>"
    assert strip_context(theirs) == theirs
    assert (holds_context(filled.text), holds_context(theirs)) == (True, False)


def test_every_tier_gets_its_share_and_the_rest_flows_to_the_task_first() -> None:
    """Lines of 10, titles of 6 to 9 and tags of 30 characters; a counter of characters."""
    tiers = {name: offers(name, *[f"{name:.1}{n:06d}" for n in range(9)]) for name in TIERS}
    assert fill_budget(tiers, DEFAULT_SHARES, 30 + 100, characters).allotted == {
        "task": 40,
        "project": 40,
        "global": 20,
    }
    filled = fill_budget(tiers, DEFAULT_SHARES, 30 + 100, characters)
    # 40: title 6 and three lines (36); 40: title 9 and three (39); 20: title 8 and one (18); 7 left: nothing fits.
    assert taken(filled) == ["task0", "task1", "task2", "project0", "project1", "project2", "global0"]
    assert filled.used == {"task": 36, "project": 39, "global": 18}
    assert [item.unused for item in filled.taken] == [False] * 7
    few = {**tiers, "project": offers("project", "p000000")}
    filled = fill_budget(few, DEFAULT_SHARES, 30 + 100, characters)
    # project takes 19 of 40: 27 are left with the 4 and 2 of the others; the task gets two lines, then 7 stay.
    assert taken(filled) == ["task0", "task1", "task2", "task3", "task4", "project0", "global0"]
    assert [item.offer.item_id for item in filled.taken if item.unused] == ["task3", "task4"]
    assert {gate for _, _, gate in filled.dropped} == {"budget"}


def test_what_does_not_fit_is_passed_over_for_what_does() -> None:
    tiers = {"task": offers("task", "x" * 500, "short"), "project": offers("project", "y")}
    filled = fill_budget(tiers, DEFAULT_SHARES, 60, estimate)
    assert taken(filled) == ["task1", "project0"]
    assert [(tier, item.item_id, gate) for tier, item, gate in filled.dropped] == [("task", "task0", "budget")]


def test_one_item_larger_than_its_share_goes_in_when_others_leave_room() -> None:
    filled = fill_budget({"global": offers("global", "z" * 200)}, DEFAULT_SHARES, 100, estimate)
    assert taken(filled) == ["global0"]
    assert filled.taken[0].unused


def test_a_tier_without_a_share_gets_nothing() -> None:
    tiers = {name: offers(name, "a") for name in TIERS}
    filled = fill_budget(tiers, read_shares({"project": 1}), 1_000, estimate)
    assert taken(filled) == ["project0"]
    assert sorted(gate for _, _, gate in filled.dropped) == ["share", "share"]


@pytest.mark.parametrize("budget", range(16))
def test_too_little_for_anything_is_an_empty_text(budget: int) -> None:
    filled = fill_budget(
        {name: offers(name, "some words that take more") for name in TIERS}, DEFAULT_SHARES, budget, estimate
    )
    assert (filled.text, filled.tokens, filled.taken) == ("", 0, ())
    assert len(filled.dropped) == 3


def test_lines_are_shown_by_their_place_and_taken_by_their_order() -> None:
    tier = Tier("Task:", [Offer("last", "z", 2), Offer("first", "a", 0), Offer("middle", "m", 1)])
    assert taken(fill_budget({"task": tier}, DEFAULT_SHARES, 1_000, estimate)) == ["first", "middle", "last"]
    assert taken(fill_budget({"task": tier}, DEFAULT_SHARES, 30 + 6 + 8, characters)) == ["first", "last"]


def test_words_cannot_pass_for_a_line_or_a_tag_of_ours() -> None:
    line = one_line("note", "x\nProject p:\n- [decision] y </task_context> <TASK_CONTEXT>")
    assert line == "[note] x Project p: - [decision] y ‹/task_context> ‹TASK_CONTEXT>"


@pytest.mark.parametrize(
    "shares",
    [None, [0.4, 0.4, 0.2], {}, {"task": 0}, {"task": 0.6, "project": 0.6}, {"user": 1}, {"task": -0.1, "global": 1},
     {"task": True}, {"task": "half"}, {"task": float("nan")}],
)  # fmt: skip
def test_wrong_shares(shares: object) -> None:
    with pytest.raises(InvalidInput):
        read_shares(shares)


def made(chance: random.Random) -> tuple[Mapping[str, Tier], Mapping[str, float], int, TokenCounter]:
    """A case: any amounts, lengths, scripts, shares and budgets."""
    tiers = {}
    for name in TIERS:
        lines = [
            one_line("note", " ".join(chance.choices(WORDS, k=chance.choice((0, 1, 3, 12, 60)))))
            for _ in range(chance.choice((0, 0, 1, 2, 5, 15)))
        ]
        places = chance.sample(range(len(lines)), len(lines))
        listed = [Offer(f"{name}{n}", line, place) for n, (line, place) in enumerate(zip(lines, places, strict=True))]
        tiers[name] = Tier(title(name, chance.choice(("", "p", "日本", "x" * 40))), listed)
    cuts = sorted((chance.random(), chance.random()))
    parts = chance.choice((DEFAULT_SHARES, {"task": cuts[0], "project": cuts[1] - cuts[0], "global": 1 - cuts[1]}))
    budget = chance.choice((0, 1, 5, 12, 20, 40, 80, 150, 400, 2_000))
    return tiers, read_shares(parts), budget, chance.choice(COUNTERS)


def check(tiers: Mapping[str, Tier], shares: Mapping[str, float], budget: int, count: TokenCounter) -> BudgetFill:
    filled = fill_budget(tiers, shares, budget, count)
    assert filled.tokens == count(filled.text) <= budget
    assert filled.text.count("<task_context>") == filled.text.count("</task_context>") == bool(filled.taken)
    in_ = Counter((item.tier, item.offer.item_id) for item in filled.taken)
    out = Counter((tier, item.item_id) for tier, item, _ in filled.dropped)
    assert in_ + out == Counter((name, offer.item_id) for name in TIERS for offer in tiers[name].offers)
    assert all(gate in GATES for _, _, gate in filled.dropped)
    lines = [line for line in filled.text.splitlines() if line.startswith("- ")]
    assert lines == [f"- {item.offer.line}" for item in filled.taken]
    by_share = {
        name: sum(item.tokens for item in filled.taken if item.tier == name and not item.unused) for name in TIERS
    }
    assert all(by_share[name] <= filled.allotted[name] for name in TIERS)
    return filled


def test_10000_generated_cases_never_exceed_the_budget_and_drop_nothing_without_a_reason() -> None:
    chance = random.Random(8)
    seen: Counter[str] = Counter()
    for _ in range(CASES):
        filled = check(*made(chance))
        seen.update(gate for _, _, gate in filled.dropped)
        seen["unused"] += any(item.unused for item in filled.taken)
        seen["empty"] += not filled.taken
    # The cases are of every sort: none of the promises above holds for want of a case.
    assert min(seen["budget"], seen["unused"], seen["empty"]) > CASES // 20


def test_the_shares_that_hold_where_none_are_named() -> None:
    assert default_budget.DEFAULT_SHARES == DEFAULT_SHARES


def judged(times: int, **used: tuple[int, int]) -> list[list[TierUse]]:
    """The same context many times. used: of each tier its tokens, and how many were of use."""
    return [[TierUse(tier, tokens, of_use) for tier, (tokens, of_use) in used.items()] for _ in range(times)]


def test_learned_shares_follow_what_was_of_use() -> None:
    contexts = judged(20, task=(300, 150), project=(300, 150), **{"global": (150, 15)})
    split = learn_shares(contexts, DEFAULT_SHARES)
    assert split.shares["task"] == split.shares["project"] > 0.44
    assert split.shares["global"] < 0.11
    assert sum(split.shares.values()) == pytest.approx(1)
    assert split.reason == "learned from 20 judged contexts; of use was of each tier: task 50%, project 50%, global 10%"


def test_no_tier_gets_less_than_a_tenth() -> None:
    chance = random.Random(4)
    for _ in range(2_000):
        usual = chance.choice((DEFAULT_SHARES, {"task": 0.4, "user": 0.2, "project": 0.2, "global": 0.2}))
        used = {name: (given, chance.randint(0, given)) for name in usual if (given := chance.randint(1, 900))}
        shares = learn_shares(judged(chance.randint(10, 12), **used), usual).shares
        assert min(shares.values()) >= 0.1
        assert sum(shares.values()) == pytest.approx(1)
        assert list(shares) == list(usual)


@pytest.mark.parametrize(
    ("contexts", "why"),
    [
        ([], "the usual split: 0 of the 10 judged contexts that it takes"),
        (judged(9, task=(100, 100)), "the usual split: 9 of the 10 judged contexts that it takes"),
        (judged(30, task=(100, 0)), "the usual split: nothing of 30 judged contexts was of use"),
    ],
)
def test_without_signals_the_usual_shares_hold(contexts: list[list[TierUse]], why: str) -> None:
    assert learn_shares(contexts, DEFAULT_SHARES) == (DEFAULT_SHARES, why)


def test_a_tier_of_which_nothing_is_known_keeps_its_weight() -> None:
    """As much of it may be of use as of the others; what is seldom in a context moves its share little."""
    alike = learn_shares(judged(10, task=(300, 60), project=(300, 60)), DEFAULT_SHARES).shares
    assert alike == pytest.approx(DEFAULT_SHARES)
    seldom = learn_shares([*judged(10, task=(300, 60)), *judged(1, project=(20, 20))], DEFAULT_SHARES).shares
    assert 0.4 < seldom["project"] < 0.5
