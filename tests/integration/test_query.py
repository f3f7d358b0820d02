"""Queries: what is found, how much of it, who may see it, and why (B5, B6, F10, F14)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from memwarden import Warden
from memwarden.errors import CategoryDenied, InvalidFilter, InvalidInput, UnknownAgent
from memwarden.recall.answer.gates import GATES
from memwarden.records import QueryResult
from memwarden.text.tokenizer import estimate

TALK = [
    ("t1", "Ana", "I am allergic to peanuts, so no satay for me.", "2026-01-05"),
    ("t1", "Ben", "Good to know. I will cook a lentil curry on Saturday then.", "2026-01-05"),
    ("t1", "Ana", "Lovely! Shall I bring the wine?", "2026-01-05"),
    ("t1", "Ben", "Yes please, the Riesling from your uncle's vineyard.", "2026-01-05"),
    ("t2", "Ana", "My new flat is on Harbour Street 12, third floor.", "2026-02-11"),
    ("t2", "Ben", "Does it have a balcony?", "2026-02-11"),
    ("t2", "Ana", "A small one, facing south. I planted tomatoes.", "2026-02-11"),
    ("t3", "Ben", "My sister Ida had her baby yesterday, a boy called Emil.", "2026-03-20"),
    ("t3", "Ana", "Congratulations!!", "2026-03-20"),
    ("t3", "Ben", "We decided to sell the van because the repairs cost too much.", "2026-03-20"),
]


@pytest.fixture(scope="module", params=["wordllama", "none"])
def warden(request: pytest.FixtureRequest) -> Iterator[Warden]:
    with Warden.open("memory://", config={"embedder": request.param}) as opened:
        for number, (thread, name, text, day) in enumerate(TALK):
            opened.scope(user="pair", thread=thread).observe(
                {"role": "user", "name": name, "content": text, "id": f"m{number}", "created_at": day}
            )
        yield opened


def ask(warden: Warden, query: str, **arguments: Any) -> QueryResult:
    scope = {name: arguments.pop(name) for name in ("agent", "user") if name in arguments}
    return warden.scope(**{"user": "pair", **scope}).query(query, **arguments)


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("What is Ana allergic to?", "m0"),
        ("Where does Ana live? Which street is the flat on?", "m4"),
        ("What is the name of Ida's baby?", "m7"),
        ("Why did they sell the van?", "m9"),
        ("What did Ana plant on the balcony?", "m6"),
    ],
)
def test_the_answer_comes_first(warden: Warden, question: str, source: str) -> None:
    result = ask(warden, question)
    assert result
    assert source in [source for item in result.items[:2] for source in item.sources]
    assert 0 < result.items[0].score <= 1
    assert result.confidence >= max(item.score for item in result.items)


@pytest.mark.parametrize(
    "question",
    ["How do the rings of Saturn stay in place?", "Which gearbox oil does a tractor need?", "hey, how are you?", "lol"],
)
def test_nothing_is_returned_when_nothing_is_relevant(warden: Warden, question: str) -> None:
    result = ask(warden, question)
    assert not result
    assert (result.items, result.text, result.tokens) == ((), "", 0)
    assert {cut.gate for cut in result.cut} <= {"relevance", "category", "filter", "chatter"}


def test_an_empty_store_answers_nothing(warden: Warden) -> None:
    result = ask(warden, "What is Ana allergic to?", user="nobody")
    assert (bool(result), result.items, result.confidence, result.rev) == (False, (), 0.0, 0)


def test_scores_fall_with_the_rank_and_a_threshold_cuts_them(warden: Warden) -> None:
    everything = ask(warden, "What did Ana plant on the balcony?", top_k=10, threshold=0.0)
    scores = [item.score for item in everything.items]
    assert len(scores) > 3
    assert scores == sorted(scores, reverse=True)
    bar = 2.999 * scores[1]  # an item needs a third of a threshold
    above = ask(warden, "What did Ana plant on the balcony?", top_k=10, threshold=bar)
    assert [item.id for item in above.items] == [item.id for item in everything.items[:2]]
    assert "threshold" in {cut.gate for cut in above.cut}


def test_top_k_limits_and_names_what_it_cut(warden: Warden) -> None:
    result = ask(warden, "What did Ana plant on the balcony?", top_k=2, threshold=0.0)
    assert len(result.items) == 2
    assert "top_k" in {cut.gate for cut in result.cut}


def test_bullets_are_one_line_with_category_speaker_and_day(warden: Warden) -> None:
    item = ask(warden, "What is Ana allergic to?").items[0]
    assert item.text == "[activity] Ana, 5 Jan 2026: I am allergic to peanuts, so no satay for me."
    assert item.category == "activity"


def test_filters_apply_before_ranking(warden: Warden) -> None:
    wanted = {"thread_id": "t2", "name": "Ana"}
    result = ask(warden, "What is Ana allergic to?", filters=wanted, top_k=10, threshold=0.0, explain=True)
    assert {item.memory.thread_id for item in result.items} == {"t2"}
    assert {item.memory.name for item in result.items} == {"Ana"}
    assert sum(1 for cut in result.cut if cut.gate == "filter") == 8
    later = ask(warden, "Ana", filters={"created_at": {"$gte": "2026-03-01"}}, top_k=10, threshold=0.0)
    assert {item.memory.thread_id for item in later.items} == {"t3"}


def test_an_agent_reads_its_allowlist_only(warden: Warden) -> None:
    me = warden.scope(user="shop", agent="planner")
    warden.scope(user="shop").remember("The launch of the web shop is planned for May.", category="tasks")
    warden.scope(user="shop").remember("The web shop's owner loves cycling.", category="preferences")
    result = me.query("web shop", top_k=10, threshold=0.0, explain=True)
    assert [item.category for item in result.items] == ["tasks"]
    assert result.categories == ("goals", "tasks", "projects", "procedural", "state", "agent:planner")
    assert result.cut == ()  # what it may not read is not even named
    assert me.query("web shop", categories=["goals"], threshold=0.0, explain=True).cut[0].gate == "category"
    assert [memory.category for memory in me.find()] == ["tasks"]
    with pytest.raises(CategoryDenied, match="'preferences'"):
        me.query("web shop", categories=["tasks", "preferences"])
    with pytest.raises(CategoryDenied, match="'preferences'"):
        me.query("web shop", filters={"category": ["preferences"]})
    with pytest.raises(CategoryDenied, match="'preferences'"):
        me.find({"category": "preferences"})
    assert me.query("web shop", filters={"category": {"$ne": "tasks"}}, threshold=0.0).items == ()
    with pytest.raises(UnknownAgent, match="'intruder'"):
        warden.scope(user="shop", agent="intruder")


def test_a_category_of_context_all_fills_what_an_answer_leaves(warden: Warden) -> None:
    me = warden.scope(user="known")
    me.remember("The user's name is Kari and she runs a bakery.", category="profile")
    me.remember("The oven in the hall is repaired.", category="tasks")
    unrelated = me.query("How do the rings of Saturn stay in place?")
    assert not unrelated
    assert unrelated.items == ()
    sure = me.query("Is the oven in the hall repaired?", top_k=1, threshold=0.0)
    assert [item.category for item in sure.items] == ["tasks", "profile"]
    assert "always" in sure.items[1].why.note
    tight = me.query("Is the oven in the hall repaired?", top_k=1, threshold=0.0, budget_tokens=20)
    assert [item.category for item in tight.items] == ["tasks"]


def test_a_category_of_context_all_is_ranked_with_the_rest() -> None:
    """25 newer and weightier notes of the same category do not hide what was asked for."""
    with Warden.open("memory://", {"embedder": "auto"}) as opened:
        me = opened.scope(user="known")
        me.remember("Kari is allergic to peanuts.", category="profile")
        notes = [f"Kari met customer {number} at the market stall." for number in range(25)]
        me.remember(notes, category="profile", importance=0.9)
        result = me.query("What is Kari allergic to?")
        assert result
        assert "[profile] Kari is allergic to peanuts." in [item.text for item in result.items[:3]]
        assert "peanuts" in me.context([{"role": "user", "content": "What is Kari allergic to?"}]).text


def test_a_single_matching_profile_fact_is_an_answer() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as opened:
        me = opened.scope(user="known")
        me.remember("Kari is allergic to peanuts.", category="profile")
        assert me.query("What is Kari allergic to?")


def test_rag_length_caps_a_category() -> None:
    categories = {"categories": {"system": [{"name": "activity"}, {"name": "event", "rag_length": 2}]}}
    with Warden.open("memory://", config={"embedder": "none", "categories": categories}) as warden:
        me = warden.scope(user="ana")
        me.remember([f"Ana went to concert number {number} in Oslo." for number in range(6)], category="event")
        me.remember("Ana likes the concert hall in Oslo.", category="activity")
        result = me.query("concert in Oslo", top_k=10, threshold=0.0)
        assert sorted(item.category for item in result.items) == ["activity", "event", "event"]
        assert [cut.gate for cut in result.cut].count("rag_length") == 4


def test_a_fact_hides_its_own_turn_and_takes_its_place(warden: Warden) -> None:
    me = warden.scope(user="hiding", thread="t1")
    me.observe({"role": "user", "content": "We finally moved in, the house has a red door.", "id": "m1"})
    me.observe({"role": "user", "content": "The garden of the house needs work.", "id": "m2"})
    turn = me.query("What colour is the door of the house?", threshold=0.0).items[0]
    assert turn.sources == ("m1",)
    me.remember("The house has a red door.", sources=["m1"])
    result = me.query("What colour is the door of the house?", threshold=0.0, top_k=10)
    assert result.items[0].channel == "semantic"
    assert result.items[0].sources == ("m1",)
    assert turn.id not in [item.id for item in result.items]
    assert [cut.gate for cut in result.cut if cut.id == turn.id] == ["covered"]


def test_a_statement_in_the_querys_very_words_is_found(warden: Warden) -> None:
    me = warden.scope(user="words", thread="t1")
    me.observe({"role": "user", "content": "The locker code of the gym is 4417."})
    found = me.query("The locker code of the gym is 4417.", threshold=0.0)
    assert [item.memory.text for item in found.items] == ["The locker code of the gym is 4417."]


def test_of_like_statements_the_newer_comes_first() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        see_newer_first(warden)


def see_newer_first(warden: Warden) -> None:
    me = warden.scope(user="newer", thread="t1")
    me.observe({"role": "user", "content": "I live in Leipzig in a flat.", "created_at": "2026-01-05T10:00:00Z"})
    me.observe({"role": "user", "content": "The dentist wants to see me again.", "created_at": "2026-02-05T10:00:00Z"})
    me.observe({"role": "user", "content": "I live in Porto in a flat now.", "created_at": "2026-03-05T10:00:00Z"})
    found = me.query("Where do I live, in which flat?", threshold=0.0)
    texts = [item.memory.text for item in found.items]
    assert texts.index("I live in Porto in a flat now.") < texts.index("I live in Leipzig in a flat.")
    assert [item.score for item in found.items] == sorted((item.score for item in found.items), reverse=True)


def test_what_only_repeats_the_question_is_left_out(warden: Warden) -> None:
    me = warden.scope(user="echo", thread="t1")
    me.observe({"role": "user", "content": "My locker code is 4417."})
    me.observe({"role": "user", "content": "What is my locker code?"})
    result = me.query("What is my  locker code?", threshold=0.0)
    assert [item.memory.text for item in result.items] == ["My locker code is 4417."]
    assert [cut.gate for cut in result.cut] == ["echo"]


def test_returns_full_gives_whole_texts_and_bullets_the_part_that_matches(warden: Warden) -> None:
    me = warden.scope(user="long", thread="t1")
    filler = "The weather was mild and we talked about nothing in particular. " * 12
    text = f"{filler}The spare key hangs behind the barometer. {filler}"
    me.observe({"role": "user", "content": text})
    bullet = me.query("Where is the spare key?", threshold=0.0).items[0]
    assert "behind the barometer" in bullet.text
    assert len(bullet.text) < 540
    assert "…" in bullet.text
    whole = me.query("Where is the spare key?", threshold=0.0, returns="full", budget_tokens=2000).items[0]
    assert text in whole.text


def test_every_item_says_why_and_every_omission_names_its_gate(warden: Warden) -> None:
    result = ask(warden, "What did Ana plant on the balcony?", top_k=2, threshold=0.0, explain=True)
    for item in result.items:
        assert {feature.name for feature in item.why.features} >= {"words", "length"}
        assert all(feature.contribution == feature.value * feature.weight for feature in item.why.features)
    assert "plant" in result.items[0].why.words
    stored = {memory.id for memory in warden.scope(user="pair").find(limit=100)}
    assert {item.id for item in result.items} | {cut.id for cut in result.cut} == stored
    assert len(result.items) + len(result.cut) == len(stored)
    assert {cut.gate for cut in result.cut} <= set(GATES)
    assert [cut.gate for cut in result.cut].count("chatter") == 1  # "Congratulations!!"


def test_explain_names_the_gate_of_100_random_items_not_returned() -> None:
    chance = random.Random(7)
    nouns = ["boat", "bread", "piano", "garden", "ticket", "lamp", "letter", "horse", "bridge", "violin"]
    verbs = ["sold", "bought", "painted", "lost", "found", "repaired", "borrowed", "ordered"]
    with Warden.open("memory://", config={"embedder": "none"}) as warden:
        for number in range(300):
            verb, noun, place = chance.choice(verbs), chance.choice(nouns), chance.choice(nouns)
            text = f"Number {number}: we {verb} the {noun} near {place} hall"
            scope = warden.scope(user="u", thread=f"t{number % 7}")
            scope.remember(text, category=chance.choice(["tasks", "event", "activity"]), tags=[chance.choice("abc")])
        me = warden.scope(user="u", agent="supervisor")
        for number in range(100):
            question = f"Who {chance.choice(verbs)} the {chance.choice(nouns)}?"
            filters = {"tags": [chance.choice("abc")]} if number % 2 else None
            categories = ["tasks", "event"] if number % 3 else None
            result = me.query(
                question, categories, filters, top_k=3, explain=True, budget_tokens=chance.choice([30, 200])
            )
            gates = {cut.id: cut.gate for cut in result.cut}
            lost = [memory for memory in me.find(limit=300) if memory.id not in {item.id for item in result.items}]
            memory = chance.choice(lost)
            assert gates[memory.id] in GATES
            if categories and memory.category not in categories:
                assert gates[memory.id] == "category"
            elif filters and filters["tags"][0] not in memory.tags:
                assert gates[memory.id] == "filter"
            else:
                assert gates[memory.id] in ("relevance", "threshold", "rag_length", "top_k", "budget")


@pytest.mark.parametrize("returns", ["bullets", "full"])
def test_the_budget_is_never_exceeded(warden: Warden, returns: str) -> None:
    chance = random.Random(3)
    for _ in range(100):
        budget = chance.randint(1, 120)
        words = " ".join(chance.sample("Ana Ben flat van baby wine balcony peanuts street vineyard curry".split(), 3))
        result = ask(warden, words, top_k=10, threshold=0.0, budget_tokens=budget, returns=returns)
        assert result.tokens == estimate(result.text) <= budget
        assert result.text == "\n".join(f"- {item.text}" for item in result.items)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"query": ""}, InvalidInput, "query is empty"),
        ({"query": None}, InvalidInput, "query must be text"),
        ({"query": "x" * 300_000}, InvalidInput, "limit is 262,144"),
        ({"top_k": 0}, InvalidInput, "top_k is a whole number from 1 to 1,000"),
        ({"top_k": 2.5}, InvalidInput, "top_k"),
        ({"top_k": True}, InvalidInput, "top_k"),
        ({"budget_tokens": -5}, InvalidInput, "budget_tokens is a whole number from 1"),
        ({"budget_tokens": 0}, InvalidInput, "budget_tokens"),
        ({"threshold": 1.5}, InvalidInput, "threshold is a number from 0 to 1"),
        ({"threshold": "high"}, InvalidInput, "threshold"),
        ({"returns": "html"}, InvalidInput, "returns is bullets or full"),
        ({"categories": []}, InvalidInput, "categories is an empty list"),
        ({"categories": ["gossip"]}, InvalidInput, "unknown category 'gossip'"),
        ({"categories": "tasks"}, InvalidInput, "categories is a list"),
        ({"filters": {"colour": "red"}}, InvalidFilter, "unknown filter field 'colour'; known fields"),
        ({"filters": {"importance": {"$near": 1}}}, InvalidFilter, r"unknown operator '\$near'"),
        ({"filters": {"importance": "high"}}, InvalidFilter, "takes number"),
        ({"filters": ["a"]}, InvalidFilter, "mapping"),
    ],
)
def test_bad_queries_get_a_clear_error(warden: Warden, arguments: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        warden.scope(user="pair").query(**{"query": "Ana", **arguments})


def test_a_query_never_writes(warden: Warden) -> None:
    before = ask(warden, "What is Ana allergic to?").rev
    ask(warden, "Where does Ana live?", explain=True, threshold=0.0)
    assert ask(warden, "What is Ana allergic to?").rev == before


def test_a_used_up_category_does_not_keep_others_out() -> None:
    categories = {"categories": {"system": [{"name": "activity"}, {"name": "event", "rag_length": 1}]}}
    with Warden.open("memory://", config={"embedder": "none", "categories": categories}) as warden:
        me = warden.scope(user="ana")
        me.remember([f"concert in Oslo, concert {number}" for number in range(300)], category="event")
        me.remember("Ana wrote a long letter about one concert that she missed.", category="activity")
        result = me.query("concert in Oslo", top_k=3, threshold=0.0)
        assert sorted(item.category for item in result.items) == ["activity", "event"]


def test_a_question_that_was_asked_before_is_no_evidence(warden: Warden) -> None:
    me = warden.scope(user="asked", thread="t1")
    for _, name, text, day in TALK:
        me.observe({"role": "user", "name": name, "content": text, "created_at": day})
    for question in ("Which gearbox oil does a tractor need?", "What is the name of Ida's baby?"):
        before = me.query(question)
        me.observe({"role": "user", "content": question})
        after = me.query(f" {question} ".upper().lower())
        assert after.confidence == pytest.approx(before.confidence, abs=0.25)
        assert question not in [item.memory.text for item in after.items]
        assert "echo" in {cut.gate for cut in after.cut}


def test_nothing_shorter_takes_the_place_of_a_fact_that_does_not_fit(warden: Warden) -> None:
    me = warden.scope(user="fits", thread="t1")
    me.observe({"role": "user", "content": "The house has a red door.", "id": "m1"})
    long = "The house has a red door. " + "It was painted by an uncle who liked red very much. " * 4
    me.remember(long, sources=["m1"])
    tight = me.query("What colour is the door of the house?", threshold=0.0, budget_tokens=40)
    assert tight.items == ()
    assert {cut.gate for cut in tight.cut} == {"budget", "covered"}
    roomy = me.query("What colour is the door of the house?", threshold=0.0)
    assert [item.channel for item in roomy.items] == ["semantic"]


def test_a_fact_names_its_turn_by_our_id_or_by_the_callers_id_in_its_thread(warden: Warden) -> None:
    def channels(user: str) -> list[str]:
        found = warden.scope(user=user).query("What colour is the door of the house?", threshold=0.0, top_k=10)
        return sorted(item.channel for item in found.items)

    turn = {"role": "user", "content": "The house has a red door.", "id": "1"}
    (by_id,) = warden.scope(user="ids", thread="t1").observe(turn).results
    warden.scope(user="ids").remember("Red is the door of the house.", sources=[str(by_id.id)])
    assert channels("ids") == ["semantic"]
    warden.scope(user="elsewhere", thread="t1").observe(turn)
    warden.scope(user="elsewhere", thread="t2").remember("Red is the door of the house.", sources=["1"])
    assert channels("elsewhere") == ["semantic", "turn"]
    warden.scope(user="unnamed").observe(turn)
    warden.scope(user="unnamed").remember("Red is the door of the house.", sources=["1"])
    assert channels("unnamed") == ["semantic"]


def test_a_fact_in_other_words_takes_the_place_of_its_turn(warden: Warden) -> None:
    me = warden.scope(user="other words", thread="t1")
    for number in range(120):
        me.remember(f"The bicycle number {number} has a lock with a combination.")
    me.observe({"role": "user", "content": "The combination of the bicycle lock is 4417.", "id": "m1"})
    me.remember("Vier vier eins sieben.", sources=["m1"])
    top = me.query("Is 4417 the combination of the bicycle lock?", threshold=0.0, top_k=3)
    assert "Vier vier eins sieben." in [item.memory.text for item in top.items]


def test_many_facts_and_turns_are_explained_in_time() -> None:
    with Warden.open("memory://", config={"embedder": "none"}) as warden:
        me = warden.scope(user="many", thread="t")
        turns = [{"role": "user", "content": f"boat number {n} is red", "id": str(n)} for n in range(3000)]
        me.observe(turns)
        for n in range(0, 600, 100):
            me.remember([f"Boat {m} is red." for m in range(n, n + 100)], sources=[str(n)])
        result = me.query("Which boat is red?", top_k=1000, explain=True, threshold=0.0, budget_tokens=None)
        # With a walk over all pairs this took half a minute.
        assert len(result.items) + len(result.cut) == 3600


def test_a_superseded_fact_goes_on_covering_its_turn(warden: Warden) -> None:
    """Else "I live in Berlin." leads the answer again as soon as the fact of it is closed."""
    me = warden.scope(user="covering", thread="t1")
    said = [("I live in Berlin.", "2026-01-01"), ("I moved to Hamburg.", "2026-02-01")]
    wrote = me.observe([{"role": "user", "content": text, "created_at": at} for text, at in said])
    old, new = [str(result.id) for result in wrote.results]
    me.remember("Ana lives in Berlin.", sources=[old], created_at="2026-01-01")
    me.remember("Ana lives in Hamburg.", sources=[new], created_at="2026-02-01")
    found = me.query("Where does Ana live, in Berlin or Hamburg?", threshold=0, top_k=10)
    assert "Berlin" not in found.text
    assert {cut.gate for cut in found.cut if cut.id == old} == {"ended"}
    then = me.query("Where does Ana live, in Berlin or Hamburg?", threshold=0, top_k=10, as_of="2026-01-15")
    assert "Berlin" in then.text


def test_a_month_ahead_is_found_by_its_name() -> None:
    told = ("We are going to Sardinia in June.", "Last May we were in Rome.", "I hate coriander.")
    with Warden.open("memory://", {"embedder": "auto", "vector_seconds": 20}) as warden:
        warden.scope(user="u", thread="told").observe(
            [{"role": "user", "content": text, "created_at": "2026-11-20T10:00:00Z"} for text in told]
        )
        me = warden.scope(user="u", thread="asking")
        for question in ("Where are we going in June?", "what's planned for June?", "What happens in June?"):
            assert [item.memory.text for item in me.query(question).items] == [told[0]]
        assert not me.query("What did I do in June?")
