"""What is said again in other words is one fact, and what only reads alike stays two."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from memwarden import Warden
from memwarden.models.choice import make_local
from memwarden.recall.index.encode import make_signals
from memwarden.records import Event
from memwarden.remember.resolve.changes import picks_other, read_stated, when_told
from memwarden.remember.resolve.countables import names_day_from_now, same_values, units_of
from memwarden.remember.resolve.lookalikes import only_read_alike
from memwarden.remember.resolve.paraphrases import same_names, says_the_same
from memwarden.remember.resolve.same_fact import Signature, judge, sign_text
from memwarden.statements.reader import SaidText

# Language, kind of difference and two texts that are reworded and say something else. The first 292 were written
# before the rules that they made necessary; of the last 71, written after, the rules let one through.
LOOKALIKES = list(
    csv.reader(
        (Path(__file__).parent / "data" / "reworded_but_different.tsv").read_text(encoding="utf-8").splitlines(),
        delimiter="\t",
    )
)
SAID_AT = datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def warden() -> Iterator[Warden]:
    with Warden.open("memory://", {"embedder": "auto"}) as opened:
        yield opened


def outcomes(warden: Warden, first: str, second: str) -> list[str]:
    me = warden.scope(user=f"{first} | {second}"[:200])
    return [
        str(me.remember(text, created_at=f"2026-0{month}-05T12:00:00Z").results[0].outcome)
        for month, text in ((1, first), (3, second))
    ]


def merged(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs that are taken for the same, whichever comes first; all texts are encoded at once."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    embedder = make_local("minilm+multilingual")
    made = dict(zip(texts, make_signals([SaidText(text, SAID_AT) for text in texts], embedder), strict=True))

    def vector(text: str) -> np.ndarray:
        first = np.frombuffer(made[text].vector or b"", "<f2").astype(np.float32)[:384]
        return first / np.linalg.norm(first)

    found = []
    for old, new in [*pairs, *(pair[::-1] for pair in pairs)]:
        cosine = float(vector(old) @ vector(new))
        judgement = judge(old, new, cosine=cosine)
        later, earlier = (read_stated(text, made[text].statements, 0) for text in (new, old))
        if judgement.label == "same" or says_the_same(later, earlier, judgement, cosine):
            found.append((old, new))
    return found


SAME = [
    ("the grafana board runs on port 3009", "our grafana is on 3009"),
    ("Wir fahren im August nach Rügen", "Im August geht es für uns nach Rügen"),
    ("Le loyer est de 640 euros par mois", "on paie 640 euros de loyer mensuel"),
    ("El 9 de junio me operan de la rodilla.", "El nueve de junio entro en quirófano por la rodilla."),
    ("Pago 55 euros al mes por el gimnasio.", "El gimnasio me cuesta 55 euros mensuales."),
    ("週に三回プールに通ってる", "プールは週3ペース"),
    ("我每个月房租交两千五", "房租一个月要2500"),
    ("Mi gata se llama Nube y tiene seis años.", "Nube, mi gata, ya va por los 6."),
]
APART = [
    ("Tove is allergic to cashew and pistachio.", "Tove is allergic to any egg, also baked in cake."),
    ("je suis allergique aux noix", "le céleri, ça existe, oui, j'y suis allergique"),
    ("the dog weighs 12 kilos", "the bag of dog food is 12 kilos"),
    ("I owe Nico 20 euros", "Nico owes Farid 20 euros"),
    ("Ana goes to Lima every May.", "Every May Ana comes back from Lima."),
    ("front tyre wants 80 psi", "80 psi in the back tyre"),
    ("I had sushi on Friday", "on Fridays I usually have sushi"),
    ("our office is closed on Mondays", "our office isn't closed on Mondays any more"),
    ("my son's lactose intolerant", "my son's mate can't have lactose"),
    ("the wedding is on 3 May", "3 May is when my sister's flight goes"),
    ("Malik is lactose intolerant", "I'm lactose intolerant, no milk for me"),
    ("老店的房租是八千", "新店房租每月要八千"),
    ("我家猫三岁了", "我表姐家的猫三个月"),
    ("我对花生过敏", "我该去查个过敏原"),
    ("last summer we camped in Annecy", "next summer it is camping in Annecy again"),
    ("I might get an e-bike in spring", "got an e-bike this spring"),
    ("I take my pill at 8 am", "My pill is due at 8 pm"),
    ("I take my pill at 8 in the morning", "My pill is due at 8 pm"),
    ("Der Kurs beginnt um 8 Uhr", "Um 20 Uhr fängt der Kurs an"),
    ("Marta paga 55 euros al mes por el gimnasio.", "Lucía tiene un gimnasio de 55 euros mensuales."),
    ("Pago 55 euros al mes por el gimnasio.", "Marta paga el gimnasio a 55 euros mensuales."),
    ("Marta paie 640 euros de loyer par mois", "le loyer mensuel de Lucie est de 640 euros"),
    ("Lena zahlt 55 Euro im Monat fürs Fitnessstudio", "Das Fitnessstudio kostet Jonas 55 Euro monatlich"),
    ("Wir fahren im August nach Rügen", "Im August geht es für uns nach Sylt"),
    ("小王每个月房租交两千五", "小李的房租一个月要2500"),
    ("小王さんは週に三回プールに通ってる", "小李さんのプールは週3ペース"),
    ("she starts at 6", "6 is when I start"),
    ("Last summer we camped in Annecy", "We went camping in Annecy last summer"),
    ("the boiler man comes on Tuesday", "Tuesday is when the boiler man is here"),
    ("Our rent is 900 euros a month", "We pay 900 dollars monthly in rent"),
    ("the bike weighs 12 kg", "12 lb is the weight of the bike"),
    ("the discount is 20%", "we get 20 dollars off as a discount"),
    ("Marta paie un loyer de 640 euros par mois", "Lucie a un loyer mensuel de 640 euros"),
    ("Wir fahren im August nach Rügen", "Im August fahren wir nach Sylt"),
    ("she starts work at 6", "I start my work at 6"),
    ("Mi gata se llama Nube y tiene seis años.", "Sol, mi gata, ya va por los 6."),
    ("Mi hermana Nora le debe nueve euros a Luis", "Luis le debe 9 euros a mi hermana Nora"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_what_is_said_in_other_words_is_one_fact(warden: Warden, first: str, second: str) -> None:
    assert outcomes(warden, first, second) == ["created", "merged"]


def test_what_only_reads_alike_is_not_merged() -> None:
    assert merged(APART) == []


@pytest.mark.parametrize(("first", "second"), APART[:3])
def test_what_only_reads_alike_is_stored_apart(warden: Warden, first: str, second: str) -> None:
    assert outcomes(warden, first, second)[1] != "merged"


def test_some_reworded_lookalikes_are_not_merged() -> None:
    assert merged([(row[2], row[3]) for row in LOOKALIKES[::9]]) == []


@pytest.mark.soak
def test_no_reworded_lookalike_is_merged() -> None:
    assert merged([(row[2], row[3]) for row in LOOKALIKES]) == []


@pytest.mark.parametrize(
    ("language", "first", "second"),
    [
        ("en", "the free trial runs for 14 days", "we have 14 hours of free trial"),
        ("en", "the tank holds 40 litres", "40 gallons go into the tank"),
        ("en", "500 a month of rent goes to marek", "I pay milan 500 rent every month"),
        ("en", "our cat is 12 years old", "the neighbours have a cat of 12 years"),
        ("en", "I water the ferns twice a week", "the ferns get water every two weeks"),
        ("en", "the API allows 100 requests a minute", "100 users a minute sign up on the API"),
        ("en", "the older boy is 9", "9 is how old the younger boy is"),
        ("de", "die 40 Euro bekommt jonas im monat", "im monat gebe ich lukas 40 euro"),
        ("fr", "je fais Lyon-Dijon en train tous les lundis", "tous les lundis je fais Dijon-Lyon en train"),
        ("fr", "j'arrose les fougères deux fois par semaine", "les fougères, je les arrose toutes les deux semaines"),
        ("fr", "je veux arrêter de fumer en mai", "en mai j'ai arrêté de fumer"),
        ("ja", "八月に青森へ旅行する", "八月の旅行先は秋田"),
        ("ja", "田中さんに5千円貸した", "田中さんから5千円借りた"),
        ("ja", "5時前に電話して", "電話は5時以降に"),
        ("ja", "卵アレルギーがある", "蕎麦のアレルギー持ち"),
        ("", "店长是李敏", "管店的是李明"),
        ("", "八月去青岛旅行", "八月的旅行是去青海"),
        ("", "我六点起床", "每天起床是六点半"),
        ("", "至少要3年经验", "经验最多要3年"),
        ("", "我对鸡蛋过敏", "对芒果过敏的是我"),
        ("", "打算五月戒烟", "五月我戒烟了"),
        ("", "楼里有电梯", "这栋楼没电梯"),
    ],
)
def test_a_word_in_the_place_of_another_tells_two_texts_apart(language: str, first: str, second: str) -> None:
    assert only_read_alike(*signed(first, second, language))
    assert only_read_alike(*signed(second, first, language))


@pytest.mark.parametrize(
    ("language", "first", "second"),
    [
        ("en", "backups run nightly at 2", "every night at two o'clock we take a backup"),
        ("es", "Pago 55 euros al mes por el gimnasio.", "El gimnasio me cuesta 55 euros mensuales."),
        ("ja", "週に三回プールに通ってる", "プールは週3ペース"),
        ("", "茶叶一个月差不多六千块", "每个月的茶叶要六千左右"),
    ],
)
def test_rewordings_are_no_lookalikes(language: str, first: str, second: str) -> None:
    assert not only_read_alike(*signed(first, second, language))


REWORDED = [
    ("our rabbit's called pepper", "pepper's our rabbit"),
    ("Mi tía vive en Lorca.", "Donde reside mi tía es en Lorca."),
    ("the bakery shuts at 3 on Fridays", "of a Friday the bakery only goes till three"),
    ("team lunch every other Tuesday", "fortnightly team lunch, Tuesdays"),
]


def test_names_places_and_rhythms_told_another_way_are_one_fact() -> None:
    found = merged(REWORDED)
    assert [pair for pair in REWORDED if pair not in found] == []


def test_roles_of_a_cleft_sentence_are_kept() -> None:
    assert (
        merged([("Ana wants Tom", "what Tom wants is Ana"), ("our rabbit's called pepper", "she is called pepper")])
        == []
    )


HOURS = [
    ("I take my pill at 8 am", "My pill is due at 8 pm", False),
    ("I take my pill at 8 in the morning", "My pill is due at 8 in the evening", False),
    ("I take my pill at 8", "My pill is due at 8 pm", True),
    ("I take my pill at 20:00", "My pill is due at 8 pm", True),
    ("Der Kurs beginnt um 8 Uhr", "Um 20 Uhr fängt der Kurs an", False),
    ("Der Kurs beginnt um 8 Uhr abends", "Um 20 Uhr fängt der Kurs an", True),
    ("le cours est à 8 h", "le cours commence à 20 h", False),
]


@pytest.mark.parametrize(("first", "second", "same"), HOURS)
def test_eight_in_the_morning_is_not_eight_in_the_evening(first: str, second: str, same: bool) -> None:
    language = sign_text(first).language
    assert same_values(sign_text(first, language), sign_text(second, language)) is same


def signed(first: str, second: str, language: str) -> tuple[Signature, Signature]:
    return sign_text(first, language), sign_text(second, language)


def test_german_names_are_compared_among_its_nouns() -> None:
    lena = "Lena zahlt 55 Euro im Monat fürs Fitnessstudio"
    assert not same_names(*signed(lena, "Jonas zahlt fürs Fitnessstudio 55 Euro monatlich", "de"))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("our rent is 900 euros a month", "we pay 900 dollars monthly"),
        ("the dog weighs 12 kg", "the dog weighs 12 lb"),
        ("the discount is 20%", "the discount is $20"),
        ("店的房租是900元", "店的房租是900美元"),
    ],
)
def test_a_number_of_another_unit_is_another_number(first: str, second: str) -> None:
    found = [units_of(each) for each in signed(first, second, "" if "店" in first else "en")]
    assert all(found)
    assert found[0] != found[1]


def test_last_summer_is_another_one_a_year_later() -> None:
    assert names_day_from_now(sign_text("Last summer we camped in Annecy", "en"))


def test_a_weekday_alone_is_another_day_later() -> None:
    assert names_day_from_now(sign_text("the boiler man comes on Tuesday", "en"))
    assert not names_day_from_now(sign_text("our office is closed on Mondays", "en"))


def test_a_merge_by_meaning_can_be_undone(warden: Warden) -> None:
    me = warden.scope(user="undo")
    first, second = SAME[0]
    me.remember(first)
    merged = me.remember(second).results[0]
    assert "the same in other words" in merged.reason
    me.journal.undo(next(entry.seq for entry in me.journal.history() if entry.event == Event.MERGE))
    assert {first, second} == {memory.text for memory in me.find({"channel": "semantic"})}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("front tyre wants 80 psi", "back tyre wants 90 psi"),
        ("来月、青森に旅行するかも", "去年は長崎に行った"),
    ],
)
def test_one_of_two_and_what_was_before_end_nothing(warden: Warden, first: str, second: str) -> None:
    assert outcomes(warden, first, second) == ["created", "created"]


@pytest.mark.parametrize(
    ("first", "second", "apart"),
    [
        ("I work at Acme right now", "I left Acme, I'm at Bolt now", False),
        ("right now we rent in Leith", "Left Leith last week", False),
        ("I'm all right with Acme", "Ana left Acme", False),
        ("my left knee hurts", "the right knee is fine", True),
    ],
)
def test_who_left_is_on_no_side(first: str, second: str, apart: bool) -> None:
    assert picks_other(first, second) is apart


@pytest.mark.parametrize(
    ("text", "language", "when"),
    [
        ("je suis arrivé hier", "fr", {"last"}),
        ("ich wohne hier", "de", set()),
        ("entreno por la mañana", "es", set()),
        ("mañana entreno", "es", {"next"}),
        ("pasado mañana entreno", "es", {"next"}),
    ],
)
def test_a_word_for_a_day_is_read_in_its_language(text: str, language: str, when: set[str]) -> None:
    assert when_told(text, language) == when


def test_other_models_judge_no_meaning() -> None:
    with Warden.open("memory://", {"embedder": "wordllama"}) as other:
        assert outcomes(other, *SAME[0])[1] != "merged"
