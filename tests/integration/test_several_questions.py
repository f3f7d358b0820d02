"""Several questions in one query: interleaved under one budget, each memory once. With the default embedder and bar."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memwarden import AsyncWarden, Warden
from memwarden.errors import InvalidInput
from memwarden.surfaces.cli.main import app
from memwarden.text.tokenizer import estimate

SAID = [
    ("I'm a vegetarian and I'm allergic to walnuts.", "2026-01-05"),
    ("I live in Utrecht, in a flat near the canal.", "2026-01-20"),
    ("My brother Piet works as a tram driver.", "2026-02-02"),
    ("I'm allergic to cats too, so no kittens for me.", "2026-02-09"),
    ("On Sundays I sing in a choir.", "2026-02-20"),
    ("The dentist put in a new filling today.", "2026-03-02"),
]
FOOD, HOME, SATURN = "Which allergies do I have?", "Where do I live?", "How were the rings of Saturn formed?"


@pytest.fixture(scope="module")
def me() -> Iterator[Any]:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        scope = warden.scope(user="mies", thread="t")
        scope.observe([{"role": "user", "content": text, "created_at": day} for text, day in SAID])
        yield scope


def test_the_best_of_each_question_come_first(me: Any) -> None:
    found = me.query(queries=[FOOD, HOME])
    assert found
    best = [me.query(question).items[0].id for question in (FOOD, HOME)]
    assert [item.id for item in found.items[:2]] == best
    assert "walnuts" in found.text
    assert "Utrecht" in found.text


def test_the_other_way_round_the_other_question_comes_first(me: Any) -> None:
    assert "Utrecht" in me.query(queries=[HOME, FOOD]).items[0].text


def test_a_memory_that_answers_two_questions_stands_once(me: Any) -> None:
    found = me.query(queries=[FOOD, "What am I allergic to?", "Do I have an allergy?"], budget_tokens=None)
    ids = [item.id for item in found.items]
    assert len(ids) == len(set(ids))
    assert found.text.count("walnuts") == 1
    assert not {cut.id for cut in found.cut} & set(ids)


def test_one_budget_holds_for_all(me: Any) -> None:
    found = me.query(queries=[FOOD, HOME, "What does my brother do for a living?"], budget_tokens=60)
    assert found
    assert found.tokens == estimate(found.text) <= 60
    assert "budget" in {cut.gate for cut in found.cut}


def test_a_question_without_an_answer_takes_no_place(me: Any) -> None:
    found = me.query(queries=[SATURN, HOME], top_k=2)
    assert found
    assert [item.id for item in found.items] == [item.id for item in me.query(HOME, top_k=2).items]
    assert not me.query(queries=[SATURN, "Which gearbox oil does a tractor need?"])


def test_confidence_is_told_for_each_question(me: Any) -> None:
    found = me.query(queries=[SATURN, HOME])
    assert found.confidences == (me.query(SATURN).confidence, me.query(HOME).confidence)
    assert found.confidence == found.confidences[1] > found.confidences[0]
    assert me.query(HOME).confidences == (me.query(HOME).confidence,)


def test_one_question_in_a_list_is_that_question(me: Any) -> None:
    alone, listed = me.query(HOME), me.query(queries=[HOME, HOME])
    assert (alone.items, alone.text, alone.confidence, alone.cut) == (
        listed.items,
        listed.text,
        listed.confidence,
        listed.cut,
    )


async def test_the_async_side_takes_several_too() -> None:
    async with AsyncWarden.open("memory://", {"embedder": "auto"}) as warden:
        me = warden.scope(user="mies", thread="t")
        await me.observe([{"role": "user", "content": text, "created_at": day} for text, day in SAID])
        found = await me.query(queries=[FOOD, HOME])
        assert "walnuts" in found.text
        assert "Utrecht" in found.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "query must be text"),
        ({"query": HOME, "queries": [FOOD]}, "not both"),
        ({"queries": []}, "1 to 10"),
        ({"queries": [str(number) for number in range(11)]}, "1 to 10"),
        ({"queries": HOME}, "list of questions"),
        ({"queries": [HOME, " "]}, r"queries\[1\] is empty"),
        ({"queries": [HOME, 3]}, r"queries\[1\] must be text"),
    ],
)
def test_wrong_lists_are_refused(me: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        me.query(**arguments)


def test_the_command_takes_several_questions(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    with Warden.open(url, {"embedder": "auto"}) as warden:
        warden.scope(user="mies").observe([{"role": "user", "content": text} for text, _ in SAID])
    arguments = ["query", FOOD, HOME, "--db", url, "--user", "mies", "--json"]
    done = CliRunner().invoke(app, arguments, env={"MEMWARDEN_EMBEDDER": "auto"})
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert len(told["confidences"]) == 2
    assert "walnuts" in told["text"]
    assert "Utrecht" in told["text"]
