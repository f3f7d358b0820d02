"""A line goes when its speaker says in passing that it is over, and stays when the words are about something else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memwarden.recall.answer.overview import choose_lines
from memwarden.records import Channel, Memory, Namespace

SAID_AT = datetime(2026, 5, 5, 10, tzinfo=UTC)
ANN = Namespace("default", "user/ann")


def quote(*texts: str) -> list[str]:
    """Lines of an overview of turns that were said a day apart."""
    turns = [
        Memory(
            id=str(place), namespace=ANN, text=text, created_at=SAID_AT + timedelta(days=place),
            updated_at=SAID_AT, channel=Channel.TURN, role="user",
        )
        for place, text in enumerate(texts)
    ]  # fmt: skip
    return [line.words for line in choose_lines(turns, SAID_AT + timedelta(days=len(texts)), None)]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I live in Leeds.", "finally moved, I'm in Sheffield now!"),
        ("I live in Leeds.", "I moved last week."),
        ("Ich wohne in Kiel.", "endlich umgezogen, bin jetzt in Bremen!"),
        ("Vivo en Sevilla.", "por fin me mudé, ahora estoy en Cádiz"),
        ("仙台に住んでいます。", "やっと引っ越した、今は東京にいる"),
        ("I work at Barclays.", "I left Barclays last week"),
        ("I work at Barclays.", "I quit Barclays, starting at Monzo on monday"),
        ("Ich arbeite bei Siemens.", "Ich habe Siemens letzte Woche verlassen."),
        ("Trabajo en Santander.", "He dejado Santander, empiezo en Zara el lunes."),
        ("楽天で働いています", "楽天を辞めて、今はソニーにいる"),
        ("我在阿里上班。", "我上周离开阿里了。"),
        ("I'm a nurse.", "I retired last month"),
        ("I'm a nurse.", "I retired in March."),
        ("Ich bin Krankenschwester.", "Ich bin im April in Rente gegangen."),
        ("Soy enfermera.", "Me jubilé el mes pasado."),
        ("我是护士。", "我上个月退休了。"),
        ("Mon copain s'appelle Luc.", "Luc et moi, c'est fini."),
        ("My boyfriend is called Luc.", "Luc and I are over."),
        ("I went out with my husband Luc.", "Luc and I are over."),
        ("Mein Freund heißt Lukas.", "Mit Lukas ist es aus."),
        ("Mi novio se llama Luis.", "Luis y yo hemos terminado."),
        ("We have a dog called Rex.", "Rex died on sunday"),
        ("Unser Hund heißt Rex.", "Rex ist am Sonntag gestorben."),
        ("Mi perro se llama Rex.", "Rex murió el domingo."),
        ("京都に住んでいます。", "京都の家を売りました。"),
        ("我住在成都。", "我把成都的房子卖了。"),
        ("I live in Leeds.", "My time in Leeds is over."),
        ("Ich wohne in Kiel.", "Meine Zeit in Kiel ist vorbei."),
        ("My son Tom is allergic to peanuts.", "Tom is no longer allergic to peanuts."),
        ("My sister Wilma lives in Durham.", "Wilma no longer lives in Durham."),
        ("We have a cat called Biscuit.", "Biscuit died last night."),
        ("I live in Leeds.", "I don't live in Leeds any more."),
    ],
)
def test_a_line_goes_when_its_speaker_says_that_it_is_over(earlier: str, later: str) -> None:
    assert quote(earlier)
    assert quote(earlier, later) == []


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I live in Leeds.", "I moved the sofa."),
        ("I live in Leeds.", "I moved on."),
        ("I live in Leeds.", "My sister finally moved!"),
        ("I live in Leeds.", "I haven't moved yet."),
        ("Vivo en Sevilla.", "Me mudé de ropa."),
        ("Ich wohne in Kiel.", "Meine Schwester ist umgezogen."),
        ("I work at Barclays.", "I left my bag at Barclays."),
        ("I work at Barclays.", "I left Barclays at six."),
        ("I work at Barclays.", "I left Barclays early today."),
        ("I work at Barclays.", "I left Tesco last week."),
        ("I work at Barclays.", "I nearly left Barclays in May."),
        ("I work at Barclays.", "Tom left Barclays last week."),
        ("Ich arbeite bei Siemens.", "Ich habe das Haus verlassen."),
        ("楽天で働いています。", "バイトを辞めて、今は楽です。"),
        ("楽天で働いています。", "父は楽天を辞めて、今は家にいる。"),
        ("我在阿里上班。", "我离开家了。"),
        ("我在阿里上班。", "我朋友离开阿里了。"),
        ("I'm a nurse.", "I retired from the chess club."),
        ("I'm a nurse.", "My dad retired last month."),
        ("Soy enfermera.", "Mi padre se jubiló el mes pasado."),
        ("My boyfriend is called Luc.", "Luc and I are over the moon."),
        ("My boyfriend is called Luc.", "me and Luc are done with the kitchen"),
        ("My boyfriend is called Luc.", "Tom and I are over."),
        ("Mein Freund heißt Lukas.", "Mit Lukas ist es aus dem Ruder gelaufen."),
        ("Mi novio se llama Luis.", "Luis y yo hemos terminado la mudanza."),
        ("Mon copain s'appelle Luc.", "J'ai vu le match avec Luc, c'est fini."),
        ("Trabajo en Santander.", "Dejé el bolso en Santander."),
        ("Vivo en Cádiz.", "Vendí el coche en Cádiz."),
        ("I live in Leeds.", "I sold my car in Leeds."),
        # News of a person or a place that a line names, and of nothing that it says.
        ("My son Tom is allergic to peanuts.", "Tom is no longer in the choir."),
        ("My son Tom is allergic to peanuts.", "Tom's training is now on Mondays at 4:30."),
        ("Mein Sohn Jannis ist allergisch gegen Erdnüsse.", "Jannis spielt nicht mehr Fußball."),
        ("Mon fils Luc est allergique aux arachides.", "Luc ne va plus au judo."),
        ("My sister Wilma lives in Durham.", "Wilma is not coming on Sunday."),
        ("I live at 12 Quay Lane in Whitby.", "Swimming has moved to Thursdays, still 4 o'clock."),
        ("I live at 12 Quay Lane in Whitby.", "My dentist moved to Thursdays."),
        ("I live at 12 Quay Lane in Whitby.", "There's no parking in Whitby on Sundays."),
        ("Ich wohne in Rastede, Feldbreite 19.", "In Rastede gibt es keinen Bäcker mehr."),
        ("I live in Leeds.", "I'd never move away from Leeds."),
        ("I work as a paralegal at Harker & Sons.", "There is no coffee machine at Harker & Sons any more."),
        ("I'm allergic to shellfish.", "I wish I wasn't allergic to shellfish."),
        ("I'm allergic to shellfish.", "If I weren't allergic to shellfish I'd order the paella."),
        ("京都に住んでいます。", "京都の車を売りました。"),
        ("京都に住んでいます。", "京都の祖父の家を売りました。"),
        ("我住在成都。", "我把成都的车卖了。"),
        ("我住在成都。", "我把成都爸妈的房子卖了。"),
    ],
)
def test_a_line_stays_when_something_else_is_over(earlier: str, later: str) -> None:
    assert earlier in quote(earlier, later)


def test_the_end_of_a_couple_names_nobody() -> None:
    assert quote("Luc et moi, c'est fini.") == []
