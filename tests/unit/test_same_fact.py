"""Same fact, new value, related, different: what each rule decides and what each guard stops."""

from __future__ import annotations

import pytest
from same_fact_pairs import APART

from memwarden.remember.resolve.same_fact import Judgement, judge, sign_text
from memwarden.remember.resolve.same_fact.rules import GUARDS
from memwarden.remember.resolve.same_fact.word_lists import load_word_lists

LISTED_LANGUAGES = (
    "en",
    "de",
    "es",
    "fr",
)

SAME = [
    # other words
    ("Otto lives in Graz.", "Otto resides in Graz."),
    ("Bea's flat has a balcony.", "Bea's apartment has a balcony."),
    ("Otto doesn't like plums.", "Otto dislikes plums."),
    # other constructions
    ("The choir is led by Bea.", "Bea leads the choir."),
    ("Otto has a dog named Wolf.", "Otto's dog is called Wolf."),
    ("Bea works as a baker.", "Bea is a baker."),
    ("Bea's favourite dish is goulash.", "Goulash is Bea's favorite food."),
    ("Otto lent Bea a saw.", "Bea borrowed a saw from Otto."),
    ("Otto is married to Bea.", "Bea is Otto's wife."),
    ("Otto would rather drink tea than coffee.", "Otto prefers tea to coffee."),
    ("Otto has a nut allergy.", "Otto is allergic to nuts."),
    ("Otto doesn't smoke.", "Otto is a non-smoker."),
    ("Bea cannot swim.", "Bea is unable to swim."),
    ("Otto likes to sail.", "Otto likes sailing."),
    ("The fair has been cancelled.", "The fair was canceled."),
    ("Bea joined Bosch in 2018.", "Bea has worked at Bosch since 2018."),
    # another order
    ("On Fridays Otto swims.", "Otto swims every Friday."),
    ("If it rains, Otto takes the bus.", "Otto takes the bus if it rains."),
    ("Bea speaks Czech and Polish.", "Bea speaks Polish and Czech."),
    # numbers, units, times
    ("The fee is 20 euros.", "The fee is €20."),
    ("The budget is $50,000.", "The budget is 50k dollars."),
    ("The prize is $1.5 million.", "The prize is 1,500,000 dollars."),
    ("Otto has two sons.", "Otto has 2 sons."),
    ("The call is at 3 pm.", "The call is at 15:00."),
    ("The talk is on 3 March 2024.", "The talk is on 2024-03-03."),
    ("Otto takes 5mg of zinc daily.", "Otto takes 5 mg zinc every day."),
    ("The break is half an hour.", "The break is 30 minutes."),
    ("Otto is 1.8 m tall.", "Otto's height is 180 cm."),
    # languages
    ("Bea wohnt in Graz.", "Bea lebt in Graz."),
    ("Otto arbeitet als Bäcker.", "Otto ist Bäcker."),
    ("Das Treffen ist um 15 Uhr.", "Das Treffen ist um 15:00 Uhr."),
    ("Bea vive en Quito.", "Bea reside en Quito."),
    ("Bea tiene 2 gatos.", "Bea tiene dos gatos."),
    ("Léa habite à Lyon.", "Léa vit à Lyon."),
    ("花は東京に住んでいる。", "花は東京に住んでいます。"),
    ("Anna lubi psy!", "anna lubi  psy"),
]

DECIDED = [
    ("Otto lives in Graz.", "Otto lives in Linz now.", "supersede", "new value"),
    ("Bea's vet is Dr. Rot.", "Bea's vet is Dr. Blau.", "supersede", "new value"),
    ("We use Redis for the queue.", "We use Kafka for the queue.", "supersede", "new value"),
    ("Bea eats cheese.", "Bea does not eat cheese.", "supersede", "negation"),
    ("Otto is no longer ill.", "Otto is ill.", "supersede", "negation"),
    ("Otto is allergic to plums.", "Otto's son is not allergic to plums.", "link", "more on one side"),
    ("Otto's son is vegan.", "Otto is not vegan.", "link", "more on one side"),
    ("Otto is allergic to plums and nuts.", "Otto is not allergic to plums.", "link", "more on one side"),
    ("Otto's aunt Bea lives in Graz.", "Otto's aunt Bea moved to Linz.", "supersede", "new value"),
    ("Otto lives in Graz.", "Otto just moved to New York for work.", "supersede", "new value"),
    ("Otto lives in Graz.", "Otto's aunt moved to Linz.", "different", "apart"),
    ("Otto lives in Graz.", "Otto moved to marketing.", "different", "apart"),
    ("Otto works at Bosch.", "Otto quit Otto's job at Bosch.", "supersede", "over"),
    ("Otto works at Bosch.", "Otto quit Otto's job at Siemens.", "different", "apart"),
    ("Otto is engaged to Bea.", "Otto married Bea.", "supersede", "new value"),
    ("The boss is engaged to Bea.", "The boss married Bea.", "supersede", "new value"),
    ("The rent is 700 euros.", "The rent is 750 euros.", "supersede", "number or day"),
    ("The fair starts on 3 May.", "The fair starts on 4 May.", "supersede", "number or day"),
    ("Otto smokes.", "Otto used to smoke.", "supersede", "used to"),
    ("Bea will visit Rome.", "Bea visited Rome.", "supersede", "happened"),
    ("Bea plans to visit Rome.", "Bea visited Rome.", "supersede", "happened"),
    ("Otto has a cat.", "Otto had a cat.", "supersede", "over"),
    ("Otto passed the test.", "Otto failed the test.", "supersede", "opposite"),
    ("The site is reachable.", "The site is unreachable.", "supersede", "opposite"),
    ("All doors are locked.", "Most doors are locked.", "supersede", "quantifier"),
    ("Otto is the mayor of Graz.", "Bea is the mayor of Graz.", "supersede", "new value"),
    ("Otto leads the choir.", "Bea now leads the choir.", "supersede", "new holder"),
    ("Otto likes tea.", "Otto likes tea with milk.", "link", "more said"),
    ("Otto has a beard.", "Otto may have a beard.", "link", "modality"),
    ("Otto had a beard.", "Otto has a beard.", "link", "tense"),
    ("Is Otto ill?", "Otto is ill.", "link", "question"),
    ("Otto knows Bea.", "Bea knows Otto.", "different", "roles"),
    ("Otto told Bea about Kai.", "Otto told Kai about Bea.", "different", "roles"),
    ("Otto plays chess.", "Bea plays chess.", "different", "other subject"),
    ("Otto plays the harp.", "Otto plays the drums.", "different", "apart"),
    ("The call with Rot is on Monday.", "The call with Blau is on Monday.", "different", "apart"),
    ("Otto's left knee hurts.", "Otto's right knee hurts.", "different", "apart"),
    ("Otto wohnt in Graz.", "Otto wohnt jetzt in Linz.", "supersede", "new value"),
    ("Otto ist krank.", "Otto ist nicht krank.", "supersede", "negation"),
    ("Bea come el pan.", "Bea no come el pan.", "supersede", "negation"),
    ("Léa ne fume pas.", "Léa fume.", "supersede", "negation"),
    ("会議は火曜日です。", "会議は水曜日です。", "supersede", "number or day"),
    ("花は英語を話す。", "花は中国語を話す。", "different", "apart"),
    ("花は英語を話す。", "太郎は英語を話す。", "different", "other subject"),
    ("Anna lubi psy.", "Anna lubi koty.", "link", "no lists, near"),
    ("Anna lubi psy.", "Marek pije mleko.", "different", "no lists"),
]

GUARDED = [
    ("article", "Bea has a cat.", "Bea has the cat."),
    ("case", "The user likes Turkey.", "The user likes turkey."),
    ("code", "The log is in /var/log.", "The log is in /var/Log."),
    ("conjunction", "Otto sings and Bea dances.", "Otto sings but Bea dances."),
    ("date", "The call is at 3 pm.", "The call is at 4 pm."),
    ("entity", "Bea works at Bluebell.", "Bea works for bluebell."),
    ("kin", "Kim's wife is Bea.", "Kim's husband is Bea."),
    ("modality", "Bea may come.", "Bea will come."),
    ("negation", "Otto is ill.", "Otto is not ill."),
    ("number", "Otto has two sons.", "Otto has three sons."),
    ("order", "Otto hired Bea.", "Bea hired Otto."),
    ("plural", "The old plans cost 5 euros.", "The old plan cost 5 euros."),
    ("preposition", "The shop is near the church.", "The shop is behind the church."),
    ("quantifier", "All cups are clean.", "Some cups are clean."),
    ("question", "Is Bea a vet?", "Bea is a vet."),
    ("quote", 'Otto sings "Home".', "Otto sings home."),
    ("tense", "Otto is a nurse.", "Otto was a nurse."),
]


@pytest.mark.parametrize(("old", "new"), SAME)
def test_the_same_in_other_words_is_the_same(old: str, new: str) -> None:
    assert judge(old, new).label == judge(new, old).label == "same"


@pytest.mark.parametrize(("old", "new", "label", "rule"), DECIDED)
def test_each_rule_decides(old: str, new: str, label: str, rule: str) -> None:
    found = judge(old, new)
    assert (found.label, found.rule) == (label, rule)


@pytest.mark.parametrize(("guard", "old", "new"), GUARDED)
def test_each_guard_speaks_up(guard: str, old: str, new: str) -> None:
    assert guard in judge(old, new).guards
    assert judge(old, new).label != "same"


def test_every_guard_has_an_example() -> None:
    assert {guard for guard, _, _ in GUARDED} == set(GUARDS)


@pytest.mark.parametrize("kind", list(APART))
def test_lookalikes_are_not_the_same(kind: str) -> None:
    leaks = [pair for pair in APART[kind] if "same" in (judge(*pair).label, judge(*reversed(pair)).label)]
    assert leaks == []


def test_a_near_vector_sends_an_undecided_pair_to_be_checked_and_never_merges() -> None:
    undecided = ("Otto plays the harp.", "Otto plays the zither.")
    assert judge(*undecided).label == "different"
    assert judge(*undecided, cosine=0.54).label == "different"
    assert judge(*undecided, cosine=0.55) == Judgement("check", "near", ())
    assert judge("Otto knows Bea.", "Bea knows Otto.", cosine=1.0).label == "different"
    assert judge("Otto is ill.", "Otto is not ill.", cosine=1.0).label == "supersede"
    assert judge("Anna lubi psy.", "Marek lubi piwo bardzo.", cosine=0.9).label == "link"
    assert judge("Otto lives in Graz.", "Otto resides in Graz.", cosine=-1.0).label == "same"


def test_both_texts_choose_the_language() -> None:
    """ "Ella" is Spanish for she, and a name."""
    assert judge("Ella mag Tee.", "Ella hasst Tee.").rule == "opposite"
    assert sign_text("Otto wohnt in Graz.").language == "de"
    assert sign_text("Anna lubi psy.").language == ""


def test_a_long_text_is_only_the_same_as_its_equal() -> None:
    long = "Otto lives in Graz and " + "sings and " * 40 + "dances."
    assert judge(long, long.upper()).label == "same"
    assert judge(long, long.replace("lives", "resides")).label == "link"


def test_a_signature_is_made_once() -> None:
    assert sign_text("Otto is a baker.") is sign_text("Otto is a baker.")


@pytest.mark.parametrize("code", LISTED_LANGUAGES)
def test_the_lists_do_not_contradict_themselves(code: str) -> None:
    lists = load_word_lists(code)
    assert not lists.dropped & (lists.negation | lists.quantifiers.keys() | lists.modality.keys())
    same = [
        pair for pair in lists.antonyms if lists.synonyms.get(pair[0], pair[0]) == lists.synonyms.get(pair[1], pair[1])
    ]
    assert same == []
    for table in (lists.quantifiers, lists.modality, dict.fromkeys(lists.prepositions), dict.fromkeys(lists.negation)):
        assert [
            word for word in table.keys() & lists.synonyms.keys() if table.get(lists.synonyms[word], "") != table[word]
        ] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The exam is on 3 July.", "The exam is on the 3rd of July."),
        ("The exam is on July 3rd.", "The exam is on the 3rd of July."),
        ("The rent is $600.", "The rent is 600 dollars."),
        ("Rent is £450 a month.", "Rent is 450 pounds per month."),
        ("The backup runs every night at 2 am.", "The backup runs nightly at 02:00."),
        ("I see Dr. Lind every three months.", "I see Dr. Lind quarterly."),
        ("We meet at midday.", "We meet at 12 pm."),
        ("My bro lives in Leeds.", "My brother lives in Leeds."),
    ],
)
def test_one_day_or_amount_is_the_same_in_every_format(old: str, new: str) -> None:
    assert (judge(old, new).label, judge(new, old).label) == ("same", "same")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The exam is on 3 July.", "The exam is on the 3rd of June."),
        ("I lost 20 pounds.", "I lost £20."),
        ("We need 3 pounds of flour.", "We need £3 of flour."),
        ("I pay for 5 pounds of apples.", "I pay £5 of apples."),
        ("We meet at midday.", "We meet at midnight."),
        ("My bro lives in Leeds.", "My sis lives in Leeds."),
    ],
)
def test_formats_that_look_alike_are_not_the_same(old: str, new: str) -> None:
    assert judge(old, new).label != "same"
