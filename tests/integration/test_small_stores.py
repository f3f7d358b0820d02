"""The first hour with the default embedder: a few plain sentences answer what they tell, and nothing else."""

from __future__ import annotations

import pytest

from memwarden import Warden

pytest.importorskip("onnxruntime")

SAID = [
    "I moved to Antwerp two years ago and live near the station.",
    "I'm a paramedic with the fire brigade.",
    "I can't have shellfish, it makes me swell up.",
    "My sister Noor breeds whippets.",
    "I play the bassoon in a wind band.",
    "We go to the Ardennes every June.",
    "My bike is a yellow Koga.",
    "I studied chemistry in Delft.",
]
ASKED = [
    ("Where do I live?", "Antwerp"),
    ("What is my job?", "paramedic"),
    ("What am I allergic to?", "shellfish"),
    ("Which instrument do I play?", "bassoon"),
    ("What did I study?", "chemistry"),
    ("What kind of bike do I have?", "Koga"),
]
NEVER_SAID = [
    "Who is my dentist?",
    "What is my shoe size?",
    "When is my birthday?",
    "What is my insurance number?",
    "Which football club do I support?",
    "What is my mother's name?",
]


def test_plain_sentences_answer_what_they_tell_and_nothing_else() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        me = warden.scope(user="noa", thread="first")
        for text in SAID:
            me.observe([{"role": "user", "content": text}])
        missed = [question for question, word in ASKED if word not in me.query(question).text]
        assert len(missed) <= 1, missed
        got = [question for question in NEVER_SAID if me.query(question)]
        assert len(got) <= 1, got


def test_a_speaker_is_known_by_name() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        talk = [
            ("Mila", "My new flat is on Harbour Street 12, third floor."),
            ("Pavel", "Does it have a balcony?"),
            ("Mila", "A small one, facing south. I planted tomatoes."),
            ("Pavel", "I will cook a lentil curry on Saturday then."),
        ]
        me = warden.scope(user="pair", thread="t")
        me.observe([{"role": "user", "name": name, "content": text} for name, text in talk])
        asked = warden.scope(user="pair", thread="later")
        assert "Harbour Street" in asked.query("Where does Mila live?").text
        assert "tomatoes" in asked.query("What did Mila plant on the balcony?").text
        assert not asked.query("What is Pavel's blood type?")


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("My daughter Mia is allergic to peanuts.", "Who is Mia?"),
        ("My brother Tom works at the post office.", "Who is Tom?"),
        ("Tom fixed my bike yesterday.", "Who is Tom?"),
        ("Mia can't have dairy.", "What must Mia not eat?"),
        ("We moved into a flat in Utrecht", "Where do I live?"),
        ("Dr. Visser pulled my wisdom tooth.", "Who is my dentist?"),
    ],
)
def test_a_plain_fact_answers_among_a_few_others(said: str, question: str) -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        me = warden.scope(user="noa", thread="first")
        for text in ("I drive an old Volvo.", "I play the cello.", said, "Anna is my manager."):
            me.observe([{"role": "user", "content": text}])
        later = warden.scope(user="noa", thread="later")
        assert said in [item.memory.text for item in later.query(question).items]
        assert said in [item.memory.text for item in later.context(question).items]
        assert not later.query("Which football team do I support?")
