"""Questions for days, at default settings: whatever was on them comes back, and nothing of other days."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memwarden import Warden

pytest.importorskip("onnxruntime")

# A talk of 2023 is past: "last week" counts from its own last turn, Wednesday 22 November.
SAID = {
    "kitchen": ("2023-01-10", "We repainted the kitchen in yellow."),
    "tooth": ("2023-01-25", "Had my wisdom tooth out, ouch."),
    "skiing": ("2023-02-08", "Went skiing in Zell with Jonas."),
    "car": ("2023-03-16", "The car broke down on the motorway."),
    "lisbon": ("2023-04-09", "We are in Lisbon with the children."),
    "race": ("2023-04-23", "I ran my first half marathon in Hamburg."),
    "job": ("2023-05-11", "Started the new job at Brandt & Co."),
    "sailing": ("2023-06-05", "Sailing on the Baltic with the choir."),
    "exam": ("2023-07-09", "Passed my Portuguese exam!"),
    "norway": ("2023-08-12", "Back from two weeks of camping in Norway."),
    "wrist": ("2023-08-30", "I broke my wrist falling off the bike."),
    "keys": ("2023-09-13", "We got the keys for the house in Lauenburg."),
    "shelves": ("2023-10-04", "Built shelves and the new oak table."),
    "concert": ("2023-10-20", "The concert of the choir was packed."),
    "butter": ("2023-11-01", "Loki ate a whole pack of butter."),
    "ramen": ("2023-11-09", "Jonas came over and we cooked ramen."),
    "taxes": ("2023-11-14", "I handed in the tax papers."),
    "whales": ("2023-11-17", "Watched a documentary about whales."),
    "tulips": ("2023-11-21", "I planted tulip bulbs."),
    "soup": ("2023-11-22", "I am making pumpkin soup."),
}


@pytest.fixture(scope="module")
def later() -> Iterator[Any]:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        for name, (day, text) in SAID.items():
            message = {"role": "user", "content": text, "created_at": f"{day}T18:00:00Z", "id": name}
            warden.scope(user="u", thread=name).observe(message)
        yield warden.scope(user="u", thread="later")


DAYS = {
    "What did I do in October?": ["shelves", "concert"],
    "What happened in April?": ["lisbon", "race"],
    "what was going on in may": ["job"],
    "What did I do last week?": ["taxes", "whales"],
    "What happened last month?": ["shelves", "concert"],
    "What did I do on 23 April?": ["race"],
    "What did I do on April 23rd?": ["race"],
    "What did I do on 2023-11-14?": ["taxes"],
    "What happened on 8.2.2023?": ["skiing"],
    "What happened in early June?": ["sailing"],
    "What happened in the summer of 2023?": ["sailing", "exam", "norway", "wrist"],
    "What did we do over Easter?": ["lisbon"],
    "What did I do yesterday?": ["tulips"],
    "What did I do last Tuesday?": ["tulips"],
    "What did I do three weeks ago?": ["butter"],
    "What happened the week before last?": ["ramen"],
    "What happened two months ago?": ["keys"],
    "What happened between March and May?": ["car", "lisbon", "race", "job"],
    "What happened from 9 to 12 August?": ["norway"],
    "What did I do in the last two weeks?": ["ramen", "taxes", "whales", "tulips", "soup"],
    "What happened in Q1 2023?": ["kitchen", "tooth", "skiing", "car"],
    "What happened on the 10th of January?": ["kitchen"],
    "What happened on 10/20/2023?": ["concert"],
    "What happened on 25/1/2023?": ["tooth"],
    "What happened in late January?": ["tooth"],
    "What did I do last summer?": ["sailing", "exam", "norway", "wrist"],
    "What did I do last Friday?": ["whales"],
    "What did I do eight days ago?": ["taxes"],
    "What happened two Fridays ago?": [],
    "What happened the week before 15 November?": ["ramen", "taxes"],
    "What happened the Friday before 18 November?": ["whales"],
    "What happened in the first week of November?": ["butter"],
    "What happened between 8 and 15 November?": ["ramen", "taxes"],
    "What did I do earlier this month?": ["butter", "ramen", "taxes", "whales", "tulips", "soup"],
    "What happened in spring 2023?": ["car", "lisbon", "race", "job"],
    "What did I do a few days ago?": ["whales"],
    "What did I do the other day?": ["taxes", "whales"],
    "What did I do on Friday last week?": ["whales"],
    "What happened on the 20th of last month?": ["concert"],
    "What happened since 15 November?": ["whales", "tulips", "soup"],
    "What happened in mid October?": ["concert"],
    "Was habe ich vor zwei Wochen gemacht?": ["ramen"],
    "Was war am letzten Freitag los?": ["whales"],
    "¿Qué hice hace dos semanas?": ["ramen"],
    "¿Qué pasó el viernes pasado?": ["whales"],
    "Qu'est-ce que j'ai fait il y a deux semaines ?": ["ramen"],
    "Qu'est-ce que j'ai fait vendredi dernier ?": ["whales"],
    "2週間前に何をした？": ["ramen"],
    "先週の金曜日に何をした？": ["whales"],
    "上周五我做了什么？": ["whales"],
    "11月14日我做了什么？": ["taxes"],
    "Was habe ich im Oktober gemacht?": ["shelves", "concert"],
    "Was war letzte Woche los?": ["taxes", "whales"],
    "¿Qué hice en octubre?": ["shelves", "concert"],
    "¿Qué pasó la semana pasada?": ["taxes", "whales"],
    "Qu'est-ce que j'ai fait en octobre ?": ["shelves", "concert"],
    "Qu'est-ce qui s'est passé la semaine dernière ?": ["taxes", "whales"],
    "10月に何をしましたか？": ["shelves", "concert"],
    "先週何をした？": ["taxes", "whales"],
    "我十月做了什么？": ["shelves", "concert"],
    "上周我做了什么？": ["taxes", "whales"],
}


@pytest.mark.parametrize("question", DAYS)
def test_whatever_was_on_the_days_comes_back_and_nothing_else(later: Any, question: str) -> None:
    wanted = {SAID[name][1] for name in DAYS[question]}
    assert {item.memory.text for item in later.context(question).items} == wanted
    assert {item.memory.text for item in later.query(question, top_k=20).items} == wanted


@pytest.mark.parametrize(
    "question", ["What did I do in December?", "What happened on 3 July?", "What did I do in 2019?"]
)
def test_days_of_which_nothing_is_known_get_nothing(later: Any, question: str) -> None:
    assert not later.query(question)
    assert not later.context(question)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("When did I break my wrist?", "wrist"),
        ("When did we get the keys for the house?", "keys"),
        ("When was the concert?", "concert"),
        ("When did I start the new job?", "job"),
        ("Where did I go skiing in February?", "skiing"),
        ("What did I cook with Jonas in November?", "ramen"),
    ],
)
def test_a_question_for_a_time_and_a_matter_of_some_days_find_it(later: Any, question: str, name: str) -> None:
    assert later.query(question).items[0].memory.text == SAID[name][1]
    assert SAID[name][1] in [item.memory.text for item in later.context(question).items]


@pytest.mark.parametrize(
    "question",
    [
        "hey what happened in april",
        "can you tell me what happened in april?",
        "remind me what i did in april pls",
        "ok so what did we do in april",
        "yo, was war im april los",
        "hallo, kannst du mir sagen, was im April war?",
        "hola, qué pasó en abril",
        "salut, j'ai fait quoi en avril ?",
        "ciao, cos'è successo ad aprile?",
        "4月に何があったか教えて",
        "你能告诉我四月发生了什么吗",
    ],
)
def test_what_stands_around_a_question_for_days_changes_nothing(later: Any, question: str) -> None:
    wanted = {SAID[name][1] for name in ("lisbon", "race")}
    assert {item.memory.text for item in later.query(question, top_k=20).items} == wanted
    assert {item.memory.text for item in later.context(question).items} == wanted


@pytest.mark.parametrize(
    "message",
    [
        "thanks, it was nice in april",
        "see you in april?",
        "that was great in april",
        "How much was it in April?",
        "Why was she there in April?",
        "How many of them were there in April?",
        "Can you do April?",
        "Should I go in April?",
        "Where is the list from April?",
    ],
)
def test_a_message_that_names_days_does_not_ask_for_them(later: Any, message: str) -> None:
    items = later.query(message, top_k=20).items
    assert {item.memory.text for item in items} != {SAID[name][1] for name in ("lisbon", "race")}
