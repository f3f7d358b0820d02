"""Categories and kinds of what is kept, and what is too little to quote; each rule with what it leaves alone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memwarden.remember.extract.rules.rejections import (
    begins_with_an_answer,
    is_mostly_of_the_talk,
    says_enough,
    tells_of_life,
)
from memwarden.remember.extract.rules.sorts import category_of, sort_kind, sort_words
from memwarden.statements.reader import load_weights
from memwarden.text.sentences import split_spans

AT = datetime(2026, 9, 30, 12, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("words", "category", "not_so"),
    [
        ("I can't stand okra", "preferences", "okra was 2.10 at the market yesterday"),
        ("Ich mag keine Rosinen", "preferences", "Ich wohne bei Rosi"),
        ("Me encanta el queso", "preferences", "El queso está en la nevera"),
        ("j'adore la randonnée", "preferences", "la randonnée part de Lyon"),
        ("納豆は苦手", "preferences", "納豆を買った"),
        ("我不吃香菜", "preferences", "香菜在冰箱里"),
        ("We're saving up for a camper van", "goals", "We sold the camper van yesterday"),
        ("quiero aprender a coser", "goals", "ayer cosí un botón"),
        ("I swim every Tuesday", "activity", "I moved house yesterday"),
        ("immer donnerstags Chorprobe", "activity", "gestern war ein Termin"),
        ("the form is due by Friday, action item for me", "tasks", "the form is blue"),
        ("api v2 gets a new endpoint after the release", "projects", "the cat gets a new basket"),
        ("I bought a kayak yesterday", "event", "I live on the second floor"),
        ("昨日引っ越した", "event", "京都に住んでいる"),
        ("my sister is a welder", "relationships", "the crane is yellow"),
        ("I'm allergic to wasps", "profile", "wasps nest in the shed"),
        ("体重は六十キロ", "profile", "空は青い"),
    ],
)
def test_words_have_the_category_of_their_signs(words: str, category: str, not_so: str) -> None:
    assert category_of(words, AT) == category
    assert category_of(not_so, AT) != category


def test_words_without_a_sign_are_an_activity() -> None:
    assert category_of("blue and green", AT) == "activity"


def test_every_attribute_of_the_lists_is_one_that_is_read() -> None:
    known = set(load_weights().attributes)
    assert set(sort_words().attributes) - known == set()


@pytest.mark.parametrize(
    ("words", "kind", "not_so"),
    [
        ("from now on we ship on Mondays", "decision", "the parcel came on Monday"),
        ("ab sofort nur noch Hafermilch", "decision", "die Hafermilch ist leer"),
        ("passed my driving test", "outcome", "my driving test is in May"),
        ("合格した", "outcome", "試験は五月"),
        ("nie wieder mit dem Nachtbus", "error_lesson", "der Nachtbus fährt nach Oslo"),
        ("it made me realise how tired I was", "insight", "I was tired"),
        ("I water them every evening", "behavior", "I watered them"),
    ],
)
def test_words_have_the_kind_of_their_signs(words: str, kind: str, not_so: str) -> None:
    assert sort_kind(words, "event") == kind
    assert sort_kind(not_so, "event") == "note"


def test_what_somebody_likes_is_a_preference() -> None:
    assert sort_kind("I love plums", "preferences") == "preference"
    assert sort_kind("I love plums", "event") == "note"


@pytest.mark.parametrize(
    ("words", "enough"),
    [
        ("Hard work pays off in the end!", False),
        ("Thanks, Ola!", False),
        ("She told me on Monday.", False),
        ("I really needed this.", False),
        ("Been busy with Ola.", False),
        ("Started at Kvarnby on Monday.", True),
        ("The code for the gate is 4410.", True),
        ("My sister and I restored our grandmother's loom last month, and I have woven a rug since.", True),
    ],
)
def test_between_two_people_encouragement_and_what_points_back_is_not_quoted(words: str, enough: bool) -> None:
    assert says_enough(words, [words], frozenset(("ola",)), two_person=True) is enough


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        ("am Montag, den 8. Juni. Die Schicht wechselt dort jede Woche", True),
        ("lundi 8 juin. On dit que les horaires changent chaque semaine", True),
        ("3 september. mum's op was moved as well", True),
        ("45 Minuten. Bei Gegenwind.", True),
        ("610 yep. the same deposit as before", True),
        ("昨日。姉が結婚した。", False),  # a day that is over begins a story
        ("Yesterday! My sister Clara got married.", False),
        ("On Monday I start at the clinic.", False),
        ("40 kilos of plums from one tree, 12 jars of jam.", False),
        ("wednesdays the shop is closed.", False),
        ("2 Kinder, ein Hund, und ich wohne jetzt in Leipzig.", False),
        ("27, vegan, ich wohne in Porto und arbeite als Koch.", False),
        ("3. Oktober ziehe ich um.", False),
        ("来月ひっこします。新しい住所は大阪市北区です。", False),
        ("来月です。新しい住所は大阪市北区です。", True),
        ("We are going in June. All of us.", False),
    ],
)
def test_a_day_to_come_or_a_number_by_itself_answers_what_is_not_shown(words: str, answers: bool) -> None:
    assert begins_with_an_answer(words, datetime(2026, 5, 20, 9, tzinfo=UTC)) is answers


@pytest.mark.parametrize(
    ("words", "enough"),
    [
        ("Yes, Thursday at 8 AM works.", False),
        ("Oh, 3:30 tomorrow, Friday, sounds perfect! That leaves me the evening.", False),
        ("My wife works on Sunday from 8 to 5.", True),
        ("My Friday class sounds awful, I quit it in May.", True),
        ("First off, none of them lost a pound in my gym.", False),
        ("First off, my doctor is Dr Huber in Graz.", True),
        ("My appointment on Friday at 9 am is fine, Clara works in Graz.", True),
        ("On Friday my sister Clara works nights.", True),
        ("First I lived in Oslo, then in Bergen.", True),
        ("The trip was moved to 22 August, I told my husband.", False),
        ("As for the plan, I keep to 17 May.", False),
        ("The trip to Oslo was moved to 22 August.", True),
        ("My trip was moved to 22 August.", True),
    ],
)
def test_what_agrees_to_something_unseen_or_names_no_trip_is_not_quoted_alone(words: str, enough: bool) -> None:
    sentences = [span.text for span in split_spans(words)]
    assert says_enough(words, sentences, (), two_person=False) is enough
    assert says_enough(words, sentences, (), two_person=False, answers=True)


@pytest.mark.parametrize(
    ("sentence", "tells"),
    [
        ("I'll go try that right now.", False),
        ("I hear you loud and clear.", False),
        ("We discussed the outline last time.", False),
        ("The old queen of Varn handed her nephew the crown of the seven rivers at dawn.", False),
        ("My knee surgery is on 4 May.", True),
        ("rent went up to 640 again because of the lift and the new cellar doors downstairs", True),
    ],
)
def test_steps_of_a_task_and_stories_tell_nothing_of_a_user(sentence: str, tells: bool) -> None:
    assert tells_of_life(sentence) is tells


def test_a_message_that_mostly_speaks_to_the_assistant_is_a_step_of_a_task() -> None:
    assert is_mostly_of_the_talk(["You got it.", "I'll check them now.", "My gym is loud."])
    assert not is_mostly_of_the_talk(["You asked.", "My gym is loud."])
