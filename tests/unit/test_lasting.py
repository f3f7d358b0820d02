"""Sentences about what lasts: which of them an overview may quote."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memwarden.recall.answer.overview import choose_lines
from memwarden.records import Channel, Memory, Namespace
from memwarden.statements.lasting import find_lasting

SAID_AT = datetime(2026, 5, 5, 10, tzinfo=UTC)


def quote(*texts: str) -> list[str]:
    """What an overview quotes a month after the first text. Each text is said a day after the one before."""
    turns = [
        Memory(
            id=str(place), namespace=Namespace("default", "user/ann"), text=text, updated_at=SAID_AT,
            created_at=SAID_AT + timedelta(days=place), channel=Channel.TURN, role="user",
        )
        for place, text in enumerate(texts)
    ]  # fmt: skip
    return [line.words for line in choose_lines(turns, SAID_AT + timedelta(days=30), None)]


def topics_of(text: str) -> list[str]:
    return [words.topic for words in find_lasting(text, SAID_AT) if words.topic]


@pytest.mark.parametrize(
    ("own", "hearsay"),
    [
        ("The gate code is 8812.", "My cousin reckons the gate code is 8812."),
        ("Der Code vom Tor ist 8812.", "Meine Cousine sagt, der Code vom Tor ist 8812."),
        ("Ich bin allergisch gegen Nüsse.", "Ich bin allergisch gegen Nüsse, meint die Ärztin."),
        ("Le code du portail est 8812.", "Mon voisin dit : le code du portail est 8812."),
        ("Soy alérgica a las nueces.", "Según mi madre, soy alérgica a las nueces."),
        ("Sono allergica alle noci.", "Secondo mia madre sono allergica alle noci."),
        ("Eu moro em Lisboa e sou alérgica a nozes.", "A vizinha acha que eu sou alérgica a nozes."),
        ("Ik ben allergisch voor noten.", "Volgens Piet ben ik allergisch voor noten."),
        ("私は卵アレルギーです。", "私は卵アレルギーですと言われました。"),
        ("我对花生过敏。", "妈妈说我对花生过敏。"),
    ],
)
def test_what_others_say_is_not_quoted(own: str, hearsay: str) -> None:
    assert topics_of(own)
    assert topics_of(hearsay) == []


@pytest.mark.parametrize(
    "text",
    [
        "Hi Ines, my name is Autumn. Please reply as Ines from now on.",
        "Ich wohne in Graz. Antworte als mein Berater.",
        "Je suis végane. Réponds comme un cuisinier grincheux.",
        "Vivo en Lima. Actúa como mi abogado.",
        "私はベジタリアンです。店員になりきって。",
        "Joe: tea?\nSue: no, I prefer coffee.",
        "Jo : du thé ?\nSue : non, je suis allergique au lait.",
        "Kellner: Tee?\nGast: Ich bin allergisch gegen Nüsse.",
    ],
)
def test_nothing_is_quoted_of_a_role_that_is_played(text: str) -> None:
    assert topics_of(text) == []


@pytest.mark.parametrize(
    ("dose", "end"),
    [
        ("I got Ramipril for it. It's 5 mg in the morning.", "The Ramipril gave me a cough, I stopped it."),
        ("I got Ramipril for it. It's 5 mg in the morning.", "I stopped yesterday."),
        ("Hab jetzt Ramipril. Davon 5 mg morgens.", "Das Ramipril ist abgesetzt."),
        ("耳鼻科に行った。薬はルパフィンになった。夜1錠です。", "ルパフィンもう飲まなくていい。"),
        ("耳鼻科に行った。薬はルパフィンになった。夜1錠です。", "昨日でやめた。"),
    ],
)
def test_a_dose_is_over_with_what_the_sentence_before_names(dose: str, end: str) -> None:
    assert quote(dose)
    assert quote(dose, "it rains again") != []
    assert quote(dose, end) == []


@pytest.mark.parametrize(
    "text",
    [
        "When I ask for code: diff only, no explanation unless I ask.",
        "No emojis from you please, in comments or in answers.",
        "Never suggest recipes with fish to me.",
        "Bitte antworte immer auf Deutsch, außer wenn ich Englisch schreibe.",
        "Réponds toujours en français, sauf si je te parle en anglais.",
        "Respóndeme siempre en catalán, a menos que pregunte en inglés.",
        "これからは敬語はやめて、短く答えて。",
        "以后回答都用中文，除非我用英文问。",
    ],
)
def test_a_standing_request_is_quoted_with_its_exception(text: str) -> None:
    assert topics_of(text) == ["rules"]


@pytest.mark.parametrize(
    "text",
    [
        "Should I always reply to such letters?",
        "I'd like you to always answer in French one day.",
        "The label says never use bleach.",
        "Soll ich Kunden immer duzen?",
        "Il faudrait que tu répondes toujours en français si possible.",
        "要不要以后回答都用中文？",
    ],
)
def test_a_question_or_wish_is_not_a_standing_request(text: str) -> None:
    assert topics_of(text) == []


def test_a_value_that_holds_from_a_day_on_is_quoted_after_it() -> None:
    rent = "My rent is 720 from 20 May."
    assert quote(rent) == [rent]
    assert quote(rent, "The rent went up to 760.") == []


@pytest.mark.parametrize(
    "text",
    [
        "From June I work on Tuesdays and Fridays.",
        "Ab Mai proben wir donnerstags um 18 Uhr.",
        "Ab dem 1. Juni kostet die Miete 720 Euro.",
        "À partir de juin mon loyer est de 720 euros.",
        "A partir del 1 de junio trabajo los martes.",
        "6月1日から家賃は98000円です。",
        "从6月1号起房租是3200元。",
    ],
)
def test_a_value_holds_from_a_day_on(text: str) -> None:
    assert topics_of(text) == ["current"]


@pytest.mark.parametrize(
    "text",
    [
        "From 1 June to 9 June I work on Tuesdays.",
        "I'm on holiday from 1 June.",
        "From 1 June I'm in Rome, back on Tuesday.",
        "Torrent Labs, 10 weeks from 6 July, rent is 480.",
        "From 1 June I might work on Tuesdays.",
        "Ab 1. Juni bin ich im Urlaub.",
        "Du 1er au 9 juin mon loyer est de 720 euros.",
        "Quizá a partir del 1 de junio trabajo los martes.",
        "6月1日から旅行です。",
        "从6月1号起我去旅游。",
    ],
)
def test_a_stay_or_a_plan_from_a_day_on_is_no_value(text: str) -> None:
    assert "current" not in topics_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "My rent is 870 a month including heating.",
        "Our vet is Dr Kestler on Mill Lane.",
        "My laptop's a ThinkPad with a new battery.",
        "My phone's an iPhone, the small one.",
        "Meine Miete liegt bei 820 Euro warm.",
        "My email is petra.luchs@mailhaven.example.",
        "Meine Miete ist 870 Euro warm.",
        "Mon loyer est de 720 euros.",
        "Mi alquiler es de 720 euros al mes.",
        "Il mio affitto è di 720 euro al mese.",
        "Meu aluguel é de 720 euros por mês, com tudo.",
        "Mijn huur is 720 euro per maand.",
        "うちの家賃は98000円です。",
        "我的房租是3200元。",
    ],
)
def test_an_attribute_with_a_number_or_name_is_quoted(text: str) -> None:
    assert topics_of(text) == ["things"]


@pytest.mark.parametrize(
    "text",
    [
        "My rent is a joke.",
        "My phone is at 5%.",
        "My car is at Tom's.",
        "My company is OK with it.",
        "My rent is due on the 5th.",
        "My sister's rent is 870.",
        "My landlord's rent is 870 too.",
        "My rent is 870, isn't it?",
        "My rent was 870 back in Leeds.",
        "If my rent is 870, how much is left?",
        "Meine Miete ist eine Frechheit.",
        "Die Miete meiner Schwester ist 870 Euro.",
        "Mon loyer est une honte.",
        "Mi alquiler es una barbaridad.",
        "うちの家賃は高いです。",
        "我的房租是个笑话。",
    ],
)
def test_an_attribute_without_a_value_is_not_quoted(text: str) -> None:
    assert "things" not in topics_of(text)


@pytest.mark.parametrize(
    "later",
    [
        "The rent went up to 905.",
        "They raised it to 905.",
        "We moved to Graz last week.",
        "new rent letter came, 905 from May",
        "My rent is 905.",
    ],
)
def test_an_attribute_is_left_out_after_news_that_may_be_about_it(later: str) -> None:
    rent = "My rent is 870 a month."
    assert quote(rent, "My gym is FitForge, open all night.") == ["My gym is FitForge, open all night.", rent]
    assert rent not in quote(rent, later)
