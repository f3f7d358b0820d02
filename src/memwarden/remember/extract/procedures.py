"""Procedures: how something is done, as numbered steps, kept only when a person asks for that.

Plain rules, no I/O. A person asks with words like "Remember how to …:" or "Here is how we …:" at the beginning of a
sentence, with at least two steps after them; a list without such words is a list.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from memwarden.errors import InvalidInput
from memwarden.records import Channel
from memwarden.remember.ingest.messages import Draft
from memwarden.text.sentences import split_sentences

# A category of its own, so that an allowlist can keep agents from steps that they might follow.
CATEGORY: Final = "procedural"
# A single step that is taken from a talk is a remark; who states a procedure may state a single step.
MIN_STEPS = 2
MAX_STEPS = 20
# As long as every statement: a block of memories has to hold several.
MAX_STEP_CHARACTERS = 280

# What a draft has when its caller names no category.
_DEFAULT_CATEGORY = "activity"
_NUMBER = r"(?:step\s+)?\d{1,2}\s*[.):]\s+"
_LIST_ITEM = re.compile(rf"^\s*(?:{_NUMBER}|[-*•]\s+)(?P<step>\S.*?)\s*$", re.IGNORECASE)
_INLINE_NUMBER = re.compile(r"(?:^|(?<=\s))(?P<number>\d{1,2})[.)]\s+")
_ORDER = re.compile(
    r"^(?:and\s+)?(?:first|firstly|second|secondly|third|thirdly|then|next|after that|afterwards|finally|lastly|last)\b"
    r",?\s+",
    re.IGNORECASE,
)
# A block of code inside of a step is kept as it stands.
_FENCE = ("```", "~~~")
# What belongs to a step stands under it, so that its lines are not read as further steps.
_INDENT = "   "
# What parts the steps of a single line: a mark for that, a word of order, or else commas.
_MARK: Final = re.compile(r"\s*(?:;|->|=>|→)\s*")
_NEXT: Final = re.compile(
    r"(?:,\s*|\s+)(?:and\s+|und\s+|y\s+|et\s+)?"
    r"(?:then|after that|afterwards|finally|lastly|dann|danach|luego|después|puis|ensuite)\b,?\s+",
    re.IGNORECASE,
)
_COMMA: Final = re.compile(r",\s+(?:(?:and|und|y|et)\s+)?")
# A step tells what to do: what begins like this, or is a single word, is a thing of a list.
_NO_STEP: Final = re.compile(
    r"(?:an?|the|my|our|your|his|her|its|their|it|i|we|he|she|they|there|this|that|these|those|at|in|on|by|with|from|for|"
    r"of|to|as|no|not|very|quite|too|so|really|or|but|because|which|who|when|while|if|after|before|\d\S*)\b",
    re.IGNORECASE,
)
# How somebody feels, or likes a thing, is no way of doing it.
_NO_WAY: Final = re.compile(r"(?:feel|like|love|prefer|want|look|see|met|am|are)\b", re.IGNORECASE)
# Dropped before a verb that tells what to do. The verbs that follow are excluded: without its subject "I am careful"
# would be another sentence.
_SUBJECT = re.compile(
    r"^(?:you|we|i)(?:\s+(?:have to|need to|should|must|can|always))?\s+"
    r"(?!(?:am|are|is|was|were|have|has|had|do|did|will|would|can|could|may|might|shall|should|must|need|like|love|"
    r"hate|want|prefer|think|know|feel|believe|never|\w+ed)\b)(?=[a-z])",
    re.IGNORECASE,
)
# How a person asks for steps to be kept: English, German, Spanish, French.
_REQUEST: Final = re.compile(
    r"(?:^|(?<=[.!?:\n])[^\S\n]*)(?:so,?\s+|ok(?:ay)?,?\s+|please,?\s+)*(?:"
    r"(?:(?:remember|note|save|write down|keep in mind)|(?:here(?:\s+is|'s|’s)|this\s+is))\s+how\s+(?:to|i|we|you)"
    r"|(?:(?:bitte\s+)?merke?\s+dir|so\s+geht\s+es),?\s+(?P<de>wie)"
    r"|(?:recuerda|as[ií]\s+es)\s+(?P<es>c[oó]mo)"
    r"|(?:retiens|rappelle-toi|voici)\s+(?P<fr>comment)"
    r")\b(?P<what>[^:\n?]*?)(?P<end>[:\n?]|[.!](?=\s)|$)",
    re.IGNORECASE,
)
# How something was done, or is, tells no way of doing it.
_PAST: Final = re.compile(
    r"(?:\w+ed|did|was|were|am|are|went|made|got|had|felt|spent|spoke|wrote|took)\b", re.IGNORECASE
)


def find_taught_procedure(text: str) -> str | None:
    """Return the steps that a message asks to remember, numbered, under what they are for; None when it asks for none.

    The words that ask stand at the beginning of a sentence that is no question, and the steps come after them.
    """
    found = list(_REQUEST.finditer(text))
    if not found:
        return None
    for asked, end_at in zip(found, [*(item.start() for item in found[1:]), len(text)], strict=True):
        what, end = " ".join(asked["what"].split()).strip(" ,."), asked["end"]
        if end == "?" or not what or _PAST.match(what) or _NO_WAY.match(what):
            continue
        told = text[asked.end() : end_at]
        steps = _read_steps(told).steps or _split_line(next(iter(split_sentences(told)), ""))
        if len(steps) >= MIN_STEPS and _fits_limits(steps):
            how = asked["de"] or asked["es"] or asked["fr"] or "how to"
            return f"{how.capitalize()} {what}:\n{_number_steps(steps)}"
    return None


def read_stated_procedure(draft: Draft) -> Draft:
    """Return a draft of the channel ``procedural`` as it is stored: numbered steps, in their category.

    A first line before the steps stays above them. Drafts of other channels are returned as they are. Raises
    InvalidInput for a text that lists no steps, and for another category.
    """
    if draft.channel != Channel.PROCEDURAL:
        return draft
    if draft.category not in (CATEGORY, _DEFAULT_CATEGORY):
        raise InvalidInput(f"steps are stored in the category {CATEGORY!r}, not {draft.category!r}")
    return replace(draft, text=render_steps(draft.text), category=CATEGORY)


def check_corrected_procedure(changes: dict[str, Any]) -> dict[str, Any]:
    """Return the changes of a procedure, its text as it is stored.

    Raises InvalidInput as :func:`read_stated_procedure` does.
    """
    if changes.get("category", CATEGORY) != CATEGORY:
        raise InvalidInput(f"steps are stored in the category {CATEGORY!r}, not {changes['category']!r}")
    return {**changes, "text": render_steps(changes["text"])} if "text" in changes else changes


def render_steps(text: str) -> str:
    """Return a text that lists steps with its steps numbered from 1, under what stands above them.

    Lines that follow a step belong to it. Raises InvalidInput for a text that lists no steps, for steps that are too
    many or too long, and for words after the last step, which belong to none.
    """
    read = _read_steps(text)
    if not read.steps or not _fits_limits(read.steps):
        raise InvalidInput(
            f"a procedure is 1..{MAX_STEPS} steps of at most {MAX_STEP_CHARACTERS} characters, each on its own line or "
            f"numbered, like '1. Stop the queue.\\n2. Run the migration.', not {text!r:.80}"
            + _why_no_procedure(read.steps)
        )
    if read.rest:
        raise InvalidInput(
            f"{read.rest!r:.80} belongs to no step of the procedure: indent it under its step, or write it above the "
            "first step"
        )
    return f"{read.head}\n{_number_steps(read.steps)}" if read.head else _number_steps(read.steps)


@dataclass(frozen=True, slots=True)
class _StepList:
    """A text as a list of steps, with the words above them and the first words after them."""

    head: str = ""
    steps: tuple[str, ...] = ()
    rest: str = ""


def _read_steps(text: str) -> _StepList:
    """Read steps from a text's list, else from numbers in its running words, its ordered sentences, or its line."""
    if _numbers_run_on(text):
        return _steps_of_numbers(text)
    for found in (
        _steps_of_lines(text), _steps_of_numbers(text), _steps_of_order_words(text), _steps_of_single_line(text)
    ):  # fmt: skip
        if found.steps:
            return found
    return _StepList()


def _numbers_run_on(text: str) -> bool:
    """Whether steps follow each other within lines: the numbers of the text count up, those of its lines do not."""
    lines = [line for line in text.splitlines() if _LIST_ITEM.match(line)]
    own = [_INLINE_NUMBER.match(line.lstrip()) for line in lines]
    if not own or any(item is None for item in own):
        return False
    counted = [int(item["number"]) for item in own if item is not None]
    marks = [int(item["number"]) for item in _INLINE_NUMBER.finditer(text)]
    return len(marks) > len(lines) and _is_counted_up(marks) and (len(lines) == 1 or not _is_counted_up(counted))


def _is_counted_up(numbers: Sequence[int]) -> bool:
    """Whether numbers are 1, 2, 3, and so on."""
    return list(numbers) == list(range(1, len(numbers) + 1))


def _steps_of_lines(text: str) -> _StepList:
    """The first list of a text.

    Its items are the listed lines that stand no deeper than the first. What stands deeper, a fenced block,
    and a line that stands between two items without a blank line before it belong to the item above. Another line ends
    the list.
    """
    lines = text.expandtabs(4).splitlines()
    first = next((place for place, line in enumerate(lines) if _LIST_ITEM.match(line)), None)
    if first is None:
        return _StepList()
    head = "\n".join(line.rstrip() for line in lines[:first]).strip()
    depth = _indentation(lines[first]) + 1  # a space more is a slip
    items: list[list[str]] = []
    fenced = blank = False
    for place, line in enumerate(lines[first:], first):
        fence = line.lstrip().startswith(_FENCE)
        if fenced or fence:
            if not items:  # a list cannot begin in a block
                return _StepList()
            items[-1].append(line.rstrip())
        elif not line.strip():
            blank = True
            continue
        elif _indentation(line) <= depth and (listed := _LIST_ITEM.match(line)):
            items.append([listed["step"]])
        elif _indentation(line) > depth or (not blank and _continues_step(lines[place + 1 :], depth)):
            items[-1].append(line.rstrip())
        else:
            return _StepList(head, tuple(map(_join_step, items)), line.strip())
        fenced, blank = fenced != fence, False
    return _StepList(head, tuple(map(_join_step, items)))


def _continues_step(lines: Sequence[str], depth: int) -> bool:
    """Whether another item follows."""
    return any(_indentation(line) <= depth and _LIST_ITEM.match(line) for line in lines)


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _join_step(lines: Sequence[str]) -> str:
    """An item with the lines that belong to it: running words on a single line, the rest as it stands, under it."""
    first, *more = lines
    while more and not _LIST_ITEM.match(more[0]) and not more[0].lstrip().startswith(_FENCE):
        first = f"{first} {more.pop(0).strip()}"
    return "\n".join([first, *(item if not item or item.startswith(_INDENT) else _INDENT + item for item in more)])


def _steps_of_numbers(text: str) -> _StepList:
    marks = list(_INLINE_NUMBER.finditer(text))
    if not marks or not _is_counted_up([int(mark["number"]) for mark in marks]):
        return _StepList()
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    steps = [text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]
    last, _, rest = steps[-1].partition("\n")
    steps[-1] = last
    return _StepList(text[: marks[0].start()].strip(), tuple(" ".join(step.split()) for step in steps), rest.strip())


def _steps_of_order_words(text: str) -> _StepList:
    """Read sentences in a stated order; a sentence without a word of order belongs to the step above."""
    head: list[str] = []
    found: list[str] = []
    between: list[str] = []
    for sentence in split_sentences(text):
        said = _ORDER.sub("", sentence)
        if said != sentence:
            if found:
                found[-1] = " ".join([found[-1], *between])
            between = []
            found.append(said)
        else:
            (between if found else head).append(sentence)
    rest = " ".join(between)
    return _StepList(" ".join(head), tuple(found), rest) if len(found) >= MIN_STEPS else _StepList()


def _steps_of_single_line(text: str) -> _StepList:
    """Read a line such as "How to deploy: stop the queue, run the migration, start it again"."""
    line = text.strip()
    if len(line.splitlines()) != 1 or len(split_sentences(line)) != 1:
        return _StepList()
    head, colon, said = line.partition(": ")
    steps = _split_line(said if colon else head)
    return _StepList(f"{head}:" if colon else "", steps) if steps else _StepList()


def _split_line(line: str) -> tuple[str, ...]:
    """Split a line into its steps: at marks, else at words of order, else at commas; empty for fewer than two."""
    bare = _ORDER.sub("", line.strip())
    for between in (_MARK, _NEXT):
        pieces = [piece for piece in between.split(bare) if piece.strip()]
        if len(pieces) >= MIN_STEPS:
            return tuple(pieces)
    pieces = _COMMA.split(bare)
    acts = (len(piece.split()) > 1 and not _NO_STEP.match(piece) for piece in pieces)
    named = any(piece[:1].isupper() for piece in pieces[1:])  # "Ana 20, Bob 30"
    return tuple(pieces) if len(pieces) >= MIN_STEPS and not named and all(acts) else ()


def _why_no_procedure(steps: Sequence[str]) -> str:
    """Return, in words, which step is too long or is a question; empty for another fault."""
    for number, step in enumerate(steps, 1):
        if len(step) > MAX_STEP_CHARACTERS:
            return f": step {number} has {len(step)}"
        if step.rstrip().endswith("?"):
            return f": step {number} is a question"
    return f": it lists {len(steps)}" if len(steps) > MAX_STEPS else ""


def _fits_limits(steps: Sequence[str]) -> bool:
    fits = (step.strip() and len(step) <= MAX_STEP_CHARACTERS and not step.rstrip().endswith("?") for step in steps)
    return len(steps) <= MAX_STEPS and all(fits)


def _number_steps(steps: Sequence[str]) -> str:
    return "\n".join(f"{number}. {_make_imperative(step)}" for number, step in enumerate(steps, 1))


def _make_imperative(step: str) -> str:
    """A step without "you", "we" or "I" before its verb, with a capital and an end; lines under it as they are."""
    line, *under = step.split("\n")
    bare = _SUBJECT.sub("", " ".join(line.split()))
    bare = bare[:1].upper() + bare[1:]
    if under:
        return "\n".join([bare, *under])
    bare = bare.rstrip(" ,;")
    return bare if bare.endswith((".", "!", "。", ")", ":")) else f"{bare}."
