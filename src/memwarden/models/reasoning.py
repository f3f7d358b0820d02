"""Hidden reasoning and citation marks inside the text of a model's answer."""

from __future__ import annotations

import re
from typing import Final

# A name of the tags, or the head of an HTML element that chat programs fold in.
_OPEN: Final = re.compile(
    r"<(?P<tag>think|thinking|antthinking|thought|reasoning|seed:think|longcat_think|scratchpad|reflection)"
    r"(?:\s[^<>\n]{0,200})?>"
    r"|(?P<mark>◁think▷|(?-i:\[THINK\])|<\|begin_of_thought\|>|<\|START_THINKING\|>)"
    r"|<(?P<details>details)\b[^>\n]*\btype=[\"']?reasoning\b[^>\n]*>",
    re.IGNORECASE,
)
_HIDDEN_SIGNS: Final = ("think", "thought", "reasoning", "scratchpad", "reflection")
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
_CLOSE_ALONE: Final = re.compile(r"\s*</(?:think|thinking|thought|reasoning)\s*>|\s*◁/think▷", re.IGNORECASE)
# Maximum opening tags that are looked at: each takes time by the length of the answer.
_MAX_BLOCKS: Final = 200
_FENCE: Final = re.compile(r"^\s*```", re.MULTILINE)
# Marks of sources. ChatGPT: private-use marks around ids, the ids alone where a copy lost the marks, and footnotes such
# as 【10†source】. Gemini: [cite: 1, 2]. Copilot: [^1^]. Grok: an element. Claude: an element around the cited words.
_CITATION: Final = re.compile(
    "[ \\t]?\ue200[^\ue201\n]{0,400}\ue201"
    r"|[ \t]?\b(?:file)?cite(?:turn\d{1,3}[a-z]{2,12}\d{1,3})+"
    "|[ \\t]?【\\d+(?::\\d+)?†[^】\n]{0,200}】"
    r"|\[cite_start\][ \t]?|[ \t]?\[cite(?::[ \d,]{1,80}|_end)\]|[ \t]?\[\^\d{1,3}\^\]"
    r"|[ \t]?<grok:render\b[^>\n]{0,400}>(?:<argument\b[^>\n]{0,80}>[^<\n]{0,80}</argument>)*</grok:render>"
)
_CITED: Final = re.compile(r"<cite index=[^<>\n]{0,80}>([^<>]{0,2000})</cite>")
_CITATION_SIGNS: Final = ("\ue200", "†", "cite", "[^", "<grok:")


def strip_reasoning(answer: str) -> str:
    """Return an answer without hidden reasoning and citation marks.

    Of an answer in channels only the final one is left. Reasoning is removed where it begins a line outside of a code
    block. Reasoning that begins the answer and is not closed was cut off, so nothing of the answer is left.
    """
    if _CHANNELS.match(answer):
        answer = "".join(_FINAL.findall(answer)).strip()
    if any(tag in answer.lower() for tag in _HIDDEN_SIGNS):
        answer = _strip_blocks(_strip_headless(answer))
        answer = _ANSWER_MARKS.sub("", answer) if "<|" in answer else answer
    if any(sign in answer for sign in _CITATION_SIGNS):
        answer = _CITATION.sub("", _CITED.sub(r"\1", answer))
    return answer


def _strip_headless(answer: str) -> str:
    close = _CLOSE_ALONE.search(answer)
    opened = _OPEN.search(answer)
    if close is None or (opened is not None and opened.start() < close.start()) or _in_fence(answer, close.start()):
        return answer
    ends_line = answer[close.end() :].lstrip(" \t").startswith("\n")
    return answer[close.end() :].lstrip() if ends_line else answer


def _strip_blocks(answer: str) -> str:
    at = 0
    for _ in range(_MAX_BLOCKS):
        opened = _OPEN.search(answer, at)
        if opened is None:
            break
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
    if mark:
        found = re.compile(re.escape(_CLOSING_MARKS[mark.lower()]), re.IGNORECASE).search(answer, opened.end())
        return None if found is None else found.end()
    tag = re.escape(opened["tag"] or opened["details"])
    closings = list(re.compile(rf"</{tag}\s{{0,9}}>", re.IGNORECASE).finditer(answer, opened.end()))
    if not closings:
        return None
    depth = 1
    for each in re.compile(rf"<(/?){tag}\b[^<>\n]{{0,200}}>", re.IGNORECASE).finditer(answer, opened.end()):
        depth += -1 if each[1] else 1
        if depth == 0:
            return each.end()
    return closings[0].end()  # reasoning that speaks about its own tag


def _in_fence(answer: str, at: int) -> bool:
    return len(_FENCE.findall(answer, 0, at)) % 2 == 1
