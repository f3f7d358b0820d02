"""How something is done: when it is asked to be kept, and what its steps are."""

from __future__ import annotations

import pytest

from memwarden.errors import InvalidInput
from memwarden.remember.extract.procedures import find_taught_procedure, read_stated_procedure, render_steps
from memwarden.remember.ingest.messages import Draft

CATEGORY = "procedural"
MAX_STEPS = 20

DEPLOY = "1. Stop the queue.\n2. Run the migration.\n3. Start the queue."


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (f"Please remember how to deploy the shop:\n{DEPLOY}", f"How to deploy the shop:\n{DEPLOY}"),
        (
            "Okay, here's how we deploy the shop: 1) we stop the queue, 2) you should run the migration "
            "3) start the queue",
            f"How to deploy the shop:\n{DEPLOY}",
        ),
        (
            "This is how I make tea.\nHere is how we deploy it:\n\n- Stop the queue\n- Run the migration\n\nThanks!",
            "How to deploy it:\n1. Stop the queue.\n2. Run the migration.",
        ),
        (
            "Remember how to deploy the shop: First stop the queue. Then run the migration. Finally, start the queue.",
            f"How to deploy the shop:\n{DEPLOY}",
        ),
        (
            "Merk dir, wie man entkalkt:\n1. Wasser einfüllen\n2. Knopf drücken",
            "Wie man entkalkt:\n1. Wasser einfüllen.\n2. Knopf drücken.",
        ),
        (
            "Remember how to deploy:\n1. Stop the queue\n   and wait.\n2. Run it.\nThanks!",
            "How to deploy:\n1. Stop the queue and wait.\n2. Run it.",
        ),
        ("Voici comment publier :\n1. Fermer\n2. Envoyer", "Comment publier:\n1. Fermer.\n2. Envoyer."),
        (
            "Remember how to deploy the shop: stop the queue, run the migration, start the queue.",
            f"How to deploy the shop:\n{DEPLOY}",
        ),
        (
            "Here is how we deploy the shop: stop the queue, then run the migration, and finally start the queue. Bye!",
            f"How to deploy the shop:\n{DEPLOY}",
        ),
        (
            "Remember how to make tea: boil water; pour it over the leaves; wait.",
            "How to make tea:\n1. Boil water.\n2. Pour it over the leaves.\n3. Wait.",
        ),
        (
            "Merk dir, wie man entkalkt: erst Wasser einfüllen, dann den Knopf drücken.",
            "Wie man entkalkt:\n1. Erst Wasser einfüllen.\n2. Den Knopf drücken.",
        ),
        ("Recuerda cómo publicar:\n1. Cerrar\n2. Enviar", "Cómo publicar:\n1. Cerrar.\n2. Enviar."),
    ],
)  # fmt: skip
def test_what_somebody_asks_to_remember_becomes_numbered_steps(said: str, kept: str) -> None:
    assert find_taught_procedure(said) == kept


@pytest.mark.parametrize(
    "said",
    [
        DEPLOY,
        f"Shopping list:\n{DEPLOY}",
        f"Do you remember how to deploy the shop?\n{DEPLOY}",
        f"Remember how to deploy the shop?\n{DEPLOY}",
        "Remember how we laughed at the zoo. It was great. Then it rained.",
        "Here is how we deploy the shop: we just stop the queue.",
        "Here is how I feel: tired.",
        "Here is how I like my coffee: black, hot, strong.",
        "Here is how I feel: stay in bed, pull the blanket up.",
        "Here is how we split it: Ana pays 20, Bob pays 30, I pay 10.",
        "Here is how to reach me: by mail, on the phone, at the office.",
        "This is how we met: at a bar, in the rain.",
        "Here's how I allocated it:\n1. Rent\n2. Food",
        "Remember how to deploy:\n1. Stop it?\n2. Run it?",
        "I don't remember how to deploy: 1. what 2. why",
        "Thanks! Hello!",
        "",
        "Here is how to spam:\n" + "\n".join(f"{number}. Go." for number in range(1, MAX_STEPS + 2)),
        f"Here is how to read:\n1. {'x' * 300}\n2. Go.",
    ],
)
def test_nothing_else_is_a_procedure(said: str) -> None:
    assert find_taught_procedure(said) is None


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (DEPLOY, DEPLOY),
        (f"How to deploy:\n{DEPLOY}", f"How to deploy:\n{DEPLOY}"),
        ("* stop the queue\n* run the migration\n* start the queue", DEPLOY),
        ("1. Stop the queue.", "1. Stop the queue."),
        ("Step 1: stop the queue\nStep 2: run the migration\nStep 3: start the queue", DEPLOY),
        ("1. Stop the queue 2. Run the migration\n3. Start the queue", DEPLOY),
        ("Deploy: 1. Stop the queue. 2. Run the migration.", "Deploy:\n1. Stop the queue.\n2. Run the migration."),
        ("Deploy\non Mondays\n\n1. Stop.\n\n2. Run.", "Deploy\non Mondays\n1. Stop.\n2. Run."),
        ("1. Stop the queue\n   and wait.\n2. Run it.", "1. Stop the queue and wait.\n2. Run it."),
        ("Deploy\n1. Stop.\nNote: never skip this\n2. Start.", "Deploy\n1. Stop. Note: never skip this.\n2. Start."),
        (
            "1. Stop:\n```\n- q stop\n\nq off\n```\n2. Run.",
            "1. Stop:\n   ```\n   - q stop\n\n   q off\n   ```\n2. Run.",
        ),
        ("1. Use v1.\n   2. the nested one\n10. Ten", "1. Use v1.\n   2. the nested one\n2. Ten."),
        ("- Set the ratio to 1. 2. 3. exactly\n- Go", "1. Set the ratio to 1. 2. 3. exactly.\n2. Go."),
        ("- I am careful\n- We do not stop\n- I like it", "1. I am careful.\n2. We do not stop.\n3. I like it."),
        ("stop the queue -> run the migration -> start the queue", DEPLOY),
        ("Stop the queue, then run the migration, then start the queue.", DEPLOY),
        ("How to deploy: stop the queue, run the migration, start the queue.", f"How to deploy:\n{DEPLOY}"),
        ("How so. First stop it. It is loud. Then run it.", "How so.\n1. Stop it. It is loud.\n2. Run it."),
    ],
)
def test_stated_steps_are_numbered(given: str, kept: str) -> None:
    told = read_stated_procedure(Draft(given, channel="procedural"))
    assert (told.text, told.category) == (kept, CATEGORY)
    assert render_steps(kept) == kept


@pytest.mark.parametrize("given", ["Just do it.", "", "x" * 5_000])
def test_what_lists_no_steps_is_refused(given: str) -> None:
    with pytest.raises(InvalidInput, match="each on its own line or numbered"):
        read_stated_procedure(Draft(given, channel="procedural"))


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ("1. a\n2. b\nA closing remark", "'A closing remark' belongs to no step"),
        ("1. a\n2. b\n\nThings:\n- x\n- y", "'Things:' belongs to no step"),
        ("First stop it. Then run it. It is loud.", "'It is loud.' belongs to no step"),
        ("Go: 1. a 2. b\nA closing remark", "'A closing remark' belongs to no step"),
        (f"1. a\n2. b\n   {'x' * 300}", "step 2 has 302"),
        ("1. a\n2. b?", "step 2 is a question"),
        ("\n".join(f"{number}. a" for number in range(1, 23)), "it lists 22"),
    ],
)
def test_what_cannot_be_kept_whole_is_refused_and_says_where(given: str, where: str) -> None:
    with pytest.raises(InvalidInput, match=where):
        render_steps(given)


def test_steps_have_one_category_and_other_channels_any() -> None:
    with pytest.raises(InvalidInput, match="'procedural'"):
        read_stated_procedure(Draft(DEPLOY, channel="procedural", category="tasks"))
    draft = Draft("Just do it.", category="tasks")
    assert read_stated_procedure(draft) is draft
