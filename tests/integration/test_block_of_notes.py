"""A block of a store of plain notes holds what bears on the question, not every note."""

from __future__ import annotations

from typing import Any

import pytest

from memwarden import Warden

NOTES = {
    "en": (
        "I live in Porto.",
        "My sister Nina is a nurse.",
        "I am allergic to walnuts.",
        "We have a cat called Pixel.",
        "My dentist is Dr. Hall.",
        "I drive a red Fiat.",
        "I swim on Mondays.",
        "My favourite tea is rooibos.",
        "The rent is 900 euros.",
        "I play the cello.",
        "My boss is called Ruth.",
        "I was born in Graz.",
    ),
    "de": (
        "Ich wohne in Porto.",
        "Meine Schwester Nina ist Krankenschwester.",
        "Ich bin gegen Walnüsse allergisch.",
        "Wir haben eine Katze namens Pixel.",
        "Mein Zahnarzt ist Dr. Hall.",
        "Ich fahre einen roten Fiat.",
        "Montags gehe ich schwimmen.",
        "Mein Lieblingstee ist Rooibos.",
        "Die Miete beträgt 900 Euro.",
        "Ich spiele Cello.",
        "Meine Chefin heißt Ruth.",
        "Ich bin in Graz geboren.",
    ),
    "zh": (
        "我住在波尔图。",
        "我姐姐妮娜是护士。",
        "我对核桃过敏。",
        "我们有一只猫叫皮克。",
        "我的牙医是何医生。",
        "我开一辆红色菲亚特。",
        "我每周一游泳。",
        "我最喜欢的茶是路易波士茶。",
        "房租是九百欧元。",
        "我拉大提琴。",
        "我的老板叫露丝。",
        "我出生在格拉茨。",
    ),
}
ASKED = [
    ("en", "Where do I live?", "Porto"),
    ("en", "What is the name of my cat?", "Pixel"),
    ("en", "Who is my dentist?", "Hall"),
    ("de", "Wo wohne ich?", "Porto"),
    ("de", "Wie heißt meine Katze?", "Pixel"),
    ("zh", "我的牙医是谁？", "何医生"),
    ("zh", "房租是多少？", "九百欧元"),
]


@pytest.fixture(scope="module")
def warden() -> Any:
    with Warden.open("memory://", {"embedder": "auto", "vector_seconds": 60}) as opened:
        for language, notes in NOTES.items():
            me = opened.scope(user=language, thread="notes")
            for note in notes:
                me.observe({"role": "user", "content": note})
        yield opened


@pytest.mark.parametrize(("language", "question", "answer"), ASKED)
def test_a_plain_question_brings_few_notes(warden: Any, language: str, question: str, answer: str) -> None:
    block = warden.scope(user=language, thread="later").context(question)
    assert answer in block.text
    assert len(block.items) <= len(NOTES[language]) * 2 / 3


def test_a_caller_with_a_threshold_gets_all_that_reach_it(warden: Any) -> None:
    me = warden.scope(user="en", thread="later")
    assert len(me.context("Where do I live?", threshold=0.0).items) == len(NOTES["en"])
