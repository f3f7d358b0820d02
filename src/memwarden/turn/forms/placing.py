"""Putting a text into lists of messages. Lists and messages that are given stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memwarden.turn.forms.reading import SYSTEM, WORDS, as_dict, field, has_words, listed, parts_of

Message = dict[str, Any]


def is_message(item: Any) -> bool:
    """Whether an item of a list is a message: Responses lists calls, results and settings beside them."""
    return field(item, "type") in (None, "message") and field(item, "role") is not None


def after(content: Any, text: str, part: str) -> Any:
    """A content with a text at its end: a paragraph of its own, or a part of its own. part: the type of such a part."""
    parts = parts_of(content)
    if not parts:
        return f"{content}\n\n{text}" if isinstance(content, str) and content.strip() else text
    return [*parts, {"type": part, "text": text}]


def before(content: Any, text: str, part: str) -> Any:
    """A content with a text before its words: a paragraph of its own, or a part of its own before the first with words.

    Results of tools stay first, as Anthropic wants them.
    """
    parts = parts_of(content)
    if not parts:
        return f"{text}\n\n{content}" if isinstance(content, str) and content.strip() else text
    kinds = [field(one, "type") for one in parts]
    results = max((place + 1 for place, kind in enumerate(kinds) if kind == "tool_result"), default=0)
    spoken = next((place for place, kind in enumerate(kinds) if kind in WORDS), results)
    at = max(spoken, results)
    return [*parts[:at], {"type": part, "text": text}, *parts[at:]]


def changed(messages: Sequence[Any], at: int, change: Callable[[Any], Any]) -> list[Any]:
    """Messages with the content of one of them changed."""
    message = as_dict(messages[at], f"messages[{at}]")
    message["content"] = change(message.get("content"))
    return [*messages[:at], message, *messages[at + 1 :]]


def leading_system(messages: Sequence[Any]) -> int | None:
    """The place of the last system message before anybody speaks."""
    found = None
    for place, message in enumerate(messages):
        if is_message(message) and field(message, "role") not in SYSTEM:
            break
        if is_message(message):
            found = place
    return found


def to_answer(messages: Sequence[Any]) -> int | None:
    """The place of the message to answer: the user's last one with words, else the last one that is not a tool's."""
    users = [place for place, one in enumerate(messages) if is_message(one) and field(one, "role") == "user"]
    with_words = [place for place in users if has_words(field(messages[place], "content"))]
    others = [place for place in users if not _only_results(messages[place])]
    last = (with_words or others)[-1:]
    return last[0] if last else None


def system_role(messages: Sequence[Any], usual: str) -> str:
    """The role that the conversation's own system messages have, else the usual one."""
    return next((field(one, "role") for one in messages if is_message(one) and field(one, "role") in SYSTEM), usual)


def append_to_system(messages: Sequence[Any], text: str, part: str, usual: str) -> list[Any]:
    """A text at the end of the system prompt; in a message of its own when there is none."""
    at = leading_system(messages)
    if at is None:
        return [{"role": usual, "content": text}, *messages]
    return changed(messages, at, lambda content: after(content, text, part))


def insert_message(messages: Sequence[Any], message: Mapping[str, Any]) -> list[Any]:
    """A message right before the one to answer; at the end when there is none."""
    at = to_answer(messages)
    at = len(messages) if at is None else at
    return [*messages[:at], dict(message), *messages[at:]]


def prefix_to_user(messages: Sequence[Any], text: str, part: str) -> list[Any]:
    """A text before the words of the message to answer; as a message of the user's when there is none."""
    at = to_answer(messages)
    if at is None:
        return [*messages, {"role": "user", "content": text}]
    return changed(messages, at, lambda content: before(content, text, part))


def _only_results(message: Any) -> bool:
    parts = listed(field(message, "content"))
    return bool(parts) and all(field(one, "type") == "tool_result" for one in parts)
