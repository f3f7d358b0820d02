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
        ("Le code du portail est 8812.", "Mon voisin dit : le code du portail est 8812."),
        ("Soy alérgica a las nueces.", "Según mi madre, soy alérgica a las nueces."),
        ("Sono allergica alle noci.", "Secondo mia madre sono allergica alle noci."),
        ("Eu moro em Lisboa e sou alérgica a nozes.", "A vizinha acha que eu sou alérgica a nozes."),
        ("Ik ben allergisch voor noten.", "Volgens Piet ben ik allergisch voor noten."),
        ("我对花生过敏。", "妈妈说我对花生过敏。"),
    ],
)
def test_what_others_say_is_not_quoted(own: str, hearsay: str) -> None:
    assert topics_of(own)
    assert topics_of(hearsay) == []


@pytest.mark.parametrize(
    "text",
    [
        "My doctor told me I'm allergic to penicillin.",
        "As I mentioned, I'm allergic to peanuts.",
        "Ich bin allergisch gegen Nüsse, meint die Ärztin.",
        "Comme je l'ai dit, je suis allergique aux noix.",
    ],
)
def test_a_word_of_others_about_an_allergy_is_quoted(text: str) -> None:
    assert topics_of(text) == ["health"]


@pytest.mark.parametrize(
    "text",
    [
        "Hi Ines, my name is Autumn. Please reply as Ines from now on.",
        "Ich wohne in Graz. Antworte als mein Berater.",
        "Je suis végane. Réponds comme un cuisinier grincheux.",
        "Vivo en Lima. Actúa como mi abogado.",
        "私はベジタリアンです。店員になりきって。",
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
        "My daughter Zoe is 9, she is allergic to peanuts",
        "Ma fille Zoé a 9 ans, elle est allergique aux arachides.",
        "Mi hija Zoe tiene 9 años, es alérgica a los cacahuetes.",
        "Meine Tochter Zoe ist 9, sie ist allergisch gegen Erdnüsse.",
        "My son Leo is 12 and he has asthma.",
        "My mother Ruth lives in Leeds and she is diabetic.",
        "My uncle Ben works at the docks.",
        "My wife Priya can't eat shellfish.",
        "My husband Ed turned 50.",
        "My dad has dementia and lives in a care home.",
        "My daughter is 9.",
        "My niece Ivy studies at Exeter.",
        "My cousin Jo moved to Oslo.",
        "My grandma lives in Cork.",
        "Mein Sohn Jonas ist 12 und hat Asthma.",
        "Meine Mutter Renate wohnt in Kassel.",
        "Meine Frau Lea verträgt keine Milch.",
        "Meine Schwester Ina arbeitet bei Bosch.",
        "Mein Vater ist 80 und lebt im Heim.",
        "Meine Nichte Ida ist 4 Jahre alt.",
        "Unsere Tochter Emma geht in die dritte Klasse.",
        "Mein Mann Jörg hat Diabetes.",
        "Mein Onkel Karl ist nach Wien gezogen.",
        "Mi hijo Leo tiene 12 años y es asmático.",
        "Mi madre Rosa vive en Burgos.",
        "Mi mujer Lola no puede comer marisco.",
        "Mi padre tiene 80 años y vive en una residencia.",
        "Mi sobrina Sara estudia en Granada.",
        "Mi marido Juan trabaja en Renfe.",
        "Mi hija se ha mudado a Berlín.",
        "Mon fils Léo a 12 ans et il est asthmatique.",
        "Ma mère Odile habite à Tours.",
        "Ma femme Inès ne mange pas de gluten.",
        "Mon mari Paul travaille chez Renault.",
        "Ma nièce Lola étudie à Lille.",
        "Mon père a 80 ans, il vit en maison de retraite.",
        "Ma sœur Ana a déménagé à Brest.",
        "Mio figlio Leo ha 12 anni e soffre di asma.",
        "Mia madre Carla vive a Bari.",
        "Mia moglie Eva non può mangiare i crostacei.",
        "Mia figlia Zoe ha 9 anni, è allergica alle arachidi.",
        "Mio padre Aldo lavora in banca.",
        "Meu filho Leo tem 12 anos e é asmático.",
        "Minha mãe Rosa mora em Braga.",
        "Minha filha Zoe tem 9 anos, é alérgica a amendoim.",
        "Meu pai trabalha no porto.",
        "Mijn zoon Leo is 12 en heeft astma.",
        "Mijn moeder Ria woont in Gent.",
        "Mijn dochter Zoe is 9, ze is allergisch voor pinda's.",
        "Mijn vrouw Els eet geen vis.",
        "Mijn vader werkt bij ASML.",
        "Moja córka Zosia ma 9 lat, ma alergię na orzeszki.",
        "Mój brat Tomek mieszka w Łodzi.",
        "Moja mama Ewa jest lekarką.",
        "Our dog Biscuit is 9, he's allergic to chicken.",
    ],
)
def test_an_age_a_job_a_place_or_an_illness_of_a_relative_is_quoted_whole(text: str) -> None:
    assert quote(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "My brother Tom is a legend in Kent.",
        "My aunt Bea is in hospital.",
        "My little brother Sam is 17, he wants to be a pilot.",
        "Mein Bruder Tim ist Optimist.",
        "Mi hermano Iván es optimista.",
        "Mon frère Hugo est optimiste.",
        "Mio fratello Ugo è ottimista.",
        "O meu irmão Ivo é otimista.",
        "Mijn broer Tim is optimist.",
        "My son is 2 hours late.",
        "my son is 5 minutes away",
        "My sister Ana just qualified as a vet.",
        "Our daughter Mia, 4, is coeliac.",
        "Our daughter Ida, 4, is coeliac.",
        "A minha mulher Ana não pode comer marisco.",
    ],
)
def test_nothing_is_quoted_of_a_statement_about_a_relative_that_no_list_knows(text: str) -> None:
    assert quote(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "I'm vegan", "I'm vegan.", "im vegan", "I am vegan.", "I am a vegetarian.", "Ich bin vegan.",
        "Ich bin Veganer.", "Ich bin Vegetarierin.", "Soy vegano.", "Soy vegetariana.", "Je suis vegan.",
        "Je suis végétarien.", "Sono vegana.", "Sono vegetariano.", "Sou vegana.", "Sou vegetariano.",
        "Ik ben veganist.", "Ik ben vegetariër.", "我吃素。", "I am diabetic.",
    ],
)  # fmt: skip
def test_a_short_statement_of_a_diet_is_quoted(text: str) -> None:
    assert topics_of(text) == ["health"]
    assert quote(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Lyon.", "Ich bin nach Kiel gezogen.", "Mi sono trasferita a Torino", "Ci siamo trasferiti a Bari.",
        "J'ai déménagé à Nantes", "On a emménagé à Brest.", "Me mudé a Quito.", "Mudei-me para o Porto",
        "Me mudei para Recife", "Ik ben verhuisd naar Utrecht", "We zijn naar Gent verhuisd.", "我搬到了南京",
        "Я переехала в Казань", "大阪に引っ越しました。",
        "Przeprowadziłem się do Gdańska", "Mieszkam w Łodzi.",
    ],
)  # fmt: skip
def test_a_move_gives_a_home(text: str) -> None:
    assert topics_of(text) == ["home"]


@pytest.mark.parametrize(
    "text",
    [
        "don't think i live in paris", "I don't live in Paris.", "I never said I live in Paris.",
        "We don't move to Bonn",
        "I'd like to move to Bonn", "my brother moved to Leeds", "I almost moved to Lyon", "I thought I live in Bonn",
        "Ich wohne nicht in Kiel.", "Ich glaube, ich wohne in Kiel.", "Fast wäre ich nach Kiel gezogen.",
        "Mein Bruder ist nach Kiel gezogen.", "Non mi sono trasferita a Torino.", "Mi sarei trasferita a Torino.",
        "Mio fratello si è trasferito a Torino.", "Je n'ai pas déménagé à Nantes.", "J'ai failli déménager à Nantes.",
        "Je crois que j'habite à Lyon.", "Mon frère a déménagé à Nantes.", "No me mudé a Quito.",
        "Casi me mudé a Quito.",
        "Não me mudei para o Porto.", "Quase me mudei para o Porto.", "O meu irmão mudou-se para o Porto.",
        "Ik woon niet in Gent.", "Ik ben bijna verhuisd naar Utrecht.", "Mijn broer is verhuisd naar Utrecht.",
        "我不住在北京", "我差点搬到南京", "我弟弟搬到南京了", "我想搬到南京", "大阪に住んでいません。",
        "Я не переехала в Казань.", "Я чуть не переехала в Казань.", "Мой брат переехал в Казань.",
        "Nie przeprowadziłem się do Gdańska", "Prawie przeprowadziłem się do Gdańska", "Chyba mieszkam w Łodzi",
        "Mój brat przeprowadził się do Gdańska", "Nie mieszkam w Łodzi.", "Mieszkałem w Łodzi.",
    ],
)  # fmt: skip
def test_a_denied_wished_or_near_move_and_that_of_another_gives_no_home(text: str) -> None:
    assert "home" not in topics_of(text)


@pytest.mark.parametrize(
    ("told", "untold"),
    [
        ("My rent went up to 870 euros", "I thought my rent went up to 870"),
        ("Our rent has gone down to 700.", "The price of eggs went up to 4 euros"),
        ("Meine Miete ist auf 900 Euro gestiegen.", "Wenn meine Miete auf 900 Euro gestiegen ist, ziehe ich aus."),
        ("Mon loyer est passé à 900 euros.", "Je crois que mon loyer est passé à 900 euros."),
        ("Mi alquiler ha subido a 900 euros.", "Creo que mi alquiler ha subido a 900 euros."),
        ("Il mio affitto è salito a 900 euro.", "Il prezzo del pane è salito a 4 euro."),
        ("A minha renda subiu para 900 euros.", "Acho que a minha renda subiu para 900 euros."),
        ("Mijn huur is gestegen naar 900 euro.", "Ik denk dat mijn huur is gestegen naar 900 euro."),
        ("房租涨到5000了", "我觉得房租涨到5000了"),
        ("My rent went up to 870 euros", "My rent never went up to 870 euros."),
        ("My rent went up to 870 euros", "my bus is 20 minutes late"),
    ],
)
def test_a_new_amount_of_an_own_thing_is_quoted(told: str, untold: str) -> None:
    assert topics_of(told) == ["current"]
    assert topics_of(untold) == []


def test_a_new_amount_replaces_the_one_before() -> None:
    newer = "My rent went up to 920 euros."
    assert quote("My rent went up to 870 euros.", newer) == [newer]


@pytest.mark.parametrize(
    ("told", "untold"),
    [
        ("I start my new job at Siemens in July", "I might start my new job at Siemens in July"),
        ("Ich fange im Juli bei Siemens an.", "Vielleicht fange ich im Juli bei Siemens an."),
        ("Je commence chez Airbus en septembre.", "Mon frère commence chez Airbus en septembre."),
        ("Empiezo a trabajar en Renfe en julio.", "Espero que empiezo a trabajar en Renfe en julio."),
        ("Inizio a lavorare alla Fiat in settembre.", "Forse inizio a lavorare alla Fiat in settembre."),
        ("Ik begin in september bij ASML.", "Misschien begin ik in september bij ASML."),
    ],
)
def test_a_new_job_of_a_later_month_is_a_day_to_come(told: str, untold: str) -> None:
    assert topics_of(told) == ["upcoming"]
    assert topics_of(untold) == []
    assert quote(told) == [told]
    assert quote(told, *["It rains."] * 3) == [told]


@pytest.mark.parametrize(
    "text",
    [
        "Inizio al corso di yoga il 16 luglio.",
        "Entro en quirófano el 16 de julio.",
        "Empiezo en la piscina el 16 de julio.",
        "Je commence au club de tennis le 16 juillet.",
        "Je commence en fac le 16 juillet.",
        "I start at the gym on 16 July.",
        "I start work at 9 on 16 July.",
        "Ich fange am 16. Juli als ehrenamtlicher Helfer im Verein an.",
        "Ich starte am 16. Juli bei der Physio.",
        "Ik begin op 16 juli bij de fysio.",
        "Começo na natação no dia 16 de julho.",
    ],
)
def test_the_start_of_a_course_or_a_treatment_is_no_job(text: str) -> None:
    assert not any(words.announces_job for words in find_lasting(text, SAID_AT))


@pytest.mark.parametrize(
    "text",
    [
        "I start at Monzo on 16 July.",
        "I start at the BBC on 16 July.",
        "Ich fange am 16. Juli bei Siemens an.",
        "Empiezo en Zara el 16 de julio.",
        "Je commence à la Poste le 16 juillet.",
        "Inizio alla Fiat il 16 luglio.",
    ],
)
def test_the_start_at_an_employer_is_a_job(text: str) -> None:
    assert [words.announces_job for words in find_lasting(text, SAID_AT)] == [True]


def test_a_new_job_is_the_job_after_its_month() -> None:
    text = "I start my new job at Siemens in July"
    turn = Memory(
        id="1", namespace=Namespace("default", "user/ann"), text=text, updated_at=SAID_AT, created_at=SAID_AT,
        channel=Channel.TURN, role="user",
    )  # fmt: skip
    assert [line.words for line in choose_lines([turn], datetime(2026, 7, 20, tzinfo=UTC), None)] == [text]
    later = choose_lines([turn], datetime(2026, 8, 2, tzinfo=UTC), None)
    assert [(line.topic, line.words) for line in later] == [("work", text)]


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Mum's from Leeds, I grew up in Hull", "identity"),
        ("Ok so about me: Devon, 29, line cook, two cats", "identity"),
        ("Moi, c'est Yasmina, 41 ans, boulangère", "identity"),
        ("I only speak English", "identity"),
        ("My blood group is O negative", "health"),
        ("Meine Blutgruppe ist AB", "health"),
        ("Mi grupo sanguíneo es A positivo", "health"),
        ("fav colour is teal since forever", "likes"),
        ("Meine Lieblingsfarbe ist Grün", "likes"),
        ("me acabo de mudar a Gràcia, calle Verdi", "home"),
        ("Je viens de déménager à Brest", "home"),
        ("Ich bin gerade nach Kiel gezogen.", "home"),
        ("Mi sono appena trasferita a Bari", "home"),
        ("Acabei de me mudar para Faro", "home"),
        ("Ik ben net verhuisd naar Gent", "home"),
        ("I started as a receptionist at Hotel Donau", "work"),
        ("I've been promoted to hotel manager.", "work"),
        ("j'ai pris un poste à l'aquarium", "work"),
        ("He empezado a trabajar en Renfe", "work"),
        ("I'm a software engineer at Arup", "work"),
        ("Sono falegname a Bari", "work"),
        ("my gf Carina is a tattoo artist", "family"),
        ("mein Bruder Henning ist Imker in der Heide", "family"),
        ("Doctor put me on 50mg sertraline, mornings.", "medicines"),
        ("Ich nehme 75 mg Thyroxin.", "health"),
    ],
)
def test_plain_news_of_the_speaker_is_quoted(text: str, topic: str) -> None:
    assert topics_of(text) == [topic]


@pytest.mark.parametrize(
    "text",
    [
        "My mum says I'm allergic to eggs",
        "I started as a joke",
        "I started working at 6 this morning",
        "we have a car problem",
        "If I started as a baker I'd be happy",
        "My brother started as a receptionist at Hotel Donau",
        "Tell me about me: who am I",
        "I'm on 50 mg until Friday",
        "I was on 50 mg",
        "my flatmate takes 100 mg sertraline",
        "Je crois que je viens de déménager à Brest",
        "No me acabo de mudar a Lugo",
    ],
)
def test_other_news_is_not_quoted(text: str) -> None:
    assert topics_of(text) == []


def test_a_thing_is_quoted_with_the_sentences_that_describe_it() -> None:
    assert quote("We have a car. A blue Yaris, from 2015.") == ["We have a car. A blue Yaris, from 2015."]
    assert quote("The fair was loud. We have a cat. She sleeps.") == ["We have a cat."]
    assert quote("We have a car. I'm allergic to nuts.") == ["I'm allergic to nuts.", "We have a car."]


def test_a_polish_move_replaces_the_home_and_leaves_a_brothers() -> None:
    home = "Mieszkam w Łodzi."
    assert quote(home, "Przeprowadziłem się do Gdańska.") == ["Przeprowadziłem się do Gdańska."]
    assert quote(home, "Mój brat przeprowadził się do Gdańska.") == [home]
