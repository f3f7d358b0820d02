"""Named peers, measured on the same turns and questions in the same run.

Each takes a session at a time and ranks the turns that it has so far. A turn is "name: text", as people paste chats.
The optional packages come with the extra ``memwarden-bench[peers]``.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from memwarden.errors import InvalidConfig
from memwarden.models.wordllama import shared_embedder
from memwarden.surfaces.conversation_files import Conversation, LabelledQuestion, Session, TurnIdentity
from memwarden.text.tokenizer import estimate
from memwarden_bench.replay import BLOCK_BUDGETS, DEPTH, Tick, timeline


class Peer(Protocol):
    """A method of finding turns."""

    def add(self, session: Session) -> None:
        """Add the turns of a session."""

    def settle(self) -> None:
        """Prepare for questions; not part of a question's time."""

    def rank(self, question: str, most: int) -> list[TurnIdentity]:
        """Return the turns that answer best, best first, at most ``most``."""


class FilledText(NamedTuple):
    """A text for a question, and the turns that it holds or derives from."""

    text: str
    turns: tuple[TurnIdentity, ...]
    tokens: int


MAX_MISSES = 20
"""After so many turns that do not fit in a row, no more are tried."""


@dataclass(frozen=True, slots=True)
class PeerAnswer:
    """A peer's answer to a question, and its duration. blocks: the best turns that fit, by the tokens of a block."""

    question: LabelledQuestion
    turns: tuple[TurnIdentity, ...]
    seconds: float
    blocks: Mapping[int, tuple[TurnIdentity, ...]]


def ask_peer(peer: Peer, conversation: Conversation, tick: Tick = lambda what: None) -> list[PeerAnswer]:
    """Put a conversation's questions to a peer as they come."""
    answers = []
    said: dict[TurnIdentity, str] = {}
    for event in timeline(conversation):
        if isinstance(event, LabelledQuestion):
            peer.settle()
            start = time.perf_counter()
            turns = tuple(peer.rank(event.text, DEPTH))
            seconds = time.perf_counter() - start
            ranked = [(turn, said[turn]) for turn in turns]
            blocks = {budget: pack_turns(ranked, budget).turns for budget in BLOCK_BUDGETS}
            answers.append(PeerAnswer(event, turns, seconds, blocks))
            tick("peer's question")
        elif event.messages:
            peer.add(event)
            said |= dict(zip(keys_of(event), map(text_of, event.messages), strict=True))
    return answers


def pack_turns(turns: Iterable[tuple[TurnIdentity, str]], budget: int) -> FilledText:
    """Take whole turns in order while the text fits, skipping turns that do not."""
    lines: list[str] = []
    taken: list[TurnIdentity] = []
    in_vain = 0
    for key, text in turns:
        line = f"- {text}".replace("\n", "\n  ")
        if estimate("\n".join([*lines, line])) <= budget:
            lines.append(line)
            taken.append(key)
            in_vain = 0
        elif (in_vain := in_vain + 1) == MAX_MISSES:
            break
    text = "\n".join(lines)
    return FilledText(text, tuple(taken), estimate(text))


class FullText:
    """SQLite FTS5 with its Porter stemmer, all words of the question joined by OR, ranked by its bm25()."""

    name = "SQLite FTS5 (porter)"

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute("CREATE VIRTUAL TABLE turn USING fts5(text, tokenize = 'porter unicode61')")
        self._keys: list[TurnIdentity] = []

    def add(self, session: Session) -> None:
        """See :class:`Peer`."""
        texts = [(text_of(message),) for message in session.messages]
        self._database.executemany("INSERT INTO turn (text) VALUES (?)", texts)
        self._keys.extend(keys_of(session))

    def settle(self) -> None:
        """See :class:`Peer`."""

    def rank(self, question: str, most: int) -> list[TurnIdentity]:
        """See :class:`Peer`."""
        words = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", question.lower())))
        sql = "SELECT rowid FROM turn WHERE turn MATCH ? ORDER BY bm25(turn), rowid LIMIT ?"
        rows = self._database.execute(sql, (words, most)).fetchall() if words else []
        return [self._keys[row[0] - 1] for row in rows]


QUESTION_WORDS = frozenset(
    "what when where who whom whose which why how did do does were has have had would could should can many".split()
)


class Bm25s:
    """The package bm25s at its best: Snowball stems, question words among the stop words, k1 0.9 and b 0.4.

    As its documentation sets it up (English stop words, k1 1.5, b 0.75) it finds less: these
    settings were chosen on LoCoMo chats that memwarden was developed on, in the favour of the peer.
    """

    name = "BM25 (bm25s)"

    def __init__(self) -> None:
        self._bm25s = optional("bm25s")
        self._stem = import_module("Stemmer").Stemmer("english").stemWords
        self._stop = QUESTION_WORDS.union(import_module("bm25s.stopwords").STOPWORDS_EN)
        self._words: list[list[str]] = []
        self._keys: list[TurnIdentity] = []
        self._index: Any = None

    def add(self, session: Session) -> None:
        """See :class:`Peer`."""
        self._words.extend(self._split(text_of(message)) for message in session.messages)
        self._keys.extend(keys_of(session))
        self._index = None

    def settle(self) -> None:
        """See :class:`Peer`. It cannot add to an index, so the index is built anew when turns came since."""
        if self._index is None and self._keys:
            self._index = self._bm25s.BM25(k1=0.9, b=0.4)
            self._index.index(self._words, show_progress=False)

    def rank(self, question: str, most: int) -> list[TurnIdentity]:
        """See :class:`Peer`."""
        if self._index is None:
            return []
        most = min(most, len(self._keys))
        found, scores = self._index.retrieve([self._split(question)], k=most, show_progress=False)
        ranked = zip(found[0].tolist(), scores[0].tolist(), strict=True)
        return [self._keys[place] for place, score in ranked if score > 0]

    def _split(self, text: str) -> list[str]:
        words = re.findall(r"(?u)\b\w\w+\b", text.lower())
        return list(self._stem([word for word in words if word not in self._stop]))


class Dense:
    """memwarden's embedding model alone: cosine of question and turn."""

    name = "WordLlama alone"

    def __init__(self) -> None:
        self._model = shared_embedder()
        self._numpy: Any = import_module("numpy")
        self._blocks: list[Any] = []
        self._keys: list[TurnIdentity] = []

    def add(self, session: Session) -> None:
        """See :class:`Peer`."""
        self._blocks.append(self._model.embed([text_of(message) for message in session.messages]))
        self._keys.extend(keys_of(session))

    def settle(self) -> None:
        """See :class:`Peer`."""
        if len(self._blocks) > 1:
            self._blocks = [self._numpy.concatenate(self._blocks)]

    def rank(self, question: str, most: int) -> list[TurnIdentity]:
        """See :class:`Peer`."""
        if not self._keys:
            return []
        scores = self._blocks[0] @ self._model.embed([question])[0]
        return [self._keys[place] for place in self._numpy.argsort(-scores, kind="stable")[:most]]


PEERS: Mapping[str, Callable[[], Peer]] = {item.name: item for item in (FullText, Bm25s, Dense)}
"""Every peer by its name; calling it makes a peer for a conversation."""


def text_of(message: Mapping[str, Any]) -> str:
    """Return a message as a peer reads it."""
    return f"{message['name']}: {message['content']}" if message.get("name") else str(message["content"])


def keys_of(session: Session) -> list[TurnIdentity]:
    """Return the identities of a session's turns."""
    return [
        TurnIdentity(session.thread, message.get("id", f"#{place}")) for place, message in enumerate(session.messages)
    ]


def optional(package: str) -> Any:
    """Import a package of the extra ``memwarden-bench[peers]``. Raises InvalidConfig that says how to install it."""
    try:
        return import_module(package)
    except ImportError:
        raise InvalidConfig(
            f"the package {package!r} is missing; try: pip install 'memwarden-bench[peers]', or leave it out"
        ) from None
