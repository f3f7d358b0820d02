"""Measure what answers keep when they are made shorter without a model (D2): names, numbers and dates.

``python tests/evaluation/measure_summaries.py FILE...`` with conversation files.

Every answer of more than 750 bytes is made 500 or less, and every run of exchanges that fills a summary past 4,000
bytes is made 3,000 or less. What counts is found here with rules of its own: numbers (not
those that number a list), words with a capital inside a sentence, dates as the grammar of dates finds them; each once
an answer. Both shares are told: of all details together, and the mean over the answers.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memwarden.agent.session_rules import (
    MAX_ANSWER_BYTES,
    MAX_SUMMARY_BYTES,
    SHORT_ANSWER_BYTES,
    SHORT_SUMMARY_BYTES,
    in_words,
)
from memwarden.agent.shorten import shorten_text, size
from memwarden.surfaces.conversation_files import read_conversations
from memwarden.text.dates.recognizer import spans_in

ANY_DAY = datetime(2024, 1, 1, tzinfo=UTC)
_LISTED = re.compile(r"^[\s*_#-]*\d{1,2}[.)]\s", re.MULTILINE)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_END = re.compile(r"(?<=[.!?:])\s+|\n")
KINDS = ("names", "numbers", "dates")


@dataclass(frozen=True, slots=True)
class Kept:
    """What was kept of some long texts. there, kept: details by kind. shares: of each text that has some."""

    answers: int
    there: Counter[str]
    kept: Counter[str]
    shares: tuple[float, ...]
    longest: int

    @property
    def share(self) -> float:
        """Of all details together."""
        return self.kept.total() / self.there.total()


def details_of(text: str) -> set[tuple[str, str]]:
    """The details of a text: kind and word."""
    text = _LISTED.sub("", text)
    found = {("numbers", item) for item in _NUMBER.findall(text)}
    for sentence in _END.split(text):
        inside = _WORD.findall(sentence)[1:]
        found |= {("names", item) for item in inside if item[0].isupper() and len(item) > 1 and item[1] not in "'’"}
    return found | {("dates", flat(span.text)) for span in spans_in(text, ANY_DAY)}


def measured(texts: Iterable[str], long: int = MAX_ANSWER_BYTES, limit: int = SHORT_ANSWER_BYTES) -> Kept:
    """Make the long ones of some texts shorter and tell what they keep."""
    there: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    shares: list[float] = []
    count = longest = 0
    for text in texts:
        if size(text) <= long:
            continue
        short = shorten_text(text, limit)
        count, longest = count + 1, max(longest, size(short))
        details = details_of(text)
        held = [detail for detail in details if is_in(detail, short)]
        there.update(kind for kind, _ in details)
        kept.update(kind for kind, _ in held)
        shares += [len(held) / len(details)] if details else []
    return Kept(count, there, kept, tuple(shares), longest)


def is_in(detail: tuple[str, str], short: str) -> bool:
    """Whether a detail stands in a text, whole."""
    kind, word = detail
    if kind == "dates":
        return word in flat(short)
    return word in (_NUMBER if kind == "numbers" else _WORD).findall(short)


def flat(text: str) -> str:
    return " ".join(text.split()).casefold()


def answers_in(path: Path) -> list[str]:
    """What the assistant said in a file."""
    return [said["content"] for said in _messages(path) if said["role"] == "assistant"]


def summaries_in(path: Path) -> Iterator[str]:
    """The summaries of a file's exchanges at the moment when they are too long, each begun anew."""
    exchange = {"user_question": "", "final_answer": ""}
    summary = ""
    for said in _messages(path):
        if said["role"] == "user":
            exchange["user_question"] = said["content"]
            continue
        answer = said["content"]
        exchange["final_answer"] = (
            shorten_text(answer, SHORT_ANSWER_BYTES) if size(answer) > MAX_ANSWER_BYTES else answer
        )
        summary = f"{summary}\n{in_words(exchange)}".strip()
        if size(summary) > MAX_SUMMARY_BYTES:
            yield summary
            summary = ""


def _messages(path: Path) -> list[Mapping[str, Any]]:
    return [message for talk in read_conversations(path) for session in talk.sessions for message in session.messages]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what the files' answers keep."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    files = parser.parse_args(arguments).files
    _tell("answers", measured(answer for path in files for answer in answers_in(path)))
    summaries = [summary for path in files for summary in summaries_in(path)]
    _tell("summaries", measured(summaries, MAX_SUMMARY_BYTES, SHORT_SUMMARY_BYTES))


def _tell(what: str, told: Kept) -> None:
    lines = [f"{told.answers} long {what}, made at most {told.longest} bytes"]
    for kind in KINDS:
        share = told.kept[kind] / max(told.there[kind], 1)
        lines.append(f"{kind:8} {told.kept[kind]:6} of {told.there[kind]:6}  {share:.3f}")
    lines.append(f"together {told.share:.3f}, mean {statistics.fmean(told.shares):.3f}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
