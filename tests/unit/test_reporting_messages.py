"""Messages that report something, beside wishes, plans and requests about the same."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from memwarden import Warden
from memwarden.models.choice import make_embedder
from memwarden.recall.index.columns import report_chances
from memwarden.settings import Settings

# A question; a wish, plan or request about the same; and what was reported. By the author of the signal, who wrote none
# of the messages that it is fitted on.
SAID = [
    (
        "en",
        "how much did the vet charge?",
        "I hope the vet won't charge much.",
        "The vet took 145 for Biscuit's ear.",
    ),
    ("en", "which colour is the hall?", "I'd love a green hall, or is yellow better?", "We painted the hall sage."),
    (
        "en",
        "who has our spare key?",
        "Maybe we should give somebody a spare key one day.",
        "Mrs. Novak took the spare key.",
    ),
    (
        "de",
        "was hat der tierarzt gekostet?",
        "Hoffentlich kostet der Tierarzt nicht so viel.",
        "Beim Tierarzt habe ich 64,30 bezahlt.",
    ),
    (
        "de",
        "bei wem liegt der zweitschlüssel?",
        "Vielleicht sollten wir irgendwem einen Zweitschlüssel geben.",
        "Frau Demir hat jetzt den Zweitschlüssel.",
    ),
    (
        "es",
        "¿quién tiene la copia de las llaves?",
        "A lo mejor deberíamos dejarle a alguien una copia de las llaves.",
        "La vecina tiene ahora la copia de las llaves.",
    ),
    (
        "es",
        "¿cuánto costó el veterinario?",
        "Ojalá el veterinario no cueste mucho.",
        "En el veterinario pagué 64 euros.",
    ),
    (
        "fr",
        "combien a coûté le vétérinaire ?",
        "J'espère que le vétérinaire ne coûtera pas trop.",
        "J'ai payé 64 euros chez le vétérinaire.",
    ),
    (
        "fr",
        "qui a le double des clés ?",
        "On devrait peut-être laisser un double des clés à quelqu'un.",
        "La voisine garde le double des clés.",
    ),
    ("ja", "獣医さんいくらだった?", "獣医さん、高くないといいな。", "獣医さんに6800円払った。"),
    ("ja", "合鍵は誰に預けた?", "合鍵を誰かに預けたほうがいいかな。", "合鍵は隣の大野さんに渡した。"),
    ("zh", "看兽医花了多少钱？", "希望看兽医别太贵。", "看兽医花了三百二十块。"),
    ("zh", "备用钥匙放在谁那里？", "要不要把备用钥匙给谁一把呢？", "备用钥匙王阿姨拿着。"),
]
OTHERS = {
    "en": ("The weather is awful today.", "We had soup.", "The bus was late again."),
    "de": ("Heute regnet es nur.", "Es gab Suppe.", "Der Bus kam wieder zu spät."),
    "es": ("Hoy hace un tiempo horrible.", "Comimos sopa.", "El autobús llegó tarde otra vez."),
    "fr": ("Il fait un temps affreux.", "On a mangé de la soupe.", "Le bus était encore en retard."),
    "ja": ("今日は天気が最悪。", "スープを食べた。", "バスがまた遅れた。"),
    "zh": ("今天天气很糟。", "我们喝了汤。", "公交又晚点了。"),
}


def leads(language: str, question: str, wish: str, report: str, report_first: bool) -> bool:
    """Return whether the report is the first item of a query, told before or after the wish."""
    two = (report, wish) if report_first else (wish, report)
    with Warden.open("memory://", {"embedder": "auto", "vector_seconds": 20}) as warden:
        others = OTHERS[language]
        for number, text in enumerate((others[0], two[0], others[1], two[1], others[2])):
            at = datetime(2026, 1 + number, 5, 9, tzinfo=UTC).isoformat()
            warden.scope(user="u", thread=f"t{number}").observe([{"role": "user", "content": text, "created_at": at}])
        return report in warden.scope(user="u", thread="asking").query(question).items[0].memory.text


def test_what_is_reported_stands_before_a_wish_for_the_same() -> None:
    led = [leads(*case, report_first) for case in SAID for report_first in (True, False)]
    # Without the two signals it is 10 of 26.
    assert sum(led) >= 18


def test_reports_are_told_from_wishes_plans_and_questions_in_six_languages() -> None:
    embedder = make_embedder(Settings(embedder="multilingual"), None)
    assert embedder is not None
    chances = {
        text: float(chance)
        for case in SAID
        for text, chance in zip(case[1:], report_chances(np.asarray(embedder.embed(case[1:]), np.float32)), strict=True)
    }
    assert all(chances[report] > max(chances[wish], chances[question]) for _, question, wish, report in SAID)
    assert np.mean([chances[report] - chances[wish] for _, _, wish, report in SAID]) > 0.4


def test_among_long_texts_nothing_counts_for_reporting() -> None:
    long = "The river bends twice below the mill and then runs straight for an hour through open fields of barley. " * 4
    with Warden.open("memory://", {"embedder": "auto", "vector_seconds": 20}) as warden:
        me = warden.scope(user="u", thread="t")
        weights = []
        for texts in (["We painted the hall sage.", "We had soup."], [long, f"Long ago: {long}", f"Later: {long}"]):
            me.observe([{"role": "user", "content": text} for text in texts])
            (item,) = me.query("which colour is the hall?", top_k=1, threshold=0.0, explain=True).items
            weights.append({each.name: each.contribution for each in item.why.features}["reports"])
    assert weights[0] > 1
    assert weights[1] == 0


@pytest.mark.parametrize("settings", [{"embedder": "none"}, {"embedder": "wordllama"}])
def test_without_the_multilingual_model_nothing_is_said_of_reports(settings: dict[str, str]) -> None:
    with Warden.open("memory://", settings) as warden:
        me = warden.scope(user="u")
        me.remember("The vet took 145 for Biscuit's ear.")
        (item,) = me.query("how much did the vet take?", explain=True).items
        assert {each.contribution for each in item.why.features if each.name in ("reports", "unreported")} <= {0.0}


@pytest.mark.parametrize(
    ("wish", "fact", "question"),
    [
        ("I wish I had a dog.", "I have a dog.", "Do I have a dog?"),
        ("should I become a vegetarian?", "I'm vegetarian.", "am I vegetarian?"),
        ("Ich hätte so gern einen Hund.", "Ich habe einen Hund.", "Habe ich einen Hund?"),
        ("Ojalá tuviera un perro", "Tengo un perro", "¿tengo un perro?"),
        ("J'aimerais tellement avoir un chien.", "J'ai un chien.", "Est-ce que j'ai un chien ?"),
        ("いつかパリに住みたい", "パリに住んでいます", "どこに住んでる？"),
    ],
)
def test_a_wish_is_no_answer_and_the_fact_is(wish: str, fact: str, question: str) -> None:
    confidences = []
    for said in (wish, fact):
        with Warden.open("memory://", {"embedder": "auto", "vector_seconds": 20}) as warden:
            warden.scope(user="u", thread="talk").observe(said)
            confidences.append(warden.scope(user="u", thread="asking").query(question).confidence)
    assert confidences[0] < 0.2 < 0.8 < confidences[1]


def test_an_order_that_is_remembered_answers() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        me = warden.scope(user="u")
        me.remember("Never deploy on Fridays")
        assert me.query("may I deploy on friday?").confidence > 0.8
