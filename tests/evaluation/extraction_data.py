"""Exchanges of RealMem and LoCoMo files with their gold, for the scripts that measure what extraction keeps."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memwarden.remember.extract.records import ExchangeExtract
from memwarden.remember.extract.rules.exchange import extract_exchange
from memwarden.surfaces.conversation_files import Conversation, read_conversations
from memwarden.text.tokenizer import terms


@dataclass(frozen=True, slots=True)
class Said:
    """A turn of a data set."""

    id: str
    text: str
    role: str | None
    name: str | None
    created_at: datetime | None


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation in exchanges, with what extraction made of each."""

    name: str
    two_person: bool
    exchanges: tuple[tuple[Said, ...], ...]
    kept: tuple[ExchangeExtract, ...]

    @property
    def turns(self) -> int:
        return sum(len(exchange) for exchange in self.exchanges)


def read_talks(path: Path) -> list[Talk]:
    """The conversations of a file, replayed."""
    return [_talk(conversation) for conversation in read_conversations(path, captions=False)]


def _talk(conversation: Conversation) -> Talk:
    two_person = conversation.layout != "RealMem"
    exchanges = []
    for session in conversation.sessions:
        said = [
            Said(f"{session.thread}/{row['id']}", row["content"], row["role"], row.get("name"), session.at)
            for row in session.messages
        ]
        exchanges += _exchanges(said, two_person)
    idf = idf_of([turn.text for exchange in exchanges for turn in exchange])
    kept = []
    for exchange in exchanges:
        at = exchange[0].created_at
        assert at is not None
        kept.append(extract_exchange(exchange, two_person=two_person, said_at=at, idf=idf))
    return Talk(conversation.name, two_person, tuple(exchanges), tuple(kept))


def _exchanges(said: Sequence[Said], two_person: bool) -> list[tuple[Said, ...]]:
    """Two people: pairs of turns. A user and an assistant: from each message of the user to the next."""
    if two_person:
        return [tuple(said[begin : begin + 2]) for begin in range(0, len(said), 2)]
    found: list[list[Said]] = []
    for turn in said:
        if turn.role == "user" or not found:
            found.append([])
        found[-1].append(turn)
    return [tuple(item) for item in found]


def idf_of(texts: Sequence[str]) -> Callable[[str], float]:
    """How rare a term is among some texts."""
    counts = Counter(term for text in texts for term in set(terms(text)))
    return lambda term: math.log(len(texts) / max(counts[term], 0.5))


def raw_sessions(path: Path) -> list[dict[str, object]]:
    """RealMem's sessions as they stand in the file."""
    sessions: list[dict[str, object]] = json.loads(path.read_text(encoding="utf-8"))["dialogues"]
    return sessions
