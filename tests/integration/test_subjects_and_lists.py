"""A change of subject drops the talk before, and a list is all open values; six languages, default settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from memwarden import Warden

pytest.importorskip("onnxruntime")


class Life(NamedTuple):
    """What somebody told. lists: questions with words of all values. world: asks nothing of it; thanks: small talk."""

    said: tuple[str, ...]
    lists: dict[str, tuple[str, ...]]
    world: str
    thanks: str


LIVES = {
    "english": Life(
        (
            "I speak Dutch and Portuguese.",
            "I'm allergic to peanuts.",
            "I also learned some Greek on Naxos, I can chat in it now.",
            "I'm allergic to kiwi as well, my mouth swells.",
            "We have a cat called Momo.",
            "I adopted a dog too, Rufus.",
            "I work as a nurse.",
        ),
        {
            "which languages do I speak?": ("Dutch", "Greek"),
            "What languages can I talk in?": ("Dutch", "Greek"),
            "what allergies do I have?": ("peanuts", "kiwi"),
            "What am I allergic to?": ("peanuts", "kiwi"),
            "List all my allergies": ("peanuts", "kiwi"),
            "Which pets do we have?": ("Momo", "Rufus"),
        },
        "How tall is the Eiffel Tower?",
        "Thanks!",
    ),
    "german": Life(
        (
            "Ich spreche Niederländisch.",
            "Ich bin gegen Erdnüsse allergisch.",
            "Griechisch kann ich inzwischen auch ganz gut.",
            "Kiwi vertrage ich auch nicht.",
            "Ich arbeite als Krankenpfleger.",
        ),
        {"Welche Sprachen spreche ich?": ("Niederl", "Griech"), "Welche Allergien habe ich?": ("Erdn", "Kiwi")},
        "Wie hoch ist der Eiffelturm?",
        "Danke dir!",
    ),
    "spanish": Life(
        (
            "Hablo neerlandés.",
            "Soy alérgico a los cacahuetes.",
            "Ya me defiendo en griego también.",
            "Tampoco puedo tomar kiwi.",
            "Trabajo de enfermero.",
        ),
        {"¿Qué alergias tengo?": ("cacah", "kiwi")},
        "¿Cuánto mide la torre Eiffel?",
        "¡Muchas gracias!",
    ),
    "french": Life(
        (
            "Je parle néerlandais.",
            "Je suis allergique aux cacahuètes.",
            "Je me débrouille aussi en grec.",
            "Je ne supporte pas le kiwi non plus.",
            "Je suis infirmier.",
        ),
        {"Quelles langues est-ce que je parle ?": ("néerl", "grec"), "Quelles allergies ai-je ?": ("cacah", "kiwi")},
        "Quelle est la hauteur de la tour Eiffel ?",
        "Merci beaucoup !",
    ),
    "japanese": Life(
        (
            "オランダ語を話します。",
            "ピーナッツアレルギーがあります。",
            "ギリシャ語も少し話せるようになった。",
            "キウイもアレルギーが出る。",
            "看護師として働いています。",
        ),
        {"私は何語を話せますか？": ("オランダ", "ギリシャ"), "私のアレルギーは何ですか？": ("ピーナッツ", "キウイ")},
        "エッフェル塔の高さは？",
        "ありがとうございます！",
    ),
    "chinese": Life(
        (
            "我会说荷兰语。",
            "我对花生过敏。",
            "我现在也会说希腊语了。",
            "我对猕猴桃也过敏。",
            "我是护士。",
        ),
        {"我会说哪些语言？": ("荷兰", "希腊"), "我有哪些过敏？": ("花生", "猕猴桃")},
        "埃菲尔铁塔有多高？",
        "谢谢！",
    ),
}


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


@pytest.fixture(scope="module", params=LIVES)
def life(request: Any) -> Iterator[tuple[Life, Any]]:
    told = LIVES[request.param]
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        for text in told.said:
            warden.scope(user="u", thread="first").observe([user(text)])
        yield told, warden.scope(user="u", thread="later")


def test_a_block_holds_all_open_values_of_a_list(life: tuple[Life, Any]) -> None:
    told, later = life
    for question, words in told.lists.items():
        assert [word for word in words if word not in later.context(question).text] == [], question


def test_a_change_of_subject_drops_the_talk_before(life: tuple[Life, Any]) -> None:
    told, later = life
    personal = next(iter(told.lists))
    answer = {"role": "assistant", "content": told.said[0]}
    assert later.context([user(personal)]).items
    for closing in (told.world, told.thanks):
        messages = [user(personal), answer, user(closing)]
        assert not later.context(messages).items
        with later.turn({"model": "any", "messages": messages}) as turn:
            assert told.said[1] not in str(turn.request)


def test_a_german_noun_in_a_question_is_no_name_that_was_never_heard() -> None:
    told = (
        "Und es gibt eine Katze im neuen Haus, Herr Schmidt. Der gehört jetzt wohl uns.",
        "Öffnungszeiten vom Blickfang: Mo bis Fr 9 bis 18 Uhr, Samstag bis 13 Uhr.",
        "Heute Abend gibt es Kartoffelsuppe, ohne Sellerie, den vertrage ich nicht.",
    )
    with Warden.open("memory://", config={"embedder": "auto"}) as warden:
        me = warden.scope(user="jule", thread="haus")
        me.observe([{"role": "user", "content": text} for text in told])
        asked = {"haben wir ein Haustier?": "Katze", "welche Öffnungszeiten hat der Laden?": "18 Uhr"}
        for question, word in asked.items():
            assert word in me.context(question).text, question
        assert not me.context("Wie hoch ist der Eiffelturm?")
