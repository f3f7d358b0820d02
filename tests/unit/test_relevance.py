"""What a saved value has to do with a goal: words, topics, meaning, and goals that ask about the world only (A1)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from memwarden import AsyncWarden
from memwarden.chat.general import asks_generally
from memwarden.chat.relevance import (
    Wording,
    asked,
    believed,
    best,
    by_meaning,
    by_topics,
    by_words,
    deviations,
    relevances,
    wording,
)
from memwarden.chat.topics import asked_topics, plain, topics
from memwarden.models.wordllama import WordLlamaEmbedder
from memwarden.recall.recall import Recall, Request
from memwarden.records import Scope


def said(key: str, description: str = "", value: str = "") -> Wording:
    return wording(key, description, value, "english")


@pytest.mark.parametrize(
    "goal",
    [
        "What does amortization mean?",
        "Translate 'where is my hotel' into Polish",
        "Write a poem about seat belts",
        "What is the capital of Peru?",
        "Was ist der Unterschied zwischen Hefe und Sauerteig?",
        "¿Quién inventó el telescopio?",
        "Combien de grammes dans une livre ?",
        "How many ounces are in a pound?",
        "Wie wird das Wetter morgen?",
    ],
)
def test_goals_about_the_world_need_nothing(goal: str) -> None:
    assert asks_generally(goal)


@pytest.mark.parametrize(
    "goal",
    [
        "Explain my training zones",
        "What does our release checklist mean by step 3?",
        "Who is on call this week?",
        "Übersetze meine Einkaufsliste ins Englische",
        "Book a table for dinner",
        "How many kudos did I get?",
        "Traduce mi receta de siempre",
    ],
)
def test_goals_about_the_one_who_asks_may_need_something(goal: str) -> None:
    assert not asks_generally(goal)


@pytest.mark.parametrize(
    ("goal", "key"),
    [
        ("Where could the two of us have dinner?", "food allergies"),
        ("Buche mir einen Flug nach Rom", "sitzplatz wunsch"),
        ("¿Puedo permitirme gastar más dinero?", "presupuesto mensual"),
        ("Ma cheville me fait un peu mal au pied", "blessures"),
        ("Have it delivered tomorrow", "home address"),
    ],
)
def test_a_topic_joins_words_that_are_not_the_same(goal: str, key: str) -> None:
    looked_at = asked(goal)
    assert by_words(looked_at.terms, said(key), Counter()) == 0
    assert by_topics(looked_at.topics, said(key)) >= 0.5
    assert by_topics(looked_at.topics, said("wifi guest name")) == 0


def test_a_topic_in_the_description_alone_is_not_enough() -> None:
    topic = by_topics(asked("Book me a flight").topics, said("vie", "the airport I leave from"))
    assert 0 < topic < 0.5


def test_every_topic_is_found_by_its_own_words() -> None:
    assert len(topics()) > 50
    for one in topics():
        assert not one.goal.search("qwxz")
        assert not one.key.search("qwxz")
        assert one.goal.search(re.sub(r"\\w\*", "", one.goal.pattern[5:].split("|")[-1].removesuffix(r")\b")))


def test_plain_text_and_whole_words() -> None:
    assert plain("¿Qué Código_de-Estilo's?") == "que codigo de estilo s"
    assert [one.name for one in asked_topics("I retrained the neighbours")] == ["neighbours"]  # not "trained", "train"


def test_a_word_in_many_values_points_to_none() -> None:
    values = [said(f"k{i}", value="Theo") for i in range(5)]
    goal = asked("Ask Theo")
    alone, among = relevances(goal, [said("k", value="Theo")], [0.0]), relevances(goal, values, [0.0] * 5)
    assert alone[0] == pytest.approx(5 * among[0])
    assert among[0] > 0


def test_meaning_counts_by_itself_and_beside_the_other_keys() -> None:
    assert by_meaning([0.1, 0.35, 0.55, 0.75, 0.9]) == pytest.approx([0, 0, 0.35, 0.7, 0.7])
    assert by_meaning([0.05] * 9 + [0.3]) == [0] * 9 + [0.5]  # it alone stands out
    assert by_meaning([0.05] * 9 + [0.15]) == [0] * 10  # too far off all the same
    assert by_meaning([0.05] * 4 + [0.3]) == [0] * 5  # too few to stand out
    assert by_meaning([0.05] * 8 + [0.28, 0.3])[-2:] == [0, 0.5]  # only the nearest
    assert by_meaning([0.3] * 8) == [0] * 8
    assert by_meaning([]) == []


def test_a_topic_is_believed_where_few_keys_serve_it_and_meaning_does_not_object() -> None:
    assert believed([0.6, 0.3, 0.0], [0.0, 0.0, 0.0]) == [0.6, 0.3, 0.0]
    assert believed([0.6, 0.6], [0.1, -0.1]) == [0.6, 0.3]
    assert believed([0.6] * 4 + [0.0], [1.0] * 5) == [0.3] * 4 + [0.0]
    assert deviations([1, 1, 1, 1, 1, 7]) == pytest.approx([-0.447, -0.447, -0.447, -0.447, -0.447, 2.236], abs=1e-3)
    assert deviations([0.0, 1.0]) == [0, 0]


def test_a_goal_about_the_world_keeps_the_order_and_never_reaches_the_bar() -> None:
    scores = relevances(asked("What is the capital of Namibia?"), [said("x"), said("namibia capital")], [0.0, 0.9])
    assert 0 == scores[0] < scores[1] < 0.5


def test_what_is_far_behind_the_best_is_left_out() -> None:
    assert best([0.5, 0.9, 0.6, 0.4], 0.5, 5) == [1, 2]
    assert best([0.5, 0.5], 0.5, 5) == [0, 1]
    assert best([0.5, 0.9, 0.6, 0.4], 0.0, 5) == [1, 2, 0, 3]
    assert best([], 0.5, 5) == []


async def test_a_goal_costs_one_search_and_one_call_for_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many keys there are: the search embeds the goal, and one call more the goal with two texts each of
    at most 40 keys."""
    embedded, searches = list[int](), list[str]()
    embed, query = WordLlamaEmbedder.embed, Recall.query

    def counting(self: WordLlamaEmbedder, texts: Sequence[str]) -> Any:
        embedded.append(len(texts))
        return embed(self, texts)

    async def listed(self: Recall, who: Scope, request: Request) -> Any:
        searches.append(request.query)
        return await query(self, who, request)

    async with AsyncWarden.open("memory://") as warden:
        me = warden.scope(user="ana")
        for number in range(60):
            await me.state.save(f"favorite_route_{number}", ["river loop"])
        monkeypatch.setattr(WordLlamaEmbedder, "embed", counting)
        monkeypatch.setattr(Recall, "query", listed)
        assert await me.overseer().relevant("Which favorite route is the shortest?")
    assert searches == ["Which favorite route is the shortest?"]
    assert embedded == [1, 81]
