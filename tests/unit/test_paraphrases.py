"""What is said again in other words is one fact, and what only reads alike stays two."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memwarden import Warden
from memwarden.records import Event


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


SAME = [
    ("the grafana board runs on port 3009", "our grafana is on 3009"),
    ("We go to my uncle in Cork every Christmas.", "Christmas is always spent at my uncle's place in Cork."),
    ("Wir fahren im August nach Rügen", "Im August geht es für uns nach Rügen"),
    ("Le loyer est de 640 euros par mois", "on paie 640 euros de loyer mensuel"),
    ("El 9 de junio me operan de la rodilla.", "El nueve de junio entro en quirófano por la rodilla."),
    ("Pago 55 euros al mes por el gimnasio.", "El gimnasio me cuesta 55 euros mensuales."),
    ("週に三回プールに通ってる", "プールは週3ペース"),
    ("我每个月房租交两千五", "房租一个月要2500"),
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
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_what_is_said_in_other_words_is_one_fact(warden: Warden, first: str, second: str) -> None:
    assert outcomes(warden, first, second) == ["created", "merged"]


@pytest.mark.parametrize(("first", "second"), APART)
def test_what_only_reads_alike_is_not_merged(warden: Warden, first: str, second: str) -> None:
    assert outcomes(warden, first, second)[1] != "merged"


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


def test_other_models_judge_no_meaning() -> None:
    with Warden.open("memory://", {"embedder": "wordllama"}) as other:
        assert outcomes(other, *SAME[0])[1] != "merged"
