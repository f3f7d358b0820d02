"""Sentences about what is in force: codes, agreements, new values and days to come."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from memwarden.recall.answer.overview import choose_lines
from memwarden.records import Channel, Memory, Namespace
from memwarden.statements.in_force import names_code

SAID_AT = datetime(2026, 5, 5, 10, tzinfo=UTC)
ANN = Namespace("default", "user/ann")


def quote(*texts: str, days: int = 10, names: tuple[str, ...] = ()) -> list[str]:
    """What an overview quotes, some days after the last text. Each text is said a day after the one before."""
    turns = [
        Memory(
            id=str(place), namespace=ANN, text=text, created_at=SAID_AT + timedelta(days=place), updated_at=SAID_AT,
            channel=Channel.TURN, role="user", name=names[place] if names else None,
        )
        for place, text in enumerate(texts)
    ]  # fmt: skip
    return [line.words for line in choose_lines(turns, SAID_AT + timedelta(days=len(texts) - 1 + days), None)]


def test_a_day_to_come_is_quoted_until_it_is_over() -> None:
    text = "the boiler service is on 20 May"
    assert quote(text) == [text]
    assert quote(text, days=16) == []


def test_the_next_day_to_come_is_first() -> None:
    first, second = "the boiler service is on 20 May", "my MOT is on 9 June"
    assert quote(first, second) == quote(second, first) == [first, second]


def test_a_month_is_no_day_to_come() -> None:
    assert quote("the roof gets done in August") == []


@pytest.mark.parametrize(
    "later",
    [
        "the boiler service got moved to 28 May",
        "they moved us to 22 May, no fee",
        "boiler service is cancelled",
    ],
)
def test_a_moved_day_is_no_longer_quoted(later: str) -> None:
    text = "the boiler service is on 20 May"
    assert text not in quote(text, later)


def test_a_day_stays_if_something_else_moved() -> None:
    text = "the boiler service is on 20 May"
    assert text in quote(text, "book club got moved to 14 July")


def test_a_day_of_a_release_is_moved_by_another_speaker() -> None:
    first, second = "release 2.7 goes out on 20 May", "we ship 2.7 on 4 June"
    assert quote(first, second, names=("Ida", "Olu")) == [second]


def test_only_the_newest_code_of_a_door_is_quoted() -> None:
    gate, garage, new = "the gate code is 4410", "the garage code is 5521", "the gate code is 8830 now"
    assert quote(gate, garage, new) == [new, garage]


def test_a_new_value_is_quoted_with_the_sentences_around_it() -> None:
    text = "letter from the landlord. rent is 780 now. could be worse"
    assert quote(text) == [text]
    assert quote("is it monday already? rent is 780 now. bye") == ["rent is 780 now. bye"]


def test_a_habit_without_a_subject_is_quoted_with_the_sentences_around_it() -> None:
    text = "Olu has drums instead. Lesson on mondays at five. Pray for us"
    assert quote(text) == [text]


def test_a_letter_of_someone_else_is_not_quoted() -> None:
    assert quote('got this: "Dear Ann, welcome. The door code is 4410. Start on 18 May. Regards, Olu"') == []


def test_a_moment_is_not_quoted() -> None:
    assert quote("the code is 4410 for now", "i'm on the bus now", "rent is due now i think") == []


@pytest.mark.parametrize("text", ["sorry im allergic to walnuts", "ive got asthma", "my sisters called Ida"])
def test_phrases_are_read_without_their_apostrophes(text: str) -> None:
    assert quote(text) == [text]


def test_a_long_word_before_an_amount_is_read_at_once() -> None:
    started = time.perf_counter()
    assert not names_code(f"the code is {'a' * 20_000}{'1' * 20_000} €")
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize("code", ["4410", "44-10", "b12", "7F", "KL-AB", "12", "20mg", "3.50", "1500 €", "2026.5"])
def test_a_code_has_three_digits_a_hyphen_or_a_letter(code: str) -> None:
    assert names_code(f"it is {code}") == (code in ("4410", "44-10", "b12", "7F"))


@pytest.mark.parametrize(
    ("text", "later", "kept"),
    [
        (
            "I take 20 mg of Ramipril every morning. Locker code is 4711.",
            "I stopped the Ramipril.",
            "Locker code is 4711.",
        ),
        ("The gate code is 4711. I'm vegan.", "I eat meat again.", "The gate code is 4711."),
        ("The gate code is 4711. I live in Graz.", "I moved to Linz.", "The gate code is 4711."),
        ("Rent is 780 now. My boyfriend is called Tom.", "Tom and I broke up.", "Rent is 780 now."),
        ("The roof is leaking. Rent is 780 now.", "the leaking roof got replaced", "Rent is 780 now."),
    ],
)
def test_a_sentence_that_a_later_one_replaces_is_quoted_around_no_other(text: str, later: str, kept: str) -> None:
    assert quote(text) != []
    shown = quote(text, later)
    assert kept in shown
    assert text not in shown


@pytest.mark.parametrize(
    "text",
    [
        "I'm allergic to nuts, am I?",
        "Ich bin allergisch gegen Nüsse, oder ist das Quatsch?",
        "我对花生过敏，是吗？",
        "ピーナッツアレルギーがあります、そうですよね？",
        "Ich bin Veganer, oder?",
        "Soy alérgica a las nueces, ¿no?",
        "I'm vegan, right?",
        "I'm vegan, aren't I?",
        "Je suis végane, non ?",
        "Je suis allergique aux noix, n'est-ce pas ?",
        "Sono allergica alle noci, vero?",
        "Sou alérgica a nozes, não é?",
        "Ik ben vegan, toch?",
        "I'm allergic to nuts, or was it sesame?",
        "我对花生过敏，对吗？",
        "我对花生过敏，对不对？",
    ],
)
def test_a_statement_that_is_asked_for_its_truth_is_not_quoted(text: str) -> None:
    assert quote(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Until 2020 I took 20 mg daily.",
        "I took 500 mg three times a day last week.",
        "I took 20 mg every morning until June.",
        "The old gate code is 4711.",
        "The gate code was 4711, and the locker is 12.",
        "The code for the alarm isn't 4711.",
        "Bis 2020 nahm ich 20 mg täglich.",
        "Der alte Türcode ist 4711.",
        "Antes tomaba 20 mg al día.",
        "Avant je prenais 20 mg par jour.",
        "Le code du portail était 4711.",
        "El código de la puerta era 4711.",
    ],
)
def test_what_is_over_or_denied_is_not_in_force(text: str) -> None:
    assert quote(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Tom takes 20 mg every morning.",
        "My mother takes 20 mg every morning.",
        "The dog gets 20 mg once a day.",
        "Mi madre toma 20 mg al día.",
        "Meine Mutter nimmt 20 mg täglich.",
        "Tom nimmt 20 mg täglich.",
        "Ma mère prend 20 mg par jour.",
        "Mia madre prende 20 mg al giorno.",
        "A minha mãe toma 20 mg por dia.",
        "Mijn moeder neemt 20 mg per dag.",
        "母は毎日20mg飲んでいます。",
        "母は20mgを1日1回飲んでいます。",
        "我妈妈每天吃20毫克。",
        "我妈妈20毫克一天一次。",
        "Pedro toma 20 mg al día.",
        "Tom's locker code is 4711.",
        "Toms Spindcode ist 4711.",
        "El código de Tom es 4711.",
        "Le code de Tom est 4711.",
        "Anna now works on Mondays.",
        "Pedro ahora trabaja los lunes.",
        "Anna arbeitet jetzt montags.",
        "The max dose is 20 mg a day.",
        "Vitamin C: 90 mg a day is recommended.",
        "Die Höchstdosis ist 20 mg am Tag.",
        "La dosis máxima es de 20 mg al día.",
    ],
)
def test_a_dose_or_code_of_another_is_not_in_force(text: str) -> None:
    assert quote(text) == []


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("The gate code is 4711.", "It's 9922 now, the old one no longer works."),
        ("The gate code is 4711.", "They changed it to 9922."),
        ("Der Türcode ist 4711.", "Er ist jetzt 9922."),
        ("I take 20 mg of Ramipril every morning.", "The doctor halved it to 10 mg."),
        ("I take 20 mg of Ramipril every morning.", "The doctor doubled it."),
        ("Ich nehme Ramipril 20 mg morgens.", "Der Arzt hat es auf 10 mg reduziert."),
        ("sertraline 50 mg every morning", "sertraline up to 100 mg every morning till June"),
    ],
)
def test_news_that_does_not_name_the_thing_takes_a_value_back(earlier: str, later: str) -> None:
    assert quote(earlier) == [earlier]
    assert earlier not in quote(earlier, later)


def test_news_about_another_thing_takes_no_code_back() -> None:
    code = "The gate code is 4711."
    assert code in quote(code, "Rent is 780 now.", "We moved the table.", "The doctor halved it to 10 mg.")


@pytest.mark.parametrize(
    "later", ["my bike is in the shed now", "Vet Patraix moved to the harbour", "the garden gate is not painted yet"]
)
def test_news_with_one_word_of_an_agreement_or_of_a_code_leaves_it(later: str) -> None:
    rule, code = "house rule: a photo of every bike at the garden door", "the wifi password is patraix-2026-yeye"
    assert {rule, code} <= set(quote(rule, code, later))


def test_news_that_something_is_off_needs_one_word_of_it() -> None:
    rule = "house rule: slippers at the garden door"
    assert quote(rule, "the slippers are cancelled") == []


@pytest.mark.parametrize(
    "text",
    [
        "The gate code is 7713, keep it to yourself haha",
        'The wifi is "LaMorguera" and the password is patraix-2026-yeye',
    ],
)
def test_a_code_beside_laughter_or_a_name_in_quotation_marks_is_quoted(text: str) -> None:
    assert quote(text) == [text]


def test_a_code_in_quotation_marks_is_not_quoted() -> None:
    assert quote('He said "the gate code is 7713"') == []


def test_a_code_that_is_named_is_quoted_without_the_sentences_around_it() -> None:
    assert quote("Tomek left. The alarm code is 2951. Des got the jar.") == ["The alarm code is 2951."]


def test_a_code_and_a_rule_are_changed_by_another_speaker() -> None:
    assert quote("The gate code is 4711.", "The gate code is now 9922.", names=("Ida", "Olu")) == [
        "The gate code is now 9922."
    ]


@pytest.mark.parametrize(
    "text",
    [
        "i sail weekends she sails weekdays, she's retired",
        "yes, renewal is 28 may",
        "yes, the gate code is 4711",
        "ja, der Türcode ist 4711",
    ],
)
def test_a_line_that_is_not_clear_alone_is_not_quoted(text: str) -> None:
    assert quote(text) == []


@pytest.mark.parametrize(
    ("later", "lasts"),
    [
        ("First day done, the team is lovely", True),
        ("I've quit, back to my old life", False),
        ("I work at Siemens", False),
        ("Not starting at Monzo after all", False),
        ("The Monzo thing is cancelled", False),
    ],
)
def test_an_announced_job_is_the_job_after_its_first_day_until_news_about_it(later: str, lasts: bool) -> None:
    job = "I start at Monzo on 6 May"
    assert (job in quote(job, "It rains.", later)) is lasts


@pytest.mark.parametrize(
    "text",
    [
        "My new number is 345 118 2290",
        "meine Handynummer ist 0176 4421908",
        "mon nouveau numéro c'est le 06 12 44 90 18",
        "mi móvil es 644 120 998",
        "il mio numero nuovo è 345 118 2290",
        "我的手机号13800138000",
    ],
)
def test_the_phone_number_of_the_speaker_is_quoted(text: str) -> None:
    assert quote(text) == [text]


def test_the_first_day_of_what_recurs_is_no_event() -> None:
    text = "The help desk changed my shifts after Easter, Mondays and Thursdays now."
    assert quote(text) == [text]
    assert quote("The help desk is closed at Easter now.") == []


@pytest.mark.parametrize(
    "text",
    [
        "labour is 48 from 10 May.",
        "Standup goes from 9:30 to 10:15 starting 10 May.",
        "ab 10. Mai arbeite ich 30 Stunden",
        "dès le 10 mai le loyer passe à 870",
        "a partir del 10 de mayo la cuota es de 45 euros",
        "dal 10 maggio il corso costa 45 euro",
        "5月10日から家賃は8万円です",
        "从5月10号开始房租是4500",
    ],
)
def test_a_value_from_a_day_on_holds_after_the_day(text: str) -> None:
    assert quote(text, days=3) == [text]
    assert quote(text, days=60) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "we are away from 10 to 14 May, room 12",
        "off work from 10 May",
        "the fair is on 10 May, tickets are 8",
        "The film runs from 10 May at 20:15.",
        "We're on holiday from 10 May, flight 2231.",
        "I have 3 exams from 10 May.",
        "I'm in room 214 from 10 May.",
        "La exposición abre desde el 10 de mayo a las 10.",
        "Unser Zug 2231 fährt ab dem 10. Mai.",
    ],
)
def test_an_event_is_over_after_its_day(text: str) -> None:
    assert quote(text, days=60) == []


def test_a_later_value_ends_the_one_from_a_day_on() -> None:
    text = "the rent is 850 from 10 May"
    assert quote(text, "It rains.", "the rent went down to 820 after all", days=60) == []


@pytest.mark.parametrize(
    "text",
    [
        "the doctor raised my candesartan, 16 mg now",
        "ich nehme jetzt Candesartan 16 mg",
        "ahora tomo 50 mg de losartán",
    ],
)
def test_a_dose_that_holds_now_is_quoted(text: str) -> None:
    assert quote(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Der Türcode vom „Keller“ ist 4417.",
        "Der Türcode vom »Keller« ist 4417.",
        "Der Türcode vom «Keller» ist 4417.",
        'Der Türcode vom "Keller" ist 4417.',
        "The gate code for the “Annexe” is 4417.",
        "Le code du « Cellier » est 4417.",
    ],
)
def test_a_quoted_name_hides_no_code_behind_it(text: str) -> None:
    assert quote(text) == [text]
