"""Acknowledgements, questions and restatements are no answers: what a person told stands once, in their own words."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from memwarden import Warden

pytest.importorskip("onnxruntime")


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def model(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


class Talk(NamedTuple):
    """A talk. told: what the person tells. question: asked in it and again later. others: all that is no answer."""

    told: str
    question: str
    others: tuple[str, ...]


TALKS = {
    "english": Talk(
        "I keep bees on the roof and I live in Hull.",
        "Where do I live?",
        (
            "Thanks for letting me know! I'll keep your bees in mind.",
            "You live in Hull.",
            "Thanks, that's all for now.",
        ),
    ),
    "german": Talk(
        "Ich halte Bienen auf dem Dach und wohne in Bremen.",
        "Wo wohne ich?",
        ("Danke für die Info! Ich merke mir deine Bienen.", "Du wohnst in Bremen.", "Gern geschehen! Sag Bescheid."),
    ),
    "spanish": Talk(
        "Crío abejas en la azotea y vivo en Vigo.",
        "¿Dónde vivo?",
        (
            "¡Gracias por decírmelo! Tendré en cuenta tus abejas.",
            "Vives en Vigo.",
            "¡De nada! Avísame si necesitas algo.",
        ),
    ),
    "french": Talk(
        "J'élève des abeilles sur le toit et j'habite à Nantes.",
        "Où est-ce que j'habite ?",
        ("Merci de me l'avoir dit ! Je note tes abeilles.", "Tu habites à Nantes.", "De rien ! N'hésite pas."),
    ),
    "japanese": Talk(
        "屋上で蜂を飼っていて、神戸に住んでいます。",
        "私はどこに住んでいますか？",
        (
            "教えてくれてありがとうございます！蜂のこと、覚えておきますね。",
            "神戸に住んでいます。",
            "ありがとう、以上です。",
        ),
    ),
    "chinese": Talk(
        "我在屋顶养蜜蜂，住在厦门。",
        "我住在哪里？",
        ("谢谢你告诉我！我会记住你养蜜蜂。", "你住在厦门。", "不客气！还需要什么尽管告诉我。"),
    ),
}


@pytest.mark.parametrize("language", TALKS)
def test_an_answer_is_what_the_person_told_once(language: str) -> None:
    talk = TALKS[language]
    kept, restated, closing = talk.others
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        warden.scope(user="u", thread="first").observe(
            [user(talk.told), model(kept), user(talk.question), model(restated), user(closing)]
        )
        later = warden.scope(user="u", thread="later")
        block = later.context([user(talk.question)])
        assert [item.memory.text for item in block.items] == [talk.told]
        assert [item.memory.text for item in later.query(talk.question).items] == [talk.told]


def test_what_an_assistant_adds_stays_beside_what_it_repeats() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        added = "So you live in Hull. The bus 27 takes you to the harbour in ten minutes."
        warden.scope(user="u", thread="first").observe([user("I live in Hull now."), model(added)])
        found = warden.scope(user="u", thread="later").query("Where do I live?")
        assert [item.memory.text for item in found.items] == ["I live in Hull now.", added]


def test_a_denial_is_no_restatement() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        said = [user("I eat fish on Fridays."), model("You don't eat fish on Fridays.")]
        warden.scope(user="u", thread="first").observe(said)
        found = warden.scope(user="u", thread="later").query("What do I eat on Fridays?")
        assert len(found.items) == 2


def test_whoever_asks_what_was_asked_gets_questions() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        said = [user("Which train goes to Hull?"), model("The one at nine."), user("Where is the station?")]
        warden.scope(user="u", thread="first").observe(said)
        later = warden.scope(user="u", thread="later")
        # Beside its reply, which may be the memory of that item.
        first, *_ = later.query("What did I ask you about the train to Hull?", threshold=0.0).items
        assert "Which train goes to Hull?" in first.text


def test_a_question_that_tells_something_is_kept() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        told = "Did I tell you that I moved to Hull?"
        warden.scope(user="u", thread="first").observe([user(told)])
        found = warden.scope(user="u", thread="later").query("Where do I live?", threshold=0.0)
        assert [item.memory.text for item in found.items] == [told]
