"""Turns of a call that are not stored yet."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import SequenceMatcher

from memwarden.records import Memory
from memwarden.remember.ingest.messages import Message

ALREADY_BEHIND = "it stands before turns that are stored already; give messages ids to change what was said before"
# SequenceMatcher takes quadratic time in the worst case.
MAX_COMPARED = 500
ASSISTANT = "assistant"
# Some turns of a handed-over conversation may be forgotten or rejected, so not all are known.
_MIN_KNOWN_SHARE = 0.7  # the least share of a handed-over conversation that must be known
# A match far from the end is a repetition of small talk, not the conversation handed over again.
_MAX_TURNS_AFTER = 2  # the last known message is at most so many turns before the end of the thread


@dataclass(frozen=True, slots=True)
class TurnKey:
    """The key under which a turn is stored once, or the id of its stored twin, or why it is refused."""

    source_key: str
    known: str | None = None
    refused: str | None = None


def key_of_id(message: Message) -> str | None:
    """Return the key of a message with an id of its own."""
    return f"id:{message.id}" if message.id else None


def find_new_turns(
    said: Sequence[Message],
    tail: Sequence[Memory],
    *,
    from_start: bool = False,
    ahead: Sequence[datetime | None] = (),
) -> list[TurnKey]:
    """Find what is new. ``tail``: the last turns of the thread, in the order of writing.

    from_start: whether the call is a conversation from its start, as a request to a model is. Then its only message
    is the thread's first, whose answer is made anew.
    ahead: times of the messages that lie ahead and were taken from them.

    A new message with a time is keyed by its words and that time, so it is stored once wherever it is sent again. All
    else is keyed by the turn that it follows, so that two processes that store the same continuation at the same moment
    store it once.
    """
    places = _match(said, tail) or _match_runs(said, tail) or (_match_retry(said, tail) if from_start else {})
    last = max(places, default=-1)
    after = tail[-1].id if tail else "the beginning"
    keys: list[TurnKey] = []
    times = ahead or [None] * len(said)
    dated = Counter[str]()
    for number, (message, time_ahead) in enumerate(zip(said, times, strict=True)):
        digest = digest_message(replace(message, created_at=message.created_at or time_ahead))
        key = key_of_id(message) or f"after:{after}:{number}:{digest}"
        if not message.id and (message.created_at or time_ahead) is not None:
            key = f"at:{digest}:{dated[digest]}"
            dated[digest] += 1
        if message.id:
            keys.append(TurnKey(key))
        elif number in places:
            keys.append(TurnKey(key, known=tail[places[number]].id))
        else:
            keys.append(TurnKey(key, refused=ALREADY_BEHIND if number < last else None))
    return keys


def digest_message(message: Message) -> str:
    """Return a digest of who said what and when."""
    at = message.created_at and message.created_at.astimezone(UTC)  # the same in whatever zone it was given
    said = json.dumps([message.role, message.name, message.text, str(at)])
    return hashlib.blake2b(said.encode(), digest_size=12).hexdigest()


def _match(said: Sequence[Message], tail: Sequence[Memory]) -> dict[int, int]:
    """Return the places in the call of known messages, with their places in the tail."""
    return _match_beginning(said, tail) or _match_in_order(said, tail)


def _match_runs(said: Sequence[Message], tail: Sequence[Memory]) -> dict[int, int]:
    """Match with answers that follow each other joined."""
    of_call = _runs([item.role == ASSISTANT and not item.id for item in said])
    of_tail = _runs([item.role == ASSISTANT and not _has_own_id(item) for item in tail])
    if len(of_call) == len(said) and len(of_tail) == len(tail):
        return {}
    found = _match(
        [replace(said[run[0]], text="".join(said[place].text for place in run)) for run in of_call],
        [replace(tail[run[0]], text="".join(tail[place].text for place in run)) for run in of_tail],
    )
    places: dict[int, int] = {}
    for number, place in found.items():
        ours, theirs = of_call[number], of_tail[place]
        places |= dict(zip(ours, theirs if len(ours) == len(theirs) else [theirs[-1]] * len(ours), strict=True))
    return places


def _match_retry(said: Sequence[Message], tail: Sequence[Memory]) -> dict[int, int]:
    """Match the only message of a call with the only one of its speaker in the thread: its answer is made anew."""
    if len(said) != 1 or said[0].role == ASSISTANT:
        return {}
    asked = [place for place, turn in enumerate(tail) if turn.role != ASSISTANT]
    return {0: asked[0]} if len(asked) == 1 and _is_same_turn(said[0], tail[asked[0]]) else {}


def _runs(joins: Sequence[bool]) -> list[list[int]]:
    """Return runs of places: neighbours that both join share a run."""
    runs: list[list[int]] = []
    for place, item in enumerate(joins):
        if item and place and joins[place - 1]:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs


def _match_beginning(said: Sequence[Message], tail: Sequence[Memory]) -> dict[int, int]:
    """Return the longest beginning of the call that the thread ends with: places in the call and the tail."""
    for length in range(min(len(said), len(tail)), 0, -1):
        first = len(tail) - length
        if all(_is_same_turn(said[number], tail[first + number]) for number in range(length)):
            return {number: first + number for number in range(length)}
    return {}


def _match_in_order(said: Sequence[Message], tail: Sequence[Memory]) -> dict[int, int]:
    blocks = SequenceMatcher(
        None, [_turn_key(item) for item in tail], [_message_key(item) for item in said], autojunk=False
    )
    places = {b + step: a + step for a, b, size in blocks.get_matching_blocks() for step in range(size)}
    places = {number: place for number, place in places.items() if _is_same_turn(said[number], tail[place])}
    if len(places) < 2:
        return {}
    last = max(places)
    enough = len(places) >= _MIN_KNOWN_SHARE * (last + 1)
    return places if enough and len(tail) - 1 - places[last] <= _MAX_TURNS_AFTER else {}


def _is_same_turn(message: Message, turn: Memory) -> bool:
    if message.id or _has_own_id(turn):
        return message.id is not None and turn.sources == (message.id,)
    return _message_key(message) == _turn_key(turn) and message.created_at in (None, turn.created_at)


def _has_own_id(turn: Memory) -> bool:
    return turn.sources != (turn.id,)


def _message_key(message: Message) -> tuple[str | None, str | None, str]:
    return message.role, message.name, _comparable_words(message.role, message.text)


def _turn_key(turn: Memory) -> tuple[str | None, str | None, str]:
    return turn.role, turn.name, _comparable_words(turn.role, turn.text)


def _comparable_words(role: str | None, text: str) -> str:
    """Return a text without what a client changes when it sends a message again: line ends, blanks at the ends."""
    return "".join(text.split()) if role == ASSISTANT else "\n".join(text.split("\r\n")).strip()
