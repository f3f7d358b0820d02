"""Finds what of a coding session is worth keeping, by rules in English, German, Spanish and French."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from memwarden.records import Kind
from memwarden.text.lexicon import pattern_of
from memwarden.text.requests import cut_request
from memwarden.text.sentences import split_sentences

MAX_COMMAND = 200
MAX_ERROR = 300
_MIN_WORDS, _MAX_WORDS = 4, 50
_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
# An exit code of these says what was found, not that something is broken.
_ASKING: Final = frozenset("[ cat cd cmp diff egrep fgrep find grep head ls pgrep rg tail test which".split())
_TELLS: Final = re.compile(
    r"error|fail|exception|not found|no such|cannot|can't|denied|undefined|missing|refused|fatal|unable|panic",
    re.IGNORECASE,
)
# Gemini CLI reports a shell command as lines for its model.
_GEMINI_CODE: Final = re.compile(r"^Exit Code: (\d+)$", re.MULTILINE)
_CODES: Final = ("exit_code", "exitCode", "returncode", "code")


class PromptNote(NamedTuple):
    """A sentence of a person that a project should remember. kind: decision or convention."""

    kind: str
    text: str


class CommandRun(NamedTuple):
    """A shell command that an agent ran. error: lines of what it said when it failed; None when it worked."""

    command: str
    error: str | None

    @property
    def program(self) -> str:
        """The program with its first plain word, such as ``npm test``: what a failure is filed under."""
        return name_program(self.command)


def read_prompt(prompt: str) -> Iterator[PromptNote]:
    """Find decisions and conventions in what a person wrote to an agent; pasted code is no talk."""
    for sentence in split_sentences(_FENCE.sub("\n", prompt)):
        request = cut_request(sentence, clauses=True)
        text = sentence.lstrip("-*• ").strip() if request is None else request
        if not _MIN_WORDS <= len(text.split()) <= _MAX_WORDS or text.endswith("?"):
            continue
        if pattern_of("convention").search(text):
            yield PromptNote(Kind.CONVENTION, text)
        elif request is not None or pattern_of("decision").search(text):
            yield PromptNote(Kind.DECISION, text)


def read_command(event: Mapping[str, Any]) -> CommandRun | None:
    """Return the command of an event after a tool; None for other tools, and for commands that only ask."""
    given = event.get("tool_input")
    command = given.get("command") if isinstance(given, Mapping) else None
    if not isinstance(command, str) or not command.strip():
        return None
    run = CommandRun(" ".join(command.split()), _find_error(event))
    return None if run.program.partition(" ")[0] in _ASKING else run


def _find_error(event: Mapping[str, Any]) -> str | None:
    """Return what a failed command said; None when it worked or was interrupted by a person."""
    response = event.get("tool_response")
    said = response if isinstance(response, Mapping) else {}
    if event.get("is_interrupt") is True or said.get("interrupted") is True:
        return None
    output = said.get("llmContent")
    codes = [said[name] for name in _CODES if isinstance(said.get(name), int)]
    codes += map(int, _GEMINI_CODE.findall(output)) if isinstance(output, str) else ()
    failed = any(codes) or said.get("is_error") is True or said.get("success") is False
    if event.get("hook_event_name") != "PostToolUseFailure" and not failed:
        return None
    texts = (event.get("error"), said.get("error"), said.get("stderr"), said.get("stdout"), output, response)
    return choose_lines("\n".join(text for text in texts if isinstance(text, str)))


def choose_lines(said: str) -> str:
    """Return the lines that tell what went wrong as they stand, the last ones where none does."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in dict.fromkeys(lines) if _TELLS.search(line)] or lines[-2:]
    return "\n".join(telling[:3])[:MAX_ERROR] or "no output"


def name_program(command: str) -> str:
    """Return the program of a command with a word such as ``test`` right after it, without paths and variables."""
    last = re.split(r"&&|\|\||;|\|", command)
    words = next((part for part in map(_words, last) if part and part[0] not in ("cd", "export", "source")), [])
    program = words[0].rpartition("/")[2] if words else "command"
    second = words[1] if words[1:] and re.fullmatch(r"[a-z][a-z0-9:-]{0,20}", words[1]) else ""
    return f"{program[:40]} {second}".strip()


def _words(part: str) -> list[str]:
    try:
        words = shlex.split(part)
    except ValueError:
        words = part.split()
    while words and re.fullmatch(r"\w+=.*|sudo|time|env|npx", words[0]):
        words = words[1:]
    return words
