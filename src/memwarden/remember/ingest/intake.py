"""Strips own context from texts, redacts secrets, and screens texts from outside for orders.

Decisions only. Every way into the store goes through here: turns, stated texts, corrections, and items of tasks and
projects.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import count, islice
from typing import Any, TypeVar

from memwarden.recall.answer.frame import NOTICE
from memwarden.recall.answer.template import (
    CLASSIC_TEMPLATE,
    LEAN_TEMPLATE,
    PREFIX,
    SUFFIX,
    TASK_CLOSE,
    TASK_OPEN,
    Template,
)
from memwarden.records import Kind, Memory, MemoryState, Trust
from memwarden.remember.ingest.messages import Draft, Message

T = TypeVar("T", Message, Draft, Memory)

# A turn names its thread as its source in this form, an item of a task or project its store.
_PERSON_SOURCE = re.compile(r"thread/(?!\.+$)[^\s/\\?#]+")
_TIER_SOURCE = re.compile(r"global|(?:user|project|task)/(?!.*\.\.)[^\\?#]+")
TRUST_RANK: Mapping[str, int] = {Trust.EXTERNAL: 0, Trust.ASSISTANT: 1, Trust.PERSON: 2}


@dataclass(frozen=True, slots=True)
class Screening:
    """The result of screening a text. state: of the new memory. kinds: of what is suspicious."""

    state: MemoryState = MemoryState.ACTIVE
    kinds: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """The reason in words, for the caller."""
        if self.kinds == UNSEEN:
            return "it comes from outside, and external = 'held': a person lets it in"
        return f"it looks like orders for an assistant ({', '.join(self.kinds)}): held back, never shown to a model"


NOT_SUSPICIOUS = Screening()
# The tag of what tells a code of a home.
PRIVATE = "private"
# The kind of what is held back for its source alone.
UNSEEN = ("external",)


def redact_secrets(what: T, *, strict: bool = False) -> tuple[T, tuple[str, ...]]:
    """Return the text or record with a mark for every secret, and the kinds of the secrets.

    strict: codes of a home are secrets, too.
    """
    fields = ["text"] if isinstance(what, Message) else ["text", "summary", "context", "source", "tags"]
    fields.append("payload" if isinstance(what, Memory) else "metadata")
    changed, kinds = redact_value({name: getattr(what, name) for name in fields}, named=False, strict=strict)
    return (replace(what, **changed) if kinds else what), kinds


def redact_value(value: Any, *, named: bool = True, strict: bool = False) -> tuple[Any, tuple[str, ...]]:
    """Return a JSON value with a mark for every secret, and the kinds of the secrets.

    Names in objects are texts, too; of names that would be the same then, the later ones get a number, so that no value
    is lost.

    named: whether a text in an object is read with its name: what stands under "password" is a secret.
    strict: codes of a home are secrets, too.
    """
    from memwarden.security.secrets import redact

    found: list[str] = []

    def clean(value: Any, before: str = "") -> Any:
        if isinstance(value, str):
            redacted = redact(before + value, strict=strict)
            if before and not redacted.text.startswith(before):
                return clean(value)
            found.extend(redacted.found)
            return redacted.text.removeprefix(before)
        if isinstance(value, Mapping):
            names = _redact_names(value, found, strict)
            return {names[key]: clean(item, f"{names[key]}: ") for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(clean(item) for item in value)
        return value

    if named or not isinstance(value, Mapping):
        return clean(value), tuple(dict.fromkeys(found))
    return {name: clean(item) for name, item in value.items()}, tuple(dict.fromkeys(found))


def _redact_names(value: Mapping[Any, Any], found: list[str], strict: bool) -> dict[Any, Any]:
    """Return an object's names without secrets, by their old names; kinds of secrets go to ``found``."""
    from memwarden.security.secrets import redact

    texts = [key for key in value if isinstance(key, str)]
    # A single scan of all: most names hold nothing, and each scan costs.
    if not redact("\n\n".join(texts), strict=strict).found:
        return {key: key for key in value}
    redacted = {key: redact(key, strict=strict) for key in texts}
    changed = {key: item for key, item in redacted.items() if item.found}
    names: dict[Any, Any] = {key: key for key in value if key not in changed}
    taken = set(names)
    for key, item in changed.items():
        found.extend(item.found)
        name = next(each for each in _number_name(item.text) if each not in taken)
        names[key] = name
        taken.add(name)
    return names


def _number_name(text: str) -> Iterator[str]:
    yield text
    yield from (f"{text} ({number})" for number in count(2))


def mark_private(tags: tuple[str, ...], *texts: str | None) -> tuple[str, ...]:
    """Return the tags, with ``private`` when a text tells a code of a home: it is kept, since a person asks for it."""
    from memwarden.security.secrets import holds_home_code

    private = PRIVATE not in tags and any(holds_home_code(text) for text in texts if text)
    return (*tags, PRIVATE) if private else tags


def trust_of(role: str | None, kind: str | None = None, source: str | None = None) -> Trust:
    """Return the trust of words by their role, kind and source.

    Words of a person have no source, or a thread of memwarden's own. People write sources in countless ways
    ("notes.pdf", "www.shop.com", "tool:x"), so that no list of what is external could be complete.
    """
    if kind == Kind.TOOL_OUTPUT or not (source is None or _PERSON_SOURCE.fullmatch(source)):
        return Trust.EXTERNAL
    if role == "assistant":
        return Trust.ASSISTANT
    return Trust.PERSON if role in (None, "user") else Trust.EXTERNAL


def trust_of_item(kind: str | None, source: str | None) -> Trust:
    """Return the trust of an item of a task or project: its store may be its source."""
    named_by_tier = source is not None and _TIER_SOURCE.fullmatch(source)
    return trust_of(None, kind, None if named_by_tier else source)


def screen(trust: str, *texts: str | None, unreviewed: bool = False, hold: bool = False) -> Screening:
    """Decide the state of a new memory by all of its texts that a prompt may show.

    What comes from outside and looks like orders is quarantined.

    unreviewed: screen words of any trust, since whoever states them may not decide on a quarantined text.
    hold: quarantine all that comes from outside, whatever it says.
    """
    if trust != Trust.EXTERNAL and not unreviewed:
        return NOT_SUSPICIOUS
    from memwarden.security.injection import find_suspicion

    kinds = tuple(sorted({kind for text in texts if text for kind in find_suspicion(text).kinds}))
    if hold and trust == Trust.EXTERNAL:
        kinds = kinds or UNSEEN
    return Screening(MemoryState.QUARANTINED, kinds) if kinds else NOT_SUSPICIOUS


# One of these stands in every known order and fake tag without foreign letters; most answers have none of them, and
# need not be looked at more closely.
_MAY_ORDER = re.compile(
    r"[<\[{]|\"\s{0,3}:|ignor|disregard|forget|overr|bypass|discard|neglect|prompt|instruct|system|developer|admin|root|"
    r"operator|are\s+now|from\s+now|vergiss|missacht|verwirf|du\s+bist|olvid|descart|desobed|esquec|dimentic|oubli|"
    r"action\s+input|sistema",
    re.IGNORECASE,
)


def screen_answer(text: str) -> Screening:
    """Decide the state of a model's answer in a conversation: what a page made it repeat orders to the next model."""
    if text.isascii() and not _MAY_ORDER.search(text):
        return NOT_SUSPICIOUS
    from memwarden.security.injection.detector import find_known_orders

    kinds = find_known_orders(text).kinds
    return Screening(MemoryState.QUARANTINED, kinds) if kinds else NOT_SUSPICIOUS


def describe_secrets(kinds: tuple[str, ...]) -> str:
    """Return the words for secrets that were taken out."""
    return f"secrets taken out: {', '.join(kinds)}" if kinds else ""


_OPEN, _CLOSE = "<memories>", "</memories>"
# The head that blocks had before stands in histories that come in later, and in the threads of running programs.
_OLD_LEAN_TEMPLATE = replace(LEAN_TEMPLATE, prefix="Known from earlier, newest first:")
_LEAN_HEADS = (LEAN_TEMPLATE.prefix, _OLD_LEAN_TEMPLATE.prefix)
_LEAN_HEAD = "|".join(re.escape(head) for head in _LEAN_HEADS)
_BLOCK_START = re.compile(rf"{_OPEN}\s*(?:{re.escape(PREFIX)}|{_LEAN_HEAD})")
# What a block looks like that has no end: an answer was cut off, or a history was.
_LINES = re.compile(rf"(?:[ \t]*(?:\n|\Z)|\s*(?:\d+\. .*|{re.escape(NOTICE)}|Summary: .*|Context: .*)(?:\n {{3}}.*)*)*")
# The same of a block whose lines are not numbered: a line begins with its day, so that an answer's own list stays.
_LEAN_LINES = re.compile(rf"(?:[ \t]*(?:\n|\Z)|\s*(?:- \d{{1,2}}\b.*|{re.escape(NOTICE)})(?:\n {{2,3}}.*)*)*")
_MAX_NEWLINES = 2  # newlines between a block and the words of a message
_BULLET = r"- [+\u2191\u2194\u2212~\u21ba]\w+: .*(?:\n|\Z)"
_UPDATES = re.compile(
    rf"^Memory updates since rev \d+:[ \t]*\n(?:{re.escape(NOTICE)}\n)?(?:{_BULLET})*"
    r"(?:\(\+\d+ more\)[ \t]*(?:\n|\Z))?",
    re.MULTILINE,
)
_TIER = r"(?:(?:Task|Project) .*|Global):\n"
# The whole form: others use tags of that name in prompts of their own.
_TASK = re.compile(
    rf"{re.escape(TASK_OPEN)}\n(?:{re.escape(NOTICE)}\n)?(?:{_TIER}(?:- \[.*\n)+)+{re.escape(TASK_CLOSE)}"
)
_DATED = r"[ \t]*- \d{1,2} [A-Z][a-z]{2} \d{4}(?=[:,])"
_SIGNS = re.compile(
    rf"{re.escape(PREFIX)}|{re.escape(SUFFIX)}|^{re.escape(_OLD_LEAN_TEMPLATE.prefix)}[ \t]*$|"
    # People write the plain head, too; only a line of a memory after it makes it ours.
    rf"^{re.escape(LEAN_TEMPLATE.prefix)}[ \t]*\n+(?:{re.escape(NOTICE)}\n)?{_DATED}|"
    rf"^Memory updates since rev \d+:[ \t]*$|"
    rf"^{re.escape(TASK_OPEN)}\n{_TIER}- \[",
    re.MULTILINE,
)


# A memory of the classic template without the block around it: a model repeats the lines, and not the tags.
_LOOSE_ENTRY = re.compile(
    r"^[ \t]*(?:[-*] |\d+[.)] )?\[[^\]\n]{1,60}, importance=\d{1,2}, [^\]\n]{1,40}\][ \t]*\n"
    r"[ \t]*Summary: .*(?:\n[ \t]*Context: .*)?(?:\n|\Z)",
    re.MULTILINE,
)
_SENTENCES = re.compile(rf"^[ \t]*(?:{re.escape(PREFIX)}|{re.escape(SUFFIX)})[ \t]*(?:\n|\Z)", re.MULTILINE)
# The same of the lean template: its head, and lines that begin with a day as it writes days.
_LOOSE_LEAN = re.compile(
    rf"^[ \t]*(?:{_LEAN_HEAD})[ \t]*\n+(?:{re.escape(NOTICE)}\n)?(?:{_DATED}.*(?:\n|\Z))+",
    re.MULTILINE,
)


# A line that a block shows a memory in, and a model repeats by itself. Only what a memory says word for word goes.
_RETOLD_LINE = re.compile(
    r"^[ \t]*(?:[-*] |\d{1,3}[.)] )?(?:Summary|I recall|\d{1,2} [A-Z][a-z]{2} \d{4}(?:, [^:\n]{1,60})?): (\S.*)$",
    re.MULTILINE,
)
MAX_RETOLD_LINES = 100


def list_retold(text: str) -> list[str]:
    """Return the words of lines of a form in which a block shows memories."""
    return [found[1] for found in islice(_RETOLD_LINE.finditer(text), MAX_RETOLD_LINES)]


def strip_retold(text: str, told: Collection[str]) -> str:
    """Return a text without such lines of which the words are told already."""
    left = _RETOLD_LINE.sub(lambda found: "" if found[1] in told else found[0], text)
    return text if left == text else re.sub(r"\n{3,}", "\n\n", left).strip()


def plain_words(text: str) -> str:
    """Return a text as it is compared: small letters, single spaces, no sign at its end."""
    return " ".join(text.split()).casefold().rstrip(".!")


def strip_context(text: str) -> str:
    """Return a message without the blocks and headers that memwarden puts into prompts, and the space around them."""
    text = strip_blocks(_BLOCK_START, SUFFIX, text)
    left = _UPDATES.sub("", _TASK.sub("", text)) if "Memory updates since rev" in text or TASK_OPEN in text else text
    left = _strip_loose_lines(left)
    return text if left == text else left.strip()


def _strip_loose_lines(text: str) -> str:
    """Take out a block of which the tags are gone."""
    left = _LOOSE_ENTRY.sub("", text) if ", importance=" in text else text
    left = left if left == text else _SENTENCES.sub("", left)
    return _LOOSE_LEAN.sub("", left) if any(head in left for head in _LEAN_HEADS) else left


def strip_blocks(begin: re.Pattern[str], suffix: str, text: str, *, whole: bool = False) -> str:
    """Return a text without the blocks that begin so, and the empty line to what stands beside them.

    A memory cannot hold the tag that ends a block, but may well quote ``suffix``, the block's last words: a block is
    over at its tag. One that has none is cut off: lines of memories belong to it, and nothing after them.

    whole: leave those that are cut off.
    """
    heads = list(begin.finditer(text)) if _OPEN in text else []
    if not heads:
        return text
    left = text[: heads[0].start()]
    for head, until in zip(heads, [*(head.start() for head in heads[1:]), len(text)], strict=True):
        close = text.find(_CLOSE, head.end(), until)
        cut = head.start() if whole else _end_of_lines(text, head, suffix)
        end = close + len(_CLOSE) if close >= 0 else cut
        left = _join(left, text[end:until])
    return left


def _end_of_lines(text: str, head: re.Match[str], suffix: str) -> int:
    pattern = _LEAN_LINES if head.group().endswith(_LEAN_HEADS) else _LINES
    lines = pattern.match(text, head.end())
    end = lines.end() if lines else head.end()
    said = text[end : end + len(suffix)]
    return end + len(said) if suffix.startswith(said) else end


def _join(before: str, after: str) -> str:
    """Join what stands before and after a block that was taken out."""
    for _ in range(_MAX_NEWLINES):
        if not before.strip():
            before, after = "", after.removeprefix("\n")
        elif not after.strip():
            before, after = before.removesuffix("\n"), ""
    return before + after


def holds_context(text: str) -> bool:
    """Whether a stored text repeats such a block or header, or the first or last sentence of a block."""
    return _SIGNS.search(text) is not None


def strip_template_context(text: str, template: Template) -> str:
    """Return a text without all that memwarden puts into prompts, in a template's or the default words."""
    return strip_context(strip_blocks(_template_start(template.prefix), template.suffix, text))


def strip_messages(messages: Sequence[Mapping[str, Any]], template: Template) -> list[dict[str, Any]]:
    """Return messages without the blocks of a template; messages without other words are left out."""
    stripped = [
        dict(message) | {"content": strip_template_context(message["content"], template)} for message in messages
    ]
    return [message for message in stripped if message["content"].strip()]


def strip_whole_blocks(text: str, template: Template) -> str:
    """Return a text without complete blocks of memories, in a template's or the default words."""
    for each in {template: None, LEAN_TEMPLATE: None, _OLD_LEAN_TEMPLATE: None, CLASSIC_TEMPLATE: None}:
        text = strip_blocks(_template_start(each.prefix), each.suffix, text, whole=True)
    if "Memory updates since rev" not in text or (left := _UPDATES.sub(_keep_told, text)) == text:
        return text
    return left.strip()


def _keep_told(updates: re.Match[str]) -> str:
    # A turn tells what holds no longer. News with an importance are a query's: an application put them in on purpose.
    return updates[0] if "(imp=" in updates[0] else ""


@lru_cache(maxsize=64)
def _template_start(prefix: str) -> re.Pattern[str]:
    # Without a prefix only the number of the first memory tells our block from another use of the tag.
    return re.compile(rf"{_OPEN}\s*" + (re.escape(prefix) if prefix else rf"(?=1\. |{re.escape(NOTICE)})"))


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


def find_new_turns(said: Sequence[Message], tail: Sequence[Memory]) -> list[TurnKey]:
    """Find what is new. ``tail``: the last turns of the thread, in the order of writing.

    What is new is keyed by the turn that it follows, so that two processes that store the same continuation at the
    same moment store it once.
    """
    places = _match(said, tail) or _match_runs(said, tail)
    last = max(places, default=-1)
    after = tail[-1].id if tail else "the beginning"
    keys: list[TurnKey] = []
    for number, message in enumerate(said):
        key = key_of_id(message) or f"after:{after}:{number}:{digest_message(message)}"
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
    return "".join(text.split()) if role == ASSISTANT else text
