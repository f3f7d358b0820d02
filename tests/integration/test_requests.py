"""Messages of several sentences to an assistant: what is at home in a memory reaches the bar, another's does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from memwarden import Warden

Talk = Sequence[tuple[str, str]]

ALLOTMENT: Talk = (
    (
        "I got the keys to allotment 14 on Saturday. It is four metres by ten, the soil is heavy clay and the"
        " back half is full of bindweed. I can be there on two evenings a week, and I would like to eat from "
        "it in July.",
        "Congratulations on allotment 14! With heavy clay I would not dig it all at once. Cover the bindweed "
        "half with cardboard and black sheeting until autumn, and open only the front half. Start with "
        "potatoes and broad beans, which break clay up, then courgettes from May. With two evenings a week, "
        "twenty square metres are plenty.",
    ),
    (
        "The seed potatoes came, they are Charlotte. The beans are in already. The woman from plot 15 says I "
        "should lime the clay before anything else, but I read that potatoes get scab from lime. What do I do"
        " now?",
        "Your neighbour is right about clay in general, but not for this bed: lime and potatoes together "
        "bring scab. Put the Charlotte in without lime, in trenches with compost, 30 centimetres apart. Lime "
        "the bed for the brassicas in autumn instead, when the potatoes are out.",
    ),
    (
        "Something eats the courgettes at night, the leaves look like lace. I found slugs under the sheeting."
        " I do not want pellets because of the hedgehog that lives behind the shed.",
        "The black sheeting is a hotel for slugs, so lift its edge each morning and collect them. Nematodes "
        "work on clay once the ground is over five degrees, and they do the hedgehog no harm. Water the "
        "courgettes in the morning and not in the evening, so that the ground is dry at night.",
    ),
)
MARATHON: Talk = (
    (
        "I signed up for the spring marathon in Rotterdam. So far my longest run is 16 kilometres and I can "
        "train four times a week. My goal is under four hours, and my left Achilles tendon complains after "
        "hills.",
        "Rotterdam is flat, which suits your Achilles. For under four hours you need 5:40 a kilometre. Over "
        "sixteen weeks I suggest one interval session, one tempo run, one easy run and a long run on Sunday "
        "which grows from 16 to 32 kilometres. Leave hills out, and do heel drops every day.",
    ),
    (
        "The long run of 24 kilometres went badly. I hit the wall at kilometre 20 and walked home. I had only"
        " water with me and toast before. Is the whole plan too hard for me?",
        "No, that was fuel and not fitness. Before a run of over two hours eat porridge, and take a gel every"
        " 40 minutes from the first hour on. Repeat the 24 kilometres next Sunday at 6:10 a kilometre, and we"
        " go on from there.",
    ),
    (
        "The gels upset my stomach in the tempo run. My shoes have 700 kilometres on them by now, too. The "
        "race is in five weeks.",
        "Try chews or a drink mix in place of gels, in training first. Replace the shoes now, so that the new"
        " pair has 80 kilometres by the race in Rotterdam. From next week on the long runs become shorter: "
        "28, 20, 12.",
    ),
)
OF_ALLOTMENT = (
    "Hi, I'm back from the plot. The Charlotte are out now and that bed is empty. What was it that we "
    "wanted to do with the clay there before the cabbages go in?",
    "I could only go once this week. The bindweed comes through the cardboard at the edges. Should I "
    "change anything about how we cover the back half?",
    "The slugs are back. It rained for days and the courgettes look bad again. Remind me what I can use "
    "that leaves the hedgehog alone.",
    "My neighbour on 15 offered me a bag of lime. She means well. Which of my beds can take it, and when?",
)
OF_MARATHON = (
    "I did the 24 kilometres again. This time I ate porridge before and felt fine until the end. What is "
    "next on Sunday?",
    "My Achilles hurts again after yesterday. I ran up the dunes, I know. Which of the sessions should I "
    "leave out this week?",
    "The new shoes came today. They feel stiff. How many kilometres should they have before Rotterdam?",
    "I tried the chews in the tempo run. My stomach was fine with them. How often do I take one during the race?",
)


@pytest.fixture(scope="module")
def warden() -> Iterator[Warden]:
    """Two people's talks with an assistant."""
    pytest.importorskip("onnxruntime")
    with Warden.open("memory://", {"embedder": "auto"}) as opened:
        for user, talk in (("gardener", ALLOTMENT), ("runner", MARATHON)):
            for number, (asked, answered) in enumerate(talk):
                said = [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]
                opened.scope(user=user, thread=f"{user} {number}").observe(said)
        yield opened


@pytest.mark.parametrize(("user", "requests"), [("gardener", OF_ALLOTMENT), ("runner", OF_MARATHON)])
def test_a_request_gets_memory_of_its_own_matter(warden: Warden, user: str, requests: Sequence[str]) -> None:
    me = warden.scope(user=user, thread="new")
    blocks = [me.context([{"role": "user", "content": message}]) for message in requests]
    assert all(block.items for block in blocks)


def test_more_detail_alone_is_no_evidence(warden: Warden) -> None:
    """Several requests in one message get no more confidence than the likeliest of them alone."""
    me = warden.scope(user="runner", thread="new")
    alone = [me.context([{"role": "user", "content": message}]).confidence for message in OF_ALLOTMENT]
    together = me.context([{"role": "user", "content": " ".join(OF_ALLOTMENT)}]).confidence
    assert together <= max(alone) + 0.15
