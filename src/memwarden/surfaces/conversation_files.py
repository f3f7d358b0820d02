"""Reads conversation files of several layouts into frozen records.

Recognised, by their content and not by their name:

* **OpenAI messages**: a list of ``{"role", "content"}``, the same under ``"messages"``, a list of such conversations,
  or JSON Lines with a conversation a line. ``content`` may be text, a list of parts or null.
* **memwarden**: ``{"title", "people", "sessions": [{"thread", "messages": [...]}]}`` with messages as
  ``Warden.observe`` takes them, and optionally ``"questions": [{"question", "expect": [message ids]}]``.
* **ChatGPT** and **Claude**: their exports, as a zip or as ``conversations.json``
  (:mod:`memwarden.remember.imports.chats`).
* **plain logs**: text with ``USER:`` and ``ASSISTANT:`` before the messages.
* **LoCoMo**: two people over months, ``conversation.session_N`` and ``qa``. Both become the role ``user`` with their
  name. What a shared picture shows (``blip_caption``) is added to the text of its turn: who saw the chat saw the
  picture. LoCoMo's own scripts do so in prompts that hold a whole chat, but not in the turns that their retrieval
  searches, so a comparison with those needs ``captions=False``.
* **RealMem**: a user and an assistant, ``dialogues`` of ``dialogue_turns``. A turn with ``is_query`` is a question to
  the sessions before its own.

Nothing is left out in silence: every conversation counts in ``dropped`` what was dropped and why.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from memwarden import clock
from memwarden.errors import InvalidInput
from memwarden.remember.imports.chats import is_export, read_export, read_zip
from memwarden.remember.imports.logs import read_plain_log
from memwarden.remember.imports.messages import describe, read_list, read_row
from memwarden.remember.imports.records import MalformedPart
from memwarden.remember.imports.source import ZIP
from memwarden.text.lexicon import load_lexicon

MAX_BYTES = 268_435_456
RECOGNISED = (
    "OpenAI messages (a list of {'role', 'content'}, {'messages': [...]}, a list of such, or JSON Lines), "
    "memwarden ({'sessions': [{'thread', 'messages'}]}), "
    "exports of ChatGPT and Claude (the zip, or its conversations.json), plain logs (lines with USER: and ASSISTANT:), "
    "LoCoMo (a list of {'conversation': {'session_1': [...]}, 'qa': [...]}), "
    "RealMem ({'dialogues': [{'session_uuid', 'dialogue_turns'}]})"
)
LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}

_MONTHS = load_lexicon("en").words["months"]
_LOCOMO_TIME = re.compile(r"(\d{1,2}):(\d{2}) (am|pm) on (\d{1,2}) ([a-z]+), (\d{4})", re.IGNORECASE)
_LOCOMO_TURN = re.compile(r"D:?(\d+):(\d+)")
_REALMEM_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})(?: \([A-Za-z]+\))?")


class TurnIdentity(NamedTuple):
    """The identity of a turn: thread and id. Ids may repeat from thread to thread."""

    thread: str
    id: str


class Omission(NamedTuple):
    """The count of messages left out for a reason."""

    what: str
    times: int


@dataclass(frozen=True, slots=True)
class Session:
    """The messages of a sitting, mappings as ``Warden.observe`` takes them, each with an ``id``."""

    thread: str
    at: datetime | None
    messages: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question with a known answer.

    Attributes:
        gold_turns: the turns that hold the answer; may be empty when only sessions are known.
        gold_sessions: the threads that hold it.
        asked_after: how many of the conversation's sessions come before the question.
        evidence: what has to be known to answer, as statements, where the file has them.
    """

    text: str
    gold_turns: tuple[TurnIdentity, ...]
    gold_sessions: tuple[str, ...]
    category: str
    asked_after: int
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation over any number of sessions, with its labelled questions."""

    name: str
    layout: str
    people: tuple[str, ...]
    sessions: tuple[Session, ...]
    questions: tuple[LabelledQuestion, ...] = ()
    dropped: tuple[Omission, ...] = ()

    @property
    def turns(self) -> int:
        """The number of messages."""
        return sum(len(session.messages) for session in self.sessions)


def read_conversations(path: Path, *, captions: bool = True, max_bytes: int = MAX_BYTES) -> tuple[Conversation, ...]:
    """Read every conversation of a file.

    Raises InvalidInput that says what was found instead and what is recognised.
    """
    return recognise(read_json(path, max_bytes), path.stem, where=str(path), captions=captions)


def recognise(content: Any, name: str, *, where: str, captions: bool = True) -> tuple[Conversation, ...]:
    """Turn parsed JSON into conversations. ``name`` is for nameless ones; ``where`` is for errors."""
    # A single LoCoMo sample cut out of the file is a sample all the same.
    content = [content] if isinstance(content, Mapping) and "conversation" in content else content
    layout = _layout_of(content)
    if layout is None:
        raise InvalidInput(f"{where!r} holds {describe(content)}; recognised are: {RECOGNISED}")
    try:
        conversations = tuple(layout(content, name, captions))
    except MalformedPart as error:
        raise InvalidInput(f"{where!r}: {error}") from None
    if not any(conversation.turns for conversation in conversations):
        raise InvalidInput(f"{where!r} holds no message of a user or an assistant")
    return conversations


def with_questions(conversation: Conversation, path: Path) -> Conversation:
    """Add the questions of a file ``[{"question", "expect": [message ids]}]`` to a conversation."""
    dropped: Counter[str] = Counter({item.what: item.times for item in conversation.dropped})
    try:
        rows = read_list(read_json(path, MAX_BYTES), "the file")
        questions = _own_questions(rows, conversation.sessions, dropped)
    except MalformedPart as error:
        raise InvalidInput(f"{str(path)!r}: {error}; questions are a list of {{'question', 'expect': [ids]}}") from None
    return replace(conversation, questions=(*conversation.questions, *questions), dropped=_count_omissions(dropped))


def read_json(path: Path, max_bytes: int) -> Any:
    """Parse a file of JSON or JSON Lines. Raises InvalidInput if it is missing, empty, too large or something else."""
    try:
        size = path.stat().st_size
        # Asked before reading: JSON takes many times its size in RAM once it is parsed.
        if size > max_bytes:
            raise InvalidInput(
                f"{str(path)!r} has {size:,} bytes, the limit is {max_bytes:,}; split it into several files"
            )
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot read {str(path)!r}: {error.strerror}") from error
    if not data.strip():
        raise InvalidInput(f"{str(path)!r} is empty; recognised are: {RECOGNISED}")
    if data.startswith(ZIP):
        return read_zip(data, str(path), max_bytes)
    try:
        # Files that were saved on Windows often begin with a byte order mark.
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{str(path)!r} is no UTF-8 text (byte {error.start:,} is {data[error.start]:#04x}); "
            f"recognised are: {RECOGNISED}"
        ) from None
    return read_plain_log(text) or _parse(text, str(path))


Layout = Callable[[Any, str, bool], Iterable[Conversation]]


def _parse(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        first = text.lstrip()[:1]
        lines = [line for line in text.splitlines() if line.strip()]
        # JSON Lines fail as JSON at the second line; a list or text never is JSON Lines.
        if first == "{" and len(lines) > 1:
            try:
                return [json.loads(line) for line in lines]
            except (json.JSONDecodeError, RecursionError):
                pass
        raise InvalidInput(f"{where!r} is not valid JSON ({error}); recognised are: {RECOGNISED}") from None


def _layout_of(content: Any) -> Layout | None:
    if isinstance(content, Mapping):
        if _holds_mappings(content.get("dialogues"), "dialogue_turns"):
            return _realmem
        if _holds_mappings(content.get("sessions"), "messages"):
            return _own
        return _one_openai if _holds_mappings(content.get("messages"), "role") else None
    if is_export(content):
        return _exported
    if _holds_mappings(content, "conversation"):
        return _locomo
    if _holds_mappings(content, "role"):
        return _one_openai
    if isinstance(content, list) and content and all(_holds_mappings(_messages_of(item), "role") for item in content):
        return _many_openai
    return None


def _holds_mappings(value: Any, key: str) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) and key in item for item in value)


def _messages_of(content: Any) -> Any:
    return content.get("messages") if isinstance(content, Mapping) else content


# --- OpenAI messages


def _one_openai(content: Any, name: str, captions: bool) -> Iterator[Conversation]:
    yield _openai(content, name, "")


def _many_openai(content: Any, name: str, captions: bool) -> Iterator[Conversation]:
    for number, item in enumerate(content, start=1):
        yield _openai(item, f"{name}-{number}", f"[{number - 1}]")


def _openai(content: Any, name: str, where: str) -> Conversation:
    dropped: Counter[str] = Counter()
    session = _session(name, _messages_of(content), f"{where}messages", dropped)
    return Conversation(name, "OpenAI messages", _people([session]), (session,), dropped=_count_omissions(dropped))


def _session(thread: str, rows: Any, where: str, dropped: Counter[str]) -> Session:
    """Read messages as chat APIs exchange them."""
    messages: dict[str, Mapping[str, Any]] = {}
    for number, row in enumerate(read_list(rows, where), start=1):
        message = read_row(row, f"{where}[{number - 1}]", dropped)
        key = f"#{number}" if message is None else message.get("id", f"#{number}")
        # The store would take the second as a repetition of the first, and lose its words in silence.
        if message is not None and messages.setdefault(key, message) is not message:
            dropped["messages with an id of an earlier message in their thread"] += 1
    said = tuple(messages.values())
    at = said[0].get("created_at") if said else None
    return Session(thread, None if at is None else clock.parse(at, f"{where}: created_at"), said)


# --- exports of ChatGPT and Claude


def _exported(content: Any, name: str, captions: bool) -> Iterator[Conversation]:
    try:
        chats = list(read_export(content))
    except ValueError as error:
        raise MalformedPart(str(error)) from None
    for chat in chats:
        dropped = Counter(chat.left_out)
        session = _session(chat.thread, list(chat.rows), f"{chat.thread}: messages", dropped)
        yield Conversation(chat.thread, chat.layout, _people([session]), (session,), dropped=_count_omissions(dropped))


# --- memwarden's own layout


def _own(content: Any, name: str, captions: bool) -> Iterator[Conversation]:
    dropped: Counter[str] = Counter()
    sessions = []
    for number, row in enumerate(content["sessions"]):
        thread = str(row.get("thread") or f"session-{number + 1}")
        sessions.append(_session(thread, row["messages"], f"sessions[{number}].messages", dropped))
    people = tuple(str(item) for item in content.get("people") or _people(sessions))
    questions = _own_questions(read_list(content.get("questions") or [], "questions"), tuple(sessions), dropped)
    yield Conversation(name, "memwarden", people, tuple(sessions), questions, _count_omissions(dropped))


def _own_questions(
    rows: Sequence[Any], sessions: tuple[Session, ...], dropped: Counter[str]
) -> tuple[LabelledQuestion, ...]:
    threads: dict[str, list[str]] = {}
    for session in sessions:
        for message in session.messages:
            if "id" in message:
                threads.setdefault(message["id"], []).append(session.thread)
    found = (_own_question(row, f"question {number}", threads, sessions, dropped) for number, row in enumerate(rows, 1))
    return tuple(question for question in found if question is not None)


def _own_question(
    row: Any, where: str, threads: Mapping[str, list[str]], sessions: tuple[Session, ...], dropped: Counter[str]
) -> LabelledQuestion | None:
    if not isinstance(row, Mapping) or not isinstance(row.get("question"), str):
        raise MalformedPart(f"{where} is {describe(row)}, without a text 'question'")
    gold = []
    for identity in map(str, read_list(row.get("expect") or [], f"{where}: expect")):
        if len(threads.get(identity, [])) == 1:
            gold.append(TurnIdentity(threads[identity][0], identity))
        else:
            dropped[
                "expected ids that name no turn" if identity not in threads else "expected ids of several turns"
            ] += 1
    asked_after = row.get("asked_after", len(sessions))
    if not isinstance(asked_after, int) or not 0 <= asked_after <= len(sessions):
        raise MalformedPart(
            f"{where}: asked_after is a number of sessions from 0 to {len(sessions)}, not {asked_after!r}"
        )
    return _question(row["question"], gold, str(row.get("category") or "question"), asked_after, dropped)


# --- LoCoMo


def _locomo(content: Any, name: str, captions: bool) -> Iterator[Conversation]:
    for number, row in enumerate(content):
        where = f"[{number}]"
        dropped: Counter[str] = Counter()
        talk = row["conversation"]
        if not isinstance(talk, Mapping):
            raise MalformedPart(f"{where}.conversation is {describe(talk)}, not the sessions of a LoCoMo conversation")
        sessions = tuple(_locomo_sessions(talk, f"{where}.conversation", captions, dropped))
        people = tuple(str(talk[key]) for key in ("speaker_a", "speaker_b") if talk.get(key))
        rows = read_list(row.get("qa") or [], f"{where}.qa")
        questions = _locomo_questions(rows, f"{where}.qa", sessions, dropped)
        own_name = str(row.get("sample_id") or f"{name}-{number + 1}")
        yield Conversation(
            own_name, "LoCoMo", people or _people(sessions), sessions, questions, _count_omissions(dropped)
        )


def _locomo_sessions(talk: Mapping[str, Any], where: str, captions: bool, dropped: Counter[str]) -> Iterator[Session]:
    numbers = sorted(int(match[1]) for key in talk if (match := re.fullmatch(r"session_(\d+)", key)))
    if not numbers:
        raise MalformedPart(f"{where} has no session_1, session_2, ...")
    dropped["dates of sessions that are not in the file"] += sum(
        1 for key in talk if (match := re.fullmatch(r"session_(\d+)_date_time", key)) and int(match[1]) not in numbers
    )
    for number in numbers:
        thread = f"session_{number}"
        at = locomo_time(talk.get(f"{thread}_date_time"), f"{where}.{thread}_date_time")
        rows = read_list(talk[thread], f"{where}.{thread}")
        messages = (_locomo_message(row, f"{where}.{thread}", at, captions, dropped) for row in rows)
        yield Session(thread, at, tuple(message for message in messages if message is not None))


def _locomo_message(
    row: Any, where: str, at: datetime, captions: bool, dropped: Counter[str]
) -> Mapping[str, Any] | None:
    if not isinstance(row, Mapping) or not all(isinstance(row.get(key), str) for key in ("dia_id", "speaker", "text")):
        raise MalformedPart(f"{where} holds {describe(row)}, not a turn with dia_id, speaker and text")
    text, caption = row["text"].strip(), str(row.get("blip_caption") or "").strip()
    if caption and captions:
        text = f"{text} [shares a picture: {caption}]".strip()
    if not text:
        dropped["messages without words"] += 1
        return None
    return {"role": "user", "name": row["speaker"], "content": text, "id": row["dia_id"], "created_at": at.isoformat()}


def locomo_time(value: Any, where: str) -> datetime:
    """Read a time such as ``1:56 pm on 8 May, 2023``."""
    match = _LOCOMO_TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if match and match[5].lower() in _MONTHS:
        hour = int(match[1]) % 12 + (12 if match[3].lower() == "pm" else 0)
        try:
            month = _MONTHS.index(match[5].lower()) + 1
            return datetime(int(match[6]), month, int(match[4]), hour, int(match[2]), tzinfo=UTC)
        except ValueError:
            pass
    raise MalformedPart(f"{where} is a time like '1:56 pm on 8 May, 2023', not {value!r:.60}")


def _locomo_questions(
    rows: Sequence[Any], where: str, sessions: tuple[Session, ...], dropped: Counter[str]
) -> tuple[LabelledQuestion, ...]:
    turns = {
        message["id"]: TurnIdentity(session.thread, message["id"])
        for session in sessions
        for message in session.messages
    }
    questions = []
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping) or not isinstance(row.get("question"), str):
            raise MalformedPart(f"{where}[{number}] is {describe(row)}, without a text 'question'")
        gold = locomo_evidence(row.get("evidence") or [], turns, dropped)
        category = LOCOMO_CATEGORIES.get(row.get("category", 0), f"category {row.get('category')}")
        questions.append(_question(row["question"], gold, category, len(sessions), dropped))
    return tuple(question for question in questions if question is not None)


def locomo_evidence(
    evidence: Iterable[Any], turns: Mapping[str, TurnIdentity], dropped: Counter[str]
) -> list[TurnIdentity]:
    """Read evidence ids: joined ones are split, ``D30:05`` is ``D30:5``, ``D:11:26`` is ``D11:26``."""
    gold = []
    for item in map(str, evidence):
        ids = [f"D{int(match[1])}:{int(match[2])}" for match in _LOCOMO_TURN.finditer(item)]
        if not ids:
            dropped["evidence ids that name no turn"] += 1
        for identity in ids:
            if identity in turns:
                gold.append(turns[identity])
            else:
                dropped["evidence ids that name no turn"] += 1
    return gold


# --- RealMem


def _realmem(content: Any, name: str, captions: bool) -> Iterator[Conversation]:
    dropped: Counter[str] = Counter()
    rows = content["dialogues"]
    sessions = tuple(_realmem_session(row, f"dialogues[{number}]", dropped) for number, row in enumerate(rows))
    if len({session.thread for session in sessions}) < len(sessions):
        raise MalformedPart("two dialogues have the same session_uuid")
    questions = tuple(_realmem_questions(rows, sessions, dropped))
    metadata = content.get("_metadata")
    person = str(metadata.get("person_name") or name) if isinstance(metadata, Mapping) else name
    yield Conversation(person, "RealMem", (person.replace("_", " "),), sessions, questions, _count_omissions(dropped))


def _realmem_session(row: Mapping[str, Any], where: str, dropped: Counter[str]) -> Session:
    match = _REALMEM_TIME.fullmatch(str(row.get("current_time")).strip())
    if not isinstance(row.get("session_uuid"), str) or not match:
        raise MalformedPart(f"{where} has no session_uuid or no current_time like '2025-12-15 (Monday)'")
    at = clock.parse(match[1], f"{where}.current_time")
    messages = []
    for number, turn in enumerate(read_list(row["dialogue_turns"], f"{where}.dialogue_turns")):
        if not isinstance(turn, Mapping) or turn.get("speaker") not in ("User", "Assistant"):
            raise MalformedPart(
                f"{where}.dialogue_turns[{number}] is {describe(turn)}, without the speaker User or Assistant"
            )
        text = turn.get("content")
        if not isinstance(text, str) or not text.strip():
            dropped["messages without words"] += 1
            continue
        said = {"role": turn["speaker"].lower(), "content": text, "id": _realmem_id(row, number)}
        messages.append(said | {"created_at": at.isoformat()})
    return Session(row["session_uuid"], at, tuple(messages))


def _realmem_id(row: Mapping[str, Any], number: int) -> str:
    return f"{row['session_uuid']}:{number + 1}"


def _realmem_questions(rows: Any, sessions: tuple[Session, ...], dropped: Counter[str]) -> Iterator[LabelledQuestion]:
    by_thread = {row["session_uuid"]: row for row in rows}
    place = {session.thread: number for number, session in enumerate(sessions)}
    for number, row in enumerate(rows):
        turns = row["dialogue_turns"]
        for turn, answer in zip(turns, [*turns[1:], {}], strict=True):
            if not turn.get("is_query"):
                continue
            threads = _realmem_gold_sessions(answer, place, number, dropped)
            used = [
                mapping
                for mapping in _mappings(answer.get("memory_used") or [], "memory_used")
                if mapping.get("session_uuid") in threads
            ]
            gold = [key for item in used if (key := _realmem_gold_turn(item, by_thread, dropped)) is not None]
            category = str(turn.get("category_name") or "question")
            question = _question(str(turn.get("content") or ""), gold, category, number, dropped, threads)
            if question is not None:
                said = (item.get("content") for item in used)
                yield replace(question, evidence=tuple(dict.fromkeys(item for item in said if isinstance(item, str))))


def _realmem_gold_sessions(
    answer: Mapping[str, Any], place: Mapping[str, int], number: int, dropped: Counter[str]
) -> list[str]:
    threads = []
    for thread in dict.fromkeys(map(str, read_list(answer.get("memory_session_uuids") or [], "memory_session_uuids"))):
        if place.get(thread, number) < number:
            threads.append(thread)
        else:
            dropped["gold sessions that are not before the question's own"] += 1
    return threads


def _realmem_gold_turn(
    used: Mapping[str, Any], by_thread: Mapping[str, Mapping[str, Any]], dropped: Counter[str]
) -> TurnIdentity | None:
    """Find the turn of a used memory by the exact text that the memory quotes."""
    row = by_thread[used["session_uuid"]]
    quotes = [
        mapping.get("source_content_snapshot")
        for mapping in _mappings(row.get("extracted_memory") or [], "extracted_memory")
        if mapping.get("content") == used.get("content")
    ]
    for number, turn in enumerate(row["dialogue_turns"]):
        if turn.get("content") and turn["content"] in quotes:
            return TurnIdentity(row["session_uuid"], _realmem_id(row, number))
    dropped["used memories whose source turn is not in their session word for word"] += 1
    return None


# --- shared by the layouts


def _question(
    text: str,
    gold: Sequence[TurnIdentity],
    category: str,
    asked_after: int,
    dropped: Counter[str],
    threads: Sequence[str] | None = None,
) -> LabelledQuestion | None:
    """Return a question, or None (counted) without a known answer. Default of ``threads``: those of ``gold``."""
    sessions = tuple(dict.fromkeys([key.thread for key in gold] if threads is None else threads))
    if not sessions or not text.strip():
        dropped["questions left without evidence"] += 1
        return None
    return LabelledQuestion(text, tuple(dict.fromkeys(gold)), sessions, category, asked_after)


def _people(sessions: Iterable[Session]) -> tuple[str, ...]:
    names = (message.get("name") for session in sessions for message in session.messages)
    return tuple(dict.fromkeys(str(name) for name in names if name))


def _mappings(value: Any, where: str) -> Sequence[Mapping[str, Any]]:
    for number, item in enumerate(read_list(value, where)):
        if not isinstance(item, Mapping):
            raise MalformedPart(f"{where}[{number}] is {describe(item)}, not an object")
    return list(value)


def _count_omissions(dropped: Counter[str]) -> tuple[Omission, ...]:
    return tuple(Omission(what, count) for what, count in sorted(dropped.items()) if count)
