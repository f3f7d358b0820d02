"""Hidden reasoning and citation marks inside the text of a model's answer."""

from __future__ import annotations

import re
from typing import Final

# A name of the tags, or the head of an HTML element that chat programs fold in.
_OPEN: Final = re.compile(
    r"<(?P<tag>think|thinking|thought|reasoning|seed:think|longcat_think)>"
    r"|(?P<mark>◁think▷|(?-i:\[THINK\])|<\|begin_of_thought\|>|<\|START_THINKING\|>)"
    r"|<(?P<details>details)\b[^>\n]*\btype=[\"']?reasoning\b[^>\n]*>",
    re.IGNORECASE,
)
# In other letters or without an end it is something that people write.
_BRACKETS, _BRACKETS_END = "[THINK]", "[/THINK]"
_CLOSING_MARKS: Final = {
    "◁think▷": "◁/think▷",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|start_thinking|>": "<|END_THINKING|>",
}
# Marks of the answer itself, at its ends.
_ANSWER_MARKS: Final = re.compile(
    r"\A(?:\s*<\|(?:begin_of_solution|START_RESPONSE)\|>)+\s*"
    r"|\s*(?:<\|(?:end_of_solution|END_RESPONSE)\|>\s*)+\Z",
    re.IGNORECASE,
)
# An answer in channels, as gpt-oss writes it: the channel "final" is for the user.
_CHANNELS: Final = re.compile(r"\s*(?:<\|start\|>assistant)?<\|channel\|>")
_FINAL: Final = re.compile(r"<\|channel\|>final[^<\n]{0,40}<\|message\|>(.*?)(?:<\|(?:end|return)\|>|\Z)", re.DOTALL)
# Chat templates write the opening tag into the prompt, so that an answer has the closing tag alone.
_CLOSE_ALONE: Final = re.compile(r"\s*</(?:think|thinking)>|\s*◁/think▷", re.IGNORECASE)
_FENCE: Final = re.compile(r"^\s*```", re.MULTILINE)
# Private-use marks of ChatGPT around ids of citations, and its footnotes such as 【10†source】.
_CITATION: Final = re.compile("[ \\t]?\ue200[^\ue201\n]{0,400}\ue201|[ \\t]?【\\d+(?::\\d+)?†[^】\n]{0,200}】")


def strip_reasoning(answer: str) -> str:
    """Return an answer without hidden reasoning and citation marks.

    Of an answer in channels only the final one is left. Reasoning is removed where it begins a line outside of a code
    block. Reasoning that begins the answer and is not
    closed was cut off, so nothing of the answer is left.
    """
    if _CHANNELS.match(answer):
        answer = "".join(_FINAL.findall(answer)).strip()
    if any(tag in answer.lower() for tag in ("think", "thought", "reasoning")):
        answer = _strip_blocks(_strip_headless(answer))
        answer = _ANSWER_MARKS.sub("", answer) if "<|" in answer else answer
    return _CITATION.sub("", answer) if "\ue200" in answer or "†" in answer else answer


def _strip_headless(answer: str) -> str:
    close = _CLOSE_ALONE.search(answer)
    opened = _OPEN.search(answer)
    if close is None or (opened is not None and opened.start() < close.start()) or _in_fence(answer, close.start()):
        return answer
    ends_line = answer[close.end() :].lstrip(" \t").startswith("\n")
    return answer[close.end() :].lstrip() if ends_line else answer


def _strip_blocks(answer: str) -> str:
    at = 0
    while (opened := _OPEN.search(answer, at)) is not None:
        begins = answer.rfind("\n", 0, opened.start()) + 1
        if answer[begins : opened.start()].strip() or _in_fence(answer, begins):
            at = opened.end()
            continue
        end = _end_of(answer, opened)
        if end is None and (answer[:begins].strip() or opened["mark"] == _BRACKETS):  # a tag that is spoken about
            at = opened.end()
            continue
        answer = answer[:begins] + ("" if end is None else answer[end:].lstrip())
        at = begins
    return answer


def _end_of(answer: str, opened: re.Match[str]) -> int | None:
    mark = opened["mark"]
    if mark == _BRACKETS:
        at = answer.find(_BRACKETS_END, opened.end())
        return None if at < 0 else at + len(_BRACKETS_END)
    close = _CLOSING_MARKS[mark.lower()] if mark else f"</{opened['tag'] or opened['details']}>"
    found = re.compile(re.escape(close), re.IGNORECASE).search(answer, opened.end())
    return None if found is None else found.end()


def _in_fence(answer: str, at: int) -> bool:
    return len(_FENCE.findall(answer, 0, at)) % 2 == 1
