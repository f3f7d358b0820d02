"""What a saved value has to do with a goal: words, concepts, meaning, and goals that ask about the world only (A1)."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from memwarden import AsyncWarden, agent
from memwarden.agent.relevance import (
    Features,
    KeyWording,
    asks_generally,
    begin_alike,
    best,
    compile_pattern,
    concepts_of,
    deviations,
    features,
    load_lexicon,
    logistic,
    match_words,
    needed_by,
    plain_words,
    read_goal,
    read_wording,
    read_words,
    relevances,
    value_match,
)
from memwarden.models.wordllama import WordLlamaEmbedder
from memwarden.recall.answer.request import Request
from memwarden.recall.recall import Recall
from memwarden.records import Scope

NEEDED = 0.45
SAME_CONCEPT = 0.9
SAME_TERM = 1.0
SHARED_BEGINNING = 0.8
MIN_RELEVANCE = 0.35


def said(key: str, description: str = "", value: str = "", language: str = "en") -> KeyWording:
    return read_wording(key, description, value, language)


def known(goal: str, *saved: KeyWording, cosines: Sequence[float] | None = None) -> list[Features]:
    return features(read_goal(goal), saved, [0.0] * len(saved) if cosines is None else cosines)


def how(word: str, other: str) -> float:
    (item,), (two,) = read_words(word, "en"), read_words(other, "en")
    return match_words(item, two)


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
        "Do you know who composed the Ring?",
        "Find a synonym for 'quick'",
        "Multiply 17 by 23",
        "How do I merge cells in Excel?",
        "What is the news about the election?",
        "When does the next train to Lyon leave?",
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
        "How high is the rent of Mrs. Moss?",
        "Wie hoch ist die Miete von Herrn Moos?",
    ],
)
def test_goals_about_the_one_who_asks_may_need_something(goal: str) -> None:
    assert not asks_generally(goal)


@pytest.mark.parametrize(
    ("word", "other", "worth"),
    [
        ("sizes", "size", SAME_TERM),
        ("physician", "Hausarzt", SAME_CONCEPT),
        ("vuelo", "flight", SAME_CONCEPT),
        ("Lichterkette", "lichterketten", SHARED_BEGINNING),
        ("dinner", "allergies", NEEDED),
        ("allergies", "dinner", 0.0),  # who asks for allergies does not ask for dinner
        ("dinner", "wifi", 0.0),
    ],
)
def test_words_meet_by_term_by_concept_by_look_and_by_need(word: str, other: str, worth: float) -> None:
    assert how(word, other) == worth


def test_words_are_alike_that_share_five_letters_and_most_of_the_shorter() -> None:
    assert begin_alike("nebenkosten", "nebenkostenabrechnung")
    assert begin_alike("parkplatz", "parkplaetze")
    assert begin_alike("rechnung", "stromrechnung")
    assert not begin_alike("rent", "rental")  # four letters say little
    assert not begin_alike("interview", "international")
    assert not begin_alike("lamp", "harbour")


def test_concepts_are_found_by_word_beginning_ending_and_phrase() -> None:
    assert concepts_of("my physician".split()) == [frozenset(), {"doctor"}]
    assert concepts_of(["kinderarzt"]) == [{"doctor", "child"}]  # an ending, and a beginning
    assert concepts_of(["vaccinations"]) == [{"vaccine"}]
    assert concepts_of("the on call list".split()) == [frozenset(), {"on_call"}, {"call", "on_call"}, frozenset()]
    assert concepts_of(["on"]) == [frozenset()]
    assert "allergy" in needed_by(frozenset({"meal"}))
    assert needed_by(frozenset()) == frozenset()


def test_what_concepts_need_are_concepts_and_no_word_stands_twice_in_one() -> None:
    listed = tomllib.loads((Path(agent.__file__).parent / "concepts.toml").read_text(encoding="utf-8"))
    words = {concept: of_it.split() for concept, of_it in listed["words"].items()}
    assert len(words) > 300
    assert {concept for concept, found in words.items() if len(found) != len({*found})} == set()
    assert load_lexicon().needs.keys() <= words.keys()
    assert frozenset().union(*load_lexicon().needs.values()) <= words.keys()
    for concept, found in words.items():
        for word in found:
            assert word == word.lower().strip("_")
            assert "*" not in word.strip("*")
            shown = concepts_of(plain_words(word.replace("*", "").replace("_", " ")).split())
            assert all(concept in item for item in shown), (concept, word)


@pytest.mark.parametrize(
    ("goal", "key"),
    [
        ("Where could the two of us have dinner?", "food allergies"),
        ("Buche mir einen Flug nach Rom", "sitzplatz wunsch"),
        ("¿Puedo permitirme gastar más dinero?", "presupuesto mensual"),
        ("My ankle is swollen and hurts, who should see it?", "physician"),
        ("Have the parcel delivered tomorrow", "home address"),
    ],
)
def test_a_concept_joins_words_that_are_not_the_same(goal: str, key: str) -> None:
    found, other = known(goal, said(key), said("wifi code"))
    assert found.key > other.key == 0
    assert found.goal > other.goal == 0
    assert other.behind > found.behind == 0


def test_a_key_of_which_all_is_met_counts_more_than_one_of_which_a_part_is() -> None:
    part, whole = known("Which stamps are rare?", said("stamps, coffee and paper of the office"), said("rare stamps"))
    assert whole.key > 2 * part.key > 0
    assert logistic(whole) > MIN_RELEVANCE > logistic(part)


def test_a_word_that_meets_many_keys_counts_less() -> None:
    (alone,) = known("Check the oven", said("oven"))
    among = known("Check the oven", *(said(f"oven {name}") for name in ("lamp", "door", "tray", "knob")))
    assert alone.key == pytest.approx(1.0)
    assert all(item.key < 0.3 for item in among)
    assert {item.behind for item in among} == {0.0}


def test_a_met_description_counts_beside_a_met_key() -> None:
    in_key, described, neither = known("Which oven?", said("oven"), said("model", "of the oven"), said("lamp", "hall"))
    assert in_key.goal > described.goal > neither.goal == 0
    assert in_key.behind == 0 < described.behind < neither.behind


def test_a_name_in_one_value_points_to_it_and_in_many_to_none() -> None:
    goal, held = read_goal("Ask Theo"), said("k", value="Theo")
    (alone,) = features(goal, [held], [0.0])
    many = features(goal, [held] * 5, [0.0] * 5)
    assert alone.value == pytest.approx(5 * many[0].value)
    assert many[0].value > 0
    assert value_match(goal.words, said("theo", value="Theo"), Counter()) == 0  # it stands in the key


def test_meaning_counts_by_itself_and_beside_the_other_keys() -> None:
    first, *others = known("x", *(said("lamp") for _ in range(5)), cosines=[0.6, 0.1, 0.1, 0.1, 0.1])
    assert first.near == 0.6
    assert first.stands_out == pytest.approx(2.0)
    assert [other.stands_out for other in others] == [pytest.approx(-0.5)] * 4
    assert logistic(first) > logistic(others[0])
    assert deviations([0.3, 0.3]) == [0, 0]
    assert deviations([]) == []


def test_a_goal_about_the_world_keeps_the_order_and_never_reaches_the_bar() -> None:
    scores = relevances(read_goal("What is the capital of Namibia?"), [said("x"), said("namibia capital")], [0.0, 0.9])
    assert scores[0] < scores[1] < MIN_RELEVANCE
    assert logistic(known("Which capital of Namibia?", said("namibia capital"), cosines=[0.9])[0]) > MIN_RELEVANCE


def test_the_best_come_first_and_none_under_the_bar() -> None:
    assert best([0.5, 0.9, 0.6, 0.4], 0.5, 5) == [1, 2, 0]
    assert best([0.5, 0.9, 0.6, 0.4], 0.0, 3) == [1, 2, 0]
    assert best([], 0.5, 5) == []


def test_plain_text_and_patterns_of_words() -> None:
    assert plain_words("¿Qué Código_de-Estilo's?") == "que codigo de estilo s"
    exams = compile_pattern("exam* *plan on_call")
    assert all(exams.search(item) for item in ("examenes", "speiseplan", "who is on call"))
    assert not any(exams.search(item) for item in ("reexamine", "planned"))


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

    async with AsyncWarden.open("memory://", {"embedder": "wordllama"}) as warden:
        me = warden.scope(user="ana")
        for number in range(60):
            await me.state.save(f"favorite_route_{number}", ["river loop"])
        monkeypatch.setattr(WordLlamaEmbedder, "embed", counting)
        monkeypatch.setattr(Recall, "query", listed)
        assert await me.overseer().relevant("Which favorite route is the shortest?")
    assert searches == ["Which favorite route is the shortest?"]
    assert embedded == [1, 81]
