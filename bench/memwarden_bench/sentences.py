"""Generates chats for measuring speed, with lifelike lengths and growing vocabulary.

Nothing is measured on them but time and memory. The same seed gives the same turns.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count, cycle
from typing import Any, NamedTuple

PEOPLE = ("Mara", "Joel", "Ines", "Tomas", "Wilma", "Kofi", "Noor", "Sven")
SESSION = 20
"""Turns a thread."""

_OPENERS = ("", "", "", "oh, ", "yeah, ", "so, ", "by the way, ", "haha ", "guess what: ", "honestly, ")
_WHEN = ("yesterday", "last week", "in May", "on Tuesday", "this morning", "two years ago", "on 3 June", "tonight")
_FRAMES = (
    "I finally went to {place} {when} and it was {adjective}",
    "my {kin} wants to {verb} a {adjective} {thing} before the {event}",
    "we {verb_past} the {thing} near {place}, did you see the {adjective} one?",
    "{name} told me about the {event} in {place}, {number} people came",
    "I can't eat {thing} any more, the doctor in {place} said so {when}",
    "how is your {kin} doing after the {event}? Still in {place}?",
    "the {adjective} {thing} cost me {number} pounds {when}",
    "I am planning the {event} with {name}; bring the {thing} and the {rare}",
    "have you read anything about {rare}? {name} can't stop talking about it",
    "our {rare} group meets {when} in {place}, the {thing} is on me",
)
_WORDS: Mapping[str, Sequence[str]] = {
    "kin": ("sister", "brother", "mother", "neighbour", "daughter", "boss", "cousin", "dog", "cat", "uncle"),
    "verb": ("buy", "paint", "repair", "sell", "build", "borrow", "photograph", "cook", "learn", "clean"),
    "verb_past": ("bought", "painted", "repaired", "sold", "built", "borrowed", "found", "cooked", "lost", "cleaned"),
    "adjective": ("red", "tiny", "wonderful", "broken", "quiet", "expensive", "old", "wooden", "famous", "strange"),
    "thing": ("canoe", "guitar", "bicycle", "cake", "lamp", "novel", "kettle", "coat", "violin", "camera", "tent"),
    "event": ("wedding", "marathon", "exhibition", "concert", "move", "birthday", "interview", "festival", "exam"),
    "place": ("Bristol", "Oslo", "the market", "the old library", "Lisbon", "the lake", "our street", "Kyoto"),
}
_SYLLABLES = ("ba", "co", "del", "fi", "gor", "han", "ji", "kam", "lu", "mir", "no", "pel", "qua", "ris", "sto", "tev")


def turns(amount: int, seed: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yield generated messages of two people, with ids and times a minute apart."""
    chance = random.Random(seed)
    start = datetime(2024, 1, 1, 9, tzinfo=UTC)
    for number in range(amount):
        said = ". ".join(_sentence(chance, number) for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))))
        at = start + timedelta(minutes=number % SESSION, hours=6 * (number // SESSION))
        yield _message(number, PEOPLE[number % 2], said, at)


def questions(amount: int, seed: int = 1) -> list[str]:
    """Yield questions about such chats; some have no answer."""
    chance = random.Random(seed)
    frames = (
        "What did {name} say about the {thing}?",
        "When did we go to {place}?",
        "Who wanted to {verb} a {adjective} {thing} before the {event}?",
        "How much was the {adjective} {thing}?",
        "Where does the {rare} group meet?",
    )
    return [_fill(chance, chance.choice(frames), 1_000) for _ in range(amount)]


class Fact(NamedTuple):
    """A generated fact and its later value."""

    text: str
    changed: str


def facts(amount: int, seed: int = 2) -> list[Fact]:
    """Return distinct facts about this many people."""
    chance = random.Random(seed)
    people = [first + last for first in _SYLLABLES for last in _SYLLABLES]
    told = []
    for number in range(amount):
        who = people[number % 256].title() + people[number // 256 % 256]
        thing, (was, now) = chance.choice(_WORDS["thing"]), chance.sample(range(20, 1_000), 2)
        told.append(Fact(f"{who}'s {thing} costs {was} euros.", f"{who}'s {thing} costs {now} euros now."))
    return told


def vary(messages: Sequence[Mapping[str, Any]], amount: int, seed: int = 0) -> Iterator[Mapping[str, Any]]:
    """Repeat real messages with a rare word added, so that vocabularies grow."""
    chance = random.Random(seed)
    start = datetime(2024, 1, 1, 9, tzinfo=UTC)
    for number, message in zip(count(), cycle(messages)):
        if number == amount:
            return
        first_round = number < len(messages)
        text = message["content"] if first_round else f"{message['content']} {_rare(chance, number)}"
        at = start + timedelta(minutes=number % SESSION, hours=6 * (number // SESSION))
        yield _message(number, message.get("name"), text, at, message["role"])


def threads(messages: Iterator[Mapping[str, Any]]) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Yield the messages as threads of :data:`SESSION` turns."""
    for number in count():
        batch = [message for _, message in zip(range(SESSION), messages, strict=False)]
        if not batch:
            return
        yield f"t{number}", batch


def _message(number: int, name: str | None, text: str, at: datetime, role: str = "user") -> Mapping[str, Any]:
    message = {"role": role, "content": text, "id": f"m{number}", "created_at": at.isoformat()}
    return message | ({"name": name} if name else {})


def _sentence(chance: random.Random, number: int) -> str:
    return chance.choice(_OPENERS) + _fill(chance, chance.choice(_FRAMES), number)


def _fill(chance: random.Random, frame: str, number: int) -> str:
    words = {sort: chance.choice(choices) for sort, choices in _WORDS.items()}
    rest = {"name": chance.choice(PEOPLE), "when": chance.choice(_WHEN), "number": chance.randint(2, 900)}
    if chance.random() < 0.4:
        words["thing"] = _rare(chance, number)
    return frame.format(**words, **rest, rare=_rare(chance, number))


def _rare(chance: random.Random, number: int) -> str:
    """Draw a word from a vocabulary that grows with the root of the text (Heaps, Zipf)."""
    size = 50 + int(60 * (number + 1) ** 0.5)
    place = int(size ** chance.random())
    return "".join(_SYLLABLES[(place // 16**digit) % 16] for digit in range(4))
