"""Edits of a request's messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from memwarden.conversation.formats.reading import (
    SYSTEM,
    WORDS,
    as_dict,
    as_list,
    field,
    has_words,
    is_message,
    parts_of,
    spoken_places,
)

Message = dict[str, Any]


def append_text(content: Any, text: str, part: str) -> Any:
    """Return a content with a text at its end, as a paragraph or a part. part: the type of such a part."""
    parts = parts_of(content)
    if not parts:
        return f"{content}\n\n{text}" if isinstance(content, str) and content.strip() else text
    return [*parts, {"type": part, "text": text}]


def prepend_text(content: Any, text: str, part: str) -> Any:
    """Return a content with a text before its words, as a paragraph or a part.

    Results of tools stay first, as Anthropic requires.
    """
    parts = parts_of(content)
    if not parts:
        return f"{text}\n\n{content}" if isinstance(content, str) and content.strip() else text
    kinds = [field(part, "type") for part in parts]
    results = max((place + 1 for place, kind in enumerate(kinds) if kind == "tool_result"), default=0)
    spoken = next((place for place, kind in enumerate(kinds) if kind in WORDS), results)
    at = max(spoken, results)
    return [*parts[:at], {"type": part, "text": text}, *parts[at:]]


def change_content(messages: Sequence[Any], at: int, change: Callable[[Any], Any]) -> list[Any]:
    """Return the messages with the content at an index changed."""
    message = as_dict(messages[at], f"messages[{at}]")
    message["content"] = change(message.get("content"))
    return [*messages[:at], message, *messages[at + 1 :]]


def leading_system_places(messages: Sequence[Any]) -> list[int]:
    """Return the indexes of the system messages before anybody speaks."""
    found = []
    for place, message in enumerate(messages):
        if is_message(message) and field(message, "role") not in SYSTEM:
            break
        if is_message(message):
            found.append(place)
    return found


def place_to_answer(messages: Sequence[Any]) -> int | None:
    """Return the index of the user's last message with words, else of the last without tool results only."""
    users = [place for place, item in enumerate(messages) if is_message(item) and field(item, "role") == "user"]
    with_words = [place for place in users if has_words(field(messages[place], "content"))]
    others = [place for place in users if not _only_results(messages[place])]
    last = (with_words or others)[-1:]
    return last[0] if last else None


def system_role(messages: Sequence[Any], usual: str) -> str:
    """Return the role of the conversation's own system messages, else the usual role."""
    return next(
        (field(message, "role") for message in messages if is_message(message) and field(message, "role") in SYSTEM),
        usual,
    )


def append_to_system(messages: Sequence[Any], text: str, part: str, usual: str, which: int = -1) -> list[Any]:
    """Return the messages with a text at the end of a leading system message, or in a new system message.

    which: index among several, the last by default.
    """
    places = leading_system_places(messages)
    if not places:
        return [{"role": usual, "content": text}, *messages]
    return change_content(messages, places[which], lambda content: append_text(content, text, part))


def insert_message(messages: Sequence[Any], message: Mapping[str, Any]) -> list[Any]:
    """Insert a message right before the message to answer, or at the end."""
    at = place_to_answer(messages)
    at = len(messages) if at is None else at
    return [*messages[:at], dict(message), *messages[at:]]


def prefix_user_message(messages: Sequence[Any], text: str, part: str) -> list[Any]:
    """Insert a text before the words of the message to answer, or as a user's message."""
    at = place_to_answer(messages)
    if at is None:
        return [*messages, {"role": "user", "content": text}]
    return change_content(messages, at, lambda content: prepend_text(content, text, part))


def prepend_texts(messages: Sequence[Any], texts: Mapping[int, str], part: str) -> list[Any]:
    """Insert texts before the words of messages. texts: by the index among messages with words."""
    made, said = list(messages), spoken_places(messages)
    for place, text in texts.items():
        made = change_content(made, said[place], partial(prepend_text, text=text, part=part))
    return made


def clean_messages(messages: Sequence[Any], clean: Callable[[str], str]) -> list[Any]:
    """Clean the texts of an application's messages and drop those without remaining text.

    The words of the assistant and of tools stay.
    """
    made = []
    for message in messages:
        content = field(message, "content")
        left = clean_content(content, clean) if is_message(message) and _is_asking(message) else content
        if left == content:
            made.append(message)
        elif left:
            made.append(as_dict(message, "messages") | {"content": left})
    return made


def clean_content(content: Any, clean: Callable[[str], str]) -> Any:
    """Clean the texts of a content and drop the parts without remaining text."""
    if isinstance(content, str):
        return clean(content)
    made = []
    for part in as_list(content):
        text = field(part, "text")
        if field(part, "type") not in WORDS or not isinstance(text, str) or (left := clean(text)) == text:
            made.append(part)
        elif left:
            made.append({**as_dict(part, "content"), "text": left})
    return made if as_list(content) else content


def clean_argument(arguments: Mapping[str, Any], name: str, clean: Callable[[str], str]) -> dict[str, Any]:
    """Clean an argument of a call; drop it when nothing remains."""
    left = clean_content(arguments.get(name), clean)
    if left or left == arguments.get(name):
        return {**arguments, name: left} if name in arguments else dict(arguments)
    return {key: value for key, value in arguments.items() if key != name}


def _is_asking(message: Any) -> bool:
    return field(message, "role") not in ("assistant", "tool", "function")


def _only_results(message: Any) -> bool:
    parts = as_list(field(message, "content"))
    return bool(parts) and all(field(part, "type") == "tool_result" for part in parts)
